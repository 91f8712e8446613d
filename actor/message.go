package actor

import "time"

// Event is the type of a Message.
type Event uint8

// The messages that a lock handles.
const (
	Requested         Event = iota + 1 // Request arrived
	Cancel                             // Request's caller gave up, for Cause
	TimedOut                           // Request's own time is over
	TimerFired                         // the lock's timer fired
	Replied                            // Reply is the outcome of Command, which was sent at Sent
	Requeued                           // Command was not executed, and waits to be sent again
	Notified                           // a notification arrived on the lock's channel
	Subscribed                         // the subscription to the channel is active from now on, maybe again
	SubscribeFailed                    // the channel cannot be subscribed to at present
	WriterGone                         // a reader need not let a writer go first any longer
	Unreachable                        // no connection to the server, for Cause: ends Request, or if that is nil all requests that try once
	Reconfirm                          // confirmations may be void, by a clock jump or a new master: confirm before granting anything
	OrphanSeen                         // an orphan of the lock is in Redis: release it now
	ReleaseAwaited                     // the lock's tenure keeps another Lock of the key from its own, for which a caller blocks
	Displaced                          // another Lock of this engine was granted the same key, which excludes this one
	Evicted                            // a force of another Lock of this engine will take this one away too
	Drain                              // no more grants: the engine shuts down
	Enqueued                           // Request, for several locks, waits in this lock's queue from now on
	QueueHead                          // no Lock of this engine is ahead in the fair queue; with Reply: the lock is free and another's turn
	Transferred                        // Request, of the owner that holds this lock, waited at another Lock of the key
	Unreplicated                       // another Lock of the key was granted, but at Sent too few replicas had it, for Cause
	ContinueRejecting                  // continue a rejection of many requests, as far as the turn allows
	Leaked                             // Request.Hold cannot be unlocked any more
	Recheck                            // the lock was changed from outside: reconcile
)

// Message is one event for a lock, valid during a step only. Event says which fields are set; the zero Event is none.
// Owned by the coordinator.
type Message struct {
	Event   Event
	Request *Request
	Command *Command
	Reply   *Reply
	Sent    time.Duration
	Cause   error
}

// Verb is the operation of a command; each is one script.
type Verb uint8

// The commands. The first ones are those of the plain lock; other kinds use some of them as well.
const (
	None Verb = iota
	SendAcquire
	SendRenew
	SendRelease
	SendForce
	SendState
	SendFencedAcquire // SendAcquire; the reply has a fencing token
	SendFencedRenew   // SendRenew for the next owner; the reply has a new token
	SendMultiAcquire  // SendAcquire of several locks, all or none
	SendFairAcquire   // SendAcquire, or a place in the fair queue
	SendFairRelease   // SendRelease, or give up the place in the fair queue
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

	Verbs // the number of verbs
)

// Command is one key's part of a batch. The coordinator owns it until it leaves; then the sender does, until the reply
// arrives. The lease counts from before the command is sent. The zero Command, with the Verb None, is none.
type Command struct {
	Verb           Verb
	CountListeners bool          // SendRenew: count the subscribers of the channel
	ExcludeSelf    bool          // SendRenew: one of them is this engine
	Routine        bool          // SendRenew: it is due, and no caller waits for it
	Retry          bool          // SendAcquire and the like: an earlier try found the lock held by another holder
	Async          bool          // SendAcquire, SendRelease and the like, but SendFairAcquire: no caller blocks for it
	MayShorten     bool          // SendRenew: the TTL may fall; the script notifies waiters if it does
	Fair           bool          // SendRenew: with MayShorten, also notify the head of the queue
	Count          int32         // SendRenew: hold count to write; 0 leaves it
	Flight         uint32        // one of two copies for the same tenure with another number is not to leave, see hasten
	Lock           *Lock         // nil for SendState
	Key            string        // in Redis
	Tenure         uint64        // the tenure it is about: the lock's own, or an orphan
	Lease          time.Duration // SendAcquire, SendRenew; for SendRenew 0 leaves the TTL
	Orphans        []uint64      // SendAcquire: tenures to release first
	Token          uint64        // SendFencedRenew: the tenure's last token
	Wait           time.Duration // SendFairAcquire, SendFairRelease: its wait in the queue; 0: it does not queue, or that is not known
	QueuedAfter    uint64        // SendFairAcquire: the tenure queued before it that has the same wait; 0: none
	Reader         *ReaderArgs   // SendReadAcquire, SendReadRenew; nil: one hold, with that lease
	Request        *Request      // SendState, SendMultiAcquire: the request it is for
	Parts          []PartKey     // SendMultiAcquire: the locks
}

