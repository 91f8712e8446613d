package engine

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// Hooks are functions that the loop calls. They must not block and must not call back into the engine. HoldEnded must
// be set: it publishes the end of a hold to its users. Result and SlowTurn may be nil. They are immutable from Start
// on.
type Hooks struct {
	Result    func(r *actor.Request, waited time.Duration) // r has its result, but its caller has not been notified
	HoldEnded func(e *actor.HoldEnd)                       // a hold has ended; called once per hold
	SlowTurn  func(turn time.Duration)                     // a turn took longer than 5 ms
	PrefixLen int                                          // length of the prefix of keys, which log records leave out
}

// Engine is the loop with its workers: senders and subscribers. Start or StartUnconnected makes one and its loop; the
// zero Engine has none. All its methods are safe for concurrent use. The fields before connected are immutable from the
// start of the loop on.
type Engine struct {
	epoch time.Time // origin of the engine's clock: all times are durations since then
	box   *mpsc.Mailbox[any]
	calls *sync.Pool // of *Call
	hooks Hooks
	log   *slog.Logger
	async *asyncLimit

	announcer *announcer // nil: the engine says nothing about itself
	own       ownMessages

	connected atomic.Pointer[Server] // the server of an engine that began without one; the loop takes it over

	// Owned by the loop.
	coordinator *coordinator.Coordinator
	wallOffset  time.Duration // wall clock minus monotonic clock, at the last turn
	wallMillis  int64         // wall clock at the last turn, in ms since 1970
	server      *Server
	workers     map[*coordinator.Node]*nodeWorkers // without those that were stopped
	refreshes   chan *coordinator.RefreshRequest   // nil outside a cluster
	timer       *time.Timer
	timerAt     time.Duration // when the timer fires, on the engine's clock; 0: not set
	// noYieldUntil is the time before which the loop does not yield, see yieldForBatching.
	noYieldUntil time.Duration
	serverDown   bool
	clockSkewed  bool // the clocks of this machine and of the server differ, and that was logged

	lastStats  coordinator.Stats // final snapshot, written before stopped is closed
	stopped    chan struct{}     // closed when the loop has ended
	goroutines sync.WaitGroup
}

// newEngine returns an engine without a server. Of a nil Identity it says nothing.
func newEngine(config actor.Config, about *Identity, hooks Hooks, log *slog.Logger) *Engine {
	e := &Engine{
		epoch:       time.Now(),
		box:         mpsc.NewMailbox[any](),
		async:       newAsyncLimit(&config),
		calls:       newCallPool(),
		workers:     make(map[*coordinator.Node]*nodeWorkers),
		coordinator: coordinator.New(config, coordinator.SendersPerNode),
		stopped:     make(chan struct{}),
		hooks:       hooks,
		log:         log,
	}
	if about != nil {
		e.announcer = newAnnouncer(about, log, e.stopped)
		e.own.channel = about.Channel
	}
	if e.own.channel != "" {
		e.coordinator.InitOwnChannel(e.own.channel)
	}
	e.timer = time.AfterFunc(time.Hour, func() { e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimerFired{}}) })
	e.timer.Stop()
	return e
}

// Start runs an engine on a server until it is asked to close. The caller keeps ownership of the server's client. If
// log is nil, the engine logs nothing; if about is nil, it says nothing about itself.
func Start(server *Server, config actor.Config, about *Identity, hooks Hooks, log *slog.Logger) *Engine {
	e := newEngine(config, about, hooks, log)
	e.server = server
	if server.Cluster() {
		e.coordinator.InitCluster(server.topology)
		e.startRefreshes()
	} else {
		e.coordinator.Fallback.Address = masterOf(server.client)
		e.coordinator.CanRedial = server.canRedial(e.coordinator.Fallback.Address)
		e.startWorkers(e.coordinator.Fallback)
	}
	e.announce()
	go e.run()
	return e
}

// StartUnconnected is Start for an engine without a server yet, for cause. Until Connected it acts as in an outage.
func StartUnconnected(cause error, config actor.Config, about *Identity, hooks Hooks, log *slog.Logger) *Engine {
	e := newEngine(config, about, hooks, log)
	e.coordinator.InitUnconnected(cause)
	e.box.Post(&coordinator.LoopMessage{Value: coordinator.ConnectFailed{Cause: cause}}) // so that it is logged
	go e.run()
	return e
}

// ConnectFailed says why an engine of StartUnconnected still has no server.
func (e *Engine) ConnectFailed(cause error) {
	e.box.Post(&coordinator.LoopMessage{Value: coordinator.ConnectFailed{Cause: cause}})
}

