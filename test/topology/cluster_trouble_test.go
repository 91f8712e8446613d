package topology_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// load is a set of callers that lock and unlock some names until it is stopped, one caller in each name at a time.
type load struct {
	rooms  []locktest.CriticalSection
	visits atomic.Int64
	stop   chan struct{}
	done   chan struct{}
}

// startLoad starts callers of each engine that visit the names. These are plain locks unless they end with another
// kind.
func startLoad(t *testing.T, names []string, engines ...*lockwheel.Engine) *load {
	d := &load{rooms: make([]locktest.CriticalSection, len(names)), stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(d.done)
		locktest.Crowd(t, 2*len(engines), func(i int) error {
			for at := i; ; at++ {
				select {
				case <-d.stop:
					return nil
				default:
				}
				n := at % len(names)
				if err := locktest.EnterWith(t.Context(), anyKind(engines[i%len(engines)], names[n]), &d.rooms[n]); err != nil {
					return fmt.Errorf("%s: %w", names[n], err)
				}
				d.visits.Add(1)
			}
		})
	}()
	return d
}

func anyKind(e *lockwheel.Engine, name string) lockwheel.Mutex {
	if strings.Contains(name, "/") {
		return locktest.MutexOf(e, name)
	}
	return e.Mutex(name)
}

// awaitMore waits until each name was visited once more.
func (d *load) awaitMore(t *testing.T) {
	t.Helper()
	before := d.visits.Load()
	locktest.Eventually(t, "visits going on", func() bool { return d.visits.Load() > before+3*int64(len(d.rooms)) })
}

func (d *load) finish(t *testing.T) {
	t.Helper()
	close(d.stop)
	locktest.Receive(t, d.done)
	for i := range d.rooms {
		require.False(t, d.rooms[i].Crowded.Load(), "two were inside at once")
	}
}

// MOVED, ASK and TRYAGAIN while a slot is migrating. No lock is lost, there are never two holders, and waiters are
// woken.
func TestClusterSlotMovesUnderLoad(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	limited := r.Limited()
	steady := r.Open(lockwheel.Options{Redis: limited, Lease: 6 * time.Second, RenewInterval: 200 * time.Millisecond})
	holder, waiter := r.Open(lockwheel.Options{Redis: limited}), r.Open(lockwheel.Options{Redis: limited})
	names := locktest.AllLocks("slot", 60)
	kept, slept, released, busy := names[:20], names[20:30], names[30:40], names[40:]

	var holds, waitedFor, givenUp []*lockwheel.Hold
	for _, name := range kept {
		holds = append(holds, locktest.Lock(t, steady.Mutex(name)))
	}
	for _, name := range slept {
		waitedFor = append(waitedFor, locktest.Lock(t, holder.Mutex(name)))
	}
	for _, name := range released {
		givenUp = append(givenUp, locktest.Lock(t, holder.Mutex(name)))
	}
	waiting := make(map[string]<-chan locktest.Outcome)
	for _, name := range names[20:40] {
		waiting[name] = locktest.Locking(t.Context(), waiter.Mutex(name))
	}
	locktest.RequireWaiting(t, waiter, 20, 20)
	load := startLoad(t, busy, steady, holder)
	slot := r.Slot(t, names[0])
	for range 3 {
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3])
		load.awaitMore(t)
		m.Move(t, len(names)/2)
		refused := r.ErrorCount(t, "TRYAGAIN")
		locktest.Eventually(t, "renewals of keys that are in two places", func() bool { return r.ErrorCount(t, "TRYAGAIN") > refused })
		load.awaitMore(t)
		m.Move(t, len(names))
		load.awaitMore(t)
		if givenUp != nil { // on the target of the slot, before the engine subscribes there
			for _, hold := range givenUp {
				locktest.Unlock(t, hold)
			}
			givenUp = nil
		}
		m.End(t)
		load.awaitMore(t)
		locktest.RequireHeld(t, holds)
		for _, name := range slept {
			locktest.RequireNoReply(t, waiting[name], 0)
		}
	}
	for _, name := range released {
		locktest.Unlock(t, locktest.Granted(t, waiting[name]))
	}
	for i, name := range slept {
		locktest.Unlock(t, waitedFor[i])
		locktest.Unlock(t, locktest.Granted(t, waiting[name]))
	}
	load.finish(t)
	for _, refusal := range []string{"MOVED", "ASK"} {
		require.NotZero(t, r.ErrorCount(t, refusal))
	}
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	for _, e := range []*lockwheel.Engine{steady, holder, waiter} {
		locktest.RequireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
		require.Zero(t, e.Stats().UnpublishedReleases)
	}
}

