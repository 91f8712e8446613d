package ctxwatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// waiter is a caller that waits with a context, as a Pending of the root package does.
type waiter struct {
	of       *Watches[waiter]
	ctx      context.Context
	request  actor.Request
	state    atomic.Int32 // waits, hasFailed or wasCanceled
	watching *Watch[waiter]
	entry    *Entry[waiter]
}

const (
	waits int32 = iota
	hasFailed
	wasCanceled
)

// newWatches returns Watches that pass each canceled request and the cause to f.
func newWatches(f func([]*actor.Request, error)) *Watches[waiter] {
	w := New(Config[waiter]{
		CauseOf: context.Cause,
		Canceled: func(p *waiter) *actor.Request {
			if !p.state.CompareAndSwap(waits, wasCanceled) {
				return nil
			}
			return &p.request
		},
		CancelAll: f,
		IsStdTree: func(ctx context.Context) bool { _, own := ctx.(*countedContext); return !own },
	})
	return &w
}

func idle() *Watches[waiter] { return newWatches(func([]*actor.Request, error) {}) }

func (w *Watches[C]) waiter(ctx context.Context) *waiter {
	return &waiter{of: any(w).(*Watches[waiter]), ctx: ctx}
}

func (p *waiter) watch() { p.watching, p.entry = p.of.Watch(p.ctx, p) }

func (p *waiter) unwatch() {
	if p.watching != nil && p.watching.Leave(p.entry) {
		p.watching.CleanUp()
	}
}

// count returns the number of watches in the table.
func (w *Watches[C]) count() (n int) {
	if places := w.shared.places.Load(); places != nil {
		for i := range *places {
			if (*places)[i].Load() != nil {
				n++
			}
		}
	}
	return n
}

// entries returns the number of entries that a watch keeps.
func (w *Watch[C]) entries() (n int) {
	for s := w.head.Load(); s != nil && s != w.owner.ended; s = s.next {
		n++
	}
	return n
}

// Contexts that end together share one watch.
func TestWatch_EqualDone_Shared(t *testing.T) {
	e := idle()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type key struct{}
	same := []context.Context{ctx, context.WithValue(ctx, key{}, 1), context.WithValue(context.WithValue(ctx, key{}, 2), key{}, 3)}
	var with []*Watch[waiter]
	var all []*waiter
	for range 3 {
		for _, ctx := range same {
			p := e.waiter(ctx)
			p.watch()
			with, all = append(with, p.watching), append(all, p)
		}
	}
	for _, w := range with {
		require.Same(t, with[0], w)
	}
	child, stop := context.WithCancel(ctx)
	defer stop()
	other := e.waiter(child)
	other.watch()
	require.NotSame(t, with[0], other.watching, "it can end before the others")
	require.Equal(t, 2, e.count())
	endless := e.waiter(context.Background())
	endless.watch()
	require.Nil(t, endless.watching, "it does not end")
	for _, p := range append(all, other, endless) {
		p.unwatch()
		p.unwatch()
	}
	require.Zero(t, e.count())
	again := e.waiter(ctx)
	again.watch()
	require.NotSame(t, with[0], again.watching)
}

// A custom context is identified by its pointer: two that share a Done may have different causes. No method of the
// same context is called for a second caller.
func TestWatch_CustomContext_WatchedOnce(t *testing.T) {
	e := idle()
	ctx := &countedContext{Context: t.Context(), done: make(chan struct{})}
	var all []*waiter
	for range 1000 {
		p := e.waiter(ctx)
		p.watch()
		all = append(all, p)
	}
	require.Equal(t, 1, ctx.registered)
	other := e.waiter(&countedContext{Context: t.Context(), done: ctx.done})
	other.watch()
	require.NotSame(t, all[0].watching, other.watching)
	for _, p := range all {
		require.Zero(t, ctx.stopped)
		p.unwatch()
	}
	require.Equal(t, 1, ctx.stopped)
	other.unwatch()
	require.Zero(t, e.count())
}

type countedContext struct {
	context.Context
	done                chan struct{}
	registered, stopped int
	asked               int // for Err
}

func (c *countedContext) Err() error {
	c.asked++
	return nil
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) AfterFunc(func()) (stop func() bool) {
	c.registered++
	return func() bool { c.stopped++; return true }
}

// A Close settles what ended before it without code of a caller's context, which may hang.
func TestSettle_CustomContext_NotAsked(t *testing.T) {
	e := idle()
	ctx := &countedContext{Context: t.Context(), done: make(chan struct{})}
	custom := e.waiter(ctx)
	custom.watch()
	std, cancel := context.WithCancel(t.Context())
	ended := e.waiter(std)
	ended.watch()
	close(ctx.done)
	cancel()
	e.Settle()
	require.Zero(t, ctx.asked)
	require.Equal(t, wasCanceled, ended.state.Load())
	require.Equal(t, waits, custom.state.Load())
	custom.unwatch()
}

// valuedContext counts how often it is asked for a value.
type valuedContext struct {
	context.Context
	asked int
}

func (c *valuedContext) Value(key any) any {
	c.asked++
	return key
}

