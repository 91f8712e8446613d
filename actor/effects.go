package actor

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Config is the engine's configuration. Durations are positive unless the field says otherwise.
type Config struct {
	ID         string        // the engine's UUID: every holder id on the wire begins with it
	Lease      time.Duration // lease of a watched lock
	Renew      time.Duration // renewal interval of a watched lock, since its last confirmation
	Spread     time.Duration // renewals come up to this much earlier, to spread locks that were taken together; 0: no spreading
	Timeout    time.Duration // of one round trip
	MaxHold    time.Duration // longest time that an owner's lock is renewed; 0: no bound
	HandoffMax int           // grants by handoff while other engines wait; negative: never hand off
	HandoffFor time.Duration // longest time of handoffs while other engines wait
	FairWait   time.Duration // how long a place in a fair queue lives at most without being refreshed
	Poll       bool          // waiters poll and never subscribe
	Replicas   int           // replicas that must have a grant; 0: replicas are not asked
	ReplicaFor time.Duration // how long to wait for them
	Seed       uint64        // of the jitter

	MaxWaiting        int // locks that undecided requests of the engine ask for; 0: no bound
	MaxWaitingPerLock int // callers that wait for one name; 0: no bound
}

// Late returns how long after it left a command that takes a queue place may still take effect. Within that time a dead
// connection has been noticed.
func (c *Config) Late() time.Duration { return 2 * c.Timeout }

// Sleeper is the target of a timer on the wheel.
type Sleeper interface {
	Wake(now time.Duration, fx *Effects)
}

// Ended is the end of a hold, published after the turn.
type Ended struct {
	Hold  *Hold
	Key   string
	Err   error // ErrNotHeld, ErrLost or ErrClosed
	Cause error
	Held  time.Duration // since its owner's first grant
	Known time.Duration // until when the hold is known to have been held
}

// Listening is a subscription change: On subscribes to a lock's channel, otherwise it unsubscribes.
type Listening struct {
	Lock    *Lock
	Channel string
	On      bool
}

// Reunite asks the coordinator to check whether an owner waits for itself. Lock was just granted to Owner, which may
// have other requests for the same name. Or Owner just lost Lock and waits for it, and may hold the other half.
type Reunite struct {
	Lock  *Lock
	Owner uint64
}

// Numbered is a per-request lock and a tenure that it has or has to release.
type Numbered struct {
	Lock   *Lock
	Tenure uint64
}

// Stats counts the operations of locks. Held and Waiting are current values; the others are totals since the engine's
// start.
type Stats struct {
	Held, Waiting                                      int64
	Acquired, Refused, Released, Lost, Renewed, Handed uint64
	Muted                                              uint64 // releases after which the server rejected the PUBLISH
	LostAtUnlock                                       uint64 // counted in Released, but the server did not have the lock any more
	Shed                                               uint64 // counted in Refused: rejected because the limit of waiters was reached
}

// Step records one step: the message, and the lock's phase before and after. It is passed by value, so that no message
// escapes to the heap for it.
type Step struct {
	Lock          *Lock
	Kind          Kind
	Verb          Verb   // Answered: the command's verb
	Status        Status // Answered: the outcome
	Before, After Phase
}

