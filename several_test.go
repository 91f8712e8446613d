package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/internal/embedded"
)

// Sentinels may watch several masters: engines with the same sentinels are on one server only if they name one master.
func TestQuorum_SentinelsOfSeveralMasters_Allowed(t *testing.T) {
	on := func(master string, sentinels ...string) Mutex {
		e := &Engine{servers: serverNames{master, sentinels}}
		return e.Mutex("n")
	}
	require.NoError(t, Quorum(on("one", "s:1", "s:2"), on("two", "s:1", "s:2"), on("three", "s:2")).err)
	require.ErrorContains(t, Quorum(on("one", "s:1", "s:2"), on("two", "s:1"), on("one", "s:2")).err, "[s:2]")
}

// If a quorum fails for several reasons, the error is the one that may soon pass.
func TestQuorum_SeveralReasons_TheOneThatPasses(t *testing.T) {
	on := func(address string) Mutex { return (&Engine{servers: serverNames{"", []string{address}}}).Mutex("n") }
	g := newMultiHold(t.Context(), Quorum(on("a:1"), on("b:1"), on("c:1")), 2)
	causes := multiError{errors.New("0 of 3"), errors.New("why")}
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes, crowded: true, impossible: true, contested: true}), ErrTooManyWaiters)
	err := g.quorumError(&quorumFailure{causes: causes, impossible: true, contested: true})
	require.ErrorContains(t, err, errNoMajority.Error())
	require.NotErrorIs(t, err, ErrNotAcquired)
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes, contested: true}), ErrNotAcquired)
	require.ErrorIs(t, g.quorumError(&quorumFailure{causes: causes}), ErrUnavailable)
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
			first = m.sliceEnd(first, has)
			ends = append(ends, first)
		}
		require.Equal(t, want, ends, "held: %d", has)
	}
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
	for _, err := range []error{ErrNotAcquired, ErrUnavailable, ErrNotReplicated} {
		require.True(t, m.shouldRetry(waits, m.fail(err, nil)), "%v", err)
		require.False(t, m.shouldRetry(multiRequest{ctx: t.Context(), once: true}, m.fail(err, nil)), "%v", err)
		require.False(t, m.shouldRetry(multiRequest{ctx: t.Context(), deadline: time.Now()}, m.fail(err, nil)), "%v", err)
	}
	for _, err := range []error{ErrKindMismatch, ErrUpgrade, ErrClosed, ErrTooManyWaiters} {
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
	for op, next := range map[actor.Event]bool{actor.Unlock: true, actor.Extend: false} {
		g := newMultiHold(t.Context(), on.Multi(locks...), len(locks))
		r := newRound(g)
		for i := range locks {
			r.add(i, &Hold{engine: on}, op, time.Second)
		}
		r.canceled.Store(true)
		r.pending.Store(1)
		r.onResult(0, sliceSize)
		if next {
			require.Equal(t, callResults{sliceSize, 2 * sliceSize, true}, <-r.results)
		}
		require.Equal(t, callResults{0, sliceSize, false}, <-r.results)
		require.Empty(t, r.results)
	}
}
