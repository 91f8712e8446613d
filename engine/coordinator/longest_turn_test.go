package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// largeHarness is a coordinator with very many of something. It records the longest turn since a given time.
type largeHarness struct {
	c       *Coordinator
	now     time.Duration
	longest time.Duration
}

func newLargeHarness(replicas int) *largeHarness {
	config := harnessConfig()
	config.Replicas = replicas
	return &largeHarness{c: New(config, 1<<20), now: time.Second}
}

// turn runs one turn, and those that are due at once afterwards. It returns the calls that are sent.
func (s *largeHarness) turn(messages ...*LoopMessage) (calls []*Batch) {
	var first *LoopMessage
	for i := len(messages) - 1; i >= 0; i-- {
		messages[i].Next, first = first, messages[i]
	}
	for more := true; more; {
		began := time.Now()
		s.c.Turn(s.now, first)
		s.longest = max(s.longest, time.Since(began))
		first = nil
		calls = append(calls, s.c.Batches...)
		s.c.Fallback.Subscriptions.Order = nil
		s.c.ResetOutputs()
		at, ok := s.c.Next()
		more = s.c.Closed && s.c.ClosePending() || !s.c.Closed && ok && at <= s.now
	}
	return calls
}

// request makes n requests and returns the calls that are sent.
func (s *largeHarness) request(n int, request func(i int) *actor.Request) []*Batch {
	messages := make([]*LoopMessage, n)
	for i := range messages {
		messages[i] = &LoopMessage{Value: request(i)}
	}
	return s.turn(messages...)
}

// reply replies to calls, and to those that are sent then.
func (s *largeHarness) reply(calls []*Batch, with actor.Reply) {
	for len(calls) > 0 {
		messages := make([]*LoopMessage, 0, len(calls))
		for _, b := range calls {
			b.Sent, b.Replies = s.now, b.Replies[:0]
			for range b.Commands {
				b.Replies = append(b.Replies, with)
			}
			messages = append(messages, &b.Msg)
		}
		calls = s.turn(messages...)
	}
}

// BenchmarkLongestTurn measures the longest turn while the coordinator handles one event that concerns a million.
func BenchmarkLongestTurn(b *testing.B) {
	const n = 1_000_000
	of := func(kind actor.LockKind, once bool) func(int) *actor.Request {
		return func(int) *actor.Request { return wants(kind, 0, once) }
	}
	ofEach := func(i int) *actor.Request { return waitRequests(actor.Plain, fmt.Sprint(i), 0) }
	denied := actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")}
	taken := actor.Reply{Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "x:1", Writer: "x:1"}
	done := actor.Reply{Status: actor.OK, Listeners: -1}
	refused := func(kind actor.LockKind, once bool, with actor.Reply) func(*largeHarness) func() {
		return func(s *largeHarness) func() {
			calls := s.request(n, of(kind, once))
			return func() { s.reply(calls[:1], with) }
		}
	}
	for name, prepare := range map[string]func(*largeHarness) (event func()){
		"refused-for-good":  refused(actor.Plain, false, denied),
		"tries":             refused(actor.Plain, true, taken),
		"undone":            refused(actor.Plain, false, done),
		"undone/fair":       refused(actor.Fair, false, done),
		"shutdown/one-name": func(s *largeHarness) func() { s.request(n, of(actor.Plain, false)); return s.requestNames(AskShutdown) },
		"shutdown/a-name-each": func(s *largeHarness) func() {
			s.request(n, ofEach)
			return s.requestNames(AskShutdown)
		},
		"close": func(s *largeHarness) func() { s.reply(s.request(n, ofEach), done); return s.requestNames(AskClose) },
		"unheard": func(s *largeHarness) func() {
			s.reply(s.request(n, of(actor.Read, false)), taken)
			return func() { s.turn(&LoopMessage{Value: OrderDone{Conn: 1, Err: errors.New("NOPERM")}}) }
		},
		"owner-granted/one-name": func(s *largeHarness) func() {
			calls := s.request(n, func(int) *actor.Request { return wants(actor.Plain, actor.ThreadOwner|1, false) })
			return func() { s.reply(calls[:1], done) }
		},
		"owner-granted/multis": func(s *largeHarness) func() {
			calls := s.request(1, func(int) *actor.Request { return wants(actor.Plain, actor.ThreadOwner|1, false) })
			s.request(n, func(int) *actor.Request {
				parts := []actor.Part{{Key: "k", Owner: actor.ThreadOwner | 1, Hold: &actor.Hold{}}, {Key: "z", Hold: &actor.Hold{}}}
				return &actor.Request{Op: actor.Acquire, Key: "k", Multi: &actor.MultiRequest{Parts: parts}}
			})
			return func() { s.reply(calls[:1], done) }
		},
		"released/multis": func(s *largeHarness) func() {
			released := wants(actor.Plain, 0, false)
			s.reply(s.request(1, func(int) *actor.Request { return released }), done)
			s.reply(s.request(1, func(int) *actor.Request { return waitRequests(actor.Plain, "z", 0) }), done)
			s.request(n, func(int) *actor.Request {
				parts := []actor.Part{{Key: "k", Hold: &actor.Hold{}}, {Key: "z", Hold: &actor.Hold{}}}
				return &actor.Request{Op: actor.Acquire, Key: "k", Multi: &actor.MultiRequest{Parts: parts}}
			})
			s.now += 50 * time.Millisecond
			return func() {
				s.reply(s.request(1, func(int) *actor.Request { return &actor.Request{Op: actor.Unlock, Hold: released.Hold} }), done)
			}
		},
		"forced-readers": func(s *largeHarness) func() {
			s.reply(s.request(n, of(actor.Read, false)), done)
			return func() {
				s.reply(s.turn(&LoopMessage{Value: &actor.Request{Op: actor.Force, Kind: actor.Read, Key: "k"}}), done)
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			longest := time.Duration(0)
			for range b.N {
				s := newLargeHarness(map[bool]int{true: 1}[name[:3] == "und"])
				event := prepare(s)
				s.longest = 0
				event()
				longest = max(longest, s.longest)
			}
			b.ReportMetric(float64(longest)/1e6, "ms/longest-turn")
		})
	}
}

func (s *largeHarness) requestNames(op actor.Op) func() {
	return func() { s.turn(&LoopMessage{Value: &actor.Request{Op: op}}) }
}
