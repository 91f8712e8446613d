package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Operations of requests of the engine, in addition to those that locks handle. They begin at 100, beyond those of
// package actor.
const (
	AskState    actor.Op = 100 + iota // Request.State receives the state of Request.Key at one instant
	AskCount                          // Request.State.Count receives the number of holds of Request.Owner on Request.Key
	AskShutdown                       // reject new locks; the result comes when no lock is held any more
	AskConfirm                        // confirm the lock of a hold now, without a change; the result comes first
	AskClose                          // end all holds and requests at once
)

const (
	// Tick is the tick of the coordinator's wheels: timers fire at most that much late, beside the length of a turn.
	Tick = time.Millisecond
	// spareLocks is the maximum number of finished locks that are kept to be used again.
	spareLocks = 1024
)

// Coordinator makes the decisions of a turn. It is pure: without a clock, I/O or a goroutine. It owns the locks, the
// wheels, and the commands waiting to be sent. It is owned by the loop: one goroutine makes all calls. New makes one;
// the zero Coordinator has no node and no wheels.
type Coordinator struct {
	Fallback           *Node    // the server; in a cluster the node to ask when the owner is unknown
	Nodes              []*Node  // the server, or all nodes of a cluster that own slots; also nodes that own none but have work left
	Cluster            *cluster // nil when there is one server
	hasEmptyNodes      bool     // there may be nodes without slots
	Fx                 *actor.Effects
	Locks              lockMap
	LockSets           map[string]*lockSet // by key, of the kinds with one lock per request
	mostLockSets       peak
	freeLocks          []*actor.Lock    // finished locks, for reuse
	Senders            int              // number of senders per node
	rotation           uint             // number of batches that were asked for so far, so that verbs of equal priority take turns
	prefetchSink       int              // meaningless: it only keeps the compiler from removing the prefetch
	shutdownWaiters    []*actor.Request // shutdown requests that wait for the end
	pendingStats       []*Stats         // requested in this turn; filled at its end, when the resulting commands are in flight
	Closed             bool
	inFollowUps        bool // runFollowUps is running
	intake             intake
	reconfirms         reconfirmation
	DrainRound         round // of a shutdown or close in progress
	lastList           listRound
	closing            closing
	Results            resultQueue
	fanouts            []*fanout              // the first one continues next
	fanoutOf           map[recipients]*fanout // those of fanouts, by recipients.same
	fanoutLeft         int                    // how many locks deliveries may step in this turn
	activeSweeps       int                    // number of queues being swept
	movesSubscriptions bool                   // moveSubscriptions has more to look at
	moreToScan         bool                   // a sender is free, but packing stopped at maxSkipped: continue next turn
	now                time.Duration          // time of the last turn
	timersFired        time.Duration          // time of the last turn that fired timers
	timersLate         time.Duration          // how late the first of the timers were that are due now
	counters           counters
	histograms         histograms

	Batches     []*Batch // output: to be sent
	Added       []*Node  // output: new nodes, which need workers
	Removed     []*Node  // output: removed nodes; their workers are to be stopped
	freeBatches []*Batch

	busy busyTrials // whether the connections busy-wait for replies

	limits limits // errors for requests beyond the limits on waiters

	unconnected bool // the engine has no server yet
	Connected   bool // output: it has one since this turn

	own ownChannel // where other clients reach this engine

	CanRedial bool // the engine may close the connections to the only server, to make new ones
	demotion  demotion
	Redial    bool // output: close them now
}

// counters are those of [Stats] that the coordinator itself counts: commands and batches that were sent, turns, and
// retries, see Stats.Retries. They never go back. Owned by the coordinator. The zero value has counted nothing.
type counters struct{ commands, batches, turns, retries uint64 }

