package actor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The errors with which a request can end. The root package re-exports them and documents what each leaves behind.
var (
	ErrNotAcquired  = errors.New("lock not acquired")
	ErrUnavailable  = errors.New("redis unavailable")
	ErrLost         = errors.New("lock lost")
	ErrNotHeld      = errors.New("lock not held")
	ErrClosed       = errors.New("engine closed")
	ErrKindMismatch = errors.New("in use as another kind of lock")
	ErrUpgrade      = errors.New("a reader cannot become the writer")
	// ErrNotReplicated ends a request with a grant that fewer replicas than wanted had, and that was undone.
	ErrNotReplicated = errors.New("too few replicas have the lock")
	// ErrTooManyWaiters ends a request on arrival, because the limit of waiters was reached.
	ErrTooManyWaiters = errors.New("too many would wait")
)

// ServerError is an error reply of the server.
type ServerError string

// Error returns the server's text: WRONGTYPE, NOPERM and so on, and the rest of the line.
func (e ServerError) Error() string { return string(e) }

// Causes of a loss, or of a request without a reply. They are wrapped by the errors above.
var (
	errNotRenewed     = errors.New("the lease ended before it was renewed")
	errReleaseUnacked = errors.New("the lease ended before the reply to the release came")
	errFixedLeaseOver = errors.New("its lease ended")
	errMaxHold        = errors.New("held for Options.MaxHold")
	errKeyGone        = errors.New("the key is gone or someone else's")
	errKeyForced      = errors.New("the key is gone or someone else's; a message said that it was unlocked by force")
	errDisplaced      = errors.New("granted to another holder since")
	errForced         = errors.New("unlocked by force")
	errKnownLost      = errors.New("that was known before the release was sent")
	errNoReply        = errors.New("no reply in time")
	errLateReply      = errors.New("the reply came after the lease had ended")
)

// ErrLate is the error reply to a command that reached the server too late to take effect.
var ErrLate = errors.New("LATE the command came after the moment until which it may take effect")

// IsKnownLoss reports whether the loss that a request found was already reported when its hold ended.
func IsKnownLoss(cause error) bool { return cause == errKnownLost }

// IsMaxHold reports whether a lock was lost because Config.MaxHold elapsed.
func IsMaxHold(cause error) bool { return cause == errMaxHold }

// IsForced reports whether a hold ended because its own engine was about to take the lock away by force.
func IsForced(cause error) bool { return errors.Is(cause, errForced) }

// IsUnlockedByForce reports whether a hold ended because its lock was unlocked by force: by its own engine or, as a
// message said, by another client.
func IsUnlockedByForce(cause error) bool { return IsForced(cause) || errors.Is(cause, errKeyForced) }

// WithForceNotice returns the cause of a loss of which a message said before that another client would cause it. Only a
// key that is gone proves the message right; other causes stay as they are.
func WithForceNotice(cause error) error {
	if cause == errKeyGone {
		return errKeyForced
	}
	return cause
}

// joinCauses returns one error for two causes, with a text of one line; either may be nil.
func joinCauses(first, second error) error {
	if first == nil {
		return second
	}
	if second == nil {
		return first
	}
	return &causePair{first, second}
}

// causePair is two causes; neither is nil. The text is made only when it is read, because making it may run a caller's
// own code. It is immutable.
type causePair struct{ first, second error }

func (e *causePair) Error() string   { return e.first.Error() + "; " + e.second.Error() }
func (e *causePair) Unwrap() []error { return []error{e.first, e.second} }

// noReplyError is two causes; neither is nil. If the first contains the second's text, that is not repeated. It is
// immutable.
type noReplyError struct{ causePair }

func (e *noReplyError) Error() string {
	if said := e.first.Error(); strings.Contains(said, e.second.Error()) {
		return said
	}
	return e.causePair.Error()
}

// CallerGone is the cause of an unknown result if the caller gave up and nothing is known to be wrong. Cause is why the
// caller gave up, and never nil. It is immutable.
type CallerGone struct{ Cause error }

// Error returns the text of why the caller gave up.
func (e CallerGone) Error() string { return e.Cause.Error() }

// Unwrap returns why the caller gave up.
func (e CallerGone) Unwrap() error { return e.Cause }

// withCallerGone returns the cause for a caller that gave up for cause, while lastErr is the last error; either may be
// nil.
func withCallerGone(lastErr, cause error) error {
	if lastErr == nil && cause != nil {
		return CallerGone{cause}
	}
	return joinCauses(lastErr, cause)
}

// ServerDownCause returns the cause of a request without a reply, while its server was known to be down.
func ServerDownCause(cause, down error) error {
	if left, gaveUp := cause.(CallerGone); gaveUp {
		return joinCauses(down, left.Cause)
	}
	if cause == nil || down == nil {
		return joinCauses(cause, down)
	}
	return &noReplyError{causePair{cause, down}}
}

// kindMismatch returns the cause of ErrKindMismatch.
func kindMismatch(is, wanted LockKind) error {
	return fmt.Errorf("it is a %v lock in this engine now, not a %v one", is, wanted)
}

// transient lists prefixes of error replies that mean "not now" rather than "never".
var transient = []string{
	"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "READONLY", "MASTERDOWN", "NOREPLICAS",
	"MOVED", "ASK", "OOM", "MISCONF", "NOSCRIPT", "LATE",
}

// migratingText is part, in lower case, of the error that a script gets for a key that it deleted itself while the
// key's slot migrates. The next try is redirected to the other node.
const migratingText = "attempted to access a non local key"

// HasPrefixFold reports whether a server's error begins with that prefix, ignoring case: releases of Redis and Valkey
// differ in the case of error texts.
func HasPrefixFold(text, with string) bool {
	return len(text) >= len(with) && strings.EqualFold(text[:len(with)], with)
}

// connRejections lists prefixes of errors with which a server rejects a client. No command that got one of them was
// executed. NOAUTH, and the limit on clients, may be the reply to any command; the others are replies to what is sent
// on a new connection. They are without ERR, which rueidis takes off a reply.
var connRejections = []string{
	"NOAUTH", "WRONGPASS", "DENIED", "max number of clients", "AUTH <password> called without any password",
	"Client sent AUTH, but no password", "invalid password", "DB index is out of range", "invalid DB index",
}

// RejectsConnection reports whether an error means that the server rejected the client, so that there is no connection
// to it.
func RejectsConnection(text string) bool {
	if HasPrefixFold(text, "ERR ") {
		text = text[len("ERR "):]
	}
	return slices.ContainsFunc(connRejections, func(with string) bool { return HasPrefixFold(text, with) }) || deniesLogin(text)
}

// deniesLogin reports whether the user may not run a command of the login. The engine sends none of these itself, so a
// client did when it made a connection. rueidis returns that as the reply to the first command of the connection.
func deniesLogin(text string) bool {
	if !HasPrefixFold(text, "NOPERM ") {
		return false
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"select", "client|setname"}, func(name string) bool { return strings.Contains(text, " to run the '"+name+"' command") })
}

// Transient reports whether an error of the server may be temporary, so that it makes sense to try again.
func Transient(text string) bool {
	for _, prefix := range transient {
		if HasPrefixFold(text, prefix) {
			return true
		}
	}
	return RejectsConnection(text) || strings.Contains(strings.ToLower(text), migratingText)
}
