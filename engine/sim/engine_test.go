package sim

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
)

// simEngine is an engine's process: the real coordinator and mailbox, driven as Engine's loop drives them, on a
// clock of its own. What the loop does with goroutines happens here in events.
type simEngine struct {
	w              *simWorld
	slot           int // index among the engines
	life           int // index among all engines there ever were
	name           string
	config         actor.Config
	c              *coordinator.Coordinator
	turnCount      int // how many turns it has had
	box            *mpsc.Mailbox[any]
	clock          simClock
	conn           *simConn
	pubsub         *simPubSub
	callers        []*simCaller
	requests       []*simRequest // posted, and without a result
	pendingResults []simPendingResult
	shuttingDown   bool       // an earlier turn began a shutdown
	holds          []*simHold // of all requests for a lock that were not rejected and have a hold that has not ended

	unpublished map[*actor.Hold]*actor.Request // the requests for holds that were granted, until the results are published

	over         []*simHold    // of them, those that ended in this turn
	back         []*simHold    // holds that the engine releases by itself if they are granted: a caller that wanted several has left
	dead         bool          // crashed or closed
	paused       time.Duration // until when nothing of the process runs
	suspended    bool          // its clock stands still
	doubts       bool          // the wall clock ran ahead: the next turn will notice
	doubted      time.Duration // when the last turn noticed that, by its own clock
	turnAt       time.Duration // when the next turn for messages is planned; 0: none is
	alarm        time.Duration // the moment, by its clock, at which the loop wakes without a message; 0: never
	rings        time.Duration // that moment in true time: alarms that were set before do not ring
	turns        func()        // calls turned
	rung         func()        // calls ringing
	handed       uint64        // grants without asking the server, so far
	lostAtUnlock uint64        // unlocks that reported a loss, so far
	shed         uint64        // locks rejected because too many requests wait, so far
	decides      int           // locks with a result delivered in this turn
	wasted       simRate       // calls and commands that failed
	maxWasted    int           // how many may fail in the same tenth of a second
	unheard      time.Duration // since when it cannot listen to some channel. True time
	idle         int           // turns in a row without an effect
	renewalWaits bool          // one was queued when the last turn ended
	idleSince    time.Duration
	moreDue      bool          // more was due than the last turn reached
	reached      time.Duration // when it last handled a reply. True time
	onlyTold     bool          // all messages of this turn say that a lock was forced

	lastHeldAt []time.Duration // for each name, when it last had the lock or learned that another has it. By its clock
	refused    []int           // for each name, how often it learned that another has it
}

func (w *simWorld) startEngine(slot int) {
	life := len(w.lives)
	w.lives = append(w.lives, fmt.Sprintf("00000000-0000-4000-8000-%012d", life))
	e := &simEngine{
		w:      w,
		slot:   slot,
		life:   life,
		name:   fmt.Sprintf("e%d", slot),
		config: w.plan.config(w, w.lives[life]),
		box:    mpsc.NewMailbox[any](),

		reached: w.now,
	}
	e.c = coordinator.New(e.config, w.plan.senders)
	e.c.LimitTurn(w.plan.share)
	e.c.Fx.OnStep = e.stepped
	e.c.CanRedial = true
	e.clock = newSimClock(w)
	e.turns, e.rung = e.turned, e.ringing
	e.conn, e.pubsub = newSimConn(e), &simPubSub{e: e}
	w.engines[slot] = e
	e.tracef("starts as %s: lease %v, renewed after %v, timeout %v, handoff %d and %v, MaxHold %v, polls %v, clock %+d ppm", w.lives[life],
		e.config.Lease, e.config.RenewInterval, e.config.CallTimeout, e.config.MaxHandoffGrants, e.config.MaxHandoffTime, e.config.MaxHold, e.config.Poll, e.clock.rate)
	for number := range w.plan.callers {
		e.callers = append(e.callers, newSimCaller(e, number))
	}
}

func (e *simEngine) tracef(format string, args ...any) {
	if e.w.trace != nil {
		e.w.trace.add(e.w.now, e.name, format, args...)
	}
}

// now returns the moment on the engine's clock.
func (e *simEngine) now() time.Duration { return e.clock.at(e.w.now) }

