package actor

import "time"

const (
	// tryFloor is the minimum time between two tries that no notification caused.
	tryFloor = 25 * time.Millisecond
	// sleepMost is the longest sleep, whatever TTL the server reports.
	sleepMost = time.Hour
	// pollKept is the poll interval for a key that never expires.
	pollKept = 250 * time.Millisecond
	// pollUnheard is the poll interval for a lock without a working subscription. The interval is at least pollEach
	// times the number of such locks, so that very many do not overload the server.
	pollUnheard, pollEach = 100 * time.Millisecond, 100 * time.Microsecond
	// lookScattered is the poll interval for a lock with notifications that may go elsewhere. The interval is at least
	// lookEach times the number of waiters: at most 10 000 tries per second for all of them.
	lookScattered, lookEach = 2 * time.Second, 100 * time.Microsecond
	// linger is how long a subscription is kept after the last waiter left.
	linger = 250 * time.Millisecond
	// sweepPause is the pause between two tries that remove dead places at the head of a fair queue, some hundreds
	// each.
	sweepPause = time.Millisecond
	// Bounds of the pauses between tries after temporary rejections.
	backoffFirst, backoffMost = 10 * time.Millisecond, 250 * time.Millisecond
)

// taken handles a reply that another holder has the lock.
func (l *Lock) taken(now time.Duration, m *Message, fx *Effects) {
	reply, queues := m.Reply, l.protocol().queues
	if queues {
		l.stays(reply)
	} else {
		l.endTenure(now, fx)
	}
	x := l.withRare()
	x.calm()
	x.answered, x.stepBack = true, 0
	if x.reading != nil {
		x.reading.refused(m.Command.Reads)
	}
	if l.namesGhost(now, reply, fx) {
		t := x.withTroubles()
		if x.askAt = now; t.foundAt != 0 && !x.again {
			x.askAt = max(now, t.foundAt+tryFloor)
		}
		t.foundAt = now
		return
	}
	x.saw()
	if queues && reply.sweeping() {
		x.withPlace().passive, x.askAt = false, now+sweepPause
		return
	}
	if !l.besideWriter() { // otherwise the acquire left before its owner acquired the write lock
		l.refuseOnce(now, fx)
	}
	sleep := sleepFor(reply.TTL, now-m.Sent, fx)
	if queues {
		sleep = x.turnIn(sleep, reply, fx)
	}
	if fx.Scattered {
		sleep = min(sleep, fx.jitter(max(lookScattered, time.Duration(fx.Stats.Waiting)*lookEach)))
	}
	x.askAt = now + sleep
	switch {
	case fx.Config.Poll:
		x.askAt = min(x.askAt, now+x.nextPoll(now, reply.other(), fx))
	case x.unheard:
		x.askAt = min(x.askAt, now+fx.untilPoll())
	}
	if x.again || m.Sent < l.doubted(fx) {
		x.askAt = now
	}
}

// sleepFor returns how long to wait for a notification before the next try. took is the time since the acquire was
// sent: most of it may have passed since the server read the TTL.
func sleepFor(ttl, took time.Duration, fx *Effects) time.Duration {
	if ttl < 0 {
		return fx.jitter(pollKept)
	}
	ttl -= max(took-tryFloor, 0)
	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))
}

// untilPoll returns how long to sleep while notifications cannot arrive.
func (fx *Effects) untilPoll() time.Duration {
	return fx.jitter(max(pollUnheard, time.Duration(fx.Unheard)*pollEach))
}

func (x *rare) nextBackoff(fx *Effects) time.Duration {
	t := x.withTroubles()
	t.backoff = min(max(2*t.backoff, backoffFirst), backoffMost)
	return fx.jitter(t.backoff / 2)
}

// heard handles a notification on the lock's channel: a hint that the lock may be free, never a promise.
func (l *Lock) heard(now time.Duration) {
	x := l.withRare()
	switch {
	case l.phase == held:
		l.wants |= wantConfirm
	case l.phase == asking && (l.flight != None || !x.placed().queued):
		x.again = true
	case l.phase == ending && x.handed().yield != 0:
		x.handoff.heard++ // the notification of our own release can arrive before its reply
	case now < x.stepBack:
		// The first notification is of our own release; a second means that another client had the lock since.
		h := x.withHandoff()
		if h.heard++; h.heard > 1 {
			x.stepBack, x.askAt = 0, now
		}
	default:
		x.askAt = now
	}
}

// subscribed handles the start of a subscription. A notification may have been missed before.
func (l *Lock) subscribed(now time.Duration, fx *Effects) {
	x := l.withRare()
	x.subscribed = true
	x.setUnheard(false, fx)
	switch {
	case l.phase == held && l.holds != nil:
		l.wants |= wantConfirm
	case l.phase == asking && (l.flight != None || !x.placed().queued):
		x.again = true
	case now >= x.stepBack:
		x.askAt = now
	}
}

// unheard handles that the channel cannot be subscribed to, for any reason: waiters poll until it can.
func (l *Lock) unheard(now time.Duration, fx *Effects) {
	x := l.withRare()
	if !x.listening || x.unheard {
		return
	}
	x.setUnheard(true, fx)
	x.askAt = min(x.askAt, now+fx.untilPoll())
}

func (x *rare) setUnheard(on bool, fx *Effects) {
	switch {
	case on == x.unheard:
	case on:
		fx.Unheard++
	default:
		fx.Unheard--
	}
	x.unheard = on
}

// Deafen records that notifications do not arrive at present.
func (l *Lock) Deafen() { l.withRare().subscribed = false }

// listen keeps the subscription while requests wait for the lock, and for linger after that.
func (l *Lock) listen(now time.Duration, fx *Effects) {
	x := l.rare
	if fx.Config.Poll {
		l.poll(fx)
		return
	}
	switch {
	case l.wantsToHear():
		x.leaveAt = 0
		l.setListening(true, fx)
	case l.queue.empty() && x.listening && (fx.Draining || l.protocol().private || x.leaveAt != 0 && now >= x.leaveAt):
		x.leaveAt = 0
		l.setListening(false, fx)
	case l.queue.empty() && x.listening && x.leaveAt == 0:
		x.leaveAt = now + linger
	}
}

// wantsToHear reports whether a notification could be for a request that waits here.
func (l *Lock) wantsToHear() bool {
	x := l.rare
	switch {
	case l.queue.empty():
		return false
	case l.protocol().private:
		return l.phase == asking && x.placed().queued
	}
	return x.listening || x.answered || l.phase == held || l.phase == ending
}

func (l *Lock) setListening(on bool, fx *Effects) {
	x := l.rare
	if x.listening == on {
		return
	}
	x.leaveAt = 0
	x.listening, x.subscribed = on, false
	x.setUnheard(false, fx)
	if on {
		x.channel = l.channel(fx)
	}
	fx.Listen = append(fx.Listen, Listening{Lock: l, Channel: x.channel, On: on})
}