// Connected gives an engine of StartUnconnected its server. It must be called at most once. Once the engine is closed,
// it does nothing.
func (e *Engine) Connected(server *Server) {
	e.connected.Store(server)
	about := coordinator.Connected{Topology: server.topology}
	if !server.Cluster() {
		about.Address = masterOf(server.client)
		about.CanRedial = server.canRedial(about.Address)
	}
	e.box.Post(&coordinator.LoopMessage{Value: about})
}

// announce starts the announcer.
func (e *Engine) announce() {
	if a := e.announcer; a != nil {
		a.client, a.alone = e.server.client, e.server.Cluster()
		e.goroutines.Go(a.run)
	}
}

// Withdrawn blocks until the engine's record is deleted, or that was given up. It must be called after the loop has
// ended, and before the end of the client.
func (e *Engine) Withdrawn() {
	if a := e.announcer; a != nil && a.client != nil {
		<-a.ended
	}
}

// recordWrite returns the write of the record that senders take along, or nil.
func (e *Engine) recordWrite() *recordWrite {
	if e.announcer == nil {
		return nil
	}
	return e.announcer.write
}

// startRefreshes starts the topology refresher of a cluster.
func (e *Engine) startRefreshes() {
	e.refreshes = make(chan *coordinator.RefreshRequest, 1)
	server, timeout, orders := e.server, e.coordinator.Fx.Config.CallTimeout, e.refreshes
	e.goroutines.Go(func() { refreshLoop(server, timeout, orders, e.box) })
}

// nodeWorkers holds the channels to the workers of one node: senders, replica senders and a subscriber. startWorkers
// makes them; a worker ends when its channel is closed. Owned by the loop; a worker has its channel only.
type nodeWorkers struct {
	batches        chan *coordinator.Batch
	replicaBatches chan *coordinator.Batch // batches that WAIT follows
	orders         chan *coordinator.Order
}

// queueFor returns the channel on which a batch is sent to its workers.
func (w *nodeWorkers) queueFor(c *coordinator.Coordinator, b *coordinator.Batch) chan<- *coordinator.Batch {
	if c.WaitsForReplicas(b.Verb) {
		return w.replicaBatches
	}
	return w.batches
}

// startWorkers starts the workers of a new node.
func (e *Engine) startWorkers(n *coordinator.Node) {
	w := &nodeWorkers{
		batches:        make(chan *coordinator.Batch, coordinator.SendersPerNode),
		replicaBatches: make(chan *coordinator.Batch, coordinator.ReplicaSendersPerNode),
		orders:         make(chan *coordinator.Order, 1),
	}
	e.workers[n] = w
	config, address := &e.coordinator.Fx.Config, n.Address
	id := config.ID
	for range coordinator.SendersPerNode {
		e.goroutines.Go(func() { runSender(e.server.nodeConn(address), e.encoder(id), w.batches, e.recordWrite(), e.box) })
	}
	if config.Replicas != 0 {
		replicas := replication{min: config.Replicas, timeout: config.ReplicaTimeout}
		for range coordinator.ReplicaSendersPerNode {
			s := &replicaSender{
				nodeConn: e.server.nodeConn(address), encoder: e.encoder(id), replicas: replicas,
				lender: e.lender(), poolTimeout: config.CallTimeout,
			}
			e.goroutines.Go(func() { s.run(w.replicaBatches, e.box) })
		}
	}
	listener := &subscriber{
		nodeConn: e.server.nodeConn(address), sharded: e.server.sharded, node: n, box: e.box, orders: w.orders, lender: e.lender(), own: &e.own,
		unsubscriber: unsubscriber{run: e.goroutines.Go, done: e.stopped, notesTimeout: config.CallTimeout},
	}
	e.goroutines.Go(listener.run)
}

// encoder returns the encoder of a worker.
func (e *Engine) encoder(id string) *wire.Encoder {
	w := e.server.encoder(id)
	w.Silent = e.announcer == nil
	return w
}

// lender returns a source of dedicated connections. The engine's own client is closed before its workers are waited
// for, which ends every call. In the pool of a client that the program owns, waiting for a connection has no limit in
// time.
func (e *Engine) lender() *lender {
	if e.server.reuseBuffers {
		return newLender(nil, e.goroutines.Go)
	}
	return newLender(e.stopped, onGoroutine)
}

