package engine

import "testing"

// Tried again with backoff. One batch at a time tries the link, all else waits, and
// the outage ends with the first answer.
func TestOutageIsProbedByOneBatchAtATimeWithBackoff(t *testing.T) {
	converse(t, 3, `
		1ms    lock a           → 1: acquire a
		1ms    lock b           → 2: acquire b
		2ms    1 lost EOF       → nothing
		// those that were under way with it say nothing new
		3ms    2 lost EOF; lock c → nothing
		3ms    next             → 9ms
		4ms    lock d           → nothing
		12ms   timer            → 3: acquire a b c d
		12ms   next             → never
		13ms   lock e; state s  → nothing
		20ms   3 lost EOF       → nothing
		20ms   next             → 20ms
		40ms   timer            → 4: acquire e a b c d
		41ms   4 lost EOF       → nothing
		81ms   timer            → 5: acquire e a b c d
		82ms   5 lost EOF       → nothing
		162ms  timer            → 6: acquire e a b c d
		163ms  6 lost EOF       → nothing
		323ms  timer            → 7: acquire e a b c d
		324ms  7 lost EOF       → nothing
		574ms  timer            → 8: acquire e a b c d
		575ms  8 lost EOF       → nothing
		825ms  timer            → 9: acquire e a b c d
		// the answer of one is the end of it
		900ms  9 done           → 10: state s; e a b c d granted
		901ms  10 done; lock f  → 11: acquire f; s read
		902ms  11 lost EOF      → nothing
		902ms  next             → 10ms
	`)
}

func TestRefusalOfAWholeBatchForNowIsAnOutage(t *testing.T) {
	converse(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 says LOADING x → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire b a
		13ms   2 done           → b a granted
	`)
}

// An error for one key is that key's.
func TestRefusalOfOneKeyIsNoOutage(t *testing.T) {
	converse(t, 3, `
		1ms  lock a b       → 1: acquire a b
		2ms  1 busy done; lock c → 2: acquire c; b granted
		3ms  2 refused      → c WRONGTYPE x
		4ms  lock d         → 3: acquire d
	`)
}

// Renewals are the first to go when the link is up again; nobody is lost before the lease is over.
func TestHoldersSurviveAnOutageShorterThanTheirLease(t *testing.T) {
	converse(t, 3, `
		1ms     lock a b        → 1: acquire a b
		2ms     1 done          → a b granted
		10.005s timer           → 2: renew a b
		13s     2 lost timeout; lock c → nothing
		13.01s  timer           → 3: renew a b
		16s     3 lost timeout; unlock b → b not held
		16.02s  timer           → 4: renew a
		19s     4 lost timeout  → b redis unavailable: timeout
		19.04s  timer           → 5: renew a
		29s     5 done          → 6: release b; 7: acquire c
		29.001s 6 gone; 7 done  → c granted
	`)
}

// In an outage longer than the lease holders are lost by the clock, and nothing of it is sent that is not needed any more.
func TestHoldersAreLostInAnOutageLongerThanTheirLease(t *testing.T) {
	converse(t, 3, `
		1ms     lock a          → 1: acquire a
		2ms     1 done          → a granted
		10.005s timer           → 2: renew a
		13s     2 lost timeout  → nothing
		13.01s  timer           → 3: renew a
		29.695s timer           → a lost
		30s     3 lost timeout  → nothing
		30.02s  timer           → 4: release a
		31s     4 done          → nothing
		31s     next            → never
	`)
}

// A server that was restarted has forgotten the scripts: the probe is sent again at once, and its answer ends the outage.
func TestProbeThatMeetsARestartedServer(t *testing.T) {
	converse(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 lost EOF       → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire a b
		13ms   2 says NOSCRIPT x → 3: EVAL acquire a b
		14ms   lock c           → nothing
		15ms   3 done           → 4: acquire c; a b granted
	`)
}

// A refusal for good is an answer: the outage is over, and all parts leave at once.
func TestProbeThatIsRefusedForGoodEndsTheOutage(t *testing.T) {
	converse(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 lost EOF       → nothing
		3ms    lock b           → nothing
		12ms   timer            → 2: acquire a b
		13ms   2 says NOPERM x  → 3: acquire b; 4: acquire a
		14ms   lock c           → 5: acquire c
	`)
}
