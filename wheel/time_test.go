package wheel

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNew_TickNotPositive_Error(t *testing.T) {
	for _, tick := range []time.Duration{0, -1, math.MinInt64} {
		w, err := New[int](tick, Config{})
		assert.Error(t, err)
		assert.Nil(t, w)
	}
	w, err := New[int](1, Config{})
	require.NoError(t, err)
	checkInvariants(t, w)
}

// Trap 6.
func TestSchedule_DeadlineRoundsUp(t *testing.T) {
	o := newOwner(t, 5*ms, Config{})
	for _, c := range []struct{ at, fires time.Duration }{
		{1, 5 * ms}, {5*ms - 1, 5 * ms}, {5 * ms, 5 * ms}, {5*ms + 1, 10 * ms}, {10 * ms, 10 * ms},
	} {
		timer := &task{}
		require.NoError(t, o.Schedule(timer, c.at))
		at, ok := o.Next()
		assert.True(t, ok)
		assert.Equal(t, c.fires, at, "set for %v", c.at)
		require.True(t, o.Cancel(timer))
	}
}

// delays returns the delays at which wheels have failed. They are none, negative, about a tick, about a revolution, and
// exact multiples of one (Netty 1953, 744; Akka 1016). The last is the largest (Netty 7765, which fired at once). Every
// level has a revolution of its own.
func delays(tick time.Duration) []time.Duration {
	all := []time.Duration{math.MinInt64, -1, 0, 1, tick - 1, tick, tick + 1, 10 * 365 * 24 * time.Hour, endOfTime - 1, endOfTime}
	for level := range levels + 1 {
		width := tick << (stepBits * level)
		for _, slots := range []time.Duration{slotsPerLevel/2 - 1, slotsPerLevel - 2, slotsPerLevel - 1, slotsPerLevel} {
			all = append(all, slots*width-tick, slots*width-1, slots*width, slots*width+1, slots*width+tick)
		}
		all = append(all, 10*slotsPerLevel*width)
	}
	return all
}

// startingPoints returns ticks and times between them at which a wheel may be when a timer is scheduled.
func startingPoints(tick time.Duration) []time.Duration {
	return []time.Duration{0, 1, tick - 1, tick, 7 * tick, 8*tick - 1, 255 * tick, 256 * tick, 257*tick + 1, 2047 * tick, 65535*tick + 3}
}

// No timer is early, or late by a tick, wherever the wheel is when it is scheduled.
func TestTimer_AnyDelay_OnTime(t *testing.T) {
	const tick = 5 * ms
	for _, start := range startingPoints(tick) {
		for _, delay := range delays(tick) {
			if delay > endOfTime-start {
				continue // an overflow of the caller, and no valid time
			}
			o := newOwner(t, tick, Config{})
			o.advance(start)
			timer := o.after(delay, nothing)
			if delay <= 0 {
				require.Equal(t, 1, o.advance(start), "%v after %v: due at once", delay, start)
				continue
			}
			require.Zero(t, o.advance(start+delay-1), "%v after %v: early", delay, start)
			require.True(t, timer.Scheduled())
			checkInvariants(t, o.Wheel)
			late := min(start+delay, endOfTime-(tick-1)) + tick - 1
			require.Equal(t, 1, o.advance(late), "%v after %v: late", delay, start)
		}
	}
}

// The same for an owner that wakes only when Next says so. A timer that is alone causes one wakeup, however far ahead
// it is.
func TestNext_LoneTimer_Exact(t *testing.T) {
	const tick = 5 * ms
	for _, start := range startingPoints(tick) {
		for _, delay := range delays(tick) {
			if delay > endOfTime-start {
				continue
			}
			o := newOwner(t, tick, Config{})
			o.advance(start)
			fired := time.Duration(-1)
			o.after(delay, func() { fired = o.now })
			o.sleepUntil(endOfTime)
			require.GreaterOrEqual(t, fired, start+delay)
			require.GreaterOrEqual(t, fired, start)
			require.Less(t, fired-max(start, start+delay), tick)
			require.Equal(t, 1, o.wakes)
		}
	}
}

// A timer scheduled later and nearer may be in a finer slot than one that was scheduled earlier and is due before it.
func TestNext_LaterTimer_HidesNoEarlier(t *testing.T) {
	for _, level := range []int{0, 1, 3, levels - 1} {
		width := 5 * ms << (level * stepBits)
		o := newOwner(t, 5*ms, Config{})
		var order []string
		o.after(300*width, func() { order = append(order, "early"); assert.Equal(t, 300*width, o.now) })
		o.sleepUntil(290 * width)
		o.after(20*width, func() { order = append(order, "late"); assert.Equal(t, 310*width, o.now) })
		o.sleepUntil(400 * width)
		assert.Equal(t, []string{"early", "late"}, order)
	}
}

