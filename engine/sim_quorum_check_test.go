package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor/quorum"
)

// right checks the invariants of a quorum after each of its events.
func (v *simVoter) right() {
	here, wanted := 0, 0
	for i := range v.seats {
		if v.seats[i].hold != nil {
			here++
		}
		if v.seats[i].ask != nil {
			wanted++
		}
	}
	switch {
	case v.held && here <= simSeats/2:
		v.w.fail("%s counts as held with %d of %d locks", v, here, simSeats)
	case !v.active && here+wanted > 0:
		v.w.fail("%s is over, and still has %d locks and %d requests", v, here, wanted)
	case v.active && !v.held && here > simSeats/2:
		v.w.fail("%s has %d of %d locks, and goes on waiting", v, here, simSeats)
	}
	v.w.since(&v.hoards, v.active && !v.held && here > 0 && simSeats-wanted > simSeats/2)
	v.bereft()
}

// lavish finds quorums that are not held and keep their locks from others while they wait for a server that does
// not reply.
func (v *simVoter) lavish() {
	if v.hoards != 0 && v.w.now-v.hoards > quorum.Patience+10*time.Millisecond {
		v.w.fail("%s is not held, and has kept locks from others for %v", v, v.w.now-v.hoards)
	}
}

// bereft finds quorums that continue although their majority was taken away at one moment and every loss was
// noticed. One member may have come back before the next was missed.
func (v *simVoter) bereft() {
	if !v.held {
		v.stolen = nil
		return
	}
	if v.stolen == nil {
		if stolen := v.robbed(); v.count()-len(stolen) <= simSeats/2 {
			v.stolen = stolen
		}
		return
	}
	for i := range v.seats {
		if h := v.stolen[i]; h != nil && (h == v.seats[i].hold || h.tenure.revived || !simCauseIs(h.cause, "gone")) {
			return // unknown, or it was there after all
		}
	}
	v.w.fail("%s goes on, though its majority was gone", v)
}

// robbed returns the locks that the quorum considers held and that were taken away since it had its majority. A
// lock with a TTL that a restart with old data shortened does not count: it still exists, its engine renews it, and
// it ends later than the others or never.
func (v *simVoter) robbed() map[int]*simHold {
	robbed := map[int]*simHold{}
	for i := range v.seats {
		if h := v.seats[i].hold; h != nil && h.tenure.robbed && !h.tenure.present && !h.tenure.revived && h.tenure.robbedAt > v.elect+quorum.Settling {
			robbed[i] = h
		}
	}
	return robbed
}

func (v *simVoter) count() (n int) {
	for i := range v.seats {
		if v.seats[i].hold != nil {
			n++
		}
	}
	return n
}

// unhurried checks that a quorum without a majority pauses before it asks again.
func (v *simVoter) unhurried() {
	const span, most = 100 * time.Millisecond, 100 * simSeats
	if v.w.now-v.counts > span || v.counts < v.begun {
		v.counts, v.asked = v.w.now, 0
	}
	if v.asked++; v.asked > most {
		v.w.fail("%s asks %d times for a lock in %v", v, v.asked, v.w.now-v.counts)
	}
}

// alone checks that no other quorum has a majority at the same time. If two have one lock, it was taken away from
// one of them.
func (v *simVoter) alone() {
	for _, other := range v.w.voters {
		if other == v || !other.held || other.believed() <= simSeats/2 || v.believed() <= simSeats/2 {
			continue
		}
		if !v.excused(other) {
			v.w.fail("%s and %s have a majority at the same time", v, other)
		}
	}
}

// excused reports whether a lock that two have was taken away from one of them, or one has not noticed a
// standstill.
func (v *simVoter) excused(other *simVoter) bool {
	for i := range v.seats {
		h, theirs := v.seats[i].hold, other.seats[i].hold
		if h == nil || theirs == nil || !h.believed() || !theirs.believed() {
			continue
		}
		for _, h := range []*simHold{h, theirs} {
			if h.tenure.robbed || h.suspect || h.e.suspended {
				return true
			}
		}
	}
	return false
}

// believed counts the locks that a quorum may consider held.
func (v *simVoter) believed() (n int) {
	for i := range v.seats {
		if h := v.seats[i].hold; h != nil && h.believed() {
			n++
		}
	}
	return n
}

// whole finds watched quorums that go without a free lock. An engine that shuts down grants nothing any more,
// however long others hold its locks.
func (v *simVoter) whole() {
	w := v.w
	if !v.held || v.lease != 0 {
		return
	}
	for i := range v.seats {
		s, n := &v.seats[i], &w.names[i]
		if s.hold != nil || s.caller.e.dead || s.caller.e.c.fx.Draining || n.free == 0 {
			continue
		}
		patience := w.patience()
		if s.barred {
			patience += s.caller.e.config.Renew
		}
		if since := max(v.since, n.free, w.disturbed, n.silent); w.now-since > patience {
			w.fail("%s goes without %s, which has been free for %v", v, n.key, w.now-n.free)
		}
	}
}

// polls returns how long quorums may take, one after the other, to find out that there is no competitor any more.
func (w *simWorld) polls() time.Duration {
	if len(w.voters) == 0 {
		return 0
	}
	return 10*time.Second + w.plan.longest
}

// probeQuorum takes one quorum without competition, and has another wait for it.
func (w *simWorld) probeQuorum(within time.Duration) {
	if len(w.voters) < 2 {
		return
	}
	w.begin(simMixed(w.seed, 3))
	first, second := w.voters[0], w.voters[1]
	first.tired, second.tired = false, false
	defer w.runFor(w.spread(time.Millisecond, time.Second))
	defer first.end()
	defer second.end()
	first.begin(simWish{})
	if !w.runUntil(w.now+within, func() bool { return first.held }) {
		w.fail("%s does not get a free majority within %v", first, within)
		return
	}
	second.begin(simWish{})
	long := w.plan.longest
	for i := range first.seats {
		long = min(long, first.seats[i].caller.heldFor())
	}
	w.runFor(long)
	if !first.held || second.held {
		w.fail("%s has lost its majority, and it was not taken away", first)
		return
	}
	first.leave()
	if !w.runUntil(w.now+300*time.Millisecond+within, func() bool { return second.held }) {
		w.fail("%s waits for a majority, 300ms after its release", second)
	}
}

// end checks that nothing is left of a quorum.
func (v *simVoter) end() {
	switch {
	case v.held:
		v.leave()
	case v.active:
		v.tell(v.actor.GiveUp)
	}
}
