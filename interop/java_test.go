package interop

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// Kinds that only Java has. All of them are made of plain locks, or look like them.
var (
	spin  = kind{java: "spin"}
	multi = kind{java: "multi"}
)

// A spin lock publishes nothing, so its unlock wakes no waiter. Ours acquires the lock when the lease that it knows
// is over.
func TestSpinLock_JavaUnlocks_GoByEndOfLease(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		t.Parallel()
		s := start(t)
		o := s.redisson(redisson.Fields{"watchdog": milliseconds(crashLease)}).owner("o")
		e := s.engine(lockwheel.Options{})
		o.lock(spin, "n")
		locktest.StateFailed(t, e.Mutex("n"))
		waiting := locktest.Locking(t.Context(), e.Mutex("n"))
		awaitWaiting(t, e)
		o.unlock(spin, "n")
		hold := requireGranted(t, waiting)
		require.False(t, o.tryLock(spin, "n", 0))
		theirs := o.lockAsync(spin, "n") // it asks again and again
		locktest.RequireNoReply(t, theirs, 300*time.Millisecond)
		locktest.Unlock(t, hold)
		requireSuccess(t, theirs)
		o.unlock(spin, "n")
	})
}

// A poller needs no message: it comes long before that lease is over.
func TestSpinLock_JavaUnlocks_GoPollerSoon(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{Notify: lockwheel.Poll})
		for range 3 {
			o.lock(spin, "n")
			locktest.StateFailed(t, e.Mutex("n"))
			waiting := locktest.Locking(t.Context(), e.Mutex("n"))
			eventually(t, "ours to poll", func() bool { return e.Stats().Polling == 1 })
			locktest.RequireNoReply(t, waiting, 300*time.Millisecond) // until it polls at its lowest rate
			require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
			o.unlock(spin, "n")
			hold := requireGranted(t, waiting)
			require.False(t, o.tryLock(spin, "n", 0))
			theirs := o.lockAsync(spin, "n")
			locktest.RequireNoReply(t, theirs, 300*time.Millisecond)
			require.Greater(t, s.pttl("n"), 2*testDeadline.Milliseconds())
			locktest.Unlock(t, hold)
			requireSuccess(t, theirs)
			locktest.StateFailed(t, e.Mutex("n"))
			require.False(t, s.hasSubscriber("n"), "no client listens")
			o.unlock(spin, "n")
		}
	})
}

// manyNames are the names of so many locks as one that Java sleeps for longer than patience. It starts again after
// 1.5 s for each of them.
func manyNames(tag string) (names []string) {
	for i := range 8 {
		names = append(names, fmt.Sprint(tag, i))
	}
	return names
}

// tags are put before names. In a cluster the first gives locks of several slots, the second of one.
var tags = []string{"n", "{n}"}

// The release of a Go Multi wakes a MultiLock of Java.
func TestMulti_GoUnlocks_JavaMultiLockWoken(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, tag := range tags {
			names := manyNames(tag)
			hold, err := locktest.Multi(e, names...).Lock(t.Context(), lockwheel.Wait(testDeadline))
			require.NoError(t, err)
			theirs := o.lockAsync(multi, strings.Join(names, ","))
			awaitListening(t, s, names[0], theirs)
			require.Greater(t, s.pttl(names[0]), 2*testDeadline.Milliseconds())
			locktest.Unlock(t, hold)
			requireSuccess(t, theirs)
			for _, name := range names {
				locktest.StateFailed(t, e.Mutex(name))
			}
			o.unlock(multi, strings.Join(names, ","))
		}
	})
}

// The release of a Java MultiLock wakes a Multi of Go.
func TestMultiLock_JavaUnlocks_GoMultiWoken(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, tag := range tags {
			names := manyNames(tag)
			o.lock(multi, strings.Join(names, ","))
			waiting := locktest.Locking(t.Context(), locktest.Multi(e, names...))
			awaitWaiting(t, e)
			locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
			for _, name := range names {
				require.Greater(t, s.pttl(name), 2*testDeadline.Milliseconds())
			}
			o.unlock(multi, strings.Join(names, ","))
			hold := requireGranted(t, waiting)
			for _, name := range names {
				require.False(t, o.tryLock(plain, name, 0))
			}
			locktest.Unlock(t, hold)
		}
	})
}

