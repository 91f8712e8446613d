package wheel

// Timer is one deadline on a [Wheel], and at the same time the list node that the wheel links: nothing is allocated for
// it. Embed it in whatever it wakes, or point back from Value.
//
// The zero Timer with Value set is ready to be scheduled, and may be scheduled again after it fired or was cancelled.
// While it is scheduled it belongs to one wheel: it must not be copied, moved, or handed to another wheel.
//
// The wheel gives out no handles. Whoever keeps a pointer to a timer that others reuse must add a number of its own to
// Value, to tell one use from the next.
type Timer[T any] struct {
	// Neighbours in a slot's ring. Both are nil while the timer is not scheduled.
	next, prev *Timer[T]

	// The tick at which it fires while it is scheduled, the last outcome (a State) otherwise. In the head of a slot's
	// ring, which is a Timer too, the number of the slot.
	at int64

	// Value is the owner's. The wheel never reads or writes it.
	Value T
}

// State is where a timer is in its life.
type State uint8

const (
	// Idle is a timer that was never scheduled.
	Idle State = iota
	// Scheduled is a timer that a wheel holds, due or not.
	Scheduled
	// Fired is a timer whose last use ended in Advance. It is Fired before its callback runs.
	Fired
	// Cancelled is a timer whose last use ended in Cancel or Stop.
	Cancelled
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case Idle:
		return "idle"
	case Scheduled:
		return "scheduled"
	case Fired:
		return "fired"
	case Cancelled:
		return "cancelled"
	}
	return "unknown"
}

// Scheduled reports whether a wheel holds the timer: it will fire unless it is cancelled before.
func (t *Timer[T]) Scheduled() bool { return t.next != nil }

// State returns where the timer is in its life. A timer that is not scheduled remembers how its last use ended.
func (t *Timer[T]) State() State {
	if t.Scheduled() {
		return Scheduled
	}
	return State(t.at)
}

// retire marks a timer that is in no ring any more with the outcome of its use.
func (t *Timer[T]) retire(outcome State) {
	t.next, t.prev = nil, nil
	t.at = int64(outcome)
}
