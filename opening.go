package lockwheel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine"
)

// mostAttempts is the maximum number of calls in flight of functions that make connections, including those that
// hang. Beyond it, none is called.
const mostAttempts = 1024

// Errors for functions that make connections and return neither a result nor an error.
var (
	errSlow     = error(slow{})
	errGone     = errors.New("a function of Options.Redis with which connections are made ended its goroutine")
	errNone     = errors.New("a dialer of Options.Redis returned neither a connection nor an error")
	errAttempts = errors.New("too many functions of Options.Redis with which connections are made have not returned")
)

// slow is a timeout like those of package net.
type slow struct{}

func (slow) Error() string        { return "making a connection took longer than Options.Timeout" }
func (slow) Timeout() bool        { return true }
func (slow) Is(target error) bool { return target == context.DeadlineExceeded }

// opening ends an Open with its context: until end is called, the end of the context closes each connection that is
// being made.
type opening struct {
	ctx  context.Context // a child of the caller's, so that all that watches it is removed at once
	stop context.CancelFunc
	done atomic.Bool

	closing *closing      // of the engine that is opened
	limit   time.Duration // of each connection attempt
	room    chan struct{} // semaphore: one element for each attempt in flight
}

func newOpening(ctx context.Context, limit time.Duration) *opening {
	o := &opening{closing: newClosing(), limit: limit, room: make(chan struct{}, mostAttempts)}
	o.ctx, o.stop = context.WithCancel(ctx)
	return o
}

// end says that Open has returned: from now on its context has no effect, and nothing is registered with it.
func (o *opening) end() {
	o.done.Store(true)
	o.stop()
}

// ends calls f if the context ends before Open has returned.
func (o *opening) ends(f func()) (stop func() bool) {
	if o.done.Load() {
		return func() bool { return false }
	}
	return context.AfterFunc(o.ctx, func() {
		if !o.done.Load() {
			f()
		}
	})
}

type dialFunc = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// within returns ctx for one attempt. It also ends when the engine is closed, and, while Open runs, with Open's
// context.
func (o *opening) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, errSlow)
	closes, ends := context.AfterFunc(o.closing.ctx, cancel), o.ends(cancel)
	return ctx, func() {
		closes()
		ends()
		cancel()
	}
}

// dialer returns a function that calls the caller's dialer, or the usual one of rueidis. A call takes at most
// Options.Timeout. It ends when the engine is closed, and with Open's context. The dialer may hang; the usual one can
// hang in a function of the caller's TLSConfig or Dialer. It then keeps its goroutine, and a connection that it makes
// too late is closed.
func (o *opening) dialer(redis rueidis.ClientOption) dialFunc {
	connect := redis.DialCtxFn
	if connect == nil {
		connect = dialFuncOf(redis)
	}
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		ctx, over := o.within(ctx)
		defer over()
		generation := o.closing.present.Load() // a connection that is made after redial must end, too
		conn, err := orLeave(ctx, o.room, func() (net.Conn, error) { return whole(ctx)(connect(ctx, address, d, t)) }, closeLate)
		if err != nil {
			return nil, &engine.NotConnected{Err: err}
		}
		if redis.DialCtxFn != nil || redis.DialFn != nil {
			conn = &foreignConn{Conn: conn, opening: o}
		}
		conn = generation.mortal(conn)
		o.ends(func() { conn.Close() })
		return conn, nil
	}
}

// whole completes the TLS handshake of a connection that a dialer returned. Otherwise the first goroutine that uses
// the connection would do it, and would block if it hangs.
func whole(ctx context.Context) func(net.Conn, error) (net.Conn, error) {
	return func(conn net.Conn, err error) (net.Conn, error) {
		switch c := conn.(type) {
		case nil:
			return nil, cmp.Or(err, errNone)
		case interface{ HandshakeContext(context.Context) error }:
			if err != nil {
				break
			}
			made := false
			defer func() { // also if a function of the caller ends the goroutine
				if !made {
					conn.Close()
				}
			}()
			err = c.HandshakeContext(ctx)
			made = err == nil
		}
		return conn, err
	}
}

// foreignConn is a connection from a caller's dialer. Its Close may hang, for example if it still has data to send.
// Then it keeps its goroutine after Options.Timeout, as a dialer does. Reads and writes end before, through their
// deadline.
type foreignConn struct {
	net.Conn
	opening *opening
	closed  atomic.Bool
}

func (c *foreignConn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	ctx, over := context.WithTimeoutCause(context.Background(), c.opening.limit, errSlow)
	defer over()
	_, err := orLeave(ctx, c.opening.room, func() (struct{}, error) {
		_ = c.Conn.SetDeadline(longAgo)
		return struct{}{}, c.Conn.Close()
	}, nil)
	return err
}

// longAgo is a deadline that ends all reads and writes.
var longAgo = time.Unix(1, 0)

func closeLate(conn net.Conn) { conn.Close() }

type authFunc = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error)

// credentials wraps the caller's function for credentials: it has as long as a dialer, and keeps its goroutine if it
// hangs.
func (o *opening) credentials(ask authFunc) authFunc {
	if ask == nil {
		return nil
	}
	return func(of rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		ctx, over := o.within(context.Background())
		defer over()
		got, err := orLeave(ctx, o.room, func() (rueidis.AuthCredentials, error) { return ask(of) }, nil)
		if err != nil {
			err = &engine.NotConnected{Err: err}
		}
		return got, err
	}
}

// orLeave waits for a function of the caller until ctx ends. A function that hangs keeps its goroutine. If it returns
// a value later, late receives it unless late is nil. room bounds the number of such functions.
func orLeave[T any](ctx context.Context, room chan struct{}, f func() (T, error), late func(T)) (got T, err error) {
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	select {
	case room <- struct{}{}:
	default:
		return got, errAttempts
	}
	type outcome struct {
		value T
		err   error
	}
	done, left := make(chan outcome), make(chan struct{})
	go func() {
		came := outcome{err: errGone}
		defer func() { // also if f ends the goroutine
			<-room
			select {
			case done <- came:
			case <-left:
				if late != nil && came.err == nil {
					late(came.value)
				}
			}
		}()
		came.value, came.err = f()
	}()
	select {
	case o := <-done:
		if o.err == context.DeadlineExceeded { // f returned the error of ctx, or of its own context
			o.err = cmp.Or(context.Cause(ctx), o.err)
		}
		return o.value, o.err
	case <-ctx.Done():
		close(left)
		return got, context.Cause(ctx)
	}
}

func dialFuncOf(redis rueidis.ClientOption) dialFunc {
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if redis.DialFn != nil {
			return redis.DialFn(address, d, t)
		}
		conn, err := d.DialContext(ctx, "tcp", address)
		if t == nil || err != nil {
			return conn, err
		}
		if host, _, err := net.SplitHostPort(address); err == nil && t.ServerName == "" { // as tls.Dialer does
			t = t.Clone()
			t.ServerName = host
		}
		return tls.Client(conn, t), nil
	}
}
