package lockwheel

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/actor/quorum"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/async"
	"github.com/lockwheel/lockwheel/internal/dial"
	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// An engine opens, locks, keeps others out, unlocks, and closes. All other tests from outside are in test/; those below
// it look into the package.
func TestEngine_LocksAndUnlocks(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	ctx := t.Context()
	engine, err := Dial(ctx, "redis://"+s.Addr())
	require.NoError(t, err)
	hold, err := engine.Mutex("orders:42").Lock(ctx)
	require.NoError(t, err)
	_, err = engine.Mutex("orders:42").TryLock(ctx)
	require.ErrorIs(t, err, ErrNotAcquired)
	require.NoError(t, hold.Unlock(ctx))
	require.ErrorIs(t, hold.Unlock(ctx), ErrNotHeld)
	again, err := engine.Mutex("orders:42").Lock(ctx, Wait(time.Minute))
	require.NoError(t, err)
	require.NoError(t, again.Unlock(ctx))
	require.NoError(t, engine.Shutdown(ctx))
	_, err = engine.Mutex("orders:42").Lock(ctx)
	require.ErrorIs(t, err, ErrClosed)
}

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

// A hold that is just being lost is unlocked. Its context, and Done, have ended when the call returns.
func TestUnlock_BeingLost_ContextEndedBefore(t *testing.T) {
	t.Parallel()
	for what, unlock := range map[string]func(h *Hold){
		"Unlock":      func(h *Hold) { h.Unlock(t.Context()) },
		"UnlockAsync": func(h *Hold) { h.UnlockAsync() },
	} {
		t.Run(what, func(t *testing.T) {
			e, _ := realEngine(t)
			one, err := e.Mutex("a").Lock(t.Context())
			require.NoError(t, err)
			several, err := e.Multi(e.Mutex("b"), e.Mutex("c")).Lock(t.Context())
			require.NoError(t, err)
			for name, hold := range map[string]*Hold{"a": one, "b": several} {
				ctx, done, unlocked := hold.Context(), hold.Done(), make(chan struct{})
				begun, lost := make(chan struct{}), make(chan struct{})
				for range e.contexts.ending.MaxWorkers { // the ends of contexts wait for these
					e.contexts.ending.Submit(func() {
						begun <- struct{}{}
						<-lost
						select {
						case <-unlocked:
						case <-time.After(100 * time.Millisecond):
						}
					})
				}
				for range e.contexts.ending.MaxWorkers {
					<-begun
				}
				_, err = e.Mutex(name).ForceUnlock(t.Context())
				for until := time.Now().Add(10 * time.Second); hold.Err() == nil && time.Now().Before(until); {
					time.Sleep(time.Millisecond)
				}
				forced, alive := errors.Is(hold.Err(), ErrLost), ctx.Err() == nil
				close(lost)
				unlock(hold)
				close(unlocked)
				require.NoError(t, err)
				require.True(t, forced, name)
				require.True(t, alive, name)
				require.Error(t, ctx.Err())
				select {
				case <-done:
				default:
					require.Fail(t, "Done is open")
				}
			}
		})
	}
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

// A hold with an expired lease is lost, even if the engine is closed before the release is sent.
func TestUnlock_ExpiredEngineClosed_Lost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	over := &Hold{engine: e, name: "a", parent: t.Context()} // its deadline is zero
	over.Context()
	left := over.endByUnlock() // as Unlock does first
	require.NoError(t, e.Close())
	require.ErrorIs(t, over.send(t.Context(), actor.Unlock, 0, left), ErrLost)
}

// Close waits for calls of a Multi for as long as for other calls, and for those of a Quorum, which may wait for other
// servers, much less.
func TestClose_CallsForSeveralLocks_WaitedForApart(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	other, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	for what, counts := range map[string]struct {
		lock       func(ctx context.Context) (*Hold, error)
		mine, none *async.Count
	}{
		"Multi":  {func(ctx context.Context) (*Hold, error) { return e.Multi(e.Mutex("a"), e.Mutex("b")).Lock(ctx) }, &e.multis, &e.quorums},
		"Quorum": {func(ctx context.Context) (*Hold, error) { return Quorum(e.Mutex("b")).Lock(ctx) }, &e.quorums, &e.multis},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = counts.lock(ctx)
		}()
		require.Eventually(t, func() bool { return counts.mine.Load() == 1 }, 10*time.Second, time.Millisecond, what)
		require.Zero(t, counts.none.Load(), what)
		cancel()
		<-ended
		require.Zero(t, counts.mine.Load(), what)
	}
	require.NoError(t, other.Unlock(t.Context()))

	e.quorums.Add()
	waited := make(chan struct{})
	go func() {
		e.awaitMultis(time.Now().Add(time.Hour))
		close(waited)
	}()
	select {
	case <-waited:
	case <-time.After(10 * time.Second):
		require.Fail(t, "it waits for a Quorum for as long as for a Multi")
	}
	e.quorums.Done()
}

// What Multi says of a part that was lost before all were had repeats neither itself nor the name of the package. The
// loss of a hold that the caller had is none of a part: its context ended the wait.
func TestMulti_LossBeforeAll_TextsPlain(t *testing.T) {
	e := &Engine{}
	m := Multi{name: "a", locks: []Mutex{{engine: e, name: "a"}}}
	lost := &lockError{name: "a", err: ErrLost, cause: errLeaseExpired}
	other := &lockError{name: "b", err: ErrLost, cause: errLeaseExpired}
	err := m.withoutLost(lost, nil)
	require.EqualError(t, err, `lockwheel: lock "a": redis unavailable: a part was lost before all were had: lock lost: the lease ended before it was renewed`)
	require.NotErrorIs(t, err, ErrLost)
	require.EqualError(t, m.withoutLost(lost, lost), err.Error())
	err = m.withoutLost(lost, other)
	require.EqualError(t, err, `lockwheel: lock "a": redis unavailable: a part was lost before all were had: lock lost: the lease ended before it was renewed: lock "b": lock lost: the lease ended before it was renewed`)
	require.ErrorIs(t, err, ErrLost)
	gone := m.fail(ErrUnavailable, actor.CallerGone{Cause: other})
	require.Equal(t, gone, m.withoutLost(gone, other))
	require.EqualError(t, gone, `lockwheel: lock "a": the caller's context ended the wait, the outcome is not known: lock "b": lock lost: the lease ended before it was renewed`)
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
	lost := &lockError{name: "n", err: ErrLost, cause: over}
	refused := &lockError{name: "n", err: ErrNotAcquired, cause: nil}
	for want, err := range map[string]error{
		`lockwheel: lock "n": lock lost: its lease ended`:                            &lockError{name: "n", err: ErrLost, cause: lost},
		`lockwheel: lock "n": lock lost: its lease ended; lock not acquired`:         &lockError{name: "n", err: ErrLost, cause: multiError{lost, lost, refused}},
		`lockwheel: lock "n": lock lost: lock "m": lock lost: its lease ended`:       &lockError{name: "n", err: ErrLost, cause: &lockError{name: "m", err: ErrLost, cause: over}},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended`:         &lockError{name: "n", err: ErrUnavailable, cause: lost},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended; broken`: &lockError{name: "n", err: ErrUnavailable, cause: multiError{lost, errors.New("broken")}},
		`lockwheel: lock "n": lock lost: a:1, b:1: its lease ended; c:1: lock not acquired`: &lockError{name: "n", err: ErrLost, cause: multiError{
			&serverError{"b:1", lost}, &serverError{"a:1", lost}, &serverError{"c:1", refused}, // in the order of the replies
		}},
		`lockwheel: lock "n": lock lost: dial a:1: its lease ended`: &lockError{name: "n", err: ErrLost, cause: multiError{
			&serverError{"a:1", fmt.Errorf("dial a:1: %w", over)},
		}},
		`lockwheel: lock "n": lock not acquired: its lease ended`: &lockError{name: "n", err: ErrNotAcquired, cause: multiError{&serverError{"c:1", refused}, over}},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !errors.Is(err, over) {
			t.Errorf("%v is not its cause", err)
		}
	}
}

// Each callback of an Observer is called also if it is the only one.
func TestObserver_OneCallback_Notified(t *testing.T) {
	for what, one := range map[string]Observer{
		"Acquired": {Acquired: func(string, time.Duration) {}},
		"Rejected": {Rejected: func(string, time.Duration, error) {}},
		"Released": {Released: func(string, time.Duration) {}},
		"Lost":     {Lost: func(string, error) {}},
		"SlowTurn": {SlowTurn: func(time.Duration) {}},
	} {
		l := newListeners(&Options{Observer: one})
		require.NotNil(t, l.events, what)
		l.close(time.Now())
	}
	require.Nil(t, newListeners(&Options{}).events, "there is nothing to notify")
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

// ofThree returns a group that needs two of three locks and has those members.
func ofThree(e *Engine, holds ...*Hold) *multiHold {
	g := newMultiHold(context.Background(), Multi{locks: []Mutex{e.Mutex("a"), e.Mutex("b"), e.Mutex("c")}, name: "n"}, 2)
	g.quorum.Begin(0, false, false)
	g.quorum.Actions = nil
	for i, h := range holds {
		g.members[i].hold.Store(h)
	}
	return g
}

func realEngine(t *testing.T) (*Engine, *redistest.Server) {
	t.Helper()
	s := redistest.Start(t)
	opts := Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}}
	e, err := Open(t.Context(), opts)
	for range 3 { // a busy machine may reply too late
		if !errors.Is(err, ErrUnavailable) {
			break
		}
		e, err = Open(t.Context(), opts)
	}
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e, s
}

