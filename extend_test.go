package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Extend sets the lease exactly once, and never that of another holder.

func TestExtendSetsTheLeaseFromNow(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	hold := lock(t, m)
	for _, lease := range []time.Duration{time.Hour, 10 * time.Second, 2 * time.Hour} {
		require.NoError(t, hold.Extend(t.Context(), lease))
		requireTTL(t, m, lease-5*time.Second, lease)
		require.LessOrEqual(t, time.Until(hold.Deadline()), lease)
		require.Greater(t, time.Until(hold.Deadline()), lease/2)
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"), "no second hold")
	}
	unlock(t, hold)
}

func TestAnExtendedLockIsNoLongerRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{Lease: shortLease, RenewInterval: shortLease / 10}).Mutex("n")
	hold := lock(t, m)
	require.NoError(t, hold.Extend(t.Context(), shortLease))
	before := time.Now()
	deadline := hold.Deadline()
	receive(t, hold.Done())
	require.Equal(t, deadline, hold.Deadline())
	require.GreaterOrEqual(t, time.Since(before), shortLease/3)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	eventually(t, "no key", func() bool { return !s.exists("n") })
	unlock(t, lock(t, m)) // usable again at once
}

func TestExtendByZeroMakesALockWatchedAgain(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(shortLeaseOptions).Mutex("n")
	for _, lease := range []time.Duration{testDeadline, time.Hour} { // a short lease is renewed, a long one is shortened
		hold := lock(t, m, lockwheel.Lease(lease))
		require.NoError(t, hold.Extend(t.Context(), 0))
		requireTTL(t, m, testDeadline, shortLeaseOptions.Lease)
		requireRenewed(t, s, hold)
		requireTTL(t, m, testDeadline, shortLeaseOptions.Lease)
		unlock(t, hold)
	}
}

func TestExtendOfWhatIsGoneBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	m := e.Mutex("n")
	for name, take := range map[string]func(){
		"deleted":    func() { s.do("DEL", "n") },
		"taken over": func() { s.do("DEL", "n"); s.HoldAsOther("n", time.Hour) },
	} {
		hold := lock(t, m)
		take()
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost, name)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost)
		require.NotContains(t, s.hash("n"), hold.ID())
		s.do("DEL", "n")
	}
	hold := lock(t, m)
	unlock(t, hold)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrNotHeld)
	require.False(t, s.exists("n"))
	requireIdle(t, e)
}

// The lease belongs to the hold: the key lives for the longest need of the remaining holds.
func TestExtendOfAnInnerHoldTakesNothingFromTheOuterOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	outer := lock(t, m, lockwheel.Lease(time.Hour))
	inner := lockWith(t, outer.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), shortLease/2))
	requireTTL(t, m, 50*time.Minute, 62*time.Minute)
	receive(t, inner.Done())
	require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	require.NoError(t, outer.Err())
	require.NoError(t, outer.Context().Err())
	eventually(t, "the count of one", func() bool { return s.hash("n")[outer.ID()] == "1" })
	requireTTL(t, m, 50*time.Minute, 62*time.Minute)
	require.ErrorIs(t, inner.Unlock(t.Context()), lockwheel.ErrLost)
	stateFailed(t, m)
	unlock(t, outer)
	require.False(t, s.exists("n"))
}

// A watched hold that is re-entered with a lease stays watched after the inner one is unlocked. In Redisson the first
// unlock ends the renewal, although a hold remains.
func TestAWatchedHoldStaysWatchedBesideAFixedOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(shortLeaseOptions).Mutex("n")
	outer := lock(t, m)
	inner := lockWith(t, outer.Context(), m, lockwheel.Lease(testDeadline))
	longer := lockWith(t, outer.Context(), m, lockwheel.Lease(3*shortLeaseOptions.Lease))
	unlock(t, inner)
	requireRenewed(t, s, outer)
	unlock(t, longer)
	requireRenewed(t, s, outer)
	unlock(t, outer)
	require.False(t, s.exists("n"))
}

func TestExtendChecksItsInput(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).open(lockwheel.Options{})
	hold := lock(t, e.Mutex("n"))
	commands := e.Stats().Commands
	for _, d := range invalidDurations {
		require.ErrorContains(t, hold.Extend(t.Context(), d), `"n"`, d)
	}
	require.ErrorContains(t, hold.Extend(noContext, time.Minute), "nil context")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, hold.Extend(ended, time.Minute), context.Canceled)
	require.Equal(t, commands, e.Stats().Commands, "nothing was sent")
	require.NoError(t, hold.Err())
	unlock(t, hold)
}
