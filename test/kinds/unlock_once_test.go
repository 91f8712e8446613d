package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// However close the calls of Unlock are, one returns nil for each hold, and the others that it was unlocked. That holds
// for one lock, held once or again, for several, and for a majority.
func TestUnlock_SeveralAtOnce_OneReturnsNil(t *testing.T) {
	t.Parallel()
	e := locktest.RealServer(t).Open(locktest.SlowTimeouts)
	engines := locktest.NewServerSet(t, 3).Client(lockwheel.Options{})
	veryMany, _ := many(e, 1200)
	one := func(m lockwheel.Multi) func() []*lockwheel.Hold {
		return func() []*lockwheel.Hold {
			return []*lockwheel.Hold{locktest.LockAll(t, m, lockwheel.Wait(time.Minute))}
		}
	}
	for _, c := range []struct {
		what  string
		holds func() []*lockwheel.Hold
		times int
	}{
		{"one", func() []*lockwheel.Hold { return []*lockwheel.Hold{locktest.Lock(t, e.Mutex("n"))} }, 1000},
		{"held again", func() []*lockwheel.Hold {
			hold := locktest.Lock(t, e.Mutex("n"))
			return []*lockwheel.Hold{hold, locktest.LockWith(t, hold.Context(), e.Mutex("n"))}
		}, 500},
		{"several", one(locktest.Multi(e, "a", "b")), 1000},
		{"very many", one(veryMany), 10},
		{"majority", one(locktest.Quorum(engines, "q")), 500},
	} {
		for range long.Pick(c.times, 4*c.times) {
			unlockAtOnce(t, c.what, c.holds())
		}
	}
}

// unlockAtOnce unlocks each of the holds of an owner by several calls, every second of which does not wait.
func unlockAtOnce(t *testing.T, what string, holds []*lockwheel.Hold) {
	t.Helper()
	const callers = 4
	for _, hold := range holds {
		start, done := make(chan struct{}), make(chan error, callers)
		for i := range callers {
			go func() {
				<-start
				if i%2 == 0 {
					done <- hold.Unlock(t.Context())
					return
				}
				u := hold.UnlockAsync()
				<-u.Done()
				done <- u.Err()
			}()
		}
		close(start)
		unlocked := 0
		for range callers {
			if err := locktest.ReceiveWithin(t, time.Minute, done); err == nil {
				unlocked++
			} else {
				require.ErrorIs(t, err, lockwheel.ErrNotHeld, what)
			}
		}
		require.Equal(t, 1, unlocked, what)
	}
}
