package lifecycle

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// labels returns the labels of an engine's locks, by name.
func labels(t *testing.T, e *lockwheel.Engine) map[string]string {
	t.Helper()
	all := map[string]string{}
	for lock, err := range e.Locks(t.Context()) {
		require.NoError(t, err)
		all[lock.Name] += lock.Label
	}
	return all
}

// A label is told of holds and of waiters, of each kind of lock, and also of locks that are locked within the hold.
func TestLabel_EachKind_Told(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	ctx := lockwheel.WithLabel(t.Context(), "nightly report")
	outer := locktest.LockWith(t, ctx, e.Mutex("plain"))
	holds := []*lockwheel.Hold{
		outer,
		locktest.LockWith(t, outer.Context(), e.FairMutex("fair")),
		locktest.LockWith(t, ctx, e.RWMutex("read").RLocker()),
		locktest.LockWith(t, lockwheel.WithLabel(ctx, "inner"), e.FencedMutex("fenced")),
		locktest.LockWith(t, lockwheel.WithLabel(ctx, ""), e.Mutex("none")),
	}
	joint, err := e.Multi(e.Mutex("m1"), e.Mutex("m2")).Lock(ctx)
	require.NoError(t, err)
	most, err := lockwheel.Quorum(e.Mutex("q1")).Lock(ctx)
	require.NoError(t, err)
	s.HoldAsOther("waits", time.Minute)
	waits, cancel := context.WithCancel(ctx)
	pending := e.Mutex("waits").LockAsync(waits)
	locktest.Queued(t, e, 1)
	require.Equal(t, map[string]string{
		"plain": "nightly report", "fair": "nightly report", "read": "nightly report", "fenced": "inner", "none": "",
		"m1": "nightly report", "m2": "nightly report", "q1": "nightly report", "waits": "nightly report",
	}, labels(t, e))
	cancel()
	locktest.Receive(t, pending.Done())
	for _, hold := range slices.Backward(append(holds, joint, most)) {
		done := hold.Done() // works as without a label
		require.NoError(t, hold.Err())
		locktest.Unlock(t, hold)
		locktest.Receive(t, done)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
		require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrNotHeld)
		if hold == joint || hold == most {
			require.ErrorContains(t, hold.Err(), `for "nightly report": lock not held`)
		}
	}
	require.Empty(t, labels(t, e))
}

// A lost lock is logged with its label, which is in the errors of its hold as well, with and without a context.
func TestLabel_LockLost_Logged(t *testing.T) {
	t.Parallel()
	for _, withContext := range []bool{false, true} {
		var log locktest.LogBuffer
		e := locktest.AnyServer(t).Open(lockwheel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		hold := locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "import 7"), e.Mutex("n"))
		if withContext {
			hold.Context()
		}
		locktest.ForceUnlock(t, e.Mutex("n"))
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		for _, err := range []error{hold.Err(), context.Cause(hold.Context()), hold.Unlock(t.Context())} {
			require.ErrorContains(t, err, `lock "n" for "import 7": lock lost`)
		}
		locktest.Eventually(t, "logged", func() bool { return strings.Contains(log.String(), `label="import 7"`) })
	}
}

// A long label is cut at a character.
func TestLabel_TooLong_Cut(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	long := strings.Repeat("é", 100) + "x"
	locktest.LockWith(t, lockwheel.WithLabel(t.Context(), long), e.Mutex("even"))
	locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "x"+long), e.Mutex("odd"))
	for name, label := range labels(t, e) {
		require.True(t, utf8.ValidString(label), name)
		require.Contains(t, []int{127, 128}, len(label), name)
	}
}

// An error of a hold has its label also if the server is not asked, with and without FindLeaks.
func TestLabel_ExtendOutOfRange_InError(t *testing.T) {
	t.Parallel()
	for _, leaks := range []bool{false, true} {
		e := locktest.AnyServer(t).Open(lockwheel.Options{FindLeaks: leaks})
		hold, err := e.Mutex("n").Lock(lockwheel.WithLabel(t.Context(), "order 7"))
		require.NoError(t, err)
		require.ErrorContains(t, hold.Extend(t.Context(), -1), "order 7")
		locktest.Unlock(t, hold)
	}
}

// The error of Do has the label of its hold if the unlock failed, with and without FindLeaks.
func TestLabel_UnlockOfDoFails_InError(t *testing.T) {
	t.Parallel()
	for _, leaks := range []bool{false, true} {
		for _, several := range []bool{false, true} {
			e := locktest.AnyServer(t).Open(lockwheel.Options{FindLeaks: leaks})
			do := e.Mutex("n").Do
			if several {
				do = e.Multi(e.Mutex("n")).Do
			}
			err := do(lockwheel.WithLabel(t.Context(), "order 7"), func(context.Context) error { return e.Close() })
			require.EqualError(t, err, `lockwheel: lock "n" for "order 7": unlock failed: engine closed`)
		}
	}
}
