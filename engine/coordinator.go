package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// What a request may ask for besides what locks understand.
const (
	AskState    actor.Kind = 100 + iota // Request.State: one instant of Request.Key
	AskCount                            // Request.State.Count: holds of Request.Owner on Request.Key
	AskShutdown                         // refuse new locks; the verdict comes when none is held any more
	AskConfirm                          // have the lock of a hold confirmed now, as it is. The verdict comes before that
	AskClose                            // end everything at once
)

const (
	tick       = time.Millisecond
	spareLocks = 1024
)

// coordinator decides what a turn comes to: pure, without a clock, I/O or a goroutine. It owns the
// locks (those held are the expiration-renewal map), the wheel, and what waits to be sent.
type coordinator struct {
	*node             // the server; in a cluster the node that is asked where nobody knows better
	nodes    []*node  // the server, or all nodes of a cluster that own slots; and those that own nothing any more and are not done yet
	cluster  *cluster // nil when there is one server
	numbers  int      // of nodes so far
	bare     bool     // there may be nodes that own nothing
	fx       *actor.Effects
	locks    registry
	groups   map[string]*group // of kinds with a lock for each claim
	spare    []*actor.Lock     // finished, for reuse
	couriers int               // of each node
	packed   int               // batches so far, so that verbs of the same urgency take turns
	fetched  int               // means nothing: without it the compiler leaves fetching out
	waiting  []*actor.Request  // for the shutdown to be complete
	snaps    []*Stats          // wanted of this turn: taken at its end, when what its mail led to is under way
	closed   bool
	gathers  bool // it is at what steps left to do for several locks
	intake   intake
	doubts   recheck
	drains   round // of a shutdown that began
	closes   closing
	tells    telling
	spreads  []*spread     // the first is told on
	sweeps   int           // queues that are gone through
	lookOn   bool          // a courier is free, and the turn has looked at so many commands in vain that the next one is to go on
	now      time.Duration // of the last turn
	counters counters

	turnTimes TurnTimes // the loop's, which has a clock

	batches []*batch // outcome: to be carried
	opened  []*node  // outcome: new nodes, for which there is nobody yet
	shut    []*node  // outcome: nodes that nothing is sent to any more
	spares  []*batch

	limits limits // of how many wait

	redials  bool // connections to the one server there is may be ended: the next call makes others
	demotion demotion
	redial   bool // outcome: they are to be ended
}

type counters struct{ commands, batches, turns, retries uint64 }

func newCoordinator(config actor.Config, couriers int) *coordinator {
	c := &coordinator{
		fx:       actor.NewEffects(config, newWheel(firedPerTurn)),
		locks:    newRegistry(),
		groups:   make(map[string]*group),
		couriers: couriers,
		limits:   limitsOf(&config),
		intake:   intake{share: opensPerTurn, pieces: sweepPieces, looks: looksPerTurn},
		tells:    telling{most: tellsPerTurn},
	}
	c.node = newNode("", config.Lease)
	c.node.slots, c.numbers = 1, 1
	c.nodes = []*node{c.node}
	c.fx.Leases = newWheel(firedPerTurn)
	c.fx.Expects = c.expected
	c.fx.RefusalsMost = refusedPerTurn
	return c
}

// turn takes in its share of the mail that came by now, then whatever is due. What comes out is in fx.Ended, batches,
// ears.order and tells.told, in the order in which the loop is to let go of it.
func (c *coordinator) turn(now time.Duration, letters *mail) {
	defer c.inspect(now)
	c.counters.turns++
	c.now, c.lookOn = now, false
	c.sort(now, letters)
	c.refuseOn(now)
	c.drainSome(now)
	c.spreadOn(now)
	c.work(now)
	if c.closed {
		c.closeSome(now)
		c.explain()
		c.tell()
		return
	}
	c.fire(now)
	if c.cluster != nil {
		c.survey(now)
	} else {
		c.recheck(now)
		if c.bare {
			c.abandon()
		}
	}
	c.sweep()
	for _, n := range c.nodes {
		c.tellUnheard(now, n, n.ears.untold())
		c.depart(now, n)
		n.ears.arrange(now)
	}
	if len(c.waiting) > 0 && c.drained() && !c.unopened() {
		c.shutDown(now)
	}
	c.explain()
	c.tell()
}

// open hands one letter to whoever it is for.
func (c *coordinator) open(now time.Duration, m *mail) {
	switch what := m.what.(type) {
	case *actor.Request:
		c.asked(now, what)
	case *batch:
		c.returned(now, what)
	case inspects:
		c.snaps = append(c.snaps, what.stats)
		c.fx.Decide(now, what.request, nil, nil)
	case givesUp:
		c.gaveUp(now, what.request, what.cause)
	case giveUp:
		for _, r := range what.requests {
			c.gaveUp(now, r, what.cause)
		}
	case replaced:
		c.replaced(now, what.address)
	case charts:
		c.charted(now, what.chart, what.err)
	case hears, subscribes, silenced, orderDone, deaf:
		c.sounded(now, what)
	case alarms: // the turn was all that it wanted
	default:
		panic(fmt.Sprintf("lockwheel: bug: a letter of %T", what))
	}
}

