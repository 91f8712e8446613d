package waiting_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// An acquire that is sent again counts once.
// redisson#7367, #4822, #6025: one TryLock, a hold count of 2, never released.
func TestAcquire_SentAgain_CountsOnce(t *testing.T) {
	t.Parallel()
	locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
		s, p, e := locktest.Behind(t, lockwheel.Options{})
		m := mutex(e, "n")
		for range long.Pick(15, 40) {
			p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
			hold := locktest.Lock(t, m)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
			locktest.RequireCount(t, hold.Context(), m, 1)
			locktest.Unlock(t, hold)
			require.False(t, s.Exists("n"))
		}
		locktest.RequireIdle(t, e)
		require.NotZero(t, e.Stats().Retries)
	})
}

// An unlock that is sent again has the same result, and there is no second message. redisson#4871, #6651: "not locked
// by current thread" after one unlock.
func TestUnlock_SentAgain_ReleasesOnce(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s, p, e := locktest.Behind(t, locktest.SlowTimeouts)
		m := mutex(e, "n")
		const next = "00000000-0000-4000-8000-000000000000:1" // whom a fair lock's message is for
		fair := strings.HasSuffix(t.Name(), "/fair")
		messages := s.Real.Subscribe(t, "redisson_lock__channel:{n}", "redisson_rwlock:{n}", "redisson_lock__channel:{n}:"+next)
		for range 30 {
			hold := locktest.Lock(t, m)
			if fair {
				s.Stand("n", next, time.Hour)
			}
			p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0))
			require.NoError(t, hold.Unlock(t.Context()))
			require.False(t, s.Exists("n"))
			locktest.Receive(t, messages)
			s.Do("DEL", "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}")
		}
		if !fair { // any unlock of a free fair lock notifies the head of its queue
			locktest.RequireNoReply(t, messages, 50*time.Millisecond)
		}
	})
}

// the outer hold was dropped when the unlock of the inner one was sent again.
func TestUnlock_InnerSentAgain_OuterKept(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	m := e.Mutex("n")
	outer := locktest.Lock(t, m)
	for range 20 {
		inner := locktest.LockWith(t, outer.Context(), m)
		locktest.Eventually(t, "the count of two", func() bool { return s.Hash("n")[outer.ID()] == "2" })
		p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.IntN(6)))
		locktest.Unlock(t, inner)
		locktest.Eventually(t, "the count of one", func() bool { return s.Hash("n")[outer.ID()] == "1" })
	}
	locktest.StateFailed(t, s.Open(lockwheel.Options{}).Mutex("n"))
	require.NoError(t, outer.Err())
	locktest.Unlock(t, outer)
	require.False(t, s.Exists("n"))
}

// Another caller holds the lock by the time the release arrives.
func TestRelease_Late_NextHolderKeepsLock(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{Lease: locktest.ShortLease, CallTimeout: 200 * time.Millisecond})
	hold := locktest.Lock(t, e.Mutex("n"))
	p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
	require.NoError(t, p.Refuse(true))
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrUnavailable)
	next := locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n"))
	require.NoError(t, p.Heal()) // now the release runs
	locktest.RequireIdle(t, e)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	require.NoError(t, next.Err())
	require.Error(t, hold.Unlock(t.Context()))
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
}

// redisson#1602: the unlock failed on the network, and renewal continued. redis-py#3847: a failed release cleared the
// token but not the key.
func TestRelease_Fails_SentUntilReply(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: 200 * time.Millisecond})
	hold := locktest.Lock(t, e.Mutex("n"))
	p.Set(proxy.Commands, proxy.Drop)
	for range 3 {
		before := time.Now()
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrUnavailable)
		require.Less(t, time.Since(before), locktest.TestDeadline)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld, "the hold has ended")
		p.Cut() // and fail again in another way
	}
	require.True(t, s.Exists("n"))
	renewals := s.Real.CommandCalls(t, "pexpire", "pexpireat")
	again := make(chan error, 1)
	go func() { again <- hold.Unlock(t.Context()) }()
	require.NoError(t, p.Heal())
	locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
	if err := locktest.Receive(t, again); err != nil { // nil when it was in time to wait for the same release
		require.True(t, errors.Is(err, lockwheel.ErrNotHeld) || errors.Is(err, lockwheel.ErrUnavailable), err)
	}
	require.Equal(t, renewals, s.Real.CommandCalls(t, "pexpire", "pexpireat"), "not renewed meanwhile")
	locktest.Eventually(t, "unlocked for good", func() bool { return errors.Is(hold.Unlock(t.Context()), lockwheel.ErrNotHeld) })
	locktest.RequireIdle(t, e)
}

