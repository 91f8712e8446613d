package faults_test

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
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A read or write that is sent again after a lost reply counts once.
func TestRWMutex_SentAgain_CountsOnce(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	m := e.RWMutex("n")
	for range 20 {
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		write := locktest.Lock(t, m.Writer())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		read := locktest.LockWith(t, context.WithoutCancel(write.Context()), m.RLocker())
		require.Equal(t, map[string]string{"mode": "write", write.ID() + ":write": "1", read.ID(): "1"}, s.Hash("n"))
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		locktest.Unlock(t, write)
		require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.Hash("n"))
		require.NoError(t, read.Err())
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		locktest.Unlock(t, read)
		require.False(t, s.Exists("n"))
	}
	locktest.RequireIdle(t, e)
	require.NotZero(t, e.Stats().Retries)
}

// An acquire is released if its caller left before the reply arrived, for readers and writers.
func TestRWMutex_Orphan_Released(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{Lease: locktest.ShortLease})
	for _, m := range []lockwheel.Mutex{e.RWMutex("n").RLocker(), e.RWMutex("n").Writer()} {
		p.Set(proxy.Replies, proxy.Hold)
		ctx, leave := context.WithCancel(t.Context())
		done := locktest.Locking(ctx, m)
		locktest.Eventually(t, "the lock taken", func() bool { return s.Exists("n") })
		leave()
		require.ErrorIs(t, locktest.Receive(t, done).Err, lockwheel.ErrUnavailable)
		p.Set(proxy.Replies, proxy.Pass)
		locktest.Eventually(t, "the lock given back", func() bool { return s.Do("DBSIZE") == int64(0) })
		locktest.RequireIdle(t, e)
	}
}

