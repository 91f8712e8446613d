package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/engine/mpsc"
	"github.com/lockwheel/lockwheel/engine/slot"
	"github.com/lockwheel/lockwheel/engine/wire"
)

// multiNodeClient is a client that knows several nodes, of a cluster or named by Sentinel.
type multiNodeClient struct {
	rueidis.Client
	mode  rueidis.ClientMode
	nodes map[string]rueidis.Client
}

func (e *multiNodeClient) Mode() rueidis.ClientMode { return e.mode }

func (e *multiNodeClient) Nodes() map[string]rueidis.Client { return e.nodes }

// twoNodes returns a cluster of a silent node and one that replies.
func twoNodes(t *testing.T, answer string) map[string]rueidis.Client {
	_, gone := newScriptedServer(t, func(int, []string) string { return hangUp })
	_, alive := newScriptedServer(t, func(int, []string) string { return answer })
	return map[string]rueidis.Client{"gone:1": gone, "alive:1": alive}
}

// If a node is silent, the next one is asked. A host that a node leaves out of its reply is the one by which it was
// asked.
func TestTopology_NodeSilent_AsksNext(t *testing.T) {
	s := &Server{client: &multiNodeClient{nodes: twoNodes(t, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7\r\n")}}
	known, err := s.fetchTopology(t.Context(), newTopologyQueries(onGoroutine), []string{"gone:1", "alive:1"})
	require.NoError(t, err)
	require.Equal(t, &coordinator.Topology{Source: "alive:1", Ranges: []coordinator.SlotRange{{First: 0, Last: slot.Count - 1, Address: "alive:7"}}}, known)
}

// One node knows no slots and one does not reply. In either order of asking, the error says that no node knows slots,
// so that Open tries the next address.
func TestTopology_NoSlotsAndSilent_SaysNoSlots(t *testing.T) {
	for _, order := range [][]string{{"gone:1", "alive:1"}, {"alive:1", "gone:1"}} {
		s := &Server{client: &multiNodeClient{nodes: twoNodes(t, "*0\r\n")}}
		_, err := s.fetchTopology(t.Context(), newTopologyQueries(onGoroutine), order)
		require.ErrorIs(t, err, errNoSlots, "%v", order)
		require.True(t, IsNoTopology(err))
	}
}

// A node that is silent for as long as it is asked leaves time for those behind it, also if there is little for all.
func TestTopology_SilentNodes_LeaveTimeForNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := twoNodes(t, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7\r\n")
		silent := make(chan struct{})
		for _, address := range []string{"silent:1", "silent:2"} {
			_, nodes[address] = newScriptedServer(t, func(int, []string) string { <-silent; return "" })
		}
		t.Cleanup(func() { close(silent) }) // before the clients close
		ctx, cancel := context.WithTimeout(t.Context(), 2*nodeTimeout)
		defer cancel()
		known, err := (&Server{client: &multiNodeClient{nodes: nodes}}).fetchTopology(ctx, newTopologyQueries(onGoroutine), []string{"silent:1", "silent:2", "alive:1"})
		require.NoError(t, err)
		require.Equal(t, "alive:1", known.Source)
	})
}

// A node that stands still for longer than a refresh waits for it keeps its connection, which carries the commands for
// locks. It is not asked again meanwhile, and the reply to the first call counts.
func TestTopology_NodeStandsStill_ConnectionKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := make(chan struct{})
		server, client := newScriptedServer(t, func(_ int, words []string) string {
			if words[0] != "CLUSTER" {
				return "+OK\r\n"
			}
			<-still
			return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7\r\n"
		})
		asks := newTopologyQueries(onGoroutine)
		for range 3 {
			_, err := asks.from(t.Context(), client, "alive:1")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, 1, strings.Count(server.receivedOn(1), "CLUSTER"))
		locks := make(chan error, 1)
		go func() { locks <- client.Do(t.Context(), client.B().Ping().Build()).Error() }()
		time.AfterFunc(nodeTimeout/2, func() { close(still) })
		known, err := asks.from(t.Context(), client, "alive:1")
		require.NoError(t, err)
		require.Len(t, known.Ranges, 1)
		require.NoError(t, <-locks)
		require.Empty(t, server.receivedOn(2))
	})
}

