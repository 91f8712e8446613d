package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// waitersHarness is very many callers of one name, a server that replies at once, and the coordinator between them.
type waitersHarness struct {
	t      *testing.T
	c      *Coordinator
	now    time.Duration
	answer func(*actor.Command) actor.Reply
}

func newWaitersHarness(t *testing.T, answer func(*actor.Command) actor.Reply) *waitersHarness {
	config := harnessConfig()
	config.Poll = true
	return &waitersHarness{t: t, c: New(config, 4), now: time.Second, answer: answer}
}

func granted(*actor.Command) actor.Reply { return actor.Reply{Status: actor.OK, Listeners: -1} }

// turn hands requests to the coordinator and replies to the commands that it sends.
func (k *waitersHarness) turn(requests ...*actor.Request) {
	var first *LoopMessage
	for i := len(requests) - 1; i >= 0; i-- {
		r := requests[i]
		if r.Ready == nil {
			r.Ready = make(chan struct{}, 1)
		}
		first = &LoopMessage{Value: r, Next: first}
	}
	k.exchange(first)
}

// exchange hands messages to the coordinator and replies to the commands that it sends.
func (k *waitersHarness) exchange(first *LoopMessage) {
	for {
		k.c.Turn(k.now, first)
		first = nil
		for _, hold := range k.c.Fx.HoldEnds {
			hold.Hold.End(hold.Err, hold.Cause, hold.HeldUntil)
		}
		for _, b := range k.c.Batches {
			b.Sent, b.Replies = k.now, b.Replies[:0]
			for i := range b.Commands {
				b.Replies = append(b.Replies, k.answer(&b.Commands[i]))
			}
			b.Msg.Next = first
			first = &b.Msg
		}
		k.c.ResetOutputs()
		if first == nil && !k.c.HasMessages() {
			return
		}
		k.now += time.Microsecond
	}
}

func wants(kind actor.LockKind, owner uint64, once bool) *actor.Request {
	return &actor.Request{Op: actor.Acquire, Key: "k", Kind: kind, Owner: owner, Once: once, Hold: &actor.Hold{}}
}

func (k *waitersHarness) lock(kind actor.LockKind, owner uint64) *actor.Request {
	r := wants(kind, owner, false)
	k.turn(r)
	return r
}

func (k *waitersHarness) unlock(h *actor.Hold) {
	k.t.Helper()
	r := &actor.Request{Op: actor.Unlock, Hold: h}
	k.turn(r)
	require.True(k.t, r.Completed())
	require.NoError(k.t, r.Err)
}

// takenReply is the reply to an acquire of a lock that another holds.
func (k *waitersHarness) takenReply(holder string) actor.Reply {
	return actor.Reply{Status: actor.HeldByOther, TTL: 30 * time.Second, Holder: holder, QueueTTL: 30 * time.Second}
}

// Waiters are served one after the other, while replies name a former holder of this engine.
func TestFairWaiters_Many_Served(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	var k *waitersHarness
	var holder uint64
	k = newWaitersHarness(t, func(c *actor.Command) actor.Reply {
		switch {
		case c.Verb != actor.SendFairAcquire:
			return granted(c)
		case holder == 0:
			holder = c.Tenure
			return granted(c)
		case c.Tenure%2 == 0:
			return k.takenReply(fmt.Sprint(k.c.Fx.Config.ID, ":", int64(1)<<40))
		}
		return k.takenReply(fmt.Sprint(k.c.Fx.Config.ID, ":", holder))
	})
	all := make([]*actor.Request, n)
	for i := range all {
		all[i] = wants(actor.Fair, 0, false)
	}
	k.turn(all...)
	for i := range all {
		require.True(t, all[i].Completed(), i)
		k.turn(wants(actor.Fair, 0, true)) // and others try
		k.c.step(k.now, all[i].Hold.Lock(), &actor.Message{Event: actor.Notified})
		k.turn()
		k.unlock(all[i].Hold)
		holder = 0
		if i+1 < n {
			k.c.step(k.now, all[i+1].Lock(), &actor.Message{Event: actor.Notified})
			k.turn()
		}
	}
	require.Zero(t, k.c.Fx.Stats.Waiting)
	require.Zero(t, k.c.Fx.Stats.Held)
}

