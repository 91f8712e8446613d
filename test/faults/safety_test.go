package faults_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// While an engine hands a lock off, it still holds it in Redis. A call with the context of the previous holder must
// not acquire it meanwhile.
func TestHandoff_FormerContext_NoReentry(t *testing.T) {
	t.Parallel()
	for name, carried := range map[string]func(context.Context) context.Context{
		"of a hold":   func(ctx context.Context) context.Context { return ctx },
		"of a thread": lockwheel.WithOwner,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			p := proxy.Start(t, s.Addr)
			e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: locktest.TestDeadline})
			m := e.Mutex("n")
			first := locktest.LockWith(t, carried(t.Context()), m)
			stale := context.WithoutCancel(first.Context())
			// A lock with a fixed lease is handed off only after a round trip, which is delayed here.
			next := locktest.Locking(t.Context(), m, lockwheel.Lease(time.Hour))
			locktest.Queued(t, e, 1)
			locktest.Eventually(t, "nothing under way", func() bool { return e.Stats().InFlight == 0 })
			p.Set(proxy.Replies, proxy.Hold)
			locktest.Unlock(t, first)
			locktest.Eventually(t, "the hand-off under way", func() bool { return e.Stats().InFlight == 1 })

			locktest.RequireCount(t, stale, m, 0)
			before := time.Now()
			_, err := m.TryLock(stale)
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			require.Less(t, time.Since(before), locktest.TestDeadline/2, "without queueing: that ends after CallTimeout")
			last := locktest.Locking(stale, m)
			locktest.Queued(t, e, 2)
			locktest.RequireNoReply(t, last, 50*time.Millisecond)
			locktest.RequireNoReply(t, next, 0)
			p.Set(proxy.Replies, proxy.Pass)
			hold := locktest.Granted(t, next)
			locktest.RequireNoReply(t, last, 50*time.Millisecond)
			locktest.RequireCount(t, stale, m, 0)
			locktest.RequireCount(t, hold.Context(), m, 1)
			locktest.Unlock(t, hold)
			locktest.Unlock(t, locktest.Granted(t, last))
		})
	}
}

// A command without a reply may run after later ones. Here it is an extension to a shorter lease, so the holder must
// not rely on the longer one that was confirmed meanwhile.
func TestExtend_LateDuplicate_ShorterCounts(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	const short = 4 * time.Second
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 200 * time.Millisecond})
	hold := locktest.Lock(t, e.Mutex("n"))
	first := s.Clients()

	p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
	require.ErrorIs(t, hold.Extend(t.Context(), short), lockwheel.ErrUnavailable)
	renewed := e.Stats().Renewed
	locktest.Eventually(t, "the full lease confirmed by way of another connection", func() bool {
		stats := e.Stats()
		return stats.Renewed > renewed && stats.InFlight == 0 && s.PTTL("n") > short
	})
	require.NoError(t, hold.Err())

	p.SetFor(proxy.Upcoming, proxy.Both, proxy.Drop) // no later renewal may raise the lease again
	for _, id := range s.Clients() {
		if !slices.Contains(first, id) {
			s.Do("CLIENT", "KILL", "ID", id)
		}
	}
	require.Greater(t, s.PTTL("n"), short)
	p.SetFor(proxy.Existing, proxy.Commands, proxy.Pass)
	locktest.Eventually(t, "the late one has run", func() bool { return s.PTTL("n") <= short })
	stranger := s.Open(lockwheel.Options{}).Mutex("n")
	var got *lockwheel.Hold
	locktest.Eventually(t, "the other engine holds it", func() bool {
		got, _ = stranger.TryLock(t.Context())
		return got != nil
	})
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "two holders")
	locktest.Unlock(t, got)
}

// The converse: the holder does not rely on the longer lease, but can still renew in time.
func TestExtend_NoReply_LockKept(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	const short = locktest.ShortLease + time.Second
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 200 * time.Millisecond})
	hold := locktest.Lock(t, e.Mutex("n"))
	p.SetFor(proxy.Existing, proxy.Replies, proxy.Hold)
	require.ErrorIs(t, hold.Extend(t.Context(), short), lockwheel.ErrUnavailable)
	p.Cut()
	require.NoError(t, p.Heal())
	locktest.Always(t, short+locktest.ShortLease/2, "it goes on as before: watched", func() bool { return hold.Err() == nil && s.Exists("n") })
	locktest.UnlockHold(t, hold)
}

