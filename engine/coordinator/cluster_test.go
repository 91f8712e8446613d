package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/slot"
)

// clusterHarness is a coordinatorHarness in a cluster of the nodes A, B and C, which own a third of the slots each. Of
// the keys a to g, b and f are A's, c and g are B's, and a, d and e are C's.
//
// Words in addition to those of converse:
//   - "1@A: acquire b + f" is a bundle of two batches to A. Its replies are separated by "|"; the last one counts for
//     all further batches.
//   - "survey A B C" asks these nodes for the topology; "charted 0-16383@B" and "uncharted" are replies;
//     "charted@A" is one from A.
//   - Words about a subscriber name its node: "join@A {b}", "subscribed@A b".
type clusterHarness struct{ *coordinatorHarness }

func newClusterHarness(t *testing.T, senders int) clusterHarness {
	d := clusterHarness{newHarness(t, senders)}
	d.c.InitCluster(topologyOf(t, "0-5460@A 5461-10922@B 10923-16383@C"))
	require.Len(t, d.c.Added, 3)
	d.c.ResetOutputs()
	return d
}

// A slot without a known owner is asked for at a node of the cluster, which replies with the owner.
func TestCluster_SlotUnknown_FirstNodeAsked(t *testing.T) {
	d := newHarness(t, 1)
	d.c.InitCluster(topologyOf(t, "0-99@A 200-299@B"))
	for _, number := range []int{100, 199, 300, slot.Count - 1} {
		require.Equal(t, "A:1", d.c.Cluster.slots[number].Address)
	}
	require.Equal(t, "B:1", d.c.Cluster.slots[200].Address)
}

// An engine that was opened without a server knows the nodes of its cluster as soon as it is connected: it asks the
// owner of each slot, and not one node that redirects it.
func TestCluster_ConnectedLater_OwnersKnown(t *testing.T) {
	d := clusterHarness{newHarness(t, 1)}
	d.c.InitUnconnected(errors.New("down"))
	require.Equal(t, "nothing", d.line("1ms lock a b"))
	d.queueMessage(&LoopMessage{Value: Connected{Topology: topologyOf(t, "0-5460@A 5461-10922@B 10923-16383@C")}})
	require.Equal(t, "opens ; opens A; opens B; opens C; shuts ; 1@A: acquire b; 2@C: acquire a", d.turn())
}

func topologyOf(t testing.TB, text string) *Topology {
	known := &Topology{}
	for word := range strings.FieldsSeq(text) {
		var s SlotRange
		_, err := fmt.Sscanf(strings.Replace(word, "@", " ", 1), "%d-%d %s", &s.First, &s.Last, &s.Address)
		require.NoError(t, err, word)
		s.Address += ":1"
		known.Ranges = append(known.Ranges, s)
	}
	return known
}

func runClusterConversation(t *testing.T, senders int, conversation string) clusterHarness {
	t.Helper()
	d := newClusterHarness(t, senders)
	compare(t, conversation, d.line)
	return d
}

func (d clusterHarness) line(line string) string {
	moment, stimuli, _ := strings.Cut(line, " ")
	at, err := time.ParseDuration(moment)
	require.NoError(d.t, err)
	d.now = at
	for stimulus := range strings.SplitSeq(stimuli, "; ") {
		words := strings.Fields(stimulus)
		what, address, aboutNode := strings.Cut(words[0], "@")
		switch {
		case words[0] == "timer":
			if due, ok := d.c.Next(); !ok || due > at {
				return fmt.Sprintf("nothing is due before %v (%v)", due, ok)
			}
		case words[0] == "next":
			due, ok := d.c.Next()
			return fmt.Sprint(due, " ", ok)
		case words[0] == "charted":
			d.queueMessage(&LoopMessage{Value: TopologyResult{Topology: topologyOf(d.t, strings.Join(words[1:], " "))}})
		case words[0] == "uncharted":
			d.queueMessage(&LoopMessage{Value: TopologyResult{Err: errors.New("no topology")}})
		case aboutNode:
			d.heard(what, address, words[1:])
		case words[0][0] >= '0' && words[0][0] <= '9':
			d.bundle(stimulus)
		default:
			d.post(words)
		}
	}
	return d.turn()
}

