package migrate

import (
	"context"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/lockwheel/lockwheel"
)

func withConsul(ctx context.Context, client *api.Client, name string, f func(context.Context) error) error {
	lock, err := client.LockOpts(&api.LockOptions{Key: name, SessionTTL: "30s", LockTryOnce: true, LockWaitTime: 5 * time.Second})
	if err != nil {
		return err
	}
	lost, err := lock.Lock(ctx.Done())
	if err != nil {
		return err
	}
	if lost == nil {
		return errBusy // the wait is over, or ctx has ended
	}
	defer lock.Unlock()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-lost:
			stop()
		case <-ctx.Done():
		}
	}()
	return f(ctx)
}

var _ = func(ctx context.Context, client *api.Client, account string) error {
	// Before.
	return withConsul(ctx, client, "account/"+account, settle)
}

var _ = func(ctx context.Context, client *api.Client, locks *lockwheel.Engine, account string) error {
	// As long as programs of the old version run.
	return withConsul(ctx, client, "account/"+account, func(ctx context.Context) error {
		return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
	})
}

var _ = func(ctx context.Context, locks *lockwheel.Engine, account string) error {
	// After.
	return locks.Mutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}
