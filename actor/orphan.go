package actor

import (
	"slices"
	"time"
)

// orphan is a tenure that may be in Redis, or may come back there, and that has no holder to renew or release it.
// Orphans result from commands without a reply that no caller waits for any more. addOrphan makes them: the zero value
// would be due for release at once. Owned by the coordinator.
type orphan struct {
	tenure       uint64
	queueWait    time.Duration // its wait in the fair queue
	releaseAt    time.Duration // when to release it, unless the release is in flight
	until        time.Duration // when nothing of it is left in Redis, released or not
	inFlight     bool          // its release is queued or in flight
	releaseAgain bool          // an acquire of it may still run: release it once more later

	dispatched bool   // its release has left
	flight     uint32 // the number of its release

	backoff time.Duration // backoff before the next release; 0: the server did not permanently reject the last one
}

// addOrphan adds a tenure to the orphans. An orphan is released again and again until the server confirms that, or
// until it has expired by itself. It expires after its lease, after a watched lease, or when its queue place is dead,
// whichever is last.
//
// A command of it that runs even later, on a server that stood still for so long, leaves one lease that is not
// released. Without that bound, every call that is given up during an outage would cost memory until the server is
// back.
func (l *Lock) addOrphan(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	x := l.ensureExt()
	if tenure == 0 || x.isOrphan(tenure) {
		return
	}
	o, placeLife := orphan{tenure: tenure, releaseAgain: x.acquireUnacked}, time.Duration(0)
	if tenure == l.tenure {
		// A release in flight belongs to the orphan from now on.
		o.inFlight, o.queueWait, placeLife = l.inFlight == l.protocol().release, x.fairView().queueWait, x.fairView().life
		o.dispatched, o.flight = o.inFlight && l.flags&dispatched != 0, l.flight()
	}
	o.until = now + max(lease, fx.Config.Lease, o.queueWait, placeLife)
	if l.protocol().queues && x.acquireUnacked {
		o.until += fx.Config.MaxCommandDelay() // an acquire may take that long to reach the server
	}
	f := x.ensureFailure()
	f.orphans = append(f.orphans, o)
	l.noteTenure(tenure, fx)
}

// maxSentLease returns the longest lease that a command of the tenure may have set.
func (l *Lock) maxSentLease() time.Duration {
	if l.ext == nil {
		return max(l.validUntil-l.confirmedAt, 0)
	}
	return l.ext.leaseView().maxSentLease
}

// orphanOf returns the orphan that a release command is for; nil if there is none or it needs no release any more. The
// check of the key is needed because a Lock may have finished since and be reused for another key.
func (l *Lock) orphanOf(c *Command) *orphan {
	if l.ext == nil || c.Verb != l.protocol().release || c.Key != l.key {
		return nil
	}
	orphans := l.ext.orphans()
	if i := slices.IndexFunc(orphans, func(o orphan) bool { return o.tenure == c.Tenure && o.flight == c.Flight }); i >= 0 {
		return &orphans[i]
	}
	return nil
}

// backOff postpones the next release of an orphan after a permanent rejection, because the permission may be restored.
// The pauses grow until the release is sent about as often as a lock is renewed. Tries continue as long as something of
// the orphan can be left.
func (o *orphan) backOff(now time.Duration, fx *Effects) {
	o.backoff = max(maxBackoff, min(2*o.backoff, fx.Config.RenewInterval/2))
	o.releaseAt = now + fx.jitter(o.backoff)
}

func (x *ext) isOrphan(tenure uint64) bool {
	return slices.ContainsFunc(x.orphans(), func(o orphan) bool { return o.tenure == tenure })
}

// orphanIDs returns the orphans, for an acquire that releases them first; nil when there are none.
func (x *ext) orphanIDs() (tenures []uint64) {
	for _, o := range x.orphans() {
		tenures = append(tenures, o.tenure)
	}
	return tenures
}

// releaseOrphansNow makes orphans due for release now. A release that was to come later comes all the same. The server
// has the orphan because a copy of its acquire ran, and another copy may still run.
func (l *Lock) releaseOrphansNow(now time.Duration) {
	if l.ext == nil {
		return
	}
	for i, orphans := 0, l.ext.orphans(); i < len(orphans); i++ {
		if o := &orphans[i]; now < o.releaseAt {
			o.releaseAt, o.releaseAgain = now, true
		}
	}
}