// An acquire loses its reply after its caller has left. It acquires the lock without a holder.
func TestOrphan_LostReply_Released(t *testing.T) {
	t.Parallel()
	orphan := func(t *testing.T) (*locktest.Server, *lockwheel.Engine) {
		t.Helper()
		s := locktest.RealServer(t)
		p := proxy.Start(t, s.Addr)
		e := s.OpenAt(p.Addr(), lockwheel.Options{})
		p.SetFor(proxy.Existing, proxy.Replies, proxy.Hold)
		ctx, leave := context.WithCancel(t.Context())
		left := locktest.Locking(ctx, e.Mutex("n"))
		locktest.Eventually(t, "taken", func() bool { return s.Exists("n") })
		leave()
		require.ErrorIs(t, locktest.Receive(t, left).Err, context.Canceled)
		require.True(t, s.Exists("n"))
		p.Cut() // the reply is lost
		return s, e
	}
	t.Run("by itself", func(t *testing.T) {
		t.Parallel()
		s, e := orphan(t)
		locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
		locktest.RequireIdle(t, e)
	})
	t.Run("for the next of the same engine", func(t *testing.T) {
		t.Parallel()
		s, e := orphan(t)
		hold := locktest.Lock(t, e.Mutex("n"))
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
		locktest.Always(t, 200*time.Millisecond, "the orphan's release leaves it alone", func() bool { return s.Hash("n")[hold.ID()] == "1" })
		locktest.Unlock(t, hold)
		require.False(t, s.Exists("n"))
	})
	t.Run("for another engine", func(t *testing.T) {
		t.Parallel()
		s, _ := orphan(t)
		locktest.Unlock(t, locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n")))
	})
	t.Run("one that its engine has forgotten", func(t *testing.T) {
		t.Parallel()
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		s.Do("HSET", "n", e.ID()+":4711", 1)
		s.Do("PEXPIRE", "n", time.Hour.Milliseconds())
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		require.False(t, s.Exists("n"))
	})
}

// The acquire itself may run late, after its orphan was released once.
func TestOrphan_AcquireRunsLate_ReleasedAgain(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{CallTimeout: 2500 * time.Millisecond}) // for this time after the first release the orphan may come back
	p.SetFor(proxy.Existing, proxy.Commands, proxy.Hold)
	before := e.Stats().Commands
	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	locktest.Eventually(t, "the orphan released on a new connection", func() bool {
		stats := e.Stats()
		return stats.Commands >= before+2 && stats.InFlight == 0 // the acquire, and its first release
	})
	p.SetFor(proxy.Existing, proxy.Commands, proxy.Pass)
	locktest.Eventually(t, "no key, though it came late", func() bool {
		return s.Real.CommandCalls(t, "pexpire", "pexpireat") > 0 && !s.Exists("n")
	})
	locktest.RequireIdle(t, e)
}

// A tenure near the end of its lease is not handed off without a renewal.
func TestHandoff_LeaseNearEnd_ConfirmedFirst(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	e := s.OpenAt(p.Addr(), lockwheel.Options{})
	m := e.Mutex("n")
	first := locktest.Lock(t, m, lockwheel.Lease(5*time.Second)) // less than half of the next caller's lease
	next := locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 1)
	locktest.Eventually(t, "nothing under way", func() bool { return e.Stats().InFlight == 0 })
	p.Set(proxy.Replies, proxy.Hold)
	locktest.Unlock(t, first)
	locktest.RequireNoReply(t, next, 100*time.Millisecond)
	p.Set(proxy.Replies, proxy.Pass)
	hold := locktest.Granted(t, next)
	require.Greater(t, s.PTTL("n"), 15*time.Second)
	require.Greater(t, time.Until(hold.Deadline()), 15*time.Second)
	locktest.Unlock(t, hold)
}

// The same if the lease has run down because the server does not reply: no caller is handed a lease that may expire
// soon.
func TestHandoff_SilentServer_Waits(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	const lease = 2400 * time.Millisecond
	e := s.OpenAt(p.Addr(), lockwheel.Options{Lease: lease})
	m := e.Mutex("n")
	elsewhere := s.Open(lockwheel.Options{})
	first := locktest.Lock(t, m)
	p.Set(proxy.Both, proxy.Hold)
	locktest.Eventually(t, "less than half of the lease left", func() bool { return time.Until(first.Deadline()) < lease/2 })
	next := locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 1)
	other := locktest.Locking(t.Context(), elsewhere.Mutex("n")) // the grant may come after the lease has expired
	_ = first.Unlock(t.Context())
	hold := locktest.Granted(t, other) // when the lease has expired
	locktest.RequireNoReply(t, next, 0)
	p.Set(proxy.Both, proxy.Pass)
	locktest.RequireNoReply(t, next, 100*time.Millisecond)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, next))
}

// A reply that arrives after its own lease has expired is no grant, for any caller.
func TestGrant_ReplyAfterLease_NotGranted(t *testing.T) {
	t.Parallel()
	s, p, e := locktest.Behind(t, lockwheel.Options{})
	m := e.Mutex("n")
	p.Set(proxy.Replies, proxy.Hold)
	waiting := locktest.Locking(t.Context(), m, lockwheel.Lease(locktest.ShortLease))
	locktest.Eventually(t, "taken", func() bool { return s.Exists("n") })
	locktest.Eventually(t, "expired", func() bool { return !s.Exists("n") })
	next := locktest.Lock(t, s.Open(lockwheel.Options{}).Mutex("n"))
	p.Set(proxy.Replies, proxy.Pass)
	locktest.RequireNoReply(t, waiting, 100*time.Millisecond)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
	hold := locktest.Granted(t, waiting)
	require.NoError(t, hold.Err())
	locktest.Unlock(t, hold)
	require.False(t, s.Exists("n"))
}
