package lockwheel_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// kindOfLock is how an engine gives out one kind of lock.
type kindOfLock func(*lockwheel.Engine, string) lockwheel.Mutex

// kinds are those with one holder.
var kinds = map[string]kindOfLock{
	"plain":  (*lockwheel.Engine).Mutex,
	"fenced": (*lockwheel.Engine).FencedMutex,
	"fair":   (*lockwheel.Engine).FairMutex,
}

// onEachKind runs a test of what all kinds have in common.
func onEachKind(t *testing.T, test func(t *testing.T, mutex kindOfLock)) {
	t.Helper()
	for name, mutex := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex)
		})
	}
}

func TestANameHasOneKindWhileItIsInUse(t *testing.T) {
	s := anySite(t)
	e := s.open(lockwheel.Options{})
	for is, first := range kinds {
		for other, second := range kinds {
			if other == is {
				continue
			}
			hold := lock(t, first(e, "n"))
			_, err := second(e, "n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.EqualError(t, err, `lockwheel: lock "n": in use as another kind of lock: it is a `+is+` lock in this engine now, not a `+other+` one`)
			_, err = second(e, "n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind, "not by its owner either")
			_, err = second(e, "n").ForceUnlock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.NoError(t, hold.Err())
			unlock(t, hold)
			// A release that is answered is the end of it.
			eventually(t, "the name as another kind", func() bool {
				hold, err := second(e, "n").TryLock(t.Context())
				if errors.Is(err, lockwheel.ErrKind) {
					return false
				}
				require.NoError(t, err)
				unlock(t, hold)
				return true
			})
		}
	}
	require.Zero(t, e.Stats().Held)
}
