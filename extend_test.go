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
	m := s.Open(lockwheel.Options{}).Mutex("n")
	hold := Lock(t, m)
	for _, lease := range []time.Duration{time.Hour, 10 * time.Second, 2 * time.Hour} {
		require.NoError(t, hold.Extend(t.Context(), lease))
		RequireTTL(t, m, lease-5*time.Second, lease)
		require.LessOrEqual(t, time.Until(hold.Deadline()), lease)
		require.Greater(t, time.Until(hold.Deadline()), lease/2)
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"), "no second hold")
	}
	Unlock(t, hold)
}

func TestAnExtendedLockIsNoLongerRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{Lease: ShortLease, RenewInterval: ShortLease / 10}).Mutex("n")
	hold := Lock(t, m)
	require.NoError(t, hold.Extend(t.Context(), ShortLease))
	before := time.Now()
	deadline := hold.Deadline()
	Receive(t, hold.Done())
	require.Equal(t, deadline, hold.Deadline())
	require.GreaterOrEqual(t, time.Since(before), ShortLease/3)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	Eventually(t, "no key", func() bool { return !s.Exists("n") })
	Unlock(t, Lock(t, m)) // usable again at once
}

func TestExtendByZeroMakesALockWatchedAgain(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(ShortLeaseOptions).Mutex("n")
	for _, lease := range []time.Duration{TestDeadline, time.Hour} { // a short lease is renewed, a long one is shortened
		hold := Lock(t, m, lockwheel.Lease(lease))
		require.NoError(t, hold.Extend(t.Context(), 0))
		RequireTTL(t, m, TestDeadline, ShortLeaseOptions.Lease)
		RequireRenewed(t, s, hold)
		RequireTTL(t, m, TestDeadline, ShortLeaseOptions.Lease)
		Unlock(t, hold)
	}
}

func TestExtendOfWhatIsGoneBringsNothingBack(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	for name, take := range map[string]func(){
		"deleted":    func() { s.Do("DEL", "n") },
		"taken over": func() { s.Do("DEL", "n"); s.HoldAsOther("n", time.Hour) },
	} {
		hold := Lock(t, m)
		take()
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost, name)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost)
		require.NotContains(t, s.Hash("n"), hold.ID())
		s.Do("DEL", "n")
	}
	hold := Lock(t, m)
	Unlock(t, hold)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrNotHeld)
	require.False(t, s.Exists("n"))
	RequireIdle(t, e)
}

// The lease belongs to the hold: the key lives for the longest need of the remaining holds.
func TestExtendOfAnInnerHoldTakesNothingFromTheOuterOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	outer := Lock(t, m, lockwheel.Lease(time.Hour))
	inner := LockWith(t, outer.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), ShortLease/2))
	RequireTTL(t, m, 50*time.Minute, 62*time.Minute)
	Receive(t, inner.Done())
	require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	require.NoError(t, outer.Err())
	require.NoError(t, outer.Context().Err())
	Eventually(t, "the count of one", func() bool { return s.Hash("n")[outer.ID()] == "1" })
	RequireTTL(t, m, 50*time.Minute, 62*time.Minute)
	require.ErrorIs(t, inner.Unlock(t.Context()), lockwheel.ErrLost)
	StateFailed(t, m)
	Unlock(t, outer)
	require.False(t, s.Exists("n"))
}

// A watched hold that is re-entered with a lease stays watched after the inner one is unlocked. In Redisson the first
// unlock ends the renewal, although a hold remains.
func TestAWatchedHoldStaysWatchedBesideAFixedOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(ShortLeaseOptions).Mutex("n")
	outer := Lock(t, m)
	inner := LockWith(t, outer.Context(), m, lockwheel.Lease(TestDeadline))
	longer := LockWith(t, outer.Context(), m, lockwheel.Lease(3*ShortLeaseOptions.Lease))
	Unlock(t, inner)
	RequireRenewed(t, s, outer)
	Unlock(t, longer)
	RequireRenewed(t, s, outer)
	Unlock(t, outer)
	require.False(t, s.Exists("n"))
}

func TestExtendChecksItsInput(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).Open(lockwheel.Options{})
	hold := Lock(t, e.Mutex("n"))
	commands := e.Stats().Commands
	for _, d := range invalidDurations {
		require.ErrorContains(t, hold.Extend(t.Context(), d), `"n"`, d)
	}
	require.ErrorContains(t, hold.Extend(NoContext, time.Minute), "nil context")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, hold.Extend(ended, time.Minute), context.Canceled)
	require.Equal(t, commands, e.Stats().Commands, "nothing was sent")
	require.NoError(t, hold.Err())
	Unlock(t, hold)
}
