package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// embeddedAddr starts a server, for one input or for all inputs of a target.
func embeddedAddr(t testing.TB) string {
	t.Helper()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server.Addr()
}

// fuzzTimeout is not less than a busy machine may take to fill all batches without a reply.
const fuzzTimeout = 1500 * time.Millisecond

// openFuzzed opens an engine with a short CallTimeout and a long lease. The engine is idle only when it has released a
// command without a reply once more, one CallTimeout later. The embedded server subtracts a part of a pause from a
// lease that begins after it.
func openFuzzed(t testing.TB, addr string) *lockwheel.Engine {
	t.Helper()
	return locktest.OpenRetrying(t, lockwheel.Options{
		Redis:       rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true},
		Lease:       time.Minute,
		CallTimeout: fuzzTimeout,
	})
}

// forgetAll removes what an earlier input left behind: after a false reply to a release a key stays until its lease
// expires.
func forgetAll(t *testing.T, addr string) {
	t.Helper()
	probe, err := redistest.Dial(addr)
	require.NoError(t, err)
	defer probe.Close()
	_, err = probe.Do("FLUSHALL")
	require.NoError(t, err)
}

// The server sends malformed replies about one lock of any kind, in every form and position. The first byte is the
// kind.
func FuzzALyingServer(f *testing.F) {
	for i, seed := range []string{
		"", "\x00\x00\x01", "\x00\x0b\x03\x00\x08\x04\x20", "\x01\x03\x00", "\x01\x03\x02", "\x01\x0a\x04\x00\x00\x00\x00",
		"\x02", "\x03\x00\x01", "\x00\x03\x02", "\x00\x0a\x02\x00\x08\x06\x00", "\x00\x0a\x03\x00\x01\x00\x09\x00\x08", "\x01\x0d\x04",
		"\x00\x05\x01\x00\x07\x00", "\x00\x04\xff\x00\x08\x00\x00\x09\x00", "\x01\x03\x08\x01\x03\x09\x01\x03\x0d",
	} {
		f.Add(append([]byte{byte(i)}, seed...))
		f.Add(append([]byte{byte(i + 2)}, seed...))
	}
	f.Fuzz(func(t *testing.T, lies []byte) {
		first := fuzzReply{lies}
		every := slices.Sorted(maps.Keys(locktest.Grantable()))
		kindName := every[int(first.next())%len(every)]
		kind := locktest.Grantable()[kindName]
		lies = first.bytes
		t.Parallel()
		s := startMalformedServer(t, embeddedAddr(t))
		e := openFuzzed(t, s.addr())
		harmless := true // for the other locks of the batch
		s.mutates(func(n, _ int) ([]byte, mutation) {
			v := fuzzReply{lies[min(n*3, len(lies)):]}
			about := mutation(v.next() % 4)
			harmless = harmless && about != wholly && about != cutShort
			return v.reply(2), about
		})
		left, right, unlocked := besideTheTarget(t, s, e, kind, batchesOf(kindName))
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		hammer(ctx, kind(e, targetLock))
		cancel()
		s.mutates(nil)
		for _, done := range []<-chan locktest.Outcome{left, right} {
			got := locktest.Receive(t, done)
			if harmless {
				require.NoError(t, got.Err, "a neighbour")
			}
			if got.Err == nil {
				_ = got.Hold.Unlock(t.Context())
			}
		}
		if harmless {
			require.NoError(t, unlocked, "a neighbour's release")
		}
		locktest.UnlockHold(t, locktest.Lock(t, kind(e, "next")))
		locktest.RequireIdle(t, e)
	})
}

// batchesOf returns the maximum number of batches of acquires in flight: further acquires wait for the next batch.
// Those of fair locks keep an order.
func batchesOf(kindName string) int {
	if kindName == "fair" {
		return 1
	}
	return 8
}

// besideTheTarget fills that many batches, requests the suspect and two other locks in the next one, and uses the
// suspect in every way.
func besideTheTarget(t *testing.T, s *malformedServer, e *lockwheel.Engine, kind locktest.KindOfLock, most int) (left, right <-chan locktest.Outcome, unlocked error) {
	t.Helper()
	speak := s.delayReplies()
	began := time.Now()
	var fill []<-chan locktest.Outcome
	for i := range most {
		fill = append(fill, locktest.Locking(t.Context(), kind(e, fmt.Sprint("fill", i))))
		// If it takes longer nevertheless, the first calls had no reply in time. All are granted later.
		locktest.Eventually(t, "under way", func() bool {
			return e.Stats().InFlight == int64(i+1) || time.Since(began) > fuzzTimeout
		})
	}
	wait := lockwheel.Wait(locktest.TestDeadline)
	left = locktest.Locking(t.Context(), kind(e, "left"), wait)
	locktest.Queued(t, e, int64(most+1))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	middle := locktest.Locking(ctx, kind(e, targetLock))
	locktest.Queued(t, e, int64(most+2))
	right = locktest.Locking(t.Context(), kind(e, "right"), wait)
	locktest.Queued(t, e, int64(most+3))
	speak()
	time.AfterFunc(20*time.Millisecond, leave)
	if got := locktest.Receive(t, middle); got.Err == nil {
		_ = got.Hold.Extend(ctx, time.Second)
		_ = got.Hold.Unlock(ctx)
	}
	for _, done := range fill {
		if err := locktest.Granted(t, done).Unlock(t.Context()); !errors.Is(err, lockwheel.ErrUnavailable) { // it is sent until there is a reply
			unlocked = errors.Join(unlocked, err)
		}
	}
	return left, right, unlocked
}

