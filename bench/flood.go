package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// FloodPlan lists floods of waiters for locks that another holder has, of several sizes.
type FloodPlan struct {
	Own     bool  // each waiter waits for a name of its own; otherwise all wait for one
	Async   []int // numbers of lockwheel's waiters by LockAsync
	Blocked []int // numbers of lockwheel's waiters by Lock, with a goroutine each
	Peers   []int // numbers of the peers' waiters; after a failure of a peer its larger sizes are left out
	Readers []int // numbers of lockwheel's waiters by LockAsync to read the one name, which another holder writes
	Granted []int // numbers of lockwheel's readers of the one name that are granted, held and released
	Parts   []int // numbers of the names of one Multi of lockwheel
}

// FloodResult is the effect of a flood on an unrelated lock of the same client, from beginning to end.
type FloodResult struct {
	Name    string
	Own     bool
	Waiters int
	Phases  []*Phase // those that have begun; the first is before the flood
	Before  Footprint
	After   Footprint // after the flood and a garbage collection
	Held    int       // watched holds of the same client meanwhile, with the readers or the names that were granted
	Lost    int       // of these; negative: not known
	Failure string    // in the last of the phases
}

// The phases of a flood.
const (
	FloodBefore      = "before"
	FloodPosting     = "posting"     // until all have called
	FloodSubscribing = "subscribing" // until each waiter knows that its lock is held, and all channels have subscribers
	FloodWaiting     = "waiting"
	FloodMessages    = "messages" // 1 000 a second, on the channel of the one name, or of one name after the other
	FloodCanceling   = "cancel"   // of the one context that all share, until each has its result
	FloodLeaving     = "leaving"  // until no channel has a subscriber
)

// The phases of a flood of holds, after the first.
const (
	FloodGranting  = "granting" // until all are held
	FloodHolding   = "holding"  // with renewals
	FloodReleasing = "releasing"
)

// Phase is one stage of a flood.
type Phase struct {
	Name  string
	Took  time.Duration
	Probe measure.Histogram // lock and unlock of an unrelated name, from when it was due
	Ping  measure.Histogram // PING on a plain connection of this process, from when it was due
	End   Footprint

	Refused int64 // probes that failed: they count with how long that took; atomic until the flood has ended

	Client, Server float64 // cores; 0: not known

	// Of lockwheel: how long 999 of 1000 turns of the loop took at most, and the longest; bounds of Stats.TurnTimes. 0:
	// not known.
	Turns, LongestTurn time.Duration
}

// Footprint is the number of goroutines and the memory of a client.
type Footprint struct {
	Goroutines int // threads, of Redisson
	RSS        int64
}

const (
	floodHeld         = 2000                  // watched holds during a flood
	floodLease        = 3 * time.Second       // of these
	minCPUPhase       = 50 * time.Millisecond // phases up to this have no figure of processors: reading it takes processor time too
	floodPollInterval = 10 * time.Millisecond // between two checks whether a phase has ended
)

// floodClient is a client with a flood of waiters.
type floodClient interface {
	foreignHold() foreignHold     // the key that occupies a name for another holder
	acquireHolds(holds int) error // acquires watched locks
	granted() int                 // watched holds of the flood itself
	lost() (int, error)           // of all of those
	begin(phase *Phase) error     // probes that are due from now on count for this phase
	end(phase *Phase)             // stores the figures of the phase, except those of probes
	post() error                  // all waiters call, and wait
	allWaiting() (bool, error)    // whether each waiter knows that its lock is held
	notifyCommand(i int) []any    // the command that makes a waiter try again
	ended() (int, error)          // waiters with a result; the error is of an unexpected one
	cancel() error                // ends the context that all share
	used() (measure.Usage, error)
	stopProbes() error // and waits for those in flight
	footprint() Footprint
	close()
}

// Flood runs the floods of a crowd with every contestant, one after the other.
func Flood(s *Server, p Plan, c FloodPlan) ([]*FloodResult, error) {
	var all []*FloodResult
	for _, one := range floodContestants(s, p, c) {
		for _, n := range one.waiters {
			f := &FloodResult{Name: one.name, Own: c.Own, Waiters: n, Held: floodHeld, Lost: -1}
			all = append(all, f)
			err := f.measure(s, p, func() (floodClient, error) { return one.open(n) }, one.phases)
			if err != nil {
				f.Failure = err.Error()
			}
			if err := s.Clear(); err != nil {
				return all, err
			}
			if err != nil && f.LastPhase() != FloodLeaving && one.peer {
				break
			}
		}
	}
	return all, nil
}

// LastPhase returns the name of the last phase that has begun.
func (f *FloodResult) LastPhase() string {
	if len(f.Phases) == 0 {
		return ""
	}
	return f.Phases[len(f.Phases)-1].Name
}

// Holds reports whether the flood is one of holds: readers of one name, or names of one Multi.
func (f *FloodResult) Holds() bool { return f.Name == FloodGranted || f.Name == FloodParts }

// LoadPhases returns the phases of the flood itself.
func (f *FloodResult) LoadPhases() []*Phase { return f.Phases[min(1, len(f.Phases)):] }

// FailedProbes returns how many probes failed.
func (f *FloodResult) FailedProbes() (n int64) {
	for _, p := range f.Phases {
		n += p.Refused
	}
	return n
}

// Worst returns the largest value that the phases of the flood have for a figure.
func (f *FloodResult) Worst(of func(*Phase) time.Duration) (worst time.Duration) {
	for _, p := range f.LoadPhases() {
		worst = max(worst, of(p))
	}
	return worst
}
