package actor

import "time"

// Kind says what a Message is.
type Kind uint8

// What a lock understands.
const (
	Acquire      Kind = iota + 1 // Request wants the lock
	Unlock                       // Request ends Request.Hold
	Extend                       // Request changes the lease of Request.Hold
	Force                        // Request takes the lock away from whoever holds it
	Cancel                       // Request's caller gave up, for Cause
	Overdue                      // Request's own time is over
	Woken                        // the lock's timer fired
	Answered                     // Command, sent at Sent, was answered with Reply
	Returned                     // Command has not been done, and waits to be sent again
	Heard                        // a message came on the lock's channel
	Subscribed                   // the channel is listened to from now on, maybe again
	Unheard                      // the channel cannot be listened to at present
	Called                       // a reader need not let a writer come first any longer
	Unreached                    // the server cannot be connected to, for Cause: Request, or all who try once, do not wait for it
	Doubt                        // the clock may have stood still: confirm before granting anything
	Found                        // a ghost of the lock is in Redis: release it now
	Displaced                    // another claim of this engine on the same lock was granted
	Ousted                       // the lock is to be forced away from another claim of this engine, and from this one with it
	Drain                        // no more grants: the engine shuts down
	Moved                        // Request, for several locks, waits for this one from now on
	Foremost                     // nobody of this engine stands before it in the queue any more; with Reply, the lock is free and others' turn
	Rejoins                      // Request, of the owner who has the lock, waited for another claim on it
	Unreplicated                 // another Lock of that name was granted, and at Sent too few replicas had it, for Cause
	RefusesOn                    // those who are still to be refused are: as many as the turn may
	Nudged                       // something about the lock has changed: see what it wants now
)

// Message is everything that can happen to a lock, by value. Which fields count follows from Kind.
type Message struct {
	Kind    Kind
	Request *Request
	Command *Command
	Reply   *Reply
	Sent    time.Duration
	Cause   error
}

// Verb is what a command does; each is one script.
type Verb uint8

// The commands of the plain lock, some of them those of other kinds as well, and of further kinds.
const (
	None Verb = iota
	SendAcquire
	SendRenew
	SendRelease
	SendForce
	SendState
	SendFencedAcquire // SendAcquire, and the answer has a token
	SendFencedPass    // SendRenew for the next owner, and the answer has another token
	SendJointAcquire  // SendAcquire of several locks, all or none
	SendFairAcquire   // SendAcquire, or a place in the queue
	SendFairRelease   // SendRelease, or the place is given up
	SendFairForce
	SendReadAcquire
	SendReadRenew
	SendReadRelease
	SendReadForce
	SendReadState
	SendWriteAcquire
	SendWriteRenew
	SendWriteRelease
	SendWriteForce
	SendWriteState

	Verbs // how many there are
)

// Command is one key's part of a batch: the coordinator's until it leaves, then the courier's until it
// is answered. The lease counts from before it is sent.
type Command struct {
	Verb    Verb
	Listen  bool          // SendRenew: count who listens on the channel
	Own     bool          // SendRenew: one of them is this engine
	Routine bool          // SendRenew: it is due, and nobody waits for it
	Again   bool          // SendAcquire and the like: it was asked for before, and somebody else had it
	Falls   bool          // SendRenew: the TTL may fall; who waits is told if it does
	Count   int           // SendRenew: hold count to write; 0 leaves it
	Lock    *Lock         // nil for SendState
	Key     string        // in Redis
	Tenure  uint64        // whose field it is about: the lock's own, or a ghost's
	Lease   time.Duration // SendAcquire, SendRenew; for SendRenew 0 leaves the TTL
	Ghosts  []uint64      // SendAcquire: tenures to release first
	Token   uint64        // SendFencedPass: the tenure's last
	Wait    time.Duration // SendFairAcquire, SendFairRelease: with which it queues; 0 does not, or is not known
	Behind  uint64        // SendFairAcquire: the tenure that asked before it and waits as long; 0: none
	Reads   *Reads        // SendReadAcquire, SendReadRenew; nil: one hold, with that lease
	Request *Request      // SendState, SendJointAcquire: who asked
	Parts   []Asked       // SendJointAcquire: the locks
}

// Status is how a command ended.
type Status uint8

// How a command can end. A zero Status is Unanswered.
const (
	Unanswered Status = iota // no answer: it may have run, and may still run at any later time
	Done                     // acquired, renewed, released, forced, read
	Gone                     // no such tenure; for SendForce: it was free
	Taken                    // SendAcquire: someone else's
	Refused                  // the server said no, for Err
)

// Reply is the answer to one command.
type Reply struct {
	Status    Status
	Muted     bool          // released or forced, but the server refused the message to the waiting
	Garbled   bool          // Unanswered: the server did answer, with what no script gives, or that it is a master no more
	Uncounted bool          // SendRenew: renewed, but the count could not be written
	Known     bool          // Taken: another Lock of this engine knows the holder
	Doomed    bool          // Taken: another Lock of this engine is about to release the holder, or what has the other half
	Preceded  bool          // Taken: another Lock of this engine stands before it in the queue
	Late      bool          // Refused: SendFairAcquire came after the moment until which it may take effect
	Replicas  int           // of a grant, if they are asked: how many have it
	Listeners int           // SendRenew: on the channel; -1 unknown
	Count     int           // SendState; also the verdict of who asks an engine for a count
	TTL       time.Duration // SendAcquire when Taken, SendState; negative: none
	Holder    string        // SendAcquire when Taken, SendState
	Writer    string        // SendReadAcquire when Taken: who writes
	Readers   string        // SendWriteAcquire when Taken: tenures of this engine that read, all or some, with a space between
	Part      int           // SendJointAcquire when Taken or Refused: which of the locks
	Token     uint64        // SendFencedAcquire and SendFencedPass when Done
	Left      time.Duration // SendFairAcquire when Taken: has left by its time in the queue; not positive: no place
	Clock     int64         // SendFairAcquire when Taken or Late: the server's, in ms since 1970; 0 not known
	Err       error         // Refused and Unanswered: why; Done: why it is not known which replicas have it
}

// other is who has the lock, of a question that was refused.
func (r *Reply) other() string {
	if r.Writer != "" {
		return r.Writer
	}
	return r.Holder
}

// sweeping reports whether a fair lock is free, and more dead stand at the head of its queue than one call removes. It is not known
// that anyone alive comes first, and the next call removes more.
func (r *Reply) sweeping() bool { return r.Holder == "" && r.TTL == 0 && !r.Preceded }

// pauses reports whether the next try is to wait a little: the server said "not now", or nonsense. What
// got no answer at all waits for the connection, which is the coordinator's matter.
func (r *Reply) pauses() bool { return r.Status == Refused || r.Garbled }

// replaced reports whether a command was refused because its key is no lock any more: nothing of a tenure is left there.
func (r *Reply) replaced() bool { return r.Status == Refused && Begins(r.Err.Error(), "WRONGTYPE") }

// passes reports whether a refused command is worth sending again.
func (r *Reply) passes() bool { return r.Status == Refused && Passing(r.Err.Error()) }
