package engine

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// idleEngine returns an engine without a loop, with that many bundles in flight.
func idleEngine(bundles int) *Engine {
	e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second}, nil, Hooks{}, nil)
	e.coordinator.Fallback.InFlightBundles = bundles
	return e
}

// compute occupies each processor with several goroutines until the test ends.
func compute(t *testing.T) {
	var wg sync.WaitGroup
	var end atomic.Bool
	for range 4 * runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for !end.Load() {
			}
		})
	}
	t.Cleanup(func() { end.Store(true); wg.Wait() })
}

// While the goroutines of a program compute, the loop does not wait for all of them in each turn. The reason is that
// renewals of many locks need many turns.
func TestYield_OthersCompute_Paused(t *testing.T) {
	compute(t)
	e := idleEngine(2)
	for begun := time.Now(); e.longYieldTook == 0; {
		require.Less(t, time.Since(begun), 20*time.Second, "no yield takes as long as the others compute")
		e.yieldBetweenTurns()
	}
	ended := e.longYieldEnded
	e.yieldBetweenTurns()
	require.Equal(t, ended, e.longYieldEnded, "there is no other yield before")
}

// onceOf reports whether a goroutine that yields lets another one run, in one of several attempts. Go's scheduler runs
// the one that yields first now and then, so that one attempt proves nothing.
func onceOf(attempt func() bool) bool {
	for range 8 {
		if attempt() {
			return true
		}
	}
	return false
}

// mostly is onceOf for a goroutine that may not yield: the system can stop it, and run the other one, in a few
// attempts.
func mostly(attempt func() bool) bool {
	const attempts = 15
	ran := 0
	for range attempts {
		if attempt() {
			ran++
		}
	}
	return ran > attempts/2
}

// A caller that does not block yields after some of its calls, not after each.
func TestPostAsync_FewCalls_YieldsAfterSome(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	require.True(t, onceOf(func() bool {
		e := newHeldLoop()
		e.async = newAsyncLimit(&actor.Config{MaxWaiting: 2 * callsPerYield})
		var ran atomic.Bool
		go ran.Store(true)
		for calls := 1; calls < callsPerYield; calls++ {
			require.NotNil(t, e.post(t, 0))
			if ran.Load() {
				return false // or the system stopped this goroutine
			}
		}
		require.NotNil(t, e.post(t, 0))
		return ran.Load()
	}))
}

// A yield that takes too long is followed by a pause in proportion; one of callers that only post is not.
func TestYield_TookLong_PausedInProportion(t *testing.T) {
	e := idleEngine(2)
	e.noteYield(time.Second, time.Second+longYield)
	require.False(t, e.yieldPaused(time.Second+longYield))
	e.noteYield(time.Second, 3*time.Second)
	require.True(t, e.yieldPaused(3*time.Second+yieldPause*2*time.Second-1))
	require.False(t, e.yieldPaused(3*time.Second+yieldPause*2*time.Second))
	e.workLeft = true
	require.True(t, e.yieldPaused(3*time.Second+busyYieldPause*2*time.Second-1))
	require.False(t, e.yieldPaused(3*time.Second+busyYieldPause*2*time.Second))
}

// After a turn that gave at least two requests their results, others run before the next turn. After one result none
// does, so that a lone caller does not wait for others.
func TestYield_TwoResults_CallersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for results := range 4 {
		require.Equal(t, results >= 2, mostly(func() bool {
			e := idleEngine(0)
			for range results {
				e.coordinator.Fx.Results = append(e.coordinator.Fx.Results, &actor.Request{})
			}
			e.coordinator.Turn(0, nil)
			e.flush(0)
			e.coordinator.ResetOutputs()
			var ran atomic.Bool
			go ran.Store(true)
			e.gather(e.Now())
			return ran.Load()
		}), results)
	}
}

// After a turn with few results, and little in flight, the loop yields until as many requests have come, but not for
// long. After one with many results, or much in flight, it yields once.
func TestGather_FewResults_AllCome(t *testing.T) {
	for _, c := range []struct {
		results, bundles, come int
		took                   time.Duration
		yields                 int
	}{
		{2, 0, 0, 0, maxGathers},
		{2, 0, 1, 0, maxGathers},
		{2, 0, 2, 0, 1},
		{fewResults, fewBundles, 0, gatherTime, maxGathers},
		{fewResults, fewBundles, fewResults - 1, 0, maxGathers},
		{fewResults, fewBundles, fewResults, 0, 1},
		{2, 0, 0, gatherTime + 1, 1},
		{fewResults + 1, 0, 0, 0, 1},
		{2, fewBundles + 1, 0, 0, 1},
	} {
		e := idleEngine(c.bundles)
		e.woken = c.results
		for range c.come {
			e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimersDue{}})
		}
		yields := 1
		for !e.gathered(yields, c.took) {
			yields++
		}
		require.Equal(t, c.yields, yields, c)
	}
}

// While gather yields, the callers run, also those that need more than one turn of Go's scheduler.
func TestGather_CallerNeedsTwoTurns_Awaited(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	awaited := false
	for attempts := 0; !awaited && attempts < 20; {
		e := idleEngine(0)
		e.woken = 2
		go func() {
			runtime.Gosched()
			e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimersDue{}})
		}()
		began := e.Now()
		if e.gather(began)-began > gatherTime {
			continue // a busy machine takes that long for a yield now and then
		}
		awaited = e.box.Has(1)
		attempts++
	}
	require.True(t, awaited)
}

// Goroutines that compute make no caller of a few results wait for several turns of theirs.
func TestGather_OthersCompute_Paused(t *testing.T) {
	compute(t)
	e := idleEngine(0)
	e.woken = 2
	for begun := time.Now(); e.longYieldTook == 0; {
		require.Less(t, time.Since(begun), 20*time.Second, "no yield takes as long as the others compute")
		e.gather(e.Now())
	}
	ended := e.longYieldEnded
	require.Equal(t, ended, e.gather(ended), "no other yield before the pause is over")
}

// A turn that leaves work for the next lets others run before that, also on one processor. A loop that is idle yields
// to none.
func TestYield_WorkLeft_OthersRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, left := range []bool{true, false} {
		require.Equal(t, left, mostly(func() bool {
			e := idleEngine(0)
			for range 1 + map[bool]int{true: coordinator.MaxMessagesPerTurn}[left] {
				e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimersDue{}})
			}
			e.coordinator.Turn(0, e.box.TakeAll())
			e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimersDue{}}) // so that the loop does not sleep
			e.sleep(0)
			var ran atomic.Bool
			go ran.Store(true)
			e.yieldBetweenTurns()
			return ran.Load()
		}))
	}
}

// Only a turn that takes longer than documented is reported as slow.
func TestSlowTurn_QuickOne_NotReported(t *testing.T) {
	var slow []time.Duration
	e := newEngine(actor.Config{}, nil, Hooks{SlowTurn: func(turn time.Duration) { slow = append(slow, turn) }}, nil)
	e.epoch = time.Now().Add(-time.Hour)
	e.noteTurnTime(e.Now() + time.Second) // it took less than no time
	require.Empty(t, slow)
	e.noteTurnTime(e.Now() - time.Second)
	require.Len(t, slow, 1)
	require.GreaterOrEqual(t, slow[0], time.Second)
}
