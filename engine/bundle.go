package engine

// mostCalls is the maximum number of retried calls in one bundle, and of SSUBSCRIBE commands in one pipeline.
const mostCalls = 64

// bundle splits a batch into one call per slot. The calls are sent together. It returns the first of them.
func (c *coordinator) bundle(b *batch) *batch {
	calls := c.cluster.calls
	clear(calls)
	first, last := (*batch)(nil), (*batch)(nil)
	for i := range b.commands {
		slot := slotOf(b.commands[i].Key)
		call := calls[slot]
		if call == nil {
			call = c.empty(b.verb)
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
	c.spares = append(c.spares, b)
	return first
}

// addParts appends further retried calls to b, so that they are sent together.
func (c *coordinator) addParts(n *node, b *batch) {
	for range mostCalls - 1 {
		next := c.part(n, b.verb)
		if next == nil {
			return
		}
		b.next = next
		b = next
	}
}
