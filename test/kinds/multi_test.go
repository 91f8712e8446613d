package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The caller may change the list after it has created a Multi from it.
func TestMulti_ListChanged_Unchanged(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), locktest.AnyServer(t).Open(lockwheel.Options{})
	list := locktest.PlainLocks(e, "b", "a", "c")
	m := e.Multi(list...)
	require.Equal(t, locktest.PlainLocks(e, "b", "a", "c"), list, "it is in its own order")
	list[1] = e.Mutex("later")
	members := []lockwheel.Mutex{e.Mutex("q1"), other.Mutex("q2")}
	q := lockwheel.Quorum(members...)
	members[0] = e.Mutex("later")
	require.Equal(t, "b,a,c", m.Name())
	for _, several := range []lockwheel.Multi{m, q} {
		hold := locktest.LockAll(t, several)
		require.Zero(t, s.Do("EXISTS", "later"))
		locktest.Unlock(t, hold)
	}
}

// Redisson's MultiLock testLockUnlock: all members are held, each as an individual lock, and none afterwards.
func TestMulti_AllMembers_HeldAsOne(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	const lease = 30 * time.Second
	hold := locktest.LockAll(t, locktest.Multi(e, "c", "a", "b"), lockwheel.Lease(lease))
	require.Equal(t, "c,a,b", hold.Name())
	require.Zero(t, hold.Token())
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash(name), "as a plain lock")
		require.InDelta(t, lease, s.PTTL(name), float64(locktest.TestDeadline))
		count, err := e.Mutex(name).HoldCount(hold.Context())
		require.NoError(t, err)
		require.Equal(t, 1, count)
		locktest.StateFailed(t, e.Mutex(name))
	}
	require.NoError(t, hold.Err())
	require.InDelta(t, lease, time.Until(hold.Deadline()), float64(locktest.TestDeadline))
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	for _, name := range []string{"a", "b", "c"} {
		require.Greater(t, s.PTTL(name), 50*time.Second)
	}
	ctx, done := hold.Context(), hold.Done()
	locktest.Unlock(t, hold)
	require.Zero(t, hold.Deadline())
	locktest.Receive(t, done)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
	require.EqualError(t, hold.Unlock(t.Context()), hold.Err().Error(), "the same of all of them")
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrNotHeld)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	locktest.RequireIdle(t, e)
}

// A Multi of ten plain locks is acquired by one call, and released by one.
func TestMulti_TenLocks_OneCallEachWay(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("n", i))
	}
	calls := s.Scripts()
	hold := locktest.LockAll(t, locktest.Multi(e, names...))
	require.Equal(t, calls+1, s.Scripts())
	locktest.Unlock(t, hold)
	require.Equal(t, calls+2, s.Scripts())
}

// Several locks without a lease of their own are renewed like one.
func TestMulti_Watched_Renewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	hold := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
	until := hold.Deadline()
	locktest.Eventually(t, "some renewals", func() bool { return hold.Deadline().After(until.Add(2 * locktest.ShortLeaseOptions.RenewInterval)) })
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
}

// Redisson's MultiLock testWaitAndLeaseTimeouts: of ten callers without a wait exactly one succeeds, at once.
func TestMulti_TenWithoutWait_OneGranted(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})} // with one engine, nine would be rejected without asking the server
	done := make(chan locktest.Outcome, 10)
	for i := range 10 {
		go func() {
			hold, err := locktest.Multi(engines[i%2], "a", "b", "c").TryLock(t.Context(), lockwheel.Lease(10*time.Second))
			done <- locktest.Outcome{Hold: hold, Err: err}
		}()
	}
	won := 0
	for range 10 {
		if got := locktest.Receive(t, done); got.Err == nil {
			won++
		} else {
			require.ErrorIs(t, got.Err, lockwheel.ErrNotAcquired)
		}
	}
	require.Equal(t, 1, won)
}

