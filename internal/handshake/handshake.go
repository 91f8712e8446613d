// Package handshake reads what a client and a server say on a new connection before its first command. By that it tells
// a server that turns the connection away from one that breaks it, and keeps secrets out of the error.
package handshake

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// Watcher follows the handshake of rueidis and a server on a new connection. rueidis returns a rejection during the
// handshake as if it were the reply to the first command on that connection, so it is detected here.
//
// The goroutine that writes reads the outgoing bytes, and the one that reads the incoming bytes. Until the handshake
// is over they are the same goroutine. A goroutine that writes the first command after it changes nothing that the
// reading one uses.
type Watcher struct {
	out, in respReader
	asked   []string          // commands that were sent and have no reply yet
	secrets []rediserr.Secret // users and passwords that were sent
	heard   bool              // something has come
}

// handshakeCommands are the commands that rueidis sends on a new connection in RESP3. HELLO comes first, with the user,
// the password and the name. The value is true if rueidis gives up the connection when the server rejects the command.
// A rejection of the others does not mean that no connection was made.
var handshakeCommands = map[string]bool{hello: true, "SELECT": true, "CLIENT": false, "INFO": false, "READONLY": false}

// hello begins the handshake. Without a version the command is one of the client's user.
const hello = "HELLO 3"

// OnWrite handles outgoing bytes, and reports whether the handshake is over.
func (g *Watcher) OnWrite(text []byte) (over bool) {
	readable := g.out.read(text, func(sent respValue) bool {
		name := sent.word(0)
		if name == "HELLO" {
			name += " " + sent.word(1)
		}
		if _, greets := handshakeCommands[name]; !greets {
			over = true
			return false
		}
		g.asked = append(g.asked, name)
		g.noteSecrets(sent.words)
		return true
	})
	return over || !readable
}

// Answered reports whether the server has sent anything.
func (g *Watcher) Answered() bool { return g.heard }

// noteSecrets records the user and the password of HELLO.
func (g *Watcher) noteSecrets(words []string) {
	at := slices.Index(words, "AUTH")
	if at >= 0 {
		login := words[at+1 : min(at+3, len(words))] // a user and a password, or a password
		for i, word := range login {
			g.secrets = append(g.secrets, rediserr.Secret{Text: word, User: i == 0 && len(login) == 2})
		}
	}
}

// OnRead handles incoming bytes, and returns an error if the server has rejected the connection.
func (g *Watcher) OnRead(text []byte) (rejection error) {
	g.heard = true
	g.in.read(text, func(came respValue) bool {
		if came.kind == '>' {
			return true
		}
		name := ""
		if len(g.asked) > 0 {
			name, g.asked = g.asked[0], g.asked[1:]
		}
		switch {
		case came.kind == '-' || came.kind == '!':
			rejection = g.rejection(name, came.word(0))
		case name == hello && !speaksRESP3(came.words):
			rejection = &rediserr.NotConnected{Err: rediserr.ErrNoRESP3}
		}
		return rejection == nil
	})
	return rejection
}

// rejection returns an error if the server's reply means that there is no connection. A temporary error is left to be
// the reply to the command itself: it is temporary there, too.
func (g *Watcher) rejection(name, said string) error {
	words := rediserr.RedactText(said, g.secrets...)
	if name == hello && rediserr.LacksRESP3(said) {
		return &rediserr.NotConnected{Err: fmt.Errorf("%w: %w", rediserr.ErrNoRESP3, words)}
	}
	lost := isRejection(said) || handshakeCommands[name]
	if !lost || actor.Transient(said) && !actor.RejectsConnection(said) && words == rediserr.RedactText(said) {
		return nil
	}
	return &rediserr.NotConnected{Err: words}
}

// speaksRESP3 reports whether the reply to HELLO has that version. Otherwise rueidis uses RESP2.
func speaksRESP3(words []string) bool {
	at := slices.Index(words, "proto")
	if at < 0 || at+1 == len(words) {
		return false
	}
	version, err := strconv.Atoi(words[at+1])
	return err == nil && version >= 3
}

// isRejection reports whether a reply means that the server closes a connection that it has just accepted. The
// connection ends after it, and rueidis would report only that end.
func isRejection(said string) bool {
	return strings.HasPrefix(said, "ERR max number of clients") || strings.HasPrefix(said, "DENIED ")
}
