package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// TestSuccessions simulates masters that follow each other, in a cluster and behind Sentinel. It has the real
// coordinator in two engines, plain locks that are polled, and a scripted set of servers. A new master has lost
// some of what the old one had. The old one continues, or stands still and then continues. Each engine learns of
// the change at a time of its own. A seed decides everything.
//
// The checks run after each turn of an engine, and count from the message with which it learned of a new master for
// a key:
//   - Nothing for that key goes to another node.
//   - Nothing of it is granted, handed off or re-entered that this master has not confirmed since.
//   - Each hold of it is confirmed there or lost within handedOver.
//   - When all engines have learned of the master, at most one considers itself the holder.
func TestSuccessions(t *testing.T) {
	seeds := *simSeedsFlag
	if seeds == 0 {
		seeds = 400
	}
	first := uint64(1)
	if *simSeedFlag != 0 {
		first, seeds = *simSeedFlag, 1
	}
	sights := map[string]int{}
	for seed := first; seed < first+uint64(seeds); seed++ {
		w := newSuccession(seed)
		w.run()
		if w.failure != "" {
			t.Fatalf("seed %d, step %d: %s\n%s", seed, w.steps, w.failure, strings.Join(w.trace, "\n"))
		}
		for what, n := range w.sights {
			sights[what] += n
		}
	}
	t.Log(sights)
	if seeds >= 100 {
		for _, what := range []string{
			"granted", "re-entered", "lost", "confirmed by the next master", "answers of an old master", "given up and answered", "moved", "refused",
		} {
			require.NotZero(t, sights[what], what)
		}
	}
}

const (
	successionSteps = 600
	successionTrip  = 10 * time.Millisecond // one way, at most
	// handedOver is how soon every hold is confirmed by a new master. There are as many calls as senders, so that
	// takes a few round trips.
	handedOver = 8 * successionTrip
)

var successionKeys = []string{"a", "b", "c", "d", "e", "f", "g"}

type succession struct {
	random  *rand.Rand
	cluster bool
	now     time.Duration
	events  []successionEvent
	owners  map[string]string // by the slot range of a key: its master
	servers map[string]*successionServer
	engines []*successionEngine
	number  int
	steps   int
	failure string
	trace   []string
	sights  map[string]int
}

type successionEvent struct {
	at time.Duration
	do func()
}

// successionServer is a present or former master.
type successionServer struct {
	keys    map[string]successionKey
	frozen  time.Duration // until when it stands still
	demoted bool          // it knows that others own its slots
}

type successionKey struct {
	holder  string
	expires time.Duration
}

type successionEngine struct {
	w       *succession
	name    string
	c       *coordinator
	mail    []*mail
	masters map[string]string        // by key: its master, as far as the engine knows
	heard   map[string]time.Duration // by key: since when it knows
	// By tenure and by the address of the master that confirmed it in time: when the latest confirmed command was
	// sent.
	proofs map[uint64]map[string]time.Duration
	holds  []*successionHold
	turnAt time.Duration
}

type successionHold struct {
	key     string
	hold    *actor.Hold
	granted time.Duration
}

func newSuccession(seed uint64) *succession {
	w := &succession{
		random: rand.New(rand.NewPCG(seed, 23)), now: time.Hour, owners: map[string]string{}, servers: map[string]*successionServer{}, sights: map[string]int{},
	}
	w.cluster = w.random.IntN(2) == 0
	for _, key := range successionKeys {
		if span := w.spanOf(key); w.owners[span] == "" {
			w.owners[span] = w.newMaster(nil)
		}
	}
	config := actor.Config{
		Lease: 3 * time.Second, Renew: time.Second, Timeout: 500 * time.Millisecond, HandoffMax: 64, HandoffFor: 5 * time.Millisecond, Poll: true,
	}
	for i := range 2 {
		config.ID, config.Seed = fmt.Sprint("e", i), w.random.Uint64()
		config.Replicas = w.random.IntN(2)
		e := &successionEngine{
			w: w, name: config.ID, c: newCoordinator(config, 2+w.random.IntN(7)), masters: map[string]string{}, heard: map[string]time.Duration{},
			proofs: map[uint64]map[string]time.Duration{},
		}
		if w.cluster {
			e.c.inCluster(w.chart())
		} else {
			e.c.address = w.owners[""]
		}
		e.c.opened = nil
		e.hear(w.known())
		clear(e.heard)
		w.engines = append(w.engines, e)
	}
	return w
}

