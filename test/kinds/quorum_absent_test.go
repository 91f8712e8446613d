package kinds_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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

// The error of a quorum says which servers failed, and why. Of those that rejected the lock it says nothing more than
// that. So does the error of an Unlock.
func TestQuorum_ServersFail_Named(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	hold := locktest.LockAll(t, locktest.Quorum(engines, "held"))
	locktest.HeldBy(t, engines) // a majority is enough for Lock
	p[0].HoldAsOther("n", time.Hour)
	for _, s := range p[1:] {
		require.Equal(t, "OK", s.Do("SET", "n", "other"))
		require.Equal(t, "OK", s.Do("SET", "held", "other"))
	}
	_, err := locktest.Quorum(engines, "n").TryLock(t.Context())
	require.Error(t, err)
	require.Regexp(t, p[1].Real.Addr()+"|"+p[2].Real.Addr(), err.Error()) // it may end before all have replied
	require.NotContains(t, err.Error(), p[0].Real.Addr())
	failed := []string{p[1].Real.Addr(), p[2].Real.Addr()}
	slices.Sort(failed)
	require.ErrorContains(t, hold.Unlock(t.Context()), strings.Join(failed, ", ")+": ")
}
