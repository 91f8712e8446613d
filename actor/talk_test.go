package actor_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// talk plays a conversation with one lock and compares its effects with what is expected. Each line is a time, an
// event, and after an arrow its effects:
//
//	0s      A locks              → acquire #1 30s
//	1ms     #1 granted           → A granted 29.689s
//	10.005s timer                → renew #1 30s
//	+2ms    #1 renewed           → A has 29.688s
//	+1s     A unlocks            → A over; release #1
//	+1ms    #1 released          → A unlocked
//
// A time is absolute, or with + counted from the line before. With ! the loop slept over all timers until then, as in a
// process that was stopped. #n is the command in flight of that tenure. Of a hold, the remaining time by the clock is
// shown: when it is granted, and whenever it changes. "timer" is the next timer with a visible effect, and its time may
// be a range. A line that begins with // is a comment.
//
// Callers:  A locks [once] [lease 1s] [wait 1s] [as B|as thread 7], A unlocks, A extends 1s, A watches, A forces,
//
//	A cancels [why] (its latest request), A? (state of its hold), A counts
//
// Replies:  granted [by 1], taken 5s holder, renewed [listeners 2] [uncounted], released [muted], forced [muted], gone,
//
//	refused TEXT, unanswered TEXT, garbled, waits (it has not left), departs, returned (to be sent again);
//	with several of one tenure in flight, the verb comes first;
//	#1 leaves: the command leaves only now, so that leases count from here
//
// A reader's renewal shows the leases of its holds, unless there is one with the tenure's lease, and whether the TTL
// may fall.
//
// Others:   message, shared, unshared, aside 1s, called, foremost, subscribed, found, displaced, deafened, unheard, doubt,
//
//	drain, close, round trip 3ms, next
//
// A fenced lock's replies have a token: granted token 5, renewed token 6.
//
// For a fair lock:
//   - taken 5s holder left 10s: 10s left in the queue; without left there is no place,
//   - taken 5s free [preceded]: the lock is free and another waiter's turn,
//   - taken 5s me:7 known [doomed]: another lock of this engine has it, or will release it.
//
// A conversation must end with the lock idle, one result for every request, and nothing on the wheel.
func talk(t *testing.T, conversation string, changes ...func(*actor.Config)) {
	t.Helper()
	talkOf(t, actor.Plain, conversation, changes...)
}

// talkOf is talk with a lock of another kind.
func talkOf(t *testing.T, kind actor.LockKind, conversation string, changes ...func(*actor.Config)) {
	t.Helper()
	config := usual()
	for _, change := range changes {
		change(&config)
	}
	s := newStage(t, config)
	s.as(kind)
	var want, got []string
	for line := range strings.Lines(conversation) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		want = append(want, line)
		got = append(got, s.line(line)...)
	}
	got = append(got, s.rest()...)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// usual returns the configuration of an engine with default options.
func usual() actor.Config {
	return actor.Config{
		ID: "me", Lease: 30 * time.Second, Renew: 10 * time.Second, Timeout: 3 * time.Second,
		HandoffMax: 64, HandoffFor: 5 * time.Millisecond, FairWait: 5 * time.Minute, Seed: 1,
	}
}

// line plays one line, and the timers before it.
func (s *stage) line(line string) (got []string) {
	stimulus, _, _ := strings.Cut(line, " →")
	moment, stimulus, _ := strings.Cut(stimulus, " ")
	if stimulus == "timer" {
		return []string{s.timerLine(moment)}
	}
	at, asleep := s.moment(moment)
	for !asleep {
		due, ok := s.wheel.Next()
		if !ok || due > at {
			break
		}
		if effects := s.fire(due); effects != "nothing" {
			got = append(got, fmt.Sprintf("%v timer → %s", s.now, effects))
		}
	}
	if at < s.now {
		return append(got, fmt.Sprintf("%s %s → it is %v already", moment, stimulus, s.now))
	}
	s.now = at
	s.happen(strings.Fields(stimulus))
	return append(got, fmt.Sprintf("%s %s → %s", moment, stimulus, s.effects()))
}