// Very many waiters with a place in a queue leave together, or before their acquire was sent. Each is released, and the
// next waiter is looked up.
func TestFairWaiters_Many_Leave(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	for _, asked := range []bool{true, false} {
		var k *waitersHarness
		k = newWaitersHarness(t, func(c *actor.Command) actor.Reply {
			if c.Verb == actor.SendFairAcquire {
				return k.takenReply("another:1")
			}
			return granted(c)
		})
		k.c.intake.laneBudget = n
		all := make([]*actor.Request, n)
		come, leave := make([]*LoopMessage, n), (*LoopMessage)(nil)
		for i := range all {
			all[i] = wants(actor.Fair, 0, false)
			come[i], leave = &LoopMessage{Value: all[i]}, &LoopMessage{Value: CancelRequest{all[i], errLeft}, Next: leave}
		}
		if asked {
			k.turn(all...)
		} else {
			k.tellingTurn(come...)
		}
		k.exchange(leave)
		for _, r := range all {
			require.True(t, r.Completed())
		}
		if asked {
			require.Empty(t, k.c.LockSets)
		}
	}
}

var errLeft = errors.New("left")

// Behind many waiters others try, and are rejected when the reply names another holder.
func TestTries_BehindManyWaiters_Rejected(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	var k *waitersHarness
	k = newWaitersHarness(t, func(*actor.Command) actor.Reply { return k.takenReply("another:1") })
	all := make([]*actor.Request, n)
	for i := range all {
		all[i] = wants(actor.Plain, 0, false)
	}
	k.turn(all...)
	for range n {
		r := wants(actor.Plain, 0, true)
		k.turn(r)
		require.Equal(t, actor.ErrNotAcquired, r.Err)
	}
	require.EqualValues(t, n, k.c.Fx.Stats.Waiting)
}

// Each owner waits twice, and re-enters when it is granted once.
func TestOwners_WaitTwice_ReenterOnGrant(t *testing.T) {
	for name, kind := range kindsOfMany {
		if kind == actor.Read || kind == actor.Fair {
			continue
		}
		t.Run(name, func(t *testing.T) {
			n := holdCountFromEnv(t, 200)
			k := newWaitersHarness(t, granted)
			first := k.lock(kind, 0)
			all := make([]*actor.Request, n)
			for i := range all {
				all[i] = wants(kind, actor.ThreadOwner|uint64(i%(n/2)+1), false)
			}
			k.turn(all...)
			k.unlock(first.Hold)
			for range all {
				k.now += time.Second // locks that let others come first have done so
				k.turn()
				for i := range n / 2 {
					if a, b := all[i], all[i+n/2]; a.Completed() {
						require.True(t, b.Completed(), "it re-enters")
						k.unlock(a.Hold)
						k.unlock(b.Hold)
						all = append(all[:i], all[i+1:]...)
						all = append(all[:i+n/2-1], all[i+n/2:]...)
						n -= 2
						break
					}
				}
				if n == 0 {
					break
				}
			}
			require.Zero(t, k.c.Fx.Stats.Waiting)
		})
	}
}

// While many wait to read, the writer reads again and again.
func TestWriter_ManyWaitingReaders_Reads(t *testing.T) {
	n := holdCountFromEnv(t, 200)
	const owner = actor.ThreadOwner | 1
	k := newWaitersHarness(t, func(c *actor.Command) actor.Reply {
		if c.Verb == actor.SendReadAcquire && c.Reader == nil {
			return actor.Reply{Status: actor.HeldByOther, TTL: 30 * time.Second, Writer: "another:1"}
		}
		return granted(c)
	})
	writer := k.lock(actor.Write, owner)
	require.True(t, writer.Completed())
	all := make([]*actor.Request, n)
	for i := range all {
		all[i] = wants(actor.Read, 0, false)
	}
	k.turn(all...)
	for range n {
		r := k.lock(actor.Read, owner)
		require.True(t, r.Completed())
		require.NoError(t, r.Err)
		k.unlock(r.Hold)
	}
	require.EqualValues(t, n, k.c.Fx.Stats.Waiting)
}
