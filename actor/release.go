package actor

import "time"

// unlock handles the request of a caller to end its hold.
func (l *Lock) unlock(now time.Duration, r *Request, fx *Effects) {
	r.lock = l
	h := r.Hold
	switch {
	case h.held():
		l.drop(now, h, fx)
		if l.holds != nil || l.passOn(now, fx) {
			fx.Decide(now, r, nil, nil)
			return
		}
		l.holds = h
	case l.phase == ending && l.holds == h:
		// The same release again: this request waits for its reply, too.
	default:
		err, cause := h.Refusal()
		fx.Decide(now, r, err, cause)
		return
	}
	l.releases.push(r)
	fx.Limit(r, now+fx.Config.Timeout)
}

// end makes the tenure one to be released. The pause after a rejected renewal does not delay the release.
func (l *Lock) end(fx *Effects) {
	l.become(ending, fx)
	if l.rare != nil && l.rare.troubles != nil {
		l.rare.troubles.retryAt = 0
	}
}

// drop ends a hold. After the last one, the owner's pending re-entries become ordinary requests.
func (l *Lock) drop(now time.Duration, h *Hold, fx *Effects) {
	l.remove(h)
	l.endHold(now, h, ErrNotHeld, nil, fx)
	if l.holds == nil {
		l.strand(now, ErrNotHeld, fx)
	}
}

// sendRelease sends the release, unless a pause after a rejection is not over.
func (l *Lock) sendRelease(now time.Duration, fx *Effects) {
	if l.rare != nil && now < l.rare.retryAt() {
		return
	}
	l.flight = l.protocol().release
	c := Command{Verb: l.flight}
	if l.rare != nil {
		c.Wait = l.rare.placed().wait
	}
	l.emit(fx, c)
}

// released handles the result of a release.
func (l *Lock) released(now time.Duration, m *Message, fx *Effects) {
	reply := m.Reply
	switch {
	case reply.Status == Done:
		if reply.Muted {
			fx.Stats.Muted++
		}
		l.ended(now, nil, nil, fx)
	case (reply.Status == Gone || reply.replaced()) && l.rare != nil && l.rare.releasing:
		l.ended(now, nil, nil, fx) // an earlier copy, with a lost reply, released it
	case reply.Status == Gone:
		l.ended(now, ErrLost, errGone, fx)
	case reply.replaced():
		l.ended(now, ErrLost, reply.Err, fx)
	case reply.Status == Refused && !reply.passes():
		l.forbidden(now, reply.Err, fx)
	default:
		x := l.withRare()
		t := x.withTroubles()
		t.last = reply.Err
		x.releasing = x.releasing || reply.Status == Unanswered
		if reply.pauses() {
			t.retryAt = now + x.nextBackoff(fx)
		}
	}
}

// forbidden ends a tenure with a permanently rejected release. What is left in Redis is released later, if the server
// permits it then.
func (l *Lock) forbidden(now time.Duration, err error, fx *Effects) {
	tenure := l.tenure
	l.haunt(now, tenure, l.reach(), fx)
	ghosts := l.rare.ghosts()
	for i := range ghosts {
		if g := &ghosts[i]; g.tenure == tenure {
			g.putOff(now, fx)
		}
	}
	l.ended(now, err, nil, fx)
}

// ended gives the requests that wait for the release their result, and resets the lock. Unlocks that find the lock lost
// count as one loss. An undone grant held nothing, so its requests do not count.
func (l *Lock) ended(now time.Duration, err, cause error, fx *Effects) {
	finds := err == ErrLost
	l.releases.each(func(r *Request) {
		if finds && !r.undone {
			fx.Stats.LostAtUnlock++
			finds = false
		}
		fx.answerRelease(now, r, err, cause)
	})
	l.endTenure(now, fx)
}