// play plays lines with effects that do not matter, or are examined afterwards. It returns the effects of the last.
func (s *stage) play(lines ...string) (effects string) {
	for _, line := range lines {
		got := s.line(line)
		_, effects, _ = strings.Cut(got[len(got)-1], " → ")
	}
	return effects
}

// timerLine lets time pass until a timer has an effect, and shows the expected time if that is right.
func (s *stage) timerLine(moment string) string {
	from := s.now
	effects := s.untilSeen()
	if effects == "nothing" {
		return moment + " timer → never"
	}
	first, last, isRange := strings.Cut(moment, "..")
	if isRange {
		first, last := duration(s.t, first, from), duration(s.t, last, from)
		if s.now < first || s.now > last {
			moment = s.now.String()
		}
	} else if duration(s.t, moment, from) != s.now {
		moment = s.now.String()
	}
	return moment + " timer → " + effects
}

// untilSeen lets time pass until a timer has a visible effect.
func (s *stage) untilSeen() string {
	for range 100 {
		due, ok := s.wheel.Next()
		if !ok {
			break
		}
		if effects := s.fire(due); effects != "nothing" {
			return effects
		}
	}
	return "nothing"
}

// rest fires all remaining timers, and returns what is wrong at the end.
func (s *stage) rest() (got []string) {
	if s.closed {
		require.Zero(s.t, s.wheel.Len(), "timers are left after Close")
		return s.undecided()
	}
	for range 100 {
		effects := s.untilSeen()
		if effects == "nothing" {
			break
		}
		got = append(got, fmt.Sprintf("%v timer → %s", s.now, effects))
	}
	if !s.lock.Idle() {
		got = append(got, "not idle")
	}
	for _, f := range s.underWay {
		got = append(got, "under way: "+shown(&f.command))
	}
	if s.hears {
		got = append(got, "still listening")
	}
	if n := s.wheel.Len(); n != 0 {
		got = append(got, fmt.Sprintf("%d timers are left", n))
	}
	if s.fx.Tenures != 0 {
		got = append(got, fmt.Sprintf("%d tenures are left", s.fx.Tenures))
	}
	return append(got, s.undecided()...)
}

// undecided returns the requests without a result.
func (s *stage) undecided() (got []string) {
	for _, w := range s.wishes {
		if !w.decided {
			got = append(got, fmt.Sprintf("%s has no verdict for kind %d", w.who, w.request.Tag))
		}
	}
	if n := s.fx.Stats.Waiting; n != int64(len(got)) && n != 0 {
		got = append(got, fmt.Sprintf("gauge Waiting is %d", n))
	}
	return got
}

func duration(t testing.TB, text string, from time.Duration) time.Duration {
	t.Helper()
	relative := strings.HasPrefix(text, "+")
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	if relative {
		d += from
	}
	return d
}

func (s *stage) moment(text string) (at time.Duration, asleep bool) {
	text, asleep = strings.CutPrefix(text, "!")
	return duration(s.t, text, s.now), asleep
}

