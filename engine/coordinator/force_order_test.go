package coordinator

import "testing"

// A request of a kind with a lock of its own for each is granted, and its name is unlocked by force. The replies may be
// handled the other way round: the hold is confirmed at once, and not at its next renewal.
func TestForce_GrantHandledAfterForce_Confirmed(t *testing.T) {
	runConversation(t, 8, `
		1ms lock fair:a; force fair:a/2 → 1: force fair a; 2: acquire fair a
		2ms 1 done                      → fair:a/2 forced
		3ms 2 done                      → 3: renew a; fair:a granted
		4ms 3 gone                      → fair:a lost
	`)
	runConversation(t, 8, `
		1ms read a; forceread a/2       → 1: force read a; 2: read a
		2ms 1 done                      → a/2 forced
		3ms 2 done                      → 3: reread a; a granted
		4ms 3 gone                      → a lost
	`)
}
