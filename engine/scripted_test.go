package engine

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/engine/wire"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// scriptedServer is a server at the other end of pipes. It records the commands of each connection, and replies as the
// test tells it to. Its connections are numbered from 1 on, in the order of their creation.
type scriptedServer struct {
	t      *testing.T
	answer func(connection int, words []string) string // in RESP3; "" is the usual reply, hangUp ends the connection

	mu       sync.Mutex
	pipes    []net.Conn     // this side of each connection; nil when it has ended
	received map[int]string // commands of each connection, without those that open it
}

// hangUp ends a connection instead of a reply.
const hangUp = "hang up"

// newScriptedServer returns a client of such a server.
func newScriptedServer(t *testing.T, answer func(connection int, words []string) string) (*scriptedServer, rueidis.Client) {
	t.Helper()
	return newScriptedServerWith(t, false, answer)
}

func newScriptedServerWith(t *testing.T, pipelining bool, answer func(connection int, words []string) string) (*scriptedServer, rueidis.Client) {
	t.Helper()
	s := &scriptedServer{t: t, answer: answer, received: make(map[int]string)}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		AlwaysPipelining: pipelining,
		InitAddress:      []string{"scripted:6379"}, ForceSingleClient: true, DisableCache: true, DisableRetry: true,
		PipelineMultiplex: -1, ClientSetInfo: rueidis.DisableClientSetInfo,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			ours, theirs := net.Pipe()
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pipes = append(s.pipes, ours)
			go s.serve(len(s.pipes), ours)
			return theirs, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return s, client
}

func (s *scriptedServer) serve(connection int, pipe net.Conn) {
	defer s.closeConn(connection)
	for r := bufio.NewReader(pipe); ; {
		words, err := redistest.ReadCommand(r)
		if err != nil {
			return
		}
		says := s.defaultReply(words)
		if words[0] != "HELLO" {
			s.mu.Lock()
			s.received[connection] += strings.Join(words, " ") + "\n"
			s.mu.Unlock()
			if other := s.answer(connection, words); other != "" {
				says = other
			}
		}
		if says == hangUp {
			return
		}
		if _, err := io.WriteString(pipe, says); err != nil {
			return
		}
	}
}

// defaultReply returns the reply of a server that accepts everything.
func (s *scriptedServer) defaultReply(words []string) (says string) {
	switch words[0] {
	case "HELLO":
		return "%2\r\n+version\r\n+7.0.0\r\n+proto\r\n:3\r\n"
	case "SUBSCRIBE", "SSUBSCRIBE":
		for i, channel := range words[1:] {
			says += fmt.Sprintf(">3\r\n+%s\r\n+%s\r\n:%d\r\n", strings.ToLower(words[0]), channel, i+1)
		}
		return says
	case "PING":
		return "+PONG\r\n"
	case "WAIT":
		return ":1\r\n"
	}
	return ":1\r\n" // a script: granted, released
}

// closeConn ends a connection.
func (s *scriptedServer) closeConn(connection int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pipe := s.pipes[connection-1]; pipe != nil {
		pipe.Close()
		s.pipes[connection-1] = nil
	}
}

// open returns the connections that have not ended.
func (s *scriptedServer) open() (connections []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, pipe := range s.pipes {
		if pipe != nil {
			connections = append(connections, i+1)
		}
	}
	return connections
}

// receivedOn returns the commands of a connection.
func (s *scriptedServer) receivedOn(connection int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.received[connection]
}

// awaitOpen waits until exactly these connections are open.
func (s *scriptedServer) awaitOpen(connections ...int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return fmt.Sprint(s.open()) == fmt.Sprint(connections) },
		10*time.Second, time.Millisecond, "connections %v", connections)
}

// singleNodeClient is a client of a cluster that knows one node or none.
type singleNodeClient struct {
	rueidis.Client // for calls by the client's topology
	node           rueidis.Client
}

func (n *singleNodeClient) Nodes() map[string]rueidis.Client {
	if n.node == nil {
		return nil
	}
	return map[string]rueidis.Client{"node:1": n.node}
}

// acquireBatch returns a batch with one acquire.
func acquireBatch() *coordinator.Batch {
	b := coordinator.NewBatch()
	b.Reset(actor.SendAcquire)
	b.Commands = []actor.Command{{Verb: actor.SendAcquire, Key: "n", Tenure: 1, Lease: 30 * time.Second}}
	return b
}

