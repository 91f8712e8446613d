package api_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// known waits until an engine has its record, and listens to its own channel.
func known(t *testing.T, s *locktest.Server, e *lockwheel.Engine) {
	t.Helper()
	locktest.Eventually(t, "a record", func() bool { return s.Exists("lockwheel:engine:" + e.ID()) })
	locktest.Eventually(t, "its own channel", func() bool {
		return s.Do("PUBLISH", "lockwheel:engine:"+e.ID(), "nothing") == int64(1)
	})
}

func TestHolder_OtherEngine_NamedWithSince(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s := locktest.RealServer(t)
		there, here := s.Open(lockwheel.Options{Name: "there", PageAddress: "http://there/"}), s.Open(lockwheel.Options{Name: "here"})
		began := time.Now()
		hold := locktest.Lock(t, mutex(there, "n"))
		granted := time.Now()
		known(t, s, there)
		locktest.Pause(t.Context(), 50*time.Millisecond)
		for _, e := range []*lockwheel.Engine{here, there} {
			var h lockwheel.Holder
			locktest.Eventually(t, "an answer", func() bool { // on a busy machine one may come too late
				var err error
				h, err = mutex(e, "n").Holder(t.Context())
				require.NoError(t, err)
				require.Equal(t, hold.ID(), h.ID)
				return !h.Since.IsZero()
			})
			require.Equal(t, there.ID(), h.Engine.ID)
			require.Equal(t, "there", h.Engine.Name)
			require.Equal(t, filepath.Base(os.Args[0]), h.Engine.Program)
			require.Equal(t, os.Getpid(), h.Engine.PID)
			require.Equal(t, "http://there/", h.Engine.Page)
			require.NotEmpty(t, h.Engine.Host)
			require.WithinRange(t, h.Engine.Started, began.Add(-locktest.TestDeadline), time.Now())
			require.WithinRange(t, h.Since, began.Add(-2*time.Millisecond), granted.Add(locktest.TestDeadline))
		}
		locktest.Unlock(t, hold)
		h, err := mutex(here, "n").Holder(t.Context())
		require.NoError(t, err)
		require.Zero(t, h)
	})
}

// A holder without a record, and an engine that does not listen, are named as far as they are known.
func TestHolder_NoAnswer_LeftOut(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	here := s.Open(lockwheel.Options{Name: "here", Lease: 30 * time.Second})
	s.HoldAsOther("redisson", time.Minute)
	h, err := here.Mutex("redisson").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lockwheel.Holder{ID: "00000000-0000-4000-8000-000000000000:1"}, h)

	anonymous := s.Open(lockwheel.Options{Name: "unknown", Anonymous: true})
	hold := locktest.Lock(t, anonymous.Mutex("anonymous"))
	h, err = here.Mutex("anonymous").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lockwheel.Holder{ID: hold.ID()}, h)

	poll := s.Open(lockwheel.Options{Name: "polls", Notify: lockwheel.Poll})
	locktest.Lock(t, poll.Mutex("polls"))
	locktest.Eventually(t, "a record", func() bool { return s.Exists("lockwheel:engine:" + poll.ID()) })
	began := time.Now()
	h, err = here.Mutex("polls").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, "polls", h.Engine.Name)
	require.Zero(t, h.Since)
	require.False(t, h.NotHeld)
	require.Greater(t, time.Since(began), 200*time.Millisecond, "an answer was waited for")

	require.NoError(t, here.Close())
	_, err = here.Mutex("polls").Holder(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrClosed)
}

// An engine that answers that it does not have the lock gives no time. That is not the same as no answer.
func TestHolder_EngineHasItNot_Told(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	there, here := s.Open(lockwheel.Options{Name: "there"}), s.Open(lockwheel.Options{})
	other := locktest.Lock(t, there.Mutex("other"))
	known(t, s, there)
	id := there.ID() + ":4711"
	s.Do("HSET", "n", id, "1")
	s.Do("PEXPIRE", "n", "60000")
	locktest.Eventually(t, "its answers", func() bool { // on a busy machine one may come too late
		left, err := here.Mutex("n").Holder(t.Context())
		require.NoError(t, err)
		require.Equal(t, id, left.ID)
		require.Equal(t, "there", left.Engine.Name)
		require.Zero(t, left.Since)
		held, err := here.Mutex("other").Holder(t.Context())
		require.NoError(t, err)
		require.False(t, held.NotHeld)
		return left.NotHeld && !held.Since.IsZero()
	})
	locktest.Unlock(t, other)
}

