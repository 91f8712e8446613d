//go:build linux

package testport

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A listener that was closed refuses connections, and its port can be listened on again, although a child process that
// is being started has a copy of it.
func TestClose_ChildHasCopy_PortFree(t *testing.T) {
	l, err := Listen()
	require.NoError(t, err)
	duplicate, err := l.(*net.TCPListener).File()
	require.NoError(t, err)
	defer duplicate.Close()
	require.NoError(t, Close(l))
	_, err = net.Dial("tcp4", l.Addr().String())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	again, err := ListenOn(l.Addr().(*net.TCPAddr).Port)
	require.NoError(t, err)
	require.NoError(t, again.Close())
}