// New returns a Coordinator for one server, with that many senders per node. For a cluster call InitCluster next.
func New(config actor.Config, senders int) *Coordinator {
	c := &Coordinator{
		Fx:       actor.NewEffects(config, newWheel(maxTimersPerTurn)),
		Locks:    newLockMap(),
		LockSets: make(map[string]*lockSet),
		Senders:  senders,
		limits:   newLimits(&config),
		intake:   intake{laneBudget: MaxMessagesPerTurn, pieceBudget: sweepPieces, lockBudget: maxLocksPerTurn, listeningReaders: maxListeningReaders},
		Results:  resultQueue{budget: MaxResultsPerTurn},
	}
	c.Fallback = NewNode("", config.Lease)
	c.Fallback.slots = 1
	c.Nodes = []*Node{c.Fallback}
	c.Fx.HeldTimers = newWheel(maxTimersPerTurn)
	c.Fx.QuorumWaits = c.expected
	c.Fx.ServerDown = func(key string) bool { return c.nodeForKey(key).Breaker.Down }
	c.Fx.RepliedAt = func(key string) time.Duration { return c.nodeForKey(key).Breaker.repliedAt() }
	c.Fx.MaxRejections = maxRejectedPerTurn
	c.Fx.MaxPlaceSteps, c.Fx.MaxMultiMoves = maxPlaceSteps, maxMultiMoves
	return c
}

// Turn handles its share of the messages received so far, then whatever is due. The package comment lists its outputs,
// in the order in which the loop publishes them. ResetOutputs must be called before the next turn. It asks here what is
// seldom due, before a call: each call brings code into a cache that is cold after a wake-up.
func (c *Coordinator) Turn(now time.Duration, messages *LoopMessage) {
	defer c.fillStats(now)
	c.counters.turns++
	c.now, c.moreToScan, c.Fx.PlaceSteps, c.Fx.MultiMoves, c.fanoutLeft = now, false, 0, 0, c.intake.lockBudget
	c.classify(now, messages)
	c.continueRejecting(now)
	if c.DrainRound.On() {
		c.drainSome(now)
	}
	if len(c.fanouts) > 0 {
		c.continueFanouts(now)
	}
	if c.movesSubscriptions {
		c.moveSubscriptions(now)
	}
	c.handleMessages(now)
	if c.Closed {
		c.closeSome(now)
		c.addCauses()
		c.selectResults()
		c.noteOutputs(now)
		return
	}
	c.fireTimers(now)
	if c.Cluster != nil {
		c.updateTopology(now)
	} else {
		c.reconfirmSome(now)
		if c.hasEmptyNodes {
			c.removeEmptyNodes()
		}
	}
	if c.activeSweeps > 0 {
		c.sweep()
	}
	c.updateOwnChannel(now)
	for _, n := range c.Nodes {
		if n.Subscriptions.backoff != 0 {
			c.notifyUnsubscribed(now, n, n.Subscriptions.takeUnreported())
		}
		c.dispatch(now, n)
		n.Subscriptions.updateOrder(now)
	}
	if len(c.shutdownWaiters) > 0 && c.drained() && !c.intake.mayRelease() {
		c.completeShutdown(now)
	}
	if c.closing.by != 0 {
		c.closeIfSettled(now)
	}
	c.addCauses()
	c.selectResults()
	c.noteOutputs(now)
}

// handle dispatches one message.
func (c *Coordinator) handle(now time.Duration, m *LoopMessage) {
	switch what := m.Value.(type) {
	case *actor.Request:
		c.handleRequest(now, what)
	case *Batch:
		c.onBatchDone(now, what)
	case StatsRequest:
		c.pendingStats = append(c.pendingStats, what.Stats)
		c.Fx.Complete(now, what.Request, nil, nil)
	case SnapshotRequest:
		c.nextPage(now, what)
		c.Fx.Complete(now, what.Request, nil, nil)
	case StatusRequest:
		*what.Nodes = c.status()
		c.Fx.Complete(now, what.Request, nil, nil)
	case CancelRequest:
		c.intake.asyncCancels -= asyncCancels(m)
		if len(c.intake.lateCancels) > 0 {
			c.intake.forgetLateCancel(what.Request)
		}
		c.handleCancel(now, what.Request, what.Cause)
	case CancelAllRequest:
		c.intake.asyncCancels -= asyncCancels(m)
		for _, r := range what.Requests {
			c.handleCancel(now, r, what.Cause)
		}
	case LeakedHold:
		if l := what.Hold.Lock(); l != nil && l.Key() != "" {
			c.step(now, l, &actor.Message{Event: actor.Leaked, Request: &actor.Request{Hold: what.Hold}})
		}
	case ConnectFailed:
		c.onConnectFailed(now, what.Cause)
	case Connected:
		c.onConnected(now, what)
	case MasterChanged:
		c.onMasterChanged(now, what.Address)
	case TopologyResult:
		c.onTopology(now, what.Topology, what.Err)
	case ChannelMessage, ChannelSubscribed, ChannelUnsubscribed, OrderDone, PubsubDown:
		c.handlePubSub(now, what)
	case LockForced:
		c.own.handled++
		c.confirmHolders(now, what.Key)
	case HolderQuery:
		c.own.handled++
		c.answer(now, what)
	case WaiterQuery:
		c.own.handled++
		c.answerWaiters(now, what)
	case TimersDue: // the turn itself was the purpose
	default:
		panic(fmt.Sprintf("lockwheel: bug: a message of type %T", what))
	}
}

