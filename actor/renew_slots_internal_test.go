package actor

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Bursts are as large as they may be, so that few locks are cheap to renew, and of many locks none is late.
func TestRenewSlots_Fit_BurstsBounded(t *testing.T) {
	s := newRenewSlots(&Config{Lease: 30 * time.Second, RenewInterval: 10 * time.Second, RenewSpread: 5 * time.Second})
	for _, c := range []struct {
		held   int
		merged uint64
	}{{0, 8}, {1000, 8}, {100_000, 8}, {110_000, 4}, {100_000, 4}, {60_000, 4}, {50_000, 8}, {1_000_000, 1}, {500_000, 1}, {200_000, 2}, {math.MaxInt, 1}, {0, 8}} {
		s.fit(c.held)
		require.Equal(t, c.merged, s.merged, c.held)
	}
	for held := 1; held < 1<<30; held *= 3 {
		s.fit(held)
		burst := uint64(held/100) * s.merged
		require.True(t, burst <= maxBurst || s.merged == 1, held)
		require.True(t, burst >= maxBurst/4 || s.merged >= maxMerged/2, held)
	}
}

// A tenure is renewed in a slot that exists, and at most the rest of a burst before its own.
func TestRenewSlots_Merged_FirstOfThem(t *testing.T) {
	s := newRenewSlots(&Config{Lease: 30 * time.Second, RenewInterval: 10 * time.Second, RenewSpread: 5 * time.Second})
	own := s
	own.merged = 1
	for tenure := range uint64(20_000) {
		early := own.slotOf(tenure) - s.slotOf(tenure)
		require.GreaterOrEqual(t, early, time.Duration(0))
		require.Less(t, early, maxMerged*s.width)
		require.Zero(t, s.slotOf(tenure)%(maxMerged*s.width))
	}
}
