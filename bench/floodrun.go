package bench

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"time"
)

// measure runs one flood.
func (f *FloodResult) measure(s *Server, p Plan, open func() (floodClient, error), phases func(*floodRun) []floodPhase) error {
	debug.FreeOSMemory()
	client, err := open()
	if err != nil {
		return err
	}
	defer client.close()
	t := &floodRun{FloodResult: f, server: s, plan: p, client: client}
	if err := t.prepare(); err != nil {
		return err
	}
	failed := t.runPhases(append([]floodPhase{{FloodBefore, t.beforeFlood}}, phases(t)...))
	if err := client.stopProbes(); failed == nil {
		failed = err
	}
	f.Held += client.granted()
	lost, err := client.lost()
	if err == nil {
		f.Lost = lost
	} else if failed == nil {
		failed = err
	}
	debug.FreeOSMemory()
	f.After = client.footprint()
	return failed
}

// floodRun is a flood that is running.
type floodRun struct {
	*FloodResult
	server         *Server
	plan           Plan
	client         floodClient
	channelsBefore int           // channels that the server had before
	phaseTimeout   time.Duration // the maximum duration of the phase
	channels       int           // of waiters, at the latest check
	pinger         *pinger
}

func (t *floodRun) names() int {
	if t.Own {
		return t.Waiters
	}
	return 1
}

// prepare gives all names to another holder.
func (t *floodRun) prepare() error {
	t.plan.logf("%s, %d waiters, %s: names are given to another holder", t.Name, t.Waiters, t.namesLabel())
	if err := t.server.holdAsOther(t.names(), t.client.foreignHold()); err != nil {
		return err
	}
	if err := t.client.acquireHolds(t.Held); err != nil {
		return err
	}
	t.Before = t.client.footprint()
	return nil
}

// beforeFlood is the phase without the flood. By its end the client has all channels that it needs without one.
func (t *floodRun) beforeFlood() (err error) {
	if err = t.waitPhase(); err != nil {
		return err
	}
	t.channelsBefore, err = t.server.channels()
	return err
}

func (t *floodRun) namesLabel() string {
	if t.Own {
		return "names of their own"
	}
	return "one name"
}

// floodPhase is how one phase of a flood is run.
type floodPhase struct {
	name string
	run  func() error
}

// waiting returns the phases of a flood of waiters, after the first.
func waiting(t *floodRun) []floodPhase {
	return []floodPhase{
		{FloodPosting, t.client.post},
		{FloodSubscribing, func() error { return t.until(t.allSubscribed) }},
		{FloodWaiting, t.waitPhase},
		{FloodMessages, t.sendMessages},
		{FloodCanceling, t.cancelAll},
		{FloodLeaving, func() error { return t.until(t.allUnsubscribed) }},
	}
}

// holding returns the phases of a flood of holds, after the first. The client cancels by unlocking.
func holding(t *floodRun) []floodPhase {
	return []floodPhase{
		{FloodGranting, t.client.post},
		{FloodHolding, t.waitPhase},
		{FloodReleasing, t.cancelAll},
	}
}

// runPhases runs phases, until one fails.
func (t *floodRun) runPhases(phases []floodPhase) error {
	var err error
	if t.pinger, err = newPinger(t.server.Addr); err != nil {
		return err
	}
	defer t.pinger.close()
	for _, phase := range phases {
		if err := t.phase(phase.name, phase.run); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
	}
	return nil
}

func (t *floodRun) phase(name string, run func() error) error {
	t.plan.logf("%s, %d waiters, %s: %s", t.Name, t.Waiters, t.namesLabel(), name)
	phase := &Phase{Name: name}
	t.Phases = append(t.Phases, phase)
	t.pinger.begin(phase)
	if err := t.client.begin(phase); err != nil {
		return err
	}
	t.phaseTimeout = t.plan.FloodPhaseTimeout
	if name == FloodLeaving {
		t.phaseTimeout = t.plan.FloodLeaveTimeout
	}
	client, server, err := t.used()
	if err != nil {
		return err
	}
	began := time.Now()
	failed := withTimeout("it", t.phaseTimeout+grace, run)
	phase.Took = time.Since(began)
	t.client.end(phase)
	phase.End = t.client.footprint()
	clientThen, serverThen, err := t.used()
	if phase.Took > minCPUPhase {
		phase.Client, phase.Server = (clientThen-client).Seconds()/phase.Took.Seconds(), (serverThen-server).Seconds()/phase.Took.Seconds()
	}
	if err = cmp.Or(failed, err); err != nil || name == FloodCanceling || name == FloodLeaving || name == FloodReleasing {
		return err
	}
	return t.earlyEnd()
}

// used returns the processor time of the client and of the server so far.
func (t *floodRun) used() (client, server time.Duration, err error) {
	usage, err := t.client.used()
	if err != nil {
		return 0, 0, err
	}
	server, err = t.server.CPU()
	return usage.CPU, server, err
}

// earlyEnd returns an error if waiters have a result before they were canceled.
func (t *floodRun) earlyEnd() error {
	ended, err := t.client.ended()
	if err == nil && ended > 0 {
		err = fmt.Errorf("%d of %d have ended", ended, t.Waiters)
	}
	return err
}

// waitPhase waits for the time of a phase.
func (t *floodRun) waitPhase() error {
	time.Sleep(t.plan.FloodFor)
	return nil
}

// until waits for a condition, for at most the maximum duration of the phase.
func (t *floodRun) until(is func() (bool, error)) error {
	for began := time.Now(); time.Since(began) < t.phaseTimeout; time.Sleep(floodPollInterval) {
		if yes, err := is(); yes || err != nil {
			return err
		}
	}
	return fmt.Errorf("was not over after %v, with %d of %d channels listened to", t.phaseTimeout, t.channels, t.names())
}

// allSubscribed reports whether all waiters have asked and are subscribed. A contestant that wakes waiters in another
// way has no channels.
func (t *floodRun) allSubscribed() (bool, error) {
	if err := t.earlyEnd(); err != nil {
		return false, err
	}
	asked, err := t.client.allWaiting()
	if err != nil || t.client.notifyCommand(0)[0] != publish {
		return asked, err
	}
	return t.checkChannels(func(channels int) bool { return asked && channels >= t.names() })
}

// checkChannels reports whether the number of the waiters' channels satisfies enough.
func (t *floodRun) checkChannels(enough func(channels int) bool) (bool, error) {
	now, err := t.server.channels()
	t.channels = now - t.channelsBefore
	return enough(t.channels), err
}

func (t *floodRun) allUnsubscribed() (bool, error) {
	return t.checkChannels(func(channels int) bool { return channels <= 0 })
}

// sendMessages sends messages that notify of nothing.
func (t *floodRun) sendMessages() error {
	return t.server.sendAtRate(int(t.plan.FloodFor.Seconds()*perSecond), func(i int) []any { return t.client.notifyCommand(i % t.names()) })
}

func (t *floodRun) cancelAll() error {
	if err := t.client.cancel(); err != nil {
		return err
	}
	return t.until(func() (bool, error) {
		n, err := t.client.ended()
		return n == t.Waiters, err
	})
}
