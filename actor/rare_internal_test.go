package actor

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A million locks may wait for other holders, and as many may be handed off.
func TestWhatContentionTakesIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(rare{}), uintptr(144), "waiting")
	require.LessOrEqual(t, unsafe.Sizeof(handoff{})+unsafe.Sizeof(leases{}), uintptr(128), "and held")
}

// What was known of a tenure is reset at its end; what was learned of other clients is kept.
func TestATenureThatEndsLeavesWhatWasLearnedOfOthers(t *testing.T) {
	x := &rare{acquiring: true, releasing: true}
	*x.withLeases() = leases{shortest: 1, longest: 2, confirmed: 3, seen: 4, raised: 5, token: 6, given: 7}
	*x.withHandoff() = handoff{handed: 1, listeners: 2, yield: 3, since: 4, clear: 5}
	*x.withTroubles() = troubles{last: ErrUnavailable, backoff: 1, retryAt: 2, foundAt: 3, evicted: 4}
	*x.withPlace() = place{wait: 1, behind: 2, queued: true, passive: true}
	x.tenureEnds()
	require.False(t, x.acquiring || x.releasing)
	require.Equal(t, leases{confirmed: 3, seen: 4}, x.lease())
	require.Equal(t, handoff{listeners: unasked, yield: 3, since: 4, clear: 5}, x.handed())
	require.Equal(t, troubles{last: ErrUnavailable, backoff: 1, foundAt: 3, evicted: 4}, *x.troubles)
	require.Equal(t, place{}, x.placed())
}
