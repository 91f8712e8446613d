package redisson_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Redisson's testReadLockExpiration
func TestRW_LongestReaderEnds_WriterGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	const long = 2 * time.Second
	before := time.Now()
	locktest.LockBriefly(t, t.Context(), m.RLocker(), lockwheel.Lease(long))
	locktest.LockBriefly(t, t.Context(), m.RLocker(), lockwheel.Lease(long/3))
	hold := locktest.Lock(t, elsewhere.Writer())
	require.GreaterOrEqual(t, time.Since(before), long-locktest.Skew-long/50)
	locktest.Unlock(t, hold)
}

// Redisson's testReadLockIsLocked
func TestRW_WriteHeld_OnlyOwnerReads(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	locktest.RequireLocked(t, m.RLocker(), false)
	locktest.RequireLocked(t, m.Writer(), true)
	read := locktest.LockWith(t, write.Context(), m.RLocker())
	locktest.RequireLocked(t, m.RLocker(), true)
	locktest.Unlock(t, read)
	locktest.RequireLocked(t, m.RLocker(), false)
	locktest.Unlock(t, write)
}

// Redisson's testReadLockExpirationRenewal
func TestRW_ManyReaders_Renewed(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(locktest.SteadyOptions)
	locktest.Crowd(t, 50, func(int) error {
		hold, err := e.RWMutex("n").RLocker().Lock(t.Context())
		if err != nil {
			return err
		}
		time.Sleep(locktest.SteadyLease + locktest.SteadyLease/2)
		if err := hold.Unlock(t.Context()); !errors.Is(err, lockwheel.ErrUnavailable) { // a busy machine may reply too late
			return err
		}
		return nil
	})
}

// Redisson's testName
func TestRW_NamesWithBracesAndColons_Read(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	for _, name := range []string{"a{b}c", "{a}:b", "a:b:c", "a}b"} {
		locktest.Crowd(t, 10, func(int) error {
			hold, err := e.RWMutex(name).RLocker().Lock(t.Context())
			if err != nil {
				return err
			}
			return hold.Unlock(t.Context())
		})
		locktest.Unlock(t, locktest.Lock(t, e.RWMutex(name).Writer()))
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Redisson's testWriteLockExpiration
func TestRW_WriteReenteredShorter_LeaseKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	outer := locktest.Lock(t, m.Writer(), lockwheel.Lease(10*time.Second))
	inner := locktest.LockBriefly(t, outer.Context(), m.Writer(), lockwheel.Lease(700*time.Millisecond))
	locktest.Receive(t, inner.Done())
	_, err := s.Open(lockwheel.Options{}).RWMutex("n").TryLock(t.Context(), lockwheel.Wait(locktest.ShortLease))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, outer.Err())
	locktest.Unlock(t, outer)
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsWRR
func TestRW_WriterAbandoned_ReadersGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.AbandonWriter("n", 700*time.Millisecond)
	e := s.Open(lockwheel.Options{})
	first, second := locktest.Locking(t.Context(), e.RWMutex("n").RLocker()), locktest.Locking(t.Context(), e.RWMutex("n").RLocker())
	locktest.Unlock(t, locktest.Granted(t, first))
	locktest.Unlock(t, locktest.Granted(t, second))
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsRRW
func TestRW_ReaderAbandoned_TTLFallsToIts(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.AbandonReader("n", 700*time.Millisecond)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	read := locktest.Lock(t, m.RLocker(), lockwheel.Lease(time.Hour))
	locktest.RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour)
	locktest.Unlock(t, read)
	require.LessOrEqual(t, s.PTTL("n"), 700*time.Millisecond)
	locktest.Unlock(t, locktest.Lock(t, m.Writer()))
}

// Redisson's testReadLockLeaseTimeout
func TestRW_ReadReentered_OwnLease(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	outer := locktest.Lock(t, m.RLocker(), lockwheel.Lease(locktest.ShortLease))
	inner := locktest.LockWith(t, outer.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	locktest.RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour+time.Minute)
	locktest.Unlock(t, inner)
	locktest.Eventually(t, "the shorter lease", func() bool { return s.PTTL("n") <= locktest.ShortLease })
	locktest.Unlock(t, locktest.Lock(t, m.Writer()))
	require.ErrorIs(t, outer.Err(), lockwheel.ErrLost)
}

