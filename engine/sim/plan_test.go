package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// simPlan is the subject of one seed. Seeds differ in what they do at all, not only in what they draw. A history
// with three kinds of fault finds mistakes that one with all kinds hides.
type simPlan struct {
	steps           int
	until           time.Duration // if not 0, in place of steps
	engines         int
	callers         int // of each engine
	senders         int // of each engine
	share           int // how many messages a turn opens
	externalClients int // other clients, which follow Redisson's rules
	names           []string
	kinds           []actor.LockKind // each name is one of them
	latency         time.Duration    // usual, one way
	slow            bool             // now and then a message takes much longer
	think           time.Duration    // longest pause between two requests of a caller
	lease           time.Duration    // about the lease of the engines' watched locks
	longest         time.Duration    // longest of all leases
	shortest        time.Duration    // shortest of those that callers ask for
	skew            int64            // largest error of a clock, in parts per million

	faults       []simFault
	faultEvery   time.Duration
	connBreaks   float64          // chance that the connection breaks at a call, before it runs or after
	pauses       float64          // chance that an engine is paused or suspended while a call of it runs
	pubsubBreaks float64          // chance that the pub/sub connection breaks at an order or message
	messageLoss  float64          // chance that a message is lost without a trace
	duplicates   float64          // chance that a message comes twice
	shortReplies float64          // chance that a reply is shorter than it should be
	losing       bool             // the server or an outsider may take locks away
	forcing      bool             // callers may force
	tryOnce      float64          // chance that a lock request does not wait
	fixed        float64          // chance that a lock request has a lease of its own
	together     float64          // chance that a lock request is for several
	polling      float64          // chance that an engine polls
	extending    float64          // chance that a holder changes its lease, before anything else
	sharedOwners float64          // chance that a caller shares its owner with others
	only         []actor.LockKind // of all names; nil: as kinds say
	quorumUsers  int              // users of quorums, each on several engines
	waiting      int              // how many may wait in an engine; 0: no limit
	waitingEach  int              // how many may wait for one name
	silence      time.Duration    // engines ask replicas, which are silent for one in three of these periods; 0: they do not ask
	bulkLocks    int              // how many locks one caller of each engine takes together; 0: none
	spinning     bool             // at the end a busy engine polls beside other clients that poll
}

// simSkew is the largest clock error: the validity of a lease is one per cent shorter than the lease.
const simSkew = 9000

// simNames are keys. The first two share a channel, as Redisson names them.
var simNames = []string{"a", "{a}", "b", "{c}d"}

