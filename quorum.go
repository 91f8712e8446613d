package lockwheel

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Quorum returns locks on independent servers as one lock, held while a majority of them is: the algorithm
// that is known as Redlock, and Redisson's RedLock. Each lock is of another engine, and each engine is to be on
// a server of its own that shares nothing with the others. Everybody must give the same locks, and should give
// them in the same order. On the wire they are the locks themselves.
//
// Take an odd number of servers: of an even one two callers can get half each, and both have to begin again.
//
// All are asked in parallel, and a majority of grants is a hold. Its validity is that of the leases less the
// time that asking took and one per cent (at most 1 s) and some milliseconds for clocks that drift:
// [Hold.Deadline] is until when a majority is known to be held. If no majority can be had, what was granted
// begins to be released at once, without being waited for; who waits then stands in the queue of one lock that is taken, holding none, and asks
// for all when its turn comes there, or after 2 s: that server may have failed. A server that does not answer
// is not waited for with what the others gave: once a majority has answered, whoever has too few of them gives them
// back within 400 ms, and a server that is known not to answer counts as a refusal at once. Locks that are missing in a
// watched hold are waited for, and held again when they can be; one that its server refuses for good is asked
// for again every Options.Renew. The hold is lost as soon as its majority is known to be, and when Options.MaxHold ends
// one of its locks; Unlock returns when so many are released
// that somebody else can have a majority. A lock that is missing counts as released when it is known that no request has brought it: the
// answer to one that is under way is waited for, and what it brings is released.
//
// Of an [RWMutex], who writes and has its turn at one lock waits at all others at once, and readers of the same engines stand
// aside there: for 50 ms, and each time that this was not enough for twice as long, up to 2 s, or to an eighth of [Lease]. So readers of a
// quorum who read for less than that, and for less than the second for which they stand aside at first, do not keep writers of
// their engines out for ever while no server fails; beside one that does not answer it is 400 ms.
//
// The hold's context re-enters its locks. One that is missing at that moment, as the slowest can be just after Lock, is waited for
// together with the quorum: whichever of the two requests is granted first, the other one re-enters.
//
// That a key is gone is found out at its renewal. By then it may have been gone since the one before, so a lock that
// came back meanwhile does not count for that time: if so many keys are gone that somebody else may have had a
// majority, the hold is lost within the lease. So of servers that lose their data one may follow the other when its
// lock is held there again and the others were confirmed since: they are at once when it comes.
//
// An engine that is closed counts as a server that is not there, and the zero [Engine] is a closed one, which may stand for several. So a
// process that starts while [Open] fails for a minority of the servers gives locks of zero Engines in their places. When such a server
// is there again the process opens its engine and makes the Quorum anew: what is locked from then on is held there, too.
//
// A quorum outlives a minority of servers that fail. It is no proof: a server that restarts without its data,
// or whose clock jumps, may grant a lock that somebody counts on, until that one's next renewal. Let such a
// server stay away for a lease, or let it keep its data. What must never happen twice needs a check where it is
// written; Hold.Token is 0 here.
func Quorum(locks ...Mutex) Multi {
	m := Multi{locks: slices.Clone(locks), name: nameOf(locks), quorum: true}
	for i, l := range locks {
		if slices.ContainsFunc(locks[:i], func(other Mutex) bool { return other.engine == l.engine && !l.engine.zero() }) {
			m.wrong = fmt.Errorf("lockwheel: lock %s: a quorum needs engines that differ, on servers that differ", quoted(l.name))
		}
	}
	return m
}

// majority takes as many locks as are needed, at least.
func (m Multi) majority(e errand) (*Hold, error) {
	g := m.candidate(e)
	var until time.Duration
	if !e.until.IsZero() {
		until = max(e.until.Sub(g.begun), 1)
	}
	g.tell(func() { g.actor.Begin(until, e.once, e.lease == 0) })
	if err := g.await(e); err != nil {
		return nil, err
	}
	return g.checked()
}

// candidate is a group that is to ask for its members.
func (m Multi) candidate(e errand) *group {
	g := newGroup(e.ctx, m, len(m.locks)/2+1)
	g.lease, g.begun, g.outcome = e.lease, time.Now(), make(chan *failure, 1)
	g.bearer, g.number = bearerOf(e.ctx), actor.ThreadOwner|actor.QuorumOwner|threadOwners.Add(1)
	if slices.ContainsFunc(m.locks, func(l Mutex) bool { return l.kind == actor.Write }) {
		g.actor.Write(e.lease)
	}
	return g
}

// await waits for the outcome, which comes at once when the caller's time is over.
func (g *group) await(e errand) error {
	var late <-chan time.Time
	if !e.until.IsZero() {
		timer := time.NewTimer(time.Until(e.until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case failed := <-g.outcome:
		return g.refusal(failed)
	case <-late:
	case <-e.done:
	}
	g.tell(g.actor.GiveUp)
	return g.refusal(<-g.outcome)
}

// errForGood is for locks of which so many will never be had that no majority can be.
var errForGood = errors.New("refused for good")

// failure is how a quorum did not get enough members.
type failure struct {
	causes                       lockErrors
	hopeless, contested, crowded bool
}

// failure is made at the desk.
func (g *group) failure() *failure {
	causes := lockErrors{fmt.Errorf("%d of %d locks could be had, %d are needed", g.actor.Had, len(g.members), g.need)}
	for i := range g.members {
		if why := g.members[i].why; why != nil {
			causes = append(causes, why)
		}
	}
	return &failure{causes, g.actor.Hopeless(), g.actor.Contested(), g.actor.Crowded()}
}

// refusal is the error of who did not get enough members, on that caller's goroutine: it looks at the context. It is nil for
// no failure.
func (g *group) refusal(f *failure) error {
	if f == nil {
		return nil
	}
	cause := f.causes
	if ended := g.members[0].lock.engine.contexts.ended(g.Context); ended != nil {
		if len(cause) == 1 { // nobody has said anything that would be wrong with a server
			return g.hold.fail(errLeft, append(cause, ended))
		}
		cause = append(cause, ended)
	}
	switch {
	case f.crowded: // also if there is another reason: it may be had soon
		return g.hold.fail(ErrTooManyWaiters, cause)
	case f.hopeless:
		return g.hold.fail(errForGood, cause)
	case f.contested:
		return g.hold.fail(ErrNotAcquired, cause)
	}
	return g.hold.fail(ErrUnavailable, cause)
}