// A range that no cluster has is left out: the loop looks slots up by their number.
func TestTopology_OddRanges_LeftOut(t *testing.T) {
	for ranges, kept := range map[string]int{
		":0\r\n:16383": 1, ":16383\r\n:16383": 1,
		":0\r\n:16384": 0, ":-1\r\n:5": 0, ":6\r\n:5": 0, "+a\r\n:5": 0,
	} {
		_, client := newScriptedServer(t, func(int, []string) string { return "*1\r\n*3\r\n" + ranges + "\r\n*2\r\n+h\r\n:7\r\n" })
		known, err := fetchFrom(client, "alive:1")
		require.NoError(t, err)
		require.Len(t, known.Ranges, kept, ranges)
	}
	for host, want := range map[string]string{"$1\r\nh\r\n": "h:7", "$0\r\n\r\n": "alive:7", "_\r\n": "alive:7", "$1\r\n?\r\n": ""} {
		_, client := newScriptedServer(t, func(int, []string) string { return "*1\r\n*3\r\n:0\r\n:5\r\n*2\r\n" + host + ":7\r\n" })
		known, err := fetchFrom(client, "alive:1")
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, known.Ranges, "a host that the node does not know")
			continue
		}
		require.Equal(t, []coordinator.SlotRange{{First: 0, Last: 5, Address: want}}, known.Ranges)
	}
}

