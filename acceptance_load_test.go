package lockwheel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/long"
)

// These tests assert what Redisson's own tests assert under load, in smaller sizes.

// turnWait is long for one turn among many, and shorter than a lease: a waiter that misses a release is too late.
const turnWait = 25 * time.Second

// CriticalSection counts visits, and notices when two visitors are inside at once. Its counter is not atomic: the lock guards
// it, and the race detector checks that.
type CriticalSection struct {
	Visits  int
	inside  atomic.Int32
	Crowded atomic.Bool
}

func (r *CriticalSection) Enter(while func()) {
	if r.inside.Add(1) != 1 {
		r.Crowded.Store(true)
	}
	r.Visits++
	while()
	r.inside.Add(-1)
}

func (r *CriticalSection) Require(t testing.TB, visits int) {
	t.Helper()
	require.False(t, r.Crowded.Load(), "two were inside at once")
	require.Equal(t, visits, r.Visits)
}

func ShortRun() { time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond) }

// EnterWith locks, visits and unlocks, and returns what went wrong.
func EnterWith(ctx context.Context, m lockwheel.Mutex, r *CriticalSection, opts ...lockwheel.Option) error {
	hold, err := m.Lock(ctx, opts...)
	if err != nil {
		return err
	}
	r.Enter(ShortRun)
	return hold.Unlock(ctx)
}

// Crowd runs f in n goroutines and requires that none returns an error.
func Crowd(t testing.TB, n int, f func(i int) error) {
	t.Helper()
	errs := make(chan error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs <- f(i) })
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
}

// Redisson's testConcurrency_SingleInstance
func TestManyCallersOfOneEngineComeInOneByOne(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		e := s.Open(SlowTimeouts)
		var r CriticalSection
		Crowd(t, 15, func(int) error { return EnterWith(t.Context(), mutex(e, "n"), &r, lockwheel.Wait(turnWait)) })
		r.Require(t, 15)
		require.False(t, s.Exists("n"))
	})
}

// Redisson's testConcurrencyLoop_MultiInstance
func TestManyEnginesInLoopsComeInOneByOne(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		engines, rounds := 16, s.Amount(long.Pick(40, 100), 20)
		var r CriticalSection
		Crowd(t, engines, func(int) error {
			e := s.Open(SlowTimeouts)
			for range rounds {
				if err := EnterWith(t.Context(), mutex(e, "n"), &r, lockwheel.Wait(turnWait)); err != nil {
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
func TestAHundredEnginesComeInOneByOne(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		engines := s.Amount(100, 30)
		var r CriticalSection
		Crowd(t, engines, func(int) error {
			return EnterWith(t.Context(), mutex(s.Open(SlowTimeouts), "n"), &r, lockwheel.Wait(turnWait))
		})
		r.Require(t, engines)
	})
}

// Redisson's testSubscriptionsPerConnection: one connection for all channels, and none left afterwards.
func TestManyWorkersOnFewNamesLeaveNoChannel(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := RealServer(t)
		engines := []*lockwheel.Engine{s.Open(SlowTimeouts), s.Open(SlowTimeouts)}
		const workers, names = 32, 5
		rounds := long.Pick(10, 40)
		var rooms [names]CriticalSection
		var most atomic.Int32
		Crowd(t, workers, func(i int) error {
			for range rounds {
				at := rand.IntN(names)
				if err := EnterWith(t.Context(), mutex(engines[i%2], fmt.Sprint("n", at)), &rooms[at], lockwheel.Wait(turnWait)); err != nil {
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
		Eventually(t, "no channel at the server", func() bool { return len(s.Channels()) == 0 })
		for _, e := range engines {
			RequireIdle(t, e)
		}
	})
}

// Redisson's testSinglePubSub
func TestPairsThatTakeTurnsAllGetIt(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		engines := []*lockwheel.Engine{s.Open(SlowTimeouts), s.Open(SlowTimeouts)}
		var rooms [2]CriticalSection
		rounds := s.Amount(50, 20)
		Crowd(t, 4, func(i int) error {
			for range rounds {
				name := strconv.Itoa(i % 2)
				if err := EnterWith(t.Context(), mutex(engines[i/2], name), &rooms[i%2], lockwheel.Wait(TestDeadline)); err != nil {
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
func TestTryingAndUnlockingInManyGoroutinesKeepsTheBooks(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		e := s.Open(SlowTimeouts)
		m := mutex(e, "n")
		rounds := s.Amount(300, 100)
		var won atomic.Uint64
		Crowd(t, 16, func(int) error {
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
		RequireIdle(t, e)
		stats := e.Stats()
		require.NotZero(t, won.Load())
		require.Equal(t, won.Load(), stats.Acquired)
		require.Equal(t, won.Load(), stats.Released)
		require.Zero(t, stats.Lost)
	})
}

// Redisson's lockUnlockRLock, tryLockUnlockRLock
func TestHeavyLoadEnds(t *testing.T) {
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
	s := RealServer(t)
	e := s.Open(SlowTimeouts)
	var got, gaveUp atomic.Int64
	Crowd(t, threads, func(int) error {
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
			ShortRun()
			got.Add(1)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.EqualValues(t, threads*names, got.Load()+gaveUp.Load())
	require.NotZero(t, got.Load())
	RequireIdle(t, e)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	stats := e.Stats()
	require.EqualValues(t, got.Load(), stats.Released)
	require.Zero(t, stats.Lost)
}

// Owners that share a handle share nothing else. The race detector checks that.
func TestOwnersOfOneHandleWithDifferentLeasesShareNothing(t *testing.T) {
	t.Parallel()
	OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
		s := AnyServer(t)
		m := mutex(s.Open(SlowTimeouts), "n")
		var r CriticalSection
		leases := []time.Duration{0, time.Minute, time.Hour, 24 * time.Hour}
		rounds := s.Amount(10, 3)
		Crowd(t, 16, func(i int) error {
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
				r.Enter(ShortRun)
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
