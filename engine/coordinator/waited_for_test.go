package coordinator

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// requireWaitsKnown requires that what each lockSet has recorded of its locks is what a look at all of them says. All
// conversations do so after each turn.
func requireWaitsKnown(t testing.TB, c *Coordinator) {
	t.Helper()
	if _, counted := os.LookupEnv(manyEnv); counted || c.Closed {
		return // the steps of the product are being counted, or requests end without a step
	}
	for key, set := range c.LockSets {
		waitedFor, oldest := 0, (*actor.Lock)(nil)
		for _, l := range set.All() {
			if l.QueueLen() > 0 {
				waitedFor++
			}
			if oldest == nil && l.Awaited() {
				oldest = l
			}
		}
		if waitedFor != set.waitedFor || oldest != set.firstAwaited() {
			require.Equal(t, waitedFor, set.waitedFor, key)
			require.Same(t, oldest, set.firstAwaited(), key)
		}
	}
}

// A million locks may be held to read, each of another name.
func TestLockSet_SizeBounded(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(lockSet{}), uintptr(192))
	require.LessOrEqual(t, unsafe.Sizeof(lockList{}), uintptr(64), "of each owner")
}

// Waiters who gave up do not count as waiting, though a silent server keeps their places, and so their locks.
func TestWaiterLimit_GivenUpInOutage_NotCounted(t *testing.T) {
	for _, each := range []int{3, maxUnindexed + 36} {
		d := newHarness(t, 1)
		d.c.Fx.Config.MaxWaitingPerLock = each
		d.c.limits = newLimits(&d.c.Fx.Config)
		all := func(what, group string) {
			for i := range each {
				d.ask(what, fmt.Sprintf("fair:k/%s%d", group, i))
			}
			d.turn()
		}
		d.now = time.Millisecond
		all("lock", "a")
		d.line("2ms 1 queued")
		all("cancel", "a")
		d.line("3ms 2 lost EOF")
		require.Zero(t, d.c.Fx.Stats.Waiting)
		require.Equal(t, each, d.c.LockSets["k"].locks.len(), "their places are still to be released")
		all("lock", "b")
		require.EqualValues(t, each, d.c.Fx.Stats.Waiting)
		require.Contains(t, d.line("4ms lock fair:k/late"), "MaxWaitingPerLock")
	}
}

// Behind waiters for a fair lock that gave up, with releases on their way, one waits and others try.
func TestFairTries_BehindManyGivenUp_Rejected(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	s := newLargeHarness(0)
	s.c.intake.laneBudget = 1 << 20
	all := make([]*actor.Request, n)
	calls := s.request(n, func(i int) *actor.Request {
		all[i] = wants(actor.Fair, 0, false)
		return all[i]
	})
	s.reply(calls, actor.Reply{Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "x:1", QueueTTL: time.Hour})
	leave := make([]*LoopMessage, n)
	for i, r := range all {
		leave[i] = &LoopMessage{Value: CancelRequest{r, errors.New("gone")}}
	}
	s.turn(leave...)
	require.Equal(t, n, s.c.LockSets["k"].locks.len())
	free := wants(actor.Fair, 0, true)
	s.request(1, func(int) *actor.Request { return free })
	require.False(t, free.Completed(), "no other caller waits")
	for range n {
		r := wants(actor.Fair, 0, true)
		s.request(1, func(int) *actor.Request { return r })
		require.Equal(t, actor.ErrNotAcquired, r.Err)
	}
}

// However locks are added, removed, awaited and given up, the oldest that is awaited is found. Searches look at each
// lock about once, however often they are made.
func TestLockList_OldestAwaited_FoundWithoutSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(15, 16))
	for range 200 {
		var ll lockList
		awaited := make(map[*actor.Lock]bool)
		is := func(l *actor.Lock) bool { return awaited[l] }
		steps := random.IntN(600)
		for step := range steps {
			all := ll.all()
			switch n := len(all); {
			case n == 0 || random.IntN(steps) > step: // ever fewer are added
				l := actor.NewLock("k", actor.Fair)
				ll.add(l)
				awaited[l] = true
				ll.noteAwaited(l)
			case random.IntN(3) > 0:
				ll.remove(all[random.IntN(n)])
			case random.IntN(4) > 0:
				awaited[all[random.IntN(min(n, 1+random.IntN(n)))]] = false
			default:
				l := all[random.IntN(n)]
				awaited[l] = true
				ll.noteAwaited(l)
			}
			require.Same(t, ll.first(is), ll.firstFrom(&ll.awaitedHint, is))
		}
	}
	for _, n := range []int{1000, 10_000} {
		var ll lockList
		locks := make([]*actor.Lock, n)
		for i := range locks {
			locks[i] = actor.NewLock("k", actor.Fair)
			ll.add(locks[i])
		}
		for _, at := range []int{n / 2, n - 1} {
			looked := 0
			for range n {
				require.Same(t, locks[at], ll.firstFrom(&ll.awaitedHint, func(l *actor.Lock) bool {
					looked++
					return l == locks[at]
				}))
			}
			require.LessOrEqual(t, looked, 2*n)
		}
	}
}
