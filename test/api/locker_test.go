package api_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// Lockers of one name exclude each other, shared or not.
func TestLocker_ManyCallers_Exclude(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	var r locktest.CriticalSection
	shared := m.Locker()
	locktest.Crowd(t, 8, func(i int) error {
		l := shared
		if i%2 == 0 {
			l = m.Locker()
		}
		for range 20 {
			l.Lock()
			r.Enter(locktest.ShortRun)
			l.Unlock()
		}
		return nil
	})
	r.Require(t, 160)
	require.False(t, s.Exists("n"))
}

// A sync.Cond can use a Locker.
func TestLocker_WithCond_Works(t *testing.T) {
	t.Parallel()
	m := locktest.AnyServer(t).Open(lockwheel.Options{}).Mutex("n")
	cond := sync.NewCond(m.Locker())
	ready := false
	done := make(chan struct{})
	go func() {
		cond.L.Lock()
		for !ready {
			cond.Wait()
		}
		cond.L.Unlock()
		close(done)
	}()
	cond.L.Lock()
	ready = true
	cond.L.Unlock()
	cond.Broadcast()
	locktest.Receive(t, done)
}

// Unlock of an unlocked Locker panics, as does a Locker of an unusable lock.
func TestLocker_UnlockTwice_Panics(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	l := e.Mutex("n").Locker()
	require.PanicsWithValue(t, `lockwheel: lock "n": unlock of an unlocked lock`, l.Unlock)
	func() {
		l.Lock()
		defer l.Unlock()
	}()
	require.Panics(t, l.Unlock)
	require.Panics(t, lockwheel.Mutex{}.Locker().Lock)
	require.Panics(t, e.Mutex("").Locker().Lock)
}

func TestLocker_EngineClosed_LockPanics(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	l := e.Mutex("n").Locker()
	require.NoError(t, e.Close())
	require.Panics(t, l.Lock)
}

// A Locker logs the loss of its lock when it is unlocked, and does not panic.
func TestLocker_LockLost_Logged(t *testing.T) {
	t.Parallel()
	var log locktest.LogBuffer
	m := locktest.AnyServer(t).Open(lockwheel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Mutex("n")
	l := m.Locker()
	l.Lock()
	locktest.ForceUnlock(t, m)
	l.Unlock() // no panic: it was locked
	locktest.Eventually(t, "a line about it", func() bool {
		_, said, found := strings.Cut(log.String(), "a Locker's lock was not unlocked as it should")
		return found && strings.Contains(said, "lock lost")
	})
}

// Code that uses sync.Locker cannot tell which hold it unlocks. A lost one is unlocked late, when others have the
// lock.
func TestLocker_LostAndHeld_LostUnlockedFirst(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, other := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	l := m.Locker()
	l.Lock()
	locktest.ForceUnlock(t, m)
	l.Lock()
	locktest.StateFailed(t, other.Mutex("n"))
	l.Unlock() // of the first hold
	locktest.StateFailed(t, other.Mutex("n"))
	l.Unlock()
	locktest.Unlock(t, locktest.Lock(t, other.Mutex("n")))
	require.Panics(t, l.Unlock)
}

// Holds are locked, lost and unlocked through one Locker, in any order. The lock then has as many holds as were
// locked and not lost, minus the Unlocks that came when no lost one was left.
func TestLocker_AnyOrder_HoldsMatchUnlocks(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(locktest.SlowTimeouts)
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		readers := e.RWMutex(fmt.Sprint("n", seed)).RLocker()
		l := readers.Locker()
		var live, lost int
		for range 60 {
			switch n := random.IntN(10); {
			case n < 4:
				l.Lock()
				live++
			case n < 9 && live+lost > 0:
				l.Unlock()
				if lost > 0 {
					lost--
				} else {
					live--
				}
			case n == 9:
				_, err := readers.ForceUnlock(t.Context())
				require.NoError(t, err)
				locktest.Eventually(t, "all to be told", func() bool { return e.Stats().Held == 0 }) // all but one end a round trip later
				live, lost = 0, live+lost
			}
			state, err := readers.State(t.Context())
			require.NoError(t, err)
			require.Equal(t, live, state.Count, "seed %d", seed)
		}
		for range live + lost {
			l.Unlock()
		}
		require.Panics(t, l.Unlock)
	}
	locktest.RequireIdle(t, e)
}

// While other callers lock and unlock concurrently, each Unlock finds a hold.
func TestLocker_HoldsLost_UnlocksFindHolds(t *testing.T) {
	t.Parallel()
	e := locktest.AnyServer(t).Open(lockwheel.Options{})
	readers := e.RWMutex("n").RLocker()
	l := readers.Locker()
	locktest.Crowd(t, 16, func(i int) error {
		for n := range 30 {
			l.Lock()
			if i == 0 && n%5 == 0 {
				if _, err := readers.ForceUnlock(t.Context()); err != nil {
					return err
				}
			}
			l.Unlock()
		}
		return nil
	})
	require.Panics(t, l.Unlock)
	locktest.RequireIdle(t, e)
}
