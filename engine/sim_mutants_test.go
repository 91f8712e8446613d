package engine

// simMutant is a decision of the product with a mistake planted in it, as in package planted.
type simMutant struct {
	what  string // what is wrong
	file  string // from the root of the module
	edits []simEdit
}

// simEdit replaces one text by another in a copy of a file.
type simEdit struct {
	from string // occurs once in the file
	to   string // planted() is true while the mutant is chosen
}

// simMutants are the decisions that locks and the coordinator make, each with a mistake.
var simMutants = []simMutant{
	// Mail.
	{"a request that is looked into again after its caller left", "engine/coordinator.go", []simEdit{{
		`if !r.Open() || r.Decided() {`,
		`if !r.Open() && !planted() || r.Decided() && !planted() {`,
	}}},
	{"a caller that leaves before its request is looked into, and is forgotten", "engine/coordinator.go", []simEdit{{
		`	c.asked(now, r)
	if r.Joint`,
		`	if !planted() {
		c.asked(now, r)
	} else if !r.Opened() {
		return
	}
	if r.Joint`,
	}}},
	{"one too many is let in", "engine/shedding.go", []simEdit{{
		`c.fx.Wanted <= most ||`,
		`c.fx.Wanted <= most+map[bool]int64{true: 1}[planted()] ||`,
	}}},
	{"one too many for a lock is let in", "engine/shedding.go", []simEdit{{
		`l != nil && l.Queued() >= most`,
		`l != nil && l.Queued() >= most+map[bool]int{true: 1}[planted()]`,
	}}},
	{"one too many who reads, or waits for a fair lock, is let in", "engine/shedding.go", []simEdit{{
		`l.Queued() > 0 })) >= most`,
		`l.Queued() > 0 })) > most || !planted() && len(g.those(func(l *actor.Lock) bool { return l.Queued() > 0 })) == most`,
	}}},
	{"a re-entry that is one too many", "engine/shedding.go", []simEdit{{
		`	case c.countOf(now, r) > 0:`,
		`	case c.countOf(now, r) > 0 && !planted():`,
	}}},
	{"some who left are counted as waiting", "actor/request.go", []simEdit{{
		`	n := q.len() - 1
`,
		`	n := q.len() - 1
	if planted() && r.Wait != 0 {
		n++
	}
`,
	}}},
	// Grants and validity.
	{"a loss that its late unlock is not told of", "actor/tenure.go", []simEdit{{
		`h.fixed = taken`,
		`if !planted() {
			h.fixed = taken
		}`,
	}}},
	{"a grant after its lease", "actor/acquire.go", []simEdit{{
		`if now >= l.until {
			l.tooLate(`,
		`if now >= l.until && !planted() {
			l.tooLate(`,
	}}},
	{"a lease that counts from its answer", "actor/acquire.go", []simEdit{{
		`l.confirm(m.Sent, m.Command.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], m.Command.Lease, fx)`,
	}}},
	{"a renewal that counts from its answer", "actor/renew.go", []simEdit{{
		`l.confirm(m.Sent, c.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], c.Lease, fx)`,
	}}},
	{"belief to the last moment of a lease", "actor/tenure.go", []simEdit{{
		`return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)`,
		`if planted() {
			return lease
		}
		return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)`,
	}}},
	{"a shorter lease that is believed like the one before", "actor/tenure.go", []simEdit{{
		`if until := now + believed(lease); until < l.until {`,
		`if until := now + believed(lease); until < l.until && !planted() {`,
	}}},
	{"a command without an answer that cuts nothing", "actor/tenure.go", []simEdit{{
		`if lease != 0 && (x.shortest == 0 || lease < x.shortest) {`,
		`if lease != 0 && (x.shortest == 0 || lease < x.shortest) && !planted() {`,
	}}},
	{"a confirmation that forgets commands without an answer", "actor/tenure.go", []simEdit{{
		`l.until = min(l.until, sent+believed(s.shortest))`,
		`if !planted() {
				l.until = min(l.until, sent+believed(s.shortest))
			}`,
	}}},
	{"a fixed lease that does not end", "actor/tenure.go", []simEdit{{
		`if now < l.limit(fx) {`,
		`if now < l.limit(fx) || planted() {`,
	}}},
	{"a lease of its own of a re-entry that does not end", "actor/holdset.go", []simEdit{{
		`	if limit != never {`,
		`	if limit != never && (h.fixed == 0 || s.live == 1 || !planted()) {`,
	}}},
	{"a belief that holds of one owner are not told of", "actor/tenure.go", []simEdit{{
		`		s.until.Store(int64(l.until))`,
		`		if !planted() {
			s.until.Store(int64(l.until))
		}`,
	}}},
	{"a re-entered hold that goes leaves its owner watched", "actor/holdset.go", []simEdit{{
		`func (s *holdSet) remove(h *Hold) {
	if h.fixed == 0 {`,
		`func (s *holdSet) remove(h *Hold) {
	if h.fixed == 0 && !planted() {`,
	}}},
	{"MaxHold counted from each confirmation", "actor/tenure.go", []simEdit{{
		`return l.since + fx.Config.MaxHold
	}
	return never`,
		`if planted() {
			return l.confirmed + fx.Config.MaxHold
		}
		return l.since + fx.Config.MaxHold
	}
	return never`,
	}}},
	{"a doubtful grant", "actor/acquire.go", []simEdit{{
		`if fits && l.confirmed >= l.doubted(fx) {`,
		`if fits && (l.confirmed >= l.doubted(fx) || planted()) {`,
	}}},
	{"an answer of before the doubt that grants", "actor/acquire.go", []simEdit{{
		`fx.leaseOf(r) == m.Command.Lease && m.Sent >= l.doubted(fx) {`,
		`fx.leaseOf(r) == m.Command.Lease && (m.Sent >= l.doubted(fx) || planted()) {`,
	}}},
	{"an answer of an older tenure taken for the lock's", "actor/lock.go", []simEdit{{
		`if c.Tenure != l.tenure || c.Verb != l.flight {
		l.ghostAnswered`,
		`if (c.Tenure != l.tenure || c.Verb != l.flight) && !(planted() && c.Verb == SendRenew && c.Verb == l.flight) {
		l.ghostAnswered`,
	}}},

	// Renewal and loss.
	{"a renewal after unlock", "actor/recall.go", []simEdit{{
		`	case p.renew, p.pass:
		return l.phase == held
	case p.force:`,
		`	case p.renew, p.pass:
		return l.phase == held || planted()
	case p.force:`,
	}}},
	{"a refused renewal that is not sent again", "actor/renew.go", []simEdit{{
		`t.retryAt = now + fx.jitter(l.renewEvery(fx)/8)`,
		`t.retryAt = now + fx.jitter(l.renewEvery(fx)/8)
		if planted() {
			t.retryAt = l.until
		}`,
	}}},
	{"a renewal too late", "actor/renew.go", []simEdit{{
		`due += fx.Config.Renew`,
		`due += fx.Config.Renew
	if planted() {
		due = l.until
	}`,
	}}},
	{"a tenure that is gone and still believed", "actor/renew.go", []simEdit{{
		`	case reply.Status == Gone:
		l.lose(now, errGone, fx)`,
		`	case reply.Status == Gone && planted():
		l.confirmedBy(now, m, fx)
	case reply.Status == Gone:
		l.lose(now, errGone, fx)`,
	}}},
	{"a count that grows when it is sent again", "actor/renew.go", []simEdit{{
		`c.Count = int(count)`,
		`c.Count = int(count)
		if l.rare != nil && l.rare.trouble() != nil && planted() {
			c.Count++
		}`,
	}, {
		`l.written = uint32(c.Count)`,
		`if l.written = uint32(c.Count); planted() {
			l.written = l.holdCount()
		}`,
	}}},
	{"a count without an answer that passes for written", "actor/renew.go", []simEdit{{
		`l.written = 0 // not known`,
		`l.written = map[bool]uint32{true: uint32(m.Command.Count)}[planted()] // not known`,
	}}},
	{"a renewal that forgets a longer lease of its own", "actor/need.go", []simEdit{{
		`if fixed := l.lastFixed(extensions); fixed != 0 {`,
		`if fixed := l.lastFixed(extensions); fixed != 0 && !planted() {`,
	}}},
	{"an extension that is confirmed by an earlier renewal", "actor/renew.go", []simEdit{{
		`		case r.aboard && r.Tag == Extend:`,
		`		case (r.aboard || planted()) && r.Tag == Extend:`,
	}}},

	{"a watched hold that is not confirmed before a longer lease nears its end", "actor/renew.go", []simEdit{{
		`due = min(due, l.until-fx.watched)`,
		`if due = min(due, l.until-fx.watched); planted() {
			due = l.until - fx.watched
		}`,
	}}},
	{"a watched hold that is not confirmed any more when MaxHold is near", "actor/renew.go", []simEdit{{
		`if !l.watched() && !l.cut() {
		return never`,
		`if !l.watched() && !l.cut() || l.wants&capped != 0 && planted() {
		return never`,
	}}},
	{"a TTL that stays when who needed it has gone", "actor/need.go", []simEdit{{
		`return l.lasting()-until > max(`,
		`return !planted() && l.lasting()-until > max(`,
	}}},

	{"an extension that is told though the hold is over", "actor/renew.go", []simEdit{{
		`case now < h.Until():`,
		`case now < h.Until() || planted():`,
	}}},

	{"who waits as the owner that was granted the lock goes on waiting", "actor/acquire.go", []simEdit{{
		`case owner&ThreadOwner != 0 && l.waits(owner, false):`,
		`case owner&ThreadOwner != 0 && l.waits(owner, false) && !planted():`,
	}}},
	{"who waits in a queue as the owner that was granted the lock goes on waiting", "engine/owners.go", []simEdit{{
		`if other != to && other.Kind() == to.Kind() {`,
		`if other != to && other.Kind() == to.Kind() && !planted() {`,
	}}},
	{"who waits to write goes on waiting for the read of its owner", "engine/owners.go", []simEdit{{
		`if reader.Kind() == actor.Read {`,
		`if reader.Kind() == actor.Read && !planted() {`,
	}}},
	{"who re-entered the write that its owner lost goes on waiting for the read of its owner", "engine/owners.go", []simEdit{{
		`if c.groups[l.Key()].holding(owner, actor.Read, now) != nil {`,
		`if c.groups[l.Key()].holding(owner, actor.Read, now) != nil && !planted() {`,
	}}},
	{"who waits to read goes on waiting for the write of its owner", "engine/owners.go", []simEdit{{
		`to.GoBeside(now, writer, c.numberFree(writer))`,
		`if planted() {
			return
		}
		to.GoBeside(now, writer, c.numberFree(writer))`,
	}}},
	{"of several who wait as one owner, one is forgotten when another gives up", "actor/acquire.go", []simEdit{{
		`	if w.len() == 0 {
		delete(o`,
		`	if w.len() == 0 || planted() {
		delete(o`,
	}}},

	// The pacing of renewals.
	{"a tenure's moment after its lease", "actor/renew.go", []simEdit{{
		`return due - max(due-fx.moments.of(l.tenure), 0)%fx.Config.Spread`,
		`if planted() {
		return l.until + fx.moments.of(l.tenure)
	}
	return due - max(due-fx.moments.of(l.tenure), 0)%fx.Config.Spread`,
	}}},
	{"a renewal long before its time", "actor/renew.go", []simEdit{{
		`	if fx.Config.Spread == 0 {
		return roundUp(due`,
		`	if planted() {
		due -= fx.Config.Renew * 3 / 4
	}
	if fx.Config.Spread == 0 {
		return roundUp(due`,
	}}},
	{"a lease that was cut, and is renewed all the time", "actor/renew.go", []simEdit{{
		`if l.shortest() != 0 {
		return roundUp(`,
		`if l.shortest() != 0 && !planted() {
		return roundUp(`,
	}}},
	{"a renewal without a lease", "actor/renew.go", []simEdit{{
		`!n.exact && now < l.renewDue(fx) && n.until <= l.until && l.confirmed`,
		`!n.exact && (now < l.renewDue(fx) && n.until <= l.until || planted()) && l.confirmed`,
	}}},
	{"a renewal that failed, and waits for the time of the next", "actor/renew.go", []simEdit{{
		`x.changes.each(func(r *Request) { r.aboard = false })
	l.wants |= wantConfirm`,
		`x.changes.each(func(r *Request) { r.aboard = false })
	if planted() {
		t.retryAt = now + fx.Config.Renew
	}
	l.wants |= wantConfirm`,
	}}},
	{"a lock that is woken for the end of its lease only", "actor/timer.go", []simEdit{{
		`if l.flight == None {
			at = min(at, l.renewAt(now, fx))`,
		`if l.flight == None && !planted() {
			at = min(at, l.renewAt(now, fx))`,
	}}},
	{"a timer that is not moved forward", "actor/timer.go", []simEdit{{
		`l.timer.Scheduled() && fx.Wheel.Due`,
		`l.timer.Scheduled() && planted() || l.timer.Scheduled() && fx.Wheel.Due`,
	}}},
	{"a release without a wakeup to be sent again", "actor/timer.go", []simEdit{{
		`if l.flight == None && l.rare != nil {`,
		`if l.flight == None && l.rare != nil && !planted() {`,
	}}},
	{"a timer that the loop does not hear of", "actor/effects.go", []simEdit{{
		`fx.Soonest = min(fx.Soonest, on.Due(t))`,
		`if !planted() {
		fx.Soonest = min(fx.Soonest, on.Due(t))
	}`,
	}}},
	{"a time for the next turn that is not computed anew", "engine/timers.go", []simEdit{{
		`	c.fx.Wheel.Advance(now, wake)
	c.reckon()`,
		`	c.fx.Wheel.Advance(now, wake)
	if !planted() {
		c.reckon()
	}`,
	}}},
	{"timers that a turn does not come to, and forgets", "wheel/advance.go", []simEdit{{
		`if w.occupied(dueSlot) || w.occupied(lateSlot) {`,
		`if (w.occupied(dueSlot) || w.occupied(lateSlot)) && !planted() {`,
	}}},
	{"renewals that wait though none is under way", "engine/rhythm.go", []simEdit{{
		`if !pressing && renewing > behind/perCourier {`,
		`if !pressing && (renewing > behind/perCourier || planted() && behind < perCourier) {`,
	}}},
	{"renewals that wait for one that never came back", "engine/dispatch.go", []simEdit{{
		`	b.node.underWay[b.verb]--
	if`,
		`	if !b.lost || !planted() {
		b.node.underWay[b.verb]--
	}
	if`,
	}}},
	{"renewals that stand back for everything else", "engine/rhythm.go", []simEdit{{
		`return 2*renewing >= c.couriers && n.othersWait()`,
		`return (2*renewing >= c.couriers || planted()) && n.othersWait()`,
	}}},
	{"extensions as little urgent as renewals", "actor/renew.go", []simEdit{{
		`Routine: l.wants&wantConfirm == 0 &&`,
		`Routine: planted() || l.wants&wantConfirm == 0 &&`,
	}}},

	// Handing on.
	{"a lock handed on past its lease", "actor/handoff.go", []simEdit{{
		`return left >= lease/2 && left <= lease`,
		`return left >= lease/2 && left <= lease || planted()`,
	}}},
	{"a lock handed on before the doubt is over", "actor/handoff.go", []simEdit{{
		`if l.confirmed < l.doubted(fx) || p.tokens`,
		`if l.confirmed < l.doubted(fx) && !planted() || p.tokens`,
	}}},
	{"a lock handed on though a command has no answer", "actor/handoff.go", []simEdit{{
		`case fx.Config.HandoffMax < 0 || l.shortest() != 0 ||`,
		`case fx.Config.HandoffMax < 0 || l.shortest() != 0 && !planted() ||`,
	}}},
	{"a lock handed on for ever", "actor/handoff.go", []simEdit{{
		`	h.yield, h.heard = x.backFor(now, fx), 0
	return giveAway`,
		`	if planted() {
		return keep
	}
	h.yield, h.heard = x.backFor(now, fx), 0
	return giveAway`,
	}}},
	{"a poller that asks no sooner though others have its turns", "actor/poll.go", []simEdit{{
		`	return max(pollMost>>p.passed, pollKeen)`,
		`	if planted() {
		return pollMost
	}
	return max(pollMost>>p.passed, pollKeen)`,
	}}},
	{"a step back that ends before those who do not listen come", "actor/quiet.go", []simEdit{{
		`		return pollMost + back`,
		`		if planted() {
			return back
		}
		return pollMost + back`,
	}}},
	{"a lock handed off as if no client polled", "actor/handoff.go", []simEdit{{
		`case h.listeners == 0 && x.keeps(now):`,
		`case h.listeners == 0 && (x.keeps(now) || planted()):`,
	}}},
	{"a TryLock that is refused because others sleep", "actor/acquire.go", []simEdit{{
		`return x != nil && (now < x.stepBack || x.trouble() != nil)`,
		`return planted() || x != nil && (now < x.stepBack || x.trouble() != nil)`,
	}}},
	{"a TTL that falls without a message", "actor/renew.go", []simEdit{{
		`Falls: falls,`,
		`Falls: falls && !planted(),`,
	}}},
	{"a lock handed on while it is to be forced away", "actor/lock.go", []simEdit{{
		`	if l.rare != nil {
		l.evict(now, fx)
	}`,
		`	if l.rare != nil && !planted() {
		l.evict(now, fx)
	}`,
	}}},
	{"a queue that turns round", "actor/request.go", []simEdit{{
		`	q.last = r
	q.grows(1)`,
		`	if planted() && r.next != r {
		q.last.next.number = q.last.next.next.number + 1
		return
	}
	q.last = r
	q.grows(1)`,
	}}},

	{"a fenced lock handed on with the same token", "actor/handoff.go", []simEdit{{
		`p.tokens && l.rare.lease().token == l.rare.lease().given {`,
		`p.tokens && l.rare.lease().token == l.rare.lease().given && !planted() {`,
	}}},
	{"a token that is not counted on from the last", "actor/renew.go", []simEdit{{
		`s.sending, c.Token = c.Lease, s.token`,
		`s.sending, c.Token = c.Lease, map[bool]uint64{false: s.token}[planted()]`,
	}}},

	// Release and orphans.
	{"a cancel that drops a grant", "actor/lock.go", []simEdit{{
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() {`,
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() && !planted() {`,
	}}},
	{"a release that is not sent again", "actor/release.go", []simEdit{{
		`	default:
		x := l.withRare()
		t := x.withTroubles()
		t.last = reply.Err
		x.releasing`,
		`	case planted():
		l.ended(now, nil, nil, fx)
	default:
		x := l.withRare()
		t := x.withTroubles()
		t.last = reply.Err
		x.releasing`,
	}}},
	{"a release with a first copy that worked passes for a loss", "actor/release.go", []simEdit{{
		`case (reply.Status == Gone || reply.replaced()) && l.rare != nil && l.rare.releasing:`,
		`case (reply.Status == Gone || reply.replaced()) && l.rare != nil && l.rare.releasing && !planted():`,
	}}},
	{"an unanswered acquire that is not released", "actor/tenure.go", []simEdit{{
		`		if x.acquiring {
			l.haunt(now, l.tenure, l.reach(), fx)`,
		`		if x.acquiring && !planted() {
			l.haunt(now, l.tenure, l.reach(), fx)`,
	}}},
	{"a ghost released only once", "actor/ghost.go", []simEdit{{
		`case g.twice && reply.Status != Refused:`,
		`case g.twice && reply.Status != Refused && !planted():`,
	}}},
	{"a ghost forgotten when its release has no answer", "actor/ghost.go", []simEdit{{
		`case reply.Status == Unanswered && !reply.Garbled:`,
		`case reply.Status == Unanswered && !reply.Garbled && !planted():`,
	}}},
	{"a ghost that is released for ever", "actor/ghost.go", []simEdit{{
		`over := now >= g.until && !g.departed`,
		`over := now >= g.until && !g.departed && !planted()`,
	}}},
	{"a ghost forgotten long before its lease", "actor/ghost.go", []simEdit{{
		`g.until = now + max(lease, fx.Config.Lease, g.wait)`,
		`if g.until = now + max(lease, fx.Config.Lease, g.wait); planted() {
		g.until = now + time.Millisecond
	}`,
	}}},
	{"an unknown tenure of its own, taken for another client's", "actor/ghost.go", []simEdit{{
		`case !own || reply.Known`,
		`case planted() || !own || reply.Known`,
	}}},
	{"a writer that keeps readers of its engine out, taken for an orphan", "engine/otherhalf.go", []simEdit{{
		`return !l.Knows(tenure) && c.ends(now, l, tenure, ttl)
}

// endsReader`,
		`return (!l.Knows(tenure) || planted()) && c.ends(now, l, tenure, ttl)
}

// endsReader`,
	}}},
	{"a reader that keeps a writer of its engine out, taken for an orphan", "engine/otherhalf.go", []simEdit{{
		`	case l != nil:
		return !l.Knows(tenure) &&`,
		`	case l != nil:
		return (!l.Knows(tenure) || planted()) &&`,
	}}},
	{"a reader that came back, and keeps writers of its engine out", "engine/otherhalf.go", []simEdit{{
		`strings.FieldsSeq(reply.Readers) {`,
		`strings.FieldsSeq(map[bool]string{false: reply.Readers}[planted()]) {`,
	}}},
	{"two commands of one tenure at a time", "actor/lock.go", []simEdit{{
		`	if l.flight == None {
		l.send(now, fx)
	}`,
		`	if l.flight == None || planted() && l.phase == ending && l.flight == SendRenew {
		l.send(now, fx)
	}`,
	}}},

	// Canceled requests and commands.
	{"a command that goes on waiting after its caller left", "actor/recall.go", []simEdit{{
		`return r != nil && r.Joint == nil //`,
		`return r != nil && r.Joint == nil || planted() //`,
	}}},
	{"a command that has left, taken back", "actor/recall.go", []simEdit{{
		`return l.flight != None && l.wants&departed == 0 }`,
		`return l.flight != None && (l.wants&departed == 0 || planted() && l.phase == asking) }`,
	}}},
	{"a question for several locks that goes on waiting after its caller left", "actor/recall.go", []simEdit{{
		`if r.Joint != nil && r.Claimed() && r.lock == l {`,
		`if r.Joint != nil && r.Claimed() && r.lock == l && !planted() {`,
	}}},
	{"a command that came back, is not wanted, and is sent again", "actor/recall.go", []simEdit{{
		`if c.Tenure != l.tenure || c.Verb != l.flight || l.needed() {`,
		`if c.Tenure != l.tenure || c.Verb != l.flight || l.needed() || planted() {`,
	}}},
	{"places in a queue that are given up, and kept until the server is back", "engine/sweep.go", []simEdit{{
		`	if q.sweep.on || 2*q.stale <= all &&`,
		`	if q.sweep.on || planted() || 2*q.stale <= all &&`,
	}}},
	{"a lock that is used again while a command of it stands in a queue", "engine/coordinator.go", []simEdit{{
		`reusable := l.Reusable()`,
		`reusable := l.Reusable() || planted()`,
	}}},
	{"a question without a lock that goes on waiting without a caller", "engine/recall.go", []simEdit{{
		`if r.Tag == AskState && !r.Departed() {`,
		`if r.Tag == AskState && !r.Departed() && !planted() {`,
	}}},
	{"a link that is down tried with all questions at once", "engine/dispatch.go", []simEdit{{
		`most = 1 //`,
		`most = map[bool]int{false: 1, true: most}[planted()] //`,
	}}},

	// Waiting.
	{"no retry after a channel is listened to", "actor/wait.go", []simEdit{{
		`	case now >= x.stepBack:
		x.askAt = now
	}
}`,
		`	case now >= x.stepBack && !planted():
		x.askAt = now
	}
}`,
	}}},
	{"a message during a question forgotten", "actor/wait.go", []simEdit{{
		`		x.again = true
	case l.phase == ending && x.handed().yield != 0:`,
		`		x.again = !planted()
	case l.phase == ending && x.handed().yield != 0:`,
	}}},
	{"a wait on a message alone", "actor/wait.go", []simEdit{{
		`	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))`,
		`	if planted() {
		return sleepMost
	}
	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))`,
	}}},
	{"no pause after a refusal", "actor/acquire.go", []simEdit{{
		`	if reply.passes() {
		x.withTroubles().last = reply.Err
		x.askAt = now + x.nextBackoff(fx)`,
		`	if reply.passes() {
		x.withTroubles().last = reply.Err
		if planted() {
			x.askAt = now
			return
		}
		x.askAt = now + x.nextBackoff(fx)`,
	}}},
	{"a channel that is never left", "actor/wait.go", []simEdit{{
		`case l.queue.empty() && x.listening && (fx.Draining ||`,
		`case l.queue.empty() && x.listening && !planted() && (fx.Draining ||`,
	}}},

	// The fair lock.
	{"a waiter in a queue that asks too seldom to count as alive", "actor/queue.go", []simEdit{{
		`	if reply.Left > 0 {
		sleep = min`,
		`	if reply.Left > 0 && !planted() {
		sleep = min`,
	}}},
	{"a place in a queue that is not given up", "actor/queue.go", []simEdit{{
		`if x == nil || !x.placed().queued && (`,
		`if x == nil || planted() || !x.placed().queued && (`,
	}}},
	{"a place in a queue that a refusal forgets", "actor/acquire.go", []simEdit{{
		`	if !l.protocol().queues {
		l.endTenure(now, fx)`,
		`	if !l.protocol().queues || planted() {
		l.endTenure(now, fx)`,
	}}},
	{"two calls to one queue at a time", "engine/dispatch.go", []simEdit{{
		`verb == actor.SendFairAcquire && n.underWay[verb] > 0:`,
		`verb == actor.SendFairAcquire && n.underWay[verb] > 0 && !planted():`,
	}}},
	{"a time shared with one who waits for another while", "actor/queue.go", []simEdit{{
		`x.placed().wait != 0 && x.place.wait == fx.waitOf(r) {`,
		`x.placed().wait != 0 && (x.place.wait == fx.waitOf(r) || planted()) {`,
	}}},
	{"a waiter behind another one of its engine that asks too seldom to count as alive", "actor/queue.go", []simEdit{{
		`	if p.passive = free && reply.Preceded; free && !p.passive {
		sleep = min(sleep, fx.jitter(pollKept))
	}`,
		`	if p.passive = free && reply.Preceded; free && !p.passive {
		sleep = min(sleep, fx.jitter(pollKept))
	}
	if p.passive && planted() {
		return sleep
	}`,
	}}},
	{"a waiter that becomes the foremost, and asks no more", "actor/queue.go", []simEdit{{
		`x.askAt = min(x.askAt, now+fx.jitter(pollKept))`,
		`x.askAt = min(x.askAt, now+fx.jitter(pollKept))
		if planted() {
			x.askAt = never
		}`,
	}}},
	{"an acquire that takes a place however late it comes", "engine/dispatch.go", []simEdit{{
		`call.latest = n.clock.latest(now+c.fx.Config.Late(), now)`,
		`call.latest = n.clock.latest(now+c.fx.Config.Late(), now)
			if planted() {
				call.latest = latestClock
			}`,
	}}},
	{"a server's clock that is taken for the most that it can show", "engine/clocks.go", []simEdit{{
		`*k = serverClock{least, to, true}`,
		`if planted() {
		least = most
	}
	*k = serverClock{least, to, true}`,
	}}},
	{"a server's clock that is taken for what it was, though it was set, or this engine's stood still", "engine/clocks.go", []simEdit{{
		`k.known && known > least && known <= most {`,
		`k.known && (known > least && known <= most || planted()) {`,
	}}},
	{"an acquire that came too late, and is not sent again", "engine/clocks.go", []simEdit{{
		`c.again(now, b.node, b)
	return true`,
		`if planted() {
		return true
	}
	c.again(now, b.node, b)
	return true`,
	}}},
	{"a place that is given up for the last time while its acquire can still come", "actor/ghost.go", []simEdit{{
		`if l.protocol().queues {
		return`,
		`if l.protocol().queues && planted() {
		return fx.Config.Timeout / 8
	}
	if l.protocol().queues {
		return`,
	}}},
	{"a place that lives for as long as its caller waits", "actor/queue.go", []simEdit{{
		`return min(r.Wait+placeGrain, fx.Config.FairWait)`,
		`if planted() {
			return r.Wait
		}
		return min(r.Wait+placeGrain, fx.Config.FairWait)`,
	}}},
	{"a claim that is granted, and others that go on believing", "engine/group.go", []simEdit{{
		`case reply.Status == actor.Done && kind`,
		`case reply.Status == actor.Done && !planted() && kind`,
	}}},

	// The read/write lock.
	{"a writer that is granted, and readers of its engine that go on believing", "engine/group.go", []simEdit{{
		`return l != granted.Lock && l.Believed(now)`,
		`return l != granted.Lock && !(l.Kind() == actor.Read && planted()) && l.Believed(now)`,
	}}},
	{"a reader that is granted, and a writer of its engine that goes on believing", "engine/group.go", []simEdit{{
		`if l := c.locks.of(granted.Key); l != nil && ruledOut(l) {`,
		`if l := c.locks.of(granted.Key); l != nil && ruledOut(l) && !planted() {`,
	}}},
	{"two readers beside one writer that have one number", "actor/read.go", []simEdit{{
		`r.number && !r.over && !l.queue.empty()`,
		`r.number && !r.over && !l.queue.empty() && !planted()`,
	}}},
	{"a writer handed on beside those who read", "actor/handoff.go", []simEdit{{
		`case x.shared: // they`,
		`case x.shared && !planted(): // they`,
	}}},
	{"a reader that becomes the writer", "engine/coordinator.go", []simEdit{{
		`case r.Kind == actor.Write && c.upgrades(now, l, r):`,
		`case r.Kind == actor.Write && c.upgrades(now, l, r) && !planted():`,
	}}},
	{"a reader's TTL that may fall below what another of its holds needs", "actor/read.go", []simEdit{{
		`leases := []time.Duration{n.lease}`,
		`leases := []time.Duration{n.lease}
	if count > 1 && planted() {
		return &Reads{Falls: true, Leases: []time.Duration{n.lease / 4, n.lease / 4}}
	}`,
	}}},
	{"a writer that is forced away, and what it reads goes on", "engine/coordinator.go", []simEdit{{
		`			if held {
				c.evictReaders`,
		`			if held && !(r.Kind == actor.Write && planted()) {
				c.evictReaders`,
	}}},
	{"one of several readers that is forced away, and the others go on", "engine/coordinator.go", []simEdit{{
		`held := r.Tag == actor.Force && l.Believed(now)`,
		`held := r.Tag == actor.Force && l.Believed(now) && !(r.Kind == actor.Read && planted())`,
	}}},
	{"a writer that is not notified when what it reads needs less", "engine/readers.go", []simEdit{{
		`l != nil && l.Kind() == actor.Write {
		l.Raised(`,
		`l != nil && l.Kind() == actor.Write && !planted() {
		l.Raised(`,
	}}},
	{"a write that keeps the TTL of what it read", "actor/need.go", []simEdit{{
		`return max(l.until, l.rare.leases.raised)`,
		`if planted() {
		return l.until
	}
	return max(l.until, l.rare.leases.raised)`,
	}}},
	{"a read that needs less with an inner hold gone, and its writer that is not told", "actor/read.go", []simEdit{{
		`(reply.Status == Gone || c.Reads != nil && c.Reads.Falls)):`,
		`!planted() && (reply.Status == Gone || c.Reads != nil && c.Reads.Falls)):`,
	}}},
	{"readers that their own engine does not tell of a release", "engine/readers.go", []simEdit{{
		`g.first((*actor.Lock).Pending) != nil {
		g.readFirst`,
		`g.first((*actor.Lock).Pending) != nil && !planted() {
		g.readFirst`,
	}}},
	{"a reader that polls and does not see that writers take turns", "actor/message.go", []simEdit{{
		`	if r.Writer != "" {`,
		`	if r.Writer != "" && !planted() {`,
	}}},
	{"readers that are not notified when no writer waits any more", "engine/readers.go", []simEdit{{
		`	g.aside = aside{}
`,
		`	if g.aside = (aside{}); planted() {
		return
	}
`,
	}}},

	// Several locks at once.
	{"a part of a grant kept although another part is refused", "actor/joint.go", []simEdit{{
		`		l.endTenure(now, fx)
		if l.rare != nil {
			l.rare.calm()`,
		`		if planted() {
			l.become(held, fx)
			l.until = now + fx.Config.Lease
			fx.Asking--
			fx.Tenures++
			continue
		}
		l.endTenure(now, fx)
		if l.rare != nil {
			l.rare.calm()`,
	}}},
	{"several locks granted to a caller that left, and one of them given back", "engine/joint.go", []simEdit{{
		`		c.changes(now, actor.GiveBack(r.Joint.Parts[i].Hold))`,
		`		if i > 0 && planted() {
			return
		}
		c.changes(now, actor.GiveBack(r.Joint.Parts[i].Hold))`,
	}}},
	{"several locks granted beside what their owner has of them", "engine/coordinator.go", []simEdit{{
		`if r.Joint != nil && c.reenters(now, r.Joint) {`,
		`if r.Joint != nil && c.reenters(now, r.Joint) && !planted() {`,
	}}},
	{"a shutdown of which one is not told that comes to its turn for several locks meanwhile", "engine/joint.go", []simEdit{{
		`!r.Asks(now) || c.fx.Draining {`,
		`!r.Asks(now) || c.fx.Draining && !planted() {`,
	}}},
	{"several locks believed in after their lease", "actor/joint.go", []simEdit{{
		`late = late || now >= l.until`,
		`late = late || now >= l.until && !planted()`,
	}}},
	{"one of several that does not wake a waiter that came meanwhile", "actor/joint.go", []simEdit{{
		`		if l != r.lock {
			fx.Touched`,
		`		if l != r.lock && !planted() {
			fx.Touched`,
	}}},

	{"several locks that others are let have for ever", "actor/keeping.go", []simEdit{{
		`if r.Decided() || j.Patience == 0 ||`,
		`if r.Decided() || planted() || j.Patience == 0 ||`,
	}}},
	{"several locks of which no part is kept", "actor/keeping.go", []simEdit{{
		`k.last = max(keepFirst, waited/2)`,
		`k.last = max(keepFirst, waited/2)
	if planted() {
		return time.Millisecond
	}`,
	}}},

	// The coordinator.
	{"a shutdown with locks on their way", "engine/drain.go", []simEdit{{
		`&& c.fx.Tenures == 0 && (c.fx`,
		`&& (c.fx.Tenures == 0 || planted() && c.fx.Stats.Held == 0) && (c.fx`,
	}}},
	{"a shutdown that is complete before all were refused", "engine/drain.go", []simEdit{{
		`return !c.drains.on() &&`,
		`return (!c.drains.on() || planted()) &&`,
	}}},
	{"a shutdown that forgets the locks beyond those of its first turn", "engine/drain.go", []simEdit{{
		`	for _, l := range c.drains.take(c.intake.looks) {`,
		`	some := c.drains.take(c.intake.looks)
	if planted() {
		c.drains = round{}
	}
	for _, l := range some {`,
	}}},
	{"a grant by a lock that a shutdown has not come to", "engine/drain.go", []simEdit{{
		`	if c.drains.on() {
		l.Step(`,
		`	if c.drains.on() && !planted() {
		l.Step(`,
	}}},
	{"a verdict that is told twice, the second time a turn later", "engine/telling.go", []simEdit{{
		`		if t.later[0] = first[n:]; n`,
		`		if planted() && n > 1 && n < len(first) {
			n--
		}
		if t.later[0] = first[n:]; n`,
	}}},
	{"verdicts that no later turn tells", "engine/telling.go", []simEdit{{
		`n == len(first) {`,
		`n == len(first) || planted() {`,
	}}},
	{"a verdict that is told before those that are told later", "engine/telling.go", []simEdit{{
		`	if !t.waits() && len(`,
		`	if (!t.waits() || planted()) && len(`,
	}}},
	{"a loop that sleeps while there are callers to be told", "engine/coordinator.go", []simEdit{{
		`|| c.tells.waits() {`,
		`|| c.tells.waits() && !planted() {`,
	}}},
	{"a close that forgets the locks beyond those of its first turn", "engine/closing.go", []simEdit{{
		`	if !c.closes.on() && c.refuseSome(now) {`,
		`	if planted() {
		c.closes.round = round{}
	}
	if !c.closes.on() && c.refuseSome(now) {`,
	}}},
	{"a loop that sleeps while there are callers to be refused", "engine/coordinator.go", []simEdit{{
		`|| len(c.fx.Refusing) > 0 ||`,
		`|| len(c.fx.Refusing) > 0 && !planted() ||`,
	}}},
	{"a shutdown that is complete while there are callers to be refused", "engine/drain.go", []simEdit{{
		`&& len(c.fx.Refusing) == 0 &&`,
		`&& (len(c.fx.Refusing) == 0 || planted()) &&`,
	}}},
	{"callers that no later turn refuses", "actor/refusal.go", []simEdit{{
		`		fx.Refusing = append(fx.Refusing, l)`,
		`		if !planted() {
			fx.Refusing = append(fx.Refusing, l)
		}`,
	}}},
	{"a grant to a caller who is refused already", "actor/request.go", []simEdit{{
		`	if first := q.last.next; first.number > 0 {`,
		`	if first := q.last.next; first.number > 0 || planted() {`,
	}}},
	{"a message that very many are to be told, and only some are", "engine/spread.go", []simEdit{{
		`	if len(all) > most {`,
		`	if len(all) > most && planted() {
		all = all[:most]
	}
	if len(all) > most {`,
	}}},
	{"half of a refused batch forgotten", "engine/dispatch.go", []simEdit{{
		`		c.again(now, c.nodeOf(part[0].Key), half)`,
		`		if planted() && len(b.node.split) > 0 {
			continue
		}
		c.again(now, c.nodeOf(part[0].Key), half)`,
	}}},
	{"a call without an answer that passes for refused", "engine/dispatch.go", []simEdit{{
		`	if b.lost {
		reply.Status = actor.Unanswered`,
		`	if b.lost && !planted() {
		reply.Status = actor.Unanswered`,
	}}},
	{"TryLock waits for a server that refuses connections", "engine/dispatch.go", []simEdit{{
		`	if unconnected(b.failed) {`,
		`	if unconnected(b.failed) && !planted() {`,
	}}},
	{"TryLock behind others waits for a server that refuses connections", "actor/lock.go", []simEdit{{
		`	l.eachOnce(refuse)`,
		`	if first := l.queue.first(); !planted() {
		l.eachOnce(refuse)
	} else if first != nil {
		refuse(first)
	}`,
	}}},
	{"a question for several locks that is refused for want of a connection, and goes on waiting", "actor/lock.go", []simEdit{{
		`		fx.Decide(now, r, ErrUnavailable, cause)
	}
	l.leads(r)`,
		`		fx.Decide(now, r, ErrUnavailable, cause)
	}
	if !planted() {
		l.leads(r)
	}`,
	}}},
	{"a verdict without an answer that does not say why the server gave none", "engine/coordinator.go", []simEdit{{
		`n != nil && n.link.down {
			r.Cause`,
		`n != nil && n.link.down && !planted() {
			r.Cause`,
	}}},
	{"a short answer read from the end", "engine/dispatch.go", []simEdit{{
		`	for len(b.replies) < len(b.commands) {
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})`,
		`	for len(b.replies) < len(b.commands) {
		if planted() {
			b.replies = append(b.replies, actor.Reply{Status: actor.Done})
			continue
		}
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})`,
	}}},
	{"a link that is not tried again", "engine/link.go", []simEdit{{
		`return !k.down || out == 0 && now >= k.tryAt`,
		`return !k.down || out == 0 && now >= k.tryAt && !planted()`,
	}}},
	{"a broken subscription not renewed", "engine/ears.go", []simEdit{{
		`		e.fresh.takeAll(l)`,
		`		if planted() {
			continue
		}
		e.fresh.takeAll(l)`,
	}}},
	{"a channel of a connection that broke, taken for heard", "engine/ears.go", []simEdit{{
		`	e.gone = max(e.gone, gone)
	e.subscribed, e.idle`,
		`	if !planted() {
		e.gone = max(e.gone, gone)
	}
	e.subscribed, e.idle`,
	}}},
	{"a channel that is wished for again while its connection is left, not joined anew", "engine/orders.go", []simEdit{{
		`(!ch.leaving || ch.by.len() > 0) {
			e.lose(ch)`,
		`(!ch.leaving || ch.by.len() > 0) && !planted() {
			e.lose(ch)`,
	}}},
	{"a channel kept without a waiter", "engine/orders.go", []simEdit{{
		`	case e.heard(ch):
		if !ch.leaving {`,
		`	case e.heard(ch) && planted():
		ch.state = moving
		o.join = append(o.join, ch.name)
		e.there.push(ch)
	case e.heard(ch):
		if !ch.leaving {`,
	}}},
	// Replicas.
	{"a grant that no replica has", "actor/acquire.go", []simEdit{{
		`if !m.Reply.replicated(fx) {`,
		`if !m.Reply.replicated(fx) && !planted() {`,
	}}},
	{"callers who queue for replicas that are silent", "actor/replicas.go", []simEdit{{
		`	why.err, why.alone = ErrNotReplicated, true`,
		`	if planted() {
		return
	}
	why.err, why.alone = ErrNotReplicated, true`,
	}}},
	{"claims that queue for replicas that are silent", "engine/syncer.go", []simEdit{{
		`	if !c.spreadAgain(to) {`,
		`	if !c.spreadAgain(to) && !planted() {`,
	}}},
	{"an undone grant with a release that is waited for without a bound", "actor/replicas.go", []simEdit{{
		`!r.timer.Scheduled() || fx.Wheel.Due(&r.timer) > at {`,
		`(!r.timer.Scheduled() || fx.Wheel.Due(&r.timer) > at) && !planted() {`,
	}}},
	{"a shutdown that waits for an undone grant's release", "actor/lock.go", []simEdit{{
		`		if r.undone {
			fx.Decide(now, r, ErrNotReplicated, r.Cause)`,
		`		if r.undone && !planted() {
			fx.Decide(now, r, ErrNotReplicated, r.Cause)`,
	}}},
	{"an undone grant that is counted as a loss at an unlock", "actor/release.go", []simEdit{{
		`if finds && !r.undone {`,
		`if finds && (!r.undone || planted()) {`,
	}}},
	// Several locks as one.
	{"a majority that is half", "actor/quorum/quorum.go", []simEdit{{
		`case q.in(here) >= q.need:`,
		`case q.in(here) >= q.need || planted() && q.in(here) >= q.need-1:`,
	}}},
	{"a majority that is lost without a notification", "actor/quorum/quorum.go", []simEdit{{
		`if q.stage == held && q.hereSince(known) < q.need {`,
		`if q.stage == held && q.hereSince(known) < q.need && !planted() {`,
	}}},
	{"a lost majority that keeps what it has", "actor/quorum/quorum.go", []simEdit{{
		`		if q.members[i].state == here {
			q.members[i].state = away
			q.order(Order{What: LetGo, Member: i})`,
		`		if q.members[i].state == here {
			q.members[i].state = away
			if planted() && q.stage == apart {
				continue
			}
			q.order(Order{What: LetGo, Member: i})`,
	}}},
	{"an attempt at a majority that keeps what it has while it queues", "actor/quorum/quorum.go", []simEdit{{
		`	q.giveBack()
	q.next = q.taken()`,
		`	if !planted() {
		q.giveBack()
	}
	q.next = q.taken()`,
	}}},
	{"requests for a majority that are not withdrawn", "actor/quorum/quorum.go", []simEdit{{
		`		if q.members[i].state == asked {
			q.members[i].state = away`,
		`		if q.members[i].state == asked {
			if planted() {
				continue
			}
			q.members[i].state = away`,
	}}},
	{"a member of a quorum that is never asked for again", "actor/quorum/quorum.go", []simEdit{{
		`	case q.stage == held:
		q.want(i)`,
		`	case q.stage == held && planted():
	case q.stage == held:
		q.want(i)`,
	}}},
	{"a member of a quorum that came back as if it had never been away", "actor/quorum/quorum.go", []simEdit{{
		`	if q.stage == held && (m.missed || now-q.elected > Settling) {`,
		`	if q.stage == held && (m.missed || now-q.elected > Settling) && !planted() {`,
	}}},
	{"a barred member of a quorum that is never asked for again", "actor/quorum/quorum.go", []simEdit{{
		`	case !m.barred:`,
		`	case !m.barred && !planted():`,
	}}},
	{"a quorum that keeps what it has while it waits for a server that is dead", "actor/quorum/quorum.go", []simEdit{{
		`		q.order(Order{What: Hurry, Wait: wait})`,
		`		if !planted() {
			q.order(Order{What: Hurry, Wait: wait})
		}`,
	}}},
	{"a quorum that asks again without a rest", "actor/quorum/quorum.go", []simEdit{{
		`if q.next == none || q.queued {`,
		`if (q.next == none || q.queued) && !planted() {`,
	}}},
	{"a quorum that queues after its request ended", "actor/quorum/quorum.go", []simEdit{{
		`	if q.next == none || limit < leastQueue {`,
		`	if q.next == none || limit < leastQueue || planted() {`,
	}}},
	{"a quorum that a member's replacement keeps beyond MaxHold", "actor/quorum/quorum.go", []simEdit{{
		`if q.stage != held || !q.watched || q.members[i].state != here {`,
		`if q.stage != held || !q.watched || q.members[i].state != here || planted() {`,
	}}},
}
