package lifecycle_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The lifetime of a connection ends while a server is slow: commands in flight on it must not be sent twice
// unnoticed.
func TestConnLifetime_SlowServer_NoLockLost(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: 30 * time.Second, CallTimeout: 9 * time.Second, Redis: rueidis.ClientOption{ConnLifetime: time.Second}})
	for i := range 2 {
		var holds []*lockwheel.Hold
		for j := range 20 {
			holds = append(holds, locktest.Lock(t, e.Mutex(fmt.Sprint("n", i, "-", j))))
		}
		useConnection(t, e)
		require.NoError(t, s.Real.Pause())
		done := make(chan error, 40)
		for _, hold := range holds {
			go func() { done <- hold.Unlock(t.Context()) }()
			time.Sleep(2 * time.Millisecond) // one call for each, until all senders are busy
		}
		time.Sleep(2500 * time.Millisecond) // the lifetime, and the second that rueidis gives commands in flight: neither is observable
		require.NoError(t, s.Real.Continue())
		for range holds {
			if err := locktest.Receive(t, done); err != nil {
				t.Error(err)
			}
		}
	}
}

// Commands still on a connection when its lifetime ends may run later. They must not leave a lock without a holder.
func TestConnLifetime_LateCommands_NoLockLeft(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: 30 * time.Second, CallTimeout: 2 * time.Second, Redis: rueidis.ClientOption{ConnLifetime: time.Second}})
	useConnection(t, e)
	p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
	var waiting []<-chan locktest.Outcome
	for j := range 20 {
		waiting = append(waiting, locktest.Locking(t.Context(), e.Mutex(fmt.Sprint("n", j))))
		time.Sleep(2 * time.Millisecond) // one call for each, until all senders are busy
	}
	for _, w := range waiting {
		locktest.Unlock(t, locktest.Granted(t, w))
	}
	p.Set(proxy.Commands, proxy.Pass)  // the data of the old connection
	time.Sleep(100 * time.Millisecond) // for it to run: a late effect cannot be waited for
	locktest.Eventually(t, "no lock without a holder", func() bool { return s.Do("DBSIZE") == int64(0) })
}

// useConnection runs very many lock pairs on an engine's connection, so that rueidis pipelines on it.
func useConnection(t *testing.T, e *lockwheel.Engine) {
	t.Helper()
	locktest.Crowd(t, 50, func(i int) error {
		m := e.Mutex(fmt.Sprint("other", i))
		for range 20 {
			if err := m.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
}
