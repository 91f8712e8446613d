package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// quotes is where a server begins to repeat the arguments of a command that it does not know. Those of HELLO
	// and AUTH, which rueidis sends on every new connection, are the user and the password.
	quotes = ", with args beginning with:"
	// A server that refuses a command or a key says to whom.
	names, permission = "User ", " has no permissions"
)

// Refusal is what a server said when it refused, without the user and the password that it repeats. Another error stays as
// it is.
func Refusal(err error) error {
	if reply, answered := rueidis.IsRedisErr(err); answered {
		return refusal(reply.Error())
	}
	return err
}

func refusal(text string) actor.ServerError {
	said, _, _ := strings.Cut(text, quotes)
	before, after, named := strings.Cut(said, names)
	if _, what, denied := strings.Cut(after, permission); named && denied {
		said = before + "this user" + permission + what
	}
	return actor.ServerError(said)
}

// errNotGreeted is what rueidis says of a new connection that is made and then not answered in time: it bounds that with a context.
var errNotGreeted = errors.New("a new connection had no answer in time")

// OfNoContext is why a call had no answer, without what matches context.DeadlineExceeded or context.Canceled: time-outs of connections
// and dialers that gave up do, and a caller would take them for the end of its own context.
func OfNoContext(err error) error {
	switch {
	case err == context.DeadlineExceeded:
		return errNotGreeted
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return endOfNone{err}
	}
	return err
}

// endOfNone is an error that is no end of a context: errors.As finds what is in it, and so does errors.Is, but for that.
type endOfNone struct{ err error }

func (e endOfNone) Error() string      { return e.err.Error() }
func (e endOfNone) As(target any) bool { return errors.As(e.err, target) }

// Is looks into the error, as Unwrap would have errors.Is do.
func (e endOfNone) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}