// Redisson's MultiLock testMultiThreads.
func TestMulti_AnyMemberHeld_Waits(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, holder := range []*lockwheel.Engine{e, other} {
		for _, name := range []string{"a", "b", "c"} {
			hold := locktest.Lock(t, holder.Mutex(name))
			waiting := locktest.Locking(t.Context(), locktest.Multi(e, "a", "b", "c"))
			locktest.Queued(t, e, 1)
			locktest.RequireNoReply(t, waiting, 20*time.Millisecond)
			locktest.Eventually(t, "it holds nothing meanwhile", func() bool { return s.Do("DBSIZE") == int64(1) })
			locktest.Unlock(t, hold)
			locktest.Unlock(t, locktest.Granted(t, waiting))
		}
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// A Multi that is not acquired keeps no lock, and its error names the lock that was held.
func TestMulti_Rejected_NamesLockKeepsNone(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	s.HoldAsOther("b", time.Hour)
	err := locktest.Second(locktest.Multi(e, "a", "b", "c").Lock(t.Context(), lockwheel.Wait(0)))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorContains(t, err, `"b"`)
	err = locktest.RequireTaken(t, func(wait lockwheel.Option) error {
		return locktest.Second(locktest.Multi(e, "a", "b", "c").Lock(t.Context(), wait))
	})
	require.ErrorContains(t, err, `"b"`)
	locktest.RequireIdle(t, e) // also from the channel of the previous one
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := locktest.Locking(ctx, locktest.Multi(e, "a", "b", "c"))
	locktest.Eventually(t, "told that it is taken", func() bool { return locktest.Listens(e) })
	why := errors.New("why")
	cancel(why)
	err = locktest.Receive(t, waiting).Err
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorIs(t, err, why)

	require.Equal(t, "OK", s.Do("SET", "x", "y"))
	_, err = locktest.Multi(e, "a", "x").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, `"x"`)
	require.Equal(t, int64(2), s.Do("DBSIZE"))
	locktest.RequireIdle(t, e)
}

// A Multi or Quorum with invalid members, and a call of one with invalid arguments, returns an error.
func TestMulti_Invalid_Error(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, c := range []struct {
		m    lockwheel.Multi
		want string
	}{
		{lockwheel.Multi{}, "no locks"},
		{e.Multi(), "no locks"},
		{lockwheel.Quorum(), "no locks"},
		{e.Multi(e.Mutex("a"), lockwheel.Mutex{}), "zero Mutex"},
		{lockwheel.Quorum(e.Mutex("a"), lockwheel.Mutex{}), "zero Mutex"},
		{locktest.Multi(e, "a", "b", "a"), `"a": it is twice`},
		{e.Multi(e.Mutex("a"), other.Mutex("b")), `"b": it belongs to another engine`},
		{locktest.Multi(e, "a", ""), "must not be empty"},
		{lockwheel.Quorum(e.Mutex("a"), other.Mutex("a"), e.Mutex("b")), `"b": a quorum needs engines that differ`},
		{lockwheel.Quorum(e.Mutex("a"), other.Mutex("b")), `"b": a quorum needs servers that differ`},
	} {
		_, err := c.m.Lock(t.Context())
		require.ErrorContains(t, err, c.want)
		_, err = c.m.TryLock(t.Context())
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, c.m.Do(t.Context(), func(context.Context) error { panic("run") }), c.want)
	}
	var none context.Context
	_, err := locktest.Multi(e, "a").Lock(none)
	require.ErrorContains(t, err, "nil context")
	_, err = locktest.Multi(e, "a").Lock(t.Context(), lockwheel.Lease(1))
	require.ErrorContains(t, err, "Lease")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = locktest.Multi(e, "a").Lock(ended)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	_, err = locktest.Multi(e, "a", "b").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// A name and the same name in braces are two locks, but as fair locks they share one queue. No caller could ever be
// first for both.
func TestMulti_FairLocksOneQueue_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, prefixed, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Prefix: "p:"}), locktest.AnyServer(t).Open(lockwheel.Options{})
	for _, locks := range [][]lockwheel.Mutex{
		{e.FairMutex("a"), e.FairMutex("{a}")},
		{e.FairMutex("{a}"), e.Mutex("b"), e.FairMutex("c"), e.FairMutex("a")},
	} {
		_, err := e.Multi(locks...).Lock(t.Context())
		require.EqualError(t, err, `lockwheel: locks "a" and "{a}": fair locks of these names share one queue in the server, so a Multi cannot have both`)
		_, err = e.Multi(locks...).TryLock(t.Context())
		require.ErrorContains(t, err, "share one queue")
		require.Equal(t, []any{}, s.Do("KEYS", "*"))
	}
	for name, m := range map[string]lockwheel.Multi{
		"other names":              e.Multi(e.FairMutex("a"), e.FairMutex("{a}b"), e.FairMutex("{b}")),
		"only one is fair":         e.Multi(e.FairMutex("a"), e.Mutex("{a}"), e.FencedMutex("b"), e.FencedMutex("{b}")),
		"none is":                  e.Multi(e.Mutex("a"), e.Mutex("{a}"), e.RWMutex("b").Writer(), e.RWMutex("{b}").Writer()),
		"a prefix before braces":   prefixed.Multi(prefixed.FairMutex("a"), prefixed.FairMutex("{a}")),
		"a quorum, on two servers": lockwheel.Quorum(e.FairMutex("a"), other.FairMutex("{a}")),
	} {
		hold, err := m.TryLock(t.Context())
		require.NoError(t, err, name)
		locktest.Unlock(t, hold)
	}
	_, err := (*lockwheel.Engine)(nil).Multi(new(lockwheel.Engine).FairMutex("a"), (*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "belongs to another engine")
	_, err = new(lockwheel.Engine).Multi((*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "zero Mutex")
	locktest.RequireIdle(t, e)
}

// A Multi is lost with any of its locks, and the others are released.
func TestMulti_OneLost_AllLost(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	for name, lose := range map[string]func(*testing.T){
		"its key is deleted": func(*testing.T) { s.Do("DEL", "b") },
		"it is unlocked by force": func(t *testing.T) {
			was, err := e.Mutex("b").ForceUnlock(t.Context())
			require.NoError(t, err)
			require.True(t, was)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hold := locktest.LockAll(t, locktest.Multi(e, "a", "b", "c"))
			ctx := hold.Context()
			lose(t)
			locktest.Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			locktest.Receive(t, ctx.Done())
			require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), `"b"`)
			require.True(t, hold.Deadline().Before(time.Now()))
			locktest.Eventually(t, "the others to be released", func() bool { return s.Do("DBSIZE") == int64(0) })
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrLost)
		})
	}
	locktest.RequireIdle(t, e)
}

