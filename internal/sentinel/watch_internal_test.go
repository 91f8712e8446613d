package sentinel

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// watched returns a Guard of a client that is at the old master by what all sentinels say, and watches them.
func watched(t *testing.T) *guarded {
	g := newGuarded()
	for i := range three {
		g.says(i, oldMaster, 4)
	}
	require.NoError(t, g.toSentinel(three[0]))
	require.NoError(t, g.toMaster(oldMaster))
	g.Watch()
	t.Cleanup(func() {
		g.End()
		require.Zero(t, g.openNow.Load())
	})
	synctest.Wait()
	return g
}

// drain returns what a channel has.
func drain(c <-chan string) (all []string) {
	for {
		select {
		case s := <-c:
			all = append(all, s)
		default:
			return all
		}
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The sentinel at which the client is does not know of a failover. The client loses its connections all the same, and
// can only connect to the next master.
func TestWatch_OtherSentinelsKnowNewer_ConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		g.says(1, nextMaster, 5)
		g.says(2, nextMaster, 5)
		pass(watchEvery)
		require.ElementsMatch(t, []string{oldMaster, three[0]}, drain(g.closed))
		require.ErrorContains(t, g.toMaster(oldMaster), "was replaced")
		require.NoError(t, g.toMaster(nextMaster))
		pass(time.Minute)
		require.Empty(t, drain(g.closed))
	})
}

// An operator has set up the sentinels anew, so the epoch begins anew. The client follows after a while, unless it was
// only for a moment.
func TestWatch_MostNameOlder_FollowedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		for range 3 { // sentinels that have not heard of a failover yet
			g.says(1, nextMaster, 0)
			g.says(2, nextMaster, 0)
			pass(believeMost - watchEvery)
			require.Empty(t, drain(g.closed))
			g.says(1, oldMaster, 4)
			pass(watchEvery)
		}
		g.says(1, nextMaster, 0)
		pass(believeMost + watchEvery)
		require.ElementsMatch(t, []string{oldMaster, three[0]}, drain(g.closed))
		require.EqualValues(t, 0, g.seen.Load().epoch)
		require.NoError(t, g.toMaster(nextMaster))
		g.says(0, oldMaster, 4) // the one that was not set up does not bring it back
		pass(time.Minute)
		require.Equal(t, nextMaster, g.seen.Load().master)
	})
}

// An announced failover is not waited for.
func TestWatch_FailoverAnnounced_PolledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		pass(watchEvery / 2)
		g.says(1, nextMaster, 5)
		g.says(2, nextMaster, 5)
		g.announced <- struct{}{}
		synctest.Wait()
		require.ElementsMatch(t, []string{oldMaster, three[0]}, drain(g.closed))
	})
}

// One sentinel knows it, and another has not heard of it yet. The third is silent.
func TestWatch_OneKnowsNewer_ConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		g.says(2, nextMaster, 5)
		g.set(three[1], nil)
		pass(watchEvery + patience)
		require.ElementsMatch(t, []string{oldMaster, three[0]}, drain(g.closed))
	})
}

// Most sentinels name the master at which the client is, or none has a greater epoch. A silent one costs no connection.
func TestWatch_NoNewerMaster_NothingEnds(t *testing.T) {
	for name, script := range map[string]func(g *guarded){
		"all agree":                     func(*guarded) {},
		"one that was set up otherwise": func(g *guarded) { g.says(2, nextMaster, 9) },
		"one that missed a failover":    func(g *guarded) { g.says(0, nextMaster, 3); g.allBut(0, nil) },
		"the same epoch":                func(g *guarded) { g.says(0, nextMaster, 4); g.allBut(0, nil) },
		"all are silent":                func(g *guarded) { g.allSilent() },
		"all reject":                    func(g *guarded) { g.allBut(-1, func(i int) *answer { return rejects(i) }) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := watched(t)
				script(g)
				pass(time.Minute)
				require.Empty(t, drain(g.closed))
				require.NoError(t, g.toMaster(oldMaster))
			})
		})
	}
}

// allBut scripts all sentinels but one. Without an answer they are silent.
func (g *guarded) allBut(one int, script func(int) *answer) {
	for i := range three {
		switch {
		case i == one:
		case script == nil:
			g.set(three[i], nil)
		default:
			g.set(three[i], script(i))
		}
	}
}

