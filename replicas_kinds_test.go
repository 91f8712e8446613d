package lockwheel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Grants of every kind of lock that count only if replicas have them.

// grantable returns all kinds of lock, including the shared one.
func grantable() map[string]kindOfLock {
	all := map[string]kindOfLock{
		"reader": func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() },
		"writer": func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() },
	}
	for name, kind := range kinds {
		all[name] = kind
	}
	return all
}

func TestALockOfAnyKindThatNoReplicaHasIsUndone(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	e := master.open(twice)
	for name, kind := range grantable() {
		hold := lock(t, kind(e, name))
		require.Contains(t, fmt.Sprint(replica.hash(name)), hold.ID(), name)
		unlock(t, hold)
	}
	require.NoError(t, replica.real.Pause())
	refused := make(map[string]<-chan outcome)
	for name, kind := range grantable() {
		refused[name] = locking(t.Context(), kind(e, name))
	}
	for name, done := range refused {
		require.ErrorIs(t, receive(t, done).err, lockwheel.ErrNotReplicated, name)
		require.False(t, master.exists(name), name)
	}
	require.NoError(t, replica.real.Continue())
	for name, kind := range grantable() {
		unlock(t, lock(t, kind(e, name)))
	}
	requireIdle(t, e)
	require.ElementsMatch(t, []any{"redisson_lock_token:{fenced}"}, master.do("KEYS", "*"), "nothing else is left behind")
}

// Callers of one name get ErrNotReplicated together. They do not each wait for replicas, one after the other.
func TestAllWhoWaitForALockThatNoReplicaHasAreTold(t *testing.T) {
	t.Parallel()
	const callers = 20
	master, replica := withReplica(t)
	e := master.open(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 500 * time.Millisecond}})
	lockable := func(m lockwheel.Mutex) {
		t.Helper()
		eventually(t, "the replica has it in time", func() bool {
			hold, err := m.Lock(t.Context())
			return err == nil && hold.Unlock(t.Context()) == nil
		})
	}
	lockable(e.Mutex("before"))
	require.NoError(t, replica.real.Pause())
	asked := master.real.CommandCalls(t, "wait")
	refused := make(map[string][]<-chan outcome)
	for name, kind := range grantable() {
		for i := range callers {
			var opts []lockwheel.Option
			if i%2 == 1 {
				opts = append(opts, lockwheel.Wait(testDeadline))
			}
			refused[name] = append(refused[name], locking(t.Context(), kind(e, name), opts...))
		}
	}
	for name, all := range refused {
		for _, done := range all {
			err := receive(t, done).err
			require.ErrorIs(t, err, lockwheel.ErrNotReplicated, name)
			require.ErrorContains(t, err, "0 of 1", name)
		}
	}
	require.Less(t, master.real.CommandCalls(t, "wait")-asked, callers, "the exclusive ones alone would have taken four times as many")
	require.NoError(t, replica.real.Continue())
	for name, kind := range grantable() {
		lockable(kind(e, name))
	}
	requireIdle(t, e)
}

// A repeated acquire finds its own field. It is a grant only if replicas have that field.
func TestAnAcquireOfAnyKindThatIsSentAgainHasItsReplicas(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	p := proxy.Start(t, master.addr)
	e := master.openAt(p.Addr(), twice)
	for name, kind := range grantable() {
		require.NoError(t, replica.real.Pause())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
		_, err := kind(e, name).Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated, name)
		require.NoError(t, replica.real.Continue())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
		hold := lock(t, kind(e, name))
		require.Contains(t, fmt.Sprint(replica.hash(name)), hold.ID(), name)
		unlock(t, hold)
	}
	requireIdle(t, e)
}

// The next owner in the same engine has a token of its own, which counts only if replicas have it.
func TestATokenThatNoReplicaHasIsNotHandedOn(t *testing.T) {
	t.Parallel()
	master, replica := withReplica(t)
	e := master.open(twice)
	m := e.FencedMutex("n")
	first := lock(t, m)
	second := locking(t.Context(), m)
	queued(t, e, 1)
	unlock(t, first)
	hold := granted(t, second)
	require.Equal(t, uint64(1), e.Stats().HandedOff)
	require.Equal(t, fmt.Sprint(hold.Token()), replica.do("GET", "redisson_lock_token:{n}"))
	unlock(t, hold)

	hold = lock(t, m)
	third := locking(t.Context(), m)
	queued(t, e, 1)
	require.NoError(t, replica.real.Pause())
	unlock(t, hold)
	require.ErrorIs(t, receive(t, third).err, lockwheel.ErrNotReplicated)
	require.Equal(t, uint64(1), e.Stats().HandedOff)
	require.False(t, master.exists("n"))
	require.NoError(t, replica.real.Continue())
	last := lock(t, m)
	require.Greater(t, last.Token(), hold.Token())
	unlock(t, last)
	requireIdle(t, e)
}

// Behind Sentinel the replicas are those of the current master.
func TestSentinelsNextMasterHasWhatReplicasHad(t *testing.T) {
	long.Only(t, "it starts sentinels, and they replace the master")
	t.Parallel()
	w := redistest.StartSentinels(t, 2, 3)
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{
		Redis:    rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name}},
		Replicas: lockwheel.Replicas{Min: 2},
	})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	holds := make(map[string]*lockwheel.Hold)
	for name, kind := range grantable() {
		holds[name] = lock(t, kind(e, name))
	}
	old := w.Master(t)
	require.NoError(t, old.Kill())
	next := w.AwaitMaster(t, old)
	for name, hold := range holds {
		require.Contains(t, fmt.Sprint(next.Hash(t, name)), hold.ID(), "it was granted, so every replica had it")
		unlock(t, hold)
	}
	_, err = e.Mutex("other").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated, "there is one replica left")
	requireIdle(t, e)
}
