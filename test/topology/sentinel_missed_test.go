//go:build unix

package topology_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// uses reports whether a server is the master of an engine.
func uses(e *lockwheel.Engine, s *redistest.Server) bool {
	return allUp(e.Status(), []*redistest.Server{s})
}

// sentinelFirst returns the options of a client that asks the sentinels in their order, the one with the given number
// first.
func sentinelFirst(w *redistest.Sentinels, first int) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress: append(w.Addrs()[first:], w.Addrs()[:first]...), Username: "locks", Password: "secret",
		Sentinel: rueidis.SentinelOption{MasterSet: w.Name, Username: "watcher", Password: "secret"},
	}
}

// behindSentinelFirst opens an engine that asks the sentinels in their order, the one with the given number first.
func behindSentinelFirst(t *testing.T, w *redistest.Sentinels, first int, opts lockwheel.Options) *lockwheel.Engine {
	t.Helper()
	opts.Redis = sentinelFirst(w, first)
	return locktest.OpenRetrying(t, opts)
}

// missed is a failover that the last of three sentinels misses.
type missed struct {
	*redistest.Sentinels
	t         *testing.T
	old, next *redistest.Server
}

func startMissed(t *testing.T) *missed {
	t.Helper()
	w := redistest.StartSentinels(t, 2, 3)
	m := &missed{Sentinels: w, t: t, old: w.Servers[0]}
	m.eachServer("ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all")
	allow(t, w.Sentinels, "watcher", watcherRules(t))
	for _, s := range w.Sentinels { // they are not to tell each other directly, also after a restart
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "default", "-publish"))
		require.Equal(t, "OK", s.Do(t, "SENTINEL", "FLUSHCONFIG"))
	}
	return m
}

func (m *missed) eachServer(command ...any) {
	m.t.Helper()
	for _, s := range m.Servers {
		require.Equal(m.t, "OK", must(m.t, s, command...))
	}
}

// failOver stops the old master and the last sentinel, and waits until the engines are at the next master. From then on
// the sentinels tell each other nothing, which they do through the servers and directly. Each still answers clients.
func (m *missed) failOver(engines ...*lockwheel.Engine) {
	t := m.t
	t.Helper()
	require.NoError(t, m.Sentinels.Sentinels[2].Kill())
	require.Equal(t, "OK", m.old.Do(t, "ACL", "SETUSER", "default", "-publish"))
	require.NoError(t, m.old.Pause())
	m.next = m.AwaitMaster(t, m.old)
	locktest.Eventually(t, "all engines at the next master", func() bool {
		return !slices.ContainsFunc(engines, func(e *lockwheel.Engine) bool { return !uses(e, m.next) })
	})
	locktest.Eventually(t, "the other sentinels know it", func() bool { return m.named(1) == m.next.Addr() })
	for _, s := range otherServers(m.Servers, m.old) {
		require.Equal(t, "OK", must(t, s, "ACL", "SETUSER", "default", "-publish", "-slaveof")) // the last sentinel must not make it a replica
	}
}

// must sends a command on a connection of its own: Sentinel has ended the others.
func must(t *testing.T, s *redistest.Server, command ...any) any {
	t.Helper()
	reply, err := s.Conn(t).Do(command...)
	require.NoError(t, err)
	return reply
}

// named returns the master that a sentinel names.
func (m *missed) named(sentinel int) string {
	m.t.Helper()
	at := m.Sentinels.Sentinels[sentinel].Strings(m.t, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", m.Name)
	return net.JoinHostPort(at[0], at[1])
}

// comeBack has the old master run on, as a master, and the last sentinel, which names it.
func (m *missed) comeBack() {
	require.NoError(m.t, m.old.Continue())
	require.NoError(m.t, m.Sentinels.Sentinels[2].Restart())
	require.Equal(m.t, m.old.Addr(), m.named(2))
}

// talk lets the sentinels tell each other what they know.
func (m *missed) talk() {
	m.t.Helper()
	m.eachServer("ACL", "SETUSER", "default", "+@all")
	for _, s := range m.Sentinels.Sentinels {
		if s.Running() {
			require.Equal(m.t, "OK", s.Do(m.t, "ACL", "SETUSER", "default", "+@all"))
		}
	}
}

// talkAgain lets the sentinels tell each other what they know, and waits until all name the next master.
func (m *missed) talkAgain() {
	t := m.t
	t.Helper()
	m.talk()
	locktest.CheckRange(t, time.Minute, "all sentinels name the next master", func() bool {
		return m.named(0) == m.next.Addr() && m.named(1) == m.next.Addr() && m.named(2) == m.next.Addr()
	})
}

// noneAtOld checks for some seconds that an engine is at the next master, and gets no lock that is held there. What is
// free there it gets.
func (m *missed) noneAtOld(e *lockwheel.Engine, held string) {
	t := m.t
	t.Helper()
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); {
		_, err := e.Mutex(held).Lock(t.Context(), lockwheel.Lease(locktest.Longer), lockwheel.Wait(0))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.True(t, uses(e, m.next))
	}
	hold, err := e.Mutex("free").Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
	require.NoError(t, err)
	require.Equal(t, 1, m.next.Int(t, "EXISTS", "free"))
	locktest.Unlock(t, hold)
}

