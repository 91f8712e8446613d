package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// Close does not wait for a connection attempt that is in progress, long after Open.
func TestDial_EngineCloses_Ends(t *testing.T) {
	t.Parallel()
	o := NewCanceler(t.Context(), time.Hour)
	o.Finish()
	dial := o.Dialer(rueidis.ClientOption{DialCtxFn: func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	failed := make(chan error, 1)
	go func() {
		_, err := dial(context.Background(), "host:1", &net.Dialer{}, nil)
		failed <- err
	}()
	o.Connections.CloseAfter(time.Hour, func() {})
	select {
	case err := <-failed:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(8 * time.Second):
		t.Fatal("it goes on")
	}
}

// A dialer that fails may return a connection that is not usable: *tls.Conn(nil).
func TestDial_LateFailure_Harmless(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	o := NewCanceler(t.Context(), time.Hour)
	dial := o.Dialer(rueidis.ClientOption{DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		cancel()
		<-gate
		var none *tls.Conn
		return none, net.ErrClosed
	}})
	_, err := dial(ctx, "host:1", &net.Dialer{}, nil)
	require.ErrorIs(t, err, context.Canceled)
	close(gate)
	require.Eventually(t, func() bool { return len(o.slots) == 0 }, 8*time.Second, time.Millisecond)
}

// The number of attempts that hang is bounded.
func TestDial_HangingAttempts_Bounded(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	o := NewCanceler(t.Context(), time.Millisecond)
	ask := o.Credentials(func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		<-gate
		return rueidis.AuthCredentials{}, nil
	})
	for len(o.slots) < maxAttempts {
		_, err := ask(rueidis.AuthCredentialsContext{})
		require.ErrorIs(t, err, errDialTimeout)
	}
	o.timeout = time.Hour
	for range 10 {
		_, err := ask(rueidis.AuthCredentialsContext{})
		require.ErrorIs(t, err, errTooManyAttempts)
	}
	next := o.Limits.NewCanceler(t.Context(), time.Hour).Credentials(func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		return rueidis.AuthCredentials{}, nil
	})
	_, err := next(rueidis.AuthCredentialsContext{})
	require.ErrorIs(t, err, errTooManyAttempts, "also in the next attempt to open the engine")
	close(gate)
	require.Eventually(t, func() bool {
		_, err := ask(rueidis.AuthCredentialsContext{})
		return err == nil
	}, 8*time.Second, time.Millisecond)
}

// A function that makes connections may have its own timeout, which ends before the engine's. Its result is then an
// error, and neither a connection nor credentials.
func TestDial_CallerTimeout_ReturnsError(t *testing.T) {
	t.Parallel()
	o := NewCanceler(t.Context(), time.Hour)
	defer o.Finish()
	late := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Microsecond)
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	for what, redis := range map[string]rueidis.ClientOption{
		"DialCtxFn": {DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { return nil, late() }},
		"DialFn":    {DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) { return nil, late() }},
		"TLS": {DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) {
			conn, _ := net.Pipe()
			return handshaking{conn, late}, nil
		}},
	} {
		conn, err := o.Dialer(redis)(t.Context(), "host:1", &net.Dialer{}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, what)
		require.Nil(t, conn, what)
	}
	_, err := o.Credentials(func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		return rueidis.AuthCredentials{}, late()
	})(rueidis.AuthCredentialsContext{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// handshaking is a connection with a given result of its handshake.
type handshaking struct {
	net.Conn
	made func() error
}

func (c handshaking) HandshakeContext(context.Context) error { return c.made() }

// All existing connections end together with those that are being made. Later connections are not affected.
func TestDial_EndConnections_IncludesPending(t *testing.T) {
	t.Parallel()
	o := NewCanceler(t.Context(), time.Hour)
	o.Finish()
	connects, goesOn := make(chan struct{}), make(chan struct{})
	dial := o.Dialer(rueidis.ClientOption{DialCtxFn: func(_ context.Context, address string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		if address == "slow:1" {
			close(connects)
			<-goesOn
		}
		conn, other := net.Pipe()
		t.Cleanup(func() { other.Close() })
		return conn, nil
	}})
	ended := func(conn net.Conn) error {
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err := conn.Read(make([]byte, 1))
		return err
	}
	there, err := dial(context.Background(), "host:1", &net.Dialer{}, nil)
	require.NoError(t, err)
	made := make(chan net.Conn, 1)
	go func() {
		conn, _ := dial(context.Background(), "slow:1", &net.Dialer{}, nil)
		made <- conn
	}()
	<-connects
	require.ErrorIs(t, ended(there), os.ErrDeadlineExceeded)
	o.Connections.CloseCurrent()
	close(goesOn)
	for _, conn := range []net.Conn{there, <-made} {
		require.Eventually(t, func() bool { return errors.Is(ended(conn), io.ErrClosedPipe) }, 8*time.Second, time.Millisecond)
	}
	later, err := dial(context.Background(), "host:1", &net.Dialer{}, nil)
	require.NoError(t, err)
	require.Never(t, func() bool { return errors.Is(ended(later), io.ErrClosedPipe) }, 200*time.Millisecond, time.Millisecond)
	o.Connections.CloseAfter(time.Hour, func() {})
	require.Eventually(t, func() bool { return errors.Is(ended(later), io.ErrClosedPipe) }, 8*time.Second, time.Millisecond)
}

// Credentials are for new connections only. An AUTH between other commands can shift the replies of all later ones.
func TestCredentials_RunningConn_NotRefreshed(t *testing.T) {
	t.Parallel()
	o := NewCanceler(t.Context(), time.Hour)
	ask := o.Credentials(func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		return rueidis.AuthCredentials{Username: "u", Password: "p", RefreshAfter: time.Now().Add(time.Minute)}, nil
	})
	got, err := ask(rueidis.AuthCredentialsContext{})
	require.NoError(t, err)
	require.Equal(t, rueidis.AuthCredentials{Username: "u", Password: "p"}, got)
}

// A function that panics costs its own attempt, and not the process. What it panicked with may be a password.
func TestDial_FunctionPanics_ReturnsError(t *testing.T) {
	t.Parallel()
	o := NewCanceler(t.Context(), time.Hour)
	defer o.Finish()
	ours, theirs := net.Pipe()
	dialers := map[string]rueidis.ClientOption{
		"DialCtxFn": {DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) { panic("secret") }},
		"DialFn":    {DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) { panic(errors.New("secret")) }},
		"TLS": {DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return handshaking{ours, func() error { panic("secret") }}, nil
		}},
	}
	for what, redis := range dialers {
		conn, err := o.Dialer(redis)(t.Context(), "host:1", &net.Dialer{}, nil)
		require.ErrorContains(t, err, "panicked in github.com/lockwheel/lockwheel/internal/dial.TestDial_FunctionPanics_ReturnsError.", what)
		require.NotContains(t, err.Error(), "secret", what)
		require.Nil(t, conn, what)
	}
	_, err := theirs.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe, "the connection without a handshake is closed")
	none := []string{}
	_, err = o.Credentials(func(rueidis.AuthCredentialsContext) (rueidis.AuthCredentials, error) {
		return rueidis.AuthCredentials{Username: none[0]}, nil
	})(rueidis.AuthCredentialsContext{})
	require.ErrorContains(t, err, "index out of range", "an error of the runtime says what is wrong")
	require.Empty(t, o.slots)
}

