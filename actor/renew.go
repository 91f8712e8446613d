package actor

import "time"

// renewDue returns when a watched lock must be renewed: one renewal interval after its last confirmation. The length of
// the lease does not matter, because holders learn of a loss by a renewal. A shorter lease counts as a full one that
// was confirmed earlier. The renewal is up to Config.Spread earlier, in the slot of the tenure.
func (l *Lock) renewDue(fx *Effects) time.Duration {
	if !l.watched() && !l.cut() {
		return never
	}
	lease, due := fx.Config.Lease, l.confirmed
	if l.wants&capped == 0 {
		due = min(due, l.until-fx.watched)
	}
	due += fx.Config.Renew
	if l.shortest() != 0 {
		return roundUp(l.confirmed+l.renewEvery(fx), tick(lease))
	}
	if fx.Config.Spread == 0 {
		return roundUp(due, tick(lease))
	}
	return due - max(due-fx.moments.of(l.tenure), 0)%fx.Config.Spread
}

// roundUp rounds due up to a multiple of gather, so that many locks are renewed in one batch.
func roundUp(due, gather time.Duration) time.Duration {
	return (due + gather - 1) / gather * gather
}

// together is how many successive tenures are renewed in one batch. They are neighbours in memory, here and in the
// server. Measured: spread one by one, both cost a third more.
const together = 128

// moments are the slots of Config.Spread at which tenures are renewed. Each tenure stays in its slot, so only its first
// renewal is early.
type moments struct {
	number uint64
	apart  time.Duration
}

func momentsOf(config *Config) moments {
	apart := tick(config.Lease)
	return moments{max(uint64(config.Spread/apart), 1), apart}
}

func (m moments) of(tenure uint64) time.Duration {
	return time.Duration(tenure/together%m.number) * m.apart
}

// renewEvery returns the renewal interval. It is shorter while a command without a reply may shorten the lease.
func (l *Lock) renewEvery(fx *Effects) time.Duration {
	if s := l.shortest(); s != 0 {
		return min(fx.Config.Renew, s/3)
	}
	return fx.Config.Renew
}

// confirmDue returns when a lock that is handed off from owner to owner must be confirmed.
func (l *Lock) confirmDue() time.Duration {
	x := l.rare
	if x == nil || x.handoff == nil || x.handoff.handed == 0 || l.queue.empty() {
		return never
	}
	if x.handoff.listeners == unasked {
		return 0
	}
	return max(l.confirmed, x.lease().seen) + confirmEvery
}

// renewAt returns when the next renewal must be sent, for any reason.
func (l *Lock) renewAt(now time.Duration, fx *Effects) time.Duration {
	at := min(l.renewDue(fx), l.confirmDue())
	if l.wants&wantConfirm != 0 || l.holds != nil && l.holdCount() != l.written || l.changesWait() {
		at = 0
	}
	if l.mayOutlive(now, fx) && l.outlives(now, fx) {
		at = min(at, l.confirmed+fx.Config.Timeout) // a limit on how often it is tried
	}
	if l.rare != nil && at != never {
		at = max(at, l.rare.retryAt())
	}
	return at
}

func (l *Lock) changesWait() bool {
	return l.rare != nil && !l.rare.changes.empty() && !l.rare.changes.last.aboard
}

