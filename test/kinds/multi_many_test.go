package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// manyLocks is more than one command acquires.
const manyLocks = 2_500

// many returns a Multi of plain locks, and a function that returns one of them.
func many(e *lockwheel.Engine, n int) (lockwheel.Multi, func(i int) lockwheel.Mutex) {
	name := func(i int) lockwheel.Mutex { return e.Mutex(fmt.Sprintf("many/%06d", i)) }
	locks := make([]lockwheel.Mutex, n)
	for i := range locks {
		locks[i] = name((i * 7919) % n)
	}
	return e.Multi(locks...), name
}

// A Multi of very many locks is held, re-entered and released as one.
func TestManyLocks_Multi_HeldAsOne(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)
	m, _ := many(e, manyLocks)
	_, theirs := many(other, manyLocks)

	hold := locktest.LockAll(t, m, lockwheel.Wait(time.Minute))
	require.Equal(t, int64(manyLocks), s.Do("DBSIZE"))
	for _, i := range []int{0, 999, 1000, manyLocks - 1} {
		_, err := theirs(i).TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	}
	again, err := m.TryLock(hold.Context())
	require.NoError(t, err)
	require.NoError(t, again.Unlock(t.Context()))
	require.NoError(t, hold.Extend(t.Context(), time.Hour))
	require.Greater(t, s.PTTL("many/002499"), 50*time.Minute)
	require.NoError(t, hold.Unlock(t.Context()))
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)

	leased := locktest.LockAll(t, m, lockwheel.Lease(time.Hour))
	require.Greater(t, s.PTTL("many/000000"), 50*time.Minute)
	require.WithinRange(t, leased.Deadline(), time.Now().Add(50*time.Minute), time.Now().Add(time.Hour))
	require.NoError(t, leased.Unlock(t.Context()))
	s.Empty(t)
}

// Calls that find the members ended while their caller's Unlock runs report the Unlock, and no loss.
func TestManyLocks_AskedDuringUnlock_NotHeld(t *testing.T) {
	t.Parallel()
	e := locktest.RealServer(t).Open(locktest.SlowTimeouts)
	m, _ := many(e, 1000)
	for _, ask := range []func(*lockwheel.Hold) error{
		(*lockwheel.Hold).Err,
		func(h *lockwheel.Hold) error { return h.Extend(t.Context(), 0) },
	} {
		for range 10 {
			hold := locktest.LockAll(t, m, lockwheel.Wait(time.Minute))
			asked := make(chan error, 1)
			go func() {
				for asked <- nil; ; {
					if err := ask(hold); err != nil {
						asked <- err
						return
					}
				}
			}()
			locktest.Receive(t, asked)
			locktest.Unlock(t, hold)
			err := locktest.Receive(t, asked)
			require.ErrorIs(t, err, lockwheel.ErrNotHeld)
			require.NotErrorIs(t, err, lockwheel.ErrLost)
		}
	}
}

// A Multi of very many locks of which one is held elsewhere is not acquired, and keeps none of them.
func TestManyLocks_OneHeldElsewhere_NoneKept(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)
	m, _ := many(e, manyLocks)
	_, theirs := many(other, manyLocks)
	for _, i := range []int{0, 1500, manyLocks - 1} {
		taken := locktest.Lock(t, theirs(i))
		_, err := m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, fmt.Sprintf("%06d", i))
		locktest.Eventually(t, "what was taken is given back", func() bool { return s.Do("DBSIZE") == int64(1) })

		_, err = m.Lock(t.Context(), lockwheel.Wait(300*time.Millisecond))
		if !errors.Is(err, lockwheel.ErrUnavailable) { // its wait may end while a command is in flight
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := locktest.Locking(ctx, m)
		locktest.Eventually(t, "it waits", func() bool { return e.Stats().Waiting > 0 })
		cancel()
		require.ErrorIs(t, (<-waits).Err, context.Canceled)
		locktest.Eventually(t, "what was taken is given back", func() bool { return s.Do("DBSIZE") == int64(1) })

		waits = locktest.Locking(t.Context(), m)
		locktest.Eventually(t, "it waits", func() bool { return e.Stats().Waiting > 0 })
		require.NoError(t, taken.Unlock(t.Context()))
		got := <-waits
		require.NoError(t, got.Err)
		require.NoError(t, got.Hold.Unlock(t.Context()))
		s.Empty(t)
	}
}

