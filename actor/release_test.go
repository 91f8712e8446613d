package actor_test

import "testing"

// A second unlock of the same hold waits for the same release. One of them has its result.
func TestUnlock_Second_SharesRelease(t *testing.T) {
	t.Run("both wait", func(t *testing.T) {
		runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 granted          → A granted 29.689s
		1s     A unlocks           → A over; release #1
		1.001s A unlocks           → nothing
		1.002s #1 released         → A unlocked; A lock not held
		1.003s A unlocks           → A lock not held
	`)
	})
	t.Run("the first has stopped waiting", func(t *testing.T) {
		runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 granted          → A granted 29.689s
		1s     A unlocks           → A over; release #1
		2s     A unlocks           → nothing
		4s     timer               → A redis unavailable: no reply in time
		4.001s #1 released         → A unlocked
		4.002s A unlocks           → A lock not held
	`)
	})
	t.Run("both find it lost", func(t *testing.T) {
		runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 granted          → A granted 29.689s
		1s     A unlocks           → A over; release #1
		1.001s A unlocks           → nothing
		1.002s #1 gone             → A lock lost: the key is gone or someone else's; A lock not held
	`)
	})
}

// Gone is a loss if the release was sent once, and success if an earlier copy got no reply. redisson#4871.
func TestRelease_KeyGone_LossOrSuccess(t *testing.T) {
	t.Run("sent once: it was lost before", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks    → acquire #1 30s
			1ms  #1 granted → A granted 29.689s
			2ms  A unlocks  → A over; release #1
			3ms  #1 gone    → A lock lost: the key is gone or someone else's
			4ms  A unlocks  → A lock not held
		`)
	})
	t.Run("an earlier copy had no answer: that one released it", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks               → acquire #1 30s
			1ms  #1 granted            → A granted 29.689s
			2ms  A unlocks             → A over; release #1
			1s   #1 unanswered reset   → release #1
			2s   #1 refused LOADING it → nothing
			+4ms..+11ms timer          → release #1
			+1ms #1 gone               → A unlocked
		`)
	})
	t.Run("an earlier copy was refused: it did not run", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks            → acquire #1 30s
			1ms  #1 granted         → A granted 29.689s
			2ms  A unlocks          → A over; release #1
			3ms  #1 refused BUSY it → nothing
			+4ms..+11ms timer       → release #1
			+1ms #1 gone            → A lock lost: the key is gone or someone else's
		`)
	})
}

// redisson#1602, redis-py#3847: the engine keeps trying, whether or not its caller still waits.
func TestRelease_NoReply_RetriedUntilLeaseEnd(t *testing.T) {
	t.Run("the caller does not wait longer than Timeout", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks             → acquire #1 30s
			1ms    #1 granted          → A granted 29.689s
			1s     A unlocks           → A over; release #1
			4s     timer               → A redis unavailable: no reply in time
			5s     #1 unanswered reset → release #1
			6s     A unlocks           → nothing
			7s     #1 unanswered reset → release #1
			8s     #1 released         → A unlocked
			9s     A unlocks           → A lock not held
		`)
	})
	t.Run("nor longer than its context", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                     → acquire #1 30s
			1ms    #1 granted                  → A granted 29.689s
			1s     A unlocks                   → A over; release #1
			1.001s A cancels deadline exceeded → A redis unavailable: deadline exceeded
			8s     #1 released                 → nothing
		`)
	})
	t.Run("over and unanswered", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks lease 30s   → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			28s     A unlocks           → A over; release #1
			29s     #1 unanswered reset → release #1
			// the unlock does not wait any longer, but a copy of the key may exist for the rest of the lease at the
			// server
			29.69s  timer               → A redis unavailable: the lease ended before the reply to the release came; reset
			31s     #1 unanswered reset → release #1
			32s     #1 unanswered reset → release #1
			33s     #1 released         → nothing
		`)
	})
	t.Run("unanswered until a lease of its own is over: nothing was to renew that", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1s → acquire #1 1s
			1ms    #1 granted       → A granted 979ms
			900ms  A unlocks        → A over; release #1
			980ms  timer            → A redis unavailable: the lease ended before the reply to the release came
			981ms  A unlocks        → A lock not held
			2s     #1 released      → nothing
		`)
	})
	t.Run("refused for good: told at once", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                   → acquire #1 30s
			1ms    #1 granted                → A granted 29.689s
			1s     A unlocks                 → A over; release #1
			1.001s A unlocks                 → nothing
			1.002s #1 refused NOPERM not you → A NOPERM not you; A lock not held
			+250ms..+501ms timer → release #1
			+1ms #1 released → nothing
		`)
	})
}

// A release counts also if the server rejects its message.
func TestRelease_MessageRejected_Counts(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 granted         → A granted 29.689s
		1s     A unlocks          → A over; release #1
		1.001s #1 released muted  → A unlocked
	`)
}

