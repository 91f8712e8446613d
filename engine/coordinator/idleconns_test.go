package coordinator

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// A server closes connections that are idle, and the next call finds out. That is no outage: the call is repeated at
// once.
func TestIdleConnection_Closed_RetriedAtOnce(t *testing.T) {
	runConversation(t, 3, `
		1ms    lock a           → 1: acquire a
		2ms    1 done           → a granted
		3ms    unlock a         → a not held; 2: release a
		4ms    2 done           → a unlocked
		5s     lock a           → 3: acquire a
		5s     lock b           → 4: acquire b
		// both were on that connection
		5.001s 3 cut            → 5: acquire a
		5.001s 4 cut            → 6: acquire b
		5.002s 5 done; 6 done   → a b granted
	`)
}

// If the connection that is made next fails as well, that is an outage.
func TestIdleConnection_NextFailsToo_IsOutage(t *testing.T) {
	runConversation(t, 3, `
		5s     lock a           → 1: acquire a
		5.001s 1 cut            → 2: acquire a
		5.002s 2 cut            → nothing
		5.012s timer            → 3: acquire a
		5.013s 3 done           → a granted
		// until there was a reply, and the connection was idle again
		5.5s   lock b           → 4: acquire b
		5.501s 4 cut            → nothing
		5.511s timer            → 5: acquire b
		5.512s 5 done           → b granted
		7s     lock c           → 6: acquire c
		7.001s 6 cut            → 7: acquire c
		7.002s 7 lost timeout   → nothing
	`)
}

// Silence for longer than a server may take is an outage however long the connection was idle.
func TestIdleConnection_Silent_IsOutage(t *testing.T) {
	runConversation(t, 3, `
		5s     lock a           → 1: acquire a
		8s     1 lost timeout   → nothing
		8.01s  timer            → 2: acquire a
	`)
}

// Calls with WAIT have two connections, and each is found closed by another call. The third call has a new connection.
func TestIdleConnections_TwoClosed_BothExcused(t *testing.T) {
	var idle idleConns
	cut := rediserr.AsClientError(io.EOF)
	at := func(sent time.Duration) bool { return idle.excuses(sent+time.Millisecond, sent, cut, 2) }
	require.True(t, at(5*time.Second))
	require.True(t, at(5*time.Second+time.Millisecond))
	require.False(t, at(5*time.Second+2*time.Millisecond))
	idle.onReply(6 * time.Second)
	require.False(t, at(6900*time.Millisecond))
	require.True(t, at(7*time.Second))
}
