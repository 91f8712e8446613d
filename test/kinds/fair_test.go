package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Callers are served in the order of their arrival, whichever engine they use. This holds if they arrive while the
// lock is held, and if it is free but reserved for another waiter.
func TestFairQueue_ManyEngines_ArrivalOrder(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	const waiters = 12
	inOrder := func(begin func()) {
		t.Helper()
		order, before := make(chan int, waiters), s.Waiting("n")
		var done []<-chan error
		for i := range waiters {
			result := make(chan error, 1)
			go func() {
				result <- engines[i%3].FairMutex("n").Do(t.Context(), func(ctx context.Context) error {
					order <- i
					return nil
				})
			}()
			done = append(done, result)
			locktest.Eventually(t, "a place in the queue", func() bool { return s.Waiting("n") == before+i+1 })
		}
		begin()
		for i := range waiters {
			require.NoError(t, locktest.Receive(t, done[i]))
			require.Equal(t, i, <-order)
		}
		require.Equal(t, []any{}, s.Do("KEYS", "*"))
	}
	first := locktest.Lock(t, engines[0].FairMutex("n"))
	inOrder(func() { locktest.Unlock(t, first) })
	s.Stand("n", "another client", time.Minute)
	inOrder(func() {
		require.False(t, s.Exists("n"))
		require.Equal(t, "another client", s.Do("LPOP", "redisson_lock_queue:{n}")) // first: any acquire would remove a place without a time
		s.Do("ZREM", "redisson_lock_timeout:{n}", "another client")
	})
	for _, e := range engines {
		require.Zero(t, e.Stats().HandedOff)
		locktest.RequireIdle(t, e)
	}
}

// Redisson's testLeaseTimeout: no waiter unlocks, and all of them acquire the lock in the order of arrival, one lease
// after the other.
func TestFairQueue_LeaseEnds_NextGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{FairWaitTimeout: 5 * time.Minute})
	const lease = locktest.ShortLease / 2
	const within = 30 * time.Second // far less than the time for which a waiter is considered alive
	first := locktest.Lock(t, e.FairMutex("n"))
	var waiting []<-chan locktest.Outcome
	for range 3 {
		waiting = append(waiting, s.QueueUp(e.FairMutex("n"), lockwheel.Wait(within), lockwheel.Lease(lease)))
	}
	began := time.Now()
	locktest.Unlock(t, first)
	before := began
	for _, done := range waiting {
		next := locktest.Granted(t, done)
		if hash := s.Hash("n"); next.Err() == nil { // inspected within its lease
			require.Equal(t, map[string]string{next.ID(): "1"}, hash)
		}
		locktest.Receive(t, next.Done())
		require.ErrorIs(t, next.Err(), lockwheel.ErrLost)
		require.Greater(t, next.Deadline(), before.Add(lease/2), "in the order in which they came, when the one before was over")
		before = next.Deadline()
	}
	require.Less(t, time.Since(began), within)
	locktest.Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
}