const refusedLog = "a sentinel names a master that was replaced"

// logged returns options with a log of its own.
func logged(opts lockwheel.Options) (lockwheel.Options, *locktest.LogBuffer) {
	log := &locktest.LogBuffer{}
	opts.Logger = slog.New(slog.NewTextHandler(log, nil))
	return opts, log
}

// A sentinel that was down during a failover names the old master until the others tell it. An engine that connects to
// it meanwhile asks the others, and stays at the next master: nothing is granted twice, and nothing is lost.
func TestSentinel_MissedFailover_HolderAtNextKept(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	eachReplication(t, func(t *testing.T, opts lockwheel.Options) {
		m := startMissed(t)
		opts, log := logged(opts)
		e := behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{})
		m.failOver(e)
		strays := behindSentinelFirst(t, m.Sentinels, 1, opts) // rueidis changes their order in a failover
		hold := locktest.Lock(t, e.Mutex("n"))
		m.comeBack()
		require.NoError(t, m.Sentinels.Sentinels[1].Kill()) // so that the other engine asks the one that missed it
		m.noneAtOld(strays, "n")
		require.Contains(t, log.String(), refusedLog, "it was told of the old master")
		require.NoError(t, hold.Err())
		locktest.Unlock(t, hold)
	})
}

// A client of the program's own follows any sentinel. The old master then grants a lock that is held at the next one,
// for as long as the sentinel names it. It does not if a grant needs a replica, because it has none any more. When the
// engine follows again, it loses what it was granted there. The holder at the next master keeps its lock.
func TestSentinel_MissedFailover_OwnClientNeedsReplicas(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	eachReplication(t, func(t *testing.T, opts lockwheel.Options) {
		opts.Replicas.Timeout = 100 * time.Millisecond
		m := startMissed(t)
		redis := sentinelFirst(m.Sentinels, 1)
		redis.PipelineMultiplex, redis.DisableRetry, redis.DisableCache = -1, true, true
		e := behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{})
		m.failOver(e)
		client, err := rueidis.NewClient(redis)
		require.NoError(t, err)
		t.Cleanup(client.Close)
		opts.Client = client
		strays := locktest.OpenRetrying(t, opts)
		hold := locktest.Lock(t, e.Mutex("n"))
		m.comeBack()
		require.NoError(t, m.Sentinels.Sentinels[1].Kill())
		var second *lockwheel.Hold
		locktest.Eventually(t, "the old master is asked", func() bool {
			second, err = strays.Mutex("n").Lock(t.Context(), lockwheel.Lease(locktest.Longer), lockwheel.Wait(0))
			return second != nil || errors.Is(err, lockwheel.ErrNotReplicated)
		})
		require.Equal(t, opts.Replicas.Min == 0, second != nil)
		require.NoError(t, hold.Err())
		m.talk()
		locktest.CheckRange(t, time.Minute, "the other engine follows again", func() bool { return uses(strays, m.next) })
		if second != nil {
			locktest.Receive(t, second.Done())
			require.ErrorIs(t, second.Err(), lockwheel.ErrLost)
		}
		require.NoError(t, hold.Err())
		locktest.Unlock(t, hold)
	})
}

