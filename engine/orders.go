package engine

import "time"

// arrange makes the next order, if the subscriber is free and the subscriptions differ from what is wanted.
func (e *ears) arrange(now time.Duration) {
	e.now = now
	for i := 0; i < earsPerTurn && !e.over.empty(); i++ {
		if ch := e.over.pop(); !e.heard(ch) && ch.by.len() == 0 && ch.state != ordered {
			e.forget(ch)
		}
	}
	if e.idle == 0 {
		e.idleSince = 0
	} else if e.idleSince == 0 {
		e.idleSince = now
	}
	if e.busy || now < e.tryAt {
		return
	}
	e.tryAt = 0
	if !e.moving && e.idle > 0 && now >= e.leavesAt() {
		e.moving, e.leaveAt = true, now+leaveFloor
	}
	if !e.moving && e.fresh.empty() && e.unheard.empty() && (e.refused.empty() || now < e.aloneAt) {
		return // nothing to do: the common case
	}
	if o := e.next(); len(o.join) > 0 || o.change || o.leave {
		e.busy, e.order, e.last = true, o, o
	}
}

// leavesAt returns when to start unsubscribing from idle channels, which no lock listens to.
func (e *ears) leavesAt() time.Duration {
	kept := e.subscribed - e.idle
	if e.idle >= kept {
		return e.leaveAt
	}
	return max(e.leaveAt, e.idleSince+time.Duration(kept)*leavePause-leaveFloor)
}

// next makes an order for the subscriber. It is empty if there is nothing to do.
func (e *ears) next() *order {
	o := &order{next: e.moving}
	looks := earsPerTurn + orderMost
	to := &e.here
	if e.moving {
		to = &e.there
	}
	for _, from := range []*line{&e.unheard, &e.fresh} {
		for ; looks > 0 && len(o.join) < e.size && !from.empty(); looks-- {
			e.settle(from.pop(), to, o)
		}
	}
	if e.moving {
		e.fillMoved(o, looks)
	}
	if len(o.join) == 0 && !o.change && !o.leave && e.now >= e.aloneAt && !e.refused.empty() {
		o.alone = true
		e.settle(e.refused.pop(), to, o)
	}
	return o
}

// fillMoved adds channels to the order that the next connection needs. It ends the move when that connection has all of
// them.
func (e *ears) fillMoved(o *order, looks int) {
	for e.waits = false; looks > 0 && len(o.join) < e.size && !e.here.empty() && !e.waits; looks-- {
		e.move(e.here.pop(), o)
	}
	if e.here.empty() {
		o.change = len(o.join) > 0 || !e.there.empty()
		o.leave = !o.change && e.fresh.empty() && e.unheard.empty()
	}
}

// settle adds a channel to the order if it must be subscribed. It forgets a channel without listeners.
func (e *ears) settle(ch *channel, to *line, o *order) {
	switch {
	case e.heard(ch): // confirmed in the meantime
		e.here.push(ch)
	case ch.by.len() == 0:
		e.forget(ch)
	default:
		if ch.state == present || ch.state == moving {
			e.deafen(ch) // since its connection broke
		}
		ch.state, ch.leaving = ordered, false
		o.join = append(o.join, ch.name)
		to.push(ch)
	}
}

// move adds a channel of the current connection to the order for the next one, unless it has no listeners.
func (e *ears) move(ch *channel, o *order) {
	switch {
	case ch.state == ordered:
		e.here.pushFront(ch)
		e.waits = true
	case ch.by.len() > 0:
		ch.state = moving
		o.join = append(o.join, ch.name)
		e.there.push(ch)
	case e.heard(ch):
		if !ch.leaving {
			ch.leaving = true
			e.leaving++
		}
		e.left.push(ch)
	default:
		e.forget(ch)
	}
}

// done handles the result of the order that was in flight.
//   - on is the connection that was used; connections up to gone no longer exist.
//   - Channels that a failed order did not subscribe are tried again, after a backoff.
//   - It returns channels that are not subscribed until then, so that their listeners poll. untold returns further ones.
func (e *ears) done(now time.Duration, on, gone int, err error) (unheard []*channel) {
	e.busy = false
	if err == nil {
		e.backoff, e.tryAt, e.size, e.patience = 0, 0, min(2*e.size, orderMost), 0
		e.joined(on)
		if e.last.change || e.last.leave {
			e.changed(gone)
		}
		e.doubtful = nil
		return nil
	}
	e.gone = max(e.gone, gone)
	unheard = e.failed(on)
	e.patience = longer(e.patience)
	e.aloneAt = now + e.patience
	if !e.last.alone {
		e.size, e.backoff = max(e.size/2, 1), longer(e.backoff)
		e.tryAt = now + e.backoff
	}
	return append(unheard, e.untold()...)
}