// handlePubSub handles the messages of a node's subscriber.
func (c *Coordinator) handlePubSub(now time.Duration, what any) {
	switch what := what.(type) {
	case ChannelMessage:
		n := c.nodeOrDefault(what.Node)
		c.fanOut(now, recipients{event: actor.Notified, node: n, channel: what.Channel}, n.Subscriptions.onMessage(what.Channel))
	case ChannelSubscribed:
		n := c.nodeOrDefault(what.Node)
		c.fanOut(now, recipients{event: actor.Subscribed, node: n, channel: what.Channel}, n.Subscriptions.onSubscribed(what.Channel, what.Conn))
	case ChannelUnsubscribed:
		c.nodeOrDefault(what.Node).Subscriptions.onUnsubscribed(what.Channel, what.Conn)
	case OrderDone:
		n := c.nodeOrDefault(what.Node)
		c.notifyUnsubscribed(now, n, n.Subscriptions.onOrderDone(now, what.Conn, what.GoneConn, what.Err))
		c.onOwnChannelFailed(now, n, what.Err)
		c.onSubscribeRedirect(now, n, what.Err)
		if what.Err == ErrUnknownNode {
			c.probeUnknownNode(now, n)
		}
	case PubsubDown:
		c.nodeOrDefault(what.Node).Subscriptions.onConnLost(what.GoneConn)
		c.invalidateTopology()
	}
}

// notifyUnsubscribed notifies waiters that their channels cannot be subscribed for now.
func (c *Coordinator) notifyUnsubscribed(now time.Duration, n *Node, failedChannels []*channel) {
	for _, ch := range failedChannels {
		c.fanOut(now, recipients{event: actor.SubscribeFailed, node: n, channel: ch.name}, ch.listeners.all())
	}
}

// rejectMessage rejects a message that comes after the close.
func (c *Coordinator) rejectMessage(now time.Duration, m *LoopMessage) {
	switch what := m.Value.(type) {
	case *actor.Request:
		c.Fx.Complete(now, what, actor.ErrClosed, nil)
	case CancelRequest, CancelAllRequest:
		c.intake.asyncCancels -= asyncCancels(m)
	case StatsRequest:
		c.pendingStats = append(c.pendingStats, what.Stats)
		c.Fx.Complete(now, what.Request, nil, nil)
	case SnapshotRequest:
		c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)
	case StatusRequest:
		c.Fx.Complete(now, what.Request, actor.ErrClosed, nil)
	case LockForced, HolderQuery, WaiterQuery:
		c.own.handled++
	}
}

// newLock returns a new or reused lock.
func (c *Coordinator) newLock(key string, kind actor.LockKind) *actor.Lock {
	last := len(c.freeLocks) - 1
	if last < 0 {
		return actor.NewLock(key, kind)
	}
	l := c.freeLocks[last]
	c.freeLocks = c.freeLocks[:last]
	l.Reset(key, kind)
	return l
}

// removeLock removes a lock that has nothing left to do.
func (c *Coordinator) removeLock(l *actor.Lock) {
	if l.Kind().PerRequest() {
		c.removeFromSet(l)
		c.onReaderGone(l)
	} else {
		c.Locks.remove(l)
	}
	reusable := l.Reusable()
	l.Clear(c.Fx)
	if reusable && len(c.freeLocks) < spareLocks {
		c.freeLocks = append(c.freeLocks, l)
	}
}

