package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	qactor "github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// ServerSet is a set of independent servers.
type ServerSet []*Server

func NewServerSet(t testing.TB, n int) (p ServerSet) {
	t.Helper()
	for range n {
		p = append(p, RealServer(t))
	}
	return p
}

// Client returns the engines of a process that uses all of them.
func (p ServerSet) Client(opts lockwheel.Options) (engines []*lockwheel.Engine) {
	for _, s := range p {
		engines = append(engines, s.Open(opts))
	}
	return engines
}

// heldByEach waits until each engine holds its lock. A key alone is not enough: the engine may not have the reply
// yet, and an Extend to a fixed lease cancels that request.
func heldByEach(t testing.TB, engines []*lockwheel.Engine) {
	t.Helper()
	for _, e := range engines {
		Eventually(t, "a member held", func() bool { return e.Stats().Held == 1 })
	}
}

// Holders returns the number of servers that have the lock.
func (p ServerSet) Holders(name string) (n int) {
	for _, s := range p {
		if s.Exists(name) {
			n++
		}
	}
	return n
}

func Quorum(engines []*lockwheel.Engine, name string) lockwheel.Multi {
	var locks []lockwheel.Mutex
	for _, e := range engines {
		locks = append(locks, e.Mutex(name))
	}
	return lockwheel.Quorum(locks...)
}

// fastOptions has short leases, so that a loss is noticed soon.
var fastOptions = lockwheel.Options{Lease: ShortLease}

// HeldBy waits until each engine has a lock, and knows it.
func HeldBy(t *testing.T, engines []*lockwheel.Engine) {
	t.Helper()
	for _, e := range engines {
		Eventually(t, "all of them", func() bool { return e.Stats().Held == 1 })
	}
}

// SlowToGiveUp waits for a server's reply for longer than patience.
var SlowToGiveUp = lockwheel.Options{CallTimeout: 10 * time.Second}

