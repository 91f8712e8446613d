package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// soon is well below every lease in these tests.
const soon = 5 * time.Second

// This holds for any lease, for both sides of a read/write lock, and for a caller that does not wait.
func TestRestoredKey_AnyLock_ReleasedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ held, asked string }{
		{"plain", "plain"}, {"fenced", "fenced"}, {"fair", "fair"}, {"writer", "writer"}, {"writer", "reader"}, {"reader", "writer"},
	} {
		for how, ask := range map[string]func(m lockwheel.Mutex) (*lockwheel.Hold, error){
			"waits": func(m lockwheel.Mutex) (*lockwheel.Hold, error) { return m.Lock(t.Context(), lockwheel.Wait(soon)) },
			"tries": func(m lockwheel.Mutex) (*lockwheel.Hold, error) { return m.TryLock(t.Context()) },
		} {
			t.Run(c.held+" came back, "+c.asked+" "+how, func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				e := s.Open(lockwheel.Options{})
				held := locktest.Lock(t, locktest.Grantable()[c.held](e, "n"), lockwheel.Lease(time.Hour))
				comesBack := s.Remember()
				locktest.Unlock(t, held)
				comesBack()
				asked, err := ask(locktest.Grantable()[c.asked](e, "n"))
				require.NoError(t, err)
				require.Less(t, s.PTTL("n"), time.Minute)
				locktest.Unlock(t, asked)
				require.False(t, s.Exists("n"))
			})
		}
	}
}

// An owner can have held both sides.
func TestRestoredKey_WriterWithRead_Released(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	write := locktest.Lock(t, m.Writer(), lockwheel.Lease(time.Hour))
	read := locktest.LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	comesBack := s.Remember()
	locktest.Unlock(t, read)
	locktest.Unlock(t, write)
	comesBack()
	locktest.Unlock(t, locktest.Lock(t, m.Writer(), lockwheel.Wait(soon)))
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Live readers beside the hold that came back are left alone, and waited for.
func TestRestoredKey_BesideReaders_Waits(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	stale := locktest.Lock(t, e.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	others := []*lockwheel.Hold{locktest.Lock(t, e.RWMutex("n").RLocker()), locktest.Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").RLocker())}
	comesBack := s.Remember()
	locktest.Unlock(t, stale)
	comesBack()
	locktest.StateFailed(t, e.RWMutex("n").Writer())
	locktest.Eventually(t, "the read that came back to go", func() bool {
		return s.Real.Do(t, "HEXISTS", "n", stale.ID()) == int64(0)
	})
	writing := locktest.Locking(t.Context(), e.RWMutex("n").Writer(), lockwheel.Wait(soon))
	for _, hold := range others {
		require.NoError(t, hold.Err())
		require.Equal(t, int64(1), s.Do("HEXISTS", "n", hold.ID()))
		select {
		case <-writing:
			require.Fail(t, "a writer beside readers")
		default:
		}
		locktest.Unlock(t, hold)
	}
	came := <-writing
	require.NoError(t, came.Err)
	locktest.Unlock(t, came.Hold)
}
