package waiting_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// The first call may wait for the second before it unlocks: without a joint grant they would deadlock.
func TestOwnerWaits_OneOwner_GrantedTogether(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		s := locktest.RealServer(t)
		e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		taken := locktest.Lock(t, other(elsewhere, "n"))
		me := lockwheel.WithOwner(t.Context())
		waiting := []<-chan locktest.Outcome{
			locktest.Locking(me, mutex(e, "n")),
			locktest.Locking(me, mutex(e, "n"), lockwheel.Lease(locktest.Longer)),
			locktest.Locking(me, mutex(e, "n"), lockwheel.Wait(time.Minute)),
		}
		locktest.Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && locktest.Listens(e) })
		locktest.Unlock(t, taken)
		var holds []*lockwheel.Hold
		for _, w := range waiting {
			holds = append(holds, locktest.Granted(t, w))
		}
		locktest.StateFailed(t, other(elsewhere, "n"))
		for _, h := range holds {
			locktest.Unlock(t, h)
		}
		locktest.RequireIdle(t, e)
		require.False(t, s.Exists("n"))
	})
}

// Each call may wait for the other before it unlocks, as both would in one thread.
func TestOwnerWaits_OwnerWrites_ReadGranted(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the writer", "the readers"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			taken := locktest.Lock(t, elsewhere.RWMutex("n").Writer())
			var writer <-chan locktest.Outcome
			if first == "the writer" {
				writer = locktest.Locking(me, m.Writer())
				locktest.Queued(t, e, 1)
			}
			readers := []<-chan locktest.Outcome{
				locktest.Locking(me, m.RLocker()),
				locktest.Locking(me, m.RLocker(), lockwheel.Lease(locktest.Longer)),
				locktest.Locking(me, m.RLocker(), lockwheel.Wait(time.Minute)),
			}
			if first != "the writer" {
				locktest.Queued(t, e, 3)
				writer = locktest.Locking(me, m.Writer())
			}
			locktest.Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 4 && locktest.Listens(e) })
			locktest.Unlock(t, taken)
			var holds []*lockwheel.Hold
			if first == "the writer" { // the readers of its engine let the writer go first
				holds = append(holds, locktest.Granted(t, writer))
				for _, r := range readers {
					holds = append(holds, locktest.Granted(t, r))
				}
				locktest.StateFailed(t, elsewhere.RWMutex("n").RLocker())
			} else { // the first grant tells which
				write := locktest.Receive(t, writer)
				if write.Err == nil {
					holds = append(holds, write.Hold)
				} else {
					require.ErrorIs(t, write.Err, lockwheel.ErrUpgrade)
				}
				for _, r := range readers {
					holds = append(holds, locktest.Granted(t, r))
				}
			}
			for _, h := range holds {
				locktest.Unlock(t, h)
			}
			locktest.RequireIdle(t, e)
			require.False(t, s.Exists("n"))
		})
	}
}

// The call would wait for itself.
func TestOwnerWaits_OwnerReads_WriteRejected(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
	taken := locktest.Lock(t, elsewhere.RWMutex("n").RLocker())
	writers := []<-chan locktest.Outcome{locktest.Locking(me, m.Writer()), locktest.Locking(me, m.Writer(), lockwheel.Wait(time.Minute))}
	stranger := locktest.Locking(t.Context(), m.Writer())
	locktest.Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && locktest.Listens(e) })
	read := locktest.LockWith(t, me, m.RLocker())
	for _, w := range writers {
		require.ErrorIs(t, locktest.Receive(t, w).Err, lockwheel.ErrUpgrade)
	}
	require.NoError(t, read.Err())
	locktest.Unlock(t, taken)
	locktest.Unlock(t, read)
	locktest.Unlock(t, locktest.Granted(t, stranger))
	locktest.RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// The owner unlocks the re-entered side before the reply arrives. The waiting call belongs to the same owner, which
// holds the other side.
func TestOwnerWaits_OtherSideOfOwner_Granted(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"reads", "writes"} {
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(locktest.SlowTimeouts)
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			write := locktest.LockWith(t, me, m.Writer())
			read := locktest.LockWith(t, me, m.RLocker())
			of, outer := m.RLocker(), read
			if half == "writes" {
				of, outer = m.Writer(), write
			}
			s.Do("CLIENT", "PAUSE", "2500", "ALL") // all that follows happens before the reply
			inner := locktest.Locking(me, of, lockwheel.Lease(locktest.Longer))
			locktest.Queued(t, e, 1)
			locktest.Unlock(t, outer)
			if half == "writes" {
				require.ErrorIs(t, locktest.Receive(t, inner).Err, lockwheel.ErrUpgrade)
				locktest.Unlock(t, read)
			} else {
				locktest.Unlock(t, locktest.Granted(t, inner))
				locktest.Unlock(t, write)
			}
			locktest.RequireIdle(t, e)
			require.False(t, s.Exists("n"))
		})
	}
}

// The quorum's own request for a missing member is ahead in the queue: both have one owner.
func TestOwnerWaits_QuorumMember_Granted(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		p := locktest.NewServerSet(t, 3)
		engines := p.Client(lockwheel.Options{})
		taken := locktest.Lock(t, other(p[2].Open(lockwheel.Options{}), "n"))
		hold := locktest.LockAll(t, lockwheel.Quorum(mutex(engines[0], "n"), mutex(engines[1], "n"), mutex(engines[2], "n")))
		inner := locktest.Locking(hold.Context(), mutex(engines[2], "n"))
		again := locktest.Locking(hold.Context(), mutex(engines[2], "n"))
		locktest.Eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
		locktest.Unlock(t, taken)
		locktest.Unlock(t, locktest.Granted(t, inner))
		locktest.Unlock(t, locktest.Granted(t, again))
		require.NoError(t, hold.Err())
		locktest.Eventually(t, "the quorum to have it as well", func() bool { return engines[2].Stats().Held == 1 })
		locktest.Unlock(t, hold)
		for _, e := range engines {
			locktest.RequireIdle(t, e)
		}
		require.Zero(t, p.Holders("n"))
	})
}

// A call that has the owner number of a quorum from its context keeps it as long as the quorum exists.
func TestOwnerWaits_QuorumEnds_OwnerEnds(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	taken := locktest.Lock(t, p[2].Open(lockwheel.Options{}).Mutex("n"))
	hold := locktest.LockAll(t, locktest.Quorum(engines, "n"))
	beyond := context.WithoutCancel(hold.Context())
	one, two := locktest.Locking(beyond, engines[2].Mutex("n")), locktest.Locking(beyond, engines[2].Mutex("n"))
	locktest.Eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
	locktest.Unlock(t, hold)
	locktest.Eventually(t, "the quorum not to wait any more", func() bool { return engines[2].Stats().Waiting == 2 })
	locktest.Unlock(t, taken)
	var first locktest.Outcome
	select {
	case first = <-one:
	case first = <-two:
		two = one
	case <-time.After(locktest.TestDeadline):
		t.Fatal("neither of them was granted")
	}
	require.NoError(t, first.Err)
	locktest.RequireNoReply(t, two, 50*time.Millisecond)
	locktest.Unlock(t, first.Hold)
	locktest.Unlock(t, locktest.Granted(t, two))
}
