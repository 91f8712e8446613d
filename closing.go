package lockwheel

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine"
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
	return &mortalConn{Conn: conn, forget: context.AfterFunc(c.ctx, func() { conn.Close() })}
}

// mortalConn is a connection of which nothing is kept once it is closed.
type mortalConn struct {
	net.Conn
	forget  func() bool
	greeted bool // something was read: by one goroutine at a time
}

// Read returns as its error what a server says that has no room for another client. Behind that comes the end of the
// connection, and rueidis would tell of nothing else.
func (c *mortalConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if n > 0 && !c.greeted {
		c.greeted = true
		if said, refused := bytes.CutPrefix(p[:n], []byte("-")); refused && turnsAway(said) {
			line, _, _ := bytes.Cut(said, []byte("\r\n"))
			return 0, &engine.NotConnected{Err: actor.ServerError(line)}
		}
	}
	return n, err
}

// turnsAway reports whether with what it said a server closes a connection that it has just accepted.
func turnsAway(said []byte) bool {
	return bytes.HasPrefix(said, []byte("ERR max number of clients")) || bytes.HasPrefix(said, []byte("DENIED "))
}

func (c *mortalConn) Close() error {
	c.forget()
	return c.Conn.Close()
}
