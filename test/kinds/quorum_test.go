package kinds_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	qactor "github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// fastOptions has short leases, so that a loss is noticed soon.
var fastOptions = lockwheel.Options{Lease: locktest.ShortLease}

// A quorum is held on all servers that reply, with a validity that counts from before the request.
func TestQuorum_AllReply_HeldOnAll(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	m := locktest.Quorum(engines, "n")
	require.Equal(t, "n", m.Name())
	asked := time.Now()
	hold := locktest.LockAll(t, m)
	until, granted := hold.Deadline(), time.Now()
	// The validity: the lease minus 1 %, and some milliseconds.
	require.GreaterOrEqual(t, until.Sub(asked), 29*time.Second+500*time.Millisecond)
	require.Less(t, until.Sub(granted), 30*time.Second-300*time.Millisecond)
	locktest.Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
	require.NoError(t, hold.Err())
	require.Equal(t, "n", hold.Name())
	require.True(t, slices.ContainsFunc(engines, func(e *lockwheel.Engine) bool { return strings.HasPrefix(hold.ID(), e.ID()+":") }),
		"its id is that of a member: %s", hold.ID())
	require.Zero(t, hold.Token())
	for _, e := range engines {
		locktest.StateFailed(t, e.Mutex("n"))
	}
	_, err := locktest.Quorum(p.Client(lockwheel.Options{}), "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)

	inner, err := m.TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters")
	locktest.Unlock(t, inner)
	require.Equal(t, 3, p.Holders("n"))

	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	ctx := hold.Context()
	locktest.Unlock(t, hold)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// tryQuorum tries once to acquire the quorum n with engines that hold nothing. A try waits 250 ms for the last replies.
// If a busy machine takes longer, tryQuorum tries again.
func tryQuorum(t *testing.T, engines []*lockwheel.Engine) (hold *lockwheel.Hold, err error) {
	t.Helper()
	locktest.Eventually(t, "a try with all replies", func() bool {
		hold, err = locktest.Quorum(engines, "n").TryLock(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no reply") {
			return true
		}
		for _, e := range engines {
			locktest.RequireIdle(t, e) // what is granted late is released
		}
		return false
	})
	return hold, err
}

// Redisson's RedLock testLockFailed, testLockSuccess, testLockSuccess2.
func TestQuorum_NeedsMajority(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	for i := range p {
		p[i].HoldAsOther("n", time.Hour)
		hold, err := tryQuorum(t, engines)
		require.NoError(t, err, "one is held elsewhere")
		locktest.Unlock(t, hold)
		other := p[(i+1)%3]
		locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 1 })
		other.HoldAsOther("n", time.Hour)
		_, err = tryQuorum(t, engines)
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "two are")
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		require.Equal(t, 1, strings.Count(err.Error(), "lock not acquired"), "said once: %v", err)
		locktest.Eventually(t, "the third to be released", func() bool { return p.Holders("n") == 2 })
		p[i].Do("DEL", "n")
		other.Do("DEL", "n")
	}
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// A wait for a quorum ends with its context, and the error has the cause.
func TestQuorum_ContextEnds_WaitEnds(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	held := locktest.LockAll(t, locktest.Quorum(p.Client(lockwheel.Options{}), "n"))
	for range 3 {
		for _, e := range engines {
			locktest.RequireIdle(t, e) // also from the channels of the previous one
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := locktest.Locking(ctx, locktest.Quorum(engines, "n"))
		locktest.Eventually(t, "told that it is taken", func() bool { return slices.ContainsFunc(engines, locktest.Listens) })
		why := errors.New("why")
		cancel(why)
		err := locktest.Receive(t, waiting).Err
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, err, why)
	}
	locktest.RequireTaken(t, func(wait lockwheel.Option) error {
		return locktest.Second(locktest.Quorum(engines, "n").Lock(t.Context(), wait))
	})
	// At least one of several is not delayed by a busy machine.
	soonest := locktest.TestDeadline
	for try := 0; try < 5 && soonest >= locktest.ConfirmRound; try++ {
		waiting := locktest.Locking(t.Context(), locktest.Quorum(engines, "n"))
		locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
		began := time.Now()
		locktest.Unlock(t, held)
		hold := locktest.Granted(t, waiting)
		soonest = min(soonest, time.Since(began))
		locktest.Unlock(t, hold)
		held = locktest.LockAll(t, locktest.Quorum(p.Client(lockwheel.Options{}), "n"))
	}
	require.Less(t, soonest, locktest.ConfirmRound, "woken, and neither by asking again nor by a lease's end")
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Redisson's RedLock testConnectionFailed.
func TestQuorum_MinorityDies_HoldGoesOn(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(s *locktest.Server){
		"killed":  func(s *locktest.Server) { require.NoError(s.T, s.Real.Kill()) },
		"stopped": func(s *locktest.Server) { require.NoError(s.T, s.Real.Pause()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := locktest.NewServerSet(t, 3)
			engines, slow := p.Client(locktest.ShortLeaseOptions), p.Client(locktest.SlowToGiveUp)
			hold, other := locktest.LockAll(t, locktest.Quorum(engines, "n")), locktest.LockAll(t, locktest.Quorum(slow, "m"))
			locktest.HeldBy(t, engines)
			locktest.HeldBy(t, slow)
			fail(p[1])
			t.Cleanup(func() { _ = p[1].Real.Continue() })
			began := time.Now()
			locktest.Unlock(t, other)
			require.Less(t, time.Since(began), locktest.TestDeadline, "no call waits for the one that is gone")
			renewedByMajority(t, hold)
			locktest.Unlock(t, hold)
			locktest.Eventually(t, "the others to be released", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })

			hold = locktest.LockAll(t, locktest.Quorum(engines, "n"))
			require.NoError(t, hold.Err())
			locktest.Unlock(t, hold)
		})
	}
}

