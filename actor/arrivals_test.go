package actor_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The age of the oldest request is never more than the true one, and less by at most 67 ms or a 64th of the longest
// wait since there was none.
func TestArrivals_OldestAge_CloseToTheTruth(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		a := &actor.Arrivals{}
		var here []time.Duration
		now, longest := time.Duration(random.Int64N(int64(time.Hour))), time.Duration(0)
		longestPause := time.Duration(1) << (20 + random.IntN(22)) // 1 ms to an hour
		for range 2000 {
			now += time.Duration(random.Int64N(int64(longestPause)))
			if n := len(here); n > 0 && random.IntN(n+8) > 7 {
				i := random.IntN(n)
				a.Remove(here[i])
				here = slices.Delete(here, i, i+1)
			} else {
				a.Add(now)
				here = append(here, now)
			}
			if len(here) == 0 {
				require.Zero(t, a.OldestAge(now))
				longest = 0
				continue
			}
			age := now - slices.Min(here)
			longest = max(longest, age)
			got := a.OldestAge(now)
			require.LessOrEqual(t, got, age)
			require.GreaterOrEqual(t, got, age-max(67200*time.Microsecond, longest/64), "seed %d: slots of %v", seed, longest)
		}
	}
}
