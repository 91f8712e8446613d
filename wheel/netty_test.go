package wheel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The assertions of Netty's tests of HashedWheelTimer, and the tests here that make them. Nothing sleeps: time is a
// number.
//
//	 1  testScheduleTimeoutShouldNotRunBeforeDelay       TestTimer_BeforeDeadline_NotFired
//	 2  testScheduleTimeoutShouldRunAfterDelay           TestTimer_AfterDeadline_FiresWithinTick
//	 3  testStopTimer                                    TestStop_ReturnsPendingInOrder
//	 4  ...ShouldThrowExceptionAfterShutdown...          TestSchedule_AfterStop_Rejected
//	 5  testTimerOverflowWheelLength                     TestTimer_Rearmed_SurvivesRevolutions
//	 6  testExecutionOnTime                              TestTimers_HundredThousand_OnTime
//	 7  testExecutionOnTaskExecutor                      TestAdvance_OwnerRunsWork
//	 8  testRejectedExecution...AddedBackToBack          TestLimit_Reached_Rejects
//	 9  testNewTimeout...ExistingTimeoutIsCancelled      TestLimit_Cancel_MakesRoom
//	10  testNewTimeout...ExistingTimeoutIsExecuted       TestLimit_Firing_MakesRoom
//	11  reportPendingTimeouts                            TestLen_CountsPending
//	12  testOverflow                                     TestTimer_LargestTime_NotEarly
//	13  testStopTimerCancelsPendingTasks                 TestStop_CancelsPending
//	14  testPending...CancelledWithinGoalTick            TestCancel_WithinFiringTick_CountsOnce
//	15  cancelWillCallCallback                           TestTimer_EachUse_EndsOnce
//	16  testHashedWheelTimerStartStop                    TestWheel_PureGo: nothing that could block is imported or used
//	17  HashedWheelTimerMonitorTest                      TestTimers_LatenessHistogram

// Netty 1, testScheduleTimeoutShouldNotRunBeforeDelay.
func TestTimer_BeforeDeadline_NotFired(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	timer := o.after(10*s, func() { assert.Fail(t, "must not fire") })
	o.sleepUntil(3 * s)
	assert.True(t, timer.Scheduled())
	assert.Zero(t, o.advance(10*s-1), "one nanosecond is early, too")
	assert.Equal(t, Scheduled, timer.State())
}

// Netty 2, testScheduleTimeoutShouldRunAfterDelay.
func TestTimer_AfterDeadline_FiresWithinTick(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	var fired time.Duration
	timer := o.after(1999*ms, func() { fired = o.now })
	o.sleepUntil(3 * s)
	assert.Equal(t, 2*s, fired)
	assert.Equal(t, Fired, timer.State())
	assert.False(t, timer.Scheduled())
}

// Netty 3, testStopTimer. There the remaining timers have no order, and some may be missing.
func TestStop_ReturnsPendingInOrder(t *testing.T) {
	done := newOwner(t, 100*ms, Config{})
	for range 3 {
		done.after(1*ms, nothing)
	}
	done.sleepUntil(1 * s)
	assert.Zero(t, done.Stop(nil), "all have fired")

	o := newOwner(t, 100*ms, Config{})
	o.advance(1 * s)
	delays := []time.Duration{-1, 5 * s, 6 * s, 30 * s, time.Hour, 30 * 24 * time.Hour, 10 * 365 * 24 * time.Hour}
	timers := make([]*task, len(delays))
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(delays)) {
		timers[i] = o.after(delays[i], nothing)
	}
	var got []*task
	assert.Equal(t, len(delays), o.Stop(func(timer *task) { got = append(got, timer) }))
	assert.Equal(t, timers, got)
	assert.Zero(t, o.Stop(func(*task) { assert.Fail(t, "a second stop hands back nothing") }))
}

// Netty 4, testTimerShouldThrowExceptionAfterShutdownForNewTimeouts. Here a rejected timer is not counted as pending;
// in Netty it is.
func TestSchedule_AfterStop_Rejected(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	o.after(1*ms, nothing)
	o.Stop(nil)
	timer := &task{}
	require.ErrorIs(t, o.Schedule(timer, 1*ms), ErrStopped)
	assert.Equal(t, Idle, timer.State())
	assert.Zero(t, o.Len())
	_, ok := o.Next()
	assert.False(t, ok)
	assert.Zero(t, o.advance(time.Hour))
}

