package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// estate is a client that knows several nodes, of a cluster or named by Sentinel.
type estate struct {
	rueidis.Client
	mode rueidis.ClientMode
	all  map[string]rueidis.Client
}

func (e *estate) Mode() rueidis.ClientMode         { return e.mode }
func (e *estate) Nodes() map[string]rueidis.Client { return e.all }

// twoNodes returns a cluster of a silent node and one that replies.
func twoNodes(t *testing.T, answer string) map[string]rueidis.Client {
	_, gone := newScripted(t, func(int, []string) string { return hangUp })
	_, alive := newScripted(t, func(int, []string) string { return answer })
	return map[string]rueidis.Client{"gone:1": gone, "alive:1": alive}
}

// If a node is silent, the next one is asked. A host that a node leaves out of its reply is the one by which it was
// asked.
func TestASurveyGoesOnToTheNextNode(t *testing.T) {
	s := &Server{client: &estate{all: twoNodes(t, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:7\r\n")}}
	known, err := s.ask(t.Context(), []string{"gone:1", "alive:1"})
	require.NoError(t, err)
	require.Equal(t, &chart{from: "alive:1", spans: []span{{0, slotCount - 1, "alive:7"}}}, known)
}

// One master that replies shows whether WAIT can be used, whichever others are silent.
func TestTheMastersThatAnswerAreAskedForReplicas(t *testing.T) {
	both := func(first, second string) *chart { return &chart{spans: []span{{0, 1, first}, {2, 3, second}}} }
	nodes := twoNodes(t, ":0\r\n")
	for _, known := range []*chart{both("gone:1", "alive:1"), both("alive:1", "gone:1"), both("unheard:1", "alive:1")} {
		require.NoError(t, (&Server{client: &estate{all: nodes}, chart: known}).AskReplicas(t.Context(), time.Minute))
	}
	require.Error(t, (&Server{client: &estate{all: nodes}, chart: both("gone:1", "unheard:1")}).AskReplicas(t.Context(), time.Minute))
	refusing := twoNodes(t, "-NOPERM no\r\n")
	require.ErrorContains(t, (&Server{client: &estate{all: refusing}, chart: both("alive:1", "gone:1")}).AskReplicas(t.Context(), time.Minute), "NOPERM")
}

// Behind ASKING the reply to the call is the second one.
func TestTheAnswerBehindAskingIsTheCalls(t *testing.T) {
	server, client := newScripted(t, func(_ int, words []string) string {
		if words[0] == "ASKING" {
			return "+OK\r\n"
		}
		return "*1\r\n*2\r\n:70\r\n+x:1\r\n"
	})
	first, second := errand(), errand()
	first.next, first.asking, second.asking = second, true, true
	(&writer{id: "id"}).bundle(client, first)
	for b := first; b != nil; b = b.next {
		require.NoError(t, b.failed)
		require.Equal(t, actor.Taken, b.replies[0].Status)
	}
	require.Equal(t, 2, strings.Count(server.heard(1), "ASKING"))
}

// Once a batch is posted the loop may refill it. So the messages to repeat are read from it before.
func TestWhatReleasesTellIsReadBeforeTheirBatchIsHandedBack(t *testing.T) {
	answers := func(_ int, words []string) string {
		if words[0] == "ASKING" {
			return "+OK\r\n"
		}
		return ""
	}
	_, to := newScripted(t, answers)
	from, old := newScripted(t, answers)
	cluster := &estate{Client: to, all: map[string]rueidis.Client{"to:1": to, "from:1": old}}
	b := newBatch()
	b.reset(actor.SendRelease)
	b.commands = []actor.Command{{Verb: actor.SendRelease, Key: "a", Tenure: 1}}
	b.asking, b.asker = true, newNode("from:1", 30*time.Second)
	batches, box := make(chan *batch, 1), &mailbox{bell: make(chan struct{})} // post blocks until the receiver is ready
	box.asleep.Store(true)
	batches <- b
	close(batches)
	done := make(chan struct{})
	go func() {
		defer close(done)
		carry(&way{client: cluster, address: "to:1"}, &writer{id: "id", sharded: true}, batches, box)
	}()
	require.Eventually(t, func() bool { return box.take() != nil }, 10*time.Second, time.Millisecond, "the batch to come back")
	require.NoError(t, b.failed)
	b.reset(actor.SendRelease)
	b.commands = append(b.commands, actor.Command{Verb: actor.SendRelease, Key: "b", Tenure: 2})
	<-box.bell
	<-done
	require.Equal(t, 1, strings.Count(from.heard(1), "SPUBLISH"))
	require.Contains(t, from.heard(1), "{a}")
}

// Behind Sentinel no call goes to a master other than its own, not even by the client's topology. A worker that notices
// another master reports it before it posts the reply.
func TestWhoeverSeesAnotherMasterSaysSo(t *testing.T) {
	server, client := newScripted(t, func(int, []string) string { return "" })
	next := &estate{Client: client, mode: rueidis.ClientModeSentinel, all: map[string]rueidis.Client{"next:1": client}}
	was := &way{client: next, address: "was:1", master: true}
	posted := func(box *mailbox) (all []any) {
		for m := box.take(); m != nil; m = m.next {
			all = append(all, m.what)
		}
		return all
	}
	for name, carries := range map[string]func(<-chan *batch, *mailbox){
		"courier": func(batches <-chan *batch, box *mailbox) { carry(was, &writer{id: "id"}, batches, box) },
		"syncer":  (&syncer{way: was, writer: &writer{id: "id"}, lender: newLender(nil, onGoroutine)}).carry,
	} {
		t.Run(name, func(t *testing.T) {
			batches, box, b := make(chan *batch, 1), newMailbox(), errand()
			batches <- b
			close(batches)
			carries(batches, box)
			require.Equal(t, []any{replaced{"next:1"}, b}, posted(box))
			require.True(t, b.lost)
			require.ErrorIs(t, b.failed, errReplaced)
		})
	}
	t.Run("subscriber", func(t *testing.T) {
		s := &subscriber{way: was, to: newMailbox(), lender: newLender(nil, onGoroutine)}
		s.look()
		require.Equal(t, []any{replaced{"next:1"}}, posted(s.to))
	})
	require.NotContains(t, server.heard(1), "EVAL")
}

// The final snapshot is read only after the loop has ended.
func TestStatsAfterTheEndWaitForIt(t *testing.T) {
	e := &Engine{box: newMailbox(), stopped: make(chan struct{})}
	e.box.shutDown()
	told := make(chan Stats)
	go func() { told <- e.Stats() }()
	select {
	case <-told:
		t.Fatal("told before the loop has ended")
	case <-time.After(20 * time.Millisecond):
	}
	e.last = Stats{Turns: 7}
	close(e.stopped)
	require.EqualValues(t, 7, (<-told).Turns)
}

// Lost locks are logged in one line per turn, one as well as many; unlocked ones are not logged.
func TestLossesAreLoggedOnceATurn(t *testing.T) {
	var said bytes.Buffer
	e := &Engine{log: slog.New(slog.NewTextHandler(&said, nil))}
	e.mourn([]actor.Ended{{Key: "a", Err: actor.ErrNotHeld}})
	require.Empty(t, said.String())
	e.mourn([]actor.Ended{{Key: "a", Err: actor.ErrLost, Cause: errors.New("gone")}, {Key: "b", Err: actor.ErrNotHeld}})
	require.Contains(t, said.String(), "count=1 last=a cause=gone")
	said.Reset()
	e.mourn([]actor.Ended{{Key: "a", Err: actor.ErrLost}, {Key: "b", Err: actor.ErrLost, Cause: errors.New("gone")}})
	require.Contains(t, said.String(), "count=2 last=b cause=gone")
	require.Equal(t, 1, strings.Count(said.String(), "\n"))
}