// Redisson's testWR
func TestRW_WriteAndRead_ReleasedSeparately(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	locktest.Unlock(t, locktest.LockWith(t, write.Context(), m.RLocker()))
	locktest.RequireLocked(t, m.Writer(), true)
	locktest.Unlock(t, write)
	require.False(t, s.Exists("n"))
}

// Redisson's testWriteRead
func TestRW_WriterUnlocks_AllReadersGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	write := locktest.Lock(t, here.RWMutex("n").Writer())
	const readers = 20
	var inside atomic.Int32
	all := make(chan struct{})
	done := make(chan error, readers)
	for i := range readers {
		m := []*lockwheel.Engine{here, elsewhere}[i%2].RWMutex("n").RLocker()
		go func() {
			done <- m.Do(t.Context(), func(context.Context) error {
				if inside.Add(1) == readers {
					close(all)
				}
				select {
				case <-all:
					return nil
				case <-time.After(locktest.TestDeadline):
					return fmt.Errorf("only %d read together", inside.Load())
				}
			})
		}()
	}
	locktest.RequireWaiting(t, elsewhere, readers/2, 1)
	locktest.RequireWaiting(t, here, readers/2, 1)
	locktest.Unlock(t, write)
	for range readers {
		require.NoError(t, locktest.Receive(t, done))
	}
}

// Redisson's testWriteReadReentrancy
func TestRW_WriterReads_OthersWait(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	read, err := m.RLocker().TryLock(context.WithoutCancel(write.Context()))
	require.NoError(t, err)
	locktest.StateFailed(t, m.RLocker())
	locktest.StateFailed(t, elsewhere.RLocker())
	locktest.StateFailed(t, elsewhere.Writer())
	locktest.Unlock(t, write)
	_, err = m.TryLock(read.Context())
	require.ErrorIs(t, err, lockwheel.ErrUpgrade)
	locktest.StateFailed(t, elsewhere.Writer())
	locktest.Unlock(t, locktest.Lock(t, elsewhere.RLocker()))
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Lock(t, elsewhere.Writer()))
}

// Redisson's testWriteLock
func TestRW_WriteReentered_ReaderBlocks(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	outer := locktest.Lock(t, m.Writer())
	inner := locktest.LockWith(t, outer.Context(), m.Writer())
	reader := locktest.Locking(t.Context(), elsewhere.RLocker())
	locktest.Unlock(t, inner)
	locktest.RequireNoReply(t, reader, 50*time.Millisecond)
	locktest.Unlock(t, outer)
	read := locktest.Granted(t, reader)
	locktest.StateFailed(t, m.Writer())
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Lock(t, m.Writer()))
}

// Redisson's testMultiRead
func TestRW_AllReadersUnlock_WriterGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	was, err := m.RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was)
	first, second := locktest.Lock(t, m.RLocker()), locktest.Lock(t, elsewhere.RLocker())
	writer := locktest.Locking(t.Context(), elsewhere.Writer())
	locktest.Unlock(t, first)
	locktest.RequireNoReply(t, writer, 50*time.Millisecond)
	locktest.Unlock(t, second)
	locktest.Unlock(t, locktest.Granted(t, writer))
}

// Redisson's testForceUnlock
func TestRW_ForceUnlock_OwnModeOnly(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	force := func(m lockwheel.Mutex, want bool) {
		t.Helper()
		was, err := m.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
	write := locktest.Lock(t, m.Writer())
	force(elsewhere.RLocker(), false)
	force(m.RLocker(), false)
	locktest.RequireLocked(t, m.Writer(), true)
	force(elsewhere.Writer(), true)
	locktest.RequireLocked(t, m.Writer(), false)
	require.ErrorIs(t, write.Unlock(t.Context()), lockwheel.ErrLost)

	read := locktest.Lock(t, m.RLocker())
	force(elsewhere.Writer(), false)
	force(m.Writer(), false)
	locktest.RequireLocked(t, m.RLocker(), true)
	force(elsewhere.RLocker(), true)
	locktest.RequireLocked(t, m.RLocker(), false)
	require.ErrorIs(t, read.Unlock(t.Context()), lockwheel.ErrLost)
}

// Redisson's testReadWriteTTL
func TestRW_WriteAndRead_BothRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	read := locktest.LockWith(t, write.Context(), m.RLocker())
	locktest.RequireRenewed(t, s, write, read)
	until := read.Deadline()
	require.GreaterOrEqual(t, s.PTTL("{n}:"+read.ID()+":rwlock_timeout:1"), time.Until(until))
	locktest.Unlock(t, write)
	locktest.RequireRenewed(t, s, read)
	require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, read)
	require.False(t, s.Exists("n"))
}

