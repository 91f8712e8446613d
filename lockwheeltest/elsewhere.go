package lockwheeltest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/lockwheel/lockwheel"
)

// Kind is the kind of lock that [Server.HoldElsewhere] takes.
type Kind uint8

const (
	Plain  Kind = iota // Engine.Mutex
	Fenced             // Engine.FencedMutex
	Fair               // Engine.FairMutex
	Reader             // Engine.RWMutex, for reading
	Writer             // Engine.RWMutex, for writing
)

// kindOf has the kinds by their names in lockwheel.LockInfo.
var kindOf = map[string]Kind{"plain": Plain, "fenced": Fenced, "fair": Fair, "reader": Reader, "writer": Writer}

// mutex returns the lock of that kind.
func (k Kind) mutex(e *lockwheel.Engine, name string) lockwheel.Mutex {
	switch k {
	case Fenced:
		return e.FencedMutex(name)
	case Fair:
		return e.FairMutex(name)
	case Reader:
		return e.RWMutex(name).RLocker()
	case Writer:
		return e.RWMutex(name).Writer()
	}
	return e.Mutex(name)
}

// HoldElsewhere has another process hold the lock with that name: a Plain one unless one Kind is given. The other
// process renews the lock until release is called; at the latest the cleanup of [New] releases it, after it has
// ended the calls that wait. [Server.Lose] takes it away as well.
//
// HoldElsewhere tries once. It fails the test at once if the lock is held, or if callers wait for it in the queue of a
// FairMutex. It also fails it if more than one Kind is given, or while the server is down.
//
// When release returns, the lock is free, or the next caller has it. While the server is down, release gives up after
// Options.CallTimeout, and the other process releases the lock once the server is up. A second call does nothing.
// release may be called from any goroutine.
func (s *Server) HoldElsewhere(name string, as ...Kind) (release func()) {
	s.t.Helper()
	kind := Plain
	switch {
	case len(as) > 1:
		s.t.Fatalf("lockwheeltest: HoldElsewhere(%q): %d kinds, want one", name, len(as))
	case len(as) == 1:
		kind = as[0]
	}
	if kind > Writer {
		s.t.Fatalf("lockwheeltest: HoldElsewhere(%q): no Kind %d", name, kind)
	}
	options := s.settings.options
	options.Observer, options.Tracer, options.Logger = lockwheel.Observer{}, nil, nil
	options.MaxHold = 0 // it would end the hold before its release
	other := s.open(options)
	hold, err := kind.mutex(other, name).TryLock(s.t.Context())
	if err != nil {
		other.Close()
		s.t.Fatalf("lockwheeltest: HoldElsewhere: %v", err)
	}
	var released atomic.Bool
	release = func() {
		if released.CompareAndSwap(false, true) {
			s.release(other, hold)
		}
	}
	s.add(process{other, options.Prefix, release})
	return release
}

// release unlocks the hold of another process and ends that process. If the server does not reply, the engine goes on
// trying.
func (s *Server) release(other *lockwheel.Engine, hold *lockwheel.Hold) {
	switch err := hold.Unlock(context.Background()); {
	case errors.Is(err, lockwheel.ErrUnavailable):
		return
	case err != nil && !errors.Is(err, lockwheel.ErrLost):
		s.t.Errorf("lockwheeltest: release of what HoldElsewhere holds: %v", err)
	}
	other.Close()
	s.remove(other)
}
