//go:build adv

package adv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/redis/rueidis"
)

// A quorum with one server that is wrong in one way, then in another.
func TestQuorumWrongServer(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	names := []string{"n/plain", "n/fenced", "n/fair", "n/writer"}
	if os.Getenv("ADV_RW") != "" {
		names = []string{"m/reader", "n/reader"}
	}
	user := rueidis.ClientOption{Username: "limited", Password: "secret"}
	for _, s := range set {
		s.Do("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all")
		s.Do("CONFIG", "SET", "enable-debug-command", "yes")
	}
	const clients, workers = 3, 4
	var engines [][]*lockwheel.Engine
	for range clients {
		engines = append(engines, set.Client(lockwheel.Options{Lease: locktest.FlashLease, Redis: user}))
	}
	quorumOf := func(es []*lockwheel.Engine, name string) lockwheel.Multi {
		var l []lockwheel.Mutex
		for _, e := range es {
			l = append(l, locktest.MutexOf(e, name))
		}
		return lockwheel.Quorum(l...)
	}
	p := func(ms int) { time.Sleep(rand.N(time.Duration(ms) * time.Millisecond)) }
	faultsOf := func(bad *locktest.Server) map[string]func() {
		keys := func() (ks []string) {
			got, _ := bad.Do("KEYS", "*").([]any)
			for _, k := range got {
				if s := fmt.Sprint(k); !strings.Contains(s, "redisson") {
					ks = append(ks, s)
				}
			}
			return ks
		}
		return map[string]func(){
			"del": func() {
				for range 30 {
					for _, k := range keys() {
						bad.Do("DEL", k)
					}
					p(10)
				}
			},
			"early": func() {
				for range 30 {
					for _, k := range keys() {
						bad.Do("PEXPIRE", k, rand.IntN(300))
					}
					p(10)
				}
			},
			"longer": func() {
				for range 30 {
					for _, k := range keys() {
						bad.Do("PEXPIRE", k, 100000)
					}
					p(10)
				}
			},
			"persist": func() {
				for range 30 {
					for _, k := range keys() {
						bad.Do("PERSIST", k)
					}
					p(10)
				}
			},
			"empty": func() {
				require.NoError(t, bad.Real.RestartEmpty())
				bad.Do("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all")
			},
			"oom": func() { bad.Do("CONFIG", "SET", "maxmemory", 1); p(600); bad.Do("CONFIG", "SET", "maxmemory", 0) },
			"evict": func() {
				bad.Do("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
				bad.Do("CONFIG", "SET", "maxmemory", 1)
				p(600)
				bad.Do("CONFIG", "SET", "maxmemory", 0)
				bad.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
			},
			"acl": func() {
				r := [][]any{{"-evalsha", "-eval"}, {"-@hash"}, {"resetkeys"}, {"-hset"}, {"-hdel"}, {"-pexpire"}, {"-publish"}, {"-subscribe"}, {"resetchannels"}, {"-exists"}, {"-pttl"}, {"-hexists"}, {"-incr"}, {"-rpush"}, {"-zadd"}}
				bad.Do(append([]any{"ACL", "SETUSER", "limited"}, r[rand.IntN(len(r))]...)...)
				p(600)
				bad.Do("ACL", "SETUSER", "limited", "~*", "&*", "+@all")
			},
			"maxclients": func() {
				bad.Do("CONFIG", "SET", "maxclients", 1)
				bad.Do("CLIENT", "KILL", "USER", "limited")
				p(600)
				bad.Do("CONFIG", "SET", "maxclients", 10000)
			},
			"stop": func() { bad.Real.Pause(); p([]int{5, 50, 300, 1000, 3000}[rand.IntN(5)]); bad.Real.Continue() },
			"sleep": func() {
				for range 20 {
					bad.Do("DEBUG", "SLEEP", float64(rand.IntN(60))/1000)
					p(30)
				}
			},
			"offline": func() {
				require.NoError(t, bad.Real.Kill())
				p(800)
				require.NoError(t, bad.Real.Restart())
				bad.Do("ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all")
			},
		}
	}
	for what, fault := range faultsOf(set[0]) {
		if only := os.Getenv("ADV_ONLY"); only != "" && only != what {
			continue
		}
		t.Run(what, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), runTime(t))
			defer stop()
			var c tally
			var granted, two atomic.Int64
			slots := make([]slot, len(names))
			done := make(chan struct{})
			go func() {
				defer close(done)
				locktest.Crowd(t, clients*workers, func(i int) error {
					for ctx.Err() == nil {
						at := rand.IntN(len(names))
						q := quorumOf(engines[i%clients], names[at])
						shared := strings.HasSuffix(names[at], "reader")
						if shared && rand.IntN(3) == 0 {
							var l []lockwheel.Mutex
							for _, e := range engines[i%clients] {
								l = append(l, locktest.RivalOf(e, names[at]))
							}
							q, shared = lockwheel.Quorum(l...), false
						}
						cctx, cancel := bounded(ctx)
						began := time.Now()
						lock := q.Lock
						if rand.IntN(4) == 0 {
							lock = q.TryLock
						}
						h, err := lock(cctx, opts()...)
						end, _ := cctx.Deadline()
						if over := time.Since(end); over > time.Second && began.Before(end) {
							t.Logf("%s: Lock outlived its context by %v: %v", what, over, err)
						}
						cancel()
						c.add("lock", err)
						if err != nil {
							continue
						}
						granted.Add(1)
						if shared {
						} else if err := slots[at].take(h); err != nil {
							two.Add(1)
						}
						use(ctx, &c, h, func(x context.Context) (*lockwheel.Hold, error) { return q.TryLock(x, lockwheel.Wait(time.Second)) })
					}
					return nil
				})
			}()
			for ctx.Err() == nil {
				if os.Getenv("ADV_MAJ") != "" {
					other := make(chan struct{})
					f := faultsOf(set[1])[what]
					go func() { defer close(other); f() }()
					fault()
					<-other
				} else {
					fault()
				}
				p(150)
			}
			<-done
			for _, es := range engines {
				for _, e := range es {
					locktest.RequireIdle(t, e)
					addsUp(t, what, e)
				}
			}
			for i, s := range set {
				s.RequireNothingLeft(t, locktest.FlashLease, names)
				locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
				_ = i
			}
			t.Logf("%s: %d grants, %d two holders", what, granted.Load(), two.Load())
			c.show(t)
			// works again
			for _, n := range names {
				h, err := quorumOf(engines[0], n).Lock(t.Context(), lockwheel.Wait(5*time.Second))
				require.NoError(t, err)
				locktest.HeldBy(t, engines[0])
				require.NoError(t, h.Unlock(t.Context()))
				for _, e := range engines[0] {
					locktest.RequireIdle(t, e)
				}
			}
		})
	}
}
