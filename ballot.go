package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

// ballot is one attempt to take a majority. It belongs to the goroutine of the caller.
type ballot struct {
	multi   Multi
	errand  errand
	asked   []*candidate
	told    chan int // whose verdict is out; never blocks a loop
	waiting int
	granted int
	refused int
}

// candidate is one lock of a quorum that was asked for.
type candidate struct {
	at    int
	lock  Mutex
	hold  *Hold
	call  *engine.Call // nil for one that was granted before
	err   error        // the verdict, once it was collected
	known bool         // the verdict was collected
	fate  atomic.Uint32
	told  chan<- int
	group *group // set before the fate is handed
}

// What becomes of a candidate's verdict.
const (
	open    uint32 = iota // nobody has it yet
	arrived               // it was given, and waits to be collected
	handed                // it is the group's
	dropped               // nobody wants it
)

func newCandidate(i int, lock Mutex, e errand, told chan<- int) *candidate {
	c := &candidate{at: i, lock: lock, told: told}
	c.hold = &Hold{engine: lock.engine, name: lock.name, parent: e.ctx}
	c.call = engine.NewTold(c.verdict)
	c.call.Tag = actor.Acquire
	c.call.Name, c.call.Key, c.call.Kind, c.call.Hold = lock.name, lock.key(), lock.kind, &c.hold.grant
	c.call.Owner = ownerOf(e.ctx, lock.engine, lock.name)
	c.call.Lease = e.lease
	return c
}

func (c *candidate) post() bool { return c.lock.engine.loop.Post(c.call) }

// verdict brings the verdict to whoever it is for, on the loop.
func (c *candidate) verdict() {
	switch {
	case c.fate.CompareAndSwap(open, arrived):
		c.told <- c.at
	case c.fate.Load() == handed:
		c.group.arrived(c)
	}
}

// newBallot asks for all locks in parallel; of one that was queued for there is a grant already.
func (m Multi) newBallot(e errand, first *candidate) *ballot {
	b := &ballot{multi: m, errand: e, asked: make([]*candidate, len(m.locks)), told: make(chan int, len(m.locks))}
	for i, l := range m.locks {
		if first != nil && first.at == i {
			first.known = true
			b.asked[i] = first
			b.granted++
			continue
		}
		c := newCandidate(i, l, e, b.told)
		b.asked[i] = c
		if c.call.Once = first == nil; first != nil {
			c.call.Wait = othersMost
		}
		if c.post() {
			b.waiting++
		} else {
			c.call.Err = ErrClosed
			b.take(c)
		}
	}
	return b
}

// take notes a verdict.
func (b *ballot) take(c *candidate) {
	c.known = true
	if c.call.Err == nil {
		b.granted++
		return
	}
	b.refused++
	c.err = c.lock.fail(c.call.Err, c.call.Cause)
}

func (b *ballot) need() int { return len(b.asked)/2 + 1 }

func (b *ballot) elected() bool { return b.granted >= b.need() }

// decided reports whether what is still unknown changes nothing.
func (b *ballot) decided() bool {
	return b.elected() || b.refused > len(b.asked)-b.need() || b.waiting == 0
}

// collect waits until the ballot is decided, or the caller's time is over.
func (b *ballot) collect() {
	var late <-chan time.Time
	if !b.errand.until.IsZero() {
		timer := time.NewTimer(time.Until(b.errand.until))
		defer timer.Stop()
		late = timer.C
	}
	for !b.decided() {
		select {
		case i := <-b.told:
			b.count(i)
		case <-late:
			return
		case <-b.errand.ctx.Done():
			return
		}
	}
}

func (b *ballot) count(i int) {
	b.waiting--
	b.take(b.asked[i])
}

// part decides for each candidate whose verdict nobody has what becomes of it, and collects the others.
func (b *ballot) part(fate uint32, then func(*candidate)) {
	left := 0
	for _, c := range b.asked {
		switch {
		case c.known:
		case c.fate.CompareAndSwap(open, fate):
			then(c)
		default:
			left++ // it is on its way into the channel
		}
	}
	for range left {
		b.count(<-b.told)
	}
}

// undo releases what was granted, and gives up the rest: a grant that comes all the same is given back.
func (b *ballot) undo() {
	cause := context.Cause(b.errand.ctx)
	if cause == nil {
		cause = context.Canceled
	}
	b.part(dropped, func(c *candidate) { c.lock.engine.loop.Cancel(c.call, cause) })
	for _, c := range b.asked {
		if c.known && c.err == nil {
			c.hold.letGo()
		}
	}
}

// group makes a hold of what was granted. The others join it as they come, if it is watched.
func (b *ballot) group() *group {
	holds := make([]*Hold, len(b.asked))
	for i, c := range b.asked {
		if c.known && c.err == nil {
			holds[i] = c.hold
		}
	}
	g := gather(b.errand.ctx, b.multi, b.need(), holds, b.errand.lease == 0)
	var missing []*candidate
	for i, c := range b.asked {
		if holds[i] == nil {
			c.group = g
			g.members[i].wish.Store(c.call)
			missing = append(missing, c)
		}
	}
	b.part(handed, func(*candidate) {})
	for _, c := range missing {
		if c.known {
			g.arrived(c)
		}
	}
	return g
}

// taken is the first lock that somebody else has; negative if there is none.
func (b *ballot) taken() int {
	for i, c := range b.asked {
		if errors.Is(c.err, ErrNotAcquired) {
			return i
		}
	}
	return -1
}

// refusals counts those of locks that somebody else has, and those that no time will change.
func (b *ballot) refusals() (taken, lasting int) {
	for _, c := range b.asked {
		switch {
		case c.err == nil:
		case errors.Is(c.err, ErrNotAcquired):
			taken++
		case forGood(c.err):
			lasting++
		}
	}
	return taken, lasting
}

// hopeless reports whether so many locks are refused for good that no majority can ever be had.
func (b *ballot) hopeless() bool {
	_, lasting := b.refusals()
	return lasting > len(b.asked)-b.need()
}

// outcome is the error of an attempt without a majority.
func (b *ballot) outcome() error {
	cause := fmt.Errorf("%d of %d locks could be had, %d are needed", b.granted, len(b.asked), b.need())
	for _, c := range b.asked {
		if c.err != nil {
			cause = fmt.Errorf("%w; %w", cause, c.err)
		}
	}
	if ended := context.Cause(b.errand.ctx); ended != nil {
		cause = fmt.Errorf("%w; %w", cause, ended)
	}
	taken, lasting := b.refusals()
	switch {
	case b.hopeless():
		return b.multi.fail(errForGood, cause)
	case taken > 0 && taken+lasting > len(b.asked)-b.need():
		return b.multi.fail(ErrNotAcquired, cause)
	}
	return b.multi.fail(ErrUnavailable, cause)
}
