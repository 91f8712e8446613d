package actor

import "time"

const (
	// minRetry is the minimum time between two tries that no notification caused.
	minRetry = 25 * time.Millisecond
	// maxSleep is the longest sleep, whatever TTL the server reports.
	maxSleep = time.Hour
	// noTTLPoll is the poll interval for a key that never expires.
	noTTLPoll = 250 * time.Millisecond
	// noPubSubPoll is the poll interval for a lock without a working subscription. The interval is at least
	// noPubSubPollSpread times the number of such locks, so that very many do not overload the server.
	noPubSubPoll, noPubSubPollSpread = 100 * time.Millisecond, 100 * time.Microsecond
	// unreliablePubSubPoll is the poll interval for a lock with notifications that may go elsewhere. The interval is at
	// least unreliablePubSubPollSpread times the number of waiters: at most 10 000 tries per second for all of them.
	unreliablePubSubPoll, unreliablePubSubPollSpread = 2 * time.Second, 100 * time.Microsecond
	// unsubscribeDelay is how long a subscription is kept after the last waiter left.
	unsubscribeDelay = 250 * time.Millisecond
	// pruneInterval is the pause between two tries that remove dead places at the head of a fair queue, some hundreds
	// each.
	pruneInterval = time.Millisecond
	// minSilence is for how long a server must not reply, after the lease that it told of has ended, to count as silent.
	minSilence = 100 * time.Millisecond
	// minBackoff and maxBackoff bound the pauses between tries after temporary rejections.
	minBackoff, maxBackoff = 10 * time.Millisecond, 250 * time.Millisecond
)

// onHeldByOther handles a reply that another holder has the lock.
func (l *Lock) onHeldByOther(now time.Duration, m *Message, fx *Effects) {
	reply, queues := m.Reply, l.protocol().queues
	if queues {
		l.noteQueued(reply)
	} else {
		l.endTenure(now, fx)
	}
	x := l.ensureExt()
	x.clearFailure()
	x.knownHeld, x.yieldUntil, l.validUntil = true, 0, 0
	if x.reader != nil {
		x.reader.onHeldByOther(m.Command.Reader)
	}
	if l.noteOrphanHolder(now, reply, fx) {
		f := x.ensureFailure()
		if x.nextTry = now; f.orphanSeenAt != 0 && !x.retryNow {
			x.nextTry = max(now, f.orphanSeenAt+minRetry)
		}
		f.orphanSeenAt = now
		return
	}
	x.noteOtherHolder()
	x.noteForeign(reply)
	if queues && reply.pruning() {
		x.ensureFair().notHead, x.nextTry = false, now+pruneInterval
		return
	}
	if !l.UnderWriter() { // otherwise the acquire left before its owner acquired the write lock
		l.rejectWaitingTries(now, fx)
	}
	if !queues || reply.Holder != "" { // otherwise it is free, and another waiter's turn
		l.validUntil = never
		if reply.TTL >= 0 {
			l.validUntil = m.Sent + reply.TTL
		}
	}
	sleep := sleepFor(reply.TTL, now-m.Sent, fx)
	if queues {
		sleep = x.boundSleep(sleep, now-m.Sent, reply, fx)
	}
	if fx.PubSubUnreliable {
		sleep = min(sleep, fx.jitter(max(unreliablePubSubPoll, time.Duration(fx.Stats.Waiting)*unreliablePubSubPollSpread)))
	}
	x.nextTry = now + sleep
	switch {
	case fx.Config.Poll || reply.Foreign:
		x.nextTry = min(x.nextTry, now+x.nextPollDelay(now, reply, fx))
	case x.pollsUnsubscribed:
		x.nextTry = min(x.nextTry, now+fx.pollDelay())
	}
	if x.retryNow || m.Sent < l.reconfirmSince(fx) {
		x.nextTry = now
		l.endOtherLease(now)
	}
}

// sleepFor returns how long to wait for a notification before the next try. took is the time since the acquire was
// sent: most of it may have passed since the server read the TTL.
func sleepFor(ttl, took time.Duration, fx *Effects) time.Duration {
	if ttl < 0 {
		return fx.jitter(noTTLPoll)
	}
	ttl -= max(took-minRetry, 0)
	return max(min(ttl, maxSleep)+time.Millisecond, fx.jitter(minRetry))
}

// pollDelay returns how long to sleep while notifications cannot arrive.
func (fx *Effects) pollDelay() time.Duration {
	return fx.jitter(max(noPubSubPoll, time.Duration(fx.PolledLocks)*noPubSubPollSpread))
}

func (x *ext) nextBackoff(fx *Effects) time.Duration {
	f := x.ensureFailure()
	f.backoff = NextBackoff(f.backoff, minBackoff, maxBackoff)
	return fx.jitter(f.backoff / 2)
}