// By the clock the group is held while enough members are, even before it is notified that the others have ended.
func TestMultiHold_TooFewMembers_Over(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	lock := func(name string) *Hold {
		hold, err := e.Mutex(name).Lock(t.Context())
		require.NoError(t, err)
		return hold
	}
	over := &Hold{engine: e, name: "b", parent: t.Context()} // its deadline is zero
	require.ErrorIs(t, over.Err(), ErrLost)
	require.NoError(t, ofThree(e, lock("a"), over, lock("c")).err())
	require.ErrorIs(t, ofThree(e, lock("d"), over).err(), ErrLost)
	require.ErrorIs(t, ofThree(e, lock("e"), over, over).err(), ErrLost)
}

// A close ends the members one after the other, and then the group: before that, the error of the group is the one that
// it has later. The end of a member by a close is no loss.
func TestMultiHold_EngineCloses_NotLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	closed, lost := ofThree(e, held(t, e, "a"), held(t, e, "b")), ofThree(e, held(t, e, "c"), held(t, e, "d"))
	_, err := e.Mutex("d").ForceUnlock(t.Context())
	require.NoError(t, err)
	e.Close()
	require.ErrorIs(t, closed.err(), ErrClosed)
	require.NotErrorIs(t, closed.err(), ErrLost)
	require.EqualError(t, closed.err(), closed.hold.fail(ErrClosed, nil).Error())
	require.ErrorIs(t, lost.err(), ErrLost)
}

// Two of three are known to be held until the second of their deadlines.
func TestMultiHold_Deadline_LastNeededMember(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	var holds []*Hold
	for i, lease := range []time.Duration{20 * time.Second, time.Minute, 10 * time.Second} {
		hold, err := e.Mutex(string(rune('a'+i))).Lock(t.Context(), Lease(lease))
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	require.Equal(t, holds[0].Deadline(), ofThree(e, holds...).deadline())
	require.Equal(t, holds[0].Deadline(), ofThree(e, holds[:2]...).deadline())
	require.Zero(t, ofThree(e, holds[:1]...).deadline())
}

// A grant may have expired when its caller is woken: it is not returned, and its remaining members are released.
func TestMultiHold_ExpiredOnWake_Released(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	_, err = ofThree(e, hold, &Hold{engine: e, name: "b", parent: t.Context()}).checked()
	require.ErrorIs(t, err, ErrLost)
	requireFree(t, s, "a")
}

// A quorum that has expired when its caller is woken asks for no member any more: one that is granted later would be
// held, and renewed, for no caller.
func TestMultiHold_ExpiredOnWake_RequestsCanceled(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	other := held(t, e, "c")
	g := ofThree(e, hold, &Hold{engine: e, name: "b", parent: t.Context()})
	g.result = make(chan *quorumFailure, 1)
	g.members[2].request(quorum.Action{}) // as Begin has asked for all
	g.apply(func() {
		g.quorum.MemberAcquired(0, 0)
		g.quorum.MemberAcquired(0, 1)
	})
	require.Nil(t, <-g.result, "the majority is there")
	soon(t, "a waiter", func() bool { return e.Stats().Waiting == 1 })
	_, err = g.checked()
	require.ErrorIs(t, err, ErrLost)
	soon(t, "no waiter", func() bool { return e.Stats().Waiting == 0 })
	require.NoError(t, other.Unlock(t.Context()))
	requireFree(t, s, "c")
}

// A writer gives readers time to unlock. Other callers do not hold their first locks for that long.
func TestQuorum_WithWriter_Writes(t *testing.T) {
	t.Parallel()
	e := new(Engine)
	plain, writer, reader := e.Mutex("a"), e.RWMutex("b").Writer(), e.RWMutex("c").RLocker()
	for _, test := range []struct {
		locks  []Mutex
		writes bool
	}{
		{[]Mutex{writer, writer, writer}, true},
		{[]Mutex{plain, plain, writer}, true},
		{[]Mutex{plain, plain, plain}, false},
		{[]Mutex{reader, reader, reader}, false},
	} {
		for _, lease := range []time.Duration{0, time.Second} {
			want := quorum.New(3, 2)
			if test.writes {
				want.SetWriter(lease)
			}
			require.Equal(t, want, Quorum(test.locks...).newQuorumHold(multiRequest{ctx: t.Context(), lease: lease}).quorum)
		}
	}
}

// Until a quorum is held, its locks are kept from other callers for nothing. So its requests fail at once where the
// server is known to be down. The missing members of a held quorum wait for the server.
func TestQuorum_NotHeldServerDown_FailsAtOnce(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for _, order := range []quorum.Action{{Once: true}, {Wait: time.Second}, {}} {
		var asked bool
		g := ofThree(e)
		g.executor.Submit(func() { // no result is handled before this event ends
			m := &g.members[0]
			m.request(order)
			asked = m.pendingCall.FailIfDown
			m.withdraw()
		})
		require.Equal(t, order.Once || order.Wait != 0, asked, "%+v", order)
	}
}

// requireFree waits until a lock is free, for much less than a lease.
func requireFree(t *testing.T, s *redistest.Server, name string) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); s.Int(t, "EXISTS", name) == 1; {
		require.True(t, time.Now().Before(deadline), "it is still held")
		time.Sleep(time.Millisecond)
	}
}

// An extension finds a loss before the group has learned of it: it is that of the group, and a Multi that has not been
// returned yet requests all again.
func TestMultiHold_ExtendFindsLossFirst_GroupsLoss(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	long := held(t, e, "b")
	short, err := e.Mutex("a").Lock(t.Context(), Lease(300*time.Millisecond))
	for errors.Is(err, ErrLost) { // a busy machine may take longer to return it
		short, err = e.Mutex("a").Lock(t.Context(), Lease(300*time.Millisecond))
	}
	require.NoError(t, err)
	g := ofThree(e, short, long) // its members do not report their ends to it
	require.NoError(t, s.Pause())
	extended := make(chan error, 1)
	go func() { extended <- g.extend(t.Context(), time.Minute, time.Time{}) }()
	<-short.Done()
	require.NoError(t, s.Continue())
	require.True(t, isLoss(<-extended))
}

// A round of all members is made after the events that were submitted before: also of a member that was granted just
// now.
func TestMultiHold_MemberJustGranted_InRound(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	third := held(t, e, "c")
	g := ofThree(e, held(t, e, "a"), held(t, e, "b"))
	g.perEngine = true
	gate, inEvent := make(chan struct{}), make(chan struct{})
	go g.executor.Submit(func() {
		close(inEvent)
		<-gate
	})
	<-inEvent
	g.executor.Submit(func() { g.members[2].hold.Store(third) })
	made := make(chan *round)
	go func() { made <- g.roundOfHeld(actor.Extend, time.Minute) }()
	time.AfterFunc(20*time.Millisecond, func() { close(gate) }) // so that it has begun
	require.Len(t, (<-made).calls, 3)
}

// The end of a previous hold of a member does not concern its current hold.
func TestMultiHold_EarlierMemberEnd_Ignored(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	g, earlier := ofThree(e, hold), &Hold{engine: e, name: "a", parent: t.Context()}
	earlier.grant.End(ErrLost, nil, 0)
	g.members[0].HoldEnded(&earlier.grant)
	require.Same(t, hold, g.members[0].hold.Load())
	require.Nil(t, g.members[0].lastHold.Load())
}

// The wait for a part is as long as the try lasts, and at most the caller's own wait.
func TestMultiHold_MemberWait_WithinCallWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, c := range []struct {
		wait, try time.Time
		most      time.Duration
	}{
		{in(time.Minute), in(time.Hour), time.Minute},
		{in(time.Hour), in(time.Minute), time.Minute},
		{time.Time{}, in(time.Minute), time.Minute},
		{in(time.Minute), time.Time{}, time.Minute},
		{in(time.Minute), in(-time.Minute), 0},
	} {
		got := (&multiRequest{deadline: c.wait}).waitOption(c.try)
		require.Equal(t, waitOption, got.kind)
		require.LessOrEqual(t, got.d, c.most)
		require.Equal(t, c.most > 0, got.d > c.most/2)
	}
	require.Equal(t, Option{}, (&multiRequest{}).waitOption(time.Time{}))
	require.Equal(t, Wait(0), (&multiRequest{once: true}).waitOption(in(time.Hour)))

	// What a call that tries once has left never becomes 0, which is no limit.
	require.Zero(t, (&multiRequest{}).timeLeft())
	require.Equal(t, minDuration, (&multiRequest{deadline: in(-time.Minute)}).timeLeft())
	require.LessOrEqual(t, (&multiRequest{deadline: in(time.Minute)}).timeLeft(), time.Minute)
}

