package dial

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// scriptedConn is a connection that returns these errors.
type scriptedConn struct {
	net.Conn
	read, written error
	answer        string // comes before read
}

func (c *scriptedConn) Read(p []byte) (n int, err error) {
	if n = copy(p, c.answer); n > 0 {
		c.answer = c.answer[n:]
		return n, nil
	}
	return 0, c.read
}

func (c *scriptedConn) Write(p []byte) (int, error) { return len(p), c.written }

func (c *scriptedConn) SetReadDeadline(time.Time) error { return nil }

// secureConn is one with TLS.
type secureConn struct{ scriptedConn }

func (*secureConn) ConnectionState() tls.ConnectionState { return tls.ConnectionState{} }

var (
	errAlert   = &net.OpError{Op: "remote error", Err: tls.AlertError(116)}
	errReset   = &net.OpError{Op: "read", Err: syscall.ECONNRESET}
	errPipe    = &net.OpError{Op: "write", Err: syscall.EPIPE}
	errTimeout = &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	errClosed  = &net.OpError{Op: "read", Err: net.ErrClosed}
)

// Before the first reply, a broken connection with TLS is one that the server rejects. Silence is not, nor is an end
// that this side caused.
func TestTrackedConn_BrokenBeforeReply_Rejected(t *testing.T) {
	const hello = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
	for name, c := range map[string]struct {
		conn     net.Conn
		rejected error
	}{
		"an alert":                   {&secureConn{scriptedConn{read: errAlert}}, errAlert},
		"a reset":                    {&secureConn{scriptedConn{read: errReset}}, errReset},
		"an end":                     {&secureConn{scriptedConn{read: io.EOF}}, io.EOF},
		"an end without notice":      {&secureConn{scriptedConn{read: io.ErrUnexpectedEOF}}, io.ErrUnexpectedEOF},
		"a write, and then an alert": {&secureConn{scriptedConn{written: errPipe, read: errAlert}}, errAlert},
		"a write, and no alert":      {&secureConn{scriptedConn{written: errPipe, read: errReset}}, errPipe},
		"one of a caller's dialer":   {&customConn{Conn: &secureConn{scriptedConn{read: errReset}}}, errReset},
		"an alert through a wrapper": {&scriptedConn{read: errAlert}, errAlert},
		"silence":                    {&secureConn{scriptedConn{read: errTimeout}}, nil},
		"closed here":                {&secureConn{scriptedConn{read: errClosed}}, nil},
		"after a reply":              {&secureConn{scriptedConn{read: errReset, answer: "+"}}, nil},
		"a reset without TLS":        {&scriptedConn{read: errReset}, nil},
		"an end without TLS":         {&scriptedConn{read: io.EOF}, nil},
		"a write without TLS":        {&scriptedConn{written: errPipe, read: errReset}, nil},
	} {
		conn := newConnections().current.Load().track(c.conn, nil, func() {})
		_, err := conn.Write([]byte(hello))
		for err == nil {
			_, err = conn.Read(make([]byte, 100))
		}
		var none *rediserr.NotConnected
		if c.rejected == nil {
			require.NotErrorAs(t, err, &none, name)
			continue
		}
		require.ErrorAs(t, err, &none, name)
		require.Equal(t, c.rejected, none.Err, name)
	}
}

// After the handshake a connection that breaks is no rejected one.
func TestTrackedConn_BrokenLater_NotRejected(t *testing.T) {
	conn := newConnections().current.Load().track(&secureConn{scriptedConn{read: errReset}}, nil, func() {})
	_, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	require.NoError(t, err)
	_, err = conn.Read(make([]byte, 100))
	require.Equal(t, error(errReset), err)
}
