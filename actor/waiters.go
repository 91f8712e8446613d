package actor

// onQueued records a request that joined the queue. The first of the queue is recorded with the second, because mostly
// there is no second.
func (l *Lock) onQueued(r *Request) {
	if r.next == r {
		return
	}
	if r.Once {
		l.ensureExt().noteTry(r)
	}
	switch {
	case r.Owner == 0:
	case l.ext != nil && l.ext.waiters != nil:
		l.ext.waiters.add(r)
	default:
		l.indexWaiters()
	}
}

// noteTry records a request that tries once; a second call for it moves it to the end.
func (x *ext) noteTry(r *Request) {
	if x.tries == nil {
		x.tries = &queuedTries{}
	}
	x.tries.remove(r)
	x.tries.add(r)
}

// onLeft removes the records of a request that left the queue.
func (x *ext) onLeft(r *Request, q *requestList) {
	if r.Once && x.tries != nil {
		x.tries.remove(r)
		if again := x.tries.rejecting; again != nil && again.tries != nil {
			again.tries.remove(r)
		}
		x.dropEmptyTries()
	}
	switch {
	case x.waiters == nil:
	case q.last == nil:
		x.waiters = nil
	case r.Owner != 0:
		x.waiters.remove(r)
	}
}

// dropEmptyTries drops an empty set of tries.
func (x *ext) dropEmptyTries() {
	if x.tries.len() == 0 && x.tries.rejecting == nil {
		x.tries = nil
	}
}

// ownerWaiters are the requests of one queue that wait as one owner. The zero value has none. Owned by the coordinator,
// as all that a Lock has.
type ownerWaiters struct {
	requestSet            // for this lock alone
	multis     requestSet // for several locks
	ofQuorum   int        // how many a quorum makes itself
}

// waitersByOwner maps owners to their requests in a queue. A nil map means that the queue has not been indexed:
// indexWaiters makes it. Owned by the coordinator.
type waitersByOwner map[uint64]*ownerWaiters

func (o waitersByOwner) add(r *Request) {
	w := o[r.Owner]
	if w == nil {
		w = &ownerWaiters{}
		o[r.Owner] = w
	}
	if r.Multi != nil {
		w.multis.add(r)
		return
	}
	if w.add(r); r.OfQuorum {
		w.ofQuorum++
	}
}

func (o waitersByOwner) remove(r *Request) {
	w := o[r.Owner]
	if w == nil {
		return
	}
	if r.Multi != nil {
		w.multis.remove(r)
	} else {
		w.remove(r)
	}
	if r.OfQuorum {
		w.ofQuorum--
	}
	if w.len()+w.multis.len() == 0 {
		delete(o, r.Owner)
	}
}

// indexWaiters returns the requests of the queue by owner. The first call scans the queue; the index is then kept
// until the queue is empty.
func (l *Lock) indexWaiters() waitersByOwner {
	x := l.ensureExt()
	if x.waiters == nil {
		x.waiters = make(waitersByOwner)
		l.queue.each(func(r *Request) {
			if r.Owner != 0 {
				x.waiters.add(r)
			}
		})
	}
	return x.waiters
}

// waitingAs returns the requests of the queue that wait for this lock alone as an owner.
func (l *Lock) waitingAs(owner uint64) []*Request {
	if w := l.waitersOf(owner); w != nil {
		return w.all()
	}
	return nil
}

// waitersOf returns the requests of the queue that wait as an owner; nil if there are none. An empty queue has no
// index.
func (l *Lock) waitersOf(owner uint64) *ownerWaiters {
	if l.queue.empty() {
		return nil
	}
	return l.indexWaiters()[owner]
}

// hasWaiters reports whether a request of the queue waits as an owner. With ofQuorum, only a quorum's own requests
// count.
func (l *Lock) hasWaiters(owner uint64, ofQuorum bool) bool {
	w := l.waitersOf(owner)
	return w != nil && (!ofQuorum || w.ofQuorum > 0)
}

// QuorumWaits reports whether the quorum with that owner number waits for the lock.
func (l *Lock) QuorumWaits(owner uint64) bool { return l.hasWaiters(owner, true) }

// NextWaiting returns the next request that waits for the lock, whether it is held or not; nil if there is none.
func (l *Lock) NextWaiting() *Request { return l.queue.first() }

// FirstWaiting returns a request that waits for the per-request lock as that owner; nil if there is none. All requests
// that wait at such a lock have the same owner.
func (l *Lock) FirstWaiting(owner uint64) *Request {
	if l.phase == held && l.holds != nil {
		return nil // while releasing, holds keeps the last hold until the release gets its reply
	}
	if r := l.queue.first(); r != nil && r.Owner == owner {
		return r
	}
	return nil
}