// If no member is left to ask, the error says which part was lost.
func TestMultiHold_NoMemberLeft_NamesLostOne(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	hold, err := e.Mutex("b").Lock(t.Context())
	require.NoError(t, err)
	_, err = e.Mutex("b").ForceUnlock(t.Context())
	require.NoError(t, err)
	g := ofThree(e)
	g.hold.name = "a,b,c"
	require.ErrorIs(t, g.lossError(), ErrClosed)
	g.members[1].lastHold.Store(hold)
	require.ErrorIs(t, g.lossError(), ErrLost)
	require.NotErrorIs(t, g.lossError(), ErrClosed)
	require.ErrorContains(t, g.lossError(), `its lock "b"`)
}

// The grant of a member and the end of the group are concurrent: the members were inspected before the grant.
func TestMultiHold_GrantAfterEnd_Released(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	hold, err := e.Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	g := ofThree(e)
	g.ended.Store(endedByUnlock)
	g.members[0].attach(hold, &actor.HoldSignal{})
	for deadline := time.Now().Add(8 * time.Second); s.Int(t, "EXISTS", "a") == 1; {
		require.True(t, time.Now().Before(deadline), "it is still held")
		time.Sleep(time.Millisecond)
	}
}

// lateContext is a context at the end of its deadline that does not say so yet.
type lateContext struct{ context.Context }

func (lateContext) Deadline() (time.Time, bool) { return time.Now(), true }

// A connection can find the deadline of Open over a moment before the context ends: that ended the attempt all the
// same.
func TestOpen_DeadlineFoundByConnection_IsTheCause(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.NoError(t, s.Pause())
	for _, lazy := range []bool{false, true} {
		_, err := Open(lateContext{t.Context()}, Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}, CallTimeout: 100 * time.Millisecond, Lazy: lazy})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrUnavailable)
	}
}

// soon waits for a condition, for much longer than it takes.
func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Second); !is(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "in vain: %s", what)
	}
}

// held returns a hold of that engine with its own lease.
func held(t *testing.T, e *Engine, name string) *Hold {
	t.Helper()
	hold, err := e.Mutex(name).Lock(t.Context(), Lease(time.Minute))
	require.NoError(t, err)
	return hold
}

// A hold with its own lease keeps it when an extension fails: if it were renewed, it would outlive its caller. A hold
// that was watched is watched again.
func TestMultiHold_ExtendFails_LeaseKept(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	const watchdog = 30_000
	leased, watched := ofThree(e, held(t, e, "a")), ofThree(e, held(t, e, "b"))
	watched.quorum.SetWatched(true)

	leased.resumeWatch()
	soon(t, "all answers", func() bool { return e.Stats().InFlight == 0 })
	require.Greater(t, s.Int(t, "PTTL", "a"), watchdog)

	watched.resumeWatch()
	soon(t, "the lease of what is watched", func() bool { return s.Int(t, "PTTL", "b") <= watchdog })
}

// A lost member needs no release. If others are held, Unlock waits for one of them. It reports that too few were held.
func TestMultiHold_SomeLost_UnlockWaits(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	for _, apart := range []bool{false, true} {
		g := ofThree(e, held(t, e, "a"))
		g.perEngine = apart
		require.ErrorIs(t, g.unlock(t.Context()), ErrLost)
		require.Zero(t, s.Int(t, "EXISTS", "a"))
	}
}

// Of two callers that unlock a group that was lost, one is told so, and none that it was released.
func TestMultiHold_LostUnlockedTwice_OneSaysLost(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	for range 100 {
		g := ofThree(e, held(t, e, "a"))
		results := make(chan error, 2)
		for range cap(results) {
			go func() { results <- g.unlock(t.Context()) }()
		}
		one, other := <-results, <-results
		if errors.Is(other, ErrLost) {
			one, other = other, one
		}
		require.ErrorIs(t, one, ErrLost)
		require.ErrorIs(t, other, ErrNotHeld)
	}
}

// If no member is left to be released, Unlock reports the loss, and not an earlier unlock.
func TestMultiHold_AllLost_UnlockReportsLoss(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	lost := &Hold{engine: e, name: "a", parent: t.Context()}
	lost.grant.End(ErrLost, nil, 0)
	g := ofThree(e)
	for i := range g.members {
		g.members[i].lastHold.Store(lost)
	}
	require.True(t, g.endByUnlock(ErrNotHeld)) // the loss came after Unlock had looked for one
	r, enough := g.newReleaseRound()
	r.send()
	err := g.awaitUnlock(t.Context(), r, enough)
	require.ErrorIs(t, err, ErrLost)
	require.NotErrorIs(t, err, ErrNotHeld)
}

// On a repeated release, a member replies that it is not held, or that it was lost before the first release. Both
// mean that the first Unlock has a reply. The first finds a member not held if another Unlock overtook it.
func TestMultiHold_ReleaseAgain_LossIsAReply(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	verdicts := []error{ErrNotHeld, ErrLost, nil, ErrUnavailable}
	for _, c := range []struct {
		again                  bool
		agreed, before, failed int
	}{
		{true, 3, 2, 1},
		{false, 2, 1, 2},
	} {
		r := newRound(ofThree(e))
		r.repeated = c.again
		for _, verdict := range verdicts {
			r.add(0, &Hold{engine: e, name: "a", parent: t.Context()}, actor.Unlock, 0)
			r.calls[len(r.calls)-1].Err = verdict
		}
		require.Equal(t, c.agreed, r.countOK(0, len(verdicts)))
		require.Equal(t, c.before, r.releasedBefore)
		require.Len(t, r.errs.all, c.failed)
	}
}

// A caller leaves during a later slice: the calls posted by then are canceled and waited for. The error names the
// first call that is not posted.
func TestMultiHold_CanceledInSlice_CallsEnded(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	holds := []*Hold{held(t, e, "a"), held(t, e, "b"), held(t, e, "c")}
	r := newRound(ofThree(e, holds...))
	r.add(0, holds[0], actor.Extend, time.Hour)
	r.send()
	require.Equal(t, 1, r.wait(t.Context(), 1))

	require.NoError(t, s.Pause())
	defer s.Continue()
	r.add(1, holds[1], actor.Extend, time.Hour)
	r.add(2, holds[2], actor.Extend, time.Hour)
	r.postSlice(1, 1) // as after the replies to the first slice
	left := errors.New("the caller has left")
	require.Equal(t, 2, r.cancelAll(left))
	require.Len(t, r.errs.all, 1)
	require.ErrorContains(t, r.errs.all, `lock "c"`)
	require.ErrorIs(t, r.errs.all, left)
	select {
	case v := <-r.results:
		require.Equal(t, callResults{first: 1, last: 2}, v)
	case <-time.After(8 * time.Second):
		require.FailNow(t, "what was posted has no verdict")
	}
	require.Equal(t, ErrUnavailable, r.calls[1].Err)
}

// Two Unlocks wait for the result of a request. The request is canceled when the second of them has left, and not
// before.
func TestMultiHold_LastUnlockLeft_Canceled(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	taken := held(t, e, "a")
	g := ofThree(e)
	m := &g.members[0]
	rounds := []*round{newRound(g), newRound(g)}
	g.apply(func() {
		m.request(quorum.Action{})
		m.release = &pendingRelease{}
		for _, r := range rounds {
			m.release.waiting = append(m.release.waiting, roundCall{r, 0})
			r.add(0, m.pendingHold, actor.Unlock, 0)
		}
	})
	soon(t, "it waits", func() bool { return e.Stats().Waiting == 1 })
	for i, r := range rounds {
		r.abandonPending(context.Canceled)
		require.Equal(t, callResults{first: 0, last: 1}, <-r.results)
		require.Equal(t, i == len(rounds)-1, m.release.canceled)
	}
	soon(t, "it waits no more", func() bool { return e.Stats().Waiting == 0 })
	require.NoError(t, taken.Unlock(t.Context()))
}

// lettered returns a Multi of locks with one letter each.
func lettered(e *Engine, names string) Multi {
	var locks []Mutex
	for _, name := range names {
		locks = append(locks, e.Mutex(string(name)))
	}
	return e.Multi(locks...)
}

// A rejection has the index among all locks, even if earlier slices were requested before: the caller waits for that
// lock alone.
func TestMultiHold_LaterSlice_RejectionIndex(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	m := lettered(e, "abcdefg")
	for i, name := range []string{3: "d", 5: "f"} {
		if name == "" {
			continue
		}
		taken := held(t, e, name)
		holds := make([]*Hold, len(m.locks))
		at, err := m.acquireSlice(multiRequest{ctx: t.Context(), done: t.Context().Done(), once: true}, 3, len(m.locks), time.Time{}, holds)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.ErrorContains(t, err, `lock "`+name+`"`)
		require.Equal(t, i, at)
		require.Equal(t, make([]*Hold, len(m.locks)), holds, "a slice is acquired whole, or nothing of it")
		require.NoError(t, taken.Unlock(t.Context()))
	}
}

