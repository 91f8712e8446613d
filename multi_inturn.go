package lockwheel

import (
	"errors"
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// The first and the longest pause before all locks are requested again after one of them was lost.
	lostFirst, lostMost = 10 * time.Millisecond, 250 * time.Millisecond
)

// inTurn acquires the locks sequentially, in the order of their names, so that callers of overlapping Multis do not
// deadlock.
//
// The owner of one of the locks may wait for another that inTurn holds. So inTurn holds locks only for a bounded
// time. Then it releases them and waits for the missing one alone. The caller's own lease begins when all locks are
// held.
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

// kept acquires the locks sequentially within the given time. If that fails, it waits for the missing lock alone,
// holding none, and then acquires the others within a short time. again reports that it failed and is to be repeated.
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

// each acquires the locks sequentially, except one that is held already. If a lock cannot be acquired in time, each
// releases all of them and returns the index of that lock as at. A caller that tries once has no time limit.
func (m Multi) each(e errand, has int, had *Hold, within time.Duration) (holds []*Hold, at int, err error) {
	until := time.Now().Add(within)
	holds = make([]*Hold, len(m.locks))
	if has >= 0 {
		holds[has] = had
	}
	all := false
	defer func(taken []*Hold) { // also if a context panics
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

// gathered returns one hold for locks that were acquired sequentially.
func (m Multi) gathered(e errand, holds []*Hold) (*Hold, error) {
	all := gather(e.ctx, m, holds)
	if e.lease != 0 {
		extended := false
		defer func() { // also if a context panics
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

// goesOn reports whether the caller keeps waiting after that error: the time limit of one try has ended, but not the
// caller's wait.
func (m Multi) goesOn(e errand, err error) bool {
	tried := errors.Is(err, ErrNotAcquired) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNotReplicated)
	return tried && !e.over()
}

// over reports whether the caller's wait has ended.
func (e *errand) over() bool {
	return e.once || e.ctx.Err() != nil || !e.until.IsZero() && time.Until(e.until) < shortest
}

// notLost turns the loss of a lock that its caller never held into ErrUnavailable.
func (m Multi) notLost(err error) error {
	if !errors.Is(err, ErrLost) {
		return err
	}
	return m.fail(ErrUnavailable, lostBefore(inside(err, m.name)))
}

// lostBefore describes a lock that was lost before all were acquired. It does not match ErrLost, because the caller
// held nothing.
type lostBefore string

func (e lostBefore) Error() string { return "a part was lost before all were had: " + string(e) }

// afterLoss pauses after a lock was lost before all were acquired, longer each time. It returns an error if the wait
// has ended.
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

// patience returns how long the call may wait for one lock, if all must be acquired by the given time; zero: no such
// limit.
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
