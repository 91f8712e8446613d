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
)

func TestMOdd(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	e2 := s.Open(lockwheel.Options{})
	small := s.Open(lockwheel.Options{MaxWaiting: 2})
	ctx := t.Context()
	try := func(what string, m lockwheel.Multi, ctx context.Context, o ...lockwheel.Option) *lockwheel.Hold {
		at := time.Now()
		h, err := m.Lock(ctx, append([]lockwheel.Option{lockwheel.Wait(500 * time.Millisecond)}, o...)...)
		t.Log(what, err, time.Since(at).Round(time.Millisecond))
		return h
	}
	try("empty", e.Multi(), ctx)
	try("zero", e.Multi(lockwheel.Mutex{}), ctx)
	try("dup", e.Multi(e.Mutex("a"), e.Mutex("a")), ctx)
	try("dup rw", e.Multi(e.RWMutex("a").RLocker(), e.RWMutex("a").Writer()), ctx)
	try("dup kinds", e.Multi(e.Mutex("a"), e.FencedMutex("a")), ctx)
	try("other", e.Multi(e.Mutex("a"), e2.Mutex("b")), ctx)
	try("fairdup", e.Multi(e.FairMutex("a"), e.FairMutex("{a}")), ctx)
	try("small", small.Multi(small.Mutex("a"), small.Mutex("b"), small.Mutex("c")), ctx)
	try("small seq", small.Multi(small.Mutex("a"), small.FairMutex("b"), small.Mutex("c")), ctx).Unlock(ctx)
	try("bad name", e.Multi(e.Mutex("a"), e.Mutex("")), ctx)
	// derived keys
	h := try("fair + its queue", e.Multi(e.FairMutex("a"), e.Mutex("redisson_lock_queue:{a}")), ctx)
	t.Log(h.Unlock(ctx))
	// nested
	h = try("ab", e.Multi(e.Mutex("a"), e.Mutex("b")), ctx)
	h2 := try("abc in ab", e.Multi(e.Mutex("a"), e.Mutex("b"), e.Mutex("c")), h.Context())
	h3 := try("b in abc", e.Multi(e.Mutex("b")), h2.Context())
	t.Log(h.Unlock(ctx), h2.Err(), h3.Err())
	t.Log(h2.Unlock(ctx), h3.Err())
	t.Log(h3.Unlock(ctx))
	s.Empty(t)
	// kinds of all, with reentry
	all := e.Multi(e.Mutex("p"), e.FairMutex("f"), e.FencedMutex("x"), e.RWMutex("r").RLocker(), e.RWMutex("w").Writer())
	h = try("all", all, ctx, lockwheel.Lease(5*time.Second))
	rh, err := e.RWMutex("w").RLocker().Lock(context.WithoutCancel(h.Context()))
	t.Log("downgrade", err)
	_, err = e.RWMutex("r").Lock(h.Context())
	t.Log("upgrade", err)
	h2 = try("all again", all, h.Context())
	t.Log(h2.Extend(ctx, 0), h.Extend(ctx, 100*time.Millisecond))
	time.Sleep(200 * time.Millisecond)
	t.Log(h.Err(), h2.Err(), rh.Err())
	t.Log(h.Unlock(ctx), h2.Unlock(ctx))
	t.Log(rh.Unlock(ctx))
	t.Log(s.Do("KEYS", "*"))
	locktest.RequireIdle(t, e)
	// sizes
	for _, n := range []int{1, 2, 499, 500, 501, 1000, 1001, 1500, 3001} {
		var ls []lockwheel.Mutex
		for i := range n {
			ls = append(ls, e.Mutex(fmt.Sprint("s", i)))
		}
		other := locktest.Lock(t, e2.Mutex(fmt.Sprint("s", n/2)))
		at := time.Now()
		_, err := e.Multi(ls...).TryLock(ctx)
		t.Log(n, err, time.Since(at))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		at = time.Now()
		_, err = e.Multi(ls...).Lock(ctx, lockwheel.Wait(300*time.Millisecond))
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		t.Log(n, err, time.Since(at))
		locktest.RequireIdle(t, e)
		go func() {
			time.Sleep(100 * time.Millisecond)
			other.Unlock(context.Background())
		}()
		h, err := e.Multi(ls...).Lock(ctx, lockwheel.Wait(3*time.Second), lockwheel.Lease(20*time.Second))
		require.NoError(t, err)
		require.NoError(t, h.Extend(ctx, time.Minute))
		require.NoError(t, h.Extend(ctx, 0))
		s.Do("DEL", "s0")
		t.Log(n, h.Unlock(ctx))
		locktest.RequireIdle(t, e)
		t.Log(s.Do("KEYS", "*"))
	}
}

