package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// observerLog records the events of an observer.
type observerLog struct {
	mu    sync.Mutex
	lines []string
}

func (d *observerLog) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *observerLog) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// requireLines waits until an observer has received that many events, and requires that they are these.
func (d *observerLog) requireLines(t *testing.T, lines ...string) {
	t.Helper()
	locktest.Eventually(t, "the observer to be told", func() bool { return len(d.read()) >= len(lines) })
	require.Equal(t, lines, d.read())
}

func (d *observerLog) observer() lockwheel.Observer {
	ok := func(d time.Duration) string {
		if d < 0 || d > locktest.TestDeadline {
			return d.String()
		}
		return "a while"
	}
	return lockwheel.Observer{
		Acquired: func(name string, waited time.Duration) { d.note("%s acquired after %s", name, ok(waited)) },
		Rejected: func(name string, waited time.Duration, err error) {
			d.note("%s refused after %s: %v", name, ok(waited), kind(err))
		},
		Released: func(name string, held time.Duration) { d.note("%s released after %s", name, ok(held)) },
		Lost:     func(name string, err error) { d.note("%s lost: %v", name, kind(err)) },
	}
}

// kind returns the error of the package that err matches.
func kind(err error) error {
	for _, sentinel := range locktest.Sentinels {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

// An observer is notified of grants, rejections, releases and losses, by the names without the prefix.
func TestObserver_EachEvent_Notified(t *testing.T) {
	t.Parallel()
	var d observerLog
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Prefix: "app:", Observer: d.observer()})
	m := e.Mutex("n")
	hold := locktest.Lock(t, m)
	inner := locktest.LockWith(t, hold.Context(), m)
	locktest.StateFailed(t, m)
	locktest.Unlock(t, inner)
	locktest.Unlock(t, hold)
	hold = locktest.Lock(t, m)
	locktest.ForceUnlock(t, m)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.Lock(t, m)
	waiting := locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 1)
	require.NoError(t, e.Close())
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
	d.requireLines(t, strings.Split(strings.TrimSpace(`
n acquired after a while
n acquired after a while
n refused after a while: lock not acquired
n released after a while
n released after a while
n acquired after a while
n lost: lock lost
n acquired after a while
n lost: engine closed
n refused after a while: engine closed`), "\n")...)
}

// An observer of losses also receives those that only Unlock finds.
func TestObserver_LossFoundByUnlock_Notified(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	var d observerLog
	observer := d.observer()
	lost := observer.Lost
	observer.Lost = func(name string, err error) {
		if strings.Contains(err.Error(), "nightly") {
			lost(name, err)
		}
	}
	e := s.Open(lockwheel.Options{Observer: observer})
	for _, opts := range [][]lockwheel.Option{nil, {lockwheel.Lease(time.Minute)}} {
		hold := locktest.LockWith(t, lockwheel.WithLabel(t.Context(), "nightly"), e.Mutex("n"), opts...)
		s.Do("DEL", "n")
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	}
	one := []string{"n acquired after a while", "n released after a while", "n lost: lock lost"}
	d.requireLines(t, append(one, one...)...)
	stats := e.Stats()
	require.EqualValues(t, 2, stats.Released)
	require.EqualValues(t, 2, stats.LostAtUnlock)
	require.Zero(t, stats.Lost)
}

// Two unlocks of one hold that wait for the same release find its loss together: that is one loss.
func TestObserver_LossFoundByTwoUnlocks_NotifiedOnce(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	var d observerLog
	e := s.OpenAt(p.Addr(), lockwheel.Options{Observer: d.observer()})
	var lines []string
	for range 5 {
		hold := locktest.Lock(t, e.Mutex("n"))
		p.Set(proxy.Commands, proxy.Hold)
		s.Do("DEL", "n")
		first, second := locktest.Unlocking(t.Context(), hold), locktest.Unlocking(t.Context(), hold)
		locktest.Eventually(t, "a release", func() bool { return p.Buffered(proxy.Commands) > 0 })
		time.Sleep(10 * time.Millisecond) // for the other unlock; a later one has the same result
		require.NoError(t, p.Heal())
		one, other := locktest.Receive(t, first), locktest.Receive(t, second)
		if errors.Is(other, lockwheel.ErrLost) {
			one, other = other, one
		}
		require.ErrorIs(t, one, lockwheel.ErrLost)
		require.ErrorIs(t, other, lockwheel.ErrNotHeld)
		lines = append(lines, "n acquired after a while", "n released after a while", "n lost: lock lost")
	}
	d.requireLines(t, lines...)
	require.EqualValues(t, len(lines)/3, e.Stats().LostAtUnlock)
}

