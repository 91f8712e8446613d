package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// For every kind of lock, the call that exceeds the limit of its lock is rejected at once, even if it may wait. Others
// are not.
func TestMaxWaiting_OneTooMany_RejectedAtOnce(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		s := locktest.RealServer(t)
		holder := s.Open(lockwheel.Options{})
		e := s.Open(lockwheel.Options{MaxWaitingPerLock: 2})
		hold := locktest.Lock(t, other(holder, "n"))
		waiting := []<-chan locktest.Outcome{locktest.Locking(t.Context(), mutex(e, "n"))}
		locktest.Queued(t, e, 1) // so that this call acquires the lock first
		waiting = append(waiting, locktest.TakingAsync(t.Context(), mutex(e, "n")))
		locktest.Queued(t, e, 2)
		sent := e.Stats().Commands

		_, err := mutex(e, "n").Lock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		require.EqualError(t, err, `lockwheel: lock "n": too many would wait: more than 2 for this lock in this engine (Options.MaxWaitingPerLock)`)
		_, err = mutex(e, "n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
		pending := mutex(e, "n").LockAsync(t.Context())
		locktest.Receive(t, pending.Done())
		_, err = pending.Hold()
		require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
		stats := e.Stats()
		require.EqualValues(t, 3, stats.Shed)
		require.EqualValues(t, 3, stats.Failed)
		require.EqualValues(t, 2, stats.Waiting)
		require.LessOrEqual(t, stats.Commands-sent, uint64(4), "only those who wait may ask")
		locktest.Unlock(t, locktest.Lock(t, mutex(e, "another")))

		locktest.Unlock(t, hold)
		for _, w := range waiting {
			locktest.Unlock(t, locktest.Granted(t, w))
		}
		locktest.Unlock(t, locktest.Lock(t, mutex(e, "n")))
		locktest.RequireIdle(t, e)
		require.Equal(t, int64(0), s.Do("EXISTS", "n", "another"))
	})
}

// However many calls exceed the limit, they are rejected at once, and do not delay holders, waiters and releases of
// other locks.
func TestMaxWaiting_Flood_Rejected(t *testing.T) {
	t.Parallel()
	const most, flood = 1_000, 10_000
	s := locktest.RealServer(t)
	holder := s.Open(lockwheel.Options{})
	var told atomic.Int64
	e := s.Open(lockwheel.Options{MaxWaiting: most, Observer: lockwheel.Observer{Rejected: func(string, time.Duration, error) { told.Add(1) }}})
	hold, theirs := locktest.Lock(t, e.Mutex("mine")), locktest.Lock(t, holder.Mutex("n"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var waiting, refused []*lockwheel.Pending
	for i := range most + flood {
		p := e.Mutex("n").LockAsync(ctx)
		if waiting = append(waiting, p); i >= most {
			waiting, refused = waiting[:most], append(refused, p)
		}
	}
	for _, p := range refused {
		locktest.Receive(t, p.Done())
		_, err := p.Hold()
		require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
		require.ErrorContains(t, err, "more than 1000 in this engine (Options.MaxWaiting)")
	}
	require.EqualValues(t, flood, e.Stats().Shed)
	require.EqualValues(t, most, e.Stats().Waiting)
	_, err := e.Mutex("free").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters, "the bound is on all names")
	again, err := e.Mutex("mine").Lock(hold.Context()) // a holder may re-enter
	require.NoError(t, err)
	locktest.Unlock(t, again)
	locktest.Unlock(t, hold)

	cancel()
	for _, p := range waiting {
		locktest.Receive(t, p.Done())
		_, err := p.Hold()
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	}
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("free")))
	locktest.Unlock(t, theirs)
	locktest.RequireIdle(t, e)
	s.Empty(t)
	locktest.Eventually(t, "all refusals are told", func() bool { return uint64(told.Load())+e.Stats().DroppedEvents >= most+flood })
}

// If one of several locks exceeds its limit, none is acquired, and nothing is left of the others.
func TestMaxWaiting_OneOfSeveral_NoneAcquired(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder := s.Open(lockwheel.Options{})
	e := s.Open(lockwheel.Options{MaxWaitingPerLock: 1})
	theirs := locktest.Lock(t, holder.Mutex("b"))
	waiting := locktest.Locking(t.Context(), e.Mutex("b"))
	locktest.Queued(t, e, 1)
	for name, m := range map[string]lockwheel.Multi{
		"in one question": e.Multi(e.Mutex("b"), e.Mutex("c")),
		"in turn":         e.Multi(e.Mutex("a"), e.FencedMutex("c"), e.Mutex("b")),
		"a quorum":        lockwheel.Quorum(e.Mutex("b")),
	} {
		_, err := m.Lock(t.Context(), lockwheel.Wait(10*time.Second))
		require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters, name)
		require.ErrorContains(t, err, `"b"`, name)
		locktest.Eventually(t, "nothing else is left", func() bool { return s.Do("EXISTS", "a", "c") == int64(0) })
	}
	locktest.Unlock(t, theirs)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	hold, err := e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, hold)
	locktest.RequireIdle(t, e)
	s.Empty(t)
}

