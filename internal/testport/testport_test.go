package testport

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// A port is free, and is not one that the system gives to outgoing connections.
func TestPort_FreeAndInRange(t *testing.T) {
	for range 50 {
		port, err := Port()
		require.NoError(t, err)
		require.GreaterOrEqual(t, port, minPort)
		require.Less(t, port, maxPort)
	}
}

func TestPort_TwoListeners_Differ(t *testing.T) {
	seen := map[string]bool{}
	for range 50 {
		l, err := Listen()
		require.NoError(t, err)
		defer l.Close()
		require.False(t, seen[l.Addr().String()])
		seen[l.Addr().String()] = true
	}
}

// ListenOn listens on a port again after its listener was closed.
func TestListenOn_SamePortAgain(t *testing.T) {
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

func TestPort_TwoProcesses_Differ(t *testing.T) {
	seen := map[int]bool{}
	for range 2 {
		e := portPool{minPort: minPort, blockCount: blockCount, firstTried: blockCount - 1}
		defer e.release()
		for range 2*blockSize + blockSize/2 {
			port, err := e.next()
			require.NoError(t, err)
			require.False(t, seen[port], port)
			require.GreaterOrEqual(t, port, minPort)
			require.Less(t, port, maxPort)
			seen[port] = true
		}
	}
}

// A process that has used all its ports begins again with the first.
func TestPort_AllUsed_BeginsAgain(t *testing.T) {
	var e portPool
	for at := minPort; len(e.claimed) == 0; at += blockSize { // one free block, and no other
		e = portPool{minPort: at, blockCount: 1}
		e.claimBlock()
	}
	defer e.release()
	first, err := e.next()
	require.NoError(t, err)
	for range blockSize - 2 {
		port, err := e.next()
		require.NoError(t, err)
		require.NotEqual(t, first, port)
	}
	again, err := e.next()
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// release releases the blocks, as the end of a process does.
func (e *portPool) release() {
	for _, c := range e.claimed {
		c.listener.Close()
	}
}
