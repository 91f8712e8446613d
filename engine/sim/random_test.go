package sim

import (
	"math/bits"
	"time"
)

// simRandom is what an event draws from: SplitMix64, which is nearly free to reseed for each event.
type simRandom struct{ state uint64 }

const simGolden = 0x9e3779b97f4a7c15

// simMixed mixes two numbers into one. Each bit of the result depends on each bit of both.
func simMixed(key, number uint64) uint64 {
	z := key + (number+1)*simGolden
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns a uniformly distributed number.
func (r *simRandom) Uint64() uint64 {
	drawn := simMixed(r.state, 0)
	r.state += simGolden
	return drawn
}

// IntN returns a number from 0 to below n, which is positive.
func (r *simRandom) IntN(n int) int { return int(r.Int64N(int64(n))) }

func (r *simRandom) Int64N(n int64) int64 {
	high, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int64(high)
}

// Float64 returns a number from 0 to below 1.
func (r *simRandom) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// begin makes all further draws follow from a key.
func (w *simWorld) begin(key uint64) {
	w.key, w.childEvents = key, 0
	w.random.state = key ^ bits.RotateLeft64(w.seed, 32) ^ 0x6c6f636b7768656c // differs from the keys of further events
}

func (w *simWorld) chance(p float64) bool { return p > 0 && w.random.Float64() < p }

func (w *simWorld) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// spread returns a duration between two others, with every order of magnitude equally likely.
func (w *simWorld) spread(least, most time.Duration) time.Duration {
	if least >= most {
		return least
	}
	doublings := bits.Len64(uint64((most - 1) / least)) // until least is most, or more
	d := least << w.random.IntN(doublings)
	return min(w.between(d, 2*d), most)
}

func simPick[T any](w *simWorld, from []T) T { return from[w.random.IntN(len(from))] }

// simShuffle shuffles a list.
func simShuffle[T any](w *simWorld, list []T) {
	for i := len(list) - 1; i > 0; i-- {
		j := w.random.IntN(i + 1)
		list[i], list[j] = list[j], list[i]
	}
}
