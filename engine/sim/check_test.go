package sim

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// check compares what is considered held now with the truth, by each engine's own clock, for the names that the
// step touched. For other names, time alone makes nothing wrong.
//
// No validity reaches further than the truth: until its published end, a hold's tenure is in the server. That is
// stricter than looking for two holders at one moment, and finds the mistake before there are two.
func (w *simWorld) check() {
	for _, name := range w.touched {
		n := &w.names[name]
		n.touched = false
		w.agree(n)
	}
	w.touched = w.touched[:0]
	if w.ran%16 == 0 && w.now >= w.checkNamesAt {
		w.checkNamesAt = w.now + checkNamesEvery
		w.checkNames()
	}
}

// touch notes that something happened to a name, in an engine or in the server.
func (w *simWorld) touch(name int) {
	if n := &w.names[name]; !n.touched {
		n.touched = true
		w.touched = append(w.touched, name)
	}
}

// agree checks one name.
func (w *simWorld) agree(n *simName) {
	for i, h := range n.active {
		if h.unconfirmed || h.e.suspended || !h.believed() {
			continue
		}
		if ends := h.e.clock.when(h.grant.Until()); ends > h.tenure.horizon {
			w.fail("%s believes in %s until %v, but the server has it %s", h.e.name, h, ends-simStart, h.tenure.presentUntil())
			return
		}
		for _, other := range n.active[:i] {
			w.exclude(h, other)
		}
	}
}

// presentUntil describes until when the server has a tenure, for failure texts.
func (t *simTenure) presentUntil() string {
	if t.horizon == 0 {
		return "not at all"
	}
	return fmt.Sprintf("only until %v", t.horizon-simStart)
}

// believed reports whether the users of a hold may consider themselves its holder at this moment.
func (h *simHold) believed() bool { return h.active && h.e.now() < h.grant.Until() }

// exclude checks mutual exclusion, between engines and within one.
func (w *simWorld) exclude(h, other *simHold) {
	if other.unconfirmed || other.e.suspended || !other.believed() {
		return
	}
	switch {
	case h.reads && other.reads:
	case h.e == other.e && h.grant.Owner == other.grant.Owner && (h.tenure == other.tenure || h.reads != other.reads):
	case h.e != other.e && (h.tenure.keyTaken || other.tenure.keyTaken):
	default:
		w.fail("two holders of %s: %s of %s, owner %d, and %s of %s, owner %d",
			w.plan.names[h.name], h, h.e.name, h.grant.Owner, other, other.e.name, other.grant.Owner)
	}
}

// leaves checks what an engine sends: no command prolongs a tenure that has neither holder nor waiter.
func (w *simWorld) leaves(e *simEngine, b *coordinator.Batch) {
	if w.trace != nil {
		e.tracef("▶ %s", simBatchText(b))
	}
	if len(b.Commands) >= coordinator.BatchKeys {
		w.cover(coverFullCall)
	}
	if len(b.Commands) > 1 && coordinator.IsGrant(b.Verb) && !simRenews(b.Verb) && e.c.Fallback.Breaker.Down && !b.SendText {
		w.fail("%s tries a link that is down with %d questions: each has to be released later", e.name, len(b.Commands))
	}
	for i := range b.Commands {
		c := &b.Commands[i]
		if len(c.Orphans) > 0 {
			w.cover(coverOrphanNamed)
		}
		if c.Lock != nil && c.Parts == nil {
			w.alone(e, c, e.holderOf(c))
		}
		for _, part := range c.Parts {
			if len(part.Orphans) > 0 {
				w.cover(coverOrphanNamed)
			}
			w.alone(e, c, holderOf(e.life, w.nameOf(part.Key), false, c.Tenure))
		}
		if simRenews(c.Verb) && c.Lease != 0 && !w.wants(e, c) {
			w.fail("%s renews %s:%d, which has neither holder nor waiter", e.name, c.Key, c.Tenure)
		}
		if c.Routine {
			w.checkRenewRate(e, c)
		}
	}
}

// checkRenewRate checks that a lease is not renewed too often. A routine renewal may begin at most half an interval
// early.
func (w *simWorld) checkRenewRate(e *simEngine, c *actor.Command) {
	t := w.model.tenure(e.holderOf(c))
	if c.Lease == 0 || c.Count != 0 || c.CountListeners || t.lease < e.config.Lease {
		return
	}
	if w.ttlMayFall(e, c, t) || t.mayFallAt >= t.confirmed {
		return
	}
	least := min(e.config.RenewInterval*9/20, t.minLease*3/10) - 10*time.Millisecond
	if after := e.now() - t.confirmed; after < least {
		w.fail("%s renews %s:%d again after only %v", e.name, c.Key, c.Tenure, after)
	}
}

// ttlMayFall reports whether a renewal is to shorten a TTL that no hold needs any more.
func (w *simWorld) ttlMayFall(e *simEngine, c *actor.Command, t *simTenure) bool {
	left := t.lease - (e.now() - t.confirmed)
	return c.Lease < left-min(t.lease/50, time.Second)
}

// asked notes that a caller wants a lease of its own.
func (t *simTenure) asked(lease time.Duration) {
	if t.fixed = true; lease != 0 {
		t.sets(lease)
	}
}

// sets notes that a command is to set a tenure's TTL.
func (t *simTenure) sets(lease time.Duration) {
	if t.minLease == 0 || lease < t.minLease {
		t.minLease = lease
	}
}

// alone checks that a command is the only one in flight for its tenure. A tenure that has ended may have one more,
// its release.
func (w *simWorld) alone(e *simEngine, c *actor.Command, h simHolder) {
	t := w.model.tenure(h)
	t.departed = true
	if c.Verb == actor.SendReadAcquire && t.removed {
		t.minLease = 0 // of the next reader beside the same writer
	}
	if t.failed = 0; c.Lease != 0 {
		t.sets(c.Lease)
	}
	if simReleases(c.Verb) {
		if t.releases++; t.releases > 1 {
			w.fail("%s releases %s:%d while its release is under way", e.name, c.Key, c.Tenure)
		}
	}
	if t.inFlight++; t.inFlight > 1 && e.lockOf(h) != nil {
		w.fail("%s sends a second command of %s:%d", e.name, c.Key, c.Tenure)
	}
}

func simReleases(v actor.Verb) bool {
	switch v {
	case actor.SendRelease, actor.SendFairRelease, actor.SendReadRelease, actor.SendWriteRelease:
		return true
	}
	return false
}

func simRenews(v actor.Verb) bool {
	switch v {
	case actor.SendRenew, actor.SendFencedRenew, actor.SendReadRenew, actor.SendWriteRenew:
		return true
	}
	return false
}

func (w *simWorld) wants(e *simEngine, c *actor.Command) bool {
	name := w.nameOf(c.Key)
	for _, h := range w.names[name].active {
		if h.e == e && tenureOf(&h.grant) == c.Tenure {
			return true
		}
	}
	for _, a := range e.requests {
		if a.Op == actor.Acquire && a.about(name) {
			return true
		}
	}
	return false
}
