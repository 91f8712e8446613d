package loopback

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortsAreFreeAndNotOfOutgoingConnections(t *testing.T) {
	for range 50 {
		port, err := Port()
		require.NoError(t, err)
		require.GreaterOrEqual(t, port, lowest)
		require.Less(t, port, above)
	}
}

func TestTwoListenersNeverShareAPort(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		l, err := Listen()
		require.NoError(t, err)
		defer l.Close()
		require.False(t, seen[l.Addr().String()])
		seen[l.Addr().String()] = true
	}
}

func TestListenOnComesBackToTheSamePort(t *testing.T) {
	l, err := Listen()
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	_, err = ListenOn(port)
	require.Error(t, err, "taken")
	require.NoError(t, l.Close())
	l, err = ListenOn(port)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

func TestTwoProcessesNeverShareAPort(t *testing.T) {
	seen := map[int]bool{}
	for range 2 {
		e := estate{lowest: lowest, blocks: blocks, start: blocks - 1}
		defer e.giveUp()
		for range 2*block + block/2 {
			port, err := e.next()
			require.NoError(t, err)
			require.False(t, seen[port], port)
			require.GreaterOrEqual(t, port, lowest)
			require.Less(t, port, above)
			seen[port] = true
		}
	}
}

func TestAProcessThatHadAllItsPortsBeginsAgain(t *testing.T) {
	var e estate
	for at := lowest; len(e.mine) == 0; at += block { // one free block, and no other
		e = estate{lowest: at, blocks: 1}
		e.claimAnother()
	}
	defer e.giveUp()
	first, err := e.next()
	require.NoError(t, err)
	for range block - 2 {
		port, err := e.next()
		require.NoError(t, err)
		require.NotEqual(t, first, port)
	}
	again, err := e.next()
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// giveUp releases the blocks, as the end of a process does.
func (e *estate) giveUp() {
	for _, c := range e.mine {
		c.proof.Close()
	}
}
