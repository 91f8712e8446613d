package coordinator

import "github.com/lockwheel/lockwheel/actor"

// MaxResultsPerTurn is the maximum number of callers that a turn notifies of their results.
const MaxResultsPerTurn = 4096

// resultQueue is the queue of callers to be notified of their results, in the order of decision, at most budget per
// turn. The rest follows in the next turns, which run at once. Very many results can be decided in one turn, as when
// all waiters of a lock are rejected. New sets the budget; with the zero value no caller would ever be notified. Owned
// by the coordinator.
type resultQueue struct {
	budget int                // maximum per turn
	Ready  []*actor.Request   // output: to be notified in this turn
	later  [][]*actor.Request // to be notified in later turns, one slice per turn of decision; none is empty
}

// pending reports whether callers are left for a later turn.
func (q *resultQueue) pending() bool { return len(q.later) > 0 }

// selectResults selects the callers to notify in this turn: nearly always all.
func (c *Coordinator) selectResults() {
	if len(c.Fx.EndedUnpublished) > 0 {
		c.findGrants()
	}
	q := &c.Results
	if !q.pending() && len(c.Fx.Results) <= q.budget {
		q.Ready = c.Fx.Results
	} else {
		if len(c.Fx.Results) > 0 {
			q.later = append(q.later, c.Fx.Results)
		}
		q.take()
	}
	for _, r := range q.Ready {
		r.Publish()
	}
}

// findGrants finds the requests for holds that ended before the results are published, so that observers are notified
// of each grant before its end. Such a hold was granted in this turn, or its result waits behind very many. It looks
// at a bounded number of results, first at those of this turn and then at the newest before: behind more of them an
// observer may be notified of the end first.
func (c *Coordinator) findGrants() {
	missing := make(map[*actor.Hold]*actor.HoldEnd, len(c.Fx.EndedUnpublished))
	for _, i := range c.Fx.EndedUnpublished {
		missing[c.Fx.HoldEnds[i].Hold] = &c.Fx.HoldEnds[i]
	}
	c.Fx.EndedUnpublished = emptied(c.Fx.EndedUnpublished)
	look := func(h *actor.Hold, r *actor.Request) {
		if end := missing[h]; end != nil {
			end.Granted = r
			delete(missing, h)
		}
	}
	left := maxKeptOutputs
	for at := len(c.Results.later); at >= 0; at-- {
		results := c.Fx.Results
		if at < len(c.Results.later) {
			results = c.Results.later[at]
		}
		for _, r := range results {
			if left--; left < 0 || len(missing) == 0 {
				return
			}
			switch {
			case r.Op != actor.Acquire || r.Err != nil:
			case r.Multi == nil:
				look(r.Hold, r)
			default:
				for i := range r.Multi.Parts {
					look(r.Multi.Parts[i].Hold, r)
				}
			}
		}
	}
}

// resetResults resets the results decided in the turn. If some are notified later, their slice is still in use.
func (c *Coordinator) resetResults() {
	if c.Results.Ready = nil; c.Results.pending() {
		c.Fx.Results = nil
		return
	}
	c.Fx.Results = emptied(c.Fx.Results)
}

// take selects the next callers of later, up to the maximum per turn.
func (q *resultQueue) take() {
	q.Ready = nil
	for left := q.budget; left > 0 && q.pending(); {
		first := q.later[0]
		n := min(left, len(first))
		q.Ready = append(q.Ready, first[:n]...)
		left -= n
		if q.later[0] = first[n:]; n == len(first) {
			q.later[0], q.later = nil, q.later[1:]
		}
	}
	if !q.pending() {
		q.later = nil
	}
}
