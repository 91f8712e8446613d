package kinds_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestRWMutex_ZeroValue_Error(t *testing.T) {
	t.Parallel()
	var m lockwheel.RWMutex
	for _, m := range []lockwheel.Mutex{m.Writer(), m.RLocker()} {
		_, err := m.Lock(t.Context())
		require.Error(t, err)
		_, err = m.State(t.Context())
		require.Error(t, err)
	}
	_, err := m.Lock(t.Context())
	require.Error(t, err)
	require.Error(t, m.Do(t.Context(), func(context.Context) error { return nil }))
	_, err = m.LockAsync(t.Context()).Hold()
	require.Error(t, err)
	_, err = m.ForceUnlock(t.Context())
	require.Error(t, err)
	require.Empty(t, m.Name())
}

// The fields that Redisson would write for one thread that writes and reads.
func TestRWMutex_WriterReads_RedissonFields(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	require.Equal(t, map[string]string{"mode": "write", write.ID() + ":write": "1"}, s.Hash("n"))
	for range 2 { // again after the first has ended
		read := locktest.LockWith(t, write.Context(), m.RLocker())
		require.Equal(t, write.ID(), read.ID())
		require.Equal(t, map[string]string{"mode": "write", write.ID() + ":write": "1", write.ID(): "1"}, s.Hash("n"))
		require.True(t, s.Exists("{n}:"+read.ID()+":rwlock_timeout:1"))
		again := locktest.LockWith(t, read.Context(), m.RLocker())
		locktest.Eventually(t, "two holds", func() bool { return s.Hash("n")[read.ID()] == "2" && s.Exists("{n}:"+read.ID()+":rwlock_timeout:2") })
		locktest.Unlock(t, again)
		locktest.Eventually(t, "one hold", func() bool { return s.Hash("n")[read.ID()] == "1" && !s.Exists("{n}:"+read.ID()+":rwlock_timeout:2") })
		locktest.Unlock(t, read)
		require.NoError(t, write.Err())
	}
	locktest.Unlock(t, write)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	locktest.RequireIdle(t, e)
}

// A reader that requests the write lock gets ErrUpgrade at once, and nothing is sent.
func TestRWMutex_ReaderWrites_ErrUpgrade(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.RWMutex("n")
	upgrade := func(ctx context.Context) {
		t.Helper()
		before := e.Stats().Commands
		for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Wait(time.Hour)}} {
			_, err := m.Lock(ctx, opts...)
			require.ErrorIs(t, err, lockwheel.ErrUpgrade)
			require.ErrorContains(t, err, `lock "n"`)
			_, err = m.TryLock(ctx, opts...)
			require.ErrorIs(t, err, lockwheel.ErrUpgrade)
		}
		p := m.LockAsync(ctx)
		<-p.Done()
		_, err := p.Hold()
		require.ErrorIs(t, err, lockwheel.ErrUpgrade)
		require.Equal(t, before, e.Stats().Commands, "nothing is sent")
	}
	read := locktest.Lock(t, m.RLocker())
	upgrade(read.Context())
	require.NoError(t, read.Err())
	locktest.Unlock(t, read)

	thread := lockwheel.WithOwner(t.Context())
	read = locktest.LockWith(t, thread, m.RLocker())
	upgrade(thread)
	locktest.Unlock(t, read)

	// A writer may write again while it reads, but not once it only reads.
	write := locktest.Lock(t, m.Writer())
	read = locktest.LockWith(t, context.WithoutCancel(write.Context()), m.RLocker())
	locktest.Unlock(t, locktest.LockWith(t, read.Context(), m.Writer()))
	locktest.Unlock(t, write)
	upgrade(read.Context())
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Lock(t, m.Writer()))
	require.False(t, s.Exists("n"))
}

