package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Servers and networks that fail and recover.

// redisson#2790, #3121, #543: tryLock outlived its wait while Redis was down.
func TestWaitsEndInTimeDuringAnOutage(t *testing.T) {
	t.Parallel()
	outages := map[string]struct {
		begin, end func(*testing.T, *Server, *proxy.Proxy)
	}{
		"killed": {
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Kill()) },
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Restart()) },
		},
		"frozen": {
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Pause()) },
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Continue()) },
		},
		"a link that swallows everything": {
			func(_ *testing.T, _ *Server, p *proxy.Proxy) { p.Set(proxy.Both, proxy.Drop) },
			func(t *testing.T, _ *Server, p *proxy.Proxy) {
				require.NoError(t, p.Heal())
				p.Cut()
			},
		},
		"connections reset and refused": {
			func(t *testing.T, _ *Server, p *proxy.Proxy) {
				require.NoError(t, p.Refuse(true))
				p.Cut()
			},
			func(t *testing.T, _ *Server, p *proxy.Proxy) { require.NoError(t, p.Heal()) },
		},
	}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const wait = 400 * time.Millisecond
			s, p, e := Behind(t, lockwheel.Options{CallTimeout: wait})
			UnlockHold(t, Lock(t, e.Mutex("before")))
			outage.begin(t, s, p)
			before := time.Now()
			Crowd(t, 200, func(i int) error {
				m, opts := e.Mutex(fmt.Sprint("n", i%50)), []lockwheel.Option{lockwheel.Wait(wait)}
				if i >= 100 {
					m, opts = e.Mutex(fmt.Sprint("n", i)), nil
				}
				hold, err := m.TryLock(t.Context(), opts...)
				if err == nil {
					return fmt.Errorf("granted %s during an outage", hold.Name())
				}
				if !errors.Is(err, lockwheel.ErrUnavailable) || errors.Is(err, lockwheel.ErrNotAcquired) {
					return err
				}
				return nil
			})
			require.Less(t, time.Since(before), wait+5*time.Second)
			outage.end(t, s, p)
			UnlockHold(t, Lock(t, e.Mutex("after")))
			RequireIdle(t, e)
			require.Equal(t, int64(0), s.Do("DBSIZE"))
		})
	}
}

// If a TryLock fails because other callers already wait, and the server does not reply, the error does not claim that
// the lock is held.
func TestTryLockBehindOthersDuringAnOutageIsNotRefusedAsTaken(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{})
	require.NoError(t, s.Real.Kill())
	waiting := Locking(t.Context(), e.Mutex("n"))
	Eventually(t, "the outage noticed", func() bool { return e.Stats().Retries > 1 })
	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	require.ErrorIs(t, Receive(t, waiting).Err, lockwheel.ErrClosed)
}

// A Lock without a limit keeps retrying during an outage, whatever is lost.
func TestLockWaitsAnOutageOut(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := Lock(t, holder.Mutex("n"))
	sleeping := Locking(t.Context(), waiter.Mutex("n"))
	RequireWaiting(t, waiter, 1, 1)
	require.NoError(t, s.Real.Kill())
	asking := Locking(t.Context(), waiter.Mutex("another"))
	RequireNoReply(t, asking, 200*time.Millisecond)
	require.NoError(t, s.Real.Restart()) // without its data: the lock is free, without a message
	Granted(t, asking)
	next := Granted(t, sleeping)
	_ = hold.Unlock(t.Context()) // a release that was sent on the broken connection may or may not have run
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	Unlock(t, next)
}

// A lock outlives a restart that keeps the data and is shorter than the lease.
func TestAHoldOutlivesARestartWithItsData(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{Lease: 20 * time.Second, RenewInterval: time.Second})
	hold := Lock(t, e.Mutex("n"))
	require.NoError(t, s.Real.Restart())
	renewed := e.Stats().Renewed
	Eventually(t, "renewed after the restart", func() bool { return e.Stats().Renewed > renewed })
	require.NoError(t, hold.Err())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	Unlock(t, hold)
}

