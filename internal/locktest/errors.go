package locktest

import (
	"errors"

	"github.com/lockwheel/lockwheel"
)

var Sentinels = []error{
	lockwheel.ErrNotAcquired, lockwheel.ErrUnavailable, lockwheel.ErrLost, lockwheel.ErrNotHeld, lockwheel.ErrClosed,
}

var ErrTest = errors.New("a reason of the caller's own")

// Troubled is an error of a caller with methods that all hang.
type Troubled struct{ Gate chan struct{} }

func (e *Troubled) Error() string { <-e.Gate; return "trouble" }

func (e *Troubled) As(any) bool { <-e.Gate; return false }

func (e *Troubled) Is(error) bool { <-e.Gate; return false }
