package wheel

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// benchTick is the tick to which the lock engine rounds renewals.
const benchTick = 5 * ms

// benchTimer is the timer that the lock engine schedules: its value is a pointer.
type benchTimer = Timer[*holder]

// holder owns a timer and is apart from other holders in memory.
type holder struct {
	timer benchTimer
	_     [128]byte
}

func benchWheel(b *testing.B) *Wheel[*holder] {
	w, err := New[*holder](benchTick, Config{})
	require.NoError(b, err)
	return w
}

// engineDelays returns delays as the lock engine schedules them, evenly from 1 ms to 30 s.
func engineDelays() *[4096]time.Duration {
	r := rand.New(rand.NewPCG(1, 2))
	var delays [4096]time.Duration
	for i := range delays {
		delays[i] = 1*ms + time.Duration(r.Int64N(int64(30*s)))
	}
	return &delays
}

// pick turns a random number into an index below n.
func pick(random uint64, n int) int { return int((random >> 32) * uint64(n) >> 32) }

// BenchmarkScheduleCancel cancels a random live timer and schedules it again, which is the usual work of a lock engine.
// The figure at 10^6 must stay within five times that at 10^3.
func BenchmarkScheduleCancel(b *testing.B) {
	for _, live := range []int{1e3, 1e5, 1e6} {
		b.Run(fmt.Sprintf("live=%d", live), func(b *testing.B) {
			w, delays, r := benchWheel(b), engineDelays(), rand.New(rand.NewPCG(3, 4))
			timers := make([]benchTimer, live)
			for _, i := range r.Perm(live) { // neighbours in a slot are not neighbours in memory
				_ = w.Schedule(&timers[i], delays[r.IntN(len(delays))])
			}
			b.ReportAllocs()
			for b.Loop() {
				random := r.Uint64()
				t := &timers[pick(random, live)]
				w.Cancel(t)
				_ = w.Schedule(t, delays[random%uint64(len(delays))])
			}
		})
	}
}

// BenchmarkScheduleCancel_Scattered is the same with each timer in an allocation of its own, found by a pointer. It is
// bound by the memory of the machine: a random timer, its two neighbours and the pointer to it are in four places. For
// comparison, touch only writes to three random timers.
func BenchmarkScheduleCancel_Scattered(b *testing.B) {
	for _, live := range []int{1e3, 1e5, 1e6} {
		w, delays, r := benchWheel(b), engineDelays(), rand.New(rand.NewPCG(3, 4))
		holders := make([]*holder, live)
		for i := range holders {
			holders[i] = new(holder)
		}
		b.Run(fmt.Sprintf("touch/live=%d", live), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range 3 {
					holders[pick(r.Uint64(), live)].timer.Value = nil
				}
			}
		})
		for _, i := range r.Perm(live) {
			_ = w.Schedule(&holders[i].timer, delays[r.IntN(len(delays))])
		}
		b.Run(fmt.Sprintf("wheel/live=%d", live), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				random := r.Uint64()
				t := &holders[pick(random, live)].timer
				w.Cancel(t)
				_ = w.Schedule(t, delays[random%uint64(len(delays))])
			}
		})
	}
}

// BenchmarkMove postpones a deadline: one call instead of two.
func BenchmarkMove(b *testing.B) {
	w, delays, r := benchWheel(b), engineDelays(), rand.New(rand.NewPCG(3, 4))
	timers := make([]benchTimer, 1e5)
	b.ReportAllocs()
	for b.Loop() {
		random := r.Uint64()
		_ = w.Schedule(&timers[pick(random, len(timers))], delays[random%uint64(len(delays))])
	}
}

// BenchmarkAdvance_OneTick is Netty's testExecutionOnTime: all timers of one tick fire in one Advance.
func BenchmarkAdvance_OneTick(b *testing.B) {
	w, now := benchWheel(b), time.Duration(0)
	holders := make([]holder, 1e5)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for i := range holders {
			_ = w.Schedule(&holders[i].timer, now+125*ms)
		}
		now += 125 * ms
		b.StartTimer()
		w.Advance(now, func(*benchTimer) {})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(holders)), "ns/timer")
}

