package lockwheel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// queueMost is how long a quorum's waiter stands in one member's queue before it asks all again: that
	// member may have died meanwhile.
	queueMost = 5 * time.Second
	// othersMost is how long whoever has come first at one member waits for the others: the last holder
	// releases them at about the same time.
	othersMost = 50 * time.Millisecond
	// Between attempts that did not fail for a member that could be queued for, or failed with one held.
	againFirst, againMost = 4 * time.Millisecond, 256 * time.Millisecond
)

// Quorum returns locks on independent servers as one lock, held while a majority of them is: the algorithm
// that is known as Redlock, and Redisson's RedLock. Each lock is of another engine, and each engine is to be on
// a server of its own that shares nothing with the others. Everybody must give the same locks, and should give
// them in the same order. On the wire they are the locks themselves.
//
// All are asked in parallel, and a majority of grants is a hold. Its validity is that of the leases less the
// time that asking took and one per cent (at most 1 s) and some milliseconds for clocks that drift:
// [Hold.Deadline] is until when a majority is known to be held. If no majority can be had, what was granted
// is released at once; who waits then stands in the queue of one lock that is taken, holding none, and asks
// for all when its turn comes there, or after 5 s: that server may have failed. Locks that are missing in a
// watched hold are waited for, and held again when they can be; one that its server refuses for good is asked
// for again every Options.Renew. The hold is lost as soon as its majority is; Unlock returns when a majority
// is released.
//
// A quorum outlives a minority of servers that fail. It is no proof: a server that restarts without its data,
// or whose clock jumps, may grant a lock that somebody counts on, until that one's next renewal. Let such a
// server stay away for a lease, or let it keep its data. What must never happen twice needs a check where it is
// written; Hold.Token is 0 here.
func Quorum(locks ...Mutex) Multi {
	m := Multi{locks: slices.Clone(locks), name: nameOf(locks), quorum: true}
	for i, l := range locks {
		if slices.ContainsFunc(locks[:i], func(other Mutex) bool { return other.engine == l.engine }) {
			m.wrong = fmt.Errorf("lockwheel: lock %s: a quorum needs engines that differ, on servers that differ", quoted(l.name))
		}
	}
	return m
}

// majority takes as many locks as are needed, at least.
func (m Multi) majority(e errand) (*Hold, error) {
	var first *candidate // that was queued for, and came
	for pause := againFirst; ; {
		b := m.newBallot(e, first)
		b.collect()
		if b.elected() {
			return b.group().checked()
		}
		b.undo()
		if e.once || e.over() || b.hopeless() {
			return nil, b.outcome()
		}
		at := b.taken()
		if at < 0 || first != nil {
			e.sleep(pause/2 + rand.N(pause/2))
			pause = min(2*pause, againMost)
		}
		if first = nil; at >= 0 {
			first = m.queueFor(at, e)
		}
		if first == nil && e.over() {
			return nil, b.outcome()
		}
	}
}

// queueFor waits for one of the locks; nil if it was not to be had.
func (m Multi) queueFor(at int, e errand) *candidate {
	limit := queueMost
	if !e.until.IsZero() {
		limit = min(limit, time.Until(e.until))
	}
	if limit < shortest {
		return nil
	}
	opts := []Option{Wait(limit)}
	if e.lease != 0 {
		opts = append(opts, Lease(e.lease))
	}
	hold, err := m.locks[at].Lock(e.ctx, opts...)
	if err != nil {
		return nil // asking all again tells why
	}
	return &candidate{at: at, hold: hold}
}

// over reports whether nobody waits for the errand any more.
func (e *errand) over() bool {
	return e.ctx.Err() != nil || !e.until.IsZero() && !time.Now().Before(e.until)
}

func (e *errand) sleep(d time.Duration) {
	if !e.until.IsZero() {
		d = min(d, time.Until(e.until))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
	}
}

// await asks for a member that is missing, for as long as the group is held and watched.
func (g *group) await(i int) {
	if !g.wants() {
		return
	}
	m := &g.members[i]
	c := newCandidate(i, m.lock, errand{ctx: g.Context}, nil)
	c.group = g
	c.fate.Store(handed)
	if !m.wish.CompareAndSwap(nil, c.call) {
		return // it is asked for
	}
	if !c.post() {
		m.wish.CompareAndSwap(c.call, nil)
	} else if g.over.Load() {
		m.lock.engine.loop.Cancel(c.call, context.Canceled) // whoever ended the group may have done so before the call was posted
	}
}

// wants reports whether members that are missing are to be taken.
func (g *group) wants() bool { return g.renews.Load() && !g.over.Load() }

// arrived takes in the verdict on a member that was missing, on the loop of its engine.
func (g *group) arrived(c *candidate) {
	m := &g.members[c.at]
	err := c.call.Err
	if err == nil {
		g.join(m, c.hold)
	}
	// Not before it is here: whoever found it missing, with nothing under way, would ask for it again, as the same owner.
	m.wish.CompareAndSwap(c.call, nil)
	switch {
	case err == nil && m.hold.Load() != nil:
	case err == nil || !forGood(err): // it may have ended as soon as it was here
		g.await(c.at)
	case !errors.Is(err, ErrClosed) && g.wants():
		// Somebody may put that right. It finds out by itself when the group is over meanwhile.
		time.AfterFunc(c.lock.engine.options.Renew, func() { g.await(c.at) })
	}
}

// join takes in a member that was missing. If the group is over it is given back.
func (g *group) join(m *member, h *Hold) {
	if !g.over.Load() {
		g.held.Add(1)
		m.adopt(h, &actor.Signal{})
	}
	if g.over.Load() {
		h.letGo()
	}
}

// errForGood is for locks of which so many will never be had that no majority can be.
var errForGood = errors.New("refused for good")

// forGood reports whether a refusal is no matter of time.
func forGood(err error) bool {
	return !errors.Is(err, ErrNotAcquired) && !errors.Is(err, ErrUnavailable) && !errors.Is(err, context.Canceled)
}
