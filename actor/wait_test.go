package actor_test

import (
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// redisson#1763: a release may happen between the rejection and the subscription.
func TestWaiter_Subscribed_TriesAgain(t *testing.T) {
	runTranscript(t, `
		0s   A locks            → acquire #1 30s
		1ms  #1 taken 30s x:1   → listen
		2ms  subscribed         → acquire #2 30s
		3ms  #2 granted         → A granted 29.689s
		253ms timer             → leave
		+1s  A unlocks          → A over; release #2
		+1ms #2 released        → A unlocked
	`)
}

// A pub/sub message wakes a waiter, which then acquires.
func TestWaiter_Message_Woken(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribed         → acquire #2 30s
		3ms    #2 taken 29s x:1   → nothing
		10s    message            → acquire #3 30s
		+1ms   #3 granted         → A granted 29.689s
		+1ms   A unlocks          → A over; release #3
		// its own notification changes nothing
		+1ms   message            → nothing
		+1ms   #3 released        → A unlocked
		+247ms timer              → leave
	`)
}

// A notification is a hint: another client can be quicker, and then the waiter sleeps by the TTL of the last reply.
func TestWaiter_WokenInVain_WaitsOn(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribed         → acquire #2 30s
		3ms    #2 taken 29s x:1   → nothing
		1s     message            → acquire #3 30s
		+1ms   #3 taken 2s y:1    → nothing
		+2001ms timer             → acquire #4 30s
		+1ms   #4 granted         → A granted 29.689s
		+1ms   A unlocks          → A over; release #4
		+1ms   #4 released        → A unlocked
		+248ms timer              → leave
	`)
}

// A dead holder publishes nothing.
func TestWaiter_TTLEnds_Woken(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		1ms    #1 taken 10s x:1  → listen
		2ms    subscribed        → acquire #2 30s
		3ms    #2 taken 9998ms x:1 → nothing
		// one more millisecond: the server rounds down
		10.002s timer            → acquire #3 30s
		+1ms   #3 granted        → A granted 29.689s
		+1ms   A unlocks         → A over; release #3
		+1ms   #3 released       → A unlocked
		+248ms timer             → leave
	`)
}

// rueidis#602, redisson#1888: a TTL of 0 or of a few ms must not become a loop.
func TestWaiter_TinyTTL_RetriesPaused(t *testing.T) {
	runTranscript(t, `
		0s           A locks wait 200ms → acquire #1 30s
		1ms          #1 taken 0s x:1    → listen
		2ms          subscribed         → acquire #2 30s
		3ms          #2 taken 0s x:1    → nothing
		+25ms..+51ms timer              → acquire #3 30s
		+1ms         #3 taken 2ms x:1   → nothing
		+25ms..+51ms timer              → acquire #4 30s
		+1ms         #4 taken 24ms x:1  → nothing
		+25ms..+51ms timer              → acquire #5 30s
		+1ms         #5 taken 60ms x:1  → nothing
		+61ms        timer              → acquire #6 30s
		+1ms         #6 granted         → A granted 29.689s
		+1ms         A unlocks          → A over; release #6
		+1ms         #6 released        → A unlocked
		+248ms       timer              → leave
	`)
}

// A waiter for a key without a TTL polls.
func TestWaiter_NoTTL_Polls(t *testing.T) {
	runTranscript(t, `
		0s             A locks             → acquire #1 30s
		1ms            #1 taken -1ns x:1   → listen
		2ms            subscribed          → acquire #2 30s
		3ms            #2 taken -1ns x:1   → nothing
		+250ms..+501ms timer               → acquire #3 30s
		+1ms           #3 taken -1ns x:1   → nothing
		+250ms..+501ms timer               → acquire #4 30s
		+1ms           #4 granted          → A granted 29.689s
		+1ms           A unlocks           → A over; release #4
		+1ms           #4 released         → A unlocked
		+248ms         timer               → leave
	`)
}

// A peer may hold a lock for three hundred years. That must not overflow and cause a wait of zero.
func TestWaiter_HugeTTL_WaitsLong(t *testing.T) {
	for _, ttl := range []string{"2540400h", "2562047h47m16.854s", "2562047h47m16.854775807s"} {
		runTranscript(t, `
			0s     A locks               → acquire #1 30s
			1ms    #1 taken `+ttl+` x:1  → listen
			2ms    subscribed            → acquire #2 30s
			1s     #2 taken `+ttl+` x:1  → nothing
			+0s    A?                    → not held
			10m    A cancels why         → A lock not acquired: why
			+250ms timer                 → leave
		`)
	}
}

// Messages that come while an acquire is in flight cause one more acquire.
func TestWaiter_MessageInFlight_AsksOnceMore(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribed         → acquire #2 30s
		// several requests join
		3ms    message            → nothing
		4ms    message            → nothing
		5ms    #2 taken 29s x:1   → acquire #3 30s
		6ms    #3 taken 29s y:1   → nothing
		7ms    A cancels          → A lock not acquired
		+250ms timer              → leave
	`)
}

