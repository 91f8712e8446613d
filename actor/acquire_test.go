package actor_test

import (
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// An uncontended lock and its unlock take two commands, and leave no timer behind.
func TestLock_Uncontended_TakesTwoCommands(t *testing.T) {
	runTranscript(t, `
		0s    A locks     → acquire #1 30s
		1ms   #1 granted  → A granted 29.689s
		2ms   next        → in 9.998s
		5s    A unlocks   → A over; release #1
		5s    A?          → not held
		+1ms  #1 released → A unlocked
		+0s   next        → never
		// asked again, as another tenure
		+1s   A locks     → acquire #2 30s
		+1ms  #2 granted  → A granted 29.689s
		+1ms  A unlocks   → A over; release #2
		+1ms  #2 released → A unlocked
	`)
}

// The validity of a lease counts from before its command leaves. It is the lease minus 1 % (at most 1 s) and minus two
// ticks of 5 ms, or of 1 ms below 1 s.
func TestLease_ValidityEndsBeforeTTL(t *testing.T) {
	for lease, granted := range map[string]string{
		"10s": "9.79s", "100ms": "0s", "200ms": "96ms", "999ms": "887.01ms", "1s": "880ms", "1h": "59m58.89s",
		"3h": "2h59m58.89s",
	} {
		t.Run(lease, func(t *testing.T) {
			if lease == "100ms" {
				runTranscript(t, `
					1s     A locks lease 100ms → acquire #1 100ms
					+96ms  #1 granted          → A granted 1ms
					+1ms   timer               → A lost: its lease ended; release #1
					+1ms   #1 gone             → nothing
				`)
				return
			}
			runTranscript(t, `
				1s     A locks lease `+lease+` → acquire #1 `+durationText(t, lease)+`
				+50ms  #1 leaves               → nothing
				+100ms #1 granted              → A granted `+granted+`
				+0s    A unlocks               → A over; release #1
				+1ms   #1 released             → A unlocked
			`)
		})
	}
}

func durationText(t *testing.T, text string) string { return duration(t, text, 0).String() }

// redisson#1966: a late reply must not arm the watchdog.
func TestAcquire_ReplyAfterLease_NotGranted(t *testing.T) {
	runTranscript(t, `
		0s        A locks lease 1s wait 5s → acquire #1 1s
		979ms     #1 granted               → A granted 1ms
		+1ms      timer                    → A lost: its lease ended; release #1
		+1ms      #1 released              → nothing

		+1s       B locks lease 1s wait 2s → acquire #2 1s
		+980ms    #2 granted               → release #2; listen
		+1ms      #2 released              → nothing
		+4ms..+10ms timer                  → acquire #3 1s
		+1ms      #3 granted               → B granted 979ms
		+1ms      B unlocks                → B over; release #3
		+1ms      #3 released              → B unlocked
		+240ms..+250ms timer               → leave
	`)
}

// A lease that is shorter than the way to the server is tried at growing intervals.
func TestAcquire_LateReplies_PausesGrow(t *testing.T) {
	runTranscript(t, `
		0s          A locks lease 20ms → acquire #1 20ms
		+30ms       #1 granted         → release #1; listen
		+1ms        #1 released        → nothing
		+3ms..+10ms timer              → acquire #2 20ms
		+30ms       #2 granted         → release #2
		+1ms        #2 released        → nothing
		+8ms..+20ms timer              → acquire #3 20ms
		+30ms       #3 granted         → release #3
		+1ms        #3 released        → nothing
		+18ms..+40ms timer             → acquire #4 20ms
		// after a grant the intervals start again
		+1ms        #4 granted         → A granted 16.8ms
		+1ms        A unlocks          → A over; release #4
		+1ms        #4 released        → A unlocked
		+1ms        B locks lease 20ms → acquire #5 20ms
		+30ms       #5 granted         → release #5
		+1ms        #5 released        → nothing
		+3ms..+10ms timer              → acquire #6 20ms
		+1ms        #6 granted         → B granted 16.8ms
		+1ms        B unlocks          → B over; release #6
		+1ms        #6 released        → B unlocked
		+240ms..+250ms timer           → leave
	`)
}

// A caller with a lease too short for the way to the server keeps no other caller of its engine from the lock.
func TestAcquire_LeaseTooShort_OthersGranted(t *testing.T) {
	t.Run("and not who waits, in their order", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks lease 20ms → acquire #1 20ms
			+1ms    B locks lease 10ms → nothing
			+1ms    C locks            → nothing
			+1ms    D locks            → nothing
			+30ms   #1 granted         → release #1; listen
			+1ms    #1 released        → nothing
			// it may have been a stall
			+3ms..+10ms timer          → acquire #2 20ms
			+30ms   #2 granted         → release #2
			+1ms    #2 released        → acquire #3 30s
			+30ms   #3 granted         → C granted 29.66s
			+1ms    A cancels          → A lock not acquired
			+0s     B cancels          → B lock not acquired
			+0s     C unlocks          → C over; D granted 29.659s; C unlocked
			+0s     D unlocks          → D over; release #3
			+1ms    #3 released        → D unlocked
			+240ms..+250ms timer       → leave
		`)
	})
	t.Run("nor who comes next, when it has left", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks lease 20ms → acquire #1 20ms
			+1ms    C locks            → nothing
			+1ms    D locks            → nothing
			+30ms   #1 granted         → release #1; listen
			+1ms    #1 released        → nothing
			+3ms..+10ms timer          → acquire #2 20ms
			+1ms    A cancels          → A redis unavailable: the reply came after the lease had ended
			+29ms   #2 granted         → release #2
			+1ms    #2 released        → acquire #3 30s
			+30ms   #3 granted         → C granted 29.66s
			+0s     C unlocks          → C over; D granted 29.66s; C unlocked
			+0s     D unlocks          → D over; release #3
			+1ms    #3 released        → D unlocked
			+240ms..+250ms timer       → leave
		`)
	})
	t.Run("who does not wait either, and is refused then", func(t *testing.T) {
		runTranscript(t, `
			0s          A locks once lease 20ms → acquire #1 20ms
			+1ms        C locks                 → nothing
			+30ms       #1 granted              → release #1; listen
			+1ms        #1 released             → nothing
			+3ms..+10ms timer                   → acquire #2 20ms
			+30ms       #2 granted              → release #2
			+1ms        #2 released             → acquire #3 30s
			+30ms       #3 granted              → C granted 29.66s; A lock not acquired
			+1ms        C unlocks               → C over; release #3
			+1ms        #3 released             → C unlocked
			+240ms..+250ms timer                → leave
		`)
	})
	t.Run("and not who does not wait", func(t *testing.T) {
		runTranscript(t, `
			0s          A locks lease 20ms → acquire #1 20ms
			+30ms       #1 granted         → release #1; listen
			+1ms        C locks once       → nothing
			+1ms        #1 released        → nothing
			+3ms..+10ms timer              → acquire #2 20ms
			+30ms       #2 granted         → release #2
			+1ms        #2 released        → acquire #3 30s
			+30ms       #3 granted         → C granted 29.66s
			+1ms        A cancels          → A lock not acquired
			+0s         C unlocks          → C over; release #3
			+1ms        #3 released        → C unlocked
			+240ms..+250ms timer           → leave
		`)
	})
}

