package actor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ForceUnlock takes the lock from any holder, and reports whether there was one.
func TestForceUnlock_AnyHolder_Freed(t *testing.T) {
	t.Run("from another process", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces   → force #1
			1ms  #1 forced  → F forced
		`)
	})
	t.Run("from no holder", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces   → force #1
			1ms  #1 gone    → F found it free
		`)
	})
	t.Run("the message is refused", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces        → force #1
			1ms  #1 forced muted → F forced
		`)
	})
	t.Run("refused for good", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces             → force #1
			1ms  #1 refused WRONGTYPE → F WRONGTYPE
		`)
	})
}

// ForceUnlock of this engine's own hold is an immediate loss.
func TestForceUnlock_OwnHold_LostAtOnce(t *testing.T) {
	t.Run("and waiters go on", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			2ms    B locks as A → renew #1 30s count 2; B granted 29.688s
			3ms    C locks      → listen
			4ms    F forces     → B lost: unlocked by force; A lost: unlocked by force; force #2
			5ms    A unlocks    → A lock lost: that was known before the release was sent
			6ms    #1 renewed   → nothing
			7ms    #2 forced    → acquire #3 30s; F forced
			8ms    #3 granted   → C granted 29.689s
			9ms    C unlocks    → C over; release #3
			10ms   #3 released  → C unlocked
			258ms  timer        → leave
		`)
	})
	t.Run("while the lock is on its way to the next", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks          → acquire #1 30s
			1ms    #1 granted       → A granted 29.689s
			2ms    B locks lease 5s → listen
			3ms    A unlocks        → A over; renew #1 5s; A unlocked
			4ms    F forces         → force #2
			5ms    #1 gone          → nothing
			6ms    #2 forced        → acquire #3 5s; F forced
			7ms    #3 granted       → B granted 4.939s
			8ms    B unlocks        → B over; release #3
			9ms    #3 released      → B unlocked
			257ms  timer            → leave
		`)
	})
	t.Run("while its owner wants more of it", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks               → acquire #1 30s
			1ms    #1 granted            → A granted 29.689s
			2ms    B locks lease 1h as A → renew #1 1h0m0s
			3ms    A extends 1m          → nothing
			4ms    F forces              → A lost: unlocked by force; force #2; listen; A lock lost
			5ms    #1 renewed            → nothing
			6ms    #2 forced             → acquire #3 1h0m0s; F forced
			7ms    #3 granted            → B granted 59m58.989s
			8ms    B unlocks             → B over; release #3
			9ms    #3 released           → B unlocked
			257ms  timer                 → leave
		`)
	})
	t.Run("while it is asked for", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks     → acquire #1 30s
			1ms  F forces    → nothing
			2ms  #1 granted  → force #2; listen
			3ms  #2 forced   → acquire #3 30s; F forced
			4ms  #3 granted  → A granted 29.689s
			5ms  A unlocks   → A over; release #3
			6ms  #3 released → A unlocked
			254ms timer      → leave
		`)
	})
	t.Run("while it is released", func(t *testing.T) {
		runTranscript(t, `
			0s   A locks     → acquire #1 30s
			1ms  #1 granted  → A granted 29.689s
			2ms  A unlocks   → A over; release #1
			3ms  F forces    → nothing
			4ms  #1 released → force #2; A unlocked
			5ms  #2 gone     → F found it free
		`)
	})
}

// What another process holds for half an hour is forced away now, although this engine waits for its TTL.
func TestForceUnlock_WaitersAsleep_SentAtOnce(t *testing.T) {
	runTranscript(t, `
		0s     A locks            → acquire #1 30s
		1ms    #1 taken 30m x:1   → listen
		2ms    F forces           → force #2
		3ms    #2 forced          → acquire #3 30s; F forced
		4ms    #3 granted         → A granted 29.689s
		5ms    A unlocks          → A over; release #3
		6ms    #3 released        → A unlocked
		254ms  timer              → leave
	`)
}

// Several requests to force a lock share one command, unless it has been sent already.
func TestForceUnlock_Several_ShareCommand(t *testing.T) {
	runTranscript(t, `
		0s   A locks once         → acquire #1 30s
		1ms  F forces             → nothing
		1ms  G forces             → nothing
		2ms  #1 taken 30s x:1     → force #2; A lock not acquired
		3ms  H forces             → nothing
		4ms  #2 forced            → force #3; F forced; G forced
		5ms  #3 gone              → H found it free
	`)
}

