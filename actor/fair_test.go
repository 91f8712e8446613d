package actor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A waiter for a fair lock keeps its place by its tenure, and asks again before it is considered dead.
func TestFairWaiter_Waiting_KeepsPlace(t *testing.T) {
	t.Run("while it waits, by its number", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 20s it:1 left 320s          → listen
			2ms     subscribed                           → acquire #1 30s wait 5m0s
			3ms     #1 taken 20s it:1 left 320s          → nothing
			20.004s timer                                → acquire #1 30s wait 5m0s
			+1ms    #1 taken 25s it:1 left 300s          → nothing
			30s     message                              → acquire #1 30s wait 5m0s
			+1ms    #1 granted                           → leave; A granted 29.689s
			+1s     A unlocks                            → A over; release #1 wait 5m0s
			+1ms    #1 released                          → A unlocked
		`)
	})
	t.Run("which it asks for again before it counts as dead", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 1s
			1ms     #1 taken 1m it:1 left 2s             → listen
			335ms   timer                                → acquire #1 30s wait 1s
			+1ms    #1 taken 59s it:1 left 300ms         → nothing
			486ms   timer                                → acquire #1 30s wait 1s
			+1ms    #1 granted                           → leave; A granted 29.689s
			+1ms    A unlocks                            → A over; release #1 wait 1s
			+1ms    #1 released                          → A unlocked
		`, func(c *actor.Config) { c.FairWaitTimeout = 1e9 })
	})
	t.Run("which it asks for in time also far from the server", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 1s
			300ms   #1 taken 20s it:1 left 2s            → listen
			359ms   timer                                → acquire #1 30s wait 1s
			600ms   #1 granted                           → leave; A granted 29.449s
			601ms   A unlocks                            → A over; release #1 wait 1s
			900ms   #1 released                          → A unlocked
		`, func(c *actor.Config) { c.FairWaitTimeout = 1e9 })
	})
	t.Run("also when the server does not answer, or not now", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 20s it:1 left 320s          → listen
			2ms     message                              → acquire #1 30s wait 5m0s
			3ms     #1 unanswered broken                 → acquire #1 30s wait 5m0s
			4ms     #1 refused LOADING                   → nothing
			4ms..30ms timer                              → acquire #1 30s wait 5m0s
			+1ms    #1 granted                           → leave; A granted 29.689s
			+1ms    A unlocks                            → A over; release #1 wait 5m0s
			+1ms    #1 released                          → release #1 wait 5m0s; A unlocked
			+1ms    #1 gone                              → nothing
			6s..7s  timer                                → release #1 wait 5m0s
			+1ms    #1 gone                              → nothing
		`)
	})
}

// A waiter that leaves a fair queue releases its place with its own wait, and again until the server replies.
func TestFairWaiter_Leaves_ReleasesPlace(t *testing.T) {
	t.Run("given up, with its own wait", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks wait 7s                      → acquire #1 30s wait 7.002s
			1ms     #1 taken 20s it:1 left 27s           → listen
			1s      A cancels why                        → release #1 wait 7.002s; leave; A lock not acquired: why
			+1ms    #1 gone                              → nothing
		`)
	})
	t.Run("its time over, until the server confirms it", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks wait 7s                      → acquire #1 30s wait 7.002s
			1ms     #1 taken 20s it:1 left 27s           → listen
			7s      timer                                → release #1 wait 7.002s; leave; A lock not acquired
			+1ms    #1 unanswered broken                 → release #1 wait 7.002s
			11s     #1 unanswered broken                 → release #1 wait 7.002s
			12s     #1 gone                              → nothing
		`)
	})
	t.Run("while it asks", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     A cancels why                        → A redis unavailable: why
			2ms     #1 taken 20s it:1 left 320s          → release #1 wait 5m0s
			3ms     #1 gone                              → nothing
		`)
	})
	t.Run("without an answer, twice", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     A cancels why                        → A redis unavailable: why
			2ms     #1 unanswered broken                 → release #1 wait 5m0s
			3ms     #1 gone                              → release #1 wait 5m0s
			4ms     #1 gone                              → nothing
			6s..7s  timer                                → release #1 wait 5m0s
			+1ms    #1 gone                              → nothing
		`)
	})
	t.Run("refused for good", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 20s it:1 left 320s          → listen
			2ms     message                              → acquire #1 30s wait 5m0s
			3ms     #1 refused NOPERM                    → release #1 wait 5m0s; leave; A NOPERM
			4ms     #1 refused NOPERM                    → nothing
			+250ms..+501ms timer → release #1 wait 5m0s
			+1ms #1 gone → nothing
		`)
	})
	t.Run("at the shutdown, which waits for it", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 20s it:1 left 320s          → listen
			2ms     drain                                → release #1 wait 5m0s; leave; A engine closed
			3ms     #1 gone                              → nothing
		`)
	})
	t.Run("and a grant that came too late is given back", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     A cancels why                        → A redis unavailable: why
			2ms     #1 granted                           → release #1 wait 5m0s
			3ms     #1 released                          → nothing
		`)
	})
}

// The release of a place can leave long after its waiter, behind those of very many others. A shutdown waits for it as
// long as the place would live.
func TestFairWaiter_ReleaseLeavesLate_CountsAsHeld(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.setKind(actor.Fair)
	s.play("0s A locks", "1ms #1 taken 20s it:1 left 320s", "1s A cancels why", "1m A?")
	require.Equal(t, 1, s.fx.HeldLocks)
	s.play("1m #1 gone")
	require.Zero(t, s.fx.HeldLocks)
}

// A fair lock that is free but is another waiter's turn is polled with pauses.
func TestFairLock_OthersTurn_PolledWithPauses(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s             A locks                           → acquire #1 30s wait 5m0s
		1ms            #1 taken 4m free left 540s        → listen
		251ms..502ms   timer                             → acquire #1 30s wait 5m0s
		+1ms           #1 taken 4m free left 540s        → nothing
		+250ms..+501ms timer                             → acquire #1 30s wait 5m0s
		+1ms           #1 taken 10ms free left 540s      → nothing
		+11ms..+60ms   timer                             → acquire #1 30s wait 5m0s
		+1ms           #1 granted                        → leave; A granted 29.689s
		+1ms           A unlocks                         → A over; release #1 wait 5m0s
		+1ms           #1 released                       → A unlocked
	`)
}

