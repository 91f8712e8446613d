package actor_test

import (
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Each owner that has a lock for too long is reported once, also one with a grant at the first moment of the clock and
// the owner that the lock is handed to. An owner that unlocks earlier is not.
func TestHeldTooLong_FromFirstMoment_OncePerOwner(t *testing.T) {
	runTranscript(t, `
		1ns     A locks      → acquire #1 30s
		+0s     #1 granted   → A granted 29.689999999s
		+1ms    B locks      → listen
		3.001s  timer        → A held for 3.000999999s
		4s      A unlocks    → A over; B granted 25.69s; A unlocked
		4.25s   timer        → leave
		7s      timer        → B held for 3s
		8s      B unlocks    → B over; release #1
		+1ms    #1 released  → B unlocked
		+5s     C locks      → acquire #2 30s
		+1ms    #2 granted   → C granted 29.689s
		+2s     C unlocks    → C over; release #2
		+1ms    #2 released  → C unlocked
	`, func(c *actor.Config) { c.HeldTooLong = 3 * time.Second })
}
