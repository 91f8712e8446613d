package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Hooks are functions that the loop calls. They must not block and must not call back into the engine. Verdict and Late
// may be nil.
type Hooks struct {
	Verdict func(r *actor.Request, waited time.Duration) // r has its result, but its caller has not been notified
	Ended   func(e *actor.Ended)                         // a hold has ended; called once per hold
	Late    func(turn time.Duration)                     // a turn took longer than 5 ms
}

// Engine is the loop with its workers: senders and subscribers. All its methods are safe for concurrent use.
type Engine struct {
	epoch time.Time // origin of the engine's clock: all times are durations since then
	box   *mailbox
	hooks Hooks
	log   *slog.Logger

	// Owned by the loop.
	coordinator *coordinator
	wall        time.Duration // wall clock minus monotonic clock, at the last turn
	date        int64         // wall clock at the last turn, in ms since 1970
	server      *Server
	posts       []*post      // indexed by node.number; nil once dismissed
	surveys     chan *survey // nil outside a cluster
	alarm       *time.Timer
	alarmAt     time.Duration // when the alarm fires, on the engine's clock; 0: not set
	troubled    bool
	apart       bool // the clocks of this machine and of the server differ, and that was logged

	last    Stats         // final snapshot, written before stopped is closed
	stopped chan struct{} // closed when the loop has ended
	helpers sync.WaitGroup
}

// suspicion is how far the wall clock may run ahead of the monotonic one before the engine assumes that the machine was
// suspended. A slewed clock stays far below it.
const suspicion = 500 * time.Millisecond

// newEngine returns an engine without a server.
func newEngine(config actor.Config) *Engine {
	e := &Engine{
		epoch:       time.Now(),
		box:         newMailbox(),
		coordinator: newCoordinator(config, couriers),
		stopped:     make(chan struct{}),
	}
	e.alarm = time.AfterFunc(time.Hour, func() { e.box.post(&mail{what: alarms{}}) })
	e.alarm.Stop()
	return e
}

// Start runs an engine on a server until it is asked to close. The caller keeps ownership of the server's client. If
// log is nil, the engine logs nothing.
func Start(server *Server, config actor.Config, hooks Hooks, log *slog.Logger) *Engine {
	e := newEngine(config)
	e.server, e.hooks, e.log = server, hooks, log
	if server.Cluster() {
		e.coordinator.inCluster(server.chart)
		e.surveys = make(chan *survey, 1)
		e.helpers.Go(func() { chartAll(server, config.Timeout, e.surveys, e.box) })
	} else {
		e.coordinator.address = masterOf(server.client)
		e.coordinator.redials = server.redials(e.coordinator.address)
		e.staff(e.coordinator.node)
	}
	go e.run()
	return e
}

// post holds the channels to the workers of one node: senders, replica senders and a subscriber. Owned by the loop.
type post struct {
	batches chan *batch
	synced  chan *batch // batches that WAIT follows
	orders  chan *order
}

// of returns the channel on which a batch is sent to its workers.
func (p *post) of(c *coordinator, b *batch) chan<- *batch {
	if c.asksReplicas(b.verb) {
		return p.synced
	}
	return p.batches
}

// staff starts the workers of a new node.
func (e *Engine) staff(n *node) {
	p := &post{batches: make(chan *batch, couriers), synced: make(chan *batch, syncers), orders: make(chan *order, 1)}
	e.posts = append(e.posts, p)
	config, address := &e.coordinator.fx.Config, n.address
	id := config.ID
	for range couriers {
		e.helpers.Go(func() { carry(e.server.way(address), e.server.writer(id), p.batches, e.box) })
	}
	if config.Replicas != 0 {
		replicas := replication{least: config.Replicas, patience: config.ReplicaFor}
		for range syncers {
			s := &syncer{way: e.server.way(address), writer: e.server.writer(id), replicas: replicas, lender: e.lender(), free: config.Timeout}
			e.helpers.Go(func() { s.carry(p.synced, e.box) })
		}
	}
	listener := &subscriber{way: e.server.way(address), sharded: e.server.sharded, node: n, to: e.box, orders: p.orders, lender: e.lender(), leaver: leaver{run: e.helpers.Go, over: e.stopped, patience: config.Timeout}}
	e.helpers.Go(listener.run)
}

