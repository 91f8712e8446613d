package actor_test

import "testing"

// An acquire without a reply may still take the lock after its request has ended. It is released as soon as the server
// replies again, once more one CallTimeout later, and by every later acquire.
func TestOrphan_ServerReplies_ReleasedTwice(t *testing.T) {
	t.Run("no other request for the lock", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1s     → acquire #1 30s
			1s     timer               → A redis unavailable: no reply in time
			4s     #1 unanswered reset → release #1
			5s     #1 unanswered reset → release #1
			6s     #1 gone             → nothing
			// its acquire came after its release
			9s     timer               → release #1
			9.001s #1 released         → nothing
		`)
	})
	t.Run("others ask meanwhile", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1s     → acquire #1 30s
			1s     timer               → A redis unavailable: no reply in time
			4s     #1 unanswered reset → release #1
			4.1s   B locks            → acquire #2 30s orphans [1]
			5s     #1 unanswered reset → release #1
			5s     #2 unanswered reset → acquire #2 30s orphans [1]
			6s     #1 released         → nothing
			6s     #2 granted          → B granted 28.69s
			6.5s   B unlocks           → B over; release #2
			// this one was sent twice as well
			6.501s #2 released         → release #2; B unlocked
			6.502s #2 gone             → nothing
			7s     C locks            → acquire #3 30s orphans [1 2]
			7.001s #3 granted          → C granted 29.689s
			9s     timer               → release #1
			9.001s #1 gone             → nothing
			9.002s C unlocks           → C over; release #3
			9.003s #3 released         → C unlocked
			9.502s timer               → release #2
			9.503s #2 gone             → nothing
		`)
	})
	t.Run("the server refuses the release for now", func(t *testing.T) {
		runTranscript(t, `
			0s              A locks wait 1s       → acquire #1 30s
			1s              timer                 → A redis unavailable: no reply in time
			4s              #1 unanswered reset   → release #1
			5s              #1 refused LOADING x  → nothing
			+250ms..+501ms  timer                 → release #1
			+1ms            #1 gone               → nothing
			+3s             timer                 → release #1
			+1ms            #1 refused READONLY x → nothing
			+250ms..+501ms  timer                 → release #1
			+1ms            #1 gone               → nothing
		`)
	})
	t.Run("the server refuses it for good: it is tried slowly until nothing can be left", func(t *testing.T) {
		runTranscript(t, `
			0s             A locks wait 1s      → acquire #1 30s
			1s             timer                → A redis unavailable: no reply in time
			4s             #1 unanswered reset  → release #1
			5s             #1 refused NOPERM x  → nothing
			+250ms..+501ms timer                → release #1
			+30s           #1 refused NOPERM x  → nothing
		`)
	})
	t.Run("the server refused a later try", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks              → acquire #1 30s
			1s     #1 unanswered reset  → acquire #1 30s
			2s     #1 refused NOPERM x  → release #1; A NOPERM x
			2.001s #1 refused NOPERM x  → nothing
			+250ms..+501ms timer        → release #1
			+1ms   #1 gone              → nothing
			+3s    timer                → release #1
			+1ms   #1 gone              → nothing
			6s     B locks              → acquire #2 30s
			7s     #2 unanswered reset  → acquire #2 30s
			8s     #2 taken 30s y:1     → release #2; listen
			8.001s #2 gone              → nothing
			9s     B cancels            → B lock not acquired
			9.25s  timer                → leave
			11.001s timer               → release #2
			11.002s #2 gone             → nothing
		`)
	})
}

// The reply to a rejected acquire names the holder. If that is a tenure of this engine that no Lock knows, it is
// released, and the acquire is sent again at once.
func TestOrphan_OwnUnknownHolder_Released(t *testing.T) {
	t.Run("released and retried at once", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks               → acquire #1 30s
			1ms    #1 taken 29s me:4711 → acquire #2 30s orphans [4711]; release #4711; listen
			2ms    #4711 gone            → nothing
			3ms    #2 granted            → A granted 29.688s
			4ms    A unlocks             → A over; release #2
			5ms    #2 released           → A unlocked
			253ms  timer                 → leave
		`)
	})
	t.Run("for a TryLock, too", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks once          → acquire #1 30s
			1ms    #1 taken 29s me:4711 → acquire #2 30s orphans [4711]; release #4711; listen
			2ms    #4711 released        → nothing
			3ms    #2 taken 29s x:1      → A lock not acquired
			253ms  timer                 → leave
		`)
	})
	t.Run("a server that goes on about it is not asked again and again", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks               → acquire #1 30s
			1ms    #1 taken 29s me:4711 → acquire #2 30s orphans [4711]; release #4711; listen
			2ms    #2 taken 29s me:4711  → nothing
			3ms    A cancels             → A lock not acquired
			4ms    #4711 unanswered x    → release #4711
			5ms    #4711 released        → nothing
			253ms  timer                 → leave
		`)
	})
	t.Run("ids that only look like this engine's are others'", func(t *testing.T) {
		for _, holder := range []string{
			"me", "me:", "me:x", "me:-1", "me:1:write", "meh:1", "me4711", "you:4711", "me:18446744073709551616",
		} {
			runTranscript(t, `
				0s    A locks once            → acquire #1 30s
				1ms   #1 taken 29s `+holder+` → A lock not acquired
			`)
		}
	})
}

