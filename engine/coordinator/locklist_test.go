package coordinator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// However locks are added and removed, the list has all of them, oldest first, and finds each.
func TestLockList_KeepsOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var k lockList
	var want []*actor.Lock
	for round := range 40 {
		for range random.IntN(200) {
			l := actor.NewLock("a", actor.Read)
			k.add(l)
			want = append(want, l)
		}
		for range random.IntN(len(want) + 1) {
			i := random.IntN(len(want))
			if round%2 == 0 {
				i = 0
			}
			k.remove(want[i])
			k.remove(actor.NewLock("a", actor.Read)) // not in the list
			want = slices.Delete(want, i, i+1)
			require.Equal(t, len(want), k.len())
			if len(want) == 0 {
				require.Nil(t, k.newest())
				break
			}
			require.Same(t, want[len(want)-1], k.newest())
			require.LessOrEqual(t, len(k.list), max(2*len(want)+1, maxUnindexed+1))
		}
		require.Equal(t, len(want), len(k.all()))
		for i, l := range k.all() {
			require.Same(t, want[i], l)
		}
		if len(want) > 0 {
			at := random.IntN(len(want))
			require.Same(t, want[at], k.first(func(l *actor.Lock) bool { return slices.Index(want, l) >= at }))
		}
	}
}

// Every reply to a reader used to be compared with all other readers. TestSteps_ManyHolds_GrowLinearly counts the
// steps of this test.
func TestReaders_Many_AcquiredAndRenewed(t *testing.T) {
	readers := holdCountFromEnv(t, 200)
	d := newHarness(t, 8)
	for i := range readers {
		d.ask("read", fmt.Sprint("k/", i))
	}
	for _, moment := range []time.Duration{time.Millisecond, 10005 * time.Millisecond} { // acquired, renewed
		d.now = moment
		for range readers/maxTimersPerTurn + 1 {
			d.turn()
		}
		for len(d.inFlight) > 0 {
			d.done()
			d.turn()
		}
	}
	require.EqualValues(t, readers, d.c.Stats().Held)
	require.EqualValues(t, readers, d.c.Stats().Renewed)
}
