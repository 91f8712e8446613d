package bench

import "time"

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
	OpenLoop time.Duration // of the open loop, for each contestant, with and without held locks
	Beside   Keep          // held meanwhile

	Wakes int // for each contestant
}

// Keep is a number of locks that are held.
type Keep struct {
	Locks int
	Lease time.Duration
	Peers bool // also by those peers that renew
}

// Full takes about ten minutes, most of them for leases of their real length to pass.
var Full = Plan{
	Rounds: 5, Round: time.Second, Fight: 500 * time.Millisecond, WarmUp: 20 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Fighters:   []int{8, 64},
	Keep: []Keep{
		{Locks: 1000, Lease: 6 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 20 * time.Second, Peers: true},
		{Locks: 1_000_000, Lease: 30 * time.Second},
	},
	Growers: 2048,
	Calls:   2000, OpenLoop: 15 * time.Second, Beside: Keep{Locks: 100_000, Lease: 30 * time.Second},
	Wakes: 400,
}

// Quick takes about three minutes.
var Quick = Plan{
	Rounds: 3, Round: 300 * time.Millisecond, Fight: 200 * time.Millisecond, WarmUp: 10 * time.Second,
	Goroutines: []int{1, 16, 256, 2048, 16384},
	Fighters:   []int{8, 64},
	Keep: []Keep{
		{Locks: 1000, Lease: 3 * time.Second, Peers: true},
		{Locks: 100_000, Lease: 8 * time.Second, Peers: true},
	},
	Growers: 2048,
	Calls:   1000, OpenLoop: 3 * time.Second, Beside: Keep{Locks: 100_000, Lease: 10 * time.Second},
	Wakes: 100,
}
