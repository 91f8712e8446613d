package actor_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/actor"
)

// A fencing token comes with the grant; re-entries and renewals keep it.
func TestToken_WithGrant_Kept(t *testing.T) {
	t.Run("re-entry keeps it, and a renewal does not ask for another", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s      A locks                     → acquire #1 30s
			1ms     #1 granted token 7          → A granted 29.689s token 7
			2ms     B locks as A                → renew #1 30s count 2; B granted 29.688s token 7
			3ms     #1 renewed                  → A has 29.689s; B has 29.689s
			4ms     B unlocks                   → B over; renew #1 30s count 1; B unlocked
			5ms     #1 renewed                  → A has 29.689s
			10.005s timer                       → renew #1 30s
			+1ms    #1 renewed                  → A has 29.689s
			+1ms    A unlocks                   → A over; release #1
			+1ms    #1 released                 → A unlocked
		`)
	})
	t.Run("a re-entry for longer waits for its lease and keeps it", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s   A locks lease 1s               → acquire #1 1s
			1ms  #1 granted token 7             → A granted 979ms token 7
			2ms  B locks lease 10s as A         → renew #1 10s
			3ms  #1 renewed                     → renew #1 0s count 2; B granted 9.889s token 7
			4ms  #1 renewed                     → nothing
			5ms  A unlocks                      → A over; renew #1 0s count 1; A unlocked
			6ms  #1 renewed                     → nothing
			7ms  B unlocks                      → B over; release #1
			8ms  #1 released                    → B unlocked
		`)
	})
}

// A lease that is too long for the next owner is confirmed for it first, unless it has become short enough meanwhile.
func TestToken_LateReply_IsNextOwners(t *testing.T) {
	runTranscriptOf(t, actor.Fenced, `
		0s     A locks lease 31s            → acquire #1 31s
		1ms    B locks                      → nothing
		2ms    A cancels                    → A redis unavailable: no reply in time
		3ms    #1 granted token 7           → pass #1 30s after token 7; listen
		+700ms message                      → B granted 28.99s token 7
		+1ms   #1 renewed token 8           → renew #1 30s
		+1ms   C locks as B                 → C granted 28.988s token 7
		+1ms   #1 renewed                   → renew #1 30s count 2; B has 29.688s; C has 29.688s
		+1ms   #1 renewed                   → B has 29.689s; C has 29.689s
		+1ms   D locks                      → nothing
		+1ms   C unlocks                    → C over; renew #1 30s count 1; C unlocked
		+1ms   #1 renewed                   → B has 29.689s
		+1ms   B unlocks                    → B over; D granted 29.688s token 8; B unlocked
		+1ms   D unlocks                    → D over; release #1
		+1ms   #1 released                  → D unlocked
		961ms  timer                        → leave
	`)
}

// A fenced lock is handed off with a new token, after one round trip.
func TestFencedHandoff_NewToken(t *testing.T) {
	t.Run("after one round trip", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s   A locks                        → acquire #1 30s
			1ms  #1 granted token 7             → A granted 29.689s token 7
			2ms  B locks                        → listen
			3ms  A unlocks                      → A over; pass #1 30s after token 7; A unlocked
			4ms  #1 renewed token 8             → B granted 29.689s token 8
			6ms  B unlocks                      → B over; release #1
			7ms  #1 released                    → B unlocked
			254ms timer                         → leave
		`)
	})
	t.Run("never with a renewal that was under way", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s      A locks                     → acquire #1 30s
			1ms     #1 granted token 7          → A granted 29.689s token 7
			10s     timer                       → renew #1 30s
			+1ms    B locks                     → listen
			+1ms    A unlocks                   → A over; A unlocked
			+1ms    #1 renewed                  → pass #1 30s after token 7
			+1ms    #1 renewed token 8          → B granted 29.689s token 8
			+1ms    B unlocks                   → B over; release #1
			+1ms    #1 released                 → B unlocked
			10.254s timer                       → leave
		`)
	})
	t.Run("one without an answer is not relied on", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s   A locks                        → acquire #1 30s
			1ms  #1 granted token 7             → A granted 29.689s token 7
			2ms  B locks                        → listen
			3ms  A unlocks                      → A over; pass #1 30s after token 7; A unlocked
			4ms  #1 unanswered broken           → release #1
			5ms  #1 released                    → acquire #2 30s
			6ms  #2 granted token 9             → B granted 29.689s token 9
			7ms  B unlocks                      → B over; release #2
			8ms  #2 released                    → B unlocked
			256ms timer                         → leave
		`)
	})
	t.Run("a lock that is gone is asked for again", func(t *testing.T) {
		runTranscriptOf(t, actor.Fenced, `
			0s   A locks                        → acquire #1 30s
			1ms  #1 granted token 7             → A granted 29.689s token 7
			2ms  B locks                        → listen
			3ms  A unlocks                      → A over; pass #1 30s after token 7; A unlocked
			4ms  #1 gone                        → acquire #2 30s
			5ms  #2 granted token 9             → B granted 29.689s token 9
			6ms  B unlocks                      → B over; release #2
			7ms  #2 released                    → B unlocked
			255ms timer                         → leave
		`)
	})
}

// A token granted to a caller that has left goes to the next caller.
func TestToken_CallerLeft_GoesToNextCaller(t *testing.T) {
	runTranscriptOf(t, actor.Fenced, `
		0s   A locks                            → acquire #1 30s
		1ms  B locks                            → nothing
		2ms  A cancels                          → A redis unavailable: no reply in time
		3ms  #1 granted token 7                 → B granted 29.687s token 7
		4ms  B unlocks                          → B over; release #1
		5ms  #1 released                        → B unlocked
	`)
}
