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
	// migrationPoll is how often a lock is tried while its slot migrates. Its message may go to the target node, where
	// this engine does not listen.
	migrationPoll = 100 * time.Millisecond
	// migrationTimeout is how long a slot is considered migrating after a node last said so, unless its owner changes.
	migrationTimeout = 30 * time.Second
)

// noteMigration notes that a node said that a slot is migrating. The first time, all waiters of the slot check again: they may
// have slept since before the migration.
func (c *Coordinator) noteMigration(now time.Duration, slot uint16) {
	k := c.Cluster
	if !k.isMigrating(now, slot) {
		c.reconfirms.add(map[uint16]bool{slot: true})
	}
	k.migrating[slot] = now + migrationTimeout
}

// noteTryAgain handles TRYAGAIN: some keys of the call have moved and others have not.
func (c *Coordinator) noteTryAgain(now time.Duration, b *Batch) {
	if c.Cluster != nil && !b.staleOwner && actor.HasPrefixFold(b.Failed.Error(), "TRYAGAIN") {
		c.noteMigration(now, b.Slot)
	}
}

func (k *cluster) isMigrating(now time.Duration, slot uint16) bool {
	until, is := k.migrating[slot]
	if is && now >= until {
		delete(k.migrating, slot)
	}
	return is && now < until
}

// capTTL caps the TTL of another's lock, and so the wait for it, while the slot migrates.
func capTTL(reply *actor.Reply) {
	if reply.Status == actor.HeldByOther && reply.TTL > migrationPoll {
		reply.TTL = migrationPoll
	}
}

// RelayedMessage is a message that a script published at the target node of a migration. It is published at the source node as
// well.
type RelayedMessage struct{ Address, Channel, Text string }

// RelayedMessages returns the messages of a bundle to repeat. Only sharded pub/sub needs this: other messages reach the whole
// cluster.
func (w *Encoder) RelayedMessages(b *Batch) (all []RelayedMessage) {
	for ; b != nil; b = b.Next {
		tells := Specs[b.Verb].publishes
		if !b.Asking || !w.Sharded || b.Failed != nil || tells == nil {
			continue
		}
		for i := range min(len(b.Replies), len(b.Commands)) {
			if b.Replies[i].Status == actor.OK {
				all = append(all, RelayedMessage{b.RedirectedBy.Address, scripts.RedissonKey(tells.channel, b.Commands[i].Key), tells.text})
			}
		}
	}
	return all
}

// relay publishes messages once more, after the replies to their releases. Delivery is not guaranteed, as with any
// message: a waiter that misses one polls later.
func (w *nodeConn) relay(relayed []RelayedMessage) {
	for _, s := range relayed {
		if node := w.client.Nodes()[s.Address]; node != nil {
			_ = node.Do(context.Background(), spublishCommand(node, s)).Error()
		}
	}
}

func spublishCommand(node rueidis.Client, s RelayedMessage) rueidis.Completed {
	return node.B().Spublish().Channel(s.Channel).Message(s.Text).Build()
}
