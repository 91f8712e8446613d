package lockwheel

import (
	"context"
	"sync/atomic"
)

// locker is a Mutex with the hold of whoever has it.
type locker struct {
	mutex Mutex
	hold  atomic.Pointer[Hold]
}

func (l *locker) Lock() {
	hold, err := l.mutex.Lock(context.Background())
	if err != nil {
		panic(err.Error())
	}
	l.hold.Store(hold)
}

func (l *locker) Unlock() {
	hold := l.hold.Swap(nil)
	if hold == nil {
		panic("lockwheel: lock " + quoted(l.mutex.name) + ": unlock of an unlocked lock")
	}
	if err := hold.Unlock(context.Background()); err != nil {
		if log := l.mutex.engine.options.Logger; log != nil {
			log.Error("lockwheel: a Locker's lock was not unlocked as it should", "error", err)
		}
	}
}
