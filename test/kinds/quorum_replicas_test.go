package kinds_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// patientReplicas gives replicas more time than a busy machine takes.
var patientReplicas = lockwheel.Options{Lease: locktest.Longer, CallTimeout: 30 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 15 * time.Second}}

// noReplicas is for a server without a replica: each grant is undone soon.
var noReplicas = lockwheel.Options{Lease: locktest.Longer, CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 20 * time.Millisecond}}

// replicated returns masters, and one replica of each. All replicas catch up at the same time.
func replicated(t *testing.T, n int) (masters, replicas locktest.ServerSet) {
	t.Helper()
	for range n {
		masters = append(masters, locktest.RealServer(t, "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"))
	}
	replicas = locktest.NewServerSet(t, n)
	for i, s := range replicas {
		require.Equal(t, "OK", s.Do("REPLICAOF", "127.0.0.1", masters[i].Real.Port()))
	}
	for _, s := range masters {
		locktest.Eventually(t, "a replica that has caught up", func() bool { return s.Do("WAIT", 1, 50) == int64(1) })
	}
	return masters, replicas
}

// rejections returns a channel of the errors of an engine's requests. They come from the Observer that it sets.
func rejections(opts *lockwheel.Options) <-chan error {
	errs := make(chan error, 1000)
	opts.Observer.Rejected = func(_ string, _ time.Duration, err error) { errs <- err }
	return errs
}

// requireUndone waits until a request of an engine has failed because too few replicas had its grant. On a busy machine
// the quorum may cancel earlier requests.
func requireUndone(t *testing.T, rejected <-chan error) {
	t.Helper()
	locktest.Eventually(t, "a grant without replicas", func() bool {
		select {
		case err := <-rejected:
			return errors.Is(err, lockwheel.ErrNotReplicated)
		default:
			return false
		}
	})
}

// Each grant of a quorum waits for the replicas of its own server, and Unlock leaves nothing on any server.
func TestQuorum_AllReplicated_HeldOnAll(t *testing.T) {
	t.Parallel()
	p, replicas := replicated(t, 3)
	engines := p.Client(patientReplicas)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	require.NoError(t, hold.Err())
	require.Equal(t, 3, p.Holders("n"))
	require.Equal(t, 3, replicas.Holders("n"), "a grant is on its replica before it counts")
	for _, e := range engines {
		require.Zero(t, e.Stats().Failed)
	}
	locktest.Unlock(t, hold)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	locktest.Eventually(t, "all to be released", func() bool { return p.Holders("n") == 0 && replicas.Holders("n") == 0 })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// A server without replicas is a minority, as one that rejects the lock: its grant is undone, and the hold goes on
// without it. Unlock of that hold returns nil once.
func TestQuorum_OneNotReplicated_HoldGoesOn(t *testing.T) {
	t.Parallel()
	p, _ := replicated(t, 2)
	others, s := p.Client(patientReplicas), locktest.RealServer(t)
	for at := range 3 { // where the server without a replica is in the list
		opts := noReplicas
		rejected := rejections(&opts)
		alone := s.Open(opts)
		engines := slices.Insert(slices.Clone(others), at, alone)
		hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
		locktest.HeldBy(t, others)
		requireUndone(t, rejected)
		locktest.Eventually(t, "no request for it", func() bool { return alone.Stats().Waiting == 0 && alone.Stats().InFlight == 0 })
		require.False(t, s.Exists("n"), "undone")
		failed := alone.Stats().Failed
		locktest.Always(t, 50*time.Millisecond, "it is not asked for again at once", func() bool { return alone.Stats().Failed == failed && !s.Exists("n") })
		require.NoError(t, hold.Extend(t.Context(), 0)) // which asks for it again
		require.NoError(t, hold.Err())
		require.Greater(t, time.Until(hold.Deadline()), locktest.Longer/2)
		require.Equal(t, 2, p.Holders("n"))

		require.NoError(t, hold.Unlock(t.Context()))
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		require.Zero(t, p.Holders("n"))
		require.False(t, s.Exists("n"))
	}
}

// Without replicas at a majority no wait helps, so Lock does not wait: it returns that error and leaves nothing.
func TestQuorum_MostNotReplicated_NothingLeft(t *testing.T) {
	t.Parallel()
	p, replicas := replicated(t, 1)
	p = append(p, locktest.NewServerSet(t, 2)...)
	engines := []*lockwheel.Engine{p[0].Open(patientReplicas), p[1].Open(noReplicas), p[2].Open(noReplicas)}
	for at := range 3 { // where the server with a replica is in the list
		rotated := slices.Concat(engines[3-at:], engines[:3-at])
		err := locktest.Receive(t, locktest.Locking(t.Context(), locktest.Quorum(rotated, "n"), lockwheel.Wait(locktest.Longer))).Err
		require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, "no majority is possible")
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		for _, s := range append(p, replicas...) {
			s.Empty(t)
		}
	}
}

