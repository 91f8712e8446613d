package dial

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/busywait"
	"github.com/lockwheel/lockwheel/internal/testport"
)

// connected returns both ends of a connection to a listener.
func connected(t *testing.T, listener net.Listener, err error) (client, server net.Conn) {
	require.NoError(t, err)
	client, server, err = testport.Connect(listener)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

// twoProcessors runs a test with at least two processors, because with one no goroutine waits.
func twoProcessors(t *testing.T) {
	if !busywait.CanLook {
		t.Skip("no goroutine waits on this system")
	}
	before := runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// wrapped is a connection of a caller's dialer of which nothing is known.
type wrapped struct{ net.Conn }

// A goroutine waits for replies on a connection of the system's, with TLS and of a caller's dialer as well. On others
// it does not: a caller's connection may do more than the one in it.
func TestBusyConn_ConnectionOfSystem_Waits(t *testing.T) {
	twoProcessors(t)
	port, err := testport.Listen()
	tcp, _ := connected(t, port, err)
	path, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	unix, _ := connected(t, path, err)
	pipe, _ := net.Pipe()
	gate := busywait.NewGate(time.Second, time.Second)
	for name, conn := range map[string]net.Conn{
		"TCP": tcp, "Unix": unix, "TLS": tls.Client(tcp, &tls.Config{}), "TCP of a caller's dialer": &customConn{Conn: tcp},
		"TLS of a caller's dialer": &customConn{Conn: tls.Client(tcp, &tls.Config{})},
	} {
		require.NotNil(t, busyConn(gate, conn), name)
		require.Nil(t, busyConn(nil, conn), name)
	}
	for name, conn := range map[string]net.Conn{
		"a pipe": pipe, "a wrapper": wrapped{tcp}, "TLS over a wrapper": tls.Client(wrapped{tcp}, &tls.Config{}),
		"a wrapper of a caller's dialer": &customConn{Conn: wrapped{tcp}},
	} {
		require.Nil(t, busyConn(gate, conn), name)
	}
}

// A Write waits for the reply, except in the handshake: what rueidis writes there is of several parts.
func TestTrackedConn_Write_WaitsForReply(t *testing.T) {
	twoProcessors(t)
	port, err := testport.Listen()
	client, server := connected(t, port, err)
	gate := busywait.NewGate(time.Minute, time.Minute)
	gate.SetInFlight(1)
	conn := newConnections().current.Load().track(client, busyConn(gate, client), func() {})
	const hello, ping = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", "*1\r\n$4\r\nPING\r\n"
	_, err = conn.Write([]byte(hello)) // nothing replies before it returns
	require.NoError(t, err)
	var replied atomic.Bool
	go func() {
		if _, err := io.ReadFull(server, make([]byte, len(hello)+len(ping))); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a Write that does not wait returns meanwhile
		replied.Store(true)
		server.Write([]byte("+PONG\r\n"))
	}()
	_, err = server.Write([]byte("%1\r\n$5\r\nproto\r\n:3\r\n"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 100))
	require.NoError(t, err)
	_, err = conn.Write([]byte(ping))
	require.NoError(t, err)
	require.True(t, replied.Load())
	reads := conn.(*trackedConn).busy.Reads()
	_, err = conn.Read(make([]byte, 100))
	require.NoError(t, err)
	require.NotEqual(t, reads, conn.(*trackedConn).busy.Reads())
}

// A Write that waited for long does not take that time from the Read that follows: the reply may have come meanwhile.
// It postpones no deadline that has changed since, and none where there is none.
func TestTrackedConn_LongWait_PostponesDeadline(t *testing.T) {
	port, err := testport.Listen()
	client, server := connected(t, port, err)
	conn := newConnections().current.Load().track(client, nil, func() {}).(*trackedConn)
	_, err = server.Write([]byte("+PONG\r\n"))
	require.NoError(t, err)
	const wait = time.Hour
	require.NoError(t, conn.SetDeadline(time.Now().Add(-wait/2)))
	conn.postpone(longWait)
	_, err = conn.Read(make([]byte, 100))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	conn.postpone(wait)
	_, err = conn.Read(make([]byte, 100))
	require.NoError(t, err)
	require.InDelta(t, wait/2, time.Until(epoch.Add(time.Duration(conn.deadline.Load()))), float64(wait/4))
	require.NoError(t, conn.SetDeadline(time.Time{}))
	conn.postpone(wait)
	require.Zero(t, conn.deadline.Load())
}
