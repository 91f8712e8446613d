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
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n"), s.open(lockwheel.Options{}).RWMutex("n")
	const long = 2 * time.Second
	before := time.Now()
	lock(t, m.RLocker(), lockwheel.Lease(long))
	lock(t, m.RLocker(), lockwheel.Lease(long/3))
	hold := lock(t, elsewhere.Writer())
	require.GreaterOrEqual(t, time.Since(before), long-skew-long/50)
	unlock(t, hold)
}

// Redisson's testReadLockIsLocked
func TestUnderAWriteNobodyReadsUntilItsOwnerDoes(t *testing.T) {
	t.Parallel()
	m := AnyServer(t).open(lockwheel.Options{}).RWMutex("n")
	write := lock(t, m.Writer())
	requireLocked(t, m.RLocker(), false)
	requireLocked(t, m.Writer(), true)
	read := lockWith(t, write.Context(), m.RLocker())
	requireLocked(t, m.RLocker(), true)
	unlock(t, read)
	requireLocked(t, m.RLocker(), false)
	unlock(t, write)
}

// Redisson's testReadLockExpirationRenewal
func TestManyReadersAreRenewed(t *testing.T) {
	t.Parallel()
	e := AnyServer(t).open(lockwheel.Options{Lease: shortLease})
	crowd(t, 50, func(int) error {
		hold, err := e.RWMutex("n").RLocker().Lock(t.Context())
		if err != nil {
			return err
		}
		time.Sleep(renewed)
		return hold.Unlock(t.Context())
	})
}

// Redisson's testName
func TestReadersOfNamesWithBracesAndColons(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	for _, name := range []string{"a{b}c", "{a}:b", "a:b:c", "a}b"} {
		crowd(t, 10, func(int) error {
			hold, err := e.RWMutex(name).RLocker().Lock(t.Context())
			if err != nil {
				return err
			}
			return hold.Unlock(t.Context())
		})
		unlock(t, lock(t, e.RWMutex(name).Writer()))
	}
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// Redisson's testWriteLockExpiration
func TestAWriteThatIsReenteredForLessKeepsItsLease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	outer := lock(t, m.Writer(), lockwheel.Lease(10*time.Second))
	inner := lockWith(t, outer.Context(), m.Writer(), lockwheel.Lease(700*time.Millisecond))
	receive(t, inner.Done())
	_, err := s.open(lockwheel.Options{}).RWMutex("n").TryLock(t.Context(), lockwheel.Wait(shortLease))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, outer.Err())
	unlock(t, outer)
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsWRR
func TestReadersFollowAnAbandonedWriter(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.abandonWriter("n", 700*time.Millisecond)
	e := s.open(lockwheel.Options{})
	first, second := locking(t.Context(), e.RWMutex("n").RLocker()), locking(t.Context(), e.RWMutex("n").RLocker())
	unlock(t, granted(t, first))
	unlock(t, granted(t, second))
}

const removeHolder = "00000000-0000-4000-8000-000000000000:1"

// abandonWriter makes an absent client hold a lock for writing.
func (s *Server) abandonWriter(name string, lease time.Duration) {
	s.t.Helper()
	require.Equal(s.t, int64(2), s.do("HSET", name, "mode", "write", removeHolder+":write", 1))
	require.Equal(s.t, int64(1), s.do("PEXPIRE", name, lease.Milliseconds()))
}

// abandonReader makes an absent client hold a lock for reading, beside other readers.
func (s *Server) abandonReader(name string, lease time.Duration) {
	s.t.Helper()
	s.do("HSET", name, "mode", "read", removeHolder, 1)
	require.Equal(s.t, "OK", s.do("SET", "{"+name+"}:"+removeHolder+":rwlock_timeout:1", 1, "PX", lease.Milliseconds()))
	if s.pttl(name) < lease {
		require.Equal(s.t, int64(1), s.do("PEXPIRE", name, lease.Milliseconds()))
	}
}

