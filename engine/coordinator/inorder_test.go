package coordinator

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// An unlock hands off the lock to a request that came before it in the same turn. The lock is not released first.
func TestInOrder_LockBeforeUnlock_HandedOff(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a             → 1: acquire a
		2ms 1 done             → a granted
		3ms lock a/2; unlock a → a not held; join {a}; a/2 granted; a unlocked
	`)
}

// A try is not refused because of a lock that its caller no longer waits for, or has just unlocked, in the same turn.
func TestInOrder_TryAfterCancel_NotRefused(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a            → 1: acquire a
		2ms 1 done            → a granted
		3ms cancel a; try a/2 → a not held; 2: release a; join {a}
		4ms 2 done            → 3: acquire a
		5ms 3 done            → a/2 granted
	`)
	runConversation(t, 8, `
		1ms lock a            → 1: acquire a
		2ms 1 done            → a granted
		3ms unlock a; try a/2 → a not held; 2: release a
		4ms 2 done            → 3: acquire a; a unlocked
		5ms 3 done            → a/2 granted
	`)
}

// At most a bounded number of requests is handled in the order in which they came. Behind these, unlocks come first.
func TestInOrder_ManyRequests_UnlocksFirst(t *testing.T) {
	const few = MaxMessagesPerTurn / inOrderShare
	for others, handedOff := range map[int]uint64{0: 1, few - 1: 1, few: 0, 3 * few: 0} {
		k := newWaitersHarness(t, granted)
		hold := waitRequests(actor.Plain, "a", 0)
		k.turn(hold)
		var requests []*actor.Request
		for i := range others {
			requests = append(requests, waitRequests(actor.Plain, strconv.Itoa(i), 0))
		}
		next, unlock := waitRequests(actor.Plain, "a", 0), &actor.Request{Op: actor.Unlock, Hold: hold.Hold}
		k.turn(append(requests, next, unlock)...)
		k.turn()
		require.NoError(t, unlock.Err)
		require.True(t, next.Completed())
		require.NoError(t, next.Err)
		require.Equal(t, handedOff, k.c.Stats().HandedOff, others)
	}
}