// Redisson publishes nothing when a writer unlocks and keeps reading; here waiting readers are notified.
func TestRWMutex_Downgrade_ReadersGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	write := locktest.Lock(t, here.RWMutex("n").Writer())
	read := locktest.LockWith(t, write.Context(), here.RWMutex("n").RLocker())
	var readers []<-chan locktest.Outcome
	for range 3 {
		readers = append(readers, locktest.Locking(t.Context(), elsewhere.RWMutex("n").RLocker()), locktest.Locking(t.Context(), here.RWMutex("n").RLocker()))
	}
	writer := locktest.Locking(t.Context(), elsewhere.RWMutex("n").Writer())
	next := locktest.Locking(t.Context(), here.RWMutex("n").Writer())
	locktest.RequireWaiting(t, elsewhere, 4, 1)
	locktest.Queued(t, here, 4)
	locktest.Unlock(t, write)
	require.NoError(t, read.Err())
	var holds []*lockwheel.Hold
	for _, reader := range readers {
		holds = append(holds, locktest.Granted(t, reader))
	}
	locktest.RequireNoReply(t, writer, 50*time.Millisecond)
	locktest.RequireNoReply(t, next, 0)
	for _, hold := range append(holds, read) {
		locktest.Unlock(t, hold)
	}
	for range 2 {
		select {
		case got := <-writer:
			require.NoError(t, got.Err)
			locktest.Unlock(t, got.Hold)
		case got := <-next:
			require.NoError(t, got.Err)
			locktest.Unlock(t, got.Hold)
		case <-time.After(locktest.TestDeadline):
			require.FailNow(t, "a writer waits")
		}
	}
	require.False(t, s.Exists("n"))
}

// The end of a read does not affect the write around it. In Redisson it shortens the write's lease to the rest of the
// readers' leases, and ends its renewal.
func TestRWMutex_ReadEnds_WriteUnchanged(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).RWMutex("n")
	long := locktest.Lock(t, m.Writer(), lockwheel.Lease(time.Hour))
	locktest.Unlock(t, locktest.LockWith(t, long.Context(), m.RLocker()))
	locktest.RequireTTL(t, m.Writer(), 50*time.Minute, time.Hour)
	locktest.Unlock(t, long)

	write := locktest.Lock(t, m.Writer())
	locktest.Unlock(t, locktest.LockWith(t, write.Context(), m.RLocker()))
	locktest.RequireRenewed(t, s, write)
	require.Equal(t, "1", s.Hash("n")[write.ID()+":write"])
	locktest.Unlock(t, write)
}

// A writer that is renewed, extended or unlocked does not shorten the lease of its own read.
func TestRWMutex_WriteEnds_ReadLeaseKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).RWMutex("n")
	write := locktest.Lock(t, m.Writer())
	read := locktest.LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	locktest.RequireRenewed(t, s, write)
	locktest.RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour)
	require.NoError(t, write.Extend(t.Context(), time.Minute))
	locktest.RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour+2*time.Minute)
	locktest.Unlock(t, write)
	locktest.RequireTTL(t, m.RLocker(), 50*time.Minute, time.Hour+2*time.Minute)
	require.NoError(t, read.Extend(t.Context(), time.Minute))
	locktest.RequireTTL(t, m.RLocker(), 30*time.Second, 62*time.Second)
	locktest.Unlock(t, read)
}

