package coordinator

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// MaxBundleBatches is the maximum number of retried batches in one bundle, and of SSUBSCRIBE commands in one pipeline.
const MaxBundleBatches = 64

// splitBySlot splits a batch into one batch per slot. These are sent together. It returns the first of them.
func (c *Coordinator) splitBySlot(b *Batch) *Batch {
	batches := c.Cluster.bundle
	clear(batches)
	first, last := (*Batch)(nil), (*Batch)(nil)
	for i := range b.Commands {
		slot := slot.Of(b.Commands[i].Key)
		batch := batches[slot]
		if batch == nil {
			batch = c.getBatch(b.Verb)
			batch.Slot, batches[slot] = slot, batch
			if first == nil {
				first = batch
			} else {
				last.Next = batch
			}
			last = batch
		}
		batch.Commands = append(batch.Commands, b.Commands[i])
	}
	first.background = b.background
	b.Reset(b.Verb)
	return first
}

// batchToFill returns an empty batch for fillBatch. In a cluster it is always the same one: splitBySlot copies its
// commands. If it were any free batch, each of the very many of a cluster would have room for a full one in time.
func (c *Coordinator) batchToFill(verb actor.Verb) *Batch {
	if c.Cluster == nil {
		return c.getBatch(verb)
	}
	if c.Cluster.whole == nil {
		c.Cluster.whole = NewBatch()
	}
	c.Cluster.whole.Reset(verb)
	return c.Cluster.whole
}

// addRetries appends further retried batches to b, so that they are sent together.
func (c *Coordinator) addRetries(n *Node, b *Batch) {
	for range MaxBundleBatches - 1 {
		next := c.nextRetry(n, b.Verb)
		if next == nil {
			return
		}
		b.Next = next
		b = next
	}
}
