package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// Plan says how much is measured, and so how long it takes.
type Plan struct {
	Rounds         int           // of every contestant of a comparison
	Runs           int           // of each contestant in Hold, in Scale and under a steady load, which have no rounds; 0 is 1
	Round          time.Duration // of one contestant, on names of its own
	ContendedRound time.Duration // of one contestant, on one name
	WarmUp         time.Duration // of the Java process, once

	Goroutines []int // of Pair
	Contenders []int // of Hot

	Holds             []HoldPlan // of Hold
	HoldLeases        int        // for how many leases Hold measures renewals; 0 is 1
	ThroughputWorkers int        // goroutines of the throughput while Hold's locks are held

	Scales []HoldPlan // of Scale
	Sizes  []HoldPlan // of Sizing: what is held beside pairs. The middle one is also held on a cluster

	ManyHeld HoldPlan // of Sizing's constants with many locks; those with few are of WithHeld's

	Calls    int           // of one caller, for each contestant and round
	OpenLoop time.Duration // of the open loop, for each contestant, with and without held locks: two of WithHeld's renewals or more
	WithHeld HoldPlan      // held meanwhile

	Gateway time.Duration // of the requests to each contestant's service, in each round

	Handovers int // for each contestant

	Floods            []FloodPlan
	FloodFor          time.Duration // of the phases of a flood that end by time
	FloodPhaseTimeout time.Duration // the maximum of any other phase but the last
	FloodLeaveTimeout time.Duration // the maximum of the last phase

	PlantedMost int // the most fields or places that another program stores

	// Log receives the progress of a long comparison, a line at a time; nil: no progress is reported.
	Log func(line string)
}

// Repeat returns the plan with this many rounds, and runs of what has no rounds.
func (p Plan) Repeat(times int) Plan {
	p.Rounds, p.Runs = times, times
	return p
}

// kindWarmUp returns how long the Java process is warmed up with each kind of lock.
func (p Plan) kindWarmUp() time.Duration { return p.WarmUp / 5 }

func (p Plan) holdLeases() int { return max(1, p.HoldLeases) }

// runs returns how often to run what has no rounds.
func (p Plan) runs() int { return max(1, p.Runs) }

func (p Plan) logf(format string, args ...any) {
	if p.Log != nil {
		p.Log(fmt.Sprintf(format, args...))
	}
}

// HoldPlan is a number of locks that are held.
type HoldPlan struct {
	Locks int
	Lease time.Duration
	Peers bool          // also by those peers that renew
	Every time.Duration // between two renewals of a lock; 0: a third of the lease, the default
	Once  bool          // in one run, though others have more
	Limit bool          // measure what the server needs for the same renewals sent back to back, too
}

// RenewInterval returns the interval between two renewals of a held lock.
func (k HoldPlan) RenewInterval() time.Duration {
	if k.Every != 0 {
		return k.Every
	}
	return k.Lease / 3
}

// contestantName returns lockwheel's name in the results of this Keep.
func (k HoldPlan) contestantName() string {
	if k.Every != 0 {
		return fmt.Sprintf("%s, renewed every %v", peers.Lockwheel.Name, k.Every)
	}
	return peers.Lockwheel.Name
}

// Full is for published figures: most of its time is spent on leases of their real length.
var Full = Plan{
	Rounds: 5, Runs: 5, Round: time.Second, ContendedRound: 500 * time.Millisecond, WarmUp: 20 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Contenders: []int{8, 64},
	Holds: []HoldPlan{
		{Locks: 1000, Lease: 30 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 30 * time.Second, Peers: true},
		{Locks: 1_000_000, Lease: 30 * time.Second, Limit: true},
		{Locks: 1_000_000, Lease: 30 * time.Second, Every: 15 * time.Second},
	},
	ThroughputWorkers: 2048,
	Scales: []HoldPlan{
		{Locks: 1000, Lease: 30 * time.Second},
		{Locks: 10_000, Lease: 30 * time.Second},
		{Locks: 100_000, Lease: 30 * time.Second},
		{Locks: 1_000_000, Lease: 30 * time.Second},
		{Locks: 10_000_000, Lease: 5 * time.Minute, Once: true},
	},
	Sizes: []HoldPlan{
		{Locks: 100_000, Lease: 30 * time.Second, Every: 3 * time.Second},
		{Locks: 300_000, Lease: 30 * time.Second, Every: 3 * time.Second},
		{Locks: 1_000_000, Lease: 30 * time.Second},
	},
	ManyHeld: HoldPlan{Locks: 1_000_000, Lease: 30 * time.Second},
	Calls:    2000, OpenLoop: 21 * time.Second, WithHeld: HoldPlan{Locks: 100_000, Lease: 30 * time.Second},
	Gateway:   10 * time.Second,
	Handovers: 400,
	Floods: []FloodPlan{
		{Own: false, Async: []int{100_000, 1_000_000}, Blocked: []int{100_000}, Peers: []int{1000, 10_000, 100_000}},
		{Own: true, Async: []int{100_000, 1_000_000}, Blocked: []int{100_000}, Peers: []int{1000, 10_000, 100_000}},
		{Readers: []int{100_000}, Granted: []int{100_000}, Parts: []int{50_000}},
	},
	FloodFor: 5 * time.Second, FloodPhaseTimeout: time.Minute, FloodLeaveTimeout: 30 * time.Second,
	PlantedMost: 1_000_000,
}

// Quick is for a quick check.
var Quick = Plan{
	Rounds: 3, Round: 300 * time.Millisecond, ContendedRound: 200 * time.Millisecond, WarmUp: 10 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Contenders: []int{8, 64},
	Holds: []HoldPlan{
		{Locks: 1000, Lease: 3 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 8 * time.Second, Peers: true},
	},
	HoldLeases:        3,
	ThroughputWorkers: 2048,
	Scales: []HoldPlan{
		{Locks: 1000, Lease: 3 * time.Second},
		{Locks: 10_000, Lease: 3 * time.Second},
		{Locks: 100_000, Lease: 8 * time.Second},
	},
	Sizes: []HoldPlan{
		{Locks: 10_000, Lease: 3 * time.Second},
		{Locks: 30_000, Lease: 3 * time.Second},
		{Locks: 100_000, Lease: 8 * time.Second},
	},
	Calls: 1000, OpenLoop: 7 * time.Second, WithHeld: HoldPlan{Locks: 100_000, Lease: 10 * time.Second},
	Gateway:   2 * time.Second,
	Handovers: 100,
	Floods: []FloodPlan{
		{Own: false, Async: []int{100_000}, Peers: []int{1000}},
		{Own: true, Async: []int{100_000}, Peers: []int{1000}},
		{Readers: []int{20_000}, Granted: []int{20_000}, Parts: []int{10_000}},
	},
	FloodFor: 2 * time.Second, FloodPhaseTimeout: 30 * time.Second, FloodLeaveTimeout: 10 * time.Second,
	PlantedMost: 100_000,
}