// Netty 5, testTimerOverflowWheelLength, which requires three runs.
func TestTimer_Rearmed_SurvivesRevolutions(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	var at []time.Duration
	var timer task
	timer.Value = func() {
		at = append(at, o.now)
		require.NoError(t, o.Schedule(&timer, o.now+100*ms))
	}
	require.NoError(t, o.Schedule(&timer, 100*ms))
	runs := 3 * slotsPerLevel
	o.sleepUntil(time.Duration(runs) * 100 * ms)
	require.Len(t, at, runs)
	for i := range at {
		require.Equal(t, time.Duration(i+1)*100*ms, at[i])
	}
	assert.Equal(t, 1, o.Stop(func(left *task) { assert.Same(t, &timer, left) }))
}

// Netty 6, testExecutionOnTime: ticks of 200 ms, delays of 125 ms. It allows 650 ms; it promises 325 ms.
func TestTimers_HundredThousand_OnTime(t *testing.T) {
	const tick, delay, timers = 200 * ms, 125 * ms, 100_000
	o := newOwner(t, tick, Config{})
	fired := 0
	for range timers {
		born := o.now
		o.after(delay, func() {
			fired++
			if waited := o.now - born; waited < delay || waited >= delay+tick {
				assert.Fail(t, "not on time", "waited %v", waited)
			}
		})
		o.sleepUntil(o.now + 10*time.Microsecond)
	}
	o.sleepUntil(o.now + delay + tick)
	assert.Equal(t, timers, fired)
}

// Netty 7, testExecutionOnTaskExecutor. The owner receives the timer and decides where its work runs.
func TestAdvance_OwnerRunsWork(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	ran := false
	timer := o.after(1*ms, func() { ran = true })
	var queue []*task
	o.Advance(1*s, func(fired *task) { queue = append(queue, fired) })
	require.Len(t, queue, 1)
	assert.Same(t, timer, queue[0])
	assert.False(t, ran)
	queue[0].Value()
	assert.True(t, ran)
}

// Netty 8, testRejectedExecutionExceptionWhenTooManyTimeoutsAreAddedBackToBack.
func TestLimit_Reached_Rejects(t *testing.T) {
	o := newOwner(t, 100*ms, Config{Limit: 2})
	first := o.after(5*s, nothing)
	o.after(-1, nothing)
	third := &task{}
	require.ErrorIs(t, o.Schedule(third, 5*s), ErrFull)
	assert.Equal(t, Idle, third.State())
	assert.Equal(t, 2, o.Len())
	require.NoError(t, o.Schedule(first, 6*s), "moving adds none")

	boundless := newOwner(t, 100*ms, Config{Limit: -1})
	for range 1000 {
		boundless.after(5*s, nothing)
	}
	assert.Equal(t, 1000, boundless.Len())
}

// Netty 9, testNewTimeoutShouldStopThrowingRejectedExecutionExceptionWhenExistingTimeoutIsCancelled, which has to wait
// five ticks for the room.
func TestLimit_Cancel_MakesRoom(t *testing.T) {
	o := newOwner(t, 25*ms, Config{Limit: 2})
	o.after(5*s, nothing)
	second := o.after(5*s, nothing)
	require.ErrorIs(t, o.Schedule(&task{}, 5*s), ErrFull)
	require.True(t, o.Cancel(second))
	third := o.after(1*s, nothing)
	o.sleepUntil(2 * s)
	assert.Equal(t, Fired, third.State())
}

// Netty 10, testNewTimeoutShouldStopThrowingRejectedExecutionExceptionWhenExistingTimeoutIsExecuted.
func TestLimit_Firing_MakesRoom(t *testing.T) {
	o := newOwner(t, 25*ms, Config{Limit: 2})
	o.after(5*s, nothing)
	var third *task
	o.after(50*ms, func() { third = o.after(50*ms, nothing) }) // its own place is free already
	o.sleepUntil(1 * s)
	require.NotNil(t, third)
	assert.Equal(t, Fired, third.State())
}

