package actor_test

import (
	"testing"

	"github.com/lockwheel/lockwheel/actor"
)

// Nested holds, each with a lease of its own or watched: how often they are confirmed, and for how long.

// How soon a holder learns of a loss must not depend on how long the key lives.
func TestRenewal_LongTTL_EveryInterval(t *testing.T) {
	runTranscript(t, `
		0s      A locks                → acquire #1 30s
		1ms     #1 granted             → A granted 29.689s
		2ms     B locks lease 10m as A → renew #1 10m0s
		3ms     #1 renewed             → renew #1 0s count 2; B granted 9m58.989s; A has 9m58.989s
		4ms     #1 renewed             → nothing
		10.005s timer                  → renew #1 9m50.002s
		10.1s   #1 renewed             → A has 9m48.897s
		// a count is written without it
		12s     C locks as A           → renew #1 0s count 3; C granted 9m46.997s
		12.1s   #1 renewed             → nothing
		20.005s timer                  → renew #1 9m40.002s
		20.1s   #1 gone                               → C lost: the key is gone or someone else's; B lost: the key is gone or someone else's; A lost: the key is gone or someone else's
	`)
}

// The longest need ends: by an unlock, with its lease, or by its extension.
func TestTTL_LongestHoldEnds_Falls(t *testing.T) {
	t.Run("to another lease", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1m       → acquire #1 1m0s
			1ms    #1 granted             → A granted 59.389s
			2ms    B locks lease 1h as A  → renew #1 1h0m0s
			3ms    #1 renewed             → renew #1 0s count 2; B granted 59m58.989s
			4ms    #1 renewed             → nothing
			1s     B unlocks              → B over; renew #1 59.405s count 1; B unlocked
			1.1s   #1 unanswered reset    → renew #1 59.305s count 1
			1.2s   #1 renewed             → nothing
			+1s    A unlocks              → A over; release #1
			+1ms   #1 released            → A unlocked
		`)
	})
	t.Run("once, and not for a little", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 31s as A → renew #1 31s
			3ms    #1 renewed             → renew #1 0s count 2; B granted 30.679s; A has 30.679s
			4ms    #1 renewed             → nothing
			500ms  B unlocks              → B over; renew #1 0s count 1; B unlocked
			501ms  #1 renewed             → nothing
			10.005s timer                 → renew #1 30s
			+1ms   #1 renewed             → A has 29.689s
			+1s    A unlocks              → A over; release #1
			+1ms   #1 released            → A unlocked
		`)
	})
	t.Run("of a reader", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 1h as A wait 1s → renew #1 1h0m0s
			1.002s timer                  → B redis unavailable: no reply in time
			2s     #1 renewed             → A has 59m56.992s
			3.002s timer                  → renew #1 30s holds [30s] falls; A has 29.69s
			+1ms   #1 renewed             → nothing
			+1s    A unlocks              → A over; release #1
			+1ms   #1 released            → A unlocked
		`)
	})
}

// A command without a reply may shorten the TTL at any time: a hold's own lease is confirmed against that.
func TestFixedLease_NoReply_Confirmed(t *testing.T) {
	runTranscript(t, `
		0s      A locks                → acquire #1 30s
		1ms     #1 granted             → A granted 29.689s
		10s     timer                  → renew #1 30s
		11s     #1 unanswered reset    → renew #1 30s
		11.1s   #1 renewed             → A has 29.59s
		12s     B locks lease 1m as A  → renew #1 1m0s
		12.1s   #1 renewed             → renew #1 1m0.305s count 2; B granted 29.59s; A has 29.59s
		12.2s   #1 renewed             → A has 29.59s; B has 29.59s
		12.3s   A unlocks              → A over; renew #1 1m0.105s count 1; A unlocked
		12.4s   #1 renewed             → B has 29.59s
		22.3s   timer                  → renew #1 50.0868s
		22.4s   #1 renewed             → B has 29.59s
		32.3s   timer                  → renew #1 39.8868s
		32.4s   #1 renewed             → B has 29.59s
		42.3s   timer                  → renew #1 29.6868s
		42.4s   #1 renewed             → B has 28.99s
		// to its own end
		71.39s  timer                  → B lost: its lease ended; release #1
		+1ms    #1 released            → nothing
	`)
}
