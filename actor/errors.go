package actor

import (
	"errors"
	"fmt"
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
)

// ServerError is what the server said when it refused, word for word.
type ServerError string

// Error returns the server's words: WRONGTYPE, NOPERM and so on, and the rest of the line.
func (e ServerError) Error() string { return string(e) }

// Why a lock was lost or a request had no answer: causes, wrapped by the verdicts above.
var (
	errLeaseOver = errors.New("the lease ended before it was renewed")
	errFixedOver = errors.New("its lease ended")
	errMaxHold   = errors.New("held for Options.MaxHold")
	errGone      = errors.New("the key is gone or someone else's")
	errDisplaced = errors.New("granted to somebody else since")
	errForced    = errors.New("unlocked by force")
	errNoAnswer  = errors.New("no answer in time")
	errTooLate   = errors.New("the answer came after the lease had ended")
)

// Spent reports whether a lock was lost because its owner has had it for as long as Config.MaxHold lets it be renewed.
func Spent(cause error) bool { return cause == errMaxHold }

// joined is one error for two causes, on one line; either may be nil.
func joined(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return fmt.Errorf("%w; %w", first, second)
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

// otherKind explains ErrKind.
func otherKind(is, wanted LockKind) error {
	return fmt.Errorf("it is a %v lock in this engine now, not a %v one", is, wanted)
}

// passing lists how replies begin that say "not now" rather than "never".
var passing = []string{
	"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "NOREPLICAS",
	"MOVED", "ASK", "OOM", "MISCONF", "NOAUTH", "WRONGPASS", "NOSCRIPT",
}

// moving is in what a script is told of a key that it removed itself while its slot goes to another node: whoever
// asks again is sent there.
const moving = "attempted to access a non local key"

// Passing reports whether the server's error may pass by itself, so that trying again makes sense.
func Passing(text string) bool {
	for _, prefix := range passing {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return strings.Contains(text, moving)
}
