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

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Redisson's scripts as wire.md describes them.
const (
	rjAcquire = `if redis.call('exists',KEYS[1])==0 or redis.call('hexists',KEYS[1],ARGV[2])==1 then redis.call('hincrby',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end return redis.call('pttl',KEYS[1])`
	rjRelease = `if redis.call('hexists',KEYS[1],ARGV[3])==0 then return nil end
local c=redis.call('hincrby',KEYS[1],ARGV[3],-1)
if c>0 then redis.call('pexpire',KEYS[1],ARGV[2]) return 0 end
redis.call('del',KEYS[1]) redis.call(ARGV[1],KEYS[2],'0') return 1`

	rjRead = `local mode=redis.call('hget',KEYS[1],'mode')
if mode==false then redis.call('hset',KEYS[1],'mode','read') redis.call('hset',KEYS[1],ARGV[2],1) redis.call('set',KEYS[2]..':1',1) redis.call('pexpire',KEYS[2]..':1',ARGV[1]) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end
if mode=='read' or (mode=='write' and redis.call('hexists',KEYS[1],ARGV[3])==1) then
 local n=redis.call('hincrby',KEYS[1],ARGV[2],1) local key=KEYS[2]..':'..n redis.call('set',key,1) redis.call('pexpire',key,ARGV[1])
 local r=redis.call('pttl',KEYS[1]) redis.call('pexpire',KEYS[1],math.max(r,ARGV[1])) return nil end
return redis.call('pttl',KEYS[1])`
	rjUnread = `local mode=redis.call('hget',KEYS[1],'mode')
if mode==false then redis.call('publish',KEYS[2],'0') return nil end
if redis.call('hexists',KEYS[1],ARGV[2])==0 then return nil end
local c=redis.call('hincrby',KEYS[1],ARGV[2],-1)
if c==0 then redis.call('hdel',KEYS[1],ARGV[2]) end
redis.call('del',KEYS[3]..':'..(c+1))
if redis.call('hlen',KEYS[1])>1 then
 local max=-3
 for i,f in ipairs(redis.call('hkeys',KEYS[1])) do c=tonumber(redis.call('hget',KEYS[1],f)) if type(c)=='number' then for i=c,1,-1 do max=math.max(max,redis.call('pttl',KEYS[4]..':'..f..':rwlock_timeout:'..i)) end end end
 if max>0 then redis.call('pexpire',KEYS[1],max) return 0 end
 if mode=='write' then return 0 end
end
redis.call('del',KEYS[1]) redis.call('publish',KEYS[2],'0') return 1`
	rjWrite = `local mode=redis.call('hget',KEYS[1],'mode')
if mode==false then redis.call('hset',KEYS[1],'mode','write') redis.call('hset',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end
if mode=='write' and redis.call('hexists',KEYS[1],ARGV[2])==1 then redis.call('hincrby',KEYS[1],ARGV[2],1) local r=redis.call('pttl',KEYS[1]) redis.call('pexpire',KEYS[1],r+ARGV[1]) return nil end
return redis.call('pttl',KEYS[1])`
	rjUnwrite = `local mode=redis.call('hget',KEYS[1],'mode')
if mode==false then redis.call('publish',KEYS[2],'1') return nil end
if mode=='write' then
 if redis.call('hexists',KEYS[1],ARGV[2])==0 then return nil end
 local c=redis.call('hincrby',KEYS[1],ARGV[2],-1)
 if c>0 then redis.call('pexpire',KEYS[1],ARGV[1]) return 0 end
 redis.call('hdel',KEYS[1],ARGV[2])
 if redis.call('hlen',KEYS[1])==1 then redis.call('del',KEYS[1]) redis.call('publish',KEYS[2],'1') else redis.call('hset',KEYS[1],'mode','read') end
 return 1
end
return nil`
	rjPrune = `while true do local h=redis.call('lindex',KEYS[2],0) if h==false then break end local s=redis.call('zscore',KEYS[3],h) if s~=false and tonumber(s)<=tonumber(ARGV[4]) then redis.call('zrem',KEYS[3],h) redis.call('lpop',KEYS[2]) else break end end `
	rjFair  = rjPrune + `
if redis.call('exists',KEYS[1])==0 and (redis.call('exists',KEYS[2])==0 or redis.call('lindex',KEYS[2],0)==ARGV[2]) then
 redis.call('lpop',KEYS[2]) redis.call('zrem',KEYS[3],ARGV[2])
 for i,k in ipairs(redis.call('zrange',KEYS[3],0,-1)) do redis.call('zincrby',KEYS[3],-tonumber(ARGV[3]),k) end
 redis.call('hset',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end
if redis.call('hexists',KEYS[1],ARGV[2])==1 then redis.call('hincrby',KEYS[1],ARGV[2],1) redis.call('pexpire',KEYS[1],ARGV[1]) return nil end
local s=redis.call('zscore',KEYS[3],ARGV[2]) if s~=false then return math.max(0,redis.call('pttl',KEYS[1])) end
local last=redis.call('lindex',KEYS[2],-1) local ttl
if last~=false and last~=ARGV[2] and redis.call('zscore',KEYS[3],last)~=false then ttl=tonumber(redis.call('zscore',KEYS[3],last))-tonumber(ARGV[4]) else ttl=redis.call('pttl',KEYS[1]) end
if redis.call('zadd',KEYS[3],ttl+tonumber(ARGV[3])+tonumber(ARGV[4]),ARGV[2])==1 then redis.call('rpush',KEYS[2],ARGV[2]) end
return ttl`
	rjFairGiveUp  = `local q=redis.call('lrange',KEYS[1],0,-1) local i=1 while i<=#q and q[i]~=ARGV[1] do i=i+1 end i=i+1 while i<=#q do redis.call('zincrby',KEYS[2],-tonumber(ARGV[2]),q[i]) i=i+1 end redis.call('zrem',KEYS[2],ARGV[1]) redis.call('lrem',KEYS[1],0,ARGV[1])`
	rjFairRelease = rjPrune + `
if redis.call('exists',KEYS[1])==0 then local n=redis.call('lindex',KEYS[2],0) if n~=false then redis.call('publish',KEYS[4]..':'..n,'0') end return 1 end
if redis.call('hexists',KEYS[1],ARGV[2])==0 then return nil end
local c=redis.call('hincrby',KEYS[1],ARGV[2],-1) if c>0 then redis.call('pexpire',KEYS[1],ARGV[1]) return 0 end
redis.call('del',KEYS[1]) local n=redis.call('lindex',KEYS[2],0) if n~=false then redis.call('publish',KEYS[4]..':'..n,'0') end return 1`
)

