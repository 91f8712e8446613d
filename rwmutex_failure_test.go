package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The read/write lock on links that break, on servers that reject commands, and beside other kinds of lock.

func TestAReadOrWriteThatIsSentAgainCountsOnce(t *testing.T) {
	t.Parallel()
	s, p, e := behind(t, lockwheel.Options{})
	m := e.RWMutex("n")
	for range 20 {
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		write := lock(t, m.Writer())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		read := lockWith(t, context.WithoutCancel(write.Context()), m.RLocker())
		require.Equal(t, map[string]string{"mode": "write", write.ID() + ":write": "1", read.ID(): "1"}, s.hash("n"))
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		unlock(t, write)
		require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.hash("n"))
		require.NoError(t, read.Err())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		unlock(t, read)
		require.False(t, s.exists("n"))
	}
	requireIdle(t, e)
	require.NotZero(t, e.Stats().Retries)
}

// An acquire is released if its caller left before the reply arrived, for readers and writers.
func TestAGhostOfAReaderOrWriterIsReleased(t *testing.T) {
	t.Parallel()
	s, p, e := behind(t, lockwheel.Options{Lease: shortLease})
	for _, m := range []lockwheel.Mutex{e.RWMutex("n").RLocker(), e.RWMutex("n").Writer()} {
		p.Set(proxy.Replies, proxy.Hold)
		ctx, leave := context.WithCancel(t.Context())
		done := locking(ctx, m)
		eventually(t, "the lock taken", func() bool { return s.exists("n") })
		leave()
		require.ErrorIs(t, receive(t, done).err, lockwheel.ErrUnavailable)
		p.Set(proxy.Replies, proxy.Pass)
		eventually(t, "the lock given back", func() bool { return s.do("DBSIZE") == int64(0) })
		requireIdle(t, e)
	}
}

