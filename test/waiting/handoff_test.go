package waiting_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// hotOptions keeps a lock of an engine busy with many callers until stop is called or the test ends.
func hotOptions(t *testing.T, m lockwheel.Mutex, r *locktest.CriticalSection) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				hold, err := m.Lock(ctx)
				if err != nil {
					return
				}
				r.Enter(func() {})
				_ = hold.Unlock(context.WithoutCancel(ctx))
			}
		})
	}
	stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// An engine with a hot lock lets other engines acquire it, whatever its options for hand-offs are.
func TestHotLock_OtherEngines_Granted(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"as by default":  {},
		"one at a time":  {Handoff: lockwheel.Handoff{MaxGrants: 1}},
		"never handed":   {Handoff: lockwheel.Handoff{MaxGrants: -1}},
		"for very long":  {Handoff: lockwheel.Handoff{MaxGrants: 1 << 30, MaxDuration: time.Hour}},
		"many, but soon": {Handoff: lockwheel.Handoff{MaxGrants: 1 << 30, MaxDuration: time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			here, listening, polling := s.Open(opts), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			var r locktest.CriticalSection
			stop := hotOptions(t, here.Mutex("n"), &r)
			locktest.Eventually(t, "the lock hot", func() bool { return here.Stats().Acquired > 100 })
			for range 5 {
				hold := locktest.Lock(t, listening.Mutex("n"))
				r.Enter(func() {})
				locktest.Unlock(t, hold)
			}
			locktest.Eventually(t, "let in by asking often enough", func() bool {
				hold, err := polling.Mutex("n").TryLock(t.Context())
				if err != nil {
					return false
				}
				r.Enter(func() {})
				locktest.Unlock(t, hold)
				return true
			})
			stop()
			require.False(t, r.Crowded.Load())
			locktest.RequireIdle(t, here)
			if opts.Handoff.MaxGrants < 0 {
				require.Zero(t, here.Stats().HandedOff)
			} else {
				require.NotZero(t, here.Stats().HandedOff)
			}
			require.False(t, s.Exists("n"))
		})
	}
}

// Without other processes that want it, a hot lock passes from caller to caller with far fewer commands than grants.
func TestHotLock_HandoffCostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	var r locktest.CriticalSection
	stop := hotOptions(t, e.Mutex("n"), &r)
	locktest.Eventually(t, "many grants", func() bool { return e.Stats().Acquired > 500 })
	stop()
	stats := e.Stats()
	require.False(t, r.Crowded.Load())
	require.Greater(t, stats.HandedOff, stats.Acquired/2)
	require.Less(t, stats.Commands, stats.Acquired/2)
}

// The engine keeps a lock that it hands off for longer than the lease: it is confirmed meanwhile.
func TestHotLock_LongerThanLease_Kept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Lease: locktest.SteadyLease})
	var r locktest.CriticalSection
	stop := hotOptions(t, e.Mutex("n"), &r)
	locktest.Always(t, locktest.SteadyLease+locktest.SteadyLease/3, "nothing lost", func() bool { return e.Stats().Lost == 0 })
	stop()
	require.False(t, r.Crowded.Load())
	require.NotZero(t, e.Stats().HandedOff)
	locktest.RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// If the key disappears while the lock is handed off, the engine notices long before the next renewal is due.
func TestHotLock_KeyDeleted_NoticedEarly(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	var r locktest.CriticalSection
	stop := hotOptions(t, e.Mutex("n"), &r)
	for range 3 {
		before := e.Stats().Lost
		s.Do("DEL", "n")
		locktest.Eventually(t, "noticed", func() bool {
			if e.Stats().Lost > before {
				return true
			}
			s.Do("DEL", "n") // the first DEL may have come between two tenures
			return false
		})
	}
	stop()
	locktest.RequireIdle(t, e)
	stats := e.Stats()
	require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
}
