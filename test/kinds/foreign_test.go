package kinds_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

var foreign = lockwheel.Options{Foreign: true}

// foreignKinds are the locks that wait for the lock of another library.
func foreignKinds(e *lockwheel.Engine) map[string]lockwheel.Mutex {
	return map[string]lockwheel.Mutex{"plain": e.Mutex("n"), "fenced": e.FencedMutex("n")}
}

// A lock waits until the string of another library is deleted, or its TTL is over, and never changes it.
func TestForeign_String_WaitedFor(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(foreign)
	for kind, lock := range foreignKinds(e) {
		s.Do("SET", "n", "token", "NX", "PX", 60_000)
		waiting := locktest.Locking(t.Context(), lock)
		locktest.Queued(t, e, 1)
		_, err := lock.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, kind)
		state, err := lock.State(t.Context())
		require.NoError(t, err)
		require.True(t, state.Locked && state.Foreign, kind)
		require.Empty(t, state.Owner)
		require.InDelta(t, time.Minute, state.TTL, float64(30*time.Second))
		require.Equal(t, "token", s.Do("GET", "n"))
		require.Equal(t, int64(1), e.Stats().Polling, "one asks for all")
		s.Do("DEL", "n")
		locktest.Unlock(t, locktest.Granted(t, waiting))
		locktest.RequireIdle(t, e)
		require.Zero(t, e.Stats().Polling, kind)

		s.Do("SET", "n", "token", "NX", "PX", 50)
		locktest.Unlock(t, locktest.Lock(t, lock))
	}
}

// Many waiters for one foreign lock ask as one: the tries are those of a single poller.
func TestForeign_ManyWaiters_PollAsOne(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(foreign)
	s.Do("SET", "n", "token")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 200 {
		locktest.Locking(ctx, e.Mutex("n"))
	}
	locktest.Queued(t, e, 200)
	since, before := time.Now(), s.Scripts()
	locktest.Always(t, time.Second, "they wait", func() bool { return e.Stats().Waiting == 200 })
	tries := s.Scripts() - before
	// 64 to 128 ms apart; from the first try on 7 more
	require.Less(t, tries, 25+int(time.Since(since)/(64*time.Millisecond)))
}

// A lock of several, and a quorum, wait as well.
func TestForeign_Multi_WaitsForEach(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(foreign)
	s.Do("SET", "b", "token")
	both := e.Multi(e.Mutex("a"), e.Mutex("b"))
	_, err := both.TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := make(chan error, 1)
	go func() {
		hold, err := both.Lock(t.Context())
		if err == nil {
			err = hold.Unlock(t.Context())
		}
		waiting <- err
	}()
	locktest.Queued(t, e, 1)
	require.False(t, s.Exists("a"), "all or none")
	s.Do("DEL", "b")
	require.NoError(t, locktest.Receive(t, waiting))
}

// Some locks cannot wait for a foreign lock: those of some kinds, and all without the option. ForceUnlock cannot
// either. The error names what the key is, and the string stays.
func TestForeign_NotWaitedFor_NamesKey(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.Do("SET", "n", "token")
	with, without := s.Open(foreign), s.Open(lockwheel.Options{})
	ctx := t.Context()
	rejected := func(err error, part string) {
		t.Helper()
		var reply lockwheel.ServerError
		require.True(t, errors.As(err, &reply), "%v", err)
		require.ErrorContains(t, err, `"n"`)
		require.ErrorContains(t, err, "WRONGTYPE")
		require.ErrorContains(t, err, part)
	}
	for _, e := range []*lockwheel.Engine{with, without} {
		for _, lock := range []lockwheel.Mutex{e.FairMutex("n"), e.RWMutex("n").Writer(), e.RWMutex("n").RLocker()} {
			_, err := lock.Lock(ctx)
			rejected(err, "only as a Mutex")
			_, err = lock.State(ctx)
			rejected(err, "only as a Mutex")
		}
	}
	for _, lock := range []lockwheel.Mutex{without.Mutex("n"), without.FencedMutex("n")} {
		_, err := lock.Lock(ctx)
		rejected(err, "the lock of redislock, redsync or rueidislock? Options.Foreign")
	}
	_, err := with.Mutex("n").ForceUnlock(ctx)
	rejected(err, "ForceUnlock leaves it alone")
	_, err = without.Mutex("n").State(ctx)
	rejected(err, "Options.Foreign")
	require.Equal(t, "token", s.Do("GET", "n"))
}