// The server rejects commands for a lock with several keys while some of these have moved and others have not, or do
// not exist. Holders keep their locks, callers wait until the slot has arrived, and there are never two holders.
func TestCluster_SlotMoves_EveryKindKept(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	opts := lockwheel.Options{RenewInterval: 200 * time.Millisecond, CallTimeout: 10 * time.Second}
	e, other := r.Open(opts), r.Open(opts)
	var names, busy []string
	for _, prefix := range locktest.AllLocks("kinds", 4) {
		names = append(names, locktest.NamesOfEveryKind(prefix)...)
		busy = append(busy, locktest.NamesOfKinds(prefix+"busy")...)
	}
	holds, waiting := make([]*lockwheel.Hold, len(names)), make([]<-chan locktest.Outcome, len(names))
	for i, name := range names {
		holds[i] = locktest.Lock(t, locktest.MutexOf(e, name))
		waiting[i] = locktest.Locking(t.Context(), locktest.RivalOf(other, name))
	}
	locktest.RequireWaiting(t, other, int64(len(names)), int64(len(names)))
	load := startLoad(t, busy, e, other)
	load.awaitMore(t)
	slot := r.Slot(t, names[0])
	for range 2 {
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3])
		refused := r.ErrorCount(t, "TRYAGAIN")
		m.Move(t, len(names))
		locktest.Eventually(t, "refused, with keys in two places", func() bool { return r.ErrorCount(t, "TRYAGAIN") > refused+20 })
		locktest.RequireHeld(t, holds)
		m.End(t)
		load.awaitMore(t)
		locktest.RequireHeld(t, holds)
		for i := range waiting {
			locktest.RequireNoReply(t, waiting[i], 0)
		}
	}
	m := r.Migrate(t, slot, r.Nodes[(locktest.IndexOf(r.Nodes, r.Master(t, slot))+1)%3])
	m.Move(t, len(names))
	var unlocking []<-chan locktest.Answer
	for _, hold := range holds {
		unlocking = append(unlocking, locktest.UnlockingLater(t.Context(), hold, 0))
	}
	locktest.Pause(t.Context(), 300*time.Millisecond) // some calls are rejected
	m.End(t)
	for i := range names {
		require.NoError(t, locktest.Receive(t, unlocking[i]).Err)
		locktest.Unlock(t, locktest.Granted(t, waiting[i]))
	}
	load.awaitMore(t)
	load.finish(t)
	for _, e := range []*lockwheel.Engine{e, other} {
		locktest.RequireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
	}
}

// A slot migrates to a node that joined after the engines were opened.
func TestCluster_NodeJoins_Followed(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	e, other := r.Open(lockwheel.Options{RenewInterval: 200 * time.Millisecond}), r.Open(lockwheel.Options{})
	names := locktest.AllLocks("slot", 30)
	holds := make([]*lockwheel.Hold, 10)
	waiting := make([]<-chan locktest.Outcome, len(holds))
	for i := range holds {
		holds[i] = locktest.Lock(t, e.Mutex(names[i]))
		waiting[i] = locktest.Locking(t.Context(), other.Mutex(names[i]))
	}
	locktest.RequireWaiting(t, other, 10, 10)
	load := startLoad(t, names[10:], e, other)
	m := r.Migrate(t, r.Slot(t, names[0]), r.AddNode(t))
	load.awaitMore(t)
	m.Move(t, len(names)/2)
	load.awaitMore(t)
	m.End(t)
	load.awaitMore(t)
	locktest.RequireHeld(t, holds)
	load.finish(t)
	for i, hold := range holds {
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting[i]))
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
	require.Zero(t, e.Stats().Lost)
}

