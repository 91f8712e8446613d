package main

import "sync/atomic"

// turnstile counts who is inside one name's lock, at this very moment. It is what the locks are checked
// against, so it trusts nothing but the processor.
type turnstile struct {
	name   string
	inside atomic.Int32
	most   atomic.Int32 // that ever were inside together
	twice  atomic.Int64 // how often somebody came in who was not alone
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
