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
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.real.Kill()) },
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.real.Restart()) },
		},
		"frozen": {
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.real.Pause()) },
			func(t *testing.T, s *Server, _ *proxy.Proxy) { require.NoError(t, s.real.Continue()) },
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
			s, p, e := behind(t, lockwheel.Options{CallTimeout: wait})
			unlockHold(t, lock(t, e.Mutex("before")))
			outage.begin(t, s, p)
			before := time.Now()
			crowd(t, 200, func(i int) error {
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
			unlockHold(t, lock(t, e.Mutex("after")))
			requireIdle(t, e)
			require.Equal(t, int64(0), s.do("DBSIZE"))
		})
	}
}

// If a TryLock fails because other callers already wait, and the server does not reply, the error does not claim that
// the lock is held.
func TestTryLockBehindOthersDuringAnOutageIsNotRefusedAsTaken(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{})
	require.NoError(t, s.real.Kill())
	waiting := locking(t.Context(), e.Mutex("n"))
	eventually(t, "the outage noticed", func() bool { return e.Stats().Retries > 1 })
	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrClosed)
}

// A Lock without a limit keeps retrying during an outage, whatever is lost.
func TestLockWaitsAnOutageOut(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
	sleeping := locking(t.Context(), waiter.Mutex("n"))
	requireWaiting(t, waiter, 1, 1)
	require.NoError(t, s.real.Kill())
	asking := locking(t.Context(), waiter.Mutex("another"))
	requireNoReply(t, asking, 200*time.Millisecond)
	require.NoError(t, s.real.Restart()) // without its data: the lock is free, without a message
	granted(t, asking)
	next := granted(t, sleeping)
	_ = hold.Unlock(t.Context()) // a release that was sent on the broken connection may or may not have run
	require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"))
	unlock(t, next)
}

// A lock outlives a restart that keeps the data and is shorter than the lease.
func TestAHoldOutlivesARestartWithItsData(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{Lease: 20 * time.Second, RenewInterval: time.Second})
	hold := lock(t, e.Mutex("n"))
	require.NoError(t, s.real.Restart())
	renewed := e.Stats().Renewed
	eventually(t, "renewed after the restart", func() bool { return e.Stats().Renewed > renewed })
	require.NoError(t, hold.Err())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
	unlock(t, hold)
}

// consul#18271, redisson#4698: the holder was notified too late, or never.
func TestAHolderKnowsOfTheLossBeforeAnybodyElseIsLetIn(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	s, p, e := behind(t, lockwheel.Options{Lease: shortLease, Observer: lockwheel.Observer{
		Lost: func(string, error) { told.Add(1) },
	}})
	hold := lock(t, e.Mutex("n"))
	ended := make(chan error, 1)
	context.AfterFunc(hold.Context(), func() { ended <- context.Cause(hold.Context()) })
	stranger := s.open(lockwheel.Options{})
	waiting := locking(t.Context(), stranger.Mutex("n"))
	requireWaiting(t, stranger, 1, 1)

	p.Set(proxy.Both, proxy.Drop)
	next := granted(t, waiting)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "two holders")
	require.Less(t, hold.Deadline(), time.Now())
	receive(t, hold.Done())
	require.ErrorIs(t, receive(t, ended), lockwheel.ErrLost)
	eventually(t, "the observer told", func() bool { return told.Load() == 1 }) // after the holder
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.NoError(t, p.Heal())
	p.Cut()
	requireIdle(t, e)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.hash("n"), "left alone by what was sent late")
	require.EqualValues(t, 1, told.Load(), "once")
	unlock(t, next)
}

// The key is deleted, or has another holder: its holder is notified a third of the lease after the last confirmation.
func TestALostKeyIsNoticedByTheNextRenewal(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*Server){
		"deleted": func(s *Server) { s.do("DEL", "n") },
		"taken over": func(s *Server) {
			s.do("DEL", "n")
			s.HoldAsOther("n", time.Hour)
		},
		"flushed": func(s *Server) { s.do("FLUSHALL") },
		"gone with a crash": func(s *Server) {
			require.NoError(s.t, s.real.RestartEmpty())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEachKind(t, func(t *testing.T, mutex kindOfLock) {
				s := RealServer(t)
				e := s.open(shortLeaseOptions)
				hold := lock(t, mutex(e, "n"))
				take(s)
				receive(t, hold.Done()) // by a renewal: the lease expires much later
				require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
				require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
				require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
				if name == "taken over" {
					require.Contains(t, s.hash("n"), "00000000-0000-4000-8000-000000000000:1")
				} else {
					require.False(t, s.exists("n"), "never brought back")
				}
			})
		})
	}
}

// redlock-rb#27, #148: NOSCRIPT after a restart, a flush or a failover.
func TestForgottenScriptsAreNotNoticed(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{})
	m := e.Mutex("n")
	stop := make(chan struct{})
	flushed := make(chan int, 1)
	go func() {
		c := s.real.Conn(t)
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
		outer := lock(t, m)
		inner := lockWith(t, outer.Context(), m)
		eventually(t, "the count of two", func() bool { return s.hash("n")[outer.ID()] == "2" })
		require.NoError(t, inner.Extend(t.Context(), time.Hour))
		requireLocked(t, m, true)
		unlock(t, inner)
		unlock(t, outer)
		require.False(t, s.exists("n"))
		hold := lock(t, m)
		forceUnlock(t, m)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	crowd(t, 50, func(i int) error {
		hold, err := e.Mutex(fmt.Sprint("n", i)).Lock(t.Context())
		if err != nil {
			return err
		}
		return hold.Unlock(t.Context())
	})
	close(stop)
	require.Greater(t, receive(t, flushed), 50)
	require.Equal(t, int64(0), s.do("DBSIZE"))
	require.EqualValues(t, 50, e.Stats().Lost, "those that were forced")
}