// The epoch with which the client followed was not known. It is as soon as a sentinel tells it.
func TestWatch_FollowedUntold_EpochLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		require.NoError(t, g.toMaster(oldMaster))
		g.says(0, oldMaster, 4)
		g.Watch()
		defer g.End()
		pass(watchEvery + 2*patience)
		require.EqualValues(t, 4, g.seen.Load().epoch)
		require.Empty(t, drain(g.closed))
	})
}

// An answer that comes too late for its poll is no evidence in the next one.
func TestWatch_LateAnswer_NotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGuarded()
		g.says(0, oldMaster, 4)
		require.NoError(t, g.toMaster(oldMaster))
		w := newWatcher(g.Guard)
		defer w.end()
		earlier := newPoll(oldMaster, g.seen.Load(), three)
		w.heard <- heard{of: earlier, from: "late:1", answer: says(1, nextMaster, 5)}
		require.False(t, w.poll(t.Context()))
		require.Equal(t, oldMaster, g.seen.Load().master)
	})
}

// The client went back to a sentinel that names the old master. It has to ask again until it is at the next one.
func TestWatch_NotAtNewest_AsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		g.says(1, nextMaster, 5)
		g.says(2, nextMaster, 5)
		pass(watchEvery)
		drain(g.closed)
		for range 3 {
			require.NoError(t, g.toSentinel(three[0]))
			pass(watchEvery)
			require.NotContains(t, drain(g.closed), three[0], "it may be on its way")
			pass(watchEvery)
			require.Contains(t, drain(g.closed), three[0])
		}
		require.NoError(t, g.toMaster(nextMaster))
		require.NoError(t, g.toSentinel(three[1]))
		pass(time.Minute)
		require.NotContains(t, drain(g.closed), three[1])
	})
}

// A dial of the old master succeeds after the client is at the next one. The client counts as there all the same, and
// keeps its sentinel.
func TestWatch_OldMasterDialledLate_Ignored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		connect, late := g.Guard.dial, make(chan struct{})
		g.Guard.dial = func(ctx context.Context, address string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
			if address == oldMaster {
				<-late
			}
			return connect(ctx, address, d, c)
		}
		dialled := make(chan error, 1)
		go func() { dialled <- g.toMaster(oldMaster) }()
		synctest.Wait()
		g.says(1, nextMaster, 5)
		g.says(2, nextMaster, 5)
		pass(watchEvery)
		require.NoError(t, g.toMaster(nextMaster))
		require.NoError(t, g.toSentinel(three[1]))
		drain(g.closed)
		close(late)
		require.NoError(t, <-dialled)
		pass(time.Minute)
		require.Equal(t, []string{oldMaster}, drain(g.closed), "only what came late")
	})
}

// Each sentinel has one connection, which is used again and replaced when it breaks.
func TestWatch_Connections_KeptAndReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		began := g.opened.Load()
		asked := len(g.asked)
		pass(time.Minute)
		require.Equal(t, began, g.opened.Load())
		require.EqualValues(t, 3, g.openNow.Load())
		require.InDelta(t, 3*60, len(g.asked)-asked, 6, "one question a second to each")
		g.heardAt.Load().end()
		pass(watchEvery)
		require.Equal(t, began+1, g.opened.Load())
		require.EqualValues(t, 3, g.openNow.Load())
	})
}

// A sentinel that is no longer in use is left.
func TestWatch_SentinelGone_ConnectionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		require.NoError(t, g.toSentinel("fourth:1"))
		g.set("fourth:1", &answer{from: "fourth:1", outcome: told, master: oldMaster, epoch: 4})
		pass(watchEvery)
		require.EqualValues(t, 4, g.openNow.Load())
		require.NoError(t, g.toSentinel(three[0]))
		pass(watchEvery)
		require.EqualValues(t, 3, g.openNow.Load())
	})
}

// However often sentinels announce something, and whatever they do not reply, they are asked at a bounded rate. The
// end does not wait for them.
func TestWatch_Floods_Bounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		stop := make(chan struct{})
		flooding := make(chan struct{})
		go func() {
			defer close(flooding)
			for {
				select {
				case g.announced <- struct{}{}:
					time.Sleep(time.Millisecond)
				case <-stop:
					return
				}
			}
		}()
		asked := len(g.asked)
		pass(10 * time.Second)
		require.Less(t, len(g.asked)-asked, 3*101)
		close(stop)
		<-flooding
		drain(g.asked)
		g.allBut(-1, func(i int) *answer { return rejects(i) })
		pass(time.Minute)
		require.Less(t, len(drain(g.asked)), 3*8, "each is an entry in its ACL LOG")
		g.allSilent()
		pass(time.Minute)
		require.LessOrEqual(t, g.openNow.Load(), int64(3))
		pass(patience / 2)
		began := time.Now()
		g.End()
		require.Less(t, time.Since(began), patience/4)
	})
}