// An observer is told how long a caller waited, granted or rejected, and how long a lock was held.
func TestObserver_Durations_WaitAndHold(t *testing.T) {
	t.Parallel()
	waits := make(chan time.Duration, 2)
	refusals := make(chan time.Duration, 1)
	helds := make(chan time.Duration, 2)
	e := locktest.AnyServer(t).Open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(_ string, waited time.Duration) { waits <- waited },
		Rejected: func(_ string, waited time.Duration, _ error) { refusals <- waited },
		Released: func(_ string, held time.Duration) { helds <- held },
	}})
	m := e.Mutex("n")
	const wait = 100 * time.Millisecond
	hold := locktest.Lock(t, m)
	<-waits
	_, err := m.Lock(t.Context(), lockwheel.Wait(wait))
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.GreaterOrEqual(t, locktest.Receive(t, refusals), wait)
	waiting := locktest.Locking(t.Context(), m)
	locktest.Queued(t, e, 1)
	time.Sleep(wait)
	locktest.Unlock(t, hold)
	require.GreaterOrEqual(t, locktest.Receive(t, helds), 2*wait)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	require.GreaterOrEqual(t, locktest.Receive(t, waits), wait)
}

// A grant that is not taken and so released is reported as acquired and released. The request of a caller that left
// is reported as rejected.
func TestObserver_UntakenGrant_Released(t *testing.T) {
	t.Parallel()
	var d observerLog
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{Observer: d.observer()})
	p := e.Mutex("n").LockAsync(t.Context())
	locktest.Receive(t, p.Done())
	p.Cancel()
	locktest.Eventually(t, "given back", func() bool { return !s.Exists("n") })
	s.HoldAsOther("n", time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	waiting := locktest.Locking(ctx, e.Mutex("n"))
	locktest.RequireWaiting(t, e, 1, 1)
	leave()
	locktest.Receive(t, waiting)
	locktest.RequireIdle(t, e)
	d.requireLines(t,
		"n acquired after a while",
		"n released after a while",
		"n refused after a while: lock not acquired",
	)
}

// If one of several locks is re-entered, they are requested one by one: the failed joint request is not reported.
func TestObserver_MultiReentry_NoRejection(t *testing.T) {
	t.Parallel()
	var d observerLog
	e := locktest.AnyServer(t).Open(lockwheel.Options{Observer: d.observer()})
	outer := locktest.Lock(t, e.Mutex("a"))
	inner, err := locktest.Multi(e, "a", "b").Lock(outer.Context())
	require.NoError(t, err)
	locktest.Unlock(t, inner)
	locktest.Unlock(t, outer)
	locktest.RequireIdle(t, e)
	d.requireLines(t,
		"a acquired after a while",
		"a acquired after a while",
		"b acquired after a while",
		"a released after a while",
		"b released after a while",
		"a released after a while",
	)
	require.Zero(t, e.Stats().Failed)
}

// An observer of losses alone also receives those that Unlock finds and those that Close causes.
func TestObserver_OnlyLost_EachLossNotified(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	var d observerLog
	e := s.Open(lockwheel.Options{Observer: lockwheel.Observer{Lost: d.observer().Lost}})
	hold := locktest.Lock(t, e.Mutex("deleted"))
	s.Do("DEL", "deleted")
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.Lock(t, e.Mutex("forced"))
	locktest.ForceUnlock(t, e.Mutex("forced"))
	locktest.Lock(t, e.Mutex("closed"))
	require.NoError(t, e.Close())
	require.Equal(t, []string{"deleted lost: lock lost", "forced lost: lock lost", "closed lost: engine closed"}, d.read(),
		"Close waits until it has been told")
}

