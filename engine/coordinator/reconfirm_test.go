package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many locks there are, a turn starts the confirmation of a bounded number. The next turn follows at once until
// all are done. Until then no grant relies on an earlier confirmation.
func TestReconfirm_ManyLocks_TurnBounded(t *testing.T) {
	for _, locks := range []int{2 * maxLocksPerTurn, 5 * maxLocksPerTurn} {
		d := newHarness(t, 8)
		d.holds(locks)
		d.now += time.Second
		d.c.ReconfirmAll(d.now)
		require.Equal(t, d.now, d.c.Fx.ReconfirmSince)
		turns, asked := 0, 0
		for due, ok := d.c.Next(); ok && due <= d.now; due, ok = d.c.Next() {
			before := asked
			d.turn()
			for number, b := range d.inFlight {
				asked += len(b.Commands)
				delete(d.inFlight, number)
				b.Node.InFlightBundles, b.Node.InFlightByVerb[b.Verb] = 0, 0
			}
			require.LessOrEqual(t, asked-before, 8*renewKeys)
			turns++
			require.Less(t, turns, 1000)
		}
		require.GreaterOrEqual(t, turns, locks/maxLocksPerTurn)
		require.Empty(t, d.c.reconfirms.Left)
	}
}
