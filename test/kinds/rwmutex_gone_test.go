package kinds_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A lock that was deleted in Redis goes to those who wait for its other half in an engine that finds that out, and not
// only when the lease they were told has ended. The engine finds out by an extension or by a force.
func TestRWMutex_KeyDeleted_OtherHalfGranted(t *testing.T) {
	t.Parallel()
	for name, halves := range map[string]func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex){
		"readers": func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex) { return rw.RLocker(), rw.Writer() },
		"writer":  func(rw lockwheel.RWMutex) (held, wanted lockwheel.Mutex) { return rw.Writer(), rw.RLocker() },
	} {
		for found, c := range map[string]struct {
			elsewhere bool // another engine holds the lock
			replaced  bool // another program's key is there
			find      func(t *testing.T, hold *lockwheel.Hold, mine lockwheel.Mutex)
		}{
			"extension":                {false, false, extendedInVain},
			"extension of another key": {false, true, extendedInVain},
			"unlock of another key": {false, true, func(t *testing.T, hold *lockwheel.Hold, _ lockwheel.Mutex) {
				require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			}},
			"force":           {false, false, forcedInVain},
			"force elsewhere": {true, false, forcedInVain},
		} {
			t.Run(name+", "+found, func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				e := s.Open(lockwheel.Options{})
				holder := e
				if c.elsewhere {
					holder = s.Open(lockwheel.Options{})
				}
				mine, _ := halves(holder.RWMutex("n"))
				hold := locktest.Lock(t, mine, lockwheel.Lease(time.Hour)) // so long would the other half wait
				mine, wanted := halves(e.RWMutex("n"))
				calls := s.Scripts()
				waiting := locktest.Locking(t.Context(), wanted)
				locktest.RequireWaiting(t, e, 1, 1)
				locktest.Eventually(t, "its try after the subscription", func() bool { return s.Scripts() >= calls+2 })
				require.Equal(t, int64(1), s.Do("DEL", "n"))
				if c.replaced {
					require.Equal(t, "OK", s.Do("SET", "n", "another program's"))
				}
				c.find(t, hold, mine)
				if c.replaced {
					requireKeyError(t, waiting)
					return
				}
				locktest.Unlock(t, locktest.Granted(t, waiting))
			})
		}
	}
}

func extendedInVain(t *testing.T, hold *lockwheel.Hold, _ lockwheel.Mutex) {
	t.Helper()
	require.ErrorIs(t, hold.Extend(t.Context(), 2*time.Hour), lockwheel.ErrLost)
}

func requireKeyError(t *testing.T, waiting <-chan locktest.Outcome) {
	t.Helper()
	require.ErrorContains(t, locktest.Receive(t, waiting).Err, "WRONGTYPE")
}

func forcedInVain(t *testing.T, _ *lockwheel.Hold, mine lockwheel.Mutex) {
	t.Helper()
	_, err := mine.ForceUnlock(t.Context())
	require.NoError(t, err)
}

// An acquire without a reply is released later, and usually was never granted. That says nothing about the lock, so the
// readers that wait for it sleep on.
func TestRWMutex_WriterWithoutReply_ReadersSleepOn(t *testing.T) {
	t.Parallel()
	const readers = 30 // so few that all listen
	s, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: time.Second})
	other := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, other.RWMutex("n").Writer(), lockwheel.Lease(time.Hour))
	waiting := make([]<-chan locktest.Outcome, readers)
	for i := range waiting {
		waiting[i] = locktest.Locking(t.Context(), e.RWMutex("n").RLocker())
	}
	locktest.RequireWaiting(t, e, readers, 1)
	before, sent := settled(t, e, readers), uint64(2*readers)
	// At least one of several is not delayed by a busy machine.
	for try := 0; try < 3 && sent >= 2*readers; try++ {
		p.Set(proxy.Commands, proxy.Drop)
		_, err := e.RWMutex("n").Writer().TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		p.Cut()
		p.Set(proxy.Commands, proxy.Pass)
		// Each reader asks again on the new connection, and what may have been granted is released twice.
		after := settled(t, e, before+readers+3)
		sent, before = after-before, after
	}
	require.Less(t, sent, uint64(2*readers))
	locktest.Unlock(t, hold)
	for _, w := range waiting {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
}

// settled returns the number of commands that an engine has sent, once they are that many and there are no more.
func settled(t *testing.T, e *lockwheel.Engine, least uint64) (commands uint64) {
	t.Helper()
	since := time.Now()
	locktest.Eventually(t, "no more commands", func() bool {
		if n := e.Stats().Commands; n != commands {
			commands, since = n, time.Now()
		}
		return commands >= least && time.Since(since) > 300*time.Millisecond
	})
	return commands
}
