package lockwheel_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Handing off inside an engine makes a hot lock fast, and must not starve callers of other processes.

// hot keeps a lock of an engine busy with many callers until stop is called or the test ends.
func hot(t *testing.T, m lockwheel.Mutex, r *room) (stop func()) {
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
				r.visit(func() {})
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

func TestAHotEngineLetsOthersIn(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"as by default":  {},
		"one at a time":  {Handoff: lockwheel.Handoff{Max: 1}},
		"never handed":   {Handoff: lockwheel.Handoff{Max: -1}},
		"for very long":  {Handoff: lockwheel.Handoff{Max: 1 << 30, For: time.Hour}},
		"many, but soon": {Handoff: lockwheel.Handoff{Max: 1 << 30, For: time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anySite(t)
			here, listening, polling := s.open(opts), s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
			var r room
			stop := hot(t, here.Mutex("n"), &r)
			eventually(t, "the lock hot", func() bool { return here.Stats().Acquired > 100 })
			for range 5 {
				hold := lock(t, listening.Mutex("n"))
				r.visit(func() {})
				unlock(t, hold)
			}
			eventually(t, "let in by asking often enough", func() bool {
				hold, err := polling.Mutex("n").TryLock(t.Context())
				if err != nil {
					return false
				}
				r.visit(func() {})
				unlock(t, hold)
				return true
			})
			stop()
			require.False(t, r.crowded.Load())
			settled(t, here)
			if opts.Handoff.Max < 0 {
				require.Zero(t, here.Stats().Handed)
			} else {
				require.NotZero(t, here.Stats().Handed)
			}
			require.False(t, s.exists("n"))
		})
	}
}

// Without other processes that want it, a hot lock passes from caller to caller with far fewer commands than grants.
func TestHandingOnCostsNoRoundTrip(t *testing.T) {
	t.Parallel()
	e := anySite(t).open(lockwheel.Options{})
	var r room
	stop := hot(t, e.Mutex("n"), &r)
	eventually(t, "many grants", func() bool { return e.Stats().Acquired > 500 })
	stop()
	stats := e.Stats()
	require.False(t, r.crowded.Load())
	require.Greater(t, stats.Handed, stats.Acquired/2)
	require.Less(t, stats.Commands, stats.Acquired/2)
}

// The engine keeps a lock that it hands off for longer than the lease: it is confirmed meanwhile.
func TestAHotLockIsNotLost(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	e := s.open(lockwheel.Options{Lease: brief})
	var r room
	stop := hot(t, e.Mutex("n"), &r)
	always(t, renewed, "nothing lost", func() bool { return e.Stats().Lost == 0 })
	stop()
	require.False(t, r.crowded.Load())
	require.NotZero(t, e.Stats().Handed)
	settled(t, e)
	require.False(t, s.exists("n"))
}

// If the key disappears while the lock is handed off, the engine notices long before the next renewal is due.
func TestAHotLockThatIsDeletedIsNoticed(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	e := s.open(lockwheel.Options{})
	var r room
	stop := hot(t, e.Mutex("n"), &r)
	for range 3 {
		before := e.Stats().Lost
		s.do("DEL", "n")
		eventually(t, "noticed", func() bool {
			if e.Stats().Lost > before {
				return true
			}
			s.do("DEL", "n") // the first DEL may have come between two tenures
			return false
		})
	}
	stop()
	settled(t, e)
	stats := e.Stats()
	require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
}
