package adv1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/debug"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

func TestClientClosedFirst(t *testing.T) {
	s := locktest.RealServer(t)
	client := s.Client()
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client, Lease: time.Second})
	require.NoError(t, err)
	h := locktest.Lock(t, e.Mutex("n"))
	client.Close()
	fmt.Println("ping", e.Ping(t.Context()))
	_, err = e.Mutex("x").TryLock(t.Context())
	fmt.Println("try", err)
	_, err = e.Mutex("x").Lock(t.Context(), lockwheel.Wait(100*time.Millisecond))
	fmt.Println("wait", err, errors.Is(err, lockwheel.ErrClosed))
	fmt.Printf("status %+v\n", e.Status())
	fmt.Println("extend", h.Extend(t.Context(), time.Second))
	fmt.Println("unlock", h.Unlock(t.Context()))
	begin := time.Now()
	fmt.Println("close", e.Close(), time.Since(begin))
}

func TestAsyncShedHistogram(t *testing.T) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{MaxWaiting: 1})
	h := locktest.Lock(t, e.Mutex("n"))
	ctx, cancel := context.WithCancel(t.Context())
	var ps []*lockwheel.Pending
	for range 100000 {
		ps = append(ps, e.Mutex("n").LockAsync(ctx))
	}
	cancel()
	for _, p := range ps {
		<-p.Done()
	}
	h.Unlock(t.Context())
	locktest.RequireIdle(t, e)
	st := e.Stats()
	fmt.Println("acq+failed", st.Acquired+st.Failed, "waits", st.AcquireWaits.Count(), "shed", st.Shed)
}

func TestDebugPage(t *testing.T) {
	s := locktest.RealServer(t)
	rec := &debug.Recorder{}
	e := s.Open(lockwheel.Options{Observer: rec.Observer()})
	z := new(lockwheel.Engine)
	srv := httptest.NewServer(debug.Handler(debug.Options{Recorder: rec, AllowForce: true}, e, z, nil))
	defer srv.Close()
	evil := "<script>alert(1)</script>\"'&\x00\xff" + strings.Repeat("x", 500)
	h := locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "<img src=x onerror=1>"), e.Mutex(evil))
	defer h.Unlock(t.Context())
	for _, p := range []string{"/", "/?q=%3Cscript%3E", "/locks.json?limit=1", "/stats.json", "/events.json", "/?sort=%3Cb%3E", "/confirm?engine=" + e.ID() + "&kind=plain&name64=", "/confirm?engine=&kind=plain&name64=YQ", "/locks.json?after=e30", "/?engine=%22%3E%3Cscript%3E", "/locks.json?after=bnVsbA", "//", "/../x", "/page.js", "/locks.json?q=%ff", "/?q=%zz"} {
		r, err := http.Get(srv.URL + p)
		require.NoError(t, err)
		b, _ := io.ReadAll(r.Body)
		r.Body.Close()
		fmt.Println(p, r.StatusCode, r.Header.Get("Content-Type"), len(b), strings.Contains(string(b), "<script>alert"), strings.Contains(string(b), "<img"))
		if r.StatusCode != 200 {
			fmt.Println("   ", strings.TrimSpace(string(b)))
		}
	}
	e.Close()
	r, _ := http.Get(srv.URL + "/")
	b, _ := io.ReadAll(r.Body)
	r.Body.Close()
	fmt.Println("closed", r.StatusCode, len(b), strings.Contains(string(b), "closed"))
}

// lost replies: no lock is left, no waiter sleeps, Held gauge stays right
func TestRandomFaultsNothingLeft(t *testing.T) {
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	o := lockwheel.Options{Lease: 900 * time.Millisecond, CallTimeout: 150 * time.Millisecond, FindLeaks: true}
	e := s.OpenAt(p.Addr(), o)
	clean := s.Open(lockwheel.Options{Lease: 900 * time.Millisecond, CallTimeout: 300 * time.Millisecond})
	var inside [4]int32
	var mu sync.Mutex
	held := map[string][2]any{}
	enter := func(h *lockwheel.Hold, who string) {
		if h.Err() != nil {
			return
		}
		mu.Lock()
		if o := held[h.Name()]; o[0] != nil {
			other := o[0].(*lockwheel.Hold)
			e1, e2 := other.Err(), h.Err()
			if e1 == nil && e2 == nil && other.ID() != h.ID() {
				t.Errorf("two holders of %s: %s and %s", h.Name(), o[1], who)
			}
			if e1 == nil && other.Err() == nil && other.ID() == h.ID() {
				t.Errorf("two holders with one id %s", h.Name())
			}
		}
		held[h.Name()] = [2]any{h, who}
		mu.Unlock()
	}
	leave := func(h *lockwheel.Hold) {
		mu.Lock()
		if o := held[h.Name()]; o[0] == h {
			delete(held, h.Name())
		}
		mu.Unlock()
	}
	_ = inside
	end := time.Now().Add(40 * time.Second)
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Go(func() {
			eng, who := e, fmt.Sprint("e", g)
			if g%3 == 0 {
				eng, who = clean, fmt.Sprint("clean", g)
			}
			for i := 0; time.Now().Before(end); i++ {
				n := fmt.Sprint("n", (g+i)%4)
				m := eng.Mutex(n)
				if (g+i)%4 == 3 {
					m = eng.FencedMutex(n)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(20+i%7*60)*time.Millisecond)
				var h *lockwheel.Hold
				var err error
				switch i % 3 {
				case 0:
					h, err = m.Lock(ctx)
				case 1:
					h, err = m.Lock(ctx, lockwheel.Lease(time.Duration(50+i%5*100)*time.Millisecond))
				case 2:
					pd := m.LockAsync(ctx)
					<-pd.Done()
					h, err = pd.Hold()
				}
				if err == nil {
					enter(h, who)
					if i%5 == 0 {
						h.Extend(ctx, 200*time.Millisecond)
					}
					if i%11 == 0 {
						time.Sleep(time.Duration(i%40) * 10 * time.Millisecond)
					}
					leave(h)
					switch i % 4 {
					case 0:
						h.UnlockAsync()
					default:
						h.Unlock(ctx)
					}
				}
				cancel()
			}
		})
	}
	faults := 0
	for time.Now().Before(end) {
		fs := []proxy.Fault{proxy.Hold, proxy.Drop, proxy.Delay(100 * time.Millisecond), proxy.CutAfter(faults % 40), proxy.Delay(200 * time.Millisecond), proxy.Trickle(3, time.Millisecond)}
		p.Set([]proxy.Direction{proxy.Commands, proxy.Replies, proxy.Both}[faults%3], fs[faults%len(fs)])
		time.Sleep(time.Duration(faults%7*50) * time.Millisecond)
		p.Heal()
		time.Sleep(time.Duration(faults%5*30) * time.Millisecond)
		faults++
	}
	wg.Wait()
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, clean)
	st := e.Stats()
	t.Log(faults, st.Acquired, st.Released, st.Lost, st.LostAtUnlock, st.Leaked, st.Failed, s.Do("KEYS", "*"))
	require.EqualValues(t, st.Acquired, st.Released+st.Lost)
	require.EqualValues(t, st.AcquireWaits.Count(), st.Acquired+st.Failed)
}
