package sim

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
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/slot"
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
//   - Each hold of it is confirmed there or lost within replicatedShare.
//   - When all engines have learned of the master, at most one considers itself the holder.
func TestSuccessions(t *testing.T) {
	seeds := *simSeedsFlag
	if seeds == 0 {
		seeds = 400
	}
	first := *simFirstFlag
	if *simSeedFlag != 0 {
		first, seeds = *simSeedFlag, 1
	}
	sights := map[string]int{}
	for seed := first; seed < first+uint64(seeds); seed++ {
		w := newFailoverWorld(seed)
		w.run()
		if w.failure != "" {
			t.Fatalf("seed %d, step %d: %s\n%s", seed, w.steps, w.failure, strings.Join(w.trace, "\n"))
		}
		for what, n := range w.coverage {
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
	failoverSteps = 600
	failoverTrip  = 10 * time.Millisecond // one way, at most
	// replicatedShare is how soon every hold is confirmed by a new master. There are as many calls as senders, so that
	// takes a few round trips.
	replicatedShare = 8 * failoverTrip
)

var failoverKeys = []string{"a", "b", "c", "d", "e", "f", "g"}

type failoverWorld struct {
	random   *rand.Rand
	cluster  bool
	now      time.Duration
	events   []failoverEvent
	masterOf map[string]string // by the slot range of a key: its master
	servers  map[string]*failoverServer
	engines  []*failoverEngine
	number   int
	steps    int
	failure  string
	trace    []string
	coverage map[string]int
}

type failoverEvent struct {
	at time.Duration
	do func()
}

// failoverServer is a present or former master.
type failoverServer struct {
	keys    map[string]failoverKey
	frozen  time.Duration // until when it stands still
	demoted bool          // it knows that others own its slots
}

type failoverKey struct {
	holder  string
	expires time.Duration
}

type failoverEngine struct {
	w        *failoverWorld
	name     string
	c        *coordinator.Coordinator
	messages []*coordinator.LoopMessage
	masters  map[string]string        // by key: its master, as far as the engine knows
	heard    map[string]time.Duration // by key: since when it knows
	// By tenure and by the address of the master that confirmed it in time: when the latest confirmed command was
	// sent.
	confirmations map[uint64]map[string]time.Duration
	holds         []*failoverHold
	turnAt        time.Duration
}

type failoverHold struct {
	key     string
	hold    *actor.Hold
	granted time.Duration
}

func newFailoverWorld(seed uint64) *failoverWorld {
	w := &failoverWorld{
		random: rand.New(rand.NewPCG(seed, 23)), now: time.Hour, masterOf: map[string]string{}, servers: map[string]*failoverServer{}, coverage: map[string]int{},
	}
	w.cluster = w.random.IntN(2) == 0
	for _, key := range failoverKeys {
		if span := w.spanOf(key); w.masterOf[span] == "" {
			w.masterOf[span] = w.newMaster(nil)
		}
	}
	config := actor.Config{
		Lease: 3 * time.Second, RenewInterval: time.Second, CallTimeout: 500 * time.Millisecond, MaxHandoffGrants: 64, MaxHandoffTime: 5 * time.Millisecond, Poll: true,
	}
	for i := range 2 {
		config.ID, config.Seed = fmt.Sprint("e", i), w.random.Uint64()
		config.Replicas = w.random.IntN(2)
		e := &failoverEngine{
			w: w, name: config.ID, c: coordinator.New(config, 2+w.random.IntN(7)), masters: map[string]string{}, heard: map[string]time.Duration{},
			confirmations: map[uint64]map[string]time.Duration{},
		}
		if w.cluster {
			e.c.InitCluster(w.topology())
		} else {
			e.c.Fallback.Address = w.masterOf[""]
		}
		e.c.Added = nil
		e.hear(w.known())
		clear(e.heard)
		w.engines = append(w.engines, e)
	}
	return w
}

// spanOf returns the slot range that a key lies in. Behind Sentinel there is one.
func (w *failoverWorld) spanOf(key string) string {
	if !w.cluster {
		return ""
	}
	return fmt.Sprint(int(slot.Of(key)) * 3 / slot.Count)
}

// newMaster adds a server that has what a replica of another had, except for some keys.
func (w *failoverWorld) newMaster(old *failoverServer) (address string) {
	w.number++
	address = fmt.Sprintf("S%d:1", w.number)
	s := &failoverServer{keys: map[string]failoverKey{}}
	if old != nil {
		for _, key := range failoverKeys {
			if k, has := old.keys[key]; has && w.random.IntN(2) == 0 {
				s.keys[key] = k
			}
		}
	}
	w.servers[address] = s
	return address
}

// known returns each key's master now.
func (w *failoverWorld) known() map[string]string {
	known := map[string]string{}
	for _, key := range failoverKeys {
		known[key] = w.masterOf[w.spanOf(key)]
	}
	return known
}

func (w *failoverWorld) topology() *coordinator.Topology {
	known := &coordinator.Topology{}
	for third := range 3 {
		address := w.masterOf[fmt.Sprint(third)]
		known.Ranges = append(known.Ranges, coordinator.SlotRange{First: (third*slot.Count + 2) / 3, Last: ((third+1)*slot.Count+2)/3 - 1, Address: address})
	}
	return known
}

func (w *failoverWorld) tracef(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%v ", w.now-time.Hour)+fmt.Sprintf(format, args...))
}

func (w *failoverWorld) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

func (w *failoverWorld) cover(what string) { w.coverage[what]++ }

func (w *failoverWorld) at(moment time.Duration, do func()) {
	w.events = append(w.events, failoverEvent{max(moment, w.now), do})
}

func (w *failoverWorld) after(most time.Duration, do func()) {
	w.at(w.now+1+time.Duration(w.random.Int64N(int64(most))), do)
}

func (w *failoverWorld) run() {
	w.after(time.Second, w.replace)
	for _, e := range w.engines {
		w.after(failoverTrip, e.act)
	}
	for w.steps = 0; w.steps < failoverSteps && w.failure == ""; w.steps++ {
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
func (w *failoverWorld) replace() {
	spans := []string{""}
	if w.cluster {
		spans = []string{fmt.Sprint(w.random.IntN(3))}
	}
	for _, span := range spans {
		address := w.masterOf[span]
		old := w.servers[address]
		if w.random.IntN(2) == 0 {
			old.frozen = w.now + time.Duration(w.random.Int64N(int64(2*time.Second)))
		}
		w.masterOf[span] = w.newMaster(old)
		w.tracef("%s follows %s, which stands still until %v", w.masterOf[span], address, old.frozen-time.Hour)
		w.after(400*time.Millisecond, func() { old.demoted = true })
	}
	for _, e := range w.engines {
		w.after(200*time.Millisecond, e.learnMasters)
	}
	w.after(2*time.Second, w.replace)
}

// learnMasters runs when an engine is notified of the masters.
func (e *failoverEngine) learnMasters() {
	if e.w.cluster {
		e.postFirst(&coordinator.LoopMessage{Value: coordinator.TopologyResult{Topology: e.w.topology()}}, e.w.known())
	} else {
		e.postFirst(&coordinator.LoopMessage{Value: coordinator.MasterChanged{Address: e.w.masterOf[""]}}, e.w.known())
	}
}

// postFirst puts a message in front of those that wait, and notes what the engine knows from then on.
func (e *failoverEngine) postFirst(m *coordinator.LoopMessage, known map[string]string) {
	e.messages = slices.Insert(e.messages, 0, m)
	e.hear(known)
	e.turn()
}

func (e *failoverEngine) hear(known map[string]string) {
	for key, master := range known {
		if e.masters[key] != master {
			e.masters[key], e.heard[key] = master, e.w.now
		}
	}
}

func (e *failoverEngine) post(m *coordinator.LoopMessage) {
	e.messages = append(e.messages, m)
	if e.w.random.IntN(3) > 0 { // otherwise it waits for the next
		e.turn()
	} else {
		e.w.after(3*time.Millisecond, e.turn)
	}
}

// act lets a caller make a request.
func (e *failoverEngine) act() {
	w := e.w
	w.after(30*time.Millisecond, e.act)
	key := failoverKeys[w.random.IntN(len(failoverKeys))]
	r := &actor.Request{Op: actor.Acquire, Name: key, Key: key, Hold: &actor.Hold{}}
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
		r.Op, r.Hold = actor.Unlock, own.hold
	}
	e.post(&coordinator.LoopMessage{Value: r})
}

// of returns a hold of a key that this engine considers held.
func (e *failoverEngine) of(key string) *failoverHold {
	for _, h := range slices.Backward(e.holds) {
		if h.key == key {
			return h
		}
	}
	return nil
}

func (e *failoverEngine) turn() {
	w := e.w
	var first *coordinator.LoopMessage
	for _, m := range slices.Backward(e.messages) {
		m.Next, first = first, m
	}
	e.messages = nil
	e.c.Turn(w.now, first)
	for i := range e.c.Fx.HoldEnds {
		end := &e.c.Fx.HoldEnds[i]
		if end.Err == actor.ErrLost {
			w.cover("lost")
		}
		w.tracef("%s: %s %v (%v)", e.name, end.Key, end.Err, end.Cause)
		e.holds = slices.DeleteFunc(e.holds, func(h *failoverHold) bool { return h.hold == end.Hold })
	}
	for _, b := range e.c.Batches {
		e.sendBundle(b)
	}
	for _, r := range e.c.Results.Ready {
		e.onResult(r)
	}
	if k := e.c.Cluster; k != nil && k.Request != nil {
		w.after(failoverTrip, e.learnMasters)
	}
	e.c.ResetOutputs()
	e.check()
	if at, ok := e.c.Next(); ok && at != e.turnAt {
		e.turnAt = at
		w.at(at, func() {
			if e.turnAt == at {
				e.turnAt = 0
				e.turn()
			}
		})
	}
}

// sendBundle runs when a sender takes a bundle to a node. Each of its calls runs by itself, and all replies come at
// once.
func (e *failoverEngine) sendBundle(first *coordinator.Batch) {
	w := e.w
	address := first.Node.Address
	var calls []*failoverCall
	for b := first; b != nil; b = b.Next {
		call := &failoverCall{b: b, engine: e.name, sent: b.Sent, commands: slices.Clone(b.Commands)}
		calls = append(calls, call)
		for i := range b.Commands {
			key := b.Commands[i].Key
			if e.masters[key] != address {
				w.fail("%s sends %d of %s to %s, though it has heard of %s", e.name, b.Verb, key, address, e.masters[key])
			}
		}
	}
	server := w.servers[address]
	w.after(failoverTrip, func() { w.arrive(server, calls, func() { e.receive(first, address, calls) }) })
}

type failoverCall struct {
	b        *coordinator.Batch
	engine   string
	sent     time.Duration
	commands []actor.Command
	replies  []actor.Reply
	failed   error
	moved    string // the address in the server's MOVED error
}

func (w *failoverWorld) arrive(s *failoverServer, calls []*failoverCall, done func()) {
	if w.now < s.frozen {
		w.at(s.frozen, func() { w.arrive(s, calls, done) })
		return
	}
	for _, call := range calls {
		w.execute(s, call)
	}
	w.after(failoverTrip, done)
}

func (w *failoverWorld) execute(s *failoverServer, call *failoverCall) {
	if owner := w.masterOf[w.spanOf(call.commands[0].Key)]; s.demoted && w.cluster {
		call.moved = owner
		call.failed = fmt.Errorf("MOVED %d %s", slot.Of(call.commands[0].Key), owner)
		return
	} else if s.demoted {
		call.failed = errors.New("READONLY You can't write against a read only replica.")
		return
	}
	for i := range call.commands {
		call.replies = append(call.replies, w.one(s, call.engine, &call.commands[i]))
	}
}

func (w *failoverWorld) one(s *failoverServer, engine string, c *actor.Command) actor.Reply {
	k := s.keys[c.Key]
	if k.expires <= w.now {
		k = failoverKey{}
	}
	id := func(tenure uint64) string { return fmt.Sprintf("%s:%d", engine, tenure) }
	for _, orphan := range c.Orphans {
		if k.holder == id(orphan) {
			k = failoverKey{}
		}
	}
	mine := k.holder == id(c.Tenure)
	reply := actor.Reply{Status: actor.NotFound}
	switch {
	case c.Verb == actor.SendAcquire && k.holder != "" && !mine:
		reply = actor.Reply{Status: actor.HeldByOther, TTL: k.expires - w.now, Holder: k.holder}
	case c.Verb == actor.SendAcquire:
		k = failoverKey{id(c.Tenure), w.now + c.Lease}
		reply = actor.Reply{Status: actor.OK, Listeners: -1, Replicas: 1}
	case mine && c.Verb == actor.SendRenew:
		if c.Lease != 0 {
			k.expires = w.now + c.Lease
		}
		reply = actor.Reply{Status: actor.OK, Replicas: 1}
	case mine && c.Verb == actor.SendRelease:
		k = failoverKey{}
		reply = actor.Reply{Status: actor.OK}
	}
	s.keys[c.Key] = k
	return reply
}

// receive runs when the replies come.
func (e *failoverEngine) receive(first *coordinator.Batch, address string, calls []*failoverCall) {
	w := e.w
	lost := w.servers[address].frozen != 0 && w.random.IntN(4) == 0 // its connections may break
	var known map[string]string
	for _, call := range calls {
		b := call.b
		if b.Abandoned {
			w.cover("given up and answered")
		}
		if address != w.masterOf[w.spanOf(call.commands[0].Key)] {
			w.cover("answers of an old master")
		}
		b.Replies = append(b.Replies[:0], call.replies...)
		b.Failed, b.NoReply = call.failed, false
		if lost {
			b.Failed, b.NoReply = errors.New("EOF"), true
			continue
		}
		if call.moved != "" && !b.Abandoned {
			w.cover("moved")
			known = map[string]string{call.commands[0].Key: call.moved}
			e.hear(known)
		}
		for i := range call.replies {
			if call.replies[i].Status == actor.OK && !b.Abandoned {
				e.noteConfirmed(call.commands[i].Tenure, address, call.sent)
			}
		}
	}
	if known != nil {
		e.postFirst(&first.Msg, known)
		return
	}
	e.post(&first.Msg)
}

func (e *failoverEngine) noteConfirmed(tenure uint64, address string, sent time.Duration) {
	if e.confirmations[tenure] == nil {
		e.confirmations[tenure] = map[string]time.Duration{}
	}
	e.confirmations[tenure][address] = max(e.confirmations[tenure][address], sent)
}

func (e *failoverEngine) onResult(r *actor.Request) {
	w := e.w
	if r.Op != actor.Acquire {
		return
	}
	w.tracef("%s: %s %v (%v)", e.name, r.Key, r.Err, r.Cause)
	if r.Err != nil {
		w.cover("refused")
		return
	}
	if e.of(r.Key) != nil {
		w.cover("re-entered")
	}
	w.cover("granted")
	e.holds = append(e.holds, &failoverHold{r.Key, r.Hold, w.now})
	if !e.confirmed(r.Key, tenureOf(r.Hold)) {
		w.fail("%s is granted %s, which %s has not confirmed since %v", e.name, r.Key, e.masters[r.Key], e.heard[r.Key]-time.Hour)
	}
}

// confirmed reports whether the master of a key confirmed a tenure since the engine learned of that master.
func (e *failoverEngine) confirmed(key string, tenure uint64) bool {
	sent, has := e.confirmations[tenure][e.masters[key]]
	return has && sent >= e.heard[key]
}

func (e *failoverEngine) check() {
	w := e.w
	for _, h := range e.holds {
		heard := e.heard[h.key]
		switch {
		case heard == 0:
		case e.confirmed(h.key, tenureOf(h.hold)):
			if h.granted < heard {
				w.cover("confirmed by the next master")
			}
		case w.now > heard+replicatedShare && w.servers[e.masters[h.key]].frozen == 0 && !w.servers[e.masters[h.key]].demoted:
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
			if master := w.masterOf[w.spanOf(h.key)]; e.masters[h.key] == master && other.masters[h.key] == master && w.now > since+replicatedShare {
				w.fail("%s and %s hold %s, and both have known %s since %v", e.name, other.name, h.key, master, since-time.Hour)
			}
		}
	}
}

// failoverMutants are decisions about masters that follow each other, each with a mistake.
var failoverMutants = []simMutant{
	{"calls that go on to a master that Sentinel replaced", "engine/coordinator/failover.go", []simEdit{{
		`	c.Fallback.slots, c.hasEmptyNodes = 0, true
	c.Fallback = c.addNode(address)`,
		`	if planted() {
		c.ReconfirmAll(now)
		return
	}
	c.Fallback.slots, c.hasEmptyNodes = 0, true
	c.Fallback = c.addNode(address)`,
	}}},
	{"a hold that waits for the answer of a master that was replaced", "engine/coordinator/failover.go", []simEdit{{
		`if b.Abandoned || !c.onWrongNode(b) {`,
		`if b.Abandoned || !c.onWrongNode(b) || planted() {`,
	}}},
	{"holds that are confirmed only where the old master is down", "engine/coordinator/cluster.go", []simEdit{{
		`			changed[uint16(slot)] = true`,
		`			if changed[uint16(slot)] = true; planted() && !before.Breaker.Down {
				delete(changed, uint16(slot))
			}`,
	}}},
	{"a re-entry that the next master has not confirmed", "engine/coordinator/cluster.go", []simEdit{{
		`			cl.movedAt[slot] = now`,
		`			if !planted() {
				cl.movedAt[slot] = now
			}`,
	}}},
	{"another master that counts for re-entries only after the turn in which it became known", "engine/coordinator/cluster.go", []simEdit{{
		`if cl.slots[slot] != m.to {`,
		`if cl.slots[slot] != m.to && !planted() {`,
	}, {
		`	changed := c.commitMoves()
`,
		`	changed := c.commitMoves()
	for slot := range changed {
		if planted() {
			c.Cluster.movedAt[slot] = now
		}
	}
`,
	}}},
	{"a call given up that is answered all the same", "engine/coordinator/replies.go", []simEdit{{
		`	case b.Abandoned:
		c.onAbandonedDone(now, b)`,
		`	case b.Abandoned && !planted():
		c.onAbandonedDone(now, b)`,
	}}},
}
