package lockwheel

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// The context of a hold ends before its release is sent. If the engine notices a loss between the two, Unlock reports
// it.
func TestUnlock_LossMeanwhile_Reported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for _, test := range []struct {
		what  string
		again func(t *testing.T, m Mutex) // what happens to the lock after the loss
	}{
		{"its lock has finished", func(*testing.T, Mutex) {}},
		{"its lock is held again", func(t *testing.T, m Mutex) {
			_, err := m.Lock(t.Context())
			require.NoError(t, err)
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := e.Mutex(test.what)
			hold, err := m.Lock(t.Context(), Lease(time.Minute))
			require.NoError(t, err)
			ctx := hold.Context()
			hold.endByUnlock() // as Unlock does first
			require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
			_, err = m.ForceUnlock(t.Context())
			require.NoError(t, err)
			test.again(t, m)
			require.ErrorIs(t, hold.send(t.Context(), actor.Unlock, 0, true), ErrLost)
		})
	}
}

// A hold is unlocked after its lease has expired, before the engine has noticed that. Its context and Unlock both
// report the loss.
func TestUnlock_LeaseExpired_ContextSaysLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	over := &Hold{engine: e, name: "a", parent: t.Context()} // its deadline is zero
	ctx := over.Context()
	require.ErrorIs(t, over.Unlock(t.Context()), ErrLost)
	require.ErrorIs(t, ctx.Err(), context.Canceled)
	require.ErrorIs(t, context.Cause(ctx), ErrLost)
	require.ErrorIs(t, context.Cause(ctx), errLeaseExpired)
	require.ErrorIs(t, over.Err(), ErrLost)
}

// A grant that has expired when its caller is woken is not returned. The lock is released: otherwise a renewal
// confirmed at this moment would keep it without a holder.
func TestGrant_ExpiredOnWake_Released(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	until := hold.grant.Until()
	same, err := hold.orLostAt(until - 1)
	require.NoError(t, err)
	require.Same(t, hold, same)
	none, err := hold.orLostAt(until)
	require.Nil(t, none)
	require.ErrorIs(t, err, ErrLost)
	require.ErrorIs(t, err, errLeaseExpired)
	requireFree(t, s, "a")
}

// The engine may be closed between the end of a hold's context and the request to release it. That is not a second
// unlock.
func TestUnlock_EngineClosed_Reported(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	first, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	second, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	ctx := first.Context()
	left := first.endByUnlock() // as Unlock does first
	require.ErrorIs(t, context.Cause(ctx), ErrNotHeld)
	require.NoError(t, e.Close())
	err = first.send(t.Context(), actor.Unlock, 0, left)
	require.ErrorIs(t, err, ErrClosed)
	require.NotErrorIs(t, err, ErrNotHeld)
	require.ErrorIs(t, first.Unlock(t.Context()), ErrNotHeld, "a second one")

	// A hold that Close has ended is not lost, and was not unlocked.
	second.Context()
	require.ErrorIs(t, second.Unlock(t.Context()), ErrClosed)
}

// However many callers lock concurrently, none of their holds is lost from the list.
func TestLocker_ConcurrentLocks_NoHoldLost(t *testing.T) {
	t.Parallel()
	for range 5 { // two callers must overlap within a few instructions, which is rare on one processor
		const crowd, each = 8, 100_000
		var l locker
		start := make(chan struct{})
		var all sync.WaitGroup
		for range crowd {
			all.Go(func() {
				<-start
				for range each {
					l.keep(nil)
				}
			})
		}
		close(start)
		all.Wait()
		count := 0
		for h := l.holds.Load(); h != nil; h = h.next {
			count++
		}
		require.Equal(t, crowd*each, count)
	}
}

// A Locker locks again after an error that may pass, and not after a permanent one.
func TestLocker_TransientError_Retried(t *testing.T) {
	for _, err := range []error{ErrTooManyWaiters, ErrNotReplicated, ErrLost} {
		require.True(t, isTransient(&lockError{name: "n", err: err}), err)
	}
	for _, err := range []error{nil, ErrClosed, ErrKindMismatch, ErrUpgrade, ServerError("no")} {
		require.False(t, isTransient(err), err)
	}
}

// An error with a cause that is the same error prints it once.
func TestError_SameCause_PrintedOnce(t *testing.T) {
	over := errors.New("its lease ended")
	lost := &lockError{"n", ErrLost, over}
	refused := &lockError{"n", ErrNotAcquired, nil}
	for want, err := range map[string]error{
		`lockwheel: lock "n": lock lost: its lease ended`:                            &lockError{"n", ErrLost, lost},
		`lockwheel: lock "n": lock lost: its lease ended; lock not acquired`:         &lockError{"n", ErrLost, multiError{lost, lost, refused}},
		`lockwheel: lock "n": lock lost: lock "m": lock lost: its lease ended`:       &lockError{"n", ErrLost, &lockError{"m", ErrLost, over}},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended`:         &lockError{"n", ErrUnavailable, lost},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended; broken`: &lockError{"n", ErrUnavailable, multiError{lost, errors.New("broken")}},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !errors.Is(err, over) {
			t.Errorf("%v is not its cause", err)
		}
	}
}

// A slow turn is reported. Here the callback for a result is slow, which is part of a turn.
func TestObserver_SlowTurn_Notified(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	late := make(chan time.Duration, 1024)
	e, err := Open(t.Context(), Options{
		Redis:    rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true},
		Observer: Observer{SlowTurn: func(turn time.Duration) { send(late, turn) }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	const long = 20 * time.Millisecond
	call, _, err := e.Mutex("n").request(t.Context(), nil, acquireMode{async: true})
	require.NoError(t, err)
	call.OnDone = func() {
		for began := time.Now(); time.Since(began) < long; {
		}
	}
	require.True(t, e.loop.Post(call))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case turn := <-late: // a turn before may have taken long, too, on a busy machine
			if turn >= long {
				return
			}
		case <-ctx.Done():
			t.Fatal("a turn of 20ms was not told")
		}
	}
}

// send gives a value to a receiver that is waiting, and never blocks.
func send[T any](to chan<- T, value T) {
	select {
	case to <- value:
	default:
	}
}

// Callers that collided do not retry at the same time.
func TestRetryPause_Collision_Spread(t *testing.T) {
	t.Parallel()
	const most = time.Second
	first, last := most, time.Duration(0)
	for range 100 {
		rest := jitterBackoff(most)
		first, last = min(first, rest), max(last, rest)
	}
	require.GreaterOrEqual(t, first, most/2)
	require.LessOrEqual(t, last, most)
	require.Greater(t, last-first, most/4)
}

// Engines that are opened together have different times for renewals, and each spreads the renewals of locks acquired
// together.
func TestRenewalTimes_ManyEngines_Spread(t *testing.T) {
	t.Parallel()
	options, err := Options{Redis: rueidis.ClientOption{InitAddress: []string{"host:1"}}}.withDefaults()
	require.NoError(t, err)
	one, other := options.config(), options.config()
	require.NotEqual(t, one.ID, other.ID)
	require.NotEqual(t, one.Seed, other.Seed)
	require.Equal(t, options.RenewInterval/2, one.RenewSpread)
}
