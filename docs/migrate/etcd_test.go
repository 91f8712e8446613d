package migrate

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/lockwheel/lockwheel"
)

func withEtcd(ctx context.Context, client *clientv3.Client, name string, f func(context.Context) error) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30)) // of its own: callers that share one share its locks
	if err != nil {
		return err
	}
	defer session.Close()
	mutex := concurrency.NewMutex(session, name)
	waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
	err = mutex.Lock(waiting)
	cancel()
	if err != nil {
		return err
	}
	defer mutex.Unlock(context.WithoutCancel(ctx))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(session.Ctx(), stop)() // the lease of the session is over
	return f(ctx)
}

var _ = func(ctx context.Context, client *clientv3.Client, account string) error {
	// Before.
	return withEtcd(ctx, client, "account/"+account, settle)
}

var _ = func(ctx context.Context, client *clientv3.Client, locks *lockwheel.Engine, account string) error {
	// As long as programs of the old version run.
	return withEtcd(ctx, client, "account/"+account, func(ctx context.Context) error {
		return locks.FairMutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
	})
}

var _ = func(ctx context.Context, locks *lockwheel.Engine, account string) error {
	// After.
	return locks.FairMutex("account/"+account).Do(ctx, settle, lockwheel.Wait(5*time.Second))
}

var _ = func(ctx context.Context, client *clientv3.Client, work func(context.Context) error) error {
	// The calls of etcd.md that elect a leader.
	session, err := concurrency.NewSession(client)
	if err != nil {
		return err
	}
	defer session.Close()
	election := concurrency.NewElection(session, "billing/leader")
	if err := election.Campaign(ctx, "member 1"); err != nil {
		return err
	}
	defer election.Resign(context.WithoutCancel(ctx))
	return work(session.Ctx())
}
