package actor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A re-entry is granted at once; the count is written afterwards.
func TestReentry_GrantedAtOnceCountLater(t *testing.T) {
	runTranscript(t, `
		0s   A locks        → acquire #1 30s
		1ms  #1 granted     → A granted 29.689s
		1ms  A counts       → 1
		2ms  B locks as A   → renew #1 30s count 2; B granted 29.688s
		2ms  A counts       → 2
		// a re-entry that comes while the count is in flight is written with the next one
		3ms  C locks as B   → C granted 29.687s
		3ms  D locks as A   → D granted 29.687s
		4ms  #1 renewed     → renew #1 30s count 4; A has 29.688s; B has 29.688s; C has 29.688s; D has 29.688s
		5ms  D unlocks      → D over; D unlocked
		6ms  #1 renewed     → renew #1 30s count 3; A has 29.688s; B has 29.688s; C has 29.688s
		// any order
		7ms  A unlocks      → A over; A unlocked
		8ms  C unlocks      → C over; C unlocked
		9ms  B?             → held for 29.685s
		9ms  A counts       → 1
		10ms #1 renewed     → renew #1 30s count 1; B has 29.686s
		11ms #1 renewed     → B has 29.689s
		12ms B unlocks      → B over; release #1
		13ms #1 released    → B unlocked
	`)
}

// If it is unlocked before its count was written, there is nothing to write.
func TestHoldCount_Unchanged_NotWritten(t *testing.T) {
	runTranscript(t, `
		0s    A locks      → acquire #1 30s
		1ms   #1 granted   → A granted 29.689s
		10s   timer        → renew #1 30s
		+1ms  B locks as A → B granted 19.689s
		+1ms  B unlocks    → B over; B unlocked
		+1ms  #1 renewed   → A has 29.687s
		+1ms  A unlocks    → A over; release #1
		+1ms  #1 released  → A unlocked
	`)
}

// Without a reply the count may have been written. It is sent again, even if the count would be right without that.
func TestHoldCount_NoReply_WrittenAgain(t *testing.T) {
	runTranscript(t, `
		0s    A locks             → acquire #1 30s
		1ms   #1 granted          → A granted 29.689s
		2ms   B locks as A        → renew #1 30s count 2; B granted 29.688s
		3ms   B unlocks           → B over; B unlocked
		4ms   #1 unanswered reset → renew #1 30s count 1
		5ms   #1 renewed          → A has 29.689s
		6ms   A unlocks           → A over; release #1
		7ms   #1 released         → A unlocked
	`)
}

// Short of memory, PEXPIRE works and HSET does not: the lock is renewed, and the count is tried again.
func TestHoldCount_WriteRejected_Retried(t *testing.T) {
	runTranscript(t, `
		0s    A locks             → acquire #1 30s
		1ms   #1 granted          → A granted 29.689s
		2ms   B locks as A        → renew #1 30s count 2; B granted 29.688s
		3ms   #1 renewed uncounted → A has 29.689s; B has 29.689s
		+1250ms..+2501ms timer    → renew #1 30s count 2
		+1ms  #1 renewed uncounted → A has 29.689s; B has 29.689s
		+1ms  B unlocks           → B over; B unlocked
		+1s   A unlocks           → A over; release #1
		+1ms  #1 released         → A unlocked
	`)
}

// A re-entry with a shorter fixed lease is granted without a round trip, and ends alone.
func TestReentry_ShorterLease_NoRoundTrip(t *testing.T) {
	runTranscript(t, `
		0s    A locks                → acquire #1 30s
		1ms   #1 granted             → A granted 29.689s
		2ms   B locks lease 5s as A  → renew #1 30s count 2; B granted 4.94s
		3ms   #1 renewed             → A has 29.689s
		// it ends alone, and the outer one continues
		4.942s timer                 → B lost: its lease ended; renew #1 30s count 1
		+1ms  #1 renewed             → A has 29.689s
		+1ms  B unlocks              → B lock lost: that was known before the release was sent
		+1ms  A unlocks              → A over; release #1
		+1ms  #1 released            → A unlocked
	`)
}

