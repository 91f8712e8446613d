package engine

// simMutant is a decision of the product with a mistake planted in it: where the source says one thing, a
// copy of it says another while the mutant is chosen. The product itself knows nothing of this.
type simMutant struct {
	what  string // is wrong
	file  string // from the root of the module
	edits []simEdit
	first uint64 // seed to begin with, of one that is rare; 0: the first of all
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
	}}, 0},
	{"a lease that counts from its answer", "actor/acquire.go", []simEdit{{
		`l.confirm(m.Sent, m.Command.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], m.Command.Lease, fx)`,
	}}, 0},
	{"a renewal that counts from its answer", "actor/renew.go", []simEdit{{
		`l.confirm(m.Sent, c.Lease, fx)`,
		`l.confirm(map[bool]time.Duration{false: m.Sent, true: now}[planted()], c.Lease, fx)`,
	}}, 0},
	{"belief to the last moment of a lease", "actor/tenure.go", []simEdit{{
		`return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)`,
		`if planted() {
			return lease
		}
		return max(lease-min(lease/100, time.Second)-2*tick(lease), lease/2)`,
	}}, 0},
	{"a shorter lease that is believed like the one before", "actor/tenure.go", []simEdit{{
		`if until := now + believed(lease); until < l.until {`,
		`if until := now + believed(lease); until < l.until && !planted() {`,
	}}, 0},
	{"a command without an answer that cuts nothing", "actor/tenure.go", []simEdit{{
		`if lease != 0 && (x.shortest == 0 || lease < x.shortest) {`,
		`if lease != 0 && (x.shortest == 0 || lease < x.shortest) && !planted() {`,
	}}, 0},
	{"a confirmation that forgets commands without an answer", "actor/tenure.go", []simEdit{{
		`l.until = min(l.until, sent+believed(x.shortest))`,
		`if !planted() {
				l.until = min(l.until, sent+believed(x.shortest))
			}`,
	}}, 0},
	{"a fixed lease that does not end", "actor/tenure.go", []simEdit{{
		`if now < l.limitOf(h, fx) {`,
		`if now < l.limitOf(h, fx) || planted() {`,
	}}, 0},
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
	}}, 0},
	{"a doubtful grant", "actor/acquire.go", []simEdit{{
		`if fits && l.confirmed >= fx.Doubted {`,
		`if fits && (l.confirmed >= fx.Doubted || planted()) {`,
	}}, 0},
	{"an answer of before the doubt that grants", "actor/acquire.go", []simEdit{{
		`fx.leaseOf(r) == m.Command.Lease && m.Sent >= fx.Doubted {`,
		`fx.leaseOf(r) == m.Command.Lease && (m.Sent >= fx.Doubted || planted()) {`,
	}}, 0},
	{"an answer of an older tenure taken for the lock's", "actor/lock.go", []simEdit{{
		`if c.Tenure != l.tenure || c.Verb != l.flight {
		l.ghostAnswered`,
		`if (c.Tenure != l.tenure || c.Verb != l.flight) && !(planted() && c.Verb == SendRenew && c.Verb == l.flight) {
		l.ghostAnswered`,
	}}, 0},

	// Renewal and loss.
	{"a renewal after unlock", "actor/lock.go", []simEdit{{
		`	case p.renew, p.pass:
		return l.phase == held
	case p.force:`,
		`	case p.renew, p.pass:
		return l.phase == held || planted()
	case p.force:`,
	}}, 0},
	{"a refused renewal that is not sent again", "actor/renew.go", []simEdit{{
		`x.retryAt = now + fx.jitter(l.renewEvery(fx)/8)`,
		`x.retryAt = now + fx.jitter(l.renewEvery(fx)/8)
		if planted() {
			x.retryAt = l.until
		}`,
	}}, 0},
	{"a renewal too late", "actor/renew.go", []simEdit{{
		`due := l.until - believed(lease) + fx.Config.Renew`,
		`due := l.until - believed(lease) + fx.Config.Renew
	if planted() {
		due = l.until
	}`,
	}}, 0},
	{"a tenure that is gone and still believed", "actor/renew.go", []simEdit{{
		`	case reply.Status == Gone:
		l.lose(now, errGone, fx)`,
		`	case reply.Status == Gone && planted():
		l.confirmedBy(now, m, fx)
	case reply.Status == Gone:
		l.lose(now, errGone, fx)`,
	}}, 0},
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
	}}, 0},
	{"a count without an answer that passes for written", "actor/renew.go", []simEdit{{
		`l.written = 0 // not known`,
		`l.written = map[bool]uint32{true: uint32(m.Command.Count)}[planted()] // not known`,
	}}, 0},
	{"a renewal that forgets a longer lease of its own", "actor/need.go", []simEdit{{
		`	return need{until: h.fixed}`,
		`	if planted() {
		return need{}
	}
	return need{until: h.fixed}`,
	}}, 0},
	{"an extension that is confirmed by an earlier renewal", "actor/renew.go", []simEdit{{
		`		case r.aboard:
			l.changed(now, m, r, fx)`,
		`		case r.aboard || planted():
			l.changed(now, m, r, fx)`,
	}}, 0},

	// Handing on.
	{"a lock handed on past its lease", "actor/handoff.go", []simEdit{{
		`return left >= lease/2 && left <= lease`,
		`return left >= lease/2 && left <= lease || planted()`,
	}}, 0},
	{"a lock handed on before the doubt is over", "actor/handoff.go", []simEdit{{
		`if l.confirmed < fx.Doubted || p.tokens`,
		`if l.confirmed < fx.Doubted && !planted() || p.tokens`,
	}}, 0},
	{"a lock handed on though a command has no answer", "actor/handoff.go", []simEdit{{
		`case fx.Config.HandoffMax < 0 || x.shortest != 0 ||`,
		`case fx.Config.HandoffMax < 0 || x.shortest != 0 && !planted() ||`,
	}}, 0},
	{"a lock handed on for ever", "actor/handoff.go", []simEdit{{
		`	x.yield, x.heard = true, 0
	return giveAway`,
		`	if planted() {
		return keep
	}
	x.yield, x.heard = true, 0
	return giveAway`,
	}}, 0},
	{"a lock handed on while it is to be forced away", "actor/lock.go", []simEdit{{
		`	if l.rare != nil {
		l.evict(now, fx)
	}`,
		`	if l.rare != nil && !planted() {
		l.evict(now, fx)
	}`,
	}}, 0},
	{"a queue that turns round", "actor/request.go", []simEdit{{
		`	q.last = r
}`,
		`	if planted() && r.next != r {
		return
	}
	q.last = r
}`,
	}}, 0},

	{"a fenced lock handed on with the same token", "actor/handoff.go", []simEdit{{
		`p.tokens && l.rare.token == l.rare.given {`,
		`p.tokens && l.rare.token == l.rare.given && !planted() {`,
	}}, 0},
	{"a token that is not counted on from the last", "actor/renew.go", []simEdit{{
		`x.sending, c.Token = c.Lease, x.token`,
		`x.sending, c.Token = c.Lease, map[bool]uint64{false: x.token}[planted()]`,
	}}, 0},

	{"a token that came after the grant, given to its owner", "actor/acquire.go", []simEdit{{
		`r.Token = l.withRare().given`,
		`if x := l.withRare(); planted() {
			x.given = x.token
		}
		r.Token = l.withRare().given`,
	}}, 3700},

	// Release and ghosts.
	{"a cancel that drops a grant", "actor/lock.go", []simEdit{{
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() {`,
		`if r.Tag == Acquire && r.Err == nil && r.Hold.held() && !planted() {`,
	}}, 0},
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
	}}, 0},
	{"a release whose first copy worked passes for a loss", "actor/release.go", []simEdit{{
		`case reply.Status == Gone && l.rare != nil && l.rare.releasing:`,
		`case reply.Status == Gone && l.rare != nil && l.rare.releasing && !planted():`,
	}}, 0},
	{"an unanswered acquire that nobody releases", "actor/tenure.go", []simEdit{{
		`		if x.acquiring {
			l.haunt(l.tenure)`,
		`		if x.acquiring && !planted() {
			l.haunt(l.tenure)`,
	}}, 0},
	{"a ghost released only once", "actor/ghost.go", []simEdit{{
		`case g.twice && reply.Status != Refused:`,
		`case g.twice && reply.Status != Refused && !planted():`,
	}}, 0},
	{"a ghost forgotten when its release has no answer", "actor/ghost.go", []simEdit{{
		`case reply.Status == Unanswered && !reply.Garbled:`,
		`case reply.Status == Unanswered && !reply.Garbled && !planted():`,
	}}, 0},
	{"an own tenure that nobody knows, taken for somebody else's", "actor/wait.go", []simEdit{{
		`ok && (!reply.Known || reply.Doomed) && !x.haunted(tenure) {`,
		`ok && (!reply.Known || reply.Doomed) && !x.haunted(tenure) && !planted() {`,
	}}, 0},
	{"two commands of one tenure at a time", "actor/lock.go", []simEdit{{
		`	if l.flight == None {
		l.send(now, fx)
	}`,
		`	if l.flight == None || planted() && l.phase == ending && l.flight == SendRenew {
		l.send(now, fx)
	}`,
	}}, 0},

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
	}}, 0},
	{"a message during a question forgotten", "actor/wait.go", []simEdit{{
		`		x.again = true
	case l.phase == ending && x.yield:`,
		`		x.again = !planted()
	case l.phase == ending && x.yield:`,
	}}, 0},
	{"a wait on a message alone", "actor/wait.go", []simEdit{{
		`	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))`,
		`	if planted() {
		return sleepMost
	}
	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))`,
	}}, 0},
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
	}}, 0},
	{"a channel that is never left", "actor/wait.go", []simEdit{{
		`case l.queue.empty() && x.listening && (fx.Draining ||`,
		`case l.queue.empty() && x.listening && !planted() && (fx.Draining ||`,
	}}, 0},

	// The fair lock.
	{"a waiter in a queue that asks too seldom to count as alive", "actor/queue.go", []simEdit{{
		`	if reply.Left > 0 {
		sleep = min`,
		`	if reply.Left > 0 && !planted() {
		sleep = min`,
	}}, 0},
	{"a place in a queue that nobody gives up", "actor/queue.go", []simEdit{{
		`if x == nil || !x.queued && (`,
		`if x == nil || planted() || !x.queued && (`,
	}}, 0},
	{"a place in a queue that a refusal forgets", "actor/acquire.go", []simEdit{{
		`	if !l.protocol().queues {
		l.endTenure(now, fx)`,
		`	if !l.protocol().queues || planted() {
		l.endTenure(now, fx)`,
	}}, 0},
	{"two calls to one queue at a time", "engine/dispatch.go", []simEdit{{
		`verb == actor.SendFairAcquire && n.underWay[verb] > 0:`,
		`verb == actor.SendFairAcquire && n.underWay[verb] > 0 && !planted():`,
	}}, 0},
	{"a time shared with one who waits for another while", "actor/queue.go", []simEdit{{
		`x.wait != 0 && x.wait == fx.waitOf(r) {`,
		`x.wait != 0 && (x.wait == fx.waitOf(r) || planted()) {`,
	}}, 0},
	{"a claim that is granted, and others that go on believing", "engine/group.go", []simEdit{{
		`case reply.Status == actor.Done && kind`,
		`case reply.Status == actor.Done && !planted() && kind`,
	}}, 0},

	// The read/write lock.
	{"a writer that is granted, and readers of its engine that go on believing", "engine/group.go", []simEdit{{
		`return l != granted.Lock && l.Believed(now)`,
		`return l != granted.Lock && !(l.Kind() == actor.Read && planted()) && l.Believed(now)`,
	}}, 0},
	{"a reader that is granted, and a writer of its engine that goes on believing", "engine/group.go", []simEdit{{
		`if l := c.locks[granted.Key]; l != nil && ruledOut(l) {`,
		`if l := c.locks[granted.Key]; l != nil && ruledOut(l) && !planted() {`,
	}}, 0},
	{"two readers beside one writer that have one number", "actor/read.go", []simEdit{{
		`r.number && !r.over && l.Pending()`,
		`r.number && !r.over && l.Pending() && !planted()`,
	}}, 0},
	{"a writer handed on beside those who read", "actor/handoff.go", []simEdit{{
		`case x.shared: // they`,
		`case x.shared && !planted(): // they`,
	}}, 0},
	{"a reader that becomes the writer", "engine/coordinator.go", []simEdit{{
		`case r.Kind == actor.Write && c.upgrades(now, l, r):`,
		`case r.Kind == actor.Write && c.upgrades(now, l, r) && !planted():`,
	}}, 0},
	{"a reader's TTL that may fall below what another of its holds needs", "actor/read.go", []simEdit{{
		`leases := []time.Duration{n.lease}`,
		`leases := []time.Duration{n.lease}
	if count > 1 && planted() {
		return &Reads{Falls: true, Leases: []time.Duration{n.lease / 4, n.lease / 4}}
	}`,
	}}, 0},
	{"readers that nobody tells when no writer waits any more", "engine/readers.go", []simEdit{{
		`	g.aside = aside{}
`,
		`	if g.aside = (aside{}); planted() {
		return
	}
`,
	}}, 0},

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
	}}, 0},
	{"several locks granted to somebody who left, and one of them given back", "engine/joint.go", []simEdit{{
		`		c.changes(now, &actor.Request{Tag: actor.Unlock, Hold: r.Joint.Parts[i].Hold})`,
		`		if i > 0 && planted() {
			return
		}
		c.changes(now, &actor.Request{Tag: actor.Unlock, Hold: r.Joint.Parts[i].Hold})`,
	}}, 0},
	{"several locks granted beside what their owner has of them", "engine/coordinator.go", []simEdit{{
		`if r.Joint != nil && c.reenters(now, r.Joint) {`,
		`if r.Joint != nil && c.reenters(now, r.Joint) && !planted() {`,
	}}, 0},
	{"several locks believed in after their lease", "actor/joint.go", []simEdit{{
		`late = late || now >= l.until`,
		`late = late || now >= l.until && !planted()`,
	}}, 0},
	{"one of several that wakes nobody who came meanwhile", "actor/joint.go", []simEdit{{
		`		if l != r.lock {
			fx.Touched`,
		`		if l != r.lock && !planted() {
			fx.Touched`,
	}}, 0},

	// The coordinator.
	{"a shutdown with locks on their way", "engine/coordinator.go", []simEdit{{
		`return c.fx.Tenures == 0 && (c.fx`,
		`return (c.fx.Tenures == 0 || planted() && c.fx.Stats.Held == 0) && (c.fx`,
	}}, 0},
	{"half of a refused batch forgotten", "engine/dispatch.go", []simEdit{{
		`		n.split = append(n.split, half)`,
		`		if planted() && len(n.split) > 0 {
			continue
		}
		n.split = append(n.split, half)`,
	}}, 0},
	{"a call without an answer that passes for refused", "engine/dispatch.go", []simEdit{{
		`	if b.lost {
		reply.Status = actor.Unanswered`,
		`	if b.lost && !planted() {
		reply.Status = actor.Unanswered`,
	}}, 0},
	{"a short answer read from the end", "engine/dispatch.go", []simEdit{{
		`	for len(b.replies) < len(b.commands) {
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})`,
		`	for len(b.replies) < len(b.commands) {
		if planted() {
			b.replies = append(b.replies, actor.Reply{Status: actor.Done})
			continue
		}
		b.replies = append(b.replies, actor.Reply{Err: errShort, Garbled: true})`,
	}}, 0},
	{"a link that is not tried again", "engine/link.go", []simEdit{{
		`return !k.down || out == 0 && now >= k.tryAt`,
		`return !k.down || out == 0 && now >= k.tryAt && !planted()`,
	}}, 0},
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
	}}, 0},
	{"a channel that nobody has asked for, taken for ordered", "engine/ears.go", []simEdit{{
		`ch.state != absent && !kept[name]`,
		`(ch.state == present || ch.state != absent && !planted()) && !kept[name]`,
	}}, 22000},
	{"a channel kept for nobody", "engine/ears.go", []simEdit{{
		`	case !wanted && ch.state != absent:
		o.leave`,
		`	case !wanted && ch.state != absent && planted():
	case !wanted && ch.state != absent:
		o.leave`,
	}}, 0},
}