// hammer calls all methods that ask the server, until ctx ends.
func hammer(ctx context.Context, m lockwheel.Mutex) {
	for _, call := range locktest.Locks(m) {
		if hold, err := call(ctx); err == nil {
			_ = hold.Extend(ctx, 0)
			_ = hold.Unlock(ctx)
		}
	}
	_, _ = m.State(ctx)
	_, _ = m.ForceUnlock(ctx)
	_ = m.Do(ctx, func(context.Context) error { return nil })
}

// Any bytes are a name or cause an error; so do any options.
func FuzzNamesAndOptions(f *testing.F) {
	for i, name := range []string{"", "n", "{", "}", "a{b}c", "{}", "a\x00b", "\xff\xfe", "ü", " ", "\r\n", "*", strings.Repeat("x", 1000)} {
		kind := byte(i)
		f.Add(name, "p:", int64(time.Second), int64(0), []byte{kind})
		f.Add(name, "", int64(-1), int64(time.Millisecond), []byte{kind, 1, 0x9e, 0x98, 0xa0, 0xa2, 0x98}) // all valid
		f.Add(name, "{", int64(1<<63-1), int64(-1<<63), []byte{kind, 2, 0xff, 0xbf, 0xbe, 0xc0, 0x80, 0xbe, 5})
		f.Add(name, "", int64(0), int64(1), []byte{kind, 0, 0, 0x95, 0x94, 0, 0, 0, 0xff})
	}
	addr := embeddedAddr(f)
	f.Fuzz(func(t *testing.T, name, prefix string, lease, wait int64, more []byte) {
		forgetAll(t, addr)
		v := fuzzReply{more}
		every := slices.Sorted(maps.Keys(locktest.Grantable()))
		kind := locktest.Grantable()[every[int(v.next())%len(every)]]
		opts := lockwheel.Options{
			Redis:           rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true},
			Prefix:          prefix,
			Lease:           time.Duration(lease),
			Notify:          lockwheel.Notify(v.next() % 4),
			RenewInterval:   v.duration(),
			CallTimeout:     v.duration(),
			MaxHold:         v.duration(),
			FairWaitTimeout: v.duration(),
			Handoff:         lockwheel.Handoff{MaxDuration: v.duration(), MaxGrants: int(int8(v.next()))},
			Replicas:        lockwheel.Replicas{Timeout: v.duration(), Min: int(int8(v.next()))},
		}
		e, err := lockwheel.Open(t.Context(), opts)
		if err != nil {
			require.True(t, opts.CallTimeout > 0 || strings.Contains(err.Error(), "Options."), "%v", err)
			return
		}
		defer e.Close()
		m := kind(e, name)
		hold, err := m.TryLock(t.Context(), lockwheel.Lease(time.Duration(lease)), lockwheel.Wait(min(time.Duration(wait), time.Second)))
		if err != nil {
			require.NotErrorIs(t, err, lockwheel.ErrNotAcquired, "it is free")
			require.NotContains(t, err.Error(), "\n", "one line")
			return
		}
		brief := lease != 0 || opts.MaxHold > 0 || opts.CallTimeout > 0
		state, err := m.State(t.Context())
		require.True(t, err == nil || brief || errors.Is(err, lockwheel.ErrUnavailable), "%v", err)
		require.True(t, !state.Locked || state.Owner == hold.ID())
		for err = hold.Unlock(t.Context()); errors.Is(err, lockwheel.ErrUnavailable); { // a short lease means a short CallTimeout
			err = hold.Unlock(t.Context())
		}
		over := errors.Is(err, lockwheel.ErrLost) && !time.Now().Before(hold.Deadline())
		released := errors.Is(err, lockwheel.ErrNotHeld) // the reply arrived between two calls
		require.True(t, err == nil || over || released || brief, "%v", err)
	})
}

// duration returns 0, or a power of two of either sign, from 1 ns to an overflow.
func (v *fuzzReply) duration() time.Duration {
	b := v.next()
	switch {
	case b < 0x80:
		return 0
	case b < 0xc0:
		return 1 << (b & 0x3f)
	}
	return -1 << (b & 0x3f)
}

// Messages are hints: whatever they contain, they neither admit nor block a waiter or any other caller.
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
		hold, other := locktest.Lock(t, holder.Mutex("n")), locktest.Lock(t, holder.Mutex("m"))
		waiting, neighbour := locktest.Locking(t.Context(), waiter.Mutex("n")), locktest.Locking(t.Context(), waiter.Mutex("m"))
		locktest.RequireWaiting(t, waiter, 2, 2)
		for range 3 {
			_, _ = probe.Do("PUBLISH", "redisson_lock__channel:{n}", payload)
			_, _ = probe.Do("PUBLISH", channel, payload)
		}
		locktest.RequireNoReply(t, waiting, 2*time.Millisecond)
		locktest.RequireNoReply(t, neighbour, time.Millisecond)
		locktest.Unlock(t, hold)
		locktest.Unlock(t, locktest.Granted(t, waiting))
		locktest.Unlock(t, other)
		locktest.Unlock(t, locktest.Granted(t, neighbour))
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
