package lockwheel

import "time"

// inTurn takes the locks one after the other, in the order of their names: whoever wants several takes them in
// the same order, so that none waits in a circle. A lease of their own begins when all are held.
func (m Multi) inTurn(e errand) (*Hold, error) {
	holds := make([]*Hold, len(m.locks))
	for i, l := range m.locks {
		hold, err := l.Lock(e.ctx, e.patience())
		if err != nil {
			for _, taken := range holds[:i] {
				taken.letGo()
			}
			return nil, err
		}
		holds[i] = hold
	}
	all := gather(e.ctx, m, holds)
	if e.lease != 0 {
		if err := all.hold.Extend(e.ctx, e.lease); err != nil {
			all.hold.Unlock(ended)
			return nil, m.fail(ErrNotAcquired, err)
		}
	}
	return all.checked()
}

// patience is how long a call may still wait for one lock.
func (e *errand) patience() Option {
	if e.once {
		return Wait(0)
	}
	if e.until.IsZero() {
		return Option{}
	}
	if left := time.Until(e.until); left >= shortest {
		return Wait(left)
	}
	return Wait(0)
}
