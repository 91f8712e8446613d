package lockwheel

import (
	"errors"
	"testing"
)

// An error with a cause that is the same error prints it once.
func TestAnErrorSaysOnceWhatItsCauseSaysAsWell(t *testing.T) {
	over := errors.New("its lease ended")
	lost := &lockError{"n", ErrLost, over}
	refused := &lockError{"n", ErrNotAcquired, nil}
	for want, err := range map[string]error{
		`lockwheel: lock "n": lock lost: its lease ended`:                            &lockError{"n", ErrLost, lost},
		`lockwheel: lock "n": lock lost: its lease ended; lock not acquired`:         &lockError{"n", ErrLost, multiError{lost, lost, refused}},
		`lockwheel: lock "n": lock lost: lock "m": lock lost: its lease ended`:       &lockError{"n", ErrLost, &lockError{"m", ErrLost, over}},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended`:         &lockError{"n", ErrUnavailable, lost},
		`lockwheel: lock "n": redis unavailable: lock lost: its lease ended; broken`: &lockError{"n", ErrUnavailable, multiError{lost, errors.New("broken")}},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if !errors.Is(err, over) {
			t.Errorf("%v is not its cause", err)
		}
	}
}
