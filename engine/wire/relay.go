package wire

import (
	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/scripts"
)

// RelayedMessage is a message that a script published at the target node of a migration. It is published at the source
// node as well.
type RelayedMessage struct{ Address, Channel, Text string }

// RelayedMessages returns the messages of a bundle to repeat. Only sharded pub/sub needs this: other messages reach the
// whole cluster.
func (w *Encoder) RelayedMessages(b *coordinator.Batch) (all []RelayedMessage) {
	for ; b != nil; b = b.Next {
		tells := Specs[b.Verb].publishes
		if !b.Asking || !w.Sharded || b.Failed != nil || tells == nil {
			continue
		}
		for i := range min(len(b.Replies), len(b.Commands)) {
			if b.Replies[i].Status == actor.OK {
				all = append(all, RelayedMessage{b.RedirectedBy.Address, scripts.RedissonKey(tells.channel, b.Commands[i].Key), tells.text})
			}
		}
	}
	return all
}
