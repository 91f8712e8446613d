package adv2_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// holders checks that no two holds believe at a time.
type holders struct {
	mu  sync.Mutex
	all map[*lockwheel.Hold]bool // value: shared
	bad atomic.Int32
}

func (x *holders) enter(h *lockwheel.Hold, shared bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[*lockwheel.Hold]bool{}
	}
	for o, sh := range x.all {
		if !(sh && shared) && o.Err() == nil && h.Err() == nil && o.Err() == nil {
			x.bad.Add(1)
		}
	}
	x.all[h] = shared
}

func (x *holders) leave(h *lockwheel.Hold) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, h)
}

func TestQFaults(t *testing.T) {
	mixes := [][]string{{"plain", "plain", "plain"}, {"fair", "fair", "fair"}, {"rw", "rw", "rw"}, {"plain", "fenced", "fair", "plain"}, {"rw", "rw", "rw", "rw", "rw"}}
	for mi, mix := range mixes {
		t.Run(fmt.Sprint(mi, mix), func(t *testing.T) {
			t.Parallel()
			n := len(mix)
			p := locktest.NewServerSet(t, n)
			lease := 2 * time.Second
			var engines [][]*lockwheel.Engine
			var proxies []*proxy.Proxy
			for _, s := range p {
				proxies = append(proxies, proxy.Start(t, s.Addr))
			}
			for range 3 {
				var es []*lockwheel.Engine
				for i, s := range p {
					es = append(es, s.OpenAt(proxies[i].Addr(), lockwheel.Options{Lease: lease, CallTimeout: 300 * time.Millisecond}))
				}
				engines = append(engines, es)
			}
			var x holders
			kinds := map[string]int{}
			var mu sync.Mutex
			var longest, grants atomic.Int64
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			var stall atomic.Int64 // how long this process stood still in all
			go func() {
				for last := time.Now(); ctx.Err() == nil; {
					time.Sleep(10 * time.Millisecond)
					if gap := time.Since(last) - 30*time.Millisecond; gap > 0 {
						stall.Add(int64(gap))
					}
					last = time.Now()
				}
			}()
			for _, es := range engines {
				for w := range 3 {
					wg.Go(func() {
						for ctx.Err() == nil {
							shared := mix[0] == "rw" && w > 0
							var ls []lockwheel.Mutex
							for i, k := range mix {
								if k == "rw" {
									k = "write"
									if shared {
										k = "read"
									}
								}
								ls = append(ls, kindMutex(es[i], k, "n"))
							}
							var os []lockwheel.Option
							if rand.N(3) == 0 {
								os = append(os, lockwheel.Lease(lease))
							}
							asked, stalled := time.Now(), stall.Load()
							c2, cancel := context.WithTimeout(ctx, 4*time.Second)
							h, err := lockwheel.Quorum(ls...).Lock(c2, os...)
							took := int64(time.Since(asked))
							cancel()
							for {
								was := longest.Load()
								if was >= took || longest.CompareAndSwap(was, took) {
									break
								}
							}
							if took > int64(4500*time.Millisecond)+stall.Load()-stalled {
								t.Error("outlived its wait", time.Duration(took), time.Duration(stall.Load()-stalled), err)
							}
							if err != nil {
								mu.Lock()
								text := strings.SplitN(err.Error(), ";", 2)[0]
								kinds[text]++
								mu.Unlock()
								if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
									t.Error(err)
								}
								continue
							}
							grants.Add(1)
							x.enter(h, shared)
							time.Sleep(rand.N(3 * time.Millisecond))
							if rand.N(20) == 0 {
								time.Sleep(time.Second)
							}
							x.leave(h)
							at, stalled := time.Now(), stall.Load()
							err = h.Unlock(context.Background())
							if took := time.Since(at); took > time.Second+time.Duration(stall.Load()-stalled) {
								t.Error("unlock took", took, time.Duration(stall.Load()-stalled), err)
							}
							mu.Lock()
							if err != nil {
								kinds["unlock: "+strings.SplitN(err.Error(), ";", 2)[0]]++
							}
							mu.Unlock()
						}
					})
				}
			}
			for ctx.Err() == nil {
				i := rand.N(n)
				switch rand.N(6) {
				case 0:
					proxies[i].Set(proxy.Replies, proxy.Delay(rand.N(400*time.Millisecond)))
				case 1:
					proxies[i].Set(proxy.Commands, proxy.Delay(rand.N(400*time.Millisecond)))
				case 2:
					proxies[i].Set(proxy.Replies, proxy.Hold)
				case 3:
					proxies[i].Cut()
				case 4:
					proxies[i].Refuse(true)
					proxies[i].Cut()
				case 5:
					proxies[i].Set(proxy.Both, proxy.Drop)
				}
				locktest.Pause(ctx, rand.N(1500*time.Millisecond))
				proxies[i].Heal()
				proxies[i].Refuse(false)
				locktest.Pause(ctx, rand.N(500*time.Millisecond))
			}
			wg.Wait()
			for i := range proxies {
				proxies[i].Heal()
				proxies[i].Refuse(false)
			}
			t.Log("grants", grants.Load(), "longest", time.Duration(longest.Load()), "bad", x.bad.Load())
			for k, v := range kinds {
				t.Log(v, k)
			}
			if x.bad.Load() != 0 {
				t.Error("two holders")
			}
			for _, es := range engines {
				for _, e := range es {
					locktest.RequireIdle(t, e)
				}
			}
			time.Sleep(lease)
			for _, s := range p {
				t.Log(s.Do("KEYS", "*"))
			}
			for _, es := range engines {
				for _, e := range es {
					st := e.Stats()
					if st.Acquired != st.Released+st.Lost || st.Held != 0 {
						t.Error("counters", st.Acquired, st.Released, st.Lost, st.LostAtUnlock)
					}
				}
			}
		})
	}
}