// A Multi of very many locks is lost with one of them, and the others are released.
func TestManyLocks_OneLost_AllLost(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(lockwheel.Options{Lease: 12 * time.Second, RenewInterval: locktest.ShortLeaseOptions.RenewInterval}), s.Open(lockwheel.Options{})
	m, _ := many(e, manyLocks)
	_, theirs := many(other, manyLocks)
	hold := locktest.LockAll(t, m, lockwheel.Wait(time.Minute))
	_, err := theirs(1234).ForceUnlock(t.Context())
	require.NoError(t, err)
	<-hold.Done()
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	s.Empty(t)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
}

// A caller of another lock waits at most for the locks of one command, and not for all of them.
func TestManyLocks_OtherLock_ShortWait(t *testing.T) {
	t.Parallel()
	const n = 10_000
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{CallTimeout: 10 * time.Second})
	m, _ := many(e, n)
	locktest.LockAll(t, locktest.Multi(e, "x", "y")).Unlock(t.Context()) // the server knows the scripts
	besides := func(begin func()) int64 {
		t.Helper()
		require.NoError(t, s.Real.Pause())
		begin()
		locktest.Eventually(t, "some are under way", func() bool { return e.Stats().InFlight > 0 })
		waiting := e.Stats().Waiting
		other := make(chan locktest.Outcome, 1)
		go func() {
			hold, err := e.Mutex("other").Lock(t.Context())
			other <- locktest.Outcome{Hold: hold, Err: err}
		}()
		locktest.Eventually(t, "another waits", func() bool { return e.Stats().Waiting > waiting })
		require.NoError(t, s.Real.Continue())
		got := <-other
		require.NoError(t, got.Err)
		there := s.Do("DBSIZE").(int64)
		require.NoError(t, got.Hold.Unlock(t.Context()))
		return there
	}
	// The engine goes on while this test asks for the number of keys. A busy machine may let it finish first, but not
	// each time.
	shortLock, shortUnlock := false, false
	for range 10 {
		var locks <-chan locktest.Outcome
		shortLock = besides(func() { locks = locktest.Locking(t.Context(), m) }) < n/2 || shortLock
		all := <-locks
		require.NoError(t, all.Err)
		unlocks := make(chan error, 1)
		shortUnlock = besides(func() { go func() { unlocks <- all.Hold.Unlock(t.Context()) }() }) > n/2 || shortUnlock
		require.NoError(t, <-unlocks)
		s.Empty(t)
		if shortLock && shortUnlock {
			break
		}
	}
	require.True(t, shortLock, "a caller waits for all locks")
	require.True(t, shortUnlock, "a caller waits for all releases")
}

// Releases continue even if the caller does not wait for them. If the server does not reply, all are sent, and not
// one after the other.
func TestManyLocks_CallerLeaves_AllReleased(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{CallTimeout: 3 * time.Second})
	m, _ := many(e, manyLocks)
	hold := locktest.LockAll(t, m, lockwheel.Wait(time.Minute))
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if err := hold.Unlock(left); err != nil { // the results may have arrived
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.ErrorIs(t, err, context.Canceled)
	}
	s.Empty(t)

	hold = locktest.LockAll(t, m, lockwheel.Wait(time.Minute))
	require.NoError(t, s.Real.Pause())
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrUnavailable)
	require.NoError(t, s.Real.Continue())
	s.Empty(t)
	require.NoError(t, e.Close())
	_, err := m.Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// Nothing is sent for a Multi that is too large.
func TestManyLocks_TooMany_RejectedAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	before := e.Stats().LoopTurns
	m, _ := many(e, 100_001)
	_, err := m.Lock(t.Context())
	require.EqualError(t, err, "lockwheel: a Multi of 100001 locks: at most 100000 can be taken as one")
	_, err = m.TryLock(t.Context())
	require.Error(t, err)
	require.Equal(t, before+1, e.Stats().LoopTurns) // the turn of Stats
	fits, _ := many(e, 100_000)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = fits.Lock(ended)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
}
