package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// What an engine tells its observer and its log. (Redisson's listeners are these)

// diary writes down what an observer is told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

func (d *diary) observer() lockwheel.Observer {
	ok := func(d time.Duration) string {
		if d < 0 || d > patience {
			return d.String()
		}
		return "a while"
	}
	return lockwheel.Observer{
		Acquired: func(name string, waited time.Duration) { d.note("%s acquired after %s", name, ok(waited)) },
		Refused: func(name string, waited time.Duration, err error) {
			d.note("%s refused after %s: %v", name, ok(waited), kind(err))
		},
		Released: func(name string, held time.Duration) { d.note("%s released after %s", name, ok(held)) },
		Lost:     func(name string, err error) { d.note("%s lost: %v", name, kind(err)) },
	}
}

// kind is which of the package's errors it is.
func kind(err error) error {
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

func TestTheObserverIsToldWhatLocksDo(t *testing.T) {
	t.Parallel()
	var d diary
	s := anySite(t)
	e := s.open(lockwheel.Options{Prefix: "app:", Observer: d.observer()})
	m := e.Mutex("n")
	hold := lock(t, m)
	inner := lockWith(t, hold.Context(), m)
	refused(t, m)
	unlock(t, inner)
	unlock(t, hold)
	hold = lock(t, m)
	forceUnlock(t, m)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	lock(t, m)
	waiting := locking(t.Context(), m)
	queued(t, e, 1)
	require.NoError(t, e.Close())
	require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrClosed)
	require.Equal(t, strings.Split(strings.TrimSpace(`
n acquired after a while
n acquired after a while
n refused after a while: lock not acquired
n released after a while
n released after a while
n acquired after a while
n lost: lock lost
n acquired after a while
n refused after a while: engine closed`), "\n"), d.read())
}

// Who watches for losses learns also of one that only its Unlock has found.
func TestTheObserverIsToldOfALossThatAnUnlockFinds(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	var d diary
	e := s.open(lockwheel.Options{Observer: d.observer()})
	for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Lease(time.Minute)}} {
		hold := lock(t, e.Mutex("n"), opts...)
		s.do("DEL", "n")
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
	one := []string{"n acquired after a while", "n released after a while", "n lost: lock lost"}
	require.Equal(t, append(one, one...), d.read())
	stats := e.Stats()
	require.EqualValues(t, 2, stats.Released)
	require.Zero(t, stats.Lost)
}

func TestTheObserverIsToldHowLongAWaitWas(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 2)
	refusals := make(chan time.Duration, 1)
	helds := make(chan time.Duration, 2)
	e := anySite(t).open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(_ string, waited time.Duration) { waits <- waited },
		Refused:  func(_ string, waited time.Duration, _ error) { refusals <- waited },
		Released: func(_ string, held time.Duration) { helds <- held },
	}})
	m := e.Mutex("n")
	const wait = 100 * time.Millisecond
	hold := lock(t, m)
	<-waits
	_, err := m.Lock(t.Context(), lockwheel.Wait(wait))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.GreaterOrEqual(t, receive(t, refusals), wait)
	waiting := locking(t.Context(), m)
	queued(t, e, 1)
	time.Sleep(wait)
	unlock(t, hold)
	require.GreaterOrEqual(t, receive(t, helds), 2*wait)
	unlock(t, granted(t, waiting))
	require.GreaterOrEqual(t, receive(t, waits), wait)
}

// A turn that takes long is told: here because the observer itself is slow.
func TestTheObserverIsToldOfSlowTurns(t *testing.T) {
	t.Parallel()
	late := make(chan time.Duration, 16)
	e := anySite(t).open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(string, time.Duration) { time.Sleep(20 * time.Millisecond) },
		Late: func(turn time.Duration) {
			select {
			case late <- turn:
			default:
			}
		},
	}})
	unlock(t, lock(t, e.Mutex("n")))
	for receive(t, late) < 20*time.Millisecond { // a busy machine may have late turns of its own
	}
}

// A grant that is given back because nobody took it was granted and released; a caller that left was refused.
func TestTheObserverSeesWhatWasGivenBack(t *testing.T) {
	t.Parallel()
	var d diary
	s := anySite(t)
	e := s.open(lockwheel.Options{Observer: d.observer()})
	p := e.Mutex("n").LockAsync(t.Context())
	receive(t, p.Done())
	p.Cancel()
	eventually(t, "given back", func() bool { return !s.exists("n") })
	s.occupy("n", time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	waiting := locking(ctx, e.Mutex("n"))
	asleep(t, e, 1, 1)
	leave()
	receive(t, waiting)
	settled(t, e)
	require.Equal(t, []string{
		"n acquired after a while",
		"n released after a while",
		"n refused after a while: lock not acquired",
	}, d.read())
}

// Several locks of which one is re-entered are asked for one by one: that nothing could be asked for together is no refusal.
func TestTheObserverIsNotToldOfARefusalWhenSeveralLocksAreReentered(t *testing.T) {
	t.Parallel()
	var d diary
	e := anySite(t).open(lockwheel.Options{Observer: d.observer()})
	outer := lock(t, e.Mutex("a"))
	inner, err := multi(e, "a", "b").Lock(outer.Context())
	require.NoError(t, err)
	unlock(t, inner)
	unlock(t, outer)
	settled(t, e)
	require.Equal(t, []string{
		"a acquired after a while",
		"a acquired after a while",
		"b acquired after a while",
		"a released after a while",
		"b released after a while",
		"a released after a while",
	}, d.read())
	require.Zero(t, e.Stats().Refused)
}