// Redisson's testMultipleLocks; redisson#3004, #2883: of 500 waiters 100 acquired the lock. Each waiter would be
// considered dead long before its turn comes, unless its engine keeps its place alive.
func TestFairQueue_500Waiters_GrantedInOrder(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	const alive = 7 * time.Second // longer than the longest observed pause of a busy machine
	e := s.Open(lockwheel.Options{FairWaitTimeout: alive, CallTimeout: locktest.SlowTimeouts.CallTimeout})
	waiters := s.Amount(500, 200)
	work := alive * 3 / 2 / time.Duration(waiters)
	m := e.FairMutex("n")
	hold := locktest.Lock(t, m)
	var pending []*lockwheel.Pending
	for range waiters {
		pending = append(pending, m.LockAsync(t.Context()))
	}
	locktest.Eventually(t, "all in the queue", func() bool { return s.Waiting("n") == waiters })
	locktest.Unlock(t, hold)
	for _, p := range pending {
		locktest.Receive(t, p.Done())
		next, err := p.Hold()
		require.NoError(t, err)
		time.Sleep(work)
		locktest.Unlock(t, next)
	}
	locktest.RequireIdle(t, e)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// A grant does not touch the places of waiters of the same engine. Otherwise the cost would be quadratic in the
// length of the queue.
func TestFairQueue_Grant_OtherTimesUnchanged(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{FairWaitTimeout: time.Hour}) // until it elapses no waiter asks again, and no head moves the times
	m := e.FairMutex("n")
	hold := locktest.Lock(t, m)
	var pending []*lockwheel.Pending
	for range 100 {
		pending = append(pending, m.LockAsync(t.Context()))
	}
	locktest.Eventually(t, "all in the queue", func() bool { return s.Waiting("n") == len(pending) })
	before := s.Scores("n") // one command: separate commands for so many places would take long
	require.Len(t, before, len(pending))
	s.Do("CONFIG", "RESETSTAT")
	locktest.Unlock(t, hold)
	for i, p := range pending {
		locktest.Receive(t, p.Done())
		next, err := p.Hold()
		require.NoError(t, err)
		require.Equal(t, before[i+1:], append([]int64{}, s.Scores("n")...))
		locktest.Unlock(t, next)
	}
	require.NotContains(t, s.Do("INFO", "commandstats"), "cmdstat_zadd:")
	locktest.RequireIdle(t, e)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// Redisson's test…TimeoutDrift; redisson#1104, #2099: times in the queue were hours ahead.
func TestFairQueue_Times_DoNotDrift(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	const waiters, wait = 10, time.Second                                           // twice that without a word, as on a machine that stands still, and a place counts for a stranger's
	hold := locktest.Lock(t, engines[0].FairMutex("n"), lockwheel.Lease(time.Hour)) // which nothing extends
	var leaving atomic.Int64
	leaving.Store(waiters)
	locktest.Crowd(t, waiters+1, func(i int) error {
		if i == waiters {
			return s.NotAhead("n", wait, func() (time.Time, bool) {
				left := s.PTTL("n") // first, so that a late reply makes the end later; keys live longer on a server that was paused
				return time.Now().Add(left + wait*3/4), leaving.Load() > 0
			})
		}
		defer leaving.Add(-1)
		for range 4 {
			if _, err := engines[i%2].FairMutex("n").TryLock(t.Context(), lockwheel.Wait(wait)); err == nil {
				return errors.New("granted beside a holder")
			}
		}
		return nil
	})
	locktest.Eventually(t, "an empty queue", func() bool { return s.Waiting("n") == 0 && s.Do("EXISTS", "redisson_lock_timeout:{n}") == int64(0) })
	locktest.Unlock(t, hold)
}

// Redisson's testLockAcquiredTimeoutDrift, testFirstThreadDeathTimeoutDrift: the times also do not run ahead while the
// lock passes from one waiter to the next. Meanwhile some waiters give up and some in the queue are dead. When
// ForceUnlock takes the lock away, it is free at once.
func TestFairQueue_LockPasses_TimesDoNotDrift(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const waiters, lease, wait, busy = 8, 5 * time.Second, 300 * time.Millisecond, 2 * time.Second
	engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
	var granted, refused, going atomic.Int64
	going.Store(waiters)
	locktest.Crowd(t, waiters+1, func(i int) error {
		if i == waiters {
			dead := 0
			return s.NotAhead("n", wait, func() (time.Time, bool) {
				if dead < 2 && granted.Load() >= waiters*10 {
					s.StandLast("n", fmt.Sprint("00000000-0000-4000-8000-000000000000:", dead), wait)
					dead++
				}
				// A waiter right behind a client of another kind adds as much time as that one may subtract.
				return time.Now().Add(lease + busy + time.Duration(dead)*5*time.Minute), going.Load() > 0
			})
		}
		defer going.Add(-1)
		mine := wait - time.Duration(i)*time.Millisecond // a unique wait, so no two waiters share a time
		for range 25 {
			hold, err := engines[i%2].FairMutex("n").Lock(t.Context(), lockwheel.Wait(mine), lockwheel.Lease(lease))
			if errors.Is(err, lockwheel.ErrNotAcquired) || errors.Is(err, lockwheel.ErrUnavailable) { // a busy machine replies later than that
				refused.Add(1)
				continue
			}
			if err != nil {
				return err
			}
			granted.Add(1)
			time.Sleep(wait / waiters / 4)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.NotZero(t, granted.Load())
	require.NotZero(t, refused.Load())
	// On a busy machine many may have given up just now, and the two dead clients stand in between.
	s.Do("DEL", "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}")
	locktest.Lock(t, engines[0].FairMutex("n"), lockwheel.Lease(time.Hour))
	s.Stand("n", "00000000-0000-4000-8000-000000000000:1", 30*time.Second)
	locktest.ForceUnlock(t, engines[1].FairMutex("n"))
	locktest.RequireLocked(t, engines[0].FairMutex("n"), false)
	for _, at := range s.Scores("n") {
		require.Less(t, at, time.Now().Add(31*time.Second).UnixMilli())
	}
}

// A waiter is considered alive for one lease from the time at which the lock could be its own. Options or its Wait may
// say less. Behind a client of another kind it is the five minutes that such a client adds, and subtracts.
func TestFairQueue_Default_AliveForOneLease(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const lease = 12 * time.Second // the last waiter asks only after a third of it, which is well within TestDeadline
	m := s.Open(lockwheel.Options{Lease: lease}).FairMutex("n")
	hold := locktest.Lock(t, m, lockwheel.Lease(time.Hour))
	free := time.Now().Add(s.PTTL("n"))
	first, second := s.QueueUp(m), s.QueueUp(m, lockwheel.Wait(time.Minute))
	s.StandLast("n", "another client", 5*time.Minute)
	third := s.QueueUp(m)
	at := s.Places("n")
	require.InDelta(t, free.Add(lease).UnixMilli(), at[0], 3000)
	require.Zero(t, at[1]-at[0])
	require.InDelta(t, 300_000, at[2]-at[1], 3000)
	require.EqualValues(t, 300_000, at[3]-at[2])
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, first))
	locktest.Unlock(t, locktest.Granted(t, second))
	s.Do("LREM", "redisson_lock_queue:{n}", 0, "another client")
	s.Do("ZREM", "redisson_lock_timeout:{n}", "another client")
	locktest.Unlock(t, locktest.Granted(t, third))
}

// Redisson's test…TimeoutDrift_Descrete.
func TestFairQueue_WaiterLeaves_TimesAdjusted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{FairWaitTimeout: 50 * time.Second})
	m := e.FairMutex("n")
	began := time.Now()
	hold := locktest.Lock(t, m, lockwheel.Lease(30*time.Second))
	first := s.QueueUp(m)
	p := m.LockAsync(t.Context(), lockwheel.Wait(7*time.Second))
	locktest.Eventually(t, "a place in the queue", func() bool { return s.Waiting("n") == 2 })
	third := s.QueueUp(m)
	fourth := s.QueueUp(m, lockwheel.Wait(40*time.Second))
	at := s.Places("n")
	require.Greater(t, at[0], began.Add(79*time.Second).UnixMilli())
	left := s.PTTL("n")
	require.LessOrEqual(t, at[0], time.Now().Add(left+50*time.Second+locktest.Skew).UnixMilli())
	// On the server a wait below FairWaitTimeout is 2 ms longer: the server counts in whole milliseconds.
	require.Equal(t, []int64{7_002, 50_000, 40_002}, []int64{at[1] - at[0], at[2] - at[1], at[3] - at[2]})

	p.Cancel()
	locktest.Eventually(t, "its place given up", func() bool { return s.Waiting("n") == 3 })
	require.Equal(t, []int64{at[0], at[2] - 7_002, at[3] - 7_002}, s.Places("n"))
	locktest.Unlock(t, hold)
	next := locktest.Granted(t, first)
	require.Equal(t, []int64{at[2] - 57_002, at[3] - 57_002}, s.Places("n"))
	locktest.Unlock(t, next)
	locktest.Unlock(t, locktest.Granted(t, third))
	locktest.Unlock(t, locktest.Granted(t, fourth))
}

