package actor_test

import "testing"

// Drain rejects the waiters and lets the holders finish.
func TestDrain_RejectsWaitersKeepsHolders(t *testing.T) {
	t.Run("a holder with a queue behind it", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks                → listen
			2ms    C locks wait 1m        → nothing
			2ms    D locks lease 1m as A  → renew #1 1m0s
			3ms    drain                  → leave; B engine closed; C engine closed; D engine closed
			// what was sent for a re-entry is undone: the TTL falls to what is needed
			4ms    #1 renewed             → A has 59.388s
			3.002s timer                  → renew #1 30s; A has 29.69s
			+1ms   A unlocks              → A over
			+1ms   #1 renewed             → release #1
			+1ms   #1 released            → A unlocked
		`)
	})
	t.Run("its lease goes on being renewed", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks     → acquire #1 30s
			1ms    #1 granted  → A granted 29.689s
			1s     drain       → nothing
			10s    timer       → renew #1 30s
			10.1s  #1 renewed  → A has 29.59s
			11s    A unlocks   → A over; release #1
			11.1s  #1 released → A unlocked
		`)
	})
	t.Run("a question under way is given back", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks     → acquire #1 30s
			1ms  drain       → A engine closed
			2ms  #1 granted  → release #1
			3ms  #1 released → nothing
		`)
	})
	t.Run("a tenure on its way to the next is released", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks          → acquire #1 30s
			1ms  #1 granted       → A granted 29.689s
			2ms  B locks lease 5s → listen
			3ms  A unlocks        → A over; renew #1 5s; A unlocked
			4ms  drain            → leave; B engine closed
			5ms  #1 renewed       → release #1
			6ms  #1 released      → nothing
		`)
	})
	t.Run("a force under way is answered", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces   → force #1
			1ms  drain      → nothing
			2ms  #1 forced  → F forced
		`)
	})
}

// Every hold ends at once with ErrClosed, its key is left to expire with its lease, and every waiter gets a result.
func TestLockClose_EndsAllSendsNothing(t *testing.T) {
	t.Run("held, with all kinds of wishes", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks               → acquire #1 30s
			1ms  #1 granted            → A granted 29.689s
			2ms  B locks as A          → renew #1 30s count 2; B granted 29.688s
			3ms  C locks wait 1s       → listen
			4ms  D locks lease 1h as A → nothing
			5ms  B extends 1m          → nothing
			6ms  close                 → B closed; A closed; C engine closed; D engine closed; B engine closed
		`)
	})
	t.Run("while it is asked for", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks    → acquire #1 30s
			0s   F forces   → nothing
			6ms  close      → A engine closed; F engine closed
		`)
	})
	t.Run("while it is released: it was given up before", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks    → acquire #1 30s
			1ms  #1 granted → A granted 29.689s
			2ms  B locks    → listen
			3ms  A unlocks  → A over; B granted 29.687s; A unlocked
			4ms  B unlocks  → B over; release #1
			5ms  B unlocks  → nothing
			6ms  close      → B engine closed; B engine closed
		`)
	})
	t.Run("while it waits for another holder, with a orphan about", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1s     → acquire #1 30s
			1s     timer               → A redis unavailable: no reply in time
			1.1s   #1 unanswered reset → release #1
			1.2s   B locks            → acquire #2 30s orphans [1]
			1.3s   #2 taken 10s x:1    → listen
			1.4s   close               → B engine closed
		`)
	})
}