// heard posts a message of a node's subscriber.
func (d clusterHarness) heard(what, address string, rest []string) {
	n := d.c.nodeByAddr(address + ":1")
	switch what {
	case "charted":
		known := topologyOf(d.t, strings.Join(rest, " "))
		known.Source = n.Address
		d.queueMessage(&LoopMessage{Value: TopologyResult{Topology: known}})
		return
	case "pubsubdown":
		d.queueMessage(&LoopMessage{Value: d.connsOf(n).breakAll(n)})
	case "ordered":
		d.queueMessage(&LoopMessage{Value: d.connsOf(n).orderResult(n, nil)})
	case "disordered":
		d.queueMessage(&LoopMessage{Value: d.connsOf(n).orderResult(n, errors.New(strings.Join(rest, " ")))})
	}
	for _, name := range rest {
		switch channel := channelOf(name); what {
		case "heard":
			d.queueMessage(&LoopMessage{Value: ChannelMessage{n, channel}})
		case "subscribed":
			d.queueMessage(&LoopMessage{Value: ChannelSubscribed{n, channel, d.connsOf(n).to}})
		case "silenced":
			d.queueMessage(&LoopMessage{Value: ChannelUnsubscribed{n, channel, d.connsOf(n).to}})
		}
	}
}

// bundle delivers the replies to the batches of a bundle.
func (d clusterHarness) bundle(stimulus string) {
	number, answers, _ := strings.Cut(stimulus, " ")
	parts := strings.Split(answers, "|")
	var at int
	_, err := fmt.Sscan(number, &at)
	require.NoError(d.t, err)
	first := d.inFlight[at]
	require.NotNil(d.t, first, "bundle %d is not out", at)
	messages := d.messages
	i := 0
	for b := first; b != nil; b = b.Next {
		d.inFlight[at] = b
		require.Empty(d.t, d.deliverBatch(append([]string{number}, strings.Fields(parts[min(i, len(parts)-1)])...)))
		i++
	}
	d.messages = append(messages, &first.Msg)
}

func (d clusterHarness) turn() string {
	var first *LoopMessage
	for _, m := range slices.Backward(d.messages) {
		m.Next = first
		first = m
	}
	d.messages = nil
	d.c.Turn(d.now, first)
	said := slices.Concat(d.ended(), d.nodeChanges(), d.sentTextFor(), d.orderedAt(), d.results())
	d.c.ResetOutputs()
	if len(said) == 0 {
		return "nothing"
	}
	return strings.Join(said, "; ")
}

func (d clusterHarness) nodeChanges() (said []string) {
	for _, n := range d.c.Added {
		said = append(said, "opens "+name(n))
	}
	for _, n := range d.c.Removed {
		said = append(said, "shuts "+name(n))
	}
	if k := d.c.Cluster; k != nil && k.Request != nil {
		said = append(said, "survey "+strings.ReplaceAll(strings.Join(k.Request.Addresses, " "), ":1", ""))
	}
	return said
}

func name(n *Node) string { return strings.TrimSuffix(n.Address, ":1") }

// sentTextFor is coordinatorHarness.Left with nodes and bundles.
func (d clusterHarness) sentTextFor() (said []string) {
	for _, head := range d.c.Batches {
		d.batches++
		d.inFlight[d.batches] = head
		calls := []string{}
		verb := ""
		for b := head; b != nil; b = b.Next {
			require.Same(d.t, head.Node, b.Node)
			call := ""
			if b.Asking {
				call = "ASKING "
			}
			for i := range b.Commands {
				require.Equal(d.t, b.Slot, slot.Of(b.Commands[i].Key), "one slot a call")
				call += b.Commands[i].Key + " "
			}
			calls = append(calls, strings.TrimSpace(call))
			single := *b
			single.Commands = nil
			verb = strings.TrimSpace(strings.SplitN((&coordinatorHarness{t: d.t, c: &Coordinator{Batches: []*Batch{&single}}, now: d.now, inFlight: map[int]*Batch{}}).sentText()[0], ": ", 2)[1])
		}
		said = append(said, fmt.Sprintf("%d@%s: %s %s", d.batches, name(head.Node), verb, strings.Join(calls, " + ")))
	}
	return said
}

func (d clusterHarness) orderedAt() (said []string) {
	for _, n := range d.c.Nodes {
		one := &coordinatorHarness{t: d.t, c: &Coordinator{Fallback: n}, wires: map[*Node]*pubsubConns{n: d.connsOf(n)}}
		for _, order := range one.ordered() {
			what, channels, _ := strings.Cut(order, " ")
			said = append(said, what+"@"+name(n)+" "+channels)
		}
	}
	return said
}