// However many masters were replaced, a node is asked that the client knows, and only a few of these are asked.
func TestTopology_AllMastersReplaced_AsksOthers(t *testing.T) {
	var replaced []string
	for i := range 2 * maxNodesAsked {
		replaced = append(replaced, fmt.Sprintf("old:%d", i))
	}
	s := &Server{client: &multiNodeClient{nodes: twoNodes(t, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7\r\n")}}
	known, err := s.fetchTopology(t.Context(), newTopologyQueries(onGoroutine), slices.Clone(replaced))
	require.NoError(t, err)
	require.Equal(t, "alive:1", known.Source)

	server, empty := newScriptedServer(t, func(int, []string) string { return "*0\r\n" })
	nodes := make(map[string]rueidis.Client)
	for _, address := range replaced {
		nodes[address] = empty
	}
	_, err = (&Server{client: &multiNodeClient{nodes: nodes}}).fetchTopology(t.Context(), newTopologyQueries(onGoroutine), nil)
	require.ErrorIs(t, err, errNoSlots)
	require.Equal(t, maxNodesAsked, strings.Count(server.receivedOn(1), "CLUSTER"))
}

// One master that replies shows whether WAIT can be used, whichever others are silent.
func TestCheckReplicas_OneMasterIsEnough(t *testing.T) {
	both := func(first, second string) *coordinator.Topology {
		return &coordinator.Topology{Ranges: []coordinator.SlotRange{{First: 0, Last: 1, Address: first}, {First: 2, Last: 3, Address: second}}}
	}
	nodes := twoNodes(t, ":0\r\n")
	for _, known := range []*coordinator.Topology{both("gone:1", "alive:1"), both("alive:1", "gone:1"), both("unheard:1", "alive:1")} {
		require.NoError(t, (&Server{client: &multiNodeClient{nodes: nodes}, topology: known}).CheckReplicas(t.Context(), time.Minute))
	}
	require.Error(t, (&Server{client: &multiNodeClient{nodes: nodes}, topology: both("gone:1", "unheard:1")}).CheckReplicas(t.Context(), time.Minute))
	refusing := twoNodes(t, "-NOPERM no\r\n")
	require.ErrorContains(t, (&Server{client: &multiNodeClient{nodes: refusing}, topology: both("alive:1", "gone:1")}).CheckReplicas(t.Context(), time.Minute), "NOPERM")
}

// Behind ASKING the reply to the call is the second one.
func TestAsking_SecondReplyIsTheCalls(t *testing.T) {
	server, client := newScriptedServer(t, func(_ int, words []string) string {
		if words[0] == "ASKING" {
			return "+OK\r\n"
		}
		return "*1\r\n*2\r\n:70\r\n+x:1\r\n"
	})
	first, second := acquireBatch(), acquireBatch()
	first.Next, first.Asking, second.Asking = second, true, true
	(&wire.Encoder{ID: "id"}).SendBundle(client, first)
	for b := first; b != nil; b = b.Next {
		require.NoError(t, b.Failed)
		require.Equal(t, actor.HeldByOther, b.Replies[0].Status)
	}
	require.Equal(t, 2, strings.Count(server.receivedOn(1), "ASKING"))
}

// Once a batch is posted the loop may refill it. So the messages to repeat are read from it before.
func TestSender_Messages_ReadBeforePost(t *testing.T) {
	answers := func(_ int, words []string) string {
		if words[0] == "ASKING" {
			return "+OK\r\n"
		}
		return ""
	}
	target, to := newScriptedServer(t, answers)
	from, old := newScriptedServer(t, answers)
	cluster := &multiNodeClient{Client: to, nodes: map[string]rueidis.Client{"to:1": to, "from:1": old}}
	b := coordinator.NewBatch()
	b.Reset(actor.SendRelease)
	b.Commands = []actor.Command{{Verb: actor.SendRelease, Key: "a", Tenure: 1}}
	b.Asking, b.RedirectedBy = true, coordinator.NewNode("from:1", 30*time.Second)
	batches, box := make(chan *coordinator.Batch, 1), &mpsc.Mailbox[any]{Wakeup: make(chan struct{})} // post blocks until the receiver is ready
	require.True(t, box.PrepareSleep())
	batches <- b
	close(batches)
	done := make(chan struct{})
	go func() {
		defer close(done)
		runSender(&nodeConn{client: cluster, address: "to:1"}, &wire.Encoder{ID: "id", Sharded: true}, batches, nil, box, &relayer{client: cluster, run: func(f func()) { f() }})
	}()
	require.Eventually(t, func() bool { return box.TakeAll() != nil }, 10*time.Second, time.Millisecond, "the batch to come back")
	require.NoError(t, b.Failed)
	b.Reset(actor.SendRelease)
	b.Commands = append(b.Commands, actor.Command{Verb: actor.SendRelease, Key: "b", Tenure: 2})
	<-box.Wakeup
	<-done
	require.Equal(t, 1, strings.Count(target.receivedOn(1), "ASKING"), "also before a batch that is no bundle")
	require.Equal(t, 1, strings.Count(from.receivedOn(1), "SPUBLISH"))
	require.Contains(t, from.receivedOn(1), "{a}")
}

// Behind Sentinel no call goes to a master other than its own, not even by the client's topology. A worker that notices
// another master reports it before it posts the reply.
func TestWorker_OtherMaster_Reported(t *testing.T) {
	server, client := newScriptedServer(t, func(int, []string) string { return "" })
	next := &multiNodeClient{Client: client, mode: rueidis.ClientModeSentinel, nodes: map[string]rueidis.Client{"next:1": client}}
	was := &nodeConn{client: next, address: "was:1", sentinelMaster: true}
	posted := func(box *mpsc.Mailbox[any]) (all []any) {
		for m := box.TakeAll(); m != nil; m = m.Next {
			all = append(all, m.Value)
		}
		return all
	}
	for name, carries := range map[string]func(<-chan *coordinator.Batch, *mpsc.Mailbox[any]){
		"sender": func(batches <-chan *coordinator.Batch, box *mpsc.Mailbox[any]) {
			runSender(was, &wire.Encoder{ID: "id"}, batches, nil, box, nil)
		},
		"replica sender": (&replicaSender{nodeConn: was, encoder: &wire.Encoder{ID: "id"}, lender: newLender(nil, onGoroutine)}).run,
	} {
		t.Run(name, func(t *testing.T) {
			batches, box, b := make(chan *coordinator.Batch, 1), mpsc.NewMailbox[any](), acquireBatch()
			batches <- b
			close(batches)
			carries(batches, box)
			require.Equal(t, []any{coordinator.MasterChanged{Address: "next:1"}, b}, posted(box))
			require.True(t, b.NoReply)
			require.ErrorIs(t, b.Failed, errMasterChanged)
		})
	}
	t.Run("subscriber", func(t *testing.T) {
		s := &subscriber{own: &ownMessages{}, nodeConn: was, box: mpsc.NewMailbox[any](), lender: newLender(nil, onGoroutine)}
		s.checkMaster()
		require.Equal(t, []any{coordinator.MasterChanged{Address: "next:1"}}, posted(s.box))
		_, err := s.connect() // there is no client of that master any more
		require.ErrorIs(t, err, coordinator.ErrUnknownNode)
		require.Equal(t, []any{coordinator.MasterChanged{Address: "next:1"}}, posted(s.box))
	})
	require.NotContains(t, server.receivedOn(1), "EVAL")
}

// The final snapshot is read only after the loop has ended.
func TestStats_AfterClose_WaitForLoop(t *testing.T) {
	e := &Engine{box: mpsc.NewMailbox[any](), async: &asyncLimit{}, stopped: make(chan struct{})}
	e.box.Close()
	told := make(chan coordinator.Stats)
	go func() { told <- e.Stats() }()
	select {
	case <-told:
		t.Fatal("told before the loop has ended")
	case <-time.After(20 * time.Millisecond):
	}
	e.lastStats = coordinator.Stats{LoopTurns: 7}
	close(e.stopped)
	require.EqualValues(t, 7, (<-told).LoopTurns)
}

// Lost locks are logged in one line per turn, one as well as many; unlocked ones are not logged.
func TestLosses_OneLogLinePerTurn(t *testing.T) {
	var said bytes.Buffer
	e := &Engine{log: slog.New(slog.NewTextHandler(&said, nil))}
	e.logLost([]actor.HoldEnd{{Key: "a", Err: actor.ErrNotHeld}})
	require.Empty(t, said.String())
	e.logLost([]actor.HoldEnd{{Key: "a", Hold: &actor.Hold{}, Err: actor.ErrLost, Cause: errors.New("gone")}, {Key: "b", Err: actor.ErrNotHeld}})
	require.Contains(t, said.String(), "count=1 last=a cause=gone")
	said.Reset()
	e.logLost([]actor.HoldEnd{{Key: "a", Err: actor.ErrLost}, {Key: "b", Hold: &actor.Hold{}, Err: actor.ErrLost, Cause: errors.New("gone")}})
	require.Contains(t, said.String(), "count=2 last=b cause=gone")
	require.Equal(t, 1, strings.Count(said.String(), "\n"))
	said.Reset()
	e.hooks.PrefixLen = len("app:")
	e.logLost([]actor.HoldEnd{{Key: "app:a", Hold: &actor.Hold{}, Err: actor.ErrLost}})
	require.Contains(t, said.String(), "last=a ", "the name, without the prefix of the engine")
}

// A turn logs a bounded number of holds that need a look, and how many more there are.
func TestNotices_Many_RestCounted(t *testing.T) {
	for n, more := range map[int]string{maxNotices: "", maxNotices + 1: "more=1\n", maxNotices + 7: "more=7\n"} {
		var said bytes.Buffer
		e := &Engine{log: slog.New(slog.NewTextHandler(&said, nil))}
		e.logNotices("look", slices.Repeat([]actor.HoldNotice{{Hold: &actor.Hold{}, Key: "k"}}, n))
		require.Equal(t, maxNotices, strings.Count(said.String(), "lock=k"))
		require.Equal(t, more != "", strings.Contains(said.String(), "more="))
		require.Contains(t, said.String(), more)
	}
}

// A client that also uses replicas has several nodes and does not tell which is the master: the engine follows none.
func TestMasterOf_SeveralNodes_None(t *testing.T) {
	one, two := map[string]rueidis.Client{"a:1": nil}, map[string]rueidis.Client{"a:1": nil, "b:1": nil}
	require.Equal(t, "a:1", masterOf(&multiNodeClient{mode: rueidis.ClientModeSentinel, nodes: one}))
	require.Empty(t, masterOf(&multiNodeClient{mode: rueidis.ClientModeSentinel, nodes: two}))
	require.Empty(t, masterOf(&multiNodeClient{mode: rueidis.ClientModeCluster, nodes: one}))
	require.Empty(t, masterOf(&multiNodeClient{mode: rueidis.ClientModeStandalone, nodes: one}))
}

// A closed loop ends after it has notified all callers, however many there are.
func TestLoop_Closed_NotifiesAllFirst(t *testing.T) {
	e := newEngine(actor.Config{ID: "me", Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second}, nil, Hooks{}, nil)
	told := make([]*actor.Request, 0)
	e.hooks.Result = func(r *actor.Request, _ time.Duration) { told = append(told, r) }
	calls := make([]Call, 3*coordinator.MaxResultsPerTurn+1)
	for i := range calls {
		calls[i].Ready = make(chan struct{}, 1)
		calls[i].Op, calls[i].Key, calls[i].Hold = actor.Acquire, "k", &actor.Hold{}
	}
	calls[len(calls)-1].Op = coordinator.AskClose
	require.True(t, e.PostAll(calls))
	e.run()
	require.Len(t, told, len(calls))
	for i := range calls {
		require.Len(t, calls[i].Ready, 1)
	}
	require.GreaterOrEqual(t, e.Stats().LoopTurns, uint64(4))
	require.Zero(t, e.Stats().Waiting)
}

// Behind Sentinel and in a cluster the engine follows the master in other ways. It never closes connections of a client
// that the program owns.
func TestRedial_OnlySingleServer(t *testing.T) {
	require.True(t, (&Server{redial: func() {}}).canRedial(""))
	require.False(t, (&Server{redial: func() {}}).canRedial("master:1"))
	require.False(t, (&Server{redial: func() {}, topology: &coordinator.Topology{}}).canRedial(""))
	require.False(t, (&Server{}).canRedial(""))
}

// A grant that its caller gave up in the same turn is reported before its end, and once.
func TestFlush_GrantGivenUp_ReportedBeforeItsEnd(t *testing.T) {
	var told []string
	e := newEngine(actor.Config{ID: "me", Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second}, nil, Hooks{
		HoldEnded: func(*actor.HoldEnd) { told = append(told, "end") },
		Result:    func(*actor.Request, time.Duration) { told = append(told, "grant") },
	}, nil)
	hold := &actor.Hold{}
	r := &actor.Request{Op: actor.Acquire, Key: "k", Hold: hold, Ready: make(chan struct{}, 1)}
	fx := e.coordinator.Fx
	fx.Complete(0, r, nil, nil)
	fx.HoldEnds = append(fx.HoldEnds, actor.HoldEnd{Hold: hold, Key: "k", Err: actor.ErrNotHeld, Granted: r})
	e.coordinator.Results.Ready = append(e.coordinator.Results.Ready, r)
	e.flush(0)
	require.Equal(t, []string{"grant", "end"}, told)
	require.Len(t, r.Ready, 1)
}
