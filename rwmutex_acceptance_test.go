package lockwheel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// These tests assert what Redisson's own tests of the read/write lock assert, with shorter leases.

// Redisson's testReadLockExpiration
func TestAWriterComesWhenTheLongestReaderEnds(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	const long = 2 * time.Second
	before := time.Now()
	Lock(t, m.RLocker(), lockwheel.Lease(long))
	Lock(t, m.RLocker(), lockwheel.Lease(long/3))
	hold := Lock(t, elsewhere.Writer())
	require.GreaterOrEqual(t, time.Since(before), long-Skew-long/50)
	Unlock(t, hold)
}

// Redisson's testReadLockIsLocked
func TestUnderAWriteNobodyReadsUntilItsOwnerDoes(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).Open(lockwheel.Options{}).RWMutex("n")
	write := Lock(t, m.Writer())
	RequireLocked(t, m.RLocker(), false)
	RequireLocked(t, m.Writer(), true)
	read := LockWith(t, write.Context(), m.RLocker())
	RequireLocked(t, m.RLocker(), true)
	Unlock(t, read)
	RequireLocked(t, m.RLocker(), false)
	Unlock(t, write)
}

// Redisson's testReadLockExpirationRenewal
func TestManyReadersAreRenewed(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).Open(lockwheel.Options{Lease: ShortLease})
	Crowd(t, 50, func(int) error {
		hold, err := e.RWMutex("n").RLocker().Lock(t.Context())
		if err != nil {
			return err
		}
		time.Sleep(Renewed)
		return hold.Unlock(t.Context())
	})
}

// Redisson's testName
func TestReadersOfNamesWithBracesAndColons(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	for _, name := range []string{"a{b}c", "{a}:b", "a:b:c", "a}b"} {
		Crowd(t, 10, func(int) error {
			hold, err := e.RWMutex(name).RLocker().Lock(t.Context())
			if err != nil {
				return err
			}
			return hold.Unlock(t.Context())
		})
		Unlock(t, Lock(t, e.RWMutex(name).Writer()))
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Redisson's testWriteLockExpiration
func TestAWriteThatIsReenteredForLessKeepsItsLease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	outer := Lock(t, m.Writer(), lockwheel.Lease(10*time.Second))
	inner := LockWith(t, outer.Context(), m.Writer(), lockwheel.Lease(700*time.Millisecond))
	Receive(t, inner.Done())
	_, err := s.Open(lockwheel.Options{}).RWMutex("n").TryLock(t.Context(), lockwheel.Wait(ShortLease))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, outer.Err())
	Unlock(t, outer)
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsWRR
func TestReadersFollowAnAbandonedWriter(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.AbandonWriter("n", 700*time.Millisecond)
	e := s.Open(lockwheel.Options{})
	first, second := Locking(t.Context(), e.RWMutex("n").RLocker()), Locking(t.Context(), e.RWMutex("n").RLocker())
	Unlock(t, Granted(t, first))
	Unlock(t, Granted(t, second))
}

const RemoveHolder = "00000000-0000-4000-8000-000000000000:1"

// AbandonWriter makes an absent client hold a lock for writing.
func (s *Server) AbandonWriter(name string, lease time.Duration) {
	s.T.Helper()
	require.Equal(s.T, int64(2), s.Do("HSET", name, "mode", "write", RemoveHolder+":write", 1))
	require.Equal(s.T, int64(1), s.Do("PEXPIRE", name, lease.Milliseconds()))
}

// AbandonReader makes an absent client hold a lock for reading, beside other readers.
func (s *Server) AbandonReader(name string, lease time.Duration) {
	s.T.Helper()
	s.Do("HSET", name, "mode", "read", RemoveHolder, 1)
	require.Equal(s.T, "OK", s.Do("SET", "{"+name+"}:"+RemoveHolder+":rwlock_timeout:1", 1, "PX", lease.Milliseconds()))
	if s.PTTL(name) < lease {
		require.Equal(s.T, int64(1), s.Do("PEXPIRE", name, lease.Milliseconds()))
	}
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsRRW
func TestTheTTLFallsBackToWhatAnAbandonedReaderHas(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.AbandonReader("n", 700*time.Millisecond)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	read := Lock(t, m.RLocker(), lockwheel.Lease(time.Hour))
	RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour)
	Unlock(t, read)
	require.LessOrEqual(t, s.PTTL("n"), 700*time.Millisecond)
	Unlock(t, Lock(t, m.Writer()))
}

// Redisson's testReadLockLeaseTimeout
func TestAReadThatWasReenteredEndsWithItsOwnLease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	outer := Lock(t, m.RLocker(), lockwheel.Lease(ShortLease))
	inner := LockWith(t, outer.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour+time.Minute)
	Unlock(t, inner)
	Eventually(t, "the shorter lease", func() bool { return s.PTTL("n") <= ShortLease })
	Unlock(t, Lock(t, m.Writer()))
	require.ErrorIs(t, outer.Err(), lockwheel.ErrLost)
}