// Of questions that get no answer only some are in flight; the others return what is known.
func TestHolder_Flood_IsBounded(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	here := s.Open(lockwheel.Options{Name: "here", Lease: 30 * time.Second})
	poll := s.Open(lockwheel.Options{Name: "polls", Notify: lockwheel.Poll})
	hold := locktest.Lock(t, poll.Mutex("n"))
	locktest.Eventually(t, "a record", func() bool { return s.Exists("lockwheel:engine:" + poll.ID()) })
	locktest.Crowd(t, 64, func(int) error {
		h, err := here.Mutex("n").Holder(t.Context())
		if err == nil && h.ID != hold.ID() {
			t.Errorf("the holder is %q", h.ID)
		}
		return err
	})
	require.LessOrEqual(t, s.Real.CommandCalls(t, "subscribe"), 8)
}

// The engine of the holder is told, and its hold ends within a round trip and not at the next renewal.
func TestForceUnlock_OtherEngine_HolderToldAtOnce(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s := locktest.RealServer(t)
		opts := lockwheel.Options{Name: "holder", Lease: 10 * time.Minute}
		holder, other := s.Open(opts), s.Open(opts)
		var holds []*lockwheel.Hold
		for _, opt := range []lockwheel.Option{{}, lockwheel.Lease(5 * time.Minute)} { // watched, and with a lease of its own
			hold := locktest.Lock(t, mutex(holder, "n"), opt)
			known(t, s, holder)
			began := time.Now()
			locktest.ForceUnlock(t, mutex(other, "n"))
			locktest.Receive(t, hold.Done())
			t.Logf("the holder knew after %v", time.Since(began))
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorContains(t, hold.Err(), "a message said that it was unlocked by force")
			holds = append(holds, hold)
		}
		for _, hold := range holds {
			require.ErrorIs(t, hold.Unlock(context.WithoutCancel(t.Context())), lockwheel.ErrLost)
		}
	})
}

// What any client may send ends no hold that the server has: the engine asks, and the reply decides.
func TestForceNotice_ForgedOrOdd_HoldKept(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s := locktest.RealServer(t)
		holder := s.Open(lockwheel.Options{Name: "holder", Lease: 10 * time.Minute})
		hold := locktest.Lock(t, mutex(holder, "n"))
		known(t, s, holder)
		renewed := holder.Stats().Renewed
		tell := func(text string) { s.Do("PUBLISH", "lockwheel:engine:"+holder.ID(), text) }
		for _, text := range []string{"", " ", "forced", "forced ", "forced m", "since", "since x 1 n", "since " + holder.ID() + " -1 n", "held 1 x", "nonsense n"} {
			tell(text)
		}
		for range 3000 {
			tell("forced n")
		}
		locktest.Eventually(t, "the server was asked", func() bool { return holder.Stats().Renewed > renewed })
		require.NoError(t, hold.Err())
		require.Less(t, holder.Stats().Renewed-renewed, uint64(3001))
		locktest.Unlock(t, hold)
	})
}

// An engine that polls, or is anonymous, learns of it at its next renewal. So does one that an anonymous engine takes a
// lock from.
func TestForceUnlock_EngineNotTold_KnownAtRenewal(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][2]lockwheel.Options{
		"polls":            {{Name: "x", Notify: lockwheel.Poll}, {Name: "y"}},
		"anonymous holder": {{Anonymous: true}, {Name: "y"}},
		"anonymous caller": {{Name: "x"}, {Anonymous: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			for i := range opts {
				opts[i].Lease, opts[i].RenewInterval = 10*time.Second, 2*time.Second
			}
			holder, caller := s.Open(opts[0]), s.Open(opts[1])
			hold := locktest.Lock(t, holder.Mutex("n"))
			began := time.Now()
			locktest.ForceUnlock(t, caller.Mutex("n"))
			locktest.Receive(t, hold.Done())
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.Greater(t, time.Since(began), 100*time.Millisecond)
		})
	}
}

// Any client can store a record. One with a field that no engine would write is not read, whatever its size.
func TestHolder_LongRecord_NotRead(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	here := s.Open(lockwheel.Options{Name: "here"})
	const id = "11111111-1111-4111-8111-111111111111"
	s.Do("HSET", "n", id+":7", 1)
	s.Do("HSET", "lockwheel:engine:"+id, "name", "odd", "pid", 1, "host", strings.Repeat("h", 1<<20))
	h, err := here.Mutex("n").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, lockwheel.Holder{ID: id + ":7"}, h)
	s.Do("HSET", "lockwheel:engine:"+id, "host", strings.Repeat("h", 5000))
	h, err = here.Mutex("n").Holder(t.Context())
	require.NoError(t, err)
	require.Equal(t, "odd", h.Engine.Name)
	require.Len(t, h.Engine.Host, 1024)
}
