package goredis

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/rueidis"
)

// defaultPatience is go-redis's default of DialTimeout.
const defaultPatience = 5 * time.Second

var errNoCredentials = errors.New("goredis: StreamingCredentialsProvider: Subscribe returned neither credentials nor an error")

// credentials are the fields that say who logs in. go-redis uses the first that is set of streaming, withContext and
// plain, and otherwise username and password.
type credentials struct {
	username, password string
	plain              func() (username, password string)
	withContext        func(ctx context.Context) (username, password string, err error)
	streaming          auth.StreamingCredentialsProvider
	patience           time.Duration // for withContext; 0 or less: defaultPatience

	sentinels bool                    // there are sentinels, with credentials of their own
	sentinel  rueidis.AuthCredentials // of these
}

// login returns what go-redis sends: without a password it does not log in, whatever the user.
func login(username, password string) (string, string) {
	if password == "" {
		return "", ""
	}
	return username, password
}

// apply sets either a fixed user and password, or the function that is called for each new connection.
func (c *credentials) apply(option *rueidis.ClientOption) {
	ask := c.provider()
	if ask == nil {
		option.Username, option.Password = login(c.username, c.password)
		return
	}
	option.AuthCredentialsFn = func(of rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		if _, ok := of.Address.(sentinelAddr); ok {
			return c.sentinel, nil
		}
		username, password, err := ask()
		username, password = login(username, password)
		return rueidis.AuthCredentials{Username: username, Password: password}, err
	}
}

// provider returns the program's function that go-redis would call, or nil if there is none.
func (c *credentials) provider() func() (username, password string, err error) {
	switch {
	case c.streaming != nil:
		return c.subscribeOnce
	case c.withContext != nil:
		return func() (username, password string, err error) {
			ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(c.patience, 0), defaultPatience))
			defer cancel()
			return c.withContext(ctx)
		}
	case c.plain != nil:
		return func() (username, password string, err error) {
			username, password = c.plain()
			return username, password, nil
		}
	default:
		return nil
	}
}

// subscribeOnce takes the present credentials and unsubscribes: the engine never logs in again on a running connection, and
// the next one asks anew. What unsubscribing returns does not concern the credentials.
func (c *credentials) subscribeOnce() (username, password string, err error) {
	present, unsubscribe, err := c.streaming.Subscribe(&deafListener{})
	if unsubscribe != nil {
		defer func() { _ = unsubscribe() }()
	}
	if err != nil {
		return "", "", err
	}
	if present == nil {
		return "", "", errNoCredentials
	}
	username, password = present.BasicAuth()
	return username, password, nil
}

// deafListener ignores what a provider of streaming credentials sends later. Providers compare listeners, so each needs an
// address of its own, which an empty struct has not.
type deafListener struct{ _ byte }

// OnNext does nothing.
func (*deafListener) OnNext(auth.Credentials) {}

// OnError does nothing.
func (*deafListener) OnError(error) {}
