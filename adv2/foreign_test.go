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

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var foreign = lockwheel.Options{Foreign: true}

func TestF1(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(foreign)
	s.Do("SET", "n", "token", "PX", 60000)
	for k, m := range map[string]lockwheel.Mutex{"fair": e.FairMutex("n"), "w": e.RWMutex("n").Writer(), "r": e.RWMutex("n").RLocker(), "plain": e.Mutex("n"), "fenced": e.FencedMutex("n")} {
		st, err := m.State(t.Context())
		t.Log(k, st, err)
		l, err := m.IsLocked(t.Context())
		t.Log(k, l, err)
		d, err := m.TTL(t.Context())
		t.Log(k, d, err)
		w, err := m.ForceUnlock(t.Context())
		t.Log(k, w, err)
		h, err := m.TryLock(t.Context())
		t.Log(k, h, err)
	}
	// overwritten
	s.Do("DEL", "n")
	for k, m := range map[string]lockwheel.Mutex{"fair": e.FairMutex("n"), "w": e.RWMutex("n").Writer(), "r": e.RWMutex("n").RLocker(), "plain": e.Mutex("n"), "fenced": e.FencedMutex("n")} {
		h := locktest.Lock(t, m)
		s.Do("SET", "n", "token", "PX", 60000)
		t.Log(k, h.Extend(t.Context(), time.Second))
		t.Log(k, h.Err(), h.Unlock(t.Context()))
		s.Do("DEL", "n")
		h = locktest.Lock(t, m)
		wait := locktest.Locking(t.Context(), m, lockwheel.Wait(3*time.Second))
		time.Sleep(100 * time.Millisecond)
		s.Do("SET", "n", "token", "PX", 60000)
		t.Log(k, "unlock", h.Unlock(t.Context()))
		time.Sleep(300 * time.Millisecond)
		s.Do("DEL", "n")
		o := <-wait
		t.Log(k, o.Err)
		if o.Err == nil {
			t.Log(o.Hold.Err())
			time.Sleep(50 * time.Millisecond)
			t.Log(o.Hold.Extend(t.Context(), time.Second))
			t.Log(o.Hold.Unlock(t.Context()))
		}
	}
	locktest.RequireIdle(t, e)
	t.Log(e.Stats().Polling, s.Do("KEYS", "*"))
}

// old client as redsync: SET NX PX, random sleep of 50-250 ms
func oldClient(ctx context.Context, c *redistest.Conn, hold time.Duration, inside *atomic.Int32, crowd *atomic.Int32) (n int, longest time.Duration) {
	id := fmt.Sprint(rand.Uint64())
	last := time.Now()
	for ctx.Err() == nil {
		r, err := c.Do("SET", "n", id, "NX", "PX", 8000)
		if err != nil {
			panic(err)
		}
		if r != "OK" {
			select {
			case <-ctx.Done():
			case <-time.After(50*time.Millisecond + rand.N(200*time.Millisecond)):
			}
			continue
		}
		n++
		longest = max(longest, time.Since(last))
		if inside.Add(1) != 1 {
			crowd.Add(1)
		}
		time.Sleep(hold)
		inside.Add(-1)
		c.Do("EVAL", "if redis.call('GET',KEYS[1])==ARGV[1] then return redis.call('DEL',KEYS[1]) end return 0", 1, "n", id)
		last = time.Now()
		time.Sleep(time.Millisecond)
	}
	longest = max(longest, time.Since(last))
	return
}

func TestF4(t *testing.T) {
	for _, kind := range []string{"plain", "fenced"} {
		for _, engines := range []int{1, 2} {
			for _, notify := range []lockwheel.Notify{lockwheel.PubSub, lockwheel.Poll} {
				t.Run(fmt.Sprint(kind, engines, notify), func(t *testing.T) {
					s := locktest.RealServer(t)
					ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
					defer cancel()
					var inside, crowd atomic.Int32
					var wg sync.WaitGroup
					var grants atomic.Int64
					for range engines {
						o := foreign
						o.Notify = notify
						e := s.Open(o)
						for range 4 {
							wg.Go(func() {
								for ctx.Err() == nil {
									h, err := locktest.Kinds[kind](e, "n").Lock(ctx)
									if err != nil {
										if !errors.Is(err, context.DeadlineExceeded) {
											t.Error(err)
										}
										return
									}
									grants.Add(1)
									if inside.Add(1) != 1 {
										crowd.Add(1)
									}
									time.Sleep(time.Millisecond)
									inside.Add(-1)
									if err := h.Unlock(context.Background()); err != nil {
										t.Error(err)
									}
								}
							})
						}
					}
					time.Sleep(200 * time.Millisecond)
					var old [2]int
					var longest [2]time.Duration
					for i := range 2 {
						c := s.Real.Conn(t)
						wg.Go(func() { old[i], longest[i] = oldClient(ctx, c, time.Millisecond, &inside, &crowd) })
					}
					wg.Wait()
					t.Log("ours", grants.Load(), "old", old, longest, "crowd", crowd.Load())
					require.Zero(t, crowd.Load())
				})
			}
		}
	}
}
