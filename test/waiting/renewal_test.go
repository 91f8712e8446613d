package waiting_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Locks acquired together are renewed together, and 200 locks of any kind fit into two calls.
func TestRenewal_AnyKind_Together(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		const locks, rounds = 200, 3
		s := locktest.RealServer(t)
		e := s.Open(locktest.ShortLeaseOptions)
		var pending []*lockwheel.Pending
		for i := range locks {
			pending = append(pending, mutex(e, fmt.Sprint("n", i)).LockAsync(t.Context()))
		}
		var holds []*lockwheel.Hold
		for _, p := range pending {
			locktest.Receive(t, p.Done())
			hold, err := p.Hold()
			require.NoError(t, err)
			holds = append(holds, hold)
		}
		calls, before := s.Scripts(), e.Stats()
		locktest.Eventually(t, "all renewed", func() bool { return e.Stats().Renewed >= before.Renewed+rounds*locks })
		calls, after := s.Scripts()-calls, e.Stats()
		t.Logf("%d renewals in %d calls", after.Renewed-before.Renewed, calls)
		require.LessOrEqual(t, calls, rounds*locks/20)
		require.LessOrEqual(t, after.Batches-before.Batches, uint64(rounds*locks/20))
		for _, hold := range holds {
			locktest.Unlock(t, hold)
		}
	})
}

// Redisson's testLockAfterTimeout
// redisson#2515, #3194, #3712: after one renewal error the name was never renewed again.
func TestRenewal_AfterRestart_GoesOn(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	m := s.Open(locktest.ShortLeaseOptions).Mutex("n")
	hold := locktest.Lock(t, m)
	require.NoError(t, s.Real.RestartEmpty())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)

	hold = locktest.Lock(t, m)
	locktest.RequireRenewed(t, s, hold)
	locktest.Unlock(t, hold)
	require.False(t, s.Exists("n"))
}

// Redisson's testLockReentrantRenew
func TestRenewal_AfterReentries_GoesOn(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	m := s.Open(locktest.ShortLeaseOptions).Mutex("n")
	outer := locktest.Lock(t, m)
	inner := locktest.LockWith(t, outer.Context(), m)
	locktest.Unlock(t, inner)
	locktest.Unlock(t, outer)
	other := locktest.Lock(t, m)
	locktest.RequireRenewed(t, s, other)
	require.Equal(t, map[string]string{other.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, other)
}

// If a key is deleted under one owner, the next owner of the same name is still renewed.
func TestRenewal_KeyDeleted_NextOwnerRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.ShortLeaseOptions).Mutex("n")
	first := locktest.Lock(t, m)
	require.Equal(t, int64(1), s.Do("DEL", "n"))
	next := locktest.Lock(t, m) // waits until a renewal notices the loss
	require.ErrorIs(t, first.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, first.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.RequireRenewed(t, s, next)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"), "undisturbed")
	locktest.Unlock(t, next)
}

// redisson#7272: renewal continued after the unlock.
func TestRenewal_AfterUnlock_Ends(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	rounds := 2000
	if locktest.RaceEnabled {
		rounds = 600
	}
	const names = 4
	locktest.Crowd(t, names, func(i int) error {
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
	locktest.Eventually(t, "no key", func() bool { return s.Do("DBSIZE") == int64(0) })
	locktest.RequireIdle(t, e)
	calls, stats := s.Scripts(), e.Stats()
	locktest.Always(t, locktest.Renewed, "quiet", func() bool { return s.Scripts() == calls && s.Do("DBSIZE") == int64(0) })
	require.Equal(t, stats.Renewed, e.Stats().Renewed)
}

// redisson#1966: the reply to an attempt that was given up started the watchdog.
func TestRenewal_LateReply_NotRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: locktest.ShortLease, CallTimeout: 150 * time.Millisecond})
	m := e.Mutex("n")
	require.Equal(t, "OK", s.Do("CLIENT", "PAUSE", 2000, "ALL"))
	_, err := m.Lock(t.Context(), lockwheel.Wait(200*time.Millisecond))
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
	locktest.RequireIdle(t, e)
	locktest.UnlockHold(t, locktest.Lock(t, m))
	locktest.RequireIdle(t, e)
	require.False(t, s.Exists("n"))
}

