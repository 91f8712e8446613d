package lockwheel_test

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
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// plainLocks returns plain locks with those names.
func plainLocks(e *lockwheel.Engine, names ...string) (locks []lockwheel.Mutex) {
	for _, name := range names {
		locks = append(locks, e.Mutex(name))
	}
	return locks
}

// multi returns a Multi of plain locks with those names.
func multi(e *lockwheel.Engine, names ...string) lockwheel.Multi {
	return e.Multi(plainLocks(e, names...)...)
}

// The caller may change the list after it has created a Multi from it.
func TestSeveralLocksAreNotTheListTheyWereMadeOf(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	list := plainLocks(e, "b", "a", "c")
	m := e.Multi(list...)
	require.Equal(t, plainLocks(e, "b", "a", "c"), list, "it is in its own order")
	list[1] = e.Mutex("later")
	members := []lockwheel.Mutex{e.Mutex("q1"), other.Mutex("q2")}
	q := lockwheel.Quorum(members...)
	members[0] = e.Mutex("later")
	require.Equal(t, "b,a,c", m.Name())
	for _, several := range []lockwheel.Multi{m, q} {
		hold := lockAll(t, several)
		require.Zero(t, s.do("EXISTS", "later"))
		unlock(t, hold)
	}
}

// lockAll acquires locks that must be available.
func lockAll(t testing.TB, m lockwheel.Multi, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(t.Context(), append([]lockwheel.Option{lockwheel.Wait(testDeadline)}, opts...)...)
	require.NoError(t, err)
	return hold
}

// lockingAll calls Lock in a goroutine.
func lockingAll(ctx context.Context, m lockwheel.Multi, opts ...lockwheel.Option) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		hold, err := m.Lock(ctx, opts...)
		done <- outcome{hold, err}
	}()
	return done
}

// Redisson's MultiLock testLockUnlock: all members are held, each as an individual lock, and none afterwards.
func TestSeveralLocksAreHeldAsOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	const lease = 30 * time.Second
	hold := lockAll(t, multi(e, "c", "a", "b"), lockwheel.Lease(lease))
	require.Equal(t, "c,a,b", hold.Name())
	require.Zero(t, hold.Token())
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash(name), "as a plain lock")
		require.InDelta(t, lease, s.pttl(name), float64(testDeadline))
		count, err := e.Mutex(name).HoldCount(hold.Context())
		require.NoError(t, err)
		require.Equal(t, 1, count)
		stateFailed(t, e.Mutex(name))
	}
	require.NoError(t, hold.Err())
	require.InDelta(t, lease, time.Until(hold.Deadline()), float64(testDeadline))
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	for _, name := range []string{"a", "b", "c"} {
		require.Greater(t, s.pttl(name), 50*time.Second)
	}
	ctx, done := hold.Context(), hold.Done()
	unlock(t, hold)
	require.Zero(t, hold.Deadline())
	receive(t, done)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
	require.EqualError(t, hold.Unlock(t.Context()), hold.Err().Error(), "the same of all of them")
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrNotHeld)
	require.Equal(t, int64(0), s.do("DBSIZE"))
	requireIdle(t, e)
}

func TestTenLocksAreOneRoundTripEachWay(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{})
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("n", i))
	}
	calls := s.scripts()
	hold := lockAll(t, multi(e, names...))
	require.Equal(t, calls+1, s.scripts())
	unlock(t, hold)
	require.Equal(t, calls+2, s.scripts())
}

func TestAWatchedMultiIsRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{Lease: shortLease})
	hold := lockAll(t, multi(e, "a", "b"))
	until := hold.Deadline()
	eventually(t, "a lease", func() bool { return hold.Deadline().After(until.Add(shortLease)) })
	require.NoError(t, hold.Err())
	unlock(t, hold)
}