// TryLock without a wait neither queues nor overtakes, and one with a wait leaves no place.
func TestFairQueue_TryLockNoWait_NeverQueues(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	neverQueues := func(m lockwheel.Mutex) { // a place that is given up at once would not be visible
		t.Helper()
		before := s.Real.CommandCalls(t, "rpush")
		locktest.StateFailed(t, m)
		require.Equal(t, before, s.Real.CommandCalls(t, "rpush"))
	}
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, e := range []*lockwheel.Engine{here, elsewhere} {
		hold := locktest.Lock(t, here.FairMutex("n"))
		neverQueues(e.FairMutex("n"))
		locktest.RequireTaken(t, func(wait lockwheel.Option) error { return locktest.Second(e.FairMutex("n").TryLock(t.Context(), wait)) })
		locktest.Eventually(t, "no place left", func() bool { return s.Waiting("n") == 0 })
		locktest.Unlock(t, hold)
		s.Stand("n", "another client", time.Minute)
		neverQueues(e.FairMutex("n")) // free, but another waiter's turn
		require.Equal(t, int64(2), s.Do("DEL", "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}"))
		again, err := e.FairMutex("n").TryLock(t.Context())
		require.NoError(t, err)
		locktest.Unlock(t, again)
	}
}

// Unlock of a lost hold reports the loss, and wakes the next waiter nevertheless.
func TestFairQueue_UnlockLost_HeadWoken(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, here.FairMutex("n"))
	waiting := s.QueueUp(elsewhere.FairMutex("n"))
	locktest.RequireWaiting(t, elsewhere, 1, 1)
	require.Equal(t, int64(1), s.Do("DEL", "n"))
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.Unlock(t, locktest.Granted(t, waiting)) // within patience: not at the end of the lease
}

