package kinds_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A call that re-enters with a longer lease needs the server. In an outage it waits, as a new one does.
func TestMulti_ReentryWithLeaseInOutage_WaitsOn(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	const timeout = 300 * time.Millisecond // a busy machine must reply within it after the outage
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: timeout, Lease: 20 * time.Second})
	for name, m := range map[string]lockwheel.Multi{"plain": locktest.Multi(e, "a", "b"), "of kinds": e.Multi(e.Mutex("c"), e.FencedMutex("d"))} {
		hold, err := m.Lock(t.Context())
		require.NoError(t, err)
		p.Set(proxy.Both, proxy.Hold)
		waits := locktest.Locking(hold.Context(), m, lockwheel.Lease(time.Hour))
		select {
		case got := <-waits:
			t.Fatal(name, got)
		case <-time.After(3 * timeout):
		}
		require.NoError(t, p.Heal())
		locktest.Unlock(t, locktest.Granted(t, waits))
		p.Set(proxy.Both, proxy.Hold)
		_, err = m.Lock(hold.Context(), lockwheel.Lease(time.Hour), lockwheel.Wait(2*timeout))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable, "the wait ends")
		require.NoError(t, p.Heal())
		locktest.Unlock(t, hold)
	}
}

// A call of an owner may wait for another one of the same owner before it unlocks, so both are granted. It does not
// matter which of them is granted first, and at which lock the Multi waits then.
func TestMulti_OwnerGrantedMeanwhile_Reenters(t *testing.T) {
	t.Parallel()
	single := func(ctx context.Context, e *lockwheel.Engine) <-chan locktest.Outcome {
		return locktest.Locking(ctx, e.Mutex("a"))
	}
	several := func(names ...string) func(context.Context, *lockwheel.Engine) <-chan locktest.Outcome {
		return func(ctx context.Context, e *lockwheel.Engine) <-chan locktest.Outcome {
			return locktest.Locking(ctx, locktest.Multi(e, names...))
		}
	}
	var many []string
	for i := range 1500 { // more than one command acquires
		many = append(many, fmt.Sprintf("n%04d", i))
	}
	many[0] = "a"
	for name, calls := range map[string][]func(context.Context, *lockwheel.Engine) <-chan locktest.Outcome{
		"a single lock, then several":   {single, several("a", "b")},
		"several, then a single lock":   {several("a", "b"), single},
		"several, then the same":        {several("a", "b"), several("a", "b")},
		"several, then others":          {several("a", "b"), several("a", "c")},
		"a single lock, then very many": {single, several(many...)},
		"a single lock, then one of kinds": {single, func(ctx context.Context, e *lockwheel.Engine) <-chan locktest.Outcome {
			return locktest.Locking(ctx, e.Multi(e.Mutex("a"), e.FencedMutex("b"), e.RWMutex("c").Writer()))
		}},
	} {
		for _, by := range []string{"another engine", "another owner"} {
			t.Run(name+", after "+by, func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				e := s.Open(lockwheel.Options{})
				holder := e
				if by == "another engine" {
					holder = s.Open(lockwheel.Options{})
				}
				taken, me := locktest.Lock(t, holder.Mutex("a")), lockwheel.WithOwner(t.Context())
				var waiting []<-chan locktest.Outcome
				for _, call := range calls {
					waiting = append(waiting, call(me, e))
					locktest.Eventually(t, "it to wait", func() bool { return e.Stats().Waiting == int64(len(waiting)) && e.Stats().InFlight == 0 })
				}
				locktest.Unlock(t, taken)
				var holds []*lockwheel.Hold
				for _, w := range waiting {
					got := locktest.ReceiveWithin(t, time.Minute, w) // a re-entry acquires one lock after the other: 1500 round trips
					require.NoError(t, got.Err)
					holds = append(holds, got.Hold)
				}
				for _, h := range holds {
					require.NoError(t, h.Err())
					locktest.Unlock(t, h)
				}
				locktest.RequireIdle(t, e)
				require.Zero(t, s.Do("EXISTS", "a", "b", "c"))
			})
		}
	}
}

