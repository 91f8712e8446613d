package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

func TestJavaReentersAndGoWaitsForTheLastUnlock(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *site, k kind) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		m := k.mutex(e, "n")
		o.lock(k, "n")
		require.True(t, o.tries(k, "n", 0))
		state, err := m.State(t.Context())
		require.NoError(t, err)
		require.True(t, state.Locked)
		require.Equal(t, 2, state.Count)
		require.Equal(t, map[string]string{state.Owner: "2"}, s.fields("n"))
		require.Equal(t, o.id(), state.Owner)
		count, err := m.HoldCount(t.Context())
		require.NoError(t, err)
		require.Zero(t, count, "of ours")

		waiting := locking(t.Context(), m)
		asleep(t, e)
		o.unlock(k, "n")
		silent(t, waiting, 100*time.Millisecond)
		o.unlock(k, "n")
		unlock(t, granted(t, waiting))
	})
}

func TestGoReentersAndJavaSeesALockOfSomebodyElse(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *site, k kind) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		m := k.mutex(e, "n")
		outer := lock(t, t.Context(), m)
		inner := lock(t, outer.Context(), m)
		eventually(t, "a count of two", func() bool { return s.fields("n")[outer.ID()] == "2" })

		got := o.sees(k, "n")
		require.Greater(t, got.ttl, patience)
		require.LessOrEqual(t, got.ttl, 30*time.Second)
		got.ttl = 0
		require.Equal(t, seen{locked: true}, got, "held, but not by this thread, whose count is 0")
		o.fail(notYours, "unlock", k, "n")
		require.Equal(t, map[string]string{outer.ID(): "2"}, s.fields("n"), "the unlock of a stranger took nothing")
		require.NoError(t, inner.Err())

		waiting := o.locking(k, "n")
		listening(t, s, "n", waiting)
		unlock(t, inner)
		silent(t, waiting, 100*time.Millisecond)
		unlock(t, outer)
		succeeded(t, waiting)
		require.Equal(t, 1, o.sees(k, "n").count)
		o.unlock(k, "n")
	})
}
