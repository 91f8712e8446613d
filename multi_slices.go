package lockwheel

import (
	"errors"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
)

const (
	// jointMost is how many locks of a Multi are taken all or none with one command.
	jointMost = 1000
	// sliceMost is how many of more than those are taken at a time, and how many of all are released or extended. The server does
	// nothing else while a script takes so many, and whoever comes meanwhile waits behind no more than these.
	sliceMost = 500
)

// long reports whether there are too many locks for one command.
func (m Multi) long() bool { return len(m.locks) > jointMost }

// slice is where those locks end that are taken together with the first of them: with one command, if that is how they can be
// taken and there are more than one can take. One that is held already is a slice of its own.
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

// take takes some of the locks, which are held then, unless they are held already. at says which an error is about.
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

// takeTogether takes some of the locks with one command, and waits for them with none of these.
func (m Multi) takeTogether(e errand, first, last int, until time.Time, holds []*Hold) (at int, err error) {
	var keeping actor.Keeping
	some, within := Multi{locks: m.locks[first:last], name: m.name}, e.before(until)
	taken, at, err := some.granted(within, keeping.Patience())
	if errors.Is(err, ErrUnavailable) && !within.once && !e.over() {
		// That moment came in the middle of a question: it bounds the wait for others, and not that for an answer.
		taken, at, err = some.granted(e.before(time.Now()), keeping.Patience())
	}
	copy(holds[first:last], taken)
	return first + at, err
}

// before is the errand for some of the locks, if all are to be had until that moment. A lease of its own begins when all are.
func (e errand) before(until time.Time) errand {
	e.lease = 0
	if e.until.IsZero() || until.Before(e.until) {
		e.until = until
	}
	if e.once = e.once || time.Until(e.until) < shortest; e.once {
		e.until = time.Time{} // it is asked for once, and that is answered
	}
	return e
}
