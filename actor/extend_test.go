package actor_test

import (
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// An extension succeeds only if the server has confirmed it and the hold still has it.

// Each of two extensions of one hold is confirmed for itself, also if the later one gives up.
func TestExtend_TwoOfOneHold_ConfirmedEach(t *testing.T) {
	t.Run("the later one gives up", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks      → acquire #1 30s
			1ms    #1 granted   → A granted 29.689s
			5s     A extends 1s → renew #1 1s; A has 980ms
			5.001s A extends 1h → nothing
			5.002s A extends 5s → nothing
			5.003s #1 renewed   → renew #1 5s; A extended
			// what is left to be confirmed is the hour, and that was not sent
			5.004s A cancels    → A redis unavailable: no reply in time
			5.005s #1 renewed   → renew #1 1h0m0s
			5.006s #1 renewed   → A extended; A has 59m58.989s
			6s     A unlocks    → A over; release #1
			+1ms   #1 released  → A unlocked
		`)
	})
	t.Run("the later one gives up, and the other one wanted to be watched", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1m → acquire #1 1m0s
			1ms    #1 granted   → A granted 59.389s
			5s     A extends 50s → renew #1 50s; A has 49.49s
			5.001s A watches    → nothing
			5.002s A extends 5s → nothing
			5.003s #1 renewed   → renew #1 5s; A extended; A has 4.94s
			5.004s A cancels    → A redis unavailable: no reply in time
			5.005s #1 renewed   → renew #1 30s
			5.006s #1 renewed   → A extended; A has 29.689s
			6s     A unlocks    → A over; release #1
			+1ms   #1 released  → A unlocked
		`)
	})
}

// An extension has its result with the reply to the command that it is in, however many come meanwhile: a caller with a
// long lease does not wait as long as others extend the same hold by less.
func TestExtend_OthersCameLater_ResultWithReply(t *testing.T) {
	runTranscript(t, `
		0s     A locks      → acquire #1 30s
		1ms    #1 granted   → A granted 29.689s
		5s     A extends 1s → renew #1 1s; A has 980ms
		5.001s A extends 1h → nothing
		5.002s A extends 5s → nothing
		5.003s #1 renewed   → renew #1 5s; A extended
		5.004s A extends 2s → nothing
		5.005s #1 renewed   → renew #1 2s; A extended; A extended; A has 1.97s
		5.006s #1 renewed   → A extended
		6s     A unlocks    → A over; release #1
		+1ms   #1 released  → A unlocked
	`)
}

// The outcome of the last extension is the result of those before it: its lease is the hold's.
func TestExtend_LaterTooLate_BothLost(t *testing.T) {
	runTranscript(t, `
		0s     A locks lease 1h      → acquire #1 1h0m0s
		1ms    #1 granted            → A granted 59m58.989s
		2ms    B locks lease 1h as A → renew #1 1h0m0s
		3ms    #1 renewed            → renew #1 0s count 2; B granted 59m58.989s
		5s     A extends 30m         → nothing
		5.001s A watches             → nothing
		5.002s A extends 1s          → nothing
		5.003s #1 renewed            → renew #1 59m55.004s
		7s     #1 renewed            → A lock lost: the reply came after the lease had ended; A lock lost: the reply came after the lease had ended; A lock lost: the reply came after the lease had ended; A has -1.017s
		7s     timer                 → A lost: its lease ended; renew #1 0s count 1
		+1ms   #1 renewed            → nothing
		8s     B unlocks             → B over; release #1
		+1ms   #1 released           → B unlocked
	`)
}

// Past MaxHold an owner has the lock only by fixed leases: an owner that gives the last one up loses the lock.
func TestRewatch_PastMaxHold_LosesHold(t *testing.T) {
	t.Run("at once", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h        → acquire #1 1h0m0s
			1ms    #1 granted              → A granted 59m58.989s
			2ms    B locks lease 30m as A  → renew #1 0s count 2; B granted 29m58.99s
			3ms    #1 renewed              → nothing
			10s    A watches               → A lost: held for Options.MaxHold; renew #1 29m50.007s count 1; A lock lost: held for Options.MaxHold
			+1ms   #1 renewed              → nothing
			11s    B watches               → B lost: held for Options.MaxHold; release #1; B lock lost: held for Options.MaxHold
			+1ms   #1 released             → nothing
		`, func(c *actor.Config) { c.MaxHold = 5 * time.Second })
	})
	t.Run("exactly at its end", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h        → acquire #1 1h0m0s
			1ms    #1 granted              → A granted 59m58.989s
			5.001s A watches               → A lost: held for Options.MaxHold; release #1; A lock lost: held for Options.MaxHold
			+1ms   #1 released             → nothing
		`, func(c *actor.Config) { c.MaxHold = 5 * time.Second })
	})
	t.Run("with the answer", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h        → acquire #1 1h0m0s
			1ms    #1 granted              → A granted 59m58.989s
			2ms    B locks lease 30m as A  → renew #1 0s count 2; B granted 29m58.99s
			3ms    #1 renewed              → nothing
			4.9s   A watches               → renew #1 29m55.107s; A has 29m54.097s
			5.1s   #1 renewed              → A lock lost: held for Options.MaxHold; A has -99ms
			5.1s   timer                   → A lost: held for Options.MaxHold; renew #1 0s count 1
			+1ms   #1 renewed              → nothing
			11s    B unlocks               → B over; release #1
			+1ms   #1 released             → B unlocked
		`, func(c *actor.Config) { c.MaxHold = 5 * time.Second })
	})
}

// The caller of an extension gives up before the reply. The server has set the lease, and the hold goes on with the one
// that it had: the next renewal sets that again.
func TestExtend_GivenUpBeforeReply_LeaseAsBefore(t *testing.T) {
	t.Run("to be watched", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h → acquire #1 1h0m0s
			1ms    #1 granted       → A granted 59m58.989s
			5s     A watches        → renew #1 30s; A has 29.69s
			5.001s A cancels        → A redis unavailable: no reply in time
			5.002s #1 renewed       → renew #1 59m55.003s
			5.003s #1 renewed       → A has 59m53.987s
			6s     A unlocks        → A over; release #1
			+1ms   #1 released      → A unlocked
		`)
	})
	t.Run("shorter", func(t *testing.T) {
		runTranscript(t, `
			0s     A locks lease 1h → acquire #1 1h0m0s
			1ms    #1 granted       → A granted 59m58.989s
			5s     A extends 1s     → renew #1 1s; A has 980ms
			5.001s A cancels        → A redis unavailable: no reply in time
			5.002s #1 renewed       → renew #1 59m55.003s
			5.003s #1 renewed       → A has 59m53.987s
			6s     A unlocks        → A over; release #1
			+1ms   #1 released      → A unlocked
		`)
	})
}

// The last hold ends at its time while an extension of it is in flight: its caller gets that at once, and not what
// becomes of a reply that may never come.
func TestExtend_HoldEndsMeanwhile_LostAtOnce(t *testing.T) {
	runTranscript(t, `
		0s     A locks                → acquire #1 30s
		1ms    #1 granted             → A granted 29.689s
		2ms    A2 locks lease 4s as A → renew #1 30s count 2; A2 granted 3.95s
		3ms    #1 renewed             → A has 29.689s
		4ms    A unlocks              → A over; renew #1 4.04196s count 1; A unlocked
		5ms    #1 renewed             → nothing
		3s     A2 extends 50s         → renew #1 50s
		3.952s timer                  → A2 lost: its lease ended; A2 lock lost
		3.996s timer                  → release #1
		4.1s   #1 renewed             → nothing
		4.2s   #1 released            → nothing
	`)
}