// The context of a Multi's hold re-enters each of its locks, alone or in another Multi.
func TestMulti_HoldContext_ReentersEach(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	outer := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
	inner := locktest.LockWith(t, outer.Context(), e.Mutex("b"))
	locktest.Eventually(t, "the count", func() bool { return s.Hash("b")[inner.ID()] == "2" }) // the grant does not wait for it
	more, err := locktest.Multi(e, "b", "c", "a").TryLock(inner.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), s.Do("DBSIZE"))
	locktest.Unlock(t, more)
	locktest.Unlock(t, inner)
	locktest.StateFailed(t, e.Mutex("b"))
	_, err = locktest.Multi(e, "b").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "a stranger")
	locktest.Unlock(t, outer)
	require.Equal(t, int64(0), s.Do("DBSIZE"))

	thread := lockwheel.WithOwner(t.Context())
	first, err := locktest.Multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	second, err := locktest.Multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	locktest.Unlock(t, first)
	locktest.Unlock(t, second)
	locktest.RequireIdle(t, e)
}

// Locks of every kind can be combined.
func TestMulti_AllKinds_HeldAsOne(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	all := func(e *lockwheel.Engine) lockwheel.Multi {
		return e.Multi(e.Mutex("plain"), e.FencedMutex("fenced"), e.FairMutex("fair"), e.RWMutex("read").RLocker(), e.RWMutex("written").Writer())
	}
	hold := locktest.LockAll(t, all(e))
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.True(t, s.Exists(name), name)
	}
	reader := locktest.Lock(t, other.RWMutex("read").RLocker())
	locktest.StateFailed(t, other.RWMutex("written").RLocker())
	locktest.StateFailed(t, other.FairMutex("fair"))
	again, err := all(e).TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters each")
	locktest.Unlock(t, again)
	waiting := locktest.Locking(t.Context(), all(other))
	locktest.Queued(t, other, 1)
	locktest.RequireNoReply(t, waiting, 50*time.Millisecond)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.Unlock(t, reader)
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.False(t, s.Exists(name), name)
	}
	locktest.RequireIdle(t, e)
	locktest.RequireIdle(t, other)
}

