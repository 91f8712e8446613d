package proxy

import (
	"bytes"
	"context"
	"net"
	"sync"
	"time"
)

// link is one connection of a client, the one to the server behind it, and the two streams between them.
type link struct {
	commands, replies stream
	ctx               context.Context // ends with cut
	cut               func()          // resets both connections; may be called any number of times, from any goroutine

	faults     faults // guarded by Proxy.mu, has no nil
	subscriber bool   // guarded by Proxy.mu
}

const dialWait = 5 * time.Second // for the server to take a connection

func newLink(initial faults) *link {
	l := &link{faults: initial}
	l.ctx, l.cut = context.WithCancel(context.Background())
	l.commands.wake = make(chan struct{}, 1)
	l.replies.wake = make(chan struct{}, 1)
	return l
}

// apply gives the streams their faults. For a subscriber the faults for subscribers win over its own. Proxy.mu is
// held.
func (l *link) apply(subscribers faults) {
	f := l.faults
	if l.subscriber {
		f = subscribers.withDefaults(l.faults)
	}
	l.commands.set(f.commands)
	l.replies.set(f.replies)
}

// buffered returns how many bytes wait in the given direction.
func (l *link) buffered(d Direction) (bytes int) {
	if d&Commands != 0 {
		bytes += l.commands.buffered()
	}
	if d&Replies != 0 {
		bytes += l.replies.buffered()
	}
	return bytes
}

// run forwards until both sides have ended or the link is cut, and closes both connections. It calls subscribed
// when the client subscribes.
func (l *link) run(client *net.TCPConn, target string, subscribed func()) {
	defer l.cut()
	dialer := net.Dialer{Timeout: dialWait}
	conn, err := dialer.DialContext(l.ctx, "tcp", target)
	if err != nil {
		reset(client)
		return
	}
	server := conn.(*net.TCPConn)

	var goroutines sync.WaitGroup
	read, written := make(chan struct{}, 2), make(chan struct{}, 2)
	goroutines.Go(func() {
		l.commands.read(client, func(chunk []byte) {
			if subscribes(chunk) {
				subscribed()
			}
		})
		read <- struct{}{}
	})
	goroutines.Go(func() {
		l.replies.read(server, func([]byte) {})
		read <- struct{}{}
	})
	goroutines.Go(func() {
		l.commands.write(server, l)
		written <- struct{}{}
	})
	goroutines.Go(func() {
		l.replies.write(client, l)
		written <- struct{}{}
	})
	if l.awaitEnd(read, written) {
		client.Close()
		server.Close()
	} else {
		reset(client)
		reset(server)
	}
	l.cut() // the writers stop
	goroutines.Wait()
}

// awaitEnd returns true when everything has been forwarded both ways, or both sides have left. It returns false when
// the link is cut. One side that left is not enough. Its bytes may be held for the other side, which may not be meant
// to learn of the end.
func (l *link) awaitEnd(read, written <-chan struct{}) bool {
	for reads, writes := 0, 0; reads < 2 && writes < 2; {
		select {
		case <-l.ctx.Done():
			return false
		case <-read:
			reads++
		case <-written:
			writes++
		}
	}
	return l.ctx.Err() == nil
}

// subscribes reports whether a client's bytes contain a SUBSCRIBE. Clients write such a short command in one piece.
func subscribes(chunk []byte) bool {
	upper := bytes.ToUpper(chunk)
	return bytes.Contains(upper, []byte("$9\r\nSUBSCRIBE\r\n")) || bytes.Contains(upper, []byte("$10\r\nSSUBSCRIBE\r\n"))
}

// reset closes a connection so that its other end reads ECONNRESET, not an end of file.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
