//go:build adv

package adv

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A slot that stays half moved: Multis of it wait, are held, are unlocked.
func TestFocus2HalfMoved(t *testing.T) {
	r := locktest.NewClusterEnv(t, 0)
	e, other := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	var big []string
	for i := range 1500 {
		big = append(big, fmt.Sprintf("{slot}%05d", i))
	}
	held := locktest.LockAll(t, locktest.Multi(e, big...))
	small := locktest.LockAll(t, locktest.Multi(e, "{slot}a", "{slot}b", "{slot}c"))
	waiting := locktest.LockingAll(t.Context(), locktest.Multi(other, "{slot}a", "{slot}b"))
	s := r.Slot(t, "{slot}")
	m := r.Migrate(t, s, r.Nodes[(locktest.IndexOf(r.Nodes, r.Master(t, s))+1)%3])
	m.Move(t, 700)
	m.MoveKey(t, "{slot}a")
	began := time.Now()
	_, err := locktest.Multi(other, "{slot}x", "{slot}y").Lock(t.Context(), lockwheel.Wait(time.Second))
	t.Log("free ones:", time.Since(began), err)
	began = time.Now()
	_, err = locktest.Multi(other, "{slot}x", "{slot}y").TryLock(t.Context())
	t.Log("free ones, try:", time.Since(began), err)
	began = time.Now()
	h, err := other.Mutex("{slot}z").TryLock(t.Context())
	t.Log("a single one, try:", time.Since(began), err)
	if err == nil {
		t.Log(h.Unlock(t.Context()))
	}
	began = time.Now()
	t.Log("extend", small.Extend(t.Context(), time.Minute), time.Since(began))
	began = time.Now()
	t.Log("unlock small", small.Unlock(t.Context()), time.Since(began))
	began = time.Now()
	t.Log("extend", held.Extend(t.Context(), time.Minute), time.Since(began))
	began = time.Now()
	t.Log("unlock", held.Unlock(t.Context()), time.Since(began))
	locktest.RequireNoReply(t, waiting, 500*time.Millisecond)
	m.End(t)
	began = time.Now()
	h = locktest.Granted(t, waiting)
	t.Log("granted", time.Since(began))
	require.NoError(t, h.Unlock(t.Context()))
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// One node of a cluster dies; Multis over several slots.
func TestFocus2DeadNode(t *testing.T) {
	r := locktest.NewClusterEnv(t, 0, "--cluster-require-full-coverage", "no")
	e := r.Open(lockwheel.Options{})
	names := r.SpreadNames(3)
	locktest.Unlock(t, locktest.LockAll(t, locktest.Multi(e, names...)))
	for _, i := range []int{2, 0} {
		r.Nodes[i].Pause()
		for _, w := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
			began := time.Now()
			_, err := locktest.Multi(e, names...).Lock(t.Context(), lockwheel.Wait(w))
			t.Log(i, "paused", w, time.Since(began), err)
		}
		r.Nodes[i].Continue()
		locktest.Unlock(t, locktest.LockAll(t, locktest.Multi(e, names...)))
	}
	held := locktest.LockAll(t, locktest.Multi(e, names...))
	r.Nodes[1].Kill()
	began := time.Now()
	t.Log("unlock", held.Unlock(t.Context()), time.Since(began))
	for _, w := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second} {
		began := time.Now()
		_, err := locktest.Multi(e, names...).Lock(t.Context(), lockwheel.Wait(w))
		t.Log("killed", w, time.Since(began), err)
	}
	r.Nodes[1].Restart()
	locktest.Unlock(t, locktest.LockAll(t, locktest.Multi(e, names...)))
	locktest.RequireIdle(t, e)
}

// Unlock by many goroutines at once, one server stopped for various times.
func TestFocus2UnlockMany(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	es := set.Client(lockwheel.Options{Lease: 3 * time.Second})
	for _, stop := range []time.Duration{0, 5, 50, 300, 1200, 4000} {
		h, err := locktest.Quorum(es, "n").Lock(t.Context())
		require.NoError(t, err)
		locktest.HeldBy(t, es)
		set[0].Real.Pause()
		var wg sync.WaitGroup
		began := time.Now()
		res := make([]string, 8)
		for i := range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), []time.Duration{time.Microsecond, 10 * time.Second}[i%2])
				defer cancel()
				err := h.Unlock(ctx)
				res[i] = fmt.Sprint(time.Since(began).Round(time.Millisecond), " ", err)
			})
		}
		time.Sleep(stop * time.Millisecond)
		set[0].Real.Continue()
		wg.Wait()
		t.Log(stop, res)
		for _, e := range es {
			locktest.RequireIdle(t, e)
		}
		require.Zero(t, set.Holders("n"))
	}
}

// A majority is stopped.
func TestFocus2MajorityStopped(t *testing.T) {
	set := locktest.NewServerSet(t, 3)
	es := set.Client(lockwheel.Options{Lease: 3 * time.Second})
	others := set.Client(lockwheel.Options{Lease: 3 * time.Second})
	for _, stop := range []time.Duration{5, 300, 1200, 4000, 8000} {
		h, err := locktest.Quorum(es, "n").Lock(t.Context())
		require.NoError(t, err)
		locktest.HeldBy(t, es)
		waiting := locktest.LockingAll(t.Context(), locktest.Quorum(others, "n"))
		time.Sleep(50 * time.Millisecond)
		set[0].Real.Pause()
		set[1].Real.Pause()
		began := time.Now()
		a := locktest.Unlocking(t.Context(), h)
		b := make(chan error, 1)
		go func() { b <- h.Extend(t.Context(), 2*time.Second) }()
		time.Sleep(stop * time.Millisecond)
		set[0].Real.Continue()
		set[1].Real.Continue()
		cont := time.Now()
		t.Log(stop, "unlock", <-a, "extend", <-b, time.Since(began))
		o := <-waiting
		t.Log(stop, "waiter after", time.Since(cont), o.Err)
		if o.Err == nil {
			t.Log(o.Hold.Unlock(t.Context()))
		}
		for i := range es {
			locktest.RequireIdle(t, es[i])
			locktest.RequireIdle(t, others[i])
		}
		require.Zero(t, set.Holders("n"))
	}
}
