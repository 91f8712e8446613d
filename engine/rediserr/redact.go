// Package rediserr has the errors of the client in a form that an engine can use. They have no part of a password, and
// no end of a context that is not the caller's. They say whether there was a connection at all.
//
// This package is not part of lockwheel's API: any version may change it. See docs/versions.md.
package rediserr

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// quotedArgs marks where a server repeats the arguments of an unknown command. rueidis sends HELLO and AUTH on every
	// new connection, and their arguments are the user and the password.
	quotedArgs = ", with args beginning with:"
	// quotedUser and permission are what stands around the user where a server denies a command or a key.
	quotedUser, permission = "User ", " has no permissions"
)

// Secret is a user or a password that no error repeats. A user is less secret. A short one may be a word of any text,
// so only the whole word counts, and the rest of the text stays.
type Secret struct {
	Text string
	User bool
}

// RedactError returns a server's error reply as an actor.ServerError, without any user or password that the server
// repeats. It returns any other error, and nil, unchanged.
func RedactError(err error, secrets ...Secret) error {
	if reply, ok := rueidis.IsRedisErr(err); ok {
		return RedactText(reply.Error(), secrets...)
	}
	return err
}

// RedactText returns the text of a server's error reply, without any user that it names. If the text still repeats a
// part of one of the secrets, it returns a fixed text instead. A user of less than minSecretPart bytes is left out
// alone.
func RedactText(text string, secrets ...Secret) actor.ServerError {
	said := RedactQuoted(text)
	rest := knownTexts.Replace(string(said))
	for _, secret := range secrets {
		switch {
		case !secret.User || len(secret.Text) >= minSecretPart:
			if containsSecret(rest, secret.Text) {
				return errRepeats
			}
		case replaceWord(rest, secret.Text) != rest:
			said = actor.ServerError(replaceWord(string(said), secret.Text))
		}
	}
	return said
}

// replaceWord replaces a short user where it is a word of its own.
func replaceWord(text, user string) string {
	if user == "" || user == "default" {
		return text
	}
	var b strings.Builder
	isPart := func(c byte) bool {
		return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 || c == '_'
	}
	for before := byte(0); len(text) > 0; {
		end := len(user)
		if strings.HasPrefix(text, user) && !isPart(before) && (end == len(text) || !isPart(text[end])) {
			b.WriteString(userMark)
			before, text = user[end-1], text[end:]
			continue
		}
		before, text = text[0], text[1:]
		b.WriteByte(before)
	}
	return b.String()
}

const (
	errRepeats = actor.ServerError("the server refuses; its words are left out, as they repeat a part of the user or the password")
	// userMark stands in the place of a short user.
	userMark = "<user>"
	// minSecretPart is the shortest part of a secret that may not be repeated, in bytes. Shorter parts occur in any
	// sentence.
	minSecretPart = 6
)

// knownTexts removes the fixed phrases of servers, because a user or a password may be a word in one of them.
var knownTexts = strings.NewReplacer(
	"WRONGPASS invalid username-password pair or user is disabled.", "\n", "WRONGPASS invalid username-password pair", "\n",
	"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?", "\n",
	"NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time", "\n",
	"NOAUTH Authentication required.", "\n", "ERR Client sent AUTH, but no password is set", "\n", "ERR invalid password", "\n",
	"ERR DB index is out of range", "\n", "ERR invalid DB index", "\n", "ERR unknown command ", "\n", "NOPERM this user has no permissions", "\n",
	"ERR max number of clients reached", "\n",
)

// containsSecret reports whether text contains a part of a secret. The user "default" is not a secret.
func containsSecret(text, secret string) bool {
	if secret == "" || secret == "default" {
		return false
	}
	for at := 0; at+min(minSecretPart, len(secret)) <= len(secret); at++ {
		if strings.Contains(text, secret[at:at+min(minSecretPart, len(secret))]) {
			return true
		}
	}
	return false
}

// RedactQuoted returns the text of a server's error reply without what it quotes: arguments, and a user that it names.
func RedactQuoted(text string) actor.ServerError {
	said, _, _ := strings.Cut(text, quotedArgs)
	before, after, named := strings.Cut(said, quotedUser)
	if _, what, denied := strings.Cut(after, permission); named && denied {
		said = before + "this user" + permission + what
	}
	return actor.ServerError(said)
}

// errHandshakeTimeout replaces the error of rueidis for a new connection without a reply in time. rueidis limits that
// with a context of its own.
var errHandshakeTimeout = errors.New("a new connection had no reply in time")

// HideContextError returns err in a form that matches neither context.DeadlineExceeded nor context.Canceled. Timeouts
// of connections and of dialers match these, and a caller would take them for the end of its own context. Other errors,
// and nil, are returned unchanged.
func HideContextError(err error) error {
	switch {
	case err == context.DeadlineExceeded:
		return errHandshakeTimeout
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return nonContextError{err}
	}
	return err
}

// nonContextError hides that an error matches the end of a context. Otherwise errors.Is and errors.As see what it
// wraps.
type nonContextError struct{ err error }

func (e nonContextError) Error() string { return e.err.Error() }

func (e nonContextError) As(target any) bool { return errors.As(e.err, target) }

// Is reports whether the wrapped error matches target, as errors.Is would with Unwrap.
func (e nonContextError) Is(target error) bool {
	return target != context.DeadlineExceeded && target != context.Canceled && errors.Is(e.err, target)
}
