package actor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

func readerText(r *actor.ReaderArgs) (text string) {
	if r.Writer != 0 {
		text += fmt.Sprintf(" beside #%d", r.Writer)
	}
	if len(r.Leases) > 0 {
		text += fmt.Sprintf(" holds %v", r.Leases)
	}
	if r.MayShorten {
		text += " falls"
	}
	return text
}

// A renewal of a reader names the leases of all its holds.
func TestReader_Renewed_WithAllHolds(t *testing.T) {
	t.Run("one hold", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s      A locks                 → acquire #1 30s
			1ms     #1 granted              → A granted 29.689s
			10s     timer                   → renew #1 30s
			+2ms    #1 renewed              → A has 29.688s
			+1s     A unlocks               → A over; release #1
			+1ms    #1 released             → A unlocked
		`)
	})
	t.Run("re-entry, and a renewal of both", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s      A locks                 → acquire #1 30s
			1ms     #1 granted              → A granted 29.689s
			2ms     B locks as A            → renew #1 30s count 2 holds [30s 30s]; B granted 29.688s
			3ms     #1 renewed              → A has 29.689s; B has 29.689s
			10.005s timer                   → renew #1 30s holds [30s 30s]
			+1ms    #1 renewed              → A has 29.689s; B has 29.689s
			+1ms    A unlocks               → A over; renew #1 30s count 1 holds [30s] falls; A unlocked
			+1ms    #1 renewed              → B has 29.689s
			+1ms    B unlocks               → B over; release #1
			+1ms    #1 released             → B unlocked
		`)
	})
	t.Run("a hold with a shorter lease has its own", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s      A locks                 → acquire #1 30s
			1ms     #1 granted              → A granted 29.689s
			2ms     B locks lease 1s as A   → renew #1 30s count 2 holds [30s 1.0026s]; B granted 980ms
			3ms     #1 renewed              → A has 29.689s
			982ms   timer                   → B lost: its lease ended; renew #1 30s count 1 holds [30s] falls
			+1ms    #1 renewed              → A has 29.689s
			+1ms    A unlocks               → A over; release #1
			+1ms    #1 released             → A unlocked
		`)
	})
	t.Run("the TTL falls to the lease of those who are left", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s      A locks lease 10s       → acquire #1 10s
			1ms     #1 granted              → A granted 9.889s
			2ms     B locks lease 1h as A   → renew #1 1h0m0s
			3ms     #1 renewed              → renew #1 1h0m0.004s count 2 holds [1h0m0.004s 10.09974s]; B granted 59m58.989s
			4ms     #1 renewed              → nothing
			5ms     B unlocks               → B over; renew #1 10.0977s count 1 holds [10.0977s] falls; B unlocked
			6ms     #1 renewed              → nothing
			7ms     A unlocks               → A over; release #1
			8ms     #1 released             → A unlocked
		`)
	})
}

// Whether the count of a renewal without a reply was written is not known: it may still have to fall.
func TestReaderTTL_FallUnanswered_Resent(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s      A locks                 → acquire #1 30s
		1ms     #1 granted              → A granted 29.689s
		2ms     B locks as A            → renew #1 30s count 2 holds [30s 30s]; B granted 29.688s
		3ms     #1 renewed              → A has 29.689s; B has 29.689s
		4ms     A unlocks               → A over; renew #1 30s count 1 holds [30s] falls; A unlocked
		5ms     #1 unanswered           → renew #1 30s count 1 holds [30s] falls
		6ms     #1 renewed              → B has 29.689s
		7ms     B unlocks               → B over; release #1
		8ms     #1 released             → B unlocked
	`)
}

// Nor is it known after a rejection. After a renewal with a count that could not be written, keys of ended holds may
// still exist. They make the TTL longer than necessary until they are removed.
func TestReaderTTL_CountUnwritten_Resent(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s      A locks                   → acquire #1 30s
		1ms     #1 granted                → A granted 29.689s
		2ms     B locks as A              → renew #1 30s count 2 holds [30s 30s]; B granted 29.688s
		3ms     #1 renewed                → A has 29.689s; B has 29.689s
		4ms     C locks lease 10m as A    → renew #1 10m0s holds [10m0s 30s]
		5ms     #1 renewed                → renew #1 10m0.004s count 3 holds [10m0.004s 30s 30s]; C granted 9m58.989s; A has 9m58.989s; B has 9m58.989s
		6ms     #1 renewed                → A has 9m58.993s; B has 9m58.993s
		7ms     C unlocks                 → C over; renew #1 30s count 2 holds [30s 30s] falls; C unlocked; A has 29.69s; B has 29.69s
		8ms     #1 refused BUSY x         → nothing
		1s..2s  timer                     → renew #1 30s count 2 holds [30s 30s] falls
		+0s     #1 renewed uncounted      → A has 29.69s; B has 29.69s
		2s..5s  timer                     → renew #1 30s count 2 holds [30s 30s] falls
		+0s     #1 renewed                → A has 29.69s; B has 29.69s
		6s      A unlocks                 → A over; renew #1 30s count 1 holds [30s] falls; A unlocked
		+0s     #1 renewed                → B has 29.69s
		7s      B unlocks                 → B over; release #1
		+0s     #1 released               → B unlocked
	`)
}

