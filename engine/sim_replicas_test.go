package engine

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Replicas that must have a grant. In some worlds the engines ask for them, and for a third of the time they are silent: then
// an engine hears of a grant only when it has waited for them in vain.

// careful has some worlds be about replicas. Nobody asks for several locks in one question there: nor does the root package.
func (p *simPlan) careful(seed uint64) {
	drawn := simRandom{simMixed(seed, 3)}
	if drawn.IntN(16) != 0 || p.crowd != 0 || len(p.names) > simManyCallers {
		return
	}
	p.together = 0
	p.silence = p.lease/4 + time.Duration(drawn.Int64N(int64(4*p.lease)))
}

// simManyCallers is how many names a world with replicas has at most.
const simManyCallers = 12

// replicas is how many replicas have a grant whose answer is about to come back, and for how long they are waited for before.
func (line *simLine) replicas(call *simCall) (patience time.Duration) {
	e, w := line.e, line.e.w
	if e.config.Replicas == 0 || !grants(call.verb) || call.failed != nil {
		return 0
	}
	have := e.config.Replicas
	if !w.quiet && w.now/w.plan.silence%3 == 2 {
		have, patience = 0, e.config.ReplicaFor
		w.disturb(patience)
	}
	for i := range call.replies {
		if call.replies[i].Status == actor.Done {
			call.replies[i].Replicas = have
		}
	}
	return patience
}

// awaitReplicas brings an answer when its replicas were waited for.
func (line *simLine) awaitReplicas(call *simCall, patience time.Duration) {
	number := line.number
	line.e.w.after(patience, func() {
		switch {
		case line.e.dead:
		case number != line.number:
			line.fail(call, errSimBroken)
		default:
			line.bring(call)
		}
	})
}

// vainly notes, before a turn, who waits for a lock of which the engine is told that it was granted and too few replicas have
// it. Whose claim it was is told when it is undone; what a reader asked for by itself has its own answer.
func (e *simEngine) vainly(letters *mail) {
	if e.config.Replicas == 0 {
		return
	}
	for m := letters; m != nil; m = m.next {
		b, is := m.what.(*batch)
		if !is || b.failed != nil || !grants(b.verb) || simRenews(b.verb) {
			continue
		}
		for i := range b.replies {
			c := &b.commands[i]
			if b.replies[i].Status != actor.Done || c.Lock.Tenure() != c.Tenure || c.Lock.UnderWay() != c.Verb {
				continue
			}
			vain := b.replies[i].Replicas < e.config.Replicas
			if e.w.books.tenure(e.holderOf(c)).alone = vain; vain {
				e.w.saw(sawUnreplicated)
				e.inVain(c)
			}
		}
	}
}

func (e *simEngine) inVain(c *actor.Command) {
	for _, a := range e.asks {
		switch {
		case a.Tag != actor.Acquire || a.due == 0 || a.parts != nil || a.Lock() == nil || e.w.plan.names[a.name] != c.Key:
		case a.Lock() == c.Lock:
			a.undone, a.vain, a.vainAt = true, a.vain+1, e.now()
		case a.Kind == c.Lock.Kind() && a.Kind != actor.Read && a.Lock().Pending(), a.Kind == actor.Read && c.Lock.Kind() == actor.Write && a.Lock().UnderWay() == actor.None && a.Lock().Pending():
			a.vain, a.vainAt = a.vain+1, e.now()
		}
	}
}

// replicated checks that nobody waits for replicas one after the other, and that who is told that too few have its lock was told
// because an engine's question found that.
func (w *simWorld) replicated(e *simEngine, a *simAsk) {
	if a.Err == actor.ErrNotReplicated && a.due != 0 && a.vain == 0 && a.Kind != actor.Read && a.Kind != actor.Write && a.Kind != actor.Fenced {
		w.fail("%s tells %s of %s that too few replicas have it, and has not been told so", e.name, a, a.caller)
	}
}

// toldOfReplicas checks that who waited while a grant was found to have too few replicas is told: at once, or when its own grant
// is undone.
func (e *simEngine) toldOfReplicas(a *simAsk, now time.Duration) {
	if a.vain == 0 {
		return
	}
	late := time.Duration(0)
	if a.undone {
		late = e.config.Timeout
	}
	if waited := now - max(a.vainAt, e.clock.at(e.paused)); waited > late+2*tick && !e.behind(now) {
		e.w.fail("%s lets %s of %s wait for %v after its engine heard that too few replicas have the lock", e.name, a, a.caller, waited)
	}
}