// simManyNames are many more keys than a call takes.
var simManyNames = func() (names []string) {
	for i := range 4 * coordinator.BatchKeys {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	return names
}()

// simKinds are the kinds of lock that a seed may be about. Every lock that can be written can be read.
var simKinds = [][]actor.LockKind{{actor.Plain}, {actor.Plain}, {actor.Plain, actor.Fenced}, {actor.Fenced},
	{actor.Fair}, {actor.Write}, {actor.Write}, {actor.Plain, actor.Fenced, actor.Fair, actor.Write}}

func newSimPlan(w *simWorld, run simRun) simPlan {
	p := simPlan{
		steps:           run.steps,
		until:           run.until,
		engines:         simPick(w, []int{3, 3, 3, 4, 5}),
		callers:         1 + w.random.IntN(4),
		senders:         simPick(w, []int{1, 2, coordinator.SendersPerNode}),
		externalClients: max(0, w.random.IntN(4)-1),
		names:           simNames[:simPick(w, []int{1, 1, 2, 3, len(simNames)})],
		think:           w.spread(time.Millisecond, 2*time.Second),
		lease:           simPick(w, []time.Duration{100, 200, 500, 1000, 3000, 10000, 30000}) * time.Millisecond,
		skew:            simPick(w, []int64{0, 500, simSkew}),
		tryOnce:         simPick(w, []float64{0, 0.2, 0.6}),
		fixed:           simPick(w, []float64{0, 0.3, 0.8}),
		together:        simPick(w, []float64{0, 0.1, 0.5}),
		polling:         simPick(w, []float64{0, 0, 0, 0.5}),
		shortest:        time.Millisecond,
		sharedOwners:    0.3,
		forcing:         w.chance(0.3),
		losing:          w.chance(0.4),
	}
	if run.engines != 0 {
		p.engines = run.engines
	}
	if w.chance(0.1) {
		p.names = simManyNames[:12]
	}
	p.latency = w.spread(20*time.Microsecond, min(10*time.Millisecond, p.lease/25)) // a round trip is shorter than a timeout
	p.slow = w.chance(0.5)
	switch n := w.random.IntN(1000); {
	case n < 10: // enough for full calls
		p.names, p.callers, p.senders, p.think = simManyNames, 100, 1, p.latency
	case n < 17: // and enough for renewals that do not fit into one turn, or one call
		p.names, p.callers, p.bulkLocks = simManyNames, min(p.callers, 2), 130+w.random.IntN(70)
	}
	theme := w.random.IntN(100)
	switch {
	case theme < 10:
		p.lines(w)
	case theme < 14:
		p.few(w)
	case theme < 18:
		p.readers()
	case theme < 20:
		p.several(w)
	case theme < 21:
		p.singleLock(w)
	}
	p.longest = 2 * p.lease
	p.withQuorums(run.seed)
	p.careful(run.seed)
	p.limited(run.seed)
	p.share = []int{coordinator.MaxMessagesPerTurn, coordinator.MaxMessagesPerTurn, 1, 3}[simMixed(run.seed, 4)%4]
	p.choose(w)
	switch {
	case theme < 10:
		p.narrow(w, "noperm", "mute", "break", "pubsubdown", "flush")
	case theme < 14:
		p.narrow(w, "busy", "readonly", "break", "stall")
		p.connBreaks = simPick(w, []float64{0.02, 0.1})
	case theme >= 18 && theme < 20:
		p.narrow(w, "busy", "break")
		p.faults = append(p.faults, simFaultNamed("shutdown"))
		p.faultEvery = w.spread(5*p.latency, 100*p.latency)
		p.pubsubBreaks = simPick(w, []float64{0, 0.1, 0.3})
	case p.quorumUsers == 1: // a single one has to do without what the server rejects for others
		p.narrow(w, "noperm", "crash", "delete")
		p.think, p.fixed = 10*p.lease, 0
	}
	return p
}

// withQuorums makes some worlds be about quorums as well, if they have enough names, but few.
func (p *simPlan) withQuorums(seed uint64) {
	drawn := simRandom{simMixed(seed, 2)}
	if n := drawn.IntN(8); len(p.names) >= simMembers && len(p.names) < len(simManyNames) && n < 4 {
		p.quorumUsers = n
	}
}

// few is for worlds where few callers want the same lock. There no other caller makes an engine do what it does not do
// by itself. Leases change often there, but are never too short to be renewed.
func (p *simPlan) few(w *simWorld) {
	p.names, p.callers, p.bulkLocks = simNames, 1+w.random.IntN(2), 0
	p.lease = simPick(w, []time.Duration{3 * time.Second, 10 * time.Second})
	p.latency, p.slow = w.spread(20*time.Microsecond, 200*time.Microsecond), false
	p.think, p.shortest = w.spread(p.lease/100, p.lease/4), p.lease/8
	p.tryOnce, p.polling, p.extending = 0, 0, 0.6
}

// lines is for worlds where many waiters are in the queues of fair locks for long, and come and go. Each of them
// listens on a channel of its own, and those of one engine share their time.
func (p *simPlan) lines(w *simWorld) {
	p.names, p.only = simNames[:simPick(w, []int{1, 1, 3})], []actor.LockKind{actor.Fair}
	p.callers, p.bulkLocks = 4, 0
	p.lease = simPick(w, []time.Duration{time.Second, 3 * time.Second, 10 * time.Second})
	p.think = w.spread(2*time.Millisecond, 200*time.Millisecond)
	p.tryOnce, p.fixed, p.polling = 0, 0, 0
}

// readers is for worlds where the writers of a lock read it as well, several of them as one owner.
func (p *simPlan) readers() {
	p.names, p.only, p.callers, p.bulkLocks, p.sharedOwners = simNames[:1], []actor.LockKind{actor.Write}, 4, 0, 1
	p.think, p.tryOnce = 20*p.latency, 0
}

// several is for worlds where most callers want several of a dozen locks at once. They do so beside each other in an
// engine, and wait in queues for them.
func (p *simPlan) several(w *simWorld) {
	p.names, p.only, p.bulkLocks, p.callers, p.senders = simManyNames[:simPick(w, []int{12, 24, 48})], []actor.LockKind{actor.Plain}, 0, 8+w.random.IntN(24), 1
	p.lease = simPick(w, []time.Duration{3 * time.Second, 10 * time.Second})
	p.think = w.spread(4*p.latency, 50*p.latency)
	p.together, p.tryOnce, p.fixed, p.polling = 0.8, 0, 0, 0
}

// singleLock is for worlds with one lock and no message of its release. Round trips are short, as the turns of engines
// that poll assume.
func (p *simPlan) singleLock(w *simWorld) {
	p.names, p.only, p.bulkLocks, p.spinning = simNames[:1], []actor.LockKind{actor.Plain}, 0, true
	p.lease = simPick(w, []time.Duration{3 * time.Second, 10 * time.Second})
	p.latency, p.slow = w.spread(50*time.Microsecond, 150*time.Microsecond), false
	p.think = w.spread(time.Millisecond, 200*time.Millisecond)
	p.polling = 1
}

// narrow leaves few faults, and makes them rare, so that other callers see their effects.
func (p *simPlan) narrow(w *simWorld, few ...string) {
	p.faults, p.pauses, p.shortReplies = nil, 0, 0
	for _, f := range simFaults {
		if slices.Contains(few, f.name) && w.chance(0.6) {
			p.faults = append(p.faults, f)
		}
	}
	p.faultEvery = w.spread(p.lease/8, 2*p.lease)
	p.pubsubBreaks = simPick(w, []float64{0, 0.05, 0.2})
	p.connBreaks = simPick(w, []float64{0, 0, 0.02})
}

// choose picks the faults of this seed. One seed in eight has none.
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
		p.connBreaks = simPick(w, []float64{0.01, 0.05, 0.2})
	}
	if w.chance(0.2) {
		p.pauses = 0.02
	}
	if w.chance(0.3) {
		p.pubsubBreaks = simPick(w, []float64{0.02, 0.2})
	}
	if w.chance(0.3) {
		p.messageLoss = simPick(w, []float64{0.02, 0.3})
	}
	if w.chance(0.3) {
		p.duplicates = simPick(w, []float64{0.02, 0.3})
	}
	if w.chance(0.2) {
		p.shortReplies = 0.02
	}
}