// post adds a message for the loop and plans a turn. All parts of the simulation use it.
func (e *simEngine) post(m *coordinator.LoopMessage) bool {
	if e.dead || !e.box.Post(m) {
		return false
	}
	e.turnBy(e.w.now + e.w.between(0, 20*time.Microsecond))
	return true
}

// turnBy plans a turn, unless an earlier one is planned.
func (e *simEngine) turnBy(moment time.Duration) {
	if e.turnAt != 0 && e.turnAt <= moment {
		return
	}
	e.turnAt = max(moment, e.w.now)
	e.w.at(e.turnAt, e.turns)
}

// turned runs a planned turn, unless an earlier one was planned since.
func (e *simEngine) turned() {
	if e.turnAt == e.w.now && !e.dead {
		e.turnAt = 0
		e.turn()
	}
}

// turn mirrors a turn of Engine.run.
func (e *simEngine) turn() {
	if e.w.now < e.paused {
		e.turnBy(e.paused)
		return
	}
	messages := e.box.TakeAll()
	e.reaches(messages)
	e.noteUnreplicatedWaiters(messages)
	now := e.now()
	if e.doubts {
		e.doubts = false
		if e.w.bug != bugNoDoubt {
			e.c.ReconfirmAll(now)
		}
		e.doubted = now
		e.tracef("finds that its clock stood still")
	}
	unopened := e.c.MessagesLeft()
	e.onlyTold = unopened == 0 && onlyHints(messages)
	e.turnCount++
	e.c.Turn(now, messages)
	if e.stirred(messages) || e.c.MessagesLeft() != unopened {
		e.w.steps++
		e.idle = 0
	} else {
		e.watch()
	}
	e.checkSend()
	e.flush()
	e.refusedAtOnce()
	e.c.ResetOutputs()
	e.checkTurn(now)
	if e.c.Closed {
		e.finish()
		return
	}
	e.moreDue = e.timersOverdue(now)
	e.sleep(now)
}

// flush mirrors Engine.flush.
func (e *simEngine) flush() {
	e.over, e.decides = e.over[:0], 0
	e.checkPublished()
	for i := range e.c.Fx.HoldEnds {
		e.w.ended(e, &e.c.Fx.HoldEnds[i])
	}
	if e.c.Redial {
		e.redial()
	}
	for _, b := range e.c.Batches {
		e.w.leaves(e, b)
		e.conn.send(b)
	}
	if e.c.Fallback.Subscriptions.Order != nil {
		e.pubsub.execute(e.c.Fallback.Subscriptions.Order)
	}
	for _, r := range e.c.Fx.Results {
		e.w.checkResult(e, r)
	}
	for _, r := range e.c.Results.Ready {
		e.w.checkResultOrder(e, r)
	}
}

// redial mirrors Engine.redial: all connections end, and the engine notices at once.
func (e *simEngine) redial() {
	e.tracef("ends its connections to a replica")
	e.w.disturb(0)
	e.conn.breakConn(0)
	e.pubsub.onProcessGone()
}

// sleep mirrors Engine.sleep: it waits for messages, or for the next moment at which something is due.
func (e *simEngine) sleep(now time.Duration) {
	at, ok := e.c.Next()
	if !ok {
		e.alarm = 0
		return
	}
	at = max(at, 1) // an alarm of 0 is none
	if e.alarm == at && at > now {
		return // already set
	}
	e.alarm = at
	late := e.w.between(0, 100*time.Microsecond) + e.w.bug.late()
	e.ring(max(e.clock.when(at), e.w.now+time.Microsecond) + late)
}

// ring plans a turn for the alarm, unless another alarm is set by then.
func (e *simEngine) ring(moment time.Duration) {
	e.rings = moment
	e.w.at(moment, e.rung)
}

func (e *simEngine) ringing() {
	if e.rings == e.w.now && e.alarm != 0 && !e.dead && !e.suspended {
		e.alarm = 0
		e.turn()
	}
}

// stirred reports whether a turn had a reason: a message, or a timer with an effect.
func (e *simEngine) stirred(messages *coordinator.LoopMessage) bool {
	c := e.c
	return messages != nil || len(c.Batches)+len(c.Results.Ready)+len(c.Fx.HoldEnds) > 0 || c.Fallback.Subscriptions.Order != nil
}