// The keys of a batch are of one slot, and the batches of a bundle are for one node, which has its own senders.
func TestBundle_OneNodeOneSlotPerBatch(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock a b c d {a}2 f → 1@A: acquire b + f; 2@B: acquire c; 3@C: acquire a {a}2 + d
		// every node has senders of its own
		2ms lock e g            → nothing
		3ms 2 done              → 4@B: acquire g; c granted
		4ms 3 done | taken      → 5@C: acquire e; join@C {d}; a {a}2 granted
		5ms 1 done              → b f granted
	`)
}

// A batch of a bundle that is rejected, or has a script that the node does not know, does not affect the others.
func TestBundle_BatchFails_OthersUnaffected(t *testing.T) {
	runClusterConversation(t, 4, `
		1ms lock b f {b}2          → 1@A: acquire b {b}2 + f
		2ms 1 says NOPERM x | done → 2@A: acquire {b}2 + b; f granted
		3ms 2 done | says NOPERM x → {b}2 granted; b NOPERM x
		4ms lock a                 → 3@C: acquire a
		5ms 3 says NOSCRIPT x      → 4@C: EVAL acquire a
		6ms 4 done                 → a granted
	`)
}

// A MOVED reply is followed, and changes the topology before it is refreshed.
func TestMoved_FollowedAndRemembered(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b f                     → 1@A: acquire b + f
		2ms 1 says MOVED 3300 C:1 | done → survey A B C; 2@C: acquire b; f granted
		3ms 2 done                       → b granted
		4ms unlock b                     → b not held; 3@C: release b
		5ms 3 done                       → b unlocked
		// the refresh says the same, and more
		6ms charted 0-3299@A 3300-16383@C → shuts B
		7ms lock c                       → 4@C: acquire c
		8ms 4 done                       → c granted
	`)
}

// Redis and Valkey have changed the case of letters in error texts.
func TestServerError_AnyCase_Recognized(t *testing.T) {
	for _, spell := range []func(string) string{strings.ToUpper, strings.ToLower} {
		for _, refusal := range []string{"MOVED 3300 C:1", "ASK 3300 C:1"} {
			slot, address, asking, ok := redirection(spell(refusal), "")
			require.True(t, ok)
			require.EqualValues(t, 3300, slot)
			require.Equal(t, spell("C:1"), address)
			require.Equal(t, refusal[0] == 'A', asking)
			require.True(t, isSlotError(errors.New(spell(refusal))))
		}
		require.True(t, isSlotError(errors.New(spell("CLUSTERDOWN Hash slot not served"))))
		require.True(t, isKeyError(errors.New(spell("TRYAGAIN Multiple keys"))))
	}
	d := newClusterHarness(t, 1)
	d.line("1ms lock b")
	require.Equal(t, "2@A: EVAL acquire b", d.line("2ms 1 says noscript x"))
}

// A redirection of a slot that no cluster has, or without a target, is a rejection like any other. The loop looks slots
// up by their number.
func TestRedirection_Odd_Ignored(t *testing.T) {
	for refusal, follows := range map[string]bool{
		"MOVED 0 C:1": true, "MOVED 16383 C:1": true,
		"MOVED 16384 C:1": false, "MOVED -1 C:1": false, "MOVED x C:1": false, "ASK 16384 C:1": false,
		"MOVED 1 C": false, "MOVED 1 ?:1": false, "MOVED 1": false, "MOVE 1 C:1": false,
	} {
		_, _, _, ok := redirection(refusal, "A:1")
		require.Equal(t, follows, ok, refusal)
	}
}

// The target may be a new node, and a reply may leave out the host of the node that sends it.
func TestMoved_NewNode_Opened(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b f                → 1@A: acquire b + f
		2ms 1 says MOVED 3300 N:1 | says MOVED 3168 :1 → opens N; survey A B C N; 2@A: acquire f; 3@N: acquire b
		3ms 3 done; 2 done          → b f granted
	`)
}

// If two nodes redirect a call to each other, the redirections end. The locks get a result and retry after a while.
func TestRedirection_Loop_Bounded(t *testing.T) {
	d := newClusterHarness(t, 1)
	require.Equal(t, "1@A: acquire b", d.line("1ms lock b"))
	said := ""
	calls := 1
	for ; calls < 50; calls++ {
		to := map[string]string{"A:1": "C:1", "C:1": "A:1"}[d.inFlight[calls].Node.Address]
		if said = d.line(fmt.Sprintf("2ms %d says ASK 3300 %s", calls, to)); !strings.Contains(said, "acquire ASKING b") {
			break
		}
	}
	require.Equal(t, 1+maxRedirects, calls)
	require.Equal(t, "survey A B C", said)
	due, ok := d.c.Next()
	require.True(t, ok)
	require.LessOrEqual(t, due, 100*time.Millisecond)
	require.Contains(t, d.line(fmt.Sprint(due, " timer")), "acquire b")
}

// While a slot migrates, the engine requests keys that have moved with ASKING, and does not change the topology.
func TestAsk_FollowedNotRemembered(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b f                  → 1@A: acquire b + f
		2ms 1 says ASK 3300 C:1 | done → 2@C: acquire ASKING b; f granted
		3ms 2 done                    → b granted
		4ms unlock b                  → b not held; 3@A: release b
		5ms 3 says ASK 3300 C:1       → 4@C: release ASKING b
		6ms 4 done                    → b unlocked
	`)
}

