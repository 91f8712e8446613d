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
	epoch time.Time // origin of the engine's clock, firstTime before the engine was made: all times are durations since then
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
	clocks      clocks
	wallNanos   int64 // wall clock at the last turn, in ns since 1970
	server      *Server
	workers     map[*coordinator.Node]*nodeWorkers // without those that were stopped
	refreshes   chan *coordinator.RefreshRequest   // nil outside a cluster
	timer       *time.Timer
	timerAt     time.Duration // when the timer fires, on the engine's clock; coordinator.NoTimer: it is not set
	// When the last long yield ended, and how long it took; 0: there was none. See yieldPaused.
	longYieldEnded, longYieldTook time.Duration

	busyWaitFor   int  // the last argument of Server.OnBusyWait's function
	workLeft      bool // the last turn has left work for the next one
	woken         int  // how many requests got their result from the last turn
	serverDown    bool // that a server does not reply was logged
	serverRefuses bool // that a server rejects what changes a lock was logged
	clockSkewed   bool // the clocks of this machine and of the server differ, and that was logged

	lastStats  coordinator.Stats // final snapshot, written before stopped is closed
	stopped    chan struct{}     // closed when the loop has ended
	goroutines sync.WaitGroup
}

// firstTime is the time on the engine's clock when the engine is made. The state machines read a time of 0 as "not
// yet", and where time stands still, as in a bubble of testing/synctest, a lock is granted at firstTime. It is a whole
// tick, so that timers which are set then fire no later than they would from 0.
const firstTime = coordinator.Tick

