package kinds_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// renewedOften notices soon that a key is gone. Its leases and its CallTimeout are longer than a busy machine takes.
var renewedOften = lockwheel.Options{Lease: 30 * time.Second, RenewInterval: 200 * time.Millisecond, CallTimeout: 10 * time.Second}

// renewedRarely does not notice during a test that a key is gone, unless an Extend asks.
var renewedRarely = lockwheel.Options{Lease: locktest.Longer, CallTimeout: 30 * time.Second}

// renewedOnAll waits until each engine of a held quorum has sent a renewal since now, and had the reply. A member that
// was granted late counts only from then on.
func renewedOnAll(t *testing.T, engines []*lockwheel.Engine) {
	t.Helper()
	var before []uint64
	for _, e := range engines {
		before = append(before, e.Stats().Renewed)
	}
	for i, e := range engines { // the first of two may have been sent before
		locktest.Eventually(t, "two renewals", func() bool { return e.Stats().Renewed >= before[i]+2 })
	}
}

// Three of four are a majority: the hold of a quorum of four goes on without one of them, and acquires that one again.
func TestQuorum_OneOfFourLost_HoldGoesOn(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 4)
	engines := p.Client(renewedOften)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	renewedOnAll(t, engines)
	id := p[3].Hash("n")
	p[3].Do("DEL", "n")
	locktest.Eventually(t, "the fourth again", func() bool { return p[3].Exists("n") })
	require.NotEqual(t, id, p[3].Hash("n"))
	locktest.HeldBy(t, engines)
	require.NoError(t, hold.Err())
	require.Equal(t, uint64(1), engines[3].Stats().Lost)
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Two of four are no majority: a hold that has lost two is lost, although it could acquire them again. The others are
// released.
func TestQuorum_TwoOfFourLost_Lost(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 4)
	engines := p.Client(renewedRarely)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	ctx := hold.Context()
	p[0].Do("DEL", "n")
	p[2].Do("DEL", "n")
	require.Error(t, hold.Extend(t.Context(), 0), "it finds that they are gone")
	locktest.Receive(t, hold.Done())
	locktest.Receive(t, ctx.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
	require.Zero(t, p.Holders("n"))
}

// A quorum of two needs both: the loss of either is the loss of the hold, and the other one is released.
func TestQuorum_OneOfTwoLost_Lost(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 2)
	engines := p.Client(renewedOften)
	for i := range p {
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		require.Equal(t, 2, p.Holders("n"))
		p[i].Do("DEL", "n")
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		require.Zero(t, p.Holders("n"))
	}
}

// Unlock of four does not wait for a server that does not reply: the other three are a majority that another caller can
// acquire.
func TestQuorum_UnlockOneOfFourSilent_Nil(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 4)
	engines, others := p.Client(renewedRarely), p.Client(renewedRarely)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	p[0].Pause(t)
	require.NoError(t, locktest.Receive(t, locktest.Unlocking(t.Context(), hold)))
	for _, s := range p[1:] {
		require.False(t, s.Exists("n"))
	}
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	next := locktest.LockAll(t, locktest.Quorum(others, "n"))
	require.NoError(t, locktest.Receive(t, locktest.Unlocking(t.Context(), next)))
	require.NoError(t, p[0].Real.Continue())
	for _, e := range slices.Concat(engines, others) {
		locktest.RequireIdle(t, e)
	}
	require.Zero(t, p.Holders("n"))
}

// While half of the servers do not reply, Unlock has not released enough: another caller could not acquire a majority.
// One more reply is enough.
func TestQuorum_UnlockHalfSilent_Unavailable(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 4} {
		p := locktest.NewServerSet(t, n)
		engines := p.Client(renewedRarely)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		silent, others := p[:n/2], p[n/2:]
		for _, s := range silent {
			s.Pause(t)
		}
		unlockBriefly := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return hold.Unlock(ctx)
		}
		anyNoReply(t, unlockBriefly())
		locktest.Eventually(t, "the others to be released", func() bool { return others.Holders("n") == 0 })
		anyNoReply(t, unlockBriefly())
		require.NoError(t, silent[0].Real.Continue())
		answered(t, hold)
		require.False(t, silent[0].Exists("n"))
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		for _, s := range silent[1:] {
			require.NoError(t, s.Real.Continue())
		}
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		require.Zero(t, p.Holders("n"))
	}
}

// A caller cannot get two of four while another has the other two. So two holders never have a half each, also when the
// first one does not know yet that it lost two.
func TestQuorum_OtherHalfHeld_NotAcquired(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 4)
	engines, others := p.Client(renewedRarely), p.Client(renewedRarely)
	first := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	for _, lost := range [][]int{nil, {1}, {1, 3}} {
		for _, i := range lost {
			p[i].Do("DEL", "n")
		}
		_, err := tryQuorum(t, others)
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		for _, e := range others {
			locktest.RequireIdle(t, e) // what it had is released
		}
		require.Equal(t, 4-len(lost), p.Holders("n"))
		require.NoError(t, first.Err(), "it does not know")
	}
	require.Error(t, first.Extend(t.Context(), 0), "it finds that two are gone")
	locktest.Receive(t, first.Done())
	require.ErrorIs(t, first.Err(), lockwheel.ErrLost)
	second := locktest.LockAll(t, locktest.Quorum(others, "n"))
	locktest.Unlock(t, second)
	for _, e := range slices.Concat(engines, others) {
		locktest.RequireIdle(t, e)
	}
	require.Zero(t, p.Holders("n"))
}
