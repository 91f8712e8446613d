package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// ways is three servers, each behind a proxy, and a process that uses them through the proxies.
type ways struct {
	serverSet
	way     []*proxy.Proxy
	engines []*lockwheel.Engine
}

func newWays(t *testing.T) (w ways) {
	t.Helper()
	w.serverSet = newServerSet(t, 3)
	for i, s := range w.serverSet {
		w.way = append(w.way, proxy.Start(t, s.addr))
		w.engines = append(w.engines, s.openAt(w.way[i].Addr(), slowToGiveUp))
	}
	return w
}

// unlocking unlocks a hold in a goroutine.
func unlocking(ctx context.Context, hold *lockwheel.Hold) <-chan error {
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(ctx) }()
	return unlocked
}

// othersHaveIt requires that another caller can acquire a majority.
func (w ways) othersHaveIt(t *testing.T) {
	t.Helper()
	hold, err := quorum(w.client(lockwheel.Options{}), "n").TryLock(t.Context())
	require.NoError(t, err)
	unlock(t, hold)
}

// A missing member may have been granted with a late reply: it does not count as released.
func TestAnUnlockOfAQuorumWaitsForAGrantThatIsNotKnownYet(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]int{"then the grant is known": 0, "then another member is released": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t)
			w.way[0].Set(proxy.Replies, proxy.Hold)
			hold := lockAll(t, quorum(w.engines, "n"))
			eventually(t, "all of them", func() bool { return w.holders("n") == 3 })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			unlocked := unlocking(t.Context(), hold)
			eventually(t, "one to be released", func() bool { return !w.serverSet[1].exists("n") })
			requireNoReply(t, unlocked, 100*time.Millisecond)
			require.NoError(t, w.way[slow].Heal())
			require.NoError(t, receive(t, unlocked))
			w.othersHaveIt(t)
		})
	}
}

// At the last request the member was held elsewhere. Meanwhile it is free, and the reply in flight says that it is
// granted.
func TestAnUnlockOfAQuorumWaitsForAMemberThatIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]int{"then the grant is known": 0, "then another member is released": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t)
			w.serverSet[0].HoldAsOther("n", longer)
			hold := lockAll(t, quorum(w.engines, "n"))
			for _, e := range w.engines[1:] {
				eventually(t, "the others", func() bool { return e.Stats().Held == 1 })
			}
			eventually(t, "it to be waited for", func() bool { return listens(w.engines[0]) })
			w.way[0].Set(proxy.Replies, proxy.Hold)
			w.way[0].SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
			w.serverSet[0].do("DEL", "n")
			w.serverSet[0].do("PUBLISH", "redisson_lock__channel:{n}", 0)
			eventually(t, "it to be granted", func() bool { return w.serverSet[0].exists("n") })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			unlocked := unlocking(t.Context(), hold)
			eventually(t, "one to be released", func() bool { return !w.serverSet[1].exists("n") })
			requireNoReply(t, unlocked, 100*time.Millisecond)
			require.NoError(t, w.way[slow].Heal())
			require.NoError(t, receive(t, unlocked))
			w.othersHaveIt(t)
		})
	}
}

// The wait for an unknown result ends with the caller's context, and after Options.CallTimeout. A grant is released
// nevertheless.
func TestAnUnlockOfAQuorumThatIsLeftReleasesWhatIsGrantedLater(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]time.Duration{"by its context": slowToGiveUp.CallTimeout, "by Timeout": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t)
			w.engines[0] = w.serverSet[0].openAt(w.way[0].Addr(), lockwheel.Options{CallTimeout: timeout})
			w.engines[2] = w.serverSet[2].openAt(w.way[2].Addr(), lockwheel.Options{CallTimeout: timeout})
			w.way[0].Set(proxy.Replies, proxy.Hold)
			hold := lockAll(t, quorum(w.engines, "n"))
			eventually(t, "all of them", func() bool { return w.holders("n") == 3 })
			w.way[2].Set(proxy.Commands, proxy.Hold)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			unlocked := unlocking(ctx, hold)
			eventually(t, "one to be released", func() bool { return !w.serverSet[1].exists("n") })
			if timeout > time.Second {
				requireNoReply(t, unlocked, 100*time.Millisecond)
				cancel()
			}
			err := receive(t, unlocked)
			anyNoReply(t, err)
			require.NoError(t, w.way[0].Heal())
			require.NoError(t, w.way[2].Heal())
			eventually(t, "all to be released", func() bool { return w.holders("n") == 0 })
			answered(t, hold)
		})
	}
}

// A request that an Extend with a lease canceled may still be granted, until its engine has released that grant.
func TestAnUnlockOfAQuorumDoesNotCountWhatAnExtensionWithdrew(t *testing.T) {
	t.Parallel()
	w := newWays(t)
	w.way[0].Set(proxy.Replies, proxy.Hold)
	hold := lockAll(t, quorum(w.engines, "n"))
	eventually(t, "all of them", func() bool { return w.holders("n") == 3 })
	require.NoError(t, hold.Extend(t.Context(), longer))
	w.way[2].Set(proxy.Commands, proxy.Hold)
	unlocked := unlocking(t.Context(), hold)
	eventually(t, "one to be released", func() bool { return !w.serverSet[1].exists("n") })
	requireNoReply(t, unlocked, 100*time.Millisecond)
	require.NoError(t, w.way[2].Heal())
	require.NoError(t, receive(t, unlocked))
	w.othersHaveIt(t)
}
