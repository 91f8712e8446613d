package engine

import "github.com/lockwheel/lockwheel/actor"

// known checks that each place of a running engine belongs to a tenure that the engine has, or is about to release.
// A forgotten place holds up all places behind it until it is considered dead, and its caller waits once more,
// behind them.
func (w *simWorld) known(n *simName, queue []simPlace) {
	for i := range queue {
		p := &queue[i]
		e := w.alive(p.holder.life)
		if e == nil || e.dead || e.c.closed || p.late || p.old || p.till <= w.server.clock() {
			continue
		}
		if t := w.books.tenure(p.holder); t.flying > 0 || t.forbidden || e.lockOf(p.holder) != nil || e.haunts(p.holder) {
			continue
		}
		w.fail("%s has forgotten its place %s:%d, which lives for %d ms more", e.name, n.key, p.holder.tenure, p.till-w.server.clock())
	}
}

// haunts reports whether an engine is to release a tenure that it has no use for.
func (e *simEngine) haunts(h simHolder) bool {
	key := e.w.plan.names[h.name()]
	return e.c.groups[key].first(func(l *actor.Lock) bool { return l.Haunted(h.tenure) }) != nil
}
