package migrate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

func settleWithRedislock(ctx context.Context, locker *redislock.Client, account string) error {
	lock, err := obtain(ctx, locker, "account/"+account)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // the program renews, and notices a loss, by itself
		for every := time.Tick(10 * time.Second); ; {
			select {
			case <-every:
				if err := lock.Refresh(ctx, 30*time.Second, nil); err != nil {
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

// obtain waits also while lockwheel has the lock. redislock itself returns WRONGTYPE then, and does not retry.
func obtain(ctx context.Context, locker *redislock.Client, key string) (*redislock.Lock, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // longer than before: new programs are notified, and come first
	defer cancel()
	retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)}
	for {
		lock, err := locker.Obtain(ctx, key, 30*time.Second, retry)
		if err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			return lock, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// tryObtain tries once, and also takes a hold of lockwheel's for one of redislock's.
func tryObtain(ctx context.Context, locker *redislock.Client, key string) (*redislock.Lock, error) {
	lock, err := locker.Obtain(ctx, key, 30*time.Second, nil)
	if err != nil && strings.Contains(err.Error(), "WRONGTYPE") {
		err = redislock.ErrNotObtained
	}
	return lock, err
}

func settleAfterRedislock(ctx context.Context, locks *lockwheel.Engine, account string) error {
	return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

// The programs of redislock.md exclude each other.
func TestMigrate_Redislock_ProgramsApart(t *testing.T) {
	locks, old, _ := clients(t)
	requireApart(t,
		func(ctx context.Context) error { return settleWithRedislock(ctx, redislock.New(old), "7") },
		func(ctx context.Context) error { return settleAfterRedislock(ctx, locks, "7") })
}

// What redislock.md adds to Obtain is needed, and enough: it waits for the end of a hold of lockwheel's.
func TestMigrate_RedislockObtain_WaitsForHold(t *testing.T) {
	locks, old, _ := clients(t)
	hold, err := locks.Mutex("account/7").Lock(t.Context())
	require.NoError(t, err)
	_, err = redislock.New(old).Obtain(t.Context(), "account/7", time.Minute, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
	require.ErrorContains(t, err, "WRONGTYPE")
	_, err = tryObtain(t.Context(), redislock.New(old), "account/7")
	require.ErrorIs(t, err, redislock.ErrNotObtained)
	obtained := make(chan error, 1)
	go func() {
		_, err := obtain(t.Context(), redislock.New(old), "account/7")
		obtained <- err
	}()
	select {
	case err := <-obtained:
		require.FailNow(t, "obtained while it was held", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, hold.Unlock(t.Context()))
	require.NoError(t, <-obtained)
	lock, err := tryObtain(t.Context(), redislock.New(old), "account/8")
	require.NoError(t, err)
	require.NoError(t, lock.Release(t.Context()))
}