// sounded takes in what a node's subscriber has to say.
func (c *coordinator) sounded(now time.Duration, what any) {
	switch what := what.(type) {
	case hears:
		n := c.of(what.node)
		c.spread(now, audience{kind: actor.Heard, node: n, channel: what.channel}, n.ears.of(what.channel))
	case subscribes:
		n := c.of(what.node)
		c.spread(now, audience{kind: actor.Subscribed, node: n, channel: what.channel}, n.ears.confirmed(what.channel, what.on))
	case silenced:
		c.of(what.node).ears.silenced(what.channel, what.on)
	case orderDone:
		n := c.of(what.node)
		c.tellUnheard(now, n, n.ears.done(now, what.on, what.gone, what.err))
		c.misdirected(now, n, what.err)
		if what.err == errStranger {
			c.introduce(now, n)
		}
	case deaf:
		c.of(what.node).ears.cutOff(what.gone)
		c.doubtMap()
	}
}

// tellUnheard tells those who wait that their channels cannot be listened to for now.
func (c *coordinator) tellUnheard(now time.Duration, n *node, unheard []*channel) {
	for _, ch := range unheard {
		c.spread(now, audience{kind: actor.Unheard, node: n, channel: ch.name}, ch.by.all())
	}
}

// refuse answers mail that comes after the close.
func (c *coordinator) refuse(now time.Duration, m *mail) {
	switch what := m.what.(type) {
	case *actor.Request:
		c.fx.Decide(now, what, actor.ErrClosed, nil)
	case inspects:
		c.snaps = append(c.snaps, what.stats)
		c.fx.Decide(now, what.request, nil, nil)
	}
}

// asked takes in a new request, unless its caller left before it was opened, or its time was over.
func (c *coordinator) asked(now time.Duration, r *actor.Request) {
	if !r.Open() || r.Decided() {
		return
	}
	switch r.Tag {
	case actor.Acquire, actor.Force:
		if c.fx.Draining {
			c.fx.Decide(now, r, actor.ErrClosed, nil)
			return
		}
		if r.Joint != nil && c.reenters(now, r.Joint) {
			c.fx.Decide(now, r, ErrReenters, nil)
			c.fx.Stats.Refused -= uint64(len(r.Joint.Parts)) // its caller goes on, one lock after the other
			return
		}
		if r.IfUp && c.refusesDown(now, r) {
			return
		}
		if l := c.lockFor(now, r); l != nil {
			held := r.Tag == actor.Force && l.Believed(now)
			c.step(now, l, &actor.Message{Kind: r.Tag, Request: r})
			if held {
				c.evictReaders(now, r.Key)
			}
			c.triesOnce(now, r)
		}
	case actor.Unlock, actor.Extend:
		c.changes(now, r)
	case AskState:
		c.fx.Limit(r, now+c.fx.Config.Timeout)
		c.send(&actor.Command{Verb: r.Kind.State(), Key: r.Key, Request: r})
	case AskCount:
		r.State = &actor.Reply{Count: c.countOf(now, r)}
		c.fx.Decide(now, r, nil, nil)
	case AskConfirm:
		if l := r.Hold.Lock(); l != nil && l.Believed(now) {
			c.step(now, l, &actor.Message{Kind: actor.Heard})
		}
		c.fx.Decide(now, r, nil, nil)
	case AskShutdown:
		c.drain(now, r)
	case AskClose:
		c.close(now, r)
	}
}

// refusesDown refuses a request that does not wait for a server that is known not to answer. Now and then one is let
// through to find out whether it does again, and whoever re-enters needs no answer.
func (c *coordinator) refusesDown(now time.Duration, r *actor.Request) bool {
	n := c.nodeOf(r.Key)
	if n.link.open(now, n.out) || c.countOf(now, r) > 0 {
		return false
	}
	c.fx.Decide(now, r, actor.ErrUnavailable, n.link.cause)
	return true
}

// triesOnce refuses a request that does not wait if the server could not be connected to a moment ago.
func (c *coordinator) triesOnce(now time.Duration, r *actor.Request) {
	if !r.Once || r.Decided() {
		return
	}
	if k := &c.nodeOf(r.Key).link; k.refuses(now) {
		c.step(now, r.Lock(), &actor.Message{Kind: actor.Unreached, Request: r, Cause: k.cause})
	}
}

