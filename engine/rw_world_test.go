package engine

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

var (
	rwSeeds = flag.Int("rw.seeds", 150, "how many seeds the world of readers and writers runs")
	rwSeed  = flag.Uint64("rw.seed", 0, "the one seed that it runs, and tells of; 0: all")
)

// rwWorld is several coordinators with read/write locks on one server, in simulated time: calls and answers take time, come in
// any order, are lost, and run late and twice.
type rwWorld struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Duration
	server  rwServer
	engines []*rwEngine
	events  []rwEvent
	number  int
	trouble int // of a hundred calls, so many have no answer
	forces  bool
	calm    bool
	tells   bool
	seed    uint64
	grants  int
	beside  int
}

type rwEvent struct {
	at     time.Duration
	number int
	do     func()
}

type rwEngine struct {
	id      string
	c       *coordinator
	letters []*mail
	hears   map[string]bool
	turnAt  time.Duration // of the turn that is planned; never: none
	holds   map[*actor.Hold]*actor.Request
	waits   map[*actor.Request]bool
	asked   int
}

func (w *rwWorld) later(after time.Duration, do func()) {
	w.number++
	e := rwEvent{w.now + after, w.number, do}
	at, _ := slices.BinarySearchFunc(w.events, e, func(a, b rwEvent) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number))
	})
	w.events = slices.Insert(w.events, at, e)
}

func (w *rwWorld) upTo(d time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(d) + 1))
}

func (w *rwWorld) chance(percent int) bool { return w.random.IntN(100) < percent }

func (w *rwWorld) tell(format string, args ...any) {
	if w.tells {
		w.t.Logf("%v "+format, append([]any{w.now}, args...)...)
	}
}

func (w *rwWorld) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("%v: %s\n%v\nagain: go test ./engine -run TestReadersAndWritersInAnyOrder -rw.seed %d", w.now, fmt.Sprintf(format, args...), &w.server, w.seed)
}

// post gives mail to an engine, for its turn at this moment.
func (w *rwWorld) post(e *rwEngine, m *mail) {
	e.letters = append(e.letters, m)
	w.plan(e, w.now)
}

// plan makes an engine have a turn.
func (w *rwWorld) plan(e *rwEngine, at time.Duration) {
	if e.turnAt <= at {
		return
	}
	e.turnAt = at
	w.later(at-w.now, func() {
		if e.turnAt == at {
			w.turn(e)
		}
	})
}

func (w *rwWorld) turn(e *rwEngine) {
	e.turnAt = never
	var first *mail
	for _, m := range slices.Backward(e.letters) {
		m.next = first
		first = m
	}
	e.letters = nil
	e.c.turn(w.now, first)
	for _, end := range e.c.fx.Ended {
		w.tell("%s %s of %d ends: %v %v", e.id, kindOf(e.holds[end.Hold]), end.Hold.Tenure, end.Err, end.Cause)
		delete(e.holds, end.Hold)
	}
	for _, b := range e.c.batches {
		w.send(e, b)
	}
	if o := e.c.ears.order; o != nil {
		e.c.ears.order = nil
		w.later(w.upTo(5*time.Millisecond), func() { w.subscribe(e, o) })
	}
	for _, r := range e.c.fx.Verdicts {
		w.decided(e, r)
	}
	e.c.rest()
	if at, ok := e.c.next(); ok {
		w.plan(e, max(at, w.now+1))
	}
}

func kindOf(r *actor.Request) string {
	if r == nil {
		return "?"
	}
	return [...]string{actor.Read: "read", actor.Write: "write"}[r.Kind]
}

func (w *rwWorld) decided(e *rwEngine, r *actor.Request) {
	if !e.waits[r] {
		w.fail("%s: a second verdict, or one for nobody", e.id)
	}
	delete(e.waits, r)
	w.tell("%s %d %s: %v (%v)", e.id, r.Tag, kindOf(r), r.Err, r.Cause)
	if r.Tag != actor.Acquire || r.Err != nil {
		return
	}
	if r.Hold.Lock() == nil {
		w.fail("a grant without a lock")
	}
	if r.Hold.Until() != 0 && !e.over(r) {
		w.grants++
		e.holds[r.Hold] = r
	}
}

// over reports whether a hold ended in the turn in which it was granted.
func (e *rwEngine) over(r *actor.Request) bool {
	return slices.ContainsFunc(e.c.fx.Ended, func(end actor.Ended) bool { return end.Hold == r.Hold })
}

// subscribe carries out an order.
func (w *rwWorld) subscribe(e *rwEngine, o *order) {
	for _, name := range o.leave {
		delete(e.hears, name)
	}
	for _, name := range o.join {
		e.hears[name] = true
		w.post(e, &mail{kind: subscribes, channel: name})
	}
	w.post(e, &mail{kind: orderDone})
}