// No sentinel says an epoch, since the user may not ask. If its own sentinel names another master, the client asks it
// anew, once; what another one names does not count.
func TestWatch_EpochsDenied_OwnSentinelFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		deny := func(from int, master string) {
			g.set(three[from], &answer{from: three[from], outcome: rejected, master: master})
		}
		for i := range three {
			deny(i, oldMaster)
		}
		pass(watchEvery + watchRejected)
		deny(1, nextMaster)
		pass(2 * watchRejected)
		require.Empty(t, drain(g.closed))
		deny(0, nextMaster)
		pass(watchRejected)
		require.ElementsMatch(t, []string{three[0], oldMaster}, drain(g.closed))
		require.NoError(t, g.toSentinel(three[0]))
		require.NoError(t, g.toMaster(nextMaster))
		g.set(three[0], nil) // another one still names the old master
		pass(2 * watchRejected)
		require.Empty(t, drain(g.closed))
		require.Equal(t, nextMaster, g.seen.Load().master)
	})
}

// One of the sentinels rejects the question. The others are asked once a second all the same.
func TestWatch_OneRejects_OthersAskedAsOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		g.set(three[2], rejects(2))
		pass(2 * watchEvery)
		require.Empty(t, drain(g.closed))
		g.says(0, nextMaster, 5)
		g.says(1, nextMaster, 5)
		pass(2 * watchEvery)
		require.Contains(t, drain(g.closed), oldMaster)
	})
}

// The sentinels were set up anew at the same master, so the epoch begins anew. The next failover is followed at once.
func TestWatch_EpochsAnew_NextFailoverFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		for i := range three {
			g.says(i, oldMaster, 0)
		}
		pass(believeMost + 2*watchEvery)
		require.Empty(t, drain(g.closed))
		for i := range three {
			g.says(i, nextMaster, 1)
		}
		pass(watchEvery)
		require.ElementsMatch(t, []string{oldMaster, three[0]}, drain(g.closed))
	})
}

// A master is down, or rejects its clients, for a day. rueidis asks the sentinels again and again: a few times at once,
// then less and less. Another master ends the pause.
func TestWatch_MasterDownForLong_SentinelsRarelyDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		dials := 0
		for begun := time.Now(); time.Since(begun) < 24*time.Hour; dials++ {
			c, err := g.Dial(t.Context(), three[0], &g.redis.Sentinel.Dialer, nil)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			drain(g.closed)
			drain(g.asked)
			if dials+1 < freeDials { // the first one was that of watched
				require.Zero(t, time.Since(begun))
			}
		}
		require.InDelta(t, 24*60, dials, 50)
		for i := range three {
			g.says(i, nextMaster, 5)
		}
		begun := time.Now()
		require.NoError(t, g.toSentinel(three[0]))
		require.LessOrEqual(t, time.Since(begun), watchEvery)
		for range freeDials {
			require.NoError(t, g.toSentinel(three[0]))
		}
		require.LessOrEqual(t, time.Since(begun), watchEvery)
		pass(time.Minute)
		drain(g.closed)
	})
}

// The next master cannot be reached for long. The client dials sentinels at least every ten seconds, since it can be at
// the next master by no other way, and without a pause again when it is there.
func TestWatch_NextMasterDown_SentinelsDialled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := watched(t)
		for i := range three {
			g.says(i, nextMaster, 5)
		}
		pass(watchEvery)
		dial := func() time.Duration {
			begun := time.Now()
			c, err := g.Dial(t.Context(), three[0], &g.redis.Sentinel.Dialer, nil)
			require.NoError(t, err)
			require.NoError(t, c.Close())
			drain(g.closed)
			drain(g.asked)
			return time.Since(begun)
		}
		for range 100 {
			require.LessOrEqual(t, dial(), maxMovePause)
		}
		require.Equal(t, maxMovePause, dial())
		for range 2 {
			require.NoError(t, g.toMaster(nextMaster))
		}
		require.Zero(t, dial())
		for range 100 {
			require.NoError(t, g.toMaster(nextMaster))
			dial()
		}
		require.Equal(t, maxDialPause, dial(), "the master accepts connections, and no more")
		drain(g.closed)
	})
}
