package kinds_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A process that starts while a minority of the servers is down uses zero Engines in their places.
func TestQuorum_ZeroEngines_MajorityWorks(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	none := new(lockwheel.Engine)
	engines := p.Client(lockwheel.Options{})
	locks := func(absent int) (all []*lockwheel.Engine) {
		for i := range 5 {
			if i < absent || i-absent >= len(engines) {
				all = append(all, none)
			} else {
				all = append(all, engines[i-absent])
			}
		}
		return all
	}
	for absent := range 3 { // the number of zero Engines that come first
		m := locktest.Quorum(locks(absent), "n")
		hold := locktest.LockAll(t, m)
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Extend(t.Context(), locktest.Longer))
		require.NoError(t, hold.Extend(t.Context(), 0))
		ctx := hold.Context()
		inner, err := m.TryLock(ctx)
		require.NoError(t, err)
		locktest.Unlock(t, inner)
		locktest.Unlock(t, hold)
		<-ctx.Done()
		locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	}

	// Zero Engines in the places of a majority cause an error that says so.
	_, err := locktest.Quorum([]*lockwheel.Engine{engines[0], none, none}, "n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
	require.ErrorContains(t, err, "zero Engine")
	_, err = locktest.Quorum([]*lockwheel.Engine{engines[0], engines[1], none}, "").Lock(t.Context())
	require.ErrorContains(t, err, "must not be empty")
	_, err = locktest.Quorum([]*lockwheel.Engine{engines[0], engines[1], none}, "n").Lock(locktest.NoContext)
	require.ErrorContains(t, err, "nil context")
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}
