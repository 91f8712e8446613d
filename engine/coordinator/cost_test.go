package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A caller allocates its hold; the coordinator reuses what it has. Messages to the actors must not escape.
func TestCoordinator_LockUnlock_NoAllocs(t *testing.T) {
	d := newHarness(t, 8)
	c := d.c
	hold := &actor.Hold{}
	lock := &actor.Request{Ready: make(chan struct{}, 1)}
	unlock := &actor.Request{Ready: make(chan struct{}, 1)}
	asked := &LoopMessage{}
	turn := func(r *actor.Request) {
		asked.Next, asked.Value = nil, r
		d.now++
		c.Turn(d.now, asked)
		b := c.Batches[0]
		c.ResetOutputs()
		b.Replies = append(b.Replies[:0], actor.Reply{Status: actor.OK, Listeners: -1})
		b.Msg.Next = nil
		d.now++
		c.Turn(d.now, &b.Msg)
		c.ResetOutputs()
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	pair := func() {
		*hold = actor.Hold{}
		lock.Reset()
		lock.Op, lock.Key, lock.Hold = actor.Acquire, "orders/7", hold
		turn(lock)
		unlock.Reset()
		unlock.Op, unlock.Hold = actor.Unlock, hold
		turn(unlock)
	}
	pair() // allocates once what is kept for the next
	require.Zero(t, testing.AllocsPerRun(1000, pair))
}
