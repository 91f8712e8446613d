package actor

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/wheel"
)

// Config is what an engine's options come to. Durations are positive unless it says otherwise.
type Config struct {
	ID         string        // the engine's UUID: every holder's id on the wire begins with it
	Lease      time.Duration // of a watched lock
	Renew      time.Duration // after its last confirmation a watched lock is renewed
	Spread     time.Duration // or up to that much earlier, so that locks taken together are not renewed together; 0: not
	Timeout    time.Duration // of one round trip
	MaxHold    time.Duration // 0: no bound
	HandoffMax int           // grants while others listen; negative: never handed on
	HandoffFor time.Duration
	FairWait   time.Duration // how long a place in a fair lock's queue lives at most without being kept up
	Poll       bool          // who waits asks again and again, and never listens
	Replicas   int           // that must have a grant; 0: not asked
	ReplicaFor time.Duration // how long they are waited for
	Seed       uint64        // of the jitter

	MaxWaiting        int // locks asked for without a verdict, of the engine; 0: no bound
	MaxWaitingPerLock int // callers who wait for one name; 0: no bound
}

// Late is how long after it left a command that takes a place in a queue may take effect at the latest. By then a dead
// connection has been noticed.
func (c *Config) Late() time.Duration { return 2 * c.Timeout }

// Sleeper is what a timer of the wheel wakes.
type Sleeper interface {
	Wake(now time.Duration, fx *Effects)
}

// Ended is a hold's end, published after the turn.
type Ended struct {
	Hold  *Hold
	Key   string
	Err   error // ErrNotHeld, ErrLost or ErrClosed
	Cause error
	Held  time.Duration // since its owner's first grant
	Known time.Duration // until when it is known to have been held
}

// Listening is a wish to hear a lock's channel, or no longer to.
type Listening struct {
	Lock    *Lock
	Channel string
	On      bool
}

// Reunite is a lock that was just granted to an owner who may wait elsewhere for the same name, or one that an owner lost
// and waits for, who may have the other half of it.
type Reunite struct {
	Lock  *Lock
	Owner uint64
}

// Numbered is a claim and a tenure of it, or one that it is to release.
type Numbered struct {
	Lock   *Lock
	Tenure uint64
}

// Stats counts what locks did. Gauges: now; counters: since the engine's start.
type Stats struct {
	Held, Waiting                                      int64
	Acquired, Refused, Released, Lost, Renewed, Handed uint64
	Muted                                              uint64 // releases whose message the server refused
	LostAtUnlock                                       uint64 // Released, and the server did not have it any more
	Shed                                               uint64 // of those Refused: because as many waited as may
}

// Step is what a lock was told, and how it stood before and after. By value, or every message would be
// allocated for it.
type Step struct {
	Lock          *Lock
	Kind          Kind
	Verb          Verb   // Answered: the command's
	Status        Status // Answered
	Before, After Phase
}

// Effects is what a turn comes to; steps append, the coordinator takes. Owned by the coordinator.
type Effects struct {
	Config   Config
	Wheel    *wheel.Wheel[Sleeper] // of requests, and of locks that this engine does not have
	Leases   *wheel.Wheel[Sleeper] // of those that it has, and of those that it gives back
	Commands []Command
	Verdicts []*Request
	Ended    []Ended
	Listen   []Listening
	Ready    []*Request // for several locks, and it is their turn
	Touched  []*Lock    // that a step of another lock changed: they are to be Nudged
	Recalled []Verb     // of commands of the lock that stepped which were queued, and are not to leave any more
	Reunites []Reunite  // locks of which an owner may wait for itself, since this step
	Claimed  []*Lock    // claims that have another owner since this step
	Numbered []Numbered // numbers that claims have since this step, or are to release
	Refusing []*Lock    // of which callers are still to be refused; taken out by the coordinator
	Undone   error      // why the lock that stepped gives a grant back that too few replicas have; nil: it does not
	Stats    Stats
	Lag      RecentMax     // how late renewals were confirmed
	Tenures  int           // locks in Redis for this engine, as far as is known
	Unheard  int           // locks that are waited for, and whose channel is not listened to
	Asking   int           // locks asked for without an answer yet
	Wanted   int64         // locks that requests without a verdict are for
	Doubted  time.Duration // confirmations sent before this moment do not count for grants
	// Moved, unless it is nil, is when the master of a key became known: what was sent to another one before does not count either.
	Moved func(key string) time.Duration
	// Expects, unless it is nil, is whether a quorum of that number waits for another claim on a key.
	Expects func(key string, owner uint64) bool
	// Scattered says that a message can go where this engine does not listen: who waits asks again every few seconds.
	Scattered bool
	RoundTrip time.Duration // what one takes, lately
	Draining  bool

	Refusals, RefusalsMost int           // of callers in this turn who are refused very many at once, and how many that may be; 0: no bound
	Soonest                time.Duration // no timer fires before

	// Stepped, unless it is nil, is told of every step of a lock: for a simulation that must know what it
	// has seen.
	Stepped func(Step)

	watched       time.Duration // what is believed of Config.Lease
	moments       moments
	tenure, owner uint64
	random        *rand.Rand
}

// NewEffects prepares the effects of one engine, with one wheel for all.
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

// Admit takes a request in. It comes before everything else that happens to it.
func (fx *Effects) Admit(now time.Duration, r *Request) {
	r.posted = now
	if r.Tag == Acquire {
		fx.Stats.Waiting++
		fx.Wanted += int64(r.locks())
	}
}

// Decide gives a request its one verdict. A second call for the same request does nothing.
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

// Clash refuses a request for a name that is in use as another kind of lock.
func (fx *Effects) Clash(now time.Duration, r *Request, is LockKind) {
	fx.Decide(now, r, ErrKind, otherKind(is, r.Kind))
}

// Shed refuses a request because as many wait as may.
func (fx *Effects) Shed(now time.Duration, r *Request, cause error) {
	fx.Stats.Shed += r.locks()
	fx.Decide(now, r, ErrTooManyWaiters, cause)
}

// Limit bounds a request in time.
func (fx *Effects) Limit(r *Request, at time.Duration) {
	r.timer.Value = r
	fx.schedule(fx.Wheel, &r.timer, at)
}

// schedule sets a timer; the wheels of an engine have no limit and are never stopped while it steps.
func (fx *Effects) schedule(on *wheel.Wheel[Sleeper], t *wheel.Timer[Sleeper], at time.Duration) {
	if err := on.Schedule(t, at); err != nil {
		panic("lockwheel: bug: " + err.Error())
	}
	fx.Soonest = min(fx.Soonest, on.Due(t))
}

func (fx *Effects) nextTenure() uint64 { fx.tenure++; return fx.tenure }

func (fx *Effects) nextOwner() uint64 { fx.owner++; return fx.owner }

// Own returns the tenure in a holder's id, if this engine made it.
func (fx *Effects) Own(holder string) (tenure uint64, ok bool) {
	number, ok := strings.CutPrefix(holder, fx.Config.ID)
	if !ok || number == "" || number[0] != ':' {
		return 0, false
	}
	tenure, err := strconv.ParseUint(number[1:], 10, 64)
	return tenure, err == nil
}

// jitter spreads a wait over d to 2d.
func (fx *Effects) jitter(d time.Duration) time.Duration {
	return d + time.Duration(fx.random.Int64N(int64(d)+1))
}
