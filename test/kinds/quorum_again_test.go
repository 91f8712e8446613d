package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// anyNoReply requires that an unlock had no reply, and that its error does not claim one.
func anyNoReply(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotHeld)
}

// answered unlocks repeatedly until enough servers have replied to the release.
func answered(t *testing.T, hold *lockwheel.Hold) {
	t.Helper()
	var err error
	locktest.Eventually(t, "the answers", func() bool { err = hold.Unlock(t.Context()); return !errors.Is(err, lockwheel.ErrUnavailable) })
	if err != nil { // the reply arrived between two calls
		require.ErrorIs(t, err, lockwheel.ErrNotHeld)
	}
}

// impatient waits for a reply for a moment only, with leases that do not expire because of that.
var impatient = lockwheel.Options{Lease: locktest.Longer, CallTimeout: 200 * time.Millisecond}

// While too few servers have replied, each Unlock waits for the same releases, as for a single lock.
func TestQuorum_UnlockAgain_SameReleases(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(impatient)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	p[0].Pause(t)
	p[1].Pause(t)
	for range 3 {
		anyNoReply(t, hold.Unlock(t.Context()))
	}
	require.NoError(t, p[0].Real.Continue())
	answered(t, hold)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
}

// Once an Unlock has returned nil, the next one returns ErrNotHeld at once, even beside a server that does not reply.
func TestQuorum_UnlockAfterNil_AtOnce(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.SlowToGiveUp)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	for _, s := range p[1:] {
		require.NoError(t, s.Real.Pause())
	}
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }()
	locktest.Eventually(t, "the first to be released", func() bool { return !p[0].Exists("n") })
	locktest.RequireNoReply(t, unlocked, 50*time.Millisecond)
	require.NoError(t, p[1].Real.Continue())
	t.Cleanup(func() { _ = p[2].Real.Continue() })
	require.NoError(t, locktest.Receive(t, unlocked))

	// The release is not requested again: an engine that was closed since would not reply.
	require.NoError(t, engines[1].Close())
	for range 3 {
		go func() { unlocked <- hold.Unlock(t.Context()) }()
		require.ErrorIs(t, locktest.Receive(t, unlocked), lockwheel.ErrNotHeld)
	}
}

// The replies came after the first Unlock had returned.
func TestQuorum_UnlockAgain_LateReplies(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(locktest.SlowToGiveUp)
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	locktest.HeldBy(t, engines)
	for _, s := range p {
		s.Pause(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	anyNoReply(t, hold.Unlock(ctx))
	for _, s := range p[:2] {
		require.NoError(t, s.Real.Continue())
	}
	for _, e := range engines[:2] {
		locktest.Eventually(t, "the answer", func() bool { return e.Stats().InFlight == 0 })
	}
	err := hold.Unlock(t.Context()) // the third server does not reply
	require.ErrorIs(t, err, lockwheel.ErrNotHeld)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
}

// Of very many locks, the first were released before the others had no reply.
func TestManyLocks_UnlockAgain_SameReleases(t *testing.T) {
	t.Parallel()
	const many = 1200
	s := locktest.RealServer(t)
	way := proxy.Start(t, s.Addr)
	e := s.OpenAt(way.Addr(), lockwheel.Options{Lease: locktest.Longer, CallTimeout: time.Second})
	var locks []lockwheel.Mutex
	for i := range many {
		locks = append(locks, e.Mutex(fmt.Sprintf("n%04d", i)))
	}
	hold := locktest.LockAll(t, e.Multi(locks...))
	way.Set(proxy.Replies, proxy.Hold)
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }()
	locktest.Eventually(t, "some to be released", func() bool { return s.Do("DBSIZE").(int64) < many })
	way.Set(proxy.Commands, proxy.Hold)
	way.Set(proxy.Replies, proxy.Pass)
	anyNoReply(t, locktest.Receive(t, unlocked))
	anyNoReply(t, hold.Unlock(t.Context()))
	require.NoError(t, way.Heal())
	answered(t, hold)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}