// A subscription that is confirmed while an acquire is in flight causes one more acquire.
func TestWaiter_SubscribedInFlight_AsksAgain(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 5ms x:1   → listen
		+25ms..+51ms timer        → acquire #2 30s
		+1ms   subscribed         → nothing
		+1ms   #2 taken 29s x:1   → acquire #3 30s
		+1ms   #3 granted         → A granted 29.689s
		+1ms   A unlocks          → A over; release #3
		+1ms   #3 released        → A unlocked
		+248ms timer              → leave
	`)
}

// After every re-subscription, also one that was not requested, try again.
func TestWaiter_Resubscribed_TriesAgain(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribed         → acquire #2 30s
		3ms    #2 taken 29s x:1   → nothing
		1s     subscription lost  → nothing
		2s     subscribed         → acquire #3 30s
		+1ms   #3 taken 27s x:1   → nothing
		3s     subscribed         → acquire #4 30s
		+1ms   #4 granted         → A granted 29.689s
		+1ms   subscribed         → renew #4 30s
		+1ms   #4 renewed         → A has 29.689s
		+1ms   A unlocks          → A over; release #4
		+1ms   #4 released        → A unlocked
		+246ms timer              → leave
	`)
}

// A channel that cannot be subscribed to is no reason to sleep for as long as the holder's lease.
func TestWaiter_CannotSubscribe_Polls(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribe failed   → nothing
		+100ms..+201ms timer      → acquire #2 30s
		+1ms   #2 taken 29s x:1   → nothing
		+1ms   subscribe failed   → nothing
		+99ms..+201ms timer       → acquire #3 30s
		+1ms   #3 taken 28s x:1   → nothing
		+1ms   subscribed         → acquire #4 30s
		+1ms   #4 taken 28s x:1   → nothing
		5s     message            → acquire #5 30s
		+1ms   #5 granted         → A granted 29.689s
		+1ms   subscribe failed   → nothing
		+1ms   A unlocks          → A over; release #5
		+1ms   #5 released        → A unlocked
		+247ms timer              → leave
	`)
}

// Waiters of one engine are served in the order in which they came.
func TestWaiters_FirstComeFirstServed(t *testing.T) {
	runTranscript(t, `
		0s     A locks             → acquire #1 30s
		0s     B locks             → nothing
		0s     C locks             → nothing
		0s     D locks             → nothing
		1ms    #1 taken 30s x:1    → listen
		2ms    C cancels           → C lock not acquired
		3ms    subscribed          → acquire #2 30s
		4ms    #2 granted          → A granted 29.689s
		5ms    A unlocks           → A over; renew #2 30s listeners but us; B granted 29.688s; A unlocked
		6ms    #2 renewed listeners 1 → B has 29.689s
		7ms    B unlocks           → B over; D granted 29.688s; B unlocked
		8ms    D unlocks           → D over; release #2
		9ms    #2 released         → D unlocked
		257ms  timer               → leave
	`)
}

// The engine subscribes once a request queues. A notification while this engine holds the lock may come from a forced
// unlock elsewhere.
func TestHolder_Message_ConfirmsAtOnce(t *testing.T) {
	runTranscript(t, `
		0s     A locks           → acquire #1 30s
		1ms    #1 granted        → A granted 29.689s
		1s     B locks           → listen
		1.001s subscribed        → renew #1 30s
		1.002s #1 renewed        → A has 29.689s
		2s     message           → renew #1 30s
		2.001s #1 gone           → A lost: the key is gone or someone else's; acquire #2 30s
		2.002s #2 taken 30s x:1  → nothing
		2.1s   message           → acquire #3 30s
		2.101s #3 granted        → B granted 29.689s
		2.2s   B unlocks         → B over; release #3
		2.201s #3 released       → B unlocked
		2.351s timer             → leave
	`)
}

// The subscription of a lock that is contended again and again is kept for a while.
func TestSubscription_HotLock_Kept(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    subscribed         → acquire #2 30s
		3ms    #2 granted         → A granted 29.689s
		100ms  A unlocks          → A over; release #2
		101ms  #2 released        → A unlocked
		200ms  B locks            → acquire #3 30s
		201ms  #3 taken 30s x:1   → nothing
		202ms  message            → acquire #4 30s
		203ms  #4 granted         → B granted 29.689s
		204ms  B unlocks          → B over; release #4
		205ms  #4 released        → B unlocked
		453ms  timer              → leave
	`)
}