// Redisson's testNameMapper
func TestFairQueue_Prefix_InItsKeys(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{Prefix: "test:"}).FairMutex("n")
	hold := locktest.Lock(t, m)
	done := locktest.Locking(t.Context(), m)
	locktest.Eventually(t, "a place in the queue", func() bool { return s.Waiting("test:n") == 1 })
	require.True(t, s.Exists("test:n"))
	require.True(t, s.Exists("redisson_lock_timeout:{test:n}"))
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, done))
}

// Redisson's testAcquireFailedNotCalledOnRedisTimeout; redisson#6150, #5019.
func TestFairQueue_SilentServer_NoPlaceLeft(t *testing.T) {
	t.Parallel()
	// For this time no waiter asks again. Otherwise its command could be in flight on the link when that fails, and
	// keep the third from asking.
	s, p, e := locktest.Behind(t, lockwheel.Options{Lease: 3 * time.Second, FairWaitTimeout: time.Minute})
	holder := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, holder.FairMutex("n"))
	first := s.QueueUp(holder.FairMutex("n"))
	ctx, leave := context.WithCancel(t.Context())
	second := locktest.Locking(ctx, e.FairMutex("n"))
	locktest.Eventually(t, "a place in the queue", func() bool { return s.Waiting("n") == 2 })
	locktest.Eventually(t, "its question after it was subscribed, and the answer", func() bool { return e.Stats().Commands >= 2 })
	locktest.Eventually(t, "nothing under way as the link falls silent", func() bool {
		locktest.RequireWaiting(t, e, 1, 1)
		if p.Set(proxy.Replies, proxy.Hold); e.Stats().InFlight == 0 {
			return true
		}
		p.Set(proxy.Replies, proxy.Pass)
		return false
	})
	third := locktest.Locking(t.Context(), e.FairMutex("n"), lockwheel.Wait(2*time.Second))
	locktest.Eventually(t, "a place of no caller here", func() bool { return s.Waiting("n") == 3 })
	require.ErrorIs(t, locktest.Receive(t, third).Err, lockwheel.ErrUnavailable)
	leave()
	require.Error(t, locktest.Receive(t, second).Err)
	p.Set(proxy.Replies, proxy.Pass)
	locktest.Eventually(t, "the others' places only", func() bool { return s.Waiting("n") == 1 })
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, first))
	locktest.RequireIdle(t, e)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// Waiters behind a dead head ask only at intervals, and when its time has elapsed the next one is served.
