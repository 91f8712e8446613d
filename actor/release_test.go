package actor_test

import "testing"

func TestSecondUnlockWaitsForTheSameRelease(t *testing.T) {
	talk(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 granted          → A granted 29.689s
		1s     A unlocks           → A over; release #1
		1.001s A unlocks           → nothing
		1.002s #1 released         → A unlocked; A unlocked
		1.003s A unlocks           → A lock not held
	`)
}

// Gone is a loss if the release was sent once, success if an earlier copy had no answer.
// redisson#4871.
func TestReleaseThatFindsNothing(t *testing.T) {
	t.Run("sent once: it was lost before", func(t *testing.T) {
		talk(t, `
			0s   A locks    → acquire #1 30s
			1ms  #1 granted → A granted 29.689s
			2ms  A unlocks  → A over; release #1
			3ms  #1 gone    → A lock lost: the key is gone or someone else's
			4ms  A unlocks  → A lock not held
		`)
	})
	t.Run("an earlier copy had no answer: that one released it", func(t *testing.T) {
		talk(t, `
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
		talk(t, `
			0s   A locks            → acquire #1 30s
			1ms  #1 granted         → A granted 29.689s
			2ms  A unlocks          → A over; release #1
			3ms  #1 refused BUSY it → nothing
			+4ms..+11ms timer       → release #1
			+1ms #1 gone            → A lock lost: the key is gone or someone else's
		`)
	})
}

// redisson#1602, redis-py#3847: the engine keeps trying, whatever its caller does.
func TestReleaseIsTriedUntilTheLeaseIsOver(t *testing.T) {
	t.Run("the caller does not wait longer than Timeout", func(t *testing.T) {
		talk(t, `
			0s     A locks             → acquire #1 30s
			1ms    #1 granted          → A granted 29.689s
			1s     A unlocks           → A over; release #1
			4s     timer               → A redis unavailable: no answer in time
			5s     #1 unanswered reset → release #1
			6s     A unlocks           → nothing
			7s     #1 unanswered reset → release #1
			8s     #1 released         → A unlocked
			9s     A unlocks           → A lock not held
		`)
	})
	t.Run("nor longer than its context", func(t *testing.T) {
		talk(t, `
			0s     A locks                     → acquire #1 30s
			1ms    #1 granted                  → A granted 29.689s
			1s     A unlocks                   → A over; release #1
			1.001s A cancels deadline exceeded → A redis unavailable: deadline exceeded
			8s     #1 released                 → nothing
		`)
	})
	t.Run("over and unanswered", func(t *testing.T) {
		talk(t, `
			0s      A locks lease 30s   → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			28s     A unlocks           → A over; release #1
			29s     #1 unanswered reset → release #1
			// nobody waits for the lease of a lock that is gone, but a copy of it may be left for the rest of the server's lease
			29.69s  timer               → A redis unavailable: the lease ended before it was renewed; reset
			31s     #1 unanswered reset → release #1
			32s     #1 unanswered reset → release #1
			33s     #1 released         → nothing
		`)
	})
	t.Run("refused for good: told at once", func(t *testing.T) {
		talk(t, `
			0s     A locks                   → acquire #1 30s
			1ms    #1 granted                → A granted 29.689s
			1s     A unlocks                 → A over; release #1
			1.001s A unlocks                 → nothing
			1.002s #1 refused NOPERM not you → A NOPERM not you; A NOPERM not you
		`)
	})
}

func TestReleaseWhoseMessageIsRefusedIsARelease(t *testing.T) {
	talk(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 granted         → A granted 29.689s
		1s     A unlocks          → A over; release #1
		1.001s #1 released muted  → A unlocked
	`)
}

// redisson#7272: a renewal must not outlive the unlock.
func TestUnlockWhileARenewalIsUnderWay(t *testing.T) {
	t.Run("the release follows it", func(t *testing.T) {
		talk(t, `
			0s      A locks    → acquire #1 30s
			1ms     #1 granted → A granted 29.689s
			10s     timer      → renew #1 30s
			10.001s A unlocks  → A over
			10.002s #1 renewed → release #1
			10.003s #1 released → A unlocked
		`)
	})
	t.Run("it says gone: one end, and the unlock is told", func(t *testing.T) {
		talk(t, `
			0s      A locks    → acquire #1 30s
			1ms     #1 granted → A granted 29.689s
			10s     timer      → renew #1 30s
			10.001s A unlocks  → A over
			10.002s A unlocks  → nothing
			10.003s #1 gone    → A lock lost: the key is gone or someone else's; A lock lost: the key is gone or someone else's
		`)
	})
	t.Run("it is refused for good: the release decides", func(t *testing.T) {
		talk(t, `
			0s      A locks              → acquire #1 30s
			1ms     #1 granted           → A granted 29.689s
			10s     timer                → renew #1 30s
			10.001s A unlocks            → A over
			10.002s #1 refused WRONGTYPE → release #1
			10.003s #1 refused WRONGTYPE → A WRONGTYPE
		`)
	})
	t.Run("it has no answer", func(t *testing.T) {
		talk(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			10s     timer               → renew #1 30s
			10.001s A unlocks           → A over
			10.002s #1 unanswered reset → release #1
			10.003s #1 gone             → A lock lost: the key is gone or someone else's
		`)
	})
	t.Run("it is never answered", func(t *testing.T) {
		talk(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			10s     timer               → renew #1 30s
			10.001s A unlocks           → A over
			13.001s timer               → A redis unavailable: no answer in time
			29.69s  timer               → release #1
			30s     #1 renew unanswered reset   → nothing
			30s     #1 release unanswered reset → release #1
			31s     #1 released         → nothing
		`)
	})
}

// The second caller was in the queue before the unlock; the first's late wishes must not touch its hold.
func TestUnlockOfAnEndedHoldDoesNotTouchTheNext(t *testing.T) {
	talk(t, `
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

func TestCallersThatComeDuringTheReleaseAskAfterIt(t *testing.T) {
	talk(t, `
		0s   A locks          → acquire #1 30s
		1ms  #1 granted       → A granted 29.689s
		2ms  A unlocks        → A over; release #1
		3ms  B locks once     → nothing
		4ms  C locks once     → C lock not acquired
		5ms  #1 released      → acquire #2 30s; A unlocked
		6ms  #2 taken 30s x:1 → B lock not acquired
	`)
}
