package lockwheel

import (
	"context"
	"sync/atomic"
)

// locker is a Mutex with the holds of those who have it: one, or any number of readers.
type locker struct {
	mutex Mutex
	holds atomic.Pointer[lockerHold]
}

// lockerHold is one of a locker's holds, made for each Lock and never used again.
type lockerHold struct {
	hold *Hold
	next *lockerHold
}

func (l *locker) Lock() {
	hold, err := l.mutex.Lock(context.Background())
	if err != nil {
		panic(err.Error())
	}
	for top := (&lockerHold{hold: hold}); ; {
		top.next = l.holds.Load()
		if l.holds.CompareAndSwap(top.next, top) {
			return
		}
	}
}

func (l *locker) Unlock() {
	hold := l.pop()
	if hold == nil {
		panic("lockwheel: lock " + quoted(l.mutex.name) + ": unlock of an unlocked lock")
	}
	if err := hold.Unlock(context.Background()); err != nil {
		if log := l.mutex.engine.options.Logger; log != nil {
			log.Error("lockwheel: a Locker's lock was not unlocked as it should", "error", err)
		}
	}
}

// pop takes the youngest hold out; nil if there is none. Readers are each other's equals.
func (l *locker) pop() *Hold {
	for {
		top := l.holds.Load()
		if top == nil {
			return nil
		}
		if l.holds.CompareAndSwap(top, top.next) {
			return top.hold
		}
	}
}
