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
		"longer than the lease":  {Lease: ShortLease, MaxHold: Renewed},
		"shorter than the lease": {MaxHold: ShortLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			opts.Observer.Lost = func(string, error) { lost.Add(1) }
			s := AnyServer(t)
			e := s.Open(opts)
			before := time.Now()
			hold := Lock(t, e.Mutex("n"))
			granted := time.Now()
			inner := LockWith(t, hold.Context(), e.Mutex("n"))
			Receive(t, hold.Done())
			Receive(t, inner.Done())
			require.GreaterOrEqual(t, time.Since(before), opts.MaxHold/2, "renewed until then")
			require.LessOrEqual(t, hold.Deadline().Sub(granted), opts.MaxHold)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), "MaxHold")
			Eventually(t, "no key", func() bool { return !s.Exists("n") })
			Unlock(t, Lock(t, e.Mutex("n"))) // the next owner has its own limit
			RequireIdle(t, e)
			require.NoError(t, e.Close()) // Close waits until all events are delivered
			require.EqualValues(t, 2, lost.Load())
		})
	}
}

// The limit applies to an owner, not to the lock: after a hand-off the next owner has the full time.
func TestMaxHoldCountsFromTheOwnersFirstGrant(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]lockwheel.Options{
		"longer than the lease":  {Lease: ShortLease, MaxHold: 2 * ShortLease},
		"shorter than the lease": {MaxHold: 2 * ShortLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := AnyServer(t).Open(opts)
			m := e.Mutex("n")
			hold := Lock(t, m)
			for range 2 { // both together for longer than the limit of either
				waiting := Locking(t.Context(), m)
				Queued(t, e, 1)
				Always(t, opts.MaxHold*2/3, "held", func() bool { return hold.Err() == nil })
				Unlock(t, hold)
				hold = Granted(t, waiting)
			}
			require.NotZero(t, e.Stats().HandedOff)
			Unlock(t, hold)
		})
	}
}

// A fixed lease is the caller's own limit.
func TestMaxHoldDoesNotCutAFixedLease(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).Open(lockwheel.Options{MaxHold: 500 * time.Millisecond}).Mutex("n")
	hold := Lock(t, m, lockwheel.Lease(time.Minute))
	RequireTTL(t, m, 50*time.Second, time.Minute)
	Always(t, 700*time.Millisecond, "held", func() bool { return hold.Err() == nil })
	Unlock(t, hold)
}