// Readers are renewed separately: one that is not renewed is lost, the others continue.
func TestRWMutex_Readers_RenewedSeparately(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(locktest.ShortLeaseOptions), s.Open(locktest.ShortLeaseOptions)
	watched := locktest.Lock(t, here.RWMutex("n").RLocker())
	other := locktest.Lock(t, elsewhere.RWMutex("n").RLocker())
	fixed := locktest.Lock(t, here.RWMutex("n").RLocker(), lockwheel.Lease(locktest.ShortLease/2))
	locktest.Receive(t, fixed.Done())
	require.ErrorIs(t, fixed.Err(), lockwheel.ErrLost)
	locktest.RequireRenewed(t, s, watched, other)
	for _, hold := range []*lockwheel.Hold{watched, other} {
		until := hold.Deadline()
		require.Equal(t, "1", s.Hash("n")[hold.ID()])
		require.GreaterOrEqual(t, s.PTTL("{n}:"+hold.ID()+":rwlock_timeout:1"), time.Until(until))
	}
	require.NotContains(t, s.Hash("n"), fixed.ID())
	locktest.Unlock(t, watched)
	locktest.StateFailed(t, here.RWMutex("n").Writer())
	locktest.Unlock(t, other)
	locktest.Unlock(t, locktest.Lock(t, here.RWMutex("n").Writer()))
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// State of the writer reports only a writer, and State of the readers only readers.
func TestRWMutex_State_ReadersAndWriter(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.RWMutex("n")
	state := func(m lockwheel.Mutex) lockwheel.State {
		state, err := m.State(t.Context())
		require.NoError(t, err)
		require.Equal(t, state.Locked, state.TTL > 0)
		state.TTL = 0
		return state
	}
	free := lockwheel.State{}
	require.Equal(t, free, state(m.Writer()))
	require.Equal(t, free, state(m.RLocker()))
	first := locktest.Lock(t, m.RLocker())
	require.Equal(t, free, state(m.Writer()))
	require.Equal(t, lockwheel.State{Locked: true, Owner: first.ID(), Count: 1}, state(m.RLocker()))
	second := locktest.Lock(t, m.RLocker())
	require.NotEqual(t, first.ID(), second.ID())
	require.Equal(t, lockwheel.State{Locked: true, Count: 2}, state(m.RLocker()))
	locktest.Unlock(t, first)
	locktest.Unlock(t, second)
	write := locktest.Lock(t, m.Writer())
	again := locktest.LockWith(t, write.Context(), m.Writer())
	locktest.Eventually(t, "the count", func() bool {
		return state(m.Writer()) == lockwheel.State{Locked: true, Owner: write.ID(), Count: 2}
	})
	require.Equal(t, free, state(m.RLocker()))
	got, err := m.State(t.Context())
	require.NoError(t, err)
	require.Equal(t, write.ID(), got.Owner)
	locktest.Unlock(t, again)
	locktest.Unlock(t, write)
}

// The engine that forces a read lock notifies its other readers of the loss at once.
func TestRWMutex_ReadForced_AllReadersLose(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	holds := []*lockwheel.Hold{locktest.Lock(t, here.RWMutex("n").RLocker()), locktest.Lock(t, here.RWMutex("n").RLocker())}
	writer := locktest.Locking(t.Context(), elsewhere.RWMutex("n").Writer())
	locktest.RequireWaiting(t, elsewhere, 1, 1)
	was, err := here.RWMutex("n").RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	for _, hold := range holds {
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	write := locktest.Granted(t, writer)
	read := locktest.LockWith(t, write.Context(), elsewhere.RWMutex("n").RLocker())
	was, err = elsewhere.RWMutex("n").RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was, "there is a writer")
	require.NoError(t, read.Err())
	was, err = elsewhere.RWMutex("n").ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	require.ErrorIs(t, write.Err(), lockwheel.ErrLost)
	locktest.Receive(t, read.Done())
	locktest.RequireIdle(t, here)
	locktest.RequireIdle(t, elsewhere)
}

// Many readers can use one Locker of the read side at the same time.
func TestRWMutex_OneRLocker_ManyReaders(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	readers, writer := m.RLocker().Locker(), m.Locker()
	var inside sync.WaitGroup
	const together = 4
	inside.Add(together)
	locktest.Crowd(t, together, func(int) error {
		readers.Lock()
		inside.Done()
		inside.Wait() // all reads have ended
		readers.Unlock()
		return nil
	})
	writer.Lock()
	require.Equal(t, "write", s.Hash("n")["mode"])
	writer.Unlock()
	require.Panics(t, readers.Unlock)
	require.False(t, s.Exists("n"))
}

// A continuous stream of readers of one engine, and a writer of the same engine.
func TestRWMutex_ManyReaders_WriterGranted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.RWMutex("n")
	over, stop := context.WithCancel(t.Context())
	defer stop()
	var reads atomic.Int64
	var readers sync.WaitGroup
	readers.Go(func() {
		for over.Err() == nil { // the next reader starts long before the last one ends
			time.Sleep(5 * time.Millisecond)
			readers.Go(func() {
				if hold, err := m.RLocker().Lock(over); err == nil {
					time.Sleep(50 * time.Millisecond)
					reads.Add(1)
					hold.Unlock(context.Background())
				}
			})
		}
	})
	for range 5 {
		before := reads.Load()
		locktest.Eventually(t, "readers", func() bool { return reads.Load() > before+8 })
		locktest.Unlock(t, locktest.Lock(t, m.Writer()))
	}
	stop()
	readers.Wait()
}

