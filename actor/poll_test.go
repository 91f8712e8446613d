package actor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

func polling(c *actor.Config) { c.Poll = true }

// Without subscriptions, tries come at growing, bounded intervals, and the next caller starts from the beginning.
func TestPoll_PausesGrowToBound(t *testing.T) {
	runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 taken 30s x:1    → nothing
		+1ms..+2ms timer           → acquire #2 30s
		+1ms   #2 taken 30s x:1    → nothing
		+1ms..+3ms timer           → acquire #3 30s
		+1ms   #3 taken 30s x:1    → nothing
		+2ms..+5ms timer           → acquire #4 30s
		+1ms   #4 taken -1ms x:1   → nothing
		+4ms..+9ms timer           → acquire #5 30s
		+1ms   #5 taken 30s x:1    → nothing
		+8ms..+17ms timer          → acquire #6 30s
		+1ms   #6 taken 30s x:1    → nothing
		+16ms..+33ms timer         → acquire #7 30s
		+1ms   #7 taken 30s x:1    → nothing
		+32ms..+65ms timer         → acquire #8 30s
		+1ms   #8 taken 30s x:1    → nothing
		+64ms..+129ms timer        → acquire #9 30s
		+1ms   #9 taken 30s x:1    → nothing
		+64ms..+129ms timer        → acquire #10 30s
		+1ms   #10 granted         → A granted 29.689s
		+1ms   B locks             → nothing
		+1ms   A unlocks           → A over; B granted 29.687s; A unlocked
		+1ms   B unlocks           → B over; release #10
		+1ms   #10 released        → B unlocked
		+1ms   C locks             → acquire #11 30s
		+1ms   #11 taken 30s x:1   → nothing
		+1ms..+2ms timer           → acquire #12 30s
		+1ms   C cancels           → C lock not acquired
		+1ms   #12 taken 30s x:1   → nothing
	`, polling)
}

// A waiter sleeps no longer than until the end of the hold that a reply gave.
func TestPoll_LeaseEnds_AsksThen(t *testing.T) {
	runTranscript(t, `
		0s     A locks             → acquire #1 30s
		1ms    #1 taken 30ms x:1   → nothing
		+1ms..+2ms timer           → acquire #2 30s
		+1ms   #2 granted          → A granted 29.689s
		+1ms   A unlocks           → A over; release #2
		+1ms   #2 released         → A unlocked
	`, polling)
}

// A reader that finds another writer at each try knows that the lock was free in between.
func TestPoll_WritersAlternate_ReaderSooner(t *testing.T) {
	config := defaultConfig()
	config.Poll = true
	asks := func(writers ...string) (asked int) {
		s := newHarness(t, config)
		s.setKind(actor.Read)
		s.play("0s A locks")
		for s.now < 3*time.Second {
			asked++
			s.play(fmt.Sprintf("+1ms #%d taken 30s %s", asked, writers[int(s.now/(20*time.Millisecond))%len(writers)]))
			at, _ := s.wheel.Next()
			s.play(fmt.Sprintf("+%v timer", at-s.now))
		}
		return asked
	}
	require.Less(t, asks("x:1"), 60)
	require.Greater(t, asks("x:1", "x:2", "y:1"), 150)
}