// step steps a lock and applies the effects of that. During a shutdown it rejects the lock's waiters first. The step
// may cause steps of other locks, and the end of this one: its key is empty then. So a caller reads before what it
// needs of the lock, and iterates over a copy.
func (c *Coordinator) step(now time.Duration, l *actor.Lock, m *actor.Message) {
	c.drainFirst(now, l)
	c.stepOnly(now, l, m)
	c.applyEffects(now, l)
}

// applyEffects applies the effects of a step. It removes the lock if it has nothing left to do.
func (c *Coordinator) applyEffects(now time.Duration, l *actor.Lock) {
	for i := 0; i < len(c.Fx.SubscriptionChanges); i++ { // updateSubscription may append more
		c.updateSubscription(now, c.Fx.SubscriptionChanges[i])
	}
	c.Fx.SubscriptionChanges = c.Fx.SubscriptionChanges[:0]
	for i := range c.Fx.Commands {
		command := &c.Fx.Commands[i]
		c.enqueue(command)
		*command = actor.Command{}
	}
	c.Fx.Commands = c.Fx.Commands[:0]
	if len(c.Fx.RenewalMargins) > 0 {
		c.noteRenewalMargins()
	}
	if len(c.Fx.Recalled) > 0 {
		c.onRecalled(l.Key())
	}
	if len(c.Fx.ToRecheck) > 0 || len(c.Fx.ReadyMulti) > 0 {
		c.runFollowUps(now)
	}
	if len(c.Fx.OwnerChanged) > 0 || len(c.Fx.NewTenures) > 0 {
		c.updateIndexes()
	}
	if len(c.Fx.ReentryChecks) > 0 {
		c.runReentryChecks(now)
	}
	if c.Fx.RolledBack != nil {
		c.onUnreplicated(now, l)
	}
	if l.Kind() == actor.Write && len(c.LockSets) > 0 && !l.Awaited() {
		c.resumeReaders(now, l.Key())
	}
	if l.Kind() == actor.Read && l.Listens() {
		c.updateWaitingReaders(now, l)
	}
	if l.Idle() && l.Key() != "" {
		key, queues := l.Key(), l.Kind().Queues()
		c.removeLock(l)
		if queues {
			c.notifyHead(now, key)
		}
	}
}

// updateSubscription applies one change. If the channel is subscribed already, or rejected, it tells the lock at once.
// What that step appends, applyEffects takes after it.
func (c *Coordinator) updateSubscription(now time.Duration, change actor.SubscriptionChange) {
	s := c.nodeForKey(change.Lock.Key()).Subscriptions
	c.own.waited = c.own.waited || change.On
	var news actor.Event
	switch listens := change.Lock.Kind() != actor.Read || c.readerListens(change); {
	case listens && change.On:
		news = s.addListener(change.Lock, change.Channel)
	case listens:
		c.removeListener(change.Lock, change.Channel)
	case change.On && s.hasSubscribed(change.Channel):
		news = actor.Subscribed
	}
	if news != 0 {
		c.stepOnly(now, change.Lock, &actor.Message{Event: news})
	}
}

// onTimer handles a timer that has fired.
func (c *Coordinator) onTimer(now time.Duration, s actor.TimerTarget) {
	l := lockOf(s)
	if l == nil {
		s.Wake(now, c.Fx)
		if r, ok := s.(*actor.Request); ok {
			c.onStateDropped(r)
			c.onAbandoned(r)
		}
		return
	}
	c.drainFirst(now, l)
	before := waitsAt(l)
	s.Wake(now, c.Fx)
	c.noteWaits(l, before)
	c.applyEffects(now, l)
}

// lockOf returns the lock that a timer belongs to, directly or through a request, or nil.
func lockOf(s actor.TimerTarget) *actor.Lock {
	switch s := s.(type) {
	case *actor.Lock:
		return s
	case *actor.Request:
		return s.Lock()
	}
	return nil
}