// A Multi with locks that are not plain acquires them one by one, with one lease for all.
func TestMulti_OtherKinds_OneByOne(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	both := e.Multi(e.Mutex("b"), e.FencedMutex("a"))
	hold := locktest.LockAll(t, both, lockwheel.Lease(time.Minute))
	require.Greater(t, s.PTTL("a"), 50*time.Second)
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	_, err := e.Multi(e.FencedMutex("b"), e.Mutex("z")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
	_, err = other.Multi(other.FencedMutex("a"), other.Mutex("b")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := locktest.Locking(t.Context(), other.Multi(other.FencedMutex("a"), other.Mutex("b")))
	locktest.Queued(t, other, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))

	s.HoldAsOther("b", time.Hour)
	err = locktest.RequireTaken(t, func(wait lockwheel.Option) error { return locktest.Second(both.Lock(t.Context(), wait)) })
	require.ErrorContains(t, err, `"b"`)
	locktest.Eventually(t, "the first to be given back", func() bool { return !s.Exists("a") })
	locktest.RequireIdle(t, e)
}

// For any order and overlap, in one engine and in several, all callers succeed, and no lock has two holders.
func TestMulti_OverlapAnyOrder_AllGranted(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(locktest.SlowTimeouts)}
	names := []string{"a", "b", "c", "d"}
	rooms := make([]locktest.CriticalSection, len(names))
	var visits [4]atomic.Int32
	locktest.Crowd(t, 12, func(w int) error {
		e := engines[w%2]
		for round := range 15 {
			from, to := (w+round)%4, (w*7+round*3)%4
			which := slices.Compact([]int{from, to})
			var locks []lockwheel.Mutex
			for _, i := range which {
				locks = append(locks, e.Mutex(names[i]))
				visits[i].Add(1)
			}
			err := e.Multi(locks...).Do(t.Context(), func(context.Context) error {
				for _, i := range which {
					rooms[i].Enter(locktest.ShortRun)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for i := range rooms {
		rooms[i].Require(t, int(visits[i].Load()))
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	for _, e := range engines {
		locktest.RequireIdle(t, e)
	}
}

// Multis and callers of single locks all acquire their locks, in engines that subscribe and in engines that poll.
func TestMulti_BesideSingleLocks_AllGranted(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	engines := []*lockwheel.Engine{s.Open(locktest.SlowTimeouts), s.Open(lockwheel.Options{Notify: lockwheel.Poll, CallTimeout: 10 * time.Second})}
	locktest.Crowd(t, 10, func(w int) error {
		e := engines[w%2]
		for range 20 {
			m := e.Multi(e.Mutex(string(rune('a' + w%3))))
			if w < 4 {
				m = locktest.Multi(e, "a", "b", "c")
			}
			if err := m.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// redisson#1606, redisson#4456: whatever part of a call is lost, no lock is held twice, and nothing is left.
func TestMulti_RepliesLost_NothingLeft(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: 2 * locktest.ShortLease}) // long enough for a machine that is briefly slow
	connected := func() {                                                      // so that the lost reply is not that to a handshake
		locktest.Eventually(t, "a connection", func() bool {
			_, err := e.Mutex("n").IsLocked(t.Context())
			return err == nil
		})
	}
	// Nothing is lost on the next connection. The lost reply may be that to a command that an earlier call left
	// behind. The call must run nevertheless, so its handshake must not be lost, too.
	lose := func() { p.SetFor(proxy.Existing, proxy.Replies, proxy.CutAfter(0)) }
	for range 5 {
		connected()
		lose()
		waiting := locktest.Locking(t.Context(), locktest.Multi(e, "a", "b", "c"))
		locktest.Eventually(t, "the call to be run", func() bool { return s.Do("DBSIZE") == int64(3) })
		require.NoError(t, p.Heal())
		hold := locktest.Granted(t, waiting)
		connected()
		lose()
		next := locktest.Locking(t.Context(), locktest.Multi(e, "c", "d"))
		locktest.Queued(t, e, 1)
		released := make(chan error, 1)
		go func() { released <- hold.Unlock(t.Context()) }()
		locktest.Eventually(t, "the release to be run", func() bool { return !s.Exists("a") })
		require.NoError(t, p.Heal())
		if err := locktest.Receive(t, released); !errors.Is(err, lockwheel.ErrUnavailable) { // the reply may arrive after CallTimeout
			require.NoError(t, err)
		}
		locktest.Unlock(t, locktest.Granted(t, next))

		// A caller that leaves before the reply leaves nothing behind.
		connected()
		p.Set(proxy.Replies, proxy.Hold)
		ctx, cancel := context.WithCancel(t.Context())
		waiting = locktest.Locking(ctx, locktest.Multi(e, "a", "b", "c"))
		locktest.Eventually(t, "the call to be run", func() bool { return s.Do("DBSIZE") == int64(3) })
		cancel()
		require.Error(t, locktest.Receive(t, waiting).Err)
		require.NoError(t, p.Heal())
		locktest.Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
	}
	locktest.RequireIdle(t, e)
}

// Do of a Multi unlocks all locks, also after a panic.
func TestMulti_Do_UnlocksAll(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	wrong := errors.New("wrong")
	err := locktest.Multi(e, "a", "b").Do(t.Context(), func(ctx context.Context) error {
		require.Equal(t, int64(2), s.Do("DBSIZE"))
		require.NoError(t, e.Mutex("a").Do(ctx, func(context.Context) error { return nil }))
		return wrong
	})
	require.ErrorIs(t, err, wrong)
	require.Panics(t, func() {
		locktest.Multi(e, "a", "b").Do(t.Context(), func(context.Context) error { panic("f") })
	})
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Shutdown waits for the hold of a Multi, and Close ends it.
func TestMulti_ShutdownWaits_CloseEnds(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
	waiting := locktest.Locking(t.Context(), locktest.Multi(e, "b", "c"))
	locktest.Queued(t, e, 1)
	down := make(chan error, 1)
	go func() { down <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
	locktest.RequireNoReply(t, down, 20*time.Millisecond)
	locktest.Unlock(t, hold)
	require.NoError(t, locktest.Receive(t, down))
	require.Equal(t, int64(0), s.Do("DBSIZE"))

	e = s.Open(lockwheel.Options{})
	hold = locktest.LockAll(t, locktest.Multi(e, "a", "b"))
	require.NoError(t, e.Close())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrClosed)
	require.Equal(t, int64(2), s.Do("DBSIZE"), "left to their leases")
}

// An observer is notified of each lock of a Multi.
func TestMulti_Observer_EachLockNotified(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(what, name string) { told = append(told, what+" "+name) } // on the loop
	e := locktest.AnyServer(t).Open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(name string, _ time.Duration) { note("acquired", name) },
		Rejected: func(name string, _ time.Duration, _ error) { note("refused", name) },
		Released: func(name string, _ time.Duration) { note("released", name) },
	}})
	hold := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
	_, err := locktest.Multi(e, "b", "c").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.Equal(t, int64(2), e.Stats().Held)
	require.Equal(t, uint64(2), e.Stats().Acquired)
	locktest.Unlock(t, hold)
	require.NoError(t, e.Close())
	require.Equal(t, "acquired a, acquired b, refused b, refused c, released a, released b", strings.Join(told, ", "))
}

// Sequential acquisition: if one lock is not available, for any reason and at any position, those acquired before are
// released.
func TestMulti_OneByOneFails_Released(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	names := locktest.NamesOfKinds("n")
	slices.Sort(names)
	m := locktest.SeveralOf(e, names)
	only := func(name string) bool { // all locks but that are free
		return e.Stats().Held == 0 && !slices.ContainsFunc(names, func(n string) bool { return n != name && s.Exists(n) })
	}
	for _, name := range names {
		hold := locktest.Lock(t, locktest.MutexOf(other, name))
		_, err := m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		locktest.Eventually(t, "what was taken before "+name, func() bool { return only(name) })

		ctx, leave := context.WithCancelCause(t.Context())
		waiting := locktest.Locking(ctx, m)
		locktest.Eventually(t, "it to wait for "+name, func() bool { return locktest.Listens(e) })
		why := errors.New("why")
		leave(why)
		require.ErrorIs(t, locktest.Receive(t, waiting).Err, why)
		locktest.Eventually(t, "what was taken before "+name, func() bool { return only(name) })
		locktest.Unlock(t, hold)

		s.Do("SET", name, "no lock")
		_, err = m.Lock(t.Context(), lockwheel.Wait(locktest.TestDeadline))
		require.ErrorContains(t, err, "WRONGTYPE")
		locktest.Eventually(t, "what was taken before "+name, func() bool { return only(name) })
		s.Do("DEL", name)
	}
	locktest.Unlock(t, locktest.LockAll(t, m))
	locktest.RequireIdle(t, e)
}

// However close the loss and the Unlock are, a reported loss has its own cause.
func TestUnlock_AtLoss_ReportsItsCause(t *testing.T) {
	t.Parallel()
	e := locktest.RealServer(t).Open(locktest.SlowTimeouts)
	lost := 0
	for i := range long.Pick(1000, 5000) {
		hold := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
		forced := make(chan error, 1)
		go func() {
			_, err := e.Mutex("a").ForceUnlock(t.Context())
			forced <- err
		}()
		for spent := time.Now(); time.Since(spent) < time.Duration(i%40<<(i/40%5))*4*time.Microsecond; { // a round trip, more or less
		}
		if err := hold.Unlock(t.Context()); err != nil {
			require.ErrorIs(t, err, lockwheel.ErrLost)
			require.ErrorContains(t, err, "by force")
			lost++
		}
		require.NoError(t, locktest.Receive(t, forced))
	}
	require.NotZero(t, lost)
}
