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

// UsedUp returns a client of the program with an exhausted pool. UnlockHold returns the connections to the pool.
func (s *Server) UsedUp(size int) (client rueidis.Client, giveBack func()) {
	s.T.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Real.Addr()}, PipelineMultiplex: -1, DisableRetry: true, DisableCache: true, BlockingPoolSize: size,
	})
	require.NoError(s.T, err)
	s.T.Cleanup(client.Close)
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
	Receive(t, done)
}

func TestWhoWaitsPollsWhileTheProgramHasAllConnectionsOfItsPool(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	client, giveBack := s.UsedUp(4)
	holder := s.Open(lockwheel.Options{})
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
	require.NoError(t, err)
	hold := Lock(t, holder.Mutex("n"))
	waiting := Locking(t.Context(), e.Mutex("n"))
	Eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
	Unlock(t, hold)
	next := Granted(t, waiting)

	waiting = Locking(t.Context(), holder.Mutex("m"))
	Unlock(t, Granted(t, waiting))
	giveBack()
	hold = Lock(t, holder.Mutex("o"))
	waiting = Locking(t.Context(), e.Mutex("o"))
	RequireWaiting(t, e, 1, 1)
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting))
	Unlock(t, next)
	RequireIdle(t, e)
	endsInTime(t, "Close", func() { e.Close() })
}

func TestCloseLeavesACallForAConnectionOfAUsedUpPoolBehind(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	client, giveBack := s.UsedUp(4)
	holder := s.Open(lockwheel.Options{})
	hold := Lock(t, holder.Mutex("n"))
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
		waiting := Locking(t.Context(), e.Mutex("n"))
		Eventually(t, "it polls", func() bool { return e.Stats().Polling == 1 })
		endsInTime(t, "the end", func() { end(e) })
		require.ErrorIs(t, Receive(t, waiting).Err, lockwheel.ErrClosed)
	}
	Unlock(t, hold)
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
	master, _ := WithReplica(t)
	client, giveBack := master.UsedUp(4)
	opts := lockwheel.Options{Client: client, Lease: 3 * time.Second, CallTimeout: time.Second, Replicas: lockwheel.Replicas{Min: 1}}
	Eventually(t, "a refusal", func() bool {
		_, err := lockwheel.Open(t.Context(), opts)
		require.Error(t, err)
		return strings.Contains(err.Error(), "no connection is free")
	})
	giveBack()
	e := OpenRetrying(t, opts)
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
	require.ErrorIs(t, Receive(t, asked), lockwheel.ErrUnavailable)
	for _, release := range releases {
		release()
	}
	Eventually(t, "a grant that the replica has", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		return err == nil && hold.Unlock(t.Context()) == nil
	})
	endsInTime(t, "Close", func() { e.Close() })
}

// A subscriber needs a second connection to unsubscribe, and Replicas needs two more.
func TestAPoolThatIsTooSmallIsMadeLargeEnough(t *testing.T) {
	t.Parallel()
	master, _ := WithReplica(t)
	holder := master.Open(lockwheel.Options{})
	for _, replicas := range []int{0, 1} {
		e := master.Open(lockwheel.Options{
			Redis:    rueidis.ClientOption{InitAddress: []string{master.Real.Addr()}, BlockingPoolSize: 1},
			Replicas: lockwheel.Replicas{Min: replicas},
		})
		a, b, c := Lock(t, holder.Mutex("a")), Lock(t, holder.Mutex("b")), Lock(t, holder.Mutex("c"))
		first := Locking(t.Context(), e.Mutex("a"))
		left := e.Mutex("b").LockAsync(t.Context())
		RequireWaiting(t, e, 2, 2)
		left.Cancel()
		Eventually(t, "one is left", func() bool { return e.Stats().Subscriptions == 1 })
		second := Locking(t.Context(), e.Mutex("c"))
		RequireWaiting(t, e, 2, 2)
		for _, hold := range []*lockwheel.Hold{a, b, c} {
			Unlock(t, hold)
		}
		Unlock(t, Granted(t, first))
		Unlock(t, Granted(t, second))
		RequireIdle(t, e)
		endsInTime(t, "Close", func() { e.Close() })
	}
}
