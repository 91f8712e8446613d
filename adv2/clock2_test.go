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

func TestClockSteps(t *testing.T) {
	for _, fam := range [][]string{{"plain"}, {"fenced"}, {"fair"}, {"read", "write"}} {
		for _, dir := range []string{"back", "any"} {
			t.Run(fmt.Sprint(fam, dir), func(t *testing.T) {
				s, set := clockServer(t)
				opts := []lockwheel.Options{{}, {Notify: lockwheel.Poll}, {Lease: 3 * time.Second}, {Handoff: lockwheel.Handoff{MaxGrants: -1}}}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				var c sect
				var wg sync.WaitGroup
				var n, longest, lost atomic.Int64
				var last atomic.Uint64
				var engines []*lockwheel.Engine
				for _, o := range opts {
					e := s.Open(o)
					engines = append(engines, e)
					for range 4 {
						wg.Go(func() {
							for ctx.Err() == nil {
								k := fam[rand.N(len(fam))]
								asked := time.Now()
								h, err := kindMutex(e, k, "n").Lock(ctx)
								took := int64(time.Since(asked))
								for {
									was := longest.Load()
									if was >= took || longest.CompareAndSwap(was, took) {
										break
									}
								}
								if err != nil {
									if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
										t.Error(err)
									}
									continue
								}
								n.Add(1)
								if dir == "back" {
									c.enter(k != "read")
									if k == "fenced" {
										if was := last.Swap(h.Token()); was >= h.Token() {
											t.Error("token", was, h.Token())
										}
									}
								}
								time.Sleep(rand.N(2 * time.Millisecond))
								if dir == "back" {
									if h.Err() != nil {
										t.Error(h.Err())
									}
									c.leave(k != "read")
								}
								if err := h.Unlock(context.Background()); err != nil {
									lost.Add(1)
									if dir == "back" {
										t.Error(err)
									}
								}
							}
						})
					}
				}
				var at time.Duration
				steps := 0
				for ctx.Err() == nil {
					locktest.Pause(ctx, rand.N(400*time.Millisecond))
					by := time.Duration(rand.ExpFloat64() * float64(10*time.Second))
					if rand.N(5) == 0 {
						by = rand.N(2 * time.Hour)
					}
					if dir == "back" || rand.N(2) == 0 {
						by = -by
					}
					at += by
					set(at)
					steps++
				}
				wg.Wait()
				t.Log("grants", n.Load(), "longest", time.Duration(longest.Load()), "lost", lost.Load(), "steps", steps)
				require.Zero(t, c.bad.Load())
				for _, e := range engines {
					locktest.RequireIdle(t, e)
				}
				t.Log(s.Do("KEYS", "*"))
			})
		}
	}
}
