package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Lock acquires a lock that must be available.
func Lock(t testing.TB, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	return LockWith(t, t.Context(), m, opts...)
}

// LockWith acquires a lock with a context that may carry an owner. The hold stays reachable until the test ends, so
// that a test may drop it and the engine does not take it for leaked.
func LockWith(t testing.TB, ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) *lockwheel.Hold {
	t.Helper()
	hold, err := m.Lock(ctx, append([]lockwheel.Option{lockwheel.Wait(patience)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { runtime.KeepAlive(hold) })
	return hold
}

// LockBriefly acquires a lock with a short lease. On a busy machine the reply may come after such a lease. Then there
// is no hold, and it tries again.
func LockBriefly(t testing.TB, ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) (hold *lockwheel.Hold) {
	t.Helper()
	Eventually(t, "a hold before its lease ends", func() bool {
		var err error
		hold, err = m.Lock(ctx, append([]lockwheel.Option{lockwheel.Wait(patience)}, opts...)...)
		if !errors.Is(err, lockwheel.ErrLost) {
			require.NoError(t, err)
		}
		return err == nil
	})
	t.Cleanup(func() { runtime.KeepAlive(hold) })
	return hold
}

// slowReply is less than each CallTimeout of a test in which a server replies.
const slowReply = 90 * time.Millisecond

// Unlock ends a hold that must be held. A busy machine may take longer for the reply than a short CallTimeout; then it
// waits for the reply to the same release.
func Unlock(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	began := time.Now()
	err := hold.Unlock(t.Context())
	if errors.Is(err, lockwheel.ErrUnavailable) && time.Since(began) >= slowReply {
		Eventually(t, "the reply to a release", func() bool {
			err = hold.Unlock(t.Context())
			return !errors.Is(err, lockwheel.ErrUnavailable)
		})
		if errors.Is(err, lockwheel.ErrNotHeld) { // it arrived between two calls
			return
		}
	}
	require.NoError(t, err)
}

// UnlockHold is Unlock for a server that may take longer than a short CallTimeout to reply. The engine sends the
// release until the server has replied, and is settled only then.
func UnlockHold(t testing.TB, hold *lockwheel.Hold) {
	t.Helper()
	if err := hold.Unlock(t.Context()); err != nil {
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	}
}

// StateFailed requires that a lock is not available.
func StateFailed(t testing.TB, m lockwheel.Mutex) {
	t.Helper()
	require.ErrorIs(t, untilReply(func() error { _, err := m.TryLock(t.Context()); return err }), lockwheel.ErrNotAcquired)
}

// untilReply repeats a call to which a busy machine replied too late, for patience at most.
func untilReply(call func() error) (err error) {
	for deadline := time.Now().Add(patience); ; {
		if err = call(); !errors.Is(err, lockwheel.ErrUnavailable) || time.Now().After(deadline) {
			return err
		}
	}
}

// RequireTaken requires that a call ends with ErrNotAcquired after its Wait, and not before, and returns that error. A
// busy machine may take longer for the reply that the lock is taken; then the wait is doubled.
func RequireTaken(t testing.TB, call func(wait lockwheel.Option) error) error {
	t.Helper()
	for wait := time.Second; ; wait *= 2 {
		began := time.Now()
		err := call(lockwheel.Wait(wait))
		took := time.Since(began)
		require.GreaterOrEqual(t, took, wait)
		require.Less(t, took, wait+TestDeadline)
		if !errors.Is(err, lockwheel.ErrUnavailable) || wait > TestDeadline {
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
			return err
		}
	}
}

// Outcome is what a Lock returned.
type Outcome struct {
	Hold *lockwheel.Hold
	Err  error
}

// Locking calls Lock of a Mutex or a Multi in a goroutine.
func Locking[M interface {
	Lock(ctx context.Context, opts ...lockwheel.Option) (*lockwheel.Hold, error)
}](ctx context.Context, m M, opts ...lockwheel.Option) <-chan Outcome {
	done := make(chan Outcome, 1)
	go func() {
		hold, err := m.Lock(ctx, opts...)
		done <- Outcome{hold, err}
	}()
	return done
}

// Granted waits for a Lock that must succeed.
func Granted(t testing.TB, done <-chan Outcome) *lockwheel.Hold {
	t.Helper()
	got := Receive(t, done)
	require.NoError(t, got.Err)
	return got.Hold
}

// Receive waits for a value that must arrive.
func Receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	return ReceiveWithin(t, patience, from)
}

// ReceiveWithin is Receive with a deadline of its own.
func ReceiveWithin[T any](t testing.TB, limit time.Duration, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(limit):
		require.FailNow(t, "nothing came")
		panic("not reached")
	}
}

