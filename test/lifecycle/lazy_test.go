package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// openLazy opens an engine at an address where no server listens yet.
func openLazy(t *testing.T, opts lockwheel.Options) *lockwheel.Engine {
	t.Helper()
	opts.Lazy = true
	e, err := lockwheel.Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// A service starts before its Redis: calls behave as in an outage, and work soon after the server is there.
func TestLazy_ServerComesLater_Works(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	require.NoError(t, p.Refuse(true))
	before := time.Now()
	e := openLazy(t, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{p.Addr()}}})
	status := e.Status()
	require.Len(t, status, 1)
	require.True(t, status[0].Down)
	require.WithinRange(t, status[0].Since, before.Add(-time.Second), time.Now())
	require.ErrorContains(t, status[0].Err, "connection refused")

	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	_, err = e.Mutex("n").Lock(t.Context(), lockwheel.Wait(20*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorIs(t, e.Ping(t.Context()), lockwheel.ErrUnavailable)
	_, err = e.Mutex("{}n").TryLock(t.Context())
	require.ErrorContains(t, err, "in a cluster")

	waits := []<-chan locktest.Outcome{locktest.Locking(t.Context(), e.Mutex("a")), locktest.TakingAsync(t.Context(), e.FairMutex("b"))}
	locktest.Queued(t, e, 2)
	require.NoError(t, p.Refuse(false))
	for _, w := range waits {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
	require.Equal(t, []lockwheel.NodeStatus{{Address: p.Addr()}}, e.Status())
	require.NoError(t, e.Ping(t.Context()))
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("{}n"))) // no cluster

	p.Cut() // a later outage is one as any other
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
}

// Without work the engine connects as well.
func TestLazy_NoCalls_Connects(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	require.NoError(t, p.Refuse(true))
	e := openLazy(t, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{p.Addr()}}})
	require.True(t, e.Status()[0].Down)
	require.NoError(t, p.Refuse(false))
	locktest.Eventually(t, "connected", func() bool { return !e.Status()[0].Down })
}

// A wrong password is told in the status and in the error of each call. Without Lazy, Open returns it, and it does not
// match ErrUnavailable, because to try again does not help.
func TestLazy_WrongPassword_Told(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--requirepass", "secret")
	opts := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, Password: "public"}}
	_, err := lockwheel.Open(t.Context(), opts)
	var said lockwheel.ServerError
	require.ErrorAs(t, err, &said)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)

	e := openLazy(t, opts)
	require.ErrorContains(t, e.Status()[0].Err, "WRONGPASS")
	for what, err := range map[string]error{
		"try":  locktest.Second(e.Mutex("n").TryLock(t.Context())),
		"wait": locktest.Second(e.Mutex("n").Lock(t.Context(), lockwheel.Wait(10*time.Millisecond))),
		"ping": e.Ping(t.Context()),
	} {
		require.ErrorIs(t, err, lockwheel.ErrUnavailable, what)
		require.ErrorContains(t, err, "WRONGPASS", what)
		require.NotContains(t, err.Error(), "public", what)
	}
	s.Do("CONFIG", "SET", "requirepass", "public") // the operator heals it
	locktest.Unlock(t, locktest.Granted(t, locktest.Locking(t.Context(), e.Mutex("n"))))
}

// A server that comes soon is used soon: the pauses between the attempts are 10 ms at first, and 250 ms later.
func TestLazy_Attempts_SoonAndThenRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := make(chan time.Time, 1000)
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{
			InitAddress: []string{"anywhere:1"},
			DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
				attempts <- time.Now()
				return nil, errors.New("trouble")
			},
		}})
		require.NoError(t, err)
		defer func() {
			e.Close()
			time.Sleep(time.Minute) // goroutines of rueidis end by themselves
		}()
		last, longest := <-attempts, 10*time.Millisecond
		for range 50 {
			at := <-attempts
			require.GreaterOrEqual(t, at.Sub(last), longest/2)
			require.LessOrEqual(t, at.Sub(last), longest)
			last, longest = at, min(2*longest, 250*time.Millisecond)
		}
	})
}

// The cause of an outage before the first connection is that of the last attempt: it changes when the trouble does.
func TestLazy_CauseChanges_LastOneTold(t *testing.T) {
	t.Parallel()
	var cause atomic.Pointer[error]
	says := func(err error) { cause.Store(&err) }
	says(errors.New("the first trouble"))
	e := openLazy(t, lockwheel.Options{Redis: rueidis.ClientOption{
		InitAddress: []string{"anywhere:1"},
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return nil, *cause.Load()
		},
	}})
	told := func(text string) func() bool {
		return func() bool { return strings.Contains(e.Status()[0].Err.Error(), text) }
	}
	locktest.Eventually(t, "the first trouble", told("the first trouble"))
	says(errors.New("another one"))
	locktest.Eventually(t, "the second", told("another one"))
}

// An option that can never work, and the caller's end, are errors of Open all the same.
func TestLazy_InvalidOrCanceled_Fails(t *testing.T) {
	t.Parallel()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true})
	require.ErrorContains(t, err, "no server")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(locktest.ErrTest)
	_, err = lockwheel.Open(ctx, lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{InitAddress: []string{locktest.Unused(t)}}})
	require.ErrorIs(t, err, locktest.ErrTest)
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
}

// Close ends an engine that was never connected, also while it makes a connection, and leaves no goroutine. Not
// parallel: it counts goroutines.
func TestLazy_NeverConnected_CloseLeavesNothing(t *testing.T) {
	s := locktest.RealServer(t)
	silent := proxy.Start(t, s.Addr)
	silent.Set(proxy.Both, proxy.Drop)
	running := goleak.IgnoreCurrent()
	for _, addr := range []string{locktest.Unused(t), silent.Addr()} {
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, CallTimeout: 100 * time.Millisecond, Redis: rueidis.ClientOption{InitAddress: []string{addr}}})
		require.NoError(t, err)
		waits := locktest.Locking(t.Context(), e.Mutex("n"))
		locktest.Queued(t, e, 1)
		require.NoError(t, e.Close())
		require.ErrorIs(t, locktest.Receive(t, waits).Err, lockwheel.ErrClosed)
		require.ErrorIs(t, e.Ping(t.Context()), lockwheel.ErrClosed)
		require.NoError(t, e.Close())
	}
	locktest.Eventually(t, "no goroutine left", func() bool {
		silent.Cut()
		return goleak.Find(running) == nil
	})
}

// A client of the caller's is connected, so a Lazy engine on it works as any other.
func TestLazy_CallersClient_ServerComesBack(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, p.Refuse(true))
	p.Cut()
	e := openLazy(t, lockwheel.Options{Client: client})
	require.True(t, e.Status()[0].Down)
	require.NoError(t, p.Refuse(false))
	locktest.Unlock(t, locktest.Granted(t, locktest.Locking(t.Context(), e.Mutex("n"))))
	require.NoError(t, e.Close())
	require.NoError(t, client.Do(t.Context(), client.B().Ping().Build()).Error())
}

// An Open that fails because the server is not there matches ErrUnavailable, as the calls of an engine do.
func TestOpen_ServerDown_Unavailable(t *testing.T) {
	t.Parallel()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{locktest.Unused(t)}}})
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, "connection refused")
	require.False(t, errors.Is(err, context.Canceled))
}
