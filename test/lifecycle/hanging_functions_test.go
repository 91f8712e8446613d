package lifecycle_test

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// hanging is a function of a caller that hangs while it is set to.
type hanging struct {
	hangs  atomic.Bool
	once   bool // only the first call hangs
	ends   bool // it ends its goroutine instead
	gate   chan struct{}
	called chan struct{}
	late   chan net.Conn // connections that were made after that

	dialing atomic.Int32 // calls of dial
}

func newHanging() *hanging {
	return &hanging{gate: make(chan struct{}), called: make(chan struct{}, 100), late: make(chan net.Conn, 100)}
}

func (h *hanging) hang() (late bool) {
	if !h.hangs.Load() || h.once && !h.hangs.CompareAndSwap(true, false) {
		return false
	}
	select {
	case h.called <- struct{}{}:
	default: // often enough
	}
	if h.ends {
		runtime.Goexit()
	}
	<-h.gate
	return true
}

func (h *hanging) credentials(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
	h.hang()
	return rueidis.AuthCredentials{}, nil
}

func (h *hanging) dial(address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	h.dialing.Add(1)
	defer h.dialing.Add(-1)
	late := h.hang()
	conn, err := d.Dial("tcp", address)
	if late && err == nil {
		h.late <- conn
	}
	return conn, err
}

func (h *hanging) dialCtx(_ context.Context, address string, d *net.Dialer, t *tls.Config) (net.Conn, error) {
	return h.dial(address, d, t)
}

// obedient is a dialer that returns when its context ends, where the others hang.
func (h *hanging) obedient(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
	if h.hangs.Load() && (!h.once || h.hangs.CompareAndSwap(true, false)) {
		select {
		case h.called <- struct{}{}:
		default: // often enough
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return d.DialContext(ctx, "tcp", address)
}

// hangingFunctions are the functions of a caller that take part in making a connection.
var hangingFunctions = map[string]func(*testing.T, *rueidis.ClientOption, *hanging) *locktest.Server{
	"AuthCredentialsFn": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		o.AuthCredentialsFn = h.credentials
		return locktest.RealServer(t)
	},
	"DialCtxFn": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		o.DialCtxFn = h.dialCtx
		return locktest.RealServer(t)
	},
	"a DialCtxFn that obeys": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		o.DialCtxFn = h.obedient
		return locktest.RealServer(t)
	},
	"DialFn": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		o.DialFn = h.dial
		return locktest.RealServer(t)
	},
	"Dialer.Control": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		o.Dialer.Control = func(string, string, syscall.RawConn) error {
			h.hang()
			return nil
		}
		return locktest.RealServer(t)
	},
	"VerifyConnection": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		return verified(t, o, h)
	},
	"VerifyConnection of a DialCtxFn that leaves the handshake to others": func(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
		s := verified(t, o, h)
		o.DialCtxFn = func(ctx context.Context, address string, d *net.Dialer, config *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", address)
			if err != nil {
				return nil, err
			}
			return tls.Client(conn, config), nil
		}
		return s
	},
}

// verified returns a server with TLS, where the caller checks the certificate.
func verified(t *testing.T, o *rueidis.ClientOption, h *hanging) *locktest.Server {
	a := locktest.ServerCA(t)
	s := locktest.RealServer(t, a.Secured()...)
	o.InitAddress, o.TLSConfig = []string{s.Real.SecureAddr()}, a.Client()
	o.TLSConfig.VerifyConnection = func(tls.ConnectionState) error {
		h.hang()
		return nil
	}
	return s
}

// eachHanging runs a test with each of these functions.
func eachHanging(t *testing.T, f func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options)) {
	t.Parallel()
	for name, set := range hangingFunctions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, opts := newHanging(), lockwheel.Options{CallTimeout: 300 * time.Millisecond}
			s := set(t, &opts.Redis, h)
			if opts.Redis.InitAddress == nil {
				opts.Redis.InitAddress = []string{s.Addr}
			}
			f(t, s, h, opts)
		})
	}
}

// comeLate releases the functions that hang, and requires that nothing is left of them.
func (h *hanging) comeLate(t *testing.T) {
	close(h.gate)
	locktest.Eventually(t, "the end of each dial", func() bool { return h.dialing.Load() == 0 })
	for {
		select {
		case conn := <-h.late:
			locktest.Eventually(t, "a connection that came late to be closed", func() bool {
				return conn.SetDeadline(time.Time{}) != nil
			})
		default:
			return
		}
	}
}

