package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// What waits for replies is told how many commands are in flight: before a batch can be written, and after its reply.
func TestFlush_Batches_InFlightToldBefore(t *testing.T) {
	e := newEngine(actor.Config{ID: "id", Lease: time.Hour, RenewInterval: time.Hour / 3, CallTimeout: time.Minute}, nil, Hooks{}, nil)
	w := &nodeWorkers{batches: make(chan *coordinator.Batch, coordinator.SendersPerNode)}
	e.workers[e.coordinator.Fallback] = w
	var told []int
	e.server = &Server{}
	e.server.SetInFlight(func(commands int) {
		require.Empty(t, w.batches)
		told = append(told, commands)
	})
	for _, name := range []string{"a", "b"} {
		call := NewCallback(nil)
		call.Op, call.Name, call.Key, call.Hold, call.Wait = actor.Acquire, name, name, &actor.Hold{}, time.Minute
		require.True(t, e.Post(call))
	}
	e.coordinator.Turn(e.Now(), e.box.TakeAll())
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
	require.Equal(t, []int{2}, told)
	require.Len(t, w.batches, 1)
	e.coordinator.Turn(e.Now(), nil)
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
	require.Len(t, told, 1, "nothing has changed")
	batch := <-w.batches
	batch.Replies = append(batch.Replies, actor.Reply{Status: actor.OK}, actor.Reply{Status: actor.OK})
	require.True(t, e.box.Post(&batch.Msg))
	e.coordinator.Turn(e.Now(), e.box.TakeAll())
	e.flush(e.Now())
	require.Equal(t, []int{2, 0}, told)
}
