package actor

import "time"

// ext is the state of a lock that is waited for, handed off, extended or in trouble; other locks do not have it. What a
// lock that only waits for another holder does not need is in further parts. They are allocated when first written to,
// because a million locks may wait.
//
// ensureExt makes one. The zero value says that nothing of all that is the case. A nil part is read as its zero value,
// but a handoffState, see handoffView. Owned by the coordinator, with all parts.
type ext struct {
	// Waiting for another holder.
	nextTry      time.Duration  // no acquire is sent before
	yieldUntil   time.Duration  // until when this engine yields to others
	tries        *queuedTries   // requests of the queue that try once and came behind others; nil: none so far
	waiters      waitersByOwner // requests of the queue by owner; nil: not indexed
	multiRequest *Request       // the request for several locks that this lock is the command lock of, if its command got no reply or its caller has left

	// The channel.
	channel       string        // the channel subscribed to
	unsubscribeAt time.Duration // when to unsubscribe; 0: not planned

	leaseRequests requestList // re-entries that need a longer lease, and extensions
	forceRequests requestList // requests to take the lock away by force

	outOfOrder        int32 // how many requests of the queue are in front of one that was posted before them
	retryNow          bool  // a notification came while an acquire was in flight
	knownHeld         bool  // since the queue began, a reply showed another holder
	listening         bool  // a subscription was ordered
	subscribed        bool  // it is active
	pollsUnsubscribed bool  // requests wait for it without a subscription, so it is polled
	foreign           bool  // the last reply showed a lock of another library
	pollsForeign      bool  // requests wait for that lock, so it is polled
	acquireUnacked    bool  // an acquire of the tenure got no reply: it may still run
	releaseUnacked    bool  // a release of it got no reply
	hasLocalReaders   bool  // of a writer: this engine has readers of the lock, holding or waiting
	spinners          spinnerState

	failure *failureState
	lease   *leaseState
	handoff *handoffState
	fair    *fairPlace
	polling *polling
	reader  *readerState
}

// failureState has what a lock needs once something has failed. That is the last error and the pauses that follow it,
// and the orphans to release. It also has the tenure that ended for a force of this lock. It also notes which owner was
// reported to hold the lock for too long, and which command was queued once more, because that is as rare. The zero
// value means that nothing has failed, no owner was reported, and no command was queued once more.
type failureState struct {
	lastErr        error         // error of the last try; nil once the server replied
	backoff        time.Duration // the last pause
	orphanSeenAt   time.Duration // when a rejection last named an orphan
	retryAt        time.Duration // a rejected renewal, release or force is not sent again before
	orphans        []orphan      // orphans to release
	forcedTenure   uint64        // the tenure that ended because it is to be forced away
	forcedMaxLease time.Duration // the longest lease that one of its commands may have set
	lowering       lowering      // whether the TTL is to fall, which is as rare
	reportedSince  time.Duration // the first grant of the owner that was reported to hold the lock too long; 0: none
	flight         uint32        // how often a command was queued once more, see hasten; the number of the one that may leave
	hastened       bool          // that was done with the command in flight
}

// leaseState is what is known of a tenure's lease. Commands without a reply may still run at any time until the tenure
// ends. The zero value means that no command set a lease and none is without a reply.
type leaseState struct {
	minUnackedLease time.Duration // the shortest lease among its commands without a reply; 0: none
	maxSentLease    time.Duration // the longest lease that one of its commands may have set
	confirmedLease  time.Duration // the last confirmed lease
	inFlightLease   time.Duration // the lease of the renewal in flight
	lastRenewReply  time.Duration // when the last renewal with a reply was sent, whether or not it set the TTL
	raisedUntil     time.Duration // of a writer: until when the TTL may last because of what reads beside it needed; 0: not so
	token           uint64        // the tenure's latest token from the server, for kinds that have them
	ownerToken      uint64        // the owner's token
}

// handoffState is the state of handing off a tenure from owner to owner, and of yielding to other engines. The zero
// value is not the initial state: its otherListeners says that no other client listens. ensureHandoff makes one that
// says that this is not known.
type handoffState struct {
	handoffs          int32         // handoffs of the tenure
	notifications     int32         // notifications since yielding began; the first is this engine's own
	otherListeners    int32         // other subscribers of the channel, or why that is not known
	listenedLast      bool          // there were other subscribers when this engine last yielded
	probed            bool          // this engine yielded for longer than spinners sleep, see yieldFor
	probeAgain        bool          // it found the lock free then, and has to look a second time: a spinner may be between two holds
	handoffStart      time.Duration // when the first handoff of the tenure was
	countedAt         time.Duration // when the number of other subscribers arrived: had it the time of its command, each would be old far from the server
	yieldAfterRelease time.Duration // how long to yield to others after the release; 0: not
	foundFreeAt       time.Duration // when this engine found the lock free after it had yielded for longer than spinners sleep
	noSpinnersAt      time.Duration // when it was last known that there are no spinners; 0: never
	yieldedAt         time.Duration // when this engine yielded last; 0: not since it began to wait
	regainedAt        time.Duration // when this engine got the lock after spinners had had it
}