// startSender starts a sender of a node and returns a function that sends one batch.
func startSender(t *testing.T, carry func(<-chan *coordinator.Batch, *mpsc.Mailbox[any])) (sendAll func() *coordinator.Batch) {
	t.Helper()
	batches, box := make(chan *coordinator.Batch), mpsc.NewMailbox[any]()
	var helper sync.WaitGroup
	helper.Go(func() { carry(batches, box) })
	t.Cleanup(func() {
		close(batches)
		helper.Wait()
	})
	return func() *coordinator.Batch {
		b := acquireBatch()
		batches <- b
		require.Eventually(t, func() bool {
			for m := box.TakeAll(); m != nil; m = m.Next {
				if m.Value == any(b) {
					return true
				}
			}
			return false
		}, 10*time.Second, time.Millisecond, "the batch to come back")
		return b
	}
}

// A node that left the cluster and comes back has another client there: a client that brought no reply is looked up
// again.
func TestSender_NoReply_ClientLookedUpAgain(t *testing.T) {
	_, gone := newScriptedServer(t, func(int, []string) string { return hangUp })
	back, came := newScriptedServer(t, func(int, []string) string { return "" })
	cluster := &singleNodeClient{node: gone}
	sendAll := startSender(t, func(batches <-chan *coordinator.Batch, box *mpsc.Mailbox[any]) {
		runSender(&nodeConn{client: cluster, address: "node:1"}, &wire.Encoder{ID: "id"}, batches, nil, box, nil)
	})
	b := sendAll()
	require.True(t, b.NoReply)
	require.Error(t, b.Failed)
	gone.Close()
	cluster.node = came
	b = sendAll()
	require.NoError(t, b.Failed)
	require.Equal(t, actor.OK, b.Replies[0].Status)
	require.Contains(t, back.receivedOn(1), "EVALSHA")
}

// startReplicaSender returns a replica sender of a node.
func startReplicaSender(t *testing.T, client rueidis.Client, address string) (sendAll func() *coordinator.Batch) {
	s := &replicaSender{nodeConn: &nodeConn{client: client, address: address}, encoder: &wire.Encoder{ID: "id"}, replicas: replication{min: 1, timeout: time.Second}, lender: newLender(nil, onGoroutine), poolTimeout: 10 * time.Second}
	return startSender(t, s.run)
}

// The timeout of WAIT is in milliseconds; 0 means none.
func TestReplicas_WaitTimeout_InMillis(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	require.NoError(t, startReplicaSender(t, client, "")().Failed)
	require.Contains(t, server.receivedOn(2), "WAIT 1 1000\n")
	shortest := replication{2, time.Microsecond}.waitCommand(client)
	require.Equal(t, []string{"WAIT", "2", "1"}, shortest.Commands())
}

// If the script has run and WAIT has no reply, the call has no reply. It is not a rejection.
func TestReplicas_WaitReplyLost_NoReply(t *testing.T) {
	var healthy atomic.Bool
	// Without pipelining rueidis loses the reply of the script as well.
	server, client := newScriptedServerWith(t, true, func(_ int, words []string) string {
		if words[0] == "WAIT" && !healthy.Load() {
			return hangUp
		}
		return ""
	})
	sendAll := startReplicaSender(t, client, "")
	b := sendAll()
	require.True(t, b.NoReply)
	require.Error(t, b.Failed)
	healthy.Store(true)
	b = sendAll()
	require.NoError(t, b.Failed)
	require.Equal(t, 1, b.Replies[0].Replicas)
	require.Len(t, server.open(), 2, "the client's, and another one of the replica sender's")
}

// An error of WAIT is a reply: the lock is there, and must be released.
func TestReplicas_WaitRejected_CountsAsReply(t *testing.T) {
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "WAIT" {
			return "-NOPERM User secret has no permissions to run the 'wait' command\r\n"
		}
		return ""
	})
	b := startReplicaSender(t, client, "")()
	require.False(t, b.NoReply)
	require.NoError(t, b.Failed)
	require.Equal(t, actor.OK, b.Replies[0].Status)
	require.ErrorContains(t, b.Replies[0].Err, "NOPERM")
	require.NotContains(t, b.Replies[0].Err.Error(), "secret")
	require.Zero(t, b.Replies[0].Replicas)
}

