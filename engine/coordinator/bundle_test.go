package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// However many batches of a node are sent again, a bundle has a bounded number of them.
func TestBundle_ManyRetries_Bounded(t *testing.T) {
	const locks = 6 * MaxBundleBatches
	d := newClusterHarness(t, 3)
	var names []string
	for i := range locks {
		names = append(names, fmt.Sprintf("{s%d}", i))
	}
	d.line("1ms lock " + strings.Join(names, " "))
	longest, noScript := 0, map[*actor.Lock]bool{}
	for range 2 * locks {
		for number, b := range d.inFlight {
			batches, again := 0, false
			for ; b != nil; b = b.Next {
				batches++
				again = again || !noScript[b.Commands[0].Lock]
				for i := range b.Commands {
					noScript[b.Commands[i].Lock] = true
				}
			}
			if again {
				d.bundle(fmt.Sprint(number, " says NOSCRIPT No matching script"))
				continue
			}
			longest = max(longest, batches)
			d.bundle(fmt.Sprint(number, " done"))
		}
		d.turn()
	}
	require.Len(t, noScript, locks)
	require.EqualValues(t, locks, d.c.Stats().Held)
	require.Equal(t, MaxBundleBatches, longest)
}

// A batch that was split by slot keeps nothing, and the first of its parts counts for its sort as the whole did.
func TestBundle_Split_SortKept(t *testing.T) {
	for _, background := range []bool{false, true} {
		d := newClusterHarness(t, 1)
		whole := d.c.batchToFill(actor.SendRelease)
		for i := range 10 {
			whole.Commands = append(whole.Commands, actor.Command{Key: fmt.Sprintf("{s%d}", i%3), Lock: actor.NewLock("k", actor.Plain)})
		}
		whole.background = background
		first := d.c.splitBySlot(whole)
		require.Equal(t, background, first.background)
		require.Empty(t, whole.Commands)
		for _, command := range whole.Commands[:10] {
			require.Nil(t, command.Lock)
		}
		slots := map[uint16]int{}
		for b := first; b != nil; b = b.Next {
			slots[b.Slot] += len(b.Commands)
		}
		require.Len(t, slots, 3)
	}
}
