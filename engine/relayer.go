package engine

import (
	"context"
	"maps"
	"sync/atomic"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel/engine/wire"
)

// maxRelays is how many calls to one node, for the messages of one batch or bundle each, may be in flight. Only a node
// that does not reply has as many: further messages for it are lost.
const maxRelays = 64

// relayer publishes messages once more at the source node of a migration. Each call has a goroutine, so that its sender
// never waits for another node. Delivery is not guaranteed, as with any message: a waiter that misses one polls later.
// It belongs to a sender, and counts calls in atomics that their goroutines share. client and run must be set.
type relayer struct {
	client rueidis.Client
	run    func(func())             // starts a goroutine
	calls  map[string]*atomic.Int32 // in flight, by address
}

// relay publishes messages, and returns at once.
func (r *relayer) relay(messages []wire.RelayedMessage) {
	if len(messages) == 0 {
		return
	}
	maps.DeleteFunc(r.calls, func(_ string, calls *atomic.Int32) bool { return calls.Load() == 0 })
	byAddress := make(map[string][]wire.RelayedMessage)
	for _, m := range messages {
		byAddress[m.Address] = append(byAddress[m.Address], m)
	}
	nodes := r.client.Nodes()
	for address, some := range byAddress {
		if node := nodes[address]; node != nil {
			r.publish(node, address, some)
		}
	}
}

// publish starts one call.
func (r *relayer) publish(node rueidis.Client, address string, messages []wire.RelayedMessage) {
	calls := r.calls[address]
	if calls == nil {
		calls = new(atomic.Int32)
		if r.calls == nil {
			r.calls = make(map[string]*atomic.Int32)
		}
		r.calls[address] = calls
	}
	if calls.Load() >= maxRelays {
		return
	}
	calls.Add(1)
	r.run(func() {
		defer calls.Add(-1)
		commands := make([]rueidis.Completed, len(messages))
		for i, m := range messages {
			commands[i] = node.B().Spublish().Channel(m.Channel).Message(m.Text).Build()
		}
		node.DoMulti(context.Background(), commands...)
	})
}
