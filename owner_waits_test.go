package lockwheel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The first call may wait for the second before it unlocks: without a joint grant they would deadlock.
func TestAllWhoWaitAsOneOwnerAreGrantedTogether(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		s := RealServer(t)
		e, elsewhere := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
		taken := lock(t, other(elsewhere, "n"))
		me := lockwheel.WithOwner(t.Context())
		waiting := []<-chan outcome{
			locking(me, mutex(e, "n")),
			locking(me, mutex(e, "n"), lockwheel.Lease(longer)),
			locking(me, mutex(e, "n"), lockwheel.Wait(time.Minute)),
		}
		eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && listens(e) })
		unlock(t, taken)
		var holds []*lockwheel.Hold
		for _, w := range waiting {
			holds = append(holds, granted(t, w))
		}
		stateFailed(t, other(elsewhere, "n"))
		for _, h := range holds {
			unlock(t, h)
		}
		requireIdle(t, e)
		require.False(t, s.exists("n"))
	})
}

// Each call may wait for the other before it unlocks, as both would in one thread.
func TestWhoWaitsToReadIsLetInWhenItsOwnerWrites(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the writer", "the readers"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e, elsewhere := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			taken := lock(t, elsewhere.RWMutex("n").Writer())
			var writer <-chan outcome
			if first == "the writer" {
				writer = locking(me, m.Writer())
				queued(t, e, 1)
			}
			readers := []<-chan outcome{
				locking(me, m.RLocker()),
				locking(me, m.RLocker(), lockwheel.Lease(longer)),
				locking(me, m.RLocker(), lockwheel.Wait(time.Minute)),
			}
			if first != "the writer" {
				queued(t, e, 3)
				writer = locking(me, m.Writer())
			}
			eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 4 && listens(e) })
			unlock(t, taken)
			var holds []*lockwheel.Hold
			if first == "the writer" { // the readers of its engine let the writer go first
				holds = append(holds, granted(t, writer))
				for _, r := range readers {
					holds = append(holds, granted(t, r))
				}
				stateFailed(t, elsewhere.RWMutex("n").RLocker())
			} else { // the first grant tells which
				write := receive(t, writer)
				if write.err == nil {
					holds = append(holds, write.hold)
				} else {
					require.ErrorIs(t, write.err, lockwheel.ErrUpgrade)
				}
				for _, r := range readers {
					holds = append(holds, granted(t, r))
				}
			}
			for _, h := range holds {
				unlock(t, h)
			}
			requireIdle(t, e)
			require.False(t, s.exists("n"))
		})
	}
}

// The call would wait for itself.
func TestWhoWaitsToWriteIsRefusedWhenItsOwnerReads(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, elsewhere := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
	taken := lock(t, elsewhere.RWMutex("n").RLocker())
	writers := []<-chan outcome{locking(me, m.Writer()), locking(me, m.Writer(), lockwheel.Wait(time.Minute))}
	stranger := locking(t.Context(), m.Writer())
	eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && listens(e) })
	read := lockWith(t, me, m.RLocker())
	for _, w := range writers {
		require.ErrorIs(t, receive(t, w).err, lockwheel.ErrUpgrade)
	}
	require.NoError(t, read.Err())
	unlock(t, taken)
	unlock(t, read)
	unlock(t, granted(t, stranger))
	requireIdle(t, e)
	require.False(t, s.exists("n"))
}

// The owner unlocks the re-entered side before the reply arrives. The waiting call belongs to the same owner, which
// holds the other side.
func TestWhoReenteredOneHalfDoesNotWaitForTheOtherOfItsOwner(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"reads", "writes"} {
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.open(lockwheel.Options{})
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			write := lockWith(t, me, m.Writer())
			read := lockWith(t, me, m.RLocker())
			of, outer := m.RLocker(), read
			if half == "writes" {
				of, outer = m.Writer(), write
			}
			s.do("CLIENT", "PAUSE", "1500", "ALL") // all that follows happens before the reply
			inner := locking(me, of, lockwheel.Lease(longer))
			queued(t, e, 1)
			unlock(t, outer)
			if half == "writes" {
				require.ErrorIs(t, receive(t, inner).err, lockwheel.ErrUpgrade)
				unlock(t, read)
			} else {
				unlock(t, granted(t, inner))
				unlock(t, write)
			}
			requireIdle(t, e)
			require.False(t, s.exists("n"))
		})
	}
}

// The quorum's own request for a missing member is ahead in the queue: both have one owner.
func TestWhoLocksAMissingMemberOfItsQuorumDoesNotWaitForTheQuorum(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		p := newServerSet(t, 3)
		engines := p.client(lockwheel.Options{})
		taken := lock(t, other(p[2].open(lockwheel.Options{}), "n"))
		hold := lockAll(t, lockwheel.Quorum(mutex(engines[0], "n"), mutex(engines[1], "n"), mutex(engines[2], "n")))
		inner := locking(hold.Context(), mutex(engines[2], "n"))
		again := locking(hold.Context(), mutex(engines[2], "n"))
		eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
		unlock(t, taken)
		unlock(t, granted(t, inner))
		unlock(t, granted(t, again))
		require.NoError(t, hold.Err())
		eventually(t, "the quorum to have it as well", func() bool { return engines[2].Stats().Held == 1 })
		unlock(t, hold)
		for _, e := range engines {
			requireIdle(t, e)
		}
		require.Zero(t, p.holders("n"))
	})
}

// A call that has the owner number of a quorum from its context keeps it as long as the quorum exists.
func TestTheOwnerOfAQuorumEndsWithIt(t *testing.T) {
	t.Parallel()
	p := newServerSet(t, 3)
	engines := p.client(lockwheel.Options{})
	taken := lock(t, p[2].open(lockwheel.Options{}).Mutex("n"))
	hold := lockAll(t, quorum(engines, "n"))
	beyond := context.WithoutCancel(hold.Context())
	one, two := locking(beyond, engines[2].Mutex("n")), locking(beyond, engines[2].Mutex("n"))
	eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
	unlock(t, hold)
	eventually(t, "the quorum not to wait any more", func() bool { return engines[2].Stats().Waiting == 2 })
	unlock(t, taken)
	var first outcome
	select {
	case first = <-one:
	case first = <-two:
		two = one
	case <-time.After(testDeadline):
		t.Fatal("neither of them was granted")
	}
	require.NoError(t, first.err)
	requireNoReply(t, two, 50*time.Millisecond)
	unlock(t, first.hold)
	unlock(t, granted(t, two))
}
