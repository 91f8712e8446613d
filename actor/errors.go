package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The verdicts a request can end with. The root package re-exports them and says what each leaves behind.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrUnavailable = errors.New("redis unavailable")
	ErrLost        = errors.New("lock lost")
	ErrNotHeld     = errors.New("lock not held")
	ErrClosed      = errors.New("engine closed")
	ErrKind        = errors.New("in use as another kind of lock")
	ErrUpgrade     = errors.New("a reader cannot become the writer")
	// ErrNotReplicated: granted, but not by as many replicas as are wanted, and undone.
	ErrNotReplicated = errors.New("too few replicas have the lock")
	// ErrTooManyWaiters: refused as it came, because as many wait as may.
	ErrTooManyWaiters = errors.New("too many wait already")
)

// ServerError is what the server said when it refused.
type ServerError string

// Error returns the server's words: WRONGTYPE, NOPERM and so on, and the rest of the line.
func (e ServerError) Error() string { return string(e) }

// Why a lock was lost or a request had no answer: causes, wrapped by the verdicts above.
var (
	errLeaseOver  = errors.New("the lease ended before it was renewed")
	errUnreleased = errors.New("the lease ended before the release was answered")
	errFixedOver  = errors.New("its lease ended")
	errMaxHold    = errors.New("held for Options.MaxHold")
	errGone       = errors.New("the key is gone or someone else's")
	errDisplaced  = errors.New("granted to somebody else since")
	errForced     = errors.New("unlocked by force")
	errLostBefore = errors.New("that was known before the release was sent")
	errNoAnswer   = errors.New("no answer in time")
	errTooLate    = errors.New("the answer came after the lease had ended")
)

// ErrLate is why a command came to nothing that took too long to come to the server.
var ErrLate = errors.New("LATE the command came after the moment until which it may take effect")

// ToldBefore reports whether a loss that a request found is one of which its hold was told when it ended.
func ToldBefore(cause error) bool { return cause == errLostBefore }

// Spent reports whether a lock was lost because its owner has had it for as long as Config.MaxHold lets it be renewed.
func Spent(cause error) bool { return cause == errMaxHold }

// Forced reports whether a hold ended because its own engine was to take the lock away by force.
func Forced(cause error) bool { return errors.Is(cause, errForced) }

// joined is one error for two causes, on one line; either may be nil.
func joined(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return &both{first, second}
}

// both is two causes. Their text is made for who reads it: they may be a caller's own code.
type both struct{ first, second error }

func (e *both) Error() string   { return e.first.Error() + "; " + e.second.Error() }
func (e *both) Unwrap() []error { return []error{e.first, e.second} }

// unanswered is two causes of which the first may have come of the second, and then says it itself.
type unanswered struct{ both }

func (e *unanswered) Error() string {
	if said := e.first.Error(); strings.Contains(said, e.second.Error()) {
		return said
	}
	return e.both.Error()
}

// Left is the cause of a verdict that is unknown only because the request's caller gave up, and why that was: nothing
// is known to be wrong.
type Left struct{ Cause error }

// Error returns the text of why the caller gave up.
func (e Left) Error() string { return e.Cause.Error() }

// Unwrap returns why the caller gave up.
func (e Left) Unwrap() error { return e.Cause }

// leftFor is the cause of somebody who gave up, with the trouble that there was; either may be nil.
func leftFor(trouble, cause error) error {
	if trouble == nil && cause != nil {
		return Left{cause}
	}
	return joined(trouble, cause)
}

// Unanswerable is why a request had no answer while its server was known to be down.
func Unanswerable(cause, down error) error {
	if left, gaveUp := cause.(Left); gaveUp {
		return joined(down, left.Cause)
	}
	if cause == nil || down == nil {
		return joined(cause, down)
	}
	return &unanswered{both{cause, down}}
}

// otherKind explains ErrKind.
func otherKind(is, wanted LockKind) error {
	return fmt.Errorf("it is a %v lock in this engine now, not a %v one", is, wanted)
}

// passing lists how replies begin that say "not now" rather than "never".
var passing = []string{
	"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "NOREPLICAS",
	"MOVED", "ASK", "OOM", "MISCONF", "NOSCRIPT", "LATE",
}

// moving is, in small letters, in what a script is told of a key that it removed itself while its slot goes to another node:
// whoever asks again is sent there.
const moving = "attempted to access a non local key"

// Begins reports whether the server's error begins with that, in small letters or capitals: releases of Redis and Valkey have changed
// between them in the words of an error.
func Begins(text, with string) bool {
	return len(text) >= len(with) && strings.EqualFold(text[:len(with)], with)
}

// shutOut lists how errors begin with which a server lets nobody in: none of them is of a command that was done.
// All but the first and the fourth are answers to what is sent on a new connection.
var shutOut = []string{
	"NOAUTH", "WRONGPASS", "DENIED", "ERR max number of clients", "ERR AUTH <password> called without any password",
	"ERR Client sent AUTH, but no password", "ERR invalid password", "ERR DB index is out of range", "ERR invalid DB index",
}

// ShutsOut reports whether with that error a server did not let the client in, so that there is no connection to it.
func ShutsOut(text string) bool {
	return slices.ContainsFunc(shutOut, func(with string) bool { return Begins(text, with) })
}

// Passing reports whether the server's error may pass by itself, so that trying again makes sense.
func Passing(text string) bool {
	for _, prefix := range passing {
		if Begins(text, prefix) {
			return true
		}
	}
	return ShutsOut(text) || strings.Contains(strings.ToLower(text), moving)
}
