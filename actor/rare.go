package actor

import "time"

// rare is the state of a lock that is waited for, handed off, extended or in trouble; other locks do not have it. What
// a lock that only waits for another holder does not need is in further parts. They are allocated when first written
// to, because a million locks may wait.
type rare struct {
	// Waiting for another holder.
	askAt    time.Duration // no acquire is sent before
	stepBack time.Duration // until when this engine yields to others
	tries    *tries        // requests of the queue that try once and came behind others; nil: none so far
	owners   waitersOf     // requests of the queue by owner; nil: not indexed
	joint    *Request      // the request for several locks with a command that this lock leads, if that got no reply or its caller has left

	// The channel.
	channel string        // the channel subscribed to
	leaveAt time.Duration // when to unsubscribe; 0: not planned

	changes line // re-entries that need a longer lease, and extensions
	forces  line // requests to take the lock away by force

	disorder   int32 // how many requests of the queue are in front of one that was posted before them
	again      bool  // a notification came while an acquire was in flight
	answered   bool  // since the queue began, a reply showed another holder
	listening  bool  // a subscription was ordered
	subscribed bool  // it is active
	unheard    bool  // requests wait for it without a subscription
	acquiring  bool  // an acquire of the tenure got no reply: it may still run
	releasing  bool  // a release of it got no reply
	shared     bool  // of a writer: this engine has readers of the lock, holding or waiting
	quiet      quiet

	troubles *troubles
	leases   *leases
	handoff  *handoff
	place    *place
	polling  *polling
	reading  *reading
}

// troubles is the state that a lock needs once something has failed. The zero value means that nothing has.
type troubles struct {
	last    error         // error of the last try; nil once the server replied
	backoff time.Duration // the last pause
	foundAt time.Duration // when a rejection last named an orphan
	retryAt time.Duration // a rejected renewal, release or force is not sent again before
	ghosts  []ghost       // orphans to release
	evicted uint64        // the tenure that ended because it is to be forced away
	reached time.Duration // the longest lease that one of its commands may have set
}

// leases is what is known of a tenure's lease. Commands without a reply may still run at any time until the tenure
// ends.
type leases struct {
	shortest  time.Duration // shortest lease among its commands without a reply; 0: none
	longest   time.Duration // longest lease that one of its commands may have set
	confirmed time.Duration // the last confirmed lease
	sending   time.Duration // the lease of the renewal in flight
	seen      time.Duration // when the last renewal with a reply was sent, whether or not it set the TTL
	raised    time.Duration // of a writer: until when the TTL may last because of what reads beside it needed; 0: not so
	token     uint64        // the tenure's latest token from the server, for kinds that have them
	given     uint64        // the owner's token
}

// handoff is the state of handing off a tenure from owner to owner, and of yielding to other engines.
type handoff struct {
	handed    int32         // handoffs of the tenure
	heard     int32         // notifications since yielding began; the first is this engine's own
	listeners int32         // other subscribers of the channel, or why that is not known
	listen    bool          // there were other subscribers when this engine last yielded
	looked    bool          // this engine yielded for longer than spinners sleep, see quiet
	again     bool          // it found the lock free then, and has to look a second time: a spinner may be between two holds
	handedAt  time.Duration // when the first handoff of the tenure was
	yield     time.Duration // how long to yield to others after the release; 0: not
	tookAt    time.Duration // when this engine found the lock free after it had yielded for longer than spinners sleep
	clear     time.Duration // when it was last known that there are no spinners; 0: never
	left      time.Duration // when this engine yielded last; 0: not since it began to wait
	since     time.Duration // when this engine got the lock after spinners had had it
}

// place is a tenure's place in the queue that the server keeps.
type place struct {
	wait    time.Duration // its wait in the queue; 0: not known yet
	behind  uint64        // the tenure of this engine that queued before it and has the same wait; 0: none
	queued  bool          // it has a place in the queue
	passive bool          // the lock was free and another waiter's turn, and a waiter of this engine ahead of it polls
}