// renewedByMajority waits until a hold was renewed several times, and requires that it is held.
func renewedByMajority(t *testing.T, hold *lockwheel.Hold) {
	t.Helper()
	locktest.GoesOn(t, hold)
	require.NoError(t, hold.Err())
}

// redsync PR 149: the hold acquires a member again that comes back.
func TestQuorum_MemberBack_HeldAgain(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.ShortLeaseOptions)
	require.NoError(t, p[2].Real.Kill())
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	require.NoError(t, p[2].Real.RestartEmpty())
	locktest.Eventually(t, "the third", func() bool { return p[2].Exists("n") })
	locktest.HeldBy(t, engines)
	// So another server can fail, once the first member is confirmed. The first renewal may have been sent before the
	// third member was held.
	locktest.RenewedTimes(t, engines[0], 2)
	require.NoError(t, p[0].Real.RestartEmpty())
	locktest.Eventually(t, "the first again", func() bool { return p[0].Exists("n") })
	locktest.HeldBy(t, engines)
	require.NoError(t, p[1].Real.Kill())
	renewedByMajority(t, hold)
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })
	locktest.Always(t, locktest.ShortLease, "and not taken again", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })
}

// A member that is held elsewhere joins the quorum when it is free, and is not requested after the hold has ended.
func TestQuorum_MemberHeldElsewhere_Joins(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].HoldAsOther("n", 300*time.Millisecond)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.Eventually(t, "the third", func() bool { return p.Holders("n") == 3 && p[1].PTTL("n") > time.Second })
	locktest.Unlock(t, hold)
	// And no request for a member remains after the end of the hold.
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	p[1].HoldAsOther("n", time.Hour)
	locktest.Unlock(t, locktest.LockAll(t, locktest.Quorum(engines, "n")))
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
	// A hold with its own lease is not renewed, so no member joins it later.
	hold = locktest.LockAll(t, locktest.Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	locktest.Eventually(t, "no request for it", func() bool { return engines[1].Stats().Waiting == 0 })
	locktest.Unlock(t, hold)
}

