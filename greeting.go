package lockwheel

import (
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// greeting is how rueidis and a server greet each other on a new connection, before anything else is sent. rueidis returns what the
// server refuses then as if it were the answer to whatever command the connection was made for. So it is told apart here.
//
// What goes out is looked at by who writes, what comes in by who reads. Until the greeting is over that is one goroutine; who writes
// the first command behind it changes nothing that who reads looks at.
type greeting struct {
	out, in respReader
	asked   []string // commands that were sent and not answered
	secrets []string // users and passwords that were sent
	old     bool     // the server does not know HELLO 3, so its other answers mean nothing: rueidis greets it anew
}

// greetings are what rueidis sends on a new connection. Of what is refused, it gives the connection up for those that are true; of the
// others none is a connection that could not be made.
var greetings = map[string]bool{"HELLO 3": true, "HELLO 2": true, "AUTH": true, "SELECT": true, "CLIENT": false, "INFO": false, "READONLY": false}

// sends takes in what is about to be sent, and reports whether the greeting is over.
func (g *greeting) sends(text []byte) (over bool) {
	readable := g.out.read(text, func(sent respValue) bool {
		name := sent.word(0)
		if name == "HELLO" {
			name += " " + sent.word(1)
		}
		if _, greets := greetings[name]; !greets {
			over = true
			return false
		}
		g.asked = append(g.asked, name)
		g.noteSecrets(sent.words)
		return true
	})
	return over || !readable
}

// noteSecrets notes the user and the password of HELLO and AUTH.
func (g *greeting) noteSecrets(words []string) {
	at := slices.Index(words, "AUTH")
	if at == 0 {
		g.old = false // it is greeted anew
	}
	if at >= 0 {
		g.secrets = append(g.secrets, words[at+1:min(at+3, len(words))]...)
	}
}

// hears takes in what came, and returns an error if the server has refused the connection.
func (g *greeting) hears(text []byte) (refused error) {
	g.in.read(text, func(came respValue) bool {
		if came.kind == '>' {
			return true
		}
		name := ""
		if len(g.asked) > 0 {
			name, g.asked = g.asked[0], g.asked[1:]
		}
		if came.kind == '-' || came.kind == '!' {
			refused = g.refusal(name, came.word(0))
		}
		return refused == nil
	})
	return refused
}

// refusal is why there is no connection, if that is what the server says. What passes is told as the command's own answer: it passes
// for that, too.
func (g *greeting) refusal(name, said string) error {
	if unknownHello(said) {
		g.old = name == "HELLO 3"
		return nil
	}
	lost := turnsAway(said) || greetings[name] && !g.old
	words := engine.Refused(said, g.secrets...)
	if !lost || actor.Passing(said) && !actor.ShutsOut(said) && words == engine.Refused(said) {
		return nil
	}
	return &engine.NotConnected{Err: words}
}

// unknownHello reports whether a server does not know HELLO, which rueidis takes for one that speaks the older protocol only.
func unknownHello(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, "unknown command") && strings.Contains(said, "hello")
}

// turnsAway reports whether with what it said a server closes a connection that it has just accepted. Behind that comes the end of the
// connection, and rueidis would tell of nothing else.
func turnsAway(said string) bool {
	return strings.HasPrefix(said, "ERR max number of clients") || strings.HasPrefix(said, "DENIED ")
}