// A TTL that a read beside the writer made longer than necessary is set by the next renewal, whatever the reason for
// that.
func TestWriterTTL_RaisedByRead_Lowered(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.setKind(actor.Write)
	s.play("0s A locks lease 10s", "1ms #1 granted")
	require.Equal(t, "renew #1 0s count 2; B granted 4.94s", s.play("2ms B locks lease 5s as A"))
	s.lock.OnTTLRaised(s.now, s.now+time.Hour, s.fx)
	s.step(&actor.Message{Event: actor.Recheck})
	s.play("3ms B extends 2s", "4ms B unlocks")
	require.Regexp(t, `^renew #1 10\.\d+s count 1$`, s.play("5ms #1 renewed"))
	require.Equal(t, "B lock not held", s.play("6ms #1 renewed"))
	require.Equal(t, "A over; release #1", s.play("7ms A unlocks"))
	require.Equal(t, "A unlocked", s.play("8ms #1 released"))
	require.Empty(t, s.finish())
}

func TestReader_NotHandedOff(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s    A locks                       → acquire #1 30s
		1ms   #1 granted                    → A granted 29.689s
		2ms   B locks                       → listen
		3ms   A unlocks                     → A over; release #1
		4ms   #1 released                   → acquire #2 30s; A unlocked
		5ms   #2 granted                    → B granted 29.689s
		6ms   B unlocks                     → B over; release #2
		7ms   #2 released                   → B unlocked
		255ms timer                         → leave
	`)
}

// A writer is handed off like a plain lock, but only while no reader of its engine waits.
func TestWriter_Handoff_OnlyWithoutReaders(t *testing.T) {
	t.Run("as a plain lock", func(t *testing.T) {
		runTranscriptOf(t, actor.Write, `
			0s    A locks                   → acquire #1 30s
			1ms   #1 granted                → A granted 29.689s
			2ms   B locks                   → listen
			3ms   A unlocks                 → A over; B granted 29.687s; A unlocked
			+0s   subscribed                → renew #1 30s listeners but us
			4ms   #1 renewed                → B has 29.689s
			5ms   B unlocks                 → B over; release #1
			6ms   #1 released               → B unlocked
			253ms timer                     → leave
		`)
	})
	t.Run("readers of its engine come first", func(t *testing.T) {
		runTranscriptOf(t, actor.Write, `
			0s    A locks                   → acquire #1 30s
			1ms   #1 granted                → A granted 29.689s
			2ms   B locks                   → listen
			+0s   shared                    → nothing
			3ms   A unlocks                 → A over; release #1
			4ms   #1 released               → A unlocked
			6ms   timer                     → acquire #2 30s
			7ms   #2 granted                → B granted 29.689s
			+0s   unshared                  → nothing
			8ms   C locks                   → nothing
			9ms   B unlocks                 → B over; C granted 29.687s; B unlocked
			+0s   message                   → renew #2 30s listeners
			+1ms  #2 renewed                → C has 29.689s
			+1ms  C unlocks                 → C over; release #2
			+1ms  #2 released               → C unlocked
			259ms..265ms timer              → leave
		`)
	})
}

// A new reader yields to a waiting writer of its engine until it is called, at most for the given time.
func TestReader_WriterWaits_YieldsUntilCalled(t *testing.T) {
	t.Run("writer gone", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s    aside 1s                  → nothing
			+0s   A locks                   → nothing
			10ms  writer gone               → acquire #1 30s
			11ms  #1 granted                → A granted 29.689s
			12ms  A unlocks                 → A over; release #1
			13ms  #1 released               → A unlocked
		`)
	})
	t.Run("or for as long as that", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s    aside 1s                  → nothing
			+0s   A locks                   → nothing
			1s    timer                     → acquire #1 30s
			+1ms  writer gone               → nothing
			+0s   #1 taken 5s x             → listen
			+1ms  A cancels why             → A lock not acquired: why
			+250ms timer                    → leave
		`)
	})
	t.Run("and leaves when it likes", func(t *testing.T) {
		runTranscriptOf(t, actor.Read, `
			0s    aside 1s                  → nothing
			+0s   A locks wait 20ms         → nothing
			20ms  timer                     → A lock not acquired
		`)
	})
}

// An acquire sent before its owner wrote is rejected because of a writer. That writer is its owner: the acquire is sent
// once more at once.
func TestReader_OwnerWrites_RetriesAtOnce(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s    A locks                   → acquire #1 30s
		1ms   beside                    → nothing
		2ms   #1 taken 20s x            → acquire #2 30s; listen
		3ms   #2 granted                → A granted 29.689s
		4ms   A unlocks                 → A over; release #2
		5ms   #2 released               → A unlocked
		253ms timer                     → leave
	`)
}