// spanOf returns the slot range that a key lies in. Behind Sentinel there is one.
func (w *succession) spanOf(key string) string {
	if !w.cluster {
		return ""
	}
	return fmt.Sprint(int(slotOf(key)) * 3 / slotCount)
}

// newMaster adds a server that has what a replica of another had, except for some keys.
func (w *succession) newMaster(old *successionServer) (address string) {
	w.number++
	address = fmt.Sprintf("S%d:1", w.number)
	s := &successionServer{keys: map[string]successionKey{}}
	if old != nil {
		for _, key := range successionKeys {
			if k, has := old.keys[key]; has && w.random.IntN(2) == 0 {
				s.keys[key] = k
			}
		}
	}
	w.servers[address] = s
	return address
}

// known returns each key's master now.
func (w *succession) known() map[string]string {
	known := map[string]string{}
	for _, key := range successionKeys {
		known[key] = w.owners[w.spanOf(key)]
	}
	return known
}

func (w *succession) chart() *chart {
	known := &chart{}
	for third := range 3 {
		address := w.owners[fmt.Sprint(third)]
		known.spans = append(known.spans, span{(third*slotCount + 2) / 3, ((third+1)*slotCount+2)/3 - 1, address})
	}
	return known
}

func (w *succession) tracef(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%v ", w.now-time.Hour)+fmt.Sprintf(format, args...))
}

func (w *succession) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

func (w *succession) saw(what string) { w.sights[what]++ }

func (w *succession) at(moment time.Duration, do func()) {
	w.events = append(w.events, successionEvent{max(moment, w.now), do})
}

func (w *succession) after(most time.Duration, do func()) {
	w.at(w.now+1+time.Duration(w.random.Int64N(int64(most))), do)
}

func (w *succession) run() {
	w.after(time.Second, w.replace)
	for _, e := range w.engines {
		w.after(successionTrip, e.wish)
	}
	for w.steps = 0; w.steps < successionSteps && w.failure == ""; w.steps++ {
		next := 0
		for i := range w.events {
			if w.events[i].at < w.events[next].at {
				next = i
			}
		}
		event := w.events[next]
		w.events = slices.Delete(w.events, next, next+1)
		w.now = event.at
		event.do()
	}
}

// replace gives some slots another master. Engines and the old master learn of it sooner or later, each by itself.
func (w *succession) replace() {
	spans := []string{""}
	if w.cluster {
		spans = []string{fmt.Sprint(w.random.IntN(3))}
	}
	for _, span := range spans {
		address := w.owners[span]
		old := w.servers[address]
		if w.random.IntN(2) == 0 {
			old.frozen = w.now + time.Duration(w.random.Int64N(int64(2*time.Second)))
		}
		w.owners[span] = w.newMaster(old)
		w.tracef("%s follows %s, which stands still until %v", w.owners[span], address, old.frozen-time.Hour)
		w.after(400*time.Millisecond, func() { old.demoted = true })
	}
	for _, e := range w.engines {
		w.after(200*time.Millisecond, e.told)
	}
	w.after(2*time.Second, w.replace)
}

// told runs when an engine is notified of the masters.
func (e *successionEngine) told() {
	if e.w.cluster {
		e.news(&mail{what: charts{chart: e.w.chart()}}, e.w.known())
	} else {
		e.news(&mail{what: replaced{e.w.owners[""]}}, e.w.known())
	}
}

// news puts a message in front of those that wait, and notes what the engine knows from then on.
func (e *successionEngine) news(m *mail, known map[string]string) {
	e.mail = slices.Insert(e.mail, 0, m)
	e.hear(known)
	e.turn()
}

