package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Close ends on a connection without replies, and ends holds and waits with ErrClosed.
func TestClose_SilentLink_Ends(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]proxy.Fault{"held": proxy.Hold, "swallowed": proxy.Drop} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: 500 * time.Millisecond})
			hold := locktest.Lock(t, e.Mutex("n"))
			waiting := locktest.Locking(t.Context(), e.Mutex("n"))
			locktest.Queued(t, e, 1)
			p.Set(proxy.Both, fault)
			asked := locktest.Locking(t.Context(), e.Mutex("m"))
			locktest.Queued(t, e, 2)
			closed := make(chan error, 1)
			go func() { closed <- e.Close() }()
			require.NoError(t, locktest.Receive(t, closed))
			require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
			for _, done := range []<-chan locktest.Outcome{waiting, asked} {
				require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrClosed)
			}
		})
	}
}

// A call that waits for a reply when the engine is closed gets an error.
func TestClose_WaitingCalls_Error(t *testing.T) {
	t.Parallel()
	_, p, e := locktest.Behind(t, lockwheel.Options{})
	holds := []*lockwheel.Hold{locktest.Lock(t, e.Mutex("a")), locktest.Lock(t, e.Mutex("b"))}
	p.Set(proxy.Replies, proxy.Hold)
	ctx := context.Background()
	results := make(chan error, 5)
	go func() { results <- holds[0].Unlock(ctx) }()
	go func() { results <- holds[1].Extend(ctx, time.Hour) }()
	go func() { results <- locktest.Second(e.Mutex("c").State(ctx)) }()
	go func() { results <- locktest.Second(e.Mutex("d").ForceUnlock(ctx)) }()
	go func() { results <- locktest.Second(e.Mutex("e").TryLock(ctx)) }()
	locktest.Eventually(t, "all under way", func() bool { return e.Stats().InFlight == 5 })
	go p.Cut() // or Close would wait for the replies
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	for range 5 {
		// Each call ended: by the close, or before that by the end of its connection.
		err := locktest.Receive(t, results)
		require.True(t, err == nil || errors.Is(err, lockwheel.ErrClosed) || errors.Is(err, lockwheel.ErrUnavailable), err)
	}
	require.NoError(t, locktest.Receive(t, closed))
}

// Shutdown waits for holds, and on a dead server holds end with their leases.
func TestShutdown_DeadServer_EndsWithLeases(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: locktest.ShortLease})
	hold := locktest.Lock(t, e.Mutex("n"))
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	require.NoError(t, s.Real.Kill())
	asked := locktest.Locking(t.Context(), e.Mutex("m"))
	locktest.Queued(t, e, 2)
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(context.Background()) }()
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
	require.ErrorIs(t, locktest.Receive(t, asked).Err, lockwheel.ErrClosed)
	locktest.Receive(t, hold.Done())
	require.NoError(t, locktest.Receive(t, done))
	require.Error(t, hold.Err())
}

// Several callers may call Shutdown, each with its own deadline.
func TestShutdown_ManyCallers_OwnDeadlines(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- e.Shutdown(context.Background()) }()
	}
	locktest.RequireNoReply(t, done, 50*time.Millisecond)
	locktest.Unlock(t, hold)
	require.NoError(t, locktest.Receive(t, done))
	require.NoError(t, locktest.Receive(t, done))
	require.False(t, s.Exists("n"))

	// A Shutdown with an ended context closes the engine, as documented, and so ends the other one.
	e = s.Open(lockwheel.Options{})
	hold = locktest.Lock(t, e.Mutex("n"))
	go func() { done <- e.Shutdown(context.Background()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.Shutdown(ctx), context.DeadlineExceeded)
	if err := locktest.Receive(t, done); err != nil { // nil if Shutdown was called when the engine was closed
		require.ErrorIs(t, err, lockwheel.ErrClosed)
	}
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
}

// gated is a client of the caller that sends scripts, and each PING if pings is set, only once the gate is open.
// Closing the engine does not close it.
type gated struct {
	rueidis.Client
	gate    chan struct{}
	pings   atomic.Bool
	at      atomic.Int32 // calls at the gate
	calls   atomic.Int32 // all calls
	pending atomic.Int32 // those that have not returned
}

func (g *gated) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	g.calls.Add(1)
	g.pending.Add(1)
	defer g.pending.Add(-1)
	if words := cmd.Commands(); strings.HasPrefix(words[0], "EVAL") || words[0] == "PING" && g.pings.Load() {
		g.at.Add(1)
		<-g.gate
	}
	return g.Client.Do(ctx, cmd)
}

