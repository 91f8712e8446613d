package actor

import "time"

const (
	// tryFloor is the least time between two tries that no message asked for.
	tryFloor = 25 * time.Millisecond
	// sleepMost is the longest sleep, whatever TTL the server reports.
	sleepMost = time.Hour
	// pollKept is how often a key that never expires is looked at.
	pollKept = 250 * time.Millisecond
	// pollUnheard is how often a lock is asked for whose channel cannot be listened to, and pollEach how
	// much less often for each such lock, so that very many do not keep the server from everything else.
	pollUnheard, pollEach = 100 * time.Millisecond, 100 * time.Microsecond
	// lookScattered is how often a lock is asked for whose messages may go elsewhere, and lookEach how much less often for
	// each who waits: 10 000 questions a second for all of them at most.
	lookScattered, lookEach = 2 * time.Second, 100 * time.Microsecond
	// linger is how long a channel is kept after the last waiter went.
	linger = 250 * time.Millisecond
	// sweepPause is between two questions that take dead places off the head of a queue, some hundreds each.
	sweepPause = time.Millisecond
	// Between tries that the server refused for now.
	backoffFirst, backoffMost = 10 * time.Millisecond, 250 * time.Millisecond
)

// taken takes in that somebody else has the lock.
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
	if !l.besideWriter() { // the question left before their owner had the write
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

// sleepFor is how long to wait for a message before trying again anyway, after an answer that took so
// long: most of it may have passed since the server said what is left.
func sleepFor(ttl, took time.Duration, fx *Effects) time.Duration {
	if ttl < 0 {
		return fx.jitter(pollKept)
	}
	ttl -= max(took-tryFloor, 0)
	return max(min(ttl, sleepMost)+time.Millisecond, fx.jitter(tryFloor))
}

// untilPoll is how long to sleep while a message could not be heard.
func (fx *Effects) untilPoll() time.Duration {
	return fx.jitter(max(pollUnheard, time.Duration(fx.Unheard)*pollEach))
}

func (x *rare) nextBackoff(fx *Effects) time.Duration {
	t := x.withTroubles()
	t.backoff = min(max(2*t.backoff, backoffFirst), backoffMost)
	return fx.jitter(t.backoff / 2)
}

// heard takes in a message on the lock's channel: a hint that the lock may be free, never a promise.
func (l *Lock) heard(now time.Duration) {
	x := l.withRare()
	switch {
	case l.phase == held:
		l.wants |= wantConfirm
	case l.phase == asking && (l.flight != None || !x.placed().queued):
		x.again = true
	case l.phase == ending && x.handed().yield != 0:
		x.handoff.heard++ // the message of our own release can be quicker than its answer
	case now < x.stepBack:
		// The first is the message of our own release; a second means that somebody else had it since.
		h := x.withHandoff()
		if h.heard++; h.heard > 1 {
			x.stepBack, x.askAt = 0, now
		}
	default:
		x.askAt = now
	}
}

// subscribed takes in that messages come from now on. One may have been missed before.
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

// unheard takes in that the channel cannot be listened to, for whatever reason: who waits polls until it can.
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

// Deafen takes in that the channel is not heard at present.
func (l *Lock) Deafen() { l.withRare().subscribed = false }

// listen keeps the channel as long as somebody waits for the lock, and a little longer.
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

// wantsToHear reports whether a message could be for somebody who waits here.
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
