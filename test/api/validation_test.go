package api_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// invalidDurations are durations that every call rejects.
var invalidDurations = []time.Duration{
	math.MinInt64, -time.Hour, -1, 1, time.Millisecond - 1, // 0 has its own meaning
	10*365*24*time.Hour + 1, 1 << 53 * time.Microsecond, math.MaxInt64,
}

// An invalid lease or wait is an error, and nothing is sent.
func TestDurations_Invalid_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	m := e.Mutex("n")
	for _, d := range append([]time.Duration{0}, invalidDurations...) {
		for _, call := range locktest.Locks(m) {
			_, err := call(t.Context(), lockwheel.Lease(d))
			require.ErrorContains(t, err, "Lease of", d)
			require.ErrorContains(t, err, `"n"`)
		}
	}
	for _, d := range invalidDurations {
		if d < time.Millisecond {
			continue // the rest of a deadline may be that short, or negative: see below
		}
		for _, call := range locktest.Locks(m) {
			_, err := call(t.Context(), lockwheel.Wait(d))
			require.ErrorContains(t, err, "Wait of", d)
		}
	}
	require.Zero(t, e.Stats().Commands)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// A zero or negative Wait tries once. A very short positive one, as what is left of a budget can be, waits for 1 ms.
func TestWait_ZeroOrNegative_TriesOnce(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(locktest.SlowTimeouts).Mutex("n")
	other := s.Open(locktest.SlowTimeouts).Mutex("n")
	for _, d := range []time.Duration{math.MinInt64, -time.Hour, -1, 0} {
		for _, call := range locktest.Locks(m) {
			hold, err := call(t.Context(), lockwheel.Wait(d))
			require.NoError(t, err, d)
			before := time.Now()
			_, err = other.Lock(t.Context(), lockwheel.Wait(d))
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			require.Less(t, time.Since(before), locktest.TestDeadline)
			locktest.Unlock(t, hold)
		}
	}
	hold := locktest.Lock(t, m)
	for _, d := range []time.Duration{1, time.Microsecond, time.Millisecond} {
		_, err := other.Lock(t.Context(), lockwheel.Wait(d))
		require.True(t, errors.Is(err, lockwheel.ErrNotAcquired) || errors.Is(err, lockwheel.ErrUnavailable), "the server can take longer: %v", err)
	}
	locktest.Unlock(t, hold)
}

// The longest and the shortest valid durations work.
func TestDurations_LongestAndShortest_Work(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	m := s.Open(lockwheel.Options{}).Mutex("n")
	const tenYears = 10 * 365 * 24 * time.Hour
	hold := locktest.Lock(t, m, lockwheel.Lease(tenYears), lockwheel.Wait(tenYears))
	require.Greater(t, s.PTTL("n"), tenYears-time.Minute)
	require.Greater(t, time.Until(hold.Deadline()), tenYears-time.Hour)
	locktest.Unlock(t, hold)
	for range 20 {
		hold, err := m.Lock(t.Context(), lockwheel.Lease(time.Millisecond))
		if err == nil { // the hold has ended, or ends soon
			locktest.Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			continue
		}
		require.ErrorIs(t, err, lockwheel.ErrLost)
	}
	locktest.Eventually(t, "no key", func() bool { return !s.Exists("n") })
}

// Every call of a lock with a zero value, an empty name or a name that is too long returns an error.
func TestLock_Unusable_Error(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	prefixed := s.Open(lockwheel.Options{Prefix: "prefix:"})
	for want, m := range map[string]lockwheel.Mutex{
		"zero Mutex":                  {},
		"zero Engine":                 new(lockwheel.Engine).Mutex("n"),
		"must not be empty":           e.Mutex(""),
		"must not be longer":          e.Mutex(strings.Repeat("x", 64<<10+1)),
		"65536 bytes with its prefix": prefixed.Mutex(strings.Repeat("x", 64<<10-6)),
	} {
		for what, err := range locktest.AllCalls(t.Context(), m) {
			require.ErrorContains(t, err, want, what)
			require.Equal(t, want == "zero Engine", errors.Is(err, lockwheel.ErrClosed), what)
			require.Less(t, len(err.Error()), 1000, what)
		}
	}
	require.Zero(t, e.Stats().Commands)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Every call with a nil context returns an error and sends nothing.
func TestContext_Nil_Error(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	for what, err := range locktest.AllCalls(locktest.NoContext, e.Mutex("n")) {
		require.ErrorContains(t, err, "nil context", what)
	}
	require.ErrorContains(t, e.Shutdown(locktest.NoContext), "nil context")
	require.ErrorContains(t, locktest.Second(lockwheel.Open(locktest.NoContext, lockwheel.Options{})), "nil context")
	require.ErrorContains(t, locktest.Second(lockwheel.Dial(locktest.NoContext, "redis://127.0.0.1:6379")), "nil context")
	require.Zero(t, e.Stats().Commands)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n"))) // the engine still works
}

// A call with an ended context returns its cause and sends nothing.
func TestContext_Ended_NothingSent(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e := s.Open(lockwheel.Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(locktest.ErrTest)
	for what, err := range locktest.AllCalls(ctx, e.Mutex("n")) {
		require.ErrorIs(t, err, locktest.ErrTest, what)
		require.ErrorContains(t, err, `"n"`, what)
	}
	require.Zero(t, e.Stats().Commands)
	require.Equal(t, int64(0), s.Do("DBSIZE"))
	require.ErrorIs(t, locktest.Second(lockwheel.Open(ctx, lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}}})), locktest.ErrTest)
}

