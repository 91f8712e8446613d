package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A round visits each lock once, of any kind, and a few of them in the order of their keys. A finished round keeps none
// of them in memory.
func TestRound_Finished_NothingKept(t *testing.T) {
	d := newHarness(t, 8)
	for i := range 40 {
		d.ask([]string{"lock", "read"}[i%2], fmt.Sprint("k", i))
	}
	d.turn()
	r, visited, before := d.c.NewRound(), map[*actor.Lock]int{}, ""
	for r.On() {
		some := r.take(7)
		require.LessOrEqual(t, len(some), 7)
		for _, l := range some {
			visited[l]++
			require.LessOrEqual(t, before, l.Key())
			before = l.Key()
		}
	}
	require.Len(t, visited, 40)
	require.Zero(t, r)
}