// A replica replaces its master. A holder keeps its lock or is notified, there is no second holder meanwhile, and
// holders on other masters are not affected.
func TestClusterMasterIsReplaced(t *testing.T) {
	long.Only(t, "the nodes of a cluster with replicas fail")
	t.Parallel()
	for how, replace := range map[string]func(t *testing.T, r *locktest.ClusterEnv, master *redistest.Server) (after func()){
		"killed": func(t *testing.T, r *locktest.ClusterEnv, master *redistest.Server) func() {
			require.NoError(t, master.Kill())
			return func() {}
		},
		"stopped, and back later": func(t *testing.T, r *locktest.ClusterEnv, master *redistest.Server) func() {
			require.NoError(t, master.Pause())
			return func() { require.NoError(t, master.Continue()) }
		},
		"told to step down": func(t *testing.T, r *locktest.ClusterEnv, master *redistest.Server) func() {
			require.Equal(t, "OK", r.Replica(t, master).Do(t, "CLUSTER", "FAILOVER"))
			locktest.Eventually(t, "another master", func() bool { return r.Master(t, 0) != master })
			return func() {}
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			masterIsReplaced(t, replace)
		})
	}
}

func masterIsReplaced(t *testing.T, replace func(t *testing.T, r *locktest.ClusterEnv, master *redistest.Server) (after func())) {
	r := locktest.NewClusterEnv(t, 1)
	const lease = 10 * time.Second
	e, other := r.Open(lockwheel.Options{Lease: lease, RenewInterval: 500 * time.Millisecond}), r.Open(lockwheel.Options{Lease: lease})
	names := r.SpreadNames(60)
	holds, waiting := contested(t, e, other, names)
	for _, master := range r.Nodes[:3] { // the replicas have the grants
		locktest.Replicated(t, master, 1)
	}
	began := time.Now()
	after := replace(t, r, r.Master(t, 0))
	r.Master(t, 0)
	took := time.Since(began)
	after()
	for end := began.Add(lease + 500*time.Millisecond); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		for i, hold := range holds {
			if took < lease/2 || r.OwnerOf(names[i]) != r.Nodes[0] {
				require.NoError(t, hold.Err(), hold.Name())
			}
			if len(waiting[i]) > 0 {
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "it has another holder")
			}
		}
	}
	// Waiters do not send a storm of commands. In this time each tries about 6 times by itself, and once more whenever its
	// subscription begins anew. Trying without a pause would be hundreds.
	require.Less(t, other.Stats().Commands, uint64(30*len(names)))
	handOver(t, holds, waiting, lease/2, took < lease/2)
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// Replication is asynchronous, so a lock can be lost with the master that granted it. Its holder is notified long
// before the lease expires, and the lock is available.
func TestCluster_NextMasterLacksLock_Lost(t *testing.T) {
	long.Only(t, "the nodes of a cluster with replicas fail")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 1)
	e := r.Open(lockwheel.Options{RenewInterval: 500 * time.Millisecond, CallTimeout: time.Second})
	name := r.Key("n", 0)
	master := r.Master(t, 0)
	replica := r.Replica(t, master)
	require.NoError(t, replica.Pause())
	require.Equal(t, 1, master.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or it would find the lock in its socket
	hold := locktest.Lock(t, e.Mutex(name))
	require.NoError(t, master.Kill())
	require.NoError(t, replica.Continue())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.Same(t, replica, r.Master(t, 0))
	locktest.UnlockHold(t, locktest.Lock(t, e.Mutex(name)))
}

// A node does not reply, and no replica replaces it. A holder of a lock there is notified when its lease expires.
// Locks on other nodes are renewed as usual, and once the node is back it is used again.
func TestCluster_SilentNode_OthersNotDelayed(t *testing.T) {
	long.Only(t, "the nodes of a cluster with replicas fail")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0, "--cluster-require-full-coverage", "no")
	const lease = 8 * time.Second
	// With 600 slots each renewal is a separate call, and has priority over other calls. This limits them to what a
	// busy machine can do.
	e := r.Open(lockwheel.Options{Lease: lease, RenewInterval: time.Second, CallTimeout: lease / 4})
	silenced := r.Nodes[1]
	var here, there []*lockwheel.Hold
	var elsewhere []string
	for _, name := range r.SpreadNames(600) {
		hold := locktest.Lock(t, e.Mutex(name))
		if r.Nodes[1] == r.OwnerOf(name) {
			there = append(there, hold)
		} else {
			here, elsewhere = append(here, hold), append(elsewhere, fmt.Sprintf("{%s}busy", name))
		}
	}
	require.NoError(t, silenced.Pause())
	paused := time.Now()
	for _, hold := range there {
		locktest.CheckRange(t, lease+locktest.LateTimer, "the loss of "+hold.Name(), func() bool { return locktest.IsClosed(hold.Done()) })
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	require.Less(t, time.Since(paused), lease+locktest.LateTimer)
	load := startLoad(t, elsewhere[:20], e)
	load.awaitMore(t)
	opensAndCloses(t, r, elsewhere[20], there[0].Name())
	for end := paused.Add(lease + 3*time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, hold := range here {
			require.NoError(t, hold.Err())
			require.Greater(t, time.Until(hold.Deadline()), lease/3, "%s is renewed too late", hold.Name())
		}
	}
	load.finish(t)
	require.NoError(t, silenced.Continue())
	locktest.Unlock(t, locktest.Lock(t, e.Mutex(there[0].Name())))
	for _, hold := range here {
		locktest.Unlock(t, hold)
	}
}

