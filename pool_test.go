package lockwheel_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// An engine takes dedicated connections from the pool of rueidis, which can be small, and which other users can
// exhaust.

// usedUp returns a client of the program with an exhausted pool. unlockHold returns the connections to the pool.
func (s *Server) usedUp(size int) (client rueidis.Client, giveBack func()) {
	s.t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.real.Addr()}, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true, BlockingPoolSize: size,
	})
	require.NoError(s.t, err)
	s.t.Cleanup(client.Close)
	var releases []func()
	for range size {
		_, release := client.Dedicate()
		releases = append(releases, release)
	}
	return client, func() {
		for _, release := range releases {
			release()
		}
	}
}

// endsInTime requires that an engine ends in time while the pool is exhausted.
func endsInTime(t *testing.T, what string, end func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		end()
	}()
	receive(t, done)
}

func TestWhoWaitsPollsWhileTheProgramHasAllConnectionsOfItsPool(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	client, giveBack := s.usedUp(4)
	holder := s.open(lockwheel.Options{})
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
	require.NoError(t, err)
	hold := lock(t, holder.Mutex("n"))
	waiting := locking(t.Context(), e.Mutex("n"))
	eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
	unlock(t, hold)
	next := granted(t, waiting)

	waiting = locking(t.Context(), holder.Mutex("m"))
	unlock(t, granted(t, waiting))
	giveBack()
	hold = lock(t, holder.Mutex("o"))
	waiting = locking(t.Context(), e.Mutex("o"))
	requireWaiting(t, e, 1, 1)
	unlock(t, hold)
	unlock(t, granted(t, waiting))
	unlock(t, next)
	requireIdle(t, e)
	endsInTime(t, "Close", func() { e.Close() })
}

func TestCloseLeavesACallForAConnectionOfAUsedUpPoolBehind(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	client, giveBack := s.usedUp(4)
	holder := s.open(lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
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
		waiting := locking(t.Context(), e.Mutex("n"))
		eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
		endsInTime(t, "the end", func() { end(e) })
		require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrClosed)
	}
	unlock(t, hold)
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

func TestReplicasAreNotWaitedForWithoutAConnectionToAskThem(t *testing.T) {
	t.Parallel()
	master, _ := withReplica(t)
	client, giveBack := master.usedUp(4)
	opts := lockwheel.Options{Client: client, Lease: 3 * time.Second, CallTimeout: time.Second, Replicas: lockwheel.Replicas{Min: 1}}
	eventually(t, "a refusal", func() bool {
		_, err := lockwheel.Open(t.Context(), opts)
		require.Error(t, err)
		return strings.Contains(err.Error(), "no connection is free")
	})
	giveBack()
	e := openRetrying(t, opts)
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
	require.ErrorIs(t, receive(t, asked), lockwheel.ErrUnavailable)
	for _, release := range releases {
		release()
	}
	eventually(t, "a grant that the replica has", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
	endsInTime(t, "Close", func() { e.Close() })
}

// A subscriber needs a second connection to unsubscribe, and Replicas needs two more.
func TestAPoolThatIsTooSmallIsMadeLargeEnough(t *testing.T) {
	t.Parallel()
	master, _ := withReplica(t)
	holder := master.open(lockwheel.Options{})
	for _, replicas := range []int{0, 1} {
		e := master.open(lockwheel.Options{
			Redis:    rueidis.ClientOption{InitAddress: []string{master.real.Addr()}, BlockingPoolSize: 1},
			Replicas: lockwheel.Replicas{Min: replicas},
		})
		a, b, c := lock(t, holder.Mutex("a")), lock(t, holder.Mutex("b")), lock(t, holder.Mutex("c"))
		first := locking(t.Context(), e.Mutex("a"))
		left := e.Mutex("b").LockAsync(t.Context())
		requireWaiting(t, e, 2, 2)
		left.Cancel()
		eventually(t, "one is left", func() bool { return e.Stats().Subscriptions == 1 })
		second := locking(t.Context(), e.Mutex("c"))
		requireWaiting(t, e, 2, 2)
		for _, hold := range []*lockwheel.Hold{a, b, c} {
			unlock(t, hold)
		}
		unlock(t, granted(t, first))
		unlock(t, granted(t, second))
		requireIdle(t, e)
		endsInTime(t, "Close", func() { e.Close() })
	}
}