// renew sends a renewal if it is time. It carries all that the tenure wants: lease, count, subscribers.
func (l *Lock) renew(now time.Duration, fx *Effects) {
	if now < l.renewAt(now, fx) {
		return
	}
	n := l.need(now, fx)
	n.exact = n.exact || l.wants&wantSet != 0 || l.mayOutlive(now, fx) && l.outlives(now, fx)
	if p := l.protocol(); !p.stamps && !n.exact && now < l.renewDue(fx) && n.until <= l.until && l.confirmed >= l.doubted(fx) {
		n.lease = 0 // the TTL is already what is needed
	}
	falls := l.falls(now, n.lease)
	if n.lease != 0 {
		l.lower(now, n.lease, fx)
		if l.rare != nil && l.rare.leases != nil {
			l.rare.leases.raised = 0 // if this renewal fails, another one sets the TTL
		}
	}
	p := l.protocol()
	c := Command{Verb: p.renew, Lease: n.lease, Falls: falls, Routine: l.wants&wantConfirm == 0 && now < l.confirmDue() && !l.changesWait()}
	if l.holds == nil {
		c.Verb = p.pass
	}
	if count := l.holdCount(); count != 0 && count != l.written {
		c.Count = int(count)
	}
	if x := l.rare; x != nil {
		c.Listen, c.Own = x.handoff != nil && x.handoff.handed > 0, x.subscribed
		s := x.withLeases()
		s.sending, c.Token = c.Lease, s.token
		x.changes.each(func(r *Request) { r.aboard = true })
	}
	if p.stamps {
		n.exact = n.exact || falls // for a watched lock, near MaxHold
		c.Reads = l.stamps(now, n, fx)
	}
	l.wants &^= wantConfirm
	l.flight = c.Verb
	l.emit(fx, c)
}

// watchLease returns the lease of a watched lock, cut so that its owner has it for at most MaxHold.
func (l *Lock) watchLease(now time.Duration, fx *Effects) time.Duration {
	lease := fx.Config.Lease
	if fx.Config.MaxHold == 0 {
		return lease
	}
	if left := l.since + fx.Config.MaxHold - now; left < lease {
		l.wants |= capped
		lease = max(left, time.Millisecond)
	}
	return lease
}

// spent reports whether the owner has had the lock for MaxHold, so that it has the lock only by fixed leases.
func (l *Lock) spent(now time.Duration, fx *Effects) bool {
	return fx.Config.MaxHold != 0 && now >= l.since+fx.Config.MaxHold
}

// extend handles a request for another lease of a hold.
func (l *Lock) extend(now time.Duration, r *Request, fx *Effects) {
	if !r.Hold.held() {
		err, cause := r.Hold.Refusal()
		fx.Decide(now, r, err, cause)
		return
	}
	r.lock = l
	if r.Lease == 0 && l.spent(now, fx) {
		// As if it had been watched all the time.
		l.fix(r.Hold, 0, fx)
		fx.Decide(now, r, ErrLost, errMaxHold)
		l.expireHolds(now, fx)
		return
	}
	l.wants &^= capped
	l.withRare().changes.push(r)
	fx.Limit(r, now+fx.Config.Timeout)
}

// renewed handles the result of a renewal.
func (l *Lock) renewed(now time.Duration, m *Message, fx *Effects) {
	switch reply := m.Reply; {
	case l.phase == ending:
		// The owner unlocked meanwhile. The release that follows gives the result, unless the tenure is gone.
		if reply.Status == Gone {
			l.ended(now, ErrLost, errGone, fx)
		}
	case reply.Status == Done:
		l.confirmedBy(now, m, fx)
		if l.holds == nil && m.Command.Verb == SendFencedPass && !reply.replicated(fx) {
			l.undo(now, reply, fx)
		}
	case reply.Status == Gone:
		l.lose(now, errGone, fx)
	case reply.Status == Refused && !reply.passes():
		l.lose(now, reply.Err, fx)
	default:
		l.again(now, m, fx)
	}
}

// lag returns how much after its due time a renewal was confirmed. A renewal of a lock that had a fixed lease until now
// has no due time: 0.
func (l *Lock) lag(now time.Duration, fx *Effects) time.Duration {
	cut := l.shortest() != 0
	if l.wants&unhurried != 0 || !cut && l.wants&capped == 0 && l.until-l.confirmed < fx.watched {
		return 0
	}
	return now - l.renewDue(fx)
}

