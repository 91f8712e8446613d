package faults_test

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// requireRefused requires that an error says that connections are refused.
func requireRefused(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	var op *net.OpError
	require.ErrorAs(t, err, &op)
	require.ErrorContains(t, err, "connection refused")
}

// A call without a wait fails at once if the server refuses connections.
func TestTryLock_ConnRefused_FailsAtOnce(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute}) // so that no lease or timeout ends a wait
	members := make([]lockwheel.Mutex, 3)
	for i := range members {
		member := locktest.RealServer(t)
		members[i] = member.Open(lockwheel.Options{Lease: time.Hour, CallTimeout: time.Minute}).Mutex("n")
		require.NoError(t, member.Real.Kill())
	}
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("before")))
	require.NoError(t, s.Real.Kill())
	for range 3 { // the first call finds it out, the others know it
		for what, try := range map[string]func() error{
			"TryLock":         func() error { return locktest.Second(e.Mutex("a").TryLock(t.Context())) },
			"Wait(0)":         func() error { return locktest.Second(e.Mutex("b").Lock(t.Context(), lockwheel.Wait(0))) },
			"fenced":          func() error { return locktest.Second(e.FencedMutex("c").TryLock(t.Context())) },
			"fair":            func() error { return locktest.Second(e.FairMutex("d").TryLock(t.Context())) },
			"a reader":        func() error { return locktest.Second(e.RWMutex("e").RLocker().TryLock(t.Context())) },
			"a writer":        func() error { return locktest.Second(e.RWMutex("f").TryLock(t.Context())) },
			"several":         func() error { return locktest.Second(locktest.Multi(e, "g", "h").TryLock(t.Context())) },
			"several in turn": func() error { return locktest.Second(e.Multi(e.Mutex("i"), e.FencedMutex("j")).TryLock(t.Context())) },
			"a quorum":        func() error { return locktest.Second(lockwheel.Quorum(members...).TryLock(t.Context())) },
			"without goroutine": func() error {
				return locktest.Second(locktest.OutcomeOf(t, e.Mutex("k").LockAsync(t.Context(), lockwheel.Wait(0))))
			},
		} {
			t.Log(what)
			done := make(chan error, 1)
			go func() { done <- try() }()
			requireRefused(t, locktest.Receive(t, done)) // long before CallTimeout
		}
	}
	require.NoError(t, s.Real.Restart())
	locktest.Eventually(t, "a lock when the server is back", func() bool {
		hold, err := e.Mutex("a").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
}

// A wait lasts as long as requested. A release is sent again until there is a reply, so Unlock waits for that. Both
// errors contain the reason.
func TestWait_NoConnection_ErrorSaysWhy(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	const timeout = 1500 * time.Millisecond // so long that all calls are sent by then
	e := s.Open(lockwheel.Options{Lease: time.Minute, CallTimeout: timeout})
	hold := locktest.Lock(t, e.Mutex("held"))
	require.NoError(t, s.Real.Kill())
	locktest.Eventually(t, "a refused connection", func() bool {
		return errors.Is(locktest.Second(e.Mutex("before").TryLock(t.Context())), syscall.ECONNREFUSED)
	})
	ends := make(chan error, 10)
	for _, ask := range []func() error{
		func() error { return locktest.Second(e.Mutex("a").Lock(t.Context(), lockwheel.Wait(timeout))) },
		func() error {
			return locktest.Second(locktest.Multi(e, "b", "c").Lock(t.Context(), lockwheel.Wait(timeout)))
		},
		func() error {
			return locktest.Second(locktest.OutcomeOf(t, e.Mutex("d").LockAsync(t.Context(), lockwheel.Wait(timeout))))
		},
		func() error { return locktest.Second(e.Mutex("e").State(t.Context())) },
		func() error { return locktest.Second(e.Mutex("f").ForceUnlock(t.Context())) },
		func() error { return hold.Extend(t.Context(), time.Hour) },
		func() error {
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			err := locktest.Second(e.Mutex("g").Lock(ctx))
			return errors.Join(err, errUnless(errors.Is(err, context.DeadlineExceeded)))
		},
	} {
		go func() { ends <- ask() }()
	}
	for range 7 {
		err := locktest.Receive(t, ends)
		requireRefused(t, err)
		t.Log(err)
	}
	requireRefused(t, hold.Unlock(t.Context()))
	require.NoError(t, s.Real.Restart())
	locktest.RequireIdle(t, e)
}

func errUnless(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("the cause of the context is missing")
}
