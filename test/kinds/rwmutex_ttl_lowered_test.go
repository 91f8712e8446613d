package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// slowly renews only long after these tests have ended, and keeps its other deadlines within seconds.
var slowly = lockwheel.Options{Lease: 10 * time.Minute, CallTimeout: 3 * time.Second}

// The TTL of a write falls to what the write needs when its read with a longer lease is unlocked.
func TestRWMutex_ReadUnlocked_WriteTTLFalls(t *testing.T) {
	t.Parallel()
	own := lockwheel.Lease(time.Minute)
	for name, c := range map[string]struct {
		write []lockwheel.Option
		need  time.Duration
	}{"watched": {nil, slowly.Lease}, "with a lease": {[]lockwheel.Option{own}, time.Minute}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			m := s.Open(slowly).RWMutex("n")
			write := locktest.Lock(t, m.Writer(), c.write...)
			for range 2 {
				read := locktest.LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(24*time.Hour))
				require.Greater(t, s.PTTL("n"), 23*time.Hour)
				locktest.Unlock(t, read)
				s.RequireTTL(t, c.need, write)
			}
			locktest.Unlock(t, write)
			require.Equal(t, int64(0), s.Do("DBSIZE"))
		})
	}
}

// The TTL of a write falls when its read is extended to a shorter lease.
func TestRWMutex_ReadShortened_WriteTTLFalls(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	m := s.Open(slowly).RWMutex("n")
	write := locktest.Lock(t, m.Writer(), lockwheel.Lease(time.Minute))
	read := locktest.LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(24*time.Hour))
	require.NoError(t, read.Extend(t.Context(), 2*time.Minute))
	s.RequireTTL(t, 2*time.Minute, write, read)
	locktest.Unlock(t, read)
	s.RequireTTL(t, time.Minute, write)
	locktest.Unlock(t, write)
}

// The lease falls at once, as for any hold, to what the writer's read still needs.
func TestRWMutex_WriteShortened_TTLFalls(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	m := s.Open(slowly).RWMutex("n")
	write := locktest.Lock(t, m.Writer(), lockwheel.Lease(24*time.Hour))
	read := locktest.LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(10*time.Minute))
	waiting := locktest.Locking(t.Context(), s.Open(lockwheel.Options{}).RWMutex("n").Writer())
	locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
	require.NoError(t, write.Extend(t.Context(), time.Minute))
	require.LessOrEqual(t, s.PTTL("n"), 10*time.Minute)
	require.Greater(t, s.PTTL("n"), 9*time.Minute)
	extendBriefly(t, read, time.Second) // the read ends, and the write continues
	s.RequireTTL(t, time.Minute, write)
	locktest.Receive(t, read.Done())
	extendBriefly(t, write, 500*time.Millisecond)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// extendBriefly extends a hold to a short lease. On a busy machine the reply may come after that lease, and the hold is
// lost.
func extendBriefly(t *testing.T, hold *lockwheel.Hold, lease time.Duration) {
	t.Helper()
	began := time.Now()
	if err := hold.Extend(t.Context(), lease); time.Since(began) < lease/2 {
		require.NoError(t, err)
	} else if err != nil {
		require.ErrorIs(t, err, lockwheel.ErrLost)
	}
}

// A write and a read remain, and a third, inner hold of either kind is unlocked.
func TestRWMutex_InnerUnlocked_TTLFalls(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]func(lockwheel.RWMutex) lockwheel.Mutex{"write": lockwheel.RWMutex.Writer, "read": lockwheel.RWMutex.RLocker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			m := s.Open(slowly).RWMutex("n")
			write := locktest.Lock(t, m.Writer())
			read := locktest.LockWith(t, write.Context(), m.RLocker())
			locktest.Unlock(t, locktest.LockWith(t, read.Context(), inner(m), lockwheel.Lease(24*time.Hour)))
			s.RequireTTL(t, slowly.Lease, write, read)
			locktest.Unlock(t, write)
			s.RequireTTL(t, slowly.Lease, read)
			locktest.Unlock(t, read)
			require.Equal(t, int64(0), s.Do("DBSIZE"))
		})
	}
}
