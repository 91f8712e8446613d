package sim

import "slices"

// simAfter is how much longer they live than the places. It is short here, so that a queue of dead places goes
// while others still act.
const simAfter = 2 * simFairWait

// simQueueEnd is until when a queue lives, by the server's clock, and what was in it when one of our scripts last set
// that.
type simQueueEnd struct {
	expires int64 // 0: for ever
	seen    []simQueuePlace
}

// extendQueueExpiry lets a queue live for longer than the places left in it, as our scripts do after they changed it.
func (s *simServer) extendQueueExpiry(name int, left int64) {
	queue, end := s.queues[name], s.queueEnds[name]
	if len(queue) == 0 || s.outside || s.writable(false) != nil {
		return
	}
	theirs := slices.ContainsFunc(queue, func(p simQueuePlace) bool { return p.till == 0 })
	switch enough := s.clock() + left + simAfter.Milliseconds()/2; {
	case theirs && s.w.bug != bugGoesWithTheirs:
		s.w.names[name].mixed = true
		end.expires = 0
	case left < 0 || end.expires >= enough || s.w.bug == bugQueueStays || s.w.bug == bugGoesEarly && end.expires != 0:
	default:
		end.expires = max(s.clock()+left+simAfter.Milliseconds(), end.expires)
	}
	end.seen = queue
	s.note(name)
	s.queueEnds[name] = end
}

// removeExpiredQueue removes a queue when its time has come.
func (s *simServer) removeExpiredQueue(name int) {
	end := s.queueEnds[name]
	if end.expires == 0 || end.expires >= s.clock() {
		return
	}
	s.w.cover(coverDeadQueueGone)
	for _, p := range s.queues[name] {
		if p.till != 0 {
			s.w.skips(name, p)
		} else if slices.ContainsFunc(end.seen, func(seen simQueuePlace) bool { return seen.holder == p.holder }) {
			s.w.fail("the queue of %s goes, with the place of a client that does not keep it up", s.w.plan.names[name])
		}
	}
	s.strayPlaces[name] = nil
	s.queue(name, nil)
}

// checkQueueExpiry checks that no queue in which all places are ours stays for ever.
func (w *simWorld) checkQueueExpiry() {
	for name, queue := range w.server.queues {
		ours := !slices.ContainsFunc(queue, func(p simQueuePlace) bool { return p.till == 0 })
		if len(queue) > 0 && ours && w.server.queueEnds[name].expires == 0 && !w.names[name].mixed {
			w.fail("the queue of %s stays for ever, with a place of %s", w.plan.names[name], w.holderName(queue[0].holder))
		}
	}
}
