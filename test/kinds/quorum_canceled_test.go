package kinds_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// cancelWhen cancels a Lock of the quorum when a condition is true. It requires that the call ends soon, and returns
// its error.
func (w ways) cancelWhen(t *testing.T, what string, is func() bool) error {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	waiting := locktest.Locking(ctx, locktest.Quorum(w.engines, "n"))
	locktest.Eventually(t, what, is)
	locktest.RequireNoReply(t, waiting, 0)
	cancel(locktest.ErrTest)
	err := locktest.ReceiveWithin(t, locktest.TestDeadline, waiting).Err // before a CallTimeout has elapsed
	locktest.RequireCanceled(t, err)
	return err
}

// requireNothingLeft lets everything through, and requires that a canceled Lock has left nothing: on no server, in no
// engine, and for no other caller.
func (w ways) requireNothingLeft(t *testing.T) {
	t.Helper()
	for _, way := range w.way {
		require.NoError(t, way.Heal())
	}
	for _, s := range w.ServerSet {
		s.Empty(t)
	}
	for _, e := range w.engines {
		locktest.RequireIdle(t, e)
	}
	for _, s := range w.ServerSet {
		require.Equal(t, int64(0), s.Do("DBSIZE"), "an engine that is idle sends nothing more")
	}
	w.othersHaveIt(t)
	for _, s := range w.ServerSet {
		s.Empty(t) // the Unlock of a quorum does not wait for the last release
	}
}

// hasOnly reports whether an engine holds a lock, and waits for none.
func hasOnly(e *lockwheel.Engine) bool {
	s := e.Stats()
	return s.Held == 1 && s.Waiting == 0
}

// doesNothing reports whether an engine holds no lock and requests none.
func doesNothing(e *lockwheel.Engine) bool {
	s := e.Stats()
	return s.Held == 0 && s.Waiting == 0 && s.InFlight == 0
}

// sendsNoMore requires that an idle engine sends nothing for as long as a timer of an ended call may still run.
func sendsNoMore(t *testing.T, e *lockwheel.Engine, timer time.Duration) {
	t.Helper()
	sent := e.Stats().Commands
	locktest.Always(t, timer, "no other attempt", func() bool { return e.Stats().Commands == sent })
}

// A caller that leaves before a majority has replied has its result at once. Its requests are granted later, or run
// only then: these grants are released, and so is one that it had.
func TestQuorum_CanceledBeforeReplies_NothingLeft(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	for name, c := range map[string]struct {
		silent int // so many servers, the last ones
		what   proxy.Direction
	}{
		"no server has replied":              {3, proxy.Replies},
		"no server has the command":          {3, proxy.Commands},
		"one has granted it, two not yet":    {2, proxy.Replies},
		"one has granted it, two without it": {2, proxy.Commands},
	} {
		t.Run(name, func(t *testing.T) {
			first := len(w.way) - c.silent
			for _, way := range w.way[first:] {
				way.Set(c.what, proxy.Hold)
			}
			err := w.cancelWhen(t, "all requests to be sent", func() bool {
				for i, e := range w.engines {
					switch {
					case i < first && !hasOnly(e):
						return false
					case i >= first && (e.Stats().InFlight == 0 || w.way[i].Buffered(c.what) == 0):
						return false
					case i >= first && c.what == proxy.Replies && !w.ServerSet[i].Exists("n"):
						return false
					}
				}
				return true
			})
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
			w.requireNothingLeft(t)
		})
	}
}

// Two grants of four are no majority. A caller that leaves while the other two servers do not reply has its result at
// once, and leaves nothing.
func TestQuorum_CanceledAtHalfOfFour_NothingLeft(t *testing.T) {
	t.Parallel()
	for name, what := range map[string]proxy.Direction{"granted by the others, too": proxy.Replies, "not asked of the others": proxy.Commands} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWays(t, 4)
			for _, way := range w.way[2:] {
				way.Set(what, proxy.Hold)
			}
			err := w.cancelWhen(t, "two grants, and two requests without a reply", func() bool {
				return hasOnly(w.engines[0]) && hasOnly(w.engines[1]) && w.way[2].Buffered(what) > 0 && w.way[3].Buffered(what) > 0 &&
					(what == proxy.Commands || w.Holders("n") == 4)
			})
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.NotErrorIs(t, err, lockwheel.ErrNotAcquired)
			w.requireNothingLeft(t)
		})
	}
}

