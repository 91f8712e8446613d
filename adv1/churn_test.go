package adv1

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
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// counters add up under random calls
func TestChurnCounters(t *testing.T) {
	for _, mode := range []string{"close", "shutdown"} {
		t.Run(mode, func(t *testing.T) {
			s := locktest.RealServer(t)
			var acq, rej, rel, lost, lostClosed atomic.Int64
			e := s.Open(lockwheel.Options{
				Lease: time.Second, MaxHold: 700 * time.Millisecond, MaxWaiting: 60, MaxWaitingPerLock: 10, FindLeaks: mode == "close", CallSites: true,
				Observer: lockwheel.Observer{
					Acquired: func(string, time.Duration) { acq.Add(1) },
					Rejected: func(string, time.Duration, error) { rej.Add(1) },
					Released: func(string, time.Duration) { rel.Add(1) },
					Lost: func(_ string, err error) {
						if errors.Is(err, lockwheel.ErrClosed) {
							lostClosed.Add(1)
							return
						}
						lost.Add(1)
					},
				},
			})
			other := s.Open(lockwheel.Options{Lease: time.Second})
			var wg sync.WaitGroup
			end := time.Now().Add(6 * time.Second)
			rw := func(n int) lockwheel.Mutex {
				switch n % 5 {
				case 0:
					return e.FairMutex(fmt.Sprint("f", n))
				case 1:
					return e.FencedMutex(fmt.Sprint("t", n))
				case 2:
					return e.RWMutex(fmt.Sprint("r", n)).Writer()
				case 3:
					return e.RWMutex(fmt.Sprint("r", n-1)).RLocker()
				}
				return e.Mutex(fmt.Sprint("p", n))
			}
			var bad sync.Map
			for range 80 {
				wg.Go(func() {
					for time.Now().Before(end) {
						m := rw(rand.IntN(20))
						ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60))*time.Millisecond)
						var opts []lockwheel.Option
						if rand.IntN(3) == 0 {
							opts = append(opts, lockwheel.Lease(time.Duration(1+rand.IntN(200))*time.Millisecond))
						}
						if rand.IntN(4) == 0 {
							opts = append(opts, lockwheel.Wait(time.Duration(rand.IntN(30))*time.Millisecond))
						}
						if rand.IntN(6) == 0 {
							ctx = lockwheel.WithOwner(ctx)
						}
						var h *lockwheel.Hold
						var err error
						switch rand.IntN(6) {
						case 0:
							h, err = m.TryLock(ctx, opts...)
						case 1:
							p := m.LockAsync(ctx, opts...)
							switch rand.IntN(3) {
							case 0:
								p.Cancel()
							case 1:
								time.Sleep(time.Millisecond)
								p.Cancel()
							}
							<-p.Done()
							h, err = p.Hold()
						case 2:
							h, err = e.Multi(e.Mutex(fmt.Sprint("p", 4)), e.Mutex(fmt.Sprint("p", 9)), rw(rand.IntN(2))).Lock(ctx, opts...)
						default:
							h, err = m.Lock(ctx, opts...)
						}
						if err != nil {
							bad.Store(fmt.Sprintf("%.40q", errors.Unwrap(err)), true)
							cancel()
							continue
						}
						n := rand.IntN(3)
						for range n {
							h2, err := m.Lock(h.Context(), lockwheel.Wait(20*time.Millisecond))
							if err == nil {
								if rand.IntN(2) == 0 {
									defer h2.Unlock(context.Background())
								} else {
									h2.Unlock(ctx)
								}
							}
						}
						switch rand.IntN(8) {
						case 0:
							h.Extend(ctx, time.Duration(1+rand.IntN(1000))*time.Millisecond)
						case 1:
							h.Extend(ctx, 0)
						case 2:
							m.ForceUnlock(ctx)
						case 3:
							lockwheel.Mutex(other.Mutex(h.Name())).ForceUnlock(ctx)
						case 4:
							s.Real.Do(t, "DEL", h.Name())
						case 5:
							time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
						}
						switch rand.IntN(10) {
						case 0:
							u := h.UnlockAsync()
							<-u.Done()
						case 1:
							h.Unlock(h.Context())
						case 2:
							go h.Unlock(ctx)
							h.Unlock(ctx)
						default:
							h.Unlock(ctx)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			if mode == "close" {
				for i := range 50 {
					e.Mutex(fmt.Sprint("x", i)).LockAsync(t.Context())
				}
				time.Sleep(50 * time.Millisecond)
				st := e.Stats()
				t.Log("before close", st.Held, st.Waiting)
				require.NoError(t, e.Close())
			} else {
				locktest.RequireIdle(t, e)
				require.NoError(t, e.Shutdown(t.Context()))
			}
			st := e.Stats()
			bad.Range(func(k, v any) bool { t.Log(k); return true })
			t.Logf("acq %d failed %d rel %d lost %d lostAtUnlock %d shed %d waits %d holdtimes %d leaked %d dropped %d | obs acq %d rej %d rel %d lost %d closed %d held %d",
				st.Acquired, st.Failed, st.Released, st.Lost, st.LostAtUnlock, st.Shed, st.AcquireWaits.Count(), st.HoldTimes.Count(), st.Leaked, st.DroppedEvents,
				acq.Load(), rej.Load(), rel.Load(), lost.Load(), lostClosed.Load(), st.Held)
			require.EqualValues(t, st.Acquired, acq.Load())
			require.EqualValues(t, st.Failed, rej.Load())
			require.EqualValues(t, st.Released, rel.Load())
			require.EqualValues(t, st.Lost+st.LostAtUnlock, lost.Load())
			require.EqualValues(t, st.Acquired, int64(st.Released+st.Lost)+lostClosed.Load())
			require.EqualValues(t, st.HoldTimes.Count(), st.Acquired)
		})
	}
}

// Err()==nil implies the key is there and lives at least until Deadline.
func TestLeaseSafety(t *testing.T) {
	for _, kind := range []string{"plain", "fenced", "reader", "writer", "fair"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			p := proxy.Start(t, s.Addr)
			e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: 600 * time.Millisecond, CallTimeout: 100 * time.Millisecond, MaxHold: 2 * time.Second})
			m := map[string]lockwheel.Mutex{"plain": e.Mutex("n"), "fenced": e.FencedMutex("n"), "reader": e.RWMutex("n").RLocker(), "writer": e.RWMutex("n").Writer(), "fair": e.FairMutex("n")}[kind]
			end := time.Now().Add(20 * time.Second)
			var wg sync.WaitGroup
			checks := 0
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				h, err := m.Lock(ctx, someLease()...)
				if err != nil {
					cancel()
					continue
				}
				holds := []*lockwheel.Hold{h}
				var hm sync.Mutex
				add := func(h *lockwheel.Hold) { hm.Lock(); holds = append(holds, h); hm.Unlock() }
				for range 3 {
					wg.Go(func() {
						for range 15 {
							hm.Lock()
							x := holds[rand.IntN(len(holds))]
							hm.Unlock()
							switch rand.IntN(6) {
							case 0, 1:
								c2, cc := context.WithTimeout(ctx, time.Duration(rand.IntN(50))*time.Millisecond)
								x.Extend(c2, time.Duration(rand.IntN(800)/400*rand.IntN(900))*time.Millisecond)
								cc()
							case 2:
								if y, err := m.Lock(context.WithoutCancel(x.Context()), append(someLease(), lockwheel.Wait(50*time.Millisecond))...); err == nil {
									if y.ID() == h.ID() {
										add(y)
									} else {
										y.Unlock(ctx)
									}
								}
							case 3:
								if x != h {
									x.Unlock(ctx)
								}
							default:
								time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
							}
						}
					})
				}
				stop := make(chan bool)
				go func() { wg.Wait(); close(stop) }()
				if rand.IntN(2) == 0 {
					go func() {
						f := []proxy.Fault{proxy.Hold, proxy.Delay(30 * time.Millisecond), proxy.CutAfter(0), proxy.Delay(130 * time.Millisecond)}[rand.IntN(4)]
						p.Set([]proxy.Direction{proxy.Commands, proxy.Replies}[rand.IntN(2)], f)
						time.Sleep(time.Duration(rand.IntN(250)) * time.Millisecond)
						p.Heal()
					}()
				}
				for on := true; on; {
					select {
					case <-stop:
						on = false
					default:
					}
					hm.Lock()
					x := holds[rand.IntN(len(holds))]
					hm.Unlock()
					d := x.Deadline()
					if x.Err() != nil {
						continue
					}
					ttl := s.PTTL("n")
					now := time.Now()
					if x.Err() != nil || x.Deadline() != d {
						continue
					}
					checks++
					if now.Add(ttl).Before(d.Add(-2 * time.Millisecond)) {
						t.Errorf("%s: TTL %v but deadline in %v", kind, ttl, d.Sub(now))
					}
				}
				for _, x := range holds {
					x.Unlock(ctx)
				}
				cancel()
			}
			t.Log("checks", checks)
		})
	}
}

func someLease() []lockwheel.Option {
	if rand.IntN(2) == 0 {
		return nil
	}
	return []lockwheel.Option{lockwheel.Lease(time.Duration(10+rand.IntN(900)) * time.Millisecond)}
}