// The keys of a lock with a writer and of a lock with two readers are deleted: the next renewal notifies each holder
// of the loss.
func TestALostReadOrWriteIsNoticedByTheNextRenewal(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(shortLeaseOptions)
	write := lock(t, e.RWMutex("w").Writer())
	read, other := lock(t, e.RWMutex("r").RLocker()), lock(t, e.RWMutex("r").RLocker())
	require.Equal(t, int64(2), s.do("DEL", "w", "r"))
	for _, hold := range []*lockwheel.Hold{write, read, other} {
		receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	unlock(t, lock(t, e.RWMutex("r").Writer()))
}

func TestShutdownWaitsForReadersAndWriters(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	write, read := lock(t, e.RWMutex("w").Writer()), lock(t, e.RWMutex("r").RLocker())
	waits := locking(t.Context(), e.RWMutex("w").RLocker())
	queued(t, e, 1)
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, receive(t, waits).err, lockwheel.ErrClosed)
	unlock(t, write)
	requireNoReply(t, done, 20*time.Millisecond)
	unlock(t, read)
	require.NoError(t, receive(t, done))
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

func TestAServerWithoutMemoryStillRenewsAndReleasesReadersAndWriters(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(shortLeaseOptions)
	write := lock(t, e.RWMutex("w").Writer())
	read := lockWith(t, context.WithoutCancel(write.Context()), e.RWMutex("w").RLocker())
	others := []*lockwheel.Hold{lock(t, e.RWMutex("r").RLocker()), lock(t, e.RWMutex("r").RLocker())}
	require.Equal(t, "OK", s.do("CONFIG", "SET", "maxmemory", 1))
	requireRenewed(t, s, append(others, write, read)...)
	unlock(t, write)
	require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.hash("w"))
	for _, hold := range append(others, read) {
		unlock(t, hold)
	}
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

func TestAReadWriteLockIsOfItsOwnKind(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	rw := e.RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.RLocker(), rw.Writer()} {
		hold := lock(t, m)
		_, err := e.Mutex("n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
		require.ErrorContains(t, err, "a read/write lock")
		unlock(t, hold)
		eventually(t, "the name as a plain lock", func() bool {
			hold, err := e.Mutex("n").TryLock(t.Context())
			if err == nil {
				unlock(t, hold)
			}
			return err == nil
		})
		plain := lock(t, e.Mutex("n"))
		_, err = m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
		unlock(t, plain)
	}
	// For another engine the lock is merely held.
	other := lock(t, s.open(lockwheel.Options{}).Mutex("n"))
	eventually(t, "the name free of another kind here", func() bool {
		_, err := rw.TryLock(t.Context())
		return !errors.Is(err, lockwheel.ErrKindMismatch)
	})
	stateFailed(t, rw.Writer())
	stateFailed(t, rw.RLocker())
	unlock(t, other)
}

// An engine has just waited for a name as a plain lock. It now subscribes to the other channel of that name.
func TestANameThatBecomesAReadWriteLockIsHeardOnItsOwnChannel(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	here, elsewhere := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	plain := lock(t, elsewhere.Mutex("n"))
	waits := locking(t.Context(), here.Mutex("n"))
	requireWaiting(t, here, 1, 1)
	unlock(t, plain)
	unlock(t, granted(t, waits))
	requireIdle(t, elsewhere)
	write := lock(t, elsewhere.RWMutex("n").Writer())
	eventually(t, "another kind here", func() bool {
		_, err := here.RWMutex("n").TryLock(t.Context())
		return errors.Is(err, lockwheel.ErrNotAcquired)
	})
	writer, reader := locking(t.Context(), here.RWMutex("n").Writer()), locking(t.Context(), here.RWMutex("n").RLocker())
	queued(t, here, 2)
	eventually(t, "a subscription", func() bool {
		channels, _ := s.do("PUBSUB", "CHANNELS", "redisson_rwlock:{n}").([]any)
		return len(channels) == 1
	})
	unlock(t, write)
	for range 2 {
		select {
		case got := <-writer:
			require.NoError(t, got.err)
			unlock(t, got.hold)
		case got := <-reader:
			require.NoError(t, got.err)
			unlock(t, got.hold)
		case <-time.After(testDeadline):
			require.FailNow(t, "the waiter was not notified")
		}
	}
	requireIdle(t, here)
}

// rwCheck is the set of readers and writers, as far as their holds report that they are valid.
type rwCheck struct {
	guard   sync.Mutex
	writer  *lockwheel.Hold
	readers map[*lockwheel.Hold]bool
}

func (l *rwCheck) enter(hold *lockwheel.Hold, writes bool) error {
	l.guard.Lock()
	defer l.guard.Unlock()
	if w := l.writer; w != nil && w.Err() == nil && hold.Err() == nil {
		return fmt.Errorf("%s beside %s, who writes", hold.ID(), w.ID())
	}
	if !writes {
		l.readers[hold] = true
		return nil
	}
	for reader := range l.readers {
		if reader.Err() == nil && hold.Err() == nil {
			return fmt.Errorf("%s writes beside %s", hold.ID(), reader.ID())
		}
	}
	l.writer = hold
	return nil
}

func (l *rwCheck) leave(hold *lockwheel.Hold) {
	l.guard.Lock()
	defer l.guard.Unlock()
	delete(l.readers, hold)
	if l.writer == hold {
		l.writer = nil
	}
}

func TestNoReaderBesideAWriterOnBrokenLinks(t *testing.T) {
	t.Parallel()
	l := rwCheck{readers: map[*lockwheel.Hold]bool{}}
	onBrokenLinks(t, []string{"n"}, func(ctx context.Context, e *lockwheel.Engine) (*lockwheel.Hold, error) {
		m, writes := e.RWMutex("n").RLocker(), rand.IntN(3) == 0
		if writes {
			m = e.RWMutex("n").Writer()
		}
		hold, err := m.Lock(ctx, someOptions()...)
		if err != nil {
			return nil, err
		}
		if err := l.enter(hold, writes); err != nil {
			return nil, err
		}
		misuseRandomly(ctx, hold)
		l.leave(hold)
		return hold, nil
	})
}

// The read/write lock needs exactly the permissions that README lists.
func TestAUserWithWhatTheReadmeSaysReadsAndWrites(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.as(lockwheel.Options{}, rulesOf(t, "read/write"))
	for _, name := range underOrders {
		readsAndWrites(t, e, e.RWMutex(name))
	}
}

func readsAndWrites(t *testing.T, e *lockwheel.Engine, m lockwheel.RWMutex) {
	t.Helper()
	write := lock(t, m.Writer())
	waits := locking(t.Context(), m.Writer())
	reader := locking(t.Context(), m.RLocker())
	requireWaiting(t, e, 2, 1)
	read := lockWith(t, context.WithoutCancel(write.Context()), m.RLocker())
	unlock(t, lockWith(t, read.Context(), m.RLocker()))
	requireLocked(t, m.RLocker(), true)
	unlock(t, write)
	unlock(t, granted(t, reader))
	unlock(t, read)
	unlock(t, granted(t, waits))
	for _, m := range []lockwheel.Mutex{m.RLocker(), m.Writer()} {
		lock(t, m)
		was, err := m.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
	}
	requireIdle(t, e)
}