func TestFairQueue_DeadHead_PolledQuietly(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.FairMutex("n")
	const dead, waiters = locktest.TestDeadline, 50
	began := time.Now()
	s.Stand("n", "00000000-0000-4000-8000-000000000000:1", dead-200*time.Millisecond)
	s.Stand("n", "00000000-0000-4000-8000-000000000000:2", dead) // the second place is dead, too
	var pending []*lockwheel.Pending
	for range waiters {
		pending = append(pending, m.LockAsync(t.Context()))
	}
	locktest.Eventually(t, "all in the queue", func() bool { return s.Waiting("n") == waiters+2 })
	locktest.RequireWaiting(t, e, waiters, waiters)
	before, asked, commands := time.Now(), s.Scripts(), e.Stats().Commands
	locktest.Always(t, 2*time.Second, "a free lock", func() bool { return !s.Exists("n") })
	tries := s.Scripts() - asked
	// The first live waiter asks every 250 to 500 ms, and no other waiter does.
	require.LessOrEqual(t, tries, int(4*time.Since(before).Seconds()+1))
	require.LessOrEqual(t, e.Stats().Commands-commands, uint64(4*time.Since(before).Seconds()+1))
	for _, p := range pending {
		locktest.Receive(t, p.Done())
		hold, err := p.Hold()
		require.NoError(t, err)
		locktest.Unlock(t, hold)
	}
	require.GreaterOrEqual(t, time.Since(began), dead-locktest.Skew)
	locktest.RequireIdle(t, e)
}

// A lock is held for longer than waiters are considered alive without asking. They ask at a third of that time. If
// they are too late for it, as on a paused machine, they lose their places. So on a machine that was late it is tried
// again, with waiters that live for longer.
func TestFairQueue_LongHold_OrderKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for alive := 3 * time.Second; ; alive *= 2 {
		late, kept := holdLong(t, s, alive)
		if kept {
			return
		}
		t.Logf("alive for %v: a place was lost; the machine was late by %v", alive, late)
		require.Greater(t, late, alive/12, "the queue as it is")
		require.Less(t, alive, 10*time.Second, "the queue as it is, each time on a machine that was late")
	}
}

// holdLong holds a fair lock with six waiters, and then lets them have it in turn. Another client tries all the while,
// which removes dead waiters from the head. It reports whether all six kept their places, and how late this process or
// its server was at most.
func holdLong(t *testing.T, s *locktest.Server, alive time.Duration) (late time.Duration, kept bool) {
	t.Helper()
	opts, name := lockwheel.Options{FairWaitTimeout: alive}, "n"+alive.String()
	engines := []*lockwheel.Engine{s.Open(opts), s.Open(opts), s.Open(opts)}
	for _, e := range engines {
		defer e.Close()
	}
	places := func() any { return s.Do("LRANGE", "redisson_lock_queue:{"+name+"}", 0, -1) }
	hold := locktest.Lock(t, engines[0].FairMutex(name))
	var waiting []<-chan locktest.Outcome
	looked := time.Now()
	for i := range 6 {
		waiting = append(waiting, s.QueueUp(engines[i%2].FairMutex(name)))
	}
	queue := places()
	for end := time.Now().Add(2*alive + alive/2); looked.Before(end); time.Sleep(5 * time.Millisecond) {
		_, err := engines[2].FairMutex(name).TryLock(t.Context())
		kept = err != nil && reflect.DeepEqual(queue, places())
		before := looked
		looked = time.Now()
		if late = max(late, looked.Sub(before)); !kept {
			return late, false
		}
	}
	locktest.Unlock(t, hold)
	for _, done := range waiting {
		locktest.Unlock(t, locktest.Granted(t, done))
	}
	return late, true
}

