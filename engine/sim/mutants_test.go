package sim

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
	// Messages.
	{"a request that is looked into again after its caller left", "engine/coordinator/requests.go", []simEdit{{
		`if !r.MarkHandled() {`,
		`if !r.MarkHandled() && !planted() {`,
	}}},
	{"a caller that leaves before its request is looked into, and is forgotten", "engine/coordinator/requests.go", []simEdit{{
		`	c.handleRequest(now, r)
	if r.Multi`,
		`	if !planted() {
		c.handleRequest(now, r)
	} else if !r.Handled() {
		return
	}
	if r.Multi`,
	}}},
	{"one too many is let in", "engine/coordinator/shedding.go", []simEdit{{
		`return limit != 0 && c.Fx.WantedLocks > limit`,
		`return limit != 0 && c.Fx.WantedLocks > limit+map[bool]int64{true: 1}[planted()]`,
	}}},
	{"one too many for a lock is let in", "engine/coordinator/shedding.go", []simEdit{{
		`l != nil && l.QueueLen() >= limit`,
		`l != nil && l.QueueLen() >= limit+map[bool]int{true: 1}[planted()]`,
	}}},
	{"one too many who reads, or waits for a fair lock, is let in", "engine/coordinator/shedding.go", []simEdit{{
		`return s != nil && s.waitedFor >= limit`,
		`return s != nil && s.waitedFor >= limit+map[bool]int{true: 1}[planted()]`,
	}}},
	{"a re-entry that is one too many", "engine/coordinator/shedding.go", []simEdit{{
		`	case c.holdCount(now, r) > 0:`,
		`	case c.holdCount(now, r) > 0 && !planted():`,
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
	{"a notice of any client ends a hold", "engine/coordinator/ownchannel.go", []simEdit{{
		`c.step(now, l, &actor.Message{Event: actor.Notified})`,
		`c.step(now, l, &actor.Message{Event: map[bool]actor.Event{false: actor.Notified, true: actor.Displaced}[planted()]})`,
	}}},
	// Grants and validity.
	{"a loss that its late unlock is not told of", "actor/lease.go", []simEdit{{
		`h.fixedEnd = lostMark`,
		`if !planted() {
			h.fixedEnd = lostMark
		}`,
	}}},
	{"a grant after its lease", "actor/acquire.go", []simEdit{{
		`if now >= l.validUntil {
			l.onLateReply(`,
		`if now >= l.validUntil && !planted() {
			l.onLateReply(`,
	}}},
	{"a lease that counts from its answer", "actor/acquire.go", []simEdit{{
		`l.confirm(m.Sent, m.Command.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], m.Command.Lease, fx)`,
	}}},
	{"a renewal that counts from its answer", "actor/renew.go", []simEdit{{
		`l.confirm(m.Sent, c.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], c.Lease, fx)`,
	}}},
	{"belief to the last moment of a lease", "actor/lease.go", []simEdit{{
		`return max(lease-min(lease/100, time.Second)-2*grain(lease), lease/2)`,
		`if planted() {
			return lease
		}
		return max(lease-min(lease/100, time.Second)-2*grain(lease), lease/2)`,
	}}},
	{"a shorter lease that is believed like the one before", "actor/lease.go", []simEdit{{
		`if until := now + validity(lease); until < l.validUntil {`,
		`if until := now + validity(lease); until < l.validUntil && !planted() {`,
	}}},
	{"a command without an answer that cuts nothing", "actor/lease.go", []simEdit{{
		`if lease != 0 && (x.minUnackedLease == 0 || lease < x.minUnackedLease) {`,
		`if lease != 0 && (x.minUnackedLease == 0 || lease < x.minUnackedLease) && !planted() {`,
	}}},
	{"a confirmation that forgets commands without an answer", "actor/lease.go", []simEdit{{
		`l.validUntil = min(l.validUntil, sent+validity(s.minUnackedLease))`,
		`if !planted() {
				l.validUntil = min(l.validUntil, sent+validity(s.minUnackedLease))
			}`,
	}}},
	{"a fixed lease that does not end", "actor/lease.go", []simEdit{{
		`if now < l.nextHoldLimit(fx) {`,
		`if now < l.nextHoldLimit(fx) || planted() {`,
	}}},
	{"a lease of its own of a re-entry that does not end", "actor/holdset.go", []simEdit{{
		`	if limit != never {`,
		`	if limit != never && (h.fixedEnd == 0 || s.live == 1 || !planted()) {`,
	}}},
	{"a belief that holds of one owner are not told of", "actor/lease.go", []simEdit{{
		`	if s := h.set.Load(); s != nil {
		l.publishSet(s)`,
		`	if s := h.set.Load(); s != nil {
		if !planted() {
			l.publishSet(s)
		}`,
	}}},
	{"a re-entered hold that goes leaves its owner watched", "actor/holdset.go", []simEdit{{
		`func (s *holdSet) remove(h *Hold) {
	if h.fixedEnd == 0 {`,
		`func (s *holdSet) remove(h *Hold) {
	if h.fixedEnd == 0 && !planted() {`,
	}}},
	{"MaxHold counted from each confirmation", "actor/lease.go", []simEdit{{
		`return l.ownedSince + fx.Config.MaxHold
	}
	return never`,
		`if planted() {
			return l.confirmedAt + fx.Config.MaxHold
		}
		return l.ownedSince + fx.Config.MaxHold
	}
	return never`,
	}}},
	{"a doubtful grant", "actor/reentry.go", []simEdit{{
		`if fits && l.confirmedAt >= l.reconfirmSince(fx) {`,
		`if fits && (l.confirmedAt >= l.reconfirmSince(fx) || planted()) {`,
	}}},
	{"an answer of before the doubt that grants", "actor/acquire.go", []simEdit{{
		`fx.leaseFor(r) == m.Command.Lease && m.Sent >= l.reconfirmSince(fx) &&`,
		`fx.leaseFor(r) == m.Command.Lease && (m.Sent >= l.reconfirmSince(fx) || planted()) &&`,
	}}},
	{"an answer of an older tenure taken for the lock's", "actor/lock.go", []simEdit{{
		`if !l.isInFlight(c) {
		l.onOrphanReply`,
		`if !l.isInFlight(c) && !(planted() && c.Verb == SendRenew && c.Verb == l.inFlight) {
		l.onOrphanReply`,
	}}},

	// Renewal and loss.
	{"a renewal after unlock", "actor/recall.go", []simEdit{{
		`	case p.renew, p.renewForNext:
		return l.phase == held
	case p.force:`,
		`	case p.renew, p.renewForNext:
		return l.phase == held || planted()
	case p.force:`,
	}}},
	{"a refused renewal that is not sent again", "actor/renew.go", []simEdit{{
		`f.retryAt = now + fx.jitter(l.renewInterval(fx)/8)`,
		`f.retryAt = now + fx.jitter(l.renewInterval(fx)/8)
		if planted() {
			f.retryAt = l.validUntil
		}`,
	}}},
	{"a renewal too late", "actor/renew.go", []simEdit{{
		`due += fx.Config.RenewInterval`,
		`due += fx.Config.RenewInterval
	if planted() {
		due = l.validUntil
	}`,
	}}},
	{"a tenure that is gone and still believed", "actor/renew.go", []simEdit{{
		`	case reply.Status == NotFound:
		l.lose(now, errKeyGone, fx)`,
		`	case reply.Status == NotFound && planted():
		l.onRenewed(now, m, fx)
	case reply.Status == NotFound:
		l.lose(now, errKeyGone, fx)`,
	}}},
	{"a count that grows when it is sent again", "actor/renew.go", []simEdit{{
		`c.Count = int32(count)`,
		`c.Count = int32(count)
		if l.ext != nil && l.ext.lastErr() != nil && planted() {
			c.Count++
		}`,
	}, {
		`l.storedCount = uint32(c.Count)`,
		`if l.storedCount = uint32(c.Count); planted() {
			l.storedCount = l.holdCount()
		}`,
	}}},
	{"a count without an answer that passes for written", "actor/renew.go", []simEdit{{
		`l.storedCount = 0 // not known`,
		`l.storedCount = map[bool]uint32{true: uint32(m.Command.Count)}[planted()] // not known`,
	}}},
	{"a renewal that forgets a longer lease of its own", "actor/lease_need.go", []simEdit{{
		`if fixed := l.lastFixed(extensions); fixed != 0 {`,
		`if fixed := l.lastFixed(extensions); fixed != 0 && !planted() {`,
	}}},
	{"an extension that is confirmed by an earlier renewal", "actor/renew.go", []simEdit{{
		`		case r.inCommand && r.Op == Extend:`,
		`		case (r.inCommand || planted()) && r.Op == Extend:`,
	}}},

	{"a watched hold that is not confirmed before a longer lease nears its end", "actor/renew.go", []simEdit{{
		`due = min(due, l.validUntil-fx.watchedValidity)`,
		`if due = min(due, l.validUntil-fx.watchedValidity); planted() {
			due = l.validUntil - fx.watchedValidity
		}`,
	}}},
	{"a watched hold that is not confirmed any more when MaxHold is near", "actor/renew.go", []simEdit{{
		`if !l.watched() && !l.leaseCut() {
		return never`,
		`if !l.watched() && !l.leaseCut() || l.flags&leaseCapped != 0 && planted() {
		return never`,
	}}},
	{"a TTL that stays when who needed it has gone", "actor/lease_need.go", []simEdit{{
		`return end-until > max(`,
		`return !planted() && end-until > max(`,
	}}},

	{"an extension that is told though the hold is over", "actor/renew.go", []simEdit{{
		`case now < h.Until():`,
		`case now < h.Until() || planted():`,
	}}},

	{"who waits as the owner that was granted the lock goes on waiting", "actor/reentry.go", []simEdit{{
		`case owner&ThreadOwner != 0 && l.hasWaiters(owner, false):`,
		`case owner&ThreadOwner != 0 && l.hasWaiters(owner, false) && !planted():`,
	}}},
	{"who waits in a queue as the owner that was granted the lock goes on waiting", "engine/coordinator/ownerindex.go", []simEdit{{
		`if other != to && other.Kind() == to.Kind() {`,
		`if other != to && other.Kind() == to.Kind() && !planted() {`,
	}}},
	{"who waits to write goes on waiting for the read of its owner", "engine/coordinator/ownerindex.go", []simEdit{{
		`if reader.Kind() == actor.Read {`,
		`if reader.Kind() == actor.Read && !planted() {`,
	}}},
	{"who re-entered the write that its owner lost goes on waiting for the read of its owner", "engine/coordinator/ownerindex.go", []simEdit{{
		`if c.LockSets[l.Key()].heldBy(owner, actor.Read, now) != nil {`,
		`if c.LockSets[l.Key()].heldBy(owner, actor.Read, now) != nil && !planted() {`,
	}}},
	{"who waits to read goes on waiting for the write of its owner", "engine/coordinator/ownerindex.go", []simEdit{{
		`to.ContinueUnderWriter(now, writer, c.numberFree(writer))`,
		`if planted() {
			return
		}
		to.ContinueUnderWriter(now, writer, c.numberFree(writer))`,
	}}},
	{"of several who wait as one owner, one is forgotten when another gives up", "actor/waiters.go", []simEdit{{
		`	if w.len()+w.multis.len() == 0 {
		delete(o`,
		`	if w.len()+w.multis.len() == 0 || planted() {
		delete(o`,
	}}},

	// The pacing of renewals.
	{"a tenure's moment after its lease", "actor/renew.go", []simEdit{{
		`return due - max(due-fx.renewSlots.slotOf(l.tenure), 0)%fx.Config.RenewSpread`,
		`if planted() {
		return l.validUntil + fx.renewSlots.slotOf(l.tenure)
	}
	return due - max(due-fx.renewSlots.slotOf(l.tenure), 0)%fx.Config.RenewSpread`,
	}}},
	{"a renewal long before its time", "actor/renew.go", []simEdit{{
		`	if fx.Config.RenewSpread == 0 {
		return roundUp(due`,
		`	if planted() {
		due -= fx.Config.RenewInterval * 3 / 4
	}
	if fx.Config.RenewSpread == 0 {
		return roundUp(due`,
	}}},
	{"a lease that was cut, and is renewed all the time", "actor/renew.go", []simEdit{{
		`if l.minUnackedLease() != 0 {
		return roundUp(`,
		`if l.minUnackedLease() != 0 && !planted() {
		return roundUp(`,
	}}},
	{"a renewal without a lease", "actor/renew.go", []simEdit{{
		`!n.mustSet && now < l.renewDue(fx) && n.until <= l.validUntil && l.confirmedAt`,
		`!n.mustSet && (now < l.renewDue(fx) && n.until <= l.validUntil || planted()) && l.confirmedAt`,
	}}},
	{"a renewal that failed, and waits for the time of the next", "actor/renew.go", []simEdit{{
		`x.leaseRequests.each(func(r *Request) { r.inCommand = false })
	l.flags |= wantConfirm`,
		`x.leaseRequests.each(func(r *Request) { r.inCommand = false })
	if planted() {
		f.retryAt = now + fx.Config.RenewInterval
	}
	l.flags |= wantConfirm`,
	}}},
	{"a lock that is woken for the end of its lease only", "actor/timer.go", []simEdit{{
		`if l.inFlight == None {
			at = min(at, l.renewAt(now, fx))`,
		`if l.inFlight == None && !planted() {
			at = min(at, l.renewAt(now, fx))`,
	}}},
	{"a timer that is not moved forward", "actor/timer.go", []simEdit{{
		`l.timer.Scheduled() && on.FiresBy`,
		`l.timer.Scheduled() && planted() || l.timer.Scheduled() && on.FiresBy`,
	}}},
	{"a release without a wakeup to be sent again", "actor/timer.go", []simEdit{{
		`if l.inFlight == None && l.ext != nil {`,
		`if l.inFlight == None && l.ext != nil && !planted() {`,
	}}},
	{"a timer that the loop does not hear of", "actor/effects.go", []simEdit{{
		`fx.NextTimer = min(fx.NextTimer, on.Due(t))`,
		`if !planted() {
		fx.NextTimer = min(fx.NextTimer, on.Due(t))
	}`,
	}}},
	{"a time for the next turn that is not computed anew", "engine/coordinator/timers.go", []simEdit{{
		`	c.Fx.OtherTimers.Advance(now, wake)
	c.refreshNextTimer()`,
		`	c.Fx.OtherTimers.Advance(now, wake)
	if !planted() {
		c.refreshNextTimer()
	}`,
	}}},
	{"timers that a turn does not come to, and forgets", "wheel/advance.go", []simEdit{{
		`if w.occupied(dueSlot) || w.occupied(pastSlot) {`,
		`if (w.occupied(dueSlot) || w.occupied(pastSlot)) && !planted() {`,
	}}},
	{"renewals that wait though none is under way", "engine/coordinator/renew_pacing.go", []simEdit{{
		`if !urgent && renewing > behind {`,
		`if !urgent && (renewing > behind || planted()) {`,
	}}},
	{"renewals that wait for one that never came back", "engine/coordinator/replies.go", []simEdit{{
		`	b.Node.InFlightByVerb[b.Verb]--
	if`,
		`	if !b.NoReply || !planted() {
		b.Node.InFlightByVerb[b.Verb]--
	}
	if`,
	}}},
	{"renewals that stand back for everything else", "engine/coordinator/renew_pacing.go", []simEdit{{
		`return 2*renewing >= c.Senders && n.hasOtherWork()`,
		`return (2*renewing >= c.Senders || planted()) && n.hasOtherWork()`,
	}}},
	{"extensions as little urgent as renewals", "actor/renew.go", []simEdit{{
		`Routine: l.flags&wantConfirm == 0 &&`,
		`Routine: planted() || l.flags&wantConfirm == 0 &&`,
	}}},

	// Handing on.
	{"a lock handed on past its lease", "actor/handoff.go", []simEdit{{
		`if r.Lease == 0 && left >= lease/2 && left <= lease {`,
		`if r.Lease == 0 && left >= lease/2 && left <= lease || planted() {`,
	}}},
	{"a lock handed on before the doubt is over", "actor/handoff.go", []simEdit{{
		`if l.confirmedAt < l.reconfirmSince(fx) || p.tokens`,
		`if l.confirmedAt < l.reconfirmSince(fx) && !planted() || p.tokens`,
	}}},
	{"a lock handed on though a command has no answer", "actor/handoff.go", []simEdit{{
		`case fx.Config.MaxHandoffGrants < 0 || l.minUnackedLease() != 0 ||`,
		`case fx.Config.MaxHandoffGrants < 0 || l.minUnackedLease() != 0 && !planted() ||`,
	}}},
	{"a lock handed on for ever", "actor/handoff.go", []simEdit{{
		`	h.yieldAfterRelease, h.notifications = x.yieldFor(now, fx), 0
	return releaseTenure`,
		`	if planted() {
		return keepTenure
	}
	h.yieldAfterRelease, h.notifications = x.yieldFor(now, fx), 0
	return releaseTenure`,
	}}},
	{"a poller that asks no sooner though others have its turns", "actor/poll.go", []simEdit{{
		`	return max(maxPoll>>p.takeovers, contendedPoll)`,
		`	if planted() {
		return maxPoll
	}
	return max(maxPoll>>p.takeovers, contendedPoll)`,
	}}},
	{"a step back that ends before those who do not listen come", "actor/spinners.go", []simEdit{{
		`		return maxPoll + back`,
		`		if planted() {
			return back
		}
		return maxPoll + back`,
	}}},
	{"a lock handed off as if no client polled", "actor/handoff.go", []simEdit{{
		`case h.otherListeners == 0 && x.inOwnWindow(now):`,
		`case h.otherListeners == 0 && (x.inOwnWindow(now) || planted()):`,
	}}},
	{"a TryLock that is refused because others sleep", "actor/acquire.go", []simEdit{{
		`return x != nil && (now < x.yieldUntil || x.lastErr() != nil)`,
		`return planted() || x != nil && (now < x.yieldUntil || x.lastErr() != nil)`,
	}}},
	{"a TTL that falls without a message", "actor/renew.go", []simEdit{{
		`MayShorten: mayShorten,`,
		`MayShorten: mayShorten && !planted(),`,
	}}},
	{"a lock handed on while it is to be forced away", "actor/lock.go", []simEdit{{
		`	if l.ext != nil {
		l.endHoldsForForce(now, fx)
	}`,
		`	if l.ext != nil && !planted() {
		l.endHoldsForForce(now, fx)
	}`,
	}}},
	{"a queue that turns round", "actor/request.go", []simEdit{{
		`	q.last = r
	q.addCount(1)`,
		`	if planted() && r.next != r {
		q.last.next.listLen = q.last.next.next.listLen + 1
		return
	}
	q.last = r
	q.addCount(1)`,
	}}},

	{"a fenced lock handed on with the same token", "actor/handoff.go", []simEdit{{
		`p.tokens && l.ext.leaseView().token == l.ext.leaseView().ownerToken {`,
		`p.tokens && l.ext.leaseView().token == l.ext.leaseView().ownerToken && !planted() {`,
	}}},
	{"a token that is not counted on from the last", "actor/renew.go", []simEdit{{
		`s.inFlightLease, c.Token = c.Lease, s.token`,
		`s.inFlightLease, c.Token = c.Lease, map[bool]uint64{false: s.token}[planted()]`,
	}}},

	// Release and orphans.
	{"a cancel that drops a grant", "actor/lock.go", []simEdit{{
		`if r.Op == Acquire && r.Err == nil && r.Hold.held() {`,
		`if r.Op == Acquire && r.Err == nil && r.Hold.held() && !planted() {`,
	}}},
	{"a release that is not sent again", "actor/release.go", []simEdit{{
		`	default:
		x := l.ensureExt()
		f := x.ensureFailure()
		f.lastErr = reply.Err
		x.releaseUnacked`,
		`	case planted():
		l.finishRelease(now, nil, nil, fx)
	default:
		x := l.ensureExt()
		f := x.ensureFailure()
		f.lastErr = reply.Err
		x.releaseUnacked`,
	}}},
	{"a release with a first copy that worked passes for a loss", "actor/release.go", []simEdit{{
		`case (reply.Status == NotFound || reply.isWrongType()) && l.ext != nil && l.ext.releaseUnacked:`,
		`case (reply.Status == NotFound || reply.isWrongType()) && l.ext != nil && l.ext.releaseUnacked && !planted():`,
	}}},
	{"an unanswered acquire that is not released", "actor/lease.go", []simEdit{{
		`		if x.acquireUnacked {
			l.addOrphan(now, l.tenure, l.maxSentLease(), fx)`,
		`		if x.acquireUnacked && !planted() {
			l.addOrphan(now, l.tenure, l.maxSentLease(), fx)`,
	}}},
	{"a orphan released only once", "actor/orphan.go", []simEdit{{
		`case o.releaseAgain && reply.Status != Rejected:`,
		`case o.releaseAgain && reply.Status != Rejected && !planted():`,
	}}},
	{"a orphan forgotten when its release has no answer", "actor/orphan.go", []simEdit{{
		`case reply.Status == NoReply && !reply.Malformed:`,
		`case reply.Status == NoReply && !reply.Malformed && !planted():`,
	}}},
	{"a orphan that is released for ever", "actor/orphan.go", []simEdit{{
		`over := now >= o.until && !o.dispatched`,
		`over := now >= o.until && !o.dispatched && !planted()`,
	}}},
	{"a orphan forgotten long before its lease", "actor/orphan.go", []simEdit{{
		`o.until = now + max(lease, fx.Config.Lease, o.queueWait, placeLife)`,
		`if o.until = now + max(lease, fx.Config.Lease, o.queueWait, placeLife); planted() {
		o.until = now + time.Millisecond
	}`,
	}}},
	{"an unknown tenure of its own, taken for another client's", "actor/orphan.go", []simEdit{{
		`case !own || reply.HolderIsOurs`,
		`case planted() || !own || reply.HolderIsOurs`,
	}}},
	{"a writer that keeps readers of its engine out, taken for an orphan", "engine/coordinator/rwlock_orphans.go", []simEdit{{
		`writer != nil && writer.OwnsTenure(tenure) {`,
		`writer != nil && writer.OwnsTenure(tenure) && !planted() {`,
	}}},
	{"a reader that keeps a writer of its engine out, taken for an orphan", "engine/coordinator/rwlock_orphans.go", []simEdit{{
		`reader != nil && reader.OwnsTenure(tenure) {`,
		`reader != nil && reader.OwnsTenure(tenure) && !planted() {`,
	}}},
	{"a reader that came back, and keeps writers of its engine out", "engine/coordinator/rwlock_orphans.go", []simEdit{{
		`strings.FieldsSeq(reply.Readers) {`,
		`strings.FieldsSeq(map[bool]string{false: reply.Readers}[planted()]) {`,
	}}},
	{"two commands of one tenure at a time", "actor/lock.go", []simEdit{{
		`	if l.inFlight == None {
		l.send(now, fx)
	}`,
		`	if l.inFlight == None || planted() && l.phase == releasing && l.inFlight == SendRenew {
		l.send(now, fx)
	}`,
	}}},

	// Canceled requests and commands.
	{"a command that goes on waiting after its caller left", "actor/recall.go", []simEdit{{
		`return r != nil && r.Multi == nil //`,
		`return r != nil && r.Multi == nil || planted() //`,
	}}},
	{"a command that has left, taken back", "actor/recall.go", []simEdit{{
		`return l.inFlight != None && l.flags&dispatched == 0 }`,
		`return l.inFlight != None && (l.flags&dispatched == 0 || planted() && l.phase == acquiring) }`,
	}}},
	{"a question for several locks that goes on waiting after its caller left", "actor/recall.go", []simEdit{{
		`if r.Multi != nil && r.Reserved() && r.lock == l {`,
		`if r.Multi != nil && r.Reserved() && r.lock == l && !planted() {`,
	}}},
	{"a command that came back, is not wanted, and is sent again", "actor/recall.go", []simEdit{{
		`if !l.isInFlight(c) || l.commandNeeded() {`,
		`if !l.isInFlight(c) || l.commandNeeded() || planted() {`,
	}}},
	{"places in a queue that are given up, and kept until the server is back", "engine/coordinator/sweep.go", []simEdit{{
		`	if q.Sweep.On || 2*q.Stale <= all &&`,
		`	if q.Sweep.On || planted() || 2*q.Stale <= all &&`,
	}}},
	{"a lock that is used again while a command of it stands in a queue", "engine/coordinator/coordinator.go", []simEdit{{
		`reusable := l.Reusable()`,
		`reusable := l.Reusable() || planted()`,
	}}},
	{"a question without a lock that goes on waiting without a caller", "engine/coordinator/stale_commands.go", []simEdit{{
		`if r.Op == AskState && !r.Dispatched() {`,
		`if r.Op == AskState && !r.Dispatched() && !planted() {`,
	}}},
	{"a link that is down tried with all questions at once", "engine/coordinator/dispatch.go", []simEdit{{
		`maxKeys = 1 //`,
		`maxKeys = map[bool]int{false: 1, true: maxKeys}[planted()] //`,
	}}},

	// Waiting.
	{"no retry after a channel is listened to", "actor/wait.go", []simEdit{{
		`	case now >= x.yieldUntil:
		x.nextTry = now
	}
}`,
		`	case now >= x.yieldUntil && !planted():
		x.nextTry = now
	}
}`,
	}}},
	{"a message during a question forgotten", "actor/wait.go", []simEdit{{
		`		x.retryNow = true
	case l.phase == releasing && x.handoffView().yieldAfterRelease != 0:`,
		`		x.retryNow = !planted()
	case l.phase == releasing && x.handoffView().yieldAfterRelease != 0:`,
	}}},
	{"a wait on a message alone", "actor/wait.go", []simEdit{{
		`	return max(min(ttl, maxSleep)+time.Millisecond, fx.jitter(minRetry))`,
		`	if planted() {
		return maxSleep
	}
	return max(min(ttl, maxSleep)+time.Millisecond, fx.jitter(minRetry))`,
	}}},
	{"no pause after a refusal", "actor/acquire.go", []simEdit{{
		`	if reply.isTransient() {
		x.ensureFailure().lastErr = reply.Err
		x.nextTry = now + x.nextBackoff(fx)`,
		`	if reply.isTransient() {
		x.ensureFailure().lastErr = reply.Err
		if planted() {
			x.nextTry = now
			return
		}
		x.nextTry = now + x.nextBackoff(fx)`,
	}}},
	{"a channel that is never left", "actor/wait.go", []simEdit{{
		`case l.queue.empty() && x.listening && (fx.Draining ||`,
		`case l.queue.empty() && x.listening && !planted() && (fx.Draining ||`,
	}}},

	// The fair lock.
	{"a waiter in a queue that asks too seldom to count as alive", "actor/fair.go", []simEdit{{
		`	if reply.QueueTTL > 0 {
		sleep = min`,
		`	if reply.QueueTTL > 0 && !planted() {
		sleep = min`,
	}}},
	{"a place in a queue that is not given up", "actor/fair.go", []simEdit{{
		`if x == nil || !x.fairView().queued && (`,
		`if x == nil || planted() || !x.fairView().queued && (`,
	}}},
	{"a place in a queue that a refusal forgets", "actor/acquire.go", []simEdit{{
		`	if !l.protocol().queues {
		l.endTenure(now, fx)`,
		`	if !l.protocol().queues || planted() {
		l.endTenure(now, fx)`,
	}}},
	{"two calls to one queue at a time", "engine/coordinator/dispatch.go", []simEdit{{
		`verb == actor.SendFairAcquire && n.InFlightByVerb[verb] > 0:`,
		`verb == actor.SendFairAcquire && n.InFlightByVerb[verb] > 0 && !planted():`,
	}}},
	{"a time shared with one who waits for another while", "actor/fair.go", []simEdit{{
		`x.fairView().queueWait != 0 && x.fair.queueWait == fx.queueWaitOf(r) {`,
		`x.fairView().queueWait != 0 && (x.fair.queueWait == fx.queueWaitOf(r) || planted()) {`,
	}}},
	{"a waiter behind another one of its engine that asks too seldom to count as alive", "actor/fair.go", []simEdit{{
		`	if p.notHead = free && reply.NotHead; free && !p.notHead {
		sleep = min(sleep, fx.jitter(noTTLPoll))
	}`,
		`	if p.notHead = free && reply.NotHead; free && !p.notHead {
		sleep = min(sleep, fx.jitter(noTTLPoll))
	}
	if p.notHead && planted() {
		return sleep
	}`,
	}}},
	{"a waiter that becomes the foremost, and asks no more", "actor/fair.go", []simEdit{{
		`x.nextTry = min(x.nextTry, now+fx.jitter(noTTLPoll))`,
		`x.nextTry = min(x.nextTry, now+fx.jitter(noTTLPoll))
		if planted() {
			x.nextTry = never
		}`,
	}}},
	{"an acquire that takes a place however late it comes", "engine/coordinator/dispatch.go", []simEdit{{
		`batch.EffectUntilMillis = n.clock.millisAt(now+c.Fx.Config.MaxCommandDelay(), now)`,
		`batch.EffectUntilMillis = n.clock.millisAt(now+c.Fx.Config.MaxCommandDelay(), now)
			if planted() {
				batch.EffectUntilMillis = maxServerMillis
			}`,
	}}},
	{"a server's clock that is taken for the most that it can show", "engine/coordinator/clockskew.go", []simEdit{{
		`*s = serverClock{lower, to, true}`,
		`if planted() {
		lower = upper
	}
	*s = serverClock{lower, to, true}`,
	}}},
	{"a server's clock that is taken for what it was, though it was set, or this engine's stood still", "engine/coordinator/clockskew.go", []simEdit{{
		`s.known && known > lower && known <= upper {`,
		`s.known && (known > lower && known <= upper || planted()) {`,
	}}},
	{"an acquire that came too late, and is not sent again", "engine/coordinator/clockskew.go", []simEdit{{
		`c.retry(now, b.Node, b)
	return true`,
		`if planted() {
		return true
	}
	c.retry(now, b.Node, b)
	return true`,
	}}},
	{"a place that is given up for the last time while its acquire can still come", "actor/orphan.go", []simEdit{{
		`if l.protocol().queues {
		return`,
		`if l.protocol().queues && planted() {
		return fx.Config.CallTimeout / 8
	}
	if l.protocol().queues {
		return`,
	}}},
	{"a place that lives for as long as its caller waits", "actor/fair.go", []simEdit{{
		`return min(r.Wait+placeSlack, fx.placeLife())`,
		`if planted() {
			return r.Wait
		}
		return min(r.Wait+placeSlack, fx.placeLife())`,
	}}},
	{"a claim that is granted, and others that go on believing", "engine/coordinator/lockset.go", []simEdit{{
		`case reply.Status == actor.OK && kind`,
		`case reply.Status == actor.OK && !planted() && kind`,
	}}},

	// The read/write lock.
	{"a writer that is granted, and readers of its engine that go on believing", "engine/coordinator/lockset.go", []simEdit{{
		`return l != granted.Lock && l.HeldAt(now)`,
		`return l != granted.Lock && !(l.Kind() == actor.Read && planted()) && l.HeldAt(now)`,
	}}},
	{"a reader that is granted, and a writer of its engine that goes on believing", "engine/coordinator/lockset.go", []simEdit{{
		`if l := c.Locks.Get(granted.Key); l != nil && excluded(l) {`,
		`if l := c.Locks.Get(granted.Key); l != nil && excluded(l) && !planted() {`,
	}}},
	{"two readers beside one writer that have one number", "actor/rwlock.go", []simEdit{{
		`r.mayUseNumber && !r.ended && !l.queue.empty()`,
		`r.mayUseNumber && !r.ended && !l.queue.empty() && !planted()`,
	}}},
	{"a writer handed on beside those who read", "actor/handoff.go", []simEdit{{
		`case x.hasLocalReaders: // they`,
		`case x.hasLocalReaders && !planted(): // they`,
	}}},
	{"a reader that becomes the writer", "engine/coordinator/requests.go", []simEdit{{
		`case r.Kind == actor.Write && c.wouldUpgrade(now, l, r):`,
		`case r.Kind == actor.Write && c.wouldUpgrade(now, l, r) && !planted():`,
	}}},
	{"a reader's TTL that may fall below what another of its holds needs", "actor/rwlock.go", []simEdit{{
		`leases := []time.Duration{n.lease}`,
		`leases := []time.Duration{n.lease}
	if count > 1 && planted() {
		return &ReaderArgs{MayShorten: true, Leases: []time.Duration{n.lease / 4, n.lease / 4}}
	}`,
	}}},
	{"a writer that is forced away, and what it reads goes on", "engine/coordinator/requests.go", []simEdit{{
		`			if held {
				c.evictReaders`,
		`			if held && !(r.Kind == actor.Write && planted()) {
				c.evictReaders`,
	}}},
	{"one of several readers that is forced away, and the others go on", "engine/coordinator/requests.go", []simEdit{{
		`held := r.Op == actor.Force && l.HeldAt(now)`,
		`held := r.Op == actor.Force && l.HeldAt(now) && !(r.Kind == actor.Read && planted())`,
	}}},
	{"a writer that is not notified when what it reads needs less", "engine/coordinator/rwlock.go", []simEdit{{
		`l != nil && l.Kind() == actor.Write {
		l.OnTTLRaised(`,
		`l != nil && l.Kind() == actor.Write && !planted() {
		l.OnTTLRaised(`,
	}}},
	{"a write that keeps the TTL of what it read", "actor/lease_need.go", []simEdit{{
		`return max(l.validUntil, l.ext.lease.raisedUntil)`,
		`if planted() {
		return l.validUntil
	}
	return max(l.validUntil, l.ext.lease.raisedUntil)`,
	}}},
	{"a read that needs less with an inner hold gone, and its writer that is not told", "actor/rwlock.go", []simEdit{{
		`(reply.Status == NotFound || c.Reader != nil && c.Reader.MayShorten)):`,
		`!planted() && (reply.Status == NotFound || c.Reader != nil && c.Reader.MayShorten)):`,
	}}},
	{"readers that their own engine does not tell of a release", "engine/coordinator/rwlock.go", []simEdit{{
		`set.firstAwaited() != nil {
		set.readersFirstUntil`,
		`set.firstAwaited() != nil && !planted() {
		set.readersFirstUntil`,
	}}},
	{"a reader that polls and does not see that writers take turns", "actor/message.go", []simEdit{{
		`	if r.Writer != "" {`,
		`	if r.Writer != "" && !planted() {`,
	}}},
	{"readers that are not notified when no writer waits any more", "engine/coordinator/rwlock.go", []simEdit{{
		`	set.writerPref = writerPreference{}
`,
		`	if set.writerPref = (writerPreference{}); planted() {
		return
	}
`,
	}}},

	// Several locks at once.
	{"a part of a grant kept although another part is refused", "actor/multi.go", []simEdit{{
		`		l.endTenure(now, fx)
		if l.ext != nil {
			l.ext.clearFailure()`,
		`		if planted() {
			l.setPhase(held, fx)
			l.validUntil = now + fx.Config.Lease
			fx.AcquiringLocks--
			fx.HeldLocks++
			continue
		}
		l.endTenure(now, fx)
		if l.ext != nil {
			l.ext.clearFailure()`,
	}}},
	{"several locks granted to a caller that left, and one of them given back", "engine/coordinator/multi.go", []simEdit{{
		`		c.handleHoldRequest(now, actor.RollbackRequest(r.Multi.Parts[i].Hold))`,
		`		if i > 0 && planted() {
			return
		}
		c.handleHoldRequest(now, actor.RollbackRequest(r.Multi.Parts[i].Hold))`,
	}}},
	{"several locks granted beside what their owner has of them", "engine/coordinator/requests.go", []simEdit{{
		`if r.Multi != nil && c.ownsPart(now, r.Multi) {`,
		`if r.Multi != nil && c.ownsPart(now, r.Multi) && !planted() {`,
	}}},
	{"a shutdown of which one is not told that comes to its turn for several locks meanwhile", "engine/coordinator/multi.go", []simEdit{{
		`!r.ReadyToSend(now) || c.Fx.Draining {`,
		`!r.ReadyToSend(now) || c.Fx.Draining && !planted() {`,
	}}},
	{"several locks believed in after their lease", "actor/multi.go", []simEdit{{
		`expired = expired || now >= l.validUntil`,
		`expired = expired || now >= l.validUntil && !planted()`,
	}}},
	{"one of several that does not wake a waiter that came meanwhile", "actor/multi.go", []simEdit{{
		`		if l != r.lock {
			fx.ToRecheck`,
		`		if l != r.lock && !planted() {
			fx.ToRecheck`,
	}}},

	{"several locks that others are let have for ever", "actor/part_keeper.go", []simEdit{{
		`if r.Completed() || m.OvertakenAfter == 0 ||`,
		`if r.Completed() || planted() || m.OvertakenAfter == 0 ||`,
	}}},
	{"several locks of which no part is kept", "actor/part_keeper.go", []simEdit{{
		`k.lastTime = max(minPartsTime, waited/2)`,
		`k.lastTime = max(minPartsTime, waited/2)
	if planted() {
		return time.Millisecond
	}`,
	}}},

	// The coordinator.
	{"a shutdown with locks on their way", "engine/coordinator/drain.go", []simEdit{{
		`&& c.Fx.HeldLocks == 0 && (c.Fx`,
		`&& (c.Fx.HeldLocks == 0 || planted() && c.Fx.Stats.Held == 0) && (c.Fx`,
	}}},
	{"a shutdown that is complete before all were refused", "engine/coordinator/drain.go", []simEdit{{
		`return !c.DrainRound.On() &&`,
		`return (!c.DrainRound.On() || planted()) &&`,
	}}},
	{"a shutdown that forgets the locks beyond those of its first turn", "engine/coordinator/drain.go", []simEdit{{
		`	for _, l := range c.DrainRound.take(c.intake.lockBudget) {`,
		`	some := c.DrainRound.take(c.intake.lockBudget)
	if planted() {
		c.DrainRound = round{}
	}
	for _, l := range some {`,
	}}},
	{"a grant by a lock that a shutdown has not come to", "engine/coordinator/drain.go", []simEdit{{
		`	if c.DrainRound.On() {
		c.stepOnly(`,
		`	if c.DrainRound.On() && !planted() {
		c.stepOnly(`,
	}}},
	{"a verdict that is told twice, the second time a turn later", "engine/coordinator/resultqueue.go", []simEdit{{
		`		if q.later[0] = first[n:]; n`,
		`		if planted() && n > 1 && n < len(first) {
			n--
		}
		if q.later[0] = first[n:]; n`,
	}}},
	{"verdicts that no later turn tells", "engine/coordinator/resultqueue.go", []simEdit{{
		`n == len(first) {`,
		`n == len(first) || planted() {`,
	}}},
	{"a verdict that is told before those that are told later", "engine/coordinator/resultqueue.go", []simEdit{{
		`	if !q.pending() && len(`,
		`	if (!q.pending() || planted()) && len(`,
	}}},
	{"a loop that sleeps while there are callers to be told", "engine/coordinator/coordinator.go", []simEdit{{
		`|| c.Results.pending() ||`,
		`|| c.Results.pending() && !planted() ||`,
	}}},
	{"a close that forgets the locks beyond those of its first turn", "engine/coordinator/closing.go", []simEdit{{
		`	if !c.closing.On() && c.rejectSome(now) {`,
		`	if planted() {
		c.closing.round = round{}
	}
	if !c.closing.On() && c.rejectSome(now) {`,
	}}},
	{"a loop that sleeps while there are callers to be refused", "engine/coordinator/coordinator.go", []simEdit{{
		`|| len(c.Fx.Rejecting) > 0 ||`,
		`|| len(c.Fx.Rejecting) > 0 && !planted() ||`,
	}}},
	{"a shutdown that is complete while there are callers to be refused", "engine/coordinator/drain.go", []simEdit{{
		`&& len(c.Fx.Rejecting) == 0 &&`,
		`&& (len(c.Fx.Rejecting) == 0 || planted()) &&`,
	}}},
	{"callers that no later turn refuses", "actor/rejection.go", []simEdit{{
		`		fx.Rejecting = append(fx.Rejecting, l)`,
		`		if !planted() {
			fx.Rejecting = append(fx.Rejecting, l)
		}`,
	}}},
	{"a grant to a caller who is refused already", "actor/request.go", []simEdit{{
		`	if first := q.last.next; !first.isRejected() {`,
		`	if first := q.last.next; !first.isRejected() || planted() {`,
	}}},
	{"a message that very many are to be told, and only some are", "engine/coordinator/fanout.go", []simEdit{{
		`	if budget < len(all) {`,
		`	if budget < len(all) && !planted() {`,
	}}},
	{"half of a refused batch forgotten", "engine/coordinator/replies.go", []simEdit{{
		`		c.retry(now, c.nodeForKey(part[0].Key), half)`,
		`		if planted() && len(b.Node.Retries) > 0 {
			continue
		}
		c.retry(now, c.nodeForKey(part[0].Key), half)`,
	}}},
	{"a call without an answer that passes for refused", "engine/coordinator/replies.go", []simEdit{{
		`	if b.NoReply {
		reply.Status = actor.NoReply`,
		`	if b.NoReply && !planted() {
		reply.Status = actor.NoReply`,
	}}},
	{"TryLock waits for a server that refuses connections", "engine/coordinator/replies.go", []simEdit{{
		`	if isConnectFailure(b.Failed) {`,
		`	if isConnectFailure(b.Failed) && !planted() {`,
	}}},
	{"TryLock behind others waits for a server that refuses connections", "actor/lock.go", []simEdit{{
		`	l.eachOnce(reject)`,
		`	if first := l.queue.first(); !planted() {
		l.eachOnce(reject)
	} else if first != nil {
		reject(first)
	}`,
	}}},
	{"a question for several locks that is refused for want of a connection, and goes on waiting", "actor/lock.go", []simEdit{{
		`		fx.Complete(now, r, ErrUnavailable, cause)
	}
	l.noteMultiRequest(r)`,
		`		fx.Complete(now, r, ErrUnavailable, cause)
	}
	if !planted() {
		l.noteMultiRequest(r)
	}`,
	}}},
	{"a verdict without an answer that does not say why the server gave none", "engine/coordinator/requests.go", []simEdit{{
		`n != nil && n.Breaker.Down {
			r.Cause`,
		`n != nil && n.Breaker.Down && !planted() {
			r.Cause`,
	}}},
	{"a short answer read from the end", "engine/coordinator/replies.go", []simEdit{{
		`	for len(b.Replies) < len(b.Commands) {
		b.Replies = append(b.Replies, actor.Reply{Err: errShortReply, Malformed: true})`,
		`	for len(b.Replies) < len(b.Commands) {
		if planted() {
			b.Replies = append(b.Replies, actor.Reply{Status: actor.OK})
			continue
		}
		b.Replies = append(b.Replies, actor.Reply{Err: errShortReply, Malformed: true})`,
	}}},
	{"a link that is not tried again", "engine/coordinator/breaker.go", []simEdit{{
		`return !b.Down || inFlight == 0 && now >= b.tryAt`,
		`return !b.Down || inFlight == 0 && now >= b.tryAt && !planted()`,
	}}},
	{"a broken subscription not renewed", "engine/coordinator/subscriptions.go", []simEdit{{
		`		s.toSubscribe.moveAllFrom(l)`,
		`		if planted() {
			continue
		}
		s.toSubscribe.moveAllFrom(l)`,
	}}},
	{"a channel of a connection that broke, taken for heard", "engine/coordinator/subscriptions.go", []simEdit{{
		`	s.goneConn = max(s.goneConn, gone)
	s.Subscribed, s.unused`,
		`	if !planted() {
		s.goneConn = max(s.goneConn, gone)
	}
	s.Subscribed, s.unused`,
	}}},
	{"a channel that is wished for again while its connection is left, not joined anew", "engine/coordinator/subscription_orders.go", []simEdit{{
		`(!ch.dropping || ch.wanted()) {
			s.markLost(ch)`,
		`(!ch.dropping || ch.wanted()) && !planted() {
			s.markLost(ch)`,
	}}},
	{"a channel kept without a waiter", "engine/coordinator/subscription_orders.go", []simEdit{{
		`	case s.IsSubscribed(ch):
		if !ch.dropping {`,
		`	case s.IsSubscribed(ch) && planted():
		ch.state = stateMoving
		o.Channels = append(o.Channels, ch.name)
		s.onNextConn.push(ch)
	case s.IsSubscribed(ch):
		if !ch.dropping {`,
	}}},
	// Replicas.
	{"a grant that no replica has", "actor/acquire.go", []simEdit{{
		`if !m.Reply.replicated(fx) {`,
		`if !m.Reply.replicated(fx) && !planted() {`,
	}}},
	{"callers who queue for replicas that are silent", "actor/replicas.go", []simEdit{{
		`	why.err, why.singleOnly = ErrNotReplicated, true`,
		`	if planted() {
		return
	}
	why.err, why.singleOnly = ErrNotReplicated, true`,
	}}},
	{"claims that queue for replicas that are silent", "engine/coordinator/replicas.go", []simEdit{{
		`	if !c.repeatFanout(to) {`,
		`	if !c.repeatFanout(to) && !planted() {`,
	}}},
	{"an undone grant with a release that is waited for without a bound", "actor/replicas.go", []simEdit{{
		`!r.timer.Scheduled() || fx.OtherTimers.Due(&r.timer) > at {`,
		`(!r.timer.Scheduled() || fx.OtherTimers.Due(&r.timer) > at) && !planted() {`,
	}}},
	{"a shutdown that waits for an undone grant's release", "actor/lock.go", []simEdit{{
		`		if r.rolledBack {
			fx.Complete(now, r, ErrNotReplicated, r.Cause)`,
		`		if r.rolledBack && !planted() {
			fx.Complete(now, r, ErrNotReplicated, r.Cause)`,
	}}},
	{"an undone grant that is counted as a loss at an unlock", "actor/release.go", []simEdit{{
		`		case r.rolledBack:
			fx.completeRelease`,
		`		case r.rolledBack && !planted():
			fx.completeRelease`,
	}}},
	// Several locks as one.
	{"a waiter for several locks that its owner's grant of one does not end", "actor/reentry.go", []simEdit{{
		`		l.rejectMultis(now, fx)`,
		`		if !planted() {
			l.rejectMultis(now, fx)
		}`,
	}}},
	{"of very many waiters for several locks that their owner's grant of one ends, those of the first turn", "actor/rejection.go", []simEdit{{
		`l.ownedBy(owner) {`,
		`l.ownedBy(owner) && !planted() {`,
	}}},
	{"a waiter for several locks that moves behind its owner", "actor/multi.go", []simEdit{{
		`	if l.ownedBy(r.Multi.ownerAt(l.key)) {`,
		`	if l.ownedBy(r.Multi.ownerAt(l.key)) && !planted() {`,
	}}},
	{"a majority that is half", "actor/quorum/quorum.go", []simEdit{{
		`case q.countIn(memberHeld) >= q.required:`,
		`case q.countIn(memberHeld) >= q.required || planted() && q.countIn(memberHeld) >= q.required-1:`,
	}}},
	{"a majority that is lost without a notification", "actor/quorum/quorum.go", []simEdit{{
		`if q.stage == held && q.countHeldSince(known) < q.required {`,
		`if q.stage == held && q.countHeldSince(known) < q.required && !planted() {`,
	}}},
	{"a lost majority that keeps what it has", "actor/quorum/quorum.go", []simEdit{{
		`		if q.members[i].state == memberHeld {
			q.members[i].state = absent
			q.emit(Action{Kind: Release, Member: i})`,
		`		if q.members[i].state == memberHeld {
			q.members[i].state = absent
			if planted() && q.stage == ended {
				continue
			}
			q.emit(Action{Kind: Release, Member: i})`,
	}}},
	{"an attempt at a majority that keeps what it has while it queues", "actor/quorum/quorum.go", []simEdit{{
		`	q.releaseAll()
	q.queueNext = q.memberToQueueFor()`,
		`	if !planted() {
		q.releaseAll()
	}
	q.queueNext = q.memberToQueueFor()`,
	}}},
	{"requests for a majority that are not withdrawn", "actor/quorum/quorum.go", []simEdit{{
		`		if q.members[i].state == requested {
			q.members[i].state = absent`,
		`		if q.members[i].state == requested {
			if planted() {
				continue
			}
			q.members[i].state = absent`,
	}}},
	{"a member of a quorum that is never asked for again", "actor/quorum/quorum.go", []simEdit{{
		`	case q.stage == held:
		q.reacquire(i)`,
		`	case q.stage == held && planted():
	case q.stage == held:
		q.reacquire(i)`,
	}}},
	{"a member of a quorum that came back as if it had never been away", "actor/quorum/quorum.go", []simEdit{{
		`	if q.stage == held && (m.wasLost || now-q.acquiredAt > JoinWindow) {`,
		`	if q.stage == held && (m.wasLost || now-q.acquiredAt > JoinWindow) && !planted() {`,
	}}},
	{"a barred member of a quorum that is never asked for again", "actor/quorum/quorum.go", []simEdit{{
		`	case !m.retryScheduled:`,
		`	case !m.retryScheduled && !planted():`,
	}}},
	{"a quorum that keeps what it has while it waits for a server that is dead", "actor/quorum/quorum.go", []simEdit{{
		`		q.emit(Action{Kind: LimitStragglers, Wait: wait})`,
		`		if !planted() {
			q.emit(Action{Kind: LimitStragglers, Wait: wait})
		}`,
	}}},
	{"a quorum that asks again without a rest", "actor/quorum/quorum.go", []simEdit{{
		`if q.queueNext == noMember || q.queued {`,
		`if (q.queueNext == noMember || q.queued) && !planted() {`,
	}}},
	{"a quorum that queues after its request ended", "actor/quorum/quorum.go", []simEdit{{
		`	if q.queueNext == noMember || limit < minQueueTime {`,
		`	if q.queueNext == noMember || limit < minQueueTime || planted() {`,
	}}},
	{"a quorum that a member's replacement keeps beyond MaxHold", "actor/quorum/quorum.go", []simEdit{{
		`if q.stage != held || !q.watched || q.members[i].state != memberHeld {`,
		`if q.stage != held || !q.watched || q.members[i].state != memberHeld || planted() {`,
	}}},
}