// onNotified handles a notification on the lock's channel: a hint that the lock may be free, never a promise.
func (l *Lock) onNotified(now time.Duration) {
	x := l.ensureExt()
	if x.fair != nil {
		x.fair.notified = true
	}
	l.endOtherLease(now)
	switch {
	case l.phase == held:
		l.flags |= wantConfirm
		l.retrySoon(now)
	case l.phase == acquiring && (l.inFlight != None || !x.fairView().queued):
		x.retryNow = true
	case l.phase == releasing && x.handoffView().yieldAfterRelease != 0:
		x.handoff.notifications++ // the notification of our own release can arrive before its reply
	case now < x.yieldUntil:
		// The first notification is of our own release; a second means that another client had the lock since.
		h := x.ensureHandoff()
		if h.notifications++; h.notifications > 1 {
			x.yieldUntil, x.nextTry = 0, now
		}
	default:
		x.nextTry = now
	}
}

// onSubscribed handles the start of a subscription. A notification may have been missed before.
func (l *Lock) onSubscribed(now time.Duration, fx *Effects) {
	x := l.ensureExt()
	x.subscribed = true
	x.setPollsUnsubscribed(false, fx)
	switch {
	case l.phase == held && l.holds != nil:
		l.flags |= wantConfirm
	case l.phase == acquiring && (l.inFlight != None || !x.fairView().queued):
		x.retryNow = true
	case now >= x.yieldUntil:
		x.nextTry = now
	}
}

// onSubscribeFailed handles that the channel cannot be subscribed to, for any reason: waiters poll until it can.
func (l *Lock) onSubscribeFailed(now time.Duration, fx *Effects) {
	x := l.ensureExt()
	if !x.listening || x.pollsUnsubscribed {
		return
	}
	x.setPollsUnsubscribed(true, fx)
	x.nextTry = min(x.nextTry, now+fx.pollDelay())
}

func (x *ext) setPollsUnsubscribed(on bool, fx *Effects) {
	x.setPolled(on, x.pollsForeign, fx)
}

// setPolled records why the lock is polled, if it is, and counts it once.
func (x *ext) setPolled(unsubscribed, foreign bool, fx *Effects) {
	was, is := x.pollsUnsubscribed || x.pollsForeign, unsubscribed || foreign
	switch {
	case was == is:
	case is:
		fx.PolledLocks++
	default:
		fx.PolledLocks--
	}
	x.pollsUnsubscribed, x.pollsForeign = unsubscribed, foreign
}

// Listens reports whether the lock has asked for a subscription that it still wants.
func (l *Lock) Listens() bool { return l.ext != nil && l.ext.listening }

// Channel returns the channel that a lock listens to.
func (l *Lock) Channel() string { return l.ext.channel }

// ForgetSubscription has a lock that no request waits for no longer listen, without a SubscriptionChange.
func (l *Lock) ForgetSubscription(fx *Effects) {
	x := l.ext
	x.listening, x.subscribed, x.unsubscribeAt = false, false, 0
	x.setPollsUnsubscribed(false, fx)
}

// SubscriptionLost records that notifications do not arrive at present.
func (l *Lock) SubscriptionLost() { l.ensureExt().subscribed = false }

// updateSubscription keeps the subscription while requests wait for the lock, and for unsubscribeDelay after that.
func (l *Lock) updateSubscription(now time.Duration, fx *Effects) {
	x := l.ext
	l.updatePolling(fx)
	if fx.Config.Poll {
		return
	}
	switch {
	case l.needsSubscription():
		x.unsubscribeAt = 0
		l.setSubscription(true, fx)
	case l.queue.empty() && x.listening && (fx.Draining || l.protocol().ownChannel || x.unsubscribeAt != 0 && now >= x.unsubscribeAt):
		x.unsubscribeAt = 0
		l.setSubscription(false, fx)
	case l.queue.empty() && x.listening && x.unsubscribeAt == 0:
		x.unsubscribeAt = now + unsubscribeDelay
	}
}

// needsSubscription reports whether a notification could be for a request that waits here.
func (l *Lock) needsSubscription() bool {
	x := l.ext
	switch {
	case l.queue.empty():
		return false
	case l.protocol().ownChannel:
		return l.phase == acquiring && x.fairView().queued
	}
	return x.listening || x.knownHeld || l.phase == held || l.phase == releasing
}

func (l *Lock) setSubscription(on bool, fx *Effects) {
	x := l.ext
	if x.listening == on {
		return
	}
	x.unsubscribeAt = 0
	x.listening, x.subscribed = on, false
	x.setPollsUnsubscribed(false, fx)
	if on {
		x.channel = l.channel(fx)
	}
	fx.SubscriptionChanges = append(fx.SubscriptionChanges, SubscriptionChange{Lock: l, Channel: x.channel, On: on})
}
