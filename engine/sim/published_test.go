package sim

import "github.com/lockwheel/lockwheel/actor"

// tenureOf returns the number of a hold's tenure. In Hold.Tenure it has one more bit until the result is published.
func tenureOf(h *actor.Hold) uint64 { return h.Tenure &^ (1 << 63) }

// checkPublished checks that observers can be notified of each grant before its end: a hold that ends before its result
// is published names its request, and no other one does.
func (e *simEngine) checkPublished() {
	if e.unpublished == nil {
		e.unpublished = make(map[*actor.Hold]*actor.Request)
	}
	for _, r := range e.c.Fx.Results {
		eachGranted(r, func(h *actor.Hold) { e.unpublished[h] = r })
	}
	for _, end := range e.c.Fx.HoldEnds {
		switch r := e.unpublished[end.Hold]; {
		case r != end.Granted:
			e.w.fail("%s publishes the end of a hold of %s before its grant, or with that of another one", e.name, end.Key)
		case r != nil:
			e.w.cover(coverEndedUnpublished)
		}
	}
	for _, r := range e.c.Results.Ready {
		eachGranted(r, func(h *actor.Hold) { delete(e.unpublished, h) })
	}
}

// eachGranted calls f for each hold that a request was granted.
func eachGranted(r *actor.Request, f func(*actor.Hold)) {
	switch {
	case r.Op != actor.Acquire || r.Err != nil:
	case r.Multi == nil:
		f(r.Hold)
	default:
		for i := range r.Multi.Parts {
			f(r.Multi.Parts[i].Hold)
		}
	}
}
