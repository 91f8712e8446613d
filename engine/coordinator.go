package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Request tags of the engine, in addition to those that locks handle.
const (
	AskState    actor.Kind = 100 + iota // Request.State receives the state of Request.Key at one instant
	AskCount                            // Request.State.Count receives the number of holds of Request.Owner on Request.Key
	AskShutdown                         // reject new locks; the result comes when no lock is held any more
	AskConfirm                          // confirm the lock of a hold now, without a change; the result comes first
	AskClose                            // end all holds and requests at once
)

const (
	tick       = time.Millisecond
	spareLocks = 1024
)

// coordinator makes the decisions of a turn. It is pure: without a clock, I/O or a goroutine. It owns the locks (those
// held are the expiration-renewal map), the wheel, and the commands waiting to be sent. It is owned by the loop.
type coordinator struct {
	*node             // the server; in a cluster the node to ask when the owner is unknown
	nodes    []*node  // the server, or all nodes of a cluster that own slots; also nodes that own none but have work left
	cluster  *cluster // nil when there is one server
	numbers  int      // number of nodes created so far
	bare     bool     // there may be nodes without slots
	fx       *actor.Effects
	locks    registry
	groups   map[string]*group // by key, of the kinds with one lock per request
	spare    []*actor.Lock     // finished locks, for reuse
	couriers int               // number of senders per node
	packed   int               // batches packed so far, so that verbs of equal priority take turns
	fetched  int               // meaningless: it only keeps the compiler from removing the prefetch
	waiting  []*actor.Request  // shutdown requests that wait for the end
	snaps    []*Stats          // requested in this turn; filled at its end, when the resulting commands are in flight
	closed   bool
	gathers  bool // together is running
	intake   intake
	doubts   recheck
	drains   round // of a shutdown in progress
	closes   closing
	tells    telling
	spreads  []*spread     // the first one continues next
	sweeps   int           // number of queues being swept
	lookOn   bool          // a sender is free, but packing stopped at looksMost: continue next turn
	now      time.Duration // time of the last turn
	counters counters

	turnTimes TurnTimes // written by the loop, which has a clock

	batches []*batch // output: to be sent
	opened  []*node  // output: new nodes, which need workers
	shut    []*node  // output: removed nodes; their workers are to be stopped
	spares  []*batch

	limits limits // errors for requests beyond the limits on waiters

	redials  bool // the engine may close the connections to the only server, to make new ones
	demotion demotion
	redial   bool // output: close them now
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

// turn handles its share of the messages received so far, then whatever is due. The outputs are fx.Ended, batches,
// ears.order and tells.told. The loop publishes them in this order.
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

// open dispatches one message.
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
	case alarms: // the turn itself was the purpose
	default:
		panic(fmt.Sprintf("lockwheel: bug: a letter of %T", what))
	}
}

// sounded handles the messages of a node's subscriber.
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

// tellUnheard notifies waiters that their channels cannot be subscribed for now.
func (c *coordinator) tellUnheard(now time.Duration, n *node, unheard []*channel) {
	for _, ch := range unheard {
		c.spread(now, audience{kind: actor.Unheard, node: n, channel: ch.name}, ch.by.all())
	}
}

// refuse rejects a message that comes after the close.
func (c *coordinator) refuse(now time.Duration, m *mail) {
	switch what := m.what.(type) {
	case *actor.Request:
		c.fx.Decide(now, what, actor.ErrClosed, nil)
	case inspects:
		c.snaps = append(c.snaps, what.stats)
		c.fx.Decide(now, what.request, nil, nil)
	}
}

// asked handles a new request. It ignores one that was cancelled, or timed out, before its turn came.
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
			c.fx.Stats.Refused -= uint64(len(r.Joint.Parts)) // not a failure for the caller, who then locks one after the other
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

// refusesDown rejects a request with IfUp if its server is known to be down. It lets a request through if the breaker
// allows a probe, or if its owner re-enters, which needs no reply.
func (c *coordinator) refusesDown(now time.Duration, r *actor.Request) bool {
	n := c.nodeOf(r.Key)
	if n.link.open(now, n.out) || c.countOf(now, r) > 0 {
		return false
	}
	c.fx.Decide(now, r, actor.ErrUnavailable, n.link.cause)
	return true
}

// triesOnce rejects a request that does not wait if connecting to the server just failed.
func (c *coordinator) triesOnce(now time.Duration, r *actor.Request) {
	if !r.Once || r.Decided() {
		return
	}
	if k := &c.nodeOf(r.Key).link; k.refuses(now) {
		c.step(now, r.Lock(), &actor.Message{Kind: actor.Unreached, Request: r, Cause: k.cause})
	}
}

// explain adds the cause of the outage to results without a reply, if the server is known to be down.
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

// nodeFor returns the node of a request. It returns nil if that is unknown, because the lock has finished.
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

// changes handles an unlock or an extension of a hold. If the lock has finished, the request fails with the reason why
// the hold ended.
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

// gaveUp handles a cancellation. The request may have its result already. If it has not been handled yet, it is handled
// first.
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

// lockFor returns the lock for a new request, and creates it if there is none. If it returns nil, it has rejected the
// request, because of:
//   - a name in use as another kind of lock
//   - an upgrade from read to write
//   - the limit on waiters per name
//   - a waiter ahead of a request that does not wait
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

// clashing returns a lock that keeps the name from being used as another kind, or nil.
func (c *coordinator) clashing(l *actor.Lock, key string, kind actor.LockKind) *actor.Lock {
	if l != nil && !l.Kind().Suits(kind) && l.Busy() {
		return l
	}
	if len(c.groups) > 0 {
		return c.groups[key].clashing(kind)
	}
	return nil
}

// begin returns a new or reused lock.
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

// forget removes a lock that has nothing left to do.
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

// countOf returns how many holds the owner of a request has on its key.
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

// after applies the effects of a step. It removes the lock if it has nothing left to do.
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

// wake handles a timer that has fired.
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

// lockOf returns the lock that a timer belongs to, directly or through a request, or nil.
func lockOf(s actor.Sleeper) *actor.Lock {
	switch s := s.(type) {
	case *actor.Lock:
		return s
	case *actor.Request:
		return s.Lock()
	}
	return nil
}

// doubt has every hold confirmed before anything is granted again: after a suspension of the machine, or when Sentinel
// names another master. Grants take this into account at once. Confirming the holds and waking the waiters takes
// several turns if there are very many.
func (c *coordinator) doubt(now time.Duration) {
	c.fx.Doubted = now
	c.doubts.addAll()
}

// next returns when the coordinator needs another turn without a message. ok is false if it needs none.
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

// never is later than any other time.
const never = time.Duration(1<<63 - 1)

func earlier(at time.Duration, ok bool, other time.Duration) (time.Duration, bool) {
	if !ok || other < at {
		return other, true
	}
	return at, true
}

// rest resets the outputs that the loop has published.
func (c *coordinator) rest() {
	clear(c.fx.Ended)
	clear(c.batches)
	c.fx.Ended, c.batches = c.fx.Ended[:0], c.batches[:0]
	c.restVerdicts()
}
