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
	OnEveryKind(t, func(t *testing.T, mutex, other KindOfLock) {
		s := RealServer(t)
		e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
		taken := Lock(t, other(elsewhere, "n"))
		me := lockwheel.WithOwner(t.Context())
		waiting := []<-chan Outcome{
			Locking(me, mutex(e, "n")),
			Locking(me, mutex(e, "n"), lockwheel.Lease(Longer)),
			Locking(me, mutex(e, "n"), lockwheel.Wait(time.Minute)),
		}
		Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && Listens(e) })
		Unlock(t, taken)
		var holds []*lockwheel.Hold
		for _, w := range waiting {
			holds = append(holds, Granted(t, w))
		}
		StateFailed(t, other(elsewhere, "n"))
		for _, h := range holds {
			Unlock(t, h)
		}
		RequireIdle(t, e)
		require.False(t, s.Exists("n"))
	})
}

// Each call may wait for the other before it unlocks, as both would in one thread.
func TestWhoWaitsToReadIsLetInWhenItsOwnerWrites(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"the writer", "the readers"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			taken := Lock(t, elsewhere.RWMutex("n").Writer())
			var writer <-chan Outcome
			if first == "the writer" {
				writer = Locking(me, m.Writer())
				Queued(t, e, 1)
			}
			readers := []<-chan Outcome{
				Locking(me, m.RLocker()),
				Locking(me, m.RLocker(), lockwheel.Lease(Longer)),
				Locking(me, m.RLocker(), lockwheel.Wait(time.Minute)),
			}
			if first != "the writer" {
				Queued(t, e, 3)
				writer = Locking(me, m.Writer())
			}
			Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 4 && Listens(e) })
			Unlock(t, taken)
			var holds []*lockwheel.Hold
			if first == "the writer" { // the readers of its engine let the writer go first
				holds = append(holds, Granted(t, writer))
				for _, r := range readers {
					holds = append(holds, Granted(t, r))
				}
				StateFailed(t, elsewhere.RWMutex("n").RLocker())
			} else { // the first grant tells which
				write := Receive(t, writer)
				if write.Err == nil {
					holds = append(holds, write.Hold)
				} else {
					require.ErrorIs(t, write.Err, lockwheel.ErrUpgrade)
				}
				for _, r := range readers {
					holds = append(holds, Granted(t, r))
				}
			}
			for _, h := range holds {
				Unlock(t, h)
			}
			RequireIdle(t, e)
			require.False(t, s.Exists("n"))
		})
	}
}

// The call would wait for itself.
func TestWhoWaitsToWriteIsRefusedWhenItsOwnerReads(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
	taken := Lock(t, elsewhere.RWMutex("n").RLocker())
	writers := []<-chan Outcome{Locking(me, m.Writer()), Locking(me, m.Writer(), lockwheel.Wait(time.Minute))}
	stranger := Locking(t.Context(), m.Writer())
	Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && Listens(e) })
	read := LockWith(t, me, m.RLocker())
	for _, w := range writers {
		require.ErrorIs(t, Receive(t, w).Err, lockwheel.ErrUpgrade)
	}
	require.NoError(t, read.Err())
	Unlock(t, taken)
	Unlock(t, read)
	Unlock(t, Granted(t, stranger))
	RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// The owner unlocks the re-entered side before the reply arrives. The waiting call belongs to the same owner, which
// holds the other side.
func TestWhoReenteredOneHalfDoesNotWaitForTheOtherOfItsOwner(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"reads", "writes"} {
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.Open(lockwheel.Options{})
			m, me := e.RWMutex("n"), lockwheel.WithOwner(t.Context())
			write := LockWith(t, me, m.Writer())
			read := LockWith(t, me, m.RLocker())
			of, outer := m.RLocker(), read
			if half == "writes" {
				of, outer = m.Writer(), write
			}
			s.Do("CLIENT", "PAUSE", "1500", "ALL") // all that follows happens before the reply
			inner := Locking(me, of, lockwheel.Lease(Longer))
			Queued(t, e, 1)
			Unlock(t, outer)
			if half == "writes" {
				require.ErrorIs(t, Receive(t, inner).Err, lockwheel.ErrUpgrade)
				Unlock(t, read)
			} else {
				Unlock(t, Granted(t, inner))
				Unlock(t, write)
			}
			RequireIdle(t, e)
			require.False(t, s.Exists("n"))
		})
	}
}

// The quorum's own request for a missing member is ahead in the queue: both have one owner.
func TestWhoLocksAMissingMemberOfItsQuorumDoesNotWaitForTheQuorum(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, other KindOfLock) {
		p := NewServerSet(t, 3)
		engines := p.Client(lockwheel.Options{})
		taken := Lock(t, other(p[2].Open(lockwheel.Options{}), "n"))
		hold := LockAll(t, lockwheel.Quorum(mutex(engines[0], "n"), mutex(engines[1], "n"), mutex(engines[2], "n")))
		inner := Locking(hold.Context(), mutex(engines[2], "n"))
		again := Locking(hold.Context(), mutex(engines[2], "n"))
		Eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
		Unlock(t, taken)
		Unlock(t, Granted(t, inner))
		Unlock(t, Granted(t, again))
		require.NoError(t, hold.Err())
		Eventually(t, "the quorum to have it as well", func() bool { return engines[2].Stats().Held == 1 })
		Unlock(t, hold)
		for _, e := range engines {
			RequireIdle(t, e)
		}
		require.Zero(t, p.Holders("n"))
	})
}

// A call that has the owner number of a quorum from its context keeps it as long as the quorum exists.
func TestTheOwnerOfAQuorumEndsWithIt(t *testing.T) {
	t.Parallel()
	p := NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{})
	taken := Lock(t, p[2].Open(lockwheel.Options{}).Mutex("n"))
	hold := LockAll(t, Quorum(engines, "n"))
	beyond := context.WithoutCancel(hold.Context())
	one, two := Locking(beyond, engines[2].Mutex("n")), Locking(beyond, engines[2].Mutex("n"))
	Eventually(t, "all of them to wait", func() bool { return engines[2].Stats().Waiting == 3 })
	Unlock(t, hold)
	Eventually(t, "the quorum not to wait any more", func() bool { return engines[2].Stats().Waiting == 2 })
	Unlock(t, taken)
	var first Outcome
	select {
	case first = <-one:
	case first = <-two:
		two = one
	case <-time.After(TestDeadline):
		t.Fatal("neither of them was granted")
	}
	require.NoError(t, first.Err)
	RequireNoReply(t, two, 50*time.Millisecond)
	Unlock(t, first.Hold)
	Unlock(t, Granted(t, two))
}