// The wait for some of the locks ends when all must be acquired, or when the caller's wait ends, whichever is first.
// TryLock waits for none.
func TestMultiHold_SomeLocks_WithinWholeWait(t *testing.T) {
	t.Parallel()
	now := time.Now()
	soon, later := now.Add(time.Hour), now.Add(2*time.Hour)
	for _, c := range []struct {
		what  string
		of    multiRequest
		by    time.Time
		until time.Time
		once  bool
	}{
		{"TryLock", multiRequest{once: true}, soon, time.Time{}, true},
		{"TryLock, over", multiRequest{once: true}, now, time.Time{}, true},
		{"a try that is over", multiRequest{}, now, time.Time{}, true},
		{"a try", multiRequest{}, soon, soon, false},
		{"a try within a wait", multiRequest{deadline: later}, soon, soon, false},
		{"a wait that ends before", multiRequest{deadline: soon}, later, soon, false},
	} {
		c.of.lease = time.Minute
		got := c.of.within(c.by)
		require.Equal(t, c.once, got.once, c.what)
		require.Equal(t, c.until, got.deadline, c.what)
		require.Zero(t, got.lease, c.what)
	}
}

// A lock that is held elsewhere, or on a server that does not reply, is requested again. One with too few replicas is
// not: the call has waited for them.
func TestMultiHold_TransientError_Retried(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	waits := multiRequest{ctx: t.Context()}
	for _, c := range []struct {
		what string
		of   multiRequest
		err  error
		on   bool
	}{
		{"taken", waits, ErrNotAcquired, true},
		{"silent", waits, ErrUnavailable, true},
		{"without its replicas", waits, ErrNotReplicated, false},
		{"lost", waits, ErrLost, false},
		{"of another kind", waits, ErrKindMismatch, false},
		{"closed", waits, ErrClosed, false},
		{"too many", waits, ErrTooManyWaiters, false},
		{"TryLock", multiRequest{ctx: t.Context(), once: true}, ErrNotAcquired, false},
		{"left", multiRequest{ctx: ended}, ErrNotAcquired, false},
		{"over", multiRequest{ctx: t.Context(), deadline: time.Now()}, ErrNotAcquired, false},
		{"in time", multiRequest{ctx: t.Context(), deadline: time.Now().Add(time.Hour)}, ErrNotAcquired, true},
	} {
		require.Equal(t, c.on, Multi{}.shouldRetry(c.of, Mutex{name: "n"}.fail(c.err, nil)), c.what)
	}
	require.False(t, Multi{}.shouldRetry(waits, nil))
}

// A wait that ends while its request is created becomes a short wait, and not an endless one.
func TestMultiHold_WaitElapsed_Ends(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	taken := held(t, e, "b")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // much longer than it takes
	defer cancel()
	var keeping actor.PartKeeper
	_, _, err := lettered(e, "ab").acquireAtomic(multiRequest{ctx: ctx, done: ctx.Done(), deadline: time.Now()}, keeping.WaitTime())
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, ctx.Err())
	require.NoError(t, taken.Unlock(t.Context()))
}

// The loop is kept busy. Callers that drop what LockAsync returns, also those that cancel it, then post a bounded
// number of requests. The calls beyond it are rejected at once, counted and reported. After that the engine works as
// before.
func TestLockAsync_BusyLoop_IsBounded(t *testing.T) {
	t.Parallel()
	const maxWaiting, callers, calls = 100, 4, 5_000
	server, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	var told atomic.Int64
	e, err := Open(t.Context(), Options{
		Redis:      rueidis.ClientOption{InitAddress: []string{server.Addr()}, ForceSingleClient: true},
		MaxWaiting: maxWaiting,
		Observer:   Observer{Rejected: func(string, time.Duration, error) { told.Add(1) }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	hold, err := e.Mutex("n").Lock(t.Context())
	require.NoError(t, err)

	held, release := make(chan struct{}), make(chan struct{})
	busy := engine.NewCallback(func() {
		close(held)
		<-release
	})
	busy.Op, busy.Name, busy.Key = coordinator.AskCount, "n", "n"
	require.True(t, e.loop.Post(busy))
	<-held
	const want = `lockwheel: lock "n": too many would wait: more than 100 in this engine (Options.MaxWaiting)`
	var wg sync.WaitGroup
	var posted, rejected atomic.Int64
	for range callers {
		wg.Go(func() {
			for i := range calls {
				p := e.Mutex("n").LockAsync(context.Background())
				if p.call != nil {
					posted.Add(1)
				} else {
					rejected.Add(1)
					<-p.Done()
					if _, err := p.Hold(); !errors.Is(err, ErrTooManyWaiters) || err.Error() != want {
						t.Error(err)
					}
				}
				if i%2 == 0 {
					p.Cancel()
				}
			}
		})
	}
	wg.Wait()
	close(release)
	require.EqualValues(t, callers*calls, posted.Load()+rejected.Load())
	require.LessOrEqual(t, posted.Load(), int64(maxWaiting+engine.AsyncBacklog))

	require.NoError(t, hold.Unlock(t.Context()))
	require.Eventually(t, func() bool { return uint64(told.Load())+e.Stats().DroppedEvents >= e.Stats().Failed }, 10*time.Second, 10*time.Millisecond)
	stats := e.Stats()
	require.GreaterOrEqual(t, stats.Shed, uint64(rejected.Load()))
	require.GreaterOrEqual(t, stats.Failed, stats.Shed)
}

// A close ends the lookups of holders that are under way, waits for them, and lets no other begin.
func TestLookups_EngineCloses_Ended(t *testing.T) {
	l := newLookups()
	require.True(t, l.begin())
	go func() {
		<-l.ctx.Done() // what the lookup waits for beside the server's reply
		l.done()
	}()
	l.end(time.Now().Add(10 * time.Second))
	require.Error(t, l.ctx.Err())
	require.False(t, l.begin())

	l = newLookups()
	require.True(t, l.begin()) // one that never ends
	l.end(time.Now())
	require.Error(t, l.ctx.Err())
}

// Close waits until an Observer, or a Logger, has received what came before.
func TestListeners_Close_WaitsForEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var received atomic.Int32
		receive := func() {
			time.Sleep(time.Second)
			received.Add(1)
		}
		observer := newListeners(&Options{Observer: Observer{Acquired: func(string, time.Duration) { receive() }}})
		observer.acquired("n", 0)
		observer.close(time.Now().Add(time.Minute))
		require.EqualValues(t, 1, received.Load())

		log := newListeners(&Options{Logger: slog.New(slowHandler(receive))})
		log.log.Info("text")
		log.close(time.Now().Add(time.Minute))
		require.EqualValues(t, 2, received.Load())
	})
}

// slowHandler is a log handler that calls a function, which may be slow.
type slowHandler func()

func (h slowHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h slowHandler) Handle(context.Context, slog.Record) error {
	h()
	return nil
}

func (h slowHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h slowHandler) WithGroup(string) slog.Handler { return h }

// The loop may reject a request before LockAsync watches its context, which then has no reference to it either.
func TestPending_FailedBeforeWatch_Unwatched(t *testing.T) {
	e := &Engine{}
	e.contexts.init(e)
	ctx := &registering{Context: t.Context(), done: make(chan struct{})}
	p := &Pending{call: engine.NewAsync(), hold: &Hold{engine: e, name: "n", parent: ctx}}
	p.state.Store(stateFailed)
	p.watch()
	require.Equal(t, 1, ctx.begun)
	require.Zero(t, ctx.registered)
}

// registering is a context that counts what is registered with it.
type registering struct {
	context.Context
	done              chan struct{}
	begun, registered int
}

func (c *registering) Done() <-chan struct{} { return c.done }

func (c *registering) Value(any) any { return nil }

func (c *registering) AfterFunc(func()) (stop func() bool) {
	c.begun++
	c.registered++
	return func() bool {
		c.registered--
		return true
	}
}

// Sentinels may watch several masters: engines with the same sentinels are on one server only if they name one master.
func TestQuorum_SentinelsOfSeveralMasters_Allowed(t *testing.T) {
	on := func(master string, sentinels ...string) Mutex {
		e := &Engine{servers: serverNames{master, sentinels}}
		return e.Mutex("n")
	}
	require.NoError(t, Quorum(on("one", "s:1", "s:2"), on("two", "s:1", "s:2"), on("three", "s:2")).err)
	require.ErrorContains(t, Quorum(on("one", "s:1", "s:2"), on("two", "s:1"), on("one", "s:2")).err, "[s:2]")
}

// An error names the server only of an engine that has one: sentinels, and nodes of a cluster, may be fine. A caller
// that gave up says nothing of a server.
func TestOnServer_SeveralAddresses_NotNamed(t *testing.T) {
	why := errors.New("why")
	on := func(master string, addresses ...string) *Engine {
		return &Engine{servers: serverNames{master, addresses}}
	}
	require.Equal(t, &serverError{"a:1", why}, on("", "a:1").onServer(why))
	for _, e := range []*Engine{nil, on(""), on("", "a:1", "b:1"), on("m", "a:1")} {
		require.Equal(t, why, e.onServer(why))
	}
	gone := actor.CallerGone{Cause: why}
	require.Equal(t, gone, on("", "a:1").onServer(gone))
}

