package bench

import (
	"container/heap"
	"context"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

const (
	sampleInterval = 5 * time.Millisecond
	maxSampled     = 10_000 // the maximum number of locks in the sample, evenly from all
	validityProbes = 20     // locks that show how far ahead a deadline is
)

// latenessMonitor measures from outside how late renewals are confirmed, on a sample of the held locks. A renewal
// counts as confirmed when the hold's deadline is seen to have moved, so figures are up to sampleInterval too large.
type latenessMonitor struct {
	renew, validity time.Duration // the interval of renewals; from when a lease was sent to the deadline it gave
	renewals        renewalHeap
	late            measure.Histogram
	stop, stopped   chan struct{}
}

// measureValidity returns the time from sending an acquire to the deadline that it gives, or slightly more. So no
// renewal seems more punctual than it was.
func measureValidity(c peers.Holder) (time.Duration, error) {
	var least time.Duration
	for i := range validityProbes {
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

// startLatenessMonitor starts to watch held locks; end ends that.
func startLatenessMonitor(held []peers.Held, renew, validity time.Duration) *latenessMonitor {
	l := &latenessMonitor{renew: renew, validity: validity, stop: make(chan struct{}), stopped: make(chan struct{})}
	step := (len(held) + maxSampled - 1) / maxSampled
	for i := 0; i < len(held); i += step {
		h := held[i].(peers.Deadlined)
		l.renewals = append(l.renewals, renewal{held: h, deadline: h.Deadline()})
	}
	heap.Init(&l.renewals)
	go l.run()
	return l
}

func (l *latenessMonitor) run() {
	defer close(l.stopped)
	for {
		select {
		case <-time.After(max(sampleInterval, time.Until(l.nextDue()))): // checking must cost next to nothing
			l.sample(time.Now(), false)
		case <-l.stop:
			l.sample(time.Now(), true)
			return
		}
	}
}

// nextDue returns when the next renewal is or was due.
func (l *latenessMonitor) nextDue() time.Time {
	return l.renewals[0].deadline.Add(l.renew - l.validity)
}

// sample records renewals that were confirmed since they were due. At the end it also records the others, as far as
// they are late.
func (l *latenessMonitor) sample(now time.Time, last bool) {
	var waiting []renewal
	for len(l.renewals) > 0 {
		r, due := l.renewals[0], l.nextDue()
		if due.After(now) {
			break
		}
		moved := r.held.Deadline()
		if moved.Equal(r.deadline) && !last {
			waiting = append(waiting, heap.Pop(&l.renewals).(renewal))
			continue
		}
		l.late.Record(now.Sub(due))
		if last {
			heap.Pop(&l.renewals)
			continue
		}
		l.renewals[0].deadline = moved
		heap.Fix(&l.renewals, 0)
	}
	for _, r := range waiting {
		heap.Push(&l.renewals, r)
	}
}

// end ends the watching; late may be read after it.
func (l *latenessMonitor) end() {
	close(l.stop)
	<-l.stopped
}

// renewal is the next renewal of a lock.
type renewal struct {
	held     peers.Deadlined
	deadline time.Time // given by the one before
}

// renewalHeap is the sample, the renewal that is due next first.
type renewalHeap []renewal

func (w renewalHeap) Len() int           { return len(w) }
func (w renewalHeap) Less(i, j int) bool { return w[i].deadline.Before(w[j].deadline) }
func (w renewalHeap) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *renewalHeap) Push(r any)        { *w = append(*w, r.(renewal)) }
func (w *renewalHeap) Pop() any {
	last := len(*w) - 1
	r := (*w)[last]
	*w = (*w)[:last]
	return r
}