// If some keys of a call have moved and others have not, the engine requests them one by one, first at the source node.
func TestTryAgain_SlotMigrates_KeysOneByOne(t *testing.T) {
	runClusterConversation(t, 4, `
		1ms lock b {b}2             → 1@A: acquire b {b}2
		2ms 1 says ASK 3300 C:1     → 2@C: acquire ASKING b {b}2
		3ms 2 says TRYAGAIN x       → 3@A: acquire {b}2 + b
		4ms 3 says ASK 3300 C:1 | done → 4@C: acquire ASKING {b}2; b granted
		5ms 4 done                  → {b}2 granted
	`)
}

// While a slot migrates, the message of a lock may go where this engine does not listen. So its waiters poll more
// often.
func TestWaiter_SlotMigrates_Polls(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b                → 1@A: acquire b
		2ms 1 says ASK 3300 C:1   → 2@C: acquire ASKING b
		3ms 2 taken               → join@A {b}
		4ms subscribed@A b; ordered@A → 3@A: acquire b
		5ms 3 says ASK 3300 C:1   → 4@C: acquire ASKING b
		6ms 4 taken               → nothing
		110ms timer               → 5@A: acquire b
	`)
}

// Once a slot has moved, it is not migrating any more: its waiters need not poll.
func TestMigration_SlotMoved_Over(t *testing.T) {
	const slot = 3300
	d := runClusterConversation(t, 1, `
		1ms lock b                → 1@A: acquire b
		2ms 1 says ASK 3300 C:1   → 2@C: acquire ASKING b
		3ms 2 done                → b granted
	`)
	require.True(t, d.c.Cluster.isMigrating(d.now, slot))
	d.line("4ms lock {b}2")
	d.line("5ms 3 says MOVED 3300 C:1")
	require.False(t, d.c.Cluster.isMigrating(d.now, slot))
	require.Equal(t, "C:1", d.c.Cluster.slots[slot].Address)
}

// Once a node has reported for any key that a slot migrates, all waiters of the slot poll more often. This includes a
// waiter that slept before and that has a key which has not moved.
func TestWaiters_SlotMigrates_AllPoll(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b                → 1@A: acquire b
		2ms 1 taken               → join@A {b}
		3ms subscribed@A b; ordered@A → 2@A: acquire b
		4ms 2 taken               → nothing
		1s  lock {b}2             → 3@A: acquire {b}2
		1.001s 3 says ASK 3300 C:1 → 4@A: acquire b; 5@C: acquire ASKING {b}2
		1.002s 4 taken; 5 done    → {b}2 granted
		1.11s timer               → 6@A: acquire b
		1.111s 6 taken            → nothing
		1.22s timer               → 7@A: acquire b
		1.221s 7 says TRYAGAIN x  → nothing
		1.24s timer               → 8@A: acquire b
		1.241s 8 taken            → nothing
	`)
}

// A release by Redisson is published only at the target node of a migration. If this engine sends no other command for
// the slot, it does not learn of the migration. So waiters in a cluster poll every few seconds, and then follow the
// slot.
func TestWaiter_InCluster_AsksAgain(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b                → 1@A: acquire b
		2ms 1 taken               → join@A {b}
		3ms subscribed@A b; ordered@A → 2@A: acquire b
		4ms 2 taken               → nothing
		4.02s timer               → 3@A: acquire b
		4.021s 3 taken            → nothing
		8.1s timer                → 4@A: acquire b
		8.101s 4 says ASK 3300 C:1 → 5@C: acquire ASKING b
		8.102s 5 done             → b granted
	`)
}

// A silent node occupies only its own senders, and only its locks wait.
func TestNode_Silent_OthersGoOn(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock a b c               → 1@A: acquire b; 2@B: acquire c; 3@C: acquire a
		2ms 2 done; 3 done           → c a granted
		10.005s timer                → 4@B: renew c; 5@C: renew a
		10.006s 4 done; 5 done       → nothing
		10.007s unlock a; lock g d f → a not held; 6@B: acquire g; 7@C: release a
		10.008s 7 done               → 8@C: acquire d; a unlocked
		10.009s 1 lost EOF           → survey B C A
		10.010s 8 done; 6 done       → d g granted
		10.019s timer                → 9@A: acquire f
	`)
}