// A request that tries once neither queues nor gets a lock before the callers that wait for it.
func TestTry_NeitherQueuesNorOvertakes(t *testing.T) {
	runTranscript(t, `
		// beside a holder of this engine
		0s      A locks           → acquire #1 30s
		1ms     B locks once      → nothing
		2ms     #1 granted        → A granted 29.688s; B lock not acquired
		+1ms    B locks once      → B lock not acquired
		// with a waiter in the queue: also once the holder is gone
		+1ms    C locks           → listen
		+0s     A unlocks         → A over; C granted 29.686s; A unlocked
		+1ms    C unlocks         → C over; release #1
		+1ms    #1 released       → C unlocked
		+248ms  timer             → leave

		// of another process's lock, a reply decides at once
		+1s     D locks once      → acquire #2 30s
		+1ms    #2 taken 20s x:1  → D lock not acquired

		// with waiters in front it asks at once, whatever replies they got, and does not get the lock if that is free
		// now
		+1s     E locks           → acquire #3 30s
		+1ms    #3 taken 1h x:1   → listen
		+1ms    D locks once      → acquire #4 30s
		+1ms    #4 taken 1h x:1   → D lock not acquired
		+1ms    D locks once      → acquire #5 30s
		+1ms    subscribed        → nothing
		+1ms    #5 granted        → E granted 29.688s; D lock not acquired
		+0s     E unlocks         → E over; release #5
		+1ms    #5 released       → E unlocked
		+249ms  timer             → leave
	`)
}

