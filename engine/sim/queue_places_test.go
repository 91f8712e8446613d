package sim

import "github.com/lockwheel/lockwheel/actor"

// checkPlaces checks that each place of a running engine belongs to a tenure that the engine has, or is about to
// release. A forgotten place holds up all places behind it until it is considered dead, and its caller waits once more,
// behind them.
func (w *simWorld) checkPlaces(n *simName, queue []simQueuePlace) {
	for i := range queue {
		p := &queue[i]
		e := w.alive(p.holder.life)
		if e == nil || e.dead || e.c.Closed || p.late || p.old || p.till <= w.server.clock() {
			continue
		}
		if t := w.model.tenure(p.holder); t.inFlight > 0 || t.forbidden || e.lockOf(p.holder) != nil || e.willRelease(p.holder) {
			continue
		}
		w.fail("%s has forgotten its place %s:%d, which lives for %d ms more", e.name, n.key, p.holder.tenure, p.till-w.server.clock())
	}
}

// willRelease reports whether an engine is to release a tenure that it has no use for.
func (e *simEngine) willRelease(h simHolder) bool {
	key := e.w.plan.names[h.name()]
	return e.c.LockSets[key].First(func(l *actor.Lock) bool { return l.IsOrphan(h.tenure) }) != nil
}
