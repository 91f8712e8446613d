package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simPlan is what one seed is about. Seeds differ in what they do at all, not only in what they draw: a
// history with three kinds of fault finds what one with all of them drowns.
type simPlan struct {
	steps     int
	until     time.Duration // if not 0, in place of steps
	engines   int
	callers   int // of each engine
	couriers  int // of each engine
	outsiders int // other clients, which play by Redisson's rules
	names     []string
	kinds     []actor.LockKind // of which each name is one
	latency   time.Duration    // usual, one way
	slow      bool             // now and then it takes much longer
	think     time.Duration    // longest between two wishes of a caller
	lease     time.Duration    // about what the engines' watched locks have
	longest   time.Duration    // of all leases
	skew      int64            // most that a clock may be off, in parts per million

	faults     []simFault
	faultEvery time.Duration
	snaps      float64 // chance of a connection to break at a call, before it runs or after
	naps       float64 // chance of an engine to be paused or suspended while a call of it runs
	earSnaps   float64 // chance of the pub/sub connection to break at an order or message
	deafness   float64 // chance of a message to be lost without a trace
	echoes     float64 // chance of a message to come twice
	lies       float64 // chance of an answer to be shorter than it should
	losing     bool    // the server or an outsider may take locks away
	forcing    bool    // callers may
	once       float64 // chance of a lock request not to wait
	fixed      float64 // chance of a lock request to have a lease of its own
	together   float64 // chance of a lock request to be for several
	polling    float64 // chance of an engine to poll
}

// simSkew is the most that clocks may differ: a lease is believed for one per cent less than it lasts.
const simSkew = 9000

// simNames are keys. The first two share a channel, as Redisson names them.
var simNames = []string{"a", "{a}", "b", "{c}d"}

// simManyNames are many more keys than a call takes.
var simManyNames = func() (names []string) {
	for i := range 4 * batchKeys {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}()

// simKinds are the kinds of lock that a seed may be about. What can be written can be read.
var simKinds = [][]actor.LockKind{{actor.Plain}, {actor.Plain}, {actor.Plain, actor.Fenced}, {actor.Fenced},
	{actor.Fair}, {actor.Write}, {actor.Write}, {actor.Plain, actor.Fenced, actor.Fair, actor.Write}}

func newSimPlan(w *simWorld, run simRun) simPlan {
	p := simPlan{
		steps:     run.steps,
		until:     run.until,
		engines:   simPick(w, []int{3, 3, 3, 4, 5}),
		callers:   1 + w.random.IntN(4),
		couriers:  simPick(w, []int{1, 2, couriers}),
		outsiders: max(0, w.random.IntN(4)-1),
		names:     simNames[:simPick(w, []int{1, 1, 2, 3, len(simNames)})],
		think:     w.spread(time.Millisecond, 2*time.Second),
		lease:     simPick(w, []time.Duration{100, 200, 500, 1000, 3000, 10000, 30000}) * time.Millisecond,
		skew:      simPick(w, []int64{0, 500, simSkew}),
		once:      simPick(w, []float64{0, 0.2, 0.6}),
		fixed:     simPick(w, []float64{0, 0.3, 0.8}),
		together:  simPick(w, []float64{0, 0.1, 0.5}),
		polling:   simPick(w, []float64{0, 0, 0, 0.5}),
		forcing:   w.chance(0.3),
		losing:    w.chance(0.4),
	}
	if run.engines != 0 {
		p.engines = run.engines
	}
	if w.chance(0.1) {
		p.names = simManyNames[:12]
	}
	p.latency = w.spread(20*time.Microsecond, min(10*time.Millisecond, p.lease/25)) // a round trip is shorter than a timeout
	p.slow = w.chance(0.5)
	if w.chance(0.01) { // enough for calls that are full
		p.names, p.callers, p.couriers, p.think = simManyNames, 100, 1, p.latency
	}
	p.longest = 2 * p.lease
	p.choose(w)
	return p
}

// choose picks the faults of this seed; one in eight has none.
func (p *simPlan) choose(w *simWorld) {
	p.faultEvery = w.spread(p.lease/20, 2*p.lease)
	if w.chance(0.125) {
		p.losing = false
		return
	}
	likely := simPick(w, []float64{0.1, 0.3, 0.6})
	for _, f := range simFaults {
		if w.chance(likely) && (p.losing || !f.loses) {
			p.faults = append(p.faults, f)
		}
	}
	if w.chance(0.4) {
		p.snaps = simPick(w, []float64{0.01, 0.05, 0.2})
	}
	if w.chance(0.2) {
		p.naps = 0.02
	}
	if w.chance(0.3) {
		p.earSnaps = simPick(w, []float64{0.02, 0.2})
	}
	if w.chance(0.3) {
		p.deafness = simPick(w, []float64{0.02, 0.3})
	}
	if w.chance(0.3) {
		p.echoes = simPick(w, []float64{0.02, 0.3})
	}
	if w.chance(0.2) {
		p.lies = 0.02
	}
}

// config is what an engine's options come to, within what options allow.
func (p *simPlan) config(w *simWorld, id string) actor.Config {
	lease := max(100*time.Millisecond, w.between(p.lease/2, p.lease))
	if w.chance(0.5) {
		lease = p.lease
	}
	c := actor.Config{
		ID:         id,
		Lease:      lease,
		Renew:      simPick(w, []time.Duration{lease / 3, lease / 2, lease / 10}),
		Timeout:    simPick(w, []time.Duration{min(3*time.Second, lease/6), lease / 3}),
		HandoffMax: simPick(w, []int{64, 64, 3, 1, -1}),
		HandoffFor: simPick(w, []time.Duration{5 * time.Millisecond, time.Millisecond, 500 * time.Millisecond}),
		FairWait:   simFairWait,
		Seed:       w.random.Uint64(),
	}
	if w.chance(0.5) {
		c.Spread = c.Renew / 2
	}
	c.Poll = w.chance(p.polling)
	if w.chance(0.15) {
		c.MaxHold = max(w.spread(lease/10, 5*lease), p.usableLease())
	}
	return c
}

// fixedLease is what a caller may ask for: also what is over before the answer comes.
func (p *simPlan) fixedLease(w *simWorld) time.Duration { return w.spread(time.Millisecond, p.longest) }

// usableLease is at least so long that, when nothing is wrong, the answer comes before half of it is over.
func (p *simPlan) usableLease() time.Duration { return 2*time.Millisecond + 8*p.latency }

func (p *simPlan) String() string {
	faults := make([]string, len(p.faults))
	for i, f := range p.faults {
		faults[i] = f.name
	}
	return fmt.Sprintf("%d engines of %d callers and %d couriers, %d outsiders, names %q (%v), lease %v, latency %v (slow: %v), think %v, skew %d ppm, "+
		"force %v, loses data %v, breaks %v and %v, naps %v, lost messages %v, doubled ones %v, short answers %v, every %v one of: %s",
		p.engines, p.callers, p.couriers, p.outsiders, p.names, p.kinds, p.lease, p.latency, p.slow, p.think, p.skew,
		p.forcing, p.losing, p.snaps, p.earSnaps, p.naps, p.deafness, p.echoes, p.lies, p.faultEvery, strings.Join(faults, ", "))
}