// The new caller asks the server itself while the subscription is kept, and does not wait for a TTL from an earlier
// reply.
func TestTry_EarlierWaiters_AsksAtOnce(t *testing.T) {
	runTranscript(t, `
		0s     A locks          → acquire #1 30s
		1ms    #1 taken 30s x:1 → listen
		2ms    A cancels bored  → A lock not acquired: bored
		+100ms B locks once     → acquire #2 30s
		+1ms   #2 taken 30s x:1 → B lock not acquired
		+250ms timer            → leave
	`)
}

// On a silent server a request that tries once ends after CallTimeout, and its tenure is released later.
func TestTry_SilentServer_EndsAfterTimeout(t *testing.T) {
	runTranscript(t, `
		0s     A locks once         → acquire #1 30s
		3s     timer                → A redis unavailable: no reply in time
		// the command may have run: its tenure is released, and once more later
		+1s    #1 unanswered broken → release #1
		+1ms   #1 gone              → nothing
		+3s    timer                → release #1
		+1ms   #1 gone              → nothing
	`)
}

// ErrNotAcquired means that the lock had another holder until the wait ended; ErrUnavailable means no reply at all, or
// that the last try failed.
func TestWait_Expired_ErrorNamesCause(t *testing.T) {
	t.Run("taken", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 2s         → acquire #1 30s
			1ms    #1 taken 30s x:1        → listen
			2s     timer                   → A lock not acquired
			+250ms timer                   → leave
		`)
	})
	t.Run("taken, and the caller's context ended", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                     → acquire #1 30s
			1ms    #1 taken 30s x:1            → listen
			2s     A cancels deadline exceeded → A lock not acquired: deadline exceeded
			+250ms timer                       → leave
		`)
	})
	t.Run("held in this engine", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks         → acquire #1 30s
			1ms    #1 granted      → A granted 29.689s
			2ms    B locks wait 1s → listen
			1.002s timer           → B lock not acquired
			+250ms timer           → leave
			2s     A unlocks       → A over; release #1
			+1ms   #1 released     → A unlocked
		`)
	})
	t.Run("released in this engine, on a server that is gone since", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks             → acquire #1 30s
			1ms    #1 granted          → A granted 29.689s
			2ms    B locks wait 1s     → listen
			3ms    A unlocks           → A over; release #1
			900ms  #1 unanswered reset → release #1
			1.002s timer               → B redis unavailable: reset
			1.252s timer               → leave
			2s     #1 released         → A unlocked
		`, func(c *actor.Config) { c.MaxHandoffGrants = -1 })
	})
	t.Run("no answer at all", func(t *testing.T) {
		runTranscript(t, `
			0s    A locks wait 2s      → acquire #1 30s
			2s    timer                → A redis unavailable: no reply in time
			+1s   #1 unanswered broken → release #1
			+1ms  #1 released          → nothing
			+3s   timer                → release #1
			+1ms  #1 gone              → nothing
		`)
	})
	t.Run("no answer, and the caller's context ended", func(t *testing.T) {
		runTranscript(t, `
			0s    A locks                 → acquire #1 30s
			1s    A cancels why not       → A redis unavailable: why not
			+1ms  #1 granted              → release #1
			+1ms  #1 released             → nothing
		`)
	})
	t.Run("the last try failed", func(t *testing.T) {
		runTranscript(t, `
			0s         A locks wait 1s       → acquire #1 30s
			1ms        #1 taken 500ms x:1    → listen
			+501ms     timer                 → acquire #2 30s
			+1ms       #2 refused LOADING it → nothing
			+5ms..+10ms timer                → acquire #3 30s
			+400ms     #3 refused LOADING it → nothing
			+10ms..+20ms timer               → acquire #4 30s
			1s         timer                 → A redis unavailable: LOADING it
			+0s        #4 refused LOADING it → nothing
			+250ms     timer                 → leave
		`)
	})
	t.Run("the last try worked after others had failed", func(t *testing.T) {
		runTranscript(t, `
			0s         A locks wait 1s       → acquire #1 30s
			+1ms       #1 refused LOADING it → nothing
			+5ms..+10ms timer                → acquire #2 30s
			+1ms       #2 taken 30s x:1      → listen
			1s         timer                 → A lock not acquired
			+250ms     timer                 → leave
		`)
	})
	t.Run("refused for good", func(t *testing.T) {
		runTranscript(t, `
			0s    A locks              → acquire #1 30s
			0s    B locks              → nothing
			1ms   #1 refused WRONGTYPE → A WRONGTYPE; B WRONGTYPE
		`)
	})
}

