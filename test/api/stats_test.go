package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Stats counts what callers, locks and commands do; a new engine has counted nothing.
func TestStats_EachEvent_Counted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	fresh := e.Stats()
	fresh.LoopTurns, fresh.TurnTimes = 0, lockwheel.Histogram{} // the turn of Stats itself, and the first turn, which may have come before it
	require.Equal(t, lockwheel.Stats{}, fresh, "a fresh engine has done nothing")

	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m)
	locktest.StateFailed(t, m)
	first, second := locktest.Locking(t.Context(), m), locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 2)
	locktest.RequireWaiting(t, e, 2, 1)
	stats := e.Stats()
	require.EqualValues(t, 2, stats.Held)
	require.EqualValues(t, 2, stats.Acquired)
	require.EqualValues(t, 1, stats.Failed)
	require.Zero(t, stats.Released)
	require.Zero(t, stats.HandedOff)
	require.NotZero(t, stats.Timers)

	locktest.Unlock(t, inner)
	handed := time.Now()
	locktest.Unlock(t, outer)
	var a, b locktest.Outcome
	select { // which caller queued first depends on the scheduler
	case a = <-first:
		locktest.Unlock(t, a.Hold)
		b = locktest.Receive(t, second)
	case a = <-second:
		locktest.Unlock(t, a.Hold)
		b = locktest.Receive(t, first)
	}
	atOnce := time.Since(handed) < 100*time.Millisecond // too soon for a caller of another engine to come between, which might poll
	locktest.ForceUnlock(t, m)
	require.ErrorIs(t, b.Hold.Err(), lockwheel.ErrLost)
	locktest.RequireIdle(t, e)
	stats = e.Stats()
	require.EqualValues(t, 4, stats.Acquired)
	require.EqualValues(t, 3, stats.Released)
	require.EqualValues(t, 1, stats.Lost)
	if atOnce {
		require.EqualValues(t, 2, stats.HandedOff)
	}
	require.NotZero(t, stats.HandedOff)
	require.EqualValues(t, 1, stats.Failed)
	require.NotZero(t, stats.Commands)
	require.LessOrEqual(t, stats.Batches, stats.Commands)
	require.Zero(t, stats.UnpublishedReleases)
	require.Zero(t, stats.Retries)
}

// Several locks count as observers are notified: each of them.
func TestStats_Multi_EachLockCounted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	outside := locktest.Lock(t, other.Mutex("b"))
	_, err := e.Multi(e.Mutex("a"), e.Mutex("b"), e.Mutex("c")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.EqualValues(t, 3, e.Stats().Failed)
	locktest.Unlock(t, outside)
	hold, err := e.Multi(e.Mutex("a"), e.Mutex("b"), e.Mutex("c")).Lock(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, hold)
	stats := e.Stats()
	require.EqualValues(t, 3, stats.Acquired)
	require.EqualValues(t, 3, stats.Released)
	require.EqualValues(t, 3, stats.Failed)
}

// A closed engine has no commands in flight and no subscriptions.
func TestStats_ClosedEngine_GaugesZero(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	outside := locktest.Lock(t, other.Mutex("n"))
	waits := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	locktest.RequireWaiting(t, e, 1, 1)
	locktest.Lock(t, e.Mutex("m"))
	e.Close()
	require.ErrorIs(t, locktest.Receive(t, waits).Err, lockwheel.ErrClosed)
	stats := e.Stats()
	for gauge, is := range map[string]int64{
		"Held": stats.Held, "Waiting": stats.Waiting, "InFlight": stats.InFlight, "Subscriptions": stats.Subscriptions, "Timers": stats.Timers, "Polling": stats.Polling,
	} {
		require.Zero(t, is, gauge)
	}
	require.EqualValues(t, 1, stats.Acquired)
	locktest.Unlock(t, outside)
}

// At any time Held is Acquired minus Released minus Lost, and every request is granted, rejected or waiting.
func TestStats_AnyMoment_AddUp(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		locktest.Crowd(t, 16, func(int) error {
			for {
				select {
				case <-stop:
					return nil
				default:
					locktest.OneOfMany(t.Context(), e.Mutex("n"))
				}
			}
		})
	}()
	defer func() {
		close(stop)
		<-done
	}()
	var last lockwheel.Stats
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		stats := e.Stats()
		require.EqualValues(t, stats.Held, stats.Acquired-stats.Released-stats.Lost)
		require.GreaterOrEqual(t, stats.Held, int64(0))
		require.GreaterOrEqual(t, stats.Waiting, int64(0))
		require.GreaterOrEqual(t, stats.InFlight, int64(0))
		require.GreaterOrEqual(t, stats.Acquired, last.Acquired)
		require.Greater(t, stats.LoopTurns, last.LoopTurns)
		last = stats
	}
}

// Renewals are counted, and the delay of the latest is reported.
func TestStats_Renewals_CountedWithDelay(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(locktest.ShortLeaseOptions)
	locktest.HoldMany(t, e, 50)
	locktest.Eventually(t, "all renewed twice", func() bool { return e.Stats().Renewed >= 100 })
	stats := e.Stats()
	require.Positive(t, stats.RenewalLag)
	require.Less(t, stats.RenewalLag, locktest.ShortLeaseOptions.Lease)
	require.Less(t, stats.Batches, stats.Commands, "due together, they go together")
}

// TurnTimes counts every turn except the one that returns it.
func TestStats_TurnTimes_EveryTurnCounted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	for range 100 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	}
	stats := e.Stats()
	require.Equal(t, stats.LoopTurns-1, stats.TurnTimes.Count())
	require.Positive(t, stats.TurnTimes.Quantile(0.5))
	require.LessOrEqual(t, stats.TurnTimes.Quantile(0.5), stats.TurnTimes.Quantile(1))
}

// Histograms count what the counters count, and at least what callers saw.
func TestStatsHistograms_AgreeWithCounters(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	before := e.Stats()
	for range 50 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	}
	holds := locktest.HoldMany(t, e, 20)
	locktest.Eventually(t, "all renewed", func() bool { return e.Stats().Renewed >= 20 })
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
	stats := e.Stats()
	require.EqualValues(t, 70, stats.AcquireWaits.Count())
	require.EqualValues(t, 70, stats.HoldTimes.Count())
	require.Equal(t, stats.Renewed, stats.RenewalMargins.Count())
	require.Less(t, stats.RenewalMargins.Sum, float64(stats.Renewed)*locktest.ShortLeaseOptions.Lease.Seconds())
	require.Equal(t, stats.Batches, stats.BatchSizes.Count())
	require.Equal(t, stats.Commands, stats.BatchSizes.Sum)
	require.NotZero(t, stats.RoundTrips.Count())
	require.LessOrEqual(t, stats.RoundTrips.Count(), stats.Batches)
	require.Positive(t, stats.AcquireWaits.Quantile(0.5))
	require.Equal(t, stats.AcquireWaits, stats.AcquireWaits.Since(before.AcquireWaits))
	e.Close()
	require.Equal(t, stats.HoldTimes, e.Stats().HoldTimes, "the last snapshot has all")
}
