package engine

import (
	"fmt"

	"github.com/lockwheel/lockwheel/actor"
)

// simSteps counts the steps of the actors: how a lock stood, what it was told, how it stands then.
type simSteps [simPhases][simMessages][simPhases]int32

const (
	simPhases   = 5
	simStatus   = int(actor.Refused) + 1
	simVerbMost = int(actor.Verbs)
	// An answer is told apart by the command's verb and by how that ended.
	simMessages = simKindMost + simVerbMost*simStatus
	simKindMost = int(actor.Nudged) + 1
)

var simKindNames = [...]string{
	actor.Acquire: "lock", actor.Unlock: "unlock", actor.Extend: "extend", actor.Force: "force", actor.Cancel: "cancel",
	actor.Overdue: "overdue", actor.Woken: "woken", actor.Withdrawn: "withdrawn", actor.Heard: "heard",
	actor.Subscribed: "subscribed", actor.Unheard: "unheard", actor.Doubt: "doubt", actor.Found: "found", actor.Displaced: "displaced", actor.Drain: "drain", actor.Called: "called",
	actor.Moved: "moved", actor.Foremost: "foremost", actor.Nudged: "nudged",
}

// stepped is told of every step of every lock.
func (w *simWorld) stepped(step actor.Step) {
	w.touch(w.nameOf(step.Lock.Key()))
	w.books.steps.add(step)
}

func (s *simSteps) add(step actor.Step) {
	kind := int(step.Kind)
	if step.Kind == actor.Answered {
		kind = simKindMost + int(step.Verb)*simStatus + int(step.Status)
	}
	s[step.Before][kind][step.After]++
}

// each goes through the steps that there were: from which phase to which, and by what.
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
