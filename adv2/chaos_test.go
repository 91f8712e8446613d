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
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestChaosKeys(t *testing.T) {
	for _, fam := range [][]string{{"plain"}, {"fenced"}, {"fair"}, {"read", "write"}, {"multi"}} {
		for round := range 3 {
			t.Run(fmt.Sprint(fam, round), func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				lease := 600 * time.Millisecond
				opts := []lockwheel.Options{{Lease: lease}, {Lease: lease, Notify: lockwheel.Poll}, {Lease: lease, MaxHold: 900 * time.Millisecond}, {Lease: lease, Foreign: round == 1, FairWaitTimeout: 300 * time.Millisecond}}
				stop := make(chan struct{})
				var chaos atomic.Bool
				chaos.Store(true)
				var wg sync.WaitGroup
				var engines []*lockwheel.Engine
				var mu sync.Mutex
				var stuck time.Duration
				kinds := map[string]int{}
				last := make(map[string]time.Time)
				note := func(err error) {
					mu.Lock()
					defer mu.Unlock()
					text := "nil"
					if err != nil {
						text = strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), s.Addr, "ADDR")), " ")
						if len(text) > 160 {
							text = text[:160]
						}
					}
					kinds[text]++
				}
				for oi, o := range opts {
					e := s.Open(o)
					engines = append(engines, e)
					for w := range 3 {
						who := fmt.Sprint(oi, "/", w)
						wg.Go(func() {
							for {
								select {
								case <-stop:
									return
								default:
								}
								k := fam[rand.N(len(fam))]
								var os []lockwheel.Option
								if rand.N(3) == 0 {
									os = append(os, lockwheel.Lease(rand.N(lease)+50*time.Millisecond))
								}
								ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
								asked := time.Now()
								var h *lockwheel.Hold
								var err error
								if k == "multi" {
									h, err = e.Multi(e.Mutex("n"), e.Mutex("m"), e.Mutex("o")).Lock(ctx, os...)
								} else {
									h, err = kindMutex(e, k, "n").Lock(ctx, os...)
								}
								took := time.Since(asked)
								cancel()
								mu.Lock()
								if took > stuck {
									stuck = took
								}
								last[who] = time.Now()
								mu.Unlock()
								note(err)
								if took > 6*time.Second {
									t.Errorf("%s %s waited %v: %v (chaos %v)", who, k, took, err, chaos.Load())
								}
								if err != nil {
									var se lockwheel.ServerError
									if !errors.As(err, &se) && !errors.Is(err, lockwheel.ErrLost) {
										t.Error(who, err)
									}
									time.Sleep(10 * time.Millisecond)
									continue
								}
								time.Sleep(rand.N(5 * time.Millisecond))
								switch rand.N(6) {
								case 0:
									note(h.Extend(context.Background(), time.Duration(rand.N(2))*300*time.Millisecond))
								case 1:
									if k != "multi" {
										_, err := kindMutex(e, k, "n").ForceUnlock(context.Background())
										note(err)
									}
								case 2:
									c := h.Context()
									if k != "multi" {
										h2, err := kindMutex(e, k, "n").Lock(c, lockwheel.Wait(time.Second))
										note(err)
										if err == nil {
											note(h2.Unlock(context.Background()))
										}
									}
								}
								if rand.N(3) == 0 {
									<-h.UnlockAsync().Done()
								} else {
									note(h.Unlock(context.Background()))
								}
							}
						})
					}
				}
				c := s.Real.Conn(t)
				ends := time.Now().Add(6 * time.Second)
				for time.Now().Before(ends) {
					keys, _ := c.Do("KEYS", "*")
					ks, _ := keys.([]any)
					key := "n"
					if len(ks) > 0 {
						key = ks[rand.N(len(ks))].(string)
					}
					var err error
					switch rand.N(12) {
					case 0, 1:
						_, err = c.Do("DEL", key)
					case 2:
						c.Do("PERSIST", key)
					case 3:
						c.Do("PEXPIRE", key, 1+rand.N(300))
					case 4:
						c.Do("SET", key, "xx", "PX", 1+rand.N(300))
					case 5:
						c.Do("DEL", key)
						c.Do("RPUSH", key, "a", "b")
						c.Do("PEXPIRE", key, 1+rand.N(300))
					case 6:
						c.Do("HSET", key, "junk", "99999999999")
					case 7:
						c.Do("SCRIPT", "FLUSH")
					case 8:
						c.Do("FLUSHALL")
					case 9:
						c.Do("CLIENT", "KILL", "TYPE", "pubsub")
					case 10:
						c.Do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
					case 11:
						c.Do("PUBLISH", "redisson_lock__channel:{n}", "junk")
					}
					if err != nil {
						if _, ok := err.(redistest.Error); !ok {
							t.Log("conn", err)
							c = s.Real.Conn(t)
						}
					}
					time.Sleep(rand.N(20 * time.Millisecond))
				}
				// remove junk that blocks for ever
				keys, _ := c.Do("KEYS", "*")
				for _, k := range keys.([]any) {
					if v, _ := c.Do("PTTL", k); v == int64(-1) && !strings.HasPrefix(k.(string), "redisson_lock_t") && !strings.HasPrefix(k.(string), "redisson_lock_q") {
						c.Do("DEL", k)
					}
				}
				chaos.Store(false)
				time.Sleep(3 * time.Second)
				quiet := time.Now()
				close(stop)
				wg.Wait()
				mu.Lock()
				for who, at := range last {
					if quiet.Sub(at) > 2500*time.Millisecond {
						t.Errorf("%s did nothing for %v", who, quiet.Sub(at))
					}
				}
				t.Log("longest", stuck)
				for k, n := range kinds {
					t.Log(n, k)
				}
				mu.Unlock()
				for _, e := range engines {
					locktest.RequireIdle(t, e)
				}
				deadline := time.Now().Add(3 * time.Second)
				for time.Now().Before(deadline) {
					if v, _ := c.Do("DBSIZE"); v == int64(0) {
						break
					}
					time.Sleep(50 * time.Millisecond)
				}
				left, _ := c.Do("KEYS", "*")
				t.Log("left", left)
			})
		}
	}
}
