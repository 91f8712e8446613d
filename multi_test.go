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

// PlainLocks returns plain locks with those names.
func PlainLocks(e *lockwheel.Engine, names ...string) (locks []lockwheel.Mutex) {
	for _, name := range names {
		locks = append(locks, e.Mutex(name))
	}
	return locks
}

// Multi returns a Multi of plain locks with those names.
func Multi(e *lockwheel.Engine, names ...string) lockwheel.Multi {
	return e.Multi(PlainLocks(e, names...)...)
}

// The caller may change the list after it has created a Multi from it.
func TestSeveralLocksAreNotTheListTheyWereMadeOf(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	list := PlainLocks(e, "b", "a", "c")
	m := e.Multi(list...)
	require.Equal(t, PlainLocks(e, "b", "a", "c"), list, "it is in its own order")
	list[1] = e.Mutex("later")
	members := []lockwheel.Mutex{e.Mutex("q1"), other.Mutex("q2")}
	q := lockwheel.Quorum(members...)
	members[0] = e.Mutex("later")
	require.Equal(t, "b,a,c", m.Name())
	for _, several := range []lockwheel.Multi{m, q} {
		hold := LockAll(t, several)
		require.Zero(t, s.Do("EXISTS", "later"))
		Unlock(t, hold)
	}
}

// LockAll acquires locks that must be available.
func LockAll(t testing.TB, m lockwheel.Multi, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(t.Context(), append([]lockwheel.Option{lockwheel.Wait(TestDeadline)}, opts...)...)
	require.NoError(t, err)
	return hold
}

// LockingAll calls Lock in a goroutine.
func LockingAll(ctx context.Context, m lockwheel.Multi, opts ...lockwheel.Option) <-chan Outcome {
	done := make(chan Outcome, 1)
	go func() {
		hold, err := m.Lock(ctx, opts...)
		done <- Outcome{hold, err}
	}()
	return done
}

// Redisson's MultiLock testLockUnlock: all members are held, each as an individual lock, and none afterwards.
func TestSeveralLocksAreHeldAsOne(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	const lease = 30 * time.Second
	hold := LockAll(t, Multi(e, "c", "a", "b"), lockwheel.Lease(lease))
	require.Equal(t, "c,a,b", hold.Name())
	require.Zero(t, hold.Token())
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash(name), "as a plain lock")
		require.InDelta(t, lease, s.PTTL(name), float64(TestDeadline))
		count, err := e.Mutex(name).HoldCount(hold.Context())
		require.NoError(t, err)
		require.Equal(t, 1, count)
		StateFailed(t, e.Mutex(name))
	}
	require.NoError(t, hold.Err())
	require.InDelta(t, lease, time.Until(hold.Deadline()), float64(TestDeadline))
	require.NoError(t, hold.Extend(t.Context(), time.Minute))
	for _, name := range []string{"a", "b", "c"} {
		require.Greater(t, s.PTTL(name), 50*time.Second)
	}
	ctx, done := hold.Context(), hold.Done()
	Unlock(t, hold)
	require.Zero(t, hold.Deadline())
	Receive(t, done)
	require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrNotHeld)
	require.EqualError(t, hold.Unlock(t.Context()), hold.Err().Error(), "the same of all of them")
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrNotHeld)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	RequireIdle(t, e)
}

func TestTenLocksAreOneRoundTripEachWay(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{})
	var names []string
	for i := range 10 {
		names = append(names, fmt.Sprint("n", i))
	}
	calls := s.Scripts()
	hold := LockAll(t, Multi(e, names...))
	require.Equal(t, calls+1, s.Scripts())
	Unlock(t, hold)
	require.Equal(t, calls+2, s.Scripts())
}

func TestAWatchedMultiIsRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{Lease: ShortLease})
	hold := LockAll(t, Multi(e, "a", "b"))
	until := hold.Deadline()
	Eventually(t, "a lease", func() bool { return hold.Deadline().After(until.Add(ShortLease)) })
	require.NoError(t, hold.Err())
	Unlock(t, hold)
}

