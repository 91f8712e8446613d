//go:build adv

package adv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Multis behind Sentinel, with and without replicas that must have them, while the master is replaced.
func TestSentinelMulti(t *testing.T) {
	w := redistest.StartSentinels(t, 1, 3)
	min := 0
	if os.Getenv("ADV_REPL") != "" {
		min = 1
	}
	var engines []*lockwheel.Engine
	for range 3 {
		engines = append(engines, locktest.OpenRetrying(t, lockwheel.Options{Lease: 6 * time.Second, RenewInterval: 500 * time.Millisecond, Replicas: lockwheel.Replicas{Min: min}, CallTimeout: 2 * time.Second,
			Redis: rueidis.ClientOption{InitAddress: w.Addrs(), Sentinel: rueidis.SentinelOption{MasterSet: w.Name}}}))
	}
	groups := [][]string{{"a/plain", "b/plain", "c/plain"}, {"b/plain", "k/fenced", "k/fair", "k/writer"}, {"c/plain", "d/plain"}}
	slots := map[string]*slot{}
	for _, g := range groups {
		for _, n := range g {
			slots[n] = &slot{}
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), runTime(t))
	defer stop()
	var c tally
	var granted, two atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		locktest.Crowd(t, 9, func(i int) error {
			for ctx.Err() == nil {
				some := groups[rand.IntN(len(groups))]
				m := locktest.SeveralOf(engines[i%3], some)
				cctx, cancel := bounded(ctx)
				began := time.Now()
				h, err := m.Lock(cctx, lockwheel.Wait(time.Duration(rand.IntN(3000))*time.Millisecond))
				end, _ := cctx.Deadline()
				if over := time.Since(end); over > time.Second && began.Before(end) {
					t.Logf("Lock outlived its context by %v: %v", over, err)
				}
				c.add("lock", err)
				if err != nil {
					cancel()
					continue
				}
				granted.Add(1)
				for _, n := range some {
					if err := slots[n].take(h); err != nil {
						two.Add(1)
						t.Log(n, err)
					}
				}
				locktest.Pause(ctx, rand.N(30*time.Millisecond))
				for range 5 {
					err := h.Unlock(t.Context())
					c.add("unlock", err)
					if err == nil {
						break
					}
				}
				cancel()
			}
			return nil
		})
	}()
	n := 0
	for ctx.Err() == nil {
		time.Sleep(rand.N(2 * time.Second))
		old := w.Master(t)
		got := w.Sentinels[0].Do(t, "SENTINEL", "FAILOVER", w.Name)
		if fmt.Sprint(got) != "OK" {
			continue
		}
		n++
		w.AwaitMaster(t, old)
	}
	<-done
	t.Logf("%d failovers, %d grants, two %d", n, granted.Load(), two.Load())
	c.show(t)
	for _, e := range engines {
		locktest.RequireIdle(t, e)
		s := e.Stats()
		t.Logf("acquired %d released %d lost %d", s.Acquired, s.Released, s.Lost)
	}
	time.Sleep(6500 * time.Millisecond)
	t.Log(w.Master(t).Strings(t, "KEYS", "*"))
	for _, g := range groups {
		locktest.Unlock(t, locktest.LockAll(t, locktest.SeveralOf(engines[0], g)))
	}
}
