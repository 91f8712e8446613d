package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// ForceUnlock, from here, from elsewhere and from a Redisson client: everybody learns of it.

// While an engine holds a lock itself, its own callers queue inside, and nobody of them asks Redis.
func TestAForcedUnlockWakesWaitersThatQueueBehindALocalHolder(t *testing.T) {
	t.Parallel()
	for name, force := range map[string]func(t *testing.T, s *site, here *lockwheel.Engine){
		"here": func(t *testing.T, _ *site, here *lockwheel.Engine) { forceUnlock(t, here.Mutex("n")) },
		"elsewhere": func(t *testing.T, s *site, _ *lockwheel.Engine) {
			forceUnlock(t, s.open(lockwheel.Options{}).Mutex("n"))
		},
		"as Redisson does": func(t *testing.T, s *site, _ *lockwheel.Engine) {
			require.Equal(t, int64(1), s.do("DEL", "n"))
			require.Equal(t, int64(1), s.do("PUBLISH", "redisson_lock__channel:{n}", 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anySite(t)
			here := s.open(lockwheel.Options{})
			hold := lock(t, here.Mutex("n"))
			first := locking(t.Context(), here.Mutex("n"))
			queued(t, here, 1)
			second := locking(t.Context(), here.Mutex("n"))
			asleep(t, here, 2, 1)
			force(t, s, here)

			next := granted(t, first) // within patience: not at the next renewal, nor at the end of the lease
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			receive(t, hold.Done())
			require.NotEqual(t, hold.ID(), next.ID())
			require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"))
			silent(t, second, 50*time.Millisecond)
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			unlock(t, next)
			unlock(t, granted(t, second))
		})
	}
}

func forceUnlock(t *testing.T, m lockwheel.Mutex) {
	t.Helper()
	was, err := m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
}

func TestAForcedUnlockWakesWaitersElsewhere(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	holder, waiter, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
	waiting := locking(t.Context(), waiter.Mutex("n"))
	asleep(t, waiter, 1, 1)
	forceUnlock(t, other.Mutex("n"))
	next := granted(t, waiting)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"))
	unlock(t, next)
}

// Many at once on a busy lock: each ForceUnlock takes at most one holder, and none is forgotten.
func TestForcedUnlocksAmongManyHolders(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{})}
	crowd(t, 12, func(i int) error {
		m := engines[i%2].Mutex("n")
		for range 20 {
			if i < 2 {
				if _, err := m.ForceUnlock(t.Context()); err != nil {
					return err
				}
				soonOver()
				continue
			}
			hold, err := m.Lock(t.Context())
			if err != nil {
				return err
			}
			soonOver()
			_ = hold.Unlock(t.Context()) // nil, or ErrLost to whoever was forced
		}
		return nil
	})
	require.False(t, s.exists("n"))
	for _, e := range engines {
		settled(t, e)
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
	}
}
