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
func (c *coordinator) noteMigration(now time.Duration, slot uint16) {
	k := c.cluster
	if !k.isMigrating(now, slot) {
		c.reconfirms.add(map[uint16]bool{slot: true})
	}
	k.migrating[slot] = now + migrationTimeout
}

// noteTryAgain handles TRYAGAIN: some keys of the call have moved and others have not.
func (c *coordinator) noteTryAgain(now time.Duration, b *batch) {
	if c.cluster != nil && !b.staleOwner && actor.HasPrefixFold(b.failed.Error(), "TRYAGAIN") {
		c.noteMigration(now, b.slot)
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

// relayedMessage is a message that a script published at the target node of a migration. It is published at the source node as
// well.
type relayedMessage struct{ address, channel, text string }

// relayedMessages returns the messages of a bundle to repeat. Only sharded pub/sub needs this: other messages reach the whole
// cluster.
func (w *encoder) relayedMessages(b *batch) (all []relayedMessage) {
	for ; b != nil; b = b.next {
		tells := specs[b.verb].publishes
		if !b.asking || !w.sharded || b.failed != nil || tells == nil {
			continue
		}
		for i := range min(len(b.replies), len(b.commands)) {
			if b.replies[i].Status == actor.OK {
				all = append(all, relayedMessage{b.redirectedBy.address, scripts.RedissonKey(tells.channel, b.commands[i].Key), tells.text})
			}
		}
	}
	return all
}

// relay publishes messages once more, after the replies to their releases. Delivery is not guaranteed, as with any
// message: a waiter that misses one polls later.
func (w *nodeConn) relay(relayed []relayedMessage) {
	for _, s := range relayed {
		if node := w.client.Nodes()[s.address]; node != nil {
			_ = node.Do(context.Background(), spublishCommand(node, s)).Error()
		}
	}
}

func spublishCommand(node rueidis.Client, s relayedMessage) rueidis.Completed {
	return node.B().Spublish().Channel(s.channel).Message(s.text).Build()
}
