package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A lock that was deleted in Redis goes to those who wait for its other half in the same engine once the engine finds
// that out, and not only when the lease they were told has ended.
func TestRWMutex_KeyDeleted_OtherHalfGranted(t *testing.T) {
	t.Parallel()
	for name, halves := range map[string]func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex){
		"readers": func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex) { return rw.RLocker(), rw.Writer() },
		"writer":  func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex) { return rw.Writer(), rw.RLocker() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: locktest.ShortLease})
			mine, wanted := halves(e.RWMutex("n"))
			hold := locktest.Lock(t, mine)
			again, err := mine.Lock(hold.Context(), lockwheel.Lease(time.Hour)) // so long would the other half wait
			require.NoError(t, err)
			calls := s.Scripts()
			waiting := locktest.Locking(t.Context(), wanted)
			locktest.RequireWaiting(t, e, 1, 1)
			locktest.Eventually(t, "its try after the subscription", func() bool { return s.Scripts() >= calls+2 })
			require.Equal(t, int64(1), s.Do("DEL", "n"))
			locktest.Unlock(t, locktest.Granted(t, waiting))
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorIs(t, again.Err(), lockwheel.ErrLost)
		})
	}
}
