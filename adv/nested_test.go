//go:build adv

package adv

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Re-entry into quorums with members that come and go, and engines that close in the middle.
func TestNestedQuorums(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	names := []string{"n/plain", "n/fenced", "n/fair", "n/writer"}
	for _, s := range set {
		s.Do("CONFIG", "SET", "enable-debug-command", "yes")
	}
	const clients, workers = 3, 4
	var engines [clients][3]atomic.Pointer[lockwheel.Engine]
	open := func(c, i int) { engines[c][i].Store(set[i].Open(lockwheel.Options{Lease: locktest.FlashLease})) }
	for c := range clients {
		for i := range 3 {
			open(c, i)
		}
	}
	slots := make([]slot, len(names))
	ctx, stop := context.WithTimeout(t.Context(), runTime(t))
	defer stop()
	var c tally
	var two atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		locktest.Crowd(t, clients*workers, func(i int) error {
			for ctx.Err() == nil {
				at := rand.IntN(len(names))
				var l []lockwheel.Mutex
				for j := range 3 {
					l = append(l, locktest.MutexOf(engines[i%clients][j].Load(), names[at]))
				}
				q := lockwheel.Quorum(l...)
				cctx := ctx
				if rand.IntN(2) == 0 {
					cctx = lockwheel.WithOwner(ctx)
				}
				h, err := q.Lock(cctx, opts()...)
				c.add("lock", err)
				if err != nil {
					continue
				}
				if slots[at].take(h) != nil {
					two.Add(1)
				}
				var wg sync.WaitGroup
				for range 1 + rand.IntN(3) {
					wg.Go(func() {
						base := h.Context()
						if rand.IntN(2) == 0 {
							base = context.WithoutCancel(base)
						}
						x, cancel := bounded(base)
						defer cancel()
						locktest.Pause(ctx, rand.N(10*time.Millisecond))
						var in *lockwheel.Hold
						var err error
						switch rand.IntN(3) {
						case 0:
							in, err = q.Lock(x, opts()...)
						case 1:
							in, err = q.TryLock(x)
						case 2:
							in, err = l[rand.IntN(3)].Lock(x, opts()...)
						}
						c.add("inner", err)
						if err == nil {
							locktest.Pause(ctx, rand.N(20*time.Millisecond))
							if rand.IntN(4) == 0 {
								c.add("inner extend", in.Extend(ctx, rand.N(400*time.Millisecond).Truncate(time.Millisecond)))
							}
							c.add("inner unlock", in.Unlock(ctx))
						}
					})
				}
				locktest.Pause(ctx, rand.N(20*time.Millisecond))
				use(ctx, &c, h, func(x context.Context) (*lockwheel.Hold, error) { return q.TryLock(x) })
				wg.Wait()
				_ = h.Unlock(ctx)
			}
			return nil
		})
	}()
	var retired []*lockwheel.Engine
	for ctx.Err() == nil {
		s := set[0]
		switch rand.IntN(4) {
		case 0:
			s.Real.Pause()
			time.Sleep(rand.N(400 * time.Millisecond))
			s.Real.Continue()
		case 1:
			s.Do("CLIENT", "KILL", "TYPE", "normal")
		case 2:
			s.Do("DEBUG", "SLEEP", 0.03)
		case 3:
			cl, m := rand.IntN(clients), rand.IntN(3)
			old := engines[cl][m].Load()
			open(cl, m)
			if rand.IntN(2) == 0 {
				go old.Close()
			} else {
				sctx, cancel := context.WithTimeout(t.Context(), rand.N(300*time.Millisecond))
				go func() { old.Shutdown(sctx); cancel() }()
			}
			retired = append(retired, old)
		}
		time.Sleep(rand.N(150 * time.Millisecond))
	}
	<-done
	t.Logf("two %d", two.Load())
	c.show(t)
	for cl := range clients {
		for i := range 3 {
			e := engines[cl][i].Load()
			locktest.RequireIdle(t, e)
			addsUp(t, "nested", e)
		}
	}
	for _, e := range retired {
		e.Close()
	}
	for _, s := range set {
		s.RequireNothingLeft(t, locktest.FlashLease, names)
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	}
	require.Zero(t, two.Load())
}