// Commands that wait for a node that is down move to its successor as soon as that is known.
func TestFailover_QueuedCommands_Move(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms   lock b           → 1@A: acquire b
		2ms   lock f           → nothing
		3ms   1 lost EOF       → survey B C A
		4ms   charted 0-5460@R 5461-10922@B 10923-16383@C → opens R; shuts A; 2@R: acquire f + b
		5ms   2 done           → f b granted
	`)
}

// Replication is asynchronous: the successor may not know the latest grants. Locks of the failed master are confirmed
// at once, not with their next renewal; those of other nodes are not.
func TestFailover_Holds_Confirmed(t *testing.T) {
	d := runClusterConversation(t, 2, `
		1ms lock a b f            → 1@A: acquire b + f; 2@C: acquire a
		2ms 1 done; 2 done        → b f a granted
		3ms unlock f              → f not held; 3@A: release f
		4ms 3 lost EOF            → survey B C A
		5ms charted 0-5460@R 5461-10922@B 10923-16383@C → opens R; shuts A; 4@R: renew b; 5@R: release f
	`)
	require.Equal(t, 30*time.Second, d.inFlight[4].Commands[0].Lease, "nor does it have to know of the last renewal")
	require.Equal(t, "b lost; f unlocked", d.line("6ms 4 gone; 5 done"))
}

// All locks of a kind with one lock per request are confirmed as well.
func TestFailover_AllKinds_Confirmed(t *testing.T) {
	for kind, verb := range map[string]string{"read:b": "reread", "fair:b": "renew"} {
		d := newClusterHarness(t, 2)
		if kind == "read:b" {
			d.line("1ms read b; lock f")
		} else {
			d.line("1ms lock " + kind + " f")
		}
		for number := range d.inFlight {
			d.line(fmt.Sprintf("2ms %d done", number))
		}
		d.line("3ms unlock f")
		for number := range d.inFlight {
			d.line(fmt.Sprintf("4ms %d lost EOF", number))
		}
		require.Contains(t, d.line("5ms charted 0-5460@R 5461-10922@B 10923-16383@C"), ": "+verb+" ", kind)
	}
}

// An engine that has only locks with one lock per request also refreshes the topology of the cluster.
func TestTopology_OnlyReads_ClusterRefreshed(t *testing.T) {
	d := newClusterHarness(t, 1)
	d.line("1ms read b")
	d.line("2ms 1 taken")
	require.Contains(t, d.line("40ms pubsubdown@A"), "survey")
}

// Without a reply a topology refresh is retried with a backoff, but only while requests wait.
func TestTopology_NoReply_RetriedWithWaiters(t *testing.T) {
	d := newClusterHarness(t, 1)
	d.line("1ms lock b")
	require.Equal(t, "survey B C A", d.line("2ms 1 lost EOF"))
	require.NotContains(t, d.line("3ms uncharted"), "survey")
	require.Contains(t, d.line("53ms timer"), "survey")
	require.NotContains(t, d.line("54ms uncharted; cancel b"), "survey")
	for number := range d.inFlight {
		d.line(fmt.Sprintf("55ms %d lost EOF", number))
	}
}

// A master that was cut off and replaced confirms what its successor never learns.
func TestReply_ReplacedMaster_Ignored(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms     lock b                 → 1@A: acquire b
		2ms     1 done                 → b granted
		10.005s timer                  → 2@A: renew b
		10.006s pubsubdown@B           → survey A B C
		10.007s charted 0-10922@B 10923-16383@C → 3@B: renew b
		10.008s 2 done                 → shuts A
		10.009s 3 gone                 → b lost
	`)
}

// The call for a slot that has moved away still shows whether its node replies, for the slots that the node has kept.
func TestReply_SlotMovedAway_ShowsWhetherNodeReplies(t *testing.T) {
	for _, replies := range []bool{false, true} {
		d := newClusterHarness(t, 1)
		old := d.c.Nodes[0]
		d.line("1ms lock b")
		d.line("2ms pubsubdown@B")
		d.line("3ms charted 0-3000@A 3001-10922@B 10923-16383@C")
		old.Breaker.Down = replies
		if replies {
			d.line("4ms 1 done")
		} else {
			d.line("4ms 1 lost EOF")
		}
		require.Equal(t, !replies, old.Breaker.Down)
	}
}

// A re-entry in the turn in which another master becomes known waits until that master has confirmed the lock.
func TestReentry_NewMaster_WaitsForConfirm(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b                 → 1@A: acquire b
		2ms 1 done                 → b granted
		3ms charted 0-10922@B 10923-16383@C; ifup b → shuts A; 2@B: renew b
		4ms 2 done                 → 3@B: renew b; b granted
	`)
}

// Several calls return together, and one of them names a new owner of its slot. Then the grants of the others for that
// slot do not count.
func TestBundle_OneMoved_GrantsIgnored(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b f {b}2          → 1@A: acquire b {b}2 + f
		2ms 1 says NOPERM x | done → 2@A: acquire {b}2 + b; f granted
		3ms 2 done | says MOVED 3300 C:1 → survey A B C; 3@C: acquire b
		4ms 3 done                 → 4@C: acquire {b}2; b granted
		5ms 4 done                 → {b}2 granted
	`)
}