// A second Unlock waits for the same release while that has no reply. One of them reports it.
func TestUnlock_Twice_WaitsForSameRelease(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	p.Set(proxy.Replies, proxy.Hold)
	results := make(chan error, 2)
	for range 2 {
		go func() { results <- hold.Unlock(t.Context()) }()
	}
	locktest.Eventually(t, "released", func() bool { return !s.Exists("n") })
	locktest.RequireNoReply(t, results, 50*time.Millisecond)
	p.Set(proxy.Replies, proxy.Pass)
	one, other := locktest.Receive(t, results), locktest.Receive(t, results)
	if one != nil {
		one, other = other, one
	}
	require.NoError(t, one)
	require.ErrorIs(t, other, lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
}

// open-match#1578, minio#20409: a release with the request's canceled context left the lock behind.
func TestUnlock_ContextEnded_ReleaseSent(t *testing.T) {
	t.Parallel()
	t.Run("ended before", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		hold := locktest.LockWith(t, ctx, e.Mutex("n"))
		waiting := locktest.Locking(t.Context(), e.Mutex("n"))
		locktest.Queued(t, e, 1)
		cancel()
		require.NoError(t, hold.Err(), "the context bounds the wait, not the hold")
		if err := hold.Unlock(ctx); err != nil {
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.ErrorIs(t, err, context.Canceled)
		}
		locktest.Unlock(t, locktest.Granted(t, waiting))
		require.False(t, s.Exists("n"))
	})
	t.Run("ended meanwhile", func(t *testing.T) {
		t.Parallel()
		s, p, e := locktest.Behind(t, lockwheel.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		hold := locktest.Lock(t, e.Mutex("n"))
		p.Set(proxy.Commands, proxy.Hold)
		done := make(chan error, 1)
		go func() { done <- hold.Unlock(ctx) }()
		locktest.Eventually(t, "on its way", func() bool { return p.Buffered(proxy.Commands) > 0 })
		cancel()
		err := locktest.Receive(t, done)
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.ErrorIs(t, err, context.Canceled)
		p.Set(proxy.Commands, proxy.Pass)
		locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
		locktest.RequireIdle(t, e)
	})
	t.Run("none at all", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		hold := locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n"))
		require.ErrorContains(t, hold.Unlock(locktest.NoContext), "nil context")
		require.False(t, s.Exists("n"))
	})
}

// The release itself ends the context of a hold, which does not end the wait of Unlock.
func TestUnlock_OwnContext_WaitsForReply(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(t *testing.T, e *lockwheel.Engine) *lockwheel.Hold{
		"one": func(t *testing.T, e *lockwheel.Engine) *lockwheel.Hold { return locktest.Lock(t, e.Mutex("n")) },
		"several": func(t *testing.T, e *lockwheel.Engine) *lockwheel.Hold {
			return locktest.LockAll(t, e.Multi(e.Mutex("n"), e.Mutex("m")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(locktest.SlowTimeouts)
			for range 20 {
				hold := take(t, e)
				require.NoError(t, hold.Unlock(hold.Context()))
				hold = take(t, e)
				ctx, cancel := context.WithTimeout(lockwheel.WithoutOwner(hold.Context()), time.Minute)
				require.NoError(t, hold.Unlock(ctx))
				cancel()
				require.False(t, s.Exists("n"))
			}
		})
	}
}