// explain adds to verdicts that had no answer why there is none, if the server is known to be down.
func (c *coordinator) explain() {
	if !c.down() {
		return
	}
	for _, r := range c.fx.Verdicts {
		if r.Err != actor.ErrUnavailable {
			continue
		}
		if n := c.nodeFor(r); n != nil && n.link.down {
			r.Cause = actor.Unanswerable(r.Cause, n.link.cause)
		}
	}
}

// nodeFor is the node that a request was for; nil if that is not known any more, because its lock has finished.
func (c *coordinator) nodeFor(r *actor.Request) *node {
	key := r.Key
	if l := r.Lock(); key == "" && l != nil {
		key = l.Key()
	}
	switch {
	case key != "":
		return c.nodeOf(key)
	case c.cluster == nil:
		return c.node
	}
	return nil
}

// changes takes in a wish that concerns a hold. A lock that has finished since knows nothing of it.
func (c *coordinator) changes(now time.Duration, r *actor.Request) {
	l := r.Hold.Lock()
	if l == nil || l.Key() == "" {
		err, cause := r.Hold.Refusal()
		c.fx.Decide(now, r, err, cause)
		return
	}
	c.step(now, l, &actor.Message{Kind: r.Tag, Request: r})
	c.press(l)
}

// gaveUp takes in that a caller left. Its verdict may be out already, or its request not be opened yet: then that comes first.
func (c *coordinator) gaveUp(now time.Duration, r *actor.Request, cause error) {
	c.asked(now, r)
	if r.Joint != nil && r.Decided() {
		c.giveBack(now, r)
		return
	}
	if l := r.Lock(); l != nil && l.Key() != "" {
		c.step(now, l, &actor.Message{Kind: actor.Cancel, Request: r, Cause: cause})
		return
	}
	if r.Decided() {
		return
	}
	if r.Tag == AskShutdown {
		c.waiting = slices.DeleteFunc(c.waiting, func(other *actor.Request) bool { return other == r })
		c.cutShort(now, r, actor.ErrUnavailable, actor.Left{Cause: cause})
		return
	}
	c.fx.Decide(now, r, actor.ErrUnavailable, actor.Left{Cause: cause})
	c.withdrawn(r)
}

// lockFor finds or makes the actor that a new request is for. It decides the request, and returns nil,
// if the name is in use as another kind of lock.
func (c *coordinator) lockFor(now time.Duration, r *actor.Request) *actor.Lock {
	l, at := c.locks.find(r.Key)
	if other := c.clashing(l, r.Key, r.Kind); other != nil {
		c.fx.Clash(now, r, other.Kind())
		return nil
	}
	switch {
	case r.Kind == actor.Write && c.upgrades(now, l, r):
		c.fx.Decide(now, r, actor.ErrUpgrade, nil)
		return nil
	case c.crowded(now, l, r):
		c.fx.Shed(now, r, c.limits.lock)
		return nil
	case r.Kind == actor.Read:
		return c.reader(now, l, r)
	case r.Kind.Claims():
		return c.claim(now, r)
	}
	if l == nil {
		l = c.begin(r.Key, r.Kind)
		c.locks.put(at, l)
	}
	if l.Kind() != r.Kind {
		l.Become(r.Kind, c.fx)
	}
	l.Share(r.Kind == actor.Write && c.groups[r.Key] != nil)
	if r.Kind == actor.Write && r.Tag == actor.Acquire {
		c.letReadersPass(now, l)
	}
	return l
}

// clashing is a lock that keeps a name from use as another kind; nil if there is none.
func (c *coordinator) clashing(l *actor.Lock, key string, kind actor.LockKind) *actor.Lock {
	if l != nil && !l.Kind().Suits(kind) && l.Busy() {
		return l
	}
	if len(c.groups) > 0 {
		return c.groups[key].clashing(kind)
	}
	return nil
}

// begin makes an actor.
func (c *coordinator) begin(key string, kind actor.LockKind) *actor.Lock {
	last := len(c.spare) - 1
	if last < 0 {
		return actor.NewLock(key, kind)
	}
	l := c.spare[last]
	c.spare = c.spare[:last]
	l.Begin(key, kind)
	return l
}

// forget lets go of an actor with nothing left to do.
func (c *coordinator) forget(l *actor.Lock) {
	if l.Kind().Claims() {
		c.leaveGroup(l)
		c.readerLeft(l)
	} else {
		c.locks.remove(l)
	}
	reusable := l.Reusable()
	l.Finish(c.fx)
	if reusable && len(c.spare) < spareLocks {
		c.spare = append(c.spare, l)
	}
}