// Beside a writer no reader is forced to stop: what was given up for the force is released.
func TestReader_ForceFindsNothing_Released(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s    A locks                       → acquire #1 30s
		1ms   #1 granted                    → A granted 29.689s
		2ms   B forces                      → A lost: unlocked by force; force #2
		3ms   #2 gone                       → release #1; B found it free
		4ms   #1 released                   → nothing
	`)
}

// Another per-request lock takes the lock away, from this one as well: nothing waits for the reply to that.
func TestReader_ForcedWithOther_Released(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s    A locks                       → acquire #1 30s
		1ms   #1 granted                    → A granted 29.689s
		2ms   forced with another           → A lost: unlocked by force; release #1
		3ms   #1 gone                       → nothing
	`)
}

// Two re-entries of an owner that has lost the lock meanwhile: the first is granted a new tenure, and the second
// re-enters it.
func TestReader_LostInReentry_SharesTenure(t *testing.T) {
	runTranscriptOf(t, actor.Read, `
		0s    A locks as thread 7              → acquire #1 30s
		1ms   #1 granted                       → A granted 29.689s
		2ms   B locks lease 1m as thread 7     → renew #1 1m0s
		3ms   C locks lease 1m wait 5s as thread 7 → nothing
		3ms   D locks lease 30s as thread 7    → nothing
		4ms   #1 gone                          → A lost: the key is gone or someone else's; acquire #2 1m0s; listen
		5ms   #2 granted                       → renew #2 1m0s count 2 holds [1m0s 30.2988s]; B granted 59.389s; D granted 29.69s
		6ms   #2 renewed                       → renew #2 1m0.404s count 3 holds [1m0.404s 1m0.403s 30.29778s]; C granted 59.389s
		7ms   #2 renewed                       → nothing
		8ms   B unlocks                        → B over; renew #2 1m0.402s count 2 holds [1m0.402s 30.29574s] falls; B unlocked
		8ms   #2 renewed                       → nothing
		9ms   D unlocks                        → D over; renew #2 1m0.401s count 1 holds [1m0.401s] falls; D unlocked
		9ms   #2 renewed                       → nothing
		10ms  C unlocks                        → C over; release #2
		11ms  #2 released                      → C unlocked
		255ms timer                            → leave
	`)
}
