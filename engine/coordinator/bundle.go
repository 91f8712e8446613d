package coordinator

import "github.com/lockwheel/lockwheel/engine/slot"

// MaxBundleCalls is the maximum number of retried calls in one bundle, and of SSUBSCRIBE commands in one pipeline.
const MaxBundleCalls = 64

// splitBySlot splits a batch into one call per slot. The calls are sent together. It returns the first of them.
func (c *Coordinator) splitBySlot(b *Batch) *Batch {
	calls := c.Cluster.bundle
	clear(calls)
	first, last := (*Batch)(nil), (*Batch)(nil)
	for i := range b.Commands {
		slot := slot.Of(b.Commands[i].Key)
		call := calls[slot]
		if call == nil {
			call = c.getBatch(b.Verb)
			call.Slot, calls[slot] = slot, call
			if first == nil {
				first = call
			} else {
				last.Next = call
			}
			last = call
		}
		call.Commands = append(call.Commands, b.Commands[i])
	}
	b.Reset(b.Verb)
	c.freeBatches = append(c.freeBatches, b)
	return first
}

// addRetries appends further retried calls to b, so that they are sent together.
func (c *Coordinator) addRetries(n *Node, b *Batch) {
	for range MaxBundleCalls - 1 {
		next := c.nextRetry(n, b.Verb)
		if next == nil {
			return
		}
		b.Next = next
		b = next
	}
}