// Just before the end of a fixed lease, a watched re-entry waits for its first renewal: granted at once, it would be
// lost before that is confirmed.
func TestReentry_WatchedAtEndOfLease_ConfirmedFirst(t *testing.T) {
	t.Run("confirmed", func(t *testing.T) {
		runTranscript(t, `
			0s        A locks lease 1s → acquire #1 1s
			1ms       #1 granted       → A granted 979ms
			978.001ms B locks as A     → renew #1 30s
			979ms     #1 renewed       → renew #1 30s count 2; B granted 29.689001s
			980ms     timer            → A lost: its lease ended
			981ms     #1 renewed       → renew #1 30s count 1; B has 29.688s
			982ms     #1 renewed       → B has 29.689s
			983ms     B unlocks        → B over; release #1
			984ms     #1 released      → B unlocked
		`)
	})
	t.Run("too late", func(t *testing.T) {
		runTranscript(t, `
			0s        A locks lease 1s → acquire #1 1s
			1ms       #1 granted       → A granted 979ms
			978.001ms B locks as A     → renew #1 30s
			980ms     timer            → A lost: its lease ended; acquire #2 30s orphans [1]; release #1; listen
			981ms     #1 renewed       → nothing
			982ms     #1 released      → nothing
			983ms     #2 granted       → B granted 29.687s
			984ms     B unlocks        → B over; release #2
			985ms     #2 released      → B unlocked
			1.233s    timer            → leave
		`)
	})
	t.Run("while there is time", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1s → acquire #1 1s
			1ms    #1 granted       → A granted 979ms
			978ms  B locks as A     → renew #1 30s count 2; B granted 2ms
			979ms  #1 renewed       → B has 29.689s
			980ms  timer            → A lost: its lease ended; renew #1 30s count 1
			981ms  #1 renewed       → B has 29.689s
			982ms  B unlocks        → B over; release #1
			983ms  #1 released      → B unlocked
		`)
	})
	t.Run("far from the server", func(t *testing.T) {
		s := newHarness(t, defaultConfig())
		s.fx.RoundTrip = 50 * time.Millisecond
		s.line("0s A locks lease 1s")
		s.line("50ms #1 granted")
		require.Equal(t, []string{"780.001ms B locks as A → renew #1 30s"}, s.line("780.001ms B locks as A"))
	})
}

// A re-entry with a fixed lease that the validity covers to the nanosecond needs no round trip.
func TestReentry_LeaseFitsExactly_NoRoundTrip(t *testing.T) {
	runTranscript(t, `
		1s     A locks                     → acquire #1 30s
		1s     #1 granted                  → A granted 29.69s
		1s     B locks once lease 30s as A → renew #1 0s count 2; B granted 29.69s
		1.001s #1 renewed                  → nothing
		1.001s C locks lease 30s as A      → renew #1 30s
		1.002s #1 renewed                  → renew #1 30s count 3; C granted 29.689s; A has 29.689s
		1.003s C unlocks                   → C over; C unlocked
		1.003s B unlocks                   → B over; B unlocked
		1.004s #1 renewed                  → renew #1 30s count 1; A has 29.688s
		1.005s A unlocks                   → A over
		1.006s #1 renewed                  → release #1
		1.007s #1 released                 → A unlocked
	`)
}

// Only a longer fixed lease costs a round trip first.
func TestReentry_LongerLease_TakesRoundTrip(t *testing.T) {
	t.Run("granted", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 1m as A  → renew #1 1m0s
			3ms    #1 renewed             → renew #1 0s count 2; B granted 59.389s; A has 59.389s
			4ms    #1 renewed             → nothing
			// its lease ends with the inner hold: the TTL falls to what the outer one needs
			5ms    B unlocks              → B over; renew #1 30s count 1; B unlocked; A has 29.69s
			6ms    #1 renewed             → nothing
			7ms    A unlocks              → A over; release #1
			8ms    #1 released            → A unlocked
		`)
	})
	t.Run("the server refuses for now", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 1m as A  → renew #1 1m0s
			3ms    #1 refused LOADING x   → nothing
			253ms timer                    → renew #1 1m0s
			+1ms   #1 renewed             → renew #1 0s count 2; B granted 59.389s; A has 59.389s
			+1ms   #1 renewed             → nothing
			+1ms   B unlocks              → B over; renew #1 30s count 1; B unlocked; A has 29.69s
			+1ms   A unlocks              → A over
			+1ms   #1 renewed             → release #1
			+1ms   #1 released            → A unlocked
		`)
	})
	t.Run("its wait ends on a silent server: that is not another holder's lock", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                     → acquire #1 30s
			1ms    #1 granted                  → A granted 29.689s
			2ms    B locks lease 1m as A wait 1s → renew #1 1m0s
			1.002s timer                       → B redis unavailable: no reply in time
			1.1s   C locks lease 1m as A once  → nothing
			4.1s   timer                       → C redis unavailable: no reply in time
			// the longer lease is not wanted any more: the TTL falls
			5s     #1 renewed                  → renew #1 30s; A has 29.69s
			5.001s #1 renewed                  → nothing
			6s     A unlocks                   → A over; release #1
			+1ms   #1 released                 → A unlocked
		`)
	})
	t.Run("its caller leaves while it has no answer, and it may run later", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1m            → acquire #1 1m0s
			1ms    #1 granted                  → A granted 59.389s
			2ms    B locks lease 1h as A       → renew #1 1h0m0s
			1s     B cancels                   → B redis unavailable: no reply in time
			2s     #1 unanswered reset         → renew #1 58.405s
			// it has the shorter lease again, although the longer one would have been enough
			2.001s #1 renewed                  → nothing
			6s     A unlocks                   → A over; release #1
			+1ms   #1 released                 → A unlocked
		`)
	})
	t.Run("gone", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 1m as A  → renew #1 1m0s
			// its owner holds nothing any more, so the request acquires the lock itself
			3ms    #1 gone                → A lost: the key is gone or someone else's; acquire #2 1m0s; listen
			4ms    #2 granted             → B granted 59.389s
			5ms    B unlocks              → B over; release #2
			6ms    #2 released            → B unlocked
			254ms  timer                  → leave
		`)
	})
	t.Run("its owner leaves meanwhile", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks                → acquire #1 30s
			1ms    #1 granted             → A granted 29.689s
			2ms    B locks lease 1m as A  → renew #1 1m0s
			3ms    A unlocks              → A over; listen; A unlocked
			4ms    #1 renewed             → B granted 59.388s
			5ms    B unlocks              → B over; release #1
			6ms    #1 released            → B unlocked
			254ms..256ms timer            → leave
		`)
	})
}

// A TryLock that re-enters becomes an ordinary try when its owner unlocks, and that does not queue.
func TestReentry_OwnerUnlocks_TryNotQueued(t *testing.T) {
	runTranscript(t, `
		0s     A locks                    → acquire #1 30s
		1ms    #1 granted                 → A granted 29.689s
		2ms    B locks                    → listen
		3ms    C locks once lease 1h as A → renew #1 1h0m0s
		4ms    A unlocks                  → A over; A unlocked
		5ms    #1 renewed                 → renew #1 30s
		6ms    #1 renewed                 → B granted 29.689s; C lock not acquired
		7ms    B unlocks                  → B over; release #1
		8ms    #1 released                → B unlocked
		256ms  timer                      → leave
	`)
}

// A re-entry that waits for a longer lease when its owner unlocks keeps the place of its age: others that called later
// do not come first.
func TestReentry_OwnerUnlocks_PlaceKept(t *testing.T) {
	runTranscript(t, `
		0s     A locks               → acquire #1 30s
		1ms    #1 granted            → A granted 29.689s
		2ms    C locks lease 1h as A → renew #1 1h0m0s
		3ms    B locks               → listen
		4ms    A unlocks             → A over; A unlocked
		5ms    #1 renewed            → renew #1 0s listeners; C granted 59m58.987s
		6ms    #1 renewed listeners 0 → nothing
		7ms    C unlocks             → C over; renew #1 30s listeners; C unlocked
		8ms    #1 renewed            → B granted 29.689s
		9ms    B unlocks             → B over; release #1
		10ms   #1 released           → B unlocked
		258ms  timer                 → leave
	`)
}

// A context from before a handoff does not re-enter.
func TestReentry_OwnerOfEndedHold_Queues(t *testing.T) {
	runTranscript(t, `
		0s     A locks          → acquire #1 30s
		1ms    #1 granted       → A granted 29.689s
		2ms    B locks          → listen
		3ms    A unlocks        → A over; B granted 29.687s; A unlocked
		3ms    A counts         → 0
		4ms    C locks as A     → renew #1 30s listeners
		4ms    D locks once as A → D lock not acquired
		5ms    #1 renewed listeners 0 → B has 29.689s
		6ms    B unlocks        → B over; C granted 29.688s; B unlocked
		// and it is another owner than A was
		7ms    A counts         → 0
		7ms    C counts         → 1
		8ms    C unlocks        → C over; release #1
		9ms    #1 released      → C unlocked
		// nothing is held, and there is no owner: it acquires like any other
		10ms   A2 locks as A    → acquire #2 30s
		11ms   #2 granted       → A2 granted 29.689s
		12ms   A2 unlocks       → A2 over; release #2
		13ms   #2 released      → A2 unlocked
		261ms  timer            → leave
	`)
}

// The owner is carried by the context, not taken from the goroutine. A caller without one waits.
func TestReentry_NoOwner_Waits(t *testing.T) {
	runTranscript(t, `
		0s     A locks          → acquire #1 30s
		1ms    #1 granted       → A granted 29.689s
		2ms    B locks once     → B lock not acquired
		3ms    B locks wait 1s  → listen
		1.003s timer            → B lock not acquired
		1.253s timer            → leave
		2s     A unlocks        → A over; release #1
		2.001s #1 released      → A unlocked
	`)
}

// A thread re-enters by the number of its owner, which stays the same from tenure to tenure.
func TestThreadOwner_NextTenure_KeepsNumber(t *testing.T) {
	runTranscript(t, `
		0s     A locks as thread 7      → acquire #1 30s
		1ms    #1 granted               → A granted 29.689s
		2ms    B locks as thread 7      → renew #1 30s count 2; B granted 29.688s
		3ms    C locks once as thread 8 → C lock not acquired
		4ms    #1 renewed               → A has 29.688s; B has 29.688s
		5ms    A unlocks                → A over; renew #1 30s count 1; A unlocked
		6ms    #1 renewed               → B has 29.689s
		7ms    B unlocks                → B over; release #1
		8ms    #1 released              → B unlocked
		9ms    A locks as thread 7      → acquire #2 30s
		10ms   #2 granted               → A granted 29.689s
		11ms   B locks as thread 7      → renew #2 30s count 2; B granted 29.688s
		12ms   B unlocks                → B over; B unlocked
		13ms   #2 renewed               → renew #2 30s count 1; A has 29.688s
		14ms   A unlocks                → A over
		15ms   #2 renewed               → release #2
		16ms   #2 released              → A unlocked
	`)
}

// One release for each nested hold, in any order, and nothing is left.
func TestReentry_FiftyHolds_LeaveNothing(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A0 locks", "1ms #1 granted")
	for i := range 49 {
		s.play(fmt.Sprintf("+0s A%d locks as A0", i+1))
	}
	require.Equal(t, "50", s.play("2ms #1 renewed", "3ms A0 counts"))
	for i := range 50 {
		s.play(fmt.Sprintf("+0s A%d unlocks", i*7%50))
	}
	s.play("4ms #1 renewed", "5ms #1 released")
	require.Empty(t, s.finish())
}

// The confirmation that the re-entry needs was in flight before it came. No other one is needed, which might get no
// reply.
func TestReentry_ConfirmInFlight_SendsNoOther(t *testing.T) {
	runTranscript(t, `
		0s      A locks      → acquire #1 30s
		1ms     #1 granted   → A granted 29.689s
		2s      reconfirm    → renew #1 30s
		2s      B locks as A → nothing
		+1ms    #1 renewed   → renew #1 30s count 2; B granted 29.689s; A has 29.689s
		+1ms    #1 renewed   → A has 29.689s; B has 29.689s
		+1s     B unlocks    → B over; renew #1 30s count 1; B unlocked
		+1ms    #1 renewed   → A has 29.689s
		+1s     A unlocks    → A over; release #1
		+1ms    #1 released  → A unlocked
	`)
}
