package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A lock that Java has re-entered is free for Go after the last unlock; State reports the count.
func TestReentry_OfJava_GoWaitsForLastUnlock(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		held, wanted := x.held.mutex(e, "n"), x.wanted.mutex(e, "n")
		o.lock(x.held, "n")
		require.True(t, o.tryLock(x.held, "n", 0))
		state, err := held.State(t.Context())
		require.NoError(t, err)
		require.True(t, state.Locked)
		require.Equal(t, x.held.counted(2), state.Count)
		require.Equal(t, map[string]string{state.Owner: "2"}, s.fields("n"))
		require.Equal(t, o.id(), state.Owner)
		count, err := held.HoldCount(t.Context())
		require.NoError(t, err)
		require.Zero(t, count, "of ours")

		waiting := locktest.Locking(t.Context(), wanted)
		awaitWaiting(t, e)
		o.unlock(x.held, "n")
		locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
		o.unlock(x.held, "n")
		locktest.Unlock(t, requireGranted(t, waiting))
	})
}

// A lock that Go has re-entered is held by another holder for Java, which cannot unlock it.
func TestReentry_OfGo_JavaSeesOtherHolder(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		m := x.held.mutex(e, "n")
		outer := locktest.Lock(t, m)
		inner := locktest.LockWith(t, outer.Context(), m)
		eventually(t, "a count of two", func() bool { return s.fields("n")[outer.ID()] == "2" })

		got := o.state(x.held, "n")
		require.Greater(t, got.ttl, testDeadline)
		require.LessOrEqual(t, got.ttl, 30*time.Second)
		got.ttl = 0
		require.Equal(t, javaState{locked: true}, got, "held, but not by this thread, which has a count of 0")
		o.fail(illegalMonitorState, "unlock", x.held, "n")
		require.Equal(t, map[string]string{outer.ID(): "2"}, s.fields("n"), "the unlock of a stranger took nothing")
		require.NoError(t, inner.Err())

		waiting := o.lockAsync(x.wanted, "n")
		awaitListening(t, s, "n", waiting)
		locktest.Unlock(t, inner)
		locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
		locktest.Unlock(t, outer)
		requireSuccess(t, waiting)
		require.Equal(t, 1, o.state(x.wanted, "n").count)
		o.unlock(x.wanted, "n")
	})
}

// counted returns the count in State for one holder with the given number of holds: for readers State counts the
// readers.
func (k kind) counted(times int) int {
	if k.java == read.java {
		return 1
	}
	return times
}
