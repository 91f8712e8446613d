package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

const (
	// jointMost is the maximum number of locks of a Multi that one command acquires, all or none.
	jointMost = 1000
	// sliceMost is the maximum number that one command acquires if there are more, and that is released or extended
	// at a time. A script blocks the server while it runs, so other clients wait for at most this many locks.
	sliceMost = 500
)

// long reports whether there are too many locks for one command.
func (m Multi) long() bool { return len(m.locks) > jointMost }

// slice returns the end of the locks that are acquired together with the first: with one command, if that is possible
// and there are more than one command acquires. A lock that is held already is its own slice.
func (m Multi) slice(first, has int) (last int) {
	if first == has || !m.long() || !m.together() {
		return first + 1
	}
	last = min(first+sliceMost, len(m.locks))
	if first < has && has < last {
		last = has
	}
	return last
}

// take acquires the locks from first to last that are not held yet. at is the index of the lock that an error
// concerns.
func (m Multi) take(e errand, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	if last-first > 1 {
		at, err = m.takeTogether(e, first, last, until, holds)
		if err != engine.ErrReenters && err != actor.ErrOvertaken {
			return at, err
		}
	}
	for i := first; i < last; i++ {
		if holds[i] != nil {
			continue
		}
		if holds[i], err = m.locks[i].Lock(e.ctx, e.patience(until)); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// takeTogether acquires some of the locks with one command, and holds none of these while it waits.
func (m Multi) takeTogether(e errand, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	var keeping actor.Keeping
	some, within := Multi{locks: m.locks[first:last], name: m.name}, e.before(until)
	taken, at, err := some.granted(within, keeping.Patience())
	if errors.Is(err, ErrUnavailable) && !within.once && !e.over() {
		// The limit ended while the command was in flight. It bounds the wait for other holders, not that for a reply.
		taken, at, err = some.granted(e.before(time.Now()), keeping.Patience())
	}
	copy(holds[first:last], taken)
	return first + at, err
}

// before returns the errand for some of the locks, if all must be acquired by the given time. The caller's own lease
// begins when all are held.
func (e errand) before(until time.Time) errand {
	e.lease = 0
	if e.until.IsZero() || until.Before(e.until) {
		e.until = until
	}
	if e.once = e.once || time.Until(e.until) < shortest; e.once {
		e.until = time.Time{} // a single try is bounded by its reply
	}
	return e
}