// consul#18271, redisson#4698: the holder was notified too late, or never.
func TestAHolderKnowsOfTheLossBeforeAnybodyElseIsLetIn(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	s, p, e := Behind(t, lockwheel.Options{Lease: ShortLease, Observer: lockwheel.Observer{
		Lost: func(string, error) { told.Add(1) },
	}})
	hold := Lock(t, e.Mutex("n"))
	ended := make(chan error, 1)
	context.AfterFunc(hold.Context(), func() { ended <- context.Cause(hold.Context()) })
	stranger := s.Open(lockwheel.Options{})
	waiting := Locking(t.Context(), stranger.Mutex("n"))
	RequireWaiting(t, stranger, 1, 1)

	p.Set(proxy.Both, proxy.Drop)
	next := Granted(t, waiting)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "two holders")
	require.Less(t, hold.Deadline(), time.Now())
	Receive(t, hold.Done())
	require.ErrorIs(t, Receive(t, ended), lockwheel.ErrLost)
	Eventually(t, "the observer told", func() bool { return told.Load() == 1 }) // after the holder
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.NoError(t, p.Heal())
	p.Cut()
	RequireIdle(t, e)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"), "left alone by what was sent late")
	require.EqualValues(t, 1, told.Load(), "once")
	Unlock(t, next)
}

// The key is deleted, or has another holder: its holder is notified a third of the lease after the last confirmation.
func TestALostKeyIsNoticedByTheNextRenewal(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*Server){
		"deleted": func(s *Server) { s.Do("DEL", "n") },
		"taken over": func(s *Server) {
			s.Do("DEL", "n")
			s.HoldAsOther("n", time.Hour)
		},
		"flushed": func(s *Server) { s.Do("FLUSHALL") },
		"gone with a crash": func(s *Server) {
			require.NoError(s.T, s.Real.RestartEmpty())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			OnEachKind(t, func(t *testing.T, mutex KindOfLock) {
				s := RealServer(t)
				e := s.Open(ShortLeaseOptions)
				hold := Lock(t, mutex(e, "n"))
				take(s)
				Receive(t, hold.Done()) // by a renewal: the lease expires much later
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
				require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
				require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
				if name == "taken over" {
					require.Contains(t, s.Hash("n"), "00000000-0000-4000-8000-000000000000:1")
				} else {
					require.False(t, s.Exists("n"), "never brought back")
				}
			})
		})
	}
}

// redlock-rb#27, #148: NOSCRIPT after a restart, a flush or a failover.
func TestForgottenScriptsAreNotNoticed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	stop := make(chan struct{})
	flushed := make(chan int, 1)
	go func() {
		c := s.Real.Conn(t)
		n := 0
		for {
			select {
			case <-stop:
				flushed <- n
				return
			default:
				c.Do("SCRIPT", "FLUSH")
				n++
			}
		}
	}()
	for range 50 {
		outer := Lock(t, m)
		inner := LockWith(t, outer.Context(), m)
		Eventually(t, "the count of two", func() bool { return s.Hash("n")[outer.ID()] == "2" })
		require.NoError(t, inner.Extend(t.Context(), time.Hour))
		RequireLocked(t, m, true)
		Unlock(t, inner)
		Unlock(t, outer)
		require.False(t, s.Exists("n"))
		hold := Lock(t, m)
		ForceUnlock(t, m)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	Crowd(t, 50, func(i int) error {
		hold, err := e.Mutex(fmt.Sprint("n", i)).Lock(t.Context())
		if err != nil {
			return err
		}
		return hold.Unlock(t.Context())
	})
	close(stop)
	require.Greater(t, Receive(t, flushed), 50)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	require.EqualValues(t, 50, e.Stats().Lost, "those that were forced")
}