// TestMContend: overlapping Multis of mixed kinds in several engines, with singles.
func TestMContend(t *testing.T) {
	for round := range 3 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			opts := []lockwheel.Options{{}, {Notify: lockwheel.Poll}, {Lease: 2 * time.Second, Handoff: lockwheel.Handoff{MaxGrants: -1}}, {Foreign: true}}
			if round == 1 {
				opts = []lockwheel.Options{{}, {}}
			}
			kinds := []string{"plain", "fair", "fenced", "rw", "plain"}
			if round == 2 {
				kinds = []string{"plain", "plain", "plain", "plain", "plain"}
			}
			secs := make([]sect, len(kinds))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var wg sync.WaitGroup
			var engines []*lockwheel.Engine
			var longestM, longestS atomic.Int64
			var nM, nS atomic.Int64
			for _, o := range opts {
				e := s.Open(o)
				engines = append(engines, e)
				for w := range 5 {
					wg.Go(func() {
						for ctx.Err() == nil {
							n := 2 + rand.N(3)
							if w < 2 {
								n = 1
							}
							idx := rand.Perm(len(kinds))[:n]
							var ls []lockwheel.Mutex
							var write []bool
							for _, i := range idx {
								k := kinds[i]
								wr := true
								if k == "rw" {
									k = "write"
									if rand.N(2) == 0 {
										k, wr = "read", false
									}
								}
								write = append(write, wr)
								ls = append(ls, kindMutex(e, k, fmt.Sprint("n", i)))
							}
							var os []lockwheel.Option
							if rand.N(3) == 0 {
								os = append(os, lockwheel.Lease(20*time.Second))
							}
							if rand.N(4) == 0 {
								os = append(os, lockwheel.Wait(time.Millisecond+rand.N(50*time.Millisecond)))
							}
							asked := time.Now()
							var h *lockwheel.Hold
							var err error
							if n == 1 {
								h, err = ls[0].Lock(ctx, os...)
							} else {
								h, err = e.Multi(ls...).Lock(ctx, os...)
							}
							took := int64(time.Since(asked))
							l := &longestM
							if n == 1 {
								l = &longestS
							}
							for {
								was := l.Load()
								if was >= took || l.CompareAndSwap(was, took) {
									break
								}
							}
							if err != nil {
								if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
									t.Error(err)
								}
								continue
							}
							if n == 1 {
								nS.Add(1)
							} else {
								nM.Add(1)
							}
							for j, i := range idx {
								secs[i].enter(write[j])
							}
							time.Sleep(rand.N(2 * time.Millisecond))
							if err := h.Err(); err != nil {
								t.Error("lost", err)
							}
							for j, i := range idx {
								secs[i].leave(write[j])
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
			wg.Wait()
			for i := range secs {
				require.Zero(t, secs[i].bad.Load())
			}
			t.Log("multi", nM.Load(), time.Duration(longestM.Load()), "single", nS.Load(), time.Duration(longestS.Load()))
			for _, e := range engines {
				locktest.RequireIdle(t, e)
			}
			t.Log(s.Do("KEYS", "*"))
		})
	}
}