// LateTimer is how late a timer may be on a busy machine. A process was once observed to stand still for most of a
// second, and a server with it.
const LateTimer = 2 * time.Second

// NotifiedAt returns the time at which Done of a hold is closed.
func NotifiedAt(hold *lockwheel.Hold) <-chan time.Time {
	told := make(chan time.Time, 1)
	go func() {
		<-hold.Done()
		told <- time.Now()
	}()
	return told
}

// RequireLost requires that a hold is lost, and that its Done was closed within its lease. The lease counts from the
// last time at which the server can have had the lock.
func RequireLost(t testing.TB, hold *lockwheel.Hold, told <-chan time.Time, last time.Time, lease time.Duration) (took time.Duration) {
	t.Helper()
	took = Receive(t, told).Sub(last)
	require.Less(t, took, lease+LateTimer, hold.Name())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
	return took
}

// RequireNoReply requires that no value arrives for a while.
func RequireNoReply[T any](t testing.TB, from <-chan T, d time.Duration) {
	t.Helper()
	select {
	case got := <-from:
		require.FailNow(t, "came too early", "%+v", got)
	case <-time.After(d):
	}
}

// Eventually waits until a condition is true. It checks it on the goroutine of the test, so that a check may end the
// test.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	CheckRange(t, patience, what, is)
}

// CheckRange is Eventually with another deadline.
func CheckRange(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			require.FailNow(t, "in vain: "+what)
		}
	}
}

// Always requires that a condition stays true for a while.
func Always(t testing.TB, d time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		require.True(t, is(), what)
	}
}

// Queued waits until n requests of an engine have no result yet.
func Queued(t testing.TB, e *lockwheel.Engine, n int64) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d requests waiting", n), func() bool { return e.Stats().Waiting == n })
}

// RequireWaiting waits until n requests wait, and only a message can wake them.
func RequireWaiting(t testing.TB, e *lockwheel.Engine, n, channels int64) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%d requests asleep on %d channels", n, channels), func() bool {
		s := e.Stats()
		return s.Waiting == n && s.Subscriptions == channels && s.InFlight == 0
	})
}

// Listens reports whether a request of an engine without subscriptions waits for a holder that the server has
// reported.
func Listens(e *lockwheel.Engine) bool {
	s := e.Stats()
	return s.Waiting > 0 && s.Subscriptions > 0 && s.InFlight == 0
}

// RequireCanceled requires that a call has ended because its context was canceled with ErrTest, and that its error says
// nothing else.
func RequireCanceled(t testing.TB, err error) {
	t.Helper()
	require.ErrorIs(t, err, ErrTest)
	require.True(t, errors.Is(err, lockwheel.ErrNotAcquired) || errors.Is(err, lockwheel.ErrUnavailable), "%v", err)
	for _, other := range []error{lockwheel.ErrLost, lockwheel.ErrNotHeld, lockwheel.ErrNotReplicated, lockwheel.ErrClosed} {
		require.NotErrorIs(t, err, other)
	}
}

// RequireIdle waits until an engine holds nothing, requests nothing and has nothing in flight. A fair acquire without a
// reply is released once more after two Timeouts, which is longer than most waits of tests.
func RequireIdle(t testing.TB, e *lockwheel.Engine) {
	t.Helper()
	CheckRange(t, 3*patience, "an engine with nothing left to do", func() bool {
		s := e.Stats()
		return s.Held == 0 && s.Waiting == 0 && s.InFlight == 0 && s.Subscriptions == 0 && s.Timers == 0
	})
}