// A slot is migrating to a node that dies. The source node redirects requests for new locks to the dead one. The
// engine repeats them after growing pauses, and acquires the locks when the node is back.
func TestCluster_SlotToDeadNode_RetriedSlowly(t *testing.T) {
	long.Only(t, "a node of a cluster dies and comes back")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0, "--cluster-require-full-coverage", "no")
	e := r.Open(lockwheel.Options{})
	names := locktest.AllLocks("gone", 20)
	slot := r.Slot(t, names[0])
	to := r.Nodes[(locktest.IndexOf(r.Nodes, r.Master(t, slot))+1)%3]
	moving := r.Migrate(t, slot, to)
	require.NoError(t, to.Kill())
	var waiting []<-chan locktest.Outcome
	for _, name := range names {
		waiting = append(waiting, locktest.Locking(t.Context(), e.Mutex(name)))
	}
	locktest.Eventually(t, "answers", func() bool { return e.Stats().Retries > 100 })
	before := e.Stats().Batches
	time.Sleep(2 * time.Second) // the test checks that little happens
	require.Less(t, e.Stats().Batches-before, uint64(4000))
	require.NoError(t, to.Restart())
	moving.End(t)
	for _, w := range waiting {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
}

// opensAndCloses opens an engine beside a node that does not reply, and closes it while a reply of that node is
// outstanding.
func opensAndCloses(t *testing.T, r *locktest.ClusterEnv, good, bad string) {
	t.Helper()
	e := r.Open(lockwheel.Options{CallTimeout: time.Second})
	locktest.UnlockHold(t, locktest.Lock(t, e.Mutex(good)))
	_, err := e.Mutex(bad).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	waiting := locktest.Locking(t.Context(), e.Mutex(bad))
	locktest.Queued(t, e, 1)
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	require.NoError(t, locktest.Receive(t, closed))
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
}

// A master that Sentinel watches is replaced. Holders continue at the next master, or learn of the loss, and waiters
// get their turn.
func TestSentinelReplacesTheMaster(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	for how, replace := range map[string]func(t *testing.T, w *redistest.Sentinels, master *redistest.Server){
		"killed": func(t *testing.T, _ *redistest.Sentinels, master *redistest.Server) {
			require.NoError(t, master.Kill())
		},
		// The old master stays, as a replica that replies and rejects writes.
		"told to step down": func(t *testing.T, w *redistest.Sentinels, _ *redistest.Server) {
			require.Equal(t, "OK", w.Sentinels[0].Do(t, "SENTINEL", "FAILOVER", w.Name))
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			sentinelReplaces(t, replace)
		})
	}
}

// behindSentinel opens an engine on a master that Sentinel watches.
func behindSentinel(t *testing.T, w *redistest.Sentinels, opts lockwheel.Options) *lockwheel.Engine {
	t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name}}
	return locktest.OpenRetrying(t, opts)
}

// The holder is notified as soon as the next master is known, and not at the next renewal.
func TestSentinel_NextMasterLacksLock_Lost(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 3)
	e := behindSentinel(t, w, lockwheel.Options{})
	master, replica := w.Servers[0], w.Servers[1]
	require.NoError(t, replica.Pause())
	require.Equal(t, 1, master.Int(t, "CLIENT", "KILL", "TYPE", "replica")) // or it would find the lock in its socket
	hold := locktest.Lock(t, e.Mutex("n"))
	require.NoError(t, master.Kill())
	require.NoError(t, replica.Continue())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
}

