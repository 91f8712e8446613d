package lockwheel

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// closing ends the connections of an engine that is closed. Without it rueidis sends a last command on each
// connection, and waits up to a second for the reply.
type closing struct {
	ctx     context.Context // ends when every connection must end immediately
	cut     context.CancelFunc
	present atomic.Pointer[generation]
}

// generation is a set of connections that end together: those for which a dialer is called while it is the present
// one. The loop ends it.
type generation struct {
	ctx context.Context // ends when its connections must end; a child of closing.ctx
	cut context.CancelFunc
}

func newClosing() *closing {
	c := &closing{}
	c.ctx, c.cut = context.WithCancel(context.Background())
	c.present.Store(c.newGeneration())
	return c
}

func (c *closing) newGeneration() *generation {
	next := &generation{}
	next.ctx, next.cut = context.WithCancel(c.ctx)
	return next
}

// redial ends every connection that exists or is being made. Later ones are not affected. It does not block.
func (c *closing) redial() {
	c.present.Swap(c.newGeneration()).cut()
}

// within calls f and then ends every connection. If f takes longer than d, it ends them while f is running.
func (c *closing) within(d time.Duration, f func()) {
	over := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		c.cut()
		close(over)
	})
	f()
	if !timer.Stop() {
		<-over
	}
	c.cut()
}

// mortal returns a connection that ends with its generation.
func (c *generation) mortal(conn net.Conn) net.Conn {
	m := &mortalConn{Conn: conn, forget: context.AfterFunc(c.ctx, func() { conn.Close() })}
	m.greeting.Store(&greeting{})
	return m
}

// mortalConn is a connection that unregisters from its generation when it is closed.
type mortalConn struct {
	net.Conn
	forget   func() bool
	greeting atomic.Pointer[greeting] // nil once it is over
}

func (c *mortalConn) Write(p []byte) (n int, err error) {
	if g := c.greeting.Load(); g != nil && g.sends(p) {
		c.greeting.Store(nil)
	}
	return c.Conn.Write(p)
}

// Read returns an error if the server's reply rejects the connection.
func (c *mortalConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if g := c.greeting.Load(); g != nil && n > 0 {
		if refused := g.hears(p[:n]); refused != nil {
			return 0, refused
		}
	}
	return n, err
}

func (c *mortalConn) Close() error {
	c.forget()
	return c.Conn.Close()
}
