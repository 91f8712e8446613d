package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// Crowd lists floods of waiters for locks that another holder has, of several sizes.
type Crowd struct {
	Own     bool  // each waiter waits for a name of its own; otherwise all wait for one
	Async   []int // numbers of lockwheel's waiters by LockAsync
	Blocked []int // numbers of lockwheel's waiters by Lock, with a goroutine each
	Peers   []int // numbers of the peers' waiters; after a failure of a peer its larger sizes are left out
}

// Flooding is the effect of a flood on an unrelated lock of the same client, from beginning to end.
type Flooding struct {
	Name    string
	Own     bool
	Waiters int
	Phases  []*Phase // those that have begun; the first is before the flood
	Before  Footprint
	After   Footprint // after the flood and a garbage collection
	Held    int       // watched holds of the same client meanwhile
	Lost    int       // of these; negative: not known
	Failure string    // in the last of the phases
}

// The phases of a flood.
const (
	FloodNone       = "before"
	FloodPosting    = "posting"     // until all have called
	FloodListening  = "subscribing" // until each waiter knows that its lock is held, and all channels have subscribers
	FloodWaiting    = "waiting"
	FloodMessages   = "messages" // 1 000 a second, on the channel of the one name, or of one name after the other
	FloodCancelling = "cancel"   // of the one context that all share, until each has its result
	FloodLeaving    = "leaving"  // until no channel has a subscriber
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

	// Of lockwheel: how long 999 of 1000 turns of the loop took at most, and the longest; bounds of Stats.TurnTimes. 0: not known.
	Turns, LongestTurn time.Duration
}

// Footprint is the number of goroutines and the memory of a client.
type Footprint struct {
	Goroutines int // threads, of Redisson
	RSS        int64
}

const (
	floodHeld  = 2000                  // watched holds during a flood
	floodLease = 3 * time.Second       // of these
	floodBrief = 50 * time.Millisecond // phases up to this have no figure of processors: reading it takes processor time too
	floodLook  = 10 * time.Millisecond // between two checks whether a phase has ended
)

// flooder is a client with a flood of waiters.
type flooder interface {
	occupied() occupation     // the key that occupies a name for another holder
	keep(holds int) error     // acquires watched locks
	lost() (int, error)       // of those
	begin(phase *Phase) error // probes that are due from now on count for this phase
	end(phase *Phase)         // stores the figures of the phase, except those of probes
	post() error              // all waiters call, and wait
	asked() (bool, error)     // whether each waiter knows that its lock is held
	message(i int) []any      // the command that makes a waiter try again
	ended() (int, error)      // waiters with a result; the error is of an unexpected one
	cancel() error            // ends the context that all share
	used() (measure.Usage, error)
	stopProbes() error // and waits for those in flight
	footprint() Footprint
	close()
}

// Flood runs the floods of a crowd with every contestant, one after the other.
func Flood(s *Server, p Plan, c Crowd) ([]*Flooding, error) {
	var all []*Flooding
	for _, one := range bearersOf(s, p, c) {
		for _, n := range one.waiters {
			f := &Flooding{Name: one.name, Own: c.Own, Waiters: n, Held: floodHeld, Lost: -1}
			all = append(all, f)
			err := f.measure(s, p, func() (flooder, error) { return one.open(n) })
			if err != nil {
				f.Failure = err.Error()
			}
			if err := s.Clear(); err != nil {
				return all, err
			}
			if err != nil && f.Reached() != FloodLeaving && one.name != FloodAsync && one.name != FloodBlocked {
				break
			}
		}
	}
	return all, nil
}

// Reached returns the name of the last phase that has begun.
func (f *Flooding) Reached() string {
	if len(f.Phases) == 0 {
		return ""
	}
	return f.Phases[len(f.Phases)-1].Name
}

// Flooded returns the phases of the flood itself.
func (f *Flooding) Flooded() []*Phase { return f.Phases[min(1, len(f.Phases)):] }

// Refused returns how many probes failed.
func (f *Flooding) Refused() (n int64) {
	for _, p := range f.Phases {
		n += p.Refused
	}
	return n
}

// Worst returns the largest value that the phases of the flood have for a figure.
func (f *Flooding) Worst(of func(*Phase) time.Duration) (worst time.Duration) {
	for _, p := range f.Flooded() {
		worst = max(worst, of(p))
	}
	return worst
}
