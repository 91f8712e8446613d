package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/slot"
)

const (
	// ownChannelRetry is the pause before the engine's own channel is tried again after its connection failed.
	// ownChannelDenied is the pause after the server rejected it: an engine without the permission works as before.
	ownChannelRetry, ownChannelDenied = 2 * time.Second, time.Minute
	// maxEarly is the maximum number of keys that are kept of notices that came before a grant.
	maxEarly = 64
)

// ownChannel is the engine's own pub/sub channel, on which other clients reach it. They are those that took a lock away
// from it, and those that ask since when it has one, or how many wait. It is subscribed from the first grant on, or
// since a request first waited for another client. Owned by the coordinator. The zero value has no name: the engine has
// none.
type ownChannel struct {
	name    string // empty: the engine has none
	slot    uint16
	node    *Node         // where it is pinned; nil: nowhere
	retryAt time.Duration // when it is pinned next, after a failure; 0: it did not fail
	waited  bool          // a request has waited for another client

	// early has the keys of locks that were waited for when a notice came, and when the last one came. A notice can
	// overtake the reply that grants the lock.
	early map[string]time.Duration
	// forced has the keys of locks that this engine had when a notice came.
	forced forced

	Answers []Answer // output
	handled int      // output: messages of the channel that were handled in this turn
}

// Answer is the reply to a HolderQuery, or to a WaiterQuery. It is immutable. The zero value says that this engine does
// not have the tenure, and has no asker.
type Answer struct {
	Asker   string
	Held    bool          // this engine has the tenure; otherwise Age is zero
	Age     time.Duration // how long its owner has had the lock
	Waiters *Waiters      // of a WaiterQuery; nil: of a HolderQuery
}

// InitOwnChannel names the engine's own channel. It must be called before the first turn.
func (c *Coordinator) InitOwnChannel(name string) { c.own.name, c.own.slot = name, slot.Of(name) }

// Answers returns the replies to queries that the turn handled.
func (c *Coordinator) Answers() []Answer { return c.own.Answers }

// OwnMessagesHandled returns how many messages of the own channel the turn handled or dropped.
func (c *Coordinator) OwnMessagesHandled() int { return c.own.handled }

// IsDown reports whether the server of a key is known to be down.
func (c *Coordinator) IsDown(key string) bool { return c.nodeForKey(key).Breaker.Down }

func (o *ownChannel) reset() {
	clear(o.Answers)
	o.Answers, o.handled = o.Answers[:0], 0
}

// updateOwnChannel pins the own channel at the node to which it belongs by its name.
func (c *Coordinator) updateOwnChannel(now time.Duration) {
	o := &c.own
	if len(o.early) > 0 && c.InFlightBundles() == 0 {
		clear(o.early) // no reply to a command that was sent before these notices can come any more
	}
	if o.name == "" || c.unconnected || c.Fx.Stats.Acquired == 0 && !o.waited || now < o.retryAt {
		return
	}
	n := c.Fallback
	if c.Cluster != nil {
		n = c.Cluster.slots[o.slot]
	}
	if n == o.node {
		return
	}
	if o.node != nil {
		o.node.Subscriptions.unpin(o.name)
	}
	n.Subscriptions.pin(o.name)
	o.node, o.retryAt = n, 0
}

// onOwnChannelFailed plans another try if the order that has just failed was for the own channel.
func (c *Coordinator) onOwnChannelFailed(now time.Duration, n *Node, err error) {
	if !n.Subscriptions.pinFailed {
		return
	}
	n.Subscriptions.pinFailed = false
	if c.own.node != n {
		return // it belongs elsewhere by now
	}
	c.own.node, c.own.retryAt = nil, now+ownChannelRetry
	if err != nil && actor.HasPrefixFold(err.Error(), "NOPERM") {
		c.own.retryAt = now + ownChannelDenied
	}
}

// confirmHolders has this engine's holds of a key confirmed at once: another client says that it took the lock away.
// Only the server's reply ends a hold.
func (c *Coordinator) confirmHolders(now time.Duration, key string) {
	l := c.Locks.Get(key)
	if l != nil || c.LockSets[key] != nil {
		c.own.forced.note(now, key, c.Fx.LastTenure(), c.LockSets[key] == nil)
	}
	if l != nil && l.HeldAt(now) {
		c.step(now, l, &actor.Message{Event: actor.Notified})
	}
	c.noteEarly(now, key)
	to := recipients{event: actor.Notified, key: key}
	if set := c.LockSets[key]; set != nil && !c.repeatFanout(to) {
		c.fanOut(now, to, set.granted())
	}
}

// noteEarly notes that a notice came for a key, if a lock of it may be granted by a reply that is on its way.
func (c *Coordinator) noteEarly(now time.Duration, key string) {
	if l := c.Locks.Get(key); c.LockSets[key] == nil && (l == nil || l.HeldAt(now)) {
		return
	}
	if c.own.early == nil || len(c.own.early) >= maxEarly {
		c.own.early = make(map[string]time.Duration) // what is forgotten is learned at the next renewal
	}
	c.own.early[key] = now
}

// confirmIfEarly has each lock confirmed that was granted by a command that was sent before a notice of its key. What a
// turn sends leaves after the notices that it handled.
func (c *Coordinator) confirmIfEarly(now time.Duration, command *actor.Command, sent time.Duration) {
	if len(command.Parts) == 0 {
		c.confirmLockIfEarly(now, command.Key, command.Lock, sent)
	}
	for i := range command.Parts {
		key := command.Parts[i].Key
		c.confirmLockIfEarly(now, key, c.Locks.Get(key), sent)
	}
}

func (c *Coordinator) confirmLockIfEarly(now time.Duration, key string, granted *actor.Lock, sent time.Duration) {
	at, noted := c.own.early[key]
	if noted && sent < at && granted != nil && granted.Key() != "" && granted.HeldAt(now) {
		c.step(now, granted, &actor.Message{Event: actor.Notified})
	}
}

// keyWeight returns how many locks a turn steps, at most, to confirm the holders of a key, or looks at to count its
// waiters.
func (c *Coordinator) keyWeight(key string) int {
	if set := c.LockSets[key]; set != nil {
		return max(1, min(set.locks.len(), c.intake.lockBudget))
	}
	return 1
}

// answer replies to a query. It contains nothing about other tenures than the one that the query names, and no label:
// labels are never sent to the server.
func (c *Coordinator) answer(now time.Duration, q HolderQuery) {
	a := Answer{Asker: q.Asker}
	l := c.Locks.Get(q.Key)
	if l == nil || !l.OwnsTenure(q.Tenure) {
		l = c.LockSets[q.Key].withTenure(q.Tenure)
	}
	if l != nil {
		if info := l.Info(now, c.Fx); info.Holds > 0 && info.Tenure == q.Tenure {
			a.Held, a.Age = true, now-info.Since
		}
	}
	c.own.Answers = append(c.own.Answers, a)
}