// Redisson's testWR
func TestWriteAndReadAreReleasedEachByItself(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	write := Lock(t, m.Writer())
	Unlock(t, LockWith(t, write.Context(), m.RLocker()))
	RequireLocked(t, m.Writer(), true)
	Unlock(t, write)
	require.False(t, s.Exists("n"))
}

// Redisson's testWriteRead
func TestOneUnlockOfAWriterLetsAllReadersInTogether(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	write := Lock(t, here.RWMutex("n").Writer())
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
				case <-time.After(TestDeadline):
					return fmt.Errorf("only %d read together", inside.Load())
				}
			})
		}()
	}
	RequireWaiting(t, elsewhere, readers/2, 1)
	RequireWaiting(t, here, readers/2, 1)
	Unlock(t, write)
	for range readers {
		require.NoError(t, Receive(t, done))
	}
}

// Redisson's testWriteReadReentrancy
func TestAWriterReadsAndKeepsOthersOutUntilItEnds(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	write := Lock(t, m.Writer())
	read, err := m.RLocker().TryLock(context.WithoutCancel(write.Context()))
	require.NoError(t, err)
	StateFailed(t, m.RLocker())
	StateFailed(t, elsewhere.RLocker())
	StateFailed(t, elsewhere.Writer())
	Unlock(t, write)
	_, err = m.TryLock(read.Context())
	require.ErrorIs(t, err, lockwheel.ErrUpgrade)
	StateFailed(t, elsewhere.Writer())
	Unlock(t, Lock(t, elsewhere.RLocker()))
	Unlock(t, read)
	Unlock(t, Lock(t, elsewhere.Writer()))
}

// Redisson's testWriteLock
func TestAWriteIsReenteredAndAReaderBlocksIt(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	outer := Lock(t, m.Writer())
	inner := LockWith(t, outer.Context(), m.Writer())
	reader := Locking(t.Context(), elsewhere.RLocker())
	Unlock(t, inner)
	RequireNoReply(t, reader, 50*time.Millisecond)
	Unlock(t, outer)
	read := Granted(t, reader)
	StateFailed(t, m.Writer())
	Unlock(t, read)
	Unlock(t, Lock(t, m.Writer()))
}

// Redisson's testMultiRead
func TestAWriterComesAfterAllReaders(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	was, err := m.RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was)
	first, second := Lock(t, m.RLocker()), Lock(t, elsewhere.RLocker())
	writer := Locking(t.Context(), elsewhere.Writer())
	Unlock(t, first)
	RequireNoReply(t, writer, 50*time.Millisecond)
	Unlock(t, second)
	Unlock(t, Granted(t, writer))
}

// Redisson's testForceUnlock
func TestForceOfEachSideActsOnItsOwnMode(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n"), s.Open(lockwheel.Options{}).RWMutex("n")
	force := func(m lockwheel.Mutex, want bool) {
		t.Helper()
		was, err := m.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
	write := Lock(t, m.Writer())
	force(elsewhere.RLocker(), false)
	force(m.RLocker(), false)
	RequireLocked(t, m.Writer(), true)
	force(elsewhere.Writer(), true)
	RequireLocked(t, m.Writer(), false)
	require.ErrorIs(t, write.Unlock(t.Context()), lockwheel.ErrLost)

	read := Lock(t, m.RLocker())
	force(elsewhere.Writer(), false)
	force(m.Writer(), false)
	RequireLocked(t, m.RLocker(), true)
	force(elsewhere.RLocker(), true)
	RequireLocked(t, m.RLocker(), false)
	require.ErrorIs(t, read.Unlock(t.Context()), lockwheel.ErrLost)
}

// Redisson's testReadWriteTTL
func TestWriteAndReadAreBothRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(ShortLeaseOptions).RWMutex("n")
	write := Lock(t, m.Writer())
	read := LockWith(t, write.Context(), m.RLocker())
	RequireRenewed(t, s, write, read)
	until := read.Deadline()
	require.GreaterOrEqual(t, s.PTTL("{n}:"+read.ID()+":rwlock_timeout:1"), time.Until(until))
	Unlock(t, write)
	RequireRenewed(t, s, read)
	require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.Hash("n"))
	Unlock(t, read)
	require.False(t, s.Exists("n"))
}

// Redisson's testExpireRead
func TestASecondReaderEntersAtOnce(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	first := Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").RLocker())
	second, err := s.Open(lockwheel.Options{}).RWMutex("n").RLocker().TryLock(t.Context())
	require.NoError(t, err)
	Unlock(t, second)
	Unlock(t, first)
}

// Redisson's testExpireWrite
func TestTheNextWriterComesWhenALeaseEnds(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	const lease = 700 * time.Millisecond
	before := time.Now()
	first := Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").Writer(), lockwheel.Lease(lease))
	next := Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").Writer())
	require.GreaterOrEqual(t, time.Since(before), lease-Skew)
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, "1", s.Hash("n")[next.ID()+":write"])
	Unlock(t, next)
}