// Open ends with its context even if a function of the caller hangs, and leaves no connection behind.
func TestOpen_FunctionHangs_EndsWithContext(t *testing.T) {
	eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
		h.hangs.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := lockwheel.Open(ctx, opts)
			failed <- err
		}()
		locktest.Receive(t, h.called)
		cancel()
		require.ErrorIs(t, locktest.Receive(t, failed), context.Canceled)
		h.comeLate(t)
		locktest.Eventually(t, "no connection left", func() bool { return len(s.Clients()) <= 1 })
	})
}

// Close and Shutdown do not wait for a function of the caller that hangs.
func TestClose_FunctionHangs_Ends(t *testing.T) {
	for what, end := range map[string]func(e *lockwheel.Engine) error{
		"Close": func(e *lockwheel.Engine) error { return e.Close() },
		"Shutdown": func(e *lockwheel.Engine) error {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_ = e.Shutdown(ctx)
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			eachHanging(t, func(t *testing.T, s *locktest.Server, h *hanging, opts lockwheel.Options) {
				e := locktest.OpenRetrying(t, opts)
				locktest.Lock(t, e.Mutex("n"))
				h.hangs.Store(true)
				s.Do("CLIENT", "KILL", "TYPE", "normal")
				locktest.Eventually(t, "another connection", func() bool {
					_, _ = e.Mutex("m").TryLock(t.Context())
					return len(h.called) > 0
				})
				closed := make(chan error, 1)
				go func() { closed <- end(e) }()
				require.NoError(t, locktest.Receive(t, closed))
				h.comeLate(t)
				locktest.Eventually(t, "no connection left", func() bool { return len(s.Clients()) <= 1 })
			})
		})
	}
}

// stuck is a connection of a caller with a Close that hangs. It behaves as if it had to send data first to a peer that
// does not read.
type stuck struct {
	net.Conn
	gate   chan struct{}
	closes *atomic.Int64
}

func (c stuck) Close() error {
	c.closes.Add(1)
	<-c.gate
	return c.Conn.Close()
}

// An engine does not wait for a connection that hangs when it is closed.
func TestClose_ConnectionCloseHangs_Ends(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	gate, closes := make(chan struct{}), new(atomic.Int64)
	e := locktest.OpenRetrying(t, lockwheel.Options{CallTimeout: 1500 * time.Millisecond, Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr},
		DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", address)
			return stuck{conn, gate, closes}, err
		},
	}})
	hold := locktest.Lock(t, e.Mutex("n"))
	for range 2 {
		s.Do("CLIENT", "KILL", "TYPE", "normal")
		s.Do("CLIENT", "KILL", "TYPE", "pubsub")
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("m")))
	}
	locktest.Unlock(t, hold)
	require.NotZero(t, closes.Load())
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	require.NoError(t, locktest.Receive(t, closed))
	close(gate)
	locktest.Eventually(t, "no connection left", func() bool { return len(s.Clients()) <= 1 })
}

// A dialer's error is converted to text before it reaches the loop.
func TestDial_ErrorTextHangs_EngineRuns(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	gate := make(chan struct{})
	var fails atomic.Bool
	var failed atomic.Int64
	e := locktest.OpenRetrying(t, lockwheel.Options{CallTimeout: 300 * time.Millisecond, Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr},
		DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			if fails.Load() {
				failed.Add(1)
				return nil, &locktest.Troubled{Gate: gate}
			}
			return d.DialContext(ctx, "tcp", address)
		},
	}})
	fails.Store(true)
	s.Do("CLIENT", "KILL", "TYPE", "normal")
	waiting := make([]*lockwheel.Pending, 0, 1000)
	for eventually := time.Now().Add(locktest.TestDeadline); failed.Load() == 0; {
		require.True(t, time.Now().Before(eventually), "no connection was tried")
		waiting = append(waiting, e.Mutex("n").LockAsync(t.Context(), lockwheel.Wait(10*time.Millisecond)))
		time.Sleep(time.Millisecond)
	}
	for _, p := range waiting {
		locktest.Receive(t, p.Done())
	}
	close(gate)
	require.NoError(t, e.Close())
}
