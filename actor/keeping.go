package actor

import (
	"errors"
	"time"
)

// ErrOvertaken is the verdict of a request for several locks that has waited for its Patience: its turn came at one
// of them, and another was somebody's. It had nothing, and its caller is to take them one after the other.
var ErrOvertaken = errors.New("lockwheel: another of several locks was taken before")

const (
	// overtakenFirst is how long whoever wants several locks waits for all of them at once before it keeps parts.
	overtakenFirst = 25 * time.Millisecond
	// keepFirst is how long it keeps parts at least, the first time: as long as a few others need to come and go.
	keepFirst = 250 * time.Millisecond
	// besideFirst is how long at least whoever came to its turn at one keeps that for the others.
	besideFirst = 50 * time.Millisecond
	// keepMost is how long at most, where it can wait without any.
	keepMost = 10 * time.Second
)

// Keeping says for how long somebody who wants several locks, and is overtaken again and again, keeps the parts that
// it has from others while it waits for the rest.
//
// All take their parts in the same order, so those who want several never wait for each other in a circle. They can
// with an owner who has a part already and waits for one that is kept: so what is kept is given back after a while,
// and for as long nothing is kept. The while is half of what was waited before. So whoever waits is let through as
// soon as that is longer than the others need, and nobody is held up for longer than it has waited itself.
//
// Where somebody always has one part and waits for another one, that order alone would never do: after it, the part that
// was missing is waited for alone, and kept for the others for a shorter while.
type Keeping struct{ last time.Duration }

// Patience is how long to wait for all at once before parts are kept, again.
func (k *Keeping) Patience() time.Duration { return max(overtakenFirst, k.last) }

// For is how long parts are kept now, after so long a wait: with a bound for those who can wait without any, and come
// to their turn in a queue then.
func (k *Keeping) For(waited time.Duration, bound bool) time.Duration {
	k.last = max(keepFirst, waited/2)
	if bound {
		k.last = min(k.last, keepMost)
	}
	return k.last
}

// Beside is how long a part that was waited for alone is kept for the others, after parts were kept in vain.
func (k *Keeping) Beside() time.Duration { return max(besideFirst, k.last/4) }

// overtaken gives a request for several locks its verdict if it has waited for long, and reports whether it did.
func (r *Request) overtaken(now time.Duration, fx *Effects) bool {
	j := r.Joint
	if r.Decided() || j.Patience == 0 || now-r.posted < j.Patience {
		return false
	}
	fx.Decide(now, r, ErrOvertaken, nil)
	fx.Stats.Refused -= r.locks() // its caller goes on, one lock after the other
	return true
}
