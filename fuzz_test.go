package lockwheel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Whatever comes in: nothing panics, nothing hangs, and the next lock is none the worse for it. What is found stays in testdata
// and runs with the other tests.

// embeddedAddr starts one server for all inputs of a target.
func embeddedAddr(f *testing.F) string {
	f.Helper()
	server, err := embedded.Start()
	require.NoError(f, err)
	f.Cleanup(server.Close)
	return server.Addr()
}

// openFuzzed opens an engine with a short Timeout, and a long lease: the embedded server takes a little of a pause off one that begins
// after it.
func openFuzzed(t testing.TB, addr string) *lockwheel.Engine {
	t.Helper()
	return opened(t, lockwheel.Options{
		Redis:   rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true},
		Lease:   time.Minute,
		Timeout: 500 * time.Millisecond,
	})
}

// forgetAll forgets what an earlier input left behind: a lie about a release leaves a key to its lease.
func forgetAll(t *testing.T, addr string) {
	t.Helper()
	probe, err := redistest.Dial(addr)
	require.NoError(t, err)
	defer probe.Close()
	_, err = probe.Do("FLUSHALL")
	require.NoError(t, err)
}

// A server that answers nonsense about one lock, in every form, in every position.
func FuzzALyingServer(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x00\x01", "\x00\x0b\x03\x00\x08\x04\x20", "\x01\x03\x00", "\x01\x03\x02", "\x01\x0a\x04\x00\x00\x00\x00",
		"\x02", "\x03\x00\x01", "\x00\x03\x02", "\x00\x0a\x02\x00\x08\x06\x00", "\x00\x0a\x03\x00\x01\x00\x09\x00\x08", "\x01\x0d\x04",
		"\x00\x05\x01\x00\x07\x00", "\x00\x04\xff\x00\x08\x00\x00\x09\x00", "\x01\x03\x08\x01\x03\x09\x01\x03\x0d",
	} {
		f.Add([]byte(seed))
	}
	addr := embeddedAddr(f)
	f.Fuzz(func(t *testing.T, lies []byte) {
		forgetAll(t, addr)
		s := startLiar(t, addr)
		e := openFuzzed(t, s.addr())
		harmless := true // for the neighbours
		s.lies(func(n, _ int) ([]byte, lieKind) {
			v := invention{lies[min(n*3, len(lies)):]}
			kind := lieKind(v.next() % 4)
			harmless = harmless && kind != wholly && kind != cutShort
			return v.reply(2), kind
		})
		left, right := besideTheSuspect(t, s, e)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		pester(ctx, e.Mutex(suspect))
		cancel()
		s.lies(nil)
		for _, done := range []<-chan outcome{left, right} {
			got := receive(t, done)
			if harmless {
				require.NoError(t, got.err, "a neighbour")
			}
			if got.err == nil {
				_ = got.hold.Unlock(t.Context())
			}
		}
		giveBack(t, lock(t, e.Mutex("next")))
		settled(t, e)
	})
}

// besideTheSuspect asks for the suspect and two others in one batch, and does with the suspect what can be done.
func besideTheSuspect(t *testing.T, s *liar, e *lockwheel.Engine) (left, right <-chan outcome) {
	t.Helper()
	const most = couriers
	speak := s.hesitates()
	var fill []<-chan outcome
	for i := range most {
		fill = append(fill, locking(t.Context(), e.Mutex(fmt.Sprint("fill", i))))
		eventually(t, "under way", func() bool { return e.Stats().InFlight == int64(i+1) })
	}
	wait := lockwheel.Wait(patience)
	left = locking(t.Context(), e.Mutex("left"), wait)
	queued(t, e, most+1)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	middle := locking(ctx, e.Mutex(suspect))
	queued(t, e, most+2)
	right = locking(t.Context(), e.Mutex("right"), wait)
	queued(t, e, most+3)
	speak()
	time.AfterFunc(20*time.Millisecond, leave)
	if got := receive(t, middle); got.err == nil {
		_ = got.hold.Extend(ctx, time.Second)
		_ = got.hold.Unlock(ctx)
	}
	for _, done := range fill {
		giveBack(t, granted(t, done))
	}
	return left, right
}