func TestQuorum_MajorityLost_Lost(t *testing.T) {
	t.Parallel()
	t.Run("servers that die", func(t *testing.T) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		ctx, until := hold.Context(), hold.Deadline()
		require.NoError(t, p[0].Real.Kill())
		require.NoError(t, p[2].Real.Kill())
		locktest.Eventually(t, "the loss", func() bool {
			if hold.Err() != nil {
				return true
			}
			if known := hold.Deadline(); !known.IsZero() { // zero: it has just ended
				until = known
			}
			return false
		})
		require.False(t, time.Now().Before(until), "not before what it was told")
		locktest.Receive(t, hold.Done())
		require.Less(t, time.Since(until), locktest.TestDeadline, "and soon after")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		locktest.Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
		locktest.Eventually(t, "the one that is left to be released", func() bool { return !p[1].Exists("n") })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("keys that are gone", func(t *testing.T) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		p[0].Do("DEL", "n")
		p[1].Do("DEL", "n")
		// Each missing key is noticed at its own renewal, and the first member is held again by then.
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		locktest.Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
	})
	t.Run("keys that are gone, and had another holder since", func(t *testing.T) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		for _, s := range p {
			s.Do("DEL", "n")
		}
		locktest.Unlock(t, locktest.LockAll(t, locktest.Quorum(p.Client(fastOptions), "n")))
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		locktest.Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	})
	t.Run("keys that others take away", func(t *testing.T) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		for _, e := range p.Client(lockwheel.Options{}) {
			_, err := e.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("members that are taken away one after the other, by another process", func(t *testing.T) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(lockwheel.Options{Name: "holder", Lease: 10 * time.Minute})
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, engines)
		for i, operator := range p.Client(lockwheel.Options{Name: "operator"}) {
			locktest.Eventually(t, "its own channel", func() bool {
				return p[i].Do("PUBLISH", "lockwheel:engine:"+engines[i].ID(), "nothing") == int64(1)
			})
			_, err := operator.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
			locktest.Eventually(t, "the holder knows", func() bool { return engines[i].Stats().Held == 0 })
		}
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		locktest.Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	})
}

// renewedSince waits until an engine has renewed its holds once more.
func renewedSince(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	locktest.RenewedTimes(t, e, 1)
}