// Redisson's testAutoExpire
func TestAClosedEnginesWriterAndReadersEndWithTheirLeases(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, elsewhere := s.Open(lockwheel.Options{Lease: ShortLease}), s.Open(lockwheel.Options{})
	write, read := Lock(t, e.RWMutex("w").Writer()), Lock(t, e.RWMutex("r").RLocker())
	require.NoError(t, e.Close())
	require.ErrorIs(t, write.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, read.Err(), lockwheel.ErrClosed)
	require.True(t, s.Exists("w"))
	Unlock(t, Lock(t, elsewhere.RWMutex("w").RLocker()))
	Unlock(t, Lock(t, elsewhere.RWMutex("r").Writer()))
	Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
}

// Redisson's testHoldCount
func TestHoldCountOfEachSide(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	rw := s.Open(lockwheel.Options{}).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.RLocker(), rw.Writer()} {
		me := lockwheel.WithOwner(t.Context())
		RequireCount(t, me, m, 0)
		Unlock(t, LockWith(t, me, m))
		RequireCount(t, me, m, 0)
		outer, inner := LockWith(t, me, m), LockWith(t, me, m)
		RequireCount(t, me, m, 2)
		Unlock(t, inner)
		RequireCount(t, me, m, 1)
		Unlock(t, outer)
		RequireCount(t, me, m, 0)
	}
}

// Redisson's testIsHeldByCurrentThreadOtherThread, testIsHeldByCurrentThread, testIsLockedOtherThread, testIsLocked
func TestWhoReadsIsKnown(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.Open(lockwheel.Options{}).RWMutex("n").RLocker(), s.Open(lockwheel.Options{}).RWMutex("n").RLocker()
	other := lockwheel.WithOwner(t.Context())
	RequireLocked(t, m, false)
	hold := Lock(t, m)
	owner := context.WithoutCancel(hold.Context())
	RequireCount(t, owner, m, 1)
	RequireCount(t, other, m, 0)
	RequireLocked(t, m, true)
	RequireLocked(t, elsewhere, true)
	Unlock(t, hold)
	RequireCount(t, owner, m, 0)
	RequireLocked(t, elsewhere, false)
}

// Redisson's testUnlockFail: as for the plain lock, a stranger has only a hold that has ended.
func TestUnlockOfAReadThatIsOverLeavesOtherReadersAlone(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	first := Lock(t, m.RLocker())
	Unlock(t, first)
	next := Lock(t, m.RLocker())
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Equal(t, map[string]string{"mode": "read", next.ID(): "1"}, s.Hash("n"))
	Unlock(t, next)
}

// Redisson's testLockUnlock, testReentrancy
func TestAReadCanBeTakenAgainAndReentered(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	for range 2 {
		outer := Lock(t, m.RLocker())
		inner, err := m.RLocker().TryLock(outer.Context())
		require.NoError(t, err)
		require.Equal(t, outer.ID(), inner.ID())
		Unlock(t, inner)
		StateFailed(t, m.Writer())
		Unlock(t, outer)
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
			ShortRun()
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
		ShortRun()
		if p.writers.Load() != 0 {
			return fmt.Errorf("a reader is beside a writer")
		}
		return nil
	})
}

// Redisson's testConcurrency_SingleInstance
func TestReadersAndWritersOfOneEngine(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	var p visitors
	Crowd(t, 15, func(int) error { return p.visit(t.Context(), e.RWMutex("n")) })
	require.EqualValues(t, 15, p.visits.Load())
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	RequireIdle(t, e)
}

// Redisson's testConcurrencyLoop_MultiInstance
func TestReadersAndWritersOfManyEnginesInLoops(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines, rounds := 16, s.Amount(100, 20)
	var p visitors
	Crowd(t, engines, func(int) error {
		e := s.Open(SlowTimeouts)
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
func TestReadersAndWritersOfThirtyEngines(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	var p visitors
	Crowd(t, 30, func(int) error { return p.visit(t.Context(), s.Open(SlowTimeouts).RWMutex("n")) })
	require.EqualValues(t, 30, p.visits.Load())
}

// Redisson's testMultiInstanceReadLockZombieCleanup
func TestAReaderThatDiedIsRemovedByTheLastOneThatLives(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.Open(lockwheel.Options{Lease: ShortLease}).RWMutex("n")
	s.AbandonReader("n", ShortLease/2)
	read := Lock(t, m.RLocker())
	Eventually(t, "the end of the lease of the one that died", func() bool { return !s.Exists("{n}:" + RemoveHolder + ":rwlock_timeout:1") })
	require.Contains(t, s.Hash("n"), RemoveHolder)
	Unlock(t, read)
	require.False(t, s.Exists("n"))
	hold, err := m.TryLock(t.Context())
	require.NoError(t, err)
	Unlock(t, hold)
}

// Redisson's testWriteLockAfterTimeout, testReadLockAfterTimeout
func TestReadersAndWritersAfterARestartAreRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	rw := s.Open(ShortLeaseOptions).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.Writer(), rw.RLocker()} {
		hold := Lock(t, m)
		require.NoError(t, s.Real.RestartEmpty())
		Receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = Lock(t, m)
		RequireRenewed(t, s, hold)
		Unlock(t, hold)
		require.False(t, s.Exists("n"))
	}
}