// A tenure with an ended validity may be in Redis for the rest of its lease there.
func TestTenure_Lost_ReleasedBeforeReacquire(t *testing.T) {
	runTranscript(t, `
		0s      A locks              → acquire #1 30s
		1ms     #1 granted           → A granted 29.689s
		2ms     B locks              → listen
		10s     timer                → renew #1 30s
		29.69s  timer               → A lost: the lease ended before it was renewed; acquire #2 30s orphans [1]; release #1
		30s     #1 renew unanswered x → nothing
		30s     #1 release unanswered x → release #1
		30s     #2 unanswered x     → acquire #2 30s orphans [1]
		31s     #2 taken 25s me:1    → release #2
		31s     #1 released          → nothing
		31.001s message             → acquire #3 30s orphans [2]
		31.002s #2 gone              → nothing
		31.003s #3 granted           → B granted 29.688s
		31.004s B unlocks            → B over; release #3
		31.005s #3 released          → B unlocked
		31.253s timer                → leave
		34.002s timer                → release #2
		34.003s #2 gone              → nothing
	`)
}

// A caller that stops waiting does not cancel the release of an orphan, not even one that has not been sent.
func TestOrphan_AcquirePending_ReleasedAgain(t *testing.T) {
	runTranscript(t, `
		0s     A locks wait 1s     → acquire #1 30s
		1s     timer               → A redis unavailable: no reply in time
		4s     #1 unanswered reset → release #1
		5s     #1 released         → nothing
		8s     timer               → release #1
		8s     #1 gone             → nothing
	`)
}

// An orphan that the server still has is released at once. That does not replace its later release: a second copy of
// its acquire may still run. An acquire without a reply is sent again, so it can have several copies on their way.
// Otherwise the orphan keeps others out for a whole lease.
func TestOrphan_ReleasedEarly_ReleasedAgain(t *testing.T) {
	runTranscript(t, `
		0s     A locks wait 1s     → acquire #1 30s
		0.5s   #1 unanswered reset → acquire #1 30s
		1s     timer               → A redis unavailable: reset
		4s     #1 unanswered reset → release #1
		5s     #1 gone             → nothing
		// a copy of its acquire ran since
		6s     orphan seen         → release #1
		6.001s #1 released         → nothing
		// one more copy ran since; while the release is under way nothing is added
		7s     orphan seen         → release #1
		7s     orphan seen         → nothing
		7.001s #1 released         → nothing
		10.001s timer              → release #1
		10.002s #1 gone            → nothing
	`)
}

// The server was away for nearly as long as an orphan lasts. Now it replies, so a copy of the acquire that has waited
// there may run yet. That is why the second release is sent, although the time of the orphan would be over.
func TestOrphan_RepliesAtItsEnd_ReleasedTwice(t *testing.T) {
	runTranscript(t, `
		0s     A locks wait 1s     → acquire #1 30s
		0.5s   #1 unanswered reset → acquire #1 30s
		1s     timer               → A redis unavailable: reset
		4s     #1 unanswered reset → release #1
		33s    #1 gone             → nothing
		36s    timer               → release #1
		36.001s #1 gone            → nothing
	`)
}

// No renewal is sent for a tenure that ended. One that waits to be sent is taken back.
func TestRenewal_TenureEnded_NotSent(t *testing.T) {
	runTranscript(t, `
		0s      A locks              → acquire #1 30s
		1ms     #1 granted           → A granted 29.689s
		10s     timer                → renew #1 30s
		29.69s  timer                → A lost: the lease ended before it was renewed; release #1
		29.7s   #1 renew returned    → nothing
		29.8s   #1 released          → nothing
	`)
}

// The hold of a lock ends while an extension to a longer lease is under way. The server may run that, so the lock is
// released for as long as it would have it, however long the server is away.
func TestOrphan_LongExtensionInFlight_ReleasedToItsEnd(t *testing.T) {
	runTranscript(t, `
		0s      A locks lease 10s      → acquire #1 10s
		1ms     #1 granted             → A granted 9.889s
		1s      A extends 5m           → renew #1 5m0s
		4s      timer                  → A redis unavailable: no reply in time
		9.89s   timer                  → A lost: its lease ended; release #1
		60s     #1 renew unanswered x  → nothing
		4m      #1 release unanswered x → release #1
		4m      #1 released            → nothing
	`)
}