// Dial finds the master that the sentinels of its URL name, even if the first address does not reply.
func TestDial_SentinelURL_MasterFound(t *testing.T) {
	long.Only(t, "it starts sentinels")
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 3)
	gone := "127.0.0.1:1" // the first address has no listener
	e, err := lockwheel.Dial(t.Context(), "redis://"+gone+"?addr="+strings.Join(w.Addrs(), "&addr=")+"&master_set="+w.Name)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	hold := locktest.Lock(t, e.Mutex("n"))
	require.Equal(t, 1, w.Servers[0].Int(t, "EXISTS", "n"))
	locktest.Unlock(t, hold)
}

// contested is a set of locks that one engine holds and the other waits for.
func contested(t *testing.T, e, other *lockwheel.Engine, names []string) (holds []*lockwheel.Hold, waiting []<-chan locktest.Outcome) {
	t.Helper()
	for _, name := range names {
		holds = append(holds, locktest.Lock(t, e.Mutex(name)))
		waiting = append(waiting, locktest.Locking(t.Context(), other.Mutex(name)))
	}
	locktest.RequireWaiting(t, other, int64(len(names)), int64(len(names)))
	return holds, waiting
}

// handOver unlocks each lock, and requires that a message wakes its waiter. If that can be known, it requires that
// the lock was held.
func handOver(t *testing.T, holds []*lockwheel.Hold, waiting []<-chan locktest.Outcome, most time.Duration, held bool) {
	t.Helper()
	for i, hold := range holds {
		handing := time.Now()
		if err := hold.Unlock(t.Context()); held {
			require.NoError(t, err)
		}
		next := locktest.Granted(t, waiting[i])
		require.Less(t, time.Since(handing), most, "woken by a message, not by the TTL")
		locktest.Unlock(t, next)
	}
}

// namesOf returns that many names.
func namesOf(names int) (all []string) {
	for i := range names {
		all = append(all, fmt.Sprint("n", i))
	}
	return all
}

func sentinelReplaces(t *testing.T, replace func(t *testing.T, w *redistest.Sentinels, master *redistest.Server)) {
	w := redistest.StartSentinels(t, 2, 3)
	const lease = 10 * time.Second
	opts := lockwheel.Options{Lease: lease, RenewInterval: 500 * time.Millisecond, CallTimeout: lease / 5}
	e, other := behindSentinel(t, w, opts), behindSentinel(t, w, opts)
	holds, waiting := contested(t, e, other, namesOf(50))
	old := w.Master(t)
	locktest.Replicated(t, old, 2)
	died := time.Now()
	replace(t, w, old)
	next := w.AwaitMaster(t, old)
	took := time.Since(died)
	locktest.Always(t, time.Until(died.Add(lease+500*time.Millisecond)), "held, or free until the holder knows", func() bool {
		for i, hold := range holds {
			if took < lease/2 {
				require.NoError(t, hold.Err())
			}
			if len(waiting[i]) > 0 {
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "it has another holder")
			}
		}
		return true
	})
	if took < lease/2 {
		require.Equal(t, map[string]string{holds[0].ID(): "1"}, next.Hash(t, "n0"))
	}
	handOver(t, holds, waiting, lease/2, took < lease/2)
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// A machine with the master and the sentinel that the engines use is paused. The engines find the next master through
// the other sentinels. When the old master is back, it first believes that it is still the master; no lock is granted
// there.
func TestSentinel_PausedWithMaster_NextFound(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 3)
	opts := lockwheel.Options{Lease: 20 * time.Second, RenewInterval: 500 * time.Millisecond, CallTimeout: time.Second}
	e, other := behindSentinel(t, w, opts), behindSentinel(t, w, opts)
	holds, waiting := contested(t, e, other, namesOf(10))
	old := w.Master(t)
	locktest.Replicated(t, old, 1)
	require.NoError(t, old.Pause())
	require.NoError(t, w.Sentinels[0].Pause())
	next := w.AwaitMaster(t, old)
	locktest.Eventually(t, "every lock renewed at the next master", func() bool {
		locktest.RequireHeld(t, holds)
		for _, hold := range holds {
			if next.Int(t, "PTTL", hold.Name()) < int((opts.Lease - 2*time.Second).Milliseconds()) {
				return false
			}
		}
		return true
	})
	late := behindSentinel(t, w, opts) // the paused sentinel is the first of its addresses
	locktest.StateFailed(t, late.Mutex("n0"))
	require.NoError(t, old.Continue())
	require.NoError(t, w.Sentinels[0].Continue())
	for i, hold := range holds {
		require.NoError(t, hold.Err())
		locktest.UnlockHold(t, hold)
		locktest.UnlockHold(t, locktest.Granted(t, waiting[i]))
		locktest.Eventually(t, hold.Name()+" to be free", func() bool { return next.Int(t, "EXISTS", hold.Name()) == 0 })
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
	require.Zero(t, e.Stats().Lost)
}