func prefixed(p, raw string) string {
	if strings.Contains(raw, "{") {
		return p + ":" + raw
	}
	return p + ":{" + raw + "}"
}
func suffixed(raw, s string) string {
	if strings.Contains(raw, "{") {
		return raw + ":" + s
	}
	return "{" + raw + "}:" + s
}

type rj struct {
	t    testing.TB
	c    *redistest.Conn
	s    *locktest.Server
	me   string
	name string
}

func newRJ(t testing.TB, s *locktest.Server, client string, thread int, name string) *rj {
	return &rj{t, s.Real.Conn(t), s, fmt.Sprintf("%s:%d", client, thread), name}
}

func (r *rj) eval(script string, keys []string, args ...any) any {
	a := []any{"EVAL", script, len(keys)}
	for _, k := range keys {
		a = append(a, k)
	}
	v, err := r.c.Do(append(a, args...)...)
	if err != nil {
		r.t.Errorf("redisson: %v", err)
	}
	return v
}

func (r *rj) try(kind string, lease time.Duration, wait time.Duration) any {
	ms := lease.Milliseconds()
	switch kind {
	case "plain":
		return r.eval(rjAcquire, []string{r.name}, ms, r.me)
	case "read":
		return r.eval(rjRead, []string{r.name, suffixed(r.name, r.me) + ":rwlock_timeout"}, ms, r.me, r.me+":write")
	case "write":
		return r.eval(rjWrite, []string{r.name}, ms, r.me+":write")
	case "fair":
		return r.eval(rjFair, []string{r.name, prefixed("redisson_lock_queue", r.name), prefixed("redisson_lock_timeout", r.name)}, ms, r.me, wait.Milliseconds(), time.Now().UnixMilli())
	}
	panic(kind)
}

