package interop

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// Kinds that are Java's alone. All of them are made of plain locks, or look like them.
var (
	spin  = kind{java: "spin"}
	multi = kind{java: "multi"}
)

// A spin lock publishes nothing, so nobody is woken by its unlock: ours come by when the lease is over that they were told of.
func TestGoGetsWhatJavaHeldByASpinLock(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *site) {
		t.Parallel()
		s := start(t)
		o := s.redisson(redisson.Words{"watchdog": milliseconds(deathLease)}).owner("o")
		e := s.engine(lockwheel.Options{})
		o.lock(spin, "n")
		refused(t, e.Mutex("n"))
		waiting := locking(t.Context(), e.Mutex("n"))
		asleep(t, e)
		o.unlock(spin, "n")
		hold := granted(t, waiting)
		require.False(t, o.tries(spin, "n", 0))
		theirs := o.locking(spin, "n") // it asks again and again
		silent(t, theirs, 300*time.Millisecond)
		unlock(t, hold)
		succeeded(t, theirs)
		o.unlock(spin, "n")
	})
}

func TestAMultiLockOfJavaIsMadeOfLocksThatGoSees(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *site) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		o.lock(multi, "a,b")
		refused(t, e.Mutex("a"))
		waiting := locking(t.Context(), e.Mutex("b"))
		asleep(t, e)
		o.unlock(multi, "a,b")
		hold := granted(t, waiting)
		require.False(t, o.tries(multi, "a,b", 0))
		unlock(t, lock(t, t.Context(), e.Mutex("a"))) // all or none
		theirs := o.locking(multi, "a,b")
		listening(t, s, "b", theirs)
		unlock(t, hold)
		succeeded(t, theirs)
		refused(t, e.Mutex("a"))
		o.unlock(multi, "a,b")
	})
}

// What the tests of kinds rely on, by Java alone.
func TestTheJavaProgramKnowsEveryKind(t *testing.T) {
	s := standalone(t)
	c := s.redisson(nil)
	a, b := c.owner("a"), c.owner("b")
	for _, name := range []string{"plain", "fair", "fenced", "write", "spin"} {
		k := kind{java: name}
		a.lock(k, name)
		require.False(t, b.tries(k, name, 0), name)
		got := a.sees(k, name)
		require.True(t, got.locked && got.mine && got.count == 1, name)
		b.fail(notYours, "unlock", k, name)
		a.unlock(k, name)
		require.True(t, b.tries(k, name, patience), name)
		require.True(t, a.force(k, name), name)
		if name != "fair" { // whose unlock of a free lock is a success, whoever calls it
			b.fail(notYours, "unlock", k, name)
		}
	}
	a.lock(read, "rw")
	b.lock(read, "rw")
	require.False(t, a.tries(write, "rw", 0))
	a.unlock(read, "rw")
	b.unlock(read, "rw")
	for i := range 3 {
		token := strconv.Itoa(i + 1)
		require.Equal(t, token, a.succeed("lockForToken", fenced, "tokens", nil)["token"])
		a.unlock(fenced, "tokens")
		require.Equal(t, token, b.succeed("token", fenced, "tokens", nil)["token"])
	}
}