// A client or dialer of the caller decides what an address means: equal addresses are then no proof of one server.
func TestServerNames_CallersDialer_None(t *testing.T) {
	own := rueidis.ClientOption{InitAddress: []string{"s:1"}}
	require.Equal(t, serverNames{addresses: []string{"s:1"}}, (&Options{Redis: own}).serverNames())
	client, dialer, dialerWithContext := Options{Redis: own}, Options{Redis: own}, Options{Redis: own}
	client.Client = struct{ rueidis.Client }{}
	dialer.Redis.DialFn = func(string, *net.Dialer, *tls.Config) (net.Conn, error) { return nil, net.ErrClosed }
	dialerWithContext.Redis.DialCtxFn = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
		return nil, net.ErrClosed
	}
	for _, o := range []Options{client, dialer, dialerWithContext} {
		require.Empty(t, o.serverNames())
	}
}

// If a quorum fails for several reasons, the error is the one that may soon pass.
func TestQuorum_SeveralReasons_TheOneThatPasses(t *testing.T) {
	on := func(address string) Mutex { return (&Engine{servers: serverNames{"", []string{address}}}).Mutex("n") }
	g := newMultiHold(t.Context(), Quorum(on("a:1"), on("b:1"), on("c:1")), 2)
	causes := multiError{errors.New("0 of 3"), errors.New("why")}
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes, tooManyWaiters: true, impossible: true, contested: true}), ErrTooManyWaiters)
	err := g.quorumError(&quorumFailure{causes: causes, impossible: true, contested: true})
	require.ErrorContains(t, err, errNoMajority.Error())
	require.NotErrorIs(t, err, ErrNotAcquired)
	busy := &quorumFailure{causes: append(causes, on("a:1").fail(ErrNotAcquired, nil), on("b:1").fail(ErrUnavailable, nil)), impossible: true}
	require.NotErrorIs(t, g.quorumError(busy), ErrNotAcquired, "a retry does not help")
	require.NotErrorIs(t, g.quorumError(busy), ErrUnavailable)
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes, contested: true}), ErrNotAcquired)
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes}), ErrUnavailable)
}

// The error of a quorum is of one kind, whatever its locks had. It matches what they are caused by, and says it all.
func TestQuorum_LocksOfSeveralKinds_OneKind(t *testing.T) {
	why, bad := errors.New("broken"), ServerError("NOPERM no")
	all := []error{ErrNotAcquired, ErrClosed, ErrUnavailable, ErrLost, ErrNotReplicated, ErrKindMismatch, bad}
	on := (&Engine{servers: serverNames{"", []string{"a:1"}}}).Mutex("n")
	g := newMultiHold(t.Context(), Quorum(on, on, on), 2)
	causes := multiError{errors.New("0 of 3"), on.engine.onServer(on.fail(errWaitAborted, why))}
	for _, kind := range all {
		causes = append(causes, on.fail(kind, nil))
	}
	text := g.quorumError(&quorumFailure{causes: causes}).Error()
	for kind, f := range map[error]*quorumFailure{
		ErrNotAcquired: {causes: causes, contested: true}, ErrTooManyWaiters: {causes: causes, tooManyWaiters: true}, ErrUnavailable: {causes: causes},
	} {
		err := g.quorumError(f)
		for _, other := range append(all, ErrTooManyWaiters) {
			require.Equal(t, other == kind || other == bad, errors.Is(err, other), "%v and %v", kind, other)
		}
		require.ErrorIs(t, err, why)
	}
	impossible := g.quorumError(&quorumFailure{causes: causes, impossible: true})
	for _, kind := range all {
		require.Equal(t, kind != ErrNotAcquired && kind != ErrUnavailable, errors.Is(impossible, kind), "no majority is possible, and %v", kind)
	}
	require.Equal(t, `lockwheel: lock "n": redis unavailable: 0 of 3; a:1: the caller's context ended the wait, the outcome is not known: broken; `+
		`lock not acquired; engine closed; lock lost; too few replicas have the lock; in use as another kind of lock; NOPERM no`, text)
}

// Very many locks are acquired in slices. A lock that is held already is in none of them, wherever it is: its owner
// would wait for itself.
func TestMulti_LockHeldAlready_InNoSlice(t *testing.T) {
	e := &Engine{}
	locks := make([]Mutex, maxAtomic+300)
	for i := range locks {
		locks[i] = e.Mutex(fmt.Sprintf("n%04d", i))
	}
	m := e.Multi(locks...)
	for has, want := range map[int][]int{
		-1:                       {0, 500, 1000, 1300},
		0:                        {0, 1, 501, 1001, 1300},
		1:                        {0, 1, 2, 502, 1002, 1300},
		sliceSize - 1:            {0, 499, 500, 1000, 1300},
		sliceSize:                {0, 500, 501, 1001, 1300},
		maxAtomic + 299:          {0, 500, 1000, 1299, 1300},
		maxAtomic + sliceSize/10: {0, 500, 1000, 1050, 1051, 1300},
	} {
		ends := []int{0}
		for first := 0; first < len(locks); {
			first = m.sliceEnd(first, has, m.needsSlices() && m.canLockAtomic())
			ends = append(ends, first)
		}
		require.Equal(t, want, ends, "held: %d", has)
	}
	require.True(t, e.Multi(locks[:maxAtomic+1]...).needsSlices())
	require.False(t, e.Multi(locks[:maxAtomic]...).needsSlices(), "as many as one command may have")
}

// A Multi may have as many locks as documented, and not one more.
func TestMulti_MostLocks_Allowed(t *testing.T) {
	e := &Engine{}
	locks := make([]Mutex, 100_001)
	for i := range locks {
		locks[i] = e.Mutex(strconv.Itoa(i))
	}
	require.NoError(t, e.Multi(locks[:100_000]...).err)
	require.ErrorContains(t, e.Multi(locks...).err, "at most 100000")
}

// A lock that was lost before all were acquired is requested again after a pause, as long as the caller's wait goes on.
// Otherwise the caller gets an error that says that it never held the locks, and why it no longer waits.
func TestMulti_PartLostEarly_RetriedWhileWaiting(t *testing.T) {
	e := &Engine{}
	m := e.Multi(e.Mutex("a"), e.Mutex("b"))
	lost := m.fail(ErrLost, nil)
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(ErrUpgrade) // any error
	for name, c := range map[string]struct {
		request multiRequest
		retried bool
	}{
		"no limit":         {multiRequest{ctx: t.Context()}, true},
		"limit":            {multiRequest{ctx: t.Context(), deadline: time.Now().Add(time.Minute)}, true},
		"limit too near":   {multiRequest{ctx: t.Context(), deadline: time.Now().Add(minLossPause / 2)}, false},
		"tries once":       {multiRequest{ctx: t.Context(), once: true}, false},
		"its context ends": {multiRequest{ctx: canceled, done: canceled.Done(), backoff: maxLossPause}, false},
	} {
		err := m.pauseAfterLoss(&c.request, lost)
		require.NotZero(t, c.request.backoff, name)
		if c.retried {
			require.NoError(t, err, name)
			first := c.request.backoff
			require.NoError(t, m.pauseAfterLoss(&c.request, lost), name)
			require.Greater(t, c.request.backoff, first, "%s: the next pause is longer", name)
			continue
		}
		require.ErrorIs(t, err, ErrUnavailable, name)
		require.NotErrorIs(t, err, ErrLost, name)
		require.Equal(t, c.request.ctx == canceled, errors.Is(err, ErrUpgrade), name)
	}
}

// Several locks that could not be acquired in the time of one try are tried again for reasons that can pass.
func TestMulti_TryFailed_RetriedIfItCanPass(t *testing.T) {
	m := Multi{name: "a,b"}
	waits := multiRequest{ctx: t.Context()}
	for _, err := range []error{ErrNotAcquired, ErrUnavailable} {
		require.True(t, m.shouldRetry(waits, m.fail(err, nil)), "%v", err)
		require.False(t, m.shouldRetry(multiRequest{ctx: t.Context(), once: true}, m.fail(err, nil)), "%v", err)
		require.False(t, m.shouldRetry(multiRequest{ctx: t.Context(), deadline: time.Now()}, m.fail(err, nil)), "%v", err)
	}
	for _, err := range []error{ErrNotReplicated, ErrKindMismatch, ErrUpgrade, ErrClosed, ErrTooManyWaiters} {
		require.False(t, m.shouldRetry(waits, m.fail(err, nil)), "%v", err)
	}
}

// Very many locks are released slice by slice. Once the server does not reply, the rest is posted together, because
// each slice would wait for its own timeout.
func TestReleaseRun_NextSlice_AllIfNoReply(t *testing.T) {
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	on, err := Dial(t.Context(), "redis://"+s.Addr())
	require.NoError(t, err)
	require.NoError(t, on.Close()) // it takes no call, so none has another result
	for err, want := range map[error]int{nil: sliceSize, ErrLost: sliceSize, ErrUnavailable: 3 * sliceSize} {
		l := &releaseRun{calls: make([]engine.Call, 2)}
		for range 3 * sliceSize {
			l.remaining = append(l.remaining, &Hold{engine: on})
		}
		l.pending.Store(2)
		l.calls[1].Err = err
		l.onResult()
		require.Len(t, l.calls, 2, "one of two has its result")
		l.onResult()
		require.Len(t, l.calls, want, "%v", err)
		require.Len(t, l.remaining, 3*sliceSize-want)
	}
}

