package migrate

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

func settleWithRueidislock(ctx context.Context, locker rueidislock.Locker, account string) error {
	waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ctx, unlock, err := locker.WithContext(waiting, "account/"+account)
	if err != nil {
		return err
	}
	defer unlock()
	return settle(ctx) // within the 5 s, because its context is a child of the one of the wait
}

// settleBesideRueidislock takes two of the three keys of rueidislock, so that neither side has a majority beside the
// other. It also takes the name that is used when no rueidislock is left.
func settleBesideRueidislock(ctx context.Context, locks *lockwheel.Engine, account string) error {
	name := "account/" + account
	all := locks.Multi(locks.Mutex("rueidislock:0:"+name), locks.Mutex("rueidislock:1:"+name), locks.Mutex(name))
	return all.Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

func settleAfterRueidislock(ctx context.Context, locks *lockwheel.Engine, account string) error {
	return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

// The programs of rueidislock.md exclude each other.
func TestMigrate_Rueidislock_ProgramsApart(t *testing.T) {
	locks, _, option := clients(t)
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: option, TryNextAfter: 5 * time.Second})
	require.NoError(t, err)
	defer locker.Close()
	requireApart(t,
		func(ctx context.Context) error { return settleWithRueidislock(ctx, locker, "7") },
		func(ctx context.Context) error { return settleBesideRueidislock(ctx, locks, "7") })
	requireApart(t,
		func(ctx context.Context) error { return settleBesideRueidislock(ctx, locks, "7") },
		func(ctx context.Context) error { return settleAfterRueidislock(ctx, locks, "7") })
}
