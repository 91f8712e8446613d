package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simModel is the simulation's model of the truth, independent of what engines and callers consider true. It has for
// each tenure how long the server has it, and for each hold and request its state.
type simModel struct {
	memory       *simMemory
	tenures      [][]*simTenure // by the number of a life and of the tenure; tenures that share both are chained
	freeRequests []*simRequest
	requestCount int  // how many requests there were
	late         bool // the running command is a late copy
	covered      [simCoverageCount]int
	faultCounts  []int // how often each of simFaults happened
	steps        *simSteps
}

// simTenure is the truth about one tenure. Moments are true time unless the field says otherwise.
type simTenure struct {
	holder simHolder
	next   *simTenure // of the same engine, with the same number
	id     string     // of the holder, on the wire; empty until a command asks for it

	horizon time.Duration // until when the server has it: no validity may reach further
	present bool          // in the server

	// What happened to it at the server, at any time.
	keyTaken   bool // taken away by another client or a fault; a validity from before may run to its end
	keyTakenAt time.Duration
	removed    bool // released
	expired    bool
	late       bool // a late copy created it, or created it again
	revived    bool // a restart with old data brought it back
	recounted  bool // a late copy wrote a count
	created    time.Duration
	ranLate    int64 // how long, at most, after it left a command that set its lease ran. ms; of readers
	longest    int64 // the longest lease that was set. ms; of readers

	// What its engine did with it.
	granted         time.Duration // when its latest hold was granted
	lost            bool          // one of its holds was lost
	fixed           bool          // one of its holds has, or had, a lease of its own
	confirmed       time.Duration // when the latest command left that set its TTL and had a reply. Engine's clock
	confirmedAt     time.Duration // when the latest reply came that it exists. True time
	lease           time.Duration // the lease that it set
	failed          time.Duration // when its latest renewal failed and was not sent again. True time
	minLease        time.Duration // the shortest lease that its commands were to set; 0: none was sent
	released        time.Duration // when a release first had a reply
	uncertain       bool          // a command had no reply, or was rejected
	unanswered      bool          // a command had no reply: it may run at any time
	forbidden       bool          // a command was rejected permanently
	leaseUnanswered bool          // its engine had no reply for a lease while the server had it
	alone           bool          // granted, and too few replicas have it
	inFlight        int           // commands in flight
	departed        bool          // a command has left
	mayFallAt       time.Duration // when its engine learned that a read beside it may need less. Engine's clock
	releases        int           // releases among flying
	standing        simAnomalies
}

// simAnomalies records since when a state of a tenure in the server has lasted that should be short.
type simAnomalies struct {
	orphan time.Duration // its engine does not know it
	own    time.Duration // that engine was notified of it in the reply to a question
	half   time.Duration // that engine was notified of it in the reply to a question for the other half
	kept   time.Duration // its engine has it, with no holder and no waiter
	wrong  time.Duration // its count is wrong
	long   time.Duration // its TTL is longer than its holds need
	holds  int           // its number of holds at the last look
}

// holderOf returns the holder that a command is about.
func (e *simEngine) holderOf(c *actor.Command) simHolder {
	return holderOf(e.life, e.w.nameOf(c.Key), simReads(c.Verb), c.Tenure)
}

// simReads reports whether a command is a reader's.
func simReads(v actor.Verb) bool { return v >= actor.SendReadAcquire && v <= actor.SendReadState }

func newSimModel(memory *simMemory) simModel {
	return simModel{memory: memory, steps: memory.steps, faultCounts: make([]int, len(simFaults))}
}

func (b *simModel) tenure(h simHolder) *simTenure {
	life := 2 * int(h.life)
	if life < 0 {
		life = -life - 1
	}
	for len(b.tenures) <= life {
		b.tenures = append(b.tenures, nil)
	}
	of := b.tenures[life]
	if missing := int(h.tenure) + 1 - len(of); missing > 0 {
		of = append(of, make([]*simTenure, missing)...)
		b.tenures[life] = of
	}
	for t := of[h.tenure]; t != nil; t = t.next {
		if t.holder == h {
			return t
		}
	}
	t := b.memory.tenures.new()
	t.holder, t.next = h, of[h.tenure]
	of[h.tenure] = t
	return t
}

// The server reports each change of a key to the methods below.

func (b *simModel) created(h simHolder, now time.Duration) *simTenure {
	t := b.tenure(h)
	if h.reads() && t.removed && !b.late { // the next reader beside the same writer
		*t = simTenure{holder: t.holder, next: t.next, id: t.id, inFlight: t.inFlight, releases: t.releases, departed: true, minLease: t.minLease}
	}
	t.present, t.created, t.standing = true, now, simAnomalies{}
	t.late = t.late || b.late
	return t
}