func RequireLocked(t *testing.T, m lockwheel.Mutex, want bool) {
	t.Helper()
	var got bool
	require.NoError(t, untilReply(func() (err error) { got, err = m.IsLocked(t.Context()); return err }))
	require.Equal(t, want, got)
}

func RequireCount(t *testing.T, ctx context.Context, m lockwheel.Mutex, want int) {
	t.Helper()
	var got int
	require.NoError(t, untilReply(func() (err error) { got, err = m.HoldCount(ctx); return err }))
	require.Equal(t, want, got)
}

// Skew is how much the clocks of this process and of the server may differ over a short lease. Both count in
// milliseconds, and that of the embedded server moves in steps.
const Skew = 10 * time.Millisecond

func RequireTTL(t *testing.T, m lockwheel.Mutex, least, most time.Duration) {
	t.Helper()
	var ttl time.Duration
	require.NoError(t, untilReply(func() (err error) { ttl, err = m.TTL(t.Context()); return err }))
	require.GreaterOrEqual(t, ttl, least)
	require.LessOrEqual(t, ttl, most)
}

// FlashLease is a lease that is meant to expire early now and then.
const FlashLease = 1200 * time.Millisecond

func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func IsClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Behind returns a site, and an engine that connects to it through a proxy.
func Behind(t *testing.T, opts lockwheel.Options) (*Server, *proxy.Proxy, *lockwheel.Engine) {
	t.Helper()
	s := RealServer(t)
	p := proxy.Start(t, s.Addr)
	return s, p, s.OpenAt(p.Addr(), opts)
}

// TakingAsync is locking through LockAsync.
func TakingAsync(ctx context.Context, m lockwheel.Mutex, opts ...lockwheel.Option) <-chan Outcome {
	done := make(chan Outcome, 1)
	p := m.LockAsync(ctx, opts...)
	go func() {
		<-p.Done()
		hold, err := p.Hold()
		done <- Outcome{hold, err}
	}()
	return done
}

// polling is the name of a test, or of a subtest, in which all engines poll. Redisson's spin lock is a plain lock
// with clients that poll.
const polling = "polling"

// Polls reports whether the engines of a test must poll.
func Polls(t testing.TB) bool { return strings.HasSuffix(t.Name(), "/"+polling) }

// OnEachNotify runs a test of the plain lock with engines that subscribe, and with engines that poll.
func OnEachNotify(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for _, name := range []string{"listening", polling} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func ForceUnlock(t *testing.T, m lockwheel.Mutex) {
	t.Helper()
	was, err := m.ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, was)
}

// Unlocking unlocks a hold in a goroutine.
func Unlocking(ctx context.Context, hold *lockwheel.Hold) <-chan error {
	unlocked := make(chan error, 1)
	go func() { unlocked <- hold.Unlock(ctx) }()
	return unlocked
}

// OutcomeOf waits for the result of a LockAsync.
func OutcomeOf(t *testing.T, p *lockwheel.Pending) (*lockwheel.Hold, error) {
	Receive(t, p.Done())
	return p.Hold()
}

// Answer is the result of an Unlock, and its time.
type Answer struct {
	Err error
	At  time.Time
}

// UnlockingLater unlocks after a while, and repeats that until there is a reply.
func UnlockingLater(ctx context.Context, hold *lockwheel.Hold, after time.Duration) <-chan Answer {
	done := make(chan Answer, 1)
	go func() {
		Pause(ctx, after)
		for {
			err := hold.Unlock(ctx)
			if !errors.Is(err, lockwheel.ErrUnavailable) {
				if errors.Is(err, lockwheel.ErrNotHeld) {
					err = nil // the first try had succeeded
				}
				done <- Answer{err, time.Now()}
				return
			}
		}
	}()
	return done
}

// Longer is a lease that outlives every test.
const Longer = 10 * time.Minute

func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the first collection clears what pools keep for one more cycle
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// User is the user of a scene's engines. The test has another one, so that it keeps its permissions.
const (
	User     = "limited"
	Password = "secret"
	allRules = "~* &* +@all"
)