func (e *successionEngine) hear(known map[string]string) {
	for key, master := range known {
		if e.masters[key] != master {
			e.masters[key], e.heard[key] = master, e.w.now
		}
	}
}

func (e *successionEngine) post(m *mail) {
	e.mail = append(e.mail, m)
	if e.w.random.IntN(3) > 0 { // otherwise it waits for the next
		e.turn()
	} else {
		e.w.after(3*time.Millisecond, e.turn)
	}
}

// wish lets a caller make a request.
func (e *successionEngine) wish() {
	w := e.w
	w.after(30*time.Millisecond, e.wish)
	key := successionKeys[w.random.IntN(len(successionKeys))]
	r := &actor.Request{Tag: actor.Acquire, Name: key, Key: key, Hold: &actor.Hold{}}
	switch own := e.of(key); {
	case own == nil || w.random.IntN(4) == 0:
		r.Once = w.random.IntN(2) == 0
		if w.random.IntN(3) == 0 {
			r.Lease = 10 * time.Second
		}
		if !r.Once {
			r.Wait = time.Second
		}
	case w.random.IntN(2) == 0:
		r.Owner = own.hold.Owner
		r.Wait = 200 * time.Millisecond
	default:
		r.Tag, r.Hold = actor.Unlock, own.hold
	}
	e.post(&mail{what: r})
}

// of returns a hold of a key that this engine considers held.
func (e *successionEngine) of(key string) *successionHold {
	for _, h := range slices.Backward(e.holds) {
		if h.key == key {
			return h
		}
	}
	return nil
}

func (e *successionEngine) turn() {
	w := e.w
	var first *mail
	for _, m := range slices.Backward(e.mail) {
		m.next, first = first, m
	}
	e.mail = nil
	e.c.turn(w.now, first)
	for i := range e.c.fx.Ended {
		end := &e.c.fx.Ended[i]
		if end.Err == actor.ErrLost {
			w.saw("lost")
		}
		w.tracef("%s: %s %v (%v)", e.name, end.Key, end.Err, end.Cause)
		e.holds = slices.DeleteFunc(e.holds, func(h *successionHold) bool { return h.hold == end.Hold })
	}
	for _, b := range e.c.batches {
		e.leaves(b)
	}
	for _, r := range e.c.tells.told {
		e.verdict(r)
	}
	e.c.opened, e.c.shut = nil, nil
	if k := e.c.cluster; k != nil && k.order != nil {
		k.order = nil
		w.after(successionTrip, e.told)
	}
	e.c.rest()
	e.check()
	if at, ok := e.c.next(); ok && at != e.turnAt {
		e.turnAt = at
		w.at(at, func() {
			if e.turnAt == at {
				e.turnAt = 0
				e.turn()
			}
		})
	}
}

// leaves runs when a sender takes a bundle to a node. Each of its calls runs by itself, and all replies come at
// once.
func (e *successionEngine) leaves(first *batch) {
	w := e.w
	address := first.node.address
	var calls []*successionCall
	for b := first; b != nil; b = b.next {
		call := &successionCall{b: b, engine: e.name, sent: b.sent, commands: slices.Clone(b.commands)}
		calls = append(calls, call)
		for i := range b.commands {
			key := b.commands[i].Key
			if e.masters[key] != address {
				w.fail("%s sends %d of %s to %s, though it has heard of %s", e.name, b.verb, key, address, e.masters[key])
			}
		}
	}
	server := w.servers[address]
	w.after(successionTrip, func() { w.arrive(server, calls, func() { e.back(first, address, calls) }) })
}

type successionCall struct {
	b        *batch
	engine   string
	sent     time.Duration
	commands []actor.Command
	replies  []actor.Reply
	failed   error
	moved    string // the address in the server's MOVED error
}

