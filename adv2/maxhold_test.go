package adv2_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func TestMaxHold(t *testing.T) {
	for _, max := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 700 * time.Millisecond} {
		s := locktest.RealServer(t)
		e := s.Open(lockwheel.Options{MaxHold: max})
		s2 := locktest.RealServer(t)
		s3 := locktest.RealServer(t)
		e2, e3 := s2.Open(lockwheel.Options{}), s3.Open(lockwheel.Options{MaxHold: max})
		for _, k := range []string{"plain", "fenced", "fair", "read", "write", "multi", "seq", "quorum", "big"} {
			lock := func(ctx context.Context, o ...lockwheel.Option) (*lockwheel.Hold, error) {
				switch k {
				case "multi":
					return e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(ctx, o...)
				case "seq":
					return e.Multi(e.Mutex("a"), e.FairMutex("f"), e.RWMutex("w").Writer()).Lock(ctx, o...)
				case "quorum":
					return lockwheel.Quorum(e.Mutex("q"), e2.Mutex("q"), e3.Mutex("q")).Lock(ctx, o...)
				case "big":
					var ls []lockwheel.Mutex
					for i := range 1200 {
						ls = append(ls, e.Mutex(fmt.Sprint("b", i)))
					}
					return e.Multi(ls...).Lock(ctx, o...)
				}
				return kindMutex(e, k, "n"+k).Lock(ctx, o...)
			}
			at := time.Now()
			h, err := lock(t.Context(), lockwheel.Wait(2*time.Second))
			if err != nil {
				t.Log(max, k, err, time.Since(at))
				continue
			}
			got := time.Since(at)
			at = time.Now()
			x := h.Extend(t.Context(), 0)
			<-h.Done()
			lived := time.Since(at)
			e1 := h.Err()
			u := h.Unlock(t.Context())
			at = time.Now()
			h2, err := lock(t.Context(), lockwheel.Wait(2*time.Second), lockwheel.Lease(3*time.Second))
			again := time.Since(at)
			t.Log(max, k, "got", got, "extend", x, "lived", lived, e1, u, "again", err, again)
			if err == nil {
				r, err := lock(h2.Context(), lockwheel.Wait(time.Second))
				t.Log("   re-entry", err, h2.Err())
				if err == nil {
					time.Sleep(max + 10*time.Millisecond)
					t.Log("   ", r.Err(), h2.Err(), r.Unlock(t.Context()))
				}
				t.Log("   ", h2.Unlock(t.Context()))
			}
		}
		for _, x := range []*lockwheel.Engine{e, e2, e3} {
			locktest.RequireIdle(t, x)
		}
		t.Log(s.Do("KEYS", "*"), s2.Do("KEYS", "*"), s3.Do("KEYS", "*"))
	}
}

func TestOptionsOdd(t *testing.T) {
	s := locktest.RealServer(t)
	for i, o := range []lockwheel.Options{
		{Handoff: lockwheel.Handoff{MaxDuration: -1}}, {Handoff: lockwheel.Handoff{MaxGrants: 1 << 40}}, {Handoff: lockwheel.Handoff{MaxDuration: 1}},
		{Notify: 7}, {FairWaitTimeout: 1}, {FairWaitTimeout: -time.Second}, {FairWaitTimeout: 11 * 365 * 24 * time.Hour}, {MaxWaiting: -1}, {MaxWaitingPerLock: -1},
		{Lease: 10 * 365 * 24 * time.Hour}, {MaxHold: 1}, {MaxHold: -1}, {Prefix: "{"}, {Prefix: "\x00"}, {CallTimeout: 20 * time.Second}, {RenewInterval: 20 * time.Second},
	} {
		o.Redis.InitAddress = []string{s.Addr}
		e, err := lockwheel.Open(t.Context(), o)
		t.Log(i, err)
		if err == nil {
			for _, k := range []string{"plain", "fenced", "fair", "read", "write"} {
				h, err := kindMutex(e, k, "n"+k).TryLock(t.Context())
				if err != nil {
					t.Log("   ", k, err)
					continue
				}
				w := locktest.Locking(t.Context(), kindMutex(e, k, "n"+k), lockwheel.Wait(time.Second))
				time.Sleep(20 * time.Millisecond)
				t.Log("   ", k, h.Deadline(), h.Extend(t.Context(), 10*365*24*time.Hour), h.Unlock(t.Context()))
				o := <-w
				if o.Err != nil {
					t.Log("   ", k, o.Err)
				} else {
					t.Log("   ", k, o.Hold.Unlock(t.Context()))
				}
			}
			e.Close()
			t.Log(s.Do("KEYS", "*"))
		}
	}
}