// Redisson's MultiLock testWaitAndLeaseTimeouts: of ten callers without a wait exactly one succeeds, at once.
func TestOfTenWhoDoNotWaitOneWins(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})} // with one engine, nine would be rejected without asking the server
	done := make(chan Outcome, 10)
	for i := range 10 {
		go func() {
			hold, err := Multi(engines[i%2], "a", "b", "c").TryLock(t.Context(), lockwheel.Lease(10*time.Second))
			done <- Outcome{hold, err}
		}()
	}
	won := 0
	for range 10 {
		if got := Receive(t, done); got.Err == nil {
			won++
		} else {
			require.ErrorIs(t, got.Err, lockwheel.ErrNotAcquired)
		}
	}
	require.Equal(t, 1, won)
}

// Redisson's MultiLock testMultiThreads.
func TestAMultiWaitsForTheHolderOfAnyOfItsLocks(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for _, holder := range []*lockwheel.Engine{e, other} {
		for _, name := range []string{"a", "b", "c"} {
			hold := Lock(t, holder.Mutex(name))
			waiting := LockingAll(t.Context(), Multi(e, "a", "b", "c"))
			Queued(t, e, 1)
			RequireNoReply(t, waiting, 20*time.Millisecond)
			Eventually(t, "it holds nothing meanwhile", func() bool { return s.Do("DBSIZE") == int64(1) })
			Unlock(t, hold)
			Unlock(t, Granted(t, waiting))
		}
	}
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

func TestARefusedMultiLeavesNothingAndNamesTheLock(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	s.HoldAsOther("b", time.Hour)
	for _, opts := range [][]lockwheel.Option{{lockwheel.Wait(0)}, {lockwheel.Wait(time.Second)}} {
		_, err := Multi(e, "a", "b", "c").Lock(t.Context(), opts...)
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		require.ErrorContains(t, err, `"b"`)
	}
	RequireIdle(t, e) // also from the channel of the previous one
	ctx, cancel := context.WithCancelCause(t.Context())
	waiting := LockingAll(ctx, Multi(e, "a", "b", "c"))
	Eventually(t, "told that it is taken", func() bool { return Listens(e) })
	why := errors.New("why")
	cancel(why)
	err := Receive(t, waiting).Err
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorIs(t, err, why)

	require.Equal(t, "OK", s.Do("SET", "x", "y"))
	_, err = Multi(e, "a", "x").Lock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, `"x"`)
	require.Equal(t, int64(2), s.Do("DBSIZE"))
	RequireIdle(t, e)
}

func TestWhatCanNeverBeAMultiIsAnError(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
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
		{Multi(e, "a", "b", "a"), `"a": it is twice`},
		{e.Multi(e.Mutex("a"), other.Mutex("b")), `"b": it belongs to another engine`},
		{Multi(e, "a", ""), "must not be empty"},
		{lockwheel.Quorum(e.Mutex("a"), other.Mutex("a"), e.Mutex("b")), `"b": a quorum needs engines that differ`},
	} {
		_, err := c.m.Lock(t.Context())
		require.ErrorContains(t, err, c.want)
		_, err = c.m.TryLock(t.Context())
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, c.m.Do(t.Context(), func(context.Context) error { panic("run") }), c.want)
	}
	var none context.Context
	_, err := Multi(e, "a").Lock(none)
	require.ErrorContains(t, err, "nil context")
	_, err = Multi(e, "a").Lock(t.Context(), lockwheel.Lease(1))
	require.ErrorContains(t, err, "Lease")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Multi(e, "a").Lock(ended)
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	_, err = Multi(e, "a", "b").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// A name and the same name in braces are two locks, but as fair locks they share one queue: no caller could ever be
// first for both.
func TestAMultiOfFairLocksWithOneQueueIsRefused(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, prefixed, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Prefix: "p:"}), AnyServer(t).Open(lockwheel.Options{})
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
		Unlock(t, hold)
	}
	_, err := (*lockwheel.Engine)(nil).Multi(new(lockwheel.Engine).FairMutex("a"), (*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "belongs to another engine")
	_, err = new(lockwheel.Engine).Multi((*lockwheel.Engine)(nil).FairMutex("{a}")).Lock(t.Context())
	require.ErrorContains(t, err, "zero Mutex")
	RequireIdle(t, e)
}

func TestAMultiIsLostWithOneOfItsLocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(ShortLeaseOptions)
	for name, lose := range map[string]func(*testing.T){
		"its key is deleted": func(*testing.T) { s.Do("DEL", "b") },
		"it is unlocked by force": func(t *testing.T) {
			was, err := e.Mutex("b").ForceUnlock(t.Context())
			require.NoError(t, err)
			require.True(t, was)
		},
	} {
		t.Run(name, func(t *testing.T) {
			hold := LockAll(t, Multi(e, "a", "b", "c"))
			ctx := hold.Context()
			lose(t)
			Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			Receive(t, ctx.Done())
			require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), `"b"`)
			require.True(t, hold.Deadline().Before(time.Now()))
			Eventually(t, "the others to be released", func() bool { return s.Do("DBSIZE") == int64(0) })
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
			require.ErrorIs(t, hold.Extend(t.Context(), time.Second), lockwheel.ErrLost)
		})
	}
	RequireIdle(t, e)
}

func TestTheHoldersContextReentersEachOfSeveral(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	outer := LockAll(t, Multi(e, "a", "b"))
	inner := LockWith(t, outer.Context(), e.Mutex("b"))
	Eventually(t, "the count", func() bool { return s.Hash("b")[inner.ID()] == "2" }) // the grant does not wait for it
	more, err := Multi(e, "b", "c", "a").TryLock(inner.Context())
	require.NoError(t, err)
	require.Equal(t, int64(3), s.Do("DBSIZE"))
	Unlock(t, more)
	Unlock(t, inner)
	StateFailed(t, e.Mutex("b"))
	_, err = Multi(e, "b").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "a stranger")
	Unlock(t, outer)
	require.Equal(t, int64(0), s.Do("DBSIZE"))

	thread := lockwheel.WithOwner(t.Context())
	first, err := Multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	second, err := Multi(e, "a", "b").Lock(thread)
	require.NoError(t, err)
	Unlock(t, first)
	Unlock(t, second)
	RequireIdle(t, e)
}

// Locks of every kind can be combined.
func TestLocksOfAllKindsAreHeldAsOne(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	all := func(e *lockwheel.Engine) lockwheel.Multi {
		return e.Multi(e.Mutex("plain"), e.FencedMutex("fenced"), e.FairMutex("fair"), e.RWMutex("read").RLocker(), e.RWMutex("written").Writer())
	}
	hold := LockAll(t, all(e))
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.True(t, s.Exists(name), name)
	}
	reader := Lock(t, other.RWMutex("read").RLocker())
	StateFailed(t, other.RWMutex("written").RLocker())
	StateFailed(t, other.FairMutex("fair"))
	again, err := all(e).TryLock(hold.Context())
	require.NoError(t, err, "its owner re-enters each")
	Unlock(t, again)
	waiting := LockingAll(t.Context(), all(other))
	Queued(t, other, 1)
	RequireNoReply(t, waiting, 50*time.Millisecond)
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting))
	Unlock(t, reader)
	for _, name := range []string{"plain", "fenced", "fair", "read", "written"} {
		require.False(t, s.Exists(name), name)
	}
	RequireIdle(t, e)
	RequireIdle(t, other)
}

