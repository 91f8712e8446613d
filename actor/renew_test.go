package actor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A third of the lease after the last confirmation, counted from before that was sent.
func TestRenewal_EveryThirdOfLease(t *testing.T) {
	runTranscript(t, `
		3ms     A locks     → acquire #1 30s
		+1s     #1 granted  → A granted 28.69s
		10.005s timer       → renew #1 30s
		+500ms  #1 renewed  → A has 29.19s
		20.005s timer       → renew #1 30s
		+1ms    #1 leaves   → nothing
		+1ms    #1 renewed  → A has 29.689s
		30.010s timer       → renew #1 30s
		+1ms    #1 renewed  → A has 29.689s
		+1ms    A unlocks   → A over; release #1
		+1ms    #1 released → A unlocked
		+0s     next        → never
	`)
}

// A transient error must not end renewal, and is tried again sooner than the normal interval.
func TestRenewal_Error_RetriedUntilLeaseEnd(t *testing.T) {
	t.Run("and comes through", func(t *testing.T) {
		runTranscript(t, `
			0s                  A locks              → acquire #1 30s
			1ms                 #1 granted           → A granted 29.689s
			10s                 timer                → renew #1 30s
			+1ms                #1 refused LOADING x → nothing
			+1250ms..+2501ms    timer                → renew #1 30s
			+1ms                #1 refused BUSY x    → nothing
			+1250ms..+2501ms    timer                → renew #1 30s
			+1ms                #1 unanswered reset  → renew #1 30s
			+3s                 #1 unanswered reset  → renew #1 30s
			+3s                 #1 unanswered reset  → renew #1 30s
			// the command without a reply may still run, but does not make the lease shorter than the one confirmed
			+1ms                #1 renewed           → A has 29.689s
			+9998ms..+10004ms   timer                → renew #1 30s
			+1ms                #1 renewed           → A has 29.689s
			+1ms                A unlocks            → A over; release #1
			+1ms                #1 released          → A unlocked
		`)
	})
	t.Run("or does not", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks           → acquire #1 30s
			1ms     #1 granted        → A granted 29.689s
			10s     timer             → renew #1 30s
			29s     #1 refused BUSY x → nothing
			29.69s  timer             → A lost: the lease ended before it was renewed; BUSY x; release #1
			30s     #1 released       → nothing
		`)
	})
	t.Run("and what went wrong once is forgotten when it comes through", func(t *testing.T) {
		runTranscript(t, `
			0s                  A locks              → acquire #1 30s
			1ms                 #1 granted           → A granted 29.689s
			10s                 timer                → renew #1 30s
			+1ms                #1 refused LOADING x → nothing
			+1250ms..+2501ms    timer                → renew #1 30s
			+1ms                #1 renewed           → A has 29.689s
			+9998ms..+10004ms   timer                → renew #1 30s
			+19s..+20s          timer                → A lost: the lease ended before it was renewed; release #1
			+1ms                #1 release released  → nothing
			+1ms                #1 renewed           → nothing
		`)
	})
	t.Run("on a silent server", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 30s
			1ms     #1 granted            → A granted 29.689s
			10s     timer                 → renew #1 30s
			29.69s  timer                 → A lost: the lease ended before it was renewed; release #1
			// the late reply changes nothing
			30s     #1 renew renewed      → nothing
			31s     A unlocks             → A lock lost: that was known before the release was sent
			32s     #1 released           → nothing
		`)
	})
}