// The members of a Java MultiLock are plain locks for Go, and the other way round.
func TestMultiLock_OfJava_GoSeesMembers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		o.lock(multi, "a,b")
		locktest.StateFailed(t, e.Mutex("a"))
		waiting := locktest.Locking(t.Context(), e.Mutex("b"))
		awaitWaiting(t, e)
		o.unlock(multi, "a,b")
		hold := requireGranted(t, waiting)
		require.False(t, o.tryLock(multi, "a,b", 0))
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("a"))) // all or none
		awaitNoListener(t, s, "b")
		theirs := o.lockAsync(multi, "a,b")
		awaitListening(t, s, "b", theirs)
		locktest.Unlock(t, hold)
		requireSuccess(t, theirs)
		locktest.StateFailed(t, e.Mutex("a"))
		o.unlock(multi, "a,b")
	})
}

// For Java our Multi is plain locks, all or none. The message of any of them wakes it.
func TestMulti_OfGo_JavaSeesMembers(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, names := range [][]string{{"a", "b"}, {"{n}a", "{n}b"}} { // in a cluster: of two slots, of one
			m := e.Multi(e.Mutex(names[0]), e.Mutex(names[1]))
			for _, name := range names {
				o.lock(plain, name)
				waiting := locktest.Locking(t.Context(), m)
				awaitWaiting(t, e)
				o.unlock(plain, name)
				hold := requireGranted(t, waiting)
				require.False(t, o.tryLock(plain, names[0], 0))
				require.False(t, o.tryLock(plain, names[1], 0))
				awaitNoListener(t, s, name)
				theirs := o.lockAsync(plain, name)
				awaitListening(t, s, name, theirs)
				locktest.Unlock(t, hold)
				requireSuccess(t, theirs)
				o.unlock(plain, name)
			}
		}
	})
}

// For Java a quorum is plain locks, one on each server. A side that has two of three keeps the other side out.
func TestQuorum_OfGo_JavaSeesMembers(t *testing.T) {
	var envs []*testEnv
	var owners []*owner
	var locks []lockwheel.Mutex
	for range 3 {
		s := standalone(t)
		envs, owners = append(envs, s), append(owners, s.redisson(nil).owner("o"))
		locks = append(locks, s.engine(lockwheel.Options{}).Mutex("n"))
	}
	q := lockwheel.Quorum(locks...)
	owners[0].lock(plain, "n")
	owners[1].lock(plain, "n")
	_, err := q.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	eventually(t, "the third given back", func() bool { return len(envs[2].hash("n")) == 0 })
	waiting := locktest.Locking(t.Context(), q)
	locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
	owners[0].unlock(plain, "n")
	hold := requireGranted(t, waiting)
	require.False(t, owners[0].tryLock(plain, "n", 0))
	require.False(t, owners[2].tryLock(plain, "n", 0))
	owners[1].unlock(plain, "n")
	eventually(t, "the second one, too", func() bool { return len(envs[1].hash("n")) == 1 && !owners[1].tryLock(plain, "n", 0) })
	theirs := owners[2].lockAsync(plain, "n")
	awaitListening(t, envs[2], "n", theirs)
	locktest.Unlock(t, hold)
	requireSuccess(t, theirs)
	owners[2].unlock(plain, "n")
}

// What the tests of kinds rely on, verified with Java alone.
func TestJavaProgram_KnowsEveryKind(t *testing.T) {
	t.Parallel()
	s := standalone(t)
	c := s.redisson(nil)
	a, b := c.owner("a"), c.owner("b")
	for _, name := range []string{"plain", "fair", "fenced", "write", "spin"} {
		k := kind{java: name}
		a.lock(k, name)
		require.False(t, b.tryLock(k, name, 0), name)
		got := a.state(k, name)
		require.True(t, got.locked && got.mine && got.count == 1, name)
		b.fail(illegalMonitorState, "unlock", k, name)
		a.unlock(k, name)
		require.True(t, b.tryLock(k, name, testDeadline), name)
		require.True(t, a.force(k, name), name)
		if name != "fair" { // a fair unlock of a free lock succeeds for any caller
			b.fail(illegalMonitorState, "unlock", k, name)
		}
	}
	a.lock(read, "rw")
	b.lock(read, "rw")
	require.False(t, a.tryLock(write, "rw", 0))
	a.unlock(read, "rw")
	b.unlock(read, "rw")
	for i := range 3 {
		token := strconv.Itoa(i + 1)
		require.Equal(t, token, a.succeed("lockForToken", fenced, "tokens", nil)["token"])
		a.unlock(fenced, "tokens")
		require.Equal(t, token, b.succeed("token", fenced, "tokens", nil)["token"])
	}
}
