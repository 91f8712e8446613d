package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// elsewhere replies that another engine holds every lock.
func elsewhere(*actor.Command) actor.Reply {
	return actor.Reply{Status: actor.Taken, Holder: "other:1", TTL: deskConfig().Lease}
}

// limited returns a crowd of an engine with limits on waiters.
func limited(t *testing.T, all, each int, answer func(*actor.Command) actor.Reply) *crowd {
	k := newCrowd(t, answer)
	config := &k.c.fx.Config
	config.MaxWaiting, config.MaxWaitingPerLock = all, each
	k.c.limits = limitsOf(config)
	return k
}

func wanting(kind actor.LockKind, key string, owner uint64) *actor.Request {
	return &actor.Request{Tag: actor.Acquire, Kind: kind, Key: key, Name: key, Owner: owner, Hold: &actor.Hold{}}
}

var allKinds = []actor.LockKind{actor.Plain, actor.Fenced, actor.Fair, actor.Write, actor.Read}

// A request beyond the engine's limit is rejected in the turn in which it comes, and no command is sent for it.
func TestOneTooManyForAnEngineIsRefusedAtOnce(t *testing.T) {
	for _, kind := range allKinds {
		k := limited(t, 3, 100, elsewhere)
		k.turn(wanting(kind, "a", 0), wanting(kind, "b", 0), wanting(kind, "c", 0))
		before := k.c.counters.commands
		late := wanting(kind, "d", 0)
		k.c.turn(k.now, &mail{what: late})
		require.Equal(t, []*actor.Request{late}, k.c.fx.Verdicts, kind)
		require.Equal(t, actor.ErrTooManyWaiters, late.Err)
		require.ErrorContains(t, late.Cause, "MaxWaiting)")
		require.Nil(t, late.Lock())
		k.c.rest()
		require.Equal(t, before, k.c.counters.commands)
		require.Nil(t, k.c.locks.of("d"))
		require.Nil(t, k.c.groups["d"])
		s := k.c.stats()
		require.EqualValues(t, 3, s.Waiting)
		require.EqualValues(t, 1, s.Shed)
		require.EqualValues(t, 1, s.Refused)
	}
}

// A request beyond the limit for a name is rejected; requests for other names are not.
func TestOneTooManyForALockIsRefusedAtOnce(t *testing.T) {
	for _, kind := range allKinds {
		for _, each := range []int{1, 3, fewClaims + 36} {
			k := limited(t, 1000, each, elsewhere)
			for range each {
				k.turn(wanting(kind, "a", 0))
			}
			require.EqualValues(t, each, k.c.stats().Waiting)
			late, other := wanting(kind, "a", 0), wanting(kind, "b", 0)
			k.turn(late, other)
			require.Equal(t, actor.ErrTooManyWaiters, late.Err, "%v, %d", kind, each)
			require.ErrorContains(t, late.Cause, "MaxWaitingPerLock)")
			require.False(t, other.Decided())
			require.EqualValues(t, 1, k.c.stats().Shed)
		}
	}
}

// When a waiter leaves, another is admitted, also among very many locks of which some are held.
func TestWhereOneLeftAnotherIsLetIn(t *testing.T) {
	for _, kind := range allKinds {
		for _, each := range []int{1, 3, fewClaims + 36} {
			free := true
			k := limited(t, 1000, each, func(c *actor.Command) actor.Reply {
				if free {
					return granted(c)
				}
				return elsewhere(c)
			})
			if kind == actor.Read { // the holder of the lock does not wait for it
				for range 2 * each {
					k.turn(wanting(kind, "a", 0))
				}
			}
			free = false
			var waiting []*actor.Request
			for range each {
				waiting = append(waiting, wanting(kind, "a", 0))
				k.turn(waiting[len(waiting)-1])
				require.False(t, waiting[len(waiting)-1].Decided(), "%v, %d", kind, each)
			}
			left := waiting[each/2]
			k.now += sleepsAtMost
			k.c.turn(k.now, &mail{what: givesUp{left, errors.New("left")}})
			k.c.rest()
			k.turn()
			require.True(t, left.Decided())
			next := wanting(kind, "a", 0)
			k.turn(next)
			require.False(t, next.Decided(), "%v, %d", kind, each)
			late := wanting(kind, "a", 0)
			k.turn(late)
			require.Equal(t, actor.ErrTooManyWaiters, late.Err, "%v, %d", kind, each)
		}
	}
}

