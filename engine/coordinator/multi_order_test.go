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
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		k := newBusyHarness(t, random)
		all := randomRequests(random, 24, false)
		k.turn(all...)
		k.requireAllGranted(all)
	}
}

// The same holds beside requests for one lock that are handled later than others which came after them, so that queues
// are out of order, and if no more than a few requests may be looked at to find a place there.
func TestMulti_QueuesOutOfOrder_TurnsEnd(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		k := newBusyHarness(t, random)
		k.c.LimitTurn(1 + random.IntN(4))
		k.c.Fx.MaxPlaceSteps = []int{0, 1, 10}[random.IntN(3)]
		var all []*actor.Request
		for range 4 {
			some := randomRequests(random, 8, random.IntN(2) == 0)
			all = append(all, some...)
			k.postOnly(some)
			k.now += time.Millisecond
		}
		k.requireAllGranted(all)
	}
}

// busyHarness is a waitersHarness with a server at which other engines have some of the locks for a while.
type busyHarness struct {
	*waitersHarness
	busy    bool
	replies *LoopMessage // to batches of turns that posted only
}

// newBusyHarness returns one that fails if a turn does not end.
func newBusyHarness(t *testing.T, random *rand.Rand) *busyHarness {
	k := &busyHarness{busy: true}
	k.waitersHarness = newWaitersHarness(t, func(c *actor.Command) actor.Reply {
		if k.busy && random.IntN(4) > 0 {
			return actor.Reply{Status: actor.HeldByOther, Holder: "other:1", TTL: time.Millisecond, FailedPart: random.IntN(max(len(c.Parts), 1))}
		}
		return actor.Reply{Status: actor.OK, Listeners: -1}
	})
	steps := 0
	k.c.Fx.OnStep = func(actor.StepTrace) {
		if steps++; steps > 1_000_000 {
			require.FailNow(t, "a turn does not end")
		}
	}
	return k
}

// randomRequests returns requests for two of a few locks each. If they are mixed, most are for one lock, and no caller
// blocks for some of these.
func randomRequests(random *rand.Rand, n int, mixed bool) (all []*actor.Request) {
	for range n {
		first := random.IntN(4)
		if mixed && random.IntN(3) > 0 {
			r := waitRequests(actor.Plain, fmt.Sprint(first), 0)
			if random.IntN(2) == 0 {
				r.Async, r.OnDone = true, func() {}
			}
			all = append(all, r)
			continue
		}
		r := &actor.Request{Op: actor.Acquire, Name: "several", Multi: &actor.MultiRequest{}}
		for _, at := range []int{first, first + 1} {
			name := fmt.Sprint(at)
			r.Multi.Parts = append(r.Multi.Parts, actor.Part{Name: name, Key: name, Hold: &actor.Hold{}})
		}
		r.Key = r.Multi.Parts[0].Key
		all = append(all, r)
	}
	return all
}

// postOnly hands requests to the coordinator in one turn, which may leave some of them.
func (k *busyHarness) postOnly(requests []*actor.Request) {
	first := k.replies
	for _, r := range requests {
		r.Ready = make(chan struct{}, 1)
		first = &LoopMessage{Value: r, Next: first}
	}
	k.replies = nil
	k.c.Turn(k.now, first)
	for _, b := range k.c.Batches {
		b.Sent, b.Replies = k.now, b.Replies[:0]
		for i := range b.Commands {
			b.Replies = append(b.Replies, k.answer(&b.Commands[i]))
		}
		b.Msg.Next = k.replies
		k.replies = &b.Msg
	}
	k.c.ResetOutputs()
}

// requireAllGranted requires that all requests are granted, if each lock is unlocked then.
func (k *busyHarness) requireAllGranted(all []*actor.Request) {
	if k.replies != nil {
		k.exchange(k.replies)
	}
	unlocked := make(map[*actor.Request]bool)
	for step := 0; len(unlocked) < len(all); step++ {
		k.busy = step < 40
		require.Less(k.t, step, 4000, "some are never granted")
		k.now += time.Millisecond
		var unlocks []*actor.Request
		for _, r := range all {
			if !r.Completed() || unlocked[r] {
				continue
			}
			require.NoError(k.t, r.Err)
			unlocked[r] = true
			if r.Multi == nil {
				unlocks = append(unlocks, &actor.Request{Op: actor.Unlock, Hold: r.Hold})
				continue
			}
			for _, part := range r.Multi.Parts {
				unlocks = append(unlocks, &actor.Request{Op: actor.Unlock, Hold: part.Hold})
			}
		}
		k.turn(unlocks...)
	}
}
