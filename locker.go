package lockwheel

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// locker is a Mutex with the holds of its callers who have not unlocked: one, or any number of readers, and those that
// were lost meanwhile.
type locker struct {
	mutex Mutex
	holds atomic.Pointer[lockerHold]
}

// lockerHold is one of a locker's holds, the youngest first. It is made for each Lock, never changed and never used again.
type lockerHold struct {
	hold *Hold
	next *lockerHold
}

// longestRetry is how long a Locker waits at most before it asks again after a refusal that passes: it has no way to refuse its caller.
const longestRetry = 100 * time.Millisecond

func (l *locker) Lock() {
	hold, err := l.mutex.Lock(context.Background())
	for pause := time.Millisecond; passes(err); pause = min(2*pause, longestRetry) {
		time.Sleep(pause/2 + rand.N(pause))
		hold, err = l.mutex.Lock(context.Background())
	}
	if err != nil {
		panic(err.Error())
	}
	l.keep(hold)
}

// passes reports whether a lock that was not had may be had a little later, with nothing left of the try: too many wait, replicas were away
// for a moment, or the process stood still for longer than the lease that it was just granted.
func passes(err error) bool {
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
		if log := l.mutex.engine.tells.log; log != nil {
			log.Error("lockwheel: a Locker's lock was not unlocked as it should", "error", err)
		}
	}
}

// take takes out a hold that has ended, or if there is none the youngest; nil if there is none at all. A sync.Locker does
// not say which of its callers unlocks, so a lost hold is taken to be the caller's: the lock is not released for a caller
// that may have lost it before another got it. It looks at all who have the lock at this moment.
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
		if l.holds.CompareAndSwap(youngest, youngest.without(taken)) {
			return taken.hold
		}
	}
}

// without is the list less one of its holds. What is behind that is shared with it.
func (h *lockerHold) without(taken *lockerHold) *lockerHold {
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
