package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// takenElsewhere replies that another engine holds every lock.
func takenElsewhere(*actor.Command) actor.Reply {
	return actor.Reply{Status: actor.HeldByOther, Holder: "other:1", TTL: harnessConfig().Lease}
}

// newLimitedHarness returns a crowd of an engine with limits on waiters.
func newLimitedHarness(t *testing.T, all, each int, answer func(*actor.Command) actor.Reply) *waitersHarness {
	k := newWaitersHarness(t, answer)
	config := &k.c.Fx.Config
	config.MaxWaiting, config.MaxWaitingPerLock = all, each
	k.c.limits = newLimits(config)
	return k
}

func waitRequests(kind actor.LockKind, key string, owner uint64) *actor.Request {
	return &actor.Request{Op: actor.Acquire, Kind: kind, Key: key, Name: key, Owner: owner, Hold: &actor.Hold{}}
}

var allKinds = []actor.LockKind{actor.Plain, actor.Fenced, actor.Fair, actor.Write, actor.Read}

// A request beyond the engine's limit is rejected in the turn in which it comes, and no command is sent for it.
func TestWaiterLimit_EngineFull_Rejected(t *testing.T) {
	for _, kind := range allKinds {
		k := newLimitedHarness(t, 3, 100, takenElsewhere)
		k.turn(waitRequests(kind, "a", 0), waitRequests(kind, "b", 0), waitRequests(kind, "c", 0))
		before := k.c.counters.commands
		late := waitRequests(kind, "d", 0)
		k.c.Turn(k.now, &LoopMessage{Value: late})
		require.Equal(t, []*actor.Request{late}, k.c.Fx.Results, kind)
		require.Equal(t, actor.ErrTooManyWaiters, late.Err)
		require.ErrorContains(t, late.Cause, "MaxWaiting)")
		require.Nil(t, late.Lock())
		k.c.ResetOutputs()
		require.Equal(t, before, k.c.counters.commands)
		require.Nil(t, k.c.Locks.Get("d"))
		require.Nil(t, k.c.LockSets["d"])
		s := k.c.Stats()
		require.EqualValues(t, 3, s.Waiting)
		require.EqualValues(t, 1, s.Shed)
		require.EqualValues(t, 1, s.Failed)
	}
}

// A request beyond the limit for a name is rejected; requests for other names are not.
func TestWaiterLimit_LockFull_Rejected(t *testing.T) {
	for _, kind := range allKinds {
		for _, each := range []int{1, 3, maxUnindexed + 36} {
			k := newLimitedHarness(t, 1000, each, takenElsewhere)
			for range each {
				k.turn(waitRequests(kind, "a", 0))
			}
			require.EqualValues(t, each, k.c.Stats().Waiting)
			late, other := waitRequests(kind, "a", 0), waitRequests(kind, "b", 0)
			k.turn(late, other)
			require.Equal(t, actor.ErrTooManyWaiters, late.Err, "%v, %d", kind, each)
			require.ErrorContains(t, late.Cause, "MaxWaitingPerLock)")
			require.False(t, other.Completed())
			require.EqualValues(t, 1, k.c.Stats().Shed)
		}
	}
}

// When a waiter leaves, another is admitted, also among very many locks of which some are held.
func TestWaiterLimit_WaiterLeft_NextAdmitted(t *testing.T) {
	for _, kind := range allKinds {
		for _, each := range []int{1, 3, maxUnindexed + 36} {
			free := true
			k := newLimitedHarness(t, 1000, each, func(c *actor.Command) actor.Reply {
				if free {
					return granted(c)
				}
				return takenElsewhere(c)
			})
			if kind == actor.Read { // the holder of the lock does not wait for it
				for range 2 * each {
					k.turn(waitRequests(kind, "a", 0))
				}
			}
			free = false
			var waiting []*actor.Request
			for range each {
				waiting = append(waiting, waitRequests(kind, "a", 0))
				k.turn(waiting[len(waiting)-1])
				require.False(t, waiting[len(waiting)-1].Completed(), "%v, %d", kind, each)
			}
			left := waiting[each/2]
			k.now += maxSleep
			k.c.Turn(k.now, &LoopMessage{Value: CancelRequest{left, errors.New("left")}})
			k.c.ResetOutputs()
			k.turn()
			require.True(t, left.Completed())
			next := waitRequests(kind, "a", 0)
			k.turn(next)
			require.False(t, next.Completed(), "%v, %d", kind, each)
			late := waitRequests(kind, "a", 0)
			k.turn(late)
			require.Equal(t, actor.ErrTooManyWaiters, late.Err, "%v, %d", kind, each)
		}
	}
}

// maxSleep is longer than any reply in these tests takes.
const maxSleep = time.Second