// hangingClose is a connection that is closed only when its gate opens.
type hangingClose struct {
	net.Conn
	gate <-chan struct{}
}

func (c hangingClose) Close() error {
	<-c.gate
	return c.Conn.Close()
}

// Functions that hang take no room from the Close of a connection.
func TestDial_HangingAttempts_ConnectionClosed(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	defer close(gate)
	o := NewCanceler(t.Context(), 8*time.Second)
	o.Finish()
	ours, theirs := net.Pipe()
	conn, err := o.Dialer(rueidis.ClientOption{DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) { return ours, nil }})(t.Context(), "host:1", &net.Dialer{}, nil)
	require.NoError(t, err)
	for range maxAttempts {
		o.slots <- struct{}{}
	}
	require.NoError(t, conn.Close())
	_, err = theirs.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

// The number of calls of Close that hang is bounded: beyond it no further connection is made. Those that exist are
// closed.
func TestDial_HangingCloses_Bounded(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	o := NewCanceler(t.Context(), 8*time.Second)
	o.Finish()
	dial := o.Dialer(rueidis.ClientOption{DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) {
		conn, _ := net.Pipe()
		return hangingClose{conn, gate}, nil
	}})
	var conns []net.Conn
	for range maxAttempts {
		conn, err := dial(t.Context(), "host:1", &net.Dialer{}, nil)
		require.NoError(t, err)
		conns = append(conns, conn)
	}
	ours, theirs := net.Pipe()
	last, err := o.Dialer(rueidis.ClientOption{DialFn: func(string, *net.Dialer, *tls.Config) (net.Conn, error) { return ours, nil }})(t.Context(), "host:1", &net.Dialer{}, nil)
	require.NoError(t, err)
	o.timeout = time.Millisecond
	for _, conn := range conns {
		require.ErrorIs(t, conn.Close(), errDialTimeout)
	}
	o.timeout = 8 * time.Second
	_, err = dial(t.Context(), "host:1", &net.Dialer{}, nil)
	require.ErrorIs(t, err, errTooManyCloses)
	require.NoError(t, last.Close())
	_, err = theirs.Write([]byte("x"))
	require.ErrorIs(t, err, io.ErrClosedPipe)
	close(gate)
	require.Eventually(t, func() bool {
		_, err := dial(t.Context(), "host:1", &net.Dialer{}, nil)
		return err == nil
	}, 8*time.Second, time.Millisecond, "there is room again")
}
