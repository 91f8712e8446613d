package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/engine/rediserr"
	"github.com/lockwheel/lockwheel/internal/busywait"
	"github.com/lockwheel/lockwheel/internal/handshake"
)

// Connections ends the connections of an engine that is closed. Without it rueidis sends a last command on each
// connection, and waits up to a second for the reply.
type Connections struct {
	ctx      context.Context // ends when every connection must end immediately
	CloseAll context.CancelFunc
	current  atomic.Pointer[generation]

	rejectedAt atomic.Pointer[string] // address of the server that last rejected a new connection; nil: none did
}

// RejectedAt returns the address of the server that last rejected a new connection, or "".
func (c *Connections) RejectedAt() string {
	if address := c.rejectedAt.Load(); address != nil {
		return *address
	}
	return ""
}

// generation is a set of connections that end together: those for which a dialer is called while it is the present
// one. The loop ends it.
type generation struct {
	ctx      context.Context // ends when its connections must end; a child of Connections.ctx
	closeAll context.CancelFunc
}

func newConnections() *Connections {
	c := &Connections{}
	c.ctx, c.CloseAll = context.WithCancel(context.Background())
	c.current.Store(c.newGeneration())
	return c
}

func (c *Connections) newGeneration() *generation {
	next := &generation{}
	next.ctx, next.closeAll = context.WithCancel(c.ctx)
	return next
}

// CloseCurrent ends every connection that exists or is being made. Later ones are not affected. It does not block.
func (c *Connections) CloseCurrent() {
	c.current.Swap(c.newGeneration()).closeAll()
}

// CloseAfter calls f and then ends every connection. If f takes longer than d, it ends them while f is running.
func (c *Connections) CloseAfter(d time.Duration, f func()) {
	over := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		c.CloseAll()
		close(over)
	})
	f()
	if !timer.Stop() {
		<-over
	}
	c.CloseAll()
}

// track returns a connection that ends with its generation. After its handshake each Write busy-waits for a reply.
// onRejected is called if the server rejects the connection.
func (c *generation) track(conn net.Conn, busy *busywait.Conn, onRejected func()) net.Conn {
	m := &trackedConn{Conn: EndWith(c.ctx, conn), secure: isTLS(conn), busy: busy, onRejected: onRejected}
	m.handshake.Store(&handshake.Watcher{})
	return m
}

// EndWith returns a connection that is closed when ctx ends. Its Close unregisters it.
func EndWith(ctx context.Context, conn net.Conn) net.Conn {
	return &endedConn{conn, context.AfterFunc(ctx, func() { conn.Close() })}
}

// endedConn is what EndWith returns.
type endedConn struct {
	net.Conn
	untrack func() bool
}

func (c *endedConn) Close() error {
	c.untrack()
	return c.Conn.Close()
}

// trackedConn is a connection of a generation that watches its handshake.
type trackedConn struct {
	net.Conn
	onRejected func()
	secure     bool                              // it uses TLS
	busy       *busywait.Conn                    // nil: a Write returns at once
	deadline   atomic.Int64                      // of SetDeadline, in ns since the epoch; 0: none
	handshake  atomic.Pointer[handshake.Watcher] // nil once it is over
}

// Write returns a *rediserr.NotConnected if the server has rejected the client's certificate.
func (c *trackedConn) Write(p []byte) (n int, err error) {
	g := c.handshake.Load()
	if g != nil && g.OnWrite(p) {
		c.handshake.Store(nil)
		g = nil
	}
	reads := c.busy.Reads()
	n, err = c.Conn.Write(p)
	switch {
	case err == nil && g == nil:
		c.postpone(c.busy.Wait(reads))
	case err != nil && g != nil && !g.Answered() && c.isRejected(err):
		return n, &rediserr.NotConnected{Err: c.reason(err)}
	}
	return n, err
}

// longWait is the longest wait in a Write that counts as a part of the time until the deadline.
const longWait = time.Millisecond

// epoch is the origin of deadlines: by the monotonic clock, which no one sets.
var epoch = time.Now()

// postpone postpones the deadline by a wait that took long, as it does where many goroutines compute. A goroutine that
// is parked in a Read until the reply comes has it then, however late it runs; after a Write it would only find that
// the deadline is over.
func (c *trackedConn) postpone(wait time.Duration) {
	deadline := c.deadline.Load()
	if later := deadline + int64(wait); wait > longWait && deadline != 0 && c.deadline.CompareAndSwap(deadline, later) {
		_ = c.Conn.SetDeadline(epoch.Add(time.Duration(later))) // its error is that of the Read that follows
	}
}

// SetDeadline also notes the deadline.
func (c *trackedConn) SetDeadline(t time.Time) error {
	deadline := int64(0)
	if !t.IsZero() {
		deadline = int64(t.Sub(epoch))
	}
	c.deadline.Store(deadline)
	return c.Conn.SetDeadline(t)
}

// Read returns a *rediserr.NotConnected if the server's reply rejects the connection, or it has rejected the client's
// certificate.
func (c *trackedConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if n > 0 {
		c.busy.NoteRead()
	}
	g := c.handshake.Load()
	switch {
	case g == nil:
	case n > 0:
		if rejection := g.OnRead(p[:n]); rejection != nil {
			c.onRejected()
			return 0, rejection
		}
	case err != nil && !g.Answered() && c.isRejected(err):
		return 0, &rediserr.NotConnected{Err: err}
	}
	return n, err
}

// isRejected reports whether an error before the first reply means that the server rejects the client's certificate.
// With TLS 1.3 the client's handshake ends before the server has seen the certificate. Its alert comes later, and may
// be lost if the connection breaks.
func (c *trackedConn) isRejected(err error) bool {
	var op *net.OpError
	switch {
	case errors.Is(err, net.ErrClosed):
		return false
	case errors.As(err, &op):
		return op.Op == "remote error" || c.secure && !op.Timeout()
	}
	return c.secure && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// alertTimeout is how long an alert may take that the server sent before it broke the connection. It is there already,
// or never comes.
const alertTimeout = 100 * time.Millisecond

// reason returns the alert that the server sent before a write failed, or the error of the write.
func (c *trackedConn) reason(err error) error {
	var op *net.OpError
	if !c.secure || c.Conn.SetReadDeadline(time.Now().Add(alertTimeout)) != nil {
		return err
	}
	if _, read := c.Conn.Read(make([]byte, 1)); errors.As(read, &op) && op.Op == "remote error" {
		return read
	}
	return err
}

// isTLS reports whether a connection uses TLS.
func isTLS(conn net.Conn) bool {
	_, ok := withoutWrapper(conn).(interface{ ConnectionState() tls.ConnectionState })
	return ok
}

// withoutWrapper returns the connection that a dialer made.
func withoutWrapper(conn net.Conn) net.Conn {
	if custom, ok := conn.(*customConn); ok {
		return custom.Conn
	}
	return conn
}

// busyConn returns what busy-waits for replies on a connection, or nil: a caller's dialer may return a connection that
// is none of the operating system's, or that does more than one of them.
func busyConn(g *busywait.Gate, conn net.Conn) *busywait.Conn {
	conn = withoutWrapper(conn)
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		return busywait.New(g, conn)
	}
	return nil
}