// Behind a dead waiter only the first waiter of an engine polls; the others keep their places.
func TestFairWaiter_BehindLocal_KeepsPlace(t *testing.T) {
	t.Run("or when the time of the head is over", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s             A locks                           → acquire #1 30s wait 5m0s
			1ms            #1 taken 4m free left 540s preceded   → listen
			100.001s       timer                             → acquire #1 30s wait 5m0s
			+1ms           #1 taken 40s free left 340s preceded   → nothing
			140.003s       timer                             → acquire #1 30s wait 5m0s
			+1ms           #1 granted                        → leave; A granted 29.689s
			+1ms           A unlocks                         → A over; release #1 wait 5m0s
			+1ms           #1 released                       → A unlocked
		`)
	})
	t.Run("before it counts as dead", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s             A locks wait 8s                   → acquire #1 30s wait 8.002s
			1ms            #1 taken 40s free left 6s preceded   → listen
			3.001s         timer                             → acquire #1 30s wait 8.002s
			+1ms           #1 taken 37s free left 3s preceded   → nothing
			4.502s         timer                             → acquire #1 30s wait 8.002s
			+1ms           #1 granted                        → leave; A granted 29.689s
			+1ms           A unlocks                         → A over; release #1 wait 8.002s
			+1ms           #1 released                       → A unlocked
		`)
	})
	t.Run("until that one is gone", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s             A locks                           → acquire #1 30s wait 5m0s
			1ms            #1 taken 4m free left 540s preceded   → listen
			10s            queue head                        → nothing
			+250ms..+505ms timer                             → acquire #1 30s wait 5m0s
			+1ms           #1 taken 4m free left 540s        → nothing
			+250ms..+505ms timer                             → acquire #1 30s wait 5m0s
			+1ms           #1 granted                        → leave; A granted 29.689s
			+1ms           A unlocks                         → A over; release #1 wait 5m0s
			+1ms           #1 released                       → A unlocked
		`)
	})
	t.Run("and it stays asleep while the lock has a holder", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s             A locks                           → acquire #1 30s wait 5m0s
			1ms            #1 taken 20s it:1 left 320s       → listen
			2ms            queue head                        → nothing
			20.002s        timer                             → acquire #1 30s wait 5m0s
			+1ms           #1 granted                        → leave; A granted 29.689s
			+1ms           A unlocks                         → A over; release #1 wait 5m0s
			+1ms           #1 released                       → A unlocked
		`)
	})
}

func TestFairTry_DoesNotQueue(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s   A locks once                                → acquire #1 30s
		1ms  #1 taken 20s it:1                           → A lock not acquired
	`)
}

func TestFairLock_NotHandedOff(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s   A locks                                     → acquire #1 30s wait 5m0s
		1ms  #1 granted                                  → A granted 29.689s
		2ms  B locks as A                                → renew #1 30s count 2; B granted 29.688s
		3ms  #1 renewed                                  → A has 29.689s; B has 29.689s
		4ms  C locks lease 1h as A                       → renew #1 1h0m0s
		5ms  B unlocks                                   → B over; B unlocked
		6ms  A unlocks                                   → A over
		7ms  #1 renewed                                  → release #1 wait 5m0s
		8ms  #1 released                                 → acquire #2 1h0m0s wait 5m0s; A unlocked
		9ms  #2 granted                                  → C granted 59m58.989s
		10ms C unlocks                                   → C over; release #2 wait 5m0s
		11ms #2 released                                 → C unlocked
	`)
}

