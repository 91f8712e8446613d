package coordinator

import (
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// ReplicaSendersPerNode is the number of replica senders per node, and so the maximum number of bundles in flight with
// WAIT.
const ReplicaSendersPerNode = 2

// WaitsForReplicas reports whether the grants of a verb need replicas: a lock, or the next token. Such batches have
// senders of their own, because others would be delayed behind WAIT.
func (c *Coordinator) WaitsForReplicas(verb actor.Verb) bool {
	return c.Fx.Config.Replicas != 0 && IsGrant(verb)
}

// IsGrant reports whether commands of a verb grant a lock or fetch a token. With Config.Replicas they need replicas.
func IsGrant(verb actor.Verb) bool {
	switch verb {
	case actor.SendAcquire, actor.SendFencedAcquire, actor.SendFencedRenew, actor.SendFairAcquire,
		actor.SendReadAcquire, actor.SendWriteAcquire:
		return true
	}
	return false
}

// IsDemotion reports whether WAIT was rejected because the server is no longer a master. The error says nothing about
// which replicas have the grant, and nothing about grants of the next master.
func IsDemotion(err error) bool {
	if err == nil {
		return false
	}
	said := err.Error()
	return actor.HasPrefixFold(said, "UNBLOCKED") || strings.Contains(strings.ToLower(said), "wait cannot be used with replica")
}

// onUnreplicated notifies all waiters of a name that too few replicas have a grant to one of them. For kinds with one
// lock per request, the waiters would otherwise fail one after the other. A waiting writer is not notified while this
// engine reads, because it waits for that first.
func (c *Coordinator) onUnreplicated(now time.Duration, back *actor.Lock) {
	key, shared := back.Key(), back.Kind().Shared()
	set, to := c.LockSets[key], recipients{event: actor.Unreplicated, key: key, waiting: true, unreplicated: &unreplicatedGrant{now, c.Fx.RolledBack}}
	if c.Fx.RolledBack = nil; shared {
		if set.unreplicatedAt == now {
			return // already notified in this turn: one batch may have granted it to very many
		}
		set.unreplicatedAt = now
	}
	if writer := c.Locks.Get(key); writer != nil && writer != back && !(shared && set.firstGranted(func(l *actor.Lock) bool { return l.HeldAt(now) }) != nil) {
		c.step(now, writer, to.newMessage())
	}
	if !c.repeatFanout(to) {
		c.fanOut(now, to, set.All())
	}
}
