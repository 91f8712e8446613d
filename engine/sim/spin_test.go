package sim

import (
	"time"

	"github.com/lockwheel/lockwheel/actor"
)

const (
	// spinLasts is for how long they want it, and spinCallers the number of callers in the busy engine.
	spinLasts, spinCallers = 5 * time.Second, 4
	// spinHold is the time of each hold.
	spinHold = time.Millisecond
	// spinLongest bounds a wait. A client that comes by every 128 ms finds the lock free or not, by chance. The longest of
	// 60 runs of actor/spinners_test.go beside four spinners was 2.5 s.
	spinLongest = 4 * time.Second
	// spinInARow bounds the average number of holds of the busy engine before another client has the lock: it is 3
	// to 16.
	spinInARow = 50
	// spinShare is the denominator of the least share of an engine with one caller beside the busy one. Its share
	// is about a third.
	spinShare = 8
)

// simTurns is the record of some clients that want the lock.
type simTurns struct {
	had     int
	spells  int // runs of grants without another client in between
	longest time.Duration
}

// took notes that one of them has the lock, and whether one of them had it before.
func (t *simTurns) took(last **simTurns) {
	if t.had++; *last != t {
		t.spells++
	}
	*last = t
}

func (t *simTurns) waited(d time.Duration) { t.longest = max(t.longest, d) }

// spin has a busy engine that polls beside another one with one caller, or beside clients that spin as Redisson's
// spin lock does.
func (w *simWorld) spin() {
	if w.engines[0].config.MaxHandoffGrants < 0 || w.plan.silence != 0 {
		return // it must not keep a lock, nor take turns; or each hold takes long
	}
	ends, spinners := w.now+spinLasts, simPick(w, []int{0, 1, 1, 2, 4})
	var ours, theirs simTurns
	var last *simTurns
	for range spinCallers {
		w.wantsIt(w.prober(0), ends, &ours, &last)
	}
	if spinners == 0 {
		w.wantsIt(w.prober(1), ends, &theirs, &last)
	}
	for number := range spinners {
		s := &simSpinner{w: w, number: number, ends: ends, turns: &theirs, last: &last}
		w.after(w.between(0, time.Millisecond), s.asks)
	}
	w.cover(coverSpun)
	w.runUntil(ends, func() bool { return false })
	switch others := max(spinners, 1); {
	case theirs.longest > spinLongest:
		w.fail("one of %d who poll had to wait %v for a lock that is never held for long: they had it %d times, a busy engine %d times", others, theirs.longest, theirs.had, ours.had)
	case ours.had > spinInARow*ours.spells:
		w.fail("a busy engine had a lock %d times, and others who poll, %d of them, between them only %d times", ours.had, others, ours.spells)
	case spinners == 0 && theirs.had*spinShare < ours.had+theirs.had:
		w.fail("an engine that polls had a lock %d times, and a busy one beside it %d times", theirs.had, ours.had)
	}
	if !w.runUntil(ends+w.maxFreeTime(), w.settled) {
		w.unsettled()
	}
}

// wantsIt has a caller take the lock again and again, and hold it for a moment.
func (w *simWorld) wantsIt(c *simCaller, ends time.Duration, turns *simTurns, last **simTurns) {
	c.onResult = func(a *simRequest) {
		switch {
		case a.Op == actor.Acquire:
			turns.took(last)
			turns.waited(min(w.now, ends) - a.requestedAt)
			w.after(spinHold, func() { c.change(a.hold, actor.Unlock, 0) })
		case w.now < ends:
			c.plainLock(0)
		}
	}
	c.plainLock(0)
}

// simSpinner is a client close to the server that never listens. It sleeps between tries, twice as long each time,
// at most 128 ms.
type simSpinner struct {
	w      *simWorld
	number int
	tenure uint64
	ends   time.Duration
	turns  *simTurns
	last   **simTurns

	asked, sleep time.Duration
	fails        int
}

const spinFirst, spinMost = time.Millisecond, 128 * time.Millisecond

func (s *simSpinner) holder() simHolder { return holderOf(-100-s.number, 0, false, s.tenure) }

func (s *simSpinner) asks() {
	s.tenure++
	s.asked, s.sleep, s.fails = s.w.now, spinFirst, 0
	s.tries()
}

func (s *simSpinner) tries() {
	s.w.after(s.w.latency(), func() {
		got := !s.w.server.key(0).exists
		if got {
			s.w.server.create(0, s.holder(), (30 * time.Second).Milliseconds())
		}
		s.w.after(s.w.latency(), func() { s.answered(got) })
	})
}

func (s *simSpinner) answered(got bool) {
	w := s.w
	s.turns.waited(min(w.now, s.ends) - s.asked)
	switch {
	case got:
		s.turns.took(s.last)
		w.after(spinHold, s.leaves)
	case w.now < s.ends:
		sleep := s.sleep + w.between(0, 100*time.Microsecond)
		if s.fails++; s.sleep < spinMost {
			s.sleep = min(2*s.sleep+time.Duration(w.random.IntN(s.fails))*time.Millisecond, spinMost)
		}
		w.after(sleep, s.tries)
	}
}

// leaves gives the lock back, and comes again.
func (s *simSpinner) leaves() {
	s.w.after(s.w.latency(), func() {
		s.w.server.remove(0)
		if s.w.now < s.ends {
			s.w.after(s.w.latency(), s.asks)
		}
	})
}
