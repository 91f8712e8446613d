package actor

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The heap has the deadlines in order of time. It does not keep the holds of those that it removed in memory.
func TestDeadlines_Removed_NothingKept(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	for n := range 40 {
		var q deadlines
		var want, got []time.Duration
		for range n {
			at := time.Duration(random.IntN(20))
			q.push(deadline{at, &Hold{fixedEnd: at}})
			want = append(want, at)
		}
		current := func(d deadline) bool { return d.hold.fixedEnd%3 != 0 }
		for d, some := q.first(current); some; d, some = q.first(current) {
			got = append(got, d.at)
			q.pop()
		}
		slices.Sort(want)
		want = slices.DeleteFunc(want, func(at time.Duration) bool { return at%3 == 0 })
		require.True(t, slices.Equal(want, got))
		require.Empty(t, q)
		for _, d := range q[:cap(q)] {
			require.Zero(t, d)
		}
	}
}
