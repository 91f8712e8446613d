package bench

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// Crowd is floods of waiters for locks that somebody else has, of several sizes.
type Crowd struct {
	Own     bool  // each waiter wants a name of its own; otherwise all want one
	Async   []int // waiters of ours by LockAsync
	Blocked []int // waiters of ours by Lock, a goroutine each
	Peers   []int // waiters of the peers; a peer's larger sizes are left out once it failed
}

// Flooding is what a flood did to an unrelated lock of the same client, from its beginning to its end.
type Flooding struct {
	Name    string
	Own     bool
	Waiters int
	Phases  []*Phase // those that were begun; the first is before the flood
	Before  Footprint
	After   Footprint // once the flood is over and memory was collected
	Held    int       // watched holds beside it
	Lost    int       // of these; negative: not known
	Failure string    // in the last of the phases
}

// The phases of a flood.
const (
	FloodNone       = "before"
	FloodPosting    = "posting"     // until all have called
	FloodListening  = "subscribing" // until each has been told that another has its lock, and all channels are listened to
	FloodWaiting    = "waiting"
	FloodMessages   = "messages" // 1 000 a second, on the channel of the one name, or of one name after the other
	FloodCancelling = "cancel"   // of the one context that all share, until each has its verdict
	FloodLeaving    = "leaving"  // until the server has nobody on any of the channels
)

// Phase is a stretch of a flood.
type Phase struct {
	Name  string
	Took  time.Duration
	Probe measure.Histogram // lock and unlock of an unrelated name, from when it was due
	Ping  measure.Histogram // PING on a plain connection of this process, from when it was due
	End   Footprint

	// Of ours: how long 999 of 1000 turns of the loop took at most, and the longest; bounds of Stats.TurnTimes. 0: not known.
	Turns, LongestTurn time.Duration
}

// Footprint is what a client takes.
type Footprint struct {
	Goroutines int // threads of Redisson
	RSS        int64
}

const (
	floodHeld  = 2000                  // watched holds beside a flood
	floodLease = 3 * time.Second       // of these
	floodLook  = 10 * time.Millisecond // between two looks whether a phase is over
)

// flooder is a client with a flood of waiters.
type flooder interface {
	occupied() occupation     // what makes a name somebody else's
	keep(holds int) error     // takes watched locks
	lost() (int, error)       // of those
	begin(phase *Phase) error // probes that are due from now on are of this phase
	end(phase *Phase)         // notes what the phase came to, but for probes
	post() error              // all call, and wait
	asked() (bool, error)     // whether each was told that another has its lock
	message(i int) []any      // the command that has a waiter ask again
	ended() (int, error)      // waiters that have their verdict; the error is of one that was none to be expected
	cancel() error            // ends the context that all share
	stopProbes() error        // and waits for those that are under way
	footprint() Footprint
	close()
}

// Flood has every contestant bear the floods of a crowd, one after the other.
func Flood(s *Server, p Plan, c Crowd) ([]*Flooding, error) {
	var all []*Flooding
	for _, one := range bearersOf(s, p, c) {
		for _, n := range one.waiters {
			f := &Flooding{Name: one.name, Own: c.Own, Waiters: n, Held: floodHeld, Lost: -1}
			all = append(all, f)
			err := f.measure(s, p, func() (flooder, error) { return one.open(n) })
			if err != nil {
				f.Failure = err.Error()
			}
			if err := s.Clear(); err != nil {
				return all, err
			}
			if err != nil && f.Reached() != FloodLeaving && one.name != FloodAsync && one.name != FloodBlocked {
				break
			}
		}
	}
	return all, nil
}

// measure is one flood.
func (f *Flooding) measure(s *Server, p Plan, open func() (flooder, error)) error {
	debug.FreeOSMemory()
	who, err := open()
	if err != nil {
		return err
	}
	defer who.close()
	t := &tide{Flooding: f, server: s, plan: p, who: who}
	if err := t.prepare(); err != nil {
		return err
	}
	failed := t.phases()
	if err := who.stopProbes(); failed == nil {
		failed = err
	}
	lost, err := who.lost()
	if err == nil {
		f.Lost = lost
	} else if failed == nil {
		failed = err
	}
	debug.FreeOSMemory()
	f.After = who.footprint()
	return failed
}

// tide is a flood under way.
type tide struct {
	*Flooding
	server    *Server
	plan      Plan
	who       flooder
	quiet     int           // channels that the server had before
	most      time.Duration // that the phase may take
	bystander *bystander
}

