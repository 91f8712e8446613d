package kinds_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// ways is three servers, each behind a proxy, and a process that uses them through the proxies.
type ways struct {
	locktest.ServerSet
	way     []*proxy.Proxy
	engines []*lockwheel.Engine
}

func newWays(t *testing.T, n int) (w ways) {
	t.Helper()
	w.ServerSet = locktest.NewServerSet(t, n)
	for i, s := range w.ServerSet {
		w.way = append(w.way, proxy.Start(t, s.Addr))
		w.engines = append(w.engines, s.OpenAt(w.way[i].Addr(), locktest.SlowToGiveUp))
	}
	return w
}

// othersHaveIt requires that another caller can acquire a majority.
func (w ways) othersHaveIt(t *testing.T) {
	t.Helper()
	others := w.Client(lockwheel.Options{})
	hold, err := tryQuorum(t, others)
	require.NoError(t, err)
	locktest.Unlock(t, hold)
	for _, e := range others {
		locktest.RequireIdle(t, e) // until then a request that it gave up may still run
	}
}

// A missing member may have been granted with a late reply: it does not count as released.
func TestQuorum_UnlockLateGrant_Waits(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]int{"then the grant is known": 0, "then another member is released": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t, 3)
			w.way[0].Set(proxy.Replies, proxy.Hold)
			hold := locktest.LockAll(t, locktest.Quorum(w.engines, "n"))
			locktest.Eventually(t, "all of them", func() bool { return w.Holders("n") == 3 })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			unlocked := locktest.Unlocking(t.Context(), hold)
			locktest.Eventually(t, "one to be released", func() bool { return !w.ServerSet[1].Exists("n") })
			locktest.RequireNoReply(t, unlocked, 100*time.Millisecond)
			require.NoError(t, w.way[slow].Heal())
			require.NoError(t, locktest.Receive(t, unlocked))
			w.othersHaveIt(t)
		})
	}
}

// At the last request the member was held elsewhere. Meanwhile it is free, and the reply in flight says that it is
// granted.
func TestQuorum_UnlockMemberRequested_Waits(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]int{"then the grant is known": 0, "then another member is released": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t, 3)
			w.ServerSet[0].HoldAsOther("n", locktest.Longer)
			hold := locktest.LockAll(t, locktest.Quorum(w.engines, "n"))
			for _, e := range w.engines[1:] {
				locktest.Eventually(t, "the others", func() bool { return e.Stats().Held == 1 })
			}
			locktest.Eventually(t, "it to be waited for", func() bool { return locktest.Listens(w.engines[0]) })
			w.way[0].Set(proxy.Replies, proxy.Hold)
			w.way[0].SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
			w.ServerSet[0].Do("DEL", "n")
			w.ServerSet[0].Do("PUBLISH", "redisson_lock__channel:{n}", 0)
			locktest.Eventually(t, "it to be granted", func() bool { return w.ServerSet[0].Exists("n") })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			unlocked := locktest.Unlocking(t.Context(), hold)
			locktest.Eventually(t, "one to be released", func() bool { return !w.ServerSet[1].Exists("n") })
			locktest.RequireNoReply(t, unlocked, 100*time.Millisecond)
			require.NoError(t, w.way[slow].Heal())
			require.NoError(t, locktest.Receive(t, unlocked))
			w.othersHaveIt(t)
		})
	}
}

// The wait for an unknown result ends with the caller's context, and after Options.CallTimeout. A grant is released
// nevertheless.
func TestQuorum_UnlockCanceled_GrantReleased(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"by its context": locktest.SlowToGiveUp.CallTimeout, "by Timeout": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t, 3)
			w.engines[0] = w.ServerSet[0].OpenAt(w.way[0].Addr(), lockwheel.Options{CallTimeout: timeout})
			w.engines[2] = w.ServerSet[2].OpenAt(w.way[2].Addr(), lockwheel.Options{CallTimeout: timeout})
			w.way[0].Set(proxy.Replies, proxy.Hold)
			hold := locktest.LockAll(t, locktest.Quorum(w.engines, "n"))
			locktest.Eventually(t, "all of them", func() bool { return w.Holders("n") == 3 })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			unlocked := locktest.Unlocking(ctx, hold)
			locktest.Eventually(t, "one to be released", func() bool { return !w.ServerSet[1].Exists("n") })
			if timeout == locktest.SlowToGiveUp.CallTimeout {
				locktest.RequireNoReply(t, unlocked, 100*time.Millisecond)
				cancel()
			}
			err := locktest.Receive(t, unlocked)
			anyNoReply(t, err)
			require.NoError(t, w.way[0].Heal())
			require.NoError(t, w.way[2].Heal())
			locktest.Eventually(t, "all to be released", func() bool { return w.Holders("n") == 0 })
			answered(t, hold)
		})
	}
}

// A request that an Extend with a lease canceled may still be granted, until its engine has released that grant.
func TestQuorum_UnlockAfterExtend_NotCounted(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	w.way[0].Set(proxy.Replies, proxy.Hold)
	hold := locktest.LockAll(t, locktest.Quorum(w.engines, "n"))
	locktest.Eventually(t, "all of them", func() bool { return w.Holders("n") == 3 })
	require.NoError(t, hold.Extend(t.Context(), locktest.Longer))
	w.way[2].Set(proxy.Commands, proxy.Hold)
	unlocked := locktest.Unlocking(t.Context(), hold)
	locktest.Eventually(t, "one to be released", func() bool { return !w.ServerSet[1].Exists("n") })
	locktest.RequireNoReply(t, unlocked, 100*time.Millisecond)
	require.NoError(t, w.way[2].Heal())
	require.NoError(t, locktest.Receive(t, unlocked))
	w.othersHaveIt(t)
}
