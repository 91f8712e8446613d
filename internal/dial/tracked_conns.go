package dial

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/internal/handshake"
)

// Connections ends the connections of an engine that is closed. Without it rueidis sends a last command on each
// connection, and waits up to a second for the reply.
type Connections struct {
	ctx      context.Context // ends when every connection must end immediately
	CloseAll context.CancelFunc
	current  atomic.Pointer[generation]
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

// track returns a connection that ends with its generation.
func (c *generation) track(conn net.Conn) net.Conn {
	m := &trackedConn{Conn: conn, untrack: context.AfterFunc(c.ctx, func() { conn.Close() })}
	m.handshake.Store(&handshake.Watcher{})
	return m
}

// trackedConn is a connection that unregisters from its generation when it is closed.
type trackedConn struct {
	net.Conn
	untrack   func() bool
	handshake atomic.Pointer[handshake.Watcher] // nil once it is over
}

func (c *trackedConn) Write(p []byte) (n int, err error) {
	if g := c.handshake.Load(); g != nil && g.OnWrite(p) {
		c.handshake.Store(nil)
	}
	return c.Conn.Write(p)
}

// Read returns an error if the server's reply rejects the connection.
func (c *trackedConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if g := c.handshake.Load(); g != nil && n > 0 {
		if refused := g.OnRead(p[:n]); refused != nil {
			return 0, refused
		}
	}
	return n, err
}

func (c *trackedConn) Close() error {
	c.untrack()
	return c.Conn.Close()
}
