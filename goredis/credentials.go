package goredis

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
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
		return (&subscription{provider: c.streaming, listener: &ignoringListener{}}).current
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

// subscription is that of one option to a provider of streaming credentials: one listener for all connections of all
// engines that are opened with the option. Providers stop their token manager with the last listener, so a subscription
// a connection would stop and restart it each time. Safe for concurrent use.
type subscription struct {
	provider auth.StreamingCredentialsProvider
	listener *ignoringListener
	begun    atomic.Bool // there is something to unsubscribe
}

// current returns the current credentials and stays subscribed. Subscribe is idempotent for one listener, and returns
// what is current by then. The engine never logs in again on a running connection, so the listener has nothing to do.
//
// Neither rueidis nor the engine says when the last of the engines has ended. So the garbage collector ends the
// subscription, when nothing can use the option any more.
func (s *subscription) current() (username, password string, err error) {
	current, unsubscribe, err := s.provider.Subscribe(s.listener)
	if unsubscribe != nil && !s.begun.Swap(true) {
		runtime.AddCleanup(s, unsubscribeLater, unsubscribe)
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

// unsubscribeLater unsubscribes on a goroutine of its own, because it may block, and other cleanups wait for this one.
// Any of the functions that Subscribe returned for a listener ends its subscription. An error has no reader.
func unsubscribeLater(unsubscribe auth.UnsubscribeFunc) {
	go func() { _ = unsubscribe() }()
}

// ignoringListener ignores the updates of a provider of streaming credentials. Providers compare listeners, so each
// needs its own address. Pointers to empty structs may be equal, so it has a field. The provider refers to it, so it
// must not refer to the subscription.
type ignoringListener struct{ _ byte }

// OnNext does nothing.
func (*ignoringListener) OnNext(auth.Credentials) {}

// OnError does nothing.
func (*ignoringListener) OnError(error) {}