// A Multi of more locks than MaxWaiting allows is rejected as a whole.
func TestMaxWaiting_MultiTooLarge_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{MaxWaiting: 3})
	var locks []lockwheel.Mutex
	for i := range 4 {
		locks = append(locks, e.Mutex(fmt.Sprintf("{m}%d", i)))
	}
	_, err := e.Multi(locks...).Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
	hold, err := e.Multi(locks[:3]...).Lock(t.Context())
	require.NoError(t, err)
	locktest.Unlock(t, hold)
	s.Empty(t)
}

// There are more callers of one quorum than each of its locks admits. When a caller has its turn at one lock, it is
// admitted at the others. Otherwise each would keep one lock, and none would ever have enough.
func TestMaxWaiting_QuorumContended_Granted(t *testing.T) {
	t.Parallel()
	const callers = 12
	var members []lockwheel.Mutex
	var engines []*lockwheel.Engine
	for range 3 {
		e := locktest.AnyServer(t).Open(lockwheel.Options{MaxWaitingPerLock: callers / 3, CallTimeout: 10 * time.Second})
		engines, members = append(engines, e), append(members, e.Mutex("q"))
	}
	q := lockwheel.Quorum(members...)
	var had, sent atomic.Int64
	locktest.Crowd(t, callers, func(int) error {
		for had.Load() < 10*callers {
			hold, err := q.Lock(t.Context())
			if errors.Is(err, lockwheel.ErrTooManyWaiters) {
				sent.Add(1)
				time.Sleep(time.Millisecond) // others go first
				continue
			}
			if err != nil {
				return err
			}
			had.Add(1)
			if err := hold.Unlock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	require.NotZero(t, sent.Load(), "too few calls for a rejection")
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// If too many callers wait for a majority of the locks, the error says that, and not that the quorum was rejected
// permanently.
func TestMaxWaiting_QuorumFull_SaysSo(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{MaxWaitingPerLock: 1})
	theirs := locktest.Lock(t, holder.Mutex("q"))
	waiting := locktest.Locking(t.Context(), e.Mutex("q"))
	locktest.Queued(t, e, 1)
	_, err := lockwheel.Quorum(e.Mutex("q")).Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NotContains(t, err.Error(), "no majority")
	locktest.Unlock(t, theirs)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// A caller with the context of a quorum's hold may wait for a lock that the quorum is missing. The quorum's own
// request, which waits there as well, does not fill the place of that caller; a further one is rejected.
func TestMaxWaiting_QuorumsOwnMember_Admitted(t *testing.T) {
	t.Parallel()
	for _, opts := range []lockwheel.Options{{MaxWaitingPerLock: 1}, {MaxWaiting: 1}} {
		locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
			p := locktest.NewServerSet(t, 3)
			engines := p.Client(opts)
			taken := locktest.Lock(t, other(p[2].Open(lockwheel.Options{}), "n"))
			hold := locktest.LockAll(t, lockwheel.Quorum(mutex(engines[0], "n"), mutex(engines[1], "n"), mutex(engines[2], "n")))
			locktest.Queued(t, engines[2], 1)
			inner := locktest.Locking(hold.Context(), mutex(engines[2], "n"))
			locktest.Queued(t, engines[2], 2)
			_, err := mutex(engines[2], "n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
			_, err = mutex(engines[2], "n").Lock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrTooManyWaiters)
			locktest.Unlock(t, taken)
			locktest.Unlock(t, locktest.Granted(t, inner))
			require.NoError(t, hold.Err())
			locktest.Unlock(t, hold)
		})
	}
}

// A Locker cannot return an error: it retries until there is room.
func TestMaxWaiting_Locker_WaitsForRoom(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{MaxWaitingPerLock: 1})
	theirs := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	l, locked := e.Mutex("n").Locker(), make(chan struct{})
	go func() {
		l.Lock()
		close(locked)
	}()
	locktest.Eventually(t, "it is refused, and asks again", func() bool { return e.Stats().Shed >= 2 })
	locktest.Unlock(t, theirs)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.Receive(t, locked)
	l.Unlock()
}

// A reader that requests the write lock gets ErrUpgrade, however many callers wait.
func TestMaxWaiting_Upgrade_ErrUpgrade(t *testing.T) {
	t.Parallel()
	for _, opts := range []lockwheel.Options{{MaxWaitingPerLock: 1}, {MaxWaiting: 1}} {
		rejectsAnUpgrade(t, locktest.AnyServer(t).Open(opts))
	}
}

func rejectsAnUpgrade(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	rw := e.RWMutex("n")
	hold := locktest.Lock(t, rw.RLocker())
	waiting := locktest.Locking(t.Context(), rw.Writer())
	locktest.Queued(t, e, 1)
	_, err := rw.Lock(hold.Context())
	require.ErrorIs(t, err, lockwheel.ErrUpgrade)
	_, err = e.Mutex("n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}
