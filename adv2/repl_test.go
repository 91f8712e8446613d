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
)

// TestRepl: all kinds with Replicas, strings, several engines with different options; the replica is away for a while.
func TestRepl(t *testing.T) {
	for _, k := range []string{"plain", "fenced", "fair", "write", "multi"} {
		t.Run(k, func(t *testing.T) {
			s := locktest.RealServer(t)
			_, port, _ := strings.Cut(s.Addr, ":")
			r := locktest.RealServer(t, "--replicaof", "127.0.0.1", port)
			locktest.Eventually(t, "replica", func() bool { return strings.Contains(r.Real.String(t, "INFO", "replication"), "master_link_status:up") })
			o := lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 200 * time.Millisecond}, Foreign: k == "plain" || k == "fenced" || k == "multi", Lease: 4 * time.Second}
			es := []*lockwheel.Engine{s.Open(o), s.Open(o), s.Open(lockwheel.Options{Foreign: o.Foreign, Lease: 4 * time.Second})}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var x holders
			var n, nr atomic.Int64
			var longest atomic.Int64
			var last atomic.Uint64
			var wg sync.WaitGroup
			for _, e := range es {
				for range 4 {
					wg.Go(func() {
						for ctx.Err() == nil {
							asked := time.Now()
							var h *lockwheel.Hold
							var err error
							if k == "multi" {
								h, err = e.Multi(e.Mutex("n"), e.Mutex("m")).Lock(ctx)
							} else {
								h, err = kindMutex(e, k, "n").Lock(ctx)
							}
							took := int64(time.Since(asked))
							for {
								was := longest.Load()
								if was >= took || longest.CompareAndSwap(was, took) {
									break
								}
							}
							if errors.Is(err, lockwheel.ErrNotReplicated) {
								nr.Add(1)
								continue
							}
							if err != nil {
								if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
									t.Error(err)
								}
								continue
							}
							n.Add(1)
							x.enter(h, false)
							if k == "fenced" {
								if was := last.Swap(h.Token()); was >= h.Token() {
									t.Error("token", was, h.Token())
								}
							}
							time.Sleep(rand.N(2 * time.Millisecond))
							x.leave(h)
							if err := h.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			c := s.Real.Conn(t)
			for ctx.Err() == nil {
				locktest.Pause(ctx, rand.N(600*time.Millisecond))
				if o.Foreign {
					c.Do("SET", "n", "x", "NX", "PX", 1+rand.N(200))
				}
				if rand.N(4) == 0 {
					r.Real.Pause()
					locktest.Pause(ctx, rand.N(1200*time.Millisecond))
					r.Real.Continue()
				}
			}
			r.Real.Continue()
			wg.Wait()
			t.Log(k, "grants", n.Load(), "not replicated", nr.Load(), "longest", time.Duration(longest.Load()), "bad", x.bad.Load())
			if x.bad.Load() != 0 {
				t.Error("two")
			}
			for _, e := range es {
				locktest.RequireIdle(t, e)
				st := e.Stats()
				if st.Acquired != st.Released+st.Lost {
					t.Error("counters", fmt.Sprint(st.Acquired, st.Released, st.Lost, st.LostAtUnlock))
				}
			}
			t.Log(s.Do("KEYS", "*"))
		})
	}
}
