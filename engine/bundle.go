package engine

// mostCalls is how many calls leave together when they are sent again, and how many commands subscribe.
const mostCalls = 64

// bundle makes calls of one slot each of a batch, to leave together.
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

// addParts lets more of what is sent again leave with b.
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
