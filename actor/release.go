package actor

import "time"

// unlock takes in that a hold is over by its owner's wish.
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
		// The same release again: wait for its answer, too.
	default:
		fx.Decide(now, r, ErrNotHeld, nil)
		return
	}
	l.releases.push(r)
	fx.Limit(r, now+fx.Config.Timeout)
}

// end makes the tenure one that is to be released. A renewal's pause is not the release's.
func (l *Lock) end() {
	l.phase = ending
	if l.rare != nil {
		l.rare.retryAt = 0
	}
}

// drop takes a hold away. The last one's owner is gone: its requests are a stranger's.
func (l *Lock) drop(now time.Duration, h *Hold, fx *Effects) {
	for at := &l.holds; *at != nil; at = &(*at).next {
		if *at == h {
			*at = h.next
			break
		}
	}
	l.endHold(now, h, ErrNotHeld, nil, fx)
	if l.holds == nil {
		l.strand(now, ErrNotHeld, fx)
	}
}

// sendRelease sends the release, unless the server just said "not now".
func (l *Lock) sendRelease(now time.Duration, fx *Effects) {
	if l.rare != nil && now < l.rare.retryAt {
		return
	}
	l.flight = l.protocol().release
	c := Command{Verb: l.flight}
	if l.rare != nil {
		c.Wait = l.rare.wait
	}
	l.emit(fx, c)
}

// released takes in what became of a release.
func (l *Lock) released(now time.Duration, m *Message, fx *Effects) {
	reply := m.Reply
	switch {
	case reply.Status == Done:
		if reply.Muted {
			fx.Stats.Muted++
		}
		l.ended(now, nil, nil, fx)
	case reply.Status == Gone && l.rare != nil && l.rare.releasing:
		l.ended(now, nil, nil, fx) // an earlier copy, whose answer was lost, released it
	case reply.Status == Gone:
		l.ended(now, ErrLost, errGone, fx)
	case reply.Status == Refused && !reply.passes():
		l.ended(now, reply.Err, nil, fx)
	default:
		x := l.withRare()
		x.trouble = reply.Err
		x.releasing = x.releasing || reply.Status == Unanswered
		if reply.pauses() {
			x.retryAt = now + x.nextBackoff(fx)
		}
	}
}

// ended tells those who waited for the release, and forgets the tenure.
func (l *Lock) ended(now time.Duration, err, cause error, fx *Effects) {
	l.releases.each(func(r *Request) { fx.answerRelease(now, r, err, cause) })
	l.endTenure(now, fx)
}