// The releases of very many locks go on slice by slice although the caller no longer waits. Its other requests do not.
func TestRound_CallerLeft_ReleasesGoOn(t *testing.T) {
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	on, err := Dial(t.Context(), "redis://"+s.Addr())
	require.NoError(t, err)
	require.NoError(t, on.Close()) // it takes no call, so each slice that is posted has a result at once
	locks := make([]Mutex, 3*sliceSize)
	for i := range locks {
		locks[i] = on.Mutex(fmt.Sprintf("n%04d", i))
	}
	for op, next := range map[actor.Op]bool{actor.Unlock: true, actor.Extend: false} {
		for _, reply := range []error{nil, ErrUnavailable} { // the server replied to the slice, or it did not
			g := newMultiHold(t.Context(), on.Multi(locks...), len(locks))
			r := newRound(g)
			for i := range locks {
				r.add(i, &Hold{engine: on}, op, time.Second)
			}
			r.calls[0].Err = reply
			r.canceled.Store(true)
			r.pending.Store(1)
			r.onResult(0, sliceSize)
			if next {
				require.Equal(t, callResults{over: true}, <-r.results, "%v", reply)
				posted := sliceSize
				if reply != nil {
					posted = 2 * sliceSize // all that remain: each slice would wait as long
				}
				require.EqualValues(t, posted, r.pending.Load(), "%v", reply)
			}
			require.Equal(t, callResults{first: 0, last: sliceSize}, <-r.results)
			if !next && reply != nil {
				require.Equal(t, callResults{over: true}, <-r.results, "the caller waits for no later slice")
			}
			require.Empty(t, r.results)
		}
	}
}

// A hold that was unlocked meanwhile is not extended. That it is released is a success for an unlock only.
func TestRound_ExtendUnlocked_NoSuccess(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	holds := []*Hold{held(t, e, "a"), held(t, e, "b"), held(t, e, "c")}
	for _, h := range holds {
		require.NoError(t, h.Unlock(t.Context()))
	}
	g := ofThree(e, holds...)
	require.ErrorIs(t, g.broadcast(t.Context(), actor.Extend, time.Minute, time.Time{}), ErrNotHeld)
	require.NoError(t, g.broadcast(t.Context(), actor.Unlock, 0, time.Time{}))
}

// The errors of very many locks are mostly equal. A bounded number is kept, and each further kind once.
func TestErrorSample_VeryMany_Bounded(t *testing.T) {
	var f errorSample
	add := func(err error) {
		if f.wants(err) {
			f.add(err, err)
		}
	}
	for range 10 * maxErrors {
		add(ErrUnavailable)
	}
	require.Len(t, f.all, maxErrors)
	for range 3 {
		add(ErrLost)
	}
	require.Len(t, f.all, maxErrors+1)
	require.ErrorIs(t, f.all, ErrLost)
}

// The time in which all of very many locks must be had ends while a slice is on its way. That time bounds the wait for
// other holders, not that for a reply, so the slice is asked for once more. Otherwise a server far away gives none.
func TestMulti_SliceReplyLate_AskedAgain(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	m := e.Multi(e.Mutex("a"), e.Mutex("b"))
	require.NoError(t, s.Pause())
	holds, ended := make([]*Hold, 2), make(chan error, 1)
	go func() {
		until := time.Now().Add(300 * time.Millisecond) // if it were over at the start, there would be one try
		_, err := m.acquireSliceAtomic(multiRequest{ctx: t.Context()}, 0, 2, until, holds)
		ended <- err
	}()
	soon(t, "the end of the first try", func() bool { return e.Stats().Failed > 0 })
	require.NoError(t, s.Continue())
	if err := <-ended; err != nil {
		require.ErrorIs(t, err, actor.ErrOvertaken, "by the grant to the first try")
	}
}

// The context of several locks re-enters them at their own engine only. The same name elsewhere is another lock.
func TestMultiHold_OtherEngineOrName_NoOwner(t *testing.T) {
	t.Parallel()
	e, other := &Engine{}, &Engine{}
	for _, m := range []Multi{e.Multi(e.Mutex("a"), e.Mutex("b")), Quorum(e.Mutex("a"), e.Mutex("b"))} {
		g := newMultiHold(t.Context(), m, 2)
		g.ownOwner = 7
		require.EqualValues(t, 7, g.owner(e, "b"), m.quorum)
		g.members[1].hold.Store(&Hold{engine: e, name: "b", grant: actor.Hold{Owner: 8}})
		require.EqualValues(t, 8, g.owner(e, "b"), m.quorum)
		require.Zero(t, g.owner(other, "b"), m.quorum)
		require.Zero(t, g.owner(e, "c"), m.quorum)
		require.Zero(t, g.owner(e, "ab"), m.quorum)
	}
}

// An extension of very many locks ends with the first slice that has no reply: each further one would wait as long.
func TestRound_ExtendUnanswered_RestNotSent(t *testing.T) {
	t.Parallel()
	e, s := realEngine(t)
	locks := make([]Mutex, 3*sliceSize)
	for i := range locks {
		locks[i] = e.Mutex(fmt.Sprintf("n%04d", i))
	}
	hold, err := e.Multi(locks...).Lock(t.Context(), Lease(time.Minute))
	require.NoError(t, err)
	require.NoError(t, s.Pause())
	before := e.Stats()
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), ErrUnavailable)
	require.NoError(t, s.Continue())
	soon(t, "all answers", func() bool { return e.Stats().InFlight == 0 })
	require.LessOrEqual(t, e.Stats().Commands-before.Commands, uint64(2*sliceSize))
	require.NoError(t, hold.Unlock(t.Context()))
}

// Unlock of very many locks waits for one CallTimeout, not for one per slice, and so does UnlockAsync. What has not
// been released by then is released later.
func TestRound_UnlockSlow_WaitIsOneCallTimeout(t *testing.T) {
	t.Parallel()
	const callTimeout = 2 * time.Second
	s := redistest.Start(t)
	p := proxy.Start(t, s.Addr())
	e, err := Open(t.Context(), Options{CallTimeout: callTimeout, Redis: rueidis.ClientOption{InitAddress: []string{p.Addr()}}})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	var holds []*Hold
	for _, prefix := range []string{"a", "b"} {
		locks := make([]Mutex, 6*sliceSize)
		for i := range locks {
			locks[i] = e.Mutex(fmt.Sprintf("%s%04d", prefix, i))
		}
		hold, err := e.Multi(locks...).Lock(t.Context(), Lease(time.Minute))
		require.NoError(t, err)
		holds = append(holds, hold)
	}
	p.Set(proxy.Replies, proxy.Delay(callTimeout/2)) // so a wait for each slice has its reply, and all take three times as long
	began := time.Now()
	unlocking := holds[0].UnlockAsync()
	require.ErrorIs(t, holds[1].Unlock(t.Context()), ErrUnavailable)
	<-unlocking.Done()
	require.ErrorIs(t, unlocking.Err(), ErrUnavailable)
	t.Logf("%v of %v", time.Since(began), callTimeout)
	p.Set(proxy.Replies, proxy.Delay(0))
	soon(t, "all locks free", func() bool { return s.Int(t, "EXISTS", "a0000", "b0000", "a2999", "b2999") == 0 })
	soon(t, "all keys gone", func() bool { return s.Int(t, "DBSIZE") <= 1 }) // the engine's record stays
}

// A call for several locks that does not return, as its caller's context hangs, delays Close for a bounded time.
func TestClose_CallDoesNotReturn_Ends(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	e, err := Open(t.Context(), Options{CallTimeout: 2 * time.Second, Redis: s.ClientOption()}) // enough for Open on a busy machine
	require.NoError(t, err)
	e.multis.Add()
	e.quorums.Add()
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	soon(t, "the end of Close", func() bool { return len(closed) > 0 })
}

// The wait of a caller bounds the last step of locks that are acquired one by one: all get its lease. If the server
// does not reply, that is the error, and not that another caller has the lock. It names them all, and then each.
func TestMulti_SilentAtLastStep_WaitEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, err := Open(t.Context(), Options{CallTimeout: time.Minute, Lease: 5 * time.Minute, Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	m := e.Multi(e.FairMutex("a"), e.Mutex("b"))
	holds := []*Hold{held(t, e, "a"), held(t, e, "b")}
	require.NoError(t, s.Pause())
	ended := make(chan error, 1)
	go func() {
		_, err := m.holdOf(multiRequest{ctx: t.Context(), lease: 20 * time.Second, deadline: time.Now().Add(50 * time.Millisecond)}, holds)
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(8 * time.Second):
		t.Error("the caller waits for CallTimeout")
	}
	require.NoError(t, s.Continue())
	require.ErrorIs(t, err, ErrUnavailable)
	require.NotErrorIs(t, err, ErrNotAcquired)
	require.ErrorContains(t, err, `lockwheel: lock "a,b": redis unavailable: lock "a": redis unavailable: `)
	soon(t, "both locks free", func() bool { return s.Int(t, "EXISTS", "a", "b") == 0 })
}

// The error of a shutdown that Close interrupts names no lock: the engine has none any more.
func TestShutdown_ClosedMeanwhile_NamesNone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	e, err := Open(t.Context(), Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
	require.NoError(t, err)
	held(t, e, "a")
	require.Equal(t, `: "a"`, e.someHeld())
	require.NoError(t, e.Close())
	require.Empty(t, e.someHeld())
}

// Once the caller's wait has ended, no further lock of several is requested: neither alone nor in a slice of very many.
func TestMulti_PartsAfterWait_NotRequested(t *testing.T) {
	t.Parallel()
	m := Multi{locks: make([]Mutex, 3*sliceSize), name: "all"} // without an engine: a request would be another error, or panic
	late := multiRequest{ctx: t.Context(), deadline: time.Now()}
	for _, last := range []int{sliceSize + 1, 2 * sliceSize} {
		at, err := m.acquireSlice(late, sliceSize, last, time.Now(), make([]*Hold, len(m.locks)))
		require.ErrorIs(t, err, errNotAllRequested)
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, `lock "all"`)
		require.Equal(t, sliceSize, at)
	}
}