// redsync#140, redisson#1606: grants without a majority are released on all servers that can be reached.
func TestQuorum_NoMajority_NothingLeft(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 5)
	engines := p.Client(fastOptions)
	for _, s := range p[:3] {
		require.NoError(t, s.Real.Kill())
	}
	began := time.Now()
	_, err := locktest.Quorum(engines, "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.Less(t, time.Since(began), locktest.TestDeadline)
	locktest.Eventually(t, "nothing left", func() bool { return !p[3].Exists("n") && !p[4].Exists("n") })

	_, err = locktest.Quorum(engines, "n").Lock(t.Context(), lockwheel.Wait(300*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := locktest.Locking(ctx, locktest.Quorum(engines, "n"))
	locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
	why := errors.New("why")
	cancel(why)
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, why)
	locktest.Eventually(t, "nothing left", func() bool { return !p[3].Exists("n") && !p[4].Exists("n") })

	// The quorum is acquired as soon as a majority is available.
	waiting = locktest.Locking(t.Context(), locktest.Quorum(engines, "n"))
	locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
	require.NoError(t, p[0].Real.RestartEmpty())
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// A member that does not reply does not delay the grant; it joins when it replies, and leaves nothing after the end of
// the hold.
func TestQuorum_SlowMember_NoDelay(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	slow := proxy.Start(t, p[1].Addr)
	engines[1] = p[1].OpenAt(slow.Addr(), locktest.SlowToGiveUp)
	slow.Set(proxy.Replies, proxy.Hold)
	began := time.Now()
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	require.Less(t, time.Since(began), locktest.TestDeadline)
	require.NoError(t, slow.Heal())
	locktest.Eventually(t, "it to join", func() bool { return engines[1].Stats().Held == 1 })
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	locktest.RequireIdle(t, engines[1]) // it has the reply to the release

	// A server that replies after the end of the hold leaves nothing behind either.
	slow.Set(proxy.Replies, proxy.Hold)
	hold = locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.Eventually(t, "its grant", func() bool { return p[1].Exists("n") }) // otherwise its acquire would be canceled before it is sent
	locktest.Unlock(t, hold)
	require.NoError(t, slow.Heal())
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Redisson's RedLock testLockLeasetime, testTryLockLeasetime: many clients of several servers hold the lock one at a
// time.
func TestQuorum_ManyClients_OneHolder(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	clients := [][]*lockwheel.Engine{p.Client(lockwheel.Options{}), p.Client(lockwheel.Options{}), p.Client(lockwheel.Options{})}
	var r locktest.CriticalSection
	const callers, rounds = 9, 5
	locktest.Crowd(t, callers, func(w int) error {
		for range rounds {
			hold, err := locktest.Quorum(clients[w%len(clients)], "n").Lock(t.Context(), lockwheel.Lease(time.Minute))
			if err != nil {
				return err
			}
			r.Enter(locktest.ShortRun)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	r.Require(t, callers*rounds)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
}

// A held quorum needs no goroutine.
func TestQuorum_Held_NoGoroutine(t *testing.T) {
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	locktest.Unlock(t, locktest.LockAll(t, locktest.Quorum(engines, "warm")))
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
	p[2].HoldAsOther("n0", time.Hour)
	before := runtime.NumGoroutine()
	var holds []*lockwheel.Hold
	for i := range 100 {
		holds = append(holds, locktest.LockAll(t, locktest.Quorum(engines, "n"+string(rune('0'+i)))))
	}
	locktest.Eventually(t, "no goroutine a quorum", func() bool { return runtime.NumGoroutine() <= before+12 })
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// A quorum has one member less when an engine closes, and ends with ErrClosed without a majority.
func TestQuorum_EngineCloses_OneMemberLess(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	for _, e := range engines {
		locktest.Eventually(t, "all of them", func() bool { return e.Stats().Held == 1 })
	}
	require.NoError(t, engines[0].Close())
	require.NoError(t, hold.Err())
	require.NoError(t, engines[1].Close())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	locktest.Eventually(t, "the third to be released", func() bool { return !p[2].Exists("n") })
	_, err := locktest.Quorum(engines, "n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// A caller that waits in the queue of one engine is told at once that the other engines close: no majority is left.
func TestQuorum_OthersCloseDuringWait_EndsAtOnce(t *testing.T) {
	t.Parallel()
	const atOnce = locktest.ConfirmRound * 9 / 10 // it waits for ConfirmRound at the first before it requests all again
	p := locktest.NewServerSet(t, 3)
	p[0].HoldAsOther("n", time.Hour)
	p[1].HoldAsOther("n", time.Hour)
	for what, end := range map[string]func(*lockwheel.Engine) error{
		"Close":    (*lockwheel.Engine).Close,
		"Shutdown": func(e *lockwheel.Engine) error { return e.Shutdown(context.Background()) },
	} {
		// At least one of several is not delayed by a busy machine.
		soonest := locktest.TestDeadline
		for try := 0; try < 5 && soonest >= atOnce; try++ {
			engines := p.Client(lockwheel.Options{})
			waiting := locktest.Locking(t.Context(), locktest.Quorum(engines, "n"))
			locktest.Eventually(t, "queued at the first", func() bool {
				return engines[0].Stats().Waiting == 1 && engines[1].Stats().Waiting+engines[2].Stats().Waiting == 0
			})
			begun := time.Now()
			require.NoError(t, end(engines[1]))
			require.NoError(t, end(engines[2]))
			err := locktest.Receive(t, waiting).Err
			soonest = min(soonest, time.Since(begun))
			require.ErrorIs(t, err, lockwheel.ErrClosed, what)
			require.ErrorContains(t, err, "no majority is possible")
			locktest.RequireIdle(t, engines[0])
		}
		require.Less(t, soonest, atOnce, what)
	}
}

// A quorum is held without a permanently rejected member; if a majority is rejected, Lock fails at once and leaves
// nothing.
func TestQuorum_MajorityRejected_EndsAtOnce(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[0].Do("SET", "n", "x")
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.Unlock(t, hold)
	p[1].Do("SET", "n", "x")
	_, err := locktest.Quorum(engines, "n").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	locktest.Eventually(t, "the third to be released", func() bool { return !p[2].Exists("n") })
}

// A caller gets one of three locks, and one server does not reply: the error reports both of the others.
func TestQuorum_NotAcquired_ErrorNamesAll(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.SlowToGiveUp)
	p[0].HoldAsOther("n", time.Hour)
	require.NoError(t, p[2].Real.Pause())
	t.Cleanup(func() { _ = p[2].Real.Continue() })
	_, err := locktest.Quorum(engines, "n").TryLock(t.Context())
	require.ErrorContains(t, err, "1 of 3 locks could be had, 2 are needed")
	require.ErrorContains(t, err, "no reply soon after the others")
}

// A permanently rejected member is requested at the interval RenewInterval, and not at once again.
func TestQuorum_MemberRejected_RetriedSlowly(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].Do("SET", "n", "x")
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	// On a busy machine its first request may be given up because the others replied sooner. Then there are two requests,
	// and a release of each.
	locktest.Always(t, 100*time.Millisecond, "asked once or twice", func() bool { return engines[1].Stats().Commands <= 4 })
	locktest.Unlock(t, hold)
}

// A member that its server rejected permanently, and now accepts, is held again.
func TestQuorum_MemberAccepted_HeldAgain(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.ShortLeaseOptions)
	p[1].Do("SET", "n", "x")
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.GoesOn(t, hold)
	require.Equal(t, "x", p[1].Do("GET", "n"))
	p[1].Do("DEL", "n")
	locktest.Eventually(t, "the second", func() bool { return p.Holders("n") == 3 && engines[1].Stats().Held == 1 })
	p[1].Do("SET", "n", "x")
	locktest.Eventually(t, "the second to be lost", func() bool { return engines[1].Stats().Held == 0 })
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
	for _, e := range engines {
		locktest.RequireIdle(t, e) // a request sent before the Unlock might find the key free, and release it again
	}
	p[1].Do("DEL", "n")
	locktest.Always(t, 3*locktest.ShortLeaseOptions.RenewInterval, "not asked for any more", func() bool { return p.Holders("n") == 0 })
}

// A hold that is watched again acquires its missing members.
func TestQuorum_WatchedAgain_MissingAcquired(t *testing.T) {
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].HoldAsOther("n", time.Hour)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	locktest.Eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].Do("DEL", "n")
	require.Equal(t, 2, p.Holders("n"))
	require.NoError(t, hold.Extend(t.Context(), 0))
	locktest.Eventually(t, "the second", func() bool { return p.Holders("n") == 3 && engines[1].Stats().Held == 1 })
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Late replies shorten the validity of a quorum. If its leases have expired by then, it is not acquired.
func TestQuorum_LateReplies_ValidityShorter(t *testing.T) {
	t.Parallel()
	const late, lease = 400 * time.Millisecond, 30 * time.Second
	p := locktest.NewServerSet(t, 3)
	var engines []*lockwheel.Engine
	for _, s := range p {
		slow := proxy.Start(t, s.Addr)
		engines = append(engines, s.OpenAt(slow.Addr(), lockwheel.Options{Lease: lease}))
		slow.Set(proxy.Replies, proxy.Delay(late))
	}
	asked := time.Now()
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	require.GreaterOrEqual(t, time.Since(asked), late)
	require.Less(t, hold.Deadline().Sub(asked), lease)
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })

	_, err := locktest.Quorum(engines, "n").TryLock(t.Context(), lockwheel.Lease(late/2))
	require.Error(t, err)
	locktest.Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Options.MaxHold counts from the owner's first grant, even if members were replaced one after the other meanwhile.
func TestQuorum_MembersReplaced_MaxHoldEnds(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{Lease: 30 * time.Second, RenewInterval: locktest.ShortLease / 12, MaxHold: 3 * locktest.ShortLease}) // the replacements are done long before MaxHold
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	for _, e := range engines {
		renewedSince(t, e) // a member that was granted late counts only from then on
	}
	for i, s := range p[:2] {
		s.Do("DEL", "n")
		locktest.Eventually(t, "the key to be back", func() bool { return s.Exists("n") })
		locktest.HeldBy(t, engines)
		locktest.RenewedTimes(t, engines[i+1], 2) // the first renewal may have been sent before the key was back
	}
	locktest.ReceiveWithin(t, 3*locktest.ShortLease+locktest.TestDeadline, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "MaxHold")
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// A server that was away when the quorum was acquired counts soon after it returns, and not only after the next
// renewal of the others.
func TestQuorum_LateMember_CountsSoon(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	require.NoError(t, p[2].Real.Kill())
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	confirmed := []uint64{engines[0].Stats().Renewed, engines[1].Stats().Renewed}
	elected := time.Now()
	locktest.Eventually(t, "late", func() bool { return time.Since(elected) > 4*qactor.JoinWindow })
	require.NoError(t, p[2].Real.Restart())
	locktest.Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
	for i, before := range confirmed {
		locktest.Eventually(t, "confirmed", func() bool { return engines[i].Stats().Renewed > before })
	}
	p[0].Do("DEL", "n")
	require.NoError(t, hold.Extend(t.Context(), 0))
	locktest.Eventually(t, "all of them again", func() bool { return p.Holders("n") == 3 })
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
}