// If only the sentinel that missed the failover is left, an engine that followed stays at the next master. When the
// others are back, it follows the next failover. Meanwhile an engine can be closed at once.
func TestSentinel_OnlyMissedLeft_StaysAtNext(t *testing.T) {
	long.Only(t, "sentinels replace a master twice, and one of them does not know the first time")
	t.Parallel()
	m := startMissed(t)
	opts, log := logged(lockwheel.Options{})
	e, strays := behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{}), behindSentinelFirst(t, m.Sentinels, 1, opts)
	patient, itsLog := logged(lockwheel.Options{CallTimeout: time.Minute, Lease: 3 * time.Minute})
	closes := behindSentinelFirst(t, m.Sentinels, 1, patient)
	m.failOver(e, strays, closes)
	hold := locktest.Lock(t, e.Mutex("n"))
	knowing := m.Sentinels.Sentinels[:2]
	for _, s := range knowing {
		require.NoError(t, s.Kill())
	}
	m.comeBack()
	locktest.Eventually(t, "it is told of the old master", func() bool { return strings.Contains(log.String(), refusedLog) })
	m.noneAtOld(strays, "n")
	locktest.Eventually(t, "another one is told as well", func() bool { return strings.Contains(itsLog.String(), refusedLog) })
	began := time.Now()
	require.NoError(t, closes.Close())
	require.Less(t, time.Since(began), patient.CallTimeout/2, "it does not wait for the sentinels")
	locktest.Unlock(t, hold)

	for _, s := range knowing {
		require.NoError(t, s.Restart())
	}
	m.talkAgain()
	locktest.Eventually(t, "a replica that can replace it", func() bool { return haveAll(t, m.next, 1) })
	require.NoError(t, m.next.Pause())
	third := m.AwaitMaster(t, m.next)
	locktest.Eventually(t, "the engine follows on", func() bool { return uses(strays, third) })
	locktest.Unlock(t, locktest.Lock(t, strays.Mutex("after")))
}

// A new engine asks all sentinels of its options before it believes the first.
func TestSentinel_MissedFailover_NewEngineAtNext(t *testing.T) {
	long.Only(t, "sentinels replace a master, and one of them does not know")
	t.Parallel()
	m := startMissed(t)
	e := behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{})
	m.failOver(e)
	hold := locktest.Lock(t, e.Mutex("n"))
	m.comeBack()
	m.noneAtOld(behindSentinelFirst(t, m.Sentinels, 2, lockwheel.Options{}), "n")
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
}

// A master that all sentinels are given by hand is followed, although their epoch begins anew: soon, or at once if the
// engine has to connect anew.
func TestSentinel_SetUpAnew_Followed(t *testing.T) {
	long.Only(t, "sentinels replace a master, and are set up anew")
	t.Parallel()
	for name, connectsAnew := range map[string]bool{"connects anew": true, "stays connected": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startMissed(t)
			e := behindSentinelFirst(t, m.Sentinels, 0, lockwheel.Options{})
			m.failOver(e)
			m.comeBack()
			// The sentinels are set up while they do not hear of each other: one that is not yet would tell the others.
			third := otherServers(otherServers(m.Servers, m.old), m.next)[0]
			require.Equal(t, "OK", must(t, third, "REPLICAOF", "NO", "ONE"))
			_, port, err := net.SplitHostPort(third.Addr())
			require.NoError(t, err)
			for _, s := range m.Sentinels.Sentinels {
				require.Equal(t, "OK", s.Do(t, "SENTINEL", "REMOVE", m.Name))
				require.Equal(t, "OK", s.Do(t, "SENTINEL", "MONITOR", m.Name, "127.0.0.1", port, 2))
			}
			if connectsAnew {
				for _, s := range m.Sentinels.Sentinels {
					s.Int(t, "CLIENT", "KILL", "TYPE", "pubsub")
				}
			}
			m.talk() // they have to know each other: until then each seems to be the only one
			locktest.CheckRange(t, time.Minute, "the engine is at the master that was set", func() bool { return uses(e, third) })
		})
	}
}

// A user may lack the permission to ask for the epoch. The engine follows a failover all the same.
func TestSentinel_NoPermissionForEpoch_Follows(t *testing.T) {
	long.Only(t, "sentinels replace a master")
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 3)
	for _, s := range w.Sentinels {
		require.Equal(t, "OK", s.Do(t, "ACL", "SETUSER", "watcher", "on", ">secret", "&*", "+@all", "-sentinel|master"))
	}
	e := locktest.OpenRetrying(t, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{
		MasterSet: w.Name, Username: "watcher", Password: "secret",
	}}})
	old := w.Servers[0]
	require.NoError(t, old.Pause())
	next := w.AwaitMaster(t, old)
	locktest.Eventually(t, "the engine at the next master", func() bool { return uses(e, next) })
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.NoError(t, old.Continue())
	locktest.Eventually(t, "a sentinel that rejected the question", func() bool {
		return strings.Contains(fmt.Sprint(w.Sentinels[0].Do(t, "ACL", "LOG")), "sentinel|master")
	})
}