func TestAQuorumIsHeldOnAllServersThatAnswer(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	m := Quorum(engines, "n")
	require.Equal(t, "n", m.Name())
	asked := time.Now()
	hold := LockAll(t, m)
	until, granted := hold.Deadline(), time.Now()
	// The validity: the lease minus 1 %, and some milliseconds.
	require.GreaterOrEqual(t, until.Sub(asked), 29*time.Second+500*time.Millisecond)
	require.Less(t, until.Sub(granted), 30*time.Second-300*time.Millisecond)
	Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
	require.NoError(t, hold.Err())
	require.Equal(t, "n", hold.Name())
	require.True(t, slices.ContainsFunc(engines, func(e *lockwheel.Engine) bool { return strings.HasPrefix(hold.ID(), e.ID()+":") }),
		"its id is that of a member: %s", hold.ID())
	require.Zero(t, hold.Token())
	for _, e := range engines {
		StateFailed(t, e.Mutex("n"))
	}
	_, err := Quorum(p.Client(lockwheel.Options{}), "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)

	inner, err := m.TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters")
	Unlock(t, inner)
	require.Equal(t, 3, p.Holders("n"))

	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	ctx := hold.Context()
	Unlock(t, hold)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// Redisson's RedLock testLockFailed, testLockSuccess, testLockSuccess2.
func TestAQuorumNeedsAMajority(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	for i := range p {
		p[i].HoldAsOther("n", time.Hour)
		hold, err := Quorum(engines, "n").TryLock(t.Context())
		require.NoError(t, err, "one is held elsewhere")
		Unlock(t, hold)
		other := p[(i+1)%3]
		Eventually(t, "all to be released", func() bool { return p.Holders("n") == 1 })
		other.HoldAsOther("n", time.Hour)
		_, err = Quorum(engines, "n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "two are")
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		require.Equal(t, 1, strings.Count(err.Error(), "lock not acquired"), "said once: %v", err)
		Eventually(t, "the third to be released", func() bool { return p.Holders("n") == 2 })
		p[i].Do("DEL", "n")
		other.Do("DEL", "n")
	}
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

func TestAWaitForAQuorumEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	held := LockAll(t, Quorum(p.Client(lockwheel.Options{}), "n"))
	for range 3 {
		for _, e := range engines {
			RequireIdle(t, e) // also from the channels of the previous one
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := LockingAll(ctx, Quorum(engines, "n"))
		Eventually(t, "told that it is taken", func() bool { return slices.ContainsFunc(engines, Listens) })
		why := errors.New("why")
		cancel(why)
		err := Receive(t, waiting).Err
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, err, why)
	}
	began := time.Now()
	_, err := Quorum(engines, "n").Lock(t.Context(), lockwheel.Wait(time.Second))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	// At least one of several is not delayed by a busy machine.
	soonest := TestDeadline
	for try := 0; try < 5 && soonest >= ConfirmRound; try++ {
		waiting := LockingAll(t.Context(), Quorum(engines, "n"))
		RequireNoReply(t, waiting, 50*time.Millisecond)
		began = time.Now()
		Unlock(t, held)
		hold := Granted(t, waiting)
		soonest = min(soonest, time.Since(began))
		Unlock(t, hold)
		held = LockAll(t, Quorum(p.Client(lockwheel.Options{}), "n"))
	}
	require.Less(t, soonest, ConfirmRound, "woken, and neither by asking again nor by a lease's end")
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// Redisson's RedLock testConnectionFailed.
func TestAQuorumOutlivesAMinority(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(s *Server){
		"killed":  func(s *Server) { require.NoError(s.T, s.Real.Kill()) },
		"stopped": func(s *Server) { require.NoError(s.T, s.Real.Pause()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := NewServerSet(t, 3)
			engines, slow := p.Client(fastOptions), p.Client(SlowToGiveUp)
			hold, other := LockAll(t, Quorum(engines, "n")), LockAll(t, Quorum(slow, "m"))
			HeldBy(t, engines)
			HeldBy(t, slow)
			fail(p[1])
			t.Cleanup(func() { _ = p[1].Real.Continue() })
			began := time.Now()
			Unlock(t, other)
			require.Less(t, time.Since(began), TestDeadline, "no call waits for the one that is gone")
			Always(t, Renewed, "held", func() bool { return hold.Err() == nil && time.Until(hold.Deadline()) > 0 })
			Unlock(t, hold)
			Eventually(t, "the others to be released", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })

			hold = LockAll(t, Quorum(engines, "n"))
			require.NoError(t, hold.Err())
			Unlock(t, hold)
		})
	}
}

// redsync PR 149: the hold acquires a member again that comes back.
func TestAMemberThatComesBackIsHeldAgain(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(fastOptions)
	require.NoError(t, p[2].Real.Kill())
	hold := LockAll(t, Quorum(engines, "n"))
	require.NoError(t, p[2].Real.RestartEmpty())
	Eventually(t, "the third", func() bool { return p[2].Exists("n") })
	// So another server can fail, once the first member is confirmed.
	renewedSince(t, engines[0])
	require.NoError(t, p[0].Real.RestartEmpty())
	Eventually(t, "the first again", func() bool { return p[0].Exists("n") })
	require.NoError(t, p[1].Real.Kill())
	Always(t, Renewed, "held", func() bool { return hold.Err() == nil })
	Unlock(t, hold)
	Eventually(t, "all to be released", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })
	Always(t, ShortLease, "and not taken again", func() bool { return !p[0].Exists("n") && !p[2].Exists("n") })
}

func TestAMemberThatSomebodyElseHasIsTakenWhenItIsFree(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].HoldAsOther("n", 300*time.Millisecond)
	hold := LockAll(t, Quorum(engines, "n"))
	Eventually(t, "the third", func() bool { return p.Holders("n") == 3 && p[1].PTTL("n") > time.Second })
	Unlock(t, hold)
	// And no request for a member remains after the end of the hold.
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	p[1].HoldAsOther("n", time.Hour)
	Unlock(t, LockAll(t, Quorum(engines, "n")))
	for _, e := range engines {
		RequireIdle(t, e)
	}
	// A hold with its own lease is not renewed, so no member joins it later.
	hold = LockAll(t, Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	Eventually(t, "no request for it", func() bool { return engines[1].Stats().Waiting == 0 })
	Unlock(t, hold)
}

func TestAQuorumIsLostWithItsMajority(t *testing.T) {
	t.Parallel()
	t.Run("servers that die", func(t *testing.T) {
		p := NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := LockAll(t, Quorum(engines, "n"))
		Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
		ctx, until := hold.Context(), hold.Deadline()
		require.NoError(t, p[0].Real.Kill())
		require.NoError(t, p[2].Real.Kill())
		Eventually(t, "the loss", func() bool {
			if hold.Err() != nil {
				return true
			}
			until = hold.Deadline()
			return false
		})
		require.False(t, time.Now().Before(until), "not before what it was told")
		Receive(t, hold.Done())
		require.Less(t, time.Since(until), ShortLease, "and soon after")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		Receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
		Eventually(t, "the one that is left to be released", func() bool { return !p[1].Exists("n") })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("keys that are gone", func(t *testing.T) {
		p := NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := LockAll(t, Quorum(engines, "n"))
		Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
		p[0].Do("DEL", "n")
		p[1].Do("DEL", "n")
		// Each missing key is noticed at its own renewal, and the first member is held again by then.
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
		for _, e := range engines {
			RequireIdle(t, e)
		}
	})
	t.Run("keys that are gone, and had another holder since", func(t *testing.T) {
		p := NewServerSet(t, 3)
		engines := p.Client(fastOptions)
		hold := LockAll(t, Quorum(engines, "n"))
		Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
		for _, s := range p {
			s.Do("DEL", "n")
		}
		Unlock(t, LockAll(t, Quorum(p.Client(fastOptions), "n")))
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	})
	t.Run("keys that others take away", func(t *testing.T) {
		p := NewServerSet(t, 3)
		hold := LockAll(t, Quorum(p.Client(fastOptions), "n"))
		Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
		for _, e := range p.Client(fastOptions) {
			_, err := e.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("members that are taken away one after the other", func(t *testing.T) {
		p := NewServerSet(t, 3)
		engines := p.Client(lockwheel.Options{})
		hold := LockAll(t, Quorum(engines, "n"))
		Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
		for _, e := range engines {
			_, err := e.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	})
}

// renewedSince waits until an engine has renewed its holds once more.
func renewedSince(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	RenewedTimes(t, e, 1)
}

// RenewedTimes waits until n more renewals of an engine were confirmed.
func RenewedTimes(t *testing.T, e *lockwheel.Engine, n int) {
	t.Helper()
	before := e.Stats().Renewed
	Eventually(t, fmt.Sprint(n, " renewals"), func() bool { return e.Stats().Renewed >= before+uint64(n) })
}

// redsync#140, redisson#1606: grants without a majority are released on all servers that can be reached.
func TestWithoutAMajorityNothingIsLeft(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 5)
	engines := p.Client(fastOptions)
	for _, s := range p[:3] {
		require.NoError(t, s.Real.Kill())
	}
	began := time.Now()
	_, err := Quorum(engines, "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.Less(t, time.Since(began), TestDeadline)
	Eventually(t, "nothing left", func() bool { return !p[3].Exists("n") && !p[4].Exists("n") })

	_, err = Quorum(engines, "n").Lock(t.Context(), lockwheel.Wait(300*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := LockingAll(ctx, Quorum(engines, "n"))
	RequireNoReply(t, waiting, 100*time.Millisecond)
	why := errors.New("why")
	cancel(why)
	require.ErrorIs(t, Receive(t, waiting).Err, why)
	Eventually(t, "nothing left", func() bool { return !p[3].Exists("n") && !p[4].Exists("n") })

	// The quorum is acquired as soon as a majority is available.
	waiting = LockingAll(t.Context(), Quorum(engines, "n"))
	RequireNoReply(t, waiting, 100*time.Millisecond)
	require.NoError(t, p[0].Real.RestartEmpty())
	Unlock(t, Granted(t, waiting))
}

func TestASlowMemberHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	slow := proxy.Start(t, p[1].Addr)
	engines[1] = p[1].OpenAt(slow.Addr(), SlowToGiveUp)
	slow.Set(proxy.Replies, proxy.Hold)
	began := time.Now()
	hold := LockAll(t, Quorum(engines, "n"))
	require.Less(t, time.Since(began), TestDeadline)
	require.NoError(t, slow.Heal())
	Eventually(t, "it to join", func() bool { return engines[1].Stats().Held == 1 })
	Unlock(t, hold)
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })

	// A server that replies after the end of the hold leaves nothing behind either.
	slow.Set(proxy.Replies, proxy.Hold)
	hold = LockAll(t, Quorum(engines, "n"))
	Eventually(t, "its grant", func() bool { return p[1].Exists("n") }) // otherwise its acquire would be canceled before it is sent
	Unlock(t, hold)
	require.NoError(t, slow.Heal())
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// Redisson's RedLock testLockLeasetime, testTryLockLeasetime: many clients of several servers hold the lock one at a
// time.
func TestManyClientsOfAQuorumComeInOneByOne(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	clients := [][]*lockwheel.Engine{p.Client(lockwheel.Options{}), p.Client(lockwheel.Options{}), p.Client(lockwheel.Options{})}
	var r CriticalSection
	const callers, rounds = 9, 5
	Crowd(t, callers, func(w int) error {
		for range rounds {
			hold, err := Quorum(clients[w%len(clients)], "n").Lock(t.Context(), lockwheel.Lease(time.Minute))
			if err != nil {
				return err
			}
			r.Enter(ShortRun)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	r.Require(t, callers*rounds)
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
}

func TestQuorumsHeldAreNoGoroutines(t *testing.T) {
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	Unlock(t, LockAll(t, Quorum(engines, "warm")))
	for _, e := range engines {
		RequireIdle(t, e)
	}
	p[2].HoldAsOther("n0", time.Hour)
	before := runtime.NumGoroutine()
	var holds []*lockwheel.Hold
	for i := range 100 {
		holds = append(holds, LockAll(t, Quorum(engines, "n"+string(rune('0'+i)))))
	}
	Eventually(t, "no goroutine a quorum", func() bool { return runtime.NumGoroutine() <= before+12 })
	for _, hold := range holds {
		Unlock(t, hold)
	}
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

func TestAnEngineThatClosesIsAMemberLess(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	hold := LockAll(t, Quorum(engines, "n"))
	for _, e := range engines {
		Eventually(t, "all of them", func() bool { return e.Stats().Held == 1 })
	}
	require.NoError(t, engines[0].Close())
	require.NoError(t, hold.Err())
	require.NoError(t, engines[1].Close())
	Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	Eventually(t, "the third to be released", func() bool { return !p[2].Exists("n") })
	_, err := Quorum(engines, "n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

func TestARefusalForGoodEndsAQuorumAtOnce(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[0].Do("SET", "n", "x")
	hold := LockAll(t, Quorum(engines, "n"))
	Unlock(t, hold)
	p[1].Do("SET", "n", "x")
	_, err := Quorum(engines, "n").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	Eventually(t, "the third to be released", func() bool { return !p[2].Exists("n") })
}

// A caller gets one of three locks, and one server does not reply: the error reports both of the others.
func TestARefusedQuorumSaysWhoDidNotAnswer(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(SlowToGiveUp)
	p[0].HoldAsOther("n", time.Hour)
	require.NoError(t, p[2].Real.Pause())
	t.Cleanup(func() { _ = p[2].Real.Continue() })
	_, err := Quorum(engines, "n").TryLock(t.Context())
	require.ErrorContains(t, err, "1 of 3 locks could be had, 2 are needed")
	require.ErrorContains(t, err, "no answer soon after the others")
}

// A permanently rejected member is requested at the interval RenewInterval, and not at once again.
func TestAMemberThatIsRefusedForGoodIsLeftInPeace(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].Do("SET", "n", "x")
	hold := LockAll(t, Quorum(engines, "n"))
	// On a busy machine its first request may be given up because the others replied sooner: then there are two requests, and
	// a release of each.
	Always(t, 100*time.Millisecond, "asked once or twice", func() bool { return engines[1].Stats().Commands <= 4 })
	Unlock(t, hold)
}

// A member that its server rejected permanently, and now accepts, is held again.
func TestAMemberThatWasRefusedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(ShortLeaseOptions)
	p[1].Do("SET", "n", "x")
	hold := LockAll(t, Quorum(engines, "n"))
	GoesOn(t, hold)
	require.Equal(t, "x", p[1].Do("GET", "n"))
	p[1].Do("DEL", "n")
	Eventually(t, "the second", func() bool { return p.Holders("n") == 3 && engines[1].Stats().Held == 1 })
	p[1].Do("SET", "n", "x")
	Eventually(t, "the second to be lost", func() bool { return engines[1].Stats().Held == 0 })
	require.NoError(t, hold.Err())
	Unlock(t, hold)
	for _, e := range engines {
		RequireIdle(t, e) // a request sent before the Unlock might find the key free, and release it again
	}
	p[1].Do("DEL", "n")
	Always(t, 3*ShortLeaseOptions.RenewInterval, "not asked for any more", func() bool { return p.Holders("n") == 0 })
}

// A hold that is watched again acquires its missing members.
func TestAQuorumThatIsWatchedAgainTakesItsMissingMembers(t *testing.T) {
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	p[1].HoldAsOther("n", time.Hour)
	hold := LockAll(t, Quorum(engines, "n"), lockwheel.Lease(time.Minute))
	Eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].Do("DEL", "n")
	require.Equal(t, 2, p.Holders("n"))
	require.NoError(t, hold.Extend(t.Context(), 0))
	Eventually(t, "the second", func() bool { return p.Holders("n") == 3 && engines[1].Stats().Held == 1 })
	Unlock(t, hold)
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// Late replies shorten the validity of a quorum. If its leases have expired by then, it is not acquired.
func TestTheValidityOfAQuorumIsCountedFromBeforeItAsked(t *testing.T) {
	t.Parallel()
	const late, lease = 400 * time.Millisecond, 30 * time.Second
	p := NewServerSet(t, 3)
	var engines []*lockwheel.Engine
	for _, s := range p {
		slow := proxy.Start(t, s.Addr)
		engines = append(engines, s.OpenAt(slow.Addr(), lockwheel.Options{Lease: lease}))
		slow.Set(proxy.Replies, proxy.Delay(late))
	}
	asked := time.Now()
	hold := LockAll(t, Quorum(engines, "n"))
	require.GreaterOrEqual(t, time.Since(asked), late)
	require.Less(t, hold.Deadline().Sub(asked), lease)
	Unlock(t, hold)
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })

	_, err := Quorum(engines, "n").TryLock(t.Context(), lockwheel.Lease(late/2))
	require.Error(t, err)
	Eventually(t, "nothing left", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// Options.MaxHold counts from the owner's first grant, even if members were replaced one after the other meanwhile.
func TestMaxHoldEndsAQuorumWhoseMembersWereReplaced(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{Lease: ShortLease, RenewInterval: ShortLease / 12, MaxHold: 3 * ShortLease}) // the replacements are done long before MaxHold
	hold := LockAll(t, Quorum(engines, "n"))
	HeldBy(t, engines)
	for _, e := range engines {
		renewedSince(t, e) // a member that was granted late counts only from then on
	}
	for i, s := range p[:2] {
		s.Do("DEL", "n")
		Eventually(t, "the key to be back", func() bool { return s.Exists("n") })
		HeldBy(t, engines)
		RenewedTimes(t, engines[i+1], 2) // the first renewal may have been sent before the key was back
	}
	Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "MaxHold")
	Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 })
	for _, e := range engines {
		RequireIdle(t, e)
	}
}

// A server that was away when the quorum was acquired counts soon after it returns, and not only after the next
// renewal of the others.
func TestAMemberThatComesLateCountsSoon(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	require.NoError(t, p[2].Real.Kill())
	hold := LockAll(t, Quorum(engines, "n"))
	confirmed := []uint64{engines[0].Stats().Renewed, engines[1].Stats().Renewed}
	elected := time.Now()
	Eventually(t, "late", func() bool { return time.Since(elected) > 4*qactor.JoinWindow })
	require.NoError(t, p[2].Real.Restart())
	Eventually(t, "all of them", func() bool { return p.Holders("n") == 3 })
	for i, before := range confirmed {
		Eventually(t, "confirmed", func() bool { return engines[i].Stats().Renewed > before })
	}
	_, err := engines[0].Mutex("n").ForceUnlock(t.Context())
	require.NoError(t, err)
	Eventually(t, "all of them again", func() bool { return p.Holders("n") == 3 })
	require.NoError(t, hold.Err())
	Unlock(t, hold)
}
