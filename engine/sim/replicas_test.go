package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// careful has some worlds be about replicas. No caller asks for several locks in one request there, as in the root
// package.
func (p *simPlan) careful(seed uint64) {
	drawn := simRandom{simMixed(seed, 3)}
	if drawn.IntN(16) != 0 || p.bulkLocks != 0 || len(p.names) > simManyCallers {
		return
	}
	p.together = 0
	p.silence = p.lease/4 + time.Duration(drawn.Int64N(int64(4*p.lease)))
}

// simManyCallers is the maximum number of names in a world with replicas.
const simManyCallers = 12

// replicas sets how many replicas have a grant with a reply that is about to come back. It returns how long they are
// waited for before.
func (line *simConn) replicas(call *simCall) (timeout time.Duration) {
	e, w := line.e, line.e.w
	if e.config.Replicas == 0 || !coordinator.IsGrant(call.verb) || call.failed != nil {
		return 0
	}
	have := e.config.Replicas
	if !w.faultsOver && w.now/w.plan.silence%3 == 2 {
		have, timeout = 0, e.config.ReplicaTimeout
		w.disturb(timeout)
	}
	for i := range call.replies {
		if call.replies[i].Status == actor.OK {
			call.replies[i].Replicas = have
		}
	}
	return timeout
}

// awaitReplicas brings a reply after the replicas were waited for.
func (line *simConn) awaitReplicas(call *simCall, timeout time.Duration) {
	number := line.number
	line.e.w.after(timeout, func() {
		switch {
		case line.e.dead:
		case number != line.number:
			line.fail(call, errSimBroken)
		default:
			line.complete(call)
		}
	})
}

// noteUnreplicatedWaiters notes, before a turn, which requests wait for a lock that was granted on too few replicas,
// according to the replies of this turn. A request that made the acquire learns of it when the grant is undone. What a
// reader asked for by itself has its own reply.
func (e *simEngine) noteUnreplicatedWaiters(messages *coordinator.LoopMessage) {
	if e.config.Replicas == 0 {
		return
	}
	for m := messages; m != nil; m = m.Next {
		b, is := m.Value.(*coordinator.Batch)
		if !is || b.Failed != nil || !coordinator.IsGrant(b.Verb) || simRenews(b.Verb) {
			continue
		}
		for i := range b.Replies {
			c := &b.Commands[i]
			if b.Replies[i].Status != actor.OK || c.Lock.Tenure() != c.Tenure || c.Lock.InFlight() != c.Verb {
				continue
			}
			vain := b.Replies[i].Replicas < e.config.Replicas
			if e.w.model.tenure(e.holderOf(c)).alone = vain; vain {
				e.w.cover(coverUnreplicated)
				e.unreplicatedFor(c)
			}
		}
	}
}

func (e *simEngine) unreplicatedFor(c *actor.Command) {
	for _, a := range e.requests {
		switch {
		case a.Op != actor.Acquire || a.due == 0 || a.parts != nil || a.Lock() == nil || e.w.plan.names[a.name] != c.Key:
		case a.Lock() == c.Lock:
			a.undone, a.unreplicated, a.unreplicatedAt = true, a.unreplicated+1, e.now()
		case a.Kind == c.Lock.Kind() && a.Kind != actor.Read && a.Lock().Awaited(), a.Kind == actor.Read && c.Lock.Kind() == actor.Write && a.Lock().InFlight() == actor.None && a.Lock().Awaited():
			a.unreplicated, a.unreplicatedAt = a.unreplicated+1, e.now()
		}
	}
}

// replicated checks that a request which ends with "too few replicas" does so because a command of its engine found
// that.
func (w *simWorld) replicated(e *simEngine, a *simRequest) {
	if a.Err == actor.ErrNotReplicated && a.due != 0 && a.unreplicated == 0 && a.Kind != actor.Read && a.Kind != actor.Write && a.Kind != actor.Fenced {
		w.fail("%s tells %s of %s that too few replicas have it, and has not been told so", e.name, a, a.caller)
	}
}

// toldOfReplicas checks a request which waited while a grant was found to have too few replicas. The request gets its
// result at once, or when its own grant is undone. If a turn visits few locks, the acquire of a reader may leave before
// the reader is visited; then it waits for its own reply.
func (e *simEngine) toldOfReplicas(a *simRequest, now time.Duration) {
	if a.Kind == actor.Read && !a.undone && e.w.plan.share < coordinator.MaxMessagesPerTurn && a.Lock() != nil && a.Lock().InFlight() != actor.None {
		a.unreplicated = 0
	}
	if a.unreplicated == 0 {
		return
	}
	late := time.Duration(0)
	if a.undone {
		late = e.config.CallTimeout
	}
	if waited := now - max(a.unreplicatedAt, e.clock.at(e.paused)); waited > late+2*coordinator.Tick && !e.timersOverdue(now) {
		e.w.fail("%s lets %s of %s wait for %v after its engine heard that too few replicas have the lock", e.name, a, a.caller, waited)
	}
}