func longer(backoff time.Duration) time.Duration {
	return min(max(2*backoff, retryFirst), orderRetryMost)
}

// joined marks channels that stayed subscribed during the order: the next connection has them. Other channels wait for
// their confirmation.
func (e *ears) joined(on int) {
	for _, name := range e.last.join {
		if ch := e.channels[name]; ch != nil && e.heard(ch) {
			ch.state, ch.on = present, max(ch.on, int32(on))
		}
	}
}

// changed handles the switch to the next connection, or to no connection.
func (e *ears) changed(gone int) {
	for ch := e.here.pop(); ch != nil; ch = e.here.pop() { // added since the order was made
		if e.heard(ch) && int(ch.on) <= gone {
			e.lose(ch)
		} else {
			e.fresh.push(ch)
		}
	}
	for _, ch := range e.doubtful {
		if e.channels[ch.name] == ch && e.heard(ch) && int(ch.on) <= gone && (!ch.leaving || ch.by.len() > 0) {
			e.lose(ch)
		}
	}
	e.subscribed -= e.leaving
	e.idle -= e.leaving
	e.gone, e.leaving, e.idleSince, e.moving, e.waits = max(e.gone, gone), 0, 0, false, false
	e.over.takeAll(&e.left)
	e.here.takeAll(&e.there)
}

// failed undoes the effects of the order on its channels, except those that its connection has confirmed. It returns
// the channel that the server rejected, if it is known.
func (e *ears) failed(on int) (unheard []*channel) {
	alone := len(e.last.join) == 1
	for _, name := range e.last.join {
		ch := e.channels[name]
		switch {
		case ch == nil || e.heard(ch) && on != 0 && int(ch.on) >= on:
		case e.heard(ch) && (!alone || ch.state == present || ch.by.len() == 0):
			ch.state = present
			e.here.pushFront(ch)
		case e.heard(ch):
			e.lose(ch)
			unheard = e.refuse(ch)
		case ch.state == ordered && ch.by.len() == 0:
			e.forget(ch)
		case ch.state == ordered && alone:
			unheard = e.refuse(ch)
		case ch.state == ordered:
			ch.state = absent
			e.fresh.push(ch)
		}
	}
	for _, ch := range e.doubtful {
		if e.channels[ch.name] == ch && e.heard(ch) && ch.leaving && ch.by.len() > 0 {
			ch.leaving = false
			e.leaving--
			e.here.push(ch)
		}
	}
	e.doubtful = nil
	if e.moving && e.there.empty() {
		e.moving = false
		e.here.takeAll(&e.left)
	}
	return unheard
}

func (e *ears) refuse(ch *channel) (unheard []*channel) {
	ch.state, ch.refused = absent, true
	e.refused.push(ch)
	return []*channel{ch}
}

// untold returns channels with listeners that do not know yet that they are not subscribed. It does so only while
// orders fail. A turn stops after orderMost listeners.
func (e *ears) untold() (unheard []*channel) {
	if e.backoff == 0 {
		return nil
	}
	for left := orderMost; left > 0 && !e.fresh.empty(); {
		ch := e.fresh.pop()
		if left -= max(ch.by.len(), 1); e.heard(ch) {
			e.here.push(ch)
			continue
		}
		unheard = append(unheard, ch)
		e.unheard.push(ch)
	}
	return unheard
}

// retryAt returns when there is something to do without a message; 0 when there is nothing.
func (e *ears) retryAt() time.Duration {
	atOnce := max(e.now, 1)
	switch {
	case !e.over.empty(), e.backoff > 0 && !e.fresh.empty():
		return atOnce
	case e.busy:
		return 0
	case !e.unheard.empty(), !e.fresh.empty(), e.moving && !e.waits:
		return max(atOnce, e.tryAt)
	case e.moving && e.refused.empty():
		return 0 // waiting for a confirmation
	case e.moving:
		return max(atOnce, e.tryAt, e.aloneAt)
	case !e.refused.empty() && e.idle > 0:
		return max(atOnce, e.tryAt, min(e.aloneAt, e.leavesAt()))
	case !e.refused.empty():
		return max(atOnce, e.tryAt, e.aloneAt)
	case e.idle > 0:
		return max(e.leavesAt(), e.tryAt)
	}
	return 0
}