func (t *tide) names() int {
	if t.Own {
		return t.Waiters
	}
	return 1
}

// prepare gives all names to somebody else.
func (t *tide) prepare() error {
	t.plan.tell("%s, %d waiters, %s: names are given to somebody else", t.Name, t.Waiters, t.whose())
	if err := t.server.occupy(t.names(), t.who.occupied()); err != nil {
		return err
	}
	if err := t.who.keep(t.Held); err != nil {
		return err
	}
	t.Before = t.who.footprint()
	var err error
	t.quiet, err = t.server.channels()
	return err
}

func (t *tide) whose() string {
	if t.Own {
		return "names of their own"
	}
	return "one name"
}

// phases goes through all, until one fails.
func (t *tide) phases() error {
	var err error
	if t.bystander, err = newBystander(t.server.Addr); err != nil {
		return err
	}
	defer t.bystander.close()
	for _, phase := range []struct {
		name string
		run  func() error
	}{
		{FloodNone, t.pass},
		{FloodPosting, t.who.post},
		{FloodListening, func() error { return t.until(t.listens) }},
		{FloodWaiting, t.pass},
		{FloodMessages, t.storm},
		{FloodCancelling, t.cancelAll},
		{FloodLeaving, func() error { return t.until(t.silent) }},
	} {
		if err := t.phase(phase.name, phase.run); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return nil
}

func (t *tide) phase(name string, run func() error) error {
	t.plan.tell("%s, %d waiters, %s: %s", t.Name, t.Waiters, t.whose(), name)
	phase := &Phase{Name: name}
	t.Phases = append(t.Phases, phase)
	t.bystander.begin(phase)
	if err := t.who.begin(phase); err != nil {
		return err
	}
	began := time.Now()
	t.most = t.plan.FloodMost
	if name == FloodLeaving {
		t.most = t.plan.FloodLeave
	}
	err := bounded("it", t.most+grace, run)
	phase.Took = time.Since(began)
	t.who.end(phase)
	phase.End = t.who.footprint()
	if err != nil || name == FloodCancelling || name == FloodLeaving {
		return err
	}
	return t.early()
}

// early is the error of waiters that have a verdict though nobody has cancelled them.
func (t *tide) early() error {
	ended, err := t.who.ended()
	if err == nil && ended > 0 {
		err = fmt.Errorf("%d of %d have ended", ended, t.Waiters)
	}
	return err
}

// pass lets time pass.
func (t *tide) pass() error {
	time.Sleep(t.plan.FloodFor)
	return nil
}

// until waits for something, for as long as the phase may take.
func (t *tide) until(is func() (bool, error)) error {
	for began := time.Now(); time.Since(began) < t.most; time.Sleep(floodLook) {
		if yes, err := is(); yes || err != nil {
			return err
		}
	}
	return fmt.Errorf("was not over after %v", t.most)
}

// listens reports whether all have asked and are on their channels. Who wakes waiters in another way has no channels.
func (t *tide) listens() (bool, error) {
	if err := t.early(); err != nil {
		return false, err
	}
	if asked, err := t.who.asked(); !asked || err != nil {
		return false, err
	}
	if t.who.message(0)[0] != publish {
		return true, nil
	}
	now, err := t.server.channels()
	return now-t.quiet >= t.names(), err
}

func (t *tide) silent() (bool, error) {
	now, err := t.server.channels()
	return now <= t.quiet, err
}

// storm sends messages that tell of nothing.
func (t *tide) storm() error {
	return t.server.storm(int(t.plan.FloodFor.Seconds()*perSecond), func(i int) []any { return t.who.message(i % t.names()) })
}

func (t *tide) cancelAll() error {
	if err := t.who.cancel(); err != nil {
		return err
	}
	return t.until(func() (bool, error) {
		n, err := t.who.ended()
		return n == t.Waiters, err
	})
}

// Reached is the last phase that was begun.
func (f *Flooding) Reached() string {
	if len(f.Phases) == 0 {
		return ""
	}
	return f.Phases[len(f.Phases)-1].Name
}

// Flooded are the phases of the flood itself.
func (f *Flooding) Flooded() []*Phase { return f.Phases[min(1, len(f.Phases)):] }

// Worst is the longest of what the phases of the flood came to.
func (f *Flooding) Worst(of func(*Phase) time.Duration) (worst time.Duration) {
	for _, p := range f.Flooded() {
		worst = max(worst, of(p))
	}
	return worst
}
