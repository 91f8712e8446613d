package kinds_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The waiters of an engine that is gone delay the others once, for the rest of one lease, wherever they are in the
// queue. They do not add up, and their own Wait does not matter.
func TestFairQueue_EngineGone_DelaysOneLease(t *testing.T) {
	t.Parallel()
	for how, ends := range map[string]func(p *proxy.Proxy, e *lockwheel.Engine){
		"killed":  func(_ *proxy.Proxy, e *lockwheel.Engine) { _ = e.Close() },
		"cut off": func(p *proxy.Proxy, _ *lockwheel.Engine) { p.Refuse(true); p.Set(proxy.Both, proxy.Drop) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, p, dies := locktest.Behind(t, lockwheel.Options{Lease: locktest.HolderLease})
			lives := s.Open(lockwheel.Options{FairWaitTimeout: locktest.HolderLease})
			hold := locktest.Lock(t, lives.FairMutex("n"))
			var waiting []<-chan locktest.Outcome
			for range 4 {
				s.QueueUp(dies.FairMutex("n"))
				s.QueueUp(dies.FairMutex("n"), lockwheel.Wait(time.Hour))
				waiting = append(waiting, s.QueueUp(lives.FairMutex("n")))
			}
			ends(p, dies)
			gone := time.Now()
			locktest.Unlock(t, hold)
			for _, done := range waiting {
				locktest.Unlock(t, locktest.Granted(t, done))
			}
			took := time.Since(gone)
			t.Logf("the last was served after %v", took)
			require.Less(t, took, 3*locktest.HolderLease, "one lease, and what a busy machine takes")
			require.Equal(t, []any{}, s.Do("KEYS", "*"))
		})
	}
}

// A live waiter keeps its place while the lock is held for many leases, even without a Wait of that length.
func TestFairQueue_LongHold_PlacesKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const life = 7 * time.Second // of a place that is not kept alive; longer than a machine stands still
	here, elsewhere := s.Open(lockwheel.Options{FairWaitTimeout: life}), s.Open(lockwheel.Options{FairWaitTimeout: life})
	hold := locktest.Lock(t, here.FairMutex("n"))
	var waiting []<-chan locktest.Outcome
	for range 3 {
		waiting = append(waiting, s.QueueUp(here.FairMutex("n")), s.QueueUp(elsewhere.FairMutex("n"), lockwheel.Wait(time.Hour)))
	}
	queue := s.Do("LRANGE", "redisson_lock_queue:{n}", 0, -1)
	locktest.Always(t, life+life/2, "the queue as it is", func() bool { return reflect.DeepEqual(queue, s.Do("LRANGE", "redisson_lock_queue:{n}", 0, -1)) })
	require.Greater(t, s.PTTL("redisson_lock_places:{n}"), time.Duration(0))
	locktest.Unlock(t, hold)
	for _, done := range waiting {
		locktest.Unlock(t, locktest.Granted(t, done))
	}
	locktest.RequireIdle(t, here)
	locktest.RequireIdle(t, elsewhere)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// An acquire that the network delivers after its engine has given it up adds no place, and does not acquire a free
// lock.
func TestFairQueue_LateAcquire_NoPlace(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{true, false} {
		s, p, e := locktest.Behind(t, lockwheel.Options{Lease: locktest.HolderLease}) // the engine gives up after a third of that
		others := s.Open(lockwheel.Options{})
		locktest.Unlock(t, locktest.Lock(t, e.FairMutex("n")))
		var hold *lockwheel.Hold
		if !free {
			hold = locktest.Lock(t, others.FairMutex("n"))
		}
		p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
		ctx, leave := context.WithCancel(t.Context())
		waiting := locktest.Locking(ctx, e.FairMutex("n"))
		locktest.Eventually(t, "its question on the way", func() bool { return p.Buffered(proxy.Commands) > 0 })
		leave()
		require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrUnavailable)
		// The engine closes the connection, and on the next one it releases what may be there.
		locktest.RequireIdle(t, e)
		asked := s.Scripts()
		p.Set(proxy.Commands, proxy.Pass)
		locktest.Eventually(t, "the late command", func() bool { return s.Scripts() > asked })
		if !free {
			require.Zero(t, s.Waiting("n"))
			locktest.Unlock(t, hold)
		}
		require.Equal(t, []any{}, s.Do("KEYS", "*"))
		next, err := others.FairMutex("n").TryLock(t.Context())
		require.NoError(t, err)
		locktest.Unlock(t, next)
	}
}

