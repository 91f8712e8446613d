package actor

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Config is the engine's configuration. Durations are positive unless the field says otherwise, so the zero Config is
// not one to run with: the root package fills it in. It is immutable from NewEffects on.
type Config struct {
	ID               string        // the engine's UUID: every holder id on the wire begins with it
	Lease            time.Duration // lease of a watched lock
	RenewInterval    time.Duration // renewal interval of a watched lock, since its last confirmation
	RenewSpread      time.Duration // renewals come up to this much earlier, to spread locks that were taken together; 0: no spreading
	CallTimeout      time.Duration // of one round trip
	HeldTooLong      time.Duration // a hold that lasts longer is reported once; 0: none is
	FindLeaks        bool          // leaked holds are reported, without a message that wakes the loop
	MaxHold          time.Duration // longest time that an owner's lock is renewed; 0: no bound
	MaxHandoffGrants int           // grants by handoff while other engines wait; negative: never hand off
	MaxHandoffTime   time.Duration // longest time of handoffs while other engines wait
	FairWaitTimeout  time.Duration // how long a place in a fair queue lives at most without being refreshed
	Poll             bool          // waiters poll and never subscribe
	Foreign          bool          // a string at a lock's key is the lock of another library, and not an error
	Replicas         int           // replicas that must have a grant; 0: replicas are not asked
	ReplicaTimeout   time.Duration // how long to wait for them
	Seed             uint64        // of the jitter

	MaxWaiting        int // locks that requests of the engine without a result ask for; 0: no bound
	MaxWaitingPerLock int // callers that wait for one name; 0: no bound
}

// MaxCommandDelay returns how long after it left a command that takes a queue place may still take effect. Within that
// time a dead connection has been noticed.
func (c *Config) MaxCommandDelay() time.Duration { return 2 * c.CallTimeout }

// TimerTarget is the target of a timer on the wheel: a Lock, or a Request with a time limit of its own.
type TimerTarget interface {
	Wake(now time.Duration, fx *Effects)
}

// HoldEnd is the end of a hold, published after the turn; only Cause may be nil. It is valid until the coordinator's
// ResetOutputs; a user that needs it for longer copies it. Owned by the coordinator.
type HoldEnd struct {
	Hold      *Hold
	Key       string
	Err       error // ErrNotHeld, ErrLost or ErrClosed
	Cause     error
	Held      time.Duration // since its owner's first grant
	HeldUntil time.Duration // until when the hold is known to have been held
	Granted   *Request      // the request that was granted the hold, if its result is not published yet
}

// HoldNotice is a hold to be logged, because its caller seems to have forgotten it. It lasts for Config.HeldTooLong
// (Effects.TooLong), or no caller can unlock it any more (Effects.Leaks). It is published after the turn, and valid
// until the coordinator's ResetOutputs. Owned by the coordinator. The zero value has no hold, and is never published.
type HoldNotice struct {
	Hold *Hold
	Key  string
	Held time.Duration // since its owner's first grant
}

// SubscriptionChange asks the coordinator to add a lock to the listeners of a channel (On), or to remove it from them.
// Whether the server is asked to subscribe or to unsubscribe is the coordinator's decision: other locks may listen,
// too. Owned by the coordinator. The zero value has no lock, and is never appended.
type SubscriptionChange struct {
	Lock    *Lock
	Channel string
	On      bool
}

// ReentryCheck asks the coordinator to check whether an owner waits for itself. Lock was just granted to Owner, which
// may have other requests for the same name. Or Owner just lost Lock and waits for it, and may hold the other half.
// Owned by the coordinator. The zero value has no lock, and is never appended.
type ReentryCheck struct {
	Lock  *Lock
	Owner uint64
}

// LockTenure is a per-request lock and a tenure that it has or has to release. It is an entry of Effects.NewTenures,
// and owned by the coordinator. The zero value has no lock, and is never appended.
type LockTenure struct {
	Lock   *Lock
	Tenure uint64
}

// Stats counts the operations of locks. Held and Waiting are current values; the others are totals since the engine's
// start. The zero value is that of a new engine. Owned by the coordinator.
type Stats struct {
	Held, Waiting                                        int64
	Acquired, Failed, Released, Lost, Renewed, HandedOff uint64
	UnpublishedReleases                                  uint64 // releases after which the server rejected the PUBLISH
	LostAtUnlock                                         uint64 // counted in Released, but the server did not have the lock any more
	Shed                                                 uint64 // counted in Failed: rejected because the limit of waiters was reached
	Leaked                                               uint64 // holds that no caller could unlock any more
	HeldTooLong                                          uint64 // owners that had a lock for Config.HeldTooLong
}

