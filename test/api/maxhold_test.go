package api_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// MaxHold ends a watched lock in time, whether it is longer or shorter than the lease.
func TestMaxHold_WatchedLock_Ends(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"longer than the lease":  {Lease: 6 * time.Second, RenewInterval: time.Second, MaxHold: 7 * time.Second},
		"shorter than the lease": {MaxHold: locktest.ShortLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			opts.Observer.Lost = func(string, error) { lost.Add(1) }
			s := locktest.AnyServer(t)
			e := s.Open(opts)
			before := time.Now()
			hold := locktest.Lock(t, e.Mutex("n"))
			granted := time.Now()
			inner := locktest.LockWith(t, hold.Context(), e.Mutex("n"))
			locktest.ReceiveWithin(t, locktest.LongDeadline, hold.Done())
			locktest.Receive(t, inner.Done())
			require.GreaterOrEqual(t, time.Since(before), opts.MaxHold/2, "renewed until then")
			require.LessOrEqual(t, hold.Deadline().Sub(granted), opts.MaxHold)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), "MaxHold")
			locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
			locktest.Unlock(t, locktest.Lock(t, e.Mutex("n"))) // the next owner has its own limit
			locktest.RequireIdle(t, e)
			require.NoError(t, e.Close()) // Close waits until all events are delivered
			require.EqualValues(t, 2, lost.Load())
		})
	}
}

// The limit applies to an owner, not to the lock: after a hand-off the next owner has the full time.
func TestMaxHold_NextOwner_FullTime(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"longer than the lease":  {Lease: 6 * time.Second, RenewInterval: time.Second, MaxHold: 12 * time.Second},
		"shorter than the lease": {MaxHold: 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := locktest.AnyServer(t).Open(opts)
			m := e.Mutex("n")
			hold := locktest.Lock(t, m)
			for range 2 { // both together for longer than the limit of either
				waiting := locktest.Locking(t.Context(), m)
				locktest.Queued(t, e, 1)
				locktest.Always(t, 7*time.Second, "held", func() bool { return hold.Err() == nil })
				locktest.Unlock(t, hold)
				hold = locktest.Granted(t, waiting)
			}
			require.NotZero(t, e.Stats().HandedOff)
			locktest.Unlock(t, hold)
		})
	}
}

// A fixed lease is the caller's own limit.
func TestMaxHold_FixedLease_Kept(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{MaxHold: 500 * time.Millisecond}).Mutex("n")
	hold := locktest.Lock(t, m, lockwheel.Lease(time.Minute))
	locktest.RequireTTL(t, m, 50*time.Second, time.Minute)
	locktest.Always(t, 700*time.Millisecond, "held", func() bool { return hold.Err() == nil })
	locktest.Unlock(t, hold)
}
