package lockwheeltest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel"
)

const (
	// reconnectTimeout is how long engines may take to reach a server that is up again.
	reconnectTimeout = 10 * time.Second
	// reconnectPause is the pause between two attempts to reach it.
	reconnectPause = time.Millisecond
)

// Lose takes the lock with that name away from its holders: that of the test's engines, or of HoldElsewhere; all
// readers of an RWMutex. When Lose returns, Hold.Err matches lockwheel.ErrLost and the lock is free, or the next caller
// has it. Hold.Done is closed and Hold.Context ends at about that time; in a bubble of testing/synctest, before
// synctest.Wait returns.
//
// It is a ForceUnlock by the engine that holds the lock. A hold that is lost otherwise, such as by an outage or with
// [Server.Flush], ends in the same way, but later.
//
// The name is one of the first engine, as for [Server.Held]. Lose fails the test at once if no engine of this Server
// holds the lock. While the server is down, the holders lose the lock after Options.CallTimeout at the latest, and the
// key stays until the server is up again, or its lease ends.
func (s *Server) Lose(name string) {
	s.t.Helper()
	locks := s.heldAs(name)
	if len(locks) == 0 {
		s.t.Fatalf("lockwheeltest: Lose(%q): no engine of this server holds the lock", name)
	}
	for _, lock := range locks {
		_, err := lock.ForceUnlock(context.Background())
		// Without a reply the holder has lost it all the same.
		if err != nil && !errors.Is(err, lockwheel.ErrUnavailable) && !errors.Is(err, lockwheel.ErrClosed) {
			s.t.Fatalf("lockwheeltest: Lose: %v", err)
		}
	}
}

// heldAs returns the lock with that name of each engine that holds it. It is complete before the first of them is
// forced: the engine that gets the lock then must keep it.
func (s *Server) heldAs(name string) (locks []lockwheel.Mutex) {
	key := s.key(name)
	for _, p := range *s.processes.Load() {
		name, ours := strings.CutPrefix(key, p.prefix)
		if kind, held := p.held(name); ours && held {
			locks = append(locks, kind.mutex(p.engine, name))
		}
	}
	return locks
}

// held returns as what this engine holds a lock. A writer counts before what it reads, because the reads end with it.
func (p process) held(name string) (kind Kind, held bool) {
	for info := range p.engine.Locks(context.Background()) {
		if info.Name == name && info.Holds > 0 {
			kind, held = max(kind, kindOf[info.Kind]), true
		}
	}
	return kind, held
}

// Flush removes all data of the server, as a restart without a disk does. Nothing is published. A holder learns of it
// at its next renewal, after up to Options.RenewInterval: its hold then ends with lockwheel.ErrLost. Until then another
// caller can be granted the lock.
func (s *Server) Flush() { s.redis.Flush() }

// Down makes the server unavailable until [Server.Up], as if its process had ended: connections end, and no new ones
// are made. What calls return then:
//
//   - TryLock, and Lock with Wait(0): lockwheel.ErrUnavailable at once, or after some milliseconds in which the engine
//     tries to connect. Of a plain or a fenced lock or a writer that another caller of the same engine holds:
//     lockwheel.ErrNotAcquired, which the engine knows without the server.
//   - Lock: it waits. When its wait ends, it returns lockwheel.ErrUnavailable.
//   - Unlock and Extend: lockwheel.ErrUnavailable after Options.CallTimeout.
//
// Holds go on until their leases end, and then end with lockwheel.ErrLost. The server keeps its data, and its keys
// expire meanwhile. A second call does nothing.
func (s *Server) Down() { s.redis.Down() }

// Up makes the server available again and returns when all engines have reached it. Holds go on if their leases have
// not ended, and calls that wait are served. If an engine does not reach the server within 10 s, Up fails the test at
// once. If the server is not down, Up returns soon.
func (s *Server) Up() {
	s.t.Helper()
	s.redis.Up()
	for _, p := range *s.processes.Load() {
		if err := p.reach(); err != nil {
			s.t.Fatalf("lockwheeltest: Up: %v", err)
		}
	}
}

// reach waits until the engine has had a reply, or is closed.
func (p process) reach() error {
	for deadline := time.Now().Add(reconnectTimeout); ; time.Sleep(reconnectPause) {
		_, err := p.engine.Mutex("lockwheeltest").State(context.Background())
		if !errors.Is(err, lockwheel.ErrUnavailable) { // any other error is a reply, or the engine is closed
			return nil
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}
