package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// pause pauses a server, until the end of the test at most.
func (s *Server) pause(t *testing.T) {
	t.Helper()
	require.NoError(t, s.real.Pause())
	t.Cleanup(func() { _ = s.real.Continue() })
}

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
	eventually(t, "the answers", func() bool { err = hold.Unlock(t.Context()); return !errors.Is(err, lockwheel.ErrUnavailable) })
	if err != nil { // the reply arrived between two calls
		require.ErrorIs(t, err, lockwheel.ErrNotHeld)
	}
}

// impatient waits for a reply for a moment only, with leases that do not expire because of that.
var impatient = lockwheel.Options{Lease: longer, CallTimeout: 200 * time.Millisecond}

// While too few servers have replied, each Unlock waits for the same releases, as for a single lock.
func TestAnotherUnlockOfAQuorumWaitsForTheSameReleases(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(impatient)
	hold := lockAll(t, quorum(engines, "n"))
	heldBy(t, engines)
	p[0].pause(t)
	p[1].pause(t)
	for range 3 {
		anyNoReply(t, hold.Unlock(t.Context()))
	}
	require.NoError(t, p[0].real.Continue())
	answered(t, hold)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
}

// Once an Unlock has returned nil, the next one returns ErrNotHeld at once, even beside a server that does not reply.
func TestAnotherUnlockOfAQuorumWaitsForNothing(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(slowToGiveUp)
	hold := lockAll(t, quorum(engines, "n"))
	heldBy(t, engines)
	for _, s := range p[1:] {
		require.NoError(t, s.real.Pause())
	}
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }()
	eventually(t, "the first to be released", func() bool { return !p[0].exists("n") })
	requireNoReply(t, unlocked, 50*time.Millisecond)
	require.NoError(t, p[1].real.Continue())
	t.Cleanup(func() { _ = p[2].real.Continue() })
	require.NoError(t, receive(t, unlocked))

	// The release is not requested again: an engine that was closed since would not reply.
	require.NoError(t, engines[1].Close())
	for range 3 {
		go func() { unlocked <- hold.Unlock(t.Context()) }()
		require.ErrorIs(t, receive(t, unlocked), lockwheel.ErrNotHeld)
	}
}

// The replies came after the first Unlock had returned.
func TestAnotherUnlockOfAQuorumSaysThatTheFirstWasAnswered(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(slowToGiveUp)
	hold := lockAll(t, quorum(engines, "n"))
	heldBy(t, engines)
	for _, s := range p {
		s.pause(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	anyNoReply(t, hold.Unlock(ctx))
	for _, s := range p[:2] {
		require.NoError(t, s.real.Continue())
	}
	for _, e := range engines[:2] {
		eventually(t, "the answer", func() bool { return e.Stats().InFlight == 0 })
	}
	err := hold.Unlock(t.Context()) // the third server does not reply
	require.ErrorIs(t, err, lockwheel.ErrNotHeld)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
}

// Of very many locks, the first were released before the others had no reply.
func TestAnotherUnlockOfVeryManyLocksWaitsForTheSameReleases(t *testing.T) {
	t.Parallel()
	const many = 1200
	s := RealServer(t)
	way := proxy.Start(t, s.addr)
	e := s.openAt(way.Addr(), lockwheel.Options{Lease: longer, CallTimeout: time.Second})
	var locks []lockwheel.Mutex
	for i := range many {
		locks = append(locks, e.Mutex(fmt.Sprintf("n%04d", i)))
	}
	hold := lockAll(t, e.Multi(locks...))
	way.Set(proxy.Replies, proxy.Hold)
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(t.Context()) }()
	eventually(t, "some to be released", func() bool { return s.do("DBSIZE").(int64) < many })
	way.Set(proxy.Commands, proxy.Hold)
	way.Set(proxy.Replies, proxy.Pass)
	anyNoReply(t, receive(t, unlocked))
	anyNoReply(t, hold.Unlock(t.Context()))
	require.NoError(t, way.Heal())
	answered(t, hold)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.Equal(t, int64(0), s.do("DBSIZE"))
}
