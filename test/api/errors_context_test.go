package api_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The error of a caller that gave up says so. It does not claim that Redis is unavailable.
func TestError_CallerGaveUp_SaysSo(t *testing.T) {
	t.Parallel()
	const unknown = `lockwheel: lock "n": the caller's context ended the wait, the outcome is not known: a reason of the caller's own`
	const unsent = `lockwheel: lock "n": the caller's context had ended before, nothing was sent: a reason of the caller's own`
	_, p, e := locktest.Behind(t, locktest.SlowToGiveUp)
	m := e.Mutex("n")
	hold, other := locktest.Lock(t, m), locktest.Lock(t, e.FencedMutex("other"))
	p.Set(proxy.Replies, proxy.Hold)
	ctx, leave := context.WithCancelCause(t.Context())
	go func() { // this caller waits first, until its context ends
		for p.Buffered(proxy.Replies) == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		leave(locktest.ErrTest)
	}()
	says := func(want string, ctx context.Context, of map[string]func(context.Context) error) {
		for what, call := range of {
			err := call(ctx)
			require.EqualError(t, err, want, what)
			require.ErrorIs(t, err, lockwheel.ErrUnavailable, what)
			require.ErrorIs(t, err, locktest.ErrTest, what)
		}
	}
	extend := func(ctx context.Context) error { return hold.Extend(ctx, time.Hour) }
	state := func(ctx context.Context) error { return locktest.Second(m.State(ctx)) }
	force := func(ctx context.Context) error { return locktest.Second(m.ForceUnlock(ctx)) }
	says(unknown, ctx, map[string]func(context.Context) error{"Extend": extend})
	says(unsent, ctx, map[string]func(context.Context) error{"Extend": extend, "State": state, "ForceUnlock": force})
	says(unknown, ctx, map[string]func(context.Context) error{"Unlock": hold.Unlock}) // the release is sent whatever the state of ctx
	require.ErrorContains(t, other.Unlock(ctx), `lock "other": the caller's context ended the wait`)
	for what, call := range map[string]func(context.Context) error{
		"State": state, "ForceUnlock": force, "Lock": func(ctx context.Context) error { return locktest.Second(e.FencedMutex("another").Lock(ctx)) },
	} {
		const want = ": the caller's context ended the wait, the outcome is not known: a reason of the caller's own"
		err := whenContextEnds(t, locktest.ErrTest, want, call)
		require.ErrorContains(t, err, want, what)
		require.ErrorIs(t, err, lockwheel.ErrUnavailable, what)
		require.ErrorIs(t, err, locktest.ErrTest, what)
	}
	p.Set(proxy.Replies, proxy.Pass)
	locktest.RequireIdle(t, e)
}

// whenContextEnds returns the error of a call with a context that ends after half a second. On a busy machine the
// command may not have been sent by then, and the error is another one. Then the context of the next try lasts twice as
// long.
func whenContextEnds(t *testing.T, cause error, want string, call func(context.Context) error) error {
	t.Helper()
	for wait := 500 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), wait, cause)
		err := call(ctx)
		cancel()
		if err == nil || strings.Contains(err.Error(), want) || wait > locktest.TestDeadline/4 {
			return err
		}
	}
}

// A known problem of the server is reported as well.
func TestError_GaveUpOnDeadServer_SaysBoth(t *testing.T) {
	t.Parallel()
	m := dead(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 500*time.Millisecond, locktest.ErrTest)
	defer cancel()
	err := locktest.Second(m.Lock(ctx))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, `lockwheel: lock "n": redis unavailable: `)
	require.ErrorContains(t, err, "; "+locktest.ErrTest.Error())
}

// The error of several locks contains each error, and what they share once.
func TestError_SeveralLocks_SharedPartOnce(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	for _, s := range p {
		s.Do("SET", "n", "x")
	}
	err := locktest.Second(locktest.Quorum(p.Client(lockwheel.Options{}), "n").TryLock(t.Context()))
	var refused lockwheel.ServerError
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "WRONGTYPE")
	require.Equal(t, 1, strings.Count(err.Error(), "lockwheel:"), "%v", err)
	require.Equal(t, 1, strings.Count(err.Error(), `lock "n"`), "%v", err)
}

// The error of a caller that gave up on a quorum says that once, and not for each member.
func TestError_GaveUpOnQuorum_SaysSoOnce(t *testing.T) {
	t.Parallel()
	slow := locktest.NewServerSet(t, 3)
	engines := slow.Client(locktest.SlowToGiveUp)
	held := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	for _, s := range slow {
		require.NoError(t, s.Real.Pause())
		t.Cleanup(func() { _ = s.Real.Continue() })
	}
	for _, change := range []func(context.Context) error{
		func(ctx context.Context) error { return held.Extend(ctx, time.Hour) }, held.Unlock,
	} {
		const want = `lockwheel: lock "n": the caller's context ended the wait, the outcome is not known: context deadline exceeded`
		err := whenContextEnds(t, nil, want, change)
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	const want = `lockwheel: lock "m": the caller's context ended the wait, the outcome is not known: 0 of 3 locks could be had`
	err := whenContextEnds(t, nil, want, func(ctx context.Context) error {
		return locktest.Second(locktest.Quorum(engines, "m").Lock(ctx))
	})
	require.ErrorContains(t, err, want)
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// An error shows the lock's name even if the name looks like the text of an error.
func TestError_NameLikeErrorText_Shown(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	const name = "lockwheel: lock"
	s.Do("SET", name, "x")
	err := locktest.Second(e.Mutex(name).TryLock(t.Context()))
	require.ErrorContains(t, err, `lockwheel: lock "lockwheel: lock": `)
	err = locktest.Second(e.Multi(e.Mutex("a"), e.Mutex(name)).TryLock(t.Context()))
	require.ErrorContains(t, err, `lockwheel: lock "lockwheel: lock": `)
}
