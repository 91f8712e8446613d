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

func TestForeignChaos(t *testing.T) {
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			const names = 4
			opts := []lockwheel.Options{foreign, foreign, foreign}
			opts[1].Notify = lockwheel.Poll
			opts[2].Handoff.MaxGrants = -1
			var es []*lockwheel.Engine
			for _, o := range opts {
				es = append(es, s.Open(o))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			var secs [names]sect
			var ours, theirs, multis atomic.Int64
			var longest, longestTheirs atomic.Int64
			maxInto := func(l *atomic.Int64, took int64) {
				for {
					was := l.Load()
					if was >= took || l.CompareAndSwap(was, took) {
						return
					}
				}
			}
			var wg sync.WaitGroup
			for _, e := range es {
				for w := range 6 {
					wg.Go(func() {
						for ctx.Err() == nil {
							idx := rand.Perm(names)[:1]
							if w >= 4 {
								idx = rand.Perm(names)[:2+rand.N(2)]
							}
							var ls []lockwheel.Mutex
							for _, i := range idx {
								if round%2 == 1 && i == 0 {
									ls = append(ls, e.FencedMutex("n0"))
								} else {
									ls = append(ls, e.Mutex(fmt.Sprint("n", i)))
								}
							}
							var os []lockwheel.Option
							if rand.N(3) == 0 {
								os = append(os, lockwheel.Wait(time.Millisecond+rand.N(100*time.Millisecond)))
							}
							c, cancel := context.WithTimeout(ctx, time.Millisecond+rand.N(4*time.Second))
							asked := time.Now()
							var h *lockwheel.Hold
							var err error
							switch {
							case len(ls) > 1:
								h, err = e.Multi(ls...).Lock(c, os...)
							case rand.N(3) == 0:
								p := ls[0].LockAsync(c, os...)
								if rand.N(3) == 0 {
									time.Sleep(rand.N(5 * time.Millisecond))
									p.Cancel()
								}
								<-p.Done()
								h, err = p.Hold()
							case rand.N(5) == 0:
								h, err = ls[0].TryLock(c, os...)
							default:
								h, err = ls[0].Lock(c, os...)
							}
							maxInto(&longest, int64(time.Since(asked)))
							cancel()
							if err != nil {
								if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
									t.Error(err)
								}
								continue
							}
							ours.Add(1)
							if len(ls) > 1 {
								multis.Add(1)
							}
							for _, i := range idx {
								secs[i].enter(true)
							}
							time.Sleep(rand.N(2 * time.Millisecond))
							if h.Err() != nil {
								t.Error(h.Err())
							}
							for _, i := range idx {
								secs[i].leave(true)
							}
							if rand.N(3) == 0 {
								h.UnlockAsync()
							} else if err := h.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			for range 3 {
				c := s.Real.Conn(t)
				wg.Go(func() {
					last := time.Now()
					for ctx.Err() == nil {
						i := rand.N(names)
						key, id := fmt.Sprint("n", i), fmt.Sprint(rand.Uint64())
						args := []any{"SET", key, id, "NX"}
						if rand.N(3) > 0 {
							args = append(args, "PX", 500+rand.N(10000))
						}
						if r, _ := c.Do(args...); r != "OK" {
							time.Sleep(rand.N(60 * time.Millisecond))
							continue
						}
						maxInto(&longestTheirs, int64(time.Since(last)))
						theirs.Add(1)
						secs[i].enter(true)
						for range rand.N(3) {
							time.Sleep(rand.N(30 * time.Millisecond))
							c.Do("PEXPIRE", key, 500+rand.N(5000))
						}
						secs[i].leave(true)
						c.Do("EVAL", "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0", 1, key, id)
						last = time.Now()
						time.Sleep(rand.N(20 * time.Millisecond))
					}
				})
			}
			wg.Wait()
			bad := int32(0)
			for i := range secs {
				bad += secs[i].bad.Load()
			}
			t.Log("ours", ours.Load(), "multi", multis.Load(), "theirs", theirs.Load(), time.Duration(longest.Load()), time.Duration(longestTheirs.Load()), "bad", bad)
			if bad != 0 {
				t.Error("two")
			}
			for _, e := range es {
				locktest.RequireIdle(t, e)
				if p := e.Stats().Polling; p != 0 {
					t.Error("polling", p)
				}
				st := e.Stats()
				if st.Acquired != st.Released+st.Lost {
					t.Error("counters", st.Acquired, st.Released, st.Lost, st.LostAtUnlock)
				}
			}
			t.Log(s.Do("KEYS", "*"))
		})
	}
}