// A server with as many clients as it allows may soon have room. One that rejects a password will reject it again.
func TestOpen_MaxClients_Unavailable(t *testing.T) {
	require.ErrorIs(t, openError(t.Context(), actor.ServerError("ERR max number of clients reached")), ErrUnavailable)
	require.NotErrorIs(t, openError(t.Context(), actor.ServerError("WRONGPASS invalid username-password pair")), ErrUnavailable)
}

// valid returns options that name a server.
func valid() Options { return Options{Redis: rueidis.ClientOption{InitAddress: []string{"host:1"}}} }

// The defaults of times that depend on others follow these, as the fields of Options say.
func TestOptions_ZeroFields_DocumentedDefaults(t *testing.T) {
	t.Parallel()
	type defaults struct{ Lease, RenewInterval, CallTimeout, FairWaitTimeout, ReplicaTimeout time.Duration }
	for _, want := range []defaults{
		{30 * time.Second, 10 * time.Second, 3 * time.Second, 30 * time.Second, 1500 * time.Millisecond},
		{12 * time.Second, 4 * time.Second, 2 * time.Second, 12 * time.Second, time.Second},
		{time.Minute, 20 * time.Second, 3 * time.Second, time.Minute, 1500 * time.Millisecond},
	} {
		o := valid()
		o.Replicas.Min = 1
		if want.Lease != 30*time.Second {
			o.Lease = want.Lease
		}
		o, err := o.withDefaults()
		require.NoError(t, err)
		require.Equal(t, want, defaults{o.Lease, o.RenewInterval, o.CallTimeout, o.FairWaitTimeout, o.Replicas.Timeout})
		require.Equal(t, Handoff{MaxGrants: 64, MaxDuration: 5 * time.Millisecond}, o.Handoff)
		require.Equal(t, [2]int{1 << 21, 1 << 20}, [2]int{o.MaxWaiting, o.MaxWaitingPerLock})
	}
	o := valid()
	o.Replicas = Replicas{Min: -1, Timeout: time.Hour}
	o, err := o.withDefaults()
	require.NoError(t, err)
	require.Zero(t, o.Replicas, "none are required, so the time for them has no effect")
}

// Each limit is part of its range, and what is beyond is an error that names the option.
func TestOptions_Limits_Included(t *testing.T) {
	t.Parallel()
	const base = 6 * time.Second // the lease
	for name, c := range map[string]struct {
		set    func(*Options, time.Duration)
		lowest time.Duration
		most   time.Duration
	}{
		"Options.Lease":               {func(o *Options, d time.Duration) { o.Lease = d }, 100 * time.Millisecond, maxDuration},
		"Options.RenewInterval":       {func(o *Options, d time.Duration) { o.RenewInterval = d }, time.Millisecond, base / 2},
		"Options.CallTimeout":         {func(o *Options, d time.Duration) { o.CallTimeout = d }, time.Millisecond, base / 3},
		"Options.FairWaitTimeout":     {func(o *Options, d time.Duration) { o.FairWaitTimeout = d }, 100 * time.Millisecond, maxDuration},
		"Options.Handoff.MaxDuration": {func(o *Options, d time.Duration) { o.Handoff.MaxDuration = d }, time.Millisecond, maxDuration},
		"Options.HeldTooLong":         {func(o *Options, d time.Duration) { o.HeldTooLong = d }, time.Millisecond, maxDuration},
		"Options.MaxHold":             {func(o *Options, d time.Duration) { o.MaxHold = d }, time.Millisecond, maxDuration},
		"Options.Replicas.Timeout": {func(o *Options, d time.Duration) {
			o.Replicas, o.CallTimeout = Replicas{Min: 1, Timeout: d}, base/3
		}, time.Millisecond, base / 6},
	} {
		for d, ok := range map[time.Duration]bool{c.lowest: true, c.most: true, c.lowest - 1: false, c.most + 1: false, -1: false} {
			o := valid()
			o.Lease = base
			c.set(&o, d)
			_, err := o.withDefaults()
			if ok {
				require.NoError(t, err, "%s of %v", name, d)
			} else {
				require.ErrorContains(t, err, name, "%v", d)
			}
		}
	}
	for want, o := range map[string]Options{
		"Options.Notify of 2": {Notify: Poll + 1},
		"Options.Prefix":      {Prefix: strings.Repeat("x", maxNameLen)},
	} {
		o.Redis = valid().Redis
		_, err := o.withDefaults()
		require.ErrorContains(t, err, want)
	}
	o := valid()
	o.Prefix = strings.Repeat("x", maxNameLen-1)
	_, err := o.withDefaults()
	require.NoError(t, err, "there is room for a name of one byte")
}

// Each setting reaches the loop as it is, and in no other's place.
func TestOptions_EachSetting_PassedOn(t *testing.T) {
	t.Parallel()
	o := valid()
	o.Lease, o.RenewInterval, o.CallTimeout, o.FairWaitTimeout = 60*time.Second, 22*time.Second, 9*time.Second, 7*time.Second
	o.MaxHold, o.HeldTooLong, o.FindLeaks, o.Foreign, o.Notify = 99*time.Second, 44*time.Second, true, true, Poll
	o.Handoff = Handoff{MaxGrants: 5, MaxDuration: 66 * time.Millisecond}
	o.Replicas = Replicas{Min: 2, Timeout: 3 * time.Second}
	o.MaxWaiting, o.MaxWaitingPerLock = 77, 33
	o, err := o.withDefaults()
	require.NoError(t, err)
	got := o.config()
	require.NotEmpty(t, got.ID)
	require.NotZero(t, got.Seed)
	require.Equal(t, actor.Config{
		ID: got.ID, Seed: got.Seed,
		Lease: 60 * time.Second, RenewInterval: 22 * time.Second, RenewSpread: 11 * time.Second, CallTimeout: 9 * time.Second, FairWaitTimeout: 7 * time.Second,
		MaxHold: 99 * time.Second, HeldTooLong: 44 * time.Second, FindLeaks: true, Foreign: true, Poll: true,
		MaxHandoffGrants: 5, MaxHandoffTime: 66 * time.Millisecond, Replicas: 2, ReplicaTimeout: 3 * time.Second,
		MaxWaiting: 77, MaxWaitingPerLock: 33,
	}, got)
}

