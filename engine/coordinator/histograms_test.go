package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/histogram"
)

// durationsOf returns the histogram of some durations.
func durationsOf(all ...time.Duration) (h histogram.Durations) {
	for _, d := range all {
		h.Add(d)
	}
	return h
}

// sizesOf returns the histogram of some sizes.
func sizesOf(all ...int) (h histogram.Sizes) {
	for _, size := range all {
		h.Add(size)
	}
	return h
}

// A lock is granted 2 ms after its request, renewed when it is due, and held for 11 s from its grant on. Another one is
// taken by another process: the request that waits for it counts once it has its result. A lease of 30 s is relied on
// for 29.69 s from when its command was sent.
func TestHistograms_Pair_CountedOnce(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: acquire a b", d.line("1s lock a b"))
	require.Zero(t, d.c.Stats().AcquireWaits)
	require.Equal(t, "join {b}; a granted", d.line("1002ms 1 done taken"))
	require.Equal(t, durationsOf(2*time.Millisecond), d.c.Stats().AcquireWaits)
	require.Equal(t, "b not acquired: canceled", d.line("1700ms cancel b"))
	require.Equal(t, durationsOf(2*time.Millisecond, 700*time.Millisecond), d.c.Stats().AcquireWaits)
	require.Equal(t, "2: renew a", d.line("11s timer"))
	require.Equal(t, "nothing", d.line("11005ms 2 done"))
	require.Equal(t, durationsOf(29_690*time.Millisecond-10_005*time.Millisecond), d.c.Stats().RenewalMargins)
	require.Equal(t, "a not held; 3: release a", d.line("12002ms unlock a"))
	require.Equal(t, durationsOf(11*time.Second), d.c.Stats().HoldTimes)
	require.Equal(t, "a unlocked", d.line("12009ms 3 done"))
	stats := d.c.Stats()
	require.Equal(t, durationsOf(2*time.Millisecond, 5*time.Millisecond, 7*time.Millisecond), stats.RoundTrips)
	require.Equal(t, sizesOf(2, 1, 1), stats.BatchSizes)
	require.Equal(t, stats.Commands, stats.BatchSizes.Sum)
	require.Equal(t, stats.Batches, stats.BatchSizes.Count())
	require.EqualValues(t, 2, stats.AcquireWaits.Count(), "an unlock is no lock request")
	require.EqualValues(t, 1, stats.RenewalMargins.Count())
	require.EqualValues(t, 1, stats.HoldTimes.Count())
}

// A call without a reply has no round trip. Its repetition has one of its own.
func TestHistograms_NoReply_NoRoundTrip(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: acquire a", d.line("1s lock a"))
	d.line("4s 1 lost EOF")
	require.Zero(t, d.c.Stats().RoundTrips)
	require.Equal(t, "2: acquire a", d.line("5s timer"))
	require.Equal(t, "a granted", d.line("5001ms 2 done"))
	require.Equal(t, durationsOf(time.Millisecond), d.c.Stats().RoundTrips)
	require.Equal(t, sizesOf(1, 1), d.c.Stats().BatchSizes)
}

// Several locks taken as one are one wait, and a hold each.
func TestHistograms_SeveralLocks_OneWait(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: joint a+b+c", d.line("1s lock a+b+c"))
	require.Equal(t, "a+b+c granted", d.line("1002ms 1 done"))
	require.Equal(t, "a+b+c a+b+c a+b+c not held; 2: release a b c", d.line("2002ms unlock a+b+c"))
	stats := d.c.Stats()
	require.Equal(t, durationsOf(2*time.Millisecond), stats.AcquireWaits)
	require.Equal(t, durationsOf(time.Second, time.Second, time.Second), stats.HoldTimes)
	require.Equal(t, sizesOf(1, 3), stats.BatchSizes, "several locks acquired as one are one command")
}

// A close ends holds and requests, and their times count.
func TestHistograms_Close_CountsWhatItEnds(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1s lock a b")
	require.Equal(t, "join {b}; a granted", d.line("1002ms 1 done taken"))
	d.line("3s close")
	require.Equal(t, durationsOf(2*time.Millisecond, 2*time.Second), d.c.Stats().AcquireWaits)
	require.Equal(t, durationsOf(1998*time.Millisecond), d.c.Stats().HoldTimes)
}

// The loop says how long a turn took, and that is all that counts.
func TestHistograms_Turns_AsTheLoopSays(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1s lock a")
	require.Zero(t, d.c.Stats().TurnTimes)
	d.c.NoteTurn(20 * time.Microsecond)
	require.Equal(t, durationsOf(20*time.Microsecond), d.c.Stats().TurnTimes)
}

// A request for several locks, one of which its owner holds already, fails within a turn: its caller then requests them
// one by one. It was neither granted nor rejected, so it does not count.
func TestHistograms_RetriedSingly_NotCounted(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1s lock a")
	d.line("1002ms 1 done")
	counted, owner := d.c.Stats().AcquireWaits, d.callers["a"].hold.Owner
	require.NotZero(t, owner)
	several := &harnessCaller{}
	d.callers["a+b"] = several
	d.requestMulti("lock", "a+b")
	several.latest.Multi.Parts[0].Owner = owner
	d.turn()
	require.Equal(t, actor.ErrReentry, several.latest.Err)
	require.Equal(t, counted, d.c.Stats().AcquireWaits)
}
