package adv2_test

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
)

// contest: clients each with a quorum; checks exclusion, longest wait, leftovers.
func contest(t *testing.T, d time.Duration, quorums []lockwheel.Multi, perClient int, opts ...lockwheel.Option) (grants []int64, longest []time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var inside, crowd atomic.Int32
	var wg sync.WaitGroup
	grants = make([]int64, len(quorums))
	longest = make([]time.Duration, len(quorums))
	var mu sync.Mutex
	for i, q := range quorums {
		for range perClient {
			wg.Go(func() {
				for ctx.Err() == nil {
					asked := time.Now()
					h, err := q.Lock(ctx, opts...)
					took := time.Since(asked)
					mu.Lock()
					longest[i] = max(longest[i], took)
					mu.Unlock()
					if err != nil {
						if !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
							return
						}
						continue
					}
					mu.Lock()
					grants[i]++
					mu.Unlock()
					if inside.Add(1) != 1 {
						crowd.Add(1)
					}
					time.Sleep(time.Duration(rand.N(2000)) * time.Microsecond)
					if err := h.Err(); err != nil {
						t.Error("lost", err)
					}
					inside.Add(-1)
					if err := h.Unlock(context.Background()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	require.Zero(t, crowd.Load())
	return
}

func TestQKinds(t *testing.T) {
	kinds := map[string]func(e *lockwheel.Engine) lockwheel.Mutex{
		"plain":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex("n") },
		"fenced": func(e *lockwheel.Engine) lockwheel.Mutex { return e.FencedMutex("n") },
		"fair":   func(e *lockwheel.Engine) lockwheel.Mutex { return e.FairMutex("n") },
		"writer": func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("n").Writer() },
	}
	for _, mix := range [][]string{
		{"fair", "fair", "fair"}, {"plain", "fair", "writer"}, {"fair", "plain"}, {"fair", "fair"}, {"writer", "fenced", "fair", "plain"}, {"writer", "writer", "writer", "writer"}, {"fair", "fair", "fair", "fair"},
	} {
		t.Run(fmt.Sprint(mix), func(t *testing.T) {
			p := locktest.NewServerSet(t, len(mix))
			var qs []lockwheel.Multi
			var all [][]*lockwheel.Engine
			for range 3 {
				es := p.Client(lockwheel.Options{})
				all = append(all, es)
				var ls []lockwheel.Mutex
				for i, k := range mix {
					ls = append(ls, kinds[k](es[i]))
				}
				qs = append(qs, lockwheel.Quorum(ls...))
			}
			g, l := contest(t, 5*time.Second, qs, 2)
			t.Log(g, l)
			for _, es := range all {
				for _, e := range es {
					locktest.RequireIdle(t, e)
				}
			}
			for _, s := range p {
				t.Log(s.Do("KEYS", "*"))
			}
		})
	}
}

func TestQSameServer(t *testing.T) {
	p := locktest.NewServerSet(t, 2)
	mk := func() (lockwheel.Multi, []*lockwheel.Engine) {
		es := []*lockwheel.Engine{p[0].Open(lockwheel.Options{}), p[0].Open(lockwheel.Options{}), p[1].Open(lockwheel.Options{})}
		return locktest.Quorum(es, "n"), es
	}
	q, es := mk()
	q2, es2 := mk()
	for range 20 {
		h, err := q.Lock(t.Context(), lockwheel.Wait(5*time.Second))
		if err != nil {
			t.Log(err)
			continue
		}
		time.Sleep(20 * time.Millisecond)
		at := time.Now()
		t.Log(h.Unlock(t.Context()), time.Since(at))
	}
	for _, e := range es {
		locktest.RequireIdle(t, e)
	}
	g, l := contest(t, 5*time.Second, []lockwheel.Multi{q, q2}, 2)
	t.Log(g, l)
	for _, e := range append(es, es2...) {
		locktest.RequireIdle(t, e)
	}
	t.Log(p[0].Do("KEYS", "*"), p[1].Do("KEYS", "*"))
	// same engine twice
	_, err := lockwheel.Quorum(es[0].Mutex("a"), es[0].Mutex("b")).Lock(t.Context())
	t.Log(err)
	_, err = lockwheel.Quorum(es[0].Mutex("a"), lockwheel.Mutex{}).Lock(t.Context())
	t.Log(err)
	_, err = lockwheel.Quorum(es[0].Mutex("a"), new(lockwheel.Engine).Mutex("a"), new(lockwheel.Engine).Mutex("a")).Lock(t.Context(), lockwheel.Wait(time.Second))
	t.Log(err)
	_, err = lockwheel.Quorum(new(lockwheel.Engine).Mutex("a"), es[0].Mutex("a"), es[2].Mutex("a")).Lock(t.Context(), lockwheel.Wait(time.Second))
	t.Log(err)
}

func TestQForeign(t *testing.T) {
	p := locktest.NewServerSet(t, 3)
	es := p.Client(foreign)
	q := locktest.Quorum(es, "n")
	for _, s := range p {
		s.Do("SET", "n", "x", "PX", 1500)
	}
	at := time.Now()
	_, err := q.TryLock(t.Context())
	t.Log(err, time.Since(at))
	at = time.Now()
	h, err := q.Lock(t.Context())
	t.Log(err, time.Since(at))
	locktest.HeldBy(t, es)
	// overwrite one, then another
	p[0].Do("SET", "n", "x", "PX", 1500)
	t.Log(h.Extend(t.Context(), 5*time.Second), h.Err())
	t.Log(h.Unlock(t.Context()))
	for _, e := range es {
		locktest.RequireIdle(t, e)
		t.Log(e.Stats().Polling)
	}
	// redsync-like contention, on all three with majority
}
