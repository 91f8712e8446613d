package actor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// harness is one lock with its wheel, its callers, and the commands in flight.
type harness struct {
	t     testing.TB
	kind  actor.LockKind
	lock  *actor.Lock
	fx    *actor.Effects
	wheel *wheel.Wheel[actor.TimerTarget]
	now   time.Duration

	callers   map[string]*caller
	names     map[*actor.Hold]string
	issued    map[*actor.Request]*issuedRequest
	until     map[*actor.Hold]time.Duration // of live holds
	inFlight  []*sentCommand
	listening bool
	lastHeld  time.Duration // as the last hold's end reported
	closed    bool

	effectTexts []string // effects since the line began
	wakes       int
}

type caller struct {
	hold *actor.Hold
	last *issuedRequest
}

type issuedRequest struct {
	caller    string
	request   *actor.Request
	completed bool
}

type sentCommand struct {
	command  actor.Command
	sent     time.Duration
	requeued bool // it has not left, or has to be sent again
}

const key = "k"

func newHarness(t testing.TB, config actor.Config) *harness {
	timers, err := wheel.New[actor.TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	return &harness{
		t:       t,
		lock:    actor.NewLock(key, actor.Plain),
		fx:      actor.NewEffects(config, timers),
		wheel:   timers,
		callers: map[string]*caller{},
		names:   map[*actor.Hold]string{},
		issued:  map[*actor.Request]*issuedRequest{},
		until:   map[*actor.Hold]time.Duration{},
	}
}

// setKind changes the lock's kind.
func (s *harness) setKind(kind actor.LockKind) {
	s.kind = kind
	s.lock.Reset(key, kind)
}

// fire fires the timers that are due at a time.
func (s *harness) fire(at time.Duration) string {
	s.now = max(at, s.now)
	s.wakes++
	s.wheel.Advance(s.now, func(t *wheel.Timer[actor.TimerTarget]) {
		t.Value.Wake(s.now, s.fx)
		s.after()
	})
	return s.effects()
}

func (s *harness) effects() string {
	text := strings.Join(s.effectTexts, "; ")
	s.effectTexts = nil
	if text == "" {
		return "nothing"
	}
	return text
}

func (s *harness) addEffect(format string, args ...any) {
	s.effectTexts = append(s.effectTexts, fmt.Sprintf(format, args...))
}

func (s *harness) step(m *actor.Message) {
	if s.lock.Key() == "" {
		s.lock.Reset(key, s.kind)
	}
	s.lock.Step(s.now, m, s.fx)
	s.after()
}

// after records the effects of a step, and checks what must be true after every step.
func (s *harness) after() {
	for _, e := range s.fx.HoldEnds {
		s.end(e)
	}
	for _, n := range s.fx.TooLong {
		s.addEffect("%s held for %v", s.names[n.Hold], n.Held)
	}
	for _, verb := range s.fx.Recalled {
		s.onRecalled(verb)
	}
	for _, c := range s.fx.Commands {
		require.True(s.t, s.lock.StillWants(&c), "%s is not to leave", commandText(&c))
		s.lock.SetDispatched(&c, true)
		s.send(c)
	}
	for _, l := range s.fx.SubscriptionChanges {
		require.NotEqual(s.t, s.listening, l.On, "listening is wished for twice")
		s.listening = l.On
		s.addEffect("%s", map[bool]string{true: "listen", false: "leave"}[l.On])
	}
	for _, r := range s.fx.Results {
		s.onResult(r)
	}
	s.fx.HoldEnds, s.fx.Commands, s.fx.SubscriptionChanges, s.fx.Results, s.fx.Recalled = nil, nil, nil, nil, nil
	s.fx.TooLong = nil
	s.addChangedHolds()
	s.check()
}

func (s *harness) end(e actor.HoldEnd) {
	_, live := s.until[e.Hold]
	require.True(s.t, live, "%s ends twice", s.names[e.Hold])
	delete(s.until, e.Hold)
	if e.Err == actor.ErrLost && strings.Contains(e.Cause.Error(), "lease ended") || actor.IsMaxHold(e.Cause) {
		found := e.Hold.ExpiryCause() // by a user with a clock that finds the end first
		require.True(s.t, found == e.Cause || found == nil && strings.HasPrefix(e.Cause.Error(), "the lease ended before it was renewed"),
			"%s ends with %q, and said %q before", s.names[e.Hold], e.Cause, found)
	}
	e.Hold.End(e.Err, e.Cause, 0)
	s.lastHeld = e.Held
	how := map[error]string{actor.ErrNotHeld: "over", actor.ErrLost: "lost", actor.ErrClosed: "closed"}[e.Err]
	s.addEffect("%s %s%s", s.names[e.Hold], how, causeText(e.Cause))
}

// send puts a command in flight. The lock's current tenure has at most one; of an earlier tenure, only the release may
// be added while another command is still in flight.
func (s *harness) send(c actor.Command) {
	for _, f := range s.inFlight {
		if f.command.Tenure != c.Tenure {
			continue
		}
		releasesOrphan := c.Tenure != s.lock.Tenure() && verbs[c.Verb] == "release"
		if !releasesOrphan {
			s.t.Errorf("two commands of one tenure under way: %s, %s", commandText(&f.command), commandText(&c))
		}
	}
	require.Equal(s.t, key, c.Key)
	require.Same(s.t, s.lock, c.Lock)
	s.inFlight = append(s.inFlight, &sentCommand{command: c, sent: s.now})
	s.addEffect("%s", commandText(&c))
}

// onRecalled records that a command which has not left must not leave.
func (s *harness) onRecalled(verb actor.Verb) {
	i := slices.IndexFunc(s.inFlight, func(f *sentCommand) bool {
		return f.command.Verb == verb && f.requeued && !s.lock.StillWants(&f.command)
	})
	require.NotEqual(s.t, -1, i, "no %s waits that could be taken back", verbs[verb])
	s.addEffect("%s taken back", commandText(&s.inFlight[i].command))
	s.inFlight = slices.Delete(s.inFlight, i, i+1)
}

func commandText(c *actor.Command) string {
	text := fmt.Sprintf("%s #%d", verbs[c.Verb], c.Tenure)
	if slices.Contains([]string{"acquire", "renew", "pass"}, verbs[c.Verb]) {
		text += " " + c.Lease.String()
	}
	if verbs[c.Verb] == "pass" {
		text += fmt.Sprintf(" after token %d", c.Token)
	}
	if c.Count != 0 {
		text += fmt.Sprintf(" count %d", c.Count)
	}
	if c.Reader != nil {
		text += readerText(c.Reader)
	}
	if c.CountListeners {
		text += " listeners"
		if c.ExcludeSelf {
			text += " but us"
		}
	}
	if c.Wait != 0 {
		text += fmt.Sprintf(" wait %v", c.Wait)
	}
	if len(c.Orphans) > 0 {
		text += fmt.Sprintf(" orphans %v", c.Orphans)
	}
	return text
}

func (s *harness) onResult(r *actor.Request) {
	w := s.issued[r]
	require.NotNil(s.t, w)
	require.False(s.t, w.completed, "%s has a second verdict", w.caller)
	require.True(s.t, r.Completed())
	r.Publish()
	w.completed = true
	outcome := "ok"
	switch {
	case r.Err != nil:
		outcome = r.Err.Error() + causeText(r.Cause)
	case r.Op == actor.Acquire:
		s.granted(r)
		outcome = fmt.Sprintf("granted %v", r.Hold.Until()-s.now)
		if r.Token != 0 {
			outcome += fmt.Sprintf(" token %d", r.Token)
		}
	case r.Op == actor.Unlock:
		outcome = "unlocked"
	case r.Op == actor.Extend:
		outcome = "extended"
	case r.Op == actor.Force:
		outcome = map[bool]string{true: "forced", false: "found it free"}[r.WasLocked]
	}
	s.addEffect("%s %s", w.caller, outcome)
}

func (s *harness) granted(r *actor.Request) {
	h := r.Hold
	require.Same(s.t, s.lock, h.Lock())
	for other := range s.until {
		require.Equal(s.t, other.Owner, h.Owner, "%s and %s at once", s.names[other], s.names[h])
		require.Equal(s.t, other.Tenure, h.Tenure)
	}
	require.NotZero(s.t, h.Owner)
	require.Equal(s.t, s.lock.Tenure(), h.Tenure)
	s.until[h] = h.Until()
}

// addChangedHolds reports every hold with a changed end.
func (s *harness) addChangedHolds() {
	var changed []string
	for h, until := range s.until {
		if h.Until() != until {
			s.until[h] = h.Until()
			changed = append(changed, fmt.Sprintf("%s has %v", s.names[h], h.Until()-s.now))
		}
	}
	slices.Sort(changed)
	s.effectTexts = append(s.effectTexts, changed...)
}

func (s *harness) check() {
	require.EqualValues(s.t, len(s.until), s.fx.Stats.Held, "gauge Held")
	waiting := 0
	for r := range s.issued {
		if r.Op == actor.Acquire && !r.Completed() {
			waiting++
		}
	}
	require.EqualValues(s.t, waiting, s.fx.Stats.Waiting, "gauge Waiting")
	if s.closed || !s.lock.Idle() || s.lock.Key() == "" {
		return
	}
	for r, w := range s.issued {
		require.True(s.t, r.Completed(), "idle while %s waits for a verdict (kind %d)", w.caller, r.Op)
	}
	s.lock.Clear(s.fx)
	require.Zero(s.t, s.wheel.Len(), "timers of an idle lock")
	require.Zero(s.t, s.fx.HeldLocks, "tenures of an idle lock")
	require.Zero(s.t, s.fx.ReleasingLocks, "releases of an idle lock")
}

// causeText formats a cause.
func causeText(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