// When Close returns, no goroutine of the engine is left and no command follows. A second Close, or a Shutdown, waits
// for that as well.
func TestClose_Returns_NothingFollows(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	client := &gated{Client: s.Client(), gate: make(chan struct{})}
	const timeout = 50 * time.Millisecond // then the loop no longer waits for the call at the gate
	// The record of the engine would be a call at the gate.
	e := locktest.OpenRetrying(t, lockwheel.Options{Client: client, CallTimeout: timeout, Anonymous: true})
	asked := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Eventually(t, "a call at the gate", func() bool { return client.at.Load() >= 1 }) // another one after timeout
	closed := make(chan error, 3)
	go func() { closed <- e.Close() }()
	require.ErrorIs(t, locktest.Receive(t, asked).Err, lockwheel.ErrClosed)
	go func() { closed <- e.Close() }()
	locktest.RequireNoReply(t, closed, 10*timeout)
	go func() { closed <- e.Shutdown(context.Background()) }() // the loop has ended
	locktest.RequireNoReply(t, closed, 2*timeout)
	close(client.gate)
	require.NoError(t, locktest.Receive(t, closed))
	require.Zero(t, client.pending.Load(), "no call is left")
	sent := client.calls.Load()
	for range cap(closed) - 1 {
		require.NoError(t, locktest.Receive(t, closed))
	}
	locktest.Always(t, 2*timeout, "no command follows", func() bool { return client.calls.Load() == sent })
}

// That includes a PING that its caller no longer waits for.
func TestClose_PingInFlight_NothingFollows(t *testing.T) {
	t.Parallel()
	client := &gated{Client: locktest.AnyServer(t).Client(), gate: make(chan struct{})}
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client, Anonymous: true})
	require.NoError(t, err)
	client.pings.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pinged := make(chan error, 1)
	go func() { pinged <- e.Ping(ctx) }()
	locktest.Eventually(t, "a PING at the gate", func() bool { return client.at.Load() == 1 })
	cancel()
	require.ErrorIs(t, locktest.Receive(t, pinged), lockwheel.ErrUnavailable)
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	locktest.RequireNoReply(t, closed, 100*time.Millisecond)
	require.ErrorIs(t, e.Ping(t.Context()), lockwheel.ErrClosed)
	close(client.gate)
	require.NoError(t, locktest.Receive(t, closed))
}

// rueidis delays Close by at most CallTimeout, although it waits up to one second for the reply to its last command on
// each connection. At least one of several closes must not be delayed by a busy machine.
func TestClose_SilentServer_WithinCallTimeout(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, s *locktest.Server, p *proxy.Proxy){
		"swallowed": func(_ *testing.T, _ *locktest.Server, p *proxy.Proxy) { p.Set(proxy.Both, proxy.Drop) },
		"frozen":    func(t *testing.T, s *locktest.Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Pause()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const timeout = 100 * time.Millisecond
			soonest := locktest.TestDeadline
			for try := 0; try < 5 && soonest > 5*timeout; try++ {
				s, p, e := locktest.Behind(t, lockwheel.Options{Lease: time.Minute, CallTimeout: timeout})
				s.HoldAsOther("n", time.Hour)
				waiting := locktest.Locking(t.Context(), e.Mutex("n")) // so that there is a Pub/Sub connection
				locktest.RequireWaiting(t, e, 1, 1)
				fault(t, s, p)
				asked := locktest.Locking(t.Context(), e.Mutex("m"))
				locktest.Queued(t, e, 2)
				began := time.Now()
				require.NoError(t, e.Close())
				soonest = min(soonest, time.Since(began))
				require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
				locktest.Receive(t, asked)
				if name == "frozen" {
					require.NoError(t, s.Real.Continue())
				}
			}
			require.Less(t, soonest, 5*timeout)
		})
	}
}

// The time that Shutdown has waited for what was sent counts for the close that follows: beside a server that does not
// reply, Shutdown ends soon after its context. At least one of several must not be delayed by a busy machine.
func TestShutdown_SilentServer_EndsWithContext(t *testing.T) {
	t.Parallel()
	const timeout, workers = 2 * time.Second, 20
	soonest := locktest.TestDeadline
	for try := 0; try < 5 && soonest > timeout*5/4; try++ {
		s := locktest.RealServer(t)
		e := s.Open(lockwheel.Options{Lease: time.Minute, CallTimeout: timeout})
		kept := locktest.Lock(t, e.Mutex("kept"))
		working, stop := context.WithCancel(t.Context())
		over := make(chan error, workers)
		for i := range workers {
			go func() {
				m := e.Mutex(fmt.Sprint("n", i))
				for {
					hold, err := m.Lock(working)
					if err != nil {
						over <- nil
						return
					}
					unlock, cancel := context.WithTimeout(t.Context(), timeout/20)
					_ = hold.Unlock(unlock) // it cannot be confirmed
					cancel()
				}
			}()
		}
		locktest.Eventually(t, "some pairs", func() bool { return e.Stats().Acquired > 100 })
		require.NoError(t, s.Real.Pause())
		stop()
		for range workers {
			require.NoError(t, locktest.Receive(t, over))
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout/2)
		began := time.Now()
		require.ErrorIs(t, e.Shutdown(ctx), context.DeadlineExceeded)
		soonest = min(soonest, time.Since(began))
		cancel()
		require.ErrorIs(t, kept.Err(), lockwheel.ErrClosed)
		require.NoError(t, s.Real.Continue())
	}
	require.Less(t, soonest, timeout*5/4)
}
