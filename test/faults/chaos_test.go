package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// chaosTime is how long the test runs; LOCKWHEEL_CHAOS=10m makes it a campaign.
func chaosTime(t *testing.T) time.Duration {
	t.Helper()
	given := os.Getenv("LOCKWHEEL_CHAOS")
	if given == "" {
		return long.Pick(time.Second, 5*time.Second)
	}
	d, err := time.ParseDuration(given)
	require.NoError(t, err)
	return d
}

// singleHolder is the holder of a lock. The next holder must find that the previous one knows its end.
type singleHolder struct {
	holder atomic.Pointer[lockwheel.Hold]
}

func (th *singleHolder) take(hold *lockwheel.Hold) error {
	before := th.holder.Swap(hold)
	if before == nil || hold.Err() != nil {
		return nil
	}
	if before.Err() == nil {
		return fmt.Errorf("two holders: %s beside %s", hold.ID(), before.ID())
	}
	if hold.Token() != 0 && hold.Token() <= before.Token() {
		return fmt.Errorf("token %d after %d", hold.Token(), before.Token())
	}
	return nil
}

// No lock of any kind has two holders while connections break at random.
func TestBrokenLinks_AnyKind_NoTwoHolders(t *testing.T) {
	t.Parallel()
	names := locktest.NamesOfKinds("n")
	thrones := make([]singleHolder, len(names))
	onBrokenLinks(t, names, func(ctx context.Context, e *lockwheel.Engine) (*lockwheel.Hold, error) {
		at := rand.IntN(len(names))
		hold, err := locktest.MutexOf(e, names[at]).Lock(ctx, someOptions()...)
		if err != nil {
			return nil, err
		}
		if err := thrones[at].take(hold); err != nil {
			return nil, err
		}
		misuseRandomly(ctx, hold)
		return hold, nil
	})
}

// onBrokenLinks has workers visit in several engines with links that break all the time. Each worker releases its
// holds. When the time has elapsed all links heal, and nothing may be left of the locks named.
func onBrokenLinks(t *testing.T, names []string, visit func(context.Context, *lockwheel.Engine) (*lockwheel.Hold, error)) {
	t.Helper()
	s := locktest.RealServer(t)
	const engines, workers = 3, 6
	var granted atomic.Int64
	var all []*lockwheel.Engine
	var links []*proxy.Proxy
	for range engines {
		p := proxy.Start(t, s.Addr)
		links = append(links, p)
		all = append(all, s.OpenAt(p.Addr(), lockwheel.Options{Lease: locktest.FlashLease}))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	end := time.Now().Add(chaosTime(t)) // begins after they are open
	go func() {                         // a busy machine may need longer for the first grant
		for time.Now().Before(end) || granted.Load() == 0 && time.Now().Before(end.Add(locktest.TestDeadline)) {
			if locktest.Pause(ctx, 5*time.Millisecond); ctx.Err() != nil {
				return
			}
		}
		stop()
	}()
	locktest.Crowd(t, engines*(workers+1), func(i int) error {
		at := i % engines
		if i < engines {
			return breakLink(ctx, links[at])
		}
		for ctx.Err() == nil {
			hold, err := visit(ctx, all[at])
			if err != nil {
				if errors.Is(err, lockwheel.ErrNotAcquired) || errors.Is(err, lockwheel.ErrUnavailable) || errors.Is(err, lockwheel.ErrLost) {
					continue
				}
				return err
			}
			granted.Add(1)
			_ = hold.Unlock(ctx)
		}
		return nil
	})
	for _, p := range links {
		require.NoError(t, p.Heal())
		p.Cut()
	}
	for _, e := range all {
		locktest.RequireIdle(t, e)
		stats := e.Stats()
		require.Equal(t, stats.Acquired, stats.Released+stats.Lost)
	}
	s.RequireNoLock(t, all[0], names)
	t.Logf("%d grants", granted.Load())
	require.NotZero(t, granted.Load())
}

// someOptions returns random options.
func someOptions() (opts []lockwheel.Option) {
	if rand.IntN(3) == 0 {
		opts = append(opts, lockwheel.Lease(time.Duration(1+rand.IntN(800))*time.Millisecond))
	}
	return append(opts, lockwheel.Wait(time.Duration(rand.IntN(1500))*time.Millisecond))
}

// misuseRandomly uses a hold as holders do.
func misuseRandomly(ctx context.Context, hold *lockwheel.Hold) {
	switch rand.IntN(8) {
	case 0:
		_ = hold.Extend(ctx, time.Duration(rand.IntN(1000))*time.Millisecond)
	case 1:
		select { // longer than many leases
		case <-hold.Done():
		case <-time.After(time.Duration(rand.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
		}
	default:
		locktest.ShortRun()
	}
}

// breakLink applies one fault after the other to a link, with pauses, until ctx ends.
func breakLink(ctx context.Context, p *proxy.Proxy) error {
	some := func(most int) time.Duration { return time.Duration(rand.IntN(most)) * time.Millisecond }
	directions := []proxy.Direction{proxy.Commands, proxy.Replies, proxy.Both}
	for ctx.Err() == nil {
		d := directions[rand.IntN(3)]
		what := rand.IntN(7)
		switch what {
		case 0:
			p.Set(d, proxy.Delay(some(100)))
		case 1:
			p.Set(d, proxy.Hold)
		case 2:
			p.SetFor(proxy.Existing, d, proxy.Drop)
		case 3:
			p.SetFor(proxy.Existing, d, proxy.CutAfter(rand.IntN(2000)))
		case 4:
			p.Cut()
		case 5:
			p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold) // the commands may run much later
		case 6:
			if err := p.Refuse(true); err != nil {
				return err
			}
		}
		locktest.Pause(ctx, some(500))
		if what == 2 {
			p.Cut() // after lost bytes the rest of the stream would be malformed
		}
		if err := p.Heal(); err != nil {
			return err
		}
		locktest.Pause(ctx, some(300))
	}
	return nil
}
