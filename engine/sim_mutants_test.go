package engine

// simMutant is a decision of the product with a mistake planted in it: where the source says one thing, a
// copy of it says another while the mutant is chosen. The product itself knows nothing of this.
type simMutant struct {
	what  string // is wrong
	file  string // from the root of the module
	edits []simEdit
}

// simEdit replaces one text by another in a copy of a file.
type simEdit struct {
	from string // once in the file
	to   string // planted() is true while the mutant is chosen
}

// simMutants are the decisions that locks and the coordinator make, each taken wrongly.
var simMutants = []simMutant{
	// Grants and belief.
	{"a grant after its lease", "actor/acquire.go", []simEdit{{
		`if now >= l.until {`,
		`if now >= l.until && !planted() {`,
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
		`l.until = min(l.until, sent+believed(x.shortest))`,
		`if !planted() {
				l.until = min(l.until, sent+believed(x.shortest))
			}`,
	}}},
	{"a fixed lease that does not end", "actor/tenure.go", []simEdit{{
		`if now < l.limitOf(h, fx) {`,
		`if now < l.limitOf(h, fx) || planted() {`,
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
		`if fits && l.confirmed >= fx.Doubted {`,
		`if fits && (l.confirmed >= fx.Doubted || planted()) {`,
	}}},
	{"an answer of before the doubt that grants", "actor/acquire.go", []simEdit{{
		`fx.leaseOf(r) == m.Command.Lease && m.Sent >= fx.Doubted {`,
		`fx.leaseOf(r) == m.Command.Lease && (m.Sent >= fx.Doubted || planted()) {`,
	}}},
	{"an answer of an older tenure taken for the lock's", "actor/lock.go", []simEdit{{
		`if c.Tenure != l.tenure || c.Verb != l.flight {
		l.ghostAnswered`,
		`if (c.Tenure != l.tenure || c.Verb != l.flight) && !(planted() && c.Verb == SendRenew && c.Verb == l.flight) {
		l.ghostAnswered`,
	}}},

	// Renewal and loss.
	{"a renewal after unlock", "actor/lock.go", []simEdit{{
		`	case p.renew, p.pass:
		return l.phase == held
	case p.force:`,
		`	case p.renew, p.pass:
		return l.phase == held || planted()
	case p.force:`,
	}}},
	{"a refused renewal that is not sent again", "actor/renew.go", []simEdit{{
		`x.retryAt = now + fx.jitter(l.renewEvery(fx)/8)`,
		`x.retryAt = now + fx.jitter(l.renewEvery(fx)/8)
		if planted() {
			x.retryAt = l.until
		}`,
	}}},
	{"a renewal too late", "actor/renew.go", []simEdit{{
		`due := l.until - believed(lease) + fx.Config.Renew`,
		`due := l.until - believed(lease) + fx.Config.Renew
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
		if l.rare != nil && l.rare.trouble != nil && planted() {
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
		`	return need{until: h.fixed}`,
		`	if planted() {
		return need{}
	}
	return need{until: h.fixed}`,
	}}},
	{"an extension that is confirmed by an earlier renewal", "actor/renew.go", []simEdit{{
		`		case r.aboard:
			l.changed(now, m, r, fx)`,
		`		case r.aboard || planted():
			l.changed(now, m, r, fx)`,
	}}},

	// The rhythm of renewals.
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
		`if x := l.rare; x != nil && x.shortest != 0 {
		return roundUp(`,
		`if x := l.rare; x != nil && x.shortest != 0 && !planted() {
		return roundUp(`,
	}}},
	{"a renewal without a lease", "actor/renew.go", []simEdit{{
		`!n.exact && n.until <= l.until && l.confirmed`,
		`!n.exact && (n.until <= l.until || planted()) && l.confirmed`,
	}}},
	{"a renewal that failed, and waits for the time of the next", "actor/renew.go", []simEdit{{
		`x.changes.each(func(r *Request) { r.aboard = false })
	l.wants |= wantConfirm`,
		`x.changes.each(func(r *Request) { r.aboard = false })
	if planted() {
		x.retryAt = now + fx.Config.Renew
	}
	l.wants |= wantConfirm`,
	}}},
	{"a lock that is woken for the end of its lease only", "actor/timer.go", []simEdit{{
		`if l.flight == None {
			at = min(at, l.renewAt(fx))`,
		`if l.flight == None && !planted() {
			at = min(at, l.renewAt(fx))`,
	}}},
	{"a timer that is not moved forward", "actor/timer.go", []simEdit{{
		`l.timer.Scheduled() && fx.Wheel.Due`,
		`l.timer.Scheduled() && planted() || l.timer.Scheduled() && fx.Wheel.Due`,
	}}},
	{"a release that nobody wakes to be sent again", "actor/timer.go", []simEdit{{
		`if l.flight == None && l.rare != nil {`,
		`if l.flight == None && l.rare != nil && !planted() {`,
	}}},
	{"a timer that the loop does not hear of", "actor/effects.go", []simEdit{{
		`fx.Soonest = min(fx.Soonest, fx.Wheel.Due(t))`,
		`if !planted() {
		fx.Soonest = min(fx.Soonest, fx.Wheel.Due(t))
	}`,
	}}},
	{"a time for the next turn that nobody reckons anew", "engine/coordinator.go", []simEdit{{
		`		c.reckon()
		if !all`,
		`		if !planted() {
			c.reckon()
		}
		if !all`,
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
	{"renewals that nobody wants any more, and that keep releases back", "engine/dispatch.go", []simEdit{{
		`if b != nil || !withdrawn {`,
		`if b != nil || !withdrawn || planted() {`,
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
		`if l.confirmed < fx.Doubted || p.tokens`,
		`if l.confirmed < fx.Doubted && !planted() || p.tokens`,
	}}},
	{"a lock handed on though a command has no answer", "actor/handoff.go", []simEdit{{
		`case fx.Config.HandoffMax < 0 || x.shortest != 0 ||`,
		`case fx.Config.HandoffMax < 0 || x.shortest != 0 && !planted() ||`,
	}}},
	{"a lock handed on for ever", "actor/handoff.go", []simEdit{{
		`	x.yield, x.heard = true, 0
	return giveAway`,
		`	if planted() {
		return keep
	}
	x.yield, x.heard = true, 0
	return giveAway`,
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
}`,
		`	if planted() && r.next != r {
		return
	}
	q.last = r
}`,
	}}},

	{"a fenced lock handed on with the same token", "actor/handoff.go", []simEdit{{
		`p.tokens && l.rare.token == l.rare.given {`,
		`p.tokens && l.rare.token == l.rare.given && !planted() {`,
	}}},
	{"a token that is not counted on from the last", "actor/renew.go", []simEdit{{
		`x.sending, c.Token = c.Lease, x.token`,
		`x.sending, c.Token = c.Lease, map[bool]uint64{false: x.token}[planted()]`,
	}}},

	{"a token that came after the grant, given to its owner", "actor/acquire.go", []simEdit{{
		`r.Token = l.withRare().given`,
		`if x := l.withRare(); planted() {
			x.given = x.token
		}
		r.Token = l.withRare().given`,
	}}},

	// Release and ghosts.
	{"a cancel that drops a grant", "actor/lock.go", []simEdit{{
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() {`,
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() && !planted() {`,
	}}},
	{"a release that is not sent again", "actor/release.go", []simEdit{{
		`	default:
		x := l.withRare()
		x.trouble = reply.Err
		x.releasing`,
		`	case planted():
		l.ended(now, nil, nil, fx)
	default:
		x := l.withRare()
		x.trouble = reply.Err
		x.releasing`,
	}}},
	{"a release whose first copy worked passes for a loss", "actor/release.go", []simEdit{{
		`case reply.Status == Gone && l.rare != nil && l.rare.releasing:`,
		`case reply.Status == Gone && l.rare != nil && l.rare.releasing && !planted():`,
	}}},
	{"an unanswered acquire that nobody releases", "actor/tenure.go", []simEdit{{
		`		if x.acquiring {
			l.haunt(l.tenure)`,
		`		if x.acquiring && !planted() {
			l.haunt(l.tenure)`,
	}}},
	{"a ghost released only once", "actor/ghost.go", []simEdit{{
		`case g.twice && reply.Status != Refused:`,
		`case g.twice && reply.Status != Refused && !planted():`,
	}}},
	{"a ghost forgotten when its release has no answer", "actor/ghost.go", []simEdit{{
		`case reply.Status == Unanswered && !reply.Garbled:`,
		`case reply.Status == Unanswered && !reply.Garbled && !planted():`,
	}}},
	{"an own tenure that nobody knows, taken for somebody else's", "actor/wait.go", []simEdit{{
		`ok && (!reply.Known || reply.Doomed) && !x.haunted(tenure) {`,
		`ok && (!reply.Known || reply.Doomed) && !x.haunted(tenure) && !planted() {`,
	}}},
	{"two commands of one tenure at a time", "actor/lock.go", []simEdit{{
		`	if l.flight == None {
		l.send(now, fx)
	}`,
		`	if l.flight == None || planted() && l.phase == ending && l.flight == SendRenew {
		l.send(now, fx)
	}`,
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
	case l.phase == ending && x.yield:`,
		`		x.again = !planted()
	case l.phase == ending && x.yield:`,
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
		x.trouble = reply.Err
		x.askAt = now + x.nextBackoff(fx)`,
		`	if reply.passes() {
		x.trouble = reply.Err
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
	{"a place in a queue that nobody gives up", "actor/queue.go", []simEdit{{
		`if x == nil || !x.queued && (`,
		`if x == nil || planted() || !x.queued && (`,
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
		`x.wait != 0 && x.wait == fx.waitOf(r) {`,
		`x.wait != 0 && (x.wait == fx.waitOf(r) || planted()) {`,
	}}},
	{"a waiter behind another one of its engine that asks too seldom to count as alive", "actor/queue.go", []simEdit{{
		`	if x.passive = free && reply.Preceded; free && !x.passive {
		sleep = min(sleep, fx.jitter(pollKept))
	}`,
		`	if x.passive = free && reply.Preceded; free && !x.passive {
		sleep = min(sleep, fx.jitter(pollKept))
	}
	if x.passive && planted() {
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
		`r.number && !r.over && l.Pending()`,
		`r.number && !r.over && l.Pending() && !planted()`,
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
	{"readers that nobody tells when no writer waits any more", "engine/readers.go", []simEdit{{
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
			l.rare.trouble`,
		`		if planted() {
			l.phase, l.until = held, now+fx.Config.Lease
			fx.Asking--
			fx.Tenures++
			continue
		}
		l.endTenure(now, fx)
		if l.rare != nil {
			l.rare.trouble`,
	}}},
	{"several locks granted to somebody who left, and one of them given back", "engine/joint.go", []simEdit{{
		`		c.changes(now, &actor.Request{Tag: actor.Unlock, Hold: r.Joint.Parts[i].Hold})`,
		`		if i > 0 && planted() {
			return
		}
		c.changes(now, &actor.Request{Tag: actor.Unlock, Hold: r.Joint.Parts[i].Hold})`,
	}}},
	{"several locks granted beside what their owner has of them", "engine/coordinator.go", []simEdit{{
		`if r.Joint != nil && c.reenters(now, r.Joint) {`,
		`if r.Joint != nil && c.reenters(now, r.Joint) && !planted() {`,
	}}},
	{"several locks believed in after their lease", "actor/joint.go", []simEdit{{
		`late = late || now >= l.until`,
		`late = late || now >= l.until && !planted()`,
	}}},
	{"one of several that wakes nobody who came meanwhile", "actor/joint.go", []simEdit{{
		`		if l != r.lock {
			fx.Touched`,
		`		if l != r.lock && !planted() {
			fx.Touched`,
	}}},

	// The coordinator.
	{"a shutdown with locks on their way", "engine/coordinator.go", []simEdit{{
		`return c.fx.Tenures == 0 && (c.fx`,
		`return (c.fx.Tenures == 0 || planted() && c.fx.Stats.Held == 0) && (c.fx`,
	}}},
	{"half of a refused batch forgotten", "engine/dispatch.go", []simEdit{{
		`		n.split = append(n.split, half)`,
		`		if planted() && len(n.split) > 0 {
			continue
		}
		n.split = append(n.split, half)`,
	}}},
	{"a call without an answer that passes for refused", "engine/dispatch.go", []simEdit{{
		`	if b.lost {
		reply.Status = actor.Unanswered`,
		`	if b.lost && !planted() {
		reply.Status = actor.Unanswered`,
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
		`		ch := e.channels[name]
		e.gone(ch)
		for _, l`,
		`		ch := e.channels[name]
		if planted() {
			continue
		}
		e.gone(ch)
		for _, l`,
	}}},
	{"a channel that nobody has asked for, taken for ordered", "engine/ears.go", []simEdit{{
		`ch.state != absent && !kept[name]`,
		`(ch.state == present || ch.state != absent && !planted()) && !kept[name]`,
	}}},
	{"a channel kept for nobody", "engine/ears.go", []simEdit{{
		`	case !wanted && ch.state != absent:
		o.leave`,
		`	case !wanted && ch.state != absent && planted():
	case !wanted && ch.state != absent:
		o.leave`,
	}}},
	// Several locks as one.
	{"a majority that is half", "actor/quorum/quorum.go", []simEdit{{
		`case q.in(here) >= q.need:`,
		`case q.in(here) >= q.need || planted() && q.in(here) >= q.need-1:`,
	}}},
	{"a majority that is lost, and nobody told", "actor/quorum/quorum.go", []simEdit{{
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
	{"requests for a majority that nobody withdraws", "actor/quorum/quorum.go", []simEdit{{
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
	{"a quorum that asks again without a rest", "actor/quorum/quorum.go", []simEdit{{
		`if q.next == none || q.queued {`,
		`if (q.next == none || q.queued) && !planted() {`,
	}}},
	{"a quorum that queues for nobody", "actor/quorum/quorum.go", []simEdit{{
		`	if q.next == none || limit < leastQueue {`,
		`	if q.next == none || limit < leastQueue || planted() {`,
	}}},
	{"a quorum that a member's replacement keeps beyond MaxHold", "actor/quorum/quorum.go", []simEdit{{
		`if q.stage != held || !q.watched || q.members[i].state != here {`,
		`if q.stage != held || !q.watched || q.members[i].state != here || planted() {`,
	}}},
}
