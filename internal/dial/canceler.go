// Package dial makes the connections of an engine's own client, and ends them. A function of the caller that makes
// connections may hang, panic or end its goroutine; none of that stops an Open or a Close, or ends the process.
package dial

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/internal/busywait"
)

// maxAttempts is the maximum number of calls in flight of functions that make connections, including those that
// hang. Beyond it, none is called. While as many calls of the Close of such connections hang, no connection is made.
const maxAttempts = 1024

// Errors for functions that make connections and return neither a result nor an error.
var (
	errDialTimeout     = error(dialTimeout{})
	errGoexit          = errors.New("a function of Options.Redis with which connections are made ended its goroutine")
	errNilConn         = errors.New("a dialer of Options.Redis returned neither a connection nor an error")
	errTooManyAttempts = errors.New("too many functions of Options.Redis with which connections are made have not returned")
	errTooManyCloses   = errors.New("too many calls of Close, of connections that a function of Options.Redis has made, have not returned")
)

// dialTimeout is a timeout like those of package net.
type dialTimeout struct{}

func (dialTimeout) Error() string { return "making a connection took longer than Options.CallTimeout" }

func (dialTimeout) Timeout() bool { return true }

func (dialTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Limits bounds the functions of the caller that hang. An engine has one, also if it is opened in several attempts. It
// is safe for concurrent use; NewLimits makes one.
type Limits struct {
	slots   chan struct{} // semaphore: one element for each attempt in flight
	closing atomic.Int64  // calls in flight of the Close of connections of a caller's dialer
}

// NewLimits returns the Limits of one engine.
func NewLimits() *Limits { return &Limits{slots: make(chan struct{}, maxAttempts)} }

// Canceler ends an Open with its context: until Finish is called, the end of the context closes each connection that is
// being made.
type Canceler struct {
	ctx  context.Context // a child of the caller's, so that all that watches it is removed at once
	stop context.CancelFunc
	done atomic.Bool

	Connections *Connections   // of the engine that is opened
	Gate        *busywait.Gate // for the waits after writes; nil: there are none
	timeout     time.Duration  // of each connection attempt
	*Limits
}

// NewCanceler returns a Canceler for the connections of one engine. ctx is that of Open, and limit the time of each
// connection attempt.
func (l *Limits) NewCanceler(ctx context.Context, limit time.Duration) *Canceler {
	o := &Canceler{Connections: newConnections(), timeout: limit, Limits: l}
	o.ctx, o.stop = context.WithCancel(ctx)
	return o
}

// NewCanceler returns a Canceler with Limits of its own.
func NewCanceler(ctx context.Context, limit time.Duration) *Canceler {
	return NewLimits().NewCanceler(ctx, limit)
}

// Finish says that Open has returned: from now on its context has no effect, and nothing is registered with it.
func (c *Canceler) Finish() {
	c.done.Store(true)
	c.stop()
}

// onCancel calls f if the context ends before Open has returned.
func (c *Canceler) onCancel(f func()) (stop func() bool) {
	if c.done.Load() {
		return func() bool { return false }
	}
	return context.AfterFunc(c.ctx, func() {
		if !c.done.Load() {
			f()
		}
	})
}

type dialFunc = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// attemptContext returns ctx for one attempt, see Bound.
func (c *Canceler) attemptContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, errDialTimeout)
	ctx, over := c.Bound(ctx)
	return ctx, func() {
		over()
		cancel()
	}
}

// Bound returns ctx that also ends when the engine is closed, and, while Open runs, with Open's context. The function
// that it returns ends it, and must be called.
func (c *Canceler) Bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	closes, ends := context.AfterFunc(c.Connections.ctx, cancel), c.onCancel(cancel)
	return ctx, func() {
		closes()
		ends()
		cancel()
	}
}

// Dialer returns a function that calls the caller's dialer, or the usual one of rueidis. A call takes at most
// Options.CallTimeout. It ends when the engine is closed, and with Open's context. The dialer may hang; the usual one
// can hang in a function of the caller's TLSConfig or Dialer. It then keeps its goroutine, and a connection that it
// makes too late is closed.
func (c *Canceler) Dialer(redis rueidis.ClientOption) dialFunc {
	connect, custom := redis.DialCtxFn, redis.DialCtxFn != nil || redis.DialFn != nil
	if connect == nil {
		connect = defaultDial(redis)
	}
	return func(ctx context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
		if custom && c.closing.Load() >= maxAttempts {
			return nil, &rediserr.NotConnected{Err: errTooManyCloses}
		}
		ctx, over := c.attemptContext(ctx)
		defer over()
		generation := c.Connections.current.Load() // a connection that is made after redial must end, too
		conn, err := callBounded(ctx, c.slots, func() (net.Conn, error) { return withHandshake(ctx)(connect(ctx, address, d, t)) }, closeLate)
		if err != nil {
			return nil, &rediserr.NotConnected{Err: err}
		}
		if custom {
			conn = &customConn{Conn: conn, canceler: c}
		}
		conn = generation.track(conn, busyConn(c.Gate, conn), func() { c.Connections.rejectedAt.Store(&address) })
		c.onCancel(func() { conn.Close() })
		return conn, nil
	}
}

