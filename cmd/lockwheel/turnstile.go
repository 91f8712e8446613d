package main

import "sync/atomic"

// turnstile counts the current holders of one name's lock. The locks are checked against it, so it relies on the
// processor alone.
type turnstile struct {
	name   string
	inside atomic.Int32
	most   atomic.Int32 // the maximum of inside
	twice  atomic.Int64 // entries during which the lock had another holder
}

func (t *turnstile) enter() {
	n := t.inside.Add(1)
	if n > 1 {
		t.twice.Add(1)
	}
	for seen := t.most.Load(); n > seen && !t.most.CompareAndSwap(seen, n); {
		seen = t.most.Load()
	}
}

func (t *turnstile) leave() { t.inside.Add(-1) }
