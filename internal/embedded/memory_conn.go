package embedded

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memoryConn is the client's end of a pipe to a MemoryServer. What the client writes is queued. In a net.Pipe a write
// waits for its reader. A client that writes many commands before it reads a reply would wait for a server that waits
// for it.
type memoryConn struct {
	net.Conn // the client's end of the net.Pipe
	onClose  func(*memoryConn)
	more     chan struct{} // has room for one: something was queued

	mu       sync.Mutex // guards what follows
	queue    []byte
	closed   bool
	deadline time.Time // of writes
}

func newMemoryConn(pipe net.Conn, onClose func(*memoryConn)) *memoryConn {
	c := &memoryConn{Conn: pipe, onClose: onClose, more: make(chan struct{}, 1)}
	go c.send()
	return c
}

// Write queues b. It does not block. After the deadline it fails, because rueidis relies on that when it closes a
// connection.
func (c *memoryConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, io.ErrClosedPipe
	}
	if !c.deadline.IsZero() && !time.Now().Before(c.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	c.queue = append(c.queue, b...)
	c.wake()
	return len(b), nil
}

// wake wakes send. The caller holds mu.
func (c *memoryConn) wake() {
	select {
	case c.more <- struct{}{}:
	default:
	}
}

// send writes what is queued to the server until the connection is closed by either side.
func (c *memoryConn) send() {
	for range c.more {
		c.mu.Lock()
		next, closed := c.queue, c.closed
		c.queue = nil
		c.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.Conn.Write(next); err != nil {
			c.end()
			return
		}
	}
}

// SetDeadline sets the deadlines of reads and of writes.
func (c *memoryConn) SetDeadline(t time.Time) error {
	c.SetWriteDeadline(t)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline does not reach the pipe: what is queued is written later.
func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	return nil
}

// Close closes the connection. What is queued is dropped.
func (c *memoryConn) Close() error {
	c.onClose(c)
	return c.end()
}

// end closes both ends and ends send.
func (c *memoryConn) end() error {
	c.mu.Lock()
	c.closed = true
	c.wake()
	c.mu.Unlock()
	return c.Conn.Close()
}
