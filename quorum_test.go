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

// serverSet is a set of independent servers.
type serverSet []*Server

func newServerSet(t testing.TB, n int) (p serverSet) {
	t.Helper()
	for range n {
		p = append(p, RealServer(t))
	}
	return p
}

// client returns the engines of a process that uses all of them.
func (p serverSet) client(opts lockwheel.Options) (engines []*lockwheel.Engine) {
	for _, s := range p {
		engines = append(engines, s.open(opts))
	}
	return engines
}

// heldByEach waits until each engine holds its lock. A key alone is not enough: the engine may not have the reply
// yet, and an Extend to a fixed lease cancels that request.
func heldByEach(t testing.TB, engines []*lockwheel.Engine) {
	t.Helper()
	for _, e := range engines {
		eventually(t, "a member held", func() bool { return e.Stats().Held == 1 })
	}
}

// holders returns the number of servers that have the lock.
func (p serverSet) holders(name string) (n int) {
	for _, s := range p {
		if s.exists(name) {
			n++
		}
	}
	return n
}

func quorum(engines []*lockwheel.Engine, name string) lockwheel.Multi {
	var locks []lockwheel.Mutex
	for _, e := range engines {
		locks = append(locks, e.Mutex(name))
	}
	return lockwheel.Quorum(locks...)
}

// fastOptions has short leases, so that a loss is noticed soon.
var fastOptions = lockwheel.Options{Lease: shortLease}

// heldBy waits until each engine has a lock, and knows it.
func heldBy(t *testing.T, engines []*lockwheel.Engine) {
	t.Helper()
	for _, e := range engines {
		eventually(t, "all of them", func() bool { return e.Stats().Held == 1 })
	}
}

// slowToGiveUp waits for a server's reply for longer than patience.
var slowToGiveUp = lockwheel.Options{CallTimeout: 10 * time.Second}

