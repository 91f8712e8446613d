package engine

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// While a slot migrates, waiters listen at the source node, and keys that have moved are released at the target node.

const (
	// movingPoll is how often a lock is tried while its slot migrates. Its message may go to the target node, where
	// this engine does not listen.
	movingPoll = 100 * time.Millisecond
	// movingFor is how long a slot is considered migrating after a node last said so, unless its owner changes.
	movingFor = 30 * time.Second
)

// moves notes that a node said that a slot is migrating. The first time, all waiters of the slot check again: they may
// have slept since before the migration.
func (c *coordinator) moves(now time.Duration, slot uint16) {
	k := c.cluster
	if !k.onItsWay(now, slot) {
		c.doubts.add(map[uint16]bool{slot: true})
	}
	k.moving[slot] = now + movingFor
}

// noticeMove handles TRYAGAIN: some keys of the call have moved and others have not.
func (c *coordinator) noticeMove(now time.Duration, b *batch) {
	if c.cluster != nil && !b.late && actor.Begins(b.failed.Error(), "TRYAGAIN") {
		c.moves(now, b.slot)
	}
}

func (k *cluster) onItsWay(now time.Duration, slot uint16) bool {
	until, is := k.moving[slot]
	if is && now >= until {
		delete(k.moving, slot)
	}
	return is && now < until
}

// impatient caps the TTL of another's lock, and so the wait for it, while the slot migrates.
func impatient(reply *actor.Reply) {
	if reply.Status == actor.Taken && reply.TTL > movingPoll {
		reply.TTL = movingPoll
	}
}

// saying is a message that a script published at the target node of a migration. It is published at the source node as
// well.
type saying struct{ address, channel, text string }

// sayings returns the messages of a bundle to repeat. Only sharded pub/sub needs this: other messages reach the whole
// cluster.
func (w *writer) sayings(b *batch) (all []saying) {
	for ; b != nil; b = b.next {
		tells := forms[b.verb].tells
		if !b.asking || !w.sharded || b.failed != nil || tells == nil {
			continue
		}
		for i := range min(len(b.replies), len(b.commands)) {
			if b.replies[i].Status == actor.Done {
				all = append(all, saying{b.asker.address, scripts.Prefixed(tells.channel, b.commands[i].Key), tells.text})
			}
		}
	}
	return all
}

// say publishes messages once more, after the replies to their releases. Delivery is not guaranteed, as with any
// message: a waiter that misses one polls later.
func (w *way) say(sayings []saying) {
	for _, s := range sayings {
		if node := w.client.Nodes()[s.address]; node != nil {
			_ = node.Do(context.Background(), publishAgain(node, s)).Error()
		}
	}
}

func publishAgain(node rueidis.Client, s saying) rueidis.Completed {
	return node.B().Spublish().Channel(s.channel).Message(s.text).Build()
}
