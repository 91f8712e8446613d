package engine

import "github.com/lockwheel/lockwheel/actor"

// tellsPerTurn is the maximum number of callers that a turn notifies of their results.
const tellsPerTurn = 4096

// telling is the queue of callers to be notified of their results, in the order of decision, at most most per turn. The
// rest follows in the next turns, which run at once. Very many results can be decided in one turn, as when all waiters
// of a lock are rejected. Owned by the coordinator.
type telling struct {
	most  int                // maximum per turn
	told  []*actor.Request   // output: to be notified in this turn
	later [][]*actor.Request // to be notified in later turns, one slice per turn of decision; none is empty
}

// waits reports whether callers are left for a later turn.
func (t *telling) waits() bool { return len(t.later) > 0 }

// tell selects the callers to notify in this turn: nearly always all.
func (c *coordinator) tell() {
	t := &c.tells
	if !t.waits() && len(c.fx.Verdicts) <= t.most {
		t.told = c.fx.Verdicts
		return
	}
	if len(c.fx.Verdicts) > 0 {
		t.later = append(t.later, c.fx.Verdicts)
	}
	t.take()
}

// restVerdicts resets the results decided in the turn. If some are notified later, their slice is still in use.
func (c *coordinator) restVerdicts() {
	if c.tells.told = nil; c.tells.waits() {
		c.fx.Verdicts = nil
		return
	}
	clear(c.fx.Verdicts)
	c.fx.Verdicts = c.fx.Verdicts[:0]
}

// take selects the next callers of later, up to the maximum per turn.
func (t *telling) take() {
	t.told = nil
	for left := t.most; left > 0 && t.waits(); {
		first := t.later[0]
		n := min(left, len(first))
		t.told = append(t.told, first[:n]...)
		left -= n
		if t.later[0] = first[n:]; n == len(first) {
			t.later[0], t.later = nil, t.later[1:]
		}
	}
	if !t.waits() {
		t.later = nil
	}
}
