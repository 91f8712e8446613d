package adv1

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestCloseStorm(t *testing.T) {
	s := locktest.RealServer(t)
	for round := range 150 {
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: s.Client()})
		require.NoError(t, err)
		var wg sync.WaitGroup
		stop := make(chan bool)
		for g := range 12 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					m := e.Mutex(fmt.Sprint(round, "/", i%4))
					if g%3 == 1 {
						m = e.RWMutex(fmt.Sprint(round, "rw")).RLocker()
					}
					switch (g + i) % 7 {
					case 0:
						p := m.LockAsync(t.Context())
						<-p.Done()
						if h, err := p.Hold(); err == nil {
							u := h.UnlockAsync()
							<-u.Done()
							if u.Err() != nil && !errors.Is(u.Err(), lockwheel.ErrClosed) {
								t.Error("async", u.Err())
							}
						} else if !errors.Is(err, lockwheel.ErrClosed) {
							t.Error(err)
						}
					case 1:
						e.Stats()
						e.Status()
					case 2:
						if err := e.Ping(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrClosed) {
							t.Error("ping", err)
						}
					case 3:
						for _, err := range e.Locks(t.Context()) {
							if err != nil && !errors.Is(err, lockwheel.ErrClosed) {
								t.Error(err)
							}
						}
					default:
						err := m.Do(t.Context(), func(ctx context.Context) error {
							h2, err := m.Lock(ctx)
							if err != nil {
								return err
							}
							return h2.Unlock(ctx)
						})
						if err != nil && !errors.Is(err, lockwheel.ErrClosed) {
							t.Error("do", err)
						}
					}
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		var cl sync.WaitGroup
		shut := round%2 == 0
		for range 3 {
			cl.Go(func() {
				if shut {
					if err := e.Shutdown(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrClosed) {
						t.Error(err)
					}
				} else {
					e.Close()
				}
			})
		}
		cl.Wait()
		close(stop)
		wg.Wait()
		st := e.Stats()
		if st.Held != 0 || st.Waiting != 0 || st.Timers != 0 || st.InFlight != 0 {
			t.Errorf("after close: %+v", st)
		}
		if shut {
			if n := s.Do("DBSIZE"); n != int64(0) {
				t.Errorf("round %d: keys left %v %v", round, n, s.Do("KEYS", "*"))
			}
		}
		s.Do("FLUSHALL")
	}
	t.Log(runtime.NumGoroutine())
}

func TestExtremes(t *testing.T) {
	s := locktest.RealServer(t)
	y := 10 * 365 * 24 * time.Hour
	e := s.Open(lockwheel.Options{Lease: y, MaxHold: y, FairWaitTimeout: y, HeldTooLong: y})
	for _, m := range []lockwheel.Mutex{e.Mutex("a"), e.FencedMutex("b"), e.FairMutex("c"), e.RWMutex("d").Writer(), e.RWMutex("e").RLocker()} {
		h, err := m.Lock(t.Context(), lockwheel.Wait(y), lockwheel.Lease(y))
		require.NoError(t, err)
		require.NoError(t, h.Extend(t.Context(), y))
		require.NoError(t, h.Extend(t.Context(), 0))
		h2, err := m.Lock(h.Context(), lockwheel.Lease(y))
		require.NoError(t, err)
		require.NoError(t, h2.Err())
		t.Log(h2.Deadline(), s.PTTL(h.Name()))
		require.NoError(t, h.Extend(t.Context(), time.Millisecond*1500))
		require.NoError(t, h2.Unlock(t.Context()))
		t.Log(h.Deadline(), s.PTTL(h.Name()))
		require.NoError(t, h.Unlock(t.Context()))
		p := m.LockAsync(t.Context(), lockwheel.Wait(y))
		<-p.Done()
		h, err = p.Hold()
		require.NoError(t, err)
		require.NoError(t, h.Unlock(t.Context()))
	}
	for _, n := range []string{"\x00", "\xff\xfe\n\r\n", "a b", "{", "}", "{}", "a{b}c", "*", "redisson_lock_token:{x}"} {
		err := e.Mutex(n).Do(t.Context(), func(ctx context.Context) error {
			st, err := e.Mutex(n).State(ctx)
			require.True(t, st.Locked)
			return err
		})
		require.NoError(t, err, "%q", n)
	}
	locktest.RequireIdle(t, e)
	t.Log(s.Do("KEYS", "*"))
}
