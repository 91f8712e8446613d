package wheel

// Timer is one deadline on a [Wheel]. It is also the list node that the wheel links, so the wheel allocates nothing for
// it. Embed it in the struct that it wakes, or point back to that from Value.
//
// The zero Timer with Value set is ready to be scheduled, and may be scheduled again after it fired or was canceled.
// While it is scheduled it belongs to one wheel: it must not be copied, moved, or scheduled on another wheel.
//
// The wheel returns no handles. Code that keeps a pointer to a Timer which others reuse must add its own number to
// Value to distinguish one use from the next.
type Timer[T any] struct {
	// next and prev are the neighbours in a slot's ring. Both are nil while the timer is not scheduled.
	next, prev *Timer[T]

	// at is the tick at which the timer fires while it is scheduled, otherwise its last outcome (a State). In the head of
	// a slot's ring, which is a Timer too, it is the number of the slot.
	at int64

	// Value belongs to the owner. The wheel never reads or writes it.
	Value T
}

// State is a stage in a timer's life.
type State uint8

const (
	// Idle means that the timer was never scheduled.
	Idle State = iota
	// Scheduled means that a wheel holds the timer, due or not.
	Scheduled
	// Fired means that the timer's last use ended in Advance. The state changes before the callback runs.
	Fired
	// Canceled means that the timer's last use ended in Cancel or Stop.
	Canceled
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
	case Canceled:
		return "canceled"
	}
	return "unknown"
}

// Scheduled reports whether a wheel holds the timer, which then fires unless it is canceled.
func (t *Timer[T]) Scheduled() bool { return t.next != nil }

// State returns the timer's state. A timer that is not scheduled remembers how its last use ended.
func (t *Timer[T]) State() State {
	if t.Scheduled() {
		return Scheduled
	}
	return State(t.at)
}

// reset clears the links of a timer that is in no ring any more, and stores the outcome of its use.
func (t *Timer[T]) reset(outcome State) {
	t.next, t.prev = nil, nil
	t.at = int64(outcome)
}
