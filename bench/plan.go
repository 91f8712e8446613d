package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// Plan says how much is measured. The time it takes follows from it.
type Plan struct {
	Rounds int           // of every contestant of a comparison
	Round  time.Duration // of one contestant, on names of its own
	Fight  time.Duration // of one contestant, on one name
	WarmUp time.Duration // of the Java machine, once

	Goroutines []int // of Pair
	Fighters   []int // of Hot

	Keep    []Keep // of Hold
	Growers int    // goroutines of the throughput beside what Hold holds

	Calls    int           // of one caller, for each contestant and round
	OpenLoop time.Duration // of the open loop, for each contestant, with and without held locks: two of Beside's renewals or more
	Beside   Keep          // held meanwhile

	Wakes int // for each contestant

	Floods     []Crowd
	FloodFor   time.Duration // of those phases of a flood that end by time
	FloodMost  time.Duration // that any other may take, but for the last
	FloodLeave time.Duration // that the last may take

	// Tell is told what a long comparison is at, a line at a time; nil: nobody.
	Tell func(line string)
}

func (p Plan) tell(format string, args ...any) {
	if p.Tell != nil {
		p.Tell(fmt.Sprintf(format, args...))
	}
}

// Keep is a number of locks that are held.
type Keep struct {
	Locks int
	Lease time.Duration
	Peers bool          // also by those peers that renew
	Every time.Duration // between two renewals of a lock; 0: a third of the lease, as by default
}

// Renew is how often a lock that is kept is renewed.
func (k Keep) Renew() time.Duration {
	if k.Every != 0 {
		return k.Every
	}
	return k.Lease / 3
}

// holder is the name of ours that keeps locks like this.
func (k Keep) holder() string {
	if k.Every != 0 {
		return fmt.Sprintf("%s, renewed every %v", peers.Lockwheel.Name, k.Every)
	}
	return peers.Lockwheel.Name
}

// Full is for figures to be published: most of its time is leases of their real length that pass.
var Full = Plan{
	Rounds: 5, Round: time.Second, Fight: 500 * time.Millisecond, WarmUp: 20 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Fighters:   []int{8, 64},
	Keep: []Keep{
		{Locks: 1000, Lease: 30 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 30 * time.Second, Peers: true},
		{Locks: 1_000_000, Lease: 30 * time.Second},
		{Locks: 1_000_000, Lease: 30 * time.Second, Every: 15 * time.Second},
	},
	Growers: 2048,
	Calls:   2000, OpenLoop: 21 * time.Second, Beside: Keep{Locks: 100_000, Lease: 30 * time.Second},
	Wakes: 400,
	Floods: []Crowd{
		{Own: false, Async: []int{100_000, 1_000_000}, Blocked: []int{100_000}, Peers: []int{1000, 10_000, 100_000}},
		{Own: true, Async: []int{100_000, 1_000_000}, Blocked: []int{100_000}, Peers: []int{1000, 10_000, 100_000}},
	},
	FloodFor: 5 * time.Second, FloodMost: time.Minute, FloodLeave: 30 * time.Second,
}

// Quick is for a look.
var Quick = Plan{
	Rounds: 3, Round: 300 * time.Millisecond, Fight: 200 * time.Millisecond, WarmUp: 10 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Fighters:   []int{8, 64},
	Keep: []Keep{
		{Locks: 1000, Lease: 3 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 8 * time.Second, Peers: true},
	},
	Growers: 2048,
	Calls:   1000, OpenLoop: 7 * time.Second, Beside: Keep{Locks: 100_000, Lease: 10 * time.Second},
	Wakes: 100,
	Floods: []Crowd{
		{Own: false, Async: []int{100_000}, Peers: []int{1000}},
		{Own: true, Async: []int{100_000}, Peers: []int{1000}},
	},
	FloodFor: 2 * time.Second, FloodMost: 30 * time.Second, FloodLeave: 10 * time.Second,
}
