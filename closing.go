package lockwheel

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// closing ends the connections of an engine that is closed. rueidis ends one with a last question, and waits for a second
// whether it is answered.
type closing struct {
	ctx     context.Context // ends when every connection is to end at once
	cut     context.CancelFunc
	present atomic.Pointer[generation]
}

// generation is the connections that are ended together: those for which a dialer is called while it is the present one. The loop ends it.
type generation struct {
	ctx context.Context // ends when they are to end, a child of that of all
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

// redial has every connection end that there is or is being made; those that are made from now on stay. It does not block.
func (c *closing) redial() {
	c.present.Swap(c.newGeneration()).cut()
}

// within has every connection end at once if f takes longer than that.
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

// mortal makes a connection one that ends with the others.
func (c *generation) mortal(conn net.Conn) net.Conn {
	m := &mortalConn{Conn: conn, forget: context.AfterFunc(c.ctx, func() { conn.Close() })}
	m.greeting.Store(&greeting{})
	return m
}

// mortalConn is a connection of which nothing is kept once it is closed.
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

// Read returns as its error what a server says that refuses the connection.
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
