package actor

import "time"

// rare is what only a lock needs that is waited for, handed on, extended or in trouble. What a lock that merely waits for another holder
// does not need either is in parts, which are made when they are first written to: there may be a million that wait.
type rare struct {
	// Waiting for another holder.
	askAt    time.Duration // not before
	stepBack time.Duration // until when others come first
	tries    *tries        // those in the queue who do not wait, and came behind others; nil: there was none yet
	owners   waitersOf     // those of the queue, by their owners; nil: not asked for yet
	joint    *Request      // its question for several locks is led by this one and has no answer, or its caller has left

	// The channel.
	channel string        // which is listened to
	leaveAt time.Duration // when to stop listening; 0: not planned

	changes line // re-entries that need a longer lease, and extensions
	forces  line

	disorder   int32 // how many of the queue stand in front of one that was posted before them
	again      bool  // a message came while the question was under way
	answered   bool  // the server said since the queue began that the lock is taken
	listening  bool
	subscribed bool
	unheard    bool // it is waited for and not listened to
	acquiring  bool // an acquire of the tenure has no answer: it may still run
	releasing  bool // a release of it
	shared     bool // of a writer: this engine has readers of the lock, held or waiting
	quiet      quiet

	troubles *troubles
	leases   *leases
	handoff  *handoff
	place    *place
	polling  *polling
	reading  *reading
}

// troubles is what a lock needs once something has failed. The zero value is a lock that nothing has happened to.
type troubles struct {
	last    error         // why the last try failed; nil once the server answered
	backoff time.Duration // the last pause
	foundAt time.Duration // when a refusal last named a ghost
	retryAt time.Duration // a refused renewal or release is not sent again before
	ghosts  []ghost
	evicted uint64        // the tenure that ended because it is to be forced away
	reached time.Duration // the longest lease that one of its commands may have set
}

// leases is what is known of the lease of a tenure. Commands without an answer may still run at any time until it ends.
type leases struct {
	shortest  time.Duration // shortest lease among its unanswered commands; 0 none
	longest   time.Duration // longest lease that one of its commands may have set
	confirmed time.Duration // the last confirmed lease
	sending   time.Duration // the lease that a renewal under way carries
	seen      time.Duration // when the last answered renewal was sent, whether or not it set the TTL
	raised    time.Duration // of a writer: until when the TTL may be because of what reads beside it needed; 0: not so
	token     uint64        // the last that the server gave the tenure, of a kind that has them
	given     uint64        // the owner's
}

// handoff is how a tenure goes from owner to owner, and to other engines.
type handoff struct {
	handed    int32
	heard     int32         // messages since stepping back began; the first is our own
	listeners int32         // others on the channel, or why it is not known
	listen    bool          // others listened when this engine stepped back last
	looked    bool          // of those who do not, see quiet: this engine stepped back for longer than they sleep
	again     bool          // it found the lock free then, and is to look a second time: one of them may be between two holds
	handedAt  time.Duration // the first time
	yield     time.Duration // after the release, let others come first for so long; 0: not
	tookAt    time.Duration // when this engine found the lock free after it had stepped back for longer than they sleep
	clear     time.Duration // when it was last known that there are none; 0: never
	left      time.Duration // when this engine stepped back last; 0: not since it waits
	since     time.Duration // when this engine got the lock after they had come
}

// place is that of a tenure in the queue that the server keeps.
type place struct {
	wait    time.Duration // with which it queues at the server; 0: not known yet
	behind  uint64        // the tenure of this engine that queued before it and waits as long; 0: none
	queued  bool          // it has a place in the queue
	passive bool          // the lock was free and another's turn, and a claim of this engine before it asks often
}

// polling is how a lock that is polled by choice is asked for.
type polling struct {
	sleep    time.Duration // the last one
	passedAt time.Duration // when it noted the last of the turns that others had, or began
	holder   uint32        // a hash of who had the lock when it was last asked for; 0: not asked yet
	passed   uint8         // turns that others had while it polled
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

// tenureEnds forgets what was the tenure's.
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

// trouble is why the last try failed; nil once the server answered.
func (x *rare) trouble() error {
	if x.troubles == nil {
		return nil
	}
	return x.troubles.last
}

// retryAt is when a refused renewal or release may be sent again.
func (x *rare) retryAt() time.Duration {
	if x.troubles == nil {
		return 0
	}
	return x.troubles.retryAt
}

// foundAt is when a refusal last named a ghost.
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

// calm takes in that the server answered.
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

// shortest is the shortest lease among the tenure's unanswered commands; 0 none.
func (l *Lock) shortest() time.Duration {
	if l.rare == nil || l.rare.leases == nil {
		return 0
	}
	return l.rare.leases.shortest
}

// Each part is read as a value, so that a write to one that is not there does not compile. It is written to by way of its with method, which
// makes it. These are no generic code: that cost a hot name four per cent.

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
