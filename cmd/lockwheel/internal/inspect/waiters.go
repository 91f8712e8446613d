package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redisurl"
)

// MaxAsked is the maximum number of engines that are asked who waits.
const MaxAsked = 1000

// Waiters says which engines have callers that wait for a lock.
type Waiters struct {
	// Engines are those with waiters, the longest wait first. Behind them are those that listen and did not reply, unless
	// asking failed: then Error says so.
	Engines []Waiter `json:"engines"`

	Replied      int   `json:"replied"`                 // so many engines replied, also those without waiters
	NotListening int   `json:"not_listening,omitempty"` // so many engines have a record and cannot be asked
	Unread       int   `json:"unread,omitempty"`        // so many records the user may not read
	NotAsked     bool  `json:"not_asked,omitempty"`     // there are more than MaxAsked engines; the others were not asked
	OtherClients int64 `json:"other_clients"`           // so many clients listen that no engine has accounted for; -1: not known

	Error string `json:"error,omitempty"` // why engines are missing, or all of them

	silent bool // a node did not reply
}

// Silent reports whether a node of the cluster did not reply, so that its engines are missing.
func (w *Waiters) Silent() bool { return w.silent }

// Waiter is an engine with callers that wait, or one that did not reply.
type Waiter struct {
	Engine  Engine `json:"engine"`
	Waiting int    `json:"waiting,omitempty"`  // so many of its callers wait
	AtLeast bool   `json:"at_least,omitempty"` // there may be more
	Since   string `json:"since,omitempty"`    // when the first of them came, by the clock of this machine
	NoReply bool   `json:"no_reply,omitempty"` // it listens and did not reply, so the rest is not known
}

// Listing has the engines that are to be asked who waits.
type Listing struct {
	nodes   []Node
	silent  error // what Nodes said of the others
	engines []Engine
	ids     map[string]bool
	denied  int
	more    bool // there are further ones
	err     error
}

// errEnough ends a list.
var errEnough = errors.New("enough engines")

// List lists the engines with a record, of the prefix, or of any prefix if that is empty: at most MaxAsked. What it
// could not read Waiters.Error says later. It looks through all keys, as Engines. The nodes and the error are those of
// Nodes.
func (s *Server) List(ctx context.Context, nodes []Node, silent error) *Listing {
	l := &Listing{nodes: nodes, silent: silent, ids: make(map[string]bool), err: silent}
	for _, n := range nodes {
		denied, err := s.Engines(ctx, n, l.add)
		l.denied += denied
		if errors.Is(err, errEnough) {
			l.more = true
			break
		}
		if err != nil {
			l.err = errors.Join(l.err, fmt.Errorf("the engines could not be listed: %w", s.AboutNode(n, err)))
		}
	}
	return l
}

// add adds an engine, once: a scan can find it twice.
func (l *Listing) add(e *Engine) error {
	switch {
	case l.ids[e.ID]:
		return nil
	case len(l.engines) >= MaxAsked:
		return errEnough
	}
	l.ids[e.ID] = true
	l.engines = append(l.engines, *e)
	return nil
}

// AddWaiters asks the engines of a list who of them has callers that wait for a lock. They have 1 s for a reply. It
// notes in Waiters.Error why an engine could not be asked; that is no error of its own.
func (s *Server) AddWaiters(ctx context.Context, l *Lock, all *Listing) {
	w := &Waiters{Engines: []Waiter{}, Unread: all.denied, NotAsked: all.more, OtherClients: -1, silent: all.silent != nil}
	l.Waiters = w
	listening := s.listening(ctx, all)
	w.NotListening = len(all.engines) - len(listening)
	ids := make([]string, len(listening))
	for i := range listening {
		ids[i] = listening[i].ID
	}
	answers, failed, err := map[string]identity.WaitersReply(nil), error(nil), all.err
	if len(ids) > 0 {
		asking, cancel := context.WithTimeout(ctx, Timeout)
		defer cancel()
		if answers, failed = identity.AskWaiters(asking, s.client, ids, l.Key, answerTimeout); failed != nil {
			err = errors.Join(err, fmt.Errorf("the engines could not be asked: %w", redisurl.WithoutSecrets(failed, &s.option)))
		}
	}
	if err != nil {
		w.Error = oneLine(err)
	}
	w.fill(listening, answers, failed)
	if l.Waiting != nil && l.Waiting.Clients >= 0 && failed == nil {
		w.OtherClients = l.Waiting.Clients
		for _, a := range answers {
			w.OtherClients = max(w.OtherClients-int64(a.Subscriptions), 0)
		}
	}
}

// fill sets what the engines replied. If asking failed, no engine is to blame for an answer that did not come.
func (w *Waiters) fill(asked []Engine, answers map[string]identity.WaitersReply, failed error) {
	w.Replied = len(answers)
	for _, e := range asked {
		a, replied := answers[e.ID]
		switch {
		case replied && (a.Waiting > 0 || a.More):
			row := Waiter{Engine: e, Waiting: a.Waiting, AtLeast: a.More}
			if a.Waiting > 0 {
				row.Since = a.Since().UTC().Format(time.RFC3339Nano)
			}
			w.Engines = append(w.Engines, row)
		case !replied && failed == nil:
			w.Engines = append(w.Engines, Waiter{Engine: e, NoReply: true})
		}
	}
	slices.SortFunc(w.Engines, func(a, b Waiter) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), compareSince(answers[a.Engine.ID], answers[b.Engine.ID]), cmp.Compare(a.Engine.ID, b.Engine.ID))
	})
}

// compareSince compares since when an engine waits. How long it has waited when it replies depends on when it does.
func compareSince(a, b identity.WaitersReply) int {
	if a.Waiting == 0 || b.Waiting == 0 {
		return cmp.Compare(b.Waiting, a.Waiting)
	}
	return a.Since().Compare(b.Since())
}

// order is less for those that replied.
func order(w Waiter) int {
	if w.NoReply {
		return 1
	}
	return 0
}

// listening returns the engines that listen to their own channels. These are all of them, as far as it is not known.
func (s *Server) listening(ctx context.Context, all *Listing) (some []Engine) {
	if len(all.engines) == 0 {
		return nil
	}
	var channels []string
	for _, e := range all.engines {
		channels = append(channels, identity.EngineChannel(e.ID))
	}
	if all.silent != nil {
		return all.engines
	}
	listeners := make(map[string]int64)
	for _, n := range all.nodes {
		replies, err := s.ask(ctx, n.client, n.client.B().PubsubNumsub().Channel(channels...).Build())
		if err != nil {
			return all.engines
		}
		pairs, err := replies[0].ToArray()
		if err != nil {
			return all.engines
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			channel, _ := pairs[i].ToString()
			n, _ := pairs[i+1].AsInt64()
			listeners[channel] += n
		}
	}
	for i, e := range all.engines {
		if listeners[channels[i]] > 0 {
			some = append(some, e)
		}
	}
	return some
}