// A place has no time, for example because the times were evicted.
func TestFairQueue_PlaceWithoutTime_NoBlock(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	s.Do("RPUSH", "redisson_lock_queue:{n}", "orphan")
	hold := locktest.Lock(t, e.FairMutex("n"))
	first := s.QueueUp(e.FairMutex("n"))
	second := s.QueueUp(e.FairMutex("n"))
	locktest.RequireWaiting(t, e, 2, 2)
	require.Equal(t, int64(1), s.Do("DEL", "redisson_lock_timeout:{n}"))
	locktest.Unlock(t, hold)
	for range 2 { // in any order: the order is lost with the times
		var got locktest.Outcome
		select {
		case got = <-first:
		case got = <-second:
		case <-time.After(locktest.TestDeadline):
			require.FailNow(t, "the waiter was not granted the lock")
		}
		require.NoError(t, got.Err)
		locktest.Unlock(t, got.Hold)
	}
	locktest.RequireIdle(t, e)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// ForceUnlock of a fair lock gives it to the head of the queue, and not to a later waiter.
func TestFairQueue_ForceUnlock_HeadGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, e := range []*lockwheel.Engine{here, elsewhere} {
		hold := locktest.Lock(t, here.FairMutex("n"))
		first, second := s.QueueUp(elsewhere.FairMutex("n")), s.QueueUp(here.FairMutex("n"))
		locktest.RequireWaiting(t, elsewhere, 1, 1)
		locktest.ForceUnlock(t, e.FairMutex("n"))
		next := locktest.Granted(t, first)
		locktest.RequireNoReply(t, second, 50*time.Millisecond)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		locktest.Unlock(t, next)
		locktest.Unlock(t, locktest.Granted(t, second))
	}
	locktest.RequireIdle(t, here)
	locktest.RequireIdle(t, elsewhere)
	require.Equal(t, []any{}, s.Do("KEYS", "*"))
}

// Shutdown removes the places of its engine's waiters from fair queues before it returns.
func TestFairQueue_Shutdown_PlacesRemoved(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, other.FairMutex("n"))
	var waiting []<-chan locktest.Outcome
	for range 20 {
		waiting = append(waiting, s.QueueUp(e.FairMutex("n")))
	}
	last := s.QueueUp(other.FairMutex("n"))
	require.NoError(t, e.Shutdown(t.Context()))
	require.Equal(t, 1, s.Waiting("n"), "before Shutdown returned")
	for _, done := range waiting {
		require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrClosed)
	}
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, last))
}

// A fair holder re-enters like any other holder, and each other request has its own place.
func TestFairQueue_Reentry_OwnerOnly(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.FairMutex("n")
	outer := locktest.Lock(t, m)
	waiting := s.QueueUp(m)
	inner := locktest.LockWith(t, outer.Context(), m)
	require.Equal(t, outer.ID(), inner.ID())
	require.NoError(t, inner.Extend(t.Context(), time.Hour))
	locktest.Unlock(t, inner)
	locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
	locktest.Unlock(t, outer)
	next := locktest.Granted(t, waiting)
	require.NotEqual(t, outer.ID(), next.ID())
	stranger := s.QueueUp(m)
	locktest.Unlock(t, next)
	locktest.Unlock(t, locktest.Granted(t, stranger))
}