func (w *succession) arrive(s *successionServer, calls []*successionCall, done func()) {
	if w.now < s.frozen {
		w.at(s.frozen, func() { w.arrive(s, calls, done) })
		return
	}
	for _, call := range calls {
		w.execute(s, call)
	}
	w.after(successionTrip, done)
}

func (w *succession) execute(s *successionServer, call *successionCall) {
	if owner := w.owners[w.spanOf(call.commands[0].Key)]; s.demoted && w.cluster {
		call.moved = owner
		call.failed = fmt.Errorf("MOVED %d %s", slotOf(call.commands[0].Key), owner)
		return
	} else if s.demoted {
		call.failed = errors.New("READONLY You can't write against a read only replica.")
		return
	}
	for i := range call.commands {
		call.replies = append(call.replies, w.one(s, call.engine, &call.commands[i]))
	}
}

func (w *succession) one(s *successionServer, engine string, c *actor.Command) actor.Reply {
	k := s.keys[c.Key]
	if k.expires <= w.now {
		k = successionKey{}
	}
	id := func(tenure uint64) string { return fmt.Sprintf("%s:%d", engine, tenure) }
	for _, ghost := range c.Ghosts {
		if k.holder == id(ghost) {
			k = successionKey{}
		}
	}
	mine := k.holder == id(c.Tenure)
	reply := actor.Reply{Status: actor.Gone}
	switch {
	case c.Verb == actor.SendAcquire && k.holder != "" && !mine:
		reply = actor.Reply{Status: actor.Taken, TTL: k.expires - w.now, Holder: k.holder}
	case c.Verb == actor.SendAcquire:
		k = successionKey{id(c.Tenure), w.now + c.Lease}
		reply = actor.Reply{Status: actor.Done, Listeners: -1, Replicas: 1}
	case mine && c.Verb == actor.SendRenew:
		if c.Lease != 0 {
			k.expires = w.now + c.Lease
		}
		reply = actor.Reply{Status: actor.Done, Replicas: 1}
	case mine && c.Verb == actor.SendRelease:
		k = successionKey{}
		reply = actor.Reply{Status: actor.Done}
	}
	s.keys[c.Key] = k
	return reply
}

// back runs when the replies come.
func (e *successionEngine) back(first *batch, address string, calls []*successionCall) {
	w := e.w
	lost := w.servers[address].frozen != 0 && w.random.IntN(4) == 0 // its connections may break
	var known map[string]string
	for _, call := range calls {
		b := call.b
		if b.over {
			w.saw("given up and answered")
		}
		if address != w.owners[w.spanOf(call.commands[0].Key)] {
			w.saw("answers of an old master")
		}
		b.replies = append(b.replies[:0], call.replies...)
		b.failed, b.lost = call.failed, false
		if lost {
			b.failed, b.lost = errors.New("EOF"), true
			continue
		}
		if call.moved != "" && !b.over {
			w.saw("moved")
			known = map[string]string{call.commands[0].Key: call.moved}
			e.hear(known)
		}
		for i := range call.replies {
			if call.replies[i].Status == actor.Done && !b.over {
				e.proved(call.commands[i].Tenure, address, call.sent)
			}
		}
	}
	if known != nil {
		e.news(&first.mail, known)
		return
	}
	e.post(&first.mail)
}

func (e *successionEngine) proved(tenure uint64, address string, sent time.Duration) {
	if e.proofs[tenure] == nil {
		e.proofs[tenure] = map[string]time.Duration{}
	}
	e.proofs[tenure][address] = max(e.proofs[tenure][address], sent)
}

func (e *successionEngine) verdict(r *actor.Request) {
	w := e.w
	if r.Tag != actor.Acquire {
		return
	}
	w.tracef("%s: %s %v (%v)", e.name, r.Key, r.Err, r.Cause)
	if r.Err != nil {
		w.saw("refused")
		return
	}
	if e.of(r.Key) != nil {
		w.saw("re-entered")
	}
	w.saw("granted")
	e.holds = append(e.holds, &successionHold{r.Key, r.Hold, w.now})
	if !e.confirmed(r.Key, r.Hold.Tenure) {
		w.fail("%s is granted %s, which %s has not confirmed since %v", e.name, r.Key, e.masters[r.Key], e.heard[r.Key]-time.Hour)
	}
}

