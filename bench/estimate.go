package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// The assumptions of an estimate where a plan does not fix a duration. They are close for two slow cores.
const (
	estimatedCall    = 70 * time.Microsecond // of one caller that waits for the reply
	estimatedPerLock = 30 * time.Microsecond // to acquire or to release one of many, with any contestant
	estimatedWait    = 40 * time.Microsecond // of one waiter of many: to queue, to get its result and to leave
	estimatedPlant   = 10 * time.Microsecond // to store one field or place of another program
	estimatedStart   = 200 * time.Millisecond
)

// Estimate estimates how long each comparison of a plan takes. The first comparison with Java also includes its
// warm-up.
type Estimate struct{ Plan }

// Pair returns the estimate for each number of goroutines.
func (e Estimate) Pair() time.Duration { return e.interleaved(len(peers.All()), e.Round) }

// Ceiling returns the estimate of Ceiling, which has two more rounds to count Pair's keys. It also acquires and
// releases the locks of each turn of renewals.
func (e Estimate) Ceiling() time.Duration {
	locks := time.Duration(e.Rounds+2) * 3 * time.Duration(e.WithHeld.Locks) * estimatedPerLock
	return e.interleaved(11, e.Round) + 2*e.Round + locks + time.Duration(e.Rounds)*2*renewEvery
}

// Kinds returns the estimate for six kinds with Redisson beside them, ten names in two ways, and two quorums.
func (e Estimate) Kinds() time.Duration { return e.interleaved(16, e.Round) + 6*e.kindWarmUp() }

// Hot returns the estimate for each number of goroutines and clients.
func (e Estimate) Hot() time.Duration { return e.interleaved(len(peers.All())+1, e.ContendedRound) }

// Wake returns the estimate for three contestants, a bare hand-over and a bare round trip.
func (e Estimate) Wake() time.Duration { return 5 * time.Duration(e.Handovers) * waiterSetup * 3 / 2 }

// OneCaller returns the estimate for five contestants and three bare round trips.
func (e Estimate) OneCaller() time.Duration {
	return time.Duration((e.Rounds+1)*e.Calls*2*8) * estimatedCall
}

// Steady returns the estimate for four contestants, each with no locks held and with many.
func (e Estimate) Steady() time.Duration {
	return time.Duration(e.runs()) * (8*(e.OpenLoop+estimatedStart) + 4*2*time.Duration(e.WithHeld.Locks)*estimatedPerLock)
}

// Gateway returns the estimate for five contestants, and two in place of a library.
func (e Estimate) Gateway() time.Duration { return e.interleaved(7, e.Plan.Gateway*11/10) }

// Hold returns the estimate for each number of locks.
func (e Estimate) Hold(k HoldPlan) time.Duration {
	once := k.RenewInterval() + time.Duration(e.holdLeases())*k.Lease + 2*time.Duration(k.Locks)*estimatedPerLock
	all := once + k.Lease + 3*time.Duration(e.Rounds+1)*e.Round
	if k.Peers {
		all += 2 * once
	}
	all *= time.Duration(e.runs())
	if k.Limit { // recorded once, and sent in each run
		locks := 2 * time.Duration(k.Locks) * estimatedPerLock
		all += locks + 3*k.RenewInterval() + time.Duration(e.runs())*(locks/4+3*e.Round)
	}
	return all
}

// Scale returns the estimate for each number of locks.
func (e Estimate) Scale(k HoldPlan) time.Duration {
	runs := e.runs()
	if k.Once {
		runs = 1
	}
	return time.Duration(runs) * (k.Lease + k.RenewInterval() + 2*time.Duration(k.Locks)*estimatedPerLock)
}

// Sizing returns the estimate for the constants and all that is compared with them.
func (e Estimate) Sizing() time.Duration {
	all := 2*time.Duration(e.Rounds+1)*(e.Round+2*renewEvery) + 6*time.Duration(e.WithHeld.Locks)*estimatedPerLock
	if many := e.ManyHeld; many.Locks > 0 {
		all += 4*time.Duration(many.Locks)*estimatedPerLock + time.Duration(e.Rounds+1)*(e.Round+many.RenewInterval())
	}
	for i, k := range e.Sizes {
		once := 2*time.Duration(k.Locks)*estimatedPerLock + k.RenewInterval() + time.Duration(e.Rounds+1)*max(e.Round, k.RenewInterval())
		if i == len(e.Sizes)/2 {
			once *= 3
		}
		all += once
	}
	return all
}

// Flood returns the estimate for each crowd. A phase that is cut off takes longer.
func (e Estimate) Flood(c FloodPlan) (all time.Duration) {
	for _, sizes := range [][]int{c.Async, c.Blocked, c.Peers, c.Peers, c.Readers, c.Granted, c.Parts} {
		for _, n := range sizes {
			all += 3*e.FloodFor + 2*time.Second + time.Duration(n)*estimatedWait
		}
	}
	return all
}

// Planted returns the estimate for all that is planted.
func (e Estimate) Planted() time.Duration {
	return time.Second + time.Duration(e.PlantedMost)*estimatedPlant
}

// interleaved returns the estimate for contestants that take turns, after a first round that does not count.
func (e Estimate) interleaved(contestants int, each time.Duration) time.Duration {
	return time.Duration(contestants) * (time.Duration(e.Rounds+1)*each + estimatedStart)
}