// StepTrace records one step: the message, and the lock's phase before and after. It is passed by value, so that no
// message escapes to the heap for it, and belongs to Effects.OnStep. A field of another event is zero.
type StepTrace struct {
	Lock          *Lock
	Event         Event
	Op            Op     // Requested: the request's operation
	Verb          Verb   // Replied: the command's verb
	Status        Status // Replied: that of the reply
	Before, After Phase
}

// Effects collects what the steps of one turn produce: steps append, the coordinator takes. It also holds the engine's
// counters and settings that steps read. It is owned by the coordinator and not safe for concurrent use. NewEffects
// makes one; the zero Effects has no wheels, so no step can use it.
//
// The coordinator takes these after each step: Commands, SubscriptionChanges, ReadyMulti, ToRecheck, Recalled,
// ReentryChecks, OwnerChanged, NewTenures, RolledBack and RenewalMargins. It takes these at the end of the turn:
// Results, HoldEnds, TooLong and Leaks.
type Effects struct {
	Config              Config
	OtherTimers         *wheel.Wheel[TimerTarget] // timers of requests, and of locks that this engine does not hold
	HeldTimers          *wheel.Wheel[TimerTarget] // timers of locks that it holds or is releasing
	Commands            []Command
	Results             []*Request
	HoldEnds            []HoldEnd
	EndedUnpublished    []int        // which of HoldEnds are of grants that are not published; the coordinator fills in Granted
	TooLong             []HoldNotice // owners that have had their locks for Config.HeldTooLong since this turn, with their oldest hold
	Leaks               []HoldNotice // holds that no caller can unlock any more
	SubscriptionChanges []SubscriptionChange
	ReadyMulti          []*Request     // requests for several locks that are at the head of their queue
	ToRecheck           []*Lock        // locks changed by the step of another lock: the coordinator steps them with the event Recheck
	Recalled            []Verb         // verbs of queued commands of the lock that stepped which must not leave any more
	ReentryChecks       []ReentryCheck // locks with an owner that may be waiting for itself since this step
	OwnerChanged        []*Lock        // per-request locks that have another owner since this step
	NewTenures          []LockTenure   // tenures that per-request locks have since this step, or have to release
	Rejecting           []*Lock        // locks with callers still to be rejected; the coordinator removes entries
	RolledBack          error          // why the lock that stepped undoes a grant that too few replicas have; nil: it does not
	Stats               Stats
	Arrivals            Arrivals        // of the requests that Stats.Waiting counts
	RenewLag            RecentMax       // how late renewals were confirmed, or sent again
	RenewalMargins      []time.Duration // what leases of the lock that stepped had left when a renewal was confirmed
	HeldLocks           int             // tenures that are held, being released, or forcing
	PolledLocks         int             // locks with waiters that are polled: without a subscription, or held by another library
	AcquiringLocks      int             // locks being acquired, without a final reply yet
	ReleasingLocks      int             // locks being released, without a final reply yet; HeldLocks has them, too
	LoweringLocks       int             // locks with a TTL that is to fall, see lowering
	ClosingSince        time.Duration   // since when a TTL that is to fall does so at once, because the engine is about to close; 0: it is not
	WantedLocks         int64           // locks that requests ask for: those without a result and without a cancellation
	ReconfirmSince      time.Duration   // confirmations sent before this time do not count for grants
	// MasterSince returns when the master of a key became known: what was sent to another master before that does not
	// count either. nil: ReconfirmSince alone counts.
	MasterSince func(key string) time.Duration
	// QuorumWaits reports whether the quorum with that owner number waits for another Lock of the key. nil: no quorum
	// does.
	QuorumWaits func(key string, owner uint64) bool
	// ServerDown reports whether the server of a key is known not to reply. nil: none is.
	ServerDown func(key string) bool
	// RepliedAt returns when the server of a key last replied to anything. nil: not known, as if it never had.
	RepliedAt func(key string) time.Duration
	// PubSubUnreliable says that a notification may be published where this engine does not listen: waiters also ask
	// every few seconds.
	PubSubUnreliable bool
	RoundTrip        time.Duration // recent duration of a round trip
	Draining         bool

	// Rejections counts the callers rejected in this turn where very many are rejected together; MaxRejections is the
	// limit, 0: none.
	Rejections, MaxRejections int
	// PlaceSteps counts the requests looked at in this turn to find the places of requests that change their queues;
	// MaxPlaceSteps is the limit, 0: none.
	PlaceSteps, MaxPlaceSteps int
	// MultiMoves counts the requests for several locks that went to wait for another of these in this turn; MaxMultiMoves
	// is the limit, 0: none. The others follow a moment later.
	MultiMoves, MaxMultiMoves int
	NextTimer                 time.Duration // no timer fires before

	// OnStep is called for every step of a lock; nil: not called. The simulation uses it to measure which transitions
	// it has seen.
	OnStep func(StepTrace)

	watchedValidity time.Duration // validity of Config.Lease
	renewSlots      renewSlots
	placeLives      placeLives
	tenure, owner   uint64
	multis          uint64 // how many requests for several locks were received
	random          *rand.Rand
}

