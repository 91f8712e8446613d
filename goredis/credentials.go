package goredis

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/rueidis"
)

// defaultTimeout is go-redis's default of DialTimeout.
const defaultTimeout = 5 * time.Second

var errNoCredentials = errors.New("goredis: StreamingCredentialsProvider: Subscribe returned neither credentials nor an error")

// credentials has the fields for users and passwords. go-redis uses the first that is set of streaming, withContext and
// plain, and otherwise username and password.
type credentials struct {
	username, password string
	plain              func() (username, password string)
	withContext        func(ctx context.Context) (username, password string, err error)
	streaming          auth.StreamingCredentialsProvider
	timeout            time.Duration // of withContext; 0 or less: defaultTimeout

	sentinels bool                    // the addresses are those of sentinels
	sentinel  rueidis.AuthCredentials // for sentinels
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
	provide := c.provider()
	if provide == nil {
		option.Username, option.Password = login(c.username, c.password)
		return
	}
	option.AuthCredentialsFn = func(of rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		if _, ok := of.Address.(sentinelAddr); ok {
			return c.sentinel, nil
		}
		username, password, err := provide()
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
			ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(max(c.timeout, 0), defaultTimeout))
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

// subscribeOnce returns the current credentials and unsubscribes: the engine never logs in again on a running
// connection, and the next one asks again. It ignores an error of unsubscribing, because the credentials are valid.
func (c *credentials) subscribeOnce() (username, password string, err error) {
	current, unsubscribe, err := c.streaming.Subscribe(&ignoringListener{})
	if unsubscribe != nil {
		defer func() { _ = unsubscribe() }()
	}
	if err != nil {
		return "", "", err
	}
	if current == nil {
		return "", "", errNoCredentials
	}
	username, password = current.BasicAuth()
	return username, password, nil
}

// ignoringListener ignores the updates of a provider of streaming credentials. Providers compare listeners, so each
// needs its own address. Pointers to empty structs may be equal, so it has a field.
type ignoringListener struct{ _ byte }

// OnNext does nothing.
func (*ignoringListener) OnNext(auth.Credentials) {}

// OnError does nothing.
func (*ignoringListener) OnError(error) {}
