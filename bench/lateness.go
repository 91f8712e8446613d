package bench

import (
	"container/heap"
	"context"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

const (
	lookEvery = 5 * time.Millisecond
	lookedAt  = 10_000 // locks at most, evenly from all
	probes    = 20     // locks that tell what a deadline means
)

// lateness is how late renewals are confirmed, as one sees who looks at a share of the held locks from outside: a
// renewal is confirmed when the hold's deadline is seen to have moved, so figures are up to lookEvery too large.
type lateness struct {
	renew, counted time.Duration // the interval of renewals; from when a lease was sent to the deadline it gave
	watched        watched
	late           measure.Histogram
	stop, stopped  chan struct{}
}

// deadlineAfter is how long after an acquire was sent the deadline lies that it gave, or a little more: so no renewal
// is taken for more punctual than it was.
func deadlineAfter(c peers.Holder) (time.Duration, error) {
	var least time.Duration
	for i := range probes {
		called := time.Now()
		held, err := c.Hold(context.Background(), "lockwheel-bench-probe")
		if err != nil {
			return 0, err
		}
		if d := held.(peers.Deadlined).Deadline().Sub(called); i == 0 || d < least {
			least = d
		}
		if err := held.Release(); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// look starts to look at locks that are held; end ends it.
func look(held []peers.Held, renew, counted time.Duration) *lateness {
	l := &lateness{renew: renew, counted: counted, stop: make(chan struct{}), stopped: make(chan struct{})}
	step := (len(held) + lookedAt - 1) / lookedAt
	for i := 0; i < len(held); i += step {
		h := held[i].(peers.Deadlined)
		l.watched = append(l.watched, renewal{held: h, deadline: h.Deadline()})
	}
	heap.Init(&l.watched)
	go l.watch()
	return l
}

func (l *lateness) watch() {
	defer close(l.stopped)
	for {
		select {
		case <-time.After(max(lookEvery, time.Until(l.next()))): // looking is to cost next to nothing
			l.step(time.Now(), false)
		case <-l.stop:
			l.step(time.Now(), true)
			return
		}
	}
}

// next is when the next renewal is due, or was.
func (l *lateness) next() time.Time { return l.watched[0].deadline.Add(l.renew - l.counted) }

// step notes those that were confirmed since they were due. At the end it notes the others as far as they are late.
func (l *lateness) step(now time.Time, last bool) {
	var waiting []renewal
	for len(l.watched) > 0 {
		r, due := l.watched[0], l.next()
		if due.After(now) {
			break
		}
		moved := r.held.Deadline()
		if moved.Equal(r.deadline) && !last {
			waiting = append(waiting, heap.Pop(&l.watched).(renewal))
			continue
		}
		l.late.Record(now.Sub(due))
		if last {
			heap.Pop(&l.watched)
			continue
		}
		l.watched[0].deadline = moved
		heap.Fix(&l.watched, 0)
	}
	for _, r := range waiting {
		heap.Push(&l.watched, r)
	}
}

// end ends the looking; late may be read then.
func (l *lateness) end() {
	close(l.stop)
	<-l.stopped
}

// renewal is the next one of a lock.
type renewal struct {
	held     peers.Deadlined
	deadline time.Time // given by the one before
}

// watched is those that are looked at, the next to be due first.
type watched []renewal

func (w watched) Len() int           { return len(w) }
func (w watched) Less(i, j int) bool { return w[i].deadline.Before(w[j].deadline) }
func (w watched) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *watched) Push(r any)        { *w = append(*w, r.(renewal)) }
func (w *watched) Pop() any {
	last := len(*w) - 1
	r := (*w)[last]
	*w = (*w)[:last]
	return r
}