// The usual work of an engine, accelerated: timers of all spans are scheduled, moved, canceled and fired in random
// order. Each fires within a tick.
func TestTimers_RandomMixture_OnTime(t *testing.T) {
	const tick = 5 * ms
	for seed := range uint64(8) {
		o := newOwner(t, tick, Config{})
		r := rand.New(rand.NewPCG(seed, 11))
		timers := make([]task, 200)
		deadlines := make([]time.Duration, len(timers))
		set := func(i int) {
			deadlines[i] = o.now + time.Duration(r.Int64N(int64(s)<<r.IntN(15)))
			require.NoError(t, o.Schedule(&timers[i], deadlines[i]))
		}
		fired := 0
		for i := range timers {
			timers[i].Value = func() {
				fired++
				if o.now < deadlines[i] || o.now-deadlines[i] >= tick {
					require.Fail(t, "not on time", "set for %v, fired at %v", deadlines[i], o.now)
				}
				set(i)
			}
			set(i)
		}
		for range 5_000 {
			o.sleepUntil(o.now + time.Duration(r.Int64N(int64(ms)<<r.IntN(16))))
			i := r.IntN(len(timers))
			o.Cancel(&timers[i])
			set(i)
			set(r.IntN(len(timers)))
		}
		checkInvariants(t, o.Wheel)
		assert.Greater(t, fired, 1000)
	}
}

// The same ticks fire in the same order, however the time is divided into turns.
func TestAdvance_AnyTurns_SameOrder(t *testing.T) {
	const tick, timers = 5 * ms, 20_000
	for _, turn := range []time.Duration{tick / 3, 10 * tick, 1 * s, time.Hour, 48 * time.Hour} {
		o := newOwner(t, tick, Config{})
		r := rand.New(rand.NewPCG(8, uint64(turn)))
		fired, last := 0, int64(0)
		span := max(20*turn, 1*s)
		for range timers {
			at := time.Duration(r.Int64N(int64(span)))
			o.after(at, func() {
				fired++
				ordinal := int64((at + tick - 1) / tick)
				if ordinal < last || at > o.now || o.now-at >= tick+turn {
					assert.Fail(t, "out of order", "%v at %v, after tick %d", at, o.now, last)
				}
				last = ordinal
			})
		}
		for o.Len() > 0 {
			o.advance(o.now + turn)
		}
		assert.Equal(t, timers, fired)
		checkInvariants(t, o.Wheel)
	}
}

// Netty 1959: periodic timers came later and later after the wheel's first revolution. A timer that is scheduled again
// relative to its deadline does not drift. Relative to when it fired, it does not drift if the period is a whole number
// of ticks.
func TestTimer_RearmedTwoHours_NoDrift(t *testing.T) {
	const tick, hours = 5 * ms, 2 * time.Hour
	for _, period := range []time.Duration{10 * s, 10 * s / 3, 333 * ms, 256 * tick} {
		o := newOwner(t, tick, Config{})
		var timer task
		deadline, runs := period, 0
		timer.Value = func() {
			runs++
			assert.GreaterOrEqual(t, o.now, deadline)
			assert.Less(t, o.now-deadline, tick)
			deadline += period
			require.NoError(t, o.Schedule(&timer, deadline))
		}
		require.NoError(t, o.Schedule(&timer, deadline))
		o.sleepUntil(hours + tick)
		assert.Equal(t, int(hours/period), runs)
		assert.Equal(t, runs, o.wakes)
	}

	o := newOwner(t, tick, Config{})
	var timer task
	var last time.Duration
	timer.Value = func() {
		last = o.now
		require.NoError(t, o.Schedule(&timer, o.now+10*s))
	}
	require.NoError(t, o.Schedule(&timer, 10*s))
	o.sleepUntil(hours)
	assert.Equal(t, hours, last)
}

// After a standstill of three revolutions, each overdue timer fires once.
func TestAdvance_Standstill_FiresOnce(t *testing.T) {
	const tick, timers = 5 * ms, 10_000
	o := newOwner(t, tick, Config{})
	fired := make([]int, timers)
	for i := range timers {
		o.after(time.Duration(i)*tick/4, func() { fired[i]++ })
	}
	o.sleepUntil(1 * s)
	o.advance(o.now + 3*slotsPerLevel*8*tick)
	for i := range fired {
		require.Equal(t, 1, fired[i], "timer %d", i)
	}
	assert.Zero(t, o.advance(o.now+time.Hour))
}