// A release or a handoff of this engine's own is in flight when the wait ends: the server has replied all along.
func TestWait_ExpiresInHandoff_NotAcquired(t *testing.T) {
	t.Run("handed on", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                 → acquire #1 30s
			1ms    #1 granted              → A granted 29.689s
			2ms    B locks wait 1s lease 5s → listen
			1.001s A unlocks               → A over; renew #1 5s; A unlocked
			1.002s timer                   → B lock not acquired
			1.003s #1 renewed              → release #1
			+1ms   #1 released             → nothing
			+248ms timer                   → leave
		`)
	})
	t.Run("released", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks         → acquire #1 30s
			1ms    #1 granted      → A granted 29.689s
			2ms    B locks wait 1s → listen
			1.001s A unlocks       → A over; release #1
			1.002s timer           → B lock not acquired
			1.003s #1 released     → A unlocked
			+249ms timer           → leave
		`, func(c *actor.Config) { c.MaxHandoffGrants = -1 })
	})
	t.Run("asked for again", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks         → acquire #1 30s
			1ms    #1 granted      → A granted 29.689s
			2ms    B locks wait 1s → listen
			1s     A unlocks       → A over; release #1
			1.001s #1 released     → acquire #2 30s; A unlocked
			1.002s timer           → B lock not acquired
			1.003s #2 granted      → release #2
			+1ms   #2 released     → nothing
			+248ms timer           → leave
		`, func(c *actor.Config) { c.MaxHandoffGrants = -1 })
	})
}

// redisson#2714: an interrupted acquire must not leave a lock.
func TestAcquire_Canceled_LeavesNothing(t *testing.T) {
	t.Run("before its command left", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks        → acquire #1 30s
			0s   #1 waits       → nothing
			1ms  A cancels why  → acquire #1 30s taken back; A redis unavailable: why
			1ms  next           → never
		`)
	})
	t.Run("while its command is under way: the grant is given back", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks        → acquire #1 30s
			1ms  A cancels why  → A redis unavailable: why
			2ms  #1 granted     → release #1
			3ms  #1 released    → nothing
		`)
	})
	t.Run("after the grant", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks        → acquire #1 30s
			1ms  #1 granted     → A granted 29.689s
			2ms  A cancels why  → A over; release #1
			3ms  A cancels why  → nothing
			3ms  #1 released    → nothing
		`)
	})
	t.Run("after the grant was unlocked", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks        → acquire #1 30s
			1ms  #1 granted     → A granted 29.689s
			2ms  B locks        → listen
			3ms  A cancels why  → A over; B granted 29.687s
			5ms  A cancels why  → nothing
			6ms  B unlocks      → B over; release #1
			7ms  #1 released    → B unlocked
			253ms timer         → leave
		`)
	})
	t.Run("the next in the queue gets what its command took", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks        → acquire #1 30s
			0s   B locks        → nothing
			1ms  A cancels why  → A redis unavailable: why
			2ms  #1 granted     → B granted 29.688s
			3ms  B unlocks      → B over; release #1
			4ms  #1 released    → B unlocked
		`)
	})
	t.Run("the next needs another lease: it is confirmed for it first", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks           → acquire #1 30s
			0s   B locks lease 10s → nothing
			1ms  A cancels why     → A redis unavailable: why
			2ms  #1 granted        → renew #1 10s; listen
			3ms  #1 renewed        → B granted 9.889s
			4ms  B unlocks         → B over; release #1
			5ms  #1 released       → B unlocked
			253ms timer            → leave
		`)
	})
}

// redisson#7367: asking again is not a second hold.
func TestAcquire_NoReply_ResentSameTenure(t *testing.T) {
	runTranscript(t, `
		0s     A locks              → acquire #1 30s
		1s     #1 unanswered broken → acquire #1 30s
		1.5s   #1 unanswered broken → acquire #1 30s
		2s     #1 granted           → A granted 29.19s
		// it may still run at any time, so the tenure is not handed off
		3s     B locks              → listen
		4s     A unlocks            → A over; release #1
		// and after the tenure's end it may bring the tenure back
		+1ms   #1 released         → acquire #2 30s orphans [1]; release #1; A unlocked
		+1ms   #1 gone              → nothing
		+1ms   #2 granted           → B granted 29.688s
		+250ms timer                → leave
		+1s    B unlocks            → B over; release #2
		+1ms   #2 released          → B unlocked
		7.002s timer                → release #1
		+1ms   #1 gone              → nothing
	`)
}

// From then on the tenure is valid for at most its last confirmation plus the shortest lease without a reply.
func TestAcquire_LateShortCopy_LimitsValidity(t *testing.T) {
	runTranscript(t, `
		0s     A locks lease 1s wait 500ms → acquire #1 1s
		0s     B locks                     → nothing
		500ms  timer                       → A redis unavailable: no reply in time
		+1ms   #1 unanswered broken        → acquire #1 30s
		+1ms   #1 granted                  → B granted 979ms
		// so it is confirmed more often than a third of its own lease
		+333ms timer                       → renew #1 30s
		+1ms   #1 renewed                  → B has 979ms
		+1ms   B unlocks                   → B over; release #1
		+1ms   #1 released                 → release #1; B unlocked
		+1ms   #1 gone                     → nothing
		+3s    timer                       → release #1
		+1ms   #1 gone                     → nothing
	`)
}

// A hold with a fixed lease that would end before its time, because such a copy may still run, is not granted: the
// tenure is released and the next one has the whole lease.
func TestAcquire_LateShortCopy_FixedLeaseWhole(t *testing.T) {
	runTranscript(t, `
		0s     A locks lease 1s wait 500ms → acquire #1 1s
		0s     B locks lease 1h            → nothing
		500ms  timer                       → A redis unavailable: no reply in time
		+1ms   #1 unanswered broken        → acquire #1 1h0m0s
		+1ms   #1 granted                  → release #1; listen
		+1ms   #1 released                 → acquire #2 1h0m0s orphans [1]; release #1
		+1ms   #1 gone                     → nothing
		+1ms   #2 granted                  → B granted 59m58.988s
		+1ms   B unlocks                   → B over; release #2
		+1ms   #2 released                 → B unlocked
		755ms  timer                       → leave
		3.504s timer                       → release #1
		+1ms   #1 gone                     → nothing
	`)
}

// A watched hold that would end before its first renewal can be confirmed is not granted either.
func TestAcquire_LateShortCopyFarAway_NotGranted(t *testing.T) {
	runTranscript(t, `
		0s     round trip 60ms               → nothing
		0s     A locks lease 100ms wait 50ms → acquire #1 100ms
		0s     B locks                       → nothing
		50ms   timer                         → A redis unavailable: no reply in time
		+1ms   #1 unanswered broken          → acquire #1 30s
		+60ms  #1 granted                    → release #1; listen
		+30ms  #1 released                   → acquire #2 30s orphans [1]; release #1
		+1ms   #1 gone                       → nothing
		+60ms  #2 granted                    → B granted 29.629s
		+1ms   B unlocks                     → B over; release #2
		+60ms  #2 released                   → B unlocked
		452ms  timer                         → leave
		3.142s timer                         → release #1
		+1ms   #1 gone                       → nothing
	`)
}

// A tenure acquired with a lease that its next owner cannot use, and that no confirmation can make longer, is released.
func TestTenure_LeaseUnusable_Released(t *testing.T) {
	runTranscript(t, `
		0s     A locks lease 1s wait 500ms → acquire #1 1s
		0s     B locks                     → nothing
		100ms  #1 unanswered reset         → acquire #1 1s
		500ms  timer                       → A redis unavailable: reset
		501ms  #1 granted                  → release #1; listen
		502ms  #1 released                → acquire #2 30s orphans [1]; release #1
		503ms  #1 gone                     → nothing
		504ms  #2 granted                  → B granted 29.688s
		505ms  B unlocks                   → B over; release #2
		506ms  #2 released                 → B unlocked
		754ms  timer                       → leave
		3.503s timer                       → release #1
		3.504s #1 gone                     → nothing
	`)
}

// A watched lock with a short configured lease is renewed at its configured interval.
func TestRenewal_ShortLease_KeepsInterval(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 100ms
		1ms    #1 granted  → A granted 96ms
		33ms..35ms timer   → renew #1 100ms
		+1ms   #1 renewed  → A has 96ms
		+1ms   A unlocks   → A over; release #1
		+1ms   #1 released → A unlocked
	`, func(c *actor.Config) {
		c.Lease, c.RenewInterval, c.CallTimeout = 100*time.Millisecond, 33*time.Millisecond, 16*time.Millisecond
	})
}