// newEngine returns an engine without a server. Of a nil Identity it says nothing.
func newEngine(config actor.Config, about *Identity, hooks Hooks, log *slog.Logger) *Engine {
	e := &Engine{
		epoch:       time.Now().Add(-firstTime),
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
	e.timer = time.AfterFunc(time.Hour, func() { e.box.Post(&coordinator.LoopMessage{Value: coordinator.TimersDue{}}) })
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
	e.ConnectFailed(cause) // so that it is logged
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
	asks := newTopologyQueries(e.workerRunner())
	e.goroutines.Go(func() { refreshLoop(server, asks, timeout, orders, e.box) })
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
// such calls have no result yet. It never blocks, but yields the processor now and then.
func (e *Engine) PostAsync(c *Call) (err, cause error) {
	if !e.async.admit(&c.Request) {
		return actor.ErrTooManyWaiters, e.async.cause
	}
	if !e.Post(c) {
		e.async.pending.Add(-1)
		return actor.ErrClosed, nil
	}
	if n := e.async.pending.Load(); n > 0 && n%callsPerYield == 0 {
		yieldToLoop()
	}
	return nil, nil
}

// PostAsyncUnlock is Post for an unlock of NewAsync, which is never rejected while the engine is open. It never blocks,
// but yields the processor now and then.
func (e *Engine) PostAsyncUnlock(c *Call) bool {
	if !e.Post(c) {
		return false
	}
	if e.async.unlocks.Add(1)%callsPerYield == 0 {
		yieldToLoop()
	}
	return true
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

// CancelAll is Cancel for several requests, which the loop owns from then on. The loop receives them in one turn. It
// yields the processor, because a caller with very many requests calls it in a row.
func (e *Engine) CancelAll(requests []*actor.Request, cause error) {
	e.box.Post(&coordinator.LoopMessage{Value: coordinator.CancelAllRequest{Requests: requests, Cause: cause}})
	yieldToLoop()
}

// Stats returns a snapshot. After the engine is closed it returns the final one. It blocks for one turn of the loop.
func (e *Engine) Stats() coordinator.Stats {
	s := &coordinator.Stats{}
	r := &actor.Request{Ready: make(chan struct{}, 1)}
	if e.ask(r, coordinator.StatsRequest{Request: r, Stats: s}) == actor.ErrClosed {
		<-e.stopped
		*s = e.lastStats
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
		e.yieldBetweenTurns()
		messages := e.box.TakeAll()
		now := e.readClock()
		if now >= e.timerAt {
			e.timerAt = coordinator.NoTimer
		}
		e.coordinator.Turn(now, messages)
		e.flush(now)
		e.coordinator.ResetOutputs()
		e.sleep(e.gather(e.noteTurnTime(now)))
	}
	e.shutdown()
}

// noteTurnTime records how long a turn took and reports a slow one to Hooks.SlowTurn. It reads the clock for the second
// and last time of the turn, and returns that time.
func (e *Engine) noteTurnTime(began time.Duration) (ended time.Duration) {
	ended = e.Now()
	took := ended - began
	e.coordinator.NoteTurn(took)
	if took > slowTurn && e.hooks.SlowTurn != nil {
		e.hooks.SlowTurn(took)
	}
	return ended
}

// slowTurn is the longest turn that is not reported to Hooks.SlowTurn.
const slowTurn = 5 * time.Millisecond

// readClock reads the clock for a turn: all of the turn has this one time. (noteTurnTime reads it a second time, to
// measure the turn and to set the timer.) While a machine is suspended, the monotonic clock stops and leases run on. So
// if the wall clock has advanced further, the locks must be confirmed again.
func (e *Engine) readClock() time.Duration {
	at := time.Now()
	now := at.Sub(e.epoch)
	e.wallNanos = at.UnixNano()
	if e.clocks.suspended(now, time.Duration(e.wallNanos-e.epoch.UnixNano())-now) {
		e.coordinator.ReconfirmAll(now)
	}
	return now
}

// flush publishes the outputs of a turn. Ended holds come first, so that a hold has ended before the command that ends
// it is sent. Observers are notified of the grant of such a hold even before. Batches come next, so that the server
// works while callers wake up.
func (e *Engine) flush(now time.Duration) {
	c := e.coordinator
	for i := range c.Fx.HoldEnds {
		if granted := c.Fx.HoldEnds[i].Granted; granted != nil {
			e.report(now, granted) // before its end
		}
		e.hooks.HoldEnded(&c.Fx.HoldEnds[i])
	}
	e.logLost(c.Fx.HoldEnds)
	e.logNotices("lockwheel: a hold was not unlocked and cannot be reached; it ends with its lease", c.Fx.Leaks)
	e.logNotices("lockwheel: a lock is held for longer than Options.HeldTooLong", c.Fx.TooLong)
	e.redial(c)
	e.updateWorkers(c)
	e.notifyBusyWait()
	for _, b := range c.Batches {
		for batch := b; batch != nil; batch = batch.Next {
			batch.SentWallMillis = e.wallNanos / int64(time.Millisecond)
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
	e.woken = len(c.Results.Ready)
	finished := 0 // requests of PostAsync
	for _, r := range c.Results.Ready {
		e.report(now, r)
		if r.OnDone != nil && r.Async {
			finished++
		}
		wakeCaller(r)
	}
	e.async.finish(finished, c.AsyncCancelsLeft())
	e.logHealth()
	e.logClockSkew()
}

// notifyBusyWait passes on for how many commands the connections busy-wait, if that has changed: before more are sent,
// and when there are none. Beside very many a part of the replies changes nothing.
func (e *Engine) notifyBusyWait() {
	if e.server == nil || e.server.onBusyWait == nil {
		return
	}
	commands := e.coordinator.BusyWaitFor()
	if commands != e.busyWaitFor && (commands == 0 || len(e.coordinator.Batches) > 0) {
		e.busyWaitFor = commands
		e.server.onBusyWait(commands)
	}
}

// report tells observers of a result, once.
func (e *Engine) report(now time.Duration, r *actor.Request) {
	if e.hooks.Result != nil && r.MarkReported() {
		e.hooks.Result(r, now-r.ReceivedAt())
	}
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

// sleep waits for messages, if nothing is due. The timer posts a message, too. A timer that is set too early stays set.
// Setting a timer can wake a thread, which costs a lone caller more than an empty turn. now is the end of the turn:
// what became due while the turn ran is due at once.
func (e *Engine) sleep(now time.Duration) {
	if e.coordinator.Closed {
		return
	}
	at, ok := e.coordinator.NextBefore(e.timerAt)
	if e.workLeft = ok && at <= now; e.workLeft {
		return
	}
	if ok && at < e.timerAt {
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
	e.lastStats.EndGauges()
	e.timer.Stop()
	for n := range e.workers {
		e.stopWorkers(n)
	}
	if e.refreshes != nil {
		close(e.refreshes)
	}
}
