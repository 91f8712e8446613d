package lockwheel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
)

// Requests of a group to its members, with handmade groups and rounds, for orders of events that no test of a server
// reaches.

// soon waits for a condition, for much longer than it takes.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); !is(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "in vain: %s", what)
	}
}

// held returns a hold of that engine with its own lease.
func held(t *testing.T, e *Engine, name string) *Hold {
	t.Helper()
	hold, err := e.Mutex(name).Lock(t.Context(), Lease(time.Minute))
	require.NoError(t, err)
	return hold
}

// A hold with its own lease keeps it when an extension fails: if it were renewed, it would outlive its caller. A hold
// that was watched is watched again.
func TestAnExtensionThatFailsMakesNoLeaseAWatch(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	const watchdog = 30_000
	leased, watched := ofThree(e, held(t, e, "a")), ofThree(e, held(t, e, "b"))
	watched.actor.SetWatched(true)

	leased.resumeWatch()
	soon(t, "all answers", func() bool { return e.Stats().InFlight == 0 })
	require.Greater(t, s.Int(t, "PTTL", "a"), watchdog)

	watched.resumeWatch()
	soon(t, "the lease of what is watched", func() bool { return s.Int(t, "PTTL", "b") <= watchdog })
}

// A lost member needs no release. If others are held, Unlock waits for one of them.
func TestAnUnlockBesideLossesWaitsForARelease(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	for _, apart := range []bool{false, true} {
		g := ofThree(e, held(t, e, "a"))
		g.perEngine = apart
		require.NoError(t, g.unlock(t.Context()))
		require.Zero(t, s.Int(t, "EXISTS", "a"))
	}
}

// If no member is left to be released, Unlock reports the loss, and not an earlier unlock.
func TestAnUnlockBesideTheLossOfAllSaysSo(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	lost := &Hold{engine: e, name: "a", parent: t.Context()}
	lost.grant.End(ErrLost, nil, 0)
	g := ofThree(e)
	for i := range g.members {
		g.members[i].lastHold.Store(lost)
	}
	err := g.unlock(t.Context())
	require.ErrorIs(t, err, ErrLost)
	require.NotErrorIs(t, err, ErrNotHeld)
}

// On a repeated release, a member replies that it is not held, or that it was lost before the first release. Both
// mean that the first Unlock has a reply.
func TestAReleaseThatIsAskedForAgainWasAnsweredAlsoWhereTheLockWasLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	verdicts := []error{ErrNotHeld, ErrLost, nil, ErrUnavailable}
	for _, c := range []struct {
		again                  bool
		agreed, before, failed int
	}{
		{true, 3, 2, 1},
		{false, 1, 0, 3},
	} {
		r := newRound(ofThree(e))
		r.repeated = c.again
		for _, verdict := range verdicts {
			r.add(0, &Hold{engine: e, name: "a", parent: t.Context()}, actor.Unlock, 0)
			r.calls[len(r.calls)-1].Err = verdict
		}
		require.Equal(t, c.agreed, r.countOK(0, len(verdicts)))
		require.Equal(t, c.before, r.releasedBefore)
		require.Len(t, r.errs.all, c.failed)
	}
}

// A caller leaves during a later slice: the calls posted by then are canceled and waited for. The error names the
// first call that is not posted.
func TestWhoLeavesDuringALaterSliceGivesUpWhatIsPosted(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	holds := []*Hold{held(t, e, "a"), held(t, e, "b"), held(t, e, "c")}
	r := newRound(ofThree(e, holds...))
	r.add(0, holds[0], actor.Extend, time.Hour)
	r.send()
	require.Equal(t, 1, r.wait(t.Context(), 1))

	require.NoError(t, s.Pause())
	defer s.Continue()
	r.add(1, holds[1], actor.Extend, time.Hour)
	r.add(2, holds[2], actor.Extend, time.Hour)
	r.postSlice(1, 1) // as after the replies to the first slice
	left := errors.New("the caller has left")
	require.Equal(t, 2, r.cancelAll(left))
	require.Len(t, r.errs.all, 1)
	require.ErrorContains(t, r.errs.all, `lock "c"`)
	require.ErrorIs(t, r.errs.all, left)
	select {
	case v := <-r.results:
		require.Equal(t, callResults{first: 1, last: 2}, v)
	case <-time.After(8 * time.Second):
		require.FailNow(t, "what was posted has no verdict")
	}
	require.Equal(t, ErrUnavailable, r.calls[1].Err)
}

// Two Unlocks wait for the result of a request. The request is canceled when the second of them has left, and not
// before.
func TestARequestIsWithdrawnWhenTheLastUnlockHasLeft(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	taken := held(t, e, "a")
	g := ofThree(e)
	m := &g.members[0]
	rounds := []*round{newRound(g), newRound(g)}
	g.apply(func() {
		m.request(quorum.Action{})
		m.release = &pendingRelease{}
		for _, r := range rounds {
			m.release.waiting = append(m.release.waiting, roundCall{r, 0})
			r.add(0, m.pendingHold, actor.Unlock, 0)
		}
	})
	soon(t, "it waits", func() bool { return e.Stats().Waiting == 1 })
	for i, r := range rounds {
		r.abandonPending(context.Canceled)
		require.Equal(t, callResults{first: 0, last: 1}, <-r.results)
		require.Equal(t, i == len(rounds)-1, m.release.canceled)
	}
	soon(t, "it waits no more", func() bool { return e.Stats().Waiting == 0 })
	require.NoError(t, taken.Unlock(t.Context()))
}
