package actor

import "time"

// Info describes a lock that is in use, as one engine knows it. It is a copy: the coordinator fills it in, and then it
// belongs to the caller. The zero Info is that of a lock without holds and waiters.
type Info struct {
	Key  string
	Kind LockKind

	// Of the owner in this engine. Holds is 0 if it has none; then the other four are zero, too.
	Holds   int           // how many holds of the owner have not ended
	Tenure  uint64        // the number in the holder id on the wire
	Since   time.Duration // when the owner was first granted the lock
	Until   time.Duration // the end of the validity, as far as the holds use it
	Watched bool          // the engine renews the lock

	// Note is that of the owner's oldest hold that has not ended. If there is none, it is that of the first request that
	// waits; nil: it has none.
	Note *Note

	// Of the requests in this engine that wait for the lock.
	Waiting      int
	WaitingSince time.Duration // when the first of them came; 0 if none waits
}

// Info returns what is known of the lock. It does not scan the holds or the requests.
func (l *Lock) Info(now time.Duration, fx *Effects) Info {
	info := Info{Key: l.key, Kind: l.kind, Waiting: int(l.queue.len())}
	if first := l.queue.head(); first != nil {
		info.WaitingSince = first.receivedAt
	}
	if !l.HeldAt(now) {
		if first := l.queue.head(); first != nil {
			info.Note = first.hold().Note()
		}
		return info
	}
	info.Holds, info.Tenure, info.Since, info.Until, info.Watched = 1, l.tenure, l.ownedSince, l.lastUntil(fx), l.watched()
	if s := l.set(); s != nil {
		info.Holds = s.live
	}
	info.Note = l.firstHold().Note()
	return info
}

// lastUntil returns when the last of the owner's holds ends unless it is confirmed again. The validity can be longer,
// if a hold that needed that has ended.
func (l *Lock) lastUntil(fx *Effects) time.Duration {
	limit := l.lastFixed(nil)
	if l.watched() {
		limit = max(limit, l.holdLimit(0, fx))
	}
	return min(l.validUntil, limit) &^ limitCauses // as the holds tell it
}

// firstHold returns the owner's oldest hold that has not ended, or nil.
func (l *Lock) firstHold() *Hold {
	if s := l.set(); s != nil {
		return s.holds[0]
	}
	return l.holds
}

// hold returns the hold that a request would acquire. If it is for several locks, it returns that of one of them.
func (r *Request) hold() *Hold {
	if r.Multi != nil {
		return r.Multi.Parts[0].Hold
	}
	return r.Hold
}