// Redisson's testReadLockLeaseTimeoutDiffThreadsRRW
func TestTheTTLFallsBackToWhatAnAbandonedReaderHas(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.abandonReader("n", 700*time.Millisecond)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	read := lock(t, m.RLocker(), lockwheel.Lease(time.Hour))
	requireTTL(t, m.RLocker(), 50*time.Minute, time.Hour)
	unlock(t, read)
	require.LessOrEqual(t, s.pttl("n"), 700*time.Millisecond)
	unlock(t, lock(t, m.Writer()))
}

// Redisson's testReadLockLeaseTimeout
func TestAReadThatWasReenteredEndsWithItsOwnLease(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	outer := lock(t, m.RLocker(), lockwheel.Lease(shortLease))
	inner := lockWith(t, outer.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	requireTTL(t, m.RLocker(), 50*time.Minute, time.Hour+time.Minute)
	unlock(t, inner)
	eventually(t, "the shorter lease", func() bool { return s.pttl("n") <= shortLease })
	unlock(t, lock(t, m.Writer()))
	require.ErrorIs(t, outer.Err(), lockwheel.ErrLost)
}

// Redisson's testWR
func TestWriteAndReadAreReleasedEachByItself(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	write := lock(t, m.Writer())
	unlock(t, lockWith(t, write.Context(), m.RLocker()))
	requireLocked(t, m.Writer(), true)
	unlock(t, write)
	require.False(t, s.exists("n"))
}

// Redisson's testWriteRead
func TestOneUnlockOfAWriterLetsAllReadersInTogether(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	here, elsewhere := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	write := lock(t, here.RWMutex("n").Writer())
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
				case <-time.After(testDeadline):
					return fmt.Errorf("only %d read together", inside.Load())
				}
			})
		}()
	}
	requireWaiting(t, elsewhere, readers/2, 1)
	requireWaiting(t, here, readers/2, 1)
	unlock(t, write)
	for range readers {
		require.NoError(t, receive(t, done))
	}
}

// Redisson's testWriteReadReentrancy
func TestAWriterReadsAndKeepsOthersOutUntilItEnds(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n"), s.open(lockwheel.Options{}).RWMutex("n")
	write := lock(t, m.Writer())
	read, err := m.RLocker().TryLock(context.WithoutCancel(write.Context()))
	require.NoError(t, err)
	stateFailed(t, m.RLocker())
	stateFailed(t, elsewhere.RLocker())
	stateFailed(t, elsewhere.Writer())
	unlock(t, write)
	_, err = m.TryLock(read.Context())
	require.ErrorIs(t, err, lockwheel.ErrUpgrade)
	stateFailed(t, elsewhere.Writer())
	unlock(t, lock(t, elsewhere.RLocker()))
	unlock(t, read)
	unlock(t, lock(t, elsewhere.Writer()))
}

// Redisson's testWriteLock
func TestAWriteIsReenteredAndAReaderBlocksIt(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n"), s.open(lockwheel.Options{}).RWMutex("n")
	outer := lock(t, m.Writer())
	inner := lockWith(t, outer.Context(), m.Writer())
	reader := locking(t.Context(), elsewhere.RLocker())
	unlock(t, inner)
	requireNoReply(t, reader, 50*time.Millisecond)
	unlock(t, outer)
	read := granted(t, reader)
	stateFailed(t, m.Writer())
	unlock(t, read)
	unlock(t, lock(t, m.Writer()))
}

// Redisson's testMultiRead
func TestAWriterComesAfterAllReaders(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n"), s.open(lockwheel.Options{}).RWMutex("n")
	was, err := m.RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was)
	first, second := lock(t, m.RLocker()), lock(t, elsewhere.RLocker())
	writer := locking(t.Context(), elsewhere.Writer())
	unlock(t, first)
	requireNoReply(t, writer, 50*time.Millisecond)
	unlock(t, second)
	unlock(t, granted(t, writer))
}

