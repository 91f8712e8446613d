//go:build unix

package topology_test

import (
	"errors"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var failovers = flag.Int("failovers", 1, "how often each kind of failover to a stale replica happens; above 1 a hold has to be confirmed or lost within 1 s")

// replacement describes how one master replaces another.
type replacement struct {
	t         *testing.T
	open      func(opts lockwheel.Options) *lockwheel.Engine
	old, next *redistest.Server
	other     *redistest.Server // a replica that is not behind
	stops     bool              // the old master and the other replica are paused meanwhile
	asks      bool              // an engine requests a lock meanwhile
	sentinel  bool              // all engines are notified of the new master at the same time
	replace   func()            // makes next the master; it is paused
}

// staleFor is how long the old master and the other replica are paused after the new one works.
const staleFor = 1500 * time.Millisecond

// replaceMaster replaces the master while an engine holds locks there. It returns how long after the notice of the new
// master the last of them was lost. Behind Sentinel the time counts from another engine's first grant at the new
// master.
func (s *replacement) replaceMaster(opts lockwheel.Options) (took time.Duration) {
	t := s.t
	t.Helper()
	e, rival := s.open(opts), s.open(lockwheel.Options{})
	locktest.Unlock(t, locktest.Lock(t, rival.Mutex("{s}before")))
	s.fallBehind()
	told := make(map[string]<-chan time.Time)
	for kindName, kind := range locktest.Grantable() {
		for leaseName, lease := range map[string][]lockwheel.Option{"watched": nil, "lease": {lockwheel.Lease(10 * time.Minute)}} {
			hold := locktest.Lock(t, kind(e, "{s}"+kindName+leaseName), lease...)
			told[hold.Name()] = locktest.NotifiedAt(hold)
		}
	}
	if s.stops {
		require.NoError(t, s.old.Pause())
		require.NoError(t, s.other.Pause())
	}
	s.replace()

	const name = "{s}x"
	has := s.grantedByNext(rival, name)
	heard := time.Now()
	if s.asks {
		at := s.refused(e, has, time.Now().Add(locktest.TestDeadline)) // by the new master: the old one does not have that lock
		if !s.sentinel {
			heard = at
		}
	}
	if s.stops {
		locktest.Pause(t.Context(), staleFor)
		require.NoError(t, s.old.Continue())
		require.NoError(t, s.other.Continue())
	}
	at := s.refused(e, has, time.Now().Add(locktest.TestDeadline))
	if !s.sentinel && !s.asks {
		heard = at // an engine that requests nothing of a cluster is not notified
	}
	for until := time.Now().Add(2 * staleFor); time.Now().Before(until); {
		s.refused(e, has, until)
	}
	for name, told := range told {
		at := locktest.Receive(t, told)
		took = max(took, at.Sub(heard))
		require.Zero(t, s.next.Int(t, "EXISTS", name), "the new master knew nothing of it")
	}
	locktest.Unlock(t, has)
	locktest.Eventually(t, "a grant by the new master", func() bool {
		hold, err := e.Mutex("{s}after").Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
		if err != nil {
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated) // until the other replicas follow the new master
			return false
		}
		require.Equal(t, 1, s.next.Int(t, "EXISTS", "{s}after"))
		locktest.Unlock(t, hold)
		return true
	})
	require.NoError(t, e.Close())
	require.NoError(t, rival.Close())
	return took
}

// fallBehind pauses the next master, and discards what the old one sends to it.
func (s *replacement) fallBehind() {
	t := s.t
	require.NoError(t, s.next.Pause())
	s.old.Int(t, "CLIENT", "KILL", "TYPE", "replica")
	locktest.Eventually(t, "the other replica follows again", func() bool { return haveAll(t, s.old, 1) })
}

// haveAll reports whether that many replicas have all data of a master. Sentinel may break a connection meanwhile.
func haveAll(t *testing.T, master *redistest.Server, replicas int) bool {
	t.Helper()
	conn, err := redistest.Dial(master.Addr())
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.Do("SET", "{s}mark", "x"); err != nil { // a WAIT covers the writes of its own connection
		return false
	}
	have, err := conn.Do("WAIT", replicas, 100)
	n, _ := have.(int64)
	return err == nil && int(n) >= replicas
}

// grantedByNext acquires a lock at the new master, as soon as an engine knows of that.
func (s *replacement) grantedByNext(e *lockwheel.Engine, name string) (hold *lockwheel.Hold) {
	t := s.t
	t.Helper()
	locktest.Eventually(t, "a grant by the next master", func() bool {
		hold = locktest.Lock(t, e.Mutex(name))
		if s.next.Int(t, "EXISTS", name) == 1 {
			return true
		}
		if err := hold.Unlock(t.Context()); err != nil {
			require.ErrorIs(t, err, lockwheel.ErrLost)
		}
		return false
	})
	return hold
}

// refused requests a lock that is held at the new master until it is rejected there, and returns the time of that.
func (s *replacement) refused(e *lockwheel.Engine, has *lockwheel.Hold, until time.Time) time.Time {
	t := s.t
	t.Helper()
	for {
		hold, err := e.Mutex(has.Name()).TryLock(t.Context())
		if err == nil {
			require.NoError(t, hold.Err())
			require.Error(t, has.Err(), "two hold one lock")
		}
		if errors.Is(err, lockwheel.ErrNotAcquired) {
			return time.Now()
		}
		if time.Now().After(until) {
			return time.Now()
		}
	}
}

