package engine

// maxBundleCalls is the maximum number of retried calls in one bundle, and of SSUBSCRIBE commands in one pipeline.
const maxBundleCalls = 64

// splitBySlot splits a batch into one call per slot. The calls are sent together. It returns the first of them.
func (c *coordinator) splitBySlot(b *batch) *batch {
	calls := c.cluster.bundle
	clear(calls)
	first, last := (*batch)(nil), (*batch)(nil)
	for i := range b.commands {
		slot := slotOf(b.commands[i].Key)
		call := calls[slot]
		if call == nil {
			call = c.getBatch(b.verb)
			call.slot, calls[slot] = slot, call
			if first == nil {
				first = call
			} else {
				last.next = call
			}
			last = call
		}
		call.commands = append(call.commands, b.commands[i])
	}
	b.reset(b.verb)
	c.freeBatches = append(c.freeBatches, b)
	return first
}

// addRetries appends further retried calls to b, so that they are sent together.
func (c *coordinator) addRetries(n *node, b *batch) {
	for range maxBundleCalls - 1 {
		next := c.nextRetry(n, b.verb)
		if next == nil {
			return
		}
		b.next = next
		b = next
	}
}