// A caller that leaves the queue of a server takes nothing from the holder, and leaves no request that is granted after
// the holder's Unlock.
func TestQuorum_CanceledInQueue_HolderGoesOn(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	held := locktest.LockAll(t, locktest.Quorum(w.Client(locktest.SlowToGiveUp), "n"))
	locktest.Eventually(t, "all three to be held", func() bool { return w.Holders("n") == 3 })
	err := w.cancelWhen(t, "a place in a queue", func() bool { return slices.ContainsFunc(w.engines, locktest.Listens) })
	require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
	require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	require.Equal(t, 3, w.Holders("n"))
	require.NoError(t, held.Err())
	locktest.Unlock(t, held)
	w.requireNothingLeft(t)
}

// A caller that leaves as its turn comes in the queue of a server, and before it knows, gives that turn back.
func TestQuorum_CanceledAtTurn_TurnGivenBack(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	taken := w.ServerSet[:2]
	for _, s := range taken {
		s.HoldAsOther("n", locktest.Longer)
	}
	w.cancelWhen(t, "its place in the queue", func() bool {
		if !locktest.Listens(w.engines[0]) || !doesNothing(w.engines[2]) { // it keeps nothing there while it queues
			return false
		}
		w.way[0].Set(proxy.Replies, proxy.Hold)
		w.way[0].SetFor(proxy.Subscribers, proxy.Replies, proxy.Pass)
		taken[0].Do("DEL", "n")
		taken[0].Do("PUBLISH", "redisson_lock__channel:{n}", 0)
		locktest.Eventually(t, "its grant", func() bool { return taken[0].Exists("n") })
		return true
	})
	taken[1].Do("DEL", "n")
	w.requireNothingLeft(t)
}

// Two callers have a server each, and the third server is down. A caller that leaves in the pause between two attempts
// makes no other attempt.
func TestQuorum_CanceledInBackoff_NoMoreAttempts(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	// A lost acquire is released once more a CallTimeout later: the engine is idle only then.
	w.engines[2] = w.ServerSet[2].OpenAt(w.way[2].Addr(), lockwheel.Options{CallTimeout: 200 * time.Millisecond})
	held := locktest.Lock(t, w.ServerSet[1].Open(locktest.SlowToGiveUp).Mutex("n"))
	require.NoError(t, w.way[2].Refuse(true))
	w.way[2].Cut()
	var since time.Time
	w.cancelWhen(t, "a pause", func() bool {
		if slices.ContainsFunc(w.engines, func(e *lockwheel.Engine) bool { return !doesNothing(e) }) {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > 20*time.Millisecond // more than between two steps of an attempt
	})
	for _, e := range w.engines[:2] {
		locktest.RequireIdle(t, e)
	}
	const longestPause = 256 * time.Millisecond
	sendsNoMore(t, w.engines[0], longestPause)
	require.False(t, w.ServerSet[0].Exists("n"))
	require.NoError(t, held.Err())
	locktest.Unlock(t, held)
	w.requireNothingLeft(t)
}

// A majority has replied, with too few grants, and the caller leaves while it waits for the last server. Its result
// does not wait for that server, and what it was granted is released.
func TestQuorum_CanceledAmongStragglers_NothingLeft(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	w.ServerSet[1].HoldAsOther("n", locktest.Longer)
	defer func() {
		if !t.Failed() {
			w.ServerSet[1].Do("DEL", "n")
			w.requireNothingLeft(t)
		}
	}()
	inTheMiddle := func() func() bool {
		w.way[2].Set(proxy.Replies, proxy.Hold)
		taken := w.engines[1]
		before := taken.Stats().Failed
		return func() bool {
			return hasOnly(w.engines[0]) && w.ServerSet[2].Exists("n") &&
				taken.Stats().Failed > before && taken.Stats().Failed > before // the second is after the turn of the first
		}
	}
	settle := func(t *testing.T) {
		t.Helper()
		require.NoError(t, w.way[2].Heal())
		for _, e := range w.engines {
			locktest.RequireIdle(t, e)
		}
		require.Equal(t, 1, w.Holders("n"), "the other's")
	}
	t.Run("of one of several attempts", func(t *testing.T) {
		err := w.cancelWhen(t, "a grant and a refusal", inTheMiddle())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, "another caller has one, and no server is known to fail")
		settle(t)
		const longestLimit = 400 * time.Millisecond // for stragglers
		sendsNoMore(t, w.engines[0], longestLimit)
	})
	t.Run("of the only attempt", func(t *testing.T) {
		const limit = 250 * time.Millisecond // for stragglers
		for try, early := 0, false; !early; try++ {
			require.Less(t, try, 20, "always too late to be in time")
			reached := inTheMiddle()
			ctx, cancel := context.WithCancelCause(t.Context())
			began := time.Now()
			result := make(chan error, 1)
			go func() {
				_, err := locktest.Quorum(w.engines, "n").TryLock(ctx)
				result <- err
			}()
			locktest.Eventually(t, "a grant and a refusal", func() bool { return len(result) > 0 || reached() })
			cancel(locktest.ErrTest)
			err := locktest.ReceiveWithin(t, locktest.TestDeadline, result)
			if early = time.Since(began) < limit; early {
				locktest.RequireCanceled(t, err)
			}
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			settle(t)
		}
	})
}