func (r *rj) unlock(kind string, lease time.Duration) any {
	ms := lease.Milliseconds()
	switch kind {
	case "plain":
		return r.eval(rjRelease, []string{r.name, prefixed("redisson_lock__channel", r.name)}, "publish", ms, r.me)
	case "read":
		base := "{" + r.name + "}"
		if strings.Contains(r.name, "{") {
			base = r.name
		}
		return r.eval(rjUnread, []string{r.name, prefixed("redisson_rwlock", r.name), suffixed(r.name, r.me) + ":rwlock_timeout", base}, ms, r.me)
	case "write":
		return r.eval(rjUnwrite, []string{r.name, prefixed("redisson_rwlock", r.name)}, ms, r.me+":write")
	case "fair":
		return r.eval(rjFairRelease, []string{r.name, prefixed("redisson_lock_queue", r.name), prefixed("redisson_lock_timeout", r.name), prefixed("redisson_lock__channel", r.name)}, ms, r.me, 0, time.Now().UnixMilli())
	}
	panic(kind)
}

func (r *rj) channel(kind string) string {
	switch kind {
	case "plain":
		return prefixed("redisson_lock__channel", r.name)
	case "fair":
		return prefixed("redisson_lock__channel", r.name) + ":" + r.me
	}
	return prefixed("redisson_rwlock", r.name)
}

// lock waits as Redisson does; listening has messages.
func (r *rj) lock(ctx context.Context, kind string, lease, wait time.Duration, msgs <-chan redistest.Message) bool {
	for {
		v := r.try(kind, lease, wait)
		if v == nil {
			return true
		}
		ttl, _ := v.(int64)
		d := time.Duration(ttl) * time.Millisecond
		if ttl < 0 {
			d = time.Hour
		}
		select {
		case <-ctx.Done():
			if kind == "fair" {
				r.eval(rjFairGiveUp, []string{prefixed("redisson_lock_queue", r.name), prefixed("redisson_lock_timeout", r.name)}, r.me, wait.Milliseconds())
			}
			return false
		case <-msgs:
		case <-time.After(d):
		}
	}
}

type sect struct {
	readers, writers atomic.Int32
	bad              atomic.Int32
}

func (c *sect) enter(write bool) {
	if write {
		if c.writers.Add(1) != 1 || c.readers.Load() != 0 {
			c.bad.Add(1)
		}
	} else {
		c.readers.Add(1)
		if c.writers.Load() != 0 {
			c.bad.Add(1)
		}
	}
}
func (c *sect) leave(write bool) {
	if write {
		c.writers.Add(-1)
	} else {
		c.readers.Add(-1)
	}
}

func kindMutex(e *lockwheel.Engine, kind, name string) lockwheel.Mutex {
	switch kind {
	case "plain":
		return e.Mutex(name)
	case "fenced":
		return e.FencedMutex(name)
	case "fair":
		return e.FairMutex(name)
	case "read":
		return e.RWMutex(name).RLocker()
	case "write":
		return e.RWMutex(name).Writer()
	}
	panic(kind)
}

var oddNames = []string{"n", "{n}", "a{b}c", "a:b:", "\x00\xff\r\n*3\r\n$3", "mode", "a{b", "a}b", "{}x", "%s%d'\"", strings.Repeat("x", 5000), "n:write", "redisson_lock_queue:{q}", "{x}:rwlock_timeout:1"}

