package lockwheel_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Places in a fair queue after their engine is gone, and commands that arrive after their caller has stopped waiting.

// The waiters of an engine that is gone delay the others once, for the rest of one lease, wherever they are in the
// queue. They do not add up, and their own Wait does not matter.
func TestAnEngineThatIsGoneHoldsUpAFairQueueForOneLease(t *testing.T) {
	t.Parallel()
	for how, ends := range map[string]func(p *proxy.Proxy, e *lockwheel.Engine){
		"killed":  func(_ *proxy.Proxy, e *lockwheel.Engine) { _ = e.Close() },
		"cut off": func(p *proxy.Proxy, _ *lockwheel.Engine) { p.Refuse(true); p.Set(proxy.Both, proxy.Drop) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, p, dies := behind(t, lockwheel.Options{Lease: holderLease})
			lives := s.open(lockwheel.Options{Lease: holderLease})
			hold := lock(t, lives.FairMutex("n"))
			var waiting []<-chan outcome
			for range 4 {
				s.queueUp(dies.FairMutex("n"))
				s.queueUp(dies.FairMutex("n"), lockwheel.Wait(time.Hour))
				waiting = append(waiting, s.queueUp(lives.FairMutex("n")))
			}
			ends(p, dies)
			gone := time.Now()
			unlock(t, hold)
			for _, done := range waiting {
				unlock(t, granted(t, done))
			}
			took := time.Since(gone)
			t.Logf("the last was served after %v", took)
			require.Less(t, took, 3*holderLease, "one lease, and what a busy machine takes")
			require.Equal(t, []any{}, s.do("KEYS", "*"))
		})
	}
}

// A live waiter keeps its place while the lock is held for many leases, even without a Wait of that length.
func TestAFairPlaceIsKeptUpForAsLongAsItsCallerWaits(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	here, elsewhere := s.open(lockwheel.Options{Lease: shortLease}), s.open(lockwheel.Options{Lease: shortLease})
	hold := lock(t, here.FairMutex("n"))
	var waiting []<-chan outcome
	for range 3 {
		waiting = append(waiting, s.queueUp(here.FairMutex("n")), s.queueUp(elsewhere.FairMutex("n"), lockwheel.Wait(time.Hour)))
	}
	queue := s.do("LRANGE", "redisson_lock_queue:{n}", 0, -1)
	always(t, 5*shortLease/2, "the queue as it is", func() bool { return reflect.DeepEqual(queue, s.do("LRANGE", "redisson_lock_queue:{n}", 0, -1)) })
	require.Greater(t, s.pttl("redisson_lock_places:{n}"), time.Duration(0))
	unlock(t, hold)
	for _, done := range waiting {
		unlock(t, granted(t, done))
	}
	requireIdle(t, here)
	requireIdle(t, elsewhere)
	require.Equal(t, []any{}, s.do("KEYS", "*"))
}

// An acquire that the network delivers after its engine has given it up adds no place, and does not acquire a free
// lock.
func TestAFairAcquireThatComesTooLateDoesNothing(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{true, false} {
		s, p, e := behind(t, lockwheel.Options{Lease: holderLease}) // the engine gives up after a third of that
		others := s.open(lockwheel.Options{})
		unlock(t, lock(t, e.FairMutex("n")))
		var hold *lockwheel.Hold
		if !free {
			hold = lock(t, others.FairMutex("n"))
		}
		p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
		ctx, leave := context.WithCancel(t.Context())
		waiting := locking(ctx, e.FairMutex("n"))
		eventually(t, "its question on the way", func() bool { return p.Buffered(proxy.Commands) > 0 })
		leave()
		require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrUnavailable)
		// The engine closes the connection, and on the next one it releases what may be there.
		requireIdle(t, e)
		asked := s.scripts()
		p.Set(proxy.Commands, proxy.Pass)
		eventually(t, "the late command", func() bool { return s.scripts() > asked })
		if !free {
			require.Zero(t, s.waiting("n"))
			unlock(t, hold)
		}
		require.Equal(t, []any{}, s.do("KEYS", "*"))
		next, err := others.FairMutex("n").TryLock(t.Context())
		require.NoError(t, err)
		unlock(t, next)
	}
}

