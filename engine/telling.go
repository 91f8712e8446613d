package engine

import "github.com/lockwheel/lockwheel/actor"

// tellsPerTurn is how many callers a turn tells their verdicts, however many it decided.
const tellsPerTurn = 4096

// telling is whom callers' verdicts are told to: in the order in which they were decided, so many a turn. What is left comes first in the
// turns that follow at once. The verdicts of very many can be decided in one turn, as when all who wait for a lock are refused. Owned by
// the coordinator.
type telling struct {
	most  int                // in a turn
	told  []*actor.Request   // outcome: in this turn
	later [][]*actor.Request // decided by then and to be told in later turns, a piece of each turn; none is empty
}

// waits reports whether there are callers who are to be told in a later turn.
func (t *telling) waits() bool { return len(t.later) > 0 }

// tell has the first told of those whose verdicts were not: nearly always all.
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

// restVerdicts lets go of the verdicts that the turn has decided. Of those that are told later their list is kept.
func (c *coordinator) restVerdicts() {
	if c.tells.told = nil; c.tells.waits() {
		c.fx.Verdicts = nil
		return
	}
	clear(c.fx.Verdicts)
	c.fx.Verdicts = c.fx.Verdicts[:0]
}

// take takes from what is to be told later what a turn may tell.
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