// Redisson's testExpireRead
func TestRW_SecondReader_GrantedAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	first := locktest.Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").RLocker())
	second, err := s.Open(lockwheel.Options{}).RWMutex("n").RLocker().TryLock(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, second)
	locktest.Unlock(t, first)
}

// Redisson's testExpireWrite
func TestRW_LeaseEnds_NextWriterGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	const lease = 700 * time.Millisecond
	before := time.Now()
	first := locktest.LockBriefly(t, t.Context(), s.Open(lockwheel.Options{}).RWMutex("n").Writer(), lockwheel.Lease(lease))
	next := locktest.Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").Writer())
	require.GreaterOrEqual(t, time.Since(before), lease-locktest.Skew)
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, "1", s.Hash("n")[next.ID()+":write"])
	locktest.Unlock(t, next)
}

// Redisson's testAutoExpire
func TestRW_EngineClosed_EndWithLeases(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, elsewhere := s.Open(lockwheel.Options{Lease: locktest.ShortLease}), s.Open(lockwheel.Options{})
	write, read := locktest.Lock(t, e.RWMutex("w").Writer()), locktest.Lock(t, e.RWMutex("r").RLocker())
	require.NoError(t, e.Close())
	require.ErrorIs(t, write.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, read.Err(), lockwheel.ErrClosed)
	require.True(t, s.Exists("w"))
	locktest.Unlock(t, locktest.Lock(t, elsewhere.RWMutex("w").RLocker()))
	locktest.Unlock(t, locktest.Lock(t, elsewhere.RWMutex("r").Writer()))
	locktest.Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
}

// Redisson's testHoldCount
func TestRW_HoldCount_EachSide(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	rw := s.Open(lockwheel.Options{}).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.RLocker(), rw.Writer()} {
		me := lockwheel.WithOwner(t.Context())
		locktest.RequireCount(t, me, m, 0)
		locktest.Unlock(t, locktest.LockWith(t, me, m))
		locktest.RequireCount(t, me, m, 0)
		outer, inner := locktest.LockWith(t, me, m), locktest.LockWith(t, me, m)
		locktest.RequireCount(t, me, m, 2)
		locktest.Unlock(t, inner)
		locktest.RequireCount(t, me, m, 1)
		locktest.Unlock(t, outer)
		locktest.RequireCount(t, me, m, 0)
	}
}

// Redisson's testIsHeldByCurrentThreadOtherThread, testIsHeldByCurrentThread, testIsLockedOtherThread, testIsLocked
func TestRW_ReadHeld_CountAndIsLocked(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n").RLocker(), s.Open(lockwheel.Options{}).RWMutex("n").RLocker()
	other := lockwheel.WithOwner(t.Context())
	locktest.RequireLocked(t, m, false)
	hold := locktest.Lock(t, m)
	owner := context.WithoutCancel(hold.Context())
	locktest.RequireCount(t, owner, m, 1)
	locktest.RequireCount(t, other, m, 0)
	locktest.RequireLocked(t, m, true)
	locktest.RequireLocked(t, elsewhere, true)
	locktest.Unlock(t, hold)
	locktest.RequireCount(t, owner, m, 0)
	locktest.RequireLocked(t, elsewhere, false)
}

