package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// migrationPoll is how often a lock is tried while its slot migrates. Its message may go to the target node, where
	// this engine does not listen.
	migrationPoll = 100 * time.Millisecond
	// migrationTimeout is how long a slot is considered migrating after a node last said so, unless its owner changes.
	migrationTimeout = 30 * time.Second
)

// noteMigration notes that a node said that a slot is migrating. The first time, all waiters of the slot check again:
// they may have slept since before the migration.
func (c *Coordinator) noteMigration(now time.Duration, slot uint16) {
	cl := c.Cluster
	if !cl.isMigrating(now, slot) {
		c.reconfirms.add(map[uint16]bool{slot: true})
	}
	cl.migrating[slot] = now + migrationTimeout
}

// noteTryAgain handles TRYAGAIN: some keys of the batch have moved and others have not.
func (c *Coordinator) noteTryAgain(now time.Duration, b *Batch) {
	if c.Cluster != nil && !b.staleOwner && actor.HasPrefixFold(b.Failed.Error(), "TRYAGAIN") {
		c.noteMigration(now, b.Slot)
	}
}

func (cl *cluster) isMigrating(now time.Duration, slot uint16) bool {
	until, is := cl.migrating[slot]
	if is && now >= until {
		delete(cl.migrating, slot)
	}
	return is && now < until
}

// capTTL caps the TTL of another's lock, and so the wait for it, while the slot migrates.
func capTTL(reply *actor.Reply) {
	if reply.Status == actor.HeldByOther && reply.TTL > migrationPoll {
		reply.TTL = migrationPoll
	}
}
