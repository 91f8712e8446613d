package demo

import "sync/atomic"

// exclusionCheck counts the current holders of one name's lock. The locks are checked against it, so it relies on the
// processor alone.
type exclusionCheck struct {
	name       string
	current    atomic.Int32
	peak       atomic.Int32 // the maximum of inside
	violations atomic.Int64 // entries during which the lock had another holder
}

func (t *exclusionCheck) enter() {
	n := t.current.Add(1)
	if n > 1 {
		t.violations.Add(1)
	}
	for seen := t.peak.Load(); n > seen && !t.peak.CompareAndSwap(seen, n); {
		seen = t.peak.Load()
	}
}

func (t *exclusionCheck) leave() { t.current.Add(-1) }
