package actor_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// One stall is reported for a minute and not for ever.
func TestRecentMax_MinuteOver_Falls(t *testing.T) {
	var r actor.RecentMax
	require.Zero(t, r.Max())
	r.Note(3*time.Second, 322*time.Millisecond)
	r.Note(4*time.Second, 5*time.Millisecond)
	r.Note(65*time.Second, 7*time.Millisecond)
	require.Equal(t, 322*time.Millisecond, r.Max(), "a minute is not over")
	r.Forget(70 * time.Second)
	require.Equal(t, 7*time.Millisecond, r.Max())
	r.Forget(24 * time.Hour)
	require.Zero(t, r.Max())
	r.Note(24*time.Hour, time.Millisecond)
	require.Equal(t, time.Millisecond, r.Max())
}

// In any order of values, none younger than a minute is forgotten, and none older than 70 s is reported.
func TestRecentMax_CoversLastMinute(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		type noted struct{ at, value time.Duration }
		var all []noted
		var r actor.RecentMax
		var now time.Duration
		for range 100 {
			now += time.Duration(random.Int64N(int64(25 * time.Second)))
			value := time.Duration(random.Int64N(1000))
			r.Note(now, value)
			all = append(all, noted{now, value})
			var least, most time.Duration
			for _, n := range all {
				if now-n.at <= time.Minute {
					least = max(least, n.value)
				}
				if now-n.at < 70*time.Second {
					most = max(most, n.value)
				}
			}
			require.GreaterOrEqual(t, r.Max(), least)
			require.LessOrEqual(t, r.Max(), most)
		}
	}
}