// config returns an engine's configuration, within what options allow.
func (p *simPlan) config(w *simWorld, id string) actor.Config {
	lease := max(100*time.Millisecond, w.between(p.lease/2, p.lease))
	if w.chance(0.5) {
		lease = p.lease
	}
	c := actor.Config{
		ID:               id,
		Lease:            lease,
		RenewInterval:    simPick(w, []time.Duration{lease / 3, lease / 2, lease / 10}),
		CallTimeout:      simPick(w, []time.Duration{min(3*time.Second, lease/6), lease / 3}),
		MaxHandoffGrants: simPick(w, []int{64, 64, 3, 1, -1}),
		MaxHandoffTime:   simPick(w, []time.Duration{5 * time.Millisecond, time.Millisecond, 500 * time.Millisecond}),
		FairWaitTimeout:  simFairWait,
		Seed:             w.random.Uint64(),
	}
	if p.senders == 1 {
		// Renewals go first. If one took longer than its interval, nothing else would leave; a real engine has more senders.
		c.RenewInterval = max(c.RenewInterval, 4*p.latency)
	}
	if w.chance(0.5) {
		c.RenewSpread = c.RenewInterval / 2
	}
	if p.silence != 0 {
		c.Replicas, c.ReplicaTimeout = 1, c.CallTimeout/2
	}
	c.MaxWaiting, c.MaxWaitingPerLock = p.waiting, p.waitingEach
	c.Poll = w.chance(p.polling)
	if w.chance(0.15) {
		c.MaxHold = max(w.spread(lease/10, 5*lease), p.usableLease())
	}
	return c
}

// fixedLease returns a lease that a caller may ask for, also one that ends before the reply comes.
func (p *simPlan) fixedLease(w *simWorld) time.Duration { return w.spread(p.shortest, p.longest) }

// usableLease returns a lease so long that, if nothing is wrong, the reply comes before half of it is over.
func (p *simPlan) usableLease() time.Duration { return 2*time.Millisecond + 8*p.latency }

func (p *simPlan) String() string {
	faults := make([]string, len(p.faults))
	for i, f := range p.faults {
		faults[i] = f.name
	}
	return fmt.Sprintf("%d engines of %d callers and %d senders, %d messages a turn, %d outsiders, %d quorums, names %q (%v), lease %v, latency %v (slow: %v), think %v, skew %d ppm, "+
		"force %v, loses data %v, breaks %v and %v, naps %v, lost messages %v, doubled ones %v, short answers %v, every %v one of: %s",
		p.engines, p.callers, p.senders, p.share, p.externalClients, p.quorumUsers, p.names, p.kinds, p.lease, p.latency, p.slow, p.think, p.skew,
		p.forcing, p.losing, p.connBreaks, p.pubsubBreaks, p.pauses, p.messageLoss, p.duplicates, p.shortReplies, p.faultEvery, strings.Join(faults, ", "))
}