// fairPlace is a tenure's place in the queue that the server keeps. The zero value has no place, as far as is known.
type fairPlace struct {
	queueWait   time.Duration // its wait when it queued; 0: not known yet
	life        time.Duration // placeLife when an acquire of it left last
	queuedAfter uint64        // the tenure of this engine that queued before it and has the same wait; 0: none
	queued      bool          // it has a place in the queue
	notified    bool          // it was notified since its last acquire: the next one leaves before those that only keep places
	notHead     bool          // the lock was free and another waiter's turn, and a waiter of this engine ahead of it polls
}

// polling is the state of polling by choice (Config.Poll), or for a foreign lock. ensurePolling makes one. The zero
// value would date the wait from the start of the engine. Owned by the coordinator.
type polling struct {
	lastSleep  time.Duration // the last sleep
	takeoverAt time.Duration // when takeovers was last changed, or the wait began
	foreignEnd time.Duration // the end of the foreign lock when it was last seen to move; 0: not seen
	holderHash uint32        // hash of the holder at the last try; 0: not tried yet
	takeovers  uint8         // how often others were seen to get the lock, at most 7; 0 again when they did not for 4*maxPoll
}

func (l *Lock) ensureExt() *ext {
	if l.ext == nil {
		l.ext = &ext{}
		if reached := l.validUntil - l.confirmedAt; reached > 0 {
			l.ext.ensureLease().maxSentLease = reached
		}
	}
	return l.ext
}

// resetTenure resets what belongs to the tenure.
func (x *ext) resetTenure() {
	x.acquireUnacked, x.releaseUnacked = false, false
	if s := x.lease; s != nil {
		s.minUnackedLease, s.maxSentLease, s.raisedUntil, s.token, s.ownerToken = 0, 0, 0, 0, 0
	}
	if h := x.handoff; h != nil {
		h.handoffs, h.otherListeners = 0, listenersUnknown
	}
	if f := x.failure; f != nil {
		f.retryAt, f.hastened = 0, false
	}
	if x.fair != nil {
		*x.fair = fairPlace{}
	}
}

// lastErr returns the error of the last try; nil once the server replied.
func (x *ext) lastErr() error {
	if x.failure == nil {
		return nil
	}
	return x.failure.lastErr
}

// retryAt returns when a rejected renewal, release or force may be sent again.
func (x *ext) retryAt() time.Duration {
	if x.failure == nil {
		return 0
	}
	return x.failure.retryAt
}

// orphanSeenAt returns when a rejection last named an orphan.
func (x *ext) orphanSeenAt() time.Duration {
	if x.failure == nil {
		return 0
	}
	return x.failure.orphanSeenAt
}

func (x *ext) orphans() []orphan {
	if x.failure == nil {
		return nil
	}
	return x.failure.orphans
}

func (x *ext) forcedTenure() uint64 {
	if x.failure == nil {
		return 0
	}
	return x.failure.forcedTenure
}

// clearFailure records that the server replied.
func (x *ext) clearFailure() {
	if f := x.failure; f != nil {
		f.lastErr, f.backoff = nil, 0
	}
}

func (x *ext) ensureFailure() *failureState {
	if x.failure == nil {
		x.failure = &failureState{}
	}
	return x.failure
}

// minUnackedLease returns the shortest lease among the tenure's commands without a reply; 0: none.
func (l *Lock) minUnackedLease() time.Duration {
	if l.ext == nil || l.ext.lease == nil {
		return 0
	}
	return l.ext.lease.minUnackedLease
}

// Each part is read as a value, so that a write to a missing part does not compile. Writes go through the part's ensure
// method, which allocates it if it is missing. The methods are not generic, because generic code cost 4 % with one hot
// name.

func (x *ext) leaseView() (s leaseState) {
	if x.lease != nil {
		s = *x.lease
	}
	return s
}

func (x *ext) ensureLease() *leaseState {
	if x.lease == nil {
		x.lease = &leaseState{}
	}
	return x.lease
}

func (x *ext) handoffView() handoffState {
	if x.handoff == nil {
		return handoffState{otherListeners: listenersUnknown}
	}
	return *x.handoff
}

func (x *ext) ensureHandoff() *handoffState {
	if x.handoff == nil {
		x.handoff = &handoffState{otherListeners: listenersUnknown}
	}
	return x.handoff
}

func (x *ext) fairView() (p fairPlace) {
	if x.fair != nil {
		p = *x.fair
	}
	return p
}

func (x *ext) ensureFair() *fairPlace {
	if x.fair == nil {
		x.fair = &fairPlace{}
	}
	return x.fair
}

func (x *ext) ensurePolling(now time.Duration) *polling {
	if x.polling == nil {
		x.polling = &polling{takeoverAt: now}
	}
	return x.polling
}

func (x *ext) readerView() (r readerState) {
	if x.reader != nil {
		r = *x.reader
	}
	return r
}

func (x *ext) ensureReader() *readerState {
	if x.reader == nil {
		x.reader = &readerState{}
	}
	return x.reader
}
