package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// Crowd is floods of waiters for locks that somebody else has, of several sizes.
type Crowd struct {
	Own     bool  // each waiter wants a name of its own; otherwise all want one
	Async   []int // waiters of ours by LockAsync
	Blocked []int // waiters of ours by Lock, a goroutine each
	Peers   []int // waiters of the peers; a peer's larger sizes are left out once it failed
}

// Flooding is what a flood did to an unrelated lock of the same client, from its beginning to its end.
type Flooding struct {
	Name    string
	Own     bool
	Waiters int
	Phases  []*Phase // those that were begun; the first is before the flood
	Before  Footprint
	After   Footprint // once the flood is over and memory was collected
	Held    int       // watched holds beside it
	Lost    int       // of these; negative: not known
	Failure string    // in the last of the phases
}

// The phases of a flood.
const (
	FloodNone       = "before"
	FloodPosting    = "posting"     // until all have called
	FloodListening  = "subscribing" // until each has been told that another has its lock, and all channels are listened to
	FloodWaiting    = "waiting"
	FloodMessages   = "messages" // 1 000 a second, on the channel of the one name, or of one name after the other
	FloodCancelling = "cancel"   // of the one context that all share, until each has its verdict
	FloodLeaving    = "leaving"  // until the server has nobody on any of the channels
)

// Phase is a stretch of a flood.
type Phase struct {
	Name  string
	Took  time.Duration
	Probe measure.Histogram // lock and unlock of an unrelated name, from when it was due
	Ping  measure.Histogram // PING on a plain connection of this process, from when it was due
	End   Footprint

	Refused int64 // probes that failed: they count with how long that took; atomic until the flood is over

	Client, Server float64 // cores; 0: not known

	// Of ours: how long 999 of 1000 turns of the loop took at most, and the longest; bounds of Stats.TurnTimes. 0: not known.
	Turns, LongestTurn time.Duration
}

// Footprint is what a client takes.
type Footprint struct {
	Goroutines int // threads of Redisson
	RSS        int64
}

const (
	floodHeld  = 2000                  // watched holds beside a flood
	floodLease = 3 * time.Second       // of these
	floodBrief = 50 * time.Millisecond // phases up to that have no figure of processors: what is read with it takes some, too
	floodLook  = 10 * time.Millisecond // between two looks whether a phase is over
)

// flooder is a client with a flood of waiters.
type flooder interface {
	occupied() occupation     // what makes a name somebody else's
	keep(holds int) error     // takes watched locks
	lost() (int, error)       // of those
	begin(phase *Phase) error // probes that are due from now on are of this phase
	end(phase *Phase)         // notes what the phase came to, but for probes
	post() error              // all call, and wait
	asked() (bool, error)     // whether each was told that another has its lock
	message(i int) []any      // the command that has a waiter ask again
	ended() (int, error)      // waiters that have their verdict; the error is of one that was none to be expected
	cancel() error            // ends the context that all share
	used() (measure.Usage, error)
	stopProbes() error // and waits for those that are under way
	footprint() Footprint
	close()
}

// Flood has every contestant bear the floods of a crowd, one after the other.
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

// Reached is the last phase that was begun.
func (f *Flooding) Reached() string {
	if len(f.Phases) == 0 {
		return ""
	}
	return f.Phases[len(f.Phases)-1].Name
}

// Flooded are the phases of the flood itself.
func (f *Flooding) Flooded() []*Phase { return f.Phases[min(1, len(f.Phases)):] }

// Refused is how many probes failed.
func (f *Flooding) Refused() (n int64) {
	for _, p := range f.Phases {
		n += p.Refused
	}
	return n
}

// Worst is the longest of what the phases of the flood came to.
func (f *Flooding) Worst(of func(*Phase) time.Duration) (worst time.Duration) {
	for _, p := range f.Flooded() {
		worst = max(worst, of(p))
	}
	return worst
}
