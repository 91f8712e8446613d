package actor

import "time"

// placeCost is the part of a place's life for each waiter: three renewals, at 5000 renewals of places per second. A
// server does several times that.
const placeCost = 600 * time.Microsecond

// placeLives decides how long the places of an engine's waiters live in fair queues without being renewed. A place that
// dies before it can be renewed loses its order, and with very many of them a free lock is granted to none. So the life
// doubles until all places can be renewed in time. It has few different values, and halves only when far fewer wait:
// waiters with equal lives share one time in the queue. The zero value has no waiters. Owned by the coordinator.
type placeLives struct {
	waiting   int64 // requests of the engine that wait for fair locks
	doublings uint
}

// allows reports whether this many waiters can be renewed in time if the life is doubled that often.
func (p *placeLives) allows(waiting int64, life time.Duration, doublings uint) bool {
	return waiting <= int64(life<<doublings/placeCost)
}

// change counts waiters that came, or left if negative. life is that of the places of few waiters.
func (p *placeLives) change(by int64, life time.Duration) {
	p.waiting += by
	for !p.allows(p.waiting, life, p.doublings) {
		p.doublings++
	}
	for p.doublings > 0 && p.allows(p.waiting+p.waiting/3, life, p.doublings-1) {
		p.doublings--
	}
}

// placeLife returns how long a place lives without being renewed. Other callers of the queue wait for that long behind
// the places of an engine that died.
func (fx *Effects) placeLife() time.Duration {
	return fx.Config.FairWaitTimeout << fx.placeLives.doublings
}

// countPlace counts a request that came (1) or has its result (-1), if it may wait in a fair queue.
func (fx *Effects) countPlace(r *Request, by int64) {
	if protocols[r.Kind].queues && !r.Once {
		fx.placeLives.change(by, fx.Config.FairWaitTimeout)
	}
}
