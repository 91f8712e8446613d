package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A caller allocates its hold; the coordinator reuses what it has. Messages to the actors must not escape.
func TestALockAndItsUnlockAllocateNothingInTheCoordinator(t *testing.T) {
	d := newDesk(t, 8)
	c := d.c
	hold := &actor.Hold{}
	lock := &actor.Request{Ready: make(chan struct{}, 1)}
	unlock := &actor.Request{Ready: make(chan struct{}, 1)}
	asked := &mail{}
	turn := func(r *actor.Request) {
		asked.next, asked.what = nil, r
		d.now++
		c.turn(d.now, asked)
		b := c.batches[0]
		c.rest()
		b.replies = append(b.replies[:0], actor.Reply{Status: actor.Done, Listeners: -1})
		b.mail.next = nil
		d.now++
		c.turn(d.now, &b.mail)
		c.rest()
		if r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	pair := func() {
		*hold = actor.Hold{}
		lock.Reset()
		lock.Tag, lock.Key, lock.Hold = actor.Acquire, "orders/7", hold
		turn(lock)
		unlock.Reset()
		unlock.Tag, unlock.Hold = actor.Unlock, hold
		turn(unlock)
	}
	pair() // allocates once what is kept for the next
	require.Zero(t, testing.AllocsPerRun(1000, pair))
}