func TestLocksOfOtherKindsAreTakenInTurn(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	both := e.Multi(e.Mutex("b"), e.FencedMutex("a"))
	hold := LockAll(t, both, lockwheel.Lease(time.Minute))
	require.Greater(t, s.PTTL("a"), 50*time.Second)
	require.Greater(t, time.Until(hold.Deadline()), 50*time.Second)
	_, err := e.Multi(e.FencedMutex("b"), e.Mutex("z")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
	_, err = other.Multi(other.FencedMutex("a"), other.Mutex("b")).TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	waiting := LockingAll(t.Context(), other.Multi(other.FencedMutex("a"), other.Mutex("b")))
	Queued(t, other, 1)
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting))

	s.HoldAsOther("b", time.Hour)
	_, err = both.Lock(t.Context(), lockwheel.Wait(time.Second))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.ErrorContains(t, err, `"b"`)
	Eventually(t, "the first to be given back", func() bool { return !s.Exists("a") })
	RequireIdle(t, e)
}

// For any order and overlap, in one engine and in several, all callers succeed, and no lock has two holders.
func TestOverlappingMultisComeThrough(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})}
	names := []string{"a", "b", "c", "d"}
	rooms := make([]CriticalSection, len(names))
	var visits [4]atomic.Int32
	Crowd(t, 12, func(w int) error {
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
					rooms[i].Enter(ShortRun)
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
		RequireIdle(t, e)
	}
}

