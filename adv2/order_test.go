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
)

func TestOrder(t *testing.T) {
	for _, k := range []string{"plain", "fenced", "write", "fair"} {
		for _, o := range []lockwheel.Options{{}, {Notify: lockwheel.Poll}, {Foreign: true}, {Handoff: lockwheel.Handoff{MaxGrants: -1}}} {
			t.Run(fmt.Sprint(k, o.Notify, o.Foreign, o.Handoff), func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				e, other := s.Open(o), s.Open(lockwheel.Options{})
				for round := range 3 {
					var free func()
					if o.Foreign && k != "fair" && k != "write" && round != 1 {
						s.Do("SET", "n", "x")
						free = func() { s.Do("DEL", "n") }
					} else {
						h := locktest.Lock(t, kindMutex(other, k, "n"))
						free = func() { locktest.Unlock(t, h) }
					}
					var mu sync.Mutex
					var order []int
					var wg sync.WaitGroup
					base := e.Stats().Waiting
					for i := range 20 {
						var os []lockwheel.Option
						if i%3 == 0 {
							os = append(os, lockwheel.Lease(time.Minute))
						}
						if i%4 == 0 {
							os = append(os, lockwheel.Wait(20*time.Second))
						}
						wg.Go(func() {
							h, err := kindMutex(e, k, "n").Lock(t.Context(), os...)
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							order = append(order, i)
							mu.Unlock()
							time.Sleep(rand.N(2 * time.Millisecond))
							if i%2 == 0 {
								h.UnlockAsync()
							} else if err := h.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						})
						locktest.Queued(t, e, base+int64(i)+1)
					}
					time.Sleep(100 * time.Millisecond)
					free()
					at := time.Now()
					wg.Wait()
					took := time.Since(at)
					for i := range order {
						if order[i] != i {
							t.Error("order", order)
							break
						}
					}
					if took > 3*time.Second {
						t.Error("took", took)
					}
				}
				locktest.RequireIdle(t, e)
			})
		}
	}
}

func TestQWriterStarves(t *testing.T) {
	for _, n := range []int{3, 5} {
		p := locktest.NewServerSet(t, n)
		es := p.Client(lockwheel.Options{})
		q := func(write bool) lockwheel.Multi {
			var ls []lockwheel.Mutex
			for _, e := range es {
				if write {
					ls = append(ls, e.RWMutex("n").Writer())
				} else {
					ls = append(ls, e.RWMutex("n").RLocker())
				}
			}
			return lockwheel.Quorum(ls...)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var c sect
		var reads, writes atomic.Int64
		var longest time.Duration
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for ctx.Err() == nil {
					h, err := q(false).Lock(ctx)
					if err != nil {
						continue
					}
					c.enter(false)
					time.Sleep(5 * time.Millisecond)
					c.leave(false)
					reads.Add(1)
					h.Unlock(context.Background())
				}
			})
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				at := time.Now()
				h, err := q(true).Lock(ctx)
				longest = max(longest, time.Since(at))
				if err != nil {
					continue
				}
				c.enter(true)
				time.Sleep(time.Millisecond)
				c.leave(true)
				writes.Add(1)
				h.Unlock(context.Background())
			}
		})
		wg.Wait()
		t.Log("reads", reads.Load(), "writes", writes.Load(), "longest", longest, "bad", c.bad.Load())
	}
}
