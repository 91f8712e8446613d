package engine

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// jointCost counts the steps of acquiring and releasing several locks atomically, and the depth of the deepest one.
func jointCost(t *testing.T, locks int) (steps, deepest int) {
	t.Helper()
	d := newDesk(t, 8)
	c := d.c
	callers := make([]uintptr, 1<<16)
	c.fx.Stepped = func(actor.Step) {
		steps++
		deepest = max(deepest, runtime.Callers(0, callers))
	}
	turn := func(m *mail) {
		d.now++
		c.turn(d.now, m)
	}
	settle := func() {
		for len(c.batches) > 0 || c.unopened() {
			batches := append([]*batch(nil), c.batches...)
			c.rest()
			turn(nil)
			for _, b := range batches {
				b.replies = b.replies[:0]
				for range b.commands {
					b.replies = append(b.replies, actor.Reply{Status: actor.Done, Listeners: -1})
				}
				b.mail.next = nil
				turn(&b.mail)
			}
		}
	}
	parts := make([]actor.Part, locks)
	for i := range parts {
		name := fmt.Sprintf("%06d", i)
		parts[i] = actor.Part{Name: name, Key: name, Hold: &actor.Hold{}}
	}
	all := &actor.Request{Tag: actor.Acquire, Name: "all", Key: parts[0].Key, Ready: make(chan struct{}, 1), Joint: &actor.Joint{Parts: parts}}
	turn(&mail{what: all})
	settle()
	require.NoError(t, all.Err)
	require.EqualValues(t, locks, c.fx.Stats.Held)
	for i := range parts {
		turn(&mail{what: &actor.Request{Tag: actor.Unlock, Hold: parts[i].Hold, Ready: make(chan struct{}, 1)}})
	}
	settle()
	require.Zero(t, c.fx.Stats.Held)
	require.Zero(t, c.locks.len())
	return steps, deepest
}

// Ten times as many locks take ten times as many steps, one after the other and not nested.
func TestStepsOfVeryManyLocksAsOneAreNoSquareAndNoRecursion(t *testing.T) {
	few, shallow := jointCost(t, 50)
	many, deep := jointCost(t, 500)
	require.LessOrEqual(t, many, 11*few)
	require.LessOrEqual(t, deep, shallow)
}
