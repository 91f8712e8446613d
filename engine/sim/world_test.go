package sim

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// simWorld is one simulated run: engines with their callers, a server, the connections between them, and the books
// with the expected state. The seed decides everything, so it identifies a history. Time advances with events.
// There is one goroutine, and no clock is read.
//
//	callers ──requests──▶ engine ──batches──▶ line ──calls──▶ server ◀── outsiders
//	        ◀──verdicts──        ◀──replies──      ◀───────          ──messages──▶ pubsub ▶ engine
//
// The draws of an event follow from its own key, and its key from the event that led to it. If one event is left
// out, only its consequences change. That makes it possible to shorten a failing history.
type simWorld struct {
	memory      *simMemory
	seed        uint64
	random      simRandom
	key         uint64      // of the current event
	childEvents uint64      // how many events it has led to
	choices     *simChoices // nil: everything that is drawn happens
	plan        simPlan
	bug         simBug
	trace       *simTrace

	now    time.Duration // true time, which is also the server's
	events *simEvents
	ran    int // events
	steps  int // of them, those that delivered something to an engine or to the server

	server          *simServer
	engines         []*simEngine // those that run now; one that crashed or closed is replaced
	externalClients []*simExternalClient
	quorumUsers     []*simQuorumUser
	quorums         int      // so far
	lives           []string // the UUIDs of all engines there ever were
	names           []simName
	plain           []int          // of them, plain locks
	index           map[string]int // of a key's name, if there are many
	touched         []int          // names that something happened to since the last check
	checkNamesAt    time.Duration  // when everything is looked at next, at the earliest
	model           simModel

	draining      bool          // no new requests
	faultsOver    bool          // and no faults
	drainingSince time.Duration // since when
	disturbed     time.Duration // until when the effect of the latest fault lasts
	failure       string
	violated      string // the check that failed: the failure's text without its particulars
}

// simStart is when simulated time begins: not at zero, which would hide a forgotten moment.
const simStart = time.Hour

// simRun identifies a history.
type simRun struct {
	seed    uint64
	steps   int
	engines int           // 0: as many as the seed says
	salt    uint64        // another history of the same plan
	until   time.Duration // true time at which its faults stop; 0: after steps
	bug     simBug
	choices *simChoices
	trace   *simTrace
	memory  *simMemory // of an earlier run, to be reused; nil: there is none
}

func newSimWorld(run simRun) *simWorld {
	memory := run.memory
	if memory == nil {
		memory = newSimMemory()
	}
	memory.reset()
	w := &simWorld{
		memory:  memory,
		events:  &memory.events,
		seed:    run.seed,
		choices: run.choices,
		bug:     run.bug,
		trace:   run.trace,
		now:     simStart,
	}
	w.begin(simMixed(run.seed, 0))
	w.plan = newSimPlan(w, run)
	if run.salt != 0 {
		w.begin(simMixed(w.key, run.salt))
	}
	w.model = newSimModel(memory)
	if len(w.plan.names) > len(simNames) {
		w.index = make(map[string]int, len(w.plan.names))
	}
	kinds := simRandom{simMixed(run.seed, 1)}
	w.plan.kinds = simKinds[kinds.IntN(len(simKinds))]
	if w.plan.only != nil {
		w.plan.kinds = w.plan.only
	}
	for i, name := range w.plan.names {
		if w.index != nil {
			w.index[name] = i
		}
		kind := w.plan.kinds[kinds.IntN(len(w.plan.kinds))]
		w.names = append(w.names, simName{key: name, channel: simChannel(name, kind), kind: kind})
		if kind == actor.Plain {
			w.plain = append(w.plain, i)
		}
	}
	w.server = newSimServer(w)
	for slot := range w.plan.engines {
		w.engines = append(w.engines, nil)
		w.startEngine(slot)
	}
	for number := range w.plan.externalClients {
		w.externalClients = append(w.externalClients, newSimExternalClient(w, number))
	}
	for number := range w.plan.quorumUsers {
		w.quorumUsers = append(w.quorumUsers, newSimQuorumUser(w, number))
	}
	return w
}

// run runs the whole history: first with faults, then without. It ends at the first violation.
func (w *simWorld) run() {
	defer func() {
		if r := recover(); r != nil {
			w.fail("panic: %v\n%s", r, debug.Stack())
		}
	}()
	w.tracef("plan: %v", &w.plan)
	w.scheduleFault()
	for !w.over() && w.failure == "" {
		w.step()
	}
	if w.failure == "" {
		w.windDown()
	}
}