// lender returns a source of dedicated connections. The engine's own client is closed before its workers are waited
// for, which ends every call. In the pool of a client that the program owns, waiting for a connection has no limit in
// time.
func (e *Engine) lender() *lender {
	if e.server.private {
		return newLender(nil, e.helpers.Go)
	}
	return newLender(e.stopped, onGoroutine)
}

// dismiss stops the workers of a node. They finish what they have first.
func (e *Engine) dismiss(number int) {
	if p := e.posts[number]; p != nil {
		close(p.batches)
		close(p.synced)
		close(p.orders)
		e.posts[number] = nil
	}
}

// Now returns the current time on the engine's clock.
func (e *Engine) Now() time.Duration { return time.Since(e.epoch) }

// Time converts a time of the engine's clock to a time.Time.
func (e *Engine) Time(moment time.Duration) time.Time { return e.epoch.Add(moment) }

// Post hands a call to the loop, which sends on Ready when the result is available. Once the engine is closed, Post
// returns false and does not touch the call. It never blocks.
func (e *Engine) Post(c *Call) bool {
	c.letter = mail{what: &c.Request}
	return e.box.post(&c.letter)
}

// PostAll posts several calls, at least one, which the loop receives in one turn and in their order. It posts all of
// them or none. It returns false once the engine is closed, and never blocks.
func (e *Engine) PostAll(calls []Call) bool {
	for i := range calls {
		c := &calls[i]
		c.letter = mail{what: &c.Request}
		if i > 0 {
			c.letter.next = &calls[i-1].letter
		}
	}
	return e.box.postChain(&calls[len(calls)-1].letter, &calls[0].letter)
}

// Cancel gives up a posted call. The result still comes, and a grant is released. The call must not be reused. Cancel
// never blocks.
func (e *Engine) Cancel(c *Call, cause error) {
	e.box.post(&mail{what: givesUp{&c.Request, cause}})
}

// CancelAll is Cancel for several requests, which the loop owns from then on. The loop receives them in one turn.
func (e *Engine) CancelAll(requests []*actor.Request, cause error) {
	e.box.post(&mail{what: giveUp{requests, cause}})
}

// Stats returns a snapshot. After the engine is closed it returns the final one. It blocks for one turn of the loop.
func (e *Engine) Stats() Stats {
	s := &Stats{}
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	if !e.box.post(&mail{what: inspects{r, s}}) {
		<-e.stopped
		return e.last
	}
	<-r.Ready
	return *s
}

// Stopped returns a channel that is closed when the loop has ended.
func (e *Engine) Stopped() <-chan struct{} { return e.stopped }

// Wait blocks until all workers have ended. A worker with a call in flight ends when that call does.
func (e *Engine) Wait() { e.helpers.Wait() }

// run executes turns until the coordinator is closed.
func (e *Engine) run() {
	defer close(e.stopped)
	for !e.coordinator.closed {
		e.giveWay()
		letters := e.box.take()
		now := e.moment()
		if now >= e.alarmAt {
			e.alarmAt = 0
		}
		e.coordinator.turn(now, letters)
		e.letGo(now)
		e.coordinator.rest()
		e.ended(now)
		e.sleep(now)
	}
	e.finish()
}

// ended records how long a turn took and reports a slow one to Hooks.Late. It reads the clock for the second and last
// time of the turn.
func (e *Engine) ended(began time.Duration) {
	took := e.Now() - began
	e.coordinator.turnTimes.note(took)
	if took > lateTurn && e.hooks.Late != nil {
		e.hooks.Late(took)
	}
}

// lateTurn is the longest turn that is not reported to Hooks.Late.
const lateTurn = 5 * time.Millisecond

// moment reads the clock once a turn. While a machine is suspended, the monotonic clock stops and leases run on. So if
// the wall clock has advanced further, the locks must be confirmed again.
func (e *Engine) moment() time.Duration {
	at := time.Now()
	now := at.Sub(e.epoch)
	wall := at.Round(0).Sub(e.epoch.Round(0)) - now
	if wall-e.wall > suspicion {
		e.coordinator.doubt(now)
	}
	e.wall, e.date = wall, at.UnixMilli()
	return now
}

