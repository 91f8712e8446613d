package lockwheel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/actor"
)

// What a call can end with, to be tested with errors.Is. Every text names the lock. If the server
// refuses for good (a key of another type, no permission), a [ServerError] comes back at once instead.
var (
	// ErrNotAcquired: someone else had the lock until the wait ended. If a context ended the wait, the
	// error matches its cause, too. Left behind: nothing, or a grant still under way, which is given back.
	ErrNotAcquired = actor.ErrNotAcquired

	// ErrUnavailable: the request had no answer, or its last try failed, when the wait ended. It wraps
	// the cause and, if a context ended the wait, the context's. Left behind: at most one lease, not
	// renewed, and released as soon as the server can be reached.
	ErrUnavailable = actor.ErrUnavailable

	// ErrLost: the lock was held and is not any more, without Unlock: its lease ended, its key was
	// deleted or taken over, or somebody unlocked it by force. Left behind: nothing, unless the server refuses to
	// release it for good: then at most its lease.
	ErrLost = actor.ErrLost

	// ErrNotHeld: Unlock or Extend on a hold that was unlocked already. It is also the cause with which
	// the context of an unlocked hold ends.
	ErrNotHeld = actor.ErrNotHeld

	// ErrNotReplicated: the server granted the lock, and fewer replicas than Options.Replicas asks for had it in
	// time. The error says how many. All who wait for that name in the engine get it together. Left behind: nothing, or what cannot be undone yet, as with ErrUnavailable.
	ErrNotReplicated = actor.ErrNotReplicated

	// ErrClosed: the engine is shut down, or shutting down.
	ErrClosed = actor.ErrClosed

	// ErrTooManyWaiters: as many callers of this engine wait as Options.MaxWaiting allows, or Options.MaxWaitingPerLock for this
	// name; the error says which. It comes at once, whatever the wait. Nothing was sent for it; of several locks, those that were
	// had are given back.
	ErrTooManyWaiters = actor.ErrTooManyWaiters

	// ErrKind: the name is in use in this engine as another kind of lock, which the error names. One name
	// has one kind everywhere, because all kinds share its key. Nothing was sent for it.
	ErrKind = actor.ErrKind

	// ErrUpgrade: whoever reads wants to write, and would wait for itself. Unlock the reader first; others may
	// write in between. Left behind: the hold of the reader as it was. Nothing was sent for it.
	ErrUpgrade = actor.ErrUpgrade
)

// ServerError is what the server said when it refused: a string, for errors.As with a *ServerError. It is word for word,
// but that the user is not named, and that the arguments of a command that the server does not know are not repeated.
// WRONGTYPE when the key is something else, NOPERM when the user may not, and so on. A refusal for good is the error
// of the call itself; one that may pass is the cause of [ErrUnavailable].
//
// ServerError.Error is its only method, and returns the string as it is.
type ServerError = actor.ServerError

// prefix begins every text.
const prefix = "lockwheel: "

// lockError says which lock it was.
type lockError struct {
	name       string
	err, cause error
}

func (e *lockError) Error() string { return prefix + e.text() }

// text is the error without the name of this package, which an error around it has said.
func (e *lockError) text() string { return "lock " + quoted(e.name) + ": " + e.what() }

// what is the error for whoever knows which lock it was.
func (e *lockError) what() string {
	if e.cause == nil {
		return e.err.Error()
	}
	err := e.err
	if _, left := e.cause.(actor.Left); left && err == ErrUnavailable { // the cause itself: one of several locks may be another matter
		err = errLeft
	}
	said := err.Error()
	if all, several := e.cause.(lockErrors); several {
		return said + ": " + all.besides(said, e.name)
	}
	return said + ": " + strings.TrimPrefix(inside(e.cause, e.name), said+": ")
}

// inside is an error as part of one about a lock: it does not say again whose it is, nor of which lock if it is that one.
func inside(err error, name string) string {
	switch e := err.(type) {
	case *lockError:
		if e.name == name {
			return e.what()
		}
		return e.text()
	case lockErrors:
		return e.text(name)
	}
	return err.Error()
}

func (e *lockError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.err}
	}
	return []error{e.err, e.cause}
}

// unavailable is ErrUnavailable in other words, where nothing says that it is.
type unavailable string

func (e unavailable) Error() string { return string(e) }
func (e unavailable) Unwrap() error { return ErrUnavailable }

const (
	errLeft    unavailable = "the caller's context ended the wait, the outcome is not known"
	errNotSent unavailable = "the caller's context had ended before, nothing was sent"
)

// lockErrors are what one call came to at several locks, on one line that says the same once.
type lockErrors []error

func (all lockErrors) Error() string { return prefix + all.text("") }

func (all lockErrors) text(name string) string { return strings.Join(all.texts(name, ""), "; ") }

// texts are those of all, each once, without what was said before.
func (all lockErrors) texts(name, said string) (texts []string) {
	for _, err := range all {
		if text := strings.TrimPrefix(inside(err, name), said+": "); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// besides is the text of what is said besides that, if anything is.
func (all lockErrors) besides(said, name string) string {
	texts := all.texts(name, said)
	if more := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == said }); len(more) > 0 {
		texts = more
	}
	return strings.Join(texts, "; ")
}

func (all lockErrors) Unwrap() []error { return all }

// quoted shows a name of any bytes on one line, and of any length in a bounded one.
func quoted(name string) string {
	const most = 128
	if len(name) > most {
		return fmt.Sprintf("%q... (%d bytes)", name[:most], len(name))
	}
	return fmt.Sprintf("%q", name)
}

func errNilContext(what string) error { return fmt.Errorf("lockwheel: %s: nil context", what) }
