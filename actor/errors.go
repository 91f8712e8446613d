package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors with which a request can end. The root package re-exports them and documents what each leaves behind.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrUnavailable = errors.New("redis unavailable")
	ErrLost        = errors.New("lock lost")
	ErrNotHeld     = errors.New("lock not held")
	ErrClosed      = errors.New("engine closed")
	ErrKind        = errors.New("in use as another kind of lock")
	ErrUpgrade     = errors.New("a reader cannot become the writer")
	// ErrNotReplicated ends a request with a grant that fewer replicas than wanted had, and that was undone.
	ErrNotReplicated = errors.New("too few replicas have the lock")
	// ErrTooManyWaiters ends a request on arrival, because the limit of waiters was reached.
	ErrTooManyWaiters = errors.New("too many wait already")
)

// ServerError is an error reply of the server.
type ServerError string

// Error returns the server's text: WRONGTYPE, NOPERM and so on, and the rest of the line.
func (e ServerError) Error() string { return string(e) }

// Causes of a loss, or of a request without a reply. They are wrapped by the errors above.
var (
	errLeaseOver  = errors.New("the lease ended before it was renewed")
	errUnreleased = errors.New("the lease ended before the release was answered")
	errFixedOver  = errors.New("its lease ended")
	errMaxHold    = errors.New("held for Options.MaxHold")
	errGone       = errors.New("the key is gone or someone else's")
	errDisplaced  = errors.New("granted to another holder since")
	errForced     = errors.New("unlocked by force")
	errLostBefore = errors.New("that was known before the release was sent")
	errNoAnswer   = errors.New("no answer in time")
	errTooLate    = errors.New("the answer came after the lease had ended")
)

// ErrLate is the error reply to a command that reached the server too late to take effect.
var ErrLate = errors.New("LATE the command came after the moment until which it may take effect")

// ToldBefore reports whether the loss that a request found was already reported when its hold ended.
func ToldBefore(cause error) bool { return cause == errLostBefore }

// Spent reports whether a lock was lost because Config.MaxHold elapsed.
func Spent(cause error) bool { return cause == errMaxHold }

// Forced reports whether a hold ended because its own engine was about to take the lock away by force.
func Forced(cause error) bool { return errors.Is(cause, errForced) }

// joined returns one error for two causes, with a text of one line; either may be nil.
func joined(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return &both{first, second}
}

// both is two causes. The text is made only when it is read, because making it may run a caller's own code.
type both struct{ first, second error }

func (e *both) Error() string   { return e.first.Error() + "; " + e.second.Error() }
func (e *both) Unwrap() []error { return []error{e.first, e.second} }

// unanswered is two causes. If the first contains the second's text, that is not repeated.
type unanswered struct{ both }

func (e *unanswered) Error() string {
	if said := e.first.Error(); strings.Contains(said, e.second.Error()) {
		return said
	}
	return e.both.Error()
}

// Left is the cause of an unknown result if the caller gave up and nothing is known to be wrong. Cause is why the
// caller gave up.
type Left struct{ Cause error }

// Error returns the text of why the caller gave up.
func (e Left) Error() string { return e.Cause.Error() }

// Unwrap returns why the caller gave up.
func (e Left) Unwrap() error { return e.Cause }

// leftFor returns the cause for a caller that gave up for cause, while trouble was the last error; either may be nil.
func leftFor(trouble, cause error) error {
	if trouble == nil && cause != nil {
		return Left{cause}
	}
	return joined(trouble, cause)
}

// Unanswerable returns the cause of a request without a reply, while its server was known to be down.
func Unanswerable(cause, down error) error {
	if left, gaveUp := cause.(Left); gaveUp {
		return joined(down, left.Cause)
	}
	if cause == nil || down == nil {
		return joined(cause, down)
	}
	return &unanswered{both{cause, down}}
}

// otherKind returns the cause of ErrKind.
func otherKind(is, wanted LockKind) error {
	return fmt.Errorf("it is a %v lock in this engine now, not a %v one", is, wanted)
}

// passing lists prefixes of error replies that mean "not now" rather than "never".
var passing = []string{
	"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "NOREPLICAS",
	"MOVED", "ASK", "OOM", "MISCONF", "NOSCRIPT", "LATE",
}

// moving is part, in lower case, of the error that a script gets for a key that it deleted itself while the key's slot
// migrates. The next try is redirected to the other node.
const moving = "attempted to access a non local key"

// Begins reports whether a server's error begins with that prefix, ignoring case: releases of Redis and Valkey differ
// in the case of error texts.
func Begins(text, with string) bool {
	return len(text) >= len(with) && strings.EqualFold(text[:len(with)], with)
}

// shutOut lists prefixes of errors with which a server rejects a client. No command that got one of them was executed.
// All but the first and the fourth are replies to what is sent on a new connection.
var shutOut = []string{
	"NOAUTH", "WRONGPASS", "DENIED", "ERR max number of clients", "ERR AUTH <password> called without any password",
	"ERR Client sent AUTH, but no password", "ERR invalid password", "ERR DB index is out of range", "ERR invalid DB index",
}

// ShutsOut reports whether an error means that the server rejected the client, so that there is no connection to it.
func ShutsOut(text string) bool {
	return slices.ContainsFunc(shutOut, func(with string) bool { return Begins(text, with) })
}

// Passing reports whether an error of the server may be temporary, so that it makes sense to try again.
func Passing(text string) bool {
	for _, prefix := range passing {
		if Begins(text, prefix) {
			return true
		}
	}
	return ShutsOut(text) || strings.Contains(strings.ToLower(text), moving)
}
