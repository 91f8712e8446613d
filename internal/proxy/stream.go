package proxy

import (
	"net"
	"sync"
	"time"
)

// stream is one direction of a link. A reader puts the bytes that arrive into a queue, and a writer takes from it what
// the fault lets through.
type stream struct {
	wake chan struct{} // capacity 1: something changed, the writer looks again

	mu        sync.Mutex // guards what follows
	fault     Fault
	source    *Fault // the source of the copy in fault; CutAfter counts down in the copy
	queue     []chunk
	ended     bool // the sender has closed its end
	endAt     time.Time
	last      time.Time // when Trickle let the last piece through
	truncated bool      // Drop has swallowed something: nothing may follow
}

type chunk struct {
	bytes []byte
	at    time.Time
}

// set replaces the fault. Setting the same one again does nothing: a count of bytes continues.
func (s *stream) set(f *Fault) {
	s.mu.Lock()
	if s.source != f {
		s.source, s.fault = f, *f
	}
	s.mu.Unlock()
	s.wakeWriter()
}

func (s *stream) buffered() (bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.queue {
		bytes += len(c.bytes)
	}
	return bytes
}

func (s *stream) wakeWriter() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// read queues the bytes that arrive, after passing them to see, until the sender closes its end or the connection
// is closed.
func (s *stream) read(from *net.TCPConn, see func([]byte)) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			bytes := append([]byte(nil), buffer[:n]...)
			see(bytes)
			s.mu.Lock()
			s.queue = append(s.queue, chunk{bytes, time.Now()})
			s.mu.Unlock()
			s.wakeWriter()
		}
		if err != nil {
			s.mu.Lock()
			s.ended, s.endAt = true, time.Now()
			s.mu.Unlock()
			s.wakeWriter()
			return
		}
	}
}

// write forwards what the fault lets through until the end of the stream has passed or the link is cut.
func (s *stream) write(to *net.TCPConn, l *link) {
	gone := false // the receiver takes nothing any more; what is left is lost
	for {
		step := s.next(time.Now())
		if l.ctx.Err() != nil {
			return // looked at after the queue: the end that a cut makes of a connection is not the sender's
		}
		switch step.action {
		case forward:
			if !gone {
				_, err := to.Write(step.bytes)
				gone = err != nil
			}
		case finish:
			_ = to.CloseWrite()
			return
		case cut:
			l.cut()
			return
		case wait:
			var due <-chan time.Time
			if step.wait > 0 {
				due = time.After(step.wait)
			}
			select {
			case <-due:
			case <-s.wake:
			case <-l.ctx.Done():
				return
			}
		}
	}
}

// step is the next action of a writer.
type step struct {
	action action
	bytes  []byte        // to forward
	wait   time.Duration // at most; 0: until something changes
}

type action uint8

const (
	wait action = iota
	forward
	finish
	cut
)

// next takes from the queue the bytes that may go now.
func (s *stream) next(now time.Time) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.fault.kind {
	case hold:
		return step{action: wait}
	case drop:
		s.truncated = s.truncated || len(s.queue) > 0 || s.ended
		s.queue = nil
		return step{action: wait}
	}
	if s.truncated {
		return step{action: cut}
	}
	if len(s.queue) == 0 {
		return s.nextEnd(now)
	}
	if d := s.due(s.queue[0].at, now); d > 0 {
		return step{action: wait, wait: d}
	}
	if s.fault.kind == trickle {
		s.last = now
		return step{action: forward, bytes: s.take(min(s.fault.after, len(s.queue[0].bytes)))}
	}
	if s.fault.kind != cutAfter {
		return step{action: forward, bytes: s.take(len(s.queue[0].bytes))}
	}
	if s.fault.after <= 0 {
		return step{action: cut}
	}
	n := min(s.fault.after, len(s.queue[0].bytes))
	s.fault.after -= n
	return step{action: forward, bytes: s.take(n)}
}

// nextEnd does what next does when the queue is empty.
func (s *stream) nextEnd(now time.Time) step {
	if !s.ended {
		return step{action: wait}
	}
	if d := s.due(s.endAt, now); d > 0 {
		return step{action: wait, wait: d}
	}
	return step{action: finish}
}

// due returns how long bytes that came at the given time still have to wait.
func (s *stream) due(at, now time.Time) time.Duration {
	if s.fault.kind == trickle {
		at = s.last
	}
	return at.Add(s.fault.delay).Sub(now)
}

// take takes n bytes of the first chunk.
func (s *stream) take(n int) []byte {
	first := &s.queue[0]
	taken := first.bytes[:n]
	if first.bytes = first.bytes[n:]; len(first.bytes) == 0 {
		s.queue = s.queue[1:]
	}
	return taken
}
