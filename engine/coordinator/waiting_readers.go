package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// maxListeningReaders is the maximum number of waiting readers of a key that listen to its channel.
const maxListeningReaders = 32

// maxFilledAtOnce is how many readers take a free place in one step of another. More than one is needed only if one
// leaves at once.
const maxFilledAtOnce = 4

// waitingReaders are the readers of a key that were refused and wait. Only some listen to its channel, and try again at
// a message. What one of them is told holds for all: while one is refused, the others would be. So the others, the
// quiet ones, are woken by the next grant to any reader of the key, as those that listen are. A message costs as many
// commands as readers listen, however many wait. The zero value has none. Owned by the coordinator.
type waitingReaders struct {
	listening listenerSet
	quiet     listenerSet // only while as many listen as may
	woken     bool        // a reader was granted, and none has been refused since: all were woken
	filling   bool        // a free place is being taken
}

// readerListens adds a waiting reader to those that listen, or to the quiet ones, or removes it. It reports whether the
// change is one of the channel's listeners.
func (c *Coordinator) readerListens(change actor.SubscriptionChange) bool {
	l, w := change.Lock, &c.LockSets[change.Lock.Key()].waiting
	switch {
	case !change.On && w.quiet.has(l):
		w.quiet.remove(l)
		return false
	case !change.On:
		w.listening.remove(l)
	case !l.Awaited():
	case w.listening.len() < c.intake.listeningReaders:
		w.listening.add(l)
	default:
		w.quiet.add(l)
		return false
	}
	return true
}

// updateWaitingReaders is called after each step of a reader that listens, or is quiet. If it waits no longer, another
// one takes its place.
func (c *Coordinator) updateWaitingReaders(now time.Duration, l *actor.Lock) {
	w := &c.LockSets[l.Key()].waiting
	if !l.Awaited() {
		w.listening.remove(l)
		if w.quiet.has(l) {
			w.quiet.remove(l)
			l.ForgetSubscription(c.Fx)
		}
	}
	if !w.filling {
		w.filling = true
		for range maxFilledAtOnce {
			c.fillListening(now, w)
		}
		w.filling = false
	}
}

// fillListening has a quiet reader take a free place of those that listen. A message may have reached only the one that
// had the place before, so this one tries again. No reader takes a place while all are being woken or rejected.
func (c *Coordinator) fillListening(now time.Duration, w *waitingReaders) {
	if w.quiet.len() == 0 || w.listening.len() >= c.intake.listeningReaders || w.woken || c.Fx.Draining {
		return
	}
	next := w.quiet.last()
	w.quiet.remove(next)
	w.listening.add(next)
	if news := c.nodeForKey(next.Key()).Subscriptions.addListener(next, next.Channel()); news != 0 {
		c.step(now, next, &actor.Message{Event: news})
	}
}

// noteReaderReply notes what the reply to a reader's acquire means for the other readers. It must be called before the
// reader's step.
func (s *lockSet) noteReaderReply(reply *actor.Reply) {
	if s != nil && reply.Status == actor.HeldByOther {
		s.waiting.woken = false
	}
}

// wakeWaitingReaders wakes all waiting readers after a grant to a reader, once: those that listen may have missed a
// message. It stops when one is refused again.
func (c *Coordinator) wakeWaitingReaders(now time.Duration, key string) {
	set := c.LockSets[key]
	if set == nil || set.waiting.woken || set.waiting.len() == 0 {
		return
	}
	set.waiting.woken = true
	c.fanOut(now, recipients{event: actor.Notified, key: key, refused: true}, set.waiting.all())
}

func (w *waitingReaders) len() int { return w.listening.len() + w.quiet.len() }

// someOldest calls each with all readers that listen, and with the oldest quiet one. It looks at no more than budget
// places for that one.
func (w *waitingReaders) someOldest(budget int, each func(*actor.Lock)) {
	for _, l := range w.listening.locks {
		if l != nil {
			each(l)
		}
	}
	for _, l := range w.quiet.locks[:min(len(w.quiet.locks), budget)] {
		if l != nil {
			each(l)
			return
		}
	}
}

// all returns a copy.
func (w *waitingReaders) all() []*actor.Lock { return append(w.listening.all(), w.quiet.all()...) }

func (w *waitingReaders) has(l *actor.Lock) bool { return w.listening.has(l) || w.quiet.has(l) }