// stopWorkers stops the workers of a node. They finish what they have first.
func (e *Engine) stopWorkers(n *coordinator.Node) {
	if w := e.workers[n]; w != nil {
		close(w.batches)
		close(w.replicaBatches)
		close(w.orders)
		delete(e.workers, n)
	}
}

// Now returns the current time on the engine's clock.
func (e *Engine) Now() time.Duration { return time.Since(e.epoch) }

// Time converts a time of the engine's clock to a time.Time.
func (e *Engine) Time(moment time.Duration) time.Time { return e.epoch.Add(moment) }

// Post hands a call to the loop, which sends on Ready when the result is available. Once the engine is closed, Post
// returns false and does not touch the call. It never blocks.
func (e *Engine) Post(c *Call) bool {
	c.msg = coordinator.LoopMessage{Value: &c.Request}
	return e.box.Post(&c.msg)
}

// PostAsync is Post for a call of NewAsync with OnDone, for which no goroutine waits. It returns nil if the call was
// posted. Otherwise it does not touch the call, and returns ErrClosed, or ErrTooManyWaiters with its cause if too many
// such calls have no result yet.
func (e *Engine) PostAsync(c *Call) (err, cause error) {
	if !e.async.admit(&c.Request) {
		return actor.ErrTooManyWaiters, e.async.cause
	}
	if !e.Post(c) {
		e.async.pending.Add(-1)
		return actor.ErrClosed, nil
	}
	return nil, nil
}

// PostAll posts several calls, at least one, which the loop receives in one turn and in their order. It posts all of
// them or none. It returns false once the engine is closed, and never blocks.
func (e *Engine) PostAll(calls []Call) bool {
	for i := range calls {
		c := &calls[i]
		c.msg = coordinator.LoopMessage{Value: &c.Request}
		if i > 0 {
			c.msg.Next = &calls[i-1].msg
		}
	}
	return e.box.PostChain(&calls[len(calls)-1].msg, &calls[0].msg)
}

// Cancel gives up a posted call. The result still comes, and a grant is released. The call must not be reused. Cancel
// never blocks.
func (e *Engine) Cancel(c *Call, cause error) {
	e.box.Post(&coordinator.LoopMessage{Value: coordinator.CancelRequest{Request: &c.Request, Cause: cause}})
}

// Leaked says that no caller can unlock a hold any more. It never blocks. It does not wake the loop. A goroutine of the
// garbage collector calls it, which belongs to no bubble of testing/synctest. A send on a channel of a bubble would end
// the process. With Config.FindLeaks the loop has a turn soon enough.
func (e *Engine) Leaked(h *actor.Hold) {
	e.box.PostSilently(&coordinator.LoopMessage{Value: coordinator.LeakedHold{Hold: h}})
}

// CancelAll is Cancel for several requests, which the loop owns from then on. The loop receives them in one turn.
func (e *Engine) CancelAll(requests []*actor.Request, cause error) {
	e.box.Post(&coordinator.LoopMessage{Value: coordinator.CancelAllRequest{Requests: requests, Cause: cause}})
}

// Stats returns a snapshot. After the engine is closed it returns the final one. It blocks for one turn of the loop.
func (e *Engine) Stats() coordinator.Stats {
	s := &coordinator.Stats{}
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	if !e.box.Post(&coordinator.LoopMessage{Value: coordinator.StatsRequest{Request: r, Stats: s}}) {
		<-e.stopped
		*s = e.lastStats
	} else {
		<-r.Ready
	}
	if e.announcer != nil {
		s.UnwrittenRecords = e.announcer.unwritten.Load()
	}
	return e.async.addTo(*s)
}

// NextPage fills in the next page of a snapshot. It returns actor.ErrClosed if the engine is closed, and
// actor.ErrUnavailable if done is closed first. It blocks for some turns of the loop, of which many lists that are read
// at a time need one for each page.
func (e *Engine) NextPage(done <-chan struct{}, s *coordinator.Snapshot) error {
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	if !e.box.Post(&coordinator.LoopMessage{Value: coordinator.SnapshotRequest{Request: r, Snapshot: s}}) {
		return actor.ErrClosed
	}
	select {
	case <-r.Ready:
	case <-done:
		e.box.Post(&coordinator.LoopMessage{Value: coordinator.CancelRequest{Request: r, Cause: context.Canceled}})
		<-r.Ready
	}
	return r.Err
}

// Status returns what is known of each node, or actor.ErrClosed. It blocks for some turns of the loop.
func (e *Engine) Status() (nodes []coordinator.NodeStatus, err error) {
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	err = e.ask(r, coordinator.StatusRequest{Request: r, Nodes: &nodes})
	return nodes, err
}

