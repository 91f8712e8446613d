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
