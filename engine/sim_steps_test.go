package engine

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simSteps counts the steps of the actors by the lock's phase before, the message, and the phase after.
type simSteps [simPhases][simMessages][simPhases]int32

const (
	simPhases   = 5
	simStatus   = int(actor.Refused) + 1
	simVerbMost = int(actor.Verbs)
	// Replies are counted by the command's verb and status.
	simMessages = simKindMost + simVerbMost*simStatus
	simKindMost = int(actor.Nudged) + 1
)

var simKindNames = [...]string{
	actor.Acquire: "lock", actor.Unlock: "unlock", actor.Extend: "extend", actor.Force: "force", actor.Cancel: "cancel",
	actor.Overdue: "overdue", actor.Woken: "woken", actor.Returned: "returned", actor.Heard: "heard",
	actor.Subscribed: "subscribed", actor.Unheard: "unheard", actor.Doubt: "doubt", actor.Found: "found", actor.Displaced: "displaced", actor.Ousted: "ousted", actor.Drain: "drain", actor.Called: "called", actor.Unreached: "unreached",
	actor.Moved: "moved", actor.Foremost: "foremost", actor.Rejoins: "rejoins", actor.RefusesOn: "refuses on", actor.Nudged: "nudged", actor.Unreplicated: "unreplicated",
}

// stepped runs after every step of every lock.
func (w *simWorld) stepped(step actor.Step) {
	w.touch(w.nameOf(step.Lock.Key()))
	w.books.steps.add(step)
}

// stepped also notes when an engine last had a lock by its clock, or learned from the server that another has it.
func (e *simEngine) stepped(step actor.Step) {
	e.w.stepped(step)
	told := step.Kind == actor.Answered && step.Status == actor.Taken
	if !told && !simHas(step.Before) && !simHas(step.After) {
		return
	}
	if e.knew == nil {
		e.knew, e.refused = make([]time.Duration, len(e.w.names)), make([]int, len(e.w.names))
	}
	name := e.w.nameOf(step.Lock.Key())
	if e.knew[name] = e.now(); told {
		e.refused[name]++
	}
}

// simHas reports whether an engine in this phase has a lock, or is about to give it back.
func simHas(p actor.Phase) bool { return p.String() == "held" || p.String() == "ending" }

// askedFor checks that a request which tries once is not rejected from memory alone. Its engine has the lock, or
// had it just now, or the server has replied since that another has it. A request for several locks gets replies
// for each of them, so those worlds are left out.
func (e *simEngine) askedFor(a *simAsk) {
	const stepsBack = 400 * time.Millisecond
	if a.Err != actor.ErrNotAcquired || !a.Once || a.left || a.parts != nil || len(e.w.plain) > 1 || a.Kind.Claims() || e.w.now-a.asked > e.config.Timeout*9/10 {
		return
	}
	asked := e.now() - (e.w.now - a.asked) // by its clock, which may have stood still meanwhile, or before
	if e.knew == nil || e.knew[a.name] < asked-stepsBack {
		e.w.fail("%s refuses %s, and has not asked the server", e.name, a)
	}
}

func (s *simSteps) add(step actor.Step) {
	kind := int(step.Kind)
	if step.Kind == actor.Answered {
		kind = simKindMost + int(step.Verb)*simStatus + int(step.Status)
	}
	s[step.Before][kind][step.After]++
}

// each calls f for each step that occurred: from which phase to which, and by what.
func (s *simSteps) each(f func(way, what string)) {
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
	answer := kind - simKindMost
	if answer < 0 {
		return simKindNames[kind]
	}
	return simVerbs[answer/simStatus] + " " + simStatuses[answer%simStatus]
}
