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
func Refusal(err error, secrets ...string) error {
	if reply, answered := rueidis.IsRedisErr(err); answered {
		return Refused(reply.Error(), secrets...)
	}
	return err
}

// Refused is what a server said when it refused; in words of ours, if it repeats a part of what was sent and is secret.
func Refused(text string, secrets ...string) actor.ServerError {
	said := refusal(text)
	rest := ownWords.Replace(string(said))
	for _, secret := range secrets {
		if repeats(rest, secret) {
			return errRepeats
		}
	}
	return said
}

const (
	errRepeats = actor.ServerError("the server refuses; its words are left out, as they repeat a part of the user or the password")
	// leastPart is how much of a secret is a part of it that may not be repeated. Less stands in any sentence.
	leastPart = 6
)

// ownWords takes out of a refusal what servers say whatever was sent: users and passwords are words, too.
var ownWords = strings.NewReplacer(
	"WRONGPASS invalid username-password pair or user is disabled.", "\n", "WRONGPASS invalid username-password pair", "\n",
	"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?", "\n",
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time", "\n",
	"NOAUTH Authentication required.", "\n", "ERR Client sent AUTH, but no password is set", "\n", "ERR invalid password", "\n",
	"ERR DB index is out of range", "\n", "ERR invalid DB index", "\n", "ERR unknown command ", "\n", "NOPERM this user has no permissions", "\n",
	"ERR max number of clients reached", "\n",
)

// repeats reports whether a text has a part of a secret in it. The user of those who name none is none.
func repeats(text, secret string) bool {
	if secret == "" || secret == "default" {
		return false
	}
	for at := 0; at+min(leastPart, len(secret)) <= len(secret); at++ {
		if strings.Contains(text, secret[at:at+min(leastPart, len(secret))]) {
			return true
		}
	}
	return false
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
