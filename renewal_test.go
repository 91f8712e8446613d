package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The watchdog renews every held lock, and nothing else.

// shortLease is the shortest lease that a busy machine renews reliably: a process was once observed to stand still for
// most of a second.
const shortLease = 3 * time.Second

// shortLeaseOptions renews often, and its lease does not expire within patience: only a renewal can notice a loss.
var shortLeaseOptions = lockwheel.Options{Lease: 30 * time.Second, RenewInterval: 500 * time.Millisecond}

// requireRenewed waits until holds were renewed several times, and requires that their keys live at least as long as
// the engine assumes.
func requireRenewed(t testing.TB, s *Server, holds ...*lockwheel.Hold) {
	t.Helper()
	goesOn(t, holds...)
	for _, hold := range holds {
		deadline := hold.Deadline()
		require.GreaterOrEqual(t, s.pttl(hold.Name()), time.Until(deadline))
		require.NoError(t, hold.Err())
	}
}

// shouldRetry waits until holds were renewed several times.
func goesOn(t testing.TB, holds ...*lockwheel.Hold) {
	t.Helper()
	for range 3 {
		before := make([]time.Time, len(holds))
		for i, hold := range holds {
			before[i] = hold.Deadline()
		}
		for i, hold := range holds {
			eventually(t, "a later deadline", func() bool { return hold.Deadline().After(before[i]) })
		}
	}
}

// renewed is a time for which a hold with a brief lease lasts only if it is renewed.
const renewed = shortLease + shortLease/2

// Locks acquired together are renewed together, and 200 locks of any kind fit into two calls.
func TestLocksOfAnyKindAreRenewedTogether(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		const locks, rounds = 200, 3
		s := RealServer(t)
		e := s.open(shortLeaseOptions)
		var pending []*lockwheel.Pending
		for i := range locks {
			pending = append(pending, mutex(e, fmt.Sprint("n", i)).LockAsync(t.Context()))
		}
		var holds []*lockwheel.Hold
		for _, p := range pending {
			receive(t, p.Done())
			hold, err := p.Hold()
			require.NoError(t, err)
			holds = append(holds, hold)
		}
		calls, before := s.scripts(), e.Stats()
		eventually(t, "all renewed", func() bool { return e.Stats().Renewed >= before.Renewed+rounds*locks })
		calls, after := s.scripts()-calls, e.Stats()
		t.Logf("%d renewals in %d calls", after.Renewed-before.Renewed, calls)
		require.LessOrEqual(t, calls, rounds*locks/20)
		require.LessOrEqual(t, after.Batches-before.Batches, uint64(rounds*locks/20))
		for _, hold := range holds {
			unlock(t, hold)
		}
	})
}

// Redisson's testLockAfterTimeout
// redisson#2515, #3194, #3712: after one renewal error the name was never renewed again.
func TestALockTakenAgainAfterARestartIsRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	m := s.open(shortLeaseOptions).Mutex("n")
	hold := lock(t, m)
	require.NoError(t, s.real.RestartEmpty())
	receive(t, hold.Done())
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

	hold = lock(t, m)
	requireRenewed(t, s, hold)
	unlock(t, hold)
	require.False(t, s.exists("n"))
}

// Redisson's testLockReentrantRenew
func TestALockTakenAfterReentriesIsRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	m := s.open(shortLeaseOptions).Mutex("n")
	outer := lock(t, m)
	inner := lockWith(t, outer.Context(), m)
	unlock(t, inner)
	unlock(t, outer)
	other := lock(t, m)
	requireRenewed(t, s, other)
	require.Equal(t, map[string]string{other.ID(): "1"}, s.hash("n"))
	unlock(t, other)
}

// If a key is deleted under one owner, the next owner of the same name is still renewed.
func TestTheNextOwnerOfADeletedLockIsRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	m := s.open(shortLeaseOptions).Mutex("n")
	first := lock(t, m)
	require.Equal(t, int64(1), s.do("DEL", "n"))
	next := lock(t, m) // waits until a renewal notices the loss
	require.ErrorIs(t, first.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
	requireRenewed(t, s, next)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"), "undisturbed")
	unlock(t, next)
}

// redisson#7272: renewal continued after the unlock.
func TestNothingIsRenewedAfterUnlock(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{Lease: shortLease})
	rounds := 2000
	if raceEnabled {
		rounds = 600
	}
	const names = 4
	crowd(t, names, func(i int) error {
		m := e.Mutex(fmt.Sprint("n", i))
		for range rounds / names {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
			if hold, err := m.Lock(ctx); err == nil {
				if err := hold.Unlock(t.Context()); err != nil && !errors.Is(err, lockwheel.ErrUnavailable) {
					cancel()
					return err
				}
			}
			cancel()
		}
		return nil
	})
	eventually(t, "no key", func() bool { return s.do("DBSIZE") == int64(0) })
	requireIdle(t, e)
	calls, stats := s.scripts(), e.Stats()
	always(t, renewed, "quiet", func() bool { return s.scripts() == calls && s.do("DBSIZE") == int64(0) })
	require.Equal(t, stats.Renewed, e.Stats().Renewed)
}