// With a dialer of the caller's an address can be anything but a URL, which may contain a password.
func TestOptions_CallersDialer_OddAddressAllowed(t *testing.T) {
	t.Parallel()
	for address, want := range map[string][2]bool{"host:1": {true, true}, "my server": {false, true}, "redis://user:secret@host:1": {}} {
		for i, custom := range []bool{false, true} {
			o := Options{Redis: rueidis.ClientOption{InitAddress: []string{"host:2", address}}}
			if custom {
				o.Redis.DialCtxFn = noDial
			}
			_, err := o.withDefaults()
			if want[i] {
				require.NoError(t, err, address)
				continue
			}
			require.ErrorContains(t, err, "number 2 is no address", address)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}

func noDial(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	return nil, net.ErrClosed
}

// The engine's client has the settings that Options.Redis documents, whatever the caller has set: with others a command
// could run twice or after a later one, or a dead server would not be noticed.
func TestClientOption_CallersSettings_Replaced(t *testing.T) {
	t.Parallel()
	redis := rueidis.ClientOption{
		InitAddress: []string{"host:1"}, PipelineMultiplex: 2, DisableAutoPipelining: true, BlockingPipeline: 1,
		BlockingPoolSize: 3, RingScaleEachConn: 40, ConnLifetime: time.Hour, ConnWriteTimeout: time.Hour,
		OnInvalidations:  func([]rueidis.RedisMessage) {},
		SendToReplicas:   func(rueidis.Completed) bool { return true },
		ReadNodeSelector: func(uint16, []rueidis.NodeInfo) int { return 0 },
		ReplicaOnly:      true,
		AlwaysRESP2:      true,
		Standalone:       rueidis.StandaloneOption{ReplicaAddress: []string{"host:2"}, EnableRedirect: true},
		ClusterOption:    rueidis.ClusterOption{MaxMovedRedirections: -1},
	}
	redis.Dialer.Timeout, redis.Dialer.KeepAlive = time.Hour, time.Hour
	redis.Sentinel.Dialer.Timeout, redis.Sentinel.Dialer.KeepAlive = time.Hour, time.Hour
	options := &Options{Redis: redis, CallTimeout: 2 * time.Second}
	open := func() *opening { return &opening{Canceler: dial.NewCanceler(t.Context(), options.CallTimeout)} }

	got := clientOption(t.Context(), options, open())
	require.Equal(t, -1, got.PipelineMultiplex)
	require.False(t, got.DisableAutoPipelining)
	require.False(t, got.AlwaysRESP2)
	require.Zero(t, got.BlockingPipeline)
	require.True(t, got.DisableCache)
	require.True(t, got.DisableRetry)
	require.Zero(t, got.ConnLifetime)
	require.Zero(t, got.RingScaleEachConn)
	require.Nil(t, got.OnInvalidations)
	require.Equal(t, 4, got.BlockingPoolSize)
	require.Equal(t, 2*time.Second, got.ConnWriteTimeout)
	for _, d := range []net.Dialer{got.Dialer, got.Sentinel.Dialer} {
		require.Equal(t, []time.Duration{2 * time.Second, time.Second}, []time.Duration{d.Timeout, d.KeepAlive})
	}
	require.Equal(t, 5, got.ClusterOption.MaxMovedRedirections)
	require.Equal(t, 5*time.Second, got.ClusterOption.ShardsRefreshInterval)
	require.Nil(t, got.SendToReplicas)
	require.Nil(t, got.ReadNodeSelector)
	require.False(t, got.ReplicaOnly)
	require.Empty(t, got.Standalone.ReplicaAddress)
	require.False(t, got.Standalone.EnableRedirect)

	// These are the caller's, if he has set them.
	options.Redis.ClusterOption = rueidis.ClusterOption{MaxMovedRedirections: 7, ShardsRefreshInterval: time.Minute}
	options.Redis.BlockingPoolSize = 9
	got = clientOption(t.Context(), options, open())
	require.Equal(t, options.Redis.ClusterOption, got.ClusterOption)
	require.Equal(t, 9, got.BlockingPoolSize)
	options.Redis.BlockingPoolSize = 0
	require.Zero(t, clientOption(t.Context(), options, open()).BlockingPoolSize, "the default of rueidis")

	// Behind Sentinel a guard dials, and it asks the sentinels.
	options.Redis.Sentinel.MasterSet, options.Redis.Sentinel.TopologyRefreshInterval = "m", time.Second
	o := open()
	require.Zero(t, clientOption(t.Context(), options, o).Sentinel.TopologyRefreshInterval)
	require.NotNil(t, o.guard)
}

// What a call is to do for its options. The last of a kind counts, and each limit is part of its range.
func TestOption_Combinations_LastCounts(t *testing.T) {
	t.Parallel()
	type meant struct {
		lease, wait time.Duration
		once        bool
	}
	for _, c := range []struct {
		try  bool
		opts []Option
		want meant
	}{
		{false, nil, meant{}},
		{true, nil, meant{once: true}},
		{false, []Option{{}}, meant{}},
		{true, []Option{{}}, meant{once: true}},
		{true, []Option{Wait(time.Second)}, meant{wait: time.Second}},
		{false, []Option{Wait(0)}, meant{once: true}},
		{false, []Option{Wait(-time.Second)}, meant{once: true}},
		{false, []Option{Wait(0), Wait(time.Second)}, meant{wait: time.Second}},
		{true, []Option{Wait(time.Second), Wait(0)}, meant{once: true}},
		{true, []Option{Wait(1)}, meant{wait: time.Millisecond}},
		{false, []Option{Wait(time.Millisecond), Lease(time.Millisecond)}, meant{lease: time.Millisecond, wait: time.Millisecond}},
		{false, []Option{Lease(time.Second), Lease(maxDuration), Wait(maxDuration)}, meant{lease: maxDuration, wait: maxDuration}},
	} {
		lease, wait, once, err := applyOptions(c.opts, c.try)
		require.NoError(t, err, "%v", c)
		require.Equal(t, c.want, meant{lease, wait, once}, "%v", c)
	}
	_, _, _, err := applyOptions([]Option{Wait(maxDuration + 1)}, true)
	require.ErrorContains(t, err, "or 0 to try once")
	for _, d := range []time.Duration{-1, 0, 1, time.Millisecond - 1, maxDuration + 1} {
		_, _, _, err := applyOptions([]Option{Lease(d)}, false)
		require.ErrorContains(t, err, "Lease of", "%v", d)
	}
}

// clusterOf is the client of a cluster with these nodes.
type clusterOf struct {
	rueidis.Client
	nodes map[string]rueidis.Client
}

func (c clusterOf) Nodes() map[string]rueidis.Client { return c.nodes }

// A cluster has replied to a PING only if each node has, in whatever order they do.
func TestPing_OneNodeFails_Error(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	client := func() rueidis.Client {
		options := s.ClientOption()
		options.DisableCache, options.ForceSingleClient = true, true
		c, err := rueidis.NewClient(options)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	one, other := client(), client()
	e := &Engine{}
	e.cluster.Store(true)
	e.link.Store(&link{client: clusterOf{one, map[string]rueidis.Client{"a:1": one, "b:1": other}}})
	ping := func() error {
		round := &pingRound{done: make(chan struct{})}
		e.runPing(round)
		return round.err
	}
	require.NoError(t, ping())
	other.Close() // it fails at once, so before the other one has a reply
	for range 10 {
		require.ErrorIs(t, ping(), rueidis.ErrClosing)
	}
}

// Calls of Ping share the round in flight. Once the engine is closing, no further one begins.
func TestPing_InFlight_Shared(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	e.closing.Store(true)
	inFlight := &pingRound{done: make(chan struct{})}
	e.ping.Store(inFlight)
	require.Same(t, inFlight, e.pingRound())
	close(inFlight.done)
	next := e.pingRound()
	require.NotSame(t, inFlight, next)
	<-next.done
	require.ErrorIs(t, next.err, rueidis.ErrClosing)
}

// Stats count the log records that were dropped because the handler was too slow, like events of an Observer.
func TestStats_HandlerBlocks_RecordsCounted(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	require.NoError(t, err)
	defer s.Close()
	unblock := make(chan struct{})
	handler := blockingHandler{slog.DiscardHandler, unblock}
	e, err := Open(t.Context(), Options{Redis: s.ClientOption(), Logger: slog.New(handler)})
	require.NoError(t, err)
	defer e.Close()
	defer close(unblock)
	for range 2*maxQueuedRecords + 1 {
		e.listeners.log.Warn("n")
	}
	require.GreaterOrEqual(t, e.Stats().DroppedEvents, uint64(maxQueuedRecords))
}

type blockingHandler struct {
	slog.Handler
	until <-chan struct{}
}

func (h blockingHandler) Enabled(context.Context, slog.Level) bool {
	<-h.until
	return false
}

// A server that does not allow PING is reachable, and the error says what it replied, without the user.
func TestPing_Rejected_ServerError(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	require.NoError(t, e.Ping(t.Context()))
	client := e.link.Load().client
	require.NoError(t, client.Do(t.Context(), client.B().Arbitrary("ACL", "SETUSER", "default", "-ping").Build()).Error())
	err := e.Ping(t.Context())
	var said ServerError
	require.ErrorAs(t, err, &said)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "NOPERM")
	require.NotContains(t, err.Error(), "User default")
}

// An answer that has come counts, also if the time for answers is over.
func TestLatest_AnswersAtTheEnd_LastCounts(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for range 64 { // a select with several ready cases takes any of them
		answers := make(chan Holder, 2)
		answers <- Holder{ID: "record"}
		answers <- Holder{ID: "answer"}
		require.Equal(t, "answer", latest(ended, Holder{ID: "key"}, answers).ID)
		close(answers)
		require.Equal(t, "key", latest(ended, Holder{ID: "key"}, answers).ID)
	}
}

// The addresses are shuffled in a copy: other engines may read the caller's at the same time.
func TestClientOption_ShuffleInit_CallersSliceKept(t *testing.T) {
	t.Parallel()
	addresses := make([]string, 100)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("host:%d", i)
	}
	options := &Options{Redis: rueidis.ClientOption{InitAddress: slices.Clone(addresses), ShuffleInit: true}, CallTimeout: time.Second}
	got := clientOption(t.Context(), options, &opening{Canceler: dial.NewCanceler(t.Context(), time.Second)})
	require.False(t, got.ShuffleInit)
	require.Equal(t, addresses, options.Redis.InitAddress)
	require.ElementsMatch(t, addresses, got.InitAddress)
	require.NotEqual(t, addresses, got.InitAddress)
}

// rueidis would reject it only when a node of a cluster has replied.
func TestOptions_NegativeRefresh_Rejected(t *testing.T) {
	t.Parallel()
	o := Options{Redis: rueidis.ClientOption{InitAddress: []string{"host:1"}, ClusterOption: rueidis.ClusterOption{ShardsRefreshInterval: -1}}}
	_, err := o.withDefaults()
	require.ErrorContains(t, err, "ShardsRefreshInterval")
}
