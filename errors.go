package lockwheel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/actor"
)

// The errors that a call can return, to be tested with errors.Is. Each error text contains the name of the lock. If
// the server rejects a command permanently (the key has another type, no permission), the call returns a
// [ServerError] immediately instead.
var (
	// ErrNotAcquired: the lock was held by another owner until the wait ended, or a context ended the wait. Then the
	// error also matches the context's cause, and the lock may have been free: of a context that had ended before, nothing
	// was sent. Left behind: nothing, or a grant in flight, which the engine releases.
	ErrNotAcquired = actor.ErrNotAcquired

	// ErrUnavailable: when the wait ended, the request had no reply, or its last try had failed. If the last reply said
	// that another caller holds the lock for longer than the wait, the error is ErrNotAcquired. ErrUnavailable wraps the
	// cause and, if a context ended the wait, the context's cause. Left behind: at most one lease, which the engine
	// does not renew and releases as soon as it can reach the server.
	ErrUnavailable = actor.ErrUnavailable

	// ErrLost: the lock was held and was lost without Unlock. Its lease expired, its key was deleted or overwritten,
	// or ForceUnlock took the lock away. Left behind: nothing, unless the server rejects the release permanently;
	// then at most the rest of the lease.
	ErrLost = actor.ErrLost

	// ErrNotHeld: Unlock or Extend was called on a hold that was already unlocked. It is also the cause of the
	// context of an unlocked hold.
	ErrNotHeld = actor.ErrNotHeld

	// ErrNotReplicated: the server granted the lock, but fewer replicas than Options.Replicas requires confirmed it
	// in time. The error contains their number. All callers of the engine that wait for the name get the error
	// together. Left behind: nothing, or what cannot be undone yet, as with ErrUnavailable.
	ErrNotReplicated = actor.ErrNotReplicated

	// ErrClosed: the engine is closed or shutting down.
	ErrClosed = actor.ErrClosed

	// ErrTooManyWaiters: the engine already has Options.MaxWaiting waiting callers, or Options.MaxWaitingPerLock for
	// this name; the error says which. The call returns at once, even with a Wait. Nothing was sent for it. Of
	// several locks, those acquired before are released, and a Quorum releases what other servers grant it meanwhile.
	ErrTooManyWaiters = actor.ErrTooManyWaiters

	// ErrKindMismatch: this engine uses the name for another kind of lock, which the error names. It does so while the
	// lock is held or waited for, and until the server has replied to a caller that gave up, or to the release of a hold
	// that ended. A name must have the same kind everywhere, because all kinds share its key. Nothing was sent.
	ErrKindMismatch = actor.ErrKindMismatch

	// ErrUnlockFailed: Do has run its function, and then Unlock failed. The error also matches that of Unlock. With
	// ErrUnavailable or a [ServerError], the function did its work under the lock, so it is not to be run again. Left
	// behind: as after Unlock, at most the rest of the lease. An ErrUnavailable of Do that does not match
	// ErrUnlockFailed is that of Lock, unless the function returned it; after that of Lock, the function did not run.
	//
	// If the lock was lost, Do returns ErrLost without ErrUnlockFailed. It also does so if it re-enters after
	// Options.MaxHold, and then the function did not run. Only Do returns ErrUnlockFailed.
	ErrUnlockFailed = errors.New("unlock failed")

	// ErrUpgrade: the holder of a read lock tried to acquire the write lock, and would wait for itself. Unlock the
	// reader first; other callers may write in between. Left behind: the reader's hold, unchanged. Nothing was sent.
	// A call that re-enters a write gets it, too, if the server replies that the write is lost and the owner also reads.
	ErrUpgrade = actor.ErrUpgrade
)

// ServerError is the server's error reply, a string, for errors.As with a *ServerError. Examples are WRONGTYPE if the
// key has another type, and NOPERM if the user lacks a permission. The text is verbatim with three exceptions. It does
// not name the user, and it does not repeat the arguments of an unknown command. A leading "ERR " is usually missing,
// because the client removes it.
//
// A permanent rejection is the error of the call itself. A temporary one is the cause of [ErrUnavailable].
//
// ServerError.Error is its only method and returns the string unchanged.
type ServerError = actor.ServerError

// prefix begins every error text.
const prefix = "lockwheel: "

// lockError adds the name of the lock, and what a hold of it was for, to an error and its cause.
type lockError struct {
	name, label string
	err, cause  error
}

func (e *lockError) Error() string { return prefix + e.text() }

// text returns the error without the package name, which an enclosing error has printed.
func (e *lockError) text() string { return "lock " + named(e.name, e.label) + ": " + e.detail() }

// named returns the name of a lock with what its hold is for, if that is known.
func named(name, label string) string {
	if label == "" {
		return quoted(name)
	}
	return quoted(name) + " for " + quoted(label)
}

