package lockwheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/internal/identity"
)

// maxEngineName is the length, in bytes, of the longest Options.Name.
const maxEngineName = 256

func checkName(name string) error {
	if len(name) > maxEngineName {
		return fmt.Errorf("Options.Name of %d bytes: want at most %d", len(name), maxEngineName)
	}
	return nil
}

// checkPage does not repeat the address, because it may contain a password.
func checkPage(address string) error {
	if len(address) > identity.MaxText {
		return fmt.Errorf("Options.PageAddress of %d bytes: want at most %d", len(address), identity.MaxText)
	}
	if _, rest, found := strings.Cut(address, "//"); found {
		address = rest
	}
	host, _, _ := strings.Cut(address, "/")
	if strings.Contains(host, "@") {
		return errors.New("Options.PageAddress: it must not have a user or a password in it")
	}
	return nil
}

// identity returns what the engine says about itself, nil if nothing.
func (e *Engine) identity() *engine.Identity {
	if e.options.Anonymous {
		return nil
	}
	about := &engine.Identity{Key: identity.Key(e.options.Prefix, e.ID())}
	if e.options.Notify != Poll {
		about.Channel = identity.EngineChannel(e.ID())
	}
	r := identity.Record{
		Name: e.options.Name, Program: programName(), Host: hostName(), PID: os.Getpid(),
		Version: libraryVersion(debug.ReadBuildInfo()), Started: time.Now(), Page: e.options.PageAddress,
	}
	about.Fields = r.Fields()
	return about
}

// defaultName returns the name of an engine that its program did not name.
func defaultName() string {
	name := fmt.Sprintf("%s@%s:%d", programName(), hostName(), os.Getpid())
	return name[max(len(name)-maxEngineName, 0):]
}

// programName returns the base name of the program, without its arguments.
func programName() string {
	if len(os.Args) == 0 || os.Args[0] == "" {
		return "unknown"
	}
	return filepath.Base(os.Args[0])
}

func hostName() string {
	host, _ := os.Hostname()
	return cmp.Or(host, "unknown")
}

const modulePath = "github.com/lockwheel/lockwheel"

// libraryVersion returns the version of lockwheel in a program.
func libraryVersion(info *debug.BuildInfo, known bool) string {
	if !known {
		return "(unknown)"
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module != nil && module.Path == modulePath {
			return cmp.Or(module.Version, "(devel)")
		}
	}
	return "(devel)"
}

// connectionName returns a name with _ for the characters that a server does not take in the name of a connection.
func connectionName(name string) string {
	return strings.Map(func(r rune) rune {
		if r < '!' || r > '~' {
			return '_'
		}
		return r
	}, name)
}

// rejectsClientName reports whether a server with the older handshake has rejected CLIENT SETNAME: the newer one names
// the connection by HELLO.
func rejectsClientName(err error) bool {
	if err == nil {
		return false
	}
	text := strings.ToLower(err.Error())
	rejected := func(why string) bool { return strings.Contains(text, why) }
	return rejected("setname") || rejected("client") && slices.ContainsFunc([]string{"noperm", "unknown", "support", "not allowed"}, rejected)
}

// EngineInfo is what an engine says about itself, for [Holder]. Any client that may write its record could have written
// something else.
type EngineInfo struct {
	ID      string    // as [Engine.ID]
	Name    string    // [Options].Name
	Program string    // the base name of the program
	Host    string    // as the operating system names it
	PID     int       // of the process, on that host
	Version string    // of lockwheel
	Started time.Time // when it was opened, by the clock of its host
	Page    string    // [Options].PageAddress
}

// Holder says who holds a lock, for [Mutex.Holder].
type Holder struct {
	ID string // as [State].Owner: empty if the lock is free, or if several readers hold it

	// Engine is the engine of the holder. It is zero if there is no record of it: a Redisson client, an anonymous engine,
	// one of another Prefix or that may not write its record, or one that died more than 30 s ago.
	Engine EngineInfo

	// Since is when the holder was granted the lock, by the clock of this machine. It is zero if the engine did not reply:
	// the server keeps no such time.
	Since time.Time
}

const (
	// maxQuestions is the maximum number of questions of an engine that wait for their answers.
	maxQuestions = 8
	// answerTimeout is how long an engine has for an answer, unless Options.CallTimeout is shorter.
	answerTimeout = time.Second
)

// Holder says which program holds the lock, where, and since when. Locks of several readers have no holder; of one
// reader it says so.
//
// It takes the round trip of State and another one for the record. If there is a record, it asks the holder's engine
// since when, on a connection of its own. If no answer comes within 1 s or Options.CallTimeout, Since is zero. So it is
// for people and reports, not for the path of a lock. At most 8 such calls of an engine are in flight; a further one
// returns only the holder's id.
//
// It blocks for at most two of Options.CallTimeout, or until ctx ends. It returns the errors of State. A record that
// cannot be read is no error: Engine is zero then.
func (m Mutex) Holder(ctx context.Context) (Holder, error) {
	state, err := m.State(ctx)
	if err != nil || state.Owner == "" {
		return Holder{}, err
	}
	h := Holder{ID: state.Owner}
	id, tenure, ok := identity.EngineOf(state.Owner)
	link := m.engine.link.Load()
	if !ok || link == nil {
		return h, nil
	}
	if m.engine.questions.Add(1) > maxQuestions {
		m.engine.questions.Add(-1)
		return h, nil
	}
	within, cancel := context.WithTimeout(ctx, m.engine.config.CallTimeout)
	answers := make(chan Holder, 2) // the record, and then also the answer
	go func() {
		defer m.engine.questions.Add(-1)
		defer cancel() // last, so that no answer is missed
		defer close(answers)
		m.resolve(within, link, h, id, tenure, answers)
	}()
	return latest(within, h, answers), nil
}

// latest returns the last of the answers that come before ctx ends, or h.
func latest(ctx context.Context, h Holder, answers <-chan Holder) Holder {
	for {
		select {
		case better, more := <-answers:
			if !more {
				return h
			}
			h = better
			continue
		default:
		}
		select {
		case better, more := <-answers:
			if !more {
				return h
			}
			h = better
		case <-ctx.Done():
			return h
		}
	}
}

// resolve sends what is known of a holder, each time that more is known. It runs on a goroutine of its own, because the
// calls of a client do not end with a context.
func (m Mutex) resolve(ctx context.Context, link *link, h Holder, id string, tenure uint64, answers chan<- Holder) {
	records, err := identity.Read(link.client, m.engine.options.Prefix, []string{id})
	r, known := records[id]
	if err != nil || !known {
		return
	}
	h.Engine = EngineInfo(r)
	answers <- h
	ctx, cancel := context.WithTimeout(ctx, min(answerTimeout, m.engine.config.CallTimeout))
	defer cancel()
	if a, replied := identity.Ask(ctx, link.client, id, tenure, m.key()); replied && a.Held {
		h.Since = time.Now().Add(-a.Age)
		answers <- h
	}
}
