package engine

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// A slot on its way from one node to another: who waits listens at the old one, and keys that have moved are released at the new one.

const (
	// movingPoll is how often a lock whose slot is on its way is tried: its message may go to the node
	// that the slot is going to, and is not heard here.
	movingPoll = 100 * time.Millisecond
	// movingFor is for how long a slot is believed to be on its way after a node last said so, unless it has arrived.
	movingFor = 30 * time.Second
)

// moves notes that a node says that a slot is on its way. The first time every waiter of it is to ask, for it may have slept since before.
func (c *coordinator) moves(now time.Duration, slot uint16) {
	k := c.cluster
	if !k.onItsWay(now, slot) {
		c.doubts.add(map[uint16]bool{slot: true})
	}
	k.moving[slot] = now + movingFor
}

// noticeMove reads TRYAGAIN: some keys of a call have moved, and others have not.
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

// impatient shortens how long the holder of a lock is believed to keep it while its slot is on its way.
func impatient(reply *actor.Reply) {
	if reply.Status == actor.Taken && reply.TTL > movingPoll {
		reply.TTL = movingPoll
	}
}

// saying is a message that a script published where the slot is going to, to be published where it comes from as well.
type saying struct{ address, channel, text string }

// sayings are those of a bundle that was answered. Nobody else's channels need that: a message for the whole cluster is heard everywhere.
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

// say publishes messages once more, after their releases were answered. It is as good as any message: who misses it asks later.
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