// A request that re-enters is admitted however many wait: its owner cannot release what it holds before the result.
func TestWaiterLimit_Reentry_Admitted(t *testing.T) {
	for _, kind := range []actor.LockKind{actor.Plain, actor.Fair, actor.Write, actor.Read} {
		const owner = actor.ThreadOwner | 1
		taken := false
		k := newLimitedHarness(t, 1, 1, func(c *actor.Command) actor.Reply {
			if taken && c.Key != "a" {
				return takenElsewhere(c)
			}
			return granted(c)
		})
		first := waitRequests(kind, "a", owner)
		k.turn(first)
		require.NoError(t, first.Err)
		taken = true
		k.turn(waitRequests(kind, "b", 0)) // as many as may wait
		again := waitRequests(kind, "a", owner)
		k.turn(again, waitRequests(kind, "c", 0))
		require.True(t, again.Completed())
		require.NoError(t, again.Err, kind)
		if kind == actor.Write {
			reads := waitRequests(actor.Read, "a", owner)
			k.turn(reads)
			require.NotEqual(t, actor.ErrTooManyWaiters, reads.Err)
		}
		require.EqualValues(t, 1, k.c.Stats().Shed)
	}
}

// A request of a caller that has waited elsewhere before is admitted however many wait.
func TestWaiterLimit_WaitedElsewhere_Admitted(t *testing.T) {
	for _, kind := range allKinds {
		for _, limits := range [][2]int{{1, 100}, {100, 1}} {
			k := newLimitedHarness(t, limits[0], limits[1], takenElsewhere)
			k.turn(waitRequests(kind, "a", 0))
			r := waitRequests(kind, "a", 0)
			r.SkipWaiterLimit = true
			late := waitRequests(kind, "a", 0)
			k.turn(r, late)
			require.False(t, r.Completed())
			require.Equal(t, actor.ErrTooManyWaiters, late.Err)
		}
	}
}

// A request with the context of a quorum that waits for the same lock is admitted once, also in the turn in which the
// quorum's own request comes. Without such a request it is rejected when it is handled.
func TestWaiterLimit_QuorumsOwnRequestInSameTurn_Admitted(t *testing.T) {
	const owner = actor.ThreadOwner | actor.QuorumOwner | 1
	for _, kind := range []actor.LockKind{actor.Plain, actor.Fair, actor.Write, actor.Read} {
		k := newLimitedHarness(t, 1, 100, takenElsewhere)
		own, inner, further := waitRequests(kind, "a", owner), waitRequests(kind, "a", owner), waitRequests(kind, "a", owner)
		own.OfQuorum = true
		k.turn(own, inner, further)
		require.False(t, own.Completed(), kind)
		require.False(t, inner.Completed(), kind)
		require.Equal(t, actor.ErrTooManyWaiters, further.Err, kind)

		k = newLimitedHarness(t, 1, 100, takenElsewhere)
		other, alone, next := waitRequests(kind, "a", 0), waitRequests(kind, "a", owner), waitRequests(kind, "b", 0)
		k.turn(other, alone)
		require.Equal(t, actor.ErrTooManyWaiters, alone.Err, kind)
		k.c.Turn(k.now, &LoopMessage{Value: CancelRequest{other, errors.New("left")}})
		k.c.ResetOutputs()
		k.turn(next)
		require.False(t, next.Completed(), kind)
	}
}

// A request for several locks counts once per lock, and so does its rejection.
func TestWaiterLimit_Multi_CountsEachLock(t *testing.T) {
	k := newLimitedHarness(t, 4, 100, takenElsewhere)
	several := func() *actor.Request {
		parts := []actor.Part{{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}}, {Name: "c", Key: "c", Hold: &actor.Hold{}}}
		return &actor.Request{Op: actor.Acquire, Key: "a", Name: "a", Multi: &actor.MultiRequest{Parts: parts}}
	}
	first, second, one := several(), several(), waitRequests(actor.Plain, "d", 0)
	k.turn(first, second, one)
	require.False(t, first.Completed())
	require.Equal(t, actor.ErrTooManyWaiters, second.Err)
	require.False(t, one.Completed())
	require.EqualValues(t, 3, k.c.Stats().Shed)
	k.c.Turn(k.now, &LoopMessage{Value: CancelRequest{first, errors.New("left")}})
	k.c.ResetOutputs()
	k.turn()
	require.True(t, first.Completed())
	require.EqualValues(t, 1, k.c.Fx.WantedLocks)
}

// A request that was rejected at once and then canceled leaves nothing behind.
func TestWaiterLimit_CancelAfter_NoEffect(t *testing.T) {
	k := newLimitedHarness(t, 1, 1, takenElsewhere)
	late := waitRequests(actor.Plain, "b", 0)
	k.turn(waitRequests(actor.Plain, "a", 0), late)
	require.Equal(t, actor.ErrTooManyWaiters, late.Err)
	k.c.Turn(k.now, &LoopMessage{Value: CancelRequest{late, errors.New("left")}})
	require.Empty(t, k.c.Fx.Results)
	k.c.ResetOutputs()
	require.Nil(t, k.c.Locks.Get("b"))
	require.EqualValues(t, 1, k.c.Stats().Waiting)
}
