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

// stage is one lock with its wheel, its callers, and the commands in flight.
type stage struct {
	t     testing.TB
	kind  actor.LockKind
	lock  *actor.Lock
	fx    *actor.Effects
	wheel *wheel.Wheel[actor.Sleeper]
	now   time.Duration

	callers  map[string]*caller
	names    map[*actor.Hold]string
	wishes   map[*actor.Request]*wish
	until    map[*actor.Hold]time.Duration // of live holds
	underWay []*flying
	hears    bool
	lastHeld time.Duration // as the last hold's end reported
	closed   bool

	said  []string // effects since the line began
	wakes int
}

type caller struct {
	hold   *actor.Hold
	latest *wish
}

type wish struct {
	who     string
	request *actor.Request
	decided bool
}

type flying struct {
	command actor.Command
	sent    time.Duration
	waits   bool // it has not left, or has to be sent again
}

const key = "k"

func newStage(t testing.TB, config actor.Config) *stage {
	timers, err := wheel.New[actor.Sleeper](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	return &stage{
		t:       t,
		lock:    actor.NewLock(key, actor.Plain),
		fx:      actor.NewEffects(config, timers),
		wheel:   timers,
		callers: map[string]*caller{},
		names:   map[*actor.Hold]string{},
		wishes:  map[*actor.Request]*wish{},
		until:   map[*actor.Hold]time.Duration{},
	}
}

// as changes the lock's kind.
func (s *stage) as(kind actor.LockKind) {
	s.kind = kind
	s.lock.Begin(key, kind)
}

// fire fires the timers that are due at a time.
func (s *stage) fire(at time.Duration) string {
	s.now = max(at, s.now)
	s.wakes++
	s.wheel.Advance(s.now, func(t *wheel.Timer[actor.Sleeper]) {
		t.Value.Wake(s.now, s.fx)
		s.after()
	})
	return s.effects()
}

func (s *stage) effects() string {
	text := strings.Join(s.said, "; ")
	s.said = nil
	if text == "" {
		return "nothing"
	}
	return text
}

func (s *stage) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *stage) step(m *actor.Message) {
	if s.lock.Key() == "" {
		s.lock.Begin(key, s.kind)
	}
	s.lock.Step(s.now, m, s.fx)
	s.after()
}

// after records the effects of a step, and checks what must be true after every step.
func (s *stage) after() {
	for _, e := range s.fx.Ended {
		s.end(e)
	}
	for _, verb := range s.fx.Recalled {
		s.takenBack(verb)
	}
	for _, c := range s.fx.Commands {
		require.True(s.t, s.lock.Wants(&c), "%s is not to leave", shown(&c))
		s.lock.Depart(&c, true)
		s.send(c)
	}
	for _, l := range s.fx.Listen {
		require.NotEqual(s.t, s.hears, l.On, "listening is wished for twice")
		s.hears = l.On
		s.say("%s", map[bool]string{true: "listen", false: "leave"}[l.On])
	}
	for _, r := range s.fx.Verdicts {
		s.decide(r)
	}
	s.fx.Ended, s.fx.Commands, s.fx.Listen, s.fx.Verdicts, s.fx.Recalled = nil, nil, nil, nil, nil
	s.sayChanged()
	s.check()
}

func (s *stage) end(e actor.Ended) {
	_, live := s.until[e.Hold]
	require.True(s.t, live, "%s ends twice", s.names[e.Hold])
	delete(s.until, e.Hold)
	e.Hold.End(e.Err, e.Cause, 0)
	s.lastHeld = e.Held
	how := map[error]string{actor.ErrNotHeld: "over", actor.ErrLost: "lost", actor.ErrClosed: "closed"}[e.Err]
	s.say("%s %s%s", s.names[e.Hold], how, because(e.Cause))
}

