package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// The connections get for how many commands they busy-wait: before a batch can be written, and after its reply.
func TestFlush_Batches_BusyWaitSetBefore(t *testing.T) {
	e := newEngine(actor.Config{ID: "id", Lease: time.Hour, RenewInterval: time.Hour / 3, CallTimeout: time.Minute}, nil, Hooks{}, nil)
	w := &nodeWorkers{batches: make(chan *coordinator.Batch, coordinator.SendersPerNode)}
	e.workers[e.coordinator.Fallback] = w
	var set []int
	e.server = &Server{}
	e.server.OnBusyWait(func(commands int) {
		require.Empty(t, w.batches)
		set = append(set, commands)
	})
	for _, name := range []string{"a", "b"} {
		call := NewCallback(nil)
		call.Op, call.Name, call.Key, call.Hold, call.Wait = actor.Acquire, name, name, &actor.Hold{}, time.Minute
		require.True(t, e.Post(call))
	}
	e.coordinator.Turn(e.Now(), e.box.TakeAll())
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
	require.Equal(t, []int{2}, set)
	require.Len(t, w.batches, 1)
	e.coordinator.Turn(e.Now(), nil)
	e.flush(e.Now())
	e.coordinator.ResetOutputs()
	require.Len(t, set, 1, "nothing has changed")
	batch := <-w.batches
	batch.Replies = append(batch.Replies, actor.Reply{Status: actor.OK}, actor.Reply{Status: actor.OK})
	require.True(t, e.box.Post(&batch.Msg))
	e.coordinator.Turn(e.Now(), e.box.TakeAll())
	e.flush(e.Now())
	require.Equal(t, []int{2, 0}, set)
}
