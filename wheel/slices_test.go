package wheel

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However many timers are in a slot, one Advance moves a bounded number of them. Each still fires at its time, if its
// owner calls Advance when Next says so.
func TestAdvance_FullSlot_SortsBounded(t *testing.T) {
	const sorts, budget = 200, 40
	for _, n := range []int{1_000, 10_000} {
		for _, overflow := range []time.Duration{30 * s, 40 * 24 * time.Hour} {
			t.Run(fmt.Sprint(n, overflow), func(t *testing.T) {
				w, err := New[int](1*ms, Config{Budget: budget, Sorts: sorts})
				require.NoError(t, err)
				timers := make([]Timer[int], n)
				for i := range timers {
					require.NoError(t, w.Schedule(&timers[i], overflow+time.Duration(i)*10*time.Microsecond))
				}
				slots, fired, last := make([]int, n), 0, time.Duration(0)
				for w.Len() > 0 {
					places(w, timers, slots)
					now, ok := w.Next()
					require.True(t, ok)
					fires := w.Advance(now, func(timer *Timer[int]) {
						require.GreaterOrEqual(t, now, overflow)
						last = max(last, now)
					})
					fired += fires
					require.LessOrEqual(t, fires, budget)
					require.LessOrEqual(t, places(w, timers, slots), fires+sorts+1)
					checkInvariants(t, w)
				}
				assert.Equal(t, n, fired)
				assert.Equal(t, w.roundUp(overflow+time.Duration(n-1)*10*time.Microsecond), last)
			})
		}
	}
}

// roundUp returns the end of the tick that contains a time.
func (w *Wheel[T]) roundUp(at time.Duration) time.Duration { return w.timeOf(w.tickAfter(at)) }

// places records the slot of each timer, and returns how many are in another slot than before. A slot of one tick is
// spliced without touching its timers, so they do not count.
func places[T any](w *Wheel[T], timers []Timer[T], slots []int) (moved int) {
	at := make(map[*Timer[T]]int, len(timers))
	for slot := range numSlots {
		head := &w.heads[slot]
		for timer := head.next; timer != head; timer = timer.next {
			at[timer] = slot + 1
		}
	}
	for i := range timers {
		now := at[&timers[i]]
		spliced := now == dueSlot+1 && slots[i] <= slotsPerLevel
		if now != slots[i] && now != 0 && !spliced {
			moved++
		}
		slots[i] = now
	}
	return moved
}
