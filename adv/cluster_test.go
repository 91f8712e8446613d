//go:build adv

package adv

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func next(r *locktest.ClusterEnv, t *testing.T, from *redistest.Server) *redistest.Server {
	at := locktest.IndexOf(r.Nodes, from)
	for {
		at = (at + 1) % len(r.Nodes)
		if n := r.Nodes[at]; n.Running() && n != from && strings.Contains(n.String(t, "INFO", "replication"), "role:master") {
			return n
		}
	}
}

// Multis of one slot and of several, while slots migrate key by key and back.
func TestClusterMultiMigrates(t *testing.T) {
	replicas := len(os.Getenv("ADV_FAIL"))
	r := locktest.NewClusterEnv(t, replicas)
	var engines []*lockwheel.Engine
	for i := range 3 {
		o := lockwheel.Options{Lease: 3 * time.Second, RenewInterval: 300 * time.Millisecond, Replicas: lockwheel.Replicas{Min: replicas}}
		if os.Getenv("ADV_POLL") != "" && i != 0 {
			o.Notify = lockwheel.Poll
		}
		engines = append(engines, r.Open(o))
	}
	one := []string{"{slot}a/plain", "{slot}b/plain", "{slot}c/plain", "{slot}d/plain"}
	kinds := []string{"{slot}k/plain", "{slot}k/fenced", "{slot}k/fair", "{slot}k/writer"}
	spread := []string{one[0], one[1], "{other}0/plain", "{third}x/plain"}
	groups := [][]string{one, kinds, spread}
	slots := map[string]*slot{}
	for _, g := range groups {
		for _, n := range g {
			slots[n] = &slot{}
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), runTime(t))
	defer stop()
	var c tally
	var granted [3]atomic.Int64
	var two atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		locktest.Crowd(t, 12, func(i int) error {
			for ctx.Err() == nil {
				g := rand.IntN(3)
				some := groups[g]
				e := engines[i%3]
				m := locktest.SeveralOf(e, some)
				cctx, cancel := bounded(ctx)
				began := time.Now()
				lock := m.Lock
				if rand.IntN(4) == 0 {
					lock = m.TryLock
				}
				o := opts()
				if os.Getenv("ADV_WATCH") != "" {
					o = []lockwheel.Option{lockwheel.Wait(2 * time.Second)}
				}
				h, err := lock(cctx, o...)
				end, _ := cctx.Deadline()
				if over := time.Since(end); over > time.Second && began.Before(end) {
					t.Logf("Lock outlived its context by %v: %v", over, err)
				}
				if err != nil {
					cancel()
				}
				c.add("lock", err)
				if err != nil {
					continue
				}
				granted[g].Add(1)
				for _, n := range some {
					if err := slots[n].take(h); err != nil {
						two.Add(1)
						t.Log(n, err)
					}
				}
				if os.Getenv("ADV_WATCH") != "" {
					locktest.Pause(ctx, rand.N(2*time.Second))
					if err := h.Err(); err != nil {
						t.Log("LOST", err)
					}
					c.add("unlock", h.Unlock(t.Context()))
					continue
				}
				use(ctx, &c, h, func(x context.Context) (*lockwheel.Hold, error) {
					return locktest.MutexOf(e, some[rand.IntN(len(some))]).TryLock(x, lockwheel.Wait(time.Second))
				})
			}
			return nil
		})
	}()
	s := r.Slot(t, "{slot}")
	for ctx.Err() == nil {
		if replicas > 0 && rand.IntN(2) == 0 {
			old := r.Master(t, s)
			r.Replica(t, old).Do(t, "CLUSTER", "FAILOVER")
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && r.Master(t, s) == old; {
				time.Sleep(20 * time.Millisecond)
			}
			r.AwaitHealthy(t)
			continue
		}
		from := r.Master(t, s)
		m := r.Migrate(t, s, next(r, t, from))
		for range rand.IntN(6) {
			m.Move(t, 1+rand.IntN(2))
			time.Sleep(rand.N(150 * time.Millisecond))
		}
		m.End(t)
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	<-done
	t.Logf("granted %d %d %d, two %d; TRYAGAIN %d ASK %d MOVED %d", granted[0].Load(), granted[1].Load(), granted[2].Load(), two.Load(), r.ErrorCount(t, "TRYAGAIN"), r.ErrorCount(t, "ASK"), r.ErrorCount(t, "MOVED"))
	c.show(t)
	for _, e := range engines {
		locktest.RequireIdle(t, e)
		t.Logf("%+v", e.Stats().Lost)
	}
	time.Sleep(3500 * time.Millisecond)
	for _, n := range r.Nodes {
		t.Log(n.Strings(t, "KEYS", "*"))
	}
	require.Zero(t, two.Load())
	require.Zero(t, r.Channels())
}
