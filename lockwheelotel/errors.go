package lockwheelotel

import (
	"errors"

	"github.com/lockwheel/lockwheel"
)

const (
	notAcquired = "not_acquired"
	serverError = "server_error"
	otherError  = "_OTHER" // OpenTelemetry's word for what has no class of its own
)

// classes are the values of error.type for the errors of the library.
var classes = [...]struct {
	err   error
	class string
}{
	{lockwheel.ErrNotAcquired, notAcquired},
	{lockwheel.ErrUnavailable, "unavailable"},
	{lockwheel.ErrLost, "lost"},
	{lockwheel.ErrNotHeld, "not_held"},
	{lockwheel.ErrNotReplicated, "not_replicated"},
	{lockwheel.ErrClosed, "closed"},
	{lockwheel.ErrTooManyWaiters, "too_many_waiters"},
	{lockwheel.ErrKindMismatch, "kind_mismatch"},
	{lockwheel.ErrUpgrade, "upgrade"},
}

// classOf returns the class of an error. An error that wraps several says first what it is and then why, so the first
// that has a class decides. A lock that was not acquired because its context had lost a lock is "not_acquired". A
// quorum of which no majority is possible has the class of what its servers say.
func classOf(err error) string {
	for err != nil {
		for _, c := range classes {
			if err == c.err {
				return c.class
			}
		}
		switch e := err.(type) {
		case lockwheel.ServerError:
			return serverError
		case interface{ Unwrap() []error }:
			for _, part := range e.Unwrap() {
				if class := classOf(part); class != otherError {
					return class
				}
			}
			return otherError
		default:
			err = errors.Unwrap(err)
		}
	}
	return otherError
}