// It is sent once, because a late copy would take the lock from the next holder.
func TestForceUnlock_NoReply_NotResent(t *testing.T) {
	t.Run("a broken connection", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces            → force #1
			1s   #1 unanswered reset → F redis unavailable: reset
		`)
	})
	t.Run("a silent server", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces            → force #1
			3s   timer               → F redis unavailable: no reply in time
			4s   #1 unanswered reset → nothing
		`)
	})
	t.Run("refused for now, and then silence", func(t *testing.T) {
		runTranscript(t, `
			0s          F forces             → force #1
			1ms         #1 refused LOADING x → nothing
			+5ms..+11ms timer                → force #2
			3s          timer                → F redis unavailable: LOADING x
			4s          #2 refused LOADING x → nothing
		`)
	})
	t.Run("its caller gives up", func(t *testing.T) {
		runTranscript(t, `
			0s   F forces            → force #1
			1s   F cancels why       → F redis unavailable: why
			2s   #1 forced           → nothing
		`)
	})
	t.Run("of the engine's own lock: its tenure is released", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks             → acquire #1 30s
			1ms    #1 granted          → A granted 29.689s
			4ms    F forces            → A lost: unlocked by force; force #2
			1s     #2 unanswered reset → release #1; F redis unavailable: reset
			1.001s #1 gone             → nothing
		`)
	})
	t.Run("one that did not leave in time is not wanted any more", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks        → acquire #1 30s
			1ms    #1 granted     → A granted 29.689s
			4ms    F forces       → A lost: unlocked by force; force #2
			4ms    #2 waits       → nothing
			3.004s timer          → force #2 taken back; release #1; F redis unavailable: no reply in time
			4.001s #1 released    → nothing
		`)
	})
}

// After a temporary rejection it is tried again while its caller waits, and its result tells whether this engine held
// the lock.
func TestForceUnlock_RejectedForNow_Retried(t *testing.T) {
	runTranscript(t, `
		0s          A locks              → acquire #1 30s
		1ms         #1 granted           → A granted 29.689s
		4ms         F forces             → A lost: unlocked by force; force #2
		5ms         #2 refused LOADING x → nothing
		+5ms..+11ms timer                → force #3
		+1ms        #3 forced            → F forced
	`)
}

// A forced unlock wakes waiters that queue behind a local holder.
func TestForceUnlock_Elsewhere_WakesWaiters(t *testing.T) {
	runTranscript(t, `
		0s     A locks     → acquire #1 30s
		1ms    #1 granted  → A granted 29.689s
		2ms    B locks     → listen
		3ms    subscribed  → renew #1 30s
		4ms    #1 renewed  → A has 29.689s
		1s     message     → renew #1 30s
		1.001s #1 gone     → A lost: the key is gone or someone else's; acquire #2 30s
		1.002s #2 granted  → B granted 29.689s
		1.003s B unlocks   → B over; release #2
		1.004s #2 released → B unlocked
		1.252s timer       → leave
	`)
}

// While a force waits for its next try, requests in the queue wait with it, asleep.
func TestForceUnlock_RetryPause_NoSpin(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s F forces", "1ms #1 refused LOADING x", "2ms A locks")
	turns := 0
	for s.untilNext() {
		if turns++; turns > 3 {
			t.Fatalf("turn %d at %v", turns, s.now)
		}
	}
	s.play("+0s #2 forced", "+1ms #3 granted", "+1ms A unlocks", "+1ms #3 released")
	require.Empty(t, slices.DeleteFunc(s.finish(), func(line string) bool { return strings.HasSuffix(line, "timer → leave") }))
}

// untilNext fires the next timer, and reports whether nothing was sent.
func (s *harness) untilNext() bool {
	due, ok := s.wheel.Next()
	require.True(s.t, ok)
	return s.fire(due) == "nothing"
}

// What one force was rejected for is not the cause of another that got no reply.
func TestForceUnlock_SilenceAfterRejection_OwnCause(t *testing.T) {
	runTranscript(t, `
		0s          F forces             → force #1
		1ms         #1 refused LOADING x → nothing
		+5ms..+11ms timer                → force #2
		1s          G forces             → nothing
		1.001s      #2 gone              → force #3; F found it free
		4s          timer                → G redis unavailable: no reply in time
		5s          #3 unanswered reset  → nothing
	`)
}

// A forced unlock without its message counts, as any release without one.
func TestForceUnlock_Unpublished_Counted(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s F forces", "1ms #1 forced")
	require.Zero(t, s.fx.Stats.UnpublishedReleases)
	s.play("1s F forces", "+1ms #2 forced muted")
	require.EqualValues(t, 1, s.fx.Stats.UnpublishedReleases)
}
