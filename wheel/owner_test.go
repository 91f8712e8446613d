package wheel

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// task is the timer of the tests: its value is a function, as in Netty's tests.
type task = Timer[func()]

// owner drives a wheel as an event loop does: it sleeps until Next and then calls Advance. Its clock is a number.
type owner struct {
	*Wheel[func()]
	t   testing.TB
	now time.Duration

	wakes      int // calls of Advance because of Next
	emptyWakes int // of those, the ones that fired nothing
}

func newOwner(t testing.TB, tick time.Duration, config Config) *owner {
	w, err := New[func()](tick, config)
	require.NoError(t, err)
	return &owner{Wheel: w, t: t}
}

// after schedules a new timer for now plus the delay.
func (o *owner) after(delay time.Duration, do func()) *task {
	timer := &task{Value: do}
	require.NoError(o.t, o.Schedule(timer, o.now+delay))
	return timer
}

// advance sets the clock and advances the wheel.
func (o *owner) advance(now time.Duration) int {
	o.now = now
	return o.Advance(now, func(t *task) { t.Value() })
}

// sleepUntil lets time pass and wakes only when Next says so.
func (o *owner) sleepUntil(until time.Duration) {
	for {
		at, ok := o.Next()
		if !ok || at > until {
			break
		}
		o.wakes++
		if o.advance(max(at, o.now)) == 0 {
			o.emptyWakes++
			require.Less(o.t, o.emptyWakes, 100_000, "the wheel does not let its owner sleep")
		}
	}
	require.Zero(o.t, o.advance(until), "Next had promised that nothing was due before %v", until)
}

// nothing is the task of timers that are checked by their state.
func nothing() {}

const (
	ms = time.Millisecond
	s  = time.Second
)
