package coordinator

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// minRefusal is the time between the first and the last command that a server rejected, with none accepted between,
	// after which it counts as down. A shorter time is a failover, or a moment without memory.
	minRefusal = 2 * time.Second
	// maxQuiet is the time after the last rejection from which on any accepted command ends a refusal.
	maxQuiet = 30 * time.Second
)

// refusal tracks whether a server replies, but rejects what changes a lock. A replica does, or a server without disk or
// memory. The breaker stays closed then: each reply ends an outage, and commands that only read do work. The zero value
// is that of a server that rejected nothing. Owned by the coordinator.
type refusal struct {
	cause       error         // of the last rejection; nil if a command was accepted since
	since, last time.Duration // the first rejection since a command was accepted, and the last one
}

// refusals lists prefixes of errors with which a server rejects whatever changes a lock, or, without memory, whatever
// acquires one.
var refusals = []string{"READONLY", "MISCONF", "NOREPLICAS", "MASTERDOWN", "CLUSTERDOWN", "LOADING", outOfMemory}

const outOfMemory = "OOM"

func isRefusal(err error) bool {
	return slices.ContainsFunc(refusals, func(with string) bool { return actor.HasPrefixFold(err.Error(), with) })
}

func (r *refusal) onRejected(now time.Duration, cause error) {
	if r.cause == nil {
		r.since = now
	}
	r.cause, r.last = cause, now
}

// onAccepted notes that the server did what a command wants. Without memory it does all but acquire.
func (r *refusal) onAccepted(now time.Duration, acquires bool) {
	if r.cause == nil {
		return
	}
	if acquires || !actor.HasPrefixFold(r.cause.Error(), outOfMemory) || now-r.last >= maxQuiet {
		*r = refusal{}
	}
}

// lasts reports whether the server has rejected commands for so long that it counts as down.
func (r *refusal) lasts() bool { return r.cause != nil && r.last-r.since >= minRefusal }

// trackRefusal updates the refusal of a node from the result of a batch.
func (c *Coordinator) trackRefusal(now time.Duration, b *Batch, said evidence) {
	if b.ViaClusterClient { // another node may have replied
		return
	}
	switch r := &b.Node.refusal; {
	case said.wrote, said.accepted && said.refused == nil:
		r.onAccepted(now, slices.Contains(Priorities[acquirePriority], b.Verb))
	case said.refused != nil:
		r.onRejected(now, said.refused)
	}
}

// Refuses reports whether the server replies, and has rejected what changes a lock for a while.
func (n *Node) Refuses() bool { return n.slots > 0 && n.refusal.lasts() }

// unusable reports whether the engine considers the server down, since when and why.
func (n *Node) unusable() (down bool, since time.Duration, cause error) {
	switch {
	case n.Breaker.Down:
		return true, n.Breaker.since, n.Breaker.Cause
	case n.Refuses():
		return true, n.refusal.since, n.refusal.cause
	}
	return false, 0, nil
}

// FirstRefusing returns a server that replies, but rejects what changes a lock, and the reason; or nil.
func (c *Coordinator) FirstRefusing() (*Node, error) {
	for _, n := range c.Nodes {
		if n.Refuses() {
			return n, n.refusal.cause
		}
	}
	return nil, nil
}
