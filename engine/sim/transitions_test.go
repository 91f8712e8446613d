package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simSteps counts the steps of the actors by the lock's phase before, the message, and the phase after.
type simSteps [simPhases][simMessages][simPhases]int32

const (
	simPhases   = 5
	simStatus   = int(actor.Rejected) + 1
	simVerbMost = int(actor.Verbs)
	// simMessages is the number of kinds of message. Requests are counted by their operation, and replies by the
	// command's verb and status.
	simMessages   = simFirstReply + simVerbMost*simStatus
	simFirstOp    = int(actor.Recheck) + 1
	simFirstReply = simFirstOp + int(actor.Force) + 1
)

var simEventNames = [...]string{
	actor.Cancel: "cancel", actor.TimedOut: "timed out", actor.TimerFired: "timer", actor.Requeued: "requeued",
	actor.Notified: "notified", actor.Subscribed: "subscribed", actor.SubscribeFailed: "subscribe failed",
	actor.WriterGone: "writer gone", actor.Unreachable: "unreachable", actor.Reconfirm: "reconfirm",
	actor.OrphanSeen: "orphan seen", actor.Displaced: "displaced", actor.Evicted: "evicted", actor.Drain: "drain",
	actor.Enqueued: "enqueued", actor.QueueHead: "queue head", actor.Transferred: "transferred",
	actor.ContinueRejecting: "continue rejecting", actor.Recheck: "recheck", actor.Unreplicated: "unreplicated",
	actor.Leaked: "leaked", actor.ReleaseAwaited: "release awaited",
}

// stepped runs after every step of every lock.
func (w *simWorld) stepped(step actor.StepTrace) {
	w.touch(w.nameOf(step.Lock.Key()))
	w.model.steps.add(step)
}

// stepped also notes when an engine last had a lock by its clock, or learned from the server that another has it. It
// notes as well when a force of the engine found half of a lock gone, and readers wait in the engine: these go first.
func (e *simEngine) stepped(step actor.StepTrace) {
	e.w.stepped(step)
	told := step.Event == actor.Replied && step.Status == actor.HeldByOther
	if !told && !simHolds(step.Before) && !simHolds(step.After) && !e.letsReadersPass(step) {
		return
	}
	if e.lastHeldAt == nil {
		e.lastHeldAt, e.refused = make([]time.Duration, len(e.w.names)), make([]int, len(e.w.names))
	}
	name := e.w.nameOf(step.Lock.Key())
	if e.lastHeldAt[name] = e.now(); told {
		e.refused[name]++
	}
}

// letsReadersPass reports whether a step is followed by a moment in which a new writer of the engine lets waiting
// readers go first.
func (e *simEngine) letsReadersPass(step actor.StepTrace) bool {
	if step.Event != actor.Replied || step.Status != actor.NotFound || step.Verb != actor.SendReadForce && step.Verb != actor.SendWriteForce {
		return false
	}
	return slices.ContainsFunc(e.requests, func(a *simRequest) bool {
		return a.Op == actor.Acquire && a.Kind == actor.Read && a.Handled() && !a.Completed() && a.Key == step.Lock.Key()
	})
}

// simHolds reports whether an engine in this phase has a lock, or is about to give it back.
func simHolds(p actor.Phase) bool { return p.String() == "held" || p.String() == "releasing" }

// checkOnce checks that a request which tries once is not rejected from memory alone. Its engine has the lock, or
// had it just now, or the server has replied since that another has it, or readers that came before go first. A request
// for several locks gets replies for each of them, so those worlds are left out.
func (e *simEngine) checkOnce(a *simRequest) {
	const stepsBack = 400 * time.Millisecond
	if a.Err != actor.ErrNotAcquired || !a.Once || a.canceled || a.parts != nil || len(e.w.plain) > 1 || a.Kind.PerRequest() || e.w.now-a.requestedAt > e.config.CallTimeout*9/10 {
		return
	}
	asked := e.now() - (e.w.now - a.requestedAt) // by its clock, which may have stood still meanwhile, or before
	if e.lastHeldAt == nil || e.lastHeldAt[a.name] < asked-stepsBack {
		e.w.fail("%s refuses %s, and has not asked the server", e.name, a)
	}
}

func (s *simSteps) add(step actor.StepTrace) {
	kind := int(step.Event)
	switch step.Event {
	case actor.Requested:
		kind = simFirstOp + int(step.Op)
	case actor.Replied:
		kind = simFirstReply + int(step.Verb)*simStatus + int(step.Status)
	}
	s[step.Before][kind][step.After]++
}

// each calls f for each step that occurred: from which phase to which, and by what.
func (s *simSteps) each(f func(transition, what string)) {
	for before := range s {
		for kind := range s[before] {
			for after, times := range s[before][kind] {
				if times != 0 {
					f(fmt.Sprintf("%v → %v", actor.Phase(before), actor.Phase(after)), simKindName(kind))
				}
			}
		}
	}
}

func simKindName(kind int) string {
	switch {
	case kind < simFirstOp:
		return simEventNames[kind]
	case kind < simFirstReply:
		return simOps[actor.Op(kind-simFirstOp)]
	}
	reply := kind - simFirstReply
	return simVerbs[reply/simStatus] + " " + simStatuses[reply%simStatus]
}