// Redisson's testUnlockFail: as for the plain lock, a stranger has only a hold that has ended.
func TestRW_UnlockEndedRead_OthersKeepLock(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	first := locktest.Lock(t, m.RLocker())
	locktest.Unlock(t, first)
	next := locktest.Lock(t, m.RLocker())
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Equal(t, map[string]string{"mode": "read", next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
}

// Redisson's testLockUnlock, testReentrancy
func TestRW_Read_AgainAndReentered(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	for range 2 {
		outer := locktest.Lock(t, m.RLocker())
		inner, err := m.RLocker().TryLock(outer.Context())
		require.NoError(t, err)
		require.Equal(t, outer.ID(), inner.ID())
		locktest.Unlock(t, inner)
		locktest.StateFailed(t, m.Writer())
		locktest.Unlock(t, outer)
		require.Equal(t, int64(0), s.Do("DBSIZE"))
	}
}

// visitors is a room for several readers together, or one writer alone.
type visitors struct{ readers, writers, visits atomic.Int32 }

func (p *visitors) visit(ctx context.Context, m lockwheel.RWMutex) error {
	if rand.IntN(3) == 0 {
		return m.Do(ctx, func(context.Context) error {
			defer p.writers.Add(-1)
			if p.writers.Add(1) != 1 || p.readers.Load() != 0 {
				return fmt.Errorf("a writer is not alone")
			}
			p.visits.Add(1)
			locktest.ShortRun()
			if p.writers.Load() != 1 || p.readers.Load() != 0 {
				return fmt.Errorf("a writer was not left alone")
			}
			return nil
		})
	}
	return m.RLocker().Do(ctx, func(context.Context) error {
		defer p.readers.Add(-1)
		p.readers.Add(1)
		p.visits.Add(1)
		locktest.ShortRun()
		if p.writers.Load() != 0 {
			return fmt.Errorf("a reader is beside a writer")
		}
		return nil
	})
}

// Redisson's testConcurrency_SingleInstance
func TestRW_LoadOneEngine_Exclusive(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	var p visitors
	locktest.Crowd(t, 15, func(int) error { return p.visit(t.Context(), e.RWMutex("n")) })
	require.EqualValues(t, 15, p.visits.Load())
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	locktest.RequireIdle(t, e)
}

// Redisson's testConcurrencyLoop_MultiInstance
func TestRW_LoadManyEnginesInLoops_Exclusive(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines, rounds := 16, s.Amount(100, 20)
	var p visitors
	locktest.Crowd(t, engines, func(int) error {
		e := s.Open(locktest.SlowTimeouts)
		for range rounds {
			if err := p.visit(t.Context(), e.RWMutex("n")); err != nil {
				return err
			}
		}
		return nil
	})
	require.EqualValues(t, engines*rounds, p.visits.Load())
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Redisson's testConcurrency_MultiInstance
func TestRW_LoadThirtyEngines_Exclusive(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	var p visitors
	locktest.Crowd(t, 30, func(int) error { return p.visit(t.Context(), s.Open(locktest.SlowTimeouts).RWMutex("n")) })
	require.EqualValues(t, 30, p.visits.Load())
}

// Redisson's testMultiInstanceReadLockZombieCleanup
func TestRW_ReaderDied_RemovedByLastReader(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	s.AbandonReader("n", locktest.ShortLease/2)
	read := locktest.Lock(t, m.RLocker())
	locktest.Eventually(t, "the end of the lease of the one that died", func() bool { return !s.Exists("{n}:" + locktest.RemoveHolder + ":rwlock_timeout:1") })
	require.Contains(t, s.Hash("n"), locktest.RemoveHolder)
	locktest.Unlock(t, read)
	require.False(t, s.Exists("n"))
	hold, err := m.TryLock(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, hold)
}

// Redisson's testWriteLockAfterTimeout, testReadLockAfterTimeout
func TestRW_AfterRestart_Renewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	rw := s.Open(locktest.ShortLeaseOptions).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.Writer(), rw.RLocker()} {
		hold := locktest.Lock(t, m)
		require.NoError(t, s.Real.RestartEmpty())
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = locktest.Lock(t, m)
		locktest.RequireRenewed(t, s, hold)
		locktest.Unlock(t, hold)
		require.False(t, s.Exists("n"))
	}
}