// sleepsAtMost is longer than any reply in these tests takes.
const sleepsAtMost = time.Second

// A request that re-enters is admitted however many wait: its owner cannot release what it holds before the result.
func TestWhoReentersIsNeverOneTooMany(t *testing.T) {
	for _, kind := range []actor.LockKind{actor.Plain, actor.Fair, actor.Write, actor.Read} {
		const owner = actor.ThreadOwner | 1
		taken := false
		k := limited(t, 1, 1, func(c *actor.Command) actor.Reply {
			if taken && c.Key != "a" {
				return elsewhere(c)
			}
			return granted(c)
		})
		first := wanting(kind, "a", owner)
		k.turn(first)
		require.NoError(t, first.Err)
		taken = true
		k.turn(wanting(kind, "b", 0)) // as many as may wait
		again := wanting(kind, "a", owner)
		k.turn(again, wanting(kind, "c", 0))
		require.True(t, again.Decided())
		require.NoError(t, again.Err, kind)
		if kind == actor.Write {
			reads := wanting(actor.Read, "a", owner)
			k.turn(reads)
			require.NotEqual(t, actor.ErrTooManyWaiters, reads.Err)
		}
		require.EqualValues(t, 1, k.c.stats().Shed)
	}
}

// A request of a caller that has waited elsewhere before is admitted however many wait.
func TestWhoWaitedElsewhereIsNeverOneTooMany(t *testing.T) {
	for _, kind := range allKinds {
		for _, limits := range [][2]int{{1, 100}, {100, 1}} {
			k := limited(t, limits[0], limits[1], elsewhere)
			k.turn(wanting(kind, "a", 0))
			r := wanting(kind, "a", 0)
			r.LetIn = true
			late := wanting(kind, "a", 0)
			k.turn(r, late)
			require.False(t, r.Decided())
			require.Equal(t, actor.ErrTooManyWaiters, late.Err)
		}
	}
}

// A request for several locks counts once per lock, and so does its rejection.
func TestSeveralLocksCountAsSoMany(t *testing.T) {
	k := limited(t, 4, 100, elsewhere)
	several := func() *actor.Request {
		parts := []actor.Part{{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}}, {Name: "c", Key: "c", Hold: &actor.Hold{}}}
		return &actor.Request{Tag: actor.Acquire, Key: "a", Name: "a", Joint: &actor.Joint{Parts: parts}}
	}
	first, second, one := several(), several(), wanting(actor.Plain, "d", 0)
	k.turn(first, second, one)
	require.False(t, first.Decided())
	require.Equal(t, actor.ErrTooManyWaiters, second.Err)
	require.False(t, one.Decided())
	require.EqualValues(t, 3, k.c.stats().Shed)
	k.c.turn(k.now, &mail{what: givesUp{first, errors.New("left")}})
	k.c.rest()
	k.turn()
	require.True(t, first.Decided())
	require.EqualValues(t, 1, k.c.fx.Wanted)
}

// A request that was rejected at once and then cancelled leaves nothing behind.
func TestWhoIsRefusedAtOnceMayHaveLeft(t *testing.T) {
	k := limited(t, 1, 1, elsewhere)
	late := wanting(actor.Plain, "b", 0)
	k.turn(wanting(actor.Plain, "a", 0), late)
	require.Equal(t, actor.ErrTooManyWaiters, late.Err)
	k.c.turn(k.now, &mail{what: givesUp{late, errors.New("left")}})
	require.Empty(t, k.c.fx.Verdicts)
	k.c.rest()
	require.Nil(t, k.c.locks.of("b"))
	require.EqualValues(t, 1, k.c.stats().Waiting)
}