// A test deletes the keys of a lock with a writer and of a lock with two readers. The next renewal notifies each holder
// of the loss.
func TestRWMutex_KeyDeleted_FoundByRenewal(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	write := locktest.Lock(t, e.RWMutex("w").Writer())
	read, other := locktest.Lock(t, e.RWMutex("r").RLocker()), locktest.Lock(t, e.RWMutex("r").RLocker())
	require.Equal(t, int64(2), s.Do("DEL", "w", "r"))
	for _, hold := range []*lockwheel.Hold{write, read, other} {
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	locktest.Unlock(t, locktest.Lock(t, e.RWMutex("r").Writer()))
}

// Shutdown rejects the waiters of read/write locks and waits for readers and writers.
func TestRWMutex_Shutdown_WaitsForHolds(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	write, read := locktest.Lock(t, e.RWMutex("w").Writer()), locktest.Lock(t, e.RWMutex("r").RLocker())
	waits := locktest.Locking(t.Context(), e.RWMutex("w").RLocker())
	locktest.Queued(t, e, 1)
	done := make(chan error, 1)
	go func() { done <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, locktest.Receive(t, waits).Err, lockwheel.ErrClosed)
	locktest.Unlock(t, write)
	locktest.RequireNoReply(t, done, 20*time.Millisecond)
	locktest.Unlock(t, read)
	require.NoError(t, locktest.Receive(t, done))
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Readers and writers are renewed and released by a server without memory.
func TestRWMutex_ServerWithoutMemory_Renewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	write := locktest.Lock(t, e.RWMutex("w").Writer())
	read := locktest.LockWith(t, context.WithoutCancel(write.Context()), e.RWMutex("w").RLocker())
	others := []*lockwheel.Hold{locktest.Lock(t, e.RWMutex("r").RLocker()), locktest.Lock(t, e.RWMutex("r").RLocker())}
	require.Equal(t, "OK", s.Do("CONFIG", "SET", "maxmemory", 1))
	locktest.RequireRenewed(t, s, append(others, write, read)...)
	locktest.Unlock(t, write)
	require.Equal(t, map[string]string{"mode": "read", read.ID(): "1"}, s.Hash("w"))
	for _, hold := range append(others, read) {
		locktest.Unlock(t, hold)
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// A name in use as a read/write lock is rejected as a plain lock, and can be one afterwards.
func TestRWMutex_NameInUse_PlainRejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	rw := e.RWMutex("n")
	for _, m := range []lockwheel.Mutex{rw.RLocker(), rw.Writer()} {
		hold := locktest.Lock(t, m)
		_, err := e.Mutex("n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
		require.ErrorContains(t, err, "a read/write lock")
		locktest.Unlock(t, hold)
		locktest.Eventually(t, "the name as a plain lock", func() bool {
			hold, err := e.Mutex("n").TryLock(t.Context())
			if err == nil {
				locktest.Unlock(t, hold)
			}
			return err == nil
		})
		plain := locktest.Lock(t, e.Mutex("n"))
		_, err = m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
		locktest.Unlock(t, plain)
	}
	// For another engine the lock is merely held.
	other := locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n"))
	locktest.Eventually(t, "the name free of another kind here", func() bool {
		_, err := rw.TryLock(t.Context())
		return !errors.Is(err, lockwheel.ErrKindMismatch)
	})
	locktest.StateFailed(t, rw.Writer())
	locktest.StateFailed(t, rw.RLocker())
	locktest.Unlock(t, other)
}

// An engine has just waited for a name as a plain lock. It now subscribes to the other channel of that name.
func TestRWMutex_WasPlain_OwnChannel(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	plain := locktest.Lock(t, elsewhere.Mutex("n"))
	waits := locktest.Locking(t.Context(), here.Mutex("n"))
	locktest.RequireWaiting(t, here, 1, 1)
	locktest.Unlock(t, plain)
	locktest.Unlock(t, locktest.Granted(t, waits))
	locktest.RequireIdle(t, elsewhere)
	write := locktest.Lock(t, elsewhere.RWMutex("n").Writer())
	locktest.Eventually(t, "another kind here", func() bool {
		_, err := here.RWMutex("n").TryLock(t.Context())
		return errors.Is(err, lockwheel.ErrNotAcquired)
	})
	writer, reader := locktest.Locking(t.Context(), here.RWMutex("n").Writer()), locktest.Locking(t.Context(), here.RWMutex("n").RLocker())
	locktest.Queued(t, here, 2)
	locktest.Eventually(t, "a subscription", func() bool {
		channels, _ := s.Do("PUBSUB", "CHANNELS", "redisson_rwlock:{n}").([]any)
		return len(channels) == 1
	})
	locktest.Unlock(t, write)
	for range 2 {
		select {
		case got := <-writer:
			require.NoError(t, got.Err)
			locktest.Unlock(t, got.Hold)
		case got := <-reader:
			require.NoError(t, got.Err)
			locktest.Unlock(t, got.Hold)
		case <-time.After(locktest.TestDeadline):
			require.FailNow(t, "the waiter was not notified")
		}
	}
	locktest.RequireIdle(t, here)
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

// No writer holds the lock beside another owner while connections break at random.
func TestRWMutex_BrokenLinks_Exclusive(t *testing.T) {
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
func TestRWMutex_ReadmePermissions_Suffice(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(lockwheel.Options{}, locktest.RulesOf(t, "read/write"))
	for _, name := range underOrders {
		readsAndWrites(t, e, e.RWMutex(name))
	}
	requireNothingDenied(t, s)
}

func readsAndWrites(t *testing.T, e *lockwheel.Engine, m lockwheel.RWMutex) {
	t.Helper()
	write := locktest.Lock(t, m.Writer())
	waits := locktest.Locking(t.Context(), m.Writer())
	reader := locktest.Locking(t.Context(), m.RLocker())
	locktest.RequireWaiting(t, e, 2, 1)
	read := locktest.LockWith(t, context.WithoutCancel(write.Context()), m.RLocker())
	locktest.Unlock(t, locktest.LockWith(t, read.Context(), m.RLocker()))
	locktest.RequireLocked(t, m.RLocker(), true)
	locktest.Unlock(t, write)
	locktest.Unlock(t, locktest.Granted(t, reader))
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Granted(t, waits))
	for _, m := range []lockwheel.Mutex{m.RLocker(), m.Writer()} {
		locktest.Lock(t, m)
		was, err := m.ForceUnlock(t.Context())
		require.NoError(t, err)
		require.True(t, was)
	}
	locktest.RequireIdle(t, e)
}