// send takes a batch to the server and back, or not.
func (w *rwWorld) send(e *rwEngine, b *batch) {
	commands := slices.Clone(b.commands)
	if w.tells {
		for i := range commands {
			w.tell("%s sends %v %s #%d lease %v ghosts %v %+v", e.id, b.verb, commands[i].Key, commands[i].Tenure, commands[i].Lease, commands[i].Ghosts, commands[i].Reads)
		}
	}
	if !w.calm && w.chance(w.trouble) {
		w.later(w.upTo(200*time.Millisecond), func() {
			b.failed, b.lost = errors.New("broken"), true
			w.post(e, &b.mail)
		})
		for range w.random.IntN(3) {
			w.later(w.upTo(800*time.Millisecond), func() { w.run(e, commands) })
		}
		return
	}
	w.later(w.upTo(10*time.Millisecond), func() {
		b.replies = append(b.replies[:0], w.run(e, commands)...)
		w.later(w.upTo(10*time.Millisecond), func() { w.post(e, &b.mail) })
	})
}

func (w *rwWorld) run(e *rwEngine, commands []actor.Command) (replies []actor.Reply) {
	w.server.now = w.now
	for i := range commands {
		reply := w.server.run(e.id, &commands[i])
		w.tell("server: %s %v #%d: %v %v; %v", e.id, commands[i].Verb, commands[i].Tenure, reply.Status, reply.TTL, &w.server)
		replies = append(replies, reply)
	}
	for _, key := range w.server.told {
		name := scripts.Prefixed(scripts.ReadWriteChannel, key)
		for _, e := range w.engines {
			if e.hears[name] && (w.calm || !w.chance(10)) {
				w.later(w.upTo(5*time.Millisecond), func() { w.post(e, &mail{kind: hears, channel: name}) })
			}
		}
	}
	w.server.told = nil
	return replies
}

func (w *rwWorld) ask(e *rwEngine, r *actor.Request) {
	r.Key, r.Name = "k", "k"
	e.waits[r] = true
	w.tell("%s asks %d %s owner %d lease %v wait %v once %v", e.id, r.Tag, kindOf(r), r.Owner, r.Lease, r.Wait, r.Once)
	w.post(e, &mail{kind: asks, request: r})
}

// wish makes somebody of an engine want something.
func (w *rwWorld) wish(e *rwEngine) {
	var holds []*actor.Hold
	for h := range e.holds {
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b *actor.Hold) int { return cmp.Compare(e.holds[a].Token, e.holds[b].Token) })
	kind := []actor.LockKind{actor.Read, actor.Read, actor.Write}[w.random.IntN(3)]
	e.asked++
	switch n := w.random.IntN(20); {
	case n < 10:
		r := &actor.Request{Tag: actor.Acquire, Kind: kind, Hold: &actor.Hold{}, Once: w.chance(15), Token: uint64(e.asked)}
		if w.chance(30) {
			r.Lease = 10*time.Millisecond + w.upTo(2*time.Second)
		}
		if w.chance(30) {
			r.Wait = 10*time.Millisecond + w.upTo(time.Second)
		}
		switch {
		case len(holds) > 0 && w.chance(50):
			r.Owner = holds[w.random.IntN(len(holds))].Owner
		case w.chance(20):
			r.Owner = actor.ThreadOwner | uint64(1+w.random.IntN(2))
		}
		w.ask(e, r)
		if w.chance(20) {
			w.later(w.upTo(300*time.Millisecond), func() { w.post(e, &mail{kind: givesUp, request: r, err: errors.New("left")}) })
		}
	case n < 17 && len(holds) > 0:
		w.ask(e, &actor.Request{Tag: actor.Unlock, Hold: holds[w.random.IntN(len(holds))]})
	case n < 18 && len(holds) > 0:
		w.ask(e, &actor.Request{Tag: actor.Extend, Hold: holds[w.random.IntN(len(holds))], Lease: time.Duration(w.random.IntN(2)) * (10*time.Millisecond + w.upTo(2*time.Second))})
	case n == 18 && w.forces:
		w.ask(e, &actor.Request{Tag: actor.Force, Kind: kind})
	case n == 19 && w.chance(10):
		e.hears = map[string]bool{}
		w.post(e, &mail{kind: deaf})
	case n == 19 && w.chance(5):
		e.c.doubt(w.now)
		w.plan(e, w.now)
	}
}

