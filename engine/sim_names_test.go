package engine

import (
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// simName is what is known of a name besides its key. Moments are true time, zero for never.
type simName struct {
	key     string
	kind    actor.LockKind
	channel string
	token   uint64        // the greatest that an owner was given, of a fenced lock
	tokened simHolder     // that owner
	tokenOf *simTenure    // and in which tenure
	free    time.Duration // since when nobody has it
	silent  time.Duration // until when waiters may sleep that nobody told
	orphan  time.Duration // since when it is an engine's that knows nothing of it
	own     time.Duration // since when that engine was told so, in answer to a question
	wrong   time.Duration // since when its count is wrong
	holds   int           // by how many it was held when that was looked at last
	changed time.Duration // when the server wrote it last
	line    []simArrival  // who came to the queue of a fair lock, in order

	active  []*simHold // granted and not ended
	touched bool       // something happened to it since the last check
}

// lookEvery is how often the names are looked at, at most. What is looked for takes far longer.
const lookEvery = time.Millisecond

// since keeps in *moment since when something is so.
func (w *simWorld) since(moment *time.Duration, so bool) {
	if !so {
		*moment = 0
	} else if *moment == 0 {
		*moment = w.now
	}
}

// look goes through the names now and then: each engine's books and the server's must come to agree.
func (w *simWorld) look() {
	for i := range w.names {
		n, k := &w.names[i], w.server.key(i)
		w.since(&n.free, w.free(i))
		if n.free != 0 {
			n.free = max(n.free, n.changed)
		}
		e := w.alive(k.holder.life)
		if !k.exists || e == nil || k.tenure == nil {
			n.orphan, n.own, n.wrong = 0, 0, 0
			continue
		}
		w.adopted(n, k, e)
		w.counted(n, i, k, e)
	}
	for _, e := range w.engines {
		w.hears(e)
		for _, a := range e.asks {
			w.awake(a)
		}
	}
}

// hears finds engines that go on asking because they cannot hear, though they could.
func (w *simWorld) hears(e *simEngine) {
	w.since(&e.unheard, e.c.fx.Unheard != 0)
	if e.unheard != 0 && w.now-max(e.unheard, w.disturbed) > w.patience() {
		w.fail("%s waits for %d locks as if it could not hear, and has for %v", e.name, e.c.fx.Unheard, w.now-e.unheard)
	}
}

// alive is the engine that a holder belongs to, if it still runs.
func (w *simWorld) alive(life int) *simEngine {
	for _, e := range w.engines {
		if e.life == life {
			return e
		}
	}
	return nil
}

// patience is how long a free lock may stay free while somebody waits for it, when nothing is wrong: a
// subscription that was refused is tried again after half a second, all else comes sooner.
func (w *simWorld) patience() time.Duration { return 1500*time.Millisecond + 50*w.plan.latency }

// awake finds waiters that sleep though their lock is free.
func (w *simWorld) awake(a *simAsk) {
	n := &w.names[a.name]
	if a.Tag != actor.Acquire || n.free == 0 {
		return
	}
	since := max(a.asked, n.free, n.silent, w.disturbed)
	if w.now-since <= w.patience() {
		return
	}
	for _, earlier := range a.caller.e.asks {
		if earlier.name == a.name && earlier.Lease != 0 && earlier.Lease < w.plan.usableLease() {
			return // somebody before it tries in vain until its time is over
		}
	}
	w.fail("%s sleeps: %s was asked for %v ago and is free for %v", a.caller.e.name, a.Key, w.now-a.asked, w.now-n.free)
}

// adopted finds orphans: locks in the server whose engine neither has them nor releases them. A copy of
// an acquire that runs late leaves one, if it comes after the second release.
func (w *simWorld) adopted(n *simName, k *simKey, e *simEngine) {
	t, known := k.tenure, e.lockOf(n.key, k.holder.tenure) != nil
	w.since(&n.orphan, !known && !t.robbed && !t.revived && !t.forbidden)
	if n.orphan == 0 {
		n.own = 0
		return
	}
	if n.own != 0 && w.now-max(n.own, w.disturbed) > 700*time.Millisecond+50*w.plan.latency { // a refused one comes again after half a second
		w.fail("%s was told %v ago that it has %s:%d itself, and has not released it", e.name, w.now-n.own, n.key, k.holder.tenure)
	}
	timeout := e.config.Timeout + e.config.Timeout/50
	if t.late && (t.released == 0 || t.created > t.released+timeout*9/10) {
		return
	}
	if late := w.now - max(n.orphan, t.released, w.disturbed); late > timeout+w.patience() {
		w.fail("%s left %s:%d in the server: nobody has had it for %v", e.name, n.key, k.holder.tenure, late)
	}
}

// told notes who an engine hears to have a lock: if that is itself, and it knows nothing of it, it must do
// something about it.
func (w *simWorld) told(e *simEngine, c *actor.Command, reply *actor.Reply) {
	name := w.nameOf(c.Key)
	n := &w.names[name]
	if n.own != 0 || !strings.HasPrefix(reply.Holder, w.lives[e.life]) {
		return
	}
	if holder := w.server.key(name).holder; holder.life == e.life && e.lockOf(n.key, holder.tenure) == nil && reply.Holder == w.holderName(holder) {
		n.own = w.now
	}
}

// counted checks that others see how often a lock is held.
func (w *simWorld) counted(n *simName, name int, k *simKey, e *simEngine) {
	holds := 0
	for _, h := range e.holds {
		if h.active && h.name == name && h.grant.Tenure == k.holder.tenure {
			holds++
		}
	}
	if holds != n.holds {
		n.holds, n.wrong = holds, 0 // what was wrong before is over, or is another matter now
	}
	w.since(&n.wrong, holds != 0 && holds != k.count && !k.tenure.forbidden && !k.tenure.robbed && !k.tenure.recounted)
	if n.wrong != 0 && w.now-max(n.wrong, w.disturbed) > 300*time.Millisecond+50*w.plan.latency+e.config.Renew/2 { // a refused one is not hurried
		w.fail("%s holds %s %d times, but the server has said %d for %v", e.name, n.key, holds, k.count, w.now-n.wrong)
	}
}

// unheard notes that a lock may become free without a word, and that waiters may sleep as long as they
// were told, in ms of the server's clock.
func (w *simWorld) unheard(name int, until int64) {
	if until == simForever {
		until = w.server.clock() + int64(time.Second/time.Millisecond)
	}
	w.names[name].silent = max(w.names[name].silent, time.Duration(until)*time.Millisecond)
}

// unheardFor is the same for all names of a channel, when nobody knows how long that is.
func (w *simWorld) unheardFor(channel string) {
	for i := range w.names {
		if n := &w.names[i]; strings.HasPrefix(channel, n.channel) {
			n.silent = max(n.silent, w.now+2*w.plan.longest)
		}
	}
}
