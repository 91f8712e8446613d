package adv2_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// TestFairOrder: order with engines of different options, long holds, short FairWaitTimeout.
func TestFairOrder(t *testing.T) {
	for _, mix := range [][]lockwheel.Options{
		{{FairWaitTimeout: 300 * time.Millisecond}, {FairWaitTimeout: 300 * time.Millisecond, Notify: lockwheel.Poll}},
		{{FairWaitTimeout: 10 * time.Second}, {FairWaitTimeout: 300 * time.Millisecond, Notify: lockwheel.Poll}, {Lease: 10 * 365 * 24 * time.Hour}},
		{{Lease: 2 * time.Second}, {Lease: 300 * time.Millisecond}, {Notify: lockwheel.Poll}},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			var es []*lockwheel.Engine
			for _, o := range mix {
				es = append(es, s.Open(o))
			}
			for round := range 3 {
				h := locktest.Lock(t, es[round%len(es)].FairMutex("n"))
				var mu sync.Mutex
				var order []int
				var wg sync.WaitGroup
				for i := range 12 {
					e := es[i%len(es)]
					w := s.QueueUp(e.FairMutex("n"))
					wg.Go(func() {
						o := <-w
						if o.Err != nil {
							t.Error(o.Err)
							return
						}
						mu.Lock()
						order = append(order, i)
						mu.Unlock()
						if i == 3 || i == 7 {
							time.Sleep(1500 * time.Millisecond)
						}
						if err := o.Hold.Unlock(context.Background()); err != nil {
							t.Error(err)
						}
					})
				}
				time.Sleep(2 * time.Second)
				at := time.Now()
				locktest.Unlock(t, h)
				wg.Wait()
				t.Log(order, time.Since(at))
				for i := range order {
					if order[i] != i {
						t.Error("out of order")
					}
				}
			}
		})
	}
}

// TestFairChaos deletes and spoils only the keys of the queue: exclusion must hold, and no caller may wait long.
func TestFairChaos(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			fw := 900 * time.Millisecond
			es := []*lockwheel.Engine{s.Open(lockwheel.Options{FairWaitTimeout: fw}), s.Open(lockwheel.Options{FairWaitTimeout: fw, Notify: lockwheel.Poll}), s.Open(lockwheel.Options{FairWaitTimeout: 300 * time.Millisecond})}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var x holders
			var n, longest atomic.Int64
			var wg sync.WaitGroup
			for _, e := range es {
				for range 5 {
					wg.Go(func() {
						for ctx.Err() == nil {
							asked := time.Now()
							var os []lockwheel.Option
							if rand.N(3) == 0 {
								os = append(os, lockwheel.Wait(time.Millisecond+rand.N(300*time.Millisecond)))
							}
							h, err := e.FairMutex("n").Lock(ctx, os...)
							took := int64(time.Since(asked))
							for {
								was := longest.Load()
								if was >= took || longest.CompareAndSwap(was, took) {
									break
								}
							}
							if err != nil {
								var se lockwheel.ServerError
								if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) && !errors.As(err, &se) {
									t.Error(err)
								}
								continue
							}
							n.Add(1)
							x.enter(h, false)
							time.Sleep(rand.N(3 * time.Millisecond))
							if h.Err() != nil {
								t.Error(h.Err())
							}
							x.leave(h)
							if err := h.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			c := s.Real.Conn(t)
			keys := []string{"redisson_lock_queue:{n}", "redisson_lock_timeout:{n}", "redisson_lock_places:{n}"}
			for ctx.Err() == nil {
				key := keys[rand.N(3)]
				switch rand.N(9) {
				case 0, 1:
					c.Do("DEL", key)
				case 2:
					c.Do("PEXPIRE", key, 1+rand.N(100))
				case 3:
					c.Do("RPUSH", keys[0], "stranger")
				case 4:
					c.Do("LPUSH", keys[0], "stranger2")
				case 5:
					c.Do("ZADD", keys[1], rand.N(1<<50), fmt.Sprint("z", rand.N(100)))
				case 6:
					c.Do("HSET", keys[2], fmt.Sprint("h", rand.N(100)), "junk:junk")
				case 7:
					c.Do("RPOP", keys[0])
				case 8:
					c.Do("ZPOPMIN", keys[1])
				}
				locktest.Pause(ctx, rand.N(60*time.Millisecond))
			}
			wg.Wait()
			t.Log("grants", n.Load(), "longest", time.Duration(longest.Load()), "bad", x.bad.Load())
			if x.bad.Load() > 0 {
				t.Error("two")
			}
			for _, e := range es {
				locktest.RequireIdle(t, e)
			}
			t.Log(s.Do("KEYS", "*"))
		})
	}
}