// check requires that a writer is alone but for its own owner.
func (w *rwWorld) check() {
	var writers, readers []string
	for _, e := range w.engines {
		for h, r := range e.holds {
			if w.now >= h.Until() {
				continue
			}
			owner := fmt.Sprintf("%s/%d", e.id, h.Owner)
			if r.Kind == actor.Write {
				writers = append(writers, owner)
			} else {
				readers = append(readers, owner)
			}
			if h.Owner == 0 {
				w.fail("a hold without an owner")
			}
		}
	}
	if len(writers) == 0 || w.forces {
		return
	}
	all := slices.Concat(writers, readers)
	slices.Sort(all)
	if len(readers) > 0 {
		w.beside++
	}
	if len(slices.Compact(all)) > 1 {
		w.fail("%v write beside %v, who read", writers, readers)
	}
}

// until plays the events of some time.
func (w *rwWorld) until(end time.Duration) {
	for len(w.events) > 0 && w.events[0].at <= end {
		e := w.events[0]
		w.events = w.events[1:]
		w.now = e.at
		e.do()
		w.check()
	}
	w.now = end
}

func newRWWorld(t *testing.T, seed uint64) *rwWorld {
	w := &rwWorld{t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 7)), server: rwServer{locks: map[string]*rwHash{}}, tells: *rwSeed != 0}
	w.trouble, w.forces = []int{0, 5, 30}[w.random.IntN(3)], w.chance(25)
	for i := range 1 + w.random.IntN(3) {
		e := &rwEngine{
			id: fmt.Sprint("e", i), turnAt: never, hears: map[string]bool{},
			holds: map[*actor.Hold]*actor.Request{}, waits: map[*actor.Request]bool{},
		}
		e.c = newCoordinator(actor.Config{
			ID: e.id, Lease: time.Second, Renew: 333 * time.Millisecond, Timeout: 150 * time.Millisecond,
			HandoffMax: []int{-1, 4, 64}[w.random.IntN(3)], HandoffFor: 5 * time.Millisecond, Seed: seed,
		}, 3)
		w.engines = append(w.engines, e)
	}
	return w
}

// Whatever is lost, late and twice: a writer is alone, every request has one verdict, and nothing is left in the end.
func TestReadersAndWritersInAnyOrder(t *testing.T) {
	first, last := uint64(1), uint64(*rwSeeds)
	if *rwSeed != 0 {
		first, last = *rwSeed, *rwSeed
	}
	grants, beside := 0, 0
	for seed := first; seed <= last; seed++ {
		w := newRWWorld(t, seed)
		for range 200 {
			w.wish(w.engines[w.random.IntN(len(w.engines))])
			w.until(w.now + w.upTo([]time.Duration{time.Millisecond, 20 * time.Millisecond, 300 * time.Millisecond}[w.random.IntN(3)]))
		}
		w.rest()
		grants, beside = grants+w.grants, beside+w.beside
	}
	t.Logf("%d grants, %d moments at which a writer read", grants, beside)
	if *rwSeed == 0 && (grants < 20*int(last) || beside < int(last)) {
		t.Fatal("too little happens")
	}
}

// rest lets everybody leave, and requires that nothing is left.
func (w *rwWorld) rest() {
	w.calm = true
	w.tell("everybody leaves")
	for range 40 {
		for _, e := range w.engines {
			for r := range e.waits {
				if r.Tag == actor.Acquire {
					w.post(e, &mail{kind: givesUp, request: r, err: errors.New("home")})
				}
			}
			for h := range e.holds {
				w.ask(e, &actor.Request{Tag: actor.Unlock, Hold: h})
			}
		}
		w.until(w.now + 100*time.Millisecond)
	}
	w.until(w.now + 5*time.Second)
	w.server.now = w.now
	for _, e := range w.engines {
		var left []string
		note := func(is bool, what string) {
			if is {
				left = append(left, what)
			}
		}
		note(len(e.waits) > 0, "requests")
		note(len(e.holds) > 0, "holds")
		note(len(e.c.locks) > 0, "locks")
		note(len(e.c.groups) > 0, "groups")
		note(len(e.c.ears.channels) > 0, "channels")
		note(e.c.wheel.Len() > 0, "timers")
		note(e.c.backlog(), "commands")
		note(e.c.fx.Tenures != 0 || e.c.fx.Asking != 0, fmt.Sprint("tenures ", e.c.fx.Tenures, " asking ", e.c.fx.Asking))
		stats := e.c.stats()
		note(stats.Held != 0 || stats.Waiting != 0, fmt.Sprint("held ", stats.Held, " waiting ", stats.Waiting))
		if len(left) > 0 {
			w.fail("%s has something left: %s", e.id, strings.Join(left, ", "))
		}
	}
	if text := w.server.String(); text != "" {
		w.fail("the server has something left")
	}
}
