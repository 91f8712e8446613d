package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// The assumptions of an estimate where a plan does not fix a duration. They are close for two slow cores.
const (
	supposedCall  = 70 * time.Microsecond // of one caller that waits for the reply
	supposedOfOne = 30 * time.Microsecond // to acquire or to release one of many, with any contestant
	supposedWait  = 40 * time.Microsecond // of one waiter of many: to queue, to get its result and to leave
	supposedStart = 200 * time.Millisecond
)

// Estimate estimates how long each comparison of a plan takes. The first comparison with Java also includes its warm-up.
type Estimate struct{ Plan }

// Pair returns the estimate for each number of goroutines.
func (e Estimate) Pair() time.Duration { return e.turns(len(peers.All()), e.Round) }

// Ceiling returns the estimate of Ceiling, which has two rounds more to count Pair's keys.
func (e Estimate) Ceiling() time.Duration { return e.turns(3, e.Round) + 2*e.Round }

// Kinds returns the estimate for five kinds, and for ten names in two ways.
func (e Estimate) Kinds() time.Duration { return e.turns(7, e.Round) }

// Hot returns the estimate for each number of goroutines and clients.
func (e Estimate) Hot() time.Duration { return e.turns(len(peers.All())+1, e.Fight) }

// Wake returns the estimate for three contestants and a bare round trip.
func (e Estimate) Wake() time.Duration { return 4 * time.Duration(e.Wakes) * settle * 3 / 2 }

// OneCaller returns the estimate for four contestants and three bare round trips.
func (e Estimate) OneCaller() time.Duration {
	return time.Duration((e.Rounds+1)*e.Calls*2*7) * supposedCall
}

// Steady returns the estimate for three contestants, each with no locks held and with many.
func (e Estimate) Steady() time.Duration {
	return 6*(e.OpenLoop+supposedStart) + 3*2*time.Duration(e.Beside.Locks)*supposedOfOne
}

// Hold returns the estimate for each number of locks.
func (e Estimate) Hold(k Keep) time.Duration {
	once := keepLeases*k.Lease + 2*time.Duration(k.Locks)*supposedOfOne
	all := once + 3*time.Duration(e.Rounds+1)*e.Round
	if k.Peers {
		all += 2 * once
	}
	return all
}

// Flood returns the estimate for each crowd. A phase that is cut off takes longer.
func (e Estimate) Flood(c Crowd) (all time.Duration) {
	for _, sizes := range [][]int{c.Async, c.Blocked, c.Peers, c.Peers} {
		for _, n := range sizes {
			all += 3*e.FloodFor + 2*time.Second + time.Duration(n)*supposedWait
		}
	}
	return all
}

// turns returns the estimate for contestants that take turns, after a first round that does not count.
func (e Estimate) turns(contestants int, each time.Duration) time.Duration {
	return time.Duration(contestants) * (time.Duration(e.Rounds+1)*each + supposedStart)
}
