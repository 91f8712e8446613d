package bench

import (
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// What an estimate supposes where a plan does not say how long something takes. Two slow cores come near to it.
const (
	supposedCall  = 70 * time.Microsecond // of one caller who waits for the answer
	supposedOfOne = 30 * time.Microsecond // to acquire or to release one of many, with any contestant
	supposedWait  = 40 * time.Microsecond // of one of many, to wait, to be told so and to leave
	supposedStart = 200 * time.Millisecond
)

// Estimate is about how long each comparison of a plan takes; Java's warm-up, once, comes with the first that needs it.
type Estimate struct{ Plan }

// Pair is for each number of goroutines.
func (e Estimate) Pair() time.Duration { return e.turns(len(peers.All()), e.Round) }

// Ceiling has two rounds more, in which Pair's keys are counted.
func (e Estimate) Ceiling() time.Duration { return e.turns(3, e.Round) + 2*e.Round }

// Kinds is five kinds and ten names in two ways.
func (e Estimate) Kinds() time.Duration { return e.turns(7, e.Round) }

// Hot is for each number of goroutines and clients.
func (e Estimate) Hot() time.Duration { return e.turns(len(peers.All())+1, e.Fight) }

// Wake is three contestants and a bare round trip.
func (e Estimate) Wake() time.Duration { return 4 * time.Duration(e.Wakes) * settle * 3 / 2 }

// OneCaller is four contestants and three bare round trips.
func (e Estimate) OneCaller() time.Duration {
	return time.Duration((e.Rounds+1)*e.Calls*2*7) * supposedCall
}

// Steady is three contestants, each with nothing held and with a lot.
func (e Estimate) Steady() time.Duration {
	return 6*(e.OpenLoop+supposedStart) + 3*2*time.Duration(e.Beside.Locks)*supposedOfOne
}

// Hold is for each number of locks.
func (e Estimate) Hold(k Keep) time.Duration {
	once := keepLeases*k.Lease + 2*time.Duration(k.Locks)*supposedOfOne
	all := once + 3*time.Duration(e.Rounds+1)*e.Round
	if k.Peers {
		all += 2 * once
	}
	return all
}

// Flood is for each crowd. A phase that is cut off takes longer.
func (e Estimate) Flood(c Crowd) (all time.Duration) {
	for _, sizes := range [][]int{c.Async, c.Blocked, c.Peers, c.Peers} {
		for _, n := range sizes {
			all += 3*e.FloodFor + 2*time.Second + time.Duration(n)*supposedWait
		}
	}
	return all
}

// turns is contestants that take turns, after a first round that does not count.
func (e Estimate) turns(contestants int, each time.Duration) time.Duration {
	return time.Duration(contestants) * (time.Duration(e.Rounds+1)*each + supposedStart)
}
