package lockwheel_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Locker: for code that knows sync.Locker, with its manners.

func TestLockerExcludes(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	m := s.open(lockwheel.Options{}).Mutex("n")
	var r room
	shared := m.Locker()
	crowd(t, 8, func(i int) error {
		l := shared
		if i%2 == 0 {
			l = m.Locker()
		}
		for range 20 {
			l.Lock()
			r.visit(soonOver)
			l.Unlock()
		}
		return nil
	})
	r.require(t, 160)
	require.False(t, s.exists("n"))
}

func TestLockerServesACond(t *testing.T) {
	t.Parallel()
	m := anySite(t).open(lockwheel.Options{}).Mutex("n")
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
	receive(t, done)
}

func TestUnlockOfAnUnlockedLockerPanics(t *testing.T) {
	t.Parallel()
	e := anySite(t).open(lockwheel.Options{})
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

func TestLockOfALockerPanicsOnceClosed(t *testing.T) {
	t.Parallel()
	e := anySite(t).open(lockwheel.Options{})
	l := e.Mutex("n").Locker()
	require.NoError(t, e.Close())
	require.Panics(t, l.Lock)
}

func TestALostLockOfALockerIsLogged(t *testing.T) {
	t.Parallel()
	var log journal
	m := anySite(t).open(lockwheel.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}).Mutex("n")
	l := m.Locker()
	l.Lock()
	forceUnlock(t, m)
	before := log.String()
	l.Unlock() // no panic: it was locked
	require.Contains(t, strings.TrimPrefix(log.String(), before), "lock lost")
}

// journal is a writer that can be read meanwhile.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
