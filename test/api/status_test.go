package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A server that replies is up. One that does not is down since the first call without a reply, until it replies again.
func TestStatus_Outage_DownSince(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 300 * time.Millisecond, Lease: 3 * time.Second})
	require.Equal(t, []lockwheel.NodeStatus{{Address: p.Addr()}}, e.Status())
	require.NoError(t, e.Ping(t.Context()))

	before := time.Now()
	p.Set(proxy.Both, proxy.Hold)
	err := e.Ping(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	_, err = e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	locktest.Eventually(t, "down", func() bool { return e.Status()[0].Down })
	down := e.Status()[0]
	require.WithinRange(t, down.Since, before, time.Now())
	require.Error(t, down.Err)

	require.NoError(t, p.Heal())
	p.Cut()
	locktest.Eventually(t, "ping again", func() bool { return e.Ping(t.Context()) == nil })
	locktest.Eventually(t, "up again", func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		if err == nil {
			locktest.Unlock(t, hold)
		}
		return err == nil && !e.Status()[0].Down
	})
}

// A ping ends with its context, and with the engine.
func TestPing_Ended_SaysWhy(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: locktest.TestDeadline})
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, why)
	defer cancel()
	p.Set(proxy.Both, proxy.Hold)
	err := e.Ping(ctx)
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorIs(t, e.Ping(ctx), why)
	require.NoError(t, p.Heal())
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Ping(t.Context()), lockwheel.ErrClosed)
	require.ErrorIs(t, new(lockwheel.Engine).Ping(t.Context()), lockwheel.ErrClosed)
	require.Nil(t, e.Status())
	require.Nil(t, new(lockwheel.Engine).Status())
	var none context.Context
	require.ErrorContains(t, e.Ping(none), "nil context")
}

// rueidis closes a connection, such as that to a node that left the cluster. It says of this connection what it says of
// a client that is closed. The engine is not closed.
func TestPing_ConnectionClosed_Unavailable(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	client := s.Client()
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client})
	require.NoError(t, err)
	client.Close()
	err = e.Ping(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrClosed)
	require.NoError(t, e.Close())
	require.ErrorIs(t, e.Ping(t.Context()), lockwheel.ErrClosed)
}