// redisson#7272: a renewal must not outlive the unlock.
func TestUnlock_RenewalInFlight_ReleaseAfter(t *testing.T) {
	t.Run("the release follows it", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks    → acquire #1 30s
			1ms     #1 granted → A granted 29.689s
			10s     timer      → renew #1 30s
			10.001s A unlocks  → A over
			10.002s #1 renewed → release #1
			10.003s #1 released → A unlocked
		`)
	})
	t.Run("it says gone: one end, and the unlock is told", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks    → acquire #1 30s
			1ms     #1 granted → A granted 29.689s
			10s     timer      → renew #1 30s
			10.001s A unlocks  → A over
			10.002s A unlocks  → nothing
			10.003s #1 gone    → A lock lost: the key is gone or someone else's; A lock not held
		`)
	})
	t.Run("it is refused for good: the release decides", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks              → acquire #1 30s
			1ms     #1 granted           → A granted 29.689s
			10s     timer                → renew #1 30s
			10.001s A unlocks            → A over
			10.002s #1 refused WRONGTYPE → release #1
			10.003s #1 refused WRONGTYPE → A lock lost: WRONGTYPE
		`)
	})
	t.Run("it has no answer", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			10s     timer               → renew #1 30s
			10.001s A unlocks           → A over
			10.002s #1 unanswered reset → release #1
			10.003s #1 gone             → A lock lost: the key is gone or someone else's
		`)
	})
	t.Run("it is never answered", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			10s     timer               → renew #1 30s
			10.001s A unlocks           → A over
			13.001s timer               → A redis unavailable: no reply in time
			29.69s  timer               → release #1
			30s     #1 renew unanswered reset   → nothing
			30s     #1 release unanswered reset → release #1
			31s     #1 released         → nothing
		`)
	})
}

// The second caller was in the queue before the unlock; late requests of the first must not affect its hold.
func TestUnlock_EndedHold_NextUntouched(t *testing.T) {
	runTranscript(t, `
		0s   A locks      → acquire #1 30s
		1ms  #1 granted   → A granted 29.689s
		2ms  B locks      → listen
		3ms  A unlocks    → A over; B granted 29.687s; A unlocked
		4ms  A unlocks    → A lock not held
		5ms  A extends 1s → A lock not held
		6ms  B?           → held for 29.684s
		7ms  B unlocks    → B over; release #1
		8ms  A unlocks    → A lock not held
		9ms  #1 released  → B unlocked
		253ms timer       → leave
	`)
}

// Callers that come during a release acquire after its reply.
func TestRelease_InFlight_NewCallersAskAfter(t *testing.T) {
	runTranscript(t, `
		0s   A locks          → acquire #1 30s
		1ms  #1 granted       → A granted 29.689s
		2ms  A unlocks        → A over; release #1
		3ms  B locks once     → nothing
		4ms  C locks once     → C lock not acquired
		5ms  #1 released      → acquire #2 30s; A unlocked
		6ms  #2 taken 30s x:1 → B lock not acquired
	`)
}

// A permission that was withdrawn may be restored. So the engine repeats a permanently rejected release, slowly, and no
// longer than something can be left of the tenure.
func TestRelease_RejectedForGood_RetriedSlow(t *testing.T) {
	t.Run("until it works", func(t *testing.T) {
		runTranscript(t, `
			0s               A locks lease 1h    → acquire #1 1h0m0s
			1ms              #1 granted          → A granted 59m58.989s
			2ms              A unlocks           → A over; release #1
			3ms              #1 refused NOPERM x → A NOPERM x
			4ms              A unlocks           → A lock not held
			+250ms..+501ms   timer               → release #1
			+1ms             #1 refused NOPERM x → nothing
			+500ms..+1001ms  timer               → release #1
			+1ms             #1 refused NOPERM x → nothing
			+1s..+2001ms     timer               → release #1
			+1ms             #1 released         → nothing
		`)
	})
	t.Run("and before the next request", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks lease 1h    → acquire #1 1h0m0s
			1ms  #1 granted          → A granted 59m58.989s
			2ms  A unlocks           → A over; release #1
			3ms  #1 refused NOPERM x → A NOPERM x
			4ms  B locks            → acquire #2 30s orphans [1]
			5ms  #2 granted          → B granted 29.689s
			6ms  B unlocks           → B over; release #2
			7ms  #2 released         → B unlocked
			+250ms..+501ms timer     → release #1
			+1ms #1 gone             → nothing
		`)
	})
	t.Run("after a ForceUnlock that was refused, too", func(t *testing.T) {
		runTranscript(t, `
			0s             A locks lease 1h    → acquire #1 1h0m0s
			1ms            #1 granted          → A granted 59m58.989s
			2ms            F forces            → A lost: unlocked by force; force #2
			3ms            #2 refused NOPERM x → release #1; F NOPERM x
			4ms            #1 refused NOPERM x → nothing
			+250ms..+501ms timer               → release #1
			+1ms           #1 released         → nothing
		`)
	})
	t.Run("a hold that was lost by it, too", func(t *testing.T) {
		runTranscript(t, `
			0s             A locks             → acquire #1 30s
			1ms            #1 granted          → A granted 29.689s
			10s            timer               → renew #1 30s
			10.001s        #1 refused NOPERM x → A lost: NOPERM x; release #1
			10.002s        #1 refused NOPERM x → nothing
			+250ms..+501ms timer               → release #1
			+1ms           #1 released         → nothing
		`)
	})
}

// A key that has become another type is not a lock any more.
func TestRelease_WrongType_Loss(t *testing.T) {
	runTranscript(t, `
		0s   A locks               → acquire #1 30s
		1ms  #1 granted            → A granted 29.689s
		2ms  A unlocks             → A over; release #1
		3ms  #1 refused WRONGTYPE x → A lock lost: WRONGTYPE x
		4ms  A unlocks             → A lock not held
	`)
}