// Users are notified at once and once, by the first reply that shows the loss.
func TestLoss_ReportedOnceWithCause(t *testing.T) {
	t.Run("the key is gone", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 30s
			1ms     #1 granted  → A granted 29.689s
			10s     timer       → renew #1 30s
			10.001s #1 gone     → A lost: the key is gone or someone else's
			10.002s A unlocks   → A lock lost: that was known before the release was sent
			// The name can be locked again, and is renewed
			11s     B locks     → acquire #2 30s
			11.001s #2 granted  → B granted 29.689s
			21s     timer       → renew #2 30s
			21.001s #2 renewed  → B has 29.689s
			21.002s B unlocks   → B over; release #2
			21.003s #2 released → B unlocked
		`)
	})
	t.Run("the server refuses for good", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks                → acquire #1 30s
			1ms     #1 granted             → A granted 29.689s
			10s     timer                  → renew #1 30s
			10.001s #1 refused WRONGTYPE x → A lost: WRONGTYPE x; release #1
			10.002s #1 refused WRONGTYPE x → nothing
		`)
	})
	t.Run("all holds of its owner end", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 30s
			1ms     #1 granted            → A granted 29.689s
			2ms     B locks as A          → renew #1 30s count 2; B granted 29.688s
			3ms     C locks lease 5s as A → C granted 4.94s
			4ms     #1 gone               → C lost: the key is gone or someone else's; B lost: the key is gone or someone else's; A lost: the key is gone or someone else's
		`)
	})
	t.Run("a process that was stopped", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			2ms     B locks             → listen
			10s     timer               → renew #1 30s
			// in its first turn it has a confirmation in its mailbox that is meaningless by now
			!40s    #1 renewed         → A lost: the lease ended before it was renewed; acquire #2 30s orphans [1]; release #1
			+0s     A unlocks           → A lock lost: that was known before the release was sent
			+1ms    #1 gone             → nothing
			+1ms    #2 taken 10s x:1    → nothing
			+1ms    B cancels           → B lock not acquired
			+250ms  timer               → leave
		`)
	})
	t.Run("a process that was stopped with its unlock in the mailbox", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks             → acquire #1 30s
			1ms     #1 granted          → A granted 29.689s
			10s     timer               → renew #1 30s
			!40s    A unlocks           → A lost: the lease ended before it was renewed; release #1; A lock lost: that was known before the release was sent
			+1ms    #1 release released → nothing
			+1ms    #1 renewed          → nothing
		`)
	})
}

// A lock that was not watched has no delayed renewal.
func TestRenewLag_Unwatched_Zero(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A locks lease 2s", "1ms #1 granted", "1s B locks as A", "1.001s #1 renewed")
	require.Zero(t, s.fx.RenewLag.Max())
}

// A lease that a caller who has left wanted is longer than a watched hold's. However late it is granted, the first
// renewal of the watched hold that gets it is not delayed.
func TestRenewLag_GrantOfLongerLease_Zero(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A locks lease 1m", "1s B locks", "2s A cancels", "35s #1 granted", "+1ms #1 renewed")
	require.Zero(t, s.fx.RenewLag.Max())
	require.EqualValues(t, 1, s.fx.Stats.Renewed)
}

// A renewal with an extension that was sent to a master which is replaced meanwhile is sent again at once, also before
// the lock is told that it is to be confirmed.
func TestExtend_MasterReplacedMeanwhile_SentAgain(t *testing.T) {
	s := newHarness(t, defaultConfig())
	require.Equal(t, "renew #1 1m0s", s.play("0s A locks", "1ms #1 granted", "1s A extends 1m"))
	s.fx.MasterSince = func(string) time.Duration { return 2 * time.Second }
	require.Equal(t, "renew #1 1m0s; A has 57.39s", s.play("3s #1 renewed"))
	require.Equal(t, "A extended; A has 59.389s", s.play("+1ms #1 renewed"))
}

// The delay of a late renewal is measured, and so is how long an owner had the lock.
func TestLockStats_RenewLagAndHoldTime(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A locks", "1ms #1 granted", "+0s B locks as A", "2ms #1 renewed", "10.005s timer", "10.25s #1 renewed",
		"11s A unlocks", "11.5s #1 renewed", "12s C locks", "13s B unlocks")
	// Due one renewal interval after what was confirmed at 1 ms, rounded up to a grain.
	require.Equal(t, 245*time.Millisecond, s.fx.RenewLag.Max())
	require.Equal(t, 13*time.Second-time.Millisecond, s.lastHeld, "since its owner's first grant")
	s.play("13.5s C unlocks")
	require.Equal(t, 500*time.Millisecond, s.lastHeld, "C's own time")
	s.play("14s #1 released muted")
	require.Empty(t, s.finish())
	s.play("20s D locks", "+1ms #2 granted", "+1ms E locks as D", "+1ms #2 gone")
	require.Empty(t, s.finish())
	require.EqualValues(t, 2, s.fx.Stats.Lost)
	require.Equal(t, actor.Stats{Acquired: 5, Released: 3, Lost: 2, HandedOff: 1, Renewed: 3, UnpublishedReleases: 1}, s.fx.Stats)
}

// A fixed lease is not renewed, and the hold is lost when the lease ends.
func TestFixedLease_NotRenewed_Ends(t *testing.T) {
	runTranscript(t, `
		0s      A locks lease 2s → acquire #1 2s
		1ms     #1 granted       → A granted 1.969s
		1.97s   timer            → A lost: its lease ended; release #1
		1.971s  A unlocks        → A lock lost: that was known before the release was sent
		1.972s  #1 released      → nothing
	`)
}

// An extension makes the lease longer or shorter, or has the hold watched again.
func TestExtend_ChangesLease(t *testing.T) {
	t.Run("longer, and no longer watched", func(t *testing.T) {
		runTranscript(t, `
			0s           A locks       → acquire #1 30s
			1ms          #1 granted    → A granted 29.689s
			5s           A extends 1m  → renew #1 1m0s
			5.001s       #1 renewed    → A extended; A has 59.389s
			64.39s       timer         → A lost: its lease ended; release #1
			+1ms         #1 released   → nothing
		`)
	})
	t.Run("shorter", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			// from now on the server may keep it for that long only
			5s     A extends 2s → renew #1 2s; A has 1.97s
			5.1s   #1 renewed   → A extended
			6.97s  timer        → A lost: its lease ended; release #1
			+1ms   #1 released  → nothing
		`)
	})
	t.Run("watched again", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1m → acquire #1 1m0s
			1ms    #1 granted       → A granted 59.389s
			5s     A watches        → renew #1 30s; A has 29.69s
			5.001s #1 renewed       → A extended
			15s    timer            → renew #1 30s
			+1ms   #1 renewed       → A has 29.689s
			+1ms   A unlocks        → A over; release #1
			+1ms   #1 released      → A unlocked
		`)
	})
	t.Run("twice at once: the last word counts", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			5s     A extends 1h → renew #1 1h0m0s
			5s     A extends 5s → nothing
			5s     A watches    → nothing
			5.001s #1 renewed   → renew #1 30s; A extended; A has 29.69s
			5.002s #1 renewed   → A extended; A extended
			15.005s timer       → renew #1 30s
			15.1s  A unlocks    → A over
			15.2s  #1 renewed   → release #1
			15.3s  #1 released  → A unlocked
		`)
	})
	t.Run("of one hold among others", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 30s
			1ms     #1 granted            → A granted 29.689s
			2ms     B locks as A          → renew #1 30s count 2; B granted 29.688s
			3ms     #1 renewed            → A has 29.689s; B has 29.689s
			// the key keeps what the other hold needs
			1s      B extends 2s          → renew #1 30s
			1.001s  #1 renewed            → B extended; A has 29.689s; B has 1.969s
			2s      A extends 1m          → renew #1 1m0s
			2.001s  #1 renewed            → A extended; A has 59.389s
			// shorter again, but the key lives as long as B needs it
			2.1s    A extends 100ms       → renew #1 890.4ms; A has 879.496ms
			2.101s  #1 renewed            → A extended; A has 96ms
			2.197s  timer                 → A lost: its lease ended; renew #1 0s count 1
			2.2s    #1 renewed            → nothing
			2.97s   timer                 → B lost: its lease ended; release #1
			+1ms    #1 released           → nothing
		`)
	})
}

// An extension or a re-entry fails if the reply comes after the lease that was asked for.
func TestExtend_ReplyAfterLease_TooLate(t *testing.T) {
	t.Run("extension", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks           → acquire #1 30s
			1ms    #1 granted        → A granted 29.689s
			1ms    B locks as A      → renew #1 30s count 2; B granted 29.689s
			2ms    #1 renewed        → A has 29.689s; B has 29.689s
			5s     B extends 200ms   → renew #1 30s
			5.196s #1 renewed        → B lock lost: the reply came after the lease had ended; A has 29.494s; B has 0s
			5.196s timer             → B lost: its lease ended; renew #1 30s count 1
			5.2s   #1 renewed        → A has 29.686s
			5.3s   A unlocks         → A over; release #1
			5.4s   #1 released       → A unlocked
		`)
	})
	t.Run("re-entry", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks               → acquire #1 30s
			1ms    #1 granted            → A granted 29.689s
			5s     reconfirm             → renew #1 30s
			5s     #1 renewed            → A has 29.69s
			6s     reconfirm             → renew #1 30s
			6s     B locks lease 200ms as A → nothing
			6.001s #1 renewed            → renew #1 30s; A has 29.689s
			6.197s #1 renewed            → B redis unavailable: the reply came after the lease had ended; A has 29.494s
			6.3s   A unlocks             → A over; release #1
			6.4s   #1 released           → A unlocked
		`)
	})
}

// An extension of a hold that was lost or unlocked fails with the error for that.
func TestExtend_EndedHold_Fails(t *testing.T) {
	t.Run("gone", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			5s     A extends 1m → renew #1 1m0s
			5.001s #1 gone      → A lost: the key is gone or someone else's; A lock lost
		`)
	})
	t.Run("unlocked before", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			5s     A unlocks    → A over; release #1
			5s     A extends 1m → A lock not held
			5.001s #1 released  → A unlocked
			5.002s A extends 1m → A lock not held
		`)
	})
	t.Run("unlocked meanwhile: it was not lost", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			5s     A extends 1m → renew #1 1m0s
			5s     A unlocks    → A over; A lock not held
			5.001s #1 renewed   → release #1
			5.002s #1 released  → A unlocked
		`)
	})
	t.Run("unlocked meanwhile, beside another hold", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			1ms    B locks as A → renew #1 30s count 2; B granted 29.689s
			2ms    #1 renewed   → A has 29.689s; B has 29.689s
			5s     B extends 1m → renew #1 1m0s
			5s     B unlocks    → B over; B unlocked
			5.001s #1 renewed   → renew #1 30s count 1; B lock not held; A has 29.69s
			5.002s #1 renewed   → nothing
			5.003s A unlocks    → A over; release #1
			5.004s #1 released  → A unlocked
		`)
	})
}

// An extension without a reply may still run at any time. So until the tenure ends its validity is at most the shorter
// lease, and the hold continues as before.
func TestExtend_Unanswered_CostsValidity(t *testing.T) {
	t.Run("its caller gives up", func(t *testing.T) {
		runTranscript(t, `
			0s          A locks             → acquire #1 30s
			1ms         #1 granted          → A granted 29.689s
			9s          A extends 5s        → renew #1 5s; A has 4.94s
			12s         timer               → A redis unavailable: no reply in time
			12.1s       #1 unanswered reset → renew #1 30s
			12.2s       #1 renewed          → A has 4.84s
			13.76s..13.78s timer            → renew #1 30s
			+1ms        #1 renewed          → A has 4.939s
			+1ms        A unlocks           → A over; release #1
			+1ms        #1 released         → A unlocked
		`)
	})
	t.Run("it is sent again", func(t *testing.T) {
		runTranscript(t, `
			0s          A locks             → acquire #1 30s
			1ms         #1 granted          → A granted 29.689s
			9s          A extends 5s        → renew #1 5s; A has 4.94s
			9.1s        #1 unanswered reset → renew #1 5s
			9.2s        #1 refused BUSY x   → nothing
			+100ms..+1s timer               → renew #1 5s
			+1ms        #1 renewed          → A extended; A has 4.939s
			+4.939s     timer               → A lost: its lease ended; release #1
			+1ms        #1 gone             → nothing
		`)
	})
	t.Run("a longer one", func(t *testing.T) {
		runTranscript(t, `
			0s          A locks             → acquire #1 30s
			1ms         #1 granted          → A granted 29.689s
			9s          A extends 1h        → renew #1 1h0m0s
			12s         timer               → A redis unavailable: no reply in time
			12.1s       #1 unanswered reset → renew #1 30s
			12.2s       #1 renewed          → A has 29.59s
			22.1s       timer               → renew #1 30s
			+1ms        #1 renewed          → A has 29.689s
			+1ms        A unlocks           → A over; release #1
			+1ms        #1 released         → A unlocked
		`)
	})
}

// A hold that ends because its server is silent has not reached MaxHold, also if its last renewal would have been cut
// to that: a quorum goes on without that server.
func TestMaxHold_NoReplyBefore_NotItsCause(t *testing.T) {
	runTranscript(t, `
		0s     A locks              → acquire #1 30s
		1ms    #1 granted           → A granted 29.689s
		10s    timer                → renew #1 30s
		+1ms   #1 renewed           → A has 29.689s
		20s    timer                → renew #1 20.001s
		21s    #1 unanswered broken → renew #1 19.001s
		30s    #1 unanswered broken → renew #1 10.001s
		39.69s timer                → A lost: the lease ended before it was renewed; broken; release #1
		39.7s  #1 unanswered broken → nothing
		39.8s  #1 gone              → nothing
	`, func(c *actor.Config) { c.MaxHold = 40 * time.Second })
}

// redlock.net#68: a stuck client must not renew for ever.
func TestMaxHold_Watched_EndsRenewal(t *testing.T) {
	upTo := func(d time.Duration) func(*actor.Config) { return func(c *actor.Config) { c.MaxHold = d } }
	t.Run("longer than the lease", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 30s
			1ms     #1 granted  → A granted 29.689s
			10s     timer       → renew #1 30s
			10.001s #1 renewed  → A has 29.689s
			// the last renewals are for what is left
			20s     timer       → renew #1 20.001s
			20.001s #1 renewed  → A has 19.78999s
			30s     timer       → renew #1 10.001s
			30.001s #1 renewed  → A has 9.88999s
			39.891s timer       → A lost: held for Options.MaxHold; release #1
			+1ms    #1 released → nothing
		`, upTo(40*time.Second))
	})
	t.Run("shorter than the lease", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks     → acquire #1 5s
			1ms     #1 granted  → A granted 4.939s
			4.94s   timer       → A lost: held for Options.MaxHold; release #1
			+1ms    #1 released → nothing
		`, upTo(5*time.Second))
	})
	t.Run("counts from its owner's first grant, also for inner holds", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks      → acquire #1 30s
			1ms     #1 granted   → A granted 29.689s
			10s     timer        → renew #1 30s
			10.001s #1 renewed   → A has 29.689s
			15s     B locks as A → renew #1 25.001s count 2; B granted 24.69s
			15.001s #1 renewed   → A has 24.73999s; B has 24.73999s
			25s     timer        → renew #1 15.001s
			25.001s #1 renewed   → A has 14.83999s; B has 14.83999s
			35s     timer        → renew #1 5.001s
			35.001s #1 renewed   → A has 4.93999s; B has 4.93999s
			39.941s timer        → B lost: held for Options.MaxHold; A lost: held for Options.MaxHold; release #1
			+1ms    #1 released  → nothing
		`, upTo(40*time.Second))
	})
	t.Run("of each owner in turn", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks      → acquire #1 10s
			1ms     #1 granted   → A granted 9.889s
			2ms     B locks      → listen
			1s      A unlocks    → A over; B granted 8.89s; A unlocked
			1.25s   timer        → leave
			9.89s   timer        → B lost: held for Options.MaxHold; release #1
			+1ms    #1 released  → nothing
		`, upTo(10*time.Second))
	})
	t.Run("of the next owner anew, though the last one was at its end", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks      → acquire #1 30s
			1ms     #1 granted   → A granted 29.689s
			10s     timer        → renew #1 30s
			10.001s #1 renewed   → A has 29.689s
			20s     timer        → renew #1 20.001s
			20.001s #1 renewed   → A has 19.78999s
			20.002s B locks      → listen
			20.003s A unlocks    → A over; B granted 19.78799s; A unlocked
			20.105s timer        → renew #1 30s listeners
			20.106s #1 renewed   → B has 29.689s
			20.253s timer        → leave
			20.3s   B unlocks    → B over; release #1
			+1ms    #1 released  → B unlocked
		`, upTo(40*time.Second))
	})
	t.Run("beside a fixed lease that goes on", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 5s
			1ms     #1 granted            → A granted 4.939s
			2ms     B locks lease 1m as A → renew #1 1m0s
			3ms     #1 renewed            → renew #1 0s count 2; B granted 59.389s; A has 4.998s
			4ms     #1 renewed            → nothing
			5.001s  timer                 → A lost: held for Options.MaxHold; renew #1 0s count 1
			5.002s  #1 renewed            → nothing
			6s      B unlocks             → B over; release #1
			+1ms    #1 released           → B unlocked
		`, upTo(5*time.Second))
	})
	t.Run("and a re-entry of then becomes an ordinary request", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 5s
			1ms     #1 granted            → A granted 4.939s
			2ms     B locks lease 1m as A → renew #1 1m0s
			3ms     #1 renewed            → renew #1 0s count 2; B granted 59.389s; A has 4.998s
			4ms     #1 renewed            → nothing
			5ms     B unlocks             → B over; renew #1 4.996s count 1; B unlocked; A has 4.93604s
			6ms     #1 renewed            → nothing
			4.9s    C locks lease 2m as A → renew #1 2m0s
			4.942s  timer                → A lost: held for Options.MaxHold; acquire #2 2m0s orphans [1]; release #1; listen
			5.001s  #1 renew renewed      → nothing
			5.002s  #1 released           → nothing
			5.1s    #2 granted            → C granted 1m58.832s
			5.2s    C unlocks             → C over; release #2
			5.3s    #2 released           → C unlocked
			5.35s   timer                 → leave
		`, upTo(5*time.Second))
	})
	t.Run("not a fixed lease", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks lease 1h → acquire #1 1h0m0s
			1ms     #1 granted       → A granted 59m58.989s
			1m      A unlocks        → A over; release #1
			1m1s    #1 released      → A unlocked
		`, upTo(10*time.Second))
	})
	t.Run("also when a re-entry is confirmed", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks      → acquire #1 30s
			1ms     #1 granted   → A granted 29.689s
			10s     timer        → renew #1 30s
			10.001s #1 renewed   → A has 29.689s
			20s     timer        → renew #1 20.001s
			20.001s #1 renewed   → A has 19.78999s
			30s     timer        → renew #1 10.001s
			30.001s reconfirm    → nothing
			30.001s B locks as A → nothing
			30.002s #1 renewed   → renew #1 9.999s; A has 9.88899s
			30.003s #1 renewed   → renew #1 9.998s count 2; B granted 9.88801s; A has 9.88801s
			30.004s #1 renewed   → A has 9.88702s; B has 9.88702s
			// not a lease later
			39.5s..40.001s timer → B lost: held for Options.MaxHold; A lost: held for Options.MaxHold; release #1
			+1ms    #1 released  → nothing
		`, upTo(40*time.Second))
	})
	t.Run("an extension is its owner's wish", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks      → acquire #1 5s
			1ms     #1 granted   → A granted 4.939s
			1s      A extends 1m → renew #1 1m0s
			1.001s  #1 renewed   → A extended; A has 59.389s
			60.39s  timer        → A lost: its lease ended; release #1
			+1ms    #1 released  → nothing
		`, upTo(5*time.Second))
	})
}

// A turn in which the wall clock has run ahead confirms every hold before it grants or hands off.
func TestReconfirm_ClockAhead_BeforeGrants(t *testing.T) {
	t.Run("also in the pause that the server wanted", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks               → acquire #1 30s
			1ms     #1 granted            → A granted 29.689s
			10s     timer                 → renew #1 30s
			10.001s #1 refused LOADING    → nothing
			10.002s reconfirm             → renew #1 30s
			10.003s #1 renewed            → A has 29.689s
			11s     A unlocks             → A over; release #1
			+1ms    #1 released           → A unlocked
		`)
	})
	t.Run("a hold", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks     → acquire #1 30s
			1ms    #1 granted  → A granted 29.689s
			1s     reconfirm   → renew #1 30s
			1.001s #1 gone     → A lost: the key is gone or someone else's
		`)
	})
	t.Run("a hold with a fixed lease: for what it still needs", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 10s → acquire #1 10s
			1ms    #1 granted        → A granted 9.889s
			1s     reconfirm         → renew #1 9.0828s
			1.001s #1 renewed        → nothing
			2s     A unlocks         → A over; release #1
			2.001s #1 released       → A unlocked
		`)
	})
	t.Run("re-entry", func(t *testing.T) {
		runTranscript(t, `
			0s      A locks          → acquire #1 30s
			1ms     #1 granted       → A granted 29.689s
			10s     timer            → renew #1 30s
			// in flight since before: that proves nothing about what happened meanwhile
			10.001s reconfirm        → nothing
			10.002s B locks as A     → nothing
			10.003s #1 renewed       → renew #1 30s; A has 29.687s
			10.004s #1 renewed       → renew #1 30s count 2; B granted 29.689s; A has 29.689s
			10.005s #1 renewed       → A has 29.689s; B has 29.689s
			10.006s C locks as A     → renew #1 30s count 3; C granted 29.688s
			10.007s #1 gone          → C lost: the key is gone or someone else's; B lost: the key is gone or someone else's; A lost: the key is gone or someone else's
		`)
	})
	t.Run("hand-on", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks     → acquire #1 30s
			1ms    #1 granted  → A granted 29.689s
			2ms    B locks     → listen
			1s     reconfirm   → renew #1 30s
			1.001s A unlocks   → A over; A unlocked
			1.002s #1 renewed  → B granted 29.688s
			1.252s timer       → leave
			2s     B unlocks   → B over; release #1
			2.001s #1 released → B unlocked
		`)
	})
	t.Run("with a lease that is shorter than the one believed in", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h → acquire #1 1h0m0s
			1ms    #1 granted       → A granted 59m58.989s
			2ms    B locks as A     → renew #1 0s count 2; B granted 59m58.988s
			3ms    #1 renewed       → nothing
			// once it is sent the server may keep the key for that long only
			4ms    A unlocks        → A over; renew #1 30s count 1; A unlocked; B has 29.69s
			5ms    #1 renewed       → nothing
			1s     reconfirm        → renew #1 30s
			2s     #1 renewed       → B has 28.69s
			3s     B unlocks        → B over; release #1
			3.001s #1 released      → B unlocked
		`)
	})
	t.Run("a grant that was under way", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks     → acquire #1 30s
			1ms  reconfirm   → nothing
			2ms  #1 granted  → renew #1 30s
			3ms  #1 renewed  → A granted 29.689s
			1s   A unlocks   → A over; release #1
			2s   #1 released → A unlocked
		`)
	})
}
