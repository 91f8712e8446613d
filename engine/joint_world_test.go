package engine

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// jointWorld is a server and engines whose callers want one lock or several, with one source of chance for all that
// happens: delays, calls and answers that are lost, copies that run late, messages that are not heard.
type jointWorld struct {
	t       require.TestingT
	random  *rand.Rand
	now     time.Duration
	due     jointEvents
	keys    map[string]*jointKey
	engines []*jointEngine
	tired   bool // callers want nothing any more
	log     []string

	alone, together, refused int // how often somebody got one, got several, got nothing
}

type jointKey struct {
	holder  string
	expires time.Duration
}

type jointEvent struct {
	at time.Duration
	n  int
	do func()
}

type jointEvents []jointEvent

func (e jointEvents) Len() int { return len(e) }
func (e jointEvents) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e jointEvents) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *jointEvents) Push(x any)   { *e = append(*e, x.(jointEvent)) }
func (e *jointEvents) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

func (w *jointWorld) after(d time.Duration, do func()) {
	heap.Push(&w.due, jointEvent{w.now + d, len(w.log) + w.random.IntN(1000), do})
}

func (w *jointWorld) chance(p float64) bool { return w.random.Float64() < p }

func (w *jointWorld) upTo(d time.Duration) time.Duration {
	return time.Duration(w.random.Int64N(int64(d)) + 1)
}

func (w *jointWorld) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%v ", w.now)+fmt.Sprintf(format, args...))
}

// run lets things happen until nothing is left, or too much did.
func (w *jointWorld) run(most int) (quiet bool) {
	for range most {
		if len(w.due) == 0 {
			return true
		}
		event := heap.Pop(&w.due).(jointEvent)
		w.now = event.at
		event.do()
		w.check()
	}
	return false
}

// check makes sure that nobody believes in a lock that somebody else believes in.
func (w *jointWorld) check() {
	believers := map[string]*actor.Hold{}
	for _, e := range w.engines {
		for h, key := range e.held {
			if w.now >= h.Until() {
				continue
			}
			if other := believers[key]; other != nil {
				require.FailNow(w.t, "two at once", "%s: %d and %d", key, other.Tenure, h.Tenure)
			}
			believers[key] = h
		}
	}
}

// jointEngine is a coordinator, its mail, and its callers.
type jointEngine struct {
	w       *jointWorld
	id      string
	c       *coordinator
	letters []*mail
	turning bool
	held    map[*actor.Hold]string // that have not ended, with their keys
	wakes   time.Duration
	wishes  map[*actor.Request]*jointWish
}

func (w *jointWorld) engine(id string) *jointEngine {
	e := &jointEngine{w: w, id: id, held: map[*actor.Hold]string{}, wishes: map[*actor.Request]*jointWish{}}
	e.c = newCoordinator(actor.Config{
		ID: id, Lease: time.Second, Renew: 300 * time.Millisecond, Timeout: 200 * time.Millisecond,
		HandoffMax: 8, HandoffFor: 5 * time.Millisecond, Seed: w.random.Uint64(), Poll: w.chance(0.2),
	}, 3)
	w.engines = append(w.engines, e)
	return e
}

func (e *jointEngine) post(m *mail) {
	e.letters = append(e.letters, m)
	if !e.turning {
		e.turning = true
		e.w.after(e.w.upTo(50*time.Microsecond), e.turn)
	}
}

func (e *jointEngine) turn() {
	e.turning = false
	var first *mail
	for _, m := range slices.Backward(e.letters) {
		m.next = first
		first = m
	}
	e.letters = nil
	if e.w.chance(0.005) {
		e.c.doubt(e.w.now)
	}
	e.c.turn(e.w.now, first)
	for _, end := range e.c.fx.Ended {
		delete(e.held, end.Hold)
	}
	for _, b := range e.c.batches {
		e.w.carry(e, b)
	}
	if o := e.c.ears.order; o != nil {
		e.c.ears.order = nil
		e.subscribe(o)
	}
	verdicts := slices.Clone(e.c.fx.Verdicts)
	e.c.rest()
	for _, r := range verdicts {
		if wish := e.wishes[r]; wish != nil {
			delete(e.wishes, r)
			wish.decided()
		}
	}
	if at, ok := e.c.next(); ok && (e.wakes <= e.w.now || at < e.wakes) {
		e.wakes = max(at, e.w.now+time.Microsecond)
		e.w.after(e.wakes-e.w.now, func() { e.post(&mail{kind: alarms}) })
	}
}

