package lockwheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// locker is a Mutex with the holds of callers that have not unlocked yet: one hold or any number of readers, and lost
// holds.
type locker struct {
	mutex Mutex
	holds atomic.Pointer[lockerHold]
}

// lockerHold is an element of the list of a locker's holds, newest first. Each Lock creates one; it is immutable and
// never reused.
type lockerHold struct {
	hold *Hold
	next *lockerHold
}

// maxRetryPause is the maximum pause before a Locker retries after a temporary rejection: it cannot return an error.
const maxRetryPause = 100 * time.Millisecond

func (l *locker) Lock() {
	hold, err := l.mutex.Lock(context.Background())
	for pause := time.Millisecond; isTransient(err); pause = min(2*pause, maxRetryPause) {
		time.Sleep(pause/2 + rand.N(pause))
		hold, err = l.mutex.Lock(context.Background())
	}
	if err != nil {
		panic(err.Error())
	}
	l.keep(hold)
}

// isTransient reports whether a failed Lock may soon succeed and left nothing behind: too many callers wait, replicas were
// briefly away, or the process was paused for longer than the lease just granted.
func isTransient(err error) bool {
	return errors.Is(err, ErrTooManyWaiters) || errors.Is(err, ErrNotReplicated) || errors.Is(err, ErrLost)
}

func (l *locker) keep(hold *Hold) {
	for top := (&lockerHold{hold: hold}); ; {
		top.next = l.holds.Load()
		if l.holds.CompareAndSwap(top.next, top) {
			return
		}
	}
}

func (l *locker) Unlock() {
	hold := l.take()
	if hold == nil {
		panic("lockwheel: lock " + quoted(l.mutex.name) + ": unlock of an unlocked lock")
	}
	if err := hold.Unlock(context.Background()); err != nil {
		if log := l.mutex.engine.listeners.log; log != nil {
			log.Error("lockwheel: a Locker's lock was not unlocked as it should", "error", err)
		}
	}
}

// take removes and returns a hold that has ended, or the newest hold if none has ended; it returns nil if there is no
// hold. It examines all current holds.
//
// A sync.Locker does not identify the caller that unlocks, so take assumes that a lost hold is the caller's.
// Otherwise it could release the lock for a caller that lost it before another caller acquired it.
func (l *locker) take() *Hold {
	for {
		youngest := l.holds.Load()
		if youngest == nil {
			return nil
		}
		taken := youngest
		for h := youngest; h != nil; h = h.next {
			if h.hold.hasEnded() {
				taken = h
				break
			}
		}
		if l.holds.CompareAndSwap(youngest, youngest.remove(taken)) {
			return taken.hold
		}
	}
}

// remove returns the list without one of its holds. It shares the rest of the list behind that hold.
func (h *lockerHold) remove(taken *lockerHold) *lockerHold {
	if h == taken {
		return h.next
	}
	rest := &lockerHold{hold: h.hold}
	for last := rest; ; last = last.next {
		if h = h.next; h == taken {
			last.next = h.next
			return rest
		}
		last.next = &lockerHold{hold: h.hold}
	}
}
