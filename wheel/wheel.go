package wheel

import (
	"errors"
	"fmt"
	"math"
	"time"
)

var (
	// ErrStopped is returned by Schedule after Stop. The timer is left unchanged.
	ErrStopped = errors.New("wheel: stopped")

	// ErrFull is returned by Schedule when Config.Limit timers are already pending. The timer is left unchanged.
	ErrFull = errors.New("wheel: too many pending timers")
)

// Config has the settings of a [Wheel]. The zero Config sets no bounds.
type Config struct {
	// Limit is the maximum number of pending timers. Zero or negative: no limit.
	Limit int

	// Budget is the maximum number of timers that one Advance fires. The rest stays due, in order, and Next returns the
	// time of the latest Advance. Zero or negative: no limit.
	Budget int

	// Sorts is the maximum work of one Advance on moves to finer slots: each timer moved and each slot looked into
	// counts as one. The next Advance goes on with the rest, and Next returns the time of the latest Advance. Zero or
	// negative: no limit.
	Sorts int
}

// Wheel holds timers until they are due. Make one with [New]; it must not be copied.
//
// A Wheel is owned by one goroutine: no method is safe for concurrent use.
type Wheel[T any] struct {
	slots[T]

	config  Config
	width   time.Duration // of a tick
	last    int64         // the latest tick with a time
	now     time.Duration // of the latest Advance
	tick    int64         // the latest that is over; every timer in a level's slot or in overflowSlot is later
	pending int           // timers in any slot
	goal    int64         // the tick of the latest Advance, or the one that is still to be reached
	behind  bool          // tick is earlier than now: not all that is due was taken out yet
	firing  bool          // a callback of Advance is running
	stopped bool
}

// New returns an empty wheel at time 0. The length of a tick must be positive, or New returns an error. A shorter tick
// is more exact and wakes its owner more often; it costs neither memory nor time per timer.
func New[T any](tick time.Duration, config Config) (*Wheel[T], error) {
	if tick <= 0 {
		return nil, fmt.Errorf("wheel: a tick of %v, want more than 0", tick)
	}
	w := &Wheel[T]{width: tick, last: int64(endOfTime / tick), config: config}
	w.slots.init()
	return w, nil
}

// Schedule makes the timer fire in the first Advance that reaches at, rounded up to a whole tick. A timer that is
// already scheduled is moved.
//
// A time up to the now of the latest Advance, such as zero or a negative one, is due at the next Advance. It is never
// due in an Advance that is running. Any other time is accepted, up to the largest.
//
// Schedule returns [ErrStopped] after Stop, and [ErrFull] for a timer that is not scheduled when Config.Limit is
// reached; both leave the timer unchanged. It does not allocate.
func (w *Wheel[T]) Schedule(t *Timer[T], at time.Duration) error {
	if w.stopped {
		return ErrStopped
	}
	if t.Scheduled() {
		w.unlink(t)
	} else {
		if w.config.Limit > 0 && w.pending >= w.config.Limit {
			return ErrFull
		}
		w.pending++
	}
	if at > w.now {
		t.at = w.tickAfter(at)
	} else {
		t.at = w.tickAt(w.now) // not its own, so that what is due stays in the order of its ticks
	}
	if t.at > w.goal {
		w.link(t, slotFor(t.at, w.tick))
	} else {
		w.link(t, pastSlot)
	}
	return nil
}

// Cancel unlinks the timer, so that it does not fire, and reports whether it was scheduled. So it returns true once,
// false afterwards, and false for a timer that has fired. It takes effect at once, also for a timer that is due in a
// running Advance. The wheel keeps no reference to the timer. Cancel takes constant time and does not allocate.
func (w *Wheel[T]) Cancel(t *Timer[T]) bool {
	if !t.Scheduled() {
		return false
	}
	w.remove(t, Canceled)
	return true
}

// Due returns when a scheduled timer fires: the time it was scheduled for, rounded up to a tick. If the timer is not
// scheduled, the result is meaningless.
func (w *Wheel[T]) Due(t *Timer[T]) time.Duration { return w.timeOf(t.at) }

// FiresBy reports whether a scheduled timer fires as early as it would after Schedule for at. That must be a time after
// the latest Advance; for an earlier one FiresBy may be false. So an owner can leave a timer where it is that Schedule
// would put into the same tick. If the timer is not scheduled, the result is meaningless.
func (w *Wheel[T]) FiresBy(t *Timer[T], at time.Duration) bool { return w.timeOf(t.at)-at < w.width }

// Len returns the number of pending timers: scheduled, and neither fired nor canceled.
func (w *Wheel[T]) Len() int { return w.pending }

// Stop makes Schedule fail from now on and cancels all pending timers. It calls drain for every one of them, in the
// order of their ticks and in state Canceled, and returns how many there were. drain may be nil. It may cancel timers
// that it has not received yet; those are neither passed to it nor counted. A second Stop finds no timers.
func (w *Wheel[T]) Stop(drain func(*Timer[T])) int {
	w.stopped = true
	all := math.MaxInt
	if w.behind {
		w.collectDue(&all)
	}
	w.splice(pastSlot, dueSlot)
	w.goal = never // the largest tick
	w.collectDue(&all)
	handed := 0
	for head := &w.heads[dueSlot]; head.next != head; {
		t := head.next
		w.remove(t, Canceled)
		handed++
		if drain != nil {
			drain(t)
		}
	}
	return handed
}

// remove ends a use of the timer with the given outcome.
func (w *Wheel[T]) remove(t *Timer[T], outcome State) {
	w.unlink(t)
	t.reset(outcome)
	w.pending--
}