// A paused server reads the commands of two connections in any order afterwards: acquires that were given up, and the
// commands that undo them.
func TestAFairQueueOfAServerThatStoodStillHasNoPlaceThatWasGivenUp(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{Lease: flashLease})
	for range 3 {
		hold := lock(t, e.FairMutex("n"))
		require.NoError(t, s.real.Pause())
		ctx, leave := context.WithCancel(t.Context())
		var waiting []<-chan outcome
		for range 5 {
			waiting = append(waiting, locking(ctx, e.FairMutex("n")))
		}
		receive(t, hold.Done())
		leave()
		for _, done := range waiting {
			require.Error(t, receive(t, done).err)
		}
		require.NoError(t, s.real.Continue())
		eventually(t, "nothing", func() bool { return s.do("DBSIZE") == int64(0) })
		requireIdle(t, e)
		require.Equal(t, []any{}, s.do("KEYS", "*"))
	}
}

// The list of a queue is deleted or evicted. The waiters are served one after the other nevertheless, and the times
// do not remain.
func TestAFairQueueThatLostItsListServesAll(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{})}
	hold := lock(t, engines[0].FairMutex("n"))
	done := make(chan outcome)
	const waiters = 12
	for i := range waiters {
		waiting := s.queueUp(engines[i%2].FairMutex("n"))
		go func() { done <- <-waiting }()
	}
	s.do("ZADD", "redisson_lock_timeout:{n}", time.Now().Add(time.Hour).UnixMilli(), "00000000-0000-4000-8000-000000000000:1") // a place without a waiter
	requireWaiting(t, engines[0], waiters/2, waiters/2)
	requireWaiting(t, engines[1], waiters/2, waiters/2)
	require.Equal(t, int64(1), s.do("DEL", "redisson_lock_queue:{n}"))
	unlock(t, hold)
	for range waiters {
		o := receive(t, done)
		require.NoError(t, o.err)
		unlock(t, o.hold)
	}
	for _, e := range engines {
		requireIdle(t, e)
	}
	require.Equal(t, []any{}, s.do("KEYS", "*"))
}

// A free lock has thousands of dead places of any client in its queue. A caller without a Wait acquires it, because
// no live caller waits. A caller with a Wait sends one command per some hundreds of them.
func TestManyDeadPlacesAreNoReasonToRefuseAFreeFairLock(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
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
		require.Equal(t, int64(dead), s.do(queue...))
		require.Equal(t, int64(dead), s.do(times...))
		hold, err := take()
		require.NoError(t, err)
		unlock(t, hold)
		require.Equal(t, []any{}, s.do("KEYS", "*"))
	}
	requireIdle(t, e)
}

// A call that ends gives up its place, even behind one with a time so far in the future that it exceeds an integer.
func TestAFairPlaceBehindAnEndlessOneIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, score := range []string{"9e18", "1e19", "inf"} {
		t.Run(score, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.open(lockwheel.Options{})
			s.do("ZADD", "redisson_lock_timeout:{n}", score, "other")
			s.do("RPUSH", "redisson_lock_queue:{n}", "other")
			waiting := e.FairMutex("n").LockAsync(t.Context())
			eventually(t, "a place", func() bool { return s.waiting("n") == 2 })
			waiting.Cancel()
			requireIdle(t, e)
			require.Equal(t, []any{"other"}, s.do("LRANGE", "redisson_lock_queue:{n}", 0, -1))
			s.do("DEL", "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}")
			unlock(t, lock(t, e.FairMutex("n")))
		})
	}
}

// The server's clock is set back. The places of an engine that is gone still delay the others for one FairWaitTimeout, all
// of them together.
func TestDeadFairPlacesEndTogetherWhereTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	dies, lives := s.open(lockwheel.Options{Lease: holderLease}), s.open(lockwheel.Options{Lease: holderLease})
	hold := lock(t, lives.FairMutex("n"))
	for range 4 {
		s.queueUp(dies.FairMutex("n"))
	}
	last := s.queueUp(lives.FairMutex("n"))
	require.NoError(t, dies.Close())
	const back = `for _, id in ipairs(redis.call('HKEYS', KEYS[1])) do
		local till, rest = string.match(redis.call('HGET', KEYS[1], id), '^(%d+)(:.*)$')
		redis.call('HSET', KEYS[1], id, string.format('%.0f', till + 3600000) .. rest)
	end`
	s.do("EVAL", back, 1, "redisson_lock_places:{n}")
	set := time.Now()
	unlock(t, hold)
	unlock(t, granted(t, last))
	took := time.Since(set)
	t.Logf("served after %v", took)
	require.Less(t, took, 3*holderLease, "one lease, and what a busy machine takes")
	require.Equal(t, []any{}, s.do("KEYS", "*"))
}
