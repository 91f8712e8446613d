package actor

import "time"

// unlock handles the request of a caller to end its hold.
func (l *Lock) unlock(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	h := r.Hold
	switch {
	case h.held():
		l.removeHold(now, h, fx)
		if l.holds != nil || l.handOff(now, fx) {
			fx.Complete(now, r, nil, nil)
			return
		}
		l.holds = h
	case l.phase == releasing && l.holds == h:
		// The same release again: this request waits for its reply, too, see finishRelease.
	default:
		err, cause := h.EndError()
		fx.Complete(now, r, err, cause)
		return
	}
	l.releases.push(r)
	fx.SetDeadline(r, now+fx.Config.CallTimeout)
}

// startRelease makes the tenure one to be released. The pause after a rejected renewal does not delay the release.
func (l *Lock) startRelease(fx *Effects) {
	l.setPhase(releasing, fx)
	if l.ext != nil && l.ext.failure != nil {
		l.ext.failure.retryAt = 0
	}
}

// removeHold ends a hold. After the last one, the owner's pending re-entries become ordinary requests.
func (l *Lock) removeHold(now time.Duration, h *Hold, fx *Effects) {
	l.removeOne(h)
	l.endHold(now, h, ErrNotHeld, nil, fx)
	if l.holds == nil {
		l.demoteRequests(now, ErrNotHeld, fx)
	}
}

// sendRelease sends the release, unless a pause after a rejection is not over.
func (l *Lock) sendRelease(now time.Duration, fx *Effects) {
	if l.ext != nil && now < l.ext.retryAt() {
		return
	}
	l.inFlight = l.protocol().release
	c := Command{Verb: l.inFlight, Async: !l.releaseAwaited()}
	if l.ext != nil {
		c.Wait = l.ext.fairView().queueWait
	}
	l.emit(fx, c)
}

// releaseAwaited reports whether a caller that blocks waits for the release, or for the lock after it. The release of a
// grant that a caller gave up is awaited by no caller, and there may be very many of these.
func (l *Lock) releaseAwaited() bool {
	unlock := l.releases.first()
	return l.hastened() || unlock != nil && unlock.blocksCaller() || l.BlocksCaller()
}

// onReleaseReply handles the result of a release.
func (l *Lock) onReleaseReply(now time.Duration, m *Message, fx *Effects) {
	reply := m.Reply
	switch {
	case reply.Status == OK:
		if reply.Unpublished {
			fx.Stats.UnpublishedReleases++
		}
		l.finishRelease(now, nil, nil, fx)
	case (reply.Status == NotFound || reply.isWrongType()) && l.ext != nil && l.ext.releaseUnacked:
		l.finishRelease(now, nil, nil, fx) // an earlier copy, with a lost reply, released it
	case reply.Status == NotFound:
		l.finishRelease(now, ErrLost, errKeyGone, fx)
	case reply.isWrongType():
		l.finishRelease(now, ErrLost, reply.Err, fx)
	case reply.Status == Rejected && !reply.isTransient():
		l.onReleaseRejected(now, reply.Err, fx)
	default:
		x := l.ensureExt()
		f := x.ensureFailure()
		f.lastErr = reply.Err
		x.releaseUnacked = x.releaseUnacked || reply.Status == NoReply
		if reply.shouldBackOff() {
			f.retryAt = now + x.nextBackoff(fx)
		}
	}
}

// onReleaseRejected ends a tenure with a permanently rejected release. What is left in Redis is released later, if the
// server permits it then.
func (l *Lock) onReleaseRejected(now time.Duration, err error, fx *Effects) {
	tenure := l.tenure
	l.addOrphan(now, tenure, l.maxSentLease(), fx)
	orphans := l.ext.orphans()
	for i := range orphans {
		if o := &orphans[i]; o.tenure == tenure {
			o.backOff(now, fx)
		}
	}
	l.finishRelease(now, err, nil, fx)
}

// finishRelease gives the requests that wait for the release their result, and resets the lock. Of several unlocks of a
// hold the first has the result, so that one release is reported once. The others end as if they had come after it. An
// undone grant held nothing, so its requests do not count.
func (l *Lock) finishRelease(now time.Duration, err, cause error, fx *Effects) {
	reported := false
	l.releases.each(func(r *Request) {
		switch {
		case r.rolledBack:
			fx.completeRelease(now, r, err, cause)
		case reported:
			fx.Complete(now, r, ErrNotHeld, nil)
		default:
			reported = true
			if err == ErrLost {
				fx.Stats.LostAtUnlock++
			}
			fx.Complete(now, r, err, cause)
		}
	})
	l.endTenure(now, fx)
}
