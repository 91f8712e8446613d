package lockwheel_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

func TestANameHasOneKindWhileItIsInUse(t *testing.T) {
	s := anySite(t)
	e := s.open(lockwheel.Options{})
	kinds := map[string]func(string) lockwheel.Mutex{"plain": e.Mutex, "fenced": e.FencedMutex, "fair": e.FairMutex}
	for is, first := range kinds {
		for other, second := range kinds {
			if other == is {
				continue
			}
			hold := lock(t, first("n"))
			_, err := second("n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.EqualError(t, err, `lockwheel: lock "n": in use as another kind of lock: it is a `+is+` lock in this engine now, not a `+other+` one`)
			_, err = second("n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind, "not by its owner either")
			_, err = second("n").ForceUnlock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.NoError(t, hold.Err())
			unlock(t, hold)
			// A release that is answered is the end of it.
			eventually(t, "the name as another kind", func() bool {
				hold, err := second("n").TryLock(t.Context())
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