// detail returns the error without the name of the lock.
func (e *lockError) detail() string {
	if e.cause == nil {
		return e.err.Error()
	}
	err := e.err
	if _, left := e.cause.(actor.CallerGone); left && err == ErrUnavailable { // only the cause itself: the cause of one of several locks can differ
		err = errWaitAborted
	}
	said := err.Error()
	if all, several := e.cause.(multiError); several {
		return said + ": " + all.textBesides(said, e.name)
	}
	return said + ": " + strings.TrimPrefix(textWithin(e.cause, e.name), said+": ")
}

// textWithin returns the text of an error within the error of the lock with that name. It repeats neither the package
// name nor the name of that lock.
func textWithin(err error, name string) string {
	switch e := err.(type) {
	case *lockError:
		if e.name == name {
			return e.detail()
		}
		return e.text()
	case multiError:
		return e.text(name)
	case *serverError:
		return e.server + ": " + textWithin(e.error, name)
	case memberError:
		return textWithin(e.lockError, name)
	case actor.CallerGone:
		return textWithin(e.Cause, name)
	}
	return err.Error()
}

// unlockFailure is the error of Unlock in an error of Do.
type unlockFailure struct {
	hold     *Hold
	unlocked error
}

func (e unlockFailure) Error() string {
	return prefix + "lock " + named(e.hold.name, e.hold.grant.Label()) + ": " + ErrUnlockFailed.Error() + ": " + textWithin(e.unlocked, e.hold.name)
}

func (e unlockFailure) Unwrap() []error { return []error{ErrUnlockFailed, e.unlocked} }

// memberError is why one lock of several was not acquired, in an error of another kind for all of them. It matches the
// cause only: a busy Quorum with a closed engine must not match ErrClosed.
type memberError struct{ *lockError }

func (e memberError) Unwrap() error { return e.cause }

// withoutKinds returns the errors of the locks of a Quorum, without those kinds that this package defines and hide
// selects; nil selects all.
func (all multiError) withoutKinds(hide func(kind error) bool) multiError {
	hidden := slices.Clone(all)
	for i, err := range all {
		on, isOn := err.(*serverError)
		if isOn {
			err = on.error
		}
		failed, ok := err.(*lockError)
		if !ok || errors.As(failed.err, new(ServerError)) || hide != nil && !hide(failed.err) {
			continue
		}
		hidden[i] = memberError{failed}
		if isOn {
			hidden[i] = &serverError{on.server, hidden[i]}
		}
	}
	return hidden
}

// serverError adds the server to an error of one of several locks that are on servers of their own.
type serverError struct {
	server string
	error
}

func (e *serverError) Unwrap() error { return e.error }

func (e *lockError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.err}
	}
	return []error{e.err, e.cause}
}

// unavailableError is an ErrUnavailable with a more precise text.
type unavailableError string

func (e unavailableError) Error() string { return string(e) }

func (e unavailableError) Unwrap() error { return ErrUnavailable }

const (
	errWaitAborted unavailableError = "the caller's context ended the wait, the outcome is not known"
	errNotSent     unavailableError = "the caller's context had ended before, nothing was sent"
)

// multiError are the errors of one call for several locks, printed on one line without repetitions.
type multiError []error

func (all multiError) Error() string { return prefix + all.text("") }

func (all multiError) text(name string) string { return strings.Join(all.texts(name, ""), "; ") }

// texts returns the distinct texts of the errors, without the prefix said, each after its servers. A text that is said
// says nothing of a server.
func (all multiError) texts(name, said string) (texts []string) {
	var servers [][]string // of each text
	for _, err := range all {
		server := ""
		if on, ok := err.(*serverError); ok {
			server, err = on.server, on.error
		}
		text := strings.TrimPrefix(textWithin(err, name), said+": ")
		i := slices.Index(texts, text)
		if i < 0 {
			i = len(texts)
			texts, servers = append(texts, text), append(servers, nil)
		}
		if server != "" && text != said && !strings.Contains(text, server) { // an error of package net has its address
			servers[i] = append(servers[i], server)
		}
	}
	for i, on := range servers {
		if len(on) > 0 {
			slices.Sort(on) // their order is that of the replies
			texts[i] = strings.Join(on, ", ") + ": " + texts[i]
		}
	}
	return texts
}

// textBesides returns the texts other than said; if there is none, it returns said.
func (all multiError) textBesides(said, name string) string {
	texts := all.texts(name, said)
	if more := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == said }); len(more) > 0 {
		texts = more
	}
	return strings.Join(texts, "; ")
}

func (all multiError) Unwrap() []error { return all }

// quoted returns a name of any bytes on one line, shortened to a bounded length.
func quoted(name string) string {
	const most = 128
	if len(name) > most {
		return fmt.Sprintf("%q... (%d bytes)", name[:most], len(name))
	}
	return fmt.Sprintf("%q", name)
}

func errNilContext(what string) error { return fmt.Errorf("lockwheel: %s: nil context", what) }
