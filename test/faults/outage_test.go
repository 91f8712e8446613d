package faults_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// redisson#2790, #3121, #543: tryLock outlived its wait while Redis was down.
func TestOutage_Waits_EndInTime(t *testing.T) {
	t.Parallel()
	outages := map[string]struct {
		begin, end func(*testing.T, *locktest.Server, *proxy.Proxy)
	}{
		"killed": {
			func(t *testing.T, s *locktest.Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Kill()) },
			func(t *testing.T, s *locktest.Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Restart()) },
		},
		"frozen": {
			func(t *testing.T, s *locktest.Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Pause()) },
			func(t *testing.T, s *locktest.Server, _ *proxy.Proxy) { require.NoError(t, s.Real.Continue()) },
		},
		"a link that swallows everything": {
			func(_ *testing.T, _ *locktest.Server, p *proxy.Proxy) { p.Set(proxy.Both, proxy.Drop) },
			func(t *testing.T, _ *locktest.Server, p *proxy.Proxy) {
				require.NoError(t, p.Heal())
				p.Cut()
			},
		},
		"connections reset and refused": {
			func(t *testing.T, _ *locktest.Server, p *proxy.Proxy) {
				require.NoError(t, p.Refuse(true))
				p.Cut()
			},
			func(t *testing.T, _ *locktest.Server, p *proxy.Proxy) { require.NoError(t, p.Heal()) },
		},
	}
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const wait = 400 * time.Millisecond
			s, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: wait})
			locktest.UnlockHold(t, locktest.Lock(t, e.Mutex("before")))
			outage.begin(t, s, p)
			before := time.Now()
			locktest.Crowd(t, 200, func(i int) error {
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
			locktest.UnlockHold(t, locktest.Lock(t, e.Mutex("after")))
			locktest.RequireIdle(t, e)
			require.Equal(t, int64(0), s.Do("DBSIZE"))
		})
	}
}

// If a TryLock fails because other callers already wait, and the server does not reply, the error does not claim that
// the lock is held.
func TestOutage_TryLockQueued_NotCalledHeld(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	require.NoError(t, s.Real.Kill())
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Eventually(t, "the outage noticed", func() bool { return e.Stats().Retries > 1 })
	_, err := e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NoError(t, e.Close())
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
}

// A Lock without a limit keeps retrying during an outage, whatever is lost.
func TestOutage_LockWithoutLimit_Retries(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, holder.Mutex("n"))
	sleeping := locktest.Locking(t.Context(), waiter.Mutex("n"))
	locktest.RequireWaiting(t, waiter, 1, 1)
	require.NoError(t, s.Real.Kill())
	asking := locktest.Locking(t.Context(), waiter.Mutex("another"))
	locktest.RequireNoReply(t, asking, 200*time.Millisecond)
	require.NoError(t, s.Real.Restart()) // without its data: the lock is free, without a message
	locktest.Granted(t, asking)
	next := locktest.Granted(t, sleeping)
	_ = hold.Unlock(t.Context()) // a release that was sent on the broken connection may or may not have run
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, next)
}

// A lock outlives a restart that keeps the data and is shorter than the lease.
func TestRestart_DataKept_HoldGoesOn(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: 20 * time.Second, RenewInterval: time.Second})
	hold := locktest.Lock(t, e.Mutex("n"))
	require.NoError(t, s.Real.Restart())
	renewed := e.Stats().Renewed
	locktest.Eventually(t, "renewed after the restart", func() bool { return e.Stats().Renewed > renewed })
	require.NoError(t, hold.Err())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, hold)
}

