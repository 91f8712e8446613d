package engine

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// silentNode returns a client of a node that does not reply until speak is called. The end of the test calls it, too.
func silentNode(t *testing.T) (client rueidis.Client, speak func()) {
	gate := make(chan struct{})
	_, client = newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "SPUBLISH" {
			<-gate
		}
		return ""
	})
	speak = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(speak)
	return client, speak
}

// A message for a node that the client no longer knows is lost, and those for other nodes are not.
func TestRelay_NodeGone_OthersTold(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	r := &relayer{client: &singleNodeClient{node: client}, run: onGoroutine}
	r.relay([]wire.RelayedMessage{{Address: "gone:1", Channel: "a", Text: "0"}, {Address: "node:1", Channel: "b", Text: "0"}})
	require.Eventually(t, func() bool { return server.receivedOn(1) == "SPUBLISH b 0\n" }, 10*time.Second, time.Millisecond)
}

// A slot has moved, and the master that had it is silent. Releases at the next master go on, and messages for other
// masters arrive.
func TestRelay_SourceSilent_SenderGoesOn(t *testing.T) {
	_, to := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "ASKING" {
			return "+OK\r\n"
		}
		return ""
	})
	silent, speak := silentNode(t)
	other, from := newScriptedServer(t, func(int, []string) string { return "" })
	cluster := &multiNodeClient{Client: to, nodes: map[string]rueidis.Client{"to:1": to, "silent:1": silent, "other:1": from}}
	batches, box := make(chan *coordinator.Batch, 1), mpsc.NewMailbox[any]()
	var workers sync.WaitGroup
	workers.Go(func() {
		runSender(&nodeConn{client: cluster, address: "to:1"}, &wire.Encoder{ID: "id", Sharded: true}, batches, nil, box, &relayer{client: cluster, run: workers.Go})
	})
	defer workers.Wait()
	defer speak()
	defer close(batches)
	for i, address := range []string{"silent:1", "silent:1", "other:1"} {
		b := coordinator.NewBatch()
		b.Reset(actor.SendRelease)
		b.Commands = []actor.Command{{Verb: actor.SendRelease, Key: fmt.Sprint("k", i), Tenure: 1}}
		b.Asking, b.RedirectedBy = true, coordinator.NewNode(address, 30*time.Second)
		batches <- b
		require.Eventually(t, func() bool { return box.TakeAll() != nil }, 10*time.Second, time.Millisecond, "batch %d to come back", i)
		require.NoError(t, b.Failed)
	}
	require.Eventually(t, func() bool { return strings.Contains(other.receivedOn(1), "SPUBLISH") }, 10*time.Second, time.Millisecond)
}

// Calls to a node that does not reply are bounded. The messages of a batch share one, and other nodes have their own.
func TestRelay_SourceSilent_CallsBounded(t *testing.T) {
	silent, speak := silentNode(t)
	other, from := newScriptedServer(t, func(int, []string) string { return "" })
	started := 0
	var calls sync.WaitGroup
	r := &relayer{client: &multiNodeClient{nodes: map[string]rueidis.Client{"silent:1": silent, "other:1": from}}, run: func(f func()) {
		started++
		calls.Go(f)
	}}
	batch := []wire.RelayedMessage{{Address: "silent:1", Channel: "a", Text: "0"}, {Address: "silent:1", Channel: "b", Text: "0"}}
	for range 10 * maxRelays {
		r.relay(batch)
	}
	require.Equal(t, maxRelays, started)
	r.relay([]wire.RelayedMessage{{Address: "other:1", Channel: "c", Text: "0"}})
	require.Eventually(t, func() bool { return other.receivedOn(1) == "SPUBLISH c 0\n" }, 10*time.Second, time.Millisecond)
	speak()
	calls.Wait()
	r.relay(batch)
	calls.Wait()
	require.Equal(t, maxRelays+2, started, "there is room again")
	require.Len(t, r.calls, 1, "nothing is kept of a node without calls")
}