// The Multi waits for one of its locks while its owner is granted another, so it finds that only at its next turn.
func TestMulti_OwnerGrantedAnotherPart_Reenters(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	me := lockwheel.WithOwner(t.Context())
	a, b := locktest.Lock(t, other.Mutex("a")), locktest.Lock(t, other.Mutex("b"))
	single := locktest.Locking(me, e.Mutex("b"))
	locktest.Queued(t, e, 1)
	both := locktest.Locking(me, locktest.Multi(e, "a", "b"))
	locktest.Queued(t, e, 2)
	locktest.Unlock(t, b)
	outer := locktest.Granted(t, single)
	locktest.Unlock(t, a)
	inner := locktest.Granted(t, both)
	require.NoError(t, outer.Err())
	locktest.Unlock(t, inner)
	locktest.Unlock(t, outer)
	locktest.RequireIdle(t, e)
	require.Zero(t, s.Do("EXISTS", "a", "b"))
}

// What was granted to the owner ends before the Multi has all locks: it waits on, and as any other caller.
func TestMulti_OwnersGrantEnds_WaitsOn(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"unlocked", "lost"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			me := lockwheel.WithOwner(t.Context())
			a, b := locktest.Lock(t, other.Mutex("a")), locktest.Lock(t, other.Mutex("b"))
			single := locktest.Locking(me, e.Mutex("a"))
			locktest.Queued(t, e, 1)
			both := locktest.Locking(me, locktest.Multi(e, "a", "b"))
			locktest.Queued(t, e, 2)
			locktest.Unlock(t, a)
			outer := locktest.Granted(t, single)
			locktest.RequireNoReply(t, both, 50*time.Millisecond)
			if end == "unlocked" {
				locktest.Unlock(t, outer)
			} else {
				_, err := other.Mutex("a").ForceUnlock(t.Context())
				require.NoError(t, err)
			}
			locktest.RequireNoReply(t, both, 50*time.Millisecond)
			locktest.Unlock(t, b)
			locktest.Unlock(t, locktest.Granted(t, both))
			if end == "lost" {
				require.ErrorIs(t, outer.Unlock(t.Context()), lockwheel.ErrLost)
			}
			locktest.RequireIdle(t, e)
			require.Zero(t, s.Do("EXISTS", "a", "b"))
		})
	}
}

// The context of a quorum's hold re-enters a lock that the quorum gets later, or that a call with the context gets
// before it.
func TestMulti_QuorumMemberGranted_Reenters(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"the quorum alone", "a single lock", "another Multi"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			p := locktest.NewServerSet(t, 3)
			engines := p.Client(lockwheel.Options{})
			last := engines[2]
			taken := locktest.Lock(t, p[2].Open(lockwheel.Options{}).Mutex("n"))
			hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
			waiting := []<-chan locktest.Outcome{locktest.Locking(hold.Context(), locktest.Multi(last, "n", "z"))}
			switch with {
			case "a single lock":
				waiting = append(waiting, locktest.Locking(hold.Context(), last.Mutex("n")))
			case "another Multi":
				waiting = append(waiting, locktest.Locking(hold.Context(), locktest.Multi(last, "n", "y")))
			}
			slices.Reverse(waiting)
			locktest.Queued(t, last, int64(1+len(waiting)))
			locktest.Unlock(t, taken)
			for _, w := range waiting {
				locktest.Unlock(t, locktest.Granted(t, w))
			}
			require.NoError(t, hold.Err())
			locktest.Eventually(t, "the quorum to have it as well", func() bool { return last.Stats().Held == 1 })
			locktest.Unlock(t, hold)
			for _, e := range engines {
				locktest.RequireIdle(t, e)
			}
			require.Zero(t, p.Holders("n"))
		})
	}
}
