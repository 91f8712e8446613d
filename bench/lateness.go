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
	lookedAt  = 10_000 // the maximum number of locks in the sample, evenly from all
	probes    = 20     // locks that show how far ahead a deadline is
)

// lateness measures from outside how late renewals are confirmed, on a sample of the held locks. A renewal counts as
// confirmed when the hold's deadline is seen to have moved, so figures are up to lookEvery too large.
type lateness struct {
	renew, counted time.Duration // the interval of renewals; from when a lease was sent to the deadline it gave
	watched        watched
	late           measure.Histogram
	stop, stopped  chan struct{}
}

// deadlineAfter returns the time from sending an acquire to the deadline that it gives, or slightly more. So no renewal
// seems more punctual than it was.
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

// look starts to watch held locks; end ends that.
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
		case <-time.After(max(lookEvery, time.Until(l.next()))): // checking must cost next to nothing
			l.step(time.Now(), false)
		case <-l.stop:
			l.step(time.Now(), true)
			return
		}
	}
}

// next returns when the next renewal is or was due.
func (l *lateness) next() time.Time { return l.watched[0].deadline.Add(l.renew - l.counted) }

// step records renewals that were confirmed since they were due. At the end it also records the others, as far as they are
// late.
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

// end ends the watching; late may be read after it.
func (l *lateness) end() {
	close(l.stop)
	<-l.stopped
}

// renewal is the next renewal of a lock.
type renewal struct {
	held     peers.Deadlined
	deadline time.Time // given by the one before
}

// watched is the sample, the renewal that is due next first.
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