// Batches wait to be sent once more, and callers of those that stay have given up when the slot of the others moves:
// what they left is swept at once, not when a sender comes to it.
func TestFailover_RetriesMoveAway_StaleOnesSwept(t *testing.T) {
	d := newClusterHarness(t, 1)
	var others []string
	taken := map[uint16]bool{slot.Of("b"): true, slot.Of("f"): true}
	for i := 0; len(others) < 3; i++ {
		if key := fmt.Sprint("o", i); slot.Of(key) <= 5460 && !taken[slot.Of(key)] {
			taken[slot.Of(key)] = true
			others = append(others, key)
		}
	}
	few := strings.Join(others, " ")
	for _, line := range []string{
		"1ms lock f", "2ms 1 done", "3ms lock {b}1 {b}2 {b}3 {b}4 {b}5 {b}6 " + few, "4ms unlock f", "5ms 2 says NOSCRIPT x",
		"6ms cancel " + few, // three of nine
	} {
		d.line(line)
	}
	n := d.c.nodeByAddr("A:1")
	q := &n.Queues[actor.SendAcquire]
	require.Len(t, n.Retries, 4)
	require.Equal(t, []int{9, 3}, []int{q.InRetries, q.Stale})
	b := slot.Of("b")
	d.line(fmt.Sprintf("7ms charted 0-%d@A %d-5460@A %d-%d@C 5461-10922@B 10923-16383@C", b-1, b+1, b, b))
	require.Empty(t, n.Retries)
	require.Equal(t, []int{0, 0}, []int{q.InRetries, q.Stale})
	require.Zero(t, d.c.activeSweeps)
	require.Equal(t, "f unlocked", d.line("8ms 3 done"))
}

// When a slot moves, its channels are subscribed at the new owner, and all waiters try again.
func TestSubscription_SlotMoves_Follows(t *testing.T) {
	runClusterConversation(t, 4, `
		1ms  lock b f               → 1@A: acquire b + f
		2ms  1 taken                → join@A {b} {f}
		3ms  subscribed@A b f; ordered@A → 2@A: acquire b + f
		4ms  2 taken                → nothing
		// the server unsubscribed it, unasked
		5ms  silenced@A b           → join@A {b}
		6ms  disordered@A MOVED 3300 C:1 → survey A B C; 3@C: acquire b; join@C {b}
		7ms  subscribed@C b; ordered@C → nothing
		8ms  3 taken                → 4@C: acquire b
		9ms  heard@C b              → nothing
		10ms 4 done                 → b granted
		// the other one stayed
		11ms heard@A f              → 5@A: acquire f
		12ms 5 done                 → f granted
	`)
}

// This engine is itself one of the listeners, but not while its subscription is down. Counted then, it would be taken
// for another engine, which would be waited for in vain.
func TestListeners_SelfUnsubscribed_Exact(t *testing.T) {
	for _, silent := range []string{"silenced@A b", "pubsubdown@A"} {
		d := newClusterHarness(t, 4)
		d.line("1ms lock b b/2 b/3")
		d.line("2ms 1 taken")
		d.line("3ms subscribed@A b; ordered@A")
		require.Equal(t, "b granted", d.line("4ms 2 done"))
		require.Equal(t, "b not held; 3@A: renew b; b/2 granted; b unlocked", d.line("5ms unlock b"))
		asks := d.inFlight[3].Commands[0]
		require.True(t, asks.CountListeners && asks.ExcludeSelf)
		d.line("6ms 3 done")
		d.line("7ms " + silent)
		due, ok := d.c.Next()
		require.True(t, ok)
		require.Equal(t, "4@A: renew b", d.line(fmt.Sprint(due, " timer")))
		asks = d.inFlight[4].Commands[0]
		require.True(t, asks.CountListeners)
		require.False(t, asks.ExcludeSelf, silent)
	}
}

