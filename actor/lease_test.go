package actor

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Leases round down. Whole milliseconds are sent, and the validity is less.
func TestValidity_AnyLease_WithinBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		d := time.Duration(1 + random.Int64N(int64(time.Millisecond)<<random.IntN(30)))
		require.Less(t, validity(d), d)
		require.GreaterOrEqual(t, validity(d), d/2-1)
		if d > 100*time.Millisecond {
			require.Less(t, d-validity(d), d/20)
		}
		sent := leaseCovering(d).Truncate(time.Millisecond)
		require.GreaterOrEqual(t, validity(sent), d, "a lease of %v for %v", sent, d)
		require.LessOrEqual(t, sent-d, d/50+20*time.Millisecond)
	}
}

// A list keeps its order, whichever request leaves it, at any time.
func TestRequestList_KeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	var q requestList
	var want []*Request
	shown := func() (all []*Request) {
		q.each(func(r *Request) { all = append(all, r) })
		return all
	}
	for range 20_000 {
		switch n := random.IntN(9); {
		case n < 4:
			r := &Request{}
			q.push(r)
			want = append(want, r)
		case n < 8 && len(want) > 0:
			i := random.IntN(len(want))
			q.remove(want[i])
			require.Nil(t, want[i].list)
			want = slices.Delete(want, i, i+1)
		case n == 8:
			// A request may leave during the iteration.
			var seen []*Request
			left := want[:0:0]
			q.each(func(r *Request) {
				seen = append(seen, r)
				if random.IntN(2) == 0 {
					q.remove(r)
				} else {
					left = append(left, r)
				}
			})
			require.Equal(t, len(want), len(seen))
			want = left
		}
		require.Equal(t, len(want) == 0, q.empty())
		if len(want) == 0 {
			require.Nil(t, q.first())
		} else {
			require.Same(t, want[0], q.first())
		}
		if random.IntN(20) == 0 {
			require.True(t, slices.Equal(want, shown()))
		}
	}
}