// prolonged handles any change of a key's TTL, or of the leases of its readers.
func (b *simModel) prolonged(k *simKey) {
	if k.tenure != nil {
		k.tenure.prolonged(k.expires)
	}
	for i := range k.readers {
		k.readers[i].tenure.prolonged(min(k.expires, k.readers[i].longest()))
	}
}

func (t *simTenure) prolonged(expires int64) {
	if t.keyTaken {
		t.horizon = max(t.horizon, simEnd(expires))
	} else {
		t.horizon = simEnd(expires)
	}
}

func (b *simModel) expired(k *simKey) {
	if k.tenure != nil {
		k.tenure.present, k.tenure.expired = false, true
	}
	for i := range k.readers {
		t := k.readers[i].tenure
		t.present, t.expired = false, true
	}
}

func (b *simModel) released(t *simTenure, now time.Duration) {
	t.present, t.removed, t.horizon = false, true, now
}

// replaced handles a key that took the place of another without an action of their holders. The horizon stays,
// because it bounds the validity that the loser may still have.
func (b *simModel) replaced(before, after *simKey, now time.Duration) {
	before.each(func(h simHolder, t *simTenure) {
		if until := after.until(h); until < before.until(h) {
			t.present, t.keyTaken, t.keyTakenAt = until != 0, true, now
		}
	})
	after.each(func(h simHolder, t *simTenure) {
		t.horizon = max(t.horizon, simEnd(after.until(h)))
		if !t.present {
			t.revived, t.standing = true, simAnomalies{}
		}
		t.present = true
	})
}

// returned notes what the replies of a returning batch confirm.
func (b *simModel) returned(e *simEngine, back *coordinator.Batch, now time.Duration) {
	for i := range back.Commands {
		c := &back.Commands[i]
		if c.Parts == nil {
			b.tenure(e.holderOf(c)).returned(back, i, now)
			e.eases(c)
		}
		for _, part := range c.Parts {
			b.tenure(holderOf(e.life, e.w.nameOf(part.Key), false, c.Tenure)).returned(back, i, now)
		}
	}
}

// eases notes that a reader beside a writer of its engine left, or may need less.
func (e *simEngine) eases(c *actor.Command) {
	if c.Verb != actor.SendReadRelease && c.Verb != actor.SendReadRenew {
		return
	}
	if k := e.w.server.key(e.w.nameOf(c.Key)); k.tenure != nil && k.holder.life == int32(e.life) {
		k.tenure.mayFallAt = e.now()
	}
}

// returned notes the result of one command of a batch.
func (t *simTenure) returned(back *coordinator.Batch, i int, now time.Duration) {
	c := &back.Commands[i]
	t.inFlight--
	t.failed = 0
	if simRenews(c.Verb) && (back.Failed != nil || i < len(back.Replies) && back.Replies[i].Status == actor.Rejected) {
		t.failed = now
	}
	if simReleases(c.Verb) {
		t.releases--
	}
	switch {
	case back.Failed != nil:
		t.refused(back.NoReply, back.Failed)
	case i >= len(back.Replies):
		t.uncertain, t.unanswered = true, true
	case back.Replies[i].Status == actor.Rejected:
		t.refused(false, back.Replies[i].Err)
	case simReleases(c.Verb) && t.released == 0:
		t.released = now
	case back.Replies[i].Status == actor.OK && c.Lease != 0:
		t.confirmed, t.lease = max(t.confirmed, back.Sent), c.Lease
	}
	if back.Failed == nil && i < len(back.Replies) && back.Replies[i].Status == actor.OK {
		t.confirmedAt = now
	}
}

// refused notes that a command was not done, or that its result is unknown.
func (t *simTenure) refused(lost bool, err error) {
	if !lost && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return // it is sent again at once, and no check is to notice
	}
	t.uncertain, t.unanswered = true, t.unanswered || lost
	t.forbidden = t.forbidden || !lost && !actor.Transient(err.Error())
}

// drop removes a hold that has ended from the holds that are considered held.
func (w *simWorld) drop(h *simHold) {
	if h.active {
		h.active = false
		n := &w.names[h.name]
		n.active, n.moved = without(n.active, h), w.now
		if h.tenure.keyTaken {
			n.silent = max(n.silent, w.now) // the requests behind it have waited for this
		}
	}
}