// Redisson's testForceUnlock
func TestForceOfEachSideActsOnItsOwnMode(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n"), s.open(lockwheel.Options{}).RWMutex("n")
	force := func(m lockwheel.Mutex, want bool) {
		t.Helper()
		was, err := m.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, was)
	}
	write := lock(t, m.Writer())
	force(elsewhere.RLocker(), false)
	force(m.RLocker(), false)
	requireLocked(t, m.Writer(), true)
	force(elsewhere.Writer(), true)
	requireLocked(t, m.Writer(), false)
	require.ErrorIs(t, write.Unlock(t.Context()), lockwheel.ErrLost)

	read := lock(t, m.RLocker())
	force(elsewhere.Writer(), false)
	force(m.Writer(), false)
	requireLocked(t, m.RLocker(), true)
	force(elsewhere.RLocker(), true)
	requireLocked(t, m.RLocker(), false)
	require.ErrorIs(t, read.Unlock(t.Context()), lockwheel.ErrLost)
}

// Redisson's testReadWriteTTL
func TestWriteAndReadAreBothRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(shortLeaseOptions).RWMutex("n")
	write := lock(t, m.Writer())
	read := lockWith(t, write.Context(), m.RLocker())
	requireRenewed(t, s, write, read)
	until := read.Deadline()
	require.GreaterOrEqual(t, s.pttl("{n}:"+read.ID()+":rwlock_timeout:1"), time.Until(until))
	unlock(t, write)
	requireRenewed(t, s, read)
	require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.hash("n"))
	unlock(t, read)
	require.False(t, s.exists("n"))
}

// Redisson's testExpireRead
func TestASecondReaderEntersAtOnce(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	first := lock(t, s.open(lockwheel.Options{}).RWMutex("n").RLocker())
	second, err := s.open(lockwheel.Options{}).RWMutex("n").RLocker().TryLock(t.Context())
	require.NoError(t, err)
	unlock(t, second)
	unlock(t, first)
}

// Redisson's testExpireWrite
func TestTheNextWriterComesWhenALeaseEnds(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	const lease = 700 * time.Millisecond
	before := time.Now()
	first := lock(t, s.open(lockwheel.Options{}).RWMutex("n").Writer(), lockwheel.Lease(lease))
	next := lock(t, s.open(lockwheel.Options{}).RWMutex("n").Writer())
	require.GreaterOrEqual(t, time.Since(before), lease-skew)
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
	require.Equal(t, "1", s.hash("n")[next.ID()+":write"])
	unlock(t, next)
}

// Redisson's testAutoExpire
func TestAClosedEnginesWriterAndReadersEndWithTheirLeases(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, elsewhere := s.open(lockwheel.Options{Lease: shortLease}), s.open(lockwheel.Options{})
	write, read := lock(t, e.RWMutex("w").Writer()), lock(t, e.RWMutex("r").RLocker())
	require.NoError(t, e.Close())
	require.ErrorIs(t, write.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, read.Err(), lockwheel.ErrClosed)
	require.True(t, s.exists("w"))
	unlock(t, lock(t, elsewhere.RWMutex("w").RLocker()))
	unlock(t, lock(t, elsewhere.RWMutex("r").Writer()))
	eventually(t, "no key", func() bool { return s.do("DBSIZE") == int64(0) })
}

// Redisson's testHoldCount
func TestHoldCountOfEachSide(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	rw := s.open(lockwheel.Options{}).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.RLocker(), rw.Writer()} {
		me := lockwheel.WithOwner(t.Context())
		requireCount(t, me, m, 0)
		unlock(t, lockWith(t, me, m))
		requireCount(t, me, m, 0)
		outer, inner := lockWith(t, me, m), lockWith(t, me, m)
		requireCount(t, me, m, 2)
		unlock(t, inner)
		requireCount(t, me, m, 1)
		unlock(t, outer)
		requireCount(t, me, m, 0)
	}
}

