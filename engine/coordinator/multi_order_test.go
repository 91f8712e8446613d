package coordinator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Requests for several locks that come in the same turn do not send each other from queue to queue without end,
// whichever of their locks other engines have: each turn ends, and at last all requests are granted.
func TestMulti_SameTurn_TurnsEnd(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seed := range uint64(300) {
			grantedInTheEnd(t, rand.New(rand.NewPCG(seed, 0)))
		}
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second): // all of it takes a tenth of a second
		require.FailNow(t, "a turn does not end")
	}
}

// grantedInTheEnd posts requests for two of a few locks each, in one turn. Other engines have some of the locks for a
// while.
func grantedInTheEnd(t *testing.T, random *rand.Rand) {
	busy := true
	k := newWaitersHarness(t, func(c *actor.Command) actor.Reply {
		if busy && random.IntN(4) > 0 {
			return actor.Reply{Status: actor.HeldByOther, Holder: "other:1", TTL: time.Millisecond, FailedPart: random.IntN(max(len(c.Parts), 1))}
		}
		return actor.Reply{Status: actor.OK, Listeners: -1}
	})
	var all []*actor.Request
	for range 24 {
		first := random.IntN(4)
		r := &actor.Request{Op: actor.Acquire, Name: "several", Multi: &actor.MultiRequest{}}
		for _, at := range []int{first, first + 1} {
			name := fmt.Sprint(at)
			r.Multi.Parts = append(r.Multi.Parts, actor.Part{Name: name, Key: name, Hold: &actor.Hold{}})
		}
		r.Key = r.Multi.Parts[0].Key
		all = append(all, r)
	}
	k.turn(all...)
	unlocked := make(map[*actor.Request]bool)
	for step := 0; len(unlocked) < len(all); step++ {
		busy = step < 40
		require.Less(t, step, 4000, "some are never granted")
		k.now += time.Millisecond
		var unlocks []*actor.Request
		for _, r := range all {
			if r.Completed() && !unlocked[r] {
				require.NoError(t, r.Err)
				unlocked[r] = true
				for _, part := range r.Multi.Parts {
					unlocks = append(unlocks, &actor.Request{Op: actor.Unlock, Hold: part.Hold})
				}
			}
		}
		k.turn(unlocks...)
	}
}
