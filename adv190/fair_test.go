package adv190

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

func init() {
	locktest.ProcessRoles["ADV_QUEUE"] = func(arg string) error {
		var addr string
		var n, waitMS int
		fmt.Sscanf(arg, "%s %d %d", &addr, &n, &waitMS)
		e, err := lockwheel.Open(context.Background(), lockwheel.Options{
			Redis: rueidis.ClientOption{InitAddress: []string{addr}}, Name: "dies", Lease: 30 * time.Second, FairWaitTimeout: time.Duration(waitMS) * time.Millisecond, MaxWaiting: 1 << 20, MaxWaitingPerLock: 1 << 20, CallTimeout: 10 * time.Second,
		})
		if err != nil {
			return err
		}
		m := e.FairMutex("f")
		for range n {
			m.LockAsync(context.Background())
		}
		select {}
	}
}

func starts(t *testing.T, s *locktest.Server, n int, wait time.Duration) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ADV_QUEUE="+s.Addr+" "+strconv.Itoa(n)+" "+strconv.Itoa(int(wait.Milliseconds())))
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// F2: many dead places before one live waiter; the bound is max(FairWaitTimeout, 1.6 ms a place).
func deadPlaces(t *testing.T, n int, wait time.Duration, mixed bool) {
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "x", Lease: 30 * time.Second, FairWaitTimeout: wait, CallTimeout: 3 * time.Second})
	h := locktest.Lock(t, e.FairMutex("f"))
	cmd := starts(t, s, n, wait)
	require.Eventually(t, func() bool { return s.Waiting("f") >= n }, 90*time.Second, 100*time.Millisecond)
	if mixed { // a redisson-like place, dead, with 2 s left by its time
		s.StandLast("f", "11111111-1111-4111-8111-111111111111:5", 2*time.Second)
	}
	q := locktest.Locking(t.Context(), e.FairMutex("f"))
	require.Eventually(t, func() bool { return s.Waiting("f") > n }, 10*time.Second, time.Millisecond)
	cmd.Process.Kill()
	cmd.Wait()
	died := time.Now()
	locktest.Unlock(t, h)
	var got *lockwheel.Hold
	select {
	case o := <-q:
		require.NoError(t, o.Err)
		got = o.Hold
	case <-time.After(120 * time.Second):
		t.Fatalf("no turn, queue %d", s.Waiting("f"))
	}
	t.Logf("%d dead, wait %v: granted after %v", n, wait, time.Since(died))
	locktest.Unlock(t, got)
}

func TestF2_Dead20000(t *testing.T)     { t.Parallel(); deadPlaces(t, 20000, 3*time.Second, false) }
func TestF2_Dead3000(t *testing.T)      { t.Parallel(); deadPlaces(t, 3000, 3*time.Second, false) }
func TestF2_Dead3000Mixed(t *testing.T) { t.Parallel(); deadPlaces(t, 3000, 3*time.Second, true) }

// F1: soak: engines with odd waiters, some engines die silently.
func TestF1_Soak(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	const lease = 3 * time.Second
	opts := lockwheel.Options{Lease: lease, FairWaitTimeout: lease, CallTimeout: time.Second}
	var inside, grants, doubles atomic.Int64
	var last atomic.Int64
	var worst atomic.Int64
	last.Store(time.Now().UnixNano())
	stop := time.Now().Add(60 * time.Second)
	var wg sync.WaitGroup
	visit := func(h *lockwheel.Hold) {
		if h.Err() == nil && inside.Add(1) > 1 {
			doubles.Add(1)
		}
		gap := time.Now().UnixNano() - last.Load()
		for w := worst.Load(); gap > w && !worst.CompareAndSwap(w, gap); w = worst.Load() {
		}
		grants.Add(1)
		time.Sleep(time.Duration(rand.Intn(3)) * time.Millisecond)
		last.Store(time.Now().UnixNano())
		inside.Add(-1)
	}
	var longest atomic.Int64
	worker := func(e *lockwheel.Engine, alive func() bool) {
		m := e.FairMutex("f")
		for time.Now().Before(stop) && alive() {
			ctx, cancel := context.WithCancel(context.Background())
			at := time.Now()
			switch rand.Intn(6) {
			case 0:
				ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.Intn(200))*time.Millisecond)
			}
			var h *lockwheel.Hold
			var err error
			switch rand.Intn(6) {
			case 0:
				h, err = m.TryLock(ctx)
			case 1:
				h, err = m.Lock(ctx, lockwheel.Wait(time.Duration(1+rand.Intn(300))*time.Millisecond))
			case 2:
				p := m.LockAsync(ctx)
				if rand.Intn(2) == 0 {
					time.Sleep(time.Duration(rand.Intn(30)) * time.Millisecond)
					cancel()
				}
				<-p.Done()
				h, err = p.Hold()
			default:
				h, err = m.Lock(ctx)
			}
			if d := int64(time.Since(at)); err == nil && d > longest.Load() {
				longest.Store(d)
			}
			if err == nil {
				visit(h)
				h.Unlock(context.Background())
			} else if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) && !errors.Is(err, lockwheel.ErrClosed) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			cancel()
		}
	}
	for range 3 {
		e := s.Open(opts)
		for range 15 {
			wg.Go(func() { worker(e, func() bool { return true }) })
		}
	}
	deaths := 0
	for time.Now().Before(stop.Add(-8 * time.Second)) {
		p := proxy.Start(t, s.Addr)
		e := s.OpenAt(p.Addr(), opts)
		var dead atomic.Bool
		var w2 sync.WaitGroup
		for range 10 {
			w2.Go(func() { worker(e, func() bool { return !dead.Load() }) })
		}
		time.Sleep(time.Duration(300+rand.Intn(700)) * time.Millisecond)
		p.Set(proxy.Both, proxy.Drop)
		dead.Store(true)
		e.Close()
		w2.Wait()
		deaths++
		time.Sleep(lease + 1500*time.Millisecond)
	}
	wg.Wait()
	t.Logf("deaths %d grants %d doubles %d worst gap %v longest wait %v", deaths, grants.Load(), doubles.Load(), time.Duration(worst.Load()), time.Duration(longest.Load()))
	require.Zero(t, doubles.Load())
	require.Less(t, time.Duration(worst.Load()), 2*lease+2*time.Second) // hold lease, then places
	require.Eventually(t, func() bool { return s.Waiting("f") == 0 }, 5*time.Second, time.Millisecond)
	_ = runtime.NumGoroutine
}

