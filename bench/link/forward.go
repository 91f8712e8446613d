package link

import (
	"net"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxChunk  = 64 << 10 // bytes of one read
	maxChunks = 1024     // in flight in one direction of a connection; then its sender is not read from
	dialWait  = 5 * time.Second
)

// chunk has bytes that arrived together.
type chunk struct {
	bytes []byte
	due   time.Time
}

// forward accepts connections until the listener is closed, and forwards each to target. A connection that cannot be
// made is closed.
func forward(l net.Listener, target string, delay time.Duration) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			server, err := net.DialTimeout("tcp", target, dialWait)
			if err != nil {
				client.Close()
				return
			}
			var both sync.WaitGroup
			both.Go(func() { direction(server, client, delay) })
			both.Go(func() { direction(client, server, delay) })
			both.Wait()
			client.Close()
			server.Close()
		}()
	}
}

// direction forwards what from sends, each byte after the delay and in order, until from has sent its end or to takes
// nothing any more.
func direction(to, from net.Conn, delay time.Duration) {
	chunks, gone := make(chan chunk, maxChunks), make(chan struct{})
	go func() {
		defer close(gone)
		deliver(to, chunks)
	}()
	defer func() { <-gone }()
	defer close(chunks)
	buffer := make([]byte, maxChunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			select {
			case chunks <- chunk{append([]byte(nil), buffer[:n]...), time.Now().Add(delay)}:
			case <-gone:
				from.Close() // the other direction ends too
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// deliver writes chunks when they are due. A goroutine's own timers are up to a millisecond late in an idle process. So
// a thread sleeps here, with the least slack that the kernel has.
func deliver(to net.Conn, chunks <-chan chunk) {
	runtime.LockOSThread() // the thread ends with the goroutine, and its slack with it
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	for c := range chunks {
		sleepUntil(c.due)
		if _, err := to.Write(c.bytes); err != nil {
			return
		}
	}
	_ = to.(*net.TCPConn).CloseWrite()
}

func sleepUntil(due time.Time) {
	for wait := time.Until(due); wait > 0; wait = time.Until(due) {
		span := unix.NsecToTimespec(int64(wait))
		_ = unix.Nanosleep(&span, nil) // interrupted, it sleeps again
	}
}