// Effects collects what the steps of one turn produce: steps append, the coordinator takes. It also holds the engine's
// counters and settings that steps read. It is owned by the coordinator and not safe for concurrent use.
type Effects struct {
	Config   Config
	Wheel    *wheel.Wheel[Sleeper] // timers of requests, and of locks that this engine does not hold
	Leases   *wheel.Wheel[Sleeper] // timers of locks that it holds or is releasing
	Commands []Command
	Verdicts []*Request
	Ended    []Ended
	Listen   []Listening
	Ready    []*Request // requests for several locks that are at the head of their queue
	Touched  []*Lock    // locks changed by the step of another lock: the coordinator sends them Nudged
	Recalled []Verb     // verbs of queued commands of the lock that stepped which must not leave any more
	Reunites []Reunite  // locks with an owner that may be waiting for itself since this step
	Claimed  []*Lock    // per-request locks that have another owner since this step
	Numbered []Numbered // tenures that per-request locks have since this step, or have to release
	Refusing []*Lock    // locks with callers still to be rejected; the coordinator removes entries
	Undone   error      // why the lock that stepped undoes a grant that too few replicas have; nil: it does not
	Stats    Stats
	Lag      RecentMax     // how late renewals were confirmed
	Tenures  int           // locks in Redis for this engine, as far as is known
	Unheard  int           // locks with waiters and without a subscription
	Asking   int           // locks being acquired, without a final reply yet
	Wanted   int64         // locks that undecided requests ask for
	Doubted  time.Duration // confirmations sent before this time do not count for grants
	// Moved returns when the master of a key became known: what was sent to another master before that does not count
	// either. nil: Doubted alone counts.
	Moved func(key string) time.Duration
	// Expects reports whether the quorum with that owner number waits for another Lock of the key. nil: no quorum does.
	Expects func(key string, owner uint64) bool
	// Scattered says that a notification may be published where this engine does not listen: waiters also ask every few
	// seconds.
	Scattered bool
	RoundTrip time.Duration // recent duration of a round trip
	Draining  bool

	// Refusals counts the callers rejected in this turn where very many are rejected together; RefusalsMost is the
	// limit, 0: none.
	Refusals, RefusalsMost int
	Soonest                time.Duration // no timer fires before

	// Stepped is called for every step of a lock; nil: not called. The simulation uses it to measure which transitions
	// it has seen.
	Stepped func(Step)

	watched       time.Duration // validity of Config.Lease
	moments       moments
	tenure, owner uint64
	random        *rand.Rand
}

// NewEffects returns the effects of one engine. One wheel holds all timers.
func NewEffects(config Config, timers *wheel.Wheel[Sleeper]) *Effects {
	return &Effects{
		Config:  config,
		Wheel:   timers,
		Leases:  timers,
		watched: believed(config.Lease),
		moments: momentsOf(&config),
		random:  rand.New(rand.NewPCG(config.Seed, 0x6c6f636b)),
	}
}

// Admit registers a new request. It must be called before everything else that concerns the request.
func (fx *Effects) Admit(now time.Duration, r *Request) {
	r.posted = now
	if r.Tag == Acquire {
		fx.Stats.Waiting++
		fx.Wanted += int64(r.locks())
	}
}

// Decide gives a request its result. Each request gets exactly one; a second call for the same request does nothing.
func (fx *Effects) Decide(now time.Duration, r *Request, err, cause error) {
	if r.Decided() {
		return
	}
	r.stage = decided
	r.Err, r.Cause = err, cause
	if r.line != nil {
		r.line.remove(r)
	}
	fx.Wheel.Cancel(&r.timer)
	if r.Tag == Acquire {
		fx.Stats.Waiting--
		fx.Wanted -= int64(r.locks())
		if err == nil {
			fx.Stats.Acquired++
			fx.Stats.Held++
		} else {
			fx.Stats.Refused += r.locks()
		}
	}
	fx.Verdicts = append(fx.Verdicts, r)
}

// Clash rejects a request because the name is in use as another kind of lock.
func (fx *Effects) Clash(now time.Duration, r *Request, is LockKind) {
	fx.Decide(now, r, ErrKind, otherKind(is, r.Kind))
}

// Shed rejects a request because the limit of waiters is reached.
func (fx *Effects) Shed(now time.Duration, r *Request, cause error) {
	fx.Stats.Shed += r.locks()
	fx.Decide(now, r, ErrTooManyWaiters, cause)
}

// Limit sets the time at which a request times out.
func (fx *Effects) Limit(r *Request, at time.Duration) {
	r.timer.Value = r
	fx.schedule(fx.Wheel, &r.timer, at)
}

// schedule sets a timer. It cannot fail: the wheels have no limit and are never stopped while the engine steps.
func (fx *Effects) schedule(on *wheel.Wheel[Sleeper], t *wheel.Timer[Sleeper], at time.Duration) {
	if err := on.Schedule(t, at); err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	fx.Soonest = min(fx.Soonest, on.Due(t))
}

func (fx *Effects) nextTenure() uint64 { fx.tenure++; return fx.tenure }

func (fx *Effects) nextOwner() uint64 { fx.owner++; return fx.owner }

// Own returns the tenure in a holder id; ok is false if the id is not one of this engine's.
func (fx *Effects) Own(holder string) (tenure uint64, ok bool) {
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