// F4: places left in odd orders: n waiters leave head-first, tail-first, random, while a last one waits.
func TestF4_LeaveOrders(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	for _, n := range []int{3, 50, 1500} {
		for order := range 4 {
			e := s.Open(lockwheel.Options{Lease: 20 * time.Second, CallTimeout: 6 * time.Second, MaxWaitingPerLock: 1 << 17})
			o := s.Open(lockwheel.Options{Lease: 20 * time.Second, CallTimeout: 6 * time.Second})
			h := locktest.Lock(t, e.FairMutex("f"))
			cancels := make([]context.CancelFunc, n)
			for i := range n {
				ctx, cancel := context.WithCancel(t.Context())
				cancels[i] = cancel
				e.FairMutex("f").LockAsync(ctx)
			}
			locktest.Eventually(t, "queue", func() bool { return s.Waiting("f") == n })
			q := locktest.Locking(t.Context(), o.FairMutex("f"))
			locktest.Eventually(t, "queue", func() bool { return s.Waiting("f") == n+1 })
			idx := rand.Perm(n)
			if order == 0 || order == 3 {
				for i := range idx {
					idx[i] = i
				}
			} else if order == 1 {
				for i := range idx {
					idx[i] = n - 1 - i
				}
			}
			if order == 3 {
				locktest.Unlock(t, h)
			}
			for _, i := range idx {
				cancels[i]()
			}
			if order != 3 {
				locktest.Unlock(t, h)
			}
			at := time.Now()
			hold := locktest.Granted(t, q)
			t.Log(n, order, time.Since(at))
			locktest.Unlock(t, hold)
			locktest.Eventually(t, "empty", func() bool { return s.Waiting("f") == 0 })
			e.Close()
			o.Close()
			if k := fmt.Sprint(s.Do("KEYS", "*")); k != "[]" {
				t.Error(n, order, k)
			}
		}
	}
}

// F5: engines with clocks apart, in one queue with a death in front.
func TestF5_Clocks(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	const lease = 4 * time.Second
	opts := lockwheel.Options{Lease: lease, FairWaitTimeout: lease, CallTimeout: 1300 * time.Millisecond}
	for _, by := range []time.Duration{0, time.Hour, -time.Hour, 30 * time.Second, -30 * time.Second} {
		a, b := s.Open(opts), s.OpenAhead(by, opts)
		p := proxy.Start(t, s.Addr)
		dead := s.OpenAt(p.Addr(), opts)
		h := locktest.Lock(t, a.FairMutex("f"))
		s.QueueUp(dead.FairMutex("f"))
		q1 := s.QueueUp(b.FairMutex("f"))
		q2 := s.QueueUp(a.FairMutex("f"))
		q3 := s.QueueUp(b.FairMutex("f"))
		p.Set(proxy.Both, proxy.Drop)
		died := time.Now()
		locktest.Unlock(t, h)
		for _, q := range []<-chan locktest.Outcome{q1, q2, q3} {
			var o locktest.Outcome
			select {
			case o = <-q:
			case <-time.After(20 * time.Second):
				t.Fatalf("by %v no turn; scores %v now %d", by, s.Scores("f"), time.Now().UnixMilli())
			}
			require.NoError(t, o.Err)
			t.Log(by, time.Since(died))
			if time.Since(died) > lease+2*time.Second {
				t.Errorf("by %v late", by)
			}
			locktest.Unlock(t, o.Hold)
		}
		p.Set(proxy.Both, proxy.Pass)
		dead.Close()
		locktest.Eventually(t, "empty", func() bool { return s.Waiting("f") == 0 })
	}
}