// When a slot comes back, its channel is still subscribed. (Here B reports the move of a slot that it was not asked
// about; the engine accepts that.)
func TestSubscription_SlotReturns_Kept(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms  lock b f             → 1@A: acquire b + f
		2ms  1 taken              → join@A {b} {f}
		3ms  ordered@A; subscribed@A b f → 2@A: acquire b + f
		4ms  2 taken; lock g      → 3@B: acquire g
		5ms  3 says MOVED 3300 C:1 → survey A B C; 4@B: acquire g; 5@C: acquire b; leave@A {b}; join@C {b}
		6ms  4 says MOVED 3300 A:1 → 6@A: acquire b; 7@B: acquire g
	`)
}

// A waiter that leaves in the very turn in which its slot moves leaves nothing behind.
func TestWaiter_LeavesInMove_LeavesNothing(t *testing.T) {
	d := newClusterHarness(t, 1)
	d.line("1ms lock b")
	d.line("2ms 1 taken")
	d.line("3ms subscribed@A b; ordered@A")
	d.line("4ms 2 taken; cancel b")
	require.Equal(t, "opens N; shuts B; shuts C; leave@A {b}", d.line("254ms charted 0-16383@N; timer"))
	d.line("255ms ordered@A")
	d.line("256ms charted 0-16383@N")
	require.Len(t, d.c.Nodes, 1)
	d.requireIdle()
}

// While the cluster's client does not know a node, it routes calls itself. Their replies prove nothing about the node,
// so the engine refreshes the topology.
func TestNode_RoutedReply_ProvesNothing(t *testing.T) {
	d := newClusterHarness(t, 2)
	d.line("1ms lock b f")
	require.Equal(t, "survey B C A", d.line("2ms 1 lost EOF"))
	require.Equal(t, "nothing", d.line("3ms charted 0-5460@A 5461-10922@B 10923-16383@C"))
	require.Equal(t, "2@A: acquire b", d.line("12ms timer"))
	d.inFlight[2].ViaClusterClient = true
	require.Equal(t, "3@A: acquire f; b granted", d.line("13ms 2 done"))
	d.inFlight[3].ViaClusterClient = true
	require.Equal(t, "f granted", d.line("14ms 3 done"))
	require.True(t, d.c.anyDown())
	require.Equal(t, "survey B C A", d.line("53ms timer"))
	require.Equal(t, "opens R; shuts A; 4@R: renew b f", strings.ReplaceAll(d.line("54ms charted 0-5460@R 5461-10922@B 10923-16383@C"), " + ", " "))
}

// A node that is cut off from the others replies, and its topology may be old. While it helps nothing, another node is
// asked before it.
func TestTopology_SourceStale_AnotherAskedFirst(t *testing.T) {
	d := newClusterHarness(t, 1)
	d.line("1ms lock b")
	require.Equal(t, "survey B C A", d.line("2ms 1 lost EOF"))
	require.Equal(t, "nothing", d.line("3ms charted@B 0-5460@A 5461-10922@B 10923-16383@C"))
	require.Equal(t, "2@A: acquire b", d.line("12ms timer"))
	require.Equal(t, "nothing", d.line("13ms 2 lost EOF"))
	require.Equal(t, "survey C B A; 3@A: acquire b", d.line("53ms timer"))
	require.Equal(t, "opens R; 4@R: acquire b", d.line("54ms charted@C 0-5460@R 5461-10922@B 10923-16383@C"))
}

// A channel that the user may not subscribe to says nothing about the topology, unlike another failure.
func TestTopology_ChannelForbidden_NotAsked(t *testing.T) {
	for failure, want := range map[string]string{"NOPERM x": "nothing", "EOF": "survey A B C"} {
		d := newClusterHarness(t, 1)
		d.line("1ms lock a")
		require.Equal(t, "join@C {a}", d.line("2ms 1 taken"))
		require.Equal(t, want, d.line("3ms disordered@C "+failure))
	}
}

// A node without slots is removed, but not before its calls have replies.
func TestNode_NoSlots_RemovedAfterReplies(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock b                 → 1@A: acquire b
		2ms pubsubdown@C           → survey A B C
		3ms charted 0-16383@C      → shuts B; 2@C: acquire b
		4ms lock f                 → nothing
		5ms 1 lost EOF; 2 done     → shuts A; 3@C: acquire f; b granted
	`)
}

// A shutdown waits for the releases of nodes that reply, and not for a node that is down.
func TestShutdown_NodeDown_WaitsForOthers(t *testing.T) {
	runClusterConversation(t, 1, `
		1ms lock a b      → 1@A: acquire b; 2@C: acquire a
		2ms 1 lost EOF    → survey B C A
		3ms shutdown      → a b engine closed
		4ms 2 done        → 3@C: release a
		5ms 3 done        → shutdown complete
	`)
}

// Behind Sentinel nothing distinguishes the servers, so all holds are confirmed after a change of the master.
func TestSentinel_NewMaster_HoldsConfirmed(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a b")
	require.Equal(t, "a b granted", d.line("2ms 1 done"))
	d.now = 3 * time.Millisecond
	d.queueMessage(&LoopMessage{Value: MasterChanged{"next:1"}})
	require.Equal(t, "2: renew a b", d.turn())
	require.Equal(t, "next:1", d.inFlight[2].Node.Address)
	require.Equal(t, 30*time.Second, d.inFlight[2].Commands[0].Lease)
	require.Equal(t, "b lost", d.line("4ms 2 done gone"))
}

// The workers and connections of a replaced master end after its last call has returned.
func TestSentinel_OldMaster_EndsAfterCalls(t *testing.T) {
	d := newHarness(t, 8)
	was := d.c.Fallback
	d.line("1ms lock a")
	require.Equal(t, "a granted", d.line("2ms 1 done"))
	d.line("3ms lock b")
	d.now = 4 * time.Millisecond
	d.queueMessage(&LoopMessage{Value: MasterChanged{"next:1"}})
	require.Equal(t, "3: renew a; 4: acquire b", d.turn())
	require.Empty(t, d.removed, "a call is with it")
	require.Equal(t, "a lost", d.line("5ms 3 gone"))
	require.Empty(t, d.removed, "a call is with it")
	require.Equal(t, "nothing", d.line("6ms 2 done"))
	require.Equal(t, []*Node{was}, d.removed)
	require.Equal(t, []*Node{d.c.Fallback}, d.c.Nodes)
}