func TestRJMix(t *testing.T) {
	for _, fam := range [][]string{{"plain"}, {"fair"}, {"read", "write"}} {
		for ni, name := range oddNames {
			t.Run(fmt.Sprint(fam, ni), func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				opts := []lockwheel.Options{{}, {Notify: lockwheel.Poll}, {Lease: 2 * time.Second, Handoff: lockwheel.Handoff{MaxGrants: -1}}, {Foreign: fam[0] == "plain", FairWaitTimeout: time.Second}}
				ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
				defer cancel()
				var c sect
				var wg sync.WaitGroup
				counts := make([]atomic.Int64, len(opts)+2)
				longest := make([]time.Duration, len(opts)+2)
				var mu sync.Mutex
				var engines []*lockwheel.Engine
				for oi, o := range opts {
					e := s.Open(o)
					engines = append(engines, e)
					for range 3 {
						wg.Go(func() {
							for ctx.Err() == nil {
								k := fam[rand.N(len(fam))]
								var os []lockwheel.Option
								if rand.N(3) == 0 {
									os = append(os, lockwheel.Lease(30*time.Second))
								}
								if rand.N(4) == 0 {
									os = append(os, lockwheel.Wait(rand.N(20*time.Millisecond)+time.Millisecond))
								}
								asked := time.Now()
								h, err := kindMutex(e, k, name).Lock(ctx, os...)
								took := time.Since(asked)
								mu.Lock()
								longest[oi] = max(longest[oi], took)
								mu.Unlock()
								if err != nil {
									if !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
										t.Error(err)
										return
									}
									continue
								}
								counts[oi].Add(1)
								c.enter(k != "read")
								time.Sleep(rand.N(1500 * time.Microsecond))
								var rh *lockwheel.Hold
								if k == "write" && rand.N(3) == 0 { // downgrade
									rh, err = e.RWMutex(name).RLocker().Lock(context.WithoutCancel(h.Context()))
									if err != nil {
										t.Error("downgrade", err)
									}
								}
								if rh != nil {
									c.readers.Add(1)
								}
								c.leave(k != "read")
								if err := h.Unlock(context.Background()); err != nil {
									t.Error(k, err)
								}
								if rh != nil {
									time.Sleep(rand.N(1500 * time.Microsecond))
									if c.writers.Load() != 0 {
										t.Error("writer beside a downgraded reader")
									}
									c.readers.Add(-1)
									if err := rh.Unlock(context.Background()); err != nil {
										t.Error("down", err)
									}
								}
							}
						})
					}
				}
				for ri := range 2 {
					id := uuid.NewString()
					for th := range 2 {
						r := newRJ(t, s, id, th, name)
						msgs := map[string]<-chan redistest.Message{}
						ch := s.Real.Subscribe(t, r.channel(fam[0]))
						for _, k := range fam {
							msgs[k] = ch
						}
						wg.Go(func() {
							for ctx.Err() == nil {
								k := fam[rand.N(len(fam))]
								asked := time.Now()
								ok := r.lock(ctx, k, 30*time.Second, 300*time.Second, msgs[k])
								took := time.Since(asked)
								mu.Lock()
								longest[len(opts)+ri] = max(longest[len(opts)+ri], took)
								mu.Unlock()
								if !ok {
									continue
								}
								counts[len(opts)+ri].Add(1)
								c.enter(k != "read")
								time.Sleep(rand.N(1500 * time.Microsecond))
								c.leave(k != "read")
								if v := r.unlock(k, 30*time.Second); v == nil {
									t.Error("redisson lost", k)
								}
							}
						})
					}
				}
				wg.Wait()
				var ns []int64
				for i := range counts {
					ns = append(ns, counts[i].Load())
				}
				t.Log(ns, longest, "bad", c.bad.Load())
				require.Zero(t, c.bad.Load())
				for _, e := range engines {
					locktest.RequireIdle(t, e)
				}
				s.Empty(t)
			})
		}
	}
}
