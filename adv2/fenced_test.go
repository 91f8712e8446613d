package adv2_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// TestTokens: replies late, lost, cut; tokens must rise with each owner; names "a" and "{a}" share a counter.
func TestTokens(t *testing.T) {
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			p := proxy.Start(t, s.Addr)
			lease := 900 * time.Millisecond
			o := lockwheel.Options{Lease: lease, CallTimeout: 250 * time.Millisecond}
			if round == 3 {
				o.Foreign = true
			}
			es := []*lockwheel.Engine{s.OpenAt(p.Addr(), o), s.OpenAt(p.Addr(), o), s.Open(o)}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var last [2]uint64
			var mu sync.Mutex
			var n atomic.Int64
			var x [2]holders
			var wg sync.WaitGroup
			for _, e := range es {
				for range 4 {
					wg.Go(func() {
						for ctx.Err() == nil {
							i := 0
							if round > 0 {
								i = rand.N(2)
							}
							name := []string{"a", "{a}"}[i]
							c, cancel := context.WithTimeout(ctx, time.Millisecond+rand.N(2*time.Second))
							h, err := e.FencedMutex(name).Lock(c)
							cancel()
							if err != nil {
								continue
							}
							mu.Lock()
							if h.Err() == nil {
								if h.Token() <= last[i] && h.Err() == nil {
									t.Errorf("token %d after %d", h.Token(), last[i])
								}
								last[i] = max(last[i], h.Token())
							}
							mu.Unlock()
							n.Add(1)
							x[i].enter(h, false)
							if rand.N(10) == 0 {
								time.Sleep(rand.N(500 * time.Millisecond))
							}
							x[i].leave(h)
							h.Unlock(context.Background())
						}
					})
				}
			}
			for ctx.Err() == nil {
				switch rand.N(5) {
				case 0:
					p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(rand.N(200)))
				case 1:
					p.Set(proxy.Replies, proxy.Hold)
				case 2:
					p.Set(proxy.Commands, proxy.Hold)
				case 3:
					p.Cut()
				case 4:
					p.Set(proxy.Both, proxy.Drop)
				}
				locktest.Pause(ctx, rand.N(500*time.Millisecond))
				p.Heal()
				locktest.Pause(ctx, rand.N(300*time.Millisecond))
			}
			wg.Wait()
			t.Log("grants", n.Load(), "last", last, "bad", x[0].bad.Load(), x[1].bad.Load())
			if x[0].bad.Load()+x[1].bad.Load() > 0 {
				t.Error("two")
			}
			for _, e := range es {
				locktest.RequireIdle(t, e)
			}
		})
	}
}