// A continuous stream of writers of one engine, and a reader of the same engine.
func TestRWMutex_ManyWriters_ReaderGranted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.RWMutex("n")
	over, stop := context.WithCancel(t.Context())
	defer stop()
	var writes atomic.Int64
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for over.Err() == nil {
				if hold, err := m.Lock(over); err == nil {
					time.Sleep(time.Millisecond)
					writes.Add(1)
					hold.Unlock(context.Background())
				}
			}
		})
	}
	for range 5 {
		before := writes.Load()
		locktest.Eventually(t, "writers", func() bool { return writes.Load() > before+8 })
		locktest.Unlock(t, locktest.Lock(t, m.RLocker()))
	}
	stop()
	writers.Wait()
	require.NotZero(t, e.Stats().HandedOff, "writers among themselves")
}

// A reader that locks once more as another owner while a writer waits does not wait for ever.
func TestRWMutex_BehindWriter_ReaderGranted(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.RWMutex("n")
	first := locktest.Lock(t, m.RLocker())
	ctx, cancel := context.WithCancel(t.Context())
	writer := locktest.Locking(ctx, m.Writer())
	locktest.Queued(t, e, 1)
	_, err := m.RLocker().TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "it does not overtake")
	locktest.Eventually(t, "an answer within the wait", func() bool {
		_, err = m.RLocker().Lock(t.Context(), lockwheel.Wait(20*time.Millisecond))
		if !errors.Is(err, lockwheel.ErrUnavailable) {
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		}
		return errors.Is(err, lockwheel.ErrNotAcquired)
	})
	locktest.Unlock(t, locktest.LockWith(t, first.Context(), m.RLocker())) // its owner re-enters
	locktest.Unlock(t, locktest.Lock(t, m.RLocker()))

	stands := locktest.Locking(t.Context(), m.RLocker())
	locktest.Queued(t, e, 2)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, writer).Err, lockwheel.ErrNotAcquired)
	locktest.Unlock(t, locktest.Granted(t, stands))
	locktest.Unlock(t, first)
}

// The methods of an RWMutex report on the writer, and those of its RLocker on the readers.
func TestRWMutex_Methods_WriterOrReaders(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	m := e.RWMutex("n")
	type sight struct {
		locked, owned bool
		count         int
		lives         bool
	}
	type side interface {
		Name() string
		IsLocked(context.Context) (bool, error)
		State(context.Context) (lockwheel.State, error)
		HoldCount(context.Context) (int, error)
		TTL(context.Context) (time.Duration, error)
	}
	see := func(of side, ctx context.Context) (s sight) {
		require.Equal(t, "n", of.Name())
		var err error
		s.locked, err = of.IsLocked(ctx)
		require.NoError(t, err)
		state, err := of.State(ctx)
		require.NoError(t, err)
		require.Equal(t, s.locked, state.Locked)
		s.owned = state.Owner != ""
		s.count, err = of.HoldCount(ctx)
		require.NoError(t, err)
		ttl, err := of.TTL(ctx)
		require.NoError(t, err)
		s.lives = ttl > 0
		return s
	}
	free, one := sight{}, sight{locked: true, owned: true, count: 1, lives: true}

	write, err := m.Lock(t.Context())
	require.NoError(t, err)
	require.Equal(t, one, see(m, write.Context()))
	require.Equal(t, one, see(m.Writer(), write.Context()))
	require.Equal(t, free, see(m.RLocker(), write.Context()))
	was, err := m.RLocker().ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was, "there is no reader")
	locktest.Unlock(t, write)

	read := locktest.Lock(t, m.RLocker())
	require.Equal(t, free, see(m, read.Context()))
	require.Equal(t, free, see(m.Writer(), read.Context()))
	require.Equal(t, one, see(m.RLocker(), read.Context()))
	was, err = m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.False(t, was, "there is no writer")
	_, err = m.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	locktest.Unlock(t, read)

	write, err = m.TryLock(t.Context())
	require.NoError(t, err)
	was, err = m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
	require.ErrorIs(t, write.Unlock(t.Context()), lockwheel.ErrLost)
}