// Redisson's MultiLock testWaitAndLeaseTimeouts: of ten callers without a wait exactly one succeeds, at once.
func TestOfTenWhoDoNotWaitOneWins(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{})} // with one engine, nine would be rejected without asking the server
	done := make(chan outcome, 10)
	for i := range 10 {
		go func() {
			hold, err := multi(engines[i%2], "a", "b", "c").TryLock(t.Context(), lockwheel.Lease(10*time.Second))
			done <- outcome{hold, err}
		}()
	}
	won := 0
	for range 10 {
		if got := receive(t, done); got.err == nil {
			won++
		} else {
			require.ErrorIs(t, got.err, lockwheel.ErrNotAcquired)
		}
	}
	require.Equal(t, 1, won)
}

// Redisson's MultiLock testMultiThreads.
func TestAMultiWaitsForTheHolderOfAnyOfItsLocks(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	for _, holder := range []*lockwheel.Engine{e, other} {
		for _, name := range []string{"a", "b", "c"} {
			hold := lock(t, holder.Mutex(name))
			waiting := lockingAll(t.Context(), multi(e, "a", "b", "c"))
			queued(t, e, 1)
			requireNoReply(t, waiting, 20*time.Millisecond)
			eventually(t, "it holds nothing meanwhile", func() bool { return s.do("DBSIZE") == int64(1) })
			unlock(t, hold)
			unlock(t, granted(t, waiting))
		}
	}
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

func TestARefusedMultiLeavesNothingAndNamesTheLock(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	s.HoldAsOther("b", time.Hour)
	for _, opts := range [][]lockwheel.Option{{lockwheel.Wait(0)}, {lockwheel.Wait(time.Second)}} {
		_, err := multi(e, "a", "b", "c").Lock(t.Context(), opts...)
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, `"b"`)
	}
	requireIdle(t, e) // also from the channel of the previous one
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := lockingAll(ctx, multi(e, "a", "b", "c"))
	eventually(t, "told that it is taken", func() bool { return listens(e) })
	why := errors.New("why")
	cancel(why)
	err := receive(t, waiting).err
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorIs(t, err, why)

	require.Equal(t, "OK", s.do("SET", "x", "y"))
	_, err = multi(e, "a", "x").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, `"x"`)
	require.Equal(t, int64(2), s.do("DBSIZE"))
	requireIdle(t, e)
}

func TestWhatCanNeverBeAMultiIsAnError(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	for _, c := range []struct {
		m    lockwheel.Multi
		want string
	}{
		{lockwheel.Multi{}, "no locks"},
		{e.Multi(), "no locks"},
		{lockwheel.Quorum(), "no locks"},
		{e.Multi(e.Mutex("a"), lockwheel.Mutex{}), "zero Mutex"},
		{lockwheel.Quorum(e.Mutex("a"), lockwheel.Mutex{}), "zero Mutex"},
		{multi(e, "a", "b", "a"), `"a": it is twice`},
		{e.Multi(e.Mutex("a"), other.Mutex("b")), `"b": it belongs to another engine`},
		{multi(e, "a", ""), "must not be empty"},
		{lockwheel.Quorum(e.Mutex("a"), other.Mutex("a"), e.Mutex("b")), `"b": a quorum needs engines that differ`},
	} {
		_, err := c.m.Lock(t.Context())
		require.ErrorContains(t, err, c.want)
		_, err = c.m.TryLock(t.Context())
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, c.m.Do(t.Context(), func(context.Context) error { panic("run") }), c.want)
	}
	var none context.Context
	_, err := multi(e, "a").Lock(none)
	require.ErrorContains(t, err, "nil context")
	_, err = multi(e, "a").Lock(t.Context(), lockwheel.Lease(1))
	require.ErrorContains(t, err, "Lease")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = multi(e, "a").Lock(ended)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	_, err = multi(e, "a", "b").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// A name and the same name in braces are two locks, but as fair locks they share one queue: no caller could ever be
