package lifecycle_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// endsInTime requires that an engine ends in time while the pool is exhausted.
func endsInTime(t *testing.T, what string, end func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	locktest.Receive(t, done)
}

// A waiter polls while the program uses all connections of its client's pool, and subscribes afterwards.
func TestPool_UsedUp_WaiterPolls(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	client, giveBack := s.UsedUp(4)
	holder := s.Open(lockwheel.Options{})
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
	require.NoError(t, err)
	hold := locktest.Lock(t, holder.Mutex("n"))
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
	locktest.Unlock(t, hold)
	next := locktest.Granted(t, waiting)

	waiting = locktest.Locking(t.Context(), holder.Mutex("m"))
	locktest.Unlock(t, locktest.Granted(t, waiting))
	giveBack()
	hold = locktest.Lock(t, holder.Mutex("o"))
	waiting = locktest.Locking(t.Context(), e.Mutex("o"))
	locktest.RequireWaiting(t, e, 1, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.Unlock(t, next)
	locktest.RequireIdle(t, e)
	endsInTime(t, "Close", func() { e.Close() })
}

// Close does not wait for a connection of a pool that is used up; the call that waits for one returns it later.
func TestPool_UsedUp_CloseEnds(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	client, giveBack := s.UsedUp(4)
	holder := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	for _, end := range []func(e *lockwheel.Engine){
		func(e *lockwheel.Engine) { e.Close() },
		func(e *lockwheel.Engine) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			e.Shutdown(ctx)
		},
	} {
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
		require.NoError(t, err)
		waiting := locktest.Locking(t.Context(), e.Mutex("n"))
		locktest.Eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
		endsInTime(t, "the end", func() { end(e) })
		require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
	}
	locktest.Unlock(t, hold)
	// The calls that were left behind return their connections: the whole pool is available to the program again.
	giveBack()
	for range 2 {
		var releases []func()
		endsInTime(t, "all connections of the pool", func() {
			for range 4 {
				_, release := client.Dedicate()
				releases = append(releases, release)
			}
		})
		for _, release := range releases {
			release()
		}
	}
}

// Open and TryLock with Replicas fail while the pool has no connection for WAIT.
func TestPool_UsedUp_ReplicasFail(t *testing.T) {
	t.Parallel()
	master, _ := locktest.WithReplica(t)
	client, giveBack := master.UsedUp(4)
	opts := lockwheel.Options{Client: client, Lease: 3 * time.Second, CallTimeout: time.Second, Replicas: lockwheel.Replicas{Min: 1}}
	locktest.Eventually(t, "a refusal", func() bool {
		_, err := lockwheel.Open(t.Context(), opts)
		require.Error(t, err)
		return strings.Contains(err.Error(), "no connection is free")
	})
	giveBack()
	e := locktest.OpenRetrying(t, opts)
	var releases []func()
	for range 4 {
		_, release := client.Dedicate()
		releases = append(releases, release)
	}
	asked := make(chan error, 1)
	go func() {
		_, err := e.Mutex("n").TryLock(t.Context())
		asked <- err
	}()
	require.ErrorIs(t, locktest.Receive(t, asked), lockwheel.ErrUnavailable)
	for _, release := range releases {
		release()
	}
	locktest.Eventually(t, "a grant that the replica has", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
	endsInTime(t, "Close", func() { e.Close() })
}

// With Lazy, Open connects although the pool has no connection for WAIT: attempts to connect would each leave behind a
// goroutine that waits for one.
func TestPool_UsedUpLazy_Connects(t *testing.T) {
	t.Parallel()
	master, _ := locktest.WithReplica(t)
	client, giveBack := master.UsedUp(4)
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{
		Client: client, Lazy: true, CallTimeout: time.Second, Lease: 3 * time.Second, Replicas: lockwheel.Replicas{Min: 1},
	})
	require.NoError(t, err)
	locktest.Eventually(t, "it is connected", func() bool { return e.Ping(t.Context()) == nil })
	locktest.Eventually(t, "a refusal", func() bool {
		_, err = e.Mutex("n").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		return strings.Contains(err.Error(), "no connection is free")
	})
	giveBack()
	locktest.Eventually(t, "a grant that the replica has", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
	endsInTime(t, "Close", func() { e.Close() })
}

// A subscriber needs a second connection to unsubscribe, and Replicas needs two more.
func TestPool_TooSmall_Enlarged(t *testing.T) {
	t.Parallel()
	master, _ := locktest.WithReplica(t)
	holder := master.Open(lockwheel.Options{})
	for _, replicas := range []int{0, 1} {
		e := master.Open(lockwheel.Options{
			Redis:    rueidis.ClientOption{InitAddress: []string{master.Real.Addr()}, BlockingPoolSize: 1},
			Replicas: lockwheel.Replicas{Min: replicas},
		})
		a, b, c := locktest.Lock(t, holder.Mutex("a")), locktest.Lock(t, holder.Mutex("b")), locktest.Lock(t, holder.Mutex("c"))
		first := locktest.Locking(t.Context(), e.Mutex("a"))
		left := e.Mutex("b").LockAsync(t.Context())
		locktest.RequireWaiting(t, e, 2, 2)
		left.Cancel()
		locktest.Eventually(t, "one is left", func() bool { return e.Stats().Subscriptions == 1 })
		second := locktest.Locking(t.Context(), e.Mutex("c"))
		locktest.RequireWaiting(t, e, 2, 2)
		for _, hold := range []*lockwheel.Hold{a, b, c} {
			locktest.Unlock(t, hold)
		}
		locktest.Unlock(t, locktest.Granted(t, first))
		locktest.Unlock(t, locktest.Granted(t, second))
		locktest.RequireIdle(t, e)
		endsInTime(t, "Close", func() { e.Close() })
	}
}
