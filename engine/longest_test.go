package engine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// stage is a coordinator with very many of something. It records the longest turn since a given time.
type stage struct {
	c       *coordinator
	now     time.Duration
	longest time.Duration
}

func newStage(replicas int) *stage {
	config := deskConfig()
	config.Replicas = replicas
	return &stage{c: newCoordinator(config, 1<<20), now: time.Second}
}

// turn runs one turn, and those that are due at once afterwards. It returns the calls that are sent.
func (s *stage) turn(letters ...*mail) (calls []*batch) {
	var first *mail
	for i := len(letters) - 1; i >= 0; i-- {
		letters[i].next, first = first, letters[i]
	}
	for more := true; more; {
		began := time.Now()
		s.c.turn(s.now, first)
		s.longest = max(s.longest, time.Since(began))
		first = nil
		calls = append(calls, s.c.batches...)
		s.c.ears.order = nil
		s.c.rest()
		at, ok := s.c.next()
		more = s.c.closed && s.c.closesOn() || !s.c.closed && ok && at <= s.now
	}
	return calls
}

// asks makes n requests and returns the calls that are sent.
func (s *stage) asks(n int, request func(i int) *actor.Request) []*batch {
	letters := make([]*mail, n)
	for i := range letters {
		letters[i] = &mail{what: request(i)}
	}
	return s.turn(letters...)
}

// answers replies to calls, and to those that are sent then.
func (s *stage) answers(calls []*batch, with actor.Reply) {
	for len(calls) > 0 {
		letters := make([]*mail, 0, len(calls))
		for _, b := range calls {
			b.sent, b.replies = s.now, b.replies[:0]
			for range b.commands {
				b.replies = append(b.replies, with)
			}
			letters = append(letters, &b.mail)
		}
		calls = s.turn(letters...)
	}
}

// BenchmarkLongestTurn measures the longest turn while the coordinator handles one event that concerns a million.
func BenchmarkLongestTurn(b *testing.B) {
	const n = 1_000_000
	of := func(kind actor.LockKind, once bool) func(int) *actor.Request {
		return func(int) *actor.Request { return wants(kind, 0, once) }
	}
	ofEach := func(i int) *actor.Request { return wanting(actor.Plain, fmt.Sprint(i), 0) }
	denied := actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE x")}
	taken := actor.Reply{Status: actor.Taken, TTL: 20 * time.Second, Holder: "x:1", Writer: "x:1"}
	done := actor.Reply{Status: actor.Done, Listeners: -1}
	refused := func(kind actor.LockKind, once bool, with actor.Reply) func(*stage) func() {
		return func(s *stage) func() {
			calls := s.asks(n, of(kind, once))
			return func() { s.answers(calls[:1], with) }
		}
	}
	for name, prepare := range map[string]func(*stage) (event func()){
		"refused-for-good":  refused(actor.Plain, false, denied),
		"tries":             refused(actor.Plain, true, taken),
		"undone":            refused(actor.Plain, false, done),
		"undone/fair":       refused(actor.Fair, false, done),
		"shutdown/one-name": func(s *stage) func() { s.asks(n, of(actor.Plain, false)); return s.asksFor(AskShutdown) },
		"shutdown/a-name-each": func(s *stage) func() {
			s.asks(n, ofEach)
			return s.asksFor(AskShutdown)
		},
		"close": func(s *stage) func() { s.answers(s.asks(n, ofEach), done); return s.asksFor(AskClose) },
		"unheard": func(s *stage) func() {
			s.answers(s.asks(n, of(actor.Read, false)), taken)
			return func() { s.turn(&mail{what: orderDone{on: 1, err: errors.New("NOPERM")}}) }
		},
		"forced-readers": func(s *stage) func() {
			s.answers(s.asks(n, of(actor.Read, false)), done)
			return func() {
				s.answers(s.turn(&mail{what: &actor.Request{Tag: actor.Force, Kind: actor.Read, Key: "k"}}), done)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			longest := time.Duration(0)
			for range b.N {
				s := newStage(map[bool]int{true: 1}[name[:3] == "und"])
				event := prepare(s)
				s.longest = 0
				event()
				longest = max(longest, s.longest)
			}
			b.ReportMetric(float64(longest)/1e6, "ms/longest-turn")
		})
	}
}

func (s *stage) asksFor(tag actor.Kind) func() {
	return func() { s.turn(&mail{what: &actor.Request{Tag: tag}}) }
}