// requirePrompt checks how long holds were neither confirmed nor lost.
func requirePrompt(t *testing.T, took []time.Duration) {
	t.Helper()
	allowed := time.Second
	if *failovers == 1 {
		allowed += locktest.LateTimer
	}
	worst := time.Duration(0)
	for _, d := range took {
		worst = max(worst, d)
	}
	t.Logf("%d failovers, no lock granted by a master that was replaced; the last hold lost %v after the engine heard of the next one: %v", len(took), worst, took)
	require.Less(t, worst, allowed)
}

func eachReplication(t *testing.T, test func(t *testing.T, opts lockwheel.Options)) {
	for name, opts := range map[string]lockwheel.Options{"grants in replicas": locktest.Twice, "grants in the master alone": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, opts)
		})
	}
}

// The old master grants no lock when it comes back, before Sentinel has made it a replica.
func TestSentinel_OldMasterBack_GrantsNothing(t *testing.T) {
	long.Only(t, "three sentinels replace a master, twice")
	t.Parallel()
	eachReplication(t, func(t *testing.T, opts lockwheel.Options) {
		w := redistest.StartSentinels(t, 2, 3)
		for _, s := range w.Sentinels { // so that the next failover need not wait for long
			require.Equal(t, "OK", s.Do(t, "SENTINEL", "SET", w.Name, "failover-timeout", 3000))
		}
		var took []time.Duration
		for i := range *failovers {
			old := w.Master(t)
			replicas := otherServers(w.Servers, old)
			s := &replacement{
				t: t, old: old, next: replicas[0], other: replicas[1], stops: true, asks: i%2 == 1, sentinel: true,
				open: func(opts lockwheel.Options) *lockwheel.Engine { return behindSentinel(t, w, opts) },
			}
			s.replace = func() {
				require.NoError(t, s.next.Continue())
				require.Same(t, s.next, w.AwaitMaster(t, old))
			}
			took = append(took, s.replaceMaster(opts))
			all := time.Now().Add(time.Minute) // a sentinel waits long before it demotes an old master
			for !haveAll(t, s.next, 2) {
				require.True(t, time.Now().Before(all), "all follow the next master")
			}
		}
		requirePrompt(t, took)
	})
}

func otherServers(all []*redistest.Server, but *redistest.Server) (others []*redistest.Server) {
	for _, s := range all {
		if s != but {
			others = append(others, s)
		}
	}
	return others
}

// CLUSTER FAILOVER TAKEOVER needs no agreement, so a replica that is behind can take over while its master works.
func TestCluster_OldMaster_GrantsNothing(t *testing.T) {
	long.Only(t, "a cluster replaces a master, four times")
	t.Parallel()
	for _, stops := range []bool{true, false} {
		t.Run(map[bool]string{true: "it stands still", false: "it goes on"}[stops], func(t *testing.T) {
			t.Parallel()
			eachReplication(t, func(t *testing.T, opts lockwheel.Options) {
				c := redistest.StartCluster(t, 1, 2)
				r := &locktest.ClusterEnv{Cluster: c, T: t}
				var took []time.Duration
				for i := range *failovers {
					old := c.Master(t, 0)
					replicas := otherServers(c.Nodes, old)
					s := &replacement{t: t, old: old, next: replicas[0], other: replicas[1], stops: stops, asks: i%2 == 1, open: r.Open}
					takesOver := s.next.Conn(t)
					s.replace = func() {
						require.NoError(t, takesOver.Send("CLUSTER", "FAILOVER", "TAKEOVER")) // before it can catch up
						require.NoError(t, s.next.Continue())
						locktest.Eventually(t, "the replica takes over", func() bool {
							return s.next.Strings(t, "ROLE")[0] == "master"
						})
					}
					took = append(took, s.replaceMaster(opts))
					c.AwaitHealthy(t)
					locktest.Eventually(t, "all follow the next master", func() bool { return haveAll(t, s.next, 2) })
				}
				requirePrompt(t, took)
			})
		})
	}
}

// The master is paused, and the replicas are not. A grant that needs one of them is available as soon as the next
// master has one.
func TestSentinel_NextMaster_ReplicasPrompt(t *testing.T) {
	long.Only(t, "three sentinels replace a master")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	e := behindSentinel(t, w, locktest.Twice)
	var asked atomic.Int64
	for i := range 8 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex(fmt.Sprint("before", i))))
	}
	old := w.Master(t)
	require.NoError(t, old.Pause())
	crowding := make(chan locktest.Outcome, 1)
	go func() { // callers that arrive while there is no master
		for {
			asked.Add(1)
			hold, err := e.Mutex("n").Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
			if !errors.Is(err, lockwheel.ErrNotReplicated) {
				crowding <- locktest.Outcome{Hold: hold, Err: err}
				return
			}
		}
	}()
	next := w.AwaitMaster(t, old)
	locktest.Eventually(t, "the next master has a replica", func() bool { return haveAll(t, next, 1) })
	could := time.Now()
	locktest.Unlock(t, locktest.Granted(t, crowding))
	took := time.Since(could)
	t.Logf("granted %v after the next master had a replica, %d calls", took, asked.Load())
	require.Less(t, took, 2*time.Second+locktest.LateTimer)
	require.NoError(t, old.Continue())
	locktest.RequireIdle(t, e)
}
