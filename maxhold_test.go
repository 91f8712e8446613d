package lockwheel_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Options.MaxHold: a stuck holder is not renewed for ever. (RedLock.net#68, redisson#3521)

func TestMaxHoldEndsAWatchedLock(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"longer than the lease":  {Lease: shortLease, MaxHold: renewed},
		"shorter than the lease": {MaxHold: shortLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			opts.Observer.Lost = func(string, error) { lost.Add(1) }
			s := AnyServer(t)
			e := s.open(opts)
			before := time.Now()
			hold := lock(t, e.Mutex("n"))
			granted := time.Now()
			inner := lockWith(t, hold.Context(), e.Mutex("n"))
			receive(t, hold.Done())
			receive(t, inner.Done())
			require.GreaterOrEqual(t, time.Since(before), opts.MaxHold/2, "renewed until then")
			require.LessOrEqual(t, hold.Deadline().Sub(granted), opts.MaxHold)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), "MaxHold")
			eventually(t, "no key", func() bool { return !s.exists("n") })
			unlock(t, lock(t, e.Mutex("n"))) // the next owner has its own limit
			requireIdle(t, e)
			require.NoError(t, e.Close()) // Close waits until all events are delivered
			require.EqualValues(t, 2, lost.Load())
		})
	}
}

// The limit applies to an owner, not to the lock: after a hand-off the next owner has the full time.
func TestMaxHoldCountsFromTheOwnersFirstGrant(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"longer than the lease":  {Lease: shortLease, MaxHold: 2 * shortLease},
		"shorter than the lease": {MaxHold: 2 * shortLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := AnyServer(t).open(opts)
			m := e.Mutex("n")
			hold := lock(t, m)
			for range 2 { // both together for longer than the limit of either
				waiting := locking(t.Context(), m)
				queued(t, e, 1)
				always(t, opts.MaxHold*2/3, "held", func() bool { return hold.Err() == nil })
				unlock(t, hold)
				hold = granted(t, waiting)
			}
			require.NotZero(t, e.Stats().HandedOff)
			unlock(t, hold)
		})
	}
}

// A fixed lease is the caller's own limit.
func TestMaxHoldDoesNotCutAFixedLease(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{MaxHold: 500 * time.Millisecond}).Mutex("n")
	hold := lock(t, m, lockwheel.Lease(time.Minute))
	requireTTL(t, m, 50*time.Second, time.Minute)
	always(t, 700*time.Millisecond, "held", func() bool { return hold.Err() == nil })
	unlock(t, hold)
}