// A caller that comes while the subscription is kept relies on it: it asks if a notification came, or its TTL is over.
func TestWaiter_SubscriptionKept_Woken(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30s x:1   → listen
		2ms    A cancels          → A lock not acquired
		3ms    subscribed         → nothing
		4ms    B locks            → acquire #2 30s
		5ms    #2 taken 29s x:1   → nothing
		6ms    message            → acquire #3 30s
		7ms    #3 taken 29s x:1   → nothing
		8ms    B cancels          → B lock not acquired
		100ms  message            → nothing
		200ms  C locks            → acquire #4 30s
		201ms  #4 granted         → C granted 29.689s
		202ms  C unlocks          → C over; release #4
		203ms  #4 released        → C unlocked
		451ms  timer              → leave
	`)
}

// The machine was suspended: the TTL for which a waiter sleeps elapsed meanwhile.
func TestWaiter_ClockAhead_AsksAgain(t *testing.T) {
	runTranscript(t, `
		0s     A locks          → acquire #1 30s
		1ms    #1 taken 10m x:1 → listen
		1s     reconfirm        → acquire #2 30s
		1.001s #2 granted       → A granted 29.689s
		1.002s A unlocks        → A over; release #2
		1.003s #2 released      → A unlocked
		1.251s timer            → leave
	`)
}

// The limit of a wait holds whatever the server does: no reply, rejections, being busy. redisson#2790.
func TestWait_AnyServerTrouble_EndsInTime(t *testing.T) {
	runTranscript(t, `
		0s          A locks wait 400ms        → acquire #1 30s
		10ms        #1 unanswered reset       → acquire #1 30s
		20ms        #1 unanswered reset       → acquire #1 30s
		30ms        #1 refused BUSY it        → release #1
		+4ms..+10ms timer                    → acquire #2 30s orphans [1]
		+1ms        #1 unanswered reset       → release #1
		+1ms        #2 unanswered reset      → acquire #2 30s orphans [1]
		400ms       timer                     → A redis unavailable: reset
		500ms       #2 unanswered reset       → release #2
		600ms       #1 refused CLUSTERDOWN it → nothing
		700ms       #2 released               → nothing
		850ms..1.1s timer                     → release #1
		+1ms        #1 gone                   → nothing
		3.7s        timer                     → release #2
		3.8s        #2 gone                   → nothing
		3.85s..4.2s timer                     → release #1
		+1ms        #1 gone                   → nothing
	`)
}

// After a temporary rejection an acquire is retried with a backoff, which any other reply ends.
func TestAcquire_TemporaryError_Backoff(t *testing.T) {
	runTranscript(t, `
		0s             A locks              → acquire #1 30s
		1ms            #1 refused LOADING x → nothing
		+5ms..+11ms    timer                → acquire #2 30s
		+1ms           #2 refused OOM x     → nothing
		+10ms..+21ms   timer                → acquire #3 30s
		+1ms           #3 refused BUSY x    → nothing
		+20ms..+41ms   timer                → acquire #4 30s
		+1ms           #4 refused MISCONF x → nothing
		+40ms..+81ms   timer                → acquire #5 30s
		+1ms           #5 refused NOAUTH x  → nothing
		+80ms..+161ms  timer                → acquire #6 30s
		+1ms           #6 refused TRYAGAIN x → nothing
		+125ms..+251ms timer                → acquire #7 30s
		+1ms           #7 refused READONLY x → nothing
		+125ms..+251ms timer                → acquire #8 30s
		+1ms           #8 taken 25ms x:1    → listen
		// a reply ends the backoff
		+26ms..+51ms   timer                → acquire #9 30s
		+1ms           #9 refused LOADING x → nothing
		+5ms..+11ms    timer                → acquire #10 30s
		+1ms           #10 granted          → A granted 29.689s
		+1ms           A unlocks            → A over; release #10
		+1ms           #10 released         → A unlocked
		+248ms         timer                → leave
	`)
}

// A lock that is handed off within the engine is no reason for others to subscribe twice.
func TestDrain_LeavesChannelAtOnce(t *testing.T) {
	runTranscript(t, `
		0s    A locks           → acquire #1 30s
		1ms   #1 taken 30s x:1  → listen
		2ms   B locks           → nothing
		3ms   drain             → leave; A engine closed; B engine closed
	`)
}

// A waiter behind a holder of its own engine acquires when the lease of that hold ends.
func TestWaiter_LocalHolder_WaitsForLease(t *testing.T) {
	runTranscript(t, `
		0s     A locks lease 5s → acquire #1 5s
		1ms    #1 granted       → A granted 4.939s
		2ms    B locks          → listen
		4.94s  timer           → A lost: its lease ended; acquire #2 30s orphans [1]; release #1
		+1ms   #1 released      → nothing
		+0s    #2 granted       → B granted 29.689s
		+1ms   B unlocks        → B over; release #2
		+1ms   #2 released      → B unlocked
		+248ms timer            → leave
	`, func(c *actor.Config) { c.MaxHandoffTime = time.Second })
}

// A waiter of a server that does not reply hears what the lease in the last reply says. Until it ends, another caller
// holds the lock; from then on the server does not reply. How long a call may take is not decisive.
func TestWaiter_ServerSilent_LastLeaseDecides(t *testing.T) {
	t.Run("it goes on, and tries fail", func(t *testing.T) {
		runTranscript(t, `
			// whatever lease it wants itself
			0s     A locks lease 1s wait 10s → acquire #1 1s
			1ms    #1 taken 60s holder   → listen
			2ms    subscribed            → acquire #2 1s
			1s     #2 unanswered timeout → acquire #2 1s
			10s    timer                 → A lock not acquired
			+250ms timer                 → leave
			11s    #2 unanswered timeout → release #2
			+1ms   #2 gone               → nothing
			14.001s timer                → release #2
			+1ms   #2 gone               → nothing
		`)
	})
	t.Run("it has no end", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 2s       → acquire #1 30s
			1ms    #1 taken -1ms holder  → listen
			125ms..500ms timer           → acquire #2 30s
			1s     #2 unanswered timeout → acquire #2 30s
			2s     timer                 → A lock not acquired
			+1ms   #2 taken -1ms holder  → release #2
			+1ms   #2 gone               → nothing
			+248ms timer                 → leave
			5.002s timer                 → release #2
			+1ms   #2 gone               → nothing
		`)
	})
	t.Run("it has ended, and the last try has no reply yet", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 2s       → acquire #1 30s
			1ms    B locks wait 1450ms   → nothing
			2ms    #1 taken 1400ms holder → listen
			1.403s timer                 → acquire #2 30s
			// the server may reply at any moment
			1.451s timer                 → B lock not acquired
			2s     timer                 → A redis unavailable: no reply in time
			+1ms   #2 taken 1s holder    → nothing
			+249ms timer                 → leave
		`)
	})
	t.Run("it has ended, and round trips are long", func(t *testing.T) {
		runTranscript(t, `
			0s     round trip 200ms      → nothing
			0s     A locks wait 2s       → acquire #1 30s
			2ms    #1 taken 1400ms holder → listen
			1.403s timer                 → acquire #2 30s
			2s     timer                 → A lock not acquired
			+1ms   #2 taken 1s holder    → nothing
			+249ms timer                 → leave
		`)
	})
	t.Run("it has ended, and the last try failed", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1500ms   → acquire #1 30s
			2ms    #1 taken 1400ms holder → listen
			3ms    subscribed            → acquire #2 30s
			1.3s   #2 unanswered timeout → acquire #2 30s
			1.5s   timer                 → A redis unavailable: timeout
			+1ms   #2 taken 1s holder    → release #2
			+1ms   #2 gone               → nothing
			+248ms timer                 → leave
			4.502s timer                 → release #2
			+1ms   #2 gone               → nothing
		`)
	})
	t.Run("a message said that it has ended", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 2s       → acquire #1 30s
			1ms    #1 taken 60s holder   → listen
			2ms    subscribed            → acquire #2 30s
			3ms    #2 taken 60s holder   → nothing
			1s     message               → acquire #3 30s
			2s     timer                 → A redis unavailable: no reply in time
			+1ms   #3 taken 60s holder   → nothing
			+249ms timer                 → leave
		`)
	})
	t.Run("the server rejected since", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1s         → acquire #1 30s
			1ms    #1 taken 60s holder     → listen
			2ms    subscribed              → acquire #2 30s
			995ms  #2 refused LOADING wait → nothing
			1s     timer                   → A redis unavailable: LOADING wait
			+250ms timer                   → leave
		`)
	})
	t.Run("it was seen by an earlier waiter only", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 1s       → acquire #1 30s
			1ms    #1 taken 60s holder   → listen
			1s     timer                 → A lock not acquired
			1.1s   B locks wait 2s       → acquire #2 30s
			3.1s   timer                 → B redis unavailable: no reply in time
			+1ms   #2 taken 60s holder   → nothing
			+249ms timer                 → leave
		`)
	})
	t.Run("who tries once hears of the failure", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks wait 4s       → acquire #1 30s
			1ms    #1 taken 60s holder   → listen
			2ms    subscribed            → acquire #2 30s
			500ms  B locks once          → nothing
			1s     #2 unanswered timeout → acquire #2 30s
			3.5s   timer                 → B redis unavailable: timeout
			4s     timer                 → A lock not acquired
			+1ms   #2 taken 56s holder   → release #2
			+1ms   #2 gone               → nothing
			+248ms timer                 → leave
			7.002s timer                 → release #2
			+1ms   #2 gone               → nothing
		`)
	})
	t.Run("of a fair lock that waits for another's turn there is none", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s     A locks wait 2s                        → acquire #1 30s wait 2.002s
			1ms    #1 taken 20s free preceded left 2s     → listen
			2ms    subscribed                             → acquire #1 30s wait 2.002s
			1s     #1 unanswered timeout                  → acquire #1 30s wait 2.002s
			2s     timer                                  → leave; A redis unavailable: timeout
			2.1s   #1 unanswered timeout                  → release #1 wait 2.002s
			+1ms   #1 released                            → release #1 wait 2.002s
			+1ms   #1 gone                                → nothing
			8.107s timer                                  → release #1 wait 2.002s
			+1ms   #1 gone                                → nothing
		`)
	})
}