// NewEffects returns the effects of one engine. All timers are on one wheel, until the caller sets HeldTimers to
// another one. The caller must do so before the first step, because a timer is canceled on the wheel on which it was
// set.
func NewEffects(config Config, timers *wheel.Wheel[TimerTarget]) *Effects {
	return &Effects{
		Config:          config,
		OtherTimers:     timers,
		HeldTimers:      timers,
		watchedValidity: validity(config.Lease),
		renewSlots:      newRenewSlots(&config),
		random:          rand.New(rand.NewPCG(config.Seed, 0x6c6f636b)),
	}
}

// Receive registers a new request. It must be called before everything else that concerns the request.
func (fx *Effects) Receive(now time.Duration, r *Request) {
	r.receivedAt = now
	if r.Multi != nil {
		fx.multis++
		r.Multi.number = fx.multis
	}
	if r.Op == Acquire {
		fx.Stats.Waiting++
		fx.Arrivals.Add(now)
		fx.countPlace(r, 1)
		fx.WantedLocks += int64(r.lockCount())
	}
}

// CancelReceived says that the cancellation of a request was received, which may be handled later. From then on the
// request takes no place from others.
func (fx *Effects) CancelReceived(r *Request) {
	if r.Op == Acquire && !r.Completed() && r.stage&canceled == 0 {
		r.stage |= canceled
		fx.WantedLocks -= int64(r.lockCount())
	}
}

// Complete gives a request its result. Each request gets exactly one; a second call for the same request does nothing.
func (fx *Effects) Complete(now time.Duration, r *Request, err, cause error) {
	if r.Completed() {
		return
	}
	wanted := r.stage&canceled == 0
	r.stage = completed
	r.Err, r.Cause = err, cause
	if r.list != nil {
		r.list.remove(r)
	}
	fx.OtherTimers.Cancel(&r.timer)
	if r.Op == Acquire {
		fx.Stats.Waiting--
		fx.Arrivals.Remove(r.receivedAt)
		fx.countPlace(r, -1)
		if wanted {
			fx.WantedLocks -= int64(r.lockCount())
		}
		if err == nil {
			fx.Stats.Acquired++
			fx.Stats.Held++
		} else {
			fx.Stats.Failed += r.lockCount()
		}
	}
	fx.Results = append(fx.Results, r)
}

// RejectKind rejects a request because the name is in use as another kind of lock.
func (fx *Effects) RejectKind(now time.Duration, r *Request, is LockKind) {
	fx.Complete(now, r, ErrKindMismatch, kindMismatch(is, r.Kind))
}

// Shed rejects a request because the limit of waiters is reached.
func (fx *Effects) Shed(now time.Duration, r *Request, cause error) {
	fx.Stats.Shed += r.lockCount()
	fx.Complete(now, r, ErrTooManyWaiters, cause)
}

// SetDeadline sets the time at which a request times out.
func (fx *Effects) SetDeadline(r *Request, at time.Duration) {
	r.timer.Value = r
	fx.schedule(fx.OtherTimers, &r.timer, at)
}

// schedule sets a timer. It cannot fail: the wheels have no limit and are never stopped while the engine steps.
func (fx *Effects) schedule(on *wheel.Wheel[TimerTarget], t *wheel.Timer[TimerTarget], at time.Duration) {
	if err := on.Schedule(t, at); err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	fx.NextTimer = min(fx.NextTimer, on.Due(t))
}

func (fx *Effects) nextTenure() uint64 { fx.tenure++; return fx.tenure }

// LastTenure returns the number of the engine's last tenure, 0 before the first.
func (fx *Effects) LastTenure() uint64 { return fx.tenure }

func (fx *Effects) nextOwner() uint64 { fx.owner++; return fx.owner }

// ParseOwn returns the tenure in a holder id; ok is false if the id is not one of this engine's.
func (fx *Effects) ParseOwn(holder string) (tenure uint64, ok bool) {
	number, ok := strings.CutPrefix(holder, fx.Config.ID)
	if !ok || number == "" || number[0] != ':' {
		return 0, false
	}
	tenure, err := strconv.ParseUint(number[1:], 10, 64)
	return tenure, err == nil
}

// jitter returns a random wait from d to 2d.
func (fx *Effects) jitter(d time.Duration) time.Duration {
	return d + time.Duration(fx.random.Int64N(int64(d)+1))
}
