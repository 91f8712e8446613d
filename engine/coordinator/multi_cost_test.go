package coordinator

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// multiCost counts the steps of acquiring and releasing several locks atomically, and the depth of the deepest one.
func multiCost(t *testing.T, locks int) (steps, deepest int) {
	t.Helper()
	d := newHarness(t, 8)
	c := d.c
	callers := make([]uintptr, 1<<16)
	c.Fx.OnStep = func(actor.StepTrace) {
		steps++
		deepest = max(deepest, runtime.Callers(0, callers))
	}
	turn := func(m *LoopMessage) {
		d.now++
		c.Turn(d.now, m)
	}
	settle := func() {
		for len(c.Batches) > 0 || c.HasMessages() {
			batches := append([]*Batch(nil), c.Batches...)
			c.ResetOutputs()
			turn(nil)
			for _, b := range batches {
				b.Replies = b.Replies[:0]
				for range b.Commands {
					b.Replies = append(b.Replies, actor.Reply{Status: actor.OK, Listeners: -1})
				}
				b.Msg.Next = nil
				turn(&b.Msg)
			}
		}
	}
	parts := make([]actor.Part, locks)
	for i := range parts {
		name := fmt.Sprintf("%06d", i)
		parts[i] = actor.Part{Name: name, Key: name, Hold: &actor.Hold{}}
	}
	all := &actor.Request{Op: actor.Acquire, Name: "all", Key: parts[0].Key, Ready: make(chan struct{}, 1), Multi: &actor.MultiRequest{Parts: parts}}
	turn(&LoopMessage{Value: all})
	settle()
	require.NoError(t, all.Err)
	require.EqualValues(t, locks, c.Fx.Stats.Held)
	for i := range parts {
		turn(&LoopMessage{Value: &actor.Request{Op: actor.Unlock, Hold: parts[i].Hold, Ready: make(chan struct{}, 1)}})
	}
	settle()
	require.Zero(t, c.Fx.Stats.Held)
	require.Zero(t, c.Locks.Len())
	return steps, deepest
}

// Ten times as many locks take ten times as many steps, one after the other and not nested.
func TestMulti_ManyLocks_StepsLinear(t *testing.T) {
	few, shallow := multiCost(t, 50)
	many, deep := multiCost(t, 500)
	require.LessOrEqual(t, many, 11*few)
	require.LessOrEqual(t, deep, shallow)
}

// Callers of LockAsync wait for a lock, and one that blocks has overtaken them. Then others want that lock together
// with another one: each finds its place behind them.
func TestMultis_BehindOvertakenFlood_Wait(t *testing.T) {
	n := holdCountFromEnv(t, 5000)
	s := newLargeHarness(0)
	s.reply(s.request(1, func(int) *actor.Request { return waitRequests(actor.Plain, "b", 0) }), actor.Reply{
		Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "x:1",
	})
	var flood *LoopMessage
	for range n {
		r := waitRequests(actor.Plain, "b", 0)
		r.Async, r.OnDone = true, func() {}
		flood = &LoopMessage{Value: r, Next: flood}
	}
	s.c.Turn(s.now, flood)
	s.c.ResetOutputs()
	s.now += time.Millisecond
	s.request(1, func(int) *actor.Request { return waitRequests(actor.Plain, "b", 0) })
	require.Equal(t, n+2, s.c.Locks.Get("b").QueueLen())
	s.now += time.Millisecond
	s.request(n, func(int) *actor.Request {
		r := waitRequests(actor.Plain, "a", 0)
		r.Multi = &actor.MultiRequest{Parts: []actor.Part{{Key: "a", Hold: &actor.Hold{}}, {Key: "b", Hold: &actor.Hold{}}}}
		return r
	})
	require.Equal(t, 2*n+2, s.c.Locks.Get("b").QueueLen())
	require.LessOrEqual(t, s.c.Fx.PlaceSteps, MaxMessagesPerTurn, "of the last turn")
}

// Very many requests for several locks wait for one that is released, while another of theirs is held. A turn moves a
// bounded number of them to that one, and all of them move.
func TestMultis_VeryManyMoveOn_TurnsBounded(t *testing.T) {
	const n = 3*maxMultiMoves + 7
	done := actor.Reply{Status: actor.OK, Listeners: -1}
	s := newLargeHarness(0)
	released, held := wants(actor.Plain, 0, false), waitRequests(actor.Plain, "z", 0)
	s.reply(s.request(1, func(int) *actor.Request { return released }), done)
	s.reply(s.request(1, func(int) *actor.Request { return held }), done)
	multis := make([]*actor.Request, n)
	s.request(n, func(i int) *actor.Request {
		parts := []actor.Part{{Key: "k", Hold: &actor.Hold{}}, {Key: "z", Hold: &actor.Hold{}}}
		multis[i] = &actor.Request{Op: actor.Acquire, Key: "k", Multi: &actor.MultiRequest{Parts: parts}}
		return multis[i]
	})
	moved := func() (moved int) {
		for _, r := range multis {
			if r.Lock().Key() == "z" {
				moved++
			}
		}
		return moved
	}
	s.now += 50 * time.Millisecond
	calls := s.request(1, func(int) *actor.Request { return &actor.Request{Op: actor.Unlock, Hold: released.Hold} })
	for turns, before := 0, 0; before < n; turns++ {
		require.Less(t, turns, 100)
		s.reply(calls, done)
		calls = nil
		now := moved()
		require.LessOrEqual(t, now-before, 2*maxMultiMoves, "in the turns of one moment")
		before = now
		s.now += 2 * time.Millisecond
		s.turn()
		require.LessOrEqual(t, s.c.Fx.MultiMoves, maxMultiMoves)
	}
}