// Of several locks, the loss of one is notified after their hold has ended.
func TestObserver_MultiLost_AfterDone(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	var all atomic.Pointer[lockwheel.Hold]
	ended := make(chan bool, 2)
	e := s.Open(lockwheel.Options{Observer: lockwheel.Observer{Lost: func(string, error) {
		select {
		case <-all.Load().Done():
			ended <- all.Load().Context().Err() != nil
		default:
			ended <- false
		}
	}}})
	for range 100 {
		hold := locktest.LockAll(t, locktest.Multi(e, "a", "b"))
		all.Store(hold)
		require.NoError(t, hold.Context().Err())
		locktest.ForceUnlock(t, e.Mutex("a"))
		require.True(t, locktest.Receive(t, ended))
		locktest.Eventually(t, "both to be released", func() bool { return e.Stats().Held == 0 })
	}
}

// An observer may call its engine and acquire locks of it.
func TestObserver_CallsEngine_Works(t *testing.T) {
	t.Parallel()
	var e *lockwheel.Engine
	opened, done := make(chan struct{}), make(chan error, 10)
	e = locktest.AnyServer(t).Open(lockwheel.Options{Observer: lockwheel.Observer{
		Acquired: func(name string, _ time.Duration) {
			<-opened
			if name != "n" {
				return
			}
			hold, err := e.Mutex("of the observer").Lock(context.Background())
			if err == nil {
				err = hold.Unlock(context.Background())
			}
			if e.Stats().Acquired < 2 {
				err = errors.New("its own lock is not counted")
			}
			done <- err
		},
		Lost: func(string, error) { done <- e.Shutdown(context.Background()) },
	}})
	close(opened)
	locktest.Lock(t, e.Mutex("n"))
	require.NoError(t, locktest.Receive(t, done))
	locktest.ForceUnlock(t, e.Mutex("n"))
	require.NoError(t, locktest.Receive(t, done))
	require.NoError(t, e.Close())
}

// An observer that blocks delays neither locks nor deadlines nor the end of the engine. Events that exceed its queue
// are counted.
func TestObserver_Blocks_EventsCounted(t *testing.T) {
	t.Parallel()
	blocks := make(chan struct{})
	block := func() { <-blocks }
	t.Cleanup(func() { close(blocks) })
	s := locktest.AnyServer(t)
	for name, end := range map[string]func(e *lockwheel.Engine) error{
		"Close":    func(e *lockwheel.Engine) error { return e.Close() },
		"Shutdown": func(e *lockwheel.Engine) error { return e.Shutdown(context.Background()) },
	} {
		e := s.Open(lockwheel.Options{
			CallTimeout: time.Second, // Close waits that long for the observer
			Logger:      slog.New(handlerFunc(func(slog.Record) { block() })),
			Observer: lockwheel.Observer{
				Acquired: func(string, time.Duration) { block() },
				Released: func(string, time.Duration) { block() },
				Lost:     func(string, error) { block() },
			},
		})
		m := e.Mutex(name)
		hold := locktest.LockBriefly(t, t.Context(), m, lockwheel.Lease(200*time.Millisecond))
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
		outer := locktest.LockWith(t, t.Context(), m)
		for range 5000 {
			locktest.Unlock(t, locktest.LockWith(t, outer.Context(), m))
		}
		require.NotZero(t, e.Stats().DroppedEvents)
		locktest.Unlock(t, outer)
		locker := e.Mutex(name + " of a Locker").Locker()
		locker.Lock()
		locktest.Eventually(t, "a reply to the force within CallTimeout", func() bool {
			_, err := e.Mutex(name + " of a Locker").ForceUnlock(t.Context())
			if err != nil {
				require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			}
			return err == nil
		})
		locker.Unlock() // the error is logged
		done := make(chan error, 1)
		go func() { done <- end(e) }()
		require.NoError(t, locktest.Receive(t, done))
	}
}

// After a panic, the observer and the log continue with the next event.
func TestObserver_Panics_NextEventDelivered(t *testing.T) {
	t.Parallel()
	var d observerLog
	var log locktest.LogBuffer
	text := slog.NewTextHandler(&log, nil)
	lost := d.observer().Lost
	e := locktest.AnyServer(t).Open(lockwheel.Options{
		Logger: slog.New(handlerFunc(func(r slog.Record) {
			_ = text.Handle(context.Background(), r)
			panic("the log's")
		})),
		Observer: lockwheel.Observer{
			Acquired: func(string, time.Duration) { panic("the observer's") },
			Lost: func(name string, err error) {
				lost(name, err)
				runtime.Goexit()
			},
		},
	})
	for range 3 {
		locktest.Lock(t, e.Mutex("n"))
		locktest.ForceUnlock(t, e.Mutex("n"))
	}
	d.requireLines(t, "n lost: lock lost", "n lost: lock lost", "n lost: lock lost")
	locktest.Eventually(t, "all counted", func() bool { return e.Stats().Panics >= 3+3+6 }) // and those of the log for each of them
	require.NoError(t, e.Close())
	require.Contains(t, log.String(), `msg="lockwheel: Options.Observer panicked" panic="the observer's"`)
	require.Contains(t, log.String(), "observer_test.go", "where")
}