// A holder of the same engine is not taken for an orphan; an unknown tenure of this engine is released.
func TestFairLock_HeldLocally_NotOrphan(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s   A locks                                     → acquire #1 30s wait 5m0s
		1ms  #1 taken 20s me:77 known left 320s          → listen
		2ms  message                                     → acquire #1 30s wait 5m0s
		3ms  #1 taken 20s me:78 left 320s               → acquire #1 30s wait 5m0s orphans [78]; release #78
		4ms  #78 released                                → nothing
		5ms  #1 granted                                  → leave; A granted 29.688s
		6ms  A unlocks                                   → A over; release #1 wait 5m0s
		7ms  #1 released                                 → A unlocked
	`)
}

func TestFairLock_Forced_LostAtOnce(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s   A locks                                     → acquire #1 30s wait 5m0s
		1ms  #1 granted                                  → A granted 29.689s
		2ms  F forces                                    → A lost: unlocked by force; force #2
		3ms  #2 forced                                   → F forced
	`)
}

// A waiter asks again soon while another lock of its name in this engine releases the holder's tenure.
func TestFairWaiter_OrphanReleasing_Retries(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s           A locks                             → acquire #1 30s wait 5m0s
		1ms          #1 taken 20s me:77 known doomed left 320s → acquire #1 30s wait 5m0s; listen
		2ms          #1 taken 20s me:77 known doomed left 320s → nothing
		26ms         timer                               → acquire #1 30s wait 5m0s
		27ms         #1 granted                          → leave; A granted 29.689s
		28ms         A unlocks                           → A over; release #1 wait 5m0s
		29ms         #1 released                         → A unlocked
	`)
}

// An orphan that a reply for another lock of its name shows is released again at once.
func TestOrphan_Found_ReleasedAtOnce(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s      A locks                                  → acquire #1 30s wait 5m0s
		1ms     A cancels why                            → A redis unavailable: why
		2ms     #1 unanswered broken                     → release #1 wait 5m0s
		3ms     #1 gone                                  → release #1 wait 5m0s
		4ms     #1 gone                                  → nothing
		5ms     orphan seen                              → release #1 wait 5m0s
		6ms     #1 released                              → nothing
		6.011s  timer                                    → release #1 wait 5m0s
		6.012s  #1 gone                                  → nothing
	`)
}

// A fair hold is lost at once when the lock is granted to another holder of its engine.
func TestFairHold_Displaced_Lost(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s   A locks                                     → acquire #1 30s wait 5m0s
		1ms  #1 granted                                  → A granted 29.689s
		2ms  displaced                                   → A lost: granted to another holder since; release #1 wait 5m0s
		3ms  #1 gone                                     → nothing
	`)
}

// Its next tenure has another channel.
func TestFairWaiter_LateGrant_Resubscribes(t *testing.T) {
	runTranscriptOf(t, actor.Fair, `
		0s           A locks lease 50ms                  → acquire #1 50ms wait 5m0s
		1ms          #1 taken 20s it:1 left 320s         → listen
		2ms          message                             → acquire #1 50ms wait 5m0s
		100ms        #1 granted                          → release #1 wait 5m0s
		101ms        #1 gone                             → leave
		101ms..200ms timer                               → acquire #2 50ms wait 5m0s
		+1ms         #2 taken 20s it:1 left 320s         → listen
		+1ms         A cancels why                       → release #2 wait 5m0s; leave; A lock not acquired: why
		+1ms         #2 gone                             → nothing
	`)
}

// One call removes some hundreds of dead places from the head of a queue, and the next one follows at once. Waiters
// behind them wait for the life of one place, however many died. A request that tries once is rejected only when it is
// known that a live one is ahead.
func TestFairQueue_DeadPlaces_RemovedByCalls(t *testing.T) {
	t.Run("for one who waits", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 0s free left 320s           → listen
			2ms     timer                                → acquire #1 30s wait 5m0s
			3ms     #1 taken 0s free left 320s           → nothing
			4ms     timer                                → acquire #1 30s wait 5m0s
			+1ms    #1 granted                           → leave; A granted 29.689s
			+1ms    A unlocks                            → A over; release #1 wait 5m0s
			+1ms    #1 released                          → A unlocked
		`)
	})
	t.Run("for one who tries", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks once                         → acquire #1 30s
			1ms     #1 taken 0s free                     → nothing
			2ms     timer                                → acquire #1 30s
			3ms     #1 taken 5s free                     → A lock not acquired
		`)
	})
	t.Run("by the foremost of an engine", func(t *testing.T) {
		runTranscriptOf(t, actor.Fair, `
			0s      A locks                              → acquire #1 30s wait 5m0s
			1ms     #1 taken 0s free preceded left 320s   → listen
			2ms     subscribed                           → acquire #1 30s wait 5m0s
			3ms     #1 taken 0s free preceded left 320s   → nothing
			28ms..60ms timer                               → acquire #1 30s wait 5m0s
			+1ms    #1 granted                           → leave; A granted 29.689s
			+1ms    A unlocks                            → A over; release #1 wait 5m0s
			+1ms    #1 released                          → A unlocked
		`)
	})
}