// Status is the outcome of a command.
type Status uint8

// The outcomes. The zero Status is NoReply.
const (
	NoReply     Status = iota // no reply: it may have run, and may still run at any later time
	OK                        // acquired, renewed, released, forced, read
	NotFound                  // no such tenure; for SendForce: the lock was free
	HeldByOther               // SendAcquire: held by another holder
	Rejected                  // the server rejected it, for Err
)

// Values of Reply.TTL that are no duration, as the server's PTTL returns them. All such values are negative.
const (
	NoTTL time.Duration = -1 // the key never expires
	NoKey time.Duration = -2 // there is no such key: the lock is not held
)

// Reply is the reply to one command, and what the coordinator knows about it. It is also the result of a State request
// (with Status, Count, TTL, Holder and Foreign). It is the result of a count request and of a shutdown that was cut
// short, too (with Count only).
//
// Package engine/wire decodes it, on the sender's goroutine. A replica sender adds Replicas, and Err if their number is
// not known. Then the coordinator owns it: it adds HolderIsOurs, HolderReleasing and NotHead, and replaces one of a key
// that is no hash. Request.State belongs to the caller with the result. The zero Reply says that none came.
type Reply struct {
	Status          Status
	Unpublished     bool          // released or forced, but the server rejected the PUBLISH that notifies waiters
	Malformed       bool          // NoReply: a reply came, but malformed, or from a node that is no longer a master
	CountNotStored  bool          // SendRenew: renewed, but the count could not be written
	HolderIsOurs    bool          // HeldByOther: the holder is a tenure of another Lock of this engine
	HolderReleasing bool          // HeldByOther: another Lock of this engine will release the holder, or the read/write lock's other half
	NotHead         bool          // HeldByOther: another Lock of this engine is ahead of it in the fair queue
	Foreign         bool          // HeldByOther, and SendState when OK: held by another library
	Late            bool          // Rejected: SendFairAcquire arrived after the time until which it may take effect
	Replicas        int           // of a grant, if Config.Replicas is set: how many replicas have it
	Listeners       int           // SendRenew: subscribers of the channel; -1 unknown
	Count           int           // SendState: the hold count; also the result of a count request
	TTL             time.Duration // SendAcquire when HeldByOther, SendState; negative: NoTTL or NoKey
	Holder          string        // SendAcquire when HeldByOther, SendState
	Writer          string        // SendReadAcquire when HeldByOther: the writer's holder id
	Readers         string        // SendWriteAcquire when HeldByOther: all or some reading tenures of this engine, separated by spaces
	FailedPart      int           // SendMultiAcquire when HeldByOther or Rejected: the index of the lock, or AllParts
	Token           uint64        // SendFencedAcquire and SendFencedRenew when OK
	KeyType         string        // Rejected: the type of the key, with its TTL, if it is no hash; empty: not known
	QueueTTL        time.Duration // SendFairAcquire when HeldByOther: time left in the queue; not positive: no place
	ServerMillis    int64         // SendFairAcquire when HeldByOther or Late: the server's clock in ms since 1970; 0: not known
	Err             error         // Rejected and NoReply: the reason; OK: why the number of replicas is not known
}

// otherHolder returns the holder that a rejected acquire found.
func (r *Reply) otherHolder() string {
	if r.Writer != "" {
		return r.Writer
	}
	return r.Holder
}

// pruning reports whether a fair lock is free and the head of its queue has more dead places than one command removes.
// Whether a live waiter is ahead is not known; the next command removes more places.
func (r *Reply) pruning() bool { return r.Holder == "" && r.TTL == 0 && !r.NotHead }

// shouldBackOff reports whether to pause before the next try: the server replied "not now", or with a malformed reply.
// A command without any reply waits for the connection instead, which the coordinator handles.
func (r *Reply) shouldBackOff() bool { return r.Status == Rejected || r.Malformed }

// isWrongType reports whether a command was rejected because the key is not a lock any more: nothing of a tenure is
// left there.
func (r *Reply) isWrongType() bool {
	return r.Status == Rejected && HasPrefixFold(r.Err.Error(), "WRONGTYPE")
}

// TenureGone reports whether the tenure is certainly not in Redis: it was not found, or its key is no hash any more.
func (r *Reply) TenureGone() bool { return r.Status == NotFound || r.isWrongType() }

// isTransient reports whether a rejected command is worth sending again.
func (r *Reply) isTransient() bool { return r.Status == Rejected && Transient(r.Err.Error()) }