// If a master becomes a replica during WAIT, it has not reported how many replicas have the grant. The next master may
// know of the grant or not.
func TestReplicas_MasterReplaced_NoReply(t *testing.T) {
	for _, said := range []string{
		"UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
		"ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.",
	} {
		server, client := newScriptedServer(t, func(connection int, words []string) string {
			if connection == 2 && words[0] == "WAIT" {
				return "-" + said + "\r\n"
			}
			return ""
		})
		sendAll := startReplicaSender(t, client, "")
		b := sendAll()
		require.True(t, b.NoReply)
		require.True(t, b.Demoted)
		require.ErrorContains(t, b.Failed, strings.TrimPrefix(said, "ERR "))
		b = sendAll()
		require.NoError(t, b.Failed)
		require.False(t, b.Demoted)
		require.Equal(t, 1, b.Replies[0].Replicas)
		server.awaitOpen(1, 3)
	}
}

// A replaced master does not become one again: its connection is closed, and the next call has another one.
func TestReplicaSender_Demoted_NewConnection(t *testing.T) {
	server, client := newScriptedServer(t, func(connection int, words []string) string {
		if connection == 2 && strings.HasPrefix(words[0], "EVAL") {
			return "-READONLY You can't write against a read only replica.\r\n"
		}
		return ""
	})
	sendAll := startReplicaSender(t, client, "")
	b := sendAll()
	require.ErrorContains(t, b.Failed, "READONLY")
	server.awaitOpen(1)
	b = sendAll()
	require.NoError(t, b.Failed)
	require.Contains(t, server.receivedOn(3), "WAIT")
	server.awaitOpen(1, 3)
	require.NoError(t, sendAll().Failed)
	server.awaitOpen(1, 3)
}

// Each call by the client's topology has a connection of its own, which ends with it.
func TestReplicaSender_RoutedCall_ConnNotKept(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	sendAll := startReplicaSender(t, &singleNodeClient{Client: client}, "node:1")
	for range 3 {
		b := sendAll()
		require.NoError(t, b.Failed)
		require.True(t, b.ViaClusterClient)
		server.awaitOpen(1)
	}
}

// subscriberHarness is a subscriber of a node with the messages that it has posted.
type subscriberHarness struct {
	t      *testing.T
	orders chan *coordinator.Order
	box    *mpsc.Mailbox[any]
}

func newListener(client rueidis.Client) *subscriber {
	s := &subscriber{own: &ownMessages{}, nodeConn: &nodeConn{client: client}, lender: newLender(nil, onGoroutine)}
	s.poolTimeout = 10 * time.Second // longer than a busy machine takes
	s.unsubscriber.run, s.unsubscriber.notesTimeout = onGoroutine, 10*time.Second
	return s
}

func sharded(s *subscriber) *subscriber { s.sharded = true; return s }

func newSubscriberHarnessOn(t *testing.T, s *subscriber) *subscriberHarness {
	l := &subscriberHarness{t: t, orders: make(chan *coordinator.Order), box: mpsc.NewMailbox[any]()}
	s.box, s.orders = l.box, l.orders
	var helper sync.WaitGroup
	helper.Go(s.run)
	t.Cleanup(func() {
		close(l.orders)
		helper.Wait()
	})
	return l
}

// await waits until a matching message is posted, and discards others.
func (l *subscriberHarness) await(what string, is func(any) bool) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		found := false
		for m := l.box.TakeAll(); m != nil; m = m.Next {
			found = found || is(m.Value)
		}
		return found
	}, 10*time.Second, time.Millisecond, what+" to be told")
}

// execute gives an order. It returns the messages posted until its completion, and its error.
func (l *subscriberHarness) execute(o *coordinator.Order) (posted []string, err error) {
	l.t.Helper()
	l.orders <- o
	require.Eventually(l.t, func() bool {
		done := false
		for m := l.box.TakeAll(); m != nil; m = m.Next {
			switch what := m.Value.(type) {
			case coordinator.ChannelSubscribed:
				posted = append(posted, "subscribed "+what.Channel)
			case coordinator.ChannelMessage:
				posted = append(posted, "heard "+what.Channel)
			case coordinator.PubsubDown:
				posted = append(posted, "pubsubdown")
			case coordinator.OrderDone:
				done, err = true, what.Err
			}
		}
		return done
	}, 10*time.Second, time.Millisecond, "the order to be carried out")
	return posted, err
}