// over reports whether the part with faults is over. If almost nothing is left of a history, it may never reach its
// number of steps.
func (w *simWorld) over() bool {
	if w.plan.until != 0 {
		return w.events.next() > w.plan.until
	}
	return w.steps >= w.plan.steps || w.ran >= 100*w.plan.steps
}

// step runs one event with its immediate consequences, and the checks.
func (w *simWorld) step() {
	at, e := w.events.pop()
	w.now = at
	w.begin(e.key)
	w.ran++
	e.do()
	w.check()
}

// runUntil continues until so reports true, or until a moment, and reports which.
func (w *simWorld) runUntil(limit time.Duration, so func() bool) bool {
	for w.failure == "" && !so() {
		if w.events.empty() || w.events.next() > limit {
			w.now = max(w.now, limit)
			return so()
		}
		w.step()
		if w.ran > 1_000_000+200*w.plan.steps {
			w.fail("it never ends: %d events", w.ran)
		}
	}
	return w.failure == ""
}

func (w *simWorld) runFor(d time.Duration) {
	w.runUntil(w.now+d, func() bool { return false })
}

// at runs do at a moment, or now if that is over.
func (w *simWorld) at(moment time.Duration, do func()) {
	w.childEvents++
	w.events.push(max(moment, w.now), simMixed(w.key, w.childEvents), do)
}

func (w *simWorld) after(d time.Duration, do func()) { w.at(w.now+d, do) }

// fail records a violation. The first one counts.
func (w *simWorld) fail(format string, args ...any) {
	if w.failure == "" {
		w.failure, w.violated = fmt.Sprintf(format, args...), format
		w.tracef("VIOLATION: %s", w.failure)
	}
}

func (w *simWorld) tracef(format string, args ...any) {
	if w.trace != nil {
		w.trace.add(w.now, "", format, args...)
	}
}

// disturb notes that for d, nothing can be expected of any engine.
func (w *simWorld) disturb(d time.Duration) { w.disturbed = max(w.disturbed, w.now+d) }

// latency returns how long a message travels one way.
func (w *simWorld) latency() time.Duration {
	usual := w.plan.latency
	switch n := w.random.IntN(100); {
	case n < 90 || w.faultsOver:
		return w.between(usual/2, usual)
	case n < 99 || !w.plan.slow || !w.may("", "slow"):
		return w.between(usual, 2*usual)
	}
	w.cover(coverSlowDelivery)
	late := w.between(4*usual, 20*usual)
	w.disturb(late)
	return late
}

// simHolder is a holder's id on the wire and what it holds, in a form that is cheap to compare. A reader may have
// the number of a writer, and locks that were requested together share one number.
type simHolder struct {
	life   int32 // of an engine: an index into simWorld.lives; negative: an outsider
	place  int32 // twice the name's index, plus one for a reader
	tenure uint64
}

func holderOf(life, name int, reads bool, tenure uint64) simHolder {
	h := simHolder{int32(life), int32(2 * name), tenure}
	if reads {
		h.place++
	}
	return h
}

func (h simHolder) name() int { return int(h.place / 2) }

func (h simHolder) reads() bool { return h.place%2 != 0 }

func (w *simWorld) holderName(h simHolder) string {
	t := w.model.tenure(h)
	if t.id == "" {
		number := ":" + strconv.FormatUint(h.tenure, 10)
		if h.life < 0 {
			t.id = "redisson-" + strconv.Itoa(-int(h.life)) + number
		} else {
			t.id = w.lives[h.life] + number
		}
	}
	return t.id
}

// simChannel returns where releases of a lock are published.
func simChannel(name string, kind actor.LockKind) string {
	if kind == actor.Write {
		return scripts.RedissonKey(scripts.RWChannel, name)
	}
	return scripts.RedissonKey(scripts.Channel, name)
}

// nameOf returns the index of a key's name.
func (w *simWorld) nameOf(key string) int {
	if i, ok := w.index[key]; ok {
		return i
	}
	if i := slices.Index(w.plan.names, key); i >= 0 {
		return i
	}
	panic("a command for a key without a name: " + key)
}