// ask posts a message that completes r, and waits for that.
func (e *Engine) ask(r *actor.Request, message any) error {
	if !e.box.Post(&coordinator.LoopMessage{Value: message}) {
		return actor.ErrClosed
	}
	<-r.Ready
	return r.Err
}

// Stopped returns a channel that is closed when the loop has ended.
func (e *Engine) Stopped() <-chan struct{} { return e.stopped }

// Wait blocks until all workers have ended. A worker with a batch in flight ends when that batch does.
func (e *Engine) Wait() { e.goroutines.Wait() }

// run executes turns until the coordinator is closed.
func (e *Engine) run() {
	defer close(e.stopped)
	for !e.coordinator.Closed {
		e.yieldForBatching()
		messages := e.box.TakeAll()
		now := e.readClock()
		if now >= e.timerAt {
			e.timerAt = 0
		}
		e.coordinator.Turn(now, messages)
		e.flush(now)
		e.coordinator.ResetOutputs()
		e.noteTurnTime(now)
		e.sleep(now)
	}
	e.shutdown()
}

// noteTurnTime records how long a turn took and reports a slow one to Hooks.SlowTurn. It reads the clock for the second
// and last time of the turn.
func (e *Engine) noteTurnTime(began time.Duration) {
	took := e.Now() - began
	e.coordinator.NoteTurn(took)
	if took > slowTurn && e.hooks.SlowTurn != nil {
		e.hooks.SlowTurn(took)
	}
}

// slowTurn is the longest turn that is not reported to Hooks.SlowTurn.
const slowTurn = 5 * time.Millisecond

// readClock reads the clock for a turn: all of the turn has this one time. (noteTurnTime reads it a second time, only
// to measure the turn.) While a machine is suspended, the monotonic clock stops and leases run on. So if the wall clock
// has advanced further, the locks must be confirmed again.
func (e *Engine) readClock() time.Duration {
	at := time.Now()
	now := at.Sub(e.epoch)
	wall := at.Round(0).Sub(e.epoch.Round(0)) - now
	if wall-e.wallOffset > coordinator.SuspendThreshold {
		e.coordinator.ReconfirmAll(now)
	}
	e.wallOffset, e.wallMillis = wall, at.UnixMilli()
	return now
}

// flush publishes the outputs of a turn. Ended holds come first, so that a hold has ended before the command that ends
// it is sent. Batches come next, so that the server works while callers wake up.
func (e *Engine) flush(now time.Duration) {
	c := e.coordinator
	for i := range c.Fx.HoldEnds {
		e.hooks.HoldEnded(&c.Fx.HoldEnds[i])
	}
	e.logLost(c.Fx.HoldEnds)
	e.logNotices("lockwheel: a hold was not unlocked and cannot be reached; it ends with its lease", c.Fx.Leaks)
	e.logNotices("lockwheel: a lock is held for longer than Options.HeldTooLong", c.Fx.TooLong)
	e.redial(c)
	e.updateWorkers(c)
	for _, b := range c.Batches {
		for batch := b; batch != nil; batch = batch.Next {
			batch.SentWallMillis = e.wallMillis
		}
		e.workers[b.Node].queueFor(c, b) <- b // never blocks: at most as many are in flight as there are senders
	}
	for _, n := range c.Nodes {
		if n.Subscriptions.Order != nil {
			e.workers[n].orders <- n.Subscriptions.Order // never blocks: at most one is in flight
		}
	}
	if handled := c.OwnMessagesHandled(); handled > 0 {
		e.own.pending.Add(-int64(handled))
		e.announcer.take(c.Answers())
	}
	c.PrefetchCallers()
	finished := 0 // requests of PostAsync
	for _, r := range c.Results.Ready {
		if e.hooks.Result != nil {
			e.hooks.Result(r, now-r.ReceivedAt())
		}
		if r.OnDone != nil && r.Async {
			finished++
		}
		wakeCaller(r)
	}
	e.async.finish(finished, c.AsyncCancelsLeft())
	e.logHealth()
	e.logClockSkew()
}

// wakeCaller notifies a caller that its result is available. Requests of the coordinator itself have no caller.
func wakeCaller(r *actor.Request) {
	switch {
	case r.OnDone != nil:
		r.OnDone()
	case r.Async:
		close(r.Ready)
	case r.Ready != nil:
		r.Ready <- struct{}{}
	}
}

