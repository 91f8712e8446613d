package actor

import "time"

// force handles a request to take the lock away from its holder. A hold of this engine is lost at once, before the
// server knows.
func (l *Lock) force(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	l.ensureExt().forceRequests.push(r)
	fx.SetDeadline(r, now+fx.Config.CallTimeout)
}

// endHoldsForForce ends this engine's holds of a lock that is about to be forced away. Their tenure is not released
// before the force, or the lock would look free to the caller of the force. If the force does not succeed, the tenure
// is released after all.
func (l *Lock) endHoldsForForce(now time.Duration, fx *Effects) {
	x := l.ext
	if x.forceRequests.empty() && l.phase == free && x.forcedTenure() != 0 {
		f := x.failure
		l.addOrphan(now, f.forcedTenure, f.forcedMaxLease, fx)
		f.forcedTenure = 0
	}
	if x.forceRequests.empty() || l.phase != held {
		return
	}
	f := x.ensureFailure()
	f.forcedTenure, f.forcedMaxLease = l.tenure, l.maxSentLease()
	l.endHolds(now, ErrLost, errForced, fx)
	l.demoteRequests(now, ErrLost, fx)
	l.endTenure(now, fx)
}

// sendForce sends one command for all pending force requests. It is sent only once: a copy that runs late would take
// the lock from the next holder.
func (l *Lock) sendForce(now time.Duration, fx *Effects) {
	x := l.ext
	if now < x.retryAt() {
		return
	}
	l.tenure, l.phase, l.inFlight = fx.nextTenure(), forcing, l.protocol().force
	l.noteTenure(l.tenure, fx)
	fx.HeldLocks++
	x.forceRequests.each(func(r *Request) { r.inCommand = true })
	l.emit(fx, Command{Verb: l.inFlight})
}

// onForceReply handles the result of a force.
func (l *Lock) onForceReply(now time.Duration, m *Message, fx *Effects) {
	x, f, reply := l.ext, l.ext.ensureFailure(), m.Reply
	l.endTenure(now, fx)
	if reply.Status == OK || reply.Status == NotFound {
		f.lastErr, x.nextTry = nil, 0
		if !l.protocol().holdKeys || reply.Status == OK { // readers beside a writer cannot be forced away
			f.forcedTenure = 0
		}
	}
	if reply.Unpublished {
		fx.Stats.UnpublishedReleases++
	}
	again := reply.isTransient()
	if again {
		f.lastErr = reply.Err
		f.retryAt = now + x.nextBackoff(fx)
	}
	x.forceRequests.each(func(r *Request) {
		if !r.inCommand {
			return
		}
		if r.inCommand = !again; !again {
			r.WasLocked = reply.Status == OK
			fx.Complete(now, r, forceError(reply), forceCause(reply))
		}
	})
}

func forceError(reply *Reply) error {
	switch reply.Status {
	case NoReply:
		return ErrUnavailable
	case Rejected:
		return reply.Err
	}
	return nil
}

func forceCause(reply *Reply) error {
	if reply.Status == NoReply {
		return reply.Err
	}
	return nil
}