// cancelsAtResult locks and unlocks again and again. It cancels each call close to its result: later after a canceled
// one, sooner after a grant.
func cancelsAtResult(ctx context.Context, m lockwheel.Multi, engines []*lockwheel.Engine) error {
	held, canceled, usual := 0, 0, 2*time.Millisecond
	enough := time.Now().Add(time.Second / 2) // on a busy machine 50 tries will do
	for try := 0; try < 50 || held == 0 || canceled == 0 || time.Now().Before(enough); try++ {
		if try == 5000 {
			return fmt.Errorf("held %d times, canceled %d times", held, canceled)
		}
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(rand.N(2*usual), func() { cancel(locktest.ErrTest) })
		hold, err := m.Lock(ctx)
		timer.Stop()
		cancel(nil)
		if err != nil {
			canceled++
			usual = usual*11/10 + time.Microsecond
			if !errors.Is(err, locktest.ErrTest) || !errors.Is(err, lockwheel.ErrNotAcquired) && !errors.Is(err, lockwheel.ErrUnavailable) {
				return fmt.Errorf("not the error of a canceled call: %w", err)
			}
			continue
		}
		held++
		usual = usual*9/10 + time.Microsecond
		for _, e := range engines {
			e.Stats() // after the messages that the loop received before
		}
		if err := errors.Join(hold.Err(), hold.Unlock(context.WithoutCancel(ctx))); err != nil {
			return err
		}
	}
	return nil
}

// However close the result and the end of the context are, what Lock returns is held, and an error leaves nothing.
// Several callers of different names cancel at once, so that some learn of both together.
func TestQuorum_CanceledAtResult_HeldOrNothing(t *testing.T) {
	t.Parallel()
	const callers = 8
	w := newWays(t, 3)
	for i, way := range w.way { // the servers reply one after the other
		way.Set(proxy.Replies, proxy.Delay(time.Duration(i)*500*time.Microsecond))
	}
	locktest.Crowd(t, callers, func(i int) error {
		return cancelsAtResult(t.Context(), locktest.Quorum(w.engines, fmt.Sprint("n", i)), w.engines)
	})
	w.requireNothingLeft(t)
}

// A caller that is canceled again and again, close to its results, does not keep another one out: each of them may have
// a part of the servers at that moment.
func TestQuorum_CanceledBesideAnother_OtherGoesOn(t *testing.T) {
	t.Parallel()
	w := newWays(t, 3)
	others := w.Client(locktest.SlowToGiveUp)
	rival := locktest.Quorum(others, "n")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var had atomic.Int64
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		again(ctx, t, func() (*lockwheel.Hold, error) { return rival.Lock(ctx) }, &had)
	}()
	require.NoError(t, cancelsAtResult(t.Context(), locktest.Quorum(w.engines, "n"), w.engines))
	before := had.Load()
	locktest.Eventually(t, "the other caller to go on", func() bool { return had.Load() >= before+5 })
	stop()
	locktest.Receive(t, stopped)
	for _, e := range others {
		locktest.RequireIdle(t, e) // until then a request that it gave up may still run
	}
	w.requireNothingLeft(t)
}