// happen plays one event.
func (s *stage) happen(words []string) {
	what := strings.Join(words, " ")
	if tenure, ok := strings.CutPrefix(words[0], "#"); ok {
		number, err := strconv.ParseUint(tenure, 10, 64)
		require.NoError(s.t, err)
		s.answered(number, words[1:])
		return
	}
	switch what {
	case "message":
		s.step(&actor.Message{Kind: actor.Heard})
	case "found":
		s.step(&actor.Message{Kind: actor.Found})
	case "displaced":
		s.step(&actor.Message{Kind: actor.Displaced})
	case "forced with another":
		s.step(&actor.Message{Kind: actor.Ousted})
	case "subscribed":
		s.step(&actor.Message{Kind: actor.Subscribed})
	case "beside": // of an owner that writes since
		s.lock.GoBeside(s.now, actor.NewLock(key, actor.Write), true)
		return
	case "called":
		s.step(&actor.Message{Kind: actor.Called})
	case "foremost":
		s.step(&actor.Message{Kind: actor.Foremost})
	case "shared", "unshared":
		s.lock.Share(what == "shared")
	case "deafened":
		s.lock.Deafen()
	case "unheard":
		s.step(&actor.Message{Kind: actor.Unheard})
	case "doubt":
		s.fx.Doubted = s.now
		s.step(&actor.Message{Kind: actor.Doubt})
	case "drain":
		s.fx.Draining = true
		s.step(&actor.Message{Kind: actor.Drain})
	case "close":
		s.lock.Close(s.now, s.fx)
		s.closed = true
		s.after()
	case "next":
		if at, ok := s.wheel.Next(); ok {
			s.say("in %v", at-s.now)
		} else {
			s.say("never")
		}
	default:
		switch words[0] {
		case "aside":
			if s.lock.Key() == "" {
				s.lock.Begin(key, s.kind)
			}
			s.lock.StandAside(s.now + duration(s.t, words[1], 0))
		case "round":
			s.fx.RoundTrip = duration(s.t, words[2], 0)
		default:
			s.asked(words[0], words[1:])
		}
	}
}

// asked plays a caller's request.
func (s *stage) asked(who string, words []string) {
	c := s.callers[who]
	if c == nil {
		c = &caller{}
		s.callers[who] = c
	}
	if who, ok := strings.CutSuffix(who, "?"); ok {
		s.look(who)
		return
	}
	r := &actor.Request{Name: key, Key: key, Hold: c.hold}
	switch words[0] {
	case "locks":
		c.hold = &actor.Hold{}
		s.names[c.hold] = who
		r.Tag, r.Hold = actor.Acquire, c.hold
		s.options(r, words[1:])
	case "unlocks":
		r.Tag = actor.Unlock
	case "extends":
		r.Tag, r.Lease = actor.Extend, duration(s.t, words[1], 0)
	case "watches":
		r.Tag = actor.Extend
	case "forces":
		r.Tag = actor.Force
	case "counts":
		s.say("%d", s.lock.CountOf(c.hold.Owner, s.now))
		return
	case "cancels":
		var why error
		if len(words) > 1 {
			why = errors.New(strings.Join(words[1:], " "))
		}
		s.step(&actor.Message{Kind: actor.Cancel, Request: c.latest.request, Cause: why})
		return
	default:
		s.t.Fatalf("not understood: %s %v", who, words)
	}
	c.latest = &wish{who: who, request: r}
	s.wishes[r] = c.latest
	s.fx.Admit(s.now, r)
	s.step(&actor.Message{Kind: r.Tag, Request: r})
}

func (s *stage) options(r *actor.Request, words []string) {
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case "once":
			r.Once = true
		case "lease":
			i++
			r.Lease = duration(s.t, words[i], 0)
		case "wait":
			i++
			r.Wait = duration(s.t, words[i], 0)
		case "as":
			i++
			if words[i] == "thread" {
				i++
				number, err := strconv.ParseUint(words[i], 10, 64)
				require.NoError(s.t, err)
				r.Owner = actor.ThreadOwner | number
			} else {
				r.Owner = s.callers[words[i]].hold.Owner
			}
		default:
			s.t.Fatalf("not understood: %v", words)
		}
	}
}

// look describes a caller's hold.
func (s *stage) look(who string) {
	h := s.callers[who].hold
	if _, live := s.until[h]; live && s.now < h.Until() {
		s.say("held for %v", h.Until()-s.now)
	} else {
		s.say("not held")
	}
}