// redial closes the connections to a server that is no longer a master, if its address may lead to the new master.
func (e *Engine) redial(c *coordinator.Coordinator) {
	if !c.Redial {
		return
	}
	e.server.redial()
	if e.log != nil {
		e.log.Warn("lockwheel: the server is a replica; connecting to its address again")
	}
}

// updateWorkers starts and stops workers as the masters change, and sends a pending refresh request for the topology.
func (e *Engine) updateWorkers(c *coordinator.Coordinator) {
	if c.Connected {
		e.server = e.connected.Load()
		if e.server.Cluster() {
			e.startRefreshes()
		}
		e.announce()
	}
	for _, n := range c.Added {
		e.startWorkers(n)
	}
	for _, n := range c.Removed {
		e.stopWorkers(n)
	}
	if cl := c.Cluster; cl != nil && cl.Request != nil {
		e.refreshes <- cl.Request // never blocks: at most one is in flight
	}
}

// logLost logs the locks lost in a turn, in one line.
func (e *Engine) logLost(ended []actor.HoldEnd) {
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
		about := []any{"count", count, "last", e.nameOf(ended[last].Key), "cause", ended[last].Cause}
		e.log.Warn("lockwheel: locks lost", append(about, noteAttrs(ended[last].Hold)...)...)
	}
}

// nameOf returns the name of a key, as its callers know it.
func (e *Engine) nameOf(key string) string { return key[e.hooks.PrefixLen:] }

// maxNotices is the maximum number of holds that the records of a turn name, so that very many do not displace all
// other records.
const maxNotices = 8

// logNotices logs holds that need a look.
func (e *Engine) logNotices(what string, notices []actor.HoldNotice) {
	if e.log == nil {
		return
	}
	for i, n := range notices {
		if i == maxNotices {
			e.log.Warn(what, "more", len(notices)-i)
			return
		}
		e.log.Warn(what, append([]any{"lock", e.nameOf(n.Key), "held", n.Held.Round(time.Millisecond)}, noteAttrs(n.Hold)...)...)
	}
}

// noteAttrs returns what is known of a hold for a log record.
func noteAttrs(h *actor.Hold) (attrs []any) {
	n := h.Note()
	if n == nil {
		return nil
	}
	if n.Label != "" {
		attrs = append(attrs, "label", n.Label)
	}
	if n.Site != nil {
		if site := n.Site.String(); site != "" {
			attrs = append(attrs, "site", site)
		}
	}
	return attrs
}

// logHealth logs when the server is considered down and when it replies again.
func (e *Engine) logHealth() {
	if e.log == nil {
		return
	}
	down := e.coordinator.FirstDown()
	if (down != nil) == e.serverDown {
		return
	}
	e.serverDown = down != nil
	if down == nil {
		e.log.Info("lockwheel: redis answers again")
		return
	}
	about := []any{"cause", down.Breaker.Cause}
	if down.Address != "" {
		about = append(about, "node", down.Address)
	}
	e.log.Warn("lockwheel: redis does not answer; trying again", about...)
}

// sleep waits for messages, if nothing is due. The timer posts a message, too. A timer that is set too early stays set.
// Setting a timer can wake a thread, which costs a lone caller more than an empty turn.
func (e *Engine) sleep(now time.Duration) {
	if e.coordinator.Closed {
		return
	}
	at, ok := e.coordinator.Next()
	if ok && at <= now {
		return
	}
	if ok && (e.timerAt == 0 || at < e.timerAt) {
		e.timerAt = at
		e.timer.Reset(at - now)
	}
	if e.box.PrepareSleep() {
		<-e.box.Wakeup
	}
}

// shutdown closes the mailbox, ends all requests, and stops the workers once they have finished what they have.
func (e *Engine) shutdown() {
	now := e.Now()
	c := e.coordinator
	c.Turn(now, e.box.Close())
	e.flush(now)
	for c.ResetOutputs(); c.ClosePending(); c.ResetOutputs() {
		now = e.Now()
		c.Turn(now, nil)
		e.flush(now)
	}
	if a := e.announcer; a != nil {
		a.down.Store(c.IsDown(a.identity.Key))
	}
	e.lastStats = c.Stats()
	e.lastStats.InFlight, e.lastStats.Subscriptions, e.lastStats.Polling = 0, 0, 0 // commands in flight and subscriptions end with the connections
	e.timer.Stop()
	for n := range e.workers {
		e.stopWorkers(n)
	}
	if e.refreshes != nil {
		close(e.refreshes)
	}
}
