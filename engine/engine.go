package engine

import (
	"log/slog"
	"sync"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Hooks are called on the loop: they must not block, and must not call back.
type Hooks struct {
	Verdict func(r *actor.Request, waited time.Duration) // r has its verdict, and its caller does not know yet
	Ended   func(e *actor.Ended)                         // a hold is over; called once for each
	Late    func(turn time.Duration)                     // a turn took longer than 5ms
}

// Engine is the loop with its couriers and subscriber. All its methods are safe for concurrent use.
type Engine struct {
	epoch time.Time // all moments are durations since then
	box   *mailbox
	hooks Hooks
	log   *slog.Logger

	// The loop's.
	coordinator *coordinator
	wall        time.Duration // how far the wall clock was from epoch at the last turn, less the moment
	date        int64         // the wall clock at that turn, in ms since 1970
	server      *Server
	posts       []*post      // by the number of the node
	surveys     chan *survey // in a cluster
	alarm       *time.Timer
	alarmAt     time.Duration // when it rings; 0 when it is not set
	troubled    bool
	apart       bool // of the clocks

	last    Stats         // written before stopped is closed
	stopped chan struct{} // the loop has ended
	helpers sync.WaitGroup
}

// suspicion is how far the wall clock may run ahead of the monotonic one before the machine is believed
// to have been suspended. Clocks that are slewed stay far below it.
const suspicion = 500 * time.Millisecond

// newEngine prepares an engine that has no server yet.
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

// Start runs an engine on a server until it is asked to close. The server's client stays the caller's.
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

// post is who works for a node: couriers, syncers and a subscriber. The channels are the loop's.
type post struct {
	batches chan *batch
	synced  chan *batch // those that replicas are asked about
	orders  chan *order
}

// of is where those wait who carry such a batch.
func (p *post) of(c *coordinator, b *batch) chan<- *batch {
	if c.asksReplicas(b.verb) {
		return p.synced
	}
	return p.batches
}

// staff starts those who work for a new node.
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

// lender is for one who needs connections of its own. A client of the engine's own is closed before its helpers are waited
// for, which ends every call; in the pool of somebody else's one may wait for as long as the program likes.
func (e *Engine) lender() *lender {
	if e.server.private {
		return newLender(nil, e.helpers.Go)
	}
	return newLender(e.stopped, onGoroutine)
}

// dismiss ends those who work for a node, once they are done with what they have.
func (e *Engine) dismiss(number int) {
	if p := e.posts[number]; p != nil {
		close(p.batches)
		close(p.synced)
		close(p.orders)
		e.posts[number] = nil
	}
}

// Now is the moment on the engine's clock.
func (e *Engine) Now() time.Duration { return time.Since(e.epoch) }

// Time is a moment of the engine's clock as a time.
func (e *Engine) Time(moment time.Duration) time.Time { return e.epoch.Add(moment) }

// Post hands a call to the loop, which tells Ready when the verdict is out. It reports false, and leaves
// the call alone, once the engine is closed. It never blocks.
func (e *Engine) Post(c *Call) bool {
	c.letter = mail{what: &c.Request}
	return e.box.post(&c.letter)
}

// PostAll is Post for several calls, which the loop takes in within one turn, in their order. They are
// posted all or none.
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

// Cancel gives a posted call up. The verdict still comes, and a grant is given back; the call must not
// be used again. It never blocks.
func (e *Engine) Cancel(c *Call, cause error) {
	e.box.post(&mail{what: givesUp{&c.Request, cause}})
}

// CancelAll is Cancel for several requests of calls, which are the loop's from now on. The loop takes them in within one turn.
func (e *Engine) CancelAll(requests []*actor.Request, cause error) {
	e.box.post(&mail{what: giveUp{requests, cause}})
}

// Stats returns a snapshot, after Close the last one. It waits for one turn of the loop.
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

// Stopped is closed when the loop has ended.
func (e *Engine) Stopped() <-chan struct{} { return e.stopped }

// Wait waits for the couriers and the subscriber: those under way end with their call.
func (e *Engine) Wait() { e.helpers.Wait() }

// run is the loop.
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

// ended counts a turn by how long it took, and tells of one that took too long. It reads the clock, the second and last time of the turn.
func (e *Engine) ended(began time.Duration) {
	took := e.Now() - began
	e.coordinator.turnTimes.note(took)
	if took > lateTurn && e.hooks.Late != nil {
		e.hooks.Late(took)
	}
}

// lateTurn is how long a turn may take before observers are told.
const lateTurn = 5 * time.Millisecond

// moment reads the clock, once a turn. The monotonic clock stands still while a machine is suspended and
// leases run on: a wall clock that ran ahead of it puts every confirmation in doubt.
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

// letGo publishes what a turn came to. Ends come first, so that a hold is over before the command leaves
// that ends it; then batches, so that the server works while callers wake.
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
		e.posts[b.node.number].of(c, b) <- b // never blocks: no more are out than there are couriers
	}
	for _, n := range c.nodes {
		if n.ears.order != nil {
			e.posts[n.number].orders <- n.ears.order // never blocks: one is under way at most
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

// tellCaller tells a caller that its verdict is out. Nobody waits for one that the coordinator asked for itself.
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

// redial ends the connections to a server that is a master no more, where its address may lead to another one.
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

// reorganise follows the masters as they change.
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
		e.surveys <- k.order // never blocks: one is under way at most
		k.order = nil
	}
}

// mourn logs the locks that a turn lost, in one line.
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

// tell logs when the server can no longer be reached, and when it can again.
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

// sleep waits for mail, if nothing is due. The alarm is mail, too. One that rings too early is left as it
// is: setting a timer can wake a thread, which costs a lone caller more than a turn with nothing to do.
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

// finish refuses all further mail, has every caller told, and ends the helpers once they are done with what they have.
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
	e.last.InFlight, e.last.Subscriptions, e.last.Polling = 0, 0, 0 // what is on its way, or listened to, ends with the connections
	e.alarm.Stop()
	for number := range e.posts {
		e.dismiss(number)
	}
	if e.surveys != nil {
		close(e.surveys)
	}
}
