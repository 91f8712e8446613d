package engine

import "slices"

// How long the keys of a fair queue live: longer than all of our places in it, and for ever beside a place of
// another client.

// simAfter is how much longer they live than the places. It is short here, so that a queue of dead places goes
// while others still act.
const simAfter = 2 * simFairWait

// simEndOf is until when a queue lives, by the server's clock, and what was in it when one of our scripts last set
// that.
type simEndOf struct {
	at   int64 // 0: for ever
	seen []simPlace
}

// age lets a queue live for longer than the places left in it, as our scripts do after they changed it.
func (s *simServer) age(name int, left int64) {
	queue, end := s.queues[name], s.ends[name]
	if len(queue) == 0 || s.outside || s.writable(false) != nil {
		return
	}
	theirs := slices.ContainsFunc(queue, func(p simPlace) bool { return p.till == 0 })
	switch enough := s.clock() + left + simAfter.Milliseconds()/2; {
	case theirs && s.w.bug != bugGoesWithTheirs:
		s.w.names[name].mixed = true
		end.at = 0
	case left < 0 || end.at >= enough || s.w.bug == bugQueueStays || s.w.bug == bugGoesEarly && end.at != 0:
	default:
		end.at = max(s.clock()+left+simAfter.Milliseconds(), end.at)
	}
	end.seen = queue
	s.note(name)
	s.ends[name] = end
}

// passAway removes a queue when its time has come.
func (s *simServer) passAway(name int) {
	end := s.ends[name]
	if end.at == 0 || end.at >= s.clock() {
		return
	}
	s.w.saw(sawPassedAway)
	for _, p := range s.queues[name] {
		if p.till != 0 {
			s.w.skips(name, p)
		} else if slices.ContainsFunc(end.seen, func(seen simPlace) bool { return seen.holder == p.holder }) {
			s.w.fail("the queue of %s goes, with the place of a client that does not keep it up", s.w.plan.names[name])
		}
	}
	s.strays[name] = nil
	s.queue(name, nil)
}

// mortal checks that no queue in which all places are ours stays for ever.
func (w *simWorld) mortal() {
	for name, queue := range w.server.queues {
		ours := !slices.ContainsFunc(queue, func(p simPlace) bool { return p.till == 0 })
		if len(queue) > 0 && ours && w.server.ends[name].at == 0 && !w.names[name].mixed {
			w.fail("the queue of %s stays for ever, with a place of %s", w.plan.names[name], w.holderName(queue[0].holder))
		}
	}
}
