package api_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A name that is in use as one kind of lock is rejected as any other kind with ErrKindMismatch.
func TestName_InUse_OtherKindRejected(t *testing.T) {
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	for is, first := range locktest.Kinds {
		for other, second := range locktest.Kinds {
			if other == is {
				continue
			}
			hold := locktest.Lock(t, first(e, "n"))
			_, err := second(e, "n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
			require.EqualError(t, err, `lockwheel: lock "n": in use as another kind of lock: it is a `+is+` lock in this engine now, not a `+other+` one`)
			_, err = second(e, "n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch, "not by its owner either")
			_, err = second(e, "n").ForceUnlock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
			require.NoError(t, hold.Err())
			locktest.Unlock(t, hold)
			// The engine forgets the lock after the reply to its release.
			locktest.Eventually(t, "the name as another kind", func() bool {
				hold, err := second(e, "n").TryLock(t.Context())
				if errors.Is(err, lockwheel.ErrKindMismatch) {
					return false
				}
				require.NoError(t, err)
				locktest.Unlock(t, hold)
				return true
			})
		}
	}
	require.Zero(t, e.Stats().Held)
}