// redisson#6472, #6483, #6519: one bad entry stopped the renewal of all locks.
func TestRenewal_OneBadKey_OthersRenewed(t *testing.T) {
	t.Parallel()
	held := 5000
	if locktest.RaceEnabled {
		held = 1500
	}
	s := locktest.RealServer(t)
	const interval = 2 * time.Second
	var lost []string // written by the Observer, read after Close
	e := s.Open(lockwheel.Options{Lease: 30 * time.Second, RenewInterval: interval, Observer: lockwheel.Observer{
		Lost: func(name string, cause error) {
			if !errors.Is(cause, lockwheel.ErrClosed) {
				lost = append(lost, name)
			}
		},
	}})
	holds := locktest.HoldMany(t, e, held)
	stop := make(chan struct{})
	busy := make(chan error, 1)
	go func() { busy <- churn(t.Context(), e, 100, stop) }()

	s.Do("DEL", "h17")
	s.Do("SET", "h17", "x")
	locktest.Receive(t, holds[17].Done())
	renewed := e.Stats().Renewed
	locktest.CheckRange(t, time.Minute, "every other lock renewed, and in Redis", func() bool {
		return e.Stats().Renewed >= renewed+uint64(4*held) && s.Do("DBSIZE").(int64) >= int64(held)
	})
	close(stop)
	require.NoError(t, locktest.Receive(t, busy))
	for i, hold := range holds {
		if i != 17 {
			require.NoError(t, hold.Err(), hold.Name())
		}
	}
	require.ErrorIs(t, holds[17].Err(), lockwheel.ErrLost)
	require.ErrorContains(t, holds[17].Err(), "WRONGTYPE")
	require.Equal(t, "x", s.Do("GET", "h17"))
	require.NoError(t, e.Close())
	require.Equal(t, []string{"h17"}, lost)
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
func TestRenewal_TransientError_GoesOn(t *testing.T) {
	t.Parallel()
	const lease, renew, spell = 12 * time.Second, 500 * time.Millisecond, 1500 * time.Millisecond // it covers a renewal, and leaves time for others
	for _, trouble := range []struct {
		name string
		make func(t *testing.T, s *locktest.Server)
	}{
		{"busy with a script", func(t *testing.T, s *locktest.Server) {
			s.Do("CONFIG", "SET", "busy-reply-threshold", 50)
			c := s.Real.Conn(t)
			require.NoError(t, c.Send("EVAL", "while true do end", 0))
			time.Sleep(spell)
			require.Equal(t, "OK", s.Do("SCRIPT", "KILL"))
			locktest.Eventually(t, "no longer busy", func() bool { return s.Do("PING") == "PONG" })
		}},
		{"paused", func(t *testing.T, s *locktest.Server) { s.Do("CLIENT", "PAUSE", spell.Milliseconds(), "ALL") }},
		{"frozen", func(t *testing.T, s *locktest.Server) {
			require.NoError(t, s.Real.Pause())
			time.Sleep(spell)
			require.NoError(t, s.Real.Continue())
		}},
		{"connections cut", func(t *testing.T, s *locktest.Server) { s.Do("CLIENT", "KILL", "TYPE", "normal") }},
		{"scripts forgotten", func(t *testing.T, s *locktest.Server) { s.Do("SCRIPT", "FLUSH") }},
	} {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{Lease: lease, RenewInterval: renew})
			hold := locktest.Lock(t, e.Mutex("n"))
			trouble.make(t, s)
			locktest.RequireRenewed(t, s, hold)
			require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
			locktest.Unlock(t, hold)
		})
	}
}

// A lock that is held for long keeps its key, its id and its count, and its deadline advances.
func TestRenewal_LongHold_DeadlineAdvances(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	hold := locktest.Lock(t, e.Mutex("n"))
	first := hold.Deadline()
	require.LessOrEqual(t, time.Until(first), locktest.ShortLeaseOptions.Lease)
	locktest.Eventually(t, "a later deadline", func() bool { return hold.Deadline().After(first) })
	require.LessOrEqual(t, time.Until(hold.Deadline()), locktest.ShortLeaseOptions.Lease)
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	require.NotZero(t, e.Stats().Renewed)
	locktest.Unlock(t, hold)
}

// A fixed lease is never renewed, however often the watchdog runs.
func TestRenewal_FixedLease_NotRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Lease: 900 * time.Millisecond})
	before := time.Now()
	hold := locktest.Lock(t, e.Mutex("n"), lockwheel.Lease(locktest.ShortLease))
	deadline := hold.Deadline()
	locktest.Receive(t, hold.Done())
	require.GreaterOrEqual(t, time.Since(before), locktest.ShortLease/2)
	require.Equal(t, deadline, hold.Deadline())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.Zero(t, e.Stats().Renewed)
	locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
}