// confirmedBy handles a successful renewal, and gives the requests that needed it their result.
func (l *Lock) confirmedBy(now time.Duration, m *Message, fx *Effects) {
	c := m.Command
	fx.Lag.Note(now, l.lag(now, fx))
	if c.Lease != 0 {
		l.confirm(m.Sent, c.Lease, fx)
	}
	if m.Reply.replicated(fx) {
		l.tokened(m.Reply) // otherwise it will be renewed again
	}
	fx.Stats.Renewed++
	l.counted(now, m, fx)
	if l.rare == nil {
		return
	}
	last := l.extensions()
	l.rare.changes.each(func(r *Request) {
		switch {
		case m.Sent < l.doubted(fx):
			r.aboard = false // what was confirmed may be over: renew again
		case r.aboard && r.Tag == Extend:
			l.extended(now, m, r, last[r.Hold], fx)
		case r.aboard:
			l.changed(now, m, r, fx)
		case r.Tag == Acquire && r.Lease == 0:
			l.reentersNow(now, r, fx) // the renewal was in flight before this watched re-entry came, and is all it needs
		}
	})
}

// counted handles the extras of a renewal: the hold count and the number of subscribers.
func (l *Lock) counted(now time.Duration, m *Message, fx *Effects) {
	c, reply := m.Command, m.Reply
	switch {
	case reply.Uncounted:
		l.withRare().withTroubles().retryAt = now + fx.jitter(l.renewEvery(fx)/8)
	case c.Count != 0:
		l.written = uint32(c.Count)
	}
	if !c.Listen {
		return
	}
	x := l.withRare()
	h := x.withHandoff()
	h.listeners, x.withLeases().seen = unknowable, m.Sent
	if reply.Listeners >= 0 {
		h.listeners = int32(reply.Listeners)
		if c.Own && h.listeners > 0 {
			h.listeners--
		}
	}
}

// changed grants a re-entry with the lease that was confirmed for it.
func (l *Lock) changed(now time.Duration, m *Message, r *Request, fx *Effects) {
	switch fixed := r.fixedAt(m.Sent); {
	case fixed == 0 && l.spent(now, fx):
		fx.Decide(now, r, ErrLost, errMaxHold)
	case fixed != 0 && now >= fixed:
		fx.Decide(now, r, ErrUnavailable, errTooLate)
	default:
		l.grant(now, r, fixed, fx)
	}
}

// extended gives a hold the lease that was confirmed for it. Of several extensions of one hold the last was sent, and
// its outcome is the result of all of them. If the last one's caller gave up, the one before is sent next.
func (l *Lock) extended(now time.Duration, m *Message, r, last *Request, fx *Effects) {
	h := r.Hold
	if !h.held() {
		err, cause := h.Refusal()
		fx.Decide(now, r, err, cause)
		return
	}
	sent := r
	if last.aboard {
		sent = last
	}
	if m.Command.Lease < l.needOfChange(now, sent, fx).lease {
		r.aboard = false
		return
	}
	l.fix(h, sent.fixedAt(m.Sent), fx)
	switch {
	case now < h.Until():
		fx.Decide(now, r, nil, nil)
	case h.fixed == 0:
		fx.Decide(now, r, ErrLost, errMaxHold)
	default:
		fx.Decide(now, r, ErrLost, errTooLate)
	}
}

// fixedAt returns when the lease of a request ends, if it was sent at that time; 0 if it is to be watched.
func (r *Request) fixedAt(sent time.Duration) time.Duration {
	if r.Lease == 0 {
		return 0
	}
	return sent + believed(r.Lease)
}

// again prepares a renewal that failed, or may have, to be sent once more while the lease lasts.
func (l *Lock) again(now time.Duration, m *Message, fx *Effects) {
	x := l.withRare()
	t := x.withTroubles()
	t.last = m.Reply.Err
	if m.Command.Count != 0 {
		l.written = 0 // not known; no hold has that count, so it is sent again
	}
	if m.Command.Lease != 0 {
		l.wants |= wantSet
	}
	if m.Reply.Status == Unanswered {
		l.unanswered(m.Sent, m.Command.Lease, fx)
	}
	if m.Reply.pauses() {
		t.retryAt = now + fx.jitter(l.renewEvery(fx)/8)
	}
	x.changes.each(func(r *Request) { r.aboard = false })
	l.wants |= wantConfirm
}