// handlerFunc is a log handler.
type handlerFunc func(slog.Record)

func (f handlerFunc) Enabled(context.Context, slog.Level) bool { return true }

func (f handlerFunc) Handle(_ context.Context, r slog.Record) error {
	f(r)
	return nil
}

func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f handlerFunc) WithGroup(string) slog.Handler { return f }

// failedHandOffs counts the calls that are said to have been handed a lock, and have none.
type failedHandOffs struct{ atomic.Int32 }

func (*failedHandOffs) CallStart(ctx context.Context, _ lockwheel.TracedCall) context.Context {
	return ctx
}

func (f *failedHandOffs) CallEnd(_ context.Context, call lockwheel.TracedCall, hold *lockwheel.Hold, _ error) {
	if call.HandedOff && hold == nil {
		f.Add(1)
	}
}

// Callers give up while the lock is granted to them. An observer that counts holds never counts fewer than none, or two
// of one lock. No call without a hold is said to have been handed the lock.
func TestObserver_CallersGiveUp_GrantsBeforeReleases(t *testing.T) {
	t.Parallel()
	var held, grants, wrong int // the events come one at a time
	count := func(change int) {
		if held += change; held < 0 || held > 1 {
			wrong++
		}
	}
	s, tracer := locktest.AnyServer(t), &failedHandOffs{}
	e := s.Open(lockwheel.Options{Tracer: tracer, Observer: lockwheel.Observer{
		Acquired: func(string, time.Duration) { grants++; count(1) },
		Released: func(string, time.Duration) { count(-1) },
	}})
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 150 { // so few that no event is dropped
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				if hold, err := e.Mutex("n").Lock(ctx); err == nil {
					_ = hold.Unlock(t.Context())
				}
				cancel()
			}
		})
	}
	callers.Wait()
	require.NoError(t, e.Close())
	require.Positive(t, grants)
	require.Zero(t, wrong, "of %d grants", grants)
	require.Zero(t, tracer.Load(), "of %d grants", grants)
}

// An Observer is notified of each grant before the end of that hold, also if the hold ends at once: by a force, or
// because the context of the call ended in the moment of the grant.
func TestObserver_HoldEndsAtOnce_AcquiredFirst(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	var held, negative [2]atomic.Int64
	count := func(name string, by int64) {
		i := map[string]int{"n": 0, "o": 1}[name]
		if held[i].Add(by) < 0 {
			negative[i].Add(1)
		}
	}
	e := s.Open(lockwheel.Options{CallTimeout: 10 * time.Second, Observer: lockwheel.Observer{
		Acquired: func(name string, _ time.Duration) { count(name, 1) },
		Released: func(name string, _ time.Duration) { count(name, -1) },
		Lost:     func(name string, _ error) { count(name, -1) },
	}})
	began := time.Now()
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	roundTrips := min(time.Since(began), 10*time.Millisecond) // on a busy machine one may take far longer than the others
	for range 1000 {
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(roundTrips))
		if hold, err := e.Multi(e.Mutex("n"), e.Mutex("o")).Lock(ctx); err == nil {
			_ = hold.Unlock(t.Context())
		}
		cancel()
	}
	for range 300 {
		granted := locktest.Locking(t.Context(), e.Mutex("n"))
		<-time.After(rand.N(roundTrips)) // the force is to come with the grant
		_, err := e.Mutex("n").ForceUnlock(t.Context())
		require.NoError(t, err)
		if got := locktest.Receive(t, granted); got.Err == nil {
			_ = got.Hold.Unlock(t.Context())
		}
	}
	locktest.RequireIdle(t, e)
	locktest.Eventually(t, "the observer to be notified of all", func() bool { return held[0].Load() == 0 && held[1].Load() == 0 })
	require.Zero(t, negative[0].Load())
	require.Zero(t, negative[1].Load())
}
