package lockwheeltest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

// transfer is in docs/recipes.md. It returns within 300 ms, whatever the lock server does.
func transfer(ctx context.Context, locks *lockwheel.Engine, from, to string, move func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	accounts := locks.Multi(locks.Mutex("account/"+from), locks.Mutex("account/"+to))
	hold, err := accounts.Lock(ctx, lockwheel.Wait(200*time.Millisecond)) // bounds the wait, also in an outage
	if err != nil {
		return err
	}
	defer hold.Unlock(ctx) // ctx bounds the wait for its reply
	return move(hold.Context())
}

// untilEnded is work that stops only with its context.
func untilEnded(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestTransfer_AnyTrouble_EndsInTime(t *testing.T) {
	for name, trouble := range map[string]struct {
		before, meanwhile func(*lockwheeltest.Server)
		want              error
		took              time.Duration
	}{
		"held elsewhere":           {before: func(s *lockwheeltest.Server) { s.HoldElsewhere("account/2") }, want: lockwheel.ErrNotAcquired, took: 200 * time.Millisecond},
		"server down":              {before: (*lockwheeltest.Server).Down, want: lockwheel.ErrUnavailable, took: 200 * time.Millisecond},
		"server down while held":   {meanwhile: (*lockwheeltest.Server).Down, want: context.DeadlineExceeded, took: 300 * time.Millisecond},
		"a lock lost while held":   {meanwhile: func(s *lockwheeltest.Server) { s.Lose("account/2") }, want: lockwheel.ErrLost, took: 100 * time.Millisecond},
		"work that takes too long": {want: context.DeadlineExceeded, took: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := lockwheeltest.New(t)
				if trouble.before != nil {
					trouble.before(server)
				}
				began, done := time.Now(), make(chan error, 1)
				go func() { done <- transfer(t.Context(), server.Engine(), "1", "2", untilEnded) }()
				time.Sleep(100 * time.Millisecond)
				if trouble.meanwhile != nil {
					trouble.meanwhile(server)
				}
				require.ErrorIs(t, <-done, trouble.want)
				require.Equal(t, trouble.took, time.Since(began))
				server.Up()
			})
		})
	}
}