// A paused server reads the commands of two connections in any order afterwards: acquires that were given up, and the
// commands that undo them.
func TestFairQueue_ServerPaused_NoStalePlace(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: locktest.FlashLease})
	for range 3 {
		hold := locktest.Lock(t, e.FairMutex("n"))
		require.NoError(t, s.Real.Pause())
		ctx, leave := context.WithCancel(t.Context())
		var waiting []<-chan locktest.Outcome
		for range 5 {
			waiting = append(waiting, locktest.Locking(ctx, e.FairMutex("n")))
		}
		locktest.Receive(t, hold.Done())
		leave()
		for _, done := range waiting {
			require.Error(t, locktest.Receive(t, done).Err)
		}
		require.NoError(t, s.Real.Continue())
		locktest.Eventually(t, "nothing", func() bool { return s.Do("DBSIZE") == int64(0) })
		locktest.RequireIdle(t, e)
		require.Equal(t, []any{}, s.Do("KEYS", "*"))
	}
}

// The list of a queue is deleted or evicted. The waiters are served one after the other nevertheless, and the times
// do not remain.
func TestFairQueue_ListLost_AllServed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	hold := locktest.Lock(t, engines[0].FairMutex("n"))
	done := make(chan locktest.Outcome)
	const waiters = 12
	for i := range waiters {
		waiting := s.QueueUp(engines[i%2].FairMutex("n"))
		go func() { done <- <-waiting }()
	}
	s.Do("ZADD", "redisson_lock_timeout:{n}", time.Now().Add(time.Hour).UnixMilli(), "00000000-0000-4000-8000-000000000000:1") // a place without a waiter
	locktest.RequireWaiting(t, engines[0], waiters/2, waiters/2)
	locktest.RequireWaiting(t, engines[1], waiters/2, waiters/2)
	require.Equal(t, int64(1), s.Do("DEL", "redisson_lock_queue:{n}"))
	locktest.Unlock(t, hold)
	for range waiters {
		o := locktest.Receive(t, done)
		require.NoError(t, o.Err)
		locktest.Unlock(t, o.Hold)
	}
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// A free lock has thousands of dead places of any client in its queue. A caller without a Wait acquires it, because
// no live caller waits. A caller with a Wait sends one command per some hundreds of them.
func TestFairQueue_ManyDeadPlaces_Granted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	const dead = 3_000
	for _, take := range []func() (*lockwheel.Hold, error){
		func() (*lockwheel.Hold, error) { return e.FairMutex("n").TryLock(t.Context()) },
		func() (*lockwheel.Hold, error) { return e.FairMutex("n").Lock(t.Context()) },
	} {
		queue, times := []any{"RPUSH", "redisson_lock_queue:{n}"}, []any{"ZADD", "redisson_lock_timeout:{n}"}
		for i := range dead {
			id := fmt.Sprint("gone:", i)
			queue, times = append(queue, id), append(times, 1000+i, id)
		}
		require.Equal(t, int64(dead), s.Do(queue...))
		require.Equal(t, int64(dead), s.Do(times...))
		hold, err := take()
		require.NoError(t, err)
		locktest.Unlock(t, hold)
		require.Equal(t, []any{}, s.Do("KEYS", "*"))
	}
	locktest.RequireIdle(t, e)
}

// A call that ends gives up its place, even behind one with a time so far in the future that it exceeds an integer.
func TestFairQueue_BehindEndlessPlace_Leaves(t *testing.T) {
	t.Parallel()
	for _, score := range []string{"9e18", "1e19", "inf"} {
		t.Run(score, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{})
			s.Do("ZADD", "redisson_lock_timeout:{n}", score, "other")
			s.Do("RPUSH", "redisson_lock_queue:{n}", "other")
			waiting := e.FairMutex("n").LockAsync(t.Context())
			locktest.Eventually(t, "a place", func() bool { return s.Waiting("n") == 2 })
			waiting.Cancel()
			locktest.RequireIdle(t, e)
			require.Equal(t, []any{"other"}, s.Do("LRANGE", "redisson_lock_queue:{n}", 0, -1))
			s.Do("DEL", "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}")
			locktest.Unlock(t, locktest.Lock(t, e.FairMutex("n")))
		})
	}
}

// The server's clock is set back. The places of an engine that is gone still delay the others for one FairWaitTimeout,
// all of them together.
func TestFairQueue_ClockSetBack_DeadEndAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	dies, lives := s.Open(lockwheel.Options{Lease: locktest.HolderLease}), s.Open(lockwheel.Options{FairWaitTimeout: locktest.HolderLease})
	hold := locktest.Lock(t, lives.FairMutex("n"))
	for range 4 {
		s.QueueUp(dies.FairMutex("n"))
	}
	last := s.QueueUp(lives.FairMutex("n"))
	require.NoError(t, dies.Close())
	const back = `for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
		local till, rest = string.match(redis.call('HGET', KEYS[1], id), '^(%d+)(:.*)$')
		redis.call('HSET', KEYS[1], id, string.format('%.0f', till + 3600000) .. rest)
	end`
	s.Do("EVAL", back, 1, "redisson_lock_places:{n}")
	set := time.Now()
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, last))
	took := time.Since(set)
	t.Logf("served after %v", took)
	require.Less(t, took, 3*locktest.HolderLease, "one lease, and what a busy machine takes")
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}
