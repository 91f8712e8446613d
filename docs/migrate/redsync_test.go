package migrate

import (
	"context"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func settleWithRedsync(ctx context.Context, rs *redsync.Redsync, account string) error {
	mutex := rs.NewMutex("account/"+account, redsync.WithExpiry(30*time.Second), redsync.WithTries(3000), redsync.WithRetryDelay(10*time.Millisecond))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // the program extends, and notices a loss, by itself
		for every := time.Tick(10 * time.Second); ; {
			select {
			case <-every:
				if extended, err := mutex.ExtendContext(ctx); !extended {
					stop(err)
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return settle(ctx)
}

func settleAfterRedsync(ctx context.Context, locks *lockwheel.Engine, account string) error {
	return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

// settleAfterRedlock has an engine for each server.
func settleAfterRedlock(ctx context.Context, one, two, three *lockwheel.Engine, account string) error {
	name := "account/" + account
	return lockwheel.Quorum(one.Mutex(name), two.Mutex(name), three.Mutex(name)).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

// The programs of redsync.md exclude each other.
func TestMigrate_Redsync_ProgramsApart(t *testing.T) {
	locks, old, _ := clients(t)
	rs := redsync.New(goredis.NewPool(old))
	requireApart(t,
		func(ctx context.Context) error { return settleWithRedsync(ctx, rs, "7") },
		func(ctx context.Context) error { return settleAfterRedsync(ctx, locks, "7") })
}

// The same with a majority of three servers on both sides.
func TestMigrate_RedsyncMajority_ProgramsApart(t *testing.T) {
	redistest.Start(t) // or the test is skipped
	one, oldOne, _ := clients(t)
	two, oldTwo, _ := clients(t)
	three, oldThree, _ := clients(t)
	rs := redsync.New(goredis.NewPool(oldOne), goredis.NewPool(oldTwo), goredis.NewPool(oldThree))
	done := make(chan error, 2)
	for range 20 {
		go func() { done <- settleWithRedsync(t.Context(), rs, "7") }()
		go func() { done <- settleAfterRedlock(t.Context(), one, two, three, "7") }()
		require.NoError(t, <-done)
		require.NoError(t, <-done)
	}
}
