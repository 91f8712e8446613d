package api_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// listed returns what Locks lists, by kind and name.
func listed(t *testing.T, e *lockwheel.Engine) map[string]lockwheel.LockInfo {
	t.Helper()
	all := make(map[string]lockwheel.LockInfo)
	for info, err := range e.Locks(t.Context()) {
		require.NoError(t, err)
		all[info.Kind+" "+info.Name] = info
	}
	return all
}

// The list has every kind, with what its hold says of itself.
func TestLocks_EveryKind_Listed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Prefix: "app:"})
	before := time.Now()
	mutexes := map[string]lockwheel.Mutex{
		"plain p": e.Mutex("p"), "fenced f": e.FencedMutex("f"), "fair q": e.FairMutex("q"),
		"reader r": e.RWMutex("r").RLocker(), "writer w": e.RWMutex("w").Writer(),
	}
	for what, m := range mutexes {
		hold := locktest.Lock(t, m)
		info := listed(t, e)[what]
		require.Equal(t, m.Name(), info.Name)
		require.Equal(t, 1, info.Holds, what)
		require.Equal(t, hold.ID(), info.HolderID, what)
		require.WithinRange(t, info.Since, before, time.Now(), what)
		require.Equal(t, hold.Deadline(), info.Deadline, what)
		require.True(t, info.Watched, what)
		require.Zero(t, info.Waiting, what)
		require.Zero(t, info.WaitingSince, what)
		locktest.Unlock(t, hold)
	}
	locktest.Eventually(t, "nothing listed", func() bool { return len(listed(t, e)) == 0 })
}

// Re-entries and a lease of its own are told.
func TestLocks_Reentered_CountsHolds(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.LockWith(t, lockwheel.WithOwner(t.Context()), e.Mutex("n"), lockwheel.Lease(time.Hour))
	inner := locktest.LockWith(t, hold.Context(), e.Mutex("n"), lockwheel.Lease(time.Hour))
	info := listed(t, e)["plain n"]
	require.Equal(t, 2, info.Holds)
	require.False(t, info.Watched)
	locktest.Unlock(t, inner)
	locktest.Unlock(t, hold)
}

// What an operator sees is about a hold that is not unlocked, even if its owner's first one is. It is the hold's label,
// and its deadline, although the key lives longer until a renewal.
func TestLocks_FirstHoldUnlocked_OthersShown(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	owner, m := lockwheel.WithOwner(t.Context()), e.Mutex("n")
	first := locktest.LockWith(t, lockwheel.WithLabel(owner, "first"), m, lockwheel.Lease(time.Hour))
	second := locktest.LockWith(t, lockwheel.WithLabel(owner, "second"), m, lockwheel.Lease(time.Minute))
	locktest.LockWith(t, lockwheel.WithLabel(owner, "third"), m, lockwheel.Lease(time.Minute))
	info := listed(t, e)["plain n"]
	require.Equal(t, "first", info.Label)
	require.Equal(t, first.Deadline(), info.Deadline)
	locktest.Unlock(t, first)
	info = listed(t, e)["plain n"]
	require.Equal(t, 2, info.Holds)
	require.Equal(t, "second", info.Label)
	require.WithinDuration(t, second.Deadline(), info.Deadline, locktest.TestDeadline)
}

// Callers that wait for a lock of another engine are counted, with the time of the first of them.
func TestLocks_Waiters_Listed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	before := time.Now()
	first, second := locktest.Locking(t.Context(), e.Mutex("n")), locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 2)
	info := listed(t, e)["plain n"]
	require.Equal(t, 2, info.Waiting)
	require.WithinRange(t, info.WaitingSince, before, time.Now())
	require.Zero(t, info.Holds)
	require.Empty(t, info.HolderID)
	require.Zero(t, info.Since)
	locktest.Unlock(t, hold)
	for range 2 {
		select {
		case o := <-first:
			require.NoError(t, o.Err)
			locktest.Unlock(t, o.Hold)
		case o := <-second:
			require.NoError(t, o.Err)
			locktest.Unlock(t, o.Hold)
		}
	}
}

// More locks than a page has are listed once each, and a loop body that ends early ends the list.
func TestLocks_Many_OnceEach(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	var names []lockwheel.Mutex
	for i := range 2500 {
		names = append(names, e.Mutex(fmt.Sprint("n", i)))
	}
	hold, err := e.Multi(names...).Lock(t.Context())
	require.NoError(t, err)
	require.Len(t, listed(t, e), 2500)
	for range e.Locks(t.Context()) {
		break
	}
	locktest.Unlock(t, hold)
}

// The last pair says why a list was not read to its end.
func TestLocks_Ended_LastPairHasError(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("n"))
	last := func(e *lockwheel.Engine, ctx context.Context) (err error) {
		for _, err = range e.Locks(ctx) {
		}
		return err
	}
	require.NoError(t, last(e, t.Context()))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	require.ErrorIs(t, last(e, ctx), why)
	require.ErrorIs(t, last(new(lockwheel.Engine), t.Context()), lockwheel.ErrClosed)
	var none context.Context
	require.ErrorContains(t, last(e, none), "nil context")
	locktest.Unlock(t, hold)
	require.NoError(t, e.Close())
	require.ErrorIs(t, last(e, t.Context()), lockwheel.ErrClosed)
}

// However many lists are read at a time, ctx bounds each of them.
func TestLocks_ManyLists_EndWithContext(t *testing.T) {
	s := locktest.AnyServer(t)
	e := s.Open(locktest.SlowTimeouts)
	locktest.HoldMany(t, e, 1500) // two pages, of which each takes a turn
	ctx, cancel := context.WithCancel(t.Context())
	const lists = 2000
	began := make(chan struct{}, lists)
	var wg sync.WaitGroup
	var late atomic.Int64 // lists that got a page after the end of their context
	for range lists {
		wg.Go(func() {
			first, counted := true, false
			for _, err := range e.Locks(ctx) {
				if first {
					first = false
					began <- struct{}{}
				}
				if err == nil && !counted && ctx.Err() != nil {
					counted = true
					late.Add(1)
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	for range lists / 10 { // the others wait for a page by now
		<-began
	}
	cancel()
	wg.Wait()
	require.Less(t, late.Load(), int64(lists/4), "pages for lists that had ended")
}
