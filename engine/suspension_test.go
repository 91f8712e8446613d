package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clocksHarness has a turn at each call of after.
type clocksHarness struct {
	clocks
	now, offset time.Duration
}

// after has a turn that much later, when the wall clock has run ahead by that much more. It reports whether the machine
// seems to have been suspended.
func (h *clocksHarness) after(d, ahead time.Duration) bool {
	h.now, h.offset = h.now+d, h.offset+ahead
	return h.suspended(h.now, h.offset)
}

func newClocksHarness() *clocksHarness {
	h := &clocksHarness{now: firstTime, offset: 7 * time.Hour}
	h.after(0, 0)
	return h
}

// A lease of a second is shortened by 20 ms. So a hold cannot outlive its lease by a suspension that is not noticed: by
// a short one, or by several.
func TestSuspension_ShorterThanHalfASecond_Noticed(t *testing.T) {
	const turn = 300 * time.Millisecond
	h := newClocksHarness()
	require.True(t, h.after(turn, 20*time.Millisecond))
	require.False(t, h.after(turn, 0), "once")
	require.True(t, h.after(turn, 400*time.Millisecond))

	h = newClocksHarness()
	require.False(t, h.after(turn, 7*time.Millisecond))
	require.False(t, h.after(turn, 7*time.Millisecond))
	require.True(t, h.after(turn, 7*time.Millisecond), "they add up")
	require.False(t, h.after(turn, 7*time.Millisecond), "anew")

	h = newClocksHarness()
	require.True(t, h.after(time.Hour, 100*time.Millisecond), "after a long sleep of the engine")
}

// Slewing is part of what a lease is shortened by, so it is no suspension, however long it lasts.
func TestSuspension_SlewedClock_NotSuspended(t *testing.T) {
	for _, turn := range []time.Duration{20 * time.Microsecond, time.Second, 30 * time.Second} {
		h := newClocksHarness()
		for range 10_000 {
			require.False(t, h.after(turn, turn/2500))
		}
		require.True(t, h.after(time.Millisecond, 20*time.Millisecond), "it is noticed beside that")
	}
}

// A clock that is put back is no suspension. One after it is noticed.
func TestSuspension_ClockPutBack_NotSuspended(t *testing.T) {
	h := newClocksHarness()
	for range 2 {
		require.False(t, h.after(time.Second, -time.Hour))
	}
	require.False(t, h.after(time.Second, 0))
	require.True(t, h.after(time.Second, 20*time.Millisecond))
}

// The thread can stop between the readings of the two clocks. Then the wall clock has run ahead by less for this turn.
func TestSuspension_ThreadStopsBetweenReadings_NotSuspended(t *testing.T) {
	h := newClocksHarness()
	for range 3 {
		require.False(t, h.after(time.Millisecond, -30*time.Millisecond))
		require.False(t, h.after(time.Millisecond, 30*time.Millisecond))
		require.False(t, h.after(time.Millisecond, 0))
	}
}
