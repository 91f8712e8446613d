package sim

import (
	"errors"
	"net"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// simConn is the one ordered connection of an engine, with the senders that use it. Calls arrive in the order in
// which they were written, and replies come back in that order. If the connection breaks, the result of the calls
// on it is unknown.
type simConn struct {
	e       *simEngine
	number  int           // of the connection, to recognize events of an old one
	calls   []*simCall    // on this connection, in order; those that have run come first
	arrives time.Duration // when the last call does
	replies time.Duration // when the last reply does
	stalled time.Duration // until when nothing moves

	arrived  int  // calls that came to the server, over all connections
	answered bool // this connection has brought a reply

	onDeliver func() // calls deliver for this connection
	onReply   func() // calls reply for this connection
	spare     []*simCall
}

func newSimConn(e *simEngine) *simConn {
	line := &simConn{e: e}
	line.connect()
	return line
}

// connect starts a new connection. Whatever was to come over the one before is dropped.
func (line *simConn) connect() {
	line.number++
	number := line.number
	line.onDeliver = func() { line.deliver(number) }
	line.onReply = func() { line.reply(number) }
}

// simCall is a batch on its way. The commands are a copy, because a call without a reply may run when the
// coordinator uses the batch for something else.
type simCall struct {
	b        *coordinator.Batch
	life     int
	verb     actor.Verb
	whole    bool
	wall     int64
	latest   int64
	expires  time.Duration // when its engine has given it up for good, if it may create a place in a queue. True time
	commands []actor.Command
	ran      bool
	replies  []actor.Reply
	failed   error
	writes   func() // runs when the call is written
}

// newCall reuses a call with a delivered reply that nothing refers to any more.
func (line *simConn) newCall() *simCall {
	if last := len(line.spare) - 1; last >= 0 {
		call := line.spare[last]
		line.spare = line.spare[:last]
		call.ran, call.failed, call.replies = false, nil, call.replies[:0]
		return call
	}
	call := line.e.w.memory.call()
	call.writes = func() { line.write(call) }
	return call
}

var (
	errSimBroken  = rediserr.AsClientError(&net.OpError{Op: "read", Err: errors.New("simulated: connection reset by peer")})
	errSimRefuses = rediserr.AsClientError(&net.OpError{Op: "dial", Err: errors.New("simulated: connection refused")})
)

// send does what a sender does with a batch. Senders race to the connection, so batches of one turn can be written
// in any order. A paused process writes later.
func (line *simConn) send(b *coordinator.Batch) {
	w := line.e.w
	call := line.newCall()
	call.b, call.life, call.verb, call.whole, call.wall = b, line.e.life, b.Verb, b.SendText, w.server.clock()
	call.latest, call.expires = b.EffectUntilMillis, w.now+line.e.config.MaxCommandDelay()*102/100+2*time.Millisecond
	call.commands = append(call.commands[:0], b.Commands...)
	late := w.between(0, 10*time.Microsecond)
	if w.chance(0.02) && !w.faultsOver && w.may(line.e.name, "late call") {
		w.cover(coverLateCall)
		late = w.spread(10*time.Microsecond, line.e.config.CallTimeout)
		w.disturb(late)
	}
	w.at(max(w.now, line.e.paused)+late, call.writes)
}

func (line *simConn) write(call *simCall) {
	e, w := line.e, line.e.w
	if e.dead {
		return
	}
	if w.now < e.paused {
		w.at(e.paused, call.writes)
		return
	}
	if w.now < w.server.down {
		w.after(w.latency(), func() { line.fail(call, errSimRefuses) })
		return
	}
	line.calls = append(line.calls, call)
	line.arrives = max(line.arrives, w.now+w.latency(), line.stalled)
	w.at(line.arrives, line.onDeliver)
}

// deliver brings the oldest call to the server, if its connection still exists.
func (line *simConn) deliver(number int) {
	w := line.e.w
	if number != line.number {
		return
	}
	if wait := max(line.stalled, w.server.frozen); w.now < wait {
		w.at(wait, line.onDeliver)
		return
	}
	for _, call := range line.calls {
		if !call.ran {
			if line.mayBreak() {
				return
			}
			line.mayPause()
			line.arrived++
			w.server.execute(call)
			w.traceCall(line.e, call, "")
			line.replies = max(line.replies, w.now+w.latency())
			w.at(line.replies, line.onReply)
			return
		}
	}
}

// reply brings the oldest reply back.
func (line *simConn) reply(number int) {
	w := line.e.w
	if number != line.number {
		return
	}
	if w.now < line.stalled {
		w.at(line.stalled, line.onReply)
		return
	}
	if line.mayBreak() {
		return
	}
	line.answered = true
	call := line.calls[0]
	line.calls = slices.Delete(line.calls, 0, 1)
	if timeout := line.replicas(call); timeout > 0 {
		line.awaitReplicas(call, timeout)
		return
	}
	line.complete(call)
}

// complete delivers a reply to the engine.
func (line *simConn) complete(call *simCall) {
	w, b := line.e.w, call.b
	b.Failed, b.NoReply = call.failed, false
	b.Replies = append(b.Replies[:0], call.replies...)
	if call.failed == nil && w.chance(w.plan.shortReplies) && !w.faultsOver && w.may(line.e.name, "short answer") {
		b.Replies = b.Replies[:w.random.IntN(len(b.Replies))]
		w.cover(coverShortReply)
		w.disturb(0) // a waiter without a confirmed place may lose it
	}
	w.bug.answer(line.e, b)
	line.e.w.model.returned(line.e, b, line.e.w.now)
	for i := range b.Replies {
		if b.Replies[i].Status == actor.HeldByOther {
			w.noteReportedHolder(line.e, &b.Commands[i], &b.Replies[i])
			w.toldOfHalf(line.e, &b.Commands[i], &b.Replies[i])
		}
	}
	if w.trace != nil {
		line.e.tracef("◀ answer to %s: %s", simVerbs[call.verb], simOutcome(b))
	}
	line.spare = append(line.spare, call)
	line.e.checkBackoff(b)
	line.e.post(&b.Msg)
}

// fail notifies the engine that a call has no reply.
func (line *simConn) fail(call *simCall, err error) {
	b := call.b
	b.Failed, b.NoReply = err, true
	if line.e.w.bug == bugLossDenied {
		b.Failed, b.NoReply = errors.New("LOADING not yet"), false
	}
	b.Replies = b.Replies[:0]
	line.e.w.model.returned(line.e, b, line.e.w.now)
	if line.e.w.trace != nil {
		line.e.tracef("◀ no answer to %s of %s", simVerbs[call.verb], simKeys(call))
	}
	if err == errSimRefuses && b.NoReply {
		line.e.refuses(b)
	}
	line.e.checkBackoff(b)
	line.e.post(&b.Msg)
}

// refuses notes requests that try once and for which no connection could be made.
func (e *simEngine) refuses(b *coordinator.Batch) {
	for _, a := range e.requests {
		if a.Op != actor.Acquire || !a.Once || a.Lock() == nil {
			continue
		}
		for i := range b.Commands {
			own := a.Multi == nil || b.Commands[i].Verb == actor.SendMultiAcquire // it may have waited for one of another caller
			a.refused = a.refused || own && b.Commands[i].Lock == a.Lock() && b.Commands[i].Tenure == a.Lock().Tenure()
		}
	}
}

// refusedAtOnce checks that those requests received their result in this turn, or in the next ones if so many are
// rejected that it takes several.
func (e *simEngine) refusedAtOnce() {
	for _, a := range e.requests {
		if a.refused && !a.decided && !a.Lock().Rejecting() {
			e.w.fail("%s lets %s of %s wait, which tries once, though no connection can be made", e.name, a, a.caller)
		}
	}
}

// mayBreak breaks the connection at the worst moment, if the plan says so.
func (line *simConn) mayBreak() bool {
	w := line.e.w
	if w.faultsOver || !w.chance(w.plan.connBreaks) || !w.may(line.e.name, "break") {
		return false
	}
	notice := w.notice()
	w.disturb(notice)
	line.breakConn(notice)
	return true
}

// mayPause stops the process at the worst moment, with or without its clock.
func (line *simConn) mayPause() {
	e, w := line.e, line.e.w
	switch {
	case w.faultsOver || !w.chance(w.plan.pauses) || !w.may(e.name, "nap"):
	case w.chance(0.5):
		e.pause(w.spread(time.Millisecond, 3*e.config.Lease))
	default:
		e.suspendLong()
	}
}

// breakConn breaks the connection. The engine notices after a while. A call that has not run may never run, or run at
// any later time, or twice. A call that has run has lost its reply, and may run again.
func (line *simConn) breakConn(notice time.Duration) {
	e, w := line.e, line.e.w
	broken := line.calls
	line.connect()
	line.calls, line.arrives, line.replies, line.stalled, line.answered = nil, 0, 0, 0, false
	number := line.number
	for _, call := range broken {
		again := 0
		if call.ran {
			w.cover(coverReplyLost)
		}
		switch n := w.random.IntN(10); {
		case n < 4:
		case n < 8 && !call.ran, n < 5:
			again = 1
		case n == 9:
			again = 2
		}
		switch {
		case again == 2 || again == 1 && call.ran:
			w.cover(coverCallDoubled)
		case again == 0 && !call.ran:
			w.cover(coverCallLost)
		}
		for range again {
			w.lateCopy(e, call)
		}
		w.after(notice+w.latency(), func() {
			if line.number != number || line.answered {
				w.cover(coverReplyReordered)
			}
			line.fail(call, errSimBroken)
		})
	}
}

// lateCopy runs a call at some later time, when its connection is gone. Its reply is lost.
func (w *simWorld) lateCopy(e *simEngine, call *simCall) {
	w.cover(coverLateCopy)
	delay := w.spread(100*time.Microsecond, 2*w.plan.lease)
	number, arrived := e.conn.number, e.conn.arrived
	late := &simCall{life: call.life, verb: call.verb, whole: call.whole, wall: call.wall, latest: call.latest, expires: call.expires, commands: append([]actor.Command(nil), call.commands...)}
	w.after(delay, func() {
		if w.faultsOver && w.now > w.disturbed {
			return // the last copy came a while ago
		}
		if e.conn.number != number || e.conn.arrived != arrived {
			w.cover(coverCallReordered)
		}
		w.model.late = true
		w.server.execute(late)
		w.model.late = false
		w.traceCall(e, late, " (a late copy)")
	})
}