// Redisson's testIsHeldByCurrentThreadOtherThread, testIsHeldByCurrentThread, testIsLockedOtherThread, testIsLocked
func TestWhoReadsIsKnown(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m, elsewhere := s.open(lockwheel.Options{}).RWMutex("n").RLocker(), s.open(lockwheel.Options{}).RWMutex("n").RLocker()
	other := lockwheel.WithOwner(t.Context())
	requireLocked(t, m, false)
	hold := lock(t, m)
	owner := context.WithoutCancel(hold.Context())
	requireCount(t, owner, m, 1)
	requireCount(t, other, m, 0)
	requireLocked(t, m, true)
	requireLocked(t, elsewhere, true)
	unlock(t, hold)
	requireCount(t, owner, m, 0)
	requireLocked(t, elsewhere, false)
}

// Redisson's testUnlockFail: as for the plain lock, a stranger has only a hold that has ended.
func TestUnlockOfAReadThatIsOverLeavesOtherReadersAlone(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	first := lock(t, m.RLocker())
	unlock(t, first)
	next := lock(t, m.RLocker())
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Equal(t, map[string]string{"mode": "read", next.ID(): "1"}, s.hash("n"))
	unlock(t, next)
}

// Redisson's testLockUnlock, testReentrancy
func TestAReadCanBeTakenAgainAndReentered(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	for range 2 {
		outer := lock(t, m.RLocker())
		inner, err := m.RLocker().TryLock(outer.Context())
		require.NoError(t, err)
		require.Equal(t, outer.ID(), inner.ID())
		unlock(t, inner)
		stateFailed(t, m.Writer())
		unlock(t, outer)
		require.Equal(t, int64(0), s.do("DBSIZE"))
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
			shortRun()
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
		shortRun()
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
	e := s.open(lockwheel.Options{})
	var p visitors
	crowd(t, 15, func(int) error { return p.visit(t.Context(), e.RWMutex("n")) })
	require.EqualValues(t, 15, p.visits.Load())
	require.Equal(t, int64(0), s.do("DBSIZE"))
	requireIdle(t, e)
}

// Redisson's testConcurrencyLoop_MultiInstance
func TestReadersAndWritersOfManyEnginesInLoops(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines, rounds := 16, s.amount(100, 20)
	var p visitors
	crowd(t, engines, func(int) error {
		e := s.open(slowTimeouts)
		for range rounds {
			if err := p.visit(t.Context(), e.RWMutex("n")); err != nil {
				return err
			}
		}
		return nil
	})
	require.EqualValues(t, engines*rounds, p.visits.Load())
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// Redisson's testConcurrency_MultiInstance
func TestReadersAndWritersOfThirtyEngines(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	var p visitors
	crowd(t, 30, func(int) error { return p.visit(t.Context(), s.open(slowTimeouts).RWMutex("n")) })
	require.EqualValues(t, 30, p.visits.Load())
}

// Redisson's testMultiInstanceReadLockZombieCleanup
func TestAReaderThatDiedIsRemovedByTheLastOneThatLives(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(lockwheel.Options{Lease: shortLease}).RWMutex("n")
	s.abandonReader("n", shortLease/2)
	read := lock(t, m.RLocker())
	eventually(t, "the end of the lease of the one that died", func() bool { return !s.exists("{n}:" + removeHolder + ":rwlock_timeout:1") })
	require.Contains(t, s.hash("n"), removeHolder)
	unlock(t, read)
	require.False(t, s.exists("n"))
	hold, err := m.TryLock(t.Context())
	require.NoError(t, err)
	unlock(t, hold)
}

// Redisson's testWriteLockAfterTimeout, testReadLockAfterTimeout
func TestReadersAndWritersAfterARestartAreRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	rw := s.open(shortLeaseOptions).RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.Writer(), rw.RLocker()} {
		hold := lock(t, m)
		require.NoError(t, s.real.RestartEmpty())
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

		hold = lock(t, m)
		requireRenewed(t, s, hold)
		unlock(t, hold)
		require.False(t, s.exists("n"))
	}
}
