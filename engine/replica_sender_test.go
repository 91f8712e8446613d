package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/slot"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// While the cluster's client does not know a node, calls for it go by the client's topology. Each has a connection of
// its own and a WAIT of its own.
func TestReplicas_RoutedCalls_EachWaits(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 1)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true, PipelineMultiplex: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	server, err := Probe(t.Context(), client, 10*time.Second)
	require.NoError(t, err)

	s := &replicaSender{nodeConn: server.nodeConn("127.0.0.1:1"), encoder: server.encoder("id"), replicas: replication{min: 1, timeout: 10 * time.Second}, lender: newLender(nil, onGoroutine), poolTimeout: 10 * time.Second}
	batches, box := make(chan *coordinator.Batch, 1), mpsc.NewMailbox[any]()
	var first, last *coordinator.Batch
	for i, key := range cluster.SpreadKeys("n", 6) {
		b := coordinator.NewBatch()
		b.Reset(actor.SendAcquire)
		b.Commands = []actor.Command{{Verb: actor.SendAcquire, Key: key, Tenure: uint64(i + 1), Lease: 30 * time.Second}}
		if b.Slot = slot.Of(key); first == nil {
			first = b
		} else {
			last.Next = b
		}
		last = b
	}
	batches <- first
	close(batches)
	s.run(batches, box)
	n := 0
	for b := first; b != nil; b = b.Next {
		require.NoError(t, b.Failed)
		require.True(t, b.ViaClusterClient)
		require.Equal(t, []actor.Reply{{Status: actor.OK, Listeners: -1, Replicas: 1}}, b.Replies)
		n++
	}
	require.Equal(t, 6, n)
}

// A call that goes by the topology of a client with a used-up pool does not wait for a connection for ever. When one is
// free again, it is sent.
func TestReplicas_RoutedPoolUsedUp_GivesUp(t *testing.T) {
	cluster := redistest.StartCluster(t, 3, 0)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: cluster.Addrs(), DisableCache: true, PipelineMultiplex: -1, BlockingPoolSize: 1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	server, err := Probe(t.Context(), client, 10*time.Second)
	require.NoError(t, err)
	s := &replicaSender{nodeConn: server.nodeConn("127.0.0.1:1"), encoder: server.encoder("id"), lender: newLender(nil, onGoroutine), poolTimeout: 50 * time.Millisecond}
	batch := func() *coordinator.Batch {
		b := coordinator.NewBatch()
		b.Reset(actor.SendAcquire)
		b.Commands = []actor.Command{{Verb: actor.SendAcquire, Key: "n", Tenure: 1, Lease: 30 * time.Second}}
		b.Slot = slot.Of("n")
		return b
	}
	only, release := client.Dedicate()
	require.NoError(t, only.Do(t.Context(), only.B().Set().Key("n").Value("").Px(time.Millisecond).Build()).Error())
	b := batch()
	s.sendViaCluster(b)
	require.ErrorIs(t, b.Failed, errNoConnection)
	require.True(t, b.NoReply)
	release()
	s.poolTimeout = 10 * time.Second
	require.Eventually(t, func() bool { // until the key that used it has expired
		b = batch()
		s.sendViaCluster(b)
		return b.Failed == nil && b.Replies[0].Status == actor.OK
	}, 10*time.Second, time.Millisecond)
}

// A call that needs no replicas uses only the ordinary senders.
func TestReplicas_AskedOnlyForGrants(t *testing.T) {
	config := actor.Config{ID: "id", Lease: 30 * time.Second, Replicas: 1}
	asks, never := coordinator.New(config, coordinator.SendersPerNode), coordinator.New(actor.Config{ID: "id", Lease: 30 * time.Second}, coordinator.SendersPerNode)
	acquires := []actor.Verb{
		actor.SendAcquire, actor.SendFencedAcquire, actor.SendFairAcquire, actor.SendReadAcquire, actor.SendWriteAcquire,
	}
	for _, verbs := range coordinator.Priorities {
		for _, verb := range verbs {
			grants := verb == actor.SendFencedRenew // another token
			for _, acquire := range acquires {
				grants = grants || verb == acquire
			}
			require.Equal(t, grants, asks.WaitsForReplicas(verb), verb)
			require.False(t, never.WaitsForReplicas(verb), verb)
		}
	}
}

// A connection to a server that became a replica is given up, however it spells that.
func TestReplicaSender_ReadOnlyText_AnyCase(t *testing.T) {
	for _, text := range []string{"READONLY You can't write", "readonly you can't write"} {
		require.True(t, breaksConn(&coordinator.Batch{Failed: errors.New(text)}), text)
	}
}

// Without a connection each batch of a bundle has failed without a reply, and not only the first.
func TestReplicas_NoConnection_EachBatchFails(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	s := &replicaSender{lender: newLender(ended, func(func()) {}), poolTimeout: time.Hour}
	first, second := acquireBatch(), acquireBatch()
	first.Next = second
	s.sendTo(nil, first)
	for _, b := range []*coordinator.Batch{first, second} {
		require.ErrorIs(t, b.Failed, coordinator.ErrPoolExhausted)
		require.True(t, b.NoReply)
	}
}

// WAIT is about the grants of a batch. What is held by others keeps its reply.
func TestReplicas_NotGranted_ReplyKept(t *testing.T) {
	b := acquireBatch()
	b.Replies = []actor.Reply{{Status: actor.OK}, {Status: actor.HeldByOther, TTL: time.Second}}
	why := errors.New("why")
	setReplicas(b, 2, why)
	require.Equal(t, []actor.Reply{{Status: actor.OK, Replicas: 2, Err: why}, {Status: actor.HeldByOther, TTL: time.Second}}, b.Replies)
}