func TestMultisBesideCallersOfSingleLocksComeThrough(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	engines := []*lockwheel.Engine{s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{Notify: lockwheel.Poll})}
	Crowd(t, 10, func(w int) error {
		e := engines[w%2]
		for range 20 {
			m := e.Multi(e.Mutex(string(rune('a' + w%3))))
			if w < 4 {
				m = Multi(e, "a", "b", "c")
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
func TestAMultiWhoseRepliesAreLostLeavesNothing(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: 2 * ShortLease}) // long enough for a machine that is briefly slow
	connected := func() {                                             // so that the lost reply is not that to a handshake
		Eventually(t, "a connection", func() bool {
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
		waiting := LockingAll(t.Context(), Multi(e, "a", "b", "c"))
		Eventually(t, "the call to be run", func() bool { return s.Do("DBSIZE") == int64(3) })
		require.NoError(t, p.Heal())
		hold := Granted(t, waiting)
		connected()
		lose()
		next := LockingAll(t.Context(), Multi(e, "c", "d"))
		Queued(t, e, 1)
		released := make(chan error, 1)
		go func() { released <- hold.Unlock(t.Context()) }()
		Eventually(t, "the release to be run", func() bool { return !s.Exists("a") })
		require.NoError(t, p.Heal())
		if err := Receive(t, released); !errors.Is(err, lockwheel.ErrUnavailable) { // the reply may arrive after CallTimeout
			require.NoError(t, err)
		}
		Unlock(t, Granted(t, next))

		// A caller that leaves before the reply leaves nothing behind.
		connected()
		p.Set(proxy.Replies, proxy.Hold)
		ctx, cancel := context.WithCancel(t.Context())
		waiting = LockingAll(ctx, Multi(e, "a", "b", "c"))
		Eventually(t, "the call to be run", func() bool { return s.Do("DBSIZE") == int64(3) })
		cancel()
		require.Error(t, Receive(t, waiting).Err)
		require.NoError(t, p.Heal())
		Eventually(t, "nothing left", func() bool { return s.Do("DBSIZE") == int64(0) })
	}
	RequireIdle(t, e)
}

func TestDoOfSeveralUnlocksThemAll(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	wrong := errors.New("wrong")
	err := Multi(e, "a", "b").Do(t.Context(), func(ctx context.Context) error {
		require.Equal(t, int64(2), s.Do("DBSIZE"))
		require.NoError(t, e.Mutex("a").Do(ctx, func(context.Context) error { return nil }))
		return wrong
	})
	require.ErrorIs(t, err, wrong)
	require.Panics(t, func() {
		Multi(e, "a", "b").Do(t.Context(), func(context.Context) error { panic("f") })
	})
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

func TestShutdownWaitsForAMultiAndCloseEndsIt(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.Open(lockwheel.Options{})
	hold := LockAll(t, Multi(e, "a", "b"))
	waiting := LockingAll(t.Context(), Multi(e, "b", "c"))
	Queued(t, e, 1)
	down := make(chan error, 1)
	go func() { down <- e.Shutdown(t.Context()) }()
	require.ErrorIs(t, Receive(t, waiting).Err, lockwheel.ErrClosed)
	RequireNoReply(t, down, 20*time.Millisecond)
	Unlock(t, hold)
	require.NoError(t, Receive(t, down))
	require.Equal(t, int64(0), s.Do("DBSIZE"))

	e = s.Open(lockwheel.Options{})
	hold = LockAll(t, Multi(e, "a", "b"))
	require.NoError(t, e.Close())
	Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrClosed)
	require.Equal(t, int64(2), s.Do("DBSIZE"), "left to their leases")
}

func TestObserversAreToldOfEachOfSeveral(t *testing.T) {
	t.Parallel()
	var told []string
	note := func(what, name string) { told = append(told, what+" "+name) } // on the loop
	e := AnyServer(t).Open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(name string, _ time.Duration) { note("acquired", name) },
		Rejected: func(name string, _ time.Duration, _ error) { note("refused", name) },
		Released: func(name string, _ time.Duration) { note("released", name) },
	}})
	hold := LockAll(t, Multi(e, "a", "b"))
	_, err := Multi(e, "b", "c").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.Equal(t, int64(2), e.Stats().Held)
	require.Equal(t, uint64(2), e.Stats().Acquired)
	Unlock(t, hold)
	require.NoError(t, e.Close())
	require.Equal(t, "acquired a, acquired b, refused b, refused c, released a, released b", strings.Join(told, ", "))
}

// Sequential acquisition: if one lock is not available, for any reason and at any position, those acquired before are
// released.
func TestAMultiInTurnThatFailsGivesBackWhatItHad(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	names := NamesOfKinds("n")
	slices.Sort(names)
	m := SeveralOf(e, names)
	only := func(name string) bool { // all locks but that are free
		return e.Stats().Held == 0 && !slices.ContainsFunc(names, func(n string) bool { return n != name && s.Exists(n) })
	}
	for _, name := range names {
		hold := Lock(t, MutexOf(other, name))
		_, err := m.TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		Eventually(t, "what was taken before "+name, func() bool { return only(name) })

		ctx, leave := context.WithCancelCause(t.Context())
		waiting := LockingAll(ctx, m)
		Eventually(t, "it to wait for "+name, func() bool { return Listens(e) })
		why := errors.New("why")
		leave(why)
		require.ErrorIs(t, Receive(t, waiting).Err, why)
		Eventually(t, "what was taken before "+name, func() bool { return only(name) })
		Unlock(t, hold)

		s.Do("SET", name, "no lock")
		_, err = m.Lock(t.Context(), lockwheel.Wait(TestDeadline))
		require.ErrorContains(t, err, "WRONGTYPE")
		Eventually(t, "what was taken before "+name, func() bool { return only(name) })
		s.Do("DEL", name)
	}
	Unlock(t, LockAll(t, m))
	RequireIdle(t, e)
}

// However close the calls are, none returns a loss, and at least one returns nil.
func TestSeveralLocksThatAreUnlockedTwiceAtOnceAreNotLost(t *testing.T) {
	t.Parallel()
	e := RealServer(t).Open(lockwheel.Options{})
	for range 2000 {
		hold := LockAll(t, Multi(e, "a", "b"))
		const callers = 3
		start, done := make(chan struct{}), make(chan error, callers)
		for range callers {
			go func() { <-start; done <- hold.Unlock(t.Context()) }()
		}
		close(start)
		unlocked := 0
		for range callers {
			if err := Receive(t, done); err == nil {
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
	e := RealServer(t).Open(SlowTimeouts)
	lost := 0
	for i := range long.Pick(1000, 5000) {
		hold := LockAll(t, Multi(e, "a", "b"))
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
		require.NoError(t, Receive(t, forced))
	}
	require.NotZero(t, lost)
}