// A connection is replaced by one that is subscribed before the old one is closed. A message from before arrives ahead
// of the PING reply on the old one. If the old one breaks before that reply, a message may be missing, so all listeners
// try again.
func TestSubscriber_ConnReplaced_MissesNone(t *testing.T) {
	const message = ">3\r\n+message\r\n+a\r\n+0\r\n"
	t.Run("it answers", func(t *testing.T) {
		published := false
		server, client := newScriptedServer(t, func(connection int, words []string) string {
			if words[0] != "PING" || published { // rueidis sends one as well, when it closes
				return ""
			}
			published = true
			return message + "+PONG\r\n"
		})
		l := newSubscriberHarnessOn(t, newListener(client))
		posted, err := l.execute(&coordinator.Order{Channels: []string{"a", "b"}})
		require.NoError(t, err)
		require.Equal(t, []string{"subscribed a", "subscribed b"}, posted)
		posted, err = l.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
		require.NoError(t, err)
		require.Equal(t, []string{"subscribed a", "heard a"}, posted)
		server.awaitOpen(1, 3)
		require.Contains(t, server.receivedOn(2), "PING")
	})
	t.Run("it rejects the PING", func(t *testing.T) { // which is a reply as well
		server, client := newScriptedServer(t, func(connection int, words []string) string {
			if connection == 2 && words[0] == "PING" {
				return "-NOPERM no\r\n"
			}
			return ""
		})
		l := newSubscriberHarnessOn(t, newListener(client))
		_, err := l.execute(&coordinator.Order{Channels: []string{"a", "b"}})
		require.NoError(t, err)
		posted, err := l.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
		require.NoError(t, err)
		require.Equal(t, []string{"subscribed a"}, posted)
		server.awaitOpen(1, 3)
	})
	t.Run("it breaks", func(t *testing.T) {
		server, client := newScriptedServer(t, func(connection int, words []string) string {
			if connection == 2 && words[0] == "PING" {
				return hangUp
			}
			return ""
		})
		l := newSubscriberHarnessOn(t, newListener(client))
		_, err := l.execute(&coordinator.Order{Channels: []string{"a", "b"}})
		require.NoError(t, err)
		posted, err := l.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
		require.ErrorIs(t, err, errConnLost)
		require.Equal(t, []string{"subscribed a", "pubsubdown"}, posted)
		server.awaitOpen(1)
	})
}

// If the server rejects a subscription on the next connection, the order is retried, and the current connection stays.
func TestSubscriber_NextConnDenied_OldStays(t *testing.T) {
	server, client := newScriptedServer(t, func(connection int, words []string) string {
		if connection > 2 && words[0] == "SUBSCRIBE" {
			return "-NOPERM no\r\n"
		}
		return ""
	})
	l := newSubscriberHarnessOn(t, newListener(client))
	_, err := l.execute(&coordinator.Order{Channels: []string{"a", "b"}})
	require.NoError(t, err)
	for range 3 {
		posted, err := l.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
		require.ErrorContains(t, err, "NOPERM")
		require.Empty(t, posted)
		server.awaitOpen(1, 2, 3)
	}
}

// An order that drops a connection says which ones no longer exist. The loop has channels subscribed again that it was
// told of on these, and only on these.
func TestSubscriber_ConnDropped_SaysWhich(t *testing.T) {
	_, client := newScriptedServer(t, func(int, []string) string { return "" })
	s := newListener(client)
	s.box = mpsc.NewMailbox[any]()
	defer s.retireConns()
	done := s.execute(&coordinator.Order{Channels: []string{"a", "b"}})
	require.NoError(t, done.Err)
	require.Equal(t, []int{1, 0}, []int{done.Conn, done.GoneConn})
	done = s.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
	require.NoError(t, done.Err)
	require.Equal(t, []int{2, 1}, []int{done.Conn, done.GoneConn})
	done = s.execute(&coordinator.Order{CloseConns: true})
	require.Equal(t, 2, done.GoneConn)
}

// One slot of an order has moved. Its rejection is the result of the order, wherever in the order it was, and the
// channels of the other slots are subscribed.
func TestSubscriber_OneSlotRejected_RestSubscribed(t *testing.T) {
	const moved = "-MOVED 1 other:1\r\n"
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "SSUBSCRIBE" && words[1] == "moved" {
			return moved
		}
		return ""
	})
	l := newSubscriberHarnessOn(t, sharded(newListener(client)))
	order := &coordinator.Order{Channels: []string{"moved"}}
	for i := range 20 { // in no fixed order, so that the last is rarely the one that is rejected
		order.Channels = append(order.Channels, fmt.Sprint(i))
	}
	for range 2 {
		posted, err := l.execute(order)
		require.ErrorContains(t, err, "MOVED 1 other:1")
		require.Len(t, posted, 20)
	}
}

