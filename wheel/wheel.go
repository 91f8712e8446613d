package wheel

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrStopped is returned by Schedule after Stop. The timer is left as it was.
	ErrStopped = errors.New("wheel: stopped")

	// ErrFull is returned by Schedule when Config.Limit timers are pending already. The timer is left as it was.
	ErrFull = errors.New("wheel: too many pending timers")
)

// Config are the settings of a [Wheel]. The zero Config sets no bounds.
type Config struct {
	// Limit is how many timers may be pending at once. Zero or negative: as many as there are.
	Limit int

	// Budget is how many timers one Advance fires. The rest stays due, in its order, and Next says so. Zero or
	// negative: all that are due.
	Budget int

	// Sorts is how many timers one Advance sorts into finer slots as they come nearer, and how many slots it looks into. The rest is
	// sorted by the next one, and Next says that it is due. Zero or negative: all that is to be sorted.
	Sorts int
}

// Wheel holds timers until their time has come. Make one with [New]; it must not be copied.
//
// It belongs to one goroutine: no method is safe for concurrent use.
type Wheel[T any] struct {
	slots[T]

	config  Config
	width   time.Duration // of a tick
	now     time.Duration // of the latest Advance
	tick    int64         // the latest that is over; every timer in a level's slot or the far slot is later
	pending int           // timers in any slot
	goal    int64         // the tick of the latest Advance, or the one that is still to be reached
	behind  bool          // tick is earlier than now: not all that is due was taken out yet
	firing  bool          // a callback of Advance is running
	stopped bool
}

// New returns an empty wheel, standing at time 0, whose ticks are as long as tick, which must be positive. A shorter
// tick is more exact and wakes its owner more often; it costs neither memory nor time per timer.
func New[T any](tick time.Duration, config Config) (*Wheel[T], error) {
	if tick <= 0 {
		return nil, fmt.Errorf("wheel: a tick of %v, want more than 0", tick)
	}
	w := &Wheel[T]{width: tick, config: config}
	w.slots.init()
	return w, nil
}

// Schedule makes the timer fire in the first Advance whose now is not before at, rounded up to a whole tick. A timer that
// is scheduled already is moved.
//
// A time that is not after the latest Advance's now, such as zero or a negative one, is due at the next Advance, never
// in one that is running. Any other time is accepted, up to the largest.
//
// The errors are [ErrStopped] and, for a timer that is not scheduled, [ErrFull]. It does not allocate.
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
		w.link(t, lateSlot)
	}
	return nil
}

// Cancel takes the timer off the wheel, so that it does not fire, and reports whether it was scheduled: true once,
// false ever after, and false for a timer that has fired. It takes effect at once, also for a timer that is due in the
// Advance that is running; nothing of it stays behind, and it neither allocates nor walks.
func (w *Wheel[T]) Cancel(t *Timer[T]) bool {
	if !t.Scheduled() {
		return false
	}
	w.remove(t, Cancelled)
	return true
}

// Len returns how many timers are pending: scheduled, and neither fired nor cancelled.
func (w *Wheel[T]) Len() int { return w.pending }

// remove ends a use of the timer.
func (w *Wheel[T]) remove(t *Timer[T], outcome State) {
	w.unlink(t)
	t.retire(outcome)
	w.pending--
}