// Netty 11, reportPendingTimeouts.
func TestLen_CountsPending(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	o.after(500*ms, nothing)
	second, third := o.after(1*s, nothing), o.after(-1, nothing)
	assert.Equal(t, 3, o.Len())
	o.Cancel(second)
	assert.Equal(t, 2, o.Len())
	o.Cancel(third)
	assert.Equal(t, 1, o.Len())
	o.Cancel(third)
	assert.Equal(t, 1, o.Len())
	o.sleepUntil(600 * ms)
	assert.Zero(t, o.Len())
}

// Netty 12, testOverflow.
func TestTimer_LargestTime_NotEarly(t *testing.T) {
	for _, tick := range []time.Duration{1, 7, 1 * ms, 5 * ms, time.Hour, endOfTime} {
		o := newOwner(t, tick, Config{})
		timer := &task{Value: nothing}
		require.NoError(t, o.Schedule(timer, math.MaxInt64))
		assert.Zero(t, o.advance(1*s))
		assert.Zero(t, o.advance(endOfTime-1))
		at, ok := o.Next()
		assert.True(t, ok)
		assert.Equal(t, endOfTime, at)
		assert.Equal(t, 1, o.advance(endOfTime), "there is no later time")
	}
}

// Netty 13, testStopTimerCancelsPendingTasks; 14081 is where it came from.
func TestStop_CancelsPending(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	for i := range 10 {
		o.after(time.Duration(i)*s, func() { assert.Fail(t, "stopped") })
	}
	o.Stop(func(timer *task) {
		assert.Equal(t, Canceled, timer.State())
		assert.False(t, o.Cancel(timer))
	})
	assert.Zero(t, o.Len())
}

// Netty 14, testPendingTimeoutsShouldBeCountedCorrectlyWhenTimeoutCancelledWithinGoalTick, and 14959: counted twice.
func TestCancel_WithinFiringTick_CountsOnce(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	var others []*task
	canceled := 0
	for range 11 {
		others = append(others, o.after(50*ms, func() {
			for _, other := range others {
				if o.Cancel(other) {
					canceled++
				}
				assert.GreaterOrEqual(t, o.Len(), 0)
			}
		}))
	}
	assert.Equal(t, 1, o.advance(1*s))
	assert.Equal(t, 10, canceled)
	assert.Zero(t, o.Len())
}

// Netty 15, cancelWillCallCallback, which has no test annotation and never runs there: a canceled timeout calls its
// canceled hook, and not its task. Here Cancel and Stop report to their caller instead, once per use.
func TestTimer_EachUse_EndsOnce(t *testing.T) {
	o := newOwner(t, 100*ms, Config{})
	timer := o.after(1*s, func() { assert.Fail(t, "canceled") })
	assert.True(t, o.Cancel(timer), "this is where a hook would run")
	assert.Equal(t, Canceled, timer.State())
	assert.False(t, o.Cancel(timer))
	assert.Zero(t, o.advance(2*s))

	fired := o.after(1*s, nothing)
	o.advance(4 * s)
	assert.False(t, o.Cancel(fired), "it has fired")
	assert.Equal(t, Fired, fired.State(), "and remembers it")

	o.after(1*s, func() { assert.Fail(t, "stopped") })
	handed := 0
	o.Stop(func(*task) { handed++ })
	assert.Equal(t, 1, handed)
	assert.False(t, o.Cancel(&task{}), "never scheduled")
}

// Netty 17, HashedWheelTimerMonitorTest, removed in 2013: one event per timeout, and a histogram of lateness.
func TestTimers_LatenessHistogram(t *testing.T) {
	const tick, timers, buckets = 5 * ms, 100_000, 10
	o := newOwner(t, tick, Config{})
	r := rand.New(rand.NewPCG(17, 17))
	var histogram [buckets]int
	for range timers {
		at := time.Duration(r.Int64N(int64(time.Minute)))
		o.after(at, func() {
			bucket := (o.now - at) * buckets / tick
			if o.now < at || bucket >= buckets {
				require.Fail(t, "not on time", "set for %v, fired at %v", at, o.now)
			}
			histogram[bucket]++
		})
	}
	o.sleepUntil(2 * time.Minute)
	sum := 0
	for _, n := range histogram {
		sum += n
		assert.InDelta(t, timers/buckets, n, timers/buckets/10, "no part of a tick is preferred: %v", histogram)
	}
	assert.Equal(t, timers, sum)
}