// A node that left and comes back has another client: after a broken connection it is looked up again.
func TestSubscriber_ConnBroke_NewClient(t *testing.T) {
	before, gone := newScriptedServer(t, func(int, []string) string { return "" })
	back, came := newScriptedServer(t, func(int, []string) string { return "" })
	cluster := &singleNodeClient{node: gone}
	listener := newListener(cluster)
	listener.nodeConn.address = "node:1"
	l := newSubscriberHarnessOn(t, listener)
	_, err := l.execute(&coordinator.Order{Channels: []string{"a"}})
	require.NoError(t, err)
	before.closeConn(2)
	l.await("the break", func(what any) bool { _, is := what.(coordinator.PubsubDown); return is })
	gone.Close()
	cluster.node = came
	posted, err := l.execute(&coordinator.Order{Channels: []string{"a"}})
	require.NoError(t, err)
	require.Equal(t, []string{"subscribed a"}, posted)
	require.Contains(t, back.receivedOn(2), "SUBSCRIBE a")
}

// When a slot moves, its channel goes to another node, and the server reports it unasked. This connection gets no more
// messages of it.
func TestSubscriber_ChannelRevoked_Reported(t *testing.T) {
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] != "SSUBSCRIBE" {
			return ""
		}
		return ">3\r\n+ssubscribe\r\n+{a}1\r\n:1\r\n>3\r\n+ssubscribe\r\n+{a}2\r\n:2\r\n>3\r\n+sunsubscribe\r\n+{a}1\r\n:1\r\n"
	})
	l := newSubscriberHarnessOn(t, sharded(newListener(client)))
	l.orders <- &coordinator.Order{Channels: []string{"{a}1", "{a}2"}}
	l.await("the silence", func(what any) bool {
		gone, is := what.(coordinator.ChannelUnsubscribed)
		return is && gone.Channel == "{a}1"
	})
}

// A node without slots, or of a closed engine, has no workers. Nothing of it is kept, however many nodes there were.
func TestWorkers_NodeRemoved_End(t *testing.T) {
	_, client := newScriptedServer(t, func(int, []string) string { return "" })
	e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second, Replicas: 1}, nil, Hooks{}, nil)
	e.server = &Server{client: client}
	for range 10 {
		n := coordinator.NewNode("", e.coordinator.Fx.Config.Lease)
		e.startWorkers(n)
		require.Len(t, e.workers, 1)
		e.stopWorkers(n)
		e.stopWorkers(n) // once more at the close
		require.Empty(t, e.workers)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("a worker of the node is still running")
	}
}

// After a break, an order for the next connection makes the current one: there is none to replace.
func TestSubscriber_NextWithoutCurrent_Works(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	s := newListener(client)
	s.box = mpsc.NewMailbox[any]()
	defer s.retireConns()
	done := s.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: true, SwitchConn: true})
	require.NoError(t, done.Err)
	require.Equal(t, 1, done.Conn)
	require.NotNil(t, s.connection)
	require.Nil(t, s.next)
	server.awaitOpen(1, 2)
}

// A batch that the cluster's client routed says so: its reply may be another node's.
func TestSender_RoutedCall_SaysSo(t *testing.T) {
	_, client := newScriptedServer(t, func(int, []string) string { return "" })
	sendAll := startSender(t, func(batches <-chan *coordinator.Batch, box *mpsc.Mailbox[any]) {
		runSender(&nodeConn{client: &singleNodeClient{Client: client}, address: "node:1"}, &wire.Encoder{ID: "id"}, batches, nil, box, nil)
	})
	b := sendAll()
	require.NoError(t, b.Failed)
	require.True(t, b.ViaClusterClient)
}

// A client is looked up again if any batch of a bundle has no reply, and not only the first.
func TestSender_LaterBatchNoReply_LookedUp(t *testing.T) {
	n := &nodeConn{address: "node:1", cached: &singleNodeClient{}}
	first, second := acquireBatch(), acquireBatch()
	first.Next, second.NoReply = second, true
	n.dropIfBroken(first, mpsc.NewMailbox[any]())
	require.Nil(t, n.cached)
}

