package actor

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A million locks may wait for other holders, and as many may be handed off.
func TestLockExt_SizeBounded(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(ext{}), uintptr(144), "waiting")
	// The sizes that Go allocates: 64 and 80 bytes.
	require.LessOrEqual(t, unsafe.Sizeof(leaseState{}), uintptr(64), "and held")
	require.LessOrEqual(t, unsafe.Sizeof(handoffState{}), uintptr(80), "and handed off")
}

// What was known of a tenure is reset at its end; what was learned of other clients is kept.
func TestLockExt_TenureEnds_KeepsPeerState(t *testing.T) {
	x := &ext{acquireUnacked: true, releaseUnacked: true}
	*x.ensureLease() = leaseState{minUnackedLease: 1, maxSentLease: 2, confirmedLease: 3, lastRenewReply: 4, raisedUntil: 5, token: 6, ownerToken: 7}
	*x.ensureHandoff() = handoffState{handoffs: 1, otherListeners: 2, yieldAfterRelease: 3, regainedAt: 4, noSpinnersAt: 5}
	*x.ensureFailure() = failureState{lastErr: ErrUnavailable, backoff: 1, retryAt: 2, orphanSeenAt: 3, forcedTenure: 4}
	*x.ensureFair() = fairPlace{queueWait: 1, life: 3, queuedAfter: 2, queued: true, notified: true, notHead: true}
	x.resetTenure()
	require.False(t, x.acquireUnacked || x.releaseUnacked)
	require.Equal(t, leaseState{confirmedLease: 3, lastRenewReply: 4}, x.leaseView())
	require.Equal(t, handoffState{otherListeners: listenersUnknown, yieldAfterRelease: 3, regainedAt: 4, noSpinnersAt: 5}, x.handoffView())
	require.Equal(t, failureState{lastErr: ErrUnavailable, backoff: 1, orphanSeenAt: 3, forcedTenure: 4}, *x.failure)
	require.Equal(t, fairPlace{}, x.fairView())
}