func TestAQuorumIsHeldOnAllServersThatAnswer(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	m := quorum(engines, "n")
	require.Equal(t, "n", m.Name())
	asked := time.Now()
	hold := lockAll(t, m)
	until, granted := hold.Deadline(), time.Now()
	// The validity: the lease minus 1 %, and some milliseconds.
	require.GreaterOrEqual(t, until.Sub(asked), 29*time.Second+500*time.Millisecond)
	require.Less(t, until.Sub(granted), 30*time.Second-300*time.Millisecond)
	eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
	require.NoError(t, hold.Err())
	require.Equal(t, "n", hold.Name())
	require.True(t, slices.ContainsFunc(engines, func(e *lockwheel.Engine) bool { return strings.HasPrefix(hold.ID(), e.ID()+":") }),
		"its id is that of a member: %s", hold.ID())
	require.Zero(t, hold.Token())
	for _, e := range engines {
		stateFailed(t, e.Mutex("n"))
	}
	_, err := quorum(p.client(lockwheel.Options{}), "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)

	inner, err := m.TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters")
	unlock(t, inner)
	require.Equal(t, 3, p.holders("n"))

	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	ctx := hold.Context()
	unlock(t, hold)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// Redisson's RedLock testLockFailed, testLockSuccess, testLockSuccess2.
func TestAQuorumNeedsAMajority(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	for i := range p {
		p[i].HoldAsOther("n", time.Hour)
		hold, err := quorum(engines, "n").TryLock(t.Context())
		require.NoError(t, err, "one is held elsewhere")
		unlock(t, hold)
		other := p[(i+1)%3]
		eventually(t, "all to be released", func() bool { return p.holders("n") == 1 })
		other.HoldAsOther("n", time.Hour)
		_, err = quorum(engines, "n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "two are")
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		require.Equal(t, 1, strings.Count(err.Error(), "lock not acquired"), "said once: %v", err)
		eventually(t, "the third to be released", func() bool { return p.holders("n") == 2 })
		p[i].do("DEL", "n")
		other.do("DEL", "n")
	}
	for _, e := range engines {
		requireIdle(t, e)
	}
}

func TestAWaitForAQuorumEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	held := lockAll(t, quorum(p.client(lockwheel.Options{}), "n"))
	for range 3 {
		for _, e := range engines {
			requireIdle(t, e) // also from the channels of the previous one
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		waiting := lockingAll(ctx, quorum(engines, "n"))
		eventually(t, "told that it is taken", func() bool { return slices.ContainsFunc(engines, listens) })
		why := errors.New("why")
		cancel(why)
		err := receive(t, waiting).err
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorIs(t, err, why)
	}
	began := time.Now()
	_, err := quorum(engines, "n").Lock(t.Context(), lockwheel.Wait(time.Second))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	// At least one of several is not delayed by a busy machine.
	soonest := testDeadline
	for try := 0; try < 5 && soonest >= confirmRound; try++ {
		waiting := lockingAll(t.Context(), quorum(engines, "n"))
		requireNoReply(t, waiting, 50*time.Millisecond)
		began = time.Now()
		unlock(t, held)
		hold := granted(t, waiting)
		soonest = min(soonest, time.Since(began))
		unlock(t, hold)
		held = lockAll(t, quorum(p.client(lockwheel.Options{}), "n"))
	}
	require.Less(t, soonest, confirmRound, "woken, and neither by asking again nor by a lease's end")
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// Redisson's RedLock testConnectionFailed.
func TestAQuorumOutlivesAMinority(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(s *Server){
		"killed":  func(s *Server) { require.NoError(s.t, s.real.Kill()) },
		"stopped": func(s *Server) { require.NoError(s.t, s.real.Pause()) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newServerSet(t, 3)
			engines, slow := p.client(fastOptions), p.client(slowToGiveUp)
			hold, other := lockAll(t, quorum(engines, "n")), lockAll(t, quorum(slow, "m"))
			heldBy(t, engines)
			heldBy(t, slow)
			fail(p[1])
			t.Cleanup(func() { _ = p[1].real.Continue() })
			began := time.Now()
			unlock(t, other)
			require.Less(t, time.Since(began), testDeadline, "no call waits for the one that is gone")
			always(t, renewed, "held", func() bool { return hold.Err() == nil && time.Until(hold.Deadline()) > 0 })
			unlock(t, hold)
			eventually(t, "the others to be released", func() bool { return !p[0].exists("n") && !p[2].exists("n") })

			hold = lockAll(t, quorum(engines, "n"))
			require.NoError(t, hold.Err())
			unlock(t, hold)
		})
	}
}

// redsync PR 149: the hold acquires a member again that comes back.
func TestAMemberThatComesBackIsHeldAgain(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(fastOptions)
	require.NoError(t, p[2].real.Kill())
	hold := lockAll(t, quorum(engines, "n"))
	require.NoError(t, p[2].real.RestartEmpty())
	eventually(t, "the third", func() bool { return p[2].exists("n") })
	// So another server can fail, once the first member is confirmed.
	renewedSince(t, engines[0])
	require.NoError(t, p[0].real.RestartEmpty())
	eventually(t, "the first again", func() bool { return p[0].exists("n") })
	require.NoError(t, p[1].real.Kill())
	always(t, renewed, "held", func() bool { return hold.Err() == nil })
	unlock(t, hold)
	eventually(t, "all to be released", func() bool { return !p[0].exists("n") && !p[2].exists("n") })
	always(t, shortLease, "and not taken again", func() bool { return !p[0].exists("n") && !p[2].exists("n") })
}

func TestAMemberThatSomebodyElseHasIsTakenWhenItIsFree(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	p[1].HoldAsOther("n", 300*time.Millisecond)
	hold := lockAll(t, quorum(engines, "n"))
	eventually(t, "the third", func() bool { return p.holders("n") == 3 && p[1].pttl("n") > time.Second })
	unlock(t, hold)
	// And no request for a member remains after the end of the hold.
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
	p[1].HoldAsOther("n", time.Hour)
	unlock(t, lockAll(t, quorum(engines, "n")))
	for _, e := range engines {
		requireIdle(t, e)
	}
	// A hold with its own lease is not renewed, so no member joins it later.
	hold = lockAll(t, quorum(engines, "n"), lockwheel.Lease(time.Minute))
	eventually(t, "no request for it", func() bool { return engines[1].Stats().Waiting == 0 })
	unlock(t, hold)
}

func TestAQuorumIsLostWithItsMajority(t *testing.T) {
	t.Parallel()
	t.Run("servers that die", func(t *testing.T) {
		p := newServerSet(t, 3)
		engines := p.client(fastOptions)
		hold := lockAll(t, quorum(engines, "n"))
		eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
		ctx, until := hold.Context(), hold.Deadline()
		require.NoError(t, p[0].real.Kill())
		require.NoError(t, p[2].real.Kill())
		eventually(t, "the loss", func() bool {
			if hold.Err() != nil {
				return true
			}
			until = hold.Deadline()
			return false
		})
		require.False(t, time.Now().Before(until), "not before what it was told")
		receive(t, hold.Done())
		require.Less(t, time.Since(until), shortLease, "and soon after")
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		receive(t, ctx.Done())
		require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
		eventually(t, "the one that is left to be released", func() bool { return !p[1].exists("n") })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("keys that are gone", func(t *testing.T) {
		p := newServerSet(t, 3)
		engines := p.client(fastOptions)
		hold := lockAll(t, quorum(engines, "n"))
		eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
		p[0].do("DEL", "n")
		p[1].do("DEL", "n")
		// Each missing key is noticed at its own renewal, and the first member is held again by then.
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		eventually(t, "nothing left", func() bool { return p.holders("n") == 0 })
		for _, e := range engines {
			requireIdle(t, e)
		}
	})
	t.Run("keys that are gone, and had another holder since", func(t *testing.T) {
		p := newServerSet(t, 3)
		engines := p.client(fastOptions)
		hold := lockAll(t, quorum(engines, "n"))
		eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
		for _, s := range p {
			s.do("DEL", "n")
		}
		unlock(t, lockAll(t, quorum(p.client(fastOptions), "n")))
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		eventually(t, "nothing left", func() bool { return p.holders("n") == 0 })
	})
	t.Run("keys that others take away", func(t *testing.T) {
		p := newServerSet(t, 3)
		hold := lockAll(t, quorum(p.client(fastOptions), "n"))
		eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
		for _, e := range p.client(fastOptions) {
			_, err := e.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	})
	t.Run("members that are taken away one after the other", func(t *testing.T) {
		p := newServerSet(t, 3)
		engines := p.client(lockwheel.Options{})
		hold := lockAll(t, quorum(engines, "n"))
		eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
		for _, e := range engines {
			_, err := e.Mutex("n").ForceUnlock(t.Context())
			require.NoError(t, err)
		}
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		eventually(t, "nothing left", func() bool { return p.holders("n") == 0 })
	})
}

// renewedSince waits until an engine has renewed its holds once more.
func renewedSince(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	renewedTimes(t, e, 1)
}

// renewedTimes waits until n more renewals of an engine were confirmed.
func renewedTimes(t *testing.T, e *lockwheel.Engine, n int) {
	t.Helper()
	before := e.Stats().Renewed
	eventually(t, fmt.Sprint(n, " renewals"), func() bool { return e.Stats().Renewed >= before+uint64(n) })
}

// redsync#140, redisson#1606: grants without a majority are released on all servers that can be reached.
func TestWithoutAMajorityNothingIsLeft(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 5)
	engines := p.client(fastOptions)
	for _, s := range p[:3] {
		require.NoError(t, s.real.Kill())
	}
	began := time.Now()
	_, err := quorum(engines, "n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.Less(t, time.Since(began), testDeadline)
	eventually(t, "nothing left", func() bool { return !p[3].exists("n") && !p[4].exists("n") })

	_, err = quorum(engines, "n").Lock(t.Context(), lockwheel.Wait(300*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := lockingAll(ctx, quorum(engines, "n"))
	requireNoReply(t, waiting, 100*time.Millisecond)
	why := errors.New("why")
	cancel(why)
	require.ErrorIs(t, receive(t, waiting).err, why)
	eventually(t, "nothing left", func() bool { return !p[3].exists("n") && !p[4].exists("n") })

	// The quorum is acquired as soon as a majority is available.
	waiting = lockingAll(t.Context(), quorum(engines, "n"))
	requireNoReply(t, waiting, 100*time.Millisecond)
	require.NoError(t, p[0].real.RestartEmpty())
	unlock(t, granted(t, waiting))
}

func TestASlowMemberHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	slow := proxy.Start(t, p[1].addr)
	engines[1] = p[1].openAt(slow.Addr(), slowToGiveUp)
	slow.Set(proxy.Replies, proxy.Hold)
	began := time.Now()
	hold := lockAll(t, quorum(engines, "n"))
	require.Less(t, time.Since(began), testDeadline)
	require.NoError(t, slow.Heal())
	eventually(t, "it to join", func() bool { return engines[1].Stats().Held == 1 })
	unlock(t, hold)
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })

	// A server that replies after the end of the hold leaves nothing behind either.
	slow.Set(proxy.Replies, proxy.Hold)
	hold = lockAll(t, quorum(engines, "n"))
	eventually(t, "its grant", func() bool { return p[1].exists("n") }) // otherwise its acquire would be canceled before it is sent
	unlock(t, hold)
	require.NoError(t, slow.Heal())
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// Redisson's RedLock testLockLeasetime, testTryLockLeasetime: many clients of several servers hold the lock one at a
// time.
func TestManyClientsOfAQuorumComeInOneByOne(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	clients := [][]*lockwheel.Engine{p.client(lockwheel.Options{}), p.client(lockwheel.Options{}), p.client(lockwheel.Options{})}
	var r criticalSection
	const callers, rounds = 9, 5
	crowd(t, callers, func(w int) error {
		for range rounds {
			hold, err := quorum(clients[w%len(clients)], "n").Lock(t.Context(), lockwheel.Lease(time.Minute))
			if err != nil {
				return err
			}
			r.enter(shortRun)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	r.require(t, callers*rounds)
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
}

func TestQuorumsHeldAreNoGoroutines(t *testing.T) {
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	unlock(t, lockAll(t, quorum(engines, "warm")))
	for _, e := range engines {
		requireIdle(t, e)
	}
	p[2].HoldAsOther("n0", time.Hour)
	before := runtime.NumGoroutine()
	var holds []*lockwheel.Hold
	for i := range 100 {
		holds = append(holds, lockAll(t, quorum(engines, "n"+string(rune('0'+i)))))
	}
	eventually(t, "no goroutine a quorum", func() bool { return runtime.NumGoroutine() <= before+12 })
	for _, hold := range holds {
		unlock(t, hold)
	}
	for _, e := range engines {
		requireIdle(t, e)
	}
}

func TestAnEngineThatClosesIsAMemberLess(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	hold := lockAll(t, quorum(engines, "n"))
	for _, e := range engines {
		eventually(t, "all of them", func() bool { return e.Stats().Held == 1 })
	}
	require.NoError(t, engines[0].Close())
	require.NoError(t, hold.Err())
	require.NoError(t, engines[1].Close())
	receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	eventually(t, "the third to be released", func() bool { return !p[2].exists("n") })
	_, err := quorum(engines, "n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

func TestARefusalForGoodEndsAQuorumAtOnce(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	p[0].do("SET", "n", "x")
	hold := lockAll(t, quorum(engines, "n"))
	unlock(t, hold)
	p[1].do("SET", "n", "x")
	_, err := quorum(engines, "n").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	eventually(t, "the third to be released", func() bool { return !p[2].exists("n") })
}

// A caller gets one of three locks, and one server does not reply: the error reports both of the others.
func TestARefusedQuorumSaysWhoDidNotAnswer(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(slowToGiveUp)
	p[0].HoldAsOther("n", time.Hour)
	require.NoError(t, p[2].real.Pause())
	t.Cleanup(func() { _ = p[2].real.Continue() })
	_, err := quorum(engines, "n").TryLock(t.Context())
	require.ErrorContains(t, err, "1 of 3 locks could be had, 2 are needed")
	require.ErrorContains(t, err, "no answer soon after the others")
}

// A permanently rejected member is requested at the interval RenewInterval, and not at once again.
func TestAMemberThatIsRefusedForGoodIsLeftInPeace(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	p[1].do("SET", "n", "x")
	hold := lockAll(t, quorum(engines, "n"))
	// On a busy machine its first request may be given up because the others replied sooner: then there are two requests, and
	// a release of each.
	always(t, 100*time.Millisecond, "asked once or twice", func() bool { return engines[1].Stats().Commands <= 4 })
	unlock(t, hold)
}

// A member that its server rejected permanently, and now accepts, is held again.
func TestAMemberThatWasRefusedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(shortLeaseOptions)
	p[1].do("SET", "n", "x")
	hold := lockAll(t, quorum(engines, "n"))
	goesOn(t, hold)
	require.Equal(t, "x", p[1].do("GET", "n"))
	p[1].do("DEL", "n")
	eventually(t, "the second", func() bool { return p.holders("n") == 3 && engines[1].Stats().Held == 1 })
	p[1].do("SET", "n", "x")
	eventually(t, "the second to be lost", func() bool { return engines[1].Stats().Held == 0 })
	require.NoError(t, hold.Err())
	unlock(t, hold)
	for _, e := range engines {
		requireIdle(t, e) // a request sent before the Unlock might find the key free, and release it again
	}
	p[1].do("DEL", "n")
	always(t, 3*shortLeaseOptions.RenewInterval, "not asked for any more", func() bool { return p.holders("n") == 0 })
}

// A hold that is watched again acquires its missing members.
func TestAQuorumThatIsWatchedAgainTakesItsMissingMembers(t *testing.T) {
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	p[1].HoldAsOther("n", time.Hour)
	hold := lockAll(t, quorum(engines, "n"), lockwheel.Lease(time.Minute))
	eventually(t, "no request for the second", func() bool { return engines[1].Stats().Waiting == 0 && engines[1].Stats().InFlight == 0 })
	p[1].do("DEL", "n")
	require.Equal(t, 2, p.holders("n"))
	require.NoError(t, hold.Extend(t.Context(), 0))
	eventually(t, "the second", func() bool { return p.holders("n") == 3 && engines[1].Stats().Held == 1 })
	unlock(t, hold)
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// Late replies shorten the validity of a quorum. If its leases have expired by then, it is not acquired.
func TestTheValidityOfAQuorumIsCountedFromBeforeItAsked(t *testing.T) {
	t.Parallel()
	const late, lease = 400 * time.Millisecond, 30 * time.Second
	p := newServerSet(t, 3)
	var engines []*lockwheel.Engine
	for _, s := range p {
		slow := proxy.Start(t, s.addr)
		engines = append(engines, s.openAt(slow.Addr(), lockwheel.Options{Lease: lease}))
		slow.Set(proxy.Replies, proxy.Delay(late))
	}
	asked := time.Now()
	hold := lockAll(t, quorum(engines, "n"))
	require.GreaterOrEqual(t, time.Since(asked), late)
	require.Less(t, hold.Deadline().Sub(asked), lease)
	unlock(t, hold)
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })

	_, err := quorum(engines, "n").TryLock(t.Context(), lockwheel.Lease(late/2))
	require.Error(t, err)
	eventually(t, "nothing left", func() bool { return p.holders("n") == 0 })
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// Options.MaxHold counts from the owner's first grant, even if members were replaced one after the other meanwhile.
func TestMaxHoldEndsAQuorumWhoseMembersWereReplaced(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{Lease: shortLease, RenewInterval: shortLease / 12, MaxHold: 3 * shortLease}) // the replacements are done long before MaxHold
	hold := lockAll(t, quorum(engines, "n"))
	heldBy(t, engines)
	for _, e := range engines {
		renewedSince(t, e) // a member that was granted late counts only from then on
	}
	for i, s := range p[:2] {
		s.do("DEL", "n")
		eventually(t, "the key to be back", func() bool { return s.exists("n") })
		heldBy(t, engines)
		renewedTimes(t, engines[i+1], 2) // the first renewal may have been sent before the key was back
	}
	receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "MaxHold")
	eventually(t, "all to be released", func() bool { return p.holders("n") == 0 })
	for _, e := range engines {
		requireIdle(t, e)
	}
}

// A server that was away when the quorum was acquired counts soon after it returns, and not only after the next
// renewal of the others.
func TestAMemberThatComesLateCountsSoon(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	require.NoError(t, p[2].real.Kill())
	hold := lockAll(t, quorum(engines, "n"))
	confirmed := []uint64{engines[0].Stats().Renewed, engines[1].Stats().Renewed}
	elected := time.Now()
	eventually(t, "late", func() bool { return time.Since(elected) > 4*qactor.JoinWindow })
	require.NoError(t, p[2].real.Restart())
	eventually(t, "all of them", func() bool { return p.holders("n") == 3 })
	for i, before := range confirmed {
		eventually(t, "confirmed", func() bool { return engines[i].Stats().Renewed > before })
	}
	_, err := engines[0].Mutex("n").ForceUnlock(t.Context())
	require.NoError(t, err)
	eventually(t, "all of them again", func() bool { return p.holders("n") == 3 })
	require.NoError(t, hold.Err())
	unlock(t, hold)
}
