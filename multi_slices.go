package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

const (
	// maxAtomic is the maximum number of locks of a Multi that one command acquires, all or none.
	maxAtomic = 1000
	// sliceSize is the maximum number that one command acquires if there are more, and that is released or extended
	// at a time. A script blocks the server while it runs, so other clients wait for at most this many locks.
	sliceSize = 500
)

// needsSlices reports whether there are too many locks for one command.
func (m Multi) needsSlices() bool { return len(m.locks) > maxAtomic }

// sliceEnd returns the end of the locks that are acquired together with the first: with one command, if that is possible
// and there are more than one command acquires. A lock that is held already is its own slice.
func (m Multi) sliceEnd(first, has int) (last int) {
	if first == has || !m.needsSlices() || !m.canLockAtomic() {
		return first + 1
	}
	last = min(first+sliceSize, len(m.locks))
	if first < has && has < last {
		last = has
	}
	return last
}

// acquireSlice acquires the locks from first to last that are not held yet. at is the index of the lock that an error
// concerns.
func (m Multi) acquireSlice(e multiRequest, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	if last-first > 1 {
		at, err = m.acquireSliceAtomic(e, first, last, until, holds)
		if err != engine.ErrReentry && err != actor.ErrOvertaken {
			return at, err
		}
	}
	for i := first; i < last; i++ {
		if holds[i] != nil {
			continue
		}
		if holds[i], err = m.locks[i].Lock(e.ctx, e.waitOption(until)); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// acquireSliceAtomic acquires some of the locks with one command, and holds none of these while it waits.
func (m Multi) acquireSliceAtomic(e multiRequest, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	var keeping actor.PartKeeper
	some, within := Multi{locks: m.locks[first:last], name: m.name}, e.within(until)
	taken, at, err := some.acquireAtomic(within, keeping.WaitTime())
	if errors.Is(err, ErrUnavailable) && !within.once && !e.expired() {
		// The limit ended while the command was in flight. It bounds the wait for other holders, not that for a reply.
		taken, at, err = some.acquireAtomic(e.within(time.Now()), keeping.WaitTime())
	}
	copy(holds[first:last], taken)
	return first + at, err
}

// within returns the request for some of the locks, if all must be acquired by the given time. The caller's own lease
// begins when all are held.
func (e multiRequest) within(until time.Time) multiRequest {
	e.lease = 0
	if e.deadline.IsZero() || until.Before(e.deadline) {
		e.deadline = until
	}
	if e.once = e.once || time.Until(e.deadline) < minDuration; e.once {
		e.deadline = time.Time{} // a single try is bounded by its reply
	}
	return e
}