// polling is the state of polling by choice (Config.Poll).
type polling struct {
	sleep    time.Duration // the last sleep
	passedAt time.Duration // when passed was last changed, or the wait began
	holder   uint32        // hash of the holder at the last try; 0: not tried yet
	passed   uint8         // how often others were seen to get the lock, at most 7; 0 again when they did not for 4*pollMost
}

func (l *Lock) withRare() *rare {
	if l.rare == nil {
		l.rare = &rare{}
		if reached := l.until - l.confirmed; reached > 0 {
			l.rare.withLeases().longest = reached
		}
	}
	return l.rare
}

// tenureEnds resets what belongs to the tenure.
func (x *rare) tenureEnds() {
	x.acquiring, x.releasing = false, false
	if s := x.leases; s != nil {
		s.shortest, s.longest, s.raised, s.token, s.given = 0, 0, 0, 0, 0
	}
	if h := x.handoff; h != nil {
		h.handed, h.listeners = 0, unasked
	}
	if t := x.troubles; t != nil {
		t.retryAt = 0
	}
	if x.place != nil {
		*x.place = place{}
	}
}

// trouble returns the error of the last try; nil once the server replied.
func (x *rare) trouble() error {
	if x.troubles == nil {
		return nil
	}
	return x.troubles.last
}

// retryAt returns when a rejected renewal, release or force may be sent again.
func (x *rare) retryAt() time.Duration {
	if x.troubles == nil {
		return 0
	}
	return x.troubles.retryAt
}

// foundAt returns when a rejection last named an orphan.
func (x *rare) foundAt() time.Duration {
	if x.troubles == nil {
		return 0
	}
	return x.troubles.foundAt
}

func (x *rare) ghosts() []ghost {
	if x.troubles == nil {
		return nil
	}
	return x.troubles.ghosts
}

func (x *rare) evicted() uint64 {
	if x.troubles == nil {
		return 0
	}
	return x.troubles.evicted
}

// calm records that the server replied.
func (x *rare) calm() {
	if t := x.troubles; t != nil {
		t.last, t.backoff = nil, 0
	}
}

func (x *rare) withTroubles() *troubles {
	if x.troubles == nil {
		x.troubles = &troubles{}
	}
	return x.troubles
}

// shortest returns the shortest lease among the tenure's commands without a reply; 0: none.
func (l *Lock) shortest() time.Duration {
	if l.rare == nil || l.rare.leases == nil {
		return 0
	}
	return l.rare.leases.shortest
}

// Each part is read as a value, so that a write to a missing part does not compile. Writes go through the part's with
// method, which allocates it. The methods are not generic, because generic code cost 4 % with one hot name.

func (x *rare) lease() (s leases) {
	if x.leases != nil {
		s = *x.leases
	}
	return s
}

func (x *rare) withLeases() *leases {
	if x.leases == nil {
		x.leases = &leases{}
	}
	return x.leases
}

func (x *rare) handed() handoff {
	if x.handoff == nil {
		return handoff{listeners: unasked}
	}
	return *x.handoff
}

func (x *rare) withHandoff() *handoff {
	if x.handoff == nil {
		x.handoff = &handoff{listeners: unasked}
	}
	return x.handoff
}

func (x *rare) placed() (p place) {
	if x.place != nil {
		p = *x.place
	}
	return p
}

func (x *rare) withPlace() *place {
	if x.place == nil {
		x.place = &place{}
	}
	return x.place
}

func (x *rare) withPolling(now time.Duration) *polling {
	if x.polling == nil {
		x.polling = &polling{passedAt: now}
	}
	return x.polling
}

func (x *rare) reads() (r reading) {
	if x.reading != nil {
		r = *x.reading
	}
	return r
}

func (x *rare) withReading() *reading {
	if x.reading == nil {
		x.reading = &reading{}
	}
	return x.reading
}
