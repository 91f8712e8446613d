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
		"longer than the lease":  {Lease: brief, MaxHold: 2 * brief},
		"shorter than the lease": {MaxHold: brief},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lost atomic.Int32
			opts.Observer.Lost = func(string, error) { lost.Add(1) }
			s := anySite(t)
			e := s.open(opts)
			before := time.Now()
			hold := lock(t, e.Mutex("n"))
			inner := lockWith(t, hold.Context(), e.Mutex("n"))
			receive(t, hold.Done())
			receive(t, inner.Done())
			require.GreaterOrEqual(t, time.Since(before), opts.MaxHold/2, "renewed until then")
			require.LessOrEqual(t, hold.Deadline().Sub(before), opts.MaxHold+100*time.Millisecond)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), "MaxHold")
			eventually(t, "no key", func() bool { return !s.exists("n") })
			require.EqualValues(t, 2, lost.Load())
			unlock(t, lock(t, e.Mutex("n"))) // the next owner has its own time
			settled(t, e)
		})
	}
}

// The bound is of an owner, not of the lock: whoever it is handed to has all of it again.
func TestMaxHoldCountsFromTheOwnersFirstGrant(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	const most = 2 * brief
	e := s.open(lockwheel.Options{Lease: brief, MaxHold: most})
	m := e.Mutex("n")
	hold := lock(t, m)
	for range 4 {
		waiting := locking(t.Context(), m)
		queued(t, e, 1)
		always(t, most/3, "held", func() bool { return hold.Err() == nil })
		unlock(t, hold)
		hold = granted(t, waiting)
	}
	unlock(t, hold)
}

// A fixed lease is the caller's own bound.
func TestMaxHoldDoesNotCutAFixedLease(t *testing.T) {
	t.Parallel()
	m := anySite(t).open(lockwheel.Options{MaxHold: 500 * time.Millisecond}).Mutex("n")
	hold := lock(t, m, lockwheel.Lease(time.Minute))
	requireTTL(t, m, 50*time.Second, time.Minute)
	always(t, 700*time.Millisecond, "held", func() bool { return hold.Err() == nil })
	unlock(t, hold)
}
