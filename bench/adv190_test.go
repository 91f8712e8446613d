package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestAdv190_Contention(t *testing.T) {
	for _, engines := range []int{1, 3} {
		for _, callers := range []int{1, 8} {
			for _, old := range []string{"redislock", "redsync", "rueidislock"} {
				t.Run(fmt.Sprint(engines, "x", callers, old), func(t *testing.T) { contend(t, engines, callers, old) })
			}
		}
	}
}

func contend(t *testing.T, engines, callers int, lib string) {
	server := redistest.Start(t)
	opts := rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	var inside, overlaps, ours, theirs, theirErr atomic.Int64
	var longO, longT time.Duration
	var lastErr atomic.Value
	visit := func(n *atomic.Int64) {
		if inside.Add(1) != 1 {
			overlaps.Add(1)
		}
		time.Sleep(2 * time.Millisecond)
		n.Add(1)
		inside.Add(-1)
	}
	var wg sync.WaitGroup
	var mu atomic.Int64
	for range engines {
		o := lockwheel.Options{Redis: opts, Foreign: true}
		if engines > 1 {
			o.Notify = lockwheel.Poll
		}
		e, err := lockwheel.Open(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		var m interface {
			Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
		} = e.Mutex("n")
		if lib == "rueidislock" {
			m = e.Multi(e.Mutex("rueidislock:0:n"), e.Mutex("rueidislock:1:n"), e.Mutex("n"))
		}
		for range callers {
			wg.Go(func() {
				for ctx.Err() == nil {
					at := time.Now()
					h, err := m.Lock(ctx)
					if err != nil {
						if ctx.Err() == nil {
							t.Error(err)
						}
						return
					}
					if d := time.Since(at); int64(d) > mu.Load() {
						mu.Store(int64(d))
					}
					visit(&ours)
					if err := h.Unlock(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	rc := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rc.Close()
	rs := redsync.New(goredis.NewPool(rc))
	rl := redislock.New(rc)
	var locker rueidislock.Locker
	if lib == "rueidislock" {
		var err error
		locker, err = rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: opts})
		if err != nil {
			t.Fatal(err)
		}
		defer locker.Close()
	}
	wg.Go(func() {
		for ctx.Err() == nil {
			at := time.Now()
			var unlock func()
			switch lib {
			case "redislock":
				l, err := rl.Obtain(ctx, "n", 30*time.Second, &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
				if err != nil {
					if !strings.Contains(err.Error(), "WRONGTYPE") {
						lastErr.Store(err.Error())
						theirErr.Add(1)
					}
					time.Sleep(20 * time.Millisecond)
					break
				}
				unlock = func() { l.Release(context.Background()) }
			case "redsync":
				m := rs.NewMutex("n", redsync.WithExpiry(30*time.Second), redsync.WithTries(500), redsync.WithRetryDelay(10*time.Millisecond))
				if err := m.LockContext(ctx); err != nil {
					lastErr.Store(err.Error())
					theirErr.Add(1)
					break
				}
				unlock = func() { m.Unlock() }
			case "rueidislock":
				_, u, err := locker.WithContext(ctx, "n")
				if err != nil {
					lastErr.Store(err.Error())
					theirErr.Add(1)
					time.Sleep(time.Millisecond)
					break
				}
				unlock = u
			}
			if unlock != nil {
				longT = max(longT, time.Since(at))
				visit(&theirs)
				unlock()
			}
		}
	})
	wg.Wait()
	longO = time.Duration(mu.Load())
	t.Logf("ours %d theirs %d overlaps %d their errors %d (%v) longest ours %v theirs %v", ours.Load(), theirs.Load(), overlaps.Load(), theirErr.Load(), lastErr.Load(), longO, longT)
}

func TestAdv190_ForeignKinds(t *testing.T) {
	server := redistest.Start(t)
	opts := rueidis.ClientOption{InitAddress: []string{server.Addr()}}
	e, _ := lockwheel.Open(t.Context(), lockwheel.Options{Redis: opts, Foreign: true})
	defer e.Close()
	p, _ := lockwheel.Open(t.Context(), lockwheel.Options{Redis: opts})
	defer p.Close()
	server.Do(t, "SET", "n", "x")
	w := lockwheel.Wait(200 * time.Millisecond)
	for name, err := range map[string]error{
		"lock": second(e.Mutex("n").Lock(t.Context(), w)), "try": second(e.Mutex("n").TryLock(t.Context())),
		"fenced": second(e.FencedMutex("n").Lock(t.Context(), w)), "fair": second(e.FairMutex("n").Lock(t.Context(), w)),
		"read": second(e.RWMutex("n").RLocker().Lock(t.Context(), w)), "write": second(e.RWMutex("n").Lock(t.Context(), w)),
		"multi": second(e.Multi(e.Mutex("n"), e.Mutex("m")).Lock(t.Context(), w)), "force": second2(e.Mutex("n").ForceUnlock(t.Context())),
		"plain": second(p.Mutex("n").Lock(t.Context(), w)), "quorum": second(lockwheel.Quorum(e.Mutex("n")).Lock(t.Context(), w)),
	} {
		t.Log(name, "->", err)
	}
	st, err := e.Mutex("n").State(t.Context())
	t.Logf("%+v %v", st, err)
	st, err = p.Mutex("n").State(t.Context())
	t.Logf("%+v %v", st, err)
	hh, err := e.Mutex("n").Holder(t.Context())
	t.Logf("%+v %v", hh, err)
	t.Log(server.Do(t, "KEYS", "*"))
	// a long foreign lock without anyone deleting: after DEL who gets it and when
	got := make(chan time.Duration, 1)
	var deleted atomic.Int64
	go func() {
		h, err := e.Mutex("n").Lock(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		got <- time.Duration(time.Now().UnixNano() - deleted.Load())
		h.Unlock(context.Background())
	}()
	time.Sleep(3 * time.Second)
	deleted.Store(time.Now().UnixNano())
	server.Do(t, "DEL", "n")
	t.Log("after DEL", <-got)
}

func second(_ *lockwheel.Hold, err error) error { return err }
func second2(_ bool, err error) error           { return err }