// consul#18271, redisson#4698: the holder was notified too late, or never.
func TestLoss_NotifiedBeforeNextGrant(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	s, p, e := locktest.Behind(t, lockwheel.Options{Lease: locktest.ShortLease, Observer: lockwheel.Observer{
		Lost: func(string, error) { told.Add(1) },
	}})
	hold := locktest.Lock(t, e.Mutex("n"))
	ended := make(chan error, 1)
	context.AfterFunc(hold.Context(), func() { ended <- context.Cause(hold.Context()) })
	stranger := s.Open(lockwheel.Options{})
	waiting := locktest.Locking(t.Context(), stranger.Mutex("n"))
	locktest.RequireWaiting(t, stranger, 1, 1)

	p.Set(proxy.Both, proxy.Drop)
	next := locktest.Granted(t, waiting)
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, "two holders")
	require.Less(t, hold.Deadline(), time.Now())
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, locktest.Receive(t, ended), lockwheel.ErrLost)
	locktest.Eventually(t, "the observer told", func() bool { return told.Load() == 1 }) // after the holder
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	require.NoError(t, p.Heal())
	p.Cut()
	locktest.RequireIdle(t, e)
	require.Equal(t, map[string]string{next.ID(): "1"}, s.Hash("n"), "left alone by what was sent late")
	require.EqualValues(t, 1, told.Load(), "once")
	locktest.Unlock(t, next)
}

// The key is deleted, or has another holder: its holder is notified a third of the lease after the last confirmation.
func TestLoss_KeyGone_FoundByRenewal(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*locktest.Server){
		"deleted": func(s *locktest.Server) { s.Do("DEL", "n") },
		"taken over": func(s *locktest.Server) {
			s.Do("DEL", "n")
			s.HoldAsOther("n", time.Hour)
		},
		"flushed": func(s *locktest.Server) { s.Do("FLUSHALL") },
		"gone with a crash": func(s *locktest.Server) {
			require.NoError(s.T, s.Real.RestartEmpty())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.OnEachKind(t, func(t *testing.T, mutex locktest.KindOfLock) {
				s := locktest.RealServer(t)
				e := s.Open(locktest.ShortLeaseOptions)
				hold := locktest.Lock(t, mutex(e, "n"))
				take(s)
				locktest.Receive(t, hold.Done()) // by a renewal: the lease expires much later
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
func TestScripts_Forgotten_LoadedAgain(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
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
		outer := locktest.Lock(t, m)
		inner := locktest.LockWith(t, outer.Context(), m)
		locktest.Eventually(t, "the count of two", func() bool { return s.Hash("n")[outer.ID()] == "2" })
		require.NoError(t, inner.Extend(t.Context(), time.Hour))
		locktest.RequireLocked(t, m, true)
		locktest.Unlock(t, inner)
		locktest.Unlock(t, outer)
		require.False(t, s.Exists("n"))
		hold := locktest.Lock(t, m)
		locktest.ForceUnlock(t, m)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	locktest.Crowd(t, 50, func(i int) error {
		hold, err := e.Mutex(fmt.Sprint("n", i)).Lock(t.Context())
		if err != nil {
			return err
		}
		return hold.Unlock(t.Context())
	})
	close(stop)
	require.Greater(t, locktest.Receive(t, flushed), 50)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	require.EqualValues(t, 50, e.Stats().Lost, "those that were forced")
}

// A lock is held by another program when the server dies, and its lease ends before the wait of a caller. With many
// such locks, most callers do not get to ask again. None hears that its lock was held until the end.
func TestOutage_LeaseEndsMeanwhile_NotCalledHeld(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Lease: time.Second})
	const locks, lease = 100, 5 * time.Second
	waiting := make([]<-chan locktest.Outcome, locks)
	for i := range waiting {
		name := fmt.Sprint("n", i)
		s.HoldAsOther(name, lease)
		waiting[i] = locktest.Locking(t.Context(), e.Mutex(name), lockwheel.Wait(lease+time.Second))
	}
	locktest.RequireWaiting(t, e, locks, locks)
	require.NoError(t, s.Real.Kill())
	for _, w := range waiting {
		err := locktest.Receive(t, w).Err
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
	}
}