// pester calls what asks the server, for as long as ctx allows.
func pester(ctx context.Context, m lockwheel.Mutex) {
	for _, call := range locks(m) {
		if hold, err := call(ctx); err == nil {
			_ = hold.Extend(ctx, 0)
			_ = hold.Unlock(ctx)
		}
	}
	_, _ = m.State(ctx)
	_, _ = m.ForceUnlock(ctx)
	_ = m.Do(ctx, func(context.Context) error { return nil })
}

// couriers is how many batches an engine has under way at most: what comes then waits for the next one.
const couriers = 8

// Any bytes are a name, or an error; and so are any durations.
func FuzzNamesAndOptions(f *testing.F) {
	for _, name := range []string{"", "n", "{", "}", "a{b}c", "{}", "a\x00b", "\xff\xfe", "ü", " ", "\r\n", "*", strings.Repeat("x", 1000)} {
		f.Add(name, "p:", int64(time.Second), int64(0))
		f.Add(name, "", int64(-1), int64(time.Millisecond))
		f.Add(name, "{", int64(1<<63-1), int64(-1<<63))
		f.Add(name, "", int64(0), int64(1))
	}
	addr := embeddedAddr(f)
	f.Fuzz(func(t *testing.T, name, prefix string, lease, wait int64) {
		e, err := lockwheel.Open(t.Context(), lockwheel.Options{
			Redis:  rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true},
			Prefix: prefix,
			Lease:  max(time.Duration(lease), 0),
		})
		if err != nil {
			require.True(t, lease != 0 || len(prefix) > 60000, "%v", err)
			return
		}
		defer e.Close()
		m := e.Mutex(name)
		opts := []lockwheel.Option{lockwheel.Lease(time.Duration(lease)), lockwheel.Wait(min(time.Duration(wait), time.Second))}
		hold, err := m.TryLock(t.Context(), opts...)
		if err != nil {
			require.False(t, errors.Is(err, lockwheel.ErrNotAcquired), "nobody has it")
			require.LessOrEqual(t, strings.Count(err.Error(), "\n"), 0, "one line: %q", err)
			return
		}
		state, err := m.State(t.Context())
		require.NoError(t, err)
		require.True(t, !state.Locked || state.Owner == hold.ID())
		err = hold.Unlock(t.Context())
		require.True(t, err == nil || lease < int64(time.Second), "%v", err)
	})
}

// Messages are hints: whatever is in them, a waiter is neither let in by one nor kept out, and nor is anybody else.
func FuzzMessages(f *testing.F) {
	for _, payload := range []string{"0", "1", "", "-1", "x", "9223372036854775808", "\x00", "{}", strings.Repeat("0", 5000)} {
		f.Add(payload, "redisson_lock__channel:{n}")
		f.Add(payload, "redisson_lock__channel:{m}")
		f.Add(payload, "")
	}
	addr := embeddedAddr(f)
	holder, waiter := openShared(f, addr), openShared(f, addr)
	f.Fuzz(func(t *testing.T, payload, channel string) {
		probe, err := redistest.Dial(addr)
		require.NoError(t, err)
		defer probe.Close()
		hold, other := lock(t, holder.Mutex("n")), lock(t, holder.Mutex("m"))
		waiting, neighbour := locking(t.Context(), waiter.Mutex("n")), locking(t.Context(), waiter.Mutex("m"))
		asleep(t, waiter, 2, 2)
		for range 3 {
			_, _ = probe.Do("PUBLISH", "redisson_lock__channel:{n}", payload)
			_, _ = probe.Do("PUBLISH", channel, payload)
		}
		silent(t, waiting, 2*time.Millisecond)
		silent(t, neighbour, time.Millisecond)
		unlock(t, hold)
		unlock(t, granted(t, waiting))
		unlock(t, other)
		unlock(t, granted(t, neighbour))
		require.Zero(t, waiter.Stats().Lost)
	})
}

// openShared opens an engine for all inputs of a target.
func openShared(f *testing.F, addr string) *lockwheel.Engine {
	f.Helper()
	e, err := lockwheel.Open(context.Background(), lockwheel.Options{
		Redis: rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true},
	})
	require.NoError(f, err)
	f.Cleanup(func() { e.Close() })
	return e
}
