//go:build adv

package adv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

func addsUp(t *testing.T, what string, e *lockwheel.Engine) {
	t.Helper()
	s := e.Stats()
	if s.Acquired != s.Released+s.Lost {
		t.Errorf("%s: acquired %d, released %d, lost %d", what, s.Acquired, s.Released, s.Lost)
	}
	if s.HoldTimes.Count() != s.Acquired {
		t.Logf("%s: hold times %d, acquired %d", what, s.HoldTimes.Count(), s.Acquired)
	}
}

// Multis on one server that is wrong in one way, then in another.
func TestMultiWrongServer(t *testing.T) {
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all")
	s.Do("CONFIG", "SET", "enable-debug-command", "yes")
	user := rueidis.ClientOption{Username: "limited", Password: "secret"}
	var engines []*lockwheel.Engine
	for range 3 {
		engines = append(engines, s.Open(lockwheel.Options{Lease: locktest.FlashLease, Redis: user}))
	}
	big := make([]string, 1300)
	for i := range big {
		big[i] = fmt.Sprintf("big%05d/plain", i)
	}
	groups := [][]string{
		{"a/plain", "b/plain", "c/plain", "d/plain"},
		{"c/plain", "d/plain", "e/plain"},
		{"a/plain", "k/fenced", "k/fair", "k/writer"},
		append([]string{"e/plain"}, big...),
	}
	singles := []string{"a/plain", "d/plain", "k/fair", "k/writer", "k/fenced", "big00700/plain"}
	slots := map[string]*slot{}
	for _, g := range groups {
		for _, n := range g {
			slots[n] = &slot{}
		}
	}
	p := func(ms int) { time.Sleep(rand.N(time.Duration(ms) * time.Millisecond)) }
	all := map[string]func(){
		"none": func() { p(500) },
		"oom":  func() { s.Do("CONFIG", "SET", "maxmemory", 1); p(600); s.Do("CONFIG", "SET", "maxmemory", 0) },
		"acl": func() {
			r := [][]any{{"-evalsha", "-eval"}, {"-@hash"}, {"resetkeys", "~a*", "~big*"}, {"-hset"}, {"-hdel"}, {"-pexpire"}, {"-publish"}, {"-subscribe"}, {"resetchannels"}, {"-exists"}, {"-pttl"}, {"-hexists"}, {"-incr"}, {"-rpush"}, {"-zadd"}}
			s.Do(append([]any{"ACL", "SETUSER", "limited"}, r[rand.IntN(len(r))]...)...)
			p(600)
			s.Do("ACL", "SETUSER", "limited", "~*", "&*", "+@all")
		},
		"maxclients": func() {
			s.Do("CONFIG", "SET", "maxclients", 1)
			s.Do("CLIENT", "KILL", "USER", "limited")
			p(600)
			s.Do("CONFIG", "SET", "maxclients", 10000)
		},
		"stop":  func() { s.Real.Pause(); p([]int{5, 50, 300, 1000, 3000}[rand.IntN(5)]); s.Real.Continue() },
		"sleep": func() { s.Do("DEBUG", "SLEEP", float64(rand.IntN(60))/1000); p(30) },
		"kill":  func() { s.Do("CLIENT", "KILL", "USER", "limited"); p(200) },
		"flush": func() { s.Do("SCRIPT", "FLUSH"); p(30) },
	}
	for what, fault := range all {
		if only := os.Getenv("ADV_ONLY"); only != "" && only != what {
			continue
		}
		t.Run(what, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), runTime(t))
			defer stop()
			var c tally
			var granted [5]atomic.Int64
			done := make(chan struct{})
			go func() {
				defer close(done)
				locktest.Crowd(t, 12, func(i int) error {
					for ctx.Err() == nil {
						e := engines[i%3]
						g := rand.IntN(5)
						var some []string
						var lock func(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
						if g < 4 {
							some = groups[g]
							m := locktest.SeveralOf(e, some)
							lock = m.Lock
							if rand.IntN(4) == 0 {
								lock = m.TryLock
							}
						} else {
							some = []string{singles[rand.IntN(len(singles))]}
							lock = locktest.MutexOf(e, some[0]).Lock
						}
						cctx, cancel := bounded(ctx)
						began := time.Now()
						h, err := lock(cctx, opts()...)
						end, _ := cctx.Deadline()
						if over := time.Since(end); over > time.Second && began.Before(end) {
							t.Logf("%s: Lock outlived its context by %v: %v", what, over, err)
						}
						c.add("lock", err)
						if err != nil {
							cancel()
							continue
						}
						granted[g].Add(1)
						for _, n := range some {
							if err := slots[n].take(h); err != nil {
								t.Error(n, err)
							}
						}
						use(ctx, &c, h, func(x context.Context) (*lockwheel.Hold, error) {
							return locktest.MutexOf(e, some[rand.IntN(len(some))]).TryLock(x, lockwheel.Wait(time.Second))
						})
						cancel()
					}
					return nil
				})
			}()
			for ctx.Err() == nil {
				fault()
				p(150)
			}
			<-done
			for _, e := range engines {
				locktest.RequireIdle(t, e)
				addsUp(t, what, e)
			}
			s.RequireNoLock(t, engines[0], singles)
			locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
			for i := range granted {
				t.Logf("%s: %d grants", what, granted[i].Load())
			}
			c.show(t)
			for _, g := range groups {
				h, err := locktest.SeveralOf(engines[0], g).Lock(t.Context(), lockwheel.Wait(5*time.Second))
				require.NoError(t, err)
				require.NoError(t, h.Unlock(t.Context()))
			}
			locktest.RequireIdle(t, engines[0])
		})
	}
}
