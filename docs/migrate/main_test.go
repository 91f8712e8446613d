package migrate

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// errBusy is what the programs return when another one has the lock.
var errBusy = errors.New("another program settles this account")

// settled counts the calls of settle, and settling those that run.
var settled, settling atomic.Int64

// settle stands for what must not run twice at a time.
func settle(ctx context.Context) error {
	if settling.Add(1) != 1 {
		return errors.New("two settle at once")
	}
	defer settling.Add(-1)
	settled.Add(1)
	time.Sleep(2 * time.Millisecond) // so that another call, if there is one, is in time
	return ctx.Err()
}

// clients are an engine and an old client's client on a server of the test.
func clients(t *testing.T) (locks *lockwheel.Engine, old *redis.Client, option rueidis.ClientOption) {
	server := redistest.Start(t)
	option = rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	locks, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: option, Foreign: true})
	require.NoError(t, err)
	t.Cleanup(func() { locks.Close() })
	old = redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { old.Close() })
	return locks, old, option
}

// requireApart runs both programs at once, again and again. Each has its turns, and settle runs once at a time.
func requireApart(t *testing.T, before, after func(context.Context) error) {
	t.Helper()
	const rounds = 50
	settled.Store(0)
	done := make(chan error, 2)
	for _, program := range []func(context.Context) error{before, after} {
		go func() {
			for range rounds {
				if err := program(t.Context()); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 2 {
		require.NoError(t, <-done)
	}
	require.EqualValues(t, 2*rounds, settled.Load())
}