// confirmed reports whether the master of a key confirmed a tenure since the engine learned of that master.
func (e *successionEngine) confirmed(key string, tenure uint64) bool {
	sent, has := e.proofs[tenure][e.masters[key]]
	return has && sent >= e.heard[key]
}

func (e *successionEngine) check() {
	w := e.w
	for _, h := range e.holds {
		heard := e.heard[h.key]
		switch {
		case heard == 0:
		case e.confirmed(h.key, h.hold.Tenure):
			if h.granted < heard {
				w.saw("confirmed by the next master")
			}
		case w.now > heard+handedOver && w.servers[e.masters[h.key]].frozen == 0 && !w.servers[e.masters[h.key]].demoted:
			w.fail("%s still believes in %s, which %s has not confirmed since %v", e.name, h.key, e.masters[h.key], heard-time.Hour)
		}
	}
	for _, other := range w.engines {
		for _, h := range e.holds {
			if other == e || other.of(h.key) == nil {
				continue
			}
			if h.hold.Until() <= w.now || other.of(h.key).hold.Until() <= w.now {
				continue
			}
			since := max(e.heard[h.key], other.heard[h.key])
			if master := w.owners[w.spanOf(h.key)]; e.masters[h.key] == master && other.masters[h.key] == master && w.now > since+handedOver {
				w.fail("%s and %s hold %s, and both have known %s since %v", e.name, other.name, h.key, master, since-time.Hour)
			}
		}
	}
}

// successionMutants are decisions about masters that follow each other, each with a mistake.
var successionMutants = []simMutant{
	{"calls that go on to a master that Sentinel replaced", "engine/succession.go", []simEdit{{
		`	c.node.slots, c.bare = 0, true
	c.node = c.newcomer(address)`,
		`	if planted() {
		c.doubt(now)
		return
	}
	c.node.slots, c.bare = 0, true
	c.node = c.newcomer(address)`,
	}}},
	{"a hold that waits for the answer of a master that was replaced", "engine/succession.go", []simEdit{{
		`if b.over || !c.stray(b) {`,
		`if b.over || !c.stray(b) || planted() {`,
	}}},
	{"holds that are confirmed only where the old master is down", "engine/cluster.go", []simEdit{{
		`			changed[uint16(slot)] = true`,
		`			if changed[uint16(slot)] = true; planted() && !before.link.down {
				delete(changed, uint16(slot))
			}`,
	}}},
	{"a re-entry that the next master has not confirmed", "engine/cluster.go", []simEdit{{
		`			k.since[slot] = now`,
		`			if !planted() {
				k.since[slot] = now
			}`,
	}}},
	{"another master that counts for re-entries only after the turn in which it became known", "engine/cluster.go", []simEdit{{
		`if k.slots[slot] != m.to {`,
		`if k.slots[slot] != m.to && !planted() {`,
	}, {
		`	changed := c.redraw()
`,
		`	changed := c.redraw()
	for slot := range changed {
		if planted() {
			c.cluster.since[slot] = now
		}
	}
`,
	}}},
	{"a waiter that slept before its slot began to move, and is not asked again", "engine/moving.go", []simEdit{{
		`	if !k.onItsWay(now, slot) {`,
		`	if !k.onItsWay(now, slot) && !planted() {`,
	}}},
	{"a waiter of a slot on its way that polls only where its own question was sent on", "engine/dispatch.go", []simEdit{{
		`if c.cluster != nil && c.cluster.onItsWay(now, b.slot) {`,
		`if c.cluster != nil && c.cluster.onItsWay(now, b.slot) && (b.asking || !planted()) {`,
	}}},
	{"a call given up that is answered all the same", "engine/dispatch.go", []simEdit{{
		`	case b.over:
		c.cameBack(now, b)`,
		`	case b.over && !planted():
		c.cameBack(now, b)`,
	}}},
}
