package adv2_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

type tagged struct {
	h      *lockwheel.Hold
	owner  string
	shared bool
}

// TestOwners: several goroutines per WithOwner context, all kinds, several engines with odd options; leases of their own,
// MaxHold, Extend, downgrade.
func TestOwners(t *testing.T) {
	for _, fam := range [][]string{{"plain"}, {"fenced"}, {"fair"}, {"read", "write"}, {"read", "read", "read", "write"}} {
		for round := range 2 {
			t.Run(fmt.Sprint(fam, round), func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				opts := []lockwheel.Options{{Lease: 900 * time.Millisecond}, {Lease: 900 * time.Millisecond, Notify: lockwheel.Poll, MaxHold: 1500 * time.Millisecond}, {Lease: 1200 * time.Millisecond, FairWaitTimeout: 200 * time.Millisecond}}
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				var wg sync.WaitGroup
				var mu sync.Mutex
				var in []tagged
				texts := map[string]int{}
				bad := 0
				enter := func(x tagged) {
					mu.Lock()
					defer mu.Unlock()
					for _, o := range in {
						if o.owner != x.owner && !(o.shared && x.shared) && o.h.Err() == nil && x.h.Err() == nil && o.h.Err() == nil {
							bad++
						}
					}
					in = append(in, x)
				}
				leave := func(h *lockwheel.Hold) {
					mu.Lock()
					defer mu.Unlock()
					for i := range in {
						if in[i].h == h {
							in[i] = in[len(in)-1]
							in = in[:len(in)-1]
							return
						}
					}
				}
				note := func(what string, err error) {
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						texts[what+" "+err.Error()]++
					} else {
						texts[what+" nil"]++
					}
				}
				var engines []*lockwheel.Engine
				for oi, o := range opts {
					e := s.Open(o)
					engines = append(engines, e)
					for ow := range 3 {
						owner := fmt.Sprint(oi, "/", ow)
						octx := lockwheel.WithOwner(ctx)
						for range 2 {
							wg.Go(func() {
								for ctx.Err() == nil {
									k := fam[rand.N(len(fam))]
									var os []lockwheel.Option
									if rand.N(3) == 0 {
										os = append(os, lockwheel.Lease(20*time.Millisecond+rand.N(600*time.Millisecond)))
									}
									if rand.N(3) > 0 {
										os = append(os, lockwheel.Wait(time.Millisecond+rand.N(200*time.Millisecond)))
									}
									c, cancel := context.WithTimeout(octx, 5*time.Second)
									asked := time.Now()
									h, err := kindMutex(e, k, "n").Lock(c, os...)
									took := time.Since(asked)
									if took > 4*time.Second {
										note("LONG "+owner+" "+k, err)
									}
									note("lock", err)
									if err != nil {
										cancel()
										if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) && !errors.Is(err, lockwheel.ErrUpgrade) && !errors.Is(err, lockwheel.ErrLost) {
											t.Error(err)
										}
										continue
									}
									enter(tagged{h, owner, k == "read"})
									time.Sleep(rand.N(3 * time.Millisecond))
									switch rand.N(6) {
									case 0:
										note("extend", h.Extend(context.Background(), 50*time.Millisecond+rand.N(500*time.Millisecond)))
									case 1:
										note("watch", h.Extend(context.Background(), 0))
									case 2:
										time.Sleep(rand.N(600 * time.Millisecond))
									case 3:
										k2 := fam[rand.N(len(fam))]
										h2, err := kindMutex(e, k2, "n").Lock(context.WithoutCancel(h.Context()), lockwheel.Wait(500*time.Millisecond))
										note("again", err)
										if err == nil {
											enter(tagged{h2, owner, k2 == "read"})
											go func() {
												time.Sleep(rand.N(20 * time.Millisecond))
												leave(h2)
												note("unlock2", h2.Unlock(context.Background()))
											}()
										}
									}
									leave(h)
									note("unlock", h.Unlock(context.Background()))
									cancel()
								}
							})
						}
					}
				}
				wg.Wait()
				t.Log("bad", bad)
				if bad > 0 {
					t.Error("two holders")
				}
				for k, v := range texts {
					if strings.Contains(k, "LONG") || v > 0 {
						t.Log(v, k)
					}
				}
				for _, e := range engines {
					locktest.RequireIdle(t, e)
					st := e.Stats()
					if st.Acquired != st.Released+st.Lost {
						t.Error("counters", st.Acquired, st.Released, st.Lost, st.LostAtUnlock)
					}
				}
				t.Log(s.Do("KEYS", "*"))
			})
		}
	}
}
