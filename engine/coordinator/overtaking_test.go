package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// smallShare is less than MaxMessagesPerTurn, so that the tests are quick.
const smallShare = 64

// unlockFlood returns a harness that handles share messages of a lane per turn. It has the holds of these callers, and
// is in a flood of asynchronous unlocks.
func unlockFlood(t *testing.T, share int, what string, who ...string) *coordinatorHarness {
	flood := 20 * share
	d := newSharedLaneHarness(t, share)
	d.posts("lock", "k", flood)
	for _, w := range who {
		d.ask(what, w)
	}
	d.opens("done")
	for i := range flood {
		d.unlockAsync(fmt.Sprint("k", i))
	}
	return d
}

// unlockAsync posts an unlock as UnlockAsync does, and returns it.
func (d *coordinatorHarness) unlockAsync(who string) *actor.Request {
	d.ask("unlock", who)
	r := d.callers[who].latest
	r.Async, r.Key = true, "" // the key is that of its hold
	return r
}

// What a caller requests after UnlockAsync is handled after it, however many unlocks wait before it.
func TestOvertaking_AsyncUnlockFlood_SameNameInOrder(t *testing.T) {
	for _, c := range []struct {
		what, who string
		err       error
	}{
		{"try", "held/2", nil},
		{"try", "held+x", nil},
		{"lock", "held/2", nil},
		{"async", "held/2", nil},
		{"force", "held/2", nil},
		{"state", "held/2", nil},
		{"extend", "held", actor.ErrNotHeld},
		{"unlock", "held", actor.ErrNotHeld},
	} {
		d := unlockFlood(t, smallShare, "lock", "held")
		unlock := d.unlockAsync("held")
		d.ask(c.what, c.who)
		d.turn()
		require.True(t, unlock.Handled(), c.what)
		require.Greater(t, d.unopened(), 15*smallShare, c.what)
		d.opens("done")
		require.True(t, d.callers[c.who].latest.Completed(), c.what)
		require.Equal(t, c.err, d.callers[c.who].latest.Err, c.what)
		require.NoError(t, unlock.Err, c.what)
		require.Empty(t, d.c.intake.unlocksOf, c.what)
	}
	d := unlockFlood(t, smallShare, "lock", "held")
	unlock := d.unlockAsync("held")
	d.ask("lock", "other")
	d.turn()
	require.False(t, unlock.Handled(), "without a later request it waits")
}

// If very many unlocks of one name wait, a turn handles no more than usual, and a later request for the name waits for
// them, with the order of those that follow it.
func TestOvertaking_ManyHoldsOfName_TurnBounded(t *testing.T) {
	const holds = 10 * smallShare
	var who []string
	for i := range holds {
		who = append(who, fmt.Sprint("rw/", i))
	}
	d := unlockFlood(t, smallShare, "read", who...)
	var unlocks []*actor.Request
	for i := range holds {
		unlocks = append(unlocks, d.unlockAsync(who[i]))
	}
	handled := func() (n int) {
		for _, r := range unlocks {
			if r.Handled() {
				n++
			}
		}
		return n
	}
	d.ask("trywrite", "rw/w1")
	first, second := d.callers["rw/w1"].latest, (*actor.Request)(nil)
	for turns := 0; second == nil || !second.Handled(); turns++ {
		require.Less(t, turns, 100)
		before := handled()
		d.turn()
		require.LessOrEqual(t, handled()-before, 2*smallShare)
		if turns == 0 {
			d.ask("write", "rw/w2")
			second = d.callers["rw/w2"].latest
		}
		require.True(t, handled() == holds || !first.Handled())
		require.True(t, first.Handled() || !second.Handled())
	}
	d.opens("done")
	require.Empty(t, d.c.intake.unlocksOf)
}

// Names with a few unlocks share a bounded part of a turn. A request of a caller that blocks is handled only when its
// message has left the lanes: with its result, the caller uses both again.
func TestOvertaking_ManyNames_TurnBounded(t *testing.T) {
	const share = 16
	var who []string
	for i := range share / 2 {
		who = append(who, fmt.Sprint("r", i, "/1"), fmt.Sprint("r", i, "/2"))
	}
	d := unlockFlood(t, share, "read", append(who, "last")...)
	var unlocks []*actor.Request
	for _, w := range append(who, "last") {
		unlocks = append(unlocks, d.unlockAsync(w))
	}
	d.posts("tryread", "r", share/2)
	d.ask("tryread", "last/2")
	d.turn()
	late, try := unlocks[share], d.callers["last/2"].latest
	for _, r := range unlocks[:share] {
		require.True(t, r.Handled())
	}
	require.False(t, late.Handled())
	require.False(t, try.Handled())
	d.ask("tryread", "last/3")
	d.turn()
	require.True(t, late.Handled())
	require.False(t, try.Handled())
	require.False(t, d.callers["last/3"].latest.Handled())
	for !d.callers["last/3"].latest.Handled() {
		require.True(t, d.c.HasMessages())
		d.turn()
	}
	require.True(t, try.Handled())
}

// What noted the names of very many unlocks is not kept, as a map never becomes smaller.
func TestOvertaking_VeryManyNames_MemoryNotKept(t *testing.T) {
	for flood, kept := range map[int]bool{maxKeptNames: true, 2 * maxKeptNames: false} {
		d := unlockFlood(t, flood/20+1, "lock")
		for turns := 0; d.c.HasMessages() || turns == 0; turns++ {
			require.Less(t, turns, 100)
			d.turn()
		}
		require.Empty(t, d.c.intake.unlocksOf)
		require.Equal(t, kept, d.c.intake.unlocksOf != nil, flood)
	}
}

// Locks that are lost while their unlocks wait leave nothing behind, nor does a close.
func TestOvertaking_LostMeanwhile_NothingKept(t *testing.T) {
	d := unlockFlood(t, smallShare, "lock")
	d.turn()
	require.NotEmpty(t, d.c.intake.unlocksOf)
	d.now += time.Minute
	for d.turn(); d.unopened() > 0; d.turn() {
		require.LessOrEqual(t, len(d.c.intake.unlocksOf), d.c.intake.lanes[asyncUnlocks].n)
	}
	require.Empty(t, d.c.intake.unlocksOf)

	d = unlockFlood(t, smallShare, "lock", "held")
	d.unlockAsync("held")
	d.ask("close", "close")
	for d.turn(); d.c.HasMessages() || !d.callers["close"].latest.Completed(); d.turn() {
		d.now += 10 * time.Millisecond
	}
	require.Empty(t, d.c.intake.unlocksOf)
}