// ReconfirmAll has every hold confirmed before anything is granted again: after a suspension of the machine, or when
// Sentinel names another master. Grants take this into account at once. Confirming the holds and waking the waiters
// takes several turns if there are very many.
func (c *Coordinator) ReconfirmAll(now time.Duration) {
	c.Fx.ReconfirmSince = now
	c.reconfirms.addAll()
}

// Next returns when the coordinator needs another turn without a message. ok is false if it needs none.
func (c *Coordinator) Next() (at time.Duration, ok bool) { return c.NextBefore(NoTimer) }

// NextBefore returns what Next does, for a loop with a timer that fires at set. If nothing is due before that, at may
// be too early, but not earlier than set. So a turn seldom has to search the wheels for the next timer.
func (c *Coordinator) NextBefore(set time.Duration) (at time.Duration, ok bool) {
	if c.HasMessages() || c.activeSweeps > 0 || c.moreToScan || c.DrainRound.On() || c.reconfirms.On() ||
		len(c.fanouts) > 0 || c.movesSubscriptions || len(c.Fx.Rejecting) > 0 || c.Results.pending() || c.closing.turnDue || c.Closed && c.ClosePending() {
		return c.now, true
	}
	if c.Fx.NextTimer < set && !slices.ContainsFunc(c.Nodes, (*Node).busy) {
		c.refreshNextTimer()
	}
	at, ok = c.Fx.NextTimer, c.Fx.NextTimer != NoTimer
	for _, n := range c.Nodes {
		if n.Breaker.Down && n.InFlightBundles == 0 && n.Backlog() {
			at, ok = earlier(at, ok, n.Breaker.tryAt)
		}
		if retry := n.Subscriptions.nextRetry(); retry != 0 {
			at, ok = earlier(at, ok, retry)
		}
	}
	if c.Cluster != nil {
		if c.refreshDue() {
			at, ok = earlier(at, ok, c.Cluster.tryAt)
		}
		if due, is := c.membershipDue(); is {
			at, ok = earlier(at, ok, due)
		}
	}
	if c.own.retryAt != 0 {
		at, ok = earlier(at, ok, c.own.retryAt)
	}
	if due, is := c.reconfirms.due(); is {
		at, ok = earlier(at, ok, due)
	}
	if c.closing.by != 0 {
		at, ok = earlier(at, ok, c.closing.by)
	}
	if c.Fx.Config.FindLeaks && c.Fx.Stats.Held > 0 { // a leak may have been reported, which wakes no loop
		at, ok = earlier(at, ok, c.now+c.Fx.Config.RenewInterval)
	}
	return at, ok
}

// NoTimer is later than any other time: no timer is set.
const NoTimer = time.Duration(1<<63 - 1)

func earlier(at time.Duration, ok bool, other time.Duration) (time.Duration, bool) {
	if !ok || other < at {
		return other, true
	}
	return at, true
}

// ResetOutputs clears all outputs of a turn, once the loop has published them.
func (c *Coordinator) ResetOutputs() {
	c.Fx.HoldEnds, c.Fx.TooLong, c.Fx.Leaks = emptied(c.Fx.HoldEnds), emptied(c.Fx.TooLong), emptied(c.Fx.Leaks)
	c.Batches, c.Added, c.Removed = emptied(c.Batches), emptied(c.Added), emptied(c.Removed)
	c.Redial, c.Connected = false, false
	if c.Cluster != nil {
		c.Cluster.Request = nil
	}
	for _, n := range c.Nodes {
		n.Subscriptions.Order = nil
	}
	c.own.reset()
	c.resetResults()
}

// maxKeptOutputs is the largest capacity of a list of a turn's outputs that is kept for the next turn. Very many holds
// of one lock may end in one turn.
const maxKeptOutputs = 2 * MaxResultsPerTurn

// emptied returns an empty list, with the memory of the last one unless that was very long.
func emptied[T any](list []T) []T {
	if len(list) == 0 {
		return list // nearly always
	}
	return cleared(list)
}

func cleared[T any](list []T) []T {
	if cap(list) > maxKeptOutputs {
		return nil
	}
	clear(list)
	return list[:0]
}
