package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Extend sets a longer or shorter lease that counts from the call, without a second hold.
func TestExtend_Lease_CountsFromNow(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	hold := locktest.Lock(t, m)
	for _, lease := range []time.Duration{time.Hour, 10 * time.Second, 2 * time.Hour} {
		require.NoError(t, hold.Extend(t.Context(), lease))
		locktest.RequireTTL(t, m, lease-5*time.Second, lease)
		require.LessOrEqual(t, time.Until(hold.Deadline()), lease)
		require.Greater(t, time.Until(hold.Deadline()), lease/2)
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"), "no second hold")
	}
	locktest.Unlock(t, hold)
}

// A watched lock that is extended is no longer renewed and is lost when its lease ends.
func TestExtend_WatchedLock_NotRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{RenewInterval: locktest.ShortLease / 10}).Mutex("n")
	hold := locktest.Lock(t, m)
	before := time.Now()
	require.NoError(t, hold.Extend(t.Context(), locktest.ShortLease))
	deadline := hold.Deadline()
	locktest.Receive(t, hold.Done())
	require.Equal(t, deadline, hold.Deadline())
	require.GreaterOrEqual(t, time.Since(before), locktest.ShortLease/3)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
	locktest.Unlock(t, locktest.Lock(t, m)) // usable again at once
}

// Extend by zero lets the engine renew the lock again, with the engine's lease.
func TestExtend_Zero_WatchedAgain(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).Mutex("n")
	for _, lease := range []time.Duration{locktest.TestDeadline, time.Hour} { // a short lease is renewed, a long one is shortened
		hold := locktest.Lock(t, m, lockwheel.Lease(lease))
		require.NoError(t, hold.Extend(t.Context(), 0))
		locktest.RequireTTL(t, m, locktest.TestDeadline, locktest.ShortLeaseOptions.Lease)
		locktest.RequireRenewed(t, s, hold)
		locktest.RequireTTL(t, m, locktest.TestDeadline, locktest.ShortLeaseOptions.Lease)
		locktest.Unlock(t, hold)
	}
}

// Extend of a lock that was deleted or taken over reports the loss and writes nothing.
func TestExtend_KeyGone_Lost(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	for name, take := range map[string]func(){
		"deleted":    func() { s.Do("DEL", "n") },
		"taken over": func() { s.Do("DEL", "n"); s.HoldAsOther("n", time.Hour) },
	} {
		hold := locktest.Lock(t, m)
		take()
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost, name)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrLost)
		require.NotContains(t, s.Hash("n"), hold.ID())
		s.Do("DEL", "n")
	}
	hold := locktest.Lock(t, m)
	locktest.Unlock(t, hold)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lockwheel.ErrNotHeld)
	require.False(t, s.Exists("n"))
	locktest.RequireIdle(t, e)
}

// The lease belongs to the hold: the key lives for the longest need of the remaining holds.
func TestExtend_InnerHold_OuterUnchanged(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	outer := locktest.Lock(t, m, lockwheel.Lease(time.Hour))
	inner := locktest.LockWith(t, outer.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), locktest.ShortLease/2))
	locktest.RequireTTL(t, m, 50*time.Minute, 62*time.Minute)
	locktest.Receive(t, inner.Done())
	require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	require.NoError(t, outer.Err())
	require.NoError(t, outer.Context().Err())
	locktest.Eventually(t, "the count of one", func() bool { return s.Hash("n")[outer.ID()] == "1" })
	locktest.RequireTTL(t, m, 50*time.Minute, 62*time.Minute)
	require.ErrorIs(t, inner.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.StateFailed(t, m)
	locktest.Unlock(t, outer)
	require.False(t, s.Exists("n"))
}

// A watched hold that is re-entered with a lease stays watched after the inner one is unlocked. In Redisson the first
// unlock ends the renewal, although a hold remains.
func TestWatchedHold_FixedInner_StaysWatched(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).Mutex("n")
	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m, lockwheel.Lease(locktest.TestDeadline))
	longer := locktest.LockWith(t, outer.Context(), m, lockwheel.Lease(3*locktest.ShortLeaseOptions.Lease))
	locktest.Unlock(t, inner)
	locktest.RequireRenewed(t, s, outer)
	locktest.Unlock(t, longer)
	locktest.RequireRenewed(t, s, outer)
	locktest.Unlock(t, outer)
	require.False(t, s.Exists("n"))
}

// Extend rejects invalid durations, a nil context and an ended one without sending anything.
func TestExtend_InvalidInput_Error(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	commands := e.Stats().Commands
	for _, d := range invalidDurations {
		require.ErrorContains(t, hold.Extend(t.Context(), d), `"n"`, d)
	}
	require.ErrorContains(t, hold.Extend(locktest.NoContext, time.Minute), "nil context")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, hold.Extend(ended, time.Minute), context.Canceled)
	require.Equal(t, commands, e.Stats().Commands, "nothing was sent")
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
}