// withHandshake completes the TLS handshake of a connection that a dialer returned. Otherwise the first goroutine that
// uses the connection would do it, and would block if it hangs.
func withHandshake(ctx context.Context) func(net.Conn, error) (net.Conn, error) {
	return func(conn net.Conn, err error) (net.Conn, error) {
		switch c := conn.(type) {
		case nil:
			return nil, cmp.Or(err, errNilConn)
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

// customConn is a connection from a caller's dialer. Its Close may hang, for example if it still has data to send.
// Then it keeps its goroutine after Options.CallTimeout, as a dialer does. Reads and writes end before, through their
// deadline. Close is always called, however many functions hang: the number of connections bounds that of the calls.
type customConn struct {
	net.Conn
	canceler *Canceler
	closed   atomic.Bool
}

func (c *customConn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	ctx, over := context.WithTimeoutCause(context.Background(), c.canceler.timeout, errDialTimeout)
	defer over()
	c.canceler.closing.Add(1)
	_, err := call(ctx, func() (struct{}, error) {
		_ = c.Conn.SetDeadline(pastDeadline)
		return struct{}{}, c.Conn.Close()
	}, func() { c.canceler.closing.Add(-1) }, nil)
	return err
}

// pastDeadline is a deadline that ends all reads and writes.
var pastDeadline = time.Unix(1, 0)

func closeLate(conn net.Conn) { conn.Close() }

type authFunc = func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error)

// Credentials wraps the caller's function for credentials: it has as long as a dialer, and keeps its goroutine if it
// hangs.
func (c *Canceler) Credentials(provide authFunc) authFunc {
	if provide == nil {
		return nil
	}
	return func(of rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		ctx, over := c.attemptContext(context.Background())
		defer over()
		got, err := callBounded(ctx, c.slots, func() (rueidis.AuthCredentials, error) { return provide(of) }, nil)
		if err != nil {
			err = &rediserr.NotConnected{Err: err}
		}
		// An AUTH between other commands must not be sent. A server that rejects it without a reply shifts all later replies,
		// and a grant would be that of another command. See valkey-io/valkey#2106.
		got.RefreshAfter = time.Time{}
		return got, err
	}
}

// callBounded is call. room bounds the number of such functions.
func callBounded[T any](ctx context.Context, room chan struct{}, f func() (T, error), onLate func(T)) (got T, err error) {
	if ctx.Err() != nil {
		return got, context.Cause(ctx)
	}
	select {
	case room <- struct{}{}:
	default:
		return got, errTooManyAttempts
	}
	return call(ctx, f, func() { <-room }, onLate)
}

// call waits for a function of the caller until ctx ends. A function that hangs keeps its goroutine. If it returns a
// value later, onLate receives it unless onLate is nil. ended is called when the function has ended. A panic becomes an
// error.
func call[T any](ctx context.Context, f func() (T, error), ended func(), onLate func(T)) (got T, err error) {
	type outcome struct {
		value T
		err   error
	}
	done, left := make(chan outcome), make(chan struct{})
	go func() {
		came := outcome{err: errGoexit}
		defer func() { // also if f ends the goroutine
			if what := recover(); what != nil {
				came.err = panicError(what)
			}
			ended()
			select {
			case done <- came:
			case <-left:
				if onLate != nil && came.err == nil {
					onLate(came.value)
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

// panicError returns the error for a function that panicked. It names the function. Of what it panicked with, it has
// the text of an error of the runtime, and otherwise only the type: the text can contain a password.
func panicError(what any) error {
	const text = "a function of Options.Redis with which connections are made panicked"
	if failed, ok := what.(runtime.Error); ok {
		return fmt.Errorf("%s in %s: %w", text, panicked(), failed)
	}
	return fmt.Errorf("%s in %s, with a %T", text, panicked(), what)
}

// panicked returns the name of the function that panicked. It must be called, through panicError, by a deferred
// function.
func panicked() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for found := false; ; {
		frame, more := frames.Next()
		switch inRuntime := strings.HasPrefix(frame.Function, "runtime."); {
		case found && !inRuntime, !more:
			return frame.Function
		case frame.Function == "runtime.gopanic":
			found = true
		}
	}
}

func defaultDial(redis rueidis.ClientOption) dialFunc {
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