// Of a caller's context only one value is asked for, before it is watched: a panic of it later would end the process.
func TestEndSignal_Context_AskedOnce(t *testing.T) {
	parent := &valuedContext{Context: t.Context()}
	c := &endSignal{parent: parent, done: make(chan struct{})}
	for range 3 {
		require.Equal(t, "first", c.Value("first"))
	}
	require.Equal(t, 1, parent.asked)
	require.NoError(t, c.Err())
	_, bounded := c.Deadline()
	require.False(t, bounded)
	over := make(chan struct{})
	close(over)
	require.ErrorIs(t, (&endSignal{done: over}).Err(), context.Canceled)
}

// A watch is not found if its context has ended before it is in the table, or if its callers have left by then.
func TestWatch_Ended_NotFound(t *testing.T) {
	e := idle()
	ended, left := &Watch[waiter]{owner: e, key: 1}, &Watch[waiter]{owner: e, key: 2}
	ended.head.Store(e.ended)
	left.waiting.Store(closedWatch)
	for _, w := range []*Watch[waiter]{ended, left} {
		e.shared.put(w)
		require.Nil(t, e.shared.find(w.key))
	}
	require.Zero(t, e.count())
	require.False(t, left.join(), "a caller that found it just before has a watch of its own")
	later := &Watch[waiter]{owner: e, key: 3}
	e.shared.put(later)
	require.Same(t, later, e.shared.find(3))
	require.True(t, later.join())
	later.head.Store(e.ended)
	require.Nil(t, e.shared.find(3), "its context has ended since")
}

// For any number of contexts each watch is found again, and time and memory grow linearly with their number.
func TestWatchTable_GrowsLinearly(t *testing.T) {
	steps := func(n int) (moved int) {
		e := idle()
		table := &e.shared
		before := table.places.Load()
		look := func() {
			if now := table.places.Load(); now != before {
				before, moved = now, moved+len(*now)
			}
		}
		all := make([]*Watch[waiter], n)
		for i := range all {
			all[i] = &Watch[waiter]{owner: e, key: i}
			table.put(all[i])
			look()
		}
		found := 0
		for i := range all {
			if table.find(i) == all[i] {
				found++
			}
		}
		require.Greater(t, found, n-n/100)
		for _, w := range all {
			w.waiting.Store(closedWatch)
			table.remove(w)
		}
		require.Zero(t, e.count())
		table.put(&Watch[waiter]{owner: e, key: 0})
		look()
		require.Len(t, *table.places.Load(), minSlots)
		return moved
	}
	require.LessOrEqual(t, steps(1000), 20*1000)
	require.LessOrEqual(t, steps(10_000), 20*10_000)
}

// A watch does not keep the seats of callers that have left, and removing them costs a bounded number of steps each.
func TestWatch_WaitersLeft_EntriesFreed(t *testing.T) {
	e := idle()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := e.waiter(ctx)
	first.watch()
	most := 0
	for range 10_000 {
		p := e.waiter(ctx)
		p.watch()
		require.Same(t, first.watching, p.watching)
		p.unwatch()
		most = max(most, first.watching.entries())
	}
	require.LessOrEqual(t, most, minEmptied+3)
	steps := func(n int) (swept int) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []*waiter
		for range n {
			p := e.waiter(ctx)
			p.watch()
			all = append(all, p)
		}
		for _, p := range all {
			if p.watching.Leave(p.entry) {
				swept += p.watching.entries()
				p.watching.CleanUp()
			}
		}
		return swept
	}
	few, many := steps(1000), steps(10_000)
	require.LessOrEqual(t, few, 4*1000)
	require.LessOrEqual(t, many, 4*10_000)
}

// The cancellation of few callers takes little memory: very many contexts of one caller each may end together.
func TestWatch_FewWaiters_SmallCancellation(t *testing.T) {
	for _, waiters := range []int{1, 3, cancelBatch} {
		room := make(chan int, 1)
		e := newWatches(func(together []*actor.Request, _ error) { room <- cap(together) })
		ctx, cancel := context.WithCancel(t.Context())
		for range waiters {
			e.waiter(ctx).watch()
		}
		cancel()
		require.Less(t, <-room, 2*waiters+1)
	}
}

// With any concurrency, a caller that waits when the context ends is canceled, and one that has left is not.
func TestWatch_ContextEnds_WaitersCanceled(t *testing.T) {
	for range 300 {
		var given sync.Map
		e := newWatches(func(together []*actor.Request, cause error) {
			for _, r := range together {
				_, twice := given.LoadOrStore(r, cause)
				require.False(t, twice)
			}
		})
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		stay, leave := make([]*waiter, 400), make([]*waiter, 400)
		for worker := range 4 {
			wg.Go(func() {
				for i := worker; i < len(stay); i += 4 {
					stay[i], leave[i] = e.waiter(ctx), e.waiter(ctx)
					stay[i].watch()
					leave[i].watch()
					if leave[i].state.CompareAndSwap(waits, hasFailed) {
						leave[i].unwatch()
					}
				}
			})
		}
		wg.Go(func() { cancel(reason) })
		wg.Wait()
		all := func() bool {
			for _, p := range slices.Concat(stay, leave) {
				cause, is := given.Load(&p.request)
				if is != (p.state.Load() == wasCanceled) || is && cause != reason || !is && p.state.Load() != hasFailed {
					return false
				}
			}
			return true
		}
		require.Eventually(t, all, 10*time.Second, 100*time.Microsecond)
		require.Eventually(t, func() bool { return e.count() == 0 }, 10*time.Second, 100*time.Microsecond)
	}
}
