package api_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
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
	locktest.Eventually(t, "a reply", func() bool { return e.Ping(t.Context()) == nil })

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
			locktest.UnlockHold(t, hold)
		}
		return err == nil && !e.Status()[0].Down
	})
}

// A server that replies, but rejects what changes a lock, is down as well: no caller gets a lock. The reason is its
// error. The log has it, and the end.
func TestStatus_WritesRejected_DownWithReason(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	said := make(locktest.LogLines, 100)
	opts := lockwheel.Options{CallTimeout: 300 * time.Millisecond, Lease: time.Minute, Logger: slog.New(slog.NewTextHandler(said, nil))}
	e := s.Open(opts)
	tries := func() bool {
		hold, err := e.Mutex("n").TryLock(t.Context())
		if err == nil {
			locktest.UnlockHold(t, hold)
		}
		return err == nil
	}
	for reason, rejects := range map[string][2][]any{
		"NOREPLICAS": {{"CONFIG", "SET", "min-replicas-to-write", "1"}, {"CONFIG", "SET", "min-replicas-to-write", "0"}},
		"OOM":        {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
		"READONLY":   {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
	} {
		before := time.Now()
		s.Do(rejects[0]...)
		// The engine closes its connections to what is a replica now, so the first reason may be that.
		locktest.Eventually(t, reason, func() bool {
			down := e.Status()[0]
			var rejected lockwheel.ServerError
			is := !tries() && down.Down && errors.As(down.Err, &rejected) && strings.Contains(string(rejected), reason)
			return is && !down.Since.Before(before) && !down.Since.After(time.Now()) && e.Stats().ServersDown == 1
		})
		locktest.Eventually(t, "a reply", func() bool { return e.Ping(t.Context()) == nil })

		s.Do(rejects[1]...)
		locktest.Eventually(t, "up again", func() bool { return tries() && !e.Status()[0].Down && e.Stats().ServersDown == 0 })
		locktest.Eventually(t, "the log", func() bool {
			line := locktest.Receive(t, said)
			return strings.Contains(line, `level=WARN msg="lockwheel: the server rejects what changes a lock; trying again" cause="`+reason)
		})
		locktest.Eventually(t, "the log of the end", func() bool {
			return strings.Contains(locktest.Receive(t, said), `level=INFO msg="lockwheel: the server accepts again what changes a lock"`)
		})
	}
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
