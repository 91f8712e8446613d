package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor/quorum"
)

// check checks the invariants of a quorum after each of its events.
func (v *simQuorumUser) check() {
	here, wanted := 0, 0
	for i := range v.members {
		if v.members[i].hold != nil {
			here++
		}
		if v.members[i].request != nil {
			wanted++
		}
	}
	switch {
	case v.held && here <= simMembers/2:
		v.w.fail("%s counts as held with %d of %d locks", v, here, simMembers)
	case !v.active && here+wanted > 0:
		v.w.fail("%s is over, and still has %d locks and %d requests", v, here, wanted)
	case v.active && !v.held && here > simMembers/2:
		v.w.fail("%s has %d of %d locks, and goes on waiting", v, here, simMembers)
	}
	v.w.since(&v.hoardsSince, v.active && !v.held && here > 0 && simMembers-wanted > simMembers/2)
	v.checkMajorityLost()
}

// checkHoarding finds quorums that are not held and keep their locks from others while they wait for a server that does
// not reply.
func (v *simQuorumUser) checkHoarding() {
	if v.hoardsSince != 0 && v.w.now-v.hoardsSince > quorum.MaxPartialHold+10*time.Millisecond {
		v.w.fail("%s is not held, and has kept locks from others for %v", v, v.w.now-v.hoardsSince)
	}
}

// checkMajorityLost finds quorums that continue although their majority was taken away at one moment and every loss was
// noticed. One member may have come back before the next was missed.
func (v *simQuorumUser) checkMajorityLost() {
	if !v.held {
		v.takenMembers = nil
		return
	}
	if v.takenMembers == nil {
		if stolen := v.membersTaken(); v.count()-len(stolen) <= simMembers/2 {
			v.takenMembers = stolen
		}
		return
	}
	for i := range v.members {
		if h := v.takenMembers[i]; h != nil && (h == v.members[i].hold || h.tenure.revived || !simCauseIs(h.cause, "gone")) {
			return // unknown, or it was there after all
		}
	}
	v.w.fail("%s goes on, though its majority was gone", v)
}

// membersTaken returns the locks that the quorum considers held and that were taken away since it had its majority. A
// lock with a TTL that a restart with old data shortened does not count. It still exists, its engine renews it, and it
// ends later than the others or never.
func (v *simQuorumUser) membersTaken() map[int]*simHold {
	robbed := map[int]*simHold{}
	for i := range v.members {
		if h := v.members[i].hold; h != nil && h.tenure.keyTaken && !h.tenure.present && !h.tenure.revived && h.tenure.keyTakenAt > v.acquiredAt+quorum.JoinWindow {
			robbed[i] = h
		}
	}
	return robbed
}

func (v *simQuorumUser) count() (n int) {
	for i := range v.members {
		if v.members[i].hold != nil {
			n++
		}
	}
	return n
}

// checkBackoff checks that a quorum without a majority pauses before it asks again.
func (v *simQuorumUser) checkBackoff() {
	const span, most = 100 * time.Millisecond, 100 * simMembers
	if v.w.now-v.countedAt > span || v.countedAt < v.begun {
		v.countedAt, v.requestCount = v.w.now, 0
	}
	if v.requestCount++; v.requestCount > most {
		v.w.fail("%s asks %d times for a lock in %v", v, v.requestCount, v.w.now-v.countedAt)
	}
}

// alone checks that no other quorum has a majority at the same time. If two have one lock, it was taken away from
// one of them.
func (v *simQuorumUser) alone() {
	for _, other := range v.w.quorumUsers {
		if other == v || !other.held || other.believed() <= simMembers/2 || v.believed() <= simMembers/2 {
			continue
		}
		if !v.excused(other) {
			v.w.fail("%s and %s have a majority at the same time", v, other)
		}
	}
}

// excused reports whether a lock that two have was taken away from one of them, or one has not noticed a
// standstill.
func (v *simQuorumUser) excused(other *simQuorumUser) bool {
	for i := range v.members {
		h, theirs := v.members[i].hold, other.members[i].hold
		if h == nil || theirs == nil || !h.believed() || !theirs.believed() {
			continue
		}
		for _, h := range []*simHold{h, theirs} {
			if h.tenure.keyTaken || h.unconfirmed || h.e.suspended {
				return true
			}
		}
	}
	return false
}

// believed counts the locks that a quorum may consider held.
func (v *simQuorumUser) believed() (n int) {
	for i := range v.members {
		if h := v.members[i].hold; h != nil && h.believed() {
			n++
		}
	}
	return n
}

// whole finds watched quorums that go without a free lock. An engine that shuts down grants nothing any more,
// however long others hold its locks. A lock that was forced away is asked for again after a lease.
func (v *simQuorumUser) whole() {
	w := v.w
	if !v.held || v.lease != 0 {
		return
	}
	for i := range v.members {
		s, n := &v.members[i], &w.names[i]
		if s.hold != nil || s.caller.e.dead || s.caller.e.c.Fx.Draining || n.free == 0 {
			continue
		}
		timeout := w.maxFreeTime()
		if s.rejected {
			timeout += s.caller.e.config.RenewInterval
		}
		if since := max(v.since, n.free, w.disturbed, n.silent, s.retriesAt); w.now-since > timeout {
			w.fail("%s goes without %s, which has been free for %v", v, n.key, w.now-n.free)
		}
	}
}

// polls returns how long quorums may take, one after the other, to find out that there is no competitor any more.
func (w *simWorld) polls() time.Duration {
	if len(w.quorumUsers) == 0 {
		return 0
	}
	return 10*time.Second + w.plan.longest
}

// probeQuorum takes one quorum without competition, and has another wait for it.
func (w *simWorld) probeQuorum(within time.Duration) {
	if len(w.quorumUsers) < 2 {
		return
	}
	w.begin(simMixed(w.seed, 3))
	first, second := w.quorumUsers[0], w.quorumUsers[1]
	first.draining, second.draining = false, false
	defer w.runFor(w.spread(time.Millisecond, time.Second))
	defer first.end()
	defer second.end()
	first.begin(simAcquireMode{})
	if !w.runUntil(w.now+within, func() bool { return first.held }) {
		w.fail("%s does not get a free majority within %v", first, within)
		return
	}
	second.begin(simAcquireMode{})
	long := w.plan.longest
	for i := range first.members {
		long = min(long, first.members[i].caller.heldFor())
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
func (v *simQuorumUser) end() {
	switch {
	case v.held:
		v.leave()
	case v.active:
		v.apply(v.actor.Cancel)
	}
}