// dropExpiredOrphans drops expired orphans, but not those with a release that has left.
func (l *Lock) dropExpiredOrphans(now time.Duration, fx *Effects) {
	f := l.ext.failure
	if f == nil || len(f.orphans) == 0 {
		return
	}
	f.orphans = slices.DeleteFunc(f.orphans, func(o orphan) bool {
		over := now >= o.until && !o.dispatched
		if over && o.inFlight {
			l.noteRecalled(l.protocol().release, fx)
		}
		return over
	})
}

// noteOrphanHolder reports whether a rejection names a tenure of this engine without a holder, which is released before
// or with the next try.
func (l *Lock) noteOrphanHolder(now time.Duration, reply *Reply, fx *Effects) bool {
	tenure, own := fx.ParseOwn(reply.Holder)
	switch {
	case reply.Holder == "":
		return reply.HolderReleasing // what has the other half
	case !own || reply.HolderIsOurs && !reply.HolderReleasing || l.ext.isOrphan(tenure):
		return false
	case !reply.HolderIsOurs:
		// No Lock of this engine knows that tenure: an acquire without a reply took it. The next try releases it.
		l.addOrphan(now, tenure, reply.TTL, fx)
	}
	return true
}

// AddOrphan makes a tenure an orphan of this Lock. It was found in Redis, and no Lock of this engine knows it. A
// released tenure can come back if a replica that did not have the release becomes the master.
func (l *Lock) AddOrphan(now time.Duration, tenure uint64, lease time.Duration, fx *Effects) {
	l.addOrphan(now, tenure, lease, fx)
}

// IsReleasing reports whether the tenure is an orphan of the lock and the server did not reject its release
// permanently.
func (l *Lock) IsReleasing(tenure uint64) bool {
	return l.ext != nil && slices.ContainsFunc(l.ext.orphans(), func(o orphan) bool { return o.tenure == tenure && o.backoff == 0 })
}

func (l *Lock) releaseOrphans(now time.Duration, fx *Effects) {
	orphans := l.ext.orphans()
	for i := range orphans {
		if o := &orphans[i]; !o.inFlight && now >= o.releaseAt {
			o.inFlight = true
			l.emit(fx, Command{Verb: l.protocol().release, Tenure: o.tenure, Flight: o.flight, Wait: o.queueWait})
		}
	}
}

// secondReleaseDelay returns after what time an orphan is released a second time. For a kind that queues, no acquire
// can run any more by then. For other kinds, an acquire that runs even later expires with its lease.
func (l *Lock) secondReleaseDelay(fx *Effects) time.Duration {
	if l.protocol().queues {
		return fx.Config.MaxCommandDelay() + grain(fx.Config.Lease)
	}
	return fx.Config.CallTimeout
}

// onOrphanReply handles the result of a command of a tenure that is not the lock's current one.
func (l *Lock) onOrphanReply(now time.Duration, c *Command, reply *Reply, fx *Effects) {
	if c.Verb != l.protocol().release || l.ext == nil || l.ext.failure == nil {
		return
	}
	f := l.ext.failure
	i := slices.IndexFunc(f.orphans, func(o orphan) bool { return o.tenure == c.Tenure })
	if i < 0 {
		return
	}
	o := &f.orphans[i]
	o.inFlight, o.dispatched = false, false
	switch {
	case reply.Status == NoReply && !reply.Malformed:
		o.releaseAt = now
	case reply.Malformed || reply.Status == Rejected && reply.isTransient():
		o.releaseAt = now + fx.jitter(maxBackoff)
	case reply.Status == Rejected && !reply.isWrongType():
		o.backOff(now, fx)
	case o.releaseAgain && reply.Status != Rejected:
		o.releaseAgain, o.releaseAt = false, now+l.secondReleaseDelay(fx)
		o.until = max(o.until, o.releaseAt+fx.Config.CallTimeout) // the server replies again, so the second release gets its chance
	default:
		f.orphans = slices.Delete(f.orphans, i, i+1)
	}
}