func (e *jointEngine) subscribe(o *order) {
	e.w.after(e.w.upTo(2*time.Millisecond), func() {
		for _, name := range slices.Concat(o.join, o.keep) {
			e.post(&mail{kind: subscribes, channel: name})
		}
		e.post(&mail{kind: orderDone})
	})
}

// carry brings a batch to the server and its answer back, or not.
func (w *jointWorld) carry(e *jointEngine, b *batch) {
	sent := slices.Clone(b.commands)
	verb := b.verb
	run := func() []actor.Reply { return w.execute(e, verb, sent) }
	switch back := w.upTo(2 * time.Millisecond); {
	case w.chance(0.9):
		w.after(back, func() {
			replies := run()
			w.after(w.upTo(2*time.Millisecond), func() {
				b.replies = append(b.replies[:0], replies...)
				e.post(&b.mail)
			})
		})
	default:
		if w.chance(0.7) {
			w.after(w.upTo(100*time.Millisecond), func() { run() }) // it runs all the same, maybe late
		}
		w.after(back, func() {
			b.failed, b.lost = errors.New("EOF"), true
			e.post(&b.mail)
		})
	}
}

// execute does what the scripts do.
func (w *jointWorld) execute(e *jointEngine, verb actor.Verb, commands []actor.Command) (replies []actor.Reply) {
	for i := range commands {
		c := &commands[i]
		parts := c.Parts
		if parts == nil {
			parts = []actor.Asked{{Key: c.Key, Ghosts: c.Ghosts}}
		}
		for _, part := range parts {
			for _, ghost := range part.Ghosts {
				w.release(part.Key, e.holder(ghost))
			}
		}
		reply := actor.Reply{Status: actor.Done, Listeners: -1}
		holder := e.holder(c.Tenure)
		switch verb {
		case actor.SendAcquire, actor.SendJointAcquire:
			reply = w.acquire(parts, holder, c.Lease)
		case actor.SendRenew:
			k := w.key(c.Key)
			if k.holder != holder {
				reply = actor.Reply{Status: actor.Gone}
			} else if c.Lease != 0 {
				k.expires = w.now + c.Lease
			}
		case actor.SendRelease:
			if !w.release(c.Key, holder) {
				reply = actor.Reply{Status: actor.Gone}
			}
		}
		replies = append(replies, reply)
	}
	return replies
}

func (e *jointEngine) holder(tenure uint64) string { return fmt.Sprintf("%s:%d", e.id, tenure) }

// key is a key as it is now.
func (w *jointWorld) key(name string) *jointKey {
	k := w.keys[name]
	if k == nil {
		k = &jointKey{}
		w.keys[name] = k
	}
	if k.holder != "" && w.now >= k.expires {
		*k = jointKey{}
	}
	return k
}

func (w *jointWorld) acquire(parts []actor.Asked, holder string, lease time.Duration) actor.Reply {
	for i, part := range parts {
		if k := w.key(part.Key); k.holder != "" && k.holder != holder {
			return actor.Reply{Status: actor.Taken, Part: i, TTL: k.expires - w.now, Holder: k.holder}
		}
	}
	for _, part := range parts {
		k := w.key(part.Key)
		k.holder, k.expires = holder, max(k.expires, w.now+lease)
	}
	return actor.Reply{Status: actor.Done, Listeners: -1}
}

func (w *jointWorld) release(name, holder string) bool {
	k := w.key(name)
	if k.holder != holder {
		return false
	}
	*k = jointKey{}
	channel := scripts.Prefixed(scripts.Channel, name)
	for _, e := range w.engines {
		if w.chance(0.9) {
			w.after(w.upTo(2*time.Millisecond), func() { e.post(&mail{kind: hears, channel: channel}) })
		}
	}
	return true
}