// countOf is how many holds the owner of a request has.
func (c *coordinator) countOf(now time.Duration, r *actor.Request) (count int) {
	if r.Kind.Claims() {
		for _, l := range c.groups[r.Key].of(r.Owner) {
			if l.Kind() == r.Kind {
				count += l.CountOf(r.Owner, now)
			}
		}
		return count
	}
	if l := c.locks.of(r.Key); l != nil && l.Kind() == r.Kind {
		return l.CountOf(r.Owner, now)
	}
	return 0
}

func (c *coordinator) step(now time.Duration, l *actor.Lock, m *actor.Message) {
	c.drainFirst(now, l)
	l.Step(now, m, c.fx)
	c.after(now, l)
}

// after takes what a step came to, and forgets a lock with nothing left to do.
func (c *coordinator) after(now time.Duration, l *actor.Lock) {
	for _, wish := range c.fx.Listen {
		c.listen(now, wish)
	}
	c.fx.Listen = c.fx.Listen[:0]
	for i := range c.fx.Commands {
		command := &c.fx.Commands[i]
		c.send(command)
		*command = actor.Command{}
	}
	c.fx.Commands = c.fx.Commands[:0]
	if len(c.fx.Recalled) > 0 {
		c.recalled(l.Key())
	}
	if len(c.fx.Touched) > 0 || len(c.fx.Ready) > 0 {
		c.together(now)
	}
	if len(c.fx.Claimed) > 0 || len(c.fx.Numbered) > 0 {
		c.claimed()
	}
	if len(c.fx.Reunites) > 0 {
		c.reunite(now)
	}
	if c.fx.Undone != nil {
		c.unreplicated(now, l)
	}
	if l.Kind() == actor.Write && len(c.groups) > 0 && !l.Pending() {
		c.callReaders(now, l.Key())
	}
	if l.Idle() && l.Key() != "" {
		key, queues := l.Key(), l.Kind().Queues()
		c.forget(l)
		if queues {
			c.callForemost(now, key)
		}
	}
}

func (c *coordinator) listen(now time.Duration, wish actor.Listening) {
	n := c.nodeOf(wish.Lock.Key())
	if !wish.On {
		n.ears.leave(wish.Lock, wish.Channel)
		return
	}
	if n.ears.join(wish.Lock, wish.Channel) {
		wish.Lock.Step(now, &actor.Message{Kind: actor.Subscribed}, c.fx)
	}
}

// wake is for whoever has a timer that fired.
func (c *coordinator) wake(now time.Duration, s actor.Sleeper) {
	l := lockOf(s)
	if l != nil {
		c.drainFirst(now, l)
	}
	s.Wake(now, c.fx)
	if l != nil {
		c.after(now, l)
	} else if r, ok := s.(*actor.Request); ok {
		c.withdrawn(r)
	}
}

// lockOf is the lock that a timer is for, or that of the request that it is for; nil if that has none.
func lockOf(s actor.Sleeper) *actor.Lock {
	switch s := s.(type) {
	case *actor.Lock:
		return s
	case *actor.Request:
		return s.Lock()
	}
	return nil
}

// doubt makes every hold be confirmed before anything is granted again: the clock stood still. Grants know that at once; that holds are
// asked about, and those who wait ask again, takes some turns if there are very many.
func (c *coordinator) doubt(now time.Duration) {
	c.fx.Doubted = now
	c.doubts.addAll()
}

// next is when the coordinator wants another turn without mail; ok is false when it does not.
func (c *coordinator) next() (at time.Duration, ok bool) {
	if c.unopened() || c.sweeps > 0 || c.lookOn || c.drains.on() || c.doubts.on() || len(c.spreads) > 0 || len(c.fx.Refusing) > 0 || c.tells.waits() {
		return c.now, true
	}
	if !slices.ContainsFunc(c.nodes, (*node).busy) {
		c.reckon()
	}
	at, ok = c.fx.Soonest, c.fx.Soonest != never
	for _, n := range c.nodes {
		if n.link.down && n.out == 0 && n.backlog() {
			at, ok = earlier(at, ok, n.link.tryAt)
		}
		if retry := n.ears.retryAt(); retry != 0 {
			at, ok = earlier(at, ok, retry)
		}
	}
	if c.surveys() {
		at, ok = earlier(at, ok, c.cluster.tryAt)
	}
	if due, is := c.doubts.due(); is {
		at, ok = earlier(at, ok, due)
	}
	return at, ok
}

// never is later than every moment.
const never = time.Duration(1<<63 - 1)

func earlier(at time.Duration, ok bool, other time.Duration) (time.Duration, bool) {
	if !ok || other < at {
		return other, true
	}
	return at, true
}

// rest lets go of what the loop has taken.
func (c *coordinator) rest() {
	clear(c.fx.Ended)
	clear(c.batches)
	c.fx.Ended, c.batches = c.fx.Ended[:0], c.batches[:0]
	c.restVerdicts()
}