// watch looks for a loop that spins: many turns in a short time without a message and without an effect.
func (e *simEngine) watch() {
	if e.idle == 0 {
		e.idleSince = e.w.now
	}
	if e.idle++; e.idle > 200 && e.w.now-e.idleSince < 100*time.Millisecond && e.idle > 200+e.visits() {
		e.w.fail("%s spins: %d turns in %v came to nothing", e.name, e.idle, e.w.now-e.idleSince)
	}
}

// visits returns in how many turns an engine may notify its locks of something without an effect. If a turn visits few
// of them, some notices are under way at once, and each may be repeated once.
func (e *simEngine) visits() int { return 8 * len(e.c.NewRound().Left) / e.w.plan.share }

// finish mirrors Engine.shutdown.
func (e *simEngine) finish() {
	e.c.Turn(e.now(), e.box.Close())
	e.flush()
	for e.c.ResetOutputs(); e.c.ClosePending(); e.c.ResetOutputs() {
		e.c.Turn(e.now(), nil)
		e.flush()
	}
	e.nothingRuns("after its close")
	e.tracef("is closed")
	e.die()
}

// die ends the process. Its keys stay until their leases end, and the calls that it has sent stay on their way.
func (e *simEngine) die() {
	e.dead = true
	e.w.forget(e)
	e.w.memberDied(e)
	e.conn.breakConn(0)
	e.pubsub.onProcessGone()
	e.w.startEngine(e.slot)
}

// pause stops everything in the process. Its clock and the calls that it has sent go on.
func (e *simEngine) pause(d time.Duration) {
	e.tracef("is paused for %v", d)
	e.paused = max(e.paused, e.w.now+d)
	e.w.disturb(d)
	for _, c := range e.callers { // they continue together with the loop, and some are quicker
		e.w.at(e.paused+e.w.between(0, 30*time.Microsecond), func() {
			if e.w.now >= e.paused && !e.dead && !e.w.draining && e.w.may(e.name, "wish") {
				c.act()
			}
		})
	}
}

// suspend stops the process together with its clock.
func (e *simEngine) suspend(d time.Duration) {
	if e.suspended {
		return
	}
	e.pause(d)
	e.tracef("is suspended: its clock stands still")
	e.suspended = true
	for _, h := range e.holds {
		h.unconfirmed = h.active // a later grant must be good
	}
	moment := e.clock.at(e.w.now)
	e.w.after(d, func() { e.resume(moment) })
}

func (e *simEngine) resume(moment time.Duration) {
	e.clock.local, e.clock.anchor = moment, e.w.now
	e.suspended, e.doubts = false, true
	for _, h := range e.holds {
		e.w.touch(h.name)
	}
	// The timer on which the loop sleeps stood still as well.
	if e.turnAt != 0 || e.alarm != 0 {
		e.turnAt, e.alarm = 0, 0
		e.turnBy(e.w.now)
	}
}

// simClock is a clock that runs a little fast or slow.
type simClock struct {
	anchor time.Duration // true time
	local  time.Duration // what it showed then
	rate   int64         // by how many parts per million it is fast
}

const simMillion = 1_000_000

func newSimClock(w *simWorld) simClock {
	c := simClock{anchor: w.now, local: w.spread(time.Microsecond, time.Hour)}
	if w.plan.skew > 0 {
		c.rate = w.random.Int64N(2*w.plan.skew+1) - w.plan.skew
	}
	if w.bug == bugSlowClock {
		c.rate = -50_000
	}
	return c
}

// at returns what the clock shows at a true time.
func (c *simClock) at(now time.Duration) time.Duration {
	passed := int64(now - c.anchor)
	return c.local + time.Duration(passed+passed/simMillion*c.rate+passed%simMillion*c.rate/simMillion)
}

// when returns the first true time at which the clock shows at least local.
func (c *simClock) when(local time.Duration) time.Duration {
	left := int64(local - c.local)
	rate := simMillion + c.rate
	now := c.anchor + time.Duration(left/rate*simMillion+left%rate*simMillion/rate)
	for c.at(now) < local {
		now++
	}
	return now
}
