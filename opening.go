package lockwheel

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// opening makes an Open end with its context: until it is done, the end of the context closes whatever
// connection is being made.
type opening struct {
	ctx  context.Context
	done atomic.Bool
}

type dialFunc = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// dialer is the caller's own way to connect, or rueidis' usual one, under the opening's context.
func (o *opening) dialer(redis rueidis.ClientOption) dialFunc {
	connect := redis.DialCtxFn
	if connect == nil {
		connect = dialFuncOf(redis)
	}
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if o.done.Load() {
			return connect(ctx, address, d, t)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(o.ctx, cancel)()
		defer cancel()
		conn, err := connect(ctx, address, d, t)
		if err == nil {
			context.AfterFunc(o.ctx, func() {
				if !o.done.Load() {
					conn.Close()
				}
			})
		}
		return conn, err
	}
}

func dialFuncOf(redis rueidis.ClientOption) dialFunc {
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		switch {
		case redis.DialFn != nil:
			return redis.DialFn(address, d, t)
		case t != nil:
			return (&tls.Dialer{NetDialer: d, Config: t}).DialContext(ctx, "tcp", address)
		}
		return d.DialContext(ctx, "tcp", address)
	}
}
