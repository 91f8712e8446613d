package lockwheel

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// Pauses before all locks are asked for again of which one was lost.
	lostFirst, lostMost = 10 * time.Millisecond, 250 * time.Millisecond
)

// inTurn takes the locks one after the other, in the order of their names: whoever wants several takes them in
// the same order, so that none waits in a circle. An owner that has one of them already may wait for one that is kept
// here, so they are kept for a bounded time; then they are given back, and the one that was taken is waited for
// alone. A lease of their own begins when all are held.
func (m Multi) inTurn(e errand) (*Hold, error) {
	var keeping actor.Keeping
	for begun := time.Now(); ; {
		hold, again, err := m.kept(e, &keeping, keeping.For(time.Since(begun), false))
		if again {
			continue
		}
		if !errors.Is(err, ErrLost) {
			return hold, err
		}
		if err := m.afterLoss(&e, err); err != nil {
			return nil, err
		}
	}
}

// kept takes the locks one after the other within that time. If that is in vain, it waits for the missing one alone, holding
// none, and takes the others soon after that or not at all: then it is to be tried again.
func (m Multi) kept(e errand, keeping *actor.Keeping, within time.Duration) (hold *Hold, again bool, err error) {
	holds, at, err := m.each(e, -1, nil, within)
	if m.goesOn(e, err) {
		var first *Hold
		if first, err = m.locks[at].Lock(e.ctx, e.patience(time.Time{})); err != nil {
			return nil, false, m.notLost(err)
		}
		if holds, _, err = m.each(e, at, first, keeping.Beside()); m.goesOn(e, err) {
			return nil, true, nil
		}
	}
	if err != nil {
		return nil, false, err
	}
	hold, err = m.gathered(e, holds)
	return hold, false, err
}

// each takes the locks one after the other, but for one that is held, and gives all back if one of them is not to be
// had within that time: at says which. Who does not wait for others has no bound.
func (m Multi) each(e errand, has int, had *Hold, within time.Duration) (holds []*Hold, at int, err error) {
	until := time.Now().Add(within)
	holds = make([]*Hold, len(m.locks))
	if has >= 0 {
		holds[has] = had
	}
	all := false
	defer func(taken []*Hold) { // also when a context panics
		if !all {
			letGo(taken)
		}
	}(holds)
	for first := 0; first < len(m.locks); {
		last := m.slice(first, has)
		if at, err := m.take(e, first, last, until, holds); err != nil {
			return nil, at, m.notLost(err)
		}
		first = last
	}
	all = true
	return holds, 0, nil
}

// gathered makes one hold of locks that were taken one after the other.
func (m Multi) gathered(e errand, holds []*Hold) (*Hold, error) {
	all := gather(e.ctx, m, holds)
	if e.lease != 0 {
		extended := false
		defer func() { // also when a context panics
			if !extended {
				all.hold.Unlock(ended)
			}
		}()
		err := all.hold.Extend(e.ctx, e.lease)
		if extended = err == nil; !extended {
			if errors.Is(err, ErrLost) {
				return nil, err
			}
			return nil, m.fail(ErrNotAcquired, err)
		}
	}
	return all.checked()
}

// goesOn reports whether a caller goes on waiting after that error: its time, and not only that of a try, is not over.
func (m Multi) goesOn(e errand, err error) bool {
	tried := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotReplicated)
	return tried && !e.over()
}

// over reports whether the caller's wait is.
func (e *errand) over() bool {
	return e.once || e.ctx.Err() != nil || !e.until.IsZero() && time.Until(e.until) < shortest
}

// notLost says of a lock that was lost before its caller had it that it is unavailable: nothing was held.
func (m Multi) notLost(err error) error {
	if !errors.Is(err, ErrLost) {
		return err
	}
	return m.fail(ErrUnavailable, lostBefore(inside(err, m.name)))
}

// lostBefore is how a part was lost before all were had. It is not ErrLost, as its caller had nothing.
type lostBefore string

func (e lostBefore) Error() string { return "a part was lost before all were had: " + string(e) }

// afterLoss pauses after a part was lost before all were had, longer each time, or says that the wait is over.
func (m Multi) afterLoss(e *errand, lost error) error {
	e.pause = min(max(2*e.pause, lostFirst), lostMost)
	if !e.once && (e.until.IsZero() || time.Until(e.until) > e.pause) {
		timer := time.NewTimer(e.pause)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-e.done:
		}
	}
	err := m.notLost(lost)
	if ended := m.locks[0].engine.contexts.ended(e.ctx); ended != nil {
		return fmt.Errorf("%w: %w", err, ended)
	}
	return err
}

// patience is how long a call may still wait for one lock, if all are to be had until that moment; zero: as long as it likes.
func (e *errand) patience(until time.Time) Option {
	if e.once {
		return Wait(0)
	}
	if until.IsZero() || !e.until.IsZero() && e.until.Before(until) {
		until = e.until
	}
	if until.IsZero() {
		return Option{}
	}
	if left := time.Until(until); left >= shortest {
		return Wait(left)
	}
	return Wait(0)
}