// The next connection may have channels that the current one does not. If it breaks, they are subscribed again.
func TestSubscriber_NextConnBroke_Reported(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	l := newSubscriberHarnessOn(t, newListener(client))
	for _, onNext := range []bool{false, true} {
		_, err := l.execute(&coordinator.Order{Channels: []string{"a"}, OnNextConn: onNext})
		require.NoError(t, err)
	}
	server.awaitOpen(1, 2, 3)
	server.closeConn(3)
	l.await("the break", func(what any) bool { _, is := what.(coordinator.PubsubDown); return is })
}

// An error of the connection is one that the loop may examine.
func TestSubscriber_ConnBreaksInOrder_ClientError(t *testing.T) {
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "SUBSCRIBE" {
			return hangUp
		}
		return ""
	})
	_, err := newSubscriberHarnessOn(t, newListener(client)).execute(&coordinator.Order{Channels: []string{"a"}})
	var failed *rediserr.ClientError
	require.ErrorAs(t, err, &failed)
}

// The engine's own channel is never sharded. The order belongs to the loop, which reads its channels again.
func TestSubscriber_OwnChannelAmongSharded_OrderUnchanged(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	s := sharded(newListener(client))
	s.own.channel, s.box = "own", mpsc.NewMailbox[any]()
	defer s.retireConns()
	order := &coordinator.Order{Channels: []string{"{s}a", "own", "{s}b"}}
	require.NoError(t, s.execute(order).Err)
	require.Equal(t, []string{"{s}a", "own", "{s}b"}, order.Channels)
	require.Equal(t, "SUBSCRIBE own\nSSUBSCRIBE {s}a {s}b\n", server.receivedOn(2))
}

// What a connection keeps of its orders is their channels. The room in their lists goes with them.
func TestSubscriber_ListWithRoom_RoomNotKept(t *testing.T) {
	for name, of := range map[string]func(*subscriber) *subscriber{
		"plain": func(s *subscriber) *subscriber { return s }, "sharded": sharded,
	} {
		t.Run(name, func(t *testing.T) {
			_, client := newScriptedServer(t, func(int, []string) string { return "" })
			s := of(newListener(client))
			s.box = mpsc.NewMailbox[any]()
			defer s.retireConns()
			list := append(make([]string, 0, 1000), "{s}a", "{s}b")
			require.NoError(t, s.execute(&coordinator.Order{Channels: list}).Err)
			clear(list) // which belongs to the order
			require.Equal(t, [][]string{{"{s}a", "{s}b"}}, s.connection.channels)
			require.Less(t, cap(s.connection.channels[0]), 10)
		})
	}
}

// While the server rejects SUBSCRIBE, a channel is tried again and again on the same connection. Only what is
// subscribed there is kept.
func TestSubscriber_Rejected_NothingKept(t *testing.T) {
	for name, of := range map[string]func(*subscriber) *subscriber{
		"plain": func(s *subscriber) *subscriber { return s }, "sharded": sharded,
	} {
		t.Run(name, func(t *testing.T) {
			_, client := newScriptedServer(t, func(_ int, words []string) string {
				if slices.Contains(words, "denied") {
					return "-NOPERM No permissions to access a channel\r\n"
				}
				return ""
			})
			s := of(newListener(client))
			s.box = mpsc.NewMailbox[any]()
			defer s.retireConns()
			for range 20 {
				require.ErrorContains(t, s.execute(&coordinator.Order{Channels: []string{"denied"}}).Err, "NOPERM")
			}
			require.Empty(t, s.connection.channels)
			require.NoError(t, s.execute(&coordinator.Order{Channels: []string{"allowed"}}).Err)
			require.Equal(t, [][]string{{"allowed"}}, s.connection.channels)
			require.Equal(t, 1, s.connCount, "it is the same connection")
		})
	}
}

// Of an order that the server rejects for one slot, the connection keeps the channels of the other slots.
func TestSubscriber_OneSlotRejected_OthersKept(t *testing.T) {
	_, client := newScriptedServer(t, func(_ int, words []string) string {
		if slices.Contains(words, "denied") {
			return "-NOPERM No permissions to access a channel\r\n"
		}
		return ""
	})
	s := sharded(newListener(client))
	s.box = mpsc.NewMailbox[any]()
	defer s.retireConns()
	require.Error(t, s.execute(&coordinator.Order{Channels: []string{"{s}a", "denied", "{s}b"}}).Err)
	require.Equal(t, [][]string{{"{s}a", "{s}b"}}, s.connection.channels)
}