// Redisson's testName for the plain lock: any bytes are a name, and the channel is the one that Redisson uses.
func TestName_AnyBytes_Works(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, elsewhere := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	for name, channel := range map[string]string{
		"a":                         "redisson_lock__channel:{a}",
		"{a}b":                      "redisson_lock__channel:{a}b",
		"a{b}c":                     "redisson_lock__channel:a{b}c",
		"a{b":                       "redisson_lock__channel:a{b",
		"a}b":                       "redisson_lock__channel:{a}b}",
		"{}x":                       "redisson_lock__channel:{}x",
		"{":                         "redisson_lock__channel:{",
		"}":                         "redisson_lock__channel:{}}",
		"nul\x00nul":                "redisson_lock__channel:{nul\x00nul}",
		"line\r\nline\n":            "redisson_lock__channel:{line\r\nline\n}",
		" ":                         "redisson_lock__channel:{ }",
		"ünï©ødé":                   "redisson_lock__channel:{ünï©ødé}",
		"\xff\xfe":                  "redisson_lock__channel:{\xff\xfe}",
		"%s%d*[a-z]?":               "redisson_lock__channel:{%s%d*[a-z]?}",
		strings.Repeat("x", 64<<10): "redisson_lock__channel:{" + strings.Repeat("x", 64<<10) + "}",
	} {
		hold := locktest.Lock(t, here.Mutex(name))
		require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash(name))
		waiting := locktest.Locking(t.Context(), elsewhere.Mutex(name))
		locktest.Eventually(t, "a listener of "+channel[:min(len(channel), 50)], func() bool {
			count := s.Do("PUBSUB", "NUMSUB", channel).([]any)
			return count[1] == int64(1) && elsewhere.Stats().InFlight == 0
		})
		locktest.Unlock(t, hold)
		next := locktest.Granted(t, waiting) // woken by the message: the lease is far longer
		locktest.ForceUnlock(t, here.Mutex(name))
		require.ErrorIs(t, next.Unlock(t.Context()), lockwheel.ErrLost)
		require.False(t, s.Exists(name))
	}
}

// Zero values return errors, and nothing blocks.
func TestZeroValues_Calls_ReturnErrors(t *testing.T) {
	t.Parallel()
	var hold lockwheel.Hold
	locktest.Receive(t, hold.Done())
	locktest.Receive(t, hold.Context().Done())
	for what, err := range map[string]error{
		"Err":           hold.Err(),
		"Unlock":        hold.Unlock(t.Context()),
		"Extend":        hold.Extend(t.Context(), time.Second),
		"the context's": context.Cause(hold.Context()),
	} {
		require.ErrorIs(t, err, lockwheel.ErrNotHeld, what)
		require.ErrorContains(t, err, "zero Hold", what)
	}
	require.Zero(t, hold.Name())
	require.Zero(t, hold.ID())
	require.Zero(t, hold.Token())
	require.Zero(t, hold.Deadline())
	unlocked := hold.Unlock(locktest.NoContext)
	require.ErrorContains(t, unlocked, "nil context")
	require.ErrorIs(t, unlocked, lockwheel.ErrNotHeld, "and what an Unlock with a context says")
	require.ErrorContains(t, hold.Extend(locktest.NoContext, 0), "nil context")

	var pending lockwheel.Pending
	locktest.Receive(t, pending.Done())
	pending.Cancel()
	require.ErrorContains(t, locktest.Second(pending.Hold()), "zero Pending")

	var e lockwheel.Engine
	require.Zero(t, e.ID())
	require.Zero(t, e.Stats())
	for _, m := range []lockwheel.Multi{e.Multi(e.Mutex("a"), e.Mutex("b")), lockwheel.Quorum(e.Mutex("a"))} {
		err := locktest.Second(m.Lock(t.Context()))
		require.ErrorContains(t, err, "zero Engine")
		require.ErrorIs(t, err, lockwheel.ErrClosed)
	}
	require.ErrorContains(t, locktest.Second(e.RWMutex("n").Lock(t.Context())), "zero Engine")
	for range 2 {
		require.NoError(t, e.Shutdown(t.Context()))
		require.NoError(t, e.Close())
	}
}
