package coordinator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listensAt confirms that the own channel is subscribed at a node.
func (d clusterHarness) listensAt(address string) {
	n := d.c.nodeByAddr(address + ":1")
	d.queueMessage(&LoopMessage{Value: ChannelSubscribed{n, d.c.own.name, d.connsOf(n).to}})
	d.queueMessage(&LoopMessage{Value: d.connsOf(n).orderResult(n, nil)})
	d.turn()
}

// A node leaves the cluster and goes on running. The engine has no lock there, so no reply says that its slots have
// moved. The engine finds out by itself: its own channel moves, and it no longer has the node.
func TestMembership_NodeLeaves_OwnChannelMoves(t *testing.T) {
	d := newClusterHarness(t, 4)
	d.c.InitOwnChannel("lockwheel:engine:me")
	compare(t, `
		1ms lock c → 1@B: acquire c
		2ms 1 done → join@A lockwheel:engine:me; c granted
	`, d.line)
	d.listensAt("A")
	compare(t, `
		9999ms  next                              → 10s true
		10000ms timer                             → survey A B C
		10001ms charted@B 0-10922@B 10923-16383@C → leave@A lockwheel:engine:me; join@B lockwheel:engine:me
		10002ms ordered@A                         → nothing
	`, d.line)
	d.listensAt("B")
	for _, n := range d.c.Nodes {
		require.NotEqual(t, "A:1", n.Address)
	}
}

// An engine does not ask for the topology while each node serves it, nor without a lock or an own channel.
func TestMembership_NothingToFindOut_NotAsked(t *testing.T) {
	d := newClusterHarness(t, 4)
	compare(t, `
		1ms lock a b c             → 1@A: acquire b; 2@B: acquire c; 3@C: acquire a
		2ms 1 done; 2 done; 3 done → b c a granted
	`, d.line)
	_, due := d.c.membershipDue()
	require.False(t, due, "it has no own channel")
	d.c.InitOwnChannel("lockwheel:engine:me")
	compare(t, `
		9000ms lock {a}2 {b}2 {c}2    → 4@A: acquire {b}2; 5@B: acquire {c}2; 6@C: acquire {a}2; join@A lockwheel:engine:me
		9001ms 4 done; 5 done; 6 done → {b}2 {c}2 {a}2 granted
	`, d.line)
	at, due := d.c.membershipDue()
	require.True(t, due)
	require.Equal(t, 19*time.Second, at)
	compare(t, `
		9002ms unlock a b c {a}2 {b}2 {c}2 → a b c {a}2 {b}2 {c}2 not held; 7@A: release b {b}2; 8@B: release c {c}2; 9@C: release a {a}2
		9003ms 7 done; 8 done; 9 done      → b {b}2 c {c}2 a {a}2 unlocked
	`, d.line)
	_, due = d.c.membershipDue()
	require.False(t, due, "it has no locks")
}