// without removes one element from a list and keeps the order.
func without[T comparable](list []T, one T) []T {
	if i := slices.Index(list, one); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// forget handles an engine that is gone: none of its holds is considered held any more.
func (w *simWorld) forget(e *simEngine) {
	for _, h := range e.holds {
		w.drop(h)
	}
	e.requests, e.holds, e.back, e.pendingResults = nil, nil, nil, nil
}

func (b *simModel) freeRequest() *simRequest {
	last := len(b.freeRequests) - 1
	if last < 0 {
		a := b.memory.requests.new()
		a.deliver = func() { a.caller.take(a) }
		return a
	}
	a := b.freeRequests[last]
	b.freeRequests = b.freeRequests[:last]
	return a
}

// recycle makes a request usable again, as Call.Free does.
func (b *simModel) recycle(a *simRequest) {
	a.Reset()
	*a = simRequest{deliver: a.deliver}
	b.freeRequests = append(b.freeRequests, a)
}

// simCoverage is something that a run may see. All runs together must have seen everything.
type simCoverage uint8

const (
	coverGrant simCoverage = iota
	coverReentry
	coverNotAcquired
	coverUnavailable
	coverRejected
	coverClosed
	coverReleased
	coverLost
	coverForced
	coverExtended
	coverOrphanNamed
	coverShutdown
	coverFullCall
	coverHandedOff
	coverState
	coverCount
	coverCanceled
	coverToken
	coverQueued
	coverSharedTime
	coverPlaceExpired
	coverHeadMaybeDead
	coverTooLate
	coverListLost
	coverDeadQueueGone
	coverReadGranted
	coverReadUnderWriter
	coverUpgradeRejected
	coverMultiGranted
	coverMultiReentry
	coverMultiOwnerGranted
	coverPolled
	coverQuorumAcquired
	coverQuorumFailed
	coverMemberJoined
	coverMemberRetried
	coverQuorumHurried
	coverPartsKept
	coverMajorityLost
	coverMaxHold
	coverMemberEntered
	coverTTLFell
	coverLeaseShortened
	coverMixedWaiters
	coverReadBesideWriter
	coverUnreplicated
	coverSpun
	coverShed
	coverToldLater
	coverEndedUnpublished
	coverDrainedLater
	coverRejectedLater
	coverOtherHalf
	coverHolderTold

	simFaultCoverage // from here on, faults
)

const (
	coverLateCopy simCoverage = simFaultCoverage + iota
	coverCallRejected
	coverUnpublished
	coverMessageLost
	coverShortReply
	coverClockStall
	coverSlowDelivery
	coverLateCall
	coverCallLost
	coverCallDoubled
	coverCallReordered
	coverReplyLost
	coverReplyReordered
	coverDuplicateMessage
	coverPubSubBroken
	coverQueueSkipped
	simCoverageCount = int(simFaultCoverage) + iota
)

var simCoverageNames = [simCoverageCount]string{
	"granted", "re-entered", "not acquired", "unavailable", "refused for good", "closed", "released", "lost",
	"forced", "extended", "orphans named", "shut down", "full calls", "handed on", "state read", "holds counted", "given up", "tokens", "queued", "a time in a queue shared",
	"places not kept up", "told behind a head that may be dead", "calls too late to take effect", "lists of queues lost", "queues of the dead gone",
	"granted to read", "read by the writer", "upgrades refused", "several granted at once", "several refused to who has one", "several ended when their owner was granted one", "asked by an engine that polls",
	"quorums held", "quorums refused", "members of a quorum that came later", "members of a quorum asked for again after a refusal", "quorums that waited no longer for some answers", "several kept one after the other", "quorums lost", "members of a quorum held for as long as they may be", "members of a quorum locked alone by its owner", "falls of a TTL told", "leases made shorter by holders that died", "engines that poll among others that want a lock all the time",
	"readers beside one who writes again and again",
	"grants that too few replicas have", "a busy engine beside others who poll", "refused because too many wait",
	"told in a later turn than it was decided in", "holds ended before their grants were told", "shutdowns that refused those who wait in several turns", "very many refused in several turns",
	"halves without a holder", "holders told of a force",
	"calls run late, their connection gone", "calls refused", "messages forbidden", "messages lost", "short answers", "clocks that stood still",
	"slow deliveries", "calls written late", "calls lost", "calls run twice", "calls run after later ones",
	"answers lost", "failures told after later answers", "messages doubled", "pub/sub breaks", "skipped in a queue",
}

func (w *simWorld) cover(s simCoverage) { w.model.covered[s]++ }
