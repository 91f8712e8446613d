package coordinator

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

// Waiters is the reply to a WaiterQuery. It is immutable. The zero value is that of no engine.
type Waiters struct {
	Engine        string        // this engine's id
	Count         int           // so many requests wait
	More          bool          // not all locks of the name were looked at: at least so many wait
	Age           time.Duration // how long the first of them has waited; 0 if none waits
	Subscriptions int           // so many channels of the lock are subscribed
}

// answerWaiters replies to a query. The reply has nothing about callers but their number, and how long one has waited.
func (c *Coordinator) answerWaiters(now time.Duration, q WaiterQuery) {
	w := &Waiters{Engine: c.Fx.Config.ID}
	n := c.nodeForKey(q.Key)
	for _, name := range actor.Channels(q.Key) {
		if n.Subscriptions.hasSubscribed(name) {
			w.Subscriptions++
		}
	}
	note := func(l *actor.Lock) {
		info := l.Info(now, c.Fx)
		w.Count += info.Waiting
		w.noteAge(now, &info)
	}
	if l := c.Locks.Get(q.Key); l != nil {
		note(l)
	}
	if set := c.LockSets[q.Key]; set != nil {
		before := w.Count
		if w.More = !set.locks.someOldest(c.intake.lockBudget, note); w.More {
			w.Count = max(w.Count, before+set.waiting.len())
			set.waiting.someOldest(c.intake.lockBudget, func(l *actor.Lock) {
				info := l.Info(now, c.Fx)
				w.noteAge(now, &info)
			})
		}
	}
	c.own.Answers = append(c.own.Answers, Answer{Asker: q.Asker, Waiters: w})
}

func (w *Waiters) noteAge(now time.Duration, info *actor.Info) {
	if info.Waiting > 0 {
		w.Age = max(w.Age, now-info.WaitingSince)
	}
}