// A subscriber cannot reach a node that the cluster's client does not know. Commands can, and they make the client
// learn of the node.
func TestSubscriber_NodeUnknown_CommandSent(t *testing.T) {
	d := newClusterHarness(t, 1)
	d.line("1ms lock b f")
	require.Equal(t, "join@A {b} {f}", d.line("2ms 1 taken"))
	d.now = 3 * time.Millisecond
	d.queueMessage(&LoopMessage{Value: OrderDone{Node: d.c.nodeForKey("b"), Err: ErrUnknownNode}})
	require.Equal(t, "survey A B C; 2@A: acquire b", d.turn())
	require.Equal(t, "nothing", d.line("4ms 2 taken"))
	require.Equal(t, "join@A {b} {f}", d.line("13ms timer"))
}

// While the target node of a migration is down, the source node redirects every call to it. Callers retry after growing
// pauses, one call at a time probes the node, and the error names the cause.
func TestAsk_TargetDown_RetriedAfterPause(t *testing.T) {
	d := runClusterConversation(t, 2, `
		1ms lock b {b}2            → 1@A: acquire b {b}2
		2ms 1 says ASK 3300 C:1    → 2@C: acquire ASKING b {b}2
		3ms 2 lost EOF             → survey A B C; 3@A: acquire b {b}2
		4ms 3 says ASK 3300 C:1    → 4@A: release b {b}2
		5ms 4 says ASK 3300 C:1    → nothing
	`)
	answered, tries := d.batches, 0
	d.line("20ms lock {b}3 {b}4") // time for a probe, and the call has several commands
	until := func(end func() bool) {
		for !end() {
			if answered == d.batches {
				due, ok := d.c.Next()
				require.True(t, ok)
				d.line(fmt.Sprint(max(due, d.now), " timer"))
				continue
			}
			answered++
			if b := d.inFlight[answered]; !b.Asking {
				d.line(fmt.Sprintf("%v %d says ASK 3300 C:1", d.now, answered))
			} else {
				require.Len(t, b.Commands, 1, "one is enough to try")
				tries++
				d.line(fmt.Sprintf("%v %d lost EOF", d.now, answered))
			}
			require.Less(t, answered, 1000)
		}
	}
	until(func() bool { return d.now >= 2*time.Second })
	require.LessOrEqual(t, answered, 150, "calls in 2 s")
	require.GreaterOrEqual(t, tries, 5)
	require.Contains(t, d.line(fmt.Sprint(d.now, " cancel b")), "ASK 3300 C:1, which does not reply")
	asking := func() bool {
		return answered < d.batches && d.inFlight[answered+1].Asking && d.inFlight[answered+1].Verb == actor.SendAcquire
	}
	until(asking)
	require.Contains(t, d.line(fmt.Sprintf("%v %d done", d.now, answered+1)), " granted")
}

// Two nodes may each name the other as the owner, as after an interrupted resharding. The engine does not send calls to
// and fro without a pause.
func TestMoved_NodesDisagree_Pauses(t *testing.T) {
	for _, nodes := range []string{"AC", "ABC"} {
		d := newClusterHarness(t, 2)
		d.line("1ms lock b {b}2 {b}3")
		answered := 0
		for d.now < 2*time.Second {
			for answered < d.batches && answered < 1000 {
				answered++
				at := strings.Index(nodes, d.inFlight[answered].Node.Address[:1])
				d.line(fmt.Sprintf("%v %d says MOVED 3300 %c:1", d.now, answered, nodes[(at+1)%len(nodes)]))
			}
			require.Less(t, answered, 1000)
			due, ok := d.c.Next()
			require.True(t, ok)
			d.now = max(due, d.now+time.Millisecond)
			d.line(fmt.Sprint(d.now, " timer"))
		}
		require.LessOrEqual(t, answered, 400, "calls in 2 s")
	}
}

// The batches of a cluster are many, and small: none keeps room for a full one.
func TestCluster_ManySlots_BatchesSmall(t *testing.T) {
	d := newClusterHarness(t, 8)
	for round := range 20 {
		for i := range 2000 {
			d.ask("state", fmt.Sprintf("k%d-%d", round, i))
		}
		for d.coordinatorHarness.turn(); len(d.inFlight) > 0; d.coordinatorHarness.turn() {
			d.done()
		}
	}
	require.Greater(t, len(d.c.freeBatches), 500)
	for _, b := range d.c.freeBatches {
		require.LessOrEqual(t, cap(b.Commands), 16)
	}
}
