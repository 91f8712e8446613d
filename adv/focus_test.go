//go:build adv

package adv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// A Wait that is shorter than the round trips of a Multi that is taken in turn.
func TestFocusWait(t *testing.T) {
	s, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: 2 * time.Second})
	_ = s
	var locks []lockwheel.Mutex
	for i := range 50 {
		locks = append(locks, e.FencedMutex(fmt.Sprint("n", i)))
	}
	m := e.Multi(locks...)
	p.Set(proxy.Replies, proxy.Delay(20*time.Millisecond))
	for _, w := range []time.Duration{5, 50, 100, 300} {
		began := time.Now()
		h, err := m.Lock(t.Context(), lockwheel.Wait(w*time.Millisecond))
		t.Logf("Wait %dms took %v: %v %.200v", w, time.Since(began), h != nil, err)
		if h != nil {
			h.Unlock(t.Context())
		}
		ctx, cancel := context.WithTimeout(t.Context(), w*time.Millisecond)
		began = time.Now()
		h, err = m.Lock(ctx)
		t.Logf("ctx %dms took %v: %v %.200v", w, time.Since(began), h != nil, err)
		if h != nil {
			h.Unlock(t.Context())
		}
		cancel()
		locktest.RequireIdle(t, e)
	}
	var many []lockwheel.Mutex
	for i := range 20000 {
		many = append(many, e.Mutex(fmt.Sprint("p", i)))
	}
	began := time.Now()
	h, err := e.Multi(many...).Lock(t.Context(), lockwheel.Wait(100*time.Millisecond))
	t.Logf("slices: Wait 100ms took %v: %v %.200v", time.Since(began), h != nil, err)
	if h != nil {
		h.Unlock(t.Context())
	}
}

// One key of several is not allowed.
func TestFocusACL(t *testing.T) {
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "limited", "on", ">secret", "~a*", "~redisson_*a*", "&*", "+@all")
	e := s.Open(lockwheel.Options{Redis: rueidis.ClientOption{Username: "limited", Password: "secret"}})
	_, err := locktest.Multi(e, "a1", "a2", "b").Lock(t.Context(), lockwheel.Wait(time.Second))
	t.Log(err)
	_, err = locktest.Multi(e, "a1", "a2", "b").TryLock(t.Context())
	t.Log(err)
	_, err = e.Multi(e.FencedMutex("a1"), e.FencedMutex("b")).TryLock(t.Context())
	t.Log(err)
	var names []string
	for i := range 1200 {
		names = append(names, fmt.Sprintf("a%05d", i))
	}
	_, err = locktest.Multi(e, append(names, "b")...).TryLock(t.Context())
	t.Log(err)
	locktest.RequireIdle(t, e)
	h := locktest.LockAll(t, locktest.Multi(e, "a1", "a2", "a3"))
	s.Do("ACL", "SETUSER", "limited", "resetkeys", "~a1", "~a3")
	t.Log(h.Unlock(t.Context()))
	t.Log(s.Do("KEYS", "*"))
	s.Do("ACL", "SETUSER", "limited", "~*")
	locktest.RequireIdle(t, e)
	t.Log(s.Do("KEYS", "*"))
	h = locktest.LockAll(t, locktest.Multi(e, "a1", "a2", "a3"), lockwheel.Lease(20*time.Second))
	s.Do("ACL", "SETUSER", "limited", "resetkeys", "~a1", "~a3")
	t.Log(h.Extend(t.Context(), 30*time.Second))
	t.Log(h.Err())
	s.Do("ACL", "SETUSER", "limited", "~*")
	t.Log(h.Unlock(t.Context()))
	locktest.RequireIdle(t, e)
}

// No replicas at any server of a quorum.
func TestFocusNotReplicated(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	es := set.Client(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 50 * time.Millisecond}, CallTimeout: time.Second})
	q := locktest.Quorum(es, "n")
	began := time.Now()
	_, err := q.Lock(t.Context(), lockwheel.Wait(2*time.Second))
	t.Log(time.Since(began), err, errors.Is(err, lockwheel.ErrNotReplicated))
	_, err = es[0].Mutex("n").Lock(t.Context(), lockwheel.Wait(2*time.Second))
	t.Log(err)
	_, err = es[0].Multi(es[0].Mutex("n"), es[0].Mutex("o")).Lock(t.Context(), lockwheel.Wait(2*time.Second))
	t.Log(err)
}

func TestFocusLeak(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		set := locktest.NewServerSet(t, 3)
		var es []*lockwheel.Engine
		for i, s := range set {
			es = append(es, s.Open(lockwheel.Options{Lease: 1200 * time.Millisecond, FindLeaks: !mixed || i != 1}))
		}
		func() {
			h, err := locktest.Quorum(es, "n").Lock(t.Context())
			require.NoError(t, err)
			locktest.HeldBy(t, es)
			_ = h.Context()
		}()
		for i := range 40 {
			runtime.GC()
			time.Sleep(200 * time.Millisecond)
			if i%5 == 0 {
				t.Log(mixed, set.Holders("n"), es[0].Stats().Leaked, es[1].Stats().Leaked, es[2].Stats().Leaked, es[0].Stats().Held, es[1].Stats().Held, es[2].Stats().Held, es[0].Stats().Acquired)
			}
		}
	}
}

func TestFocusUpgrade(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	es := set.Client(lockwheel.Options{})
	var rs, ws []lockwheel.Mutex
	for _, e := range es {
		rs = append(rs, e.RWMutex("n").RLocker())
		ws = append(ws, e.RWMutex("n").Writer())
	}
	r, err := lockwheel.Quorum(rs...).Lock(t.Context())
	require.NoError(t, err)
	_, err = lockwheel.Quorum(ws...).Lock(r.Context())
	t.Log(err, errors.Is(err, lockwheel.ErrUpgrade))
	_, err = lockwheel.Quorum(es[0].Mutex("n"), es[1].Mutex("n"), es[2].Mutex("n")).Lock(t.Context(), lockwheel.Wait(time.Second))
	t.Log(err, errors.Is(err, lockwheel.ErrKindMismatch))
	require.NoError(t, r.Unlock(t.Context()))
}
