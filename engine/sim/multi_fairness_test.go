package sim

import (
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simMultiUser wants several locks again and again, beside callers that want one of them each. It does what Multi does
// in the root package, with the same decisions.
type simMultiUser struct {
	c             *simCaller
	names         []int
	holds         []*simHold
	keeping       actor.PartKeeper
	begun         time.Duration
	until         time.Duration // when it gives back the parts that it has
	waitsFor      int           // the part that it waits for, or waited for, with no other part; -1: none
	acquiredCount int           // how often it had all of them
	longest       time.Duration // its longest wait
}

// multiAmongSingles has callers of all engines want one part each of a Multi, so that one part is nearly always held.
// However often they come first, the Multi is granted within ten of their waits. With hand-offs of one grant at most,
// hardly any engine steps back, and the quicker of two has a lock again and again. With only one sender, which may be
// busy for another lock when one becomes free, the Multi may then wait long. Such worlds are left out.
func (w *simWorld) multiAmongSingles() {
	unfair := func(e *simEngine) bool {
		return e.config.Poll || e.config.MaxHold != 0 || e.config.MaxHandoffGrants <= 1 && w.plan.senders == 1
	}
	if len(w.plain) < 2 || slices.ContainsFunc(w.engines, unfair) {
		return
	}
	names, ends, usual := w.plain[:min(len(w.plain), 3)], w.now+10*time.Second, 20*time.Millisecond+30*w.plan.latency
	t := &simMultiUser{c: w.prober(0), names: names, begun: w.now, waitsFor: -1}
	t.c.onResult = t.onResult
	wanted := func() bool { return w.now < ends && t.acquiredCount < 5 }
	for i := range 3 * len(names) {
		w.holdBriefly(w.prober(i%len(w.engines)), names[i%len(names)], func(waited time.Duration) bool {
			usual = max(usual, waited)
			return wanted()
		})
	}
	t.atOnce()
	w.runUntil(ends, func() bool { return t.acquiredCount >= 5 })
	if longest := max(t.longest, w.now-t.begun); longest > 10*usual {
		w.fail("%s had to wait %v for several locks, of which each was to be had within %v", t.c.e.name, longest, usual)
	}
	if !w.runUntil(w.now+w.maxFreeTime()+w.plan.longest, w.settled) {
		w.unsettled()
	}
}

// holdBriefly has a caller hold a lock for a moment, again and again, while wanted reports true.
func (w *simWorld) holdBriefly(c *simCaller, name int, wanted func(waited time.Duration) bool) {
	c.onResult = func(a *simRequest) {
		switch {
		case a.Op == actor.Unlock && wanted(0):
			c.plainLock(name)
		case a.Op == actor.Acquire:
			wanted(w.now - a.requestedAt)
			w.after(2*time.Millisecond, func() { c.change(a.hold, actor.Unlock, 0) })
		}
	}
	c.plainLock(name)
}

// atOnce mirrors Multi.atOnce.
func (t *simMultiUser) atOnce() {
	a := t.c.askSeveral(slices.Clone(t.names))
	a.Multi.OvertakenAfter = t.keeping.WaitTime()
	t.c.want(a)
}

// onResult mirrors Multi.jointly.
func (t *simMultiUser) onResult(a *simRequest) {
	w := t.c.e.w
	switch {
	case a.Op != actor.Acquire:
	case a.parts != nil && a.Err == nil:
		t.holds = a.parts
		t.all()
	case a.parts != nil:
		w.cover(coverPartsKept)
		t.until = w.now + t.keeping.PartsTime(w.now-t.begun, true)
		t.next()
	case a.Err != nil && t.waitsFor < 0:
		t.giveBack()
		t.waitsFor = a.name
		t.c.plainLock(a.name)
	case a.Err != nil:
		t.giveBack()
		t.waitsFor = -1
		t.atOnce()
	default:
		if a.name == t.waitsFor {
			t.until = w.now + t.keeping.SinglePartTime()
		}
		if t.holds = append(t.holds, a.hold); len(t.holds) < len(t.names) {
			t.next()
			return
		}
		t.all()
	}
}

// next asks for the next part, as Multi.each does.
func (t *simMultiUser) next() {
	w := t.c.e.w
	names := slices.DeleteFunc(slices.Clone(t.names), func(name int) bool {
		return slices.ContainsFunc(t.holds, func(h *simHold) bool { return h.name == name })
	})
	a := t.c.newRequest(actor.Acquire, slices.Min(names))
	a.Wait = max(t.until-w.now, time.Millisecond)
	t.c.want(a)
}

func (t *simMultiUser) all() {
	w := t.c.e.w
	t.acquiredCount++
	t.longest = max(t.longest, w.now-t.begun)
	t.giveBack()
	if t.begun, t.keeping, t.waitsFor = w.now, (actor.PartKeeper{}), -1; t.acquiredCount < 5 {
		t.atOnce()
	}
}

func (t *simMultiUser) giveBack() {
	for _, h := range t.holds {
		t.c.change(h, actor.Unlock, 0)
	}
	t.holds = nil
}