// BenchmarkAdvance_Hour jumps over an hour, 720 000 ticks, repeatedly. It does so on an empty wheel, and on one with
// 100 000 timers that are scheduled again when they fire. Of these, all or one in a thousand are due in each hour.
func BenchmarkAdvance_Hour(b *testing.B) {
	for _, c := range []struct{ live, due int }{{0, 0}, {1e5, 1e5}, {1e5, 100}} {
		b.Run(fmt.Sprintf("live=%d/due=%d", c.live, c.due), func(b *testing.B) {
			span := time.Hour
			if c.due > 0 {
				span *= time.Duration(c.live / c.due)
			}
			benchmarkHour(b, make([]benchTimer, c.live), span)
		})
	}
}

func benchmarkHour(b *testing.B, timers []benchTimer, span time.Duration) {
	w, now := benchWheel(b), time.Duration(0)
	r := rand.New(rand.NewPCG(7, 8))
	set := func(t *benchTimer) { _ = w.Schedule(t, now+1+time.Duration(r.Int64N(int64(span)))) }
	for i := range timers {
		set(&timers[i])
	}
	b.ReportAllocs()
	for b.Loop() {
		if now += time.Hour; now > endOfTime-span-time.Hour {
			w, now = benchWheel(b), 0 // only the empty wheel is fast enough to get here
		}
		w.Advance(now, set)
	}
}

// BenchmarkTurn is one tick of an engine that holds n locks and renews each every 10 s: n/2000 timers fire and are
// scheduled again. In addition, one slot may have to be cascaded. So the benchmark reports the largest slot, and the
// longest turn, which is meaningful on a quiet machine only.
func BenchmarkTurn(b *testing.B) {
	for _, locks := range []int{1e4, 1e5, 1e6} {
		b.Run(fmt.Sprintf("locks=%d", locks), func(b *testing.B) {
			w, now := benchWheel(b), time.Duration(0)
			r := rand.New(rand.NewPCG(9, 10))
			for range locks {
				_ = w.Schedule(&new(holder).timer, time.Duration(r.Int64N(int64(10*s))))
			}
			renew := func(t *benchTimer) { _ = w.Schedule(t, now+10*s) }
			turn := func() time.Duration {
				start := time.Now()
				now += benchTick
				w.Advance(now, renew)
				return time.Since(start)
			}
			for range 4000 { // until the timers are spread as in a steady state
				turn()
			}
			longest := time.Duration(0)
			b.ReportAllocs()
			for b.Loop() {
				longest = max(longest, turn())
			}
			b.ReportMetric(float64(longest.Microseconds()), "longest-µs")
			b.ReportMetric(float64(largestSlot(w)), "largest-slot")
		})
	}
}

// largestSlot returns the number of timers in the fullest slot that will have to be cascaded.
func largestSlot[T any](w *Wheel[T]) (most int) {
	for slot := slotsPerLevel; slot <= overflowSlot; slot++ {
		n := 0
		for t := w.heads[slot].next; t != &w.heads[slot]; t = t.next {
			n++
		}
		most = max(most, n)
	}
	return most
}

// BenchmarkWakes lets an engine idle for ten simulated minutes in each round: without locks, and with one that is
// renewed every 10 s. It reports how often its owner woke, and how often without firing a timer.
func BenchmarkWakes(b *testing.B) {
	for _, locks := range []int{0, 1} {
		b.Run(fmt.Sprintf("locks=%d", locks), func(b *testing.B) {
			o := newOwner(b, benchTick, Config{})
			var renewal task
			renewal.Value = func() { _ = o.Schedule(&renewal, o.now+10*s) }
			for range locks {
				renewal.Value()
			}
			for b.Loop() {
				o.sleepUntil(o.now + 10*time.Minute)
			}
			b.ReportMetric(float64(o.wakes)/o.now.Seconds(), "wakes/s")
			b.ReportMetric(float64(o.emptyWakes)/o.now.Seconds(), "pointless/s")
		})
	}
}

// BenchmarkNext measures Next, which an owner calls in every turn.
func BenchmarkNext(b *testing.B) {
	w, delays := benchWheel(b), engineDelays()
	for i := range 10_000 {
		_ = w.Schedule(&benchTimer{}, delays[i%len(delays)])
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Next()
	}
}

// BenchmarkNew measures the cost of an empty wheel.
func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		benchWheel(b)
	}
}