// send puts a command in flight. The lock's current tenure has at most one; of an earlier tenure, only the release may
// be added while another command is still in flight.
func (s *stage) send(c actor.Command) {
	for _, f := range s.underWay {
		if f.command.Tenure != c.Tenure {
			continue
		}
		haunts := c.Tenure != s.lock.Tenure() && verbs[c.Verb] == "release"
		if !haunts {
			s.t.Errorf("two commands of one tenure under way: %s, %s", shown(&f.command), shown(&c))
		}
	}
	require.Equal(s.t, key, c.Key)
	require.Same(s.t, s.lock, c.Lock)
	s.underWay = append(s.underWay, &flying{command: c, sent: s.now})
	s.say("%s", shown(&c))
}

// takenBack records that a command which has not left must not leave.
func (s *stage) takenBack(verb actor.Verb) {
	i := slices.IndexFunc(s.underWay, func(f *flying) bool { return f.command.Verb == verb && f.waits && !s.lock.Wants(&f.command) })
	require.NotEqual(s.t, -1, i, "no %s waits that could be taken back", verbs[verb])
	s.say("%s taken back", shown(&s.underWay[i].command))
	s.underWay = slices.Delete(s.underWay, i, i+1)
}

func shown(c *actor.Command) string {
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
	if c.Reads != nil {
		text += shownReads(c.Reads)
	}
	if c.Listen {
		text += " listeners"
		if c.Own {
			text += " but us"
		}
	}
	if c.Wait != 0 {
		text += fmt.Sprintf(" wait %v", c.Wait)
	}
	if len(c.Ghosts) > 0 {
		text += fmt.Sprintf(" ghosts %v", c.Ghosts)
	}
	return text
}

func (s *stage) decide(r *actor.Request) {
	w := s.wishes[r]
	require.NotNil(s.t, w)
	require.False(s.t, w.decided, "%s has a second verdict", w.who)
	require.True(s.t, r.Decided())
	w.decided = true
	outcome := "ok"
	switch {
	case r.Err != nil:
		outcome = r.Err.Error() + because(r.Cause)
	case r.Tag == actor.Acquire:
		s.granted(r)
		outcome = fmt.Sprintf("granted %v", r.Hold.Until()-s.now)
		if r.Token != 0 {
			outcome += fmt.Sprintf(" token %d", r.Token)
		}
	case r.Tag == actor.Unlock:
		outcome = "unlocked"
	case r.Tag == actor.Extend:
		outcome = "extended"
	case r.Tag == actor.Force:
		outcome = map[bool]string{true: "forced", false: "found it free"}[r.Was]
	}
	s.say("%s %s", w.who, outcome)
}

func (s *stage) granted(r *actor.Request) {
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

// sayChanged reports every hold with a changed end.
func (s *stage) sayChanged() {
	var changed []string
	for h, until := range s.until {
		if h.Until() != until {
			s.until[h] = h.Until()
			changed = append(changed, fmt.Sprintf("%s has %v", s.names[h], h.Until()-s.now))
		}
	}
	slices.Sort(changed)
	s.said = append(s.said, changed...)
}

func (s *stage) check() {
	require.EqualValues(s.t, len(s.until), s.fx.Stats.Held, "gauge Held")
	waiting := 0
	for r := range s.wishes {
		if r.Tag == actor.Acquire && !r.Decided() {
			waiting++
		}
	}
	require.EqualValues(s.t, waiting, s.fx.Stats.Waiting, "gauge Waiting")
	if s.closed || !s.lock.Idle() || s.lock.Key() == "" {
		return
	}
	for r, w := range s.wishes {
		require.True(s.t, r.Decided(), "idle while %s waits for a verdict (kind %d)", w.who, r.Tag)
	}
	s.lock.Finish(s.fx)
	require.Zero(s.t, s.wheel.Len(), "timers of an idle lock")
	require.Zero(s.t, s.fx.Tenures, "tenures of an idle lock")
}

// because formats a cause.
func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}