// A waiter slept before the slot began to move, in an engine that requests nothing else there. The message is
// published on both nodes.
func TestCluster_SlotHalfMoved_WaiterWoken(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	holder, waiter := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	for name, kind := range map[string]locktest.KindOfLock{
		"plain":  func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.Mutex(name) },
		"writer": func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() },
	} {
		name = "{slot}" + name
		released, forced := locktest.Lock(t, kind(holder, name)), locktest.Lock(t, kind(holder, name+"forced"))
		woken := locktest.Locking(t.Context(), kind(waiter, name))
		woken2 := locktest.Locking(t.Context(), kind(waiter, name+"forced"))
		locktest.RequireWaiting(t, waiter, 2, 2)
		slot := r.Slot(t, name)
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3])
		m.Move(t, 1000)
		at := time.Now()
		locktest.Unlock(t, released)
		locktest.Unlock(t, locktest.Granted(t, woken))
		was, err := kind(holder, name+"forced").ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
		locktest.Unlock(t, locktest.Granted(t, woken2))
		t.Logf("%s: both woken in %v", name, time.Since(at))
		require.ErrorIs(t, forced.Unlock(t.Context()), lockwheel.ErrLost)
		m.End(t)
	}
	locktest.RequireIdle(t, holder)
	locktest.RequireIdle(t, waiter)
}

// A waiter slept before the slot began to move, in an engine that requests nothing else there. The release is
// published only on the target node, as Redisson does. In a cluster each waiter asks again every few seconds.
func TestCluster_MessageOnTarget_WaiterWoken(t *testing.T) {
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	waiter := r.Open(lockwheel.Options{})
	const name = "{slot}n"
	slot := r.Slot(t, name)
	from := r.Master(t, slot)
	require.Equal(t, 1, from.Int(t, "HSET", name, "redisson:1", 1))
	require.Equal(t, 1, from.Int(t, "PEXPIRE", name, time.Hour.Milliseconds()))
	woken := locktest.Locking(t.Context(), waiter.Mutex(name))
	locktest.RequireWaiting(t, waiter, 1, 1)
	to := r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3]
	m := r.Migrate(t, slot, to)
	m.Move(t, 1000)
	conn := to.Conn(t)
	for _, command := range [][]any{{"DEL", name}, {"SPUBLISH", "redisson_lock__channel:" + name, "0"}} {
		_, err := conn.Do("ASKING")
		require.NoError(t, err)
		_, err = conn.Do(command...)
		require.NoError(t, err)
	}
	at := time.Now()
	select {
	case got := <-woken:
		require.NoError(t, got.Err)
		t.Logf("it came after %v", time.Since(at))
		locktest.Unlock(t, got.Hold)
	case <-time.After(20 * time.Second):
		t.Fatal("it sleeps")
	}
	m.End(t)
	locktest.RequireIdle(t, waiter)
}

// While there is no master, requests for one do not accumulate, however long that takes. The engine still finds the
// next master.
func TestSentinel_NamesDeadMaster_NoPileUp(t *testing.T) {
	long.Only(t, "sentinels name a dead master for ten seconds")
	w := redistest.StartSentinels(t, 1, 3)
	master, replica := w.Servers[0], w.Servers[1]
	replica.Do(t, "CONFIG", "SET", "replica-priority", "0") // the sentinels have no replacement
	e := behindSentinel(t, w, lockwheel.Options{})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	before := runtime.NumGoroutine()
	require.NoError(t, master.Kill())
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		require.Less(t, runtime.NumGoroutine(), before+100)
	}
	replica.Do(t, "CONFIG", "SET", "replica-priority", "100")
	// Sentinel repeats a failed failover after ten seconds, and may just have tried.
	locktest.CheckRange(t, 4*locktest.TestDeadline, "a lock of the next master", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		if err != nil {
			return false
		}
		locktest.Unlock(t, hold)
		return true
	})
}