// A caller that leaves while its grants wait for replicas has its result at once. The grants are released, on the
// servers and on their replicas.
func TestQuorum_CanceledBeforeReplicas_NothingLeft(t *testing.T) {
	t.Parallel()
	p, replicas := replicated(t, 3)
	engines := p.Client(patientReplicas)
	for _, stopped := range []int{3, 2} { // so many replicas: none has the grants, or one has
		for _, s := range replicas[:stopped] {
			s.Pause(t)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		waiting := locktest.Locking(ctx, locktest.Quorum(engines, "n"))
		locktest.Eventually(t, "grants that wait for replicas", func() bool {
			for i := range p[:stopped] {
				if !p[i].Exists("n") {
					return false
				}
			}
			return stopped == 3 || hasOnly(engines[2])
		})
		locktest.RequireNoReply(t, waiting, 0)
		cancel(locktest.ErrTest)
		err := locktest.ReceiveWithin(t, locktest.TestDeadline, waiting).Err
		locktest.RequireCanceled(t, err)
		for _, s := range replicas[:stopped] {
			require.NoError(t, s.Real.Continue())
		}
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		for _, s := range append(p, replicas...) {
			s.Empty(t)
		}
		locktest.Unlock(t, locktest.LockAll(t, locktest.Quorum(engines, "n")))
		for _, s := range append(p, replicas...) {
			s.Empty(t) // the Unlock of a quorum does not wait for the last release
		}
	}
}

// A lock that too few replicas had is requested again every Options.RenewInterval. So it joins the hold when a replica
// is back.
func TestQuorum_ReplicaBack_MemberJoins(t *testing.T) {
	t.Parallel()
	p, replicas := replicated(t, 1)
	require.Equal(t, "OK", replicas[0].Do("REPLICAOF", "NO", "ONE"))
	opts := lockwheel.Options{Lease: 30 * time.Second, RenewInterval: 300 * time.Millisecond, CallTimeout: 10 * time.Second, Replicas: lockwheel.Replicas{Min: 1, Timeout: 100 * time.Millisecond}}
	rejected := rejections(&opts)
	engines := append(locktest.NewServerSet(t, 2).Client(locktest.SlowToGiveUp), p[0].Open(opts))
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	requireUndone(t, rejected)
	require.Equal(t, "OK", replicas[0].Do("REPLICAOF", "127.0.0.1", p[0].Real.Port()))
	locktest.HeldBy(t, engines)
	require.True(t, replicas[0].Exists("n"))
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "all to be released", func() bool { return !p[0].Exists("n") && !replicas[0].Exists("n") })
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// If a grant without replicas cannot be undone, its lock is still there. So it does not count as released: Unlock waits
// for all others that a majority needs.
func TestQuorum_UndoRejected_NotReleased(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	way := proxy.Start(t, p[0].Addr)
	opts := noReplicas
	rejected := rejections(&opts)
	engines := []*lockwheel.Engine{
		p[0].OpenAt(way.Addr(), locktest.SlowToGiveUp), p[1].Open(locktest.SlowToGiveUp),
		p[2].As(opts, "~* &* +@all -hdel"), // HDEL releases a lock
	}
	p[2].HoldAsOther("n", locktest.Longer) // until there is a hold
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines[:2])
	locktest.Eventually(t, "it to be waited for", func() bool { return locktest.Listens(engines[2]) })
	p[2].Do("DEL", "n")
	p[2].Do("PUBLISH", "redisson_lock__channel:{n}", 0)
	requireUndone(t, rejected)
	require.True(t, p[2].Exists("n"))

	way.Set(proxy.Commands, proxy.Hold)
	unlocked := locktest.Unlocking(t.Context(), hold)
	locktest.Eventually(t, "one to be released", func() bool { return !p[1].Exists("n") })
	locktest.RequireNoReply(t, unlocked, 50*time.Millisecond)
	require.NoError(t, way.Heal())
	require.NoError(t, locktest.Receive(t, unlocked))
	require.False(t, p[0].Exists("n"))
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
}
