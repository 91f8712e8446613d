package redisson_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// turnWait is long for one turn among many, and shorter than a lease: a waiter that misses a release is too late.
const turnWait = 25 * time.Second

// Redisson's testConcurrency_SingleInstance
func TestLoad_OneEngine_Exclusive(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(locktest.SlowTimeouts)
		var r locktest.CriticalSection
		locktest.Crowd(t, 15, func(int) error { return locktest.EnterWith(t.Context(), mutex(e, "n"), &r, lockwheel.Wait(turnWait)) })
		r.Require(t, 15)
		require.False(t, s.Exists("n"))
	})
}

// Redisson's testConcurrencyLoop_MultiInstance
func TestLoad_ManyEnginesInLoops_Exclusive(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		engines, rounds := 16, s.Amount(long.Pick(40, 100), 20)
		var r locktest.CriticalSection
		locktest.Crowd(t, engines, func(int) error {
			e := s.Open(locktest.SlowTimeouts)
			for range rounds {
				if err := locktest.EnterWith(t.Context(), mutex(e, "n"), &r, lockwheel.Wait(turnWait)); err != nil {
					return err
				}
			}
			return nil
		})
		r.Require(t, engines*rounds)
		require.False(t, s.Exists("n"))
	})
}

// Redisson's testConcurrency_MultiInstance
func TestLoad_HundredEngines_Exclusive(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		engines := s.Amount(100, 30)
		var r locktest.CriticalSection
		locktest.Crowd(t, engines, func(int) error {
			return locktest.EnterWith(t.Context(), mutex(s.Open(locktest.SlowTimeouts), "n"), &r, lockwheel.Wait(turnWait))
		})
		r.Require(t, engines)
	})
}

// Redisson's testSubscriptionsPerConnection: one connection for all channels, and none left afterwards.
func TestLoad_FewNames_NoChannelLeft(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.RealServer(t)
		engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
		const workers, names = 32, 5
		rounds := long.Pick(10, 40)
		var rooms [names]locktest.CriticalSection
		var most atomic.Int32
		locktest.Crowd(t, workers, func(i int) error {
			for range rounds {
				at := rand.IntN(names)
				if err := locktest.EnterWith(t.Context(), mutex(engines[i%2], fmt.Sprint("n", at)), &rooms[at], lockwheel.Wait(turnWait)); err != nil {
					return err
				}
				if i == 0 {
					most.Store(max(most.Load(), int32(s.Subscribers())))
				}
			}
			return nil
		})
		total := 0
		for i := range rooms {
			require.False(t, rooms[i].Crowded.Load())
			total += rooms[i].Visits
		}
		require.Equal(t, workers*rounds, total)
		// One per engine, its successor, and those before that the server has not yet found closed: far fewer than
		// one per waiter.
		require.Less(t, most.Load(), int32(workers/2), "pub/sub connections")
		locktest.Eventually(t, "no channel at the server", func() bool { return len(s.Channels()) == 0 })
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
	})
}

// Redisson's testSinglePubSub
func TestLoad_PairsTakeTurns_AllGranted(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
		var rooms [2]locktest.CriticalSection
		rounds := s.Amount(50, 20)
		locktest.Crowd(t, 4, func(i int) error {
			for range rounds {
				name := strconv.Itoa(i % 2)
				if err := locktest.EnterWith(t.Context(), mutex(engines[i/2], name), &rooms[i%2], lockwheel.Wait(locktest.TestDeadline)); err != nil {
					return err
				}
			}
			return nil
		})
		rooms[0].Require(t, 2*rounds)
		rooms[1].Require(t, 2*rounds)
	})
}

// Redisson's testConcurrencyTryLockUnLock: at every unlock the lock was held.
func TestLoad_TryLockUnlock_LockHeldAtUnlock(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(locktest.SlowTimeouts)
		m := mutex(e, "n")
		rounds := s.Amount(300, 100)
		var won atomic.Uint64
		locktest.Crowd(t, 16, func(int) error {
			for range rounds {
				hold, err := m.TryLock(t.Context())
				if err != nil {
					continue
				}
				won.Add(1)
				if held := e.Stats().Held; held != 1 {
					return fmt.Errorf("held while it is held: %d", held)
				}
				if err := hold.Unlock(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		locktest.RequireIdle(t, e)
		stats := e.Stats()
		require.NotZero(t, won.Load())
		require.Equal(t, won.Load(), stats.Acquired)
		require.Equal(t, won.Load(), stats.Released)
		require.Zero(t, stats.Lost)
	})
}

// Redisson's lockUnlockRLock, tryLockUnlockRLock
func TestLoad_Heavy_Ends(t *testing.T) {
	t.Parallel()
	for _, threads := range []int{2, 5, 20} {
		for _, random := range []bool{false, true} {
			t.Run(fmt.Sprintf("threads=%d random waits=%t", threads, random), func(t *testing.T) {
				t.Parallel()
				heavyLoad(t, threads, long.Pick(50, 150), random)
			})
		}
	}
}

// heavyLoad has all threads iterate over the same names and write something under each lock.
func heavyLoad(t *testing.T, threads, names int, random bool) {
	s := locktest.RealServer(t)
	e := s.Open(locktest.SlowTimeouts)
	var got, gaveUp atomic.Int64
	locktest.Crowd(t, threads, func(int) error {
		for name := range names {
			var opts []lockwheel.Option
			if random {
				opts = append(opts, lockwheel.Wait(time.Duration(rand.IntN(10))*time.Millisecond))
			}
			hold, err := e.Mutex(fmt.Sprint("n", name)).Lock(t.Context(), opts...)
			if err != nil && random {
				gaveUp.Add(1)
				continue
			}
			if err != nil {
				return err
			}
			locktest.ShortRun()
			got.Add(1)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.EqualValues(t, threads*names, got.Load()+gaveUp.Load())
	require.NotZero(t, got.Load())
	locktest.RequireIdle(t, e)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	stats := e.Stats()
	require.EqualValues(t, got.Load(), stats.Released)
	require.Zero(t, stats.Lost)
}

// Owners that share a handle share nothing else. The race detector checks that.
func TestLoad_OwnersOfOneHandle_ShareNothing(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		m := mutex(s.Open(locktest.SlowTimeouts), "n")
		var r locktest.CriticalSection
		leases := []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour}
		rounds := s.Amount(10, 3)
		locktest.Crowd(t, 16, func(i int) error {
			lease := leases[i%len(leases)]
			var opts []lockwheel.Option
			if lease > 0 {
				opts = append(opts, lockwheel.Lease(lease))
			} else {
				lease = 30 * time.Second
			}
			for range rounds {
				hold, err := m.Lock(t.Context(), append(opts, lockwheel.Wait(turnWait))...)
				if err != nil {
					return err
				}
				left := time.Until(hold.Deadline())
				r.Enter(locktest.ShortRun)
				if left < lease/3 || left > lease {
					return fmt.Errorf("asked for %v, got %v", lease, left)
				}
				if err := hold.Unlock(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
		r.Require(t, 16*rounds)
	})
}
