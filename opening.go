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

// mostAttempts is how many calls of functions with which connections are made may be under way, those that were left behind
// among them: with so many that hang no more are called.
const mostAttempts = 1024

// Why a function with which connections are made came to nothing, though it said nothing.
var (
	errSlow     = error(slow{})
	errGone     = errors.New("a function of Options.Redis with which connections are made ended its goroutine")
	errNone     = errors.New("a dialer of Options.Redis returned neither a connection nor an error")
	errAttempts = errors.New("too many functions of Options.Redis with which connections are made have not returned")
)

// slow is as time-outs of package net are.
type slow struct{}

func (slow) Error() string        { return "making a connection took longer than Options.Timeout" }
func (slow) Timeout() bool        { return true }
func (slow) Is(target error) bool { return target == context.DeadlineExceeded }

// opening makes an Open end with its context: until it is done, the end of the context closes whatever
// connection is being made.
type opening struct {
	ctx  context.Context // a child of the caller's, so that all that watches it goes at once
	stop context.CancelFunc
	done atomic.Bool

	closing *closing      // of the engine that is opened
	limit   time.Duration // of each attempt to connect
	room    chan struct{} // holds one for each that is under way
}

func newOpening(ctx context.Context, limit time.Duration) *opening {
	o := &opening{closing: newClosing(), limit: limit, room: make(chan struct{}, mostAttempts)}
	o.ctx, o.stop = context.WithCancel(ctx)
	return o
}

// end says that Open is done: from now on its context means nothing, and nothing is left in it.
func (o *opening) end() {
	o.done.Store(true)
	o.stop()
}

// ends calls f if the context ends before the opening is done.
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

// within is ctx for one attempt, until the engine is closed, and while Open is under way until its context ends.
func (o *opening) within(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.limit, errSlow)
	closes, ends := context.AfterFunc(o.closing.ctx, cancel), o.ends(cancel)
	return ctx, func() {
		closes()
		ends()
		cancel()
	}
}

// dialer is the caller's own way to connect, or rueidis' usual one, for Options.Timeout at most, until the engine is closed and
// under the opening's context. It may hang, rueidis' usual one in a function of the caller's TLSConfig or Dialer: then it is
// left behind, and what it connects too late is closed.
func (o *opening) dialer(redis rueidis.ClientOption) dialFunc {
	connect := redis.DialCtxFn
	if connect == nil {
		connect = dialFuncOf(redis)
	}
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		ctx, over := o.within(ctx)
		defer over()
		generation := o.closing.present.Load() // one that is made too late for it is to end, too
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

// whole makes sure of a connection that a dialer returned. A handshake of TLS would else be made by whoever uses it first, and
// waited for where it hangs.
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
			defer func() { // also when a function of the caller ends the goroutine
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

// foreignConn is a connection that a caller's dialer made. Its Close may hang, as one does that has something left to send: then it is
// left behind after Options.Timeout, as a dialer is, and who reads or writes is told to end before.
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

// longAgo ends what goes on with a connection.
var longAgo = time.Unix(1, 0)

func closeLate(conn net.Conn) { conn.Close() }

type authFunc = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error)

// credentials is the caller's own way to credentials, which has as long as a dialer has, and is left behind as one is.
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

// orLeave waits for a function of the caller until ctx ends. One that hangs is left behind on its goroutine, and late, unless it
// is nil, gets what it comes to. There are no more of these than there is room for.
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
		defer func() { // also when f ends the goroutine
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
		if o.err == context.DeadlineExceeded { // it went by its context, unless that was one of its own
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