// answered plays what happens to the command of a tenure.
func (s *stage) answered(tenure uint64, words []string) {
	verb := ""
	if slices.Contains(verbs[:], words[0]) {
		verb, words = words[0], words[1:]
	}
	i := slices.IndexFunc(s.underWay, func(f *flying) bool {
		return f.command.Tenure == tenure && (verb == "" || verbs[f.command.Verb] == verb)
	})
	if i < 0 {
		s.say("nothing of #%d is under way", tenure)
		return
	}
	f := s.underWay[i]
	if words[0] == "leaves" {
		f.sent = s.now
		return
	}
	switch words[0] {
	case "waits":
		f.waits = true
		s.lock.Depart(&f.command, false)
		return
	case "departs":
		f.waits = false
		s.lock.Depart(&f.command, true)
		return
	}
	s.underWay = slices.Delete(s.underWay, i, i+1)
	if words[0] == "returned" {
		f.waits = true
		if s.step(&actor.Message{Kind: actor.Returned, Command: &f.command}); s.lock.Wants(&f.command) {
			s.underWay = append(s.underWay, f)
		}
		return
	}
	s.step(&actor.Message{Kind: actor.Answered, Command: &f.command, Reply: s.reply(&f.command, words), Sent: f.sent})
}

var verbs = [...]string{
	actor.SendAcquire: "acquire", actor.SendRenew: "renew", actor.SendRelease: "release", actor.SendForce: "force",
	actor.SendFencedAcquire: "acquire", actor.SendFencedPass: "pass",
	actor.SendFairAcquire: "acquire", actor.SendFairRelease: "release", actor.SendFairForce: "force",
	actor.SendReadAcquire: "acquire", actor.SendReadRenew: "renew", actor.SendReadRelease: "release", actor.SendReadForce: "force",
	actor.SendWriteAcquire: "acquire", actor.SendWriteRenew: "renew", actor.SendWriteRelease: "release", actor.SendWriteForce: "force",
}

// answers maps replies to the verbs that they fit, if they fit some only.
var answers = map[string][]string{
	"granted": {"acquire"}, "taken": {"acquire"}, "renewed": {"renew", "pass"}, "released": {"release"}, "forced": {"force"},
}

func (s *stage) reply(c *actor.Command, words []string) *actor.Reply {
	if fits, ok := answers[words[0]]; ok && !slices.Contains(fits, verbs[c.Verb]) {
		s.say("%q does not answer %s", words[0], shown(c))
	}
	reply := &actor.Reply{Status: actor.Done, Listeners: -1}
	text := strings.Join(words[1:], " ")
	switch words[0] {
	case "taken":
		ttl := duration(s.t, words[1], 0)
		*reply = actor.Reply{Status: actor.Taken, TTL: ttl, Holder: words[2], Known: slices.Contains(words, "known"), Doomed: slices.Contains(words, "doomed")}
		reply.Preceded = slices.Contains(words, "preceded")
		if i := slices.Index(words, "left"); i > 0 {
			reply.Left = duration(s.t, words[i+1], 0)
		}
		if words[2] == "free" {
			reply.Holder = ""
		}
		if s.kind == actor.Read {
			reply.Writer, reply.Holder = reply.Holder, ""
		}
	case "gone":
		reply.Status = actor.Gone
	case "refused":
		*reply = actor.Reply{Status: actor.Refused, Err: errors.New(text)}
	case "garbled":
		*reply = actor.Reply{Err: errors.New("nonsense"), Garbled: true}
	case "unanswered":
		*reply = actor.Reply{Err: errors.New(text)}
	default:
		if i := slices.Index(words, "by"); i > 0 {
			n, err := strconv.Atoi(words[i+1])
			require.NoError(s.t, err)
			reply.Replicas = n
		}
		reply.Muted = slices.Contains(words, "muted")
		reply.Uncounted = slices.Contains(words, "uncounted")
		if n, ok := s.numberAfter("listeners", words); ok {
			reply.Listeners = n
		}
		if n, ok := s.numberAfter("token", words); ok {
			reply.Token = uint64(n)
		}
	}
	return reply
}

func (s *stage) numberAfter(word string, words []string) (n int, ok bool) {
	i := slices.Index(words, word)
	if i < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(words[i+1])
	require.NoError(s.t, err)
	return n, true
}
