package bench

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"
)

// measure runs one flood.
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

// tide is a flood that is running.
type tide struct {
	*Flooding
	server    *Server
	plan      Plan
	who       flooder
	quiet     int           // channels that the server had before
	most      time.Duration // the maximum duration of the phase
	channels  int           // of waiters, at the latest check
	bystander *bystander
}

func (t *tide) names() int {
	if t.Own {
		return t.Waiters
	}
	return 1
}

// prepare gives all names to another holder.
func (t *tide) prepare() error {
	t.plan.tell("%s, %d waiters, %s: names are given to another holder", t.Name, t.Waiters, t.whose())
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

// phases runs all phases, until one fails.
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
	t.most = t.plan.FloodMost
	if name == FloodLeaving {
		t.most = t.plan.FloodLeave
	}
	client, server, err := t.used()
	if err != nil {
		return err
	}
	began := time.Now()
	failed := bounded("it", t.most+grace, run)
	phase.Took = time.Since(began)
	t.who.end(phase)
	phase.End = t.who.footprint()
	clientThen, serverThen, err := t.used()
	if phase.Took > floodBrief {
		phase.Client, phase.Server = (clientThen-client).Seconds()/phase.Took.Seconds(), (serverThen-server).Seconds()/phase.Took.Seconds()
	}
	if err = cmp.Or(failed, err); err != nil || name == FloodCancelling || name == FloodLeaving {
		return err
	}
	return t.early()
}

// used returns the processor time of the client and of the server so far.
func (t *tide) used() (client, server time.Duration, err error) {
	usage, err := t.who.used()
	if err != nil {
		return 0, 0, err
	}
	server, err = t.server.CPU()
	return usage.CPU, server, err
}

// early returns an error if waiters have a result before they were cancelled.
func (t *tide) early() error {
	ended, err := t.who.ended()
	if err == nil && ended > 0 {
		err = fmt.Errorf("%d of %d have ended", ended, t.Waiters)
	}
	return err
}

// pass waits for the time of a phase.
func (t *tide) pass() error {
	time.Sleep(t.plan.FloodFor)
	return nil
}

// until waits for a condition, for at most the maximum duration of the phase.
func (t *tide) until(is func() (bool, error)) error {
	for began := time.Now(); time.Since(began) < t.most; time.Sleep(floodLook) {
		if yes, err := is(); yes || err != nil {
			return err
		}
	}
	return fmt.Errorf("was not over after %v, with %d of %d channels listened to", t.most, t.channels, t.names())
}

// listens reports whether all waiters have asked and are subscribed. A contestant that wakes waiters in another way has no
// channels.
func (t *tide) listens() (bool, error) {
	if err := t.early(); err != nil {
		return false, err
	}
	asked, err := t.who.asked()
	if err != nil || t.who.message(0)[0] != publish {
		return asked, err
	}
	return t.heard(func(channels int) bool { return asked && channels >= t.names() })
}

// heard reports whether the number of the waiters' channels satisfies enough.
func (t *tide) heard(enough func(channels int) bool) (bool, error) {
	now, err := t.server.channels()
	t.channels = now - t.quiet
	return enough(t.channels), err
}

func (t *tide) silent() (bool, error) {
	return t.heard(func(channels int) bool { return channels <= 0 })
}

// storm sends messages that notify of nothing.
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