// first for both.
func TestAMultiOfFairLocksWithOneQueueIsRefused(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, prefixed, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{Prefix: "p:"}), AnyServer(t).open(lockwheel.Options{})
	for _, locks := range [][]lockwheel.Mutex{
		{e.FairMutex("a"), e.FairMutex("{a}")},
		{e.FairMutex("{a}"), e.Mutex("b"), e.FairMutex("c"), e.FairMutex("a")},
	} {
		_, err := e.Multi(locks...).Lock(t.Context())
		require.EqualError(t, err, `lockwheel: locks "a" and "{a}": fair locks of these names share one queue in the server, so a Multi cannot have both`)
		_, err = e.Multi(locks...).TryLock(t.Context())
		require.ErrorContains(t, err, "share one queue")
		require.Equal(t, []any{}, s.do("KEYS", "*"))
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
		unlock(t, hold)
	}
	_, err := (*lockwheel.Engine)(nil).Multi(new(lockwheel.Engine).FairMutex("a"), (*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "belongs to another engine")
	_, err = new(lockwheel.Engine).Multi((*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "zero Mutex")
	requireIdle(t, e)
}

func TestAMultiIsLostWithOneOfItsLocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(shortLeaseOptions)
	for name, lose := range map[string]func(*testing.T){
		"its key is deleted": func(*testing.T) { s.do("DEL", "b") },
		"it is unlocked by force": func(t *testing.T) {
			was, err := e.Mutex("b").ForceUnlock(t.Context())
			require.NoError(t, err)
			require.True(t, was)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hold := lockAll(t, multi(e, "a", "b", "c"))
			ctx := hold.Context()
			lose(t)
			receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			receive(t, ctx.Done())
			require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), `"b"`)
			require.True(t, hold.Deadline().Before(time.Now()))
			eventually(t, "the others to be released", func() bool { return s.do("DBSIZE") == int64(0) })
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrLost)
		})
	}
	requireIdle(t, e)
}

func TestTheHoldersContextReentersEachOfSeveral(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	outer := lockAll(t, multi(e, "a", "b"))
	inner := lockWith(t, outer.Context(), e.Mutex("b"))
	eventually(t, "the count", func() bool { return s.hash("b")[inner.ID()] == "2" }) // the grant does not wait for it
	more, err := multi(e, "b", "c", "a").TryLock(inner.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), s.do("DBSIZE"))
	unlock(t, more)
	unlock(t, inner)
	stateFailed(t, e.Mutex("b"))
	_, err = multi(e, "b").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "a stranger")
	unlock(t, outer)
	require.Equal(t, int64(0), s.do("DBSIZE"))

	thread := lockwheel.WithOwner(t.Context())
	first, err := multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	second, err := multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	unlock(t, first)
	unlock(t, second)
	requireIdle(t, e)
}

// Locks of every kind can be combined.
func TestLocksOfAllKindsAreHeldAsOne(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	all := func(e *lockwheel.Engine) lockwheel.Multi {
		return e.Multi(e.Mutex("plain"), e.FencedMutex("fenced"), e.FairMutex("fair"), e.RWMutex("read").RLocker(), e.RWMutex("written").Writer())
	}
	hold := lockAll(t, all(e))
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.True(t, s.exists(name), name)
	}
	reader := lock(t, other.RWMutex("read").RLocker())
	stateFailed(t, other.RWMutex("written").RLocker())
	stateFailed(t, other.FairMutex("fair"))
	again, err := all(e).TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters each")
	unlock(t, again)
	waiting := lockingAll(t.Context(), all(other))
	queued(t, other, 1)
	requireNoReply(t, waiting, 50*time.Millisecond)
	unlock(t, hold)
	unlock(t, granted(t, waiting))
	unlock(t, reader)
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.False(t, s.exists(name), name)
	}
	requireIdle(t, e)
	requireIdle(t, other)
}