// redisson#1966: the reply to an attempt that was given up started the watchdog.
func TestALateAnswerIsNotRenewed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{Lease: shortLease, CallTimeout: 150 * time.Millisecond})
	m := e.Mutex("n")
	require.Equal(t, "OK", s.do("CLIENT", "PAUSE", 2000, "ALL"))
	_, err := m.Lock(t.Context(), lockwheel.Wait(200*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	eventually(t, "no key", func() bool { return !s.exists("n") })
	requireIdle(t, e)
	unlockHold(t, lock(t, m))
	requireIdle(t, e)
	require.False(t, s.exists("n"))
}

// redisson#6472, #6483, #6519: one bad entry stopped the renewal of all locks.
func TestOneBadKeyDoesNotStopTheRenewalOfOthers(t *testing.T) {
	t.Parallel()
	held := 5000
	if raceEnabled {
		held = 1500
	}
	s := RealServer(t)
	const lease = 2 * shortLease
	var lost []string // written by the Observer, read after Close
	e := s.open(lockwheel.Options{Lease: lease, Observer: lockwheel.Observer{
		Lost: func(name string, cause error) {
			if !errors.Is(cause, lockwheel.ErrClosed) {
				lost = append(lost, name)
			}
		},
	}})
	holds := holdMany(t, e, held)
	stop := make(chan struct{})
	busy := make(chan error, 1)
	go func() { busy <- churn(t.Context(), e, 100, stop) }()

	s.do("DEL", "h17")
	s.do("SET", "h17", "x")
	receive(t, holds[17].Done())
	always(t, lease*3/2, "every other lock in Redis", func() bool { return s.do("DBSIZE").(int64) >= int64(held) })
	close(stop)
	require.NoError(t, receive(t, busy))
	for i, hold := range holds {
		if i != 17 {
			require.NoError(t, hold.Err(), hold.Name())
		}
	}
	require.ErrorIs(t, holds[17].Err(), lockwheel.ErrLost)
	require.ErrorContains(t, holds[17].Err(), "WRONGTYPE")
	require.Equal(t, "x", s.do("GET", "h17"))
	require.NoError(t, e.Close())
	require.Equal(t, []string{"h17"}, lost)
}

// holdMany acquires the locks h0, h1, … with a few goroutines.
func holdMany(t testing.TB, e *lockwheel.Engine, n int) []*lockwheel.Hold {
	t.Helper()
	holds := make([]*lockwheel.Hold, n)
	const workers = 64
	crowd(t, workers, func(w int) (err error) {
		for i := w; i < n; i += workers {
			if holds[i], err = e.Mutex(fmt.Sprint("h", i)).Lock(t.Context()); err != nil {
				return err
			}
		}
		return nil
	})
	return holds
}

// churn locks and unlocks some names until stop is closed.
func churn(ctx context.Context, e *lockwheel.Engine, names int, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		hold, err := e.Mutex(fmt.Sprint("churned", rand.IntN(names))).Lock(ctx)
		if err != nil {
			return err
		}
		if err := hold.Unlock(ctx); err != nil && !errors.Is(err, lockwheel.ErrUnavailable) {
			return err
		}
	}
}

// redisson PR #3334, consul PR #912: a transient error ended renewal although there was time left.
func TestATransientErrorDoesNotEndRenewal(t *testing.T) {
	t.Parallel()
	const lease, renew, spell = 6 * time.Second, 500 * time.Millisecond, 1500 * time.Millisecond // it covers a renewal, and leaves time for others
	for _, trouble := range []struct {
		name string
		make func(t *testing.T, s *Server)
	}{
		{"busy with a script", func(t *testing.T, s *Server) {
			s.do("CONFIG", "SET", "busy-reply-threshold", 50)
			c := s.real.Conn(t)
			require.NoError(t, c.Send("EVAL", "while true do end", 0))
			time.Sleep(spell)
			require.Equal(t, "OK", s.do("SCRIPT", "KILL"))
			eventually(t, "no longer busy", func() bool { return s.do("PING") == "PONG" })
		}},
		{"paused", func(t *testing.T, s *Server) { s.do("CLIENT", "PAUSE", spell.Milliseconds(), "ALL") }},
		{"frozen", func(t *testing.T, s *Server) {
			require.NoError(t, s.real.Pause())
			time.Sleep(spell)
			require.NoError(t, s.real.Continue())
		}},
		{"connections cut", func(t *testing.T, s *Server) { s.do("CLIENT", "KILL", "TYPE", "normal") }},
		{"scripts forgotten", func(t *testing.T, s *Server) { s.do("SCRIPT", "FLUSH") }},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			e := s.open(lockwheel.Options{Lease: lease, RenewInterval: renew})
			hold := lock(t, e.Mutex("n"))
			trouble.make(t, s)
			requireRenewed(t, s, hold)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
			unlock(t, hold)
		})
	}
}

// A lock that is held for long keeps its key, its id and its count, and its deadline advances.
func TestRenewalMovesTheDeadlineOn(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{Lease: shortLease})
	hold := lock(t, e.Mutex("n"))
	first := hold.Deadline()
	require.LessOrEqual(t, time.Until(first), shortLease)
	eventually(t, "a later deadline", func() bool { return hold.Deadline().After(first) })
	require.LessOrEqual(t, time.Until(hold.Deadline()), shortLease)
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
	require.NotZero(t, e.Stats().Renewed)
	unlock(t, hold)
}

// A fixed lease is never renewed, however often the watchdog runs.
func TestAFixedLeaseIsNotRenewed(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	e := s.open(lockwheel.Options{Lease: 300 * time.Millisecond})
	before := time.Now()
	hold := lock(t, e.Mutex("n"), lockwheel.Lease(shortLease))
	deadline := hold.Deadline()
	receive(t, hold.Done())
	require.GreaterOrEqual(t, time.Since(before), shortLease/2)
	require.Equal(t, deadline, hold.Deadline())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.Zero(t, e.Stats().Renewed)
	eventually(t, "no key", func() bool { return !s.exists("n") })
}