// letGo publishes the outputs of a turn. Ended holds come first, so that a hold has ended before the command that ends
// it is sent. Batches come next, so that the server works while callers wake up.
func (e *Engine) letGo(now time.Duration) {
	c := e.coordinator
	for i := range c.fx.Ended {
		e.hooks.Ended(&c.fx.Ended[i])
	}
	e.mourn(c.fx.Ended)
	e.redial(c)
	e.reorganise(c)
	for _, b := range c.batches {
		for call := b; call != nil; call = call.next {
			call.wall = e.date
		}
		e.posts[b.node.number].of(c, b) <- b // never blocks: at most as many are in flight as there are senders
	}
	for _, n := range c.nodes {
		if n.ears.order != nil {
			e.posts[n.number].orders <- n.ears.order // never blocks: at most one is in flight
			n.ears.order = nil
		}
	}
	c.fetchCallers()
	for _, r := range c.tells.told {
		if e.hooks.Verdict != nil {
			e.hooks.Verdict(r, now-r.Posted())
		}
		tellCaller(r)
	}
	e.tell()
	e.tellClocks()
}

// tellCaller notifies a caller that its result is available. Requests of the coordinator itself have no caller.
func tellCaller(r *actor.Request) {
	switch {
	case r.Told != nil:
		r.Told()
	case r.Async:
		close(r.Ready)
	case r.Ready != nil:
		r.Ready <- struct{}{}
	}
}

// redial closes the connections to a server that is no longer a master, if its address may lead to the new master.
func (e *Engine) redial(c *coordinator) {
	if !c.redial {
		return
	}
	c.redial = false
	e.server.redial()
	if e.log != nil {
		e.log.Warn("lockwheel: the server is a replica; connecting to its address again")
	}
}

// reorganise starts and stops workers as the masters change, and sends a pending refresh request for the topology.
func (e *Engine) reorganise(c *coordinator) {
	for _, n := range c.opened {
		e.staff(n)
	}
	for _, n := range c.shut {
		e.dismiss(n.number)
	}
	clear(c.opened)
	clear(c.shut)
	c.opened, c.shut = c.opened[:0], c.shut[:0]
	if k := c.cluster; k != nil && k.order != nil {
		e.surveys <- k.order // never blocks: at most one is in flight
		k.order = nil
	}
}

// mourn logs the locks lost in a turn, in one line.
func (e *Engine) mourn(ended []actor.Ended) {
	if e.log == nil {
		return
	}
	count, last := 0, -1
	for i := range ended {
		if ended[i].Err == actor.ErrLost {
			count, last = count+1, i
		}
	}
	if count > 0 {
		e.log.Warn("lockwheel: locks lost", "count", count, "last", ended[last].Key, "cause", ended[last].Cause)
	}
}

// tell logs when the server becomes unreachable and when it is reachable again.
func (e *Engine) tell() {
	if e.log == nil {
		return
	}
	silent := e.coordinator.silent()
	if (silent != nil) == e.troubled {
		return
	}
	e.troubled = silent != nil
	if silent == nil {
		e.log.Info("lockwheel: redis answers again")
		return
	}
	about := []any{"cause", silent.link.cause}
	if silent.address != "" {
		about = append(about, "node", silent.address)
	}
	e.log.Warn("lockwheel: redis does not answer; trying again", about...)
}

// sleep waits for messages, if nothing is due. The alarm is a message, too. An alarm that is set too early stays set.
// Setting a timer can wake a thread, which costs a lone caller more than an empty turn.
func (e *Engine) sleep(now time.Duration) {
	if e.coordinator.closed {
		return
	}
	at, ok := e.coordinator.next()
	if ok && at <= now {
		return
	}
	if ok && (e.alarmAt == 0 || at < e.alarmAt) {
		e.alarmAt = at
		e.alarm.Reset(at - now)
	}
	if e.box.lieDown() {
		<-e.box.bell
	}
}

// finish closes the mailbox, ends all requests, and stops the workers once they have finished what they have.
func (e *Engine) finish() {
	now := e.Now()
	c := e.coordinator
	c.turn(now, e.box.shutDown())
	e.letGo(now)
	for c.rest(); c.closesOn(); c.rest() {
		now = e.Now()
		c.turn(now, nil)
		e.letGo(now)
	}
	e.last = c.stats()
	e.last.InFlight, e.last.Subscriptions, e.last.Polling = 0, 0, 0 // commands in flight and subscriptions end with the connections
	e.alarm.Stop()
	for number := range e.posts {
		e.dismiss(number)
	}
	if e.surveys != nil {
		close(e.surveys)
	}
}