func TestLocksOfOtherKindsAreTakenInTurn(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	both := e.Multi(e.Mutex("b"), e.FencedMutex("a"))
	hold := lockAll(t, both, lockwheel.Lease(time.Minute))
	require.Greater(t, s.pttl("a"), 50*time.Second)
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	_, err := e.Multi(e.FencedMutex("b"), e.Mutex("z")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
	_, err = other.Multi(other.FencedMutex("a"), other.Mutex("b")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := lockingAll(t.Context(), other.Multi(other.FencedMutex("a"), other.Mutex("b")))
	queued(t, other, 1)
	unlock(t, hold)
	unlock(t, granted(t, waiting))

	s.HoldAsOther("b", time.Hour)
	_, err = both.Lock(t.Context(), lockwheel.Wait(time.Second))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorContains(t, err, `"b"`)
	eventually(t, "the first to be given back", func() bool { return !s.exists("a") })
	requireIdle(t, e)
}

// For any order and overlap, in one engine and in several, all callers succeed, and no lock has two holders.
func TestOverlappingMultisComeThrough(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{})}
	names := []string{"a", "b", "c", "d"}
	rooms := make([]criticalSection, len(names))
	var visits [4]atomic.Int32
	crowd(t, 12, func(w int) error {
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
					rooms[i].enter(shortRun)
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
		rooms[i].require(t, int(visits[i].Load()))
	}
	require.Equal(t, int64(0), s.do("DBSIZE"))
	for _, e := range engines {
		requireIdle(t, e)
	}
}

func TestMultisBesideCallersOfSingleLocksComeThrough(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	engines := []*lockwheel.Engine{s.open(lockwheel.Options{}), s.open(lockwheel.Options{Notify: lockwheel.Poll})}
	crowd(t, 10, func(w int) error {
		e := engines[w%2]
		for range 20 {
			m := e.Multi(e.Mutex(string(rune('a' + w%3))))
			if w < 4 {
				m = multi(e, "a", "b", "c")
			}
			if err := m.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// redisson#1606, redisson#4456: whatever part of a call is lost, no lock is held twice, and nothing is left.
func TestAMultiWhoseRepliesAreLostLeavesNothing(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.addr)
	e := s.openAt(p.Addr(), lockwheel.Options{Lease: 2 * shortLease}) // long enough for a machine that is briefly slow
	connected := func() {                                             // so that the lost reply is not that to a handshake
		eventually(t, "a connection", func() bool {
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
		waiting := lockingAll(t.Context(), multi(e, "a", "b", "c"))
		eventually(t, "the call to be run", func() bool { return s.do("DBSIZE") == int64(3) })
		require.NoError(t, p.Heal())
		hold := granted(t, waiting)
		connected()
		lose()
		next := lockingAll(t.Context(), multi(e, "c", "d"))
		queued(t, e, 1)
		released := make(chan error, 1)
		go func() { released <- hold.Unlock(t.Context()) }()
		eventually(t, "the release to be run", func() bool { return !s.exists("a") })
		require.NoError(t, p.Heal())
		if err := receive(t, released); !errors.Is(err, lockwheel.ErrUnavailable) { // the reply may arrive after CallTimeout
			require.NoError(t, err)
		}
		unlock(t, granted(t, next))

		// A caller that leaves before the reply leaves nothing behind.
		connected()
		p.Set(proxy.Replies, proxy.Hold)
		ctx, cancel := context.WithCancel(t.Context())
		waiting = lockingAll(ctx, multi(e, "a", "b", "c"))
		eventually(t, "the call to be run", func() bool { return s.do("DBSIZE") == int64(3) })
		cancel()
		require.Error(t, receive(t, waiting).err)
		require.NoError(t, p.Heal())
		eventually(t, "nothing left", func() bool { return s.do("DBSIZE") == int64(0) })
	}
	requireIdle(t, e)
}

func TestDoOfSeveralUnlocksThemAll(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	wrong := errors.New("wrong")
	err := multi(e, "a", "b").Do(t.Context(), func(ctx context.Context) error {
		require.Equal(t, int64(2), s.do("DBSIZE"))
		require.NoError(t, e.Mutex("a").Do(ctx, func(context.Context) error { return nil }))
		return wrong
	})
	require.ErrorIs(t, err, wrong)
	require.Panics(t, func() {
		multi(e, "a", "b").Do(t.Context(), func(context.Context) error { panic("f") })
	})
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

func TestShutdownWaitsForAMultiAndCloseEndsIt(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	hold := lockAll(t, multi(e, "a", "b"))
	waiting := lockingAll(t.Context(), multi(e, "b", "c"))
	queued(t, e, 1)
	down := make(chan error, 1)
	go func() { down <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrClosed)
	requireNoReply(t, down, 20*time.Millisecond)
	unlock(t, hold)
	require.NoError(t, receive(t, down))
	require.Equal(t, int64(0), s.do("DBSIZE"))

	e = s.open(lockwheel.Options{})
	hold = lockAll(t, multi(e, "a", "b"))
	require.NoError(t, e.Close())
	receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrClosed)
	require.Equal(t, int64(2), s.do("DBSIZE"), "left to their leases")
}

func TestObserversAreToldOfEachOfSeveral(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(what, name string) { told = append(told, what+" "+name) } // on the loop
	e := AnyServer(t).open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(name string, _ time.Duration) { note("acquired", name) },
		Rejected: func(name string, _ time.Duration, _ error) { note("refused", name) },
		Released: func(name string, _ time.Duration) { note("released", name) },
	}})
	hold := lockAll(t, multi(e, "a", "b"))
	_, err := multi(e, "b", "c").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.Equal(t, int64(2), e.Stats().Held)
	require.Equal(t, uint64(2), e.Stats().Acquired)
	unlock(t, hold)
	require.NoError(t, e.Close())
	require.Equal(t, "acquired a, acquired b, refused b, refused c, released a, released b", strings.Join(told, ", "))
}

// Sequential acquisition: if one lock is not available, for any reason and at any position, those acquired before are
// released.
func TestAMultiInTurnThatFailsGivesBackWhatItHad(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	names := namesOfKinds("n")
	slices.Sort(names)
	m := severalOf(e, names)
	only := func(name string) bool { // all locks but that are free
		return e.Stats().Held == 0 && !slices.ContainsFunc(names, func(n string) bool { return n != name && s.exists(n) })
	}
	for _, name := range names {
		hold := lock(t, mutexOf(other, name))
		_, err := m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		eventually(t, "what was taken before "+name, func() bool { return only(name) })

		ctx, leave := context.WithCancelCause(t.Context())
		waiting := lockingAll(ctx, m)
		eventually(t, "it to wait for "+name, func() bool { return listens(e) })
		why := errors.New("why")
		leave(why)
		require.ErrorIs(t, receive(t, waiting).err, why)
		eventually(t, "what was taken before "+name, func() bool { return only(name) })
		unlock(t, hold)

		s.do("SET", name, "no lock")
		_, err = m.Lock(t.Context(), lockwheel.Wait(testDeadline))
		require.ErrorContains(t, err, "WRONGTYPE")
		eventually(t, "what was taken before "+name, func() bool { return only(name) })
		s.do("DEL", name)
	}
	unlock(t, lockAll(t, m))
	requireIdle(t, e)
}

// However close the calls are, none returns a loss, and at least one returns nil.
func TestSeveralLocksThatAreUnlockedTwiceAtOnceAreNotLost(t *testing.T) {
	t.Parallel()
	e := RealServer(t).open(lockwheel.Options{})
	for range 2000 {
		hold := lockAll(t, multi(e, "a", "b"))
		const callers = 3
		start, done := make(chan struct{}), make(chan error, callers)
		for range callers {
			go func() { <-start; done <- hold.Unlock(t.Context()) }()
		}
		close(start)
		unlocked := 0
		for range callers {
			if err := receive(t, done); err == nil {
				unlocked++
			} else {
				require.ErrorIs(t, err, lockwheel.ErrNotHeld)
			}
		}
		require.NotZero(t, unlocked)
	}
}

// However close the loss and the Unlock are, a reported loss has its own cause.
func TestAnUnlockAtTheMomentOfALossSaysWhichItWas(t *testing.T) {
	t.Parallel()
	e := RealServer(t).open(slowTimeouts)
	lost := 0
	for i := range long.Pick(1000, 5000) {
		hold := lockAll(t, multi(e, "a", "b"))
		forced := make(chan error, 1)
		go func() {
			_, err := e.Mutex("a").ForceUnlock(t.Context())
			forced <- err
		}()
		for spent := time.Now(); time.Since(spent) < time.Duration(i%40)*4*time.Microsecond; { // a round trip, more or less
		}
		if err := hold.Unlock(t.Context()); err != nil {
			require.ErrorIs(t, err, lockwheel.ErrLost)
			require.ErrorContains(t, err, "by force")
			lost++
		}
		require.NoError(t, receive(t, forced))
	}
	require.NotZero(t, lost)
}
