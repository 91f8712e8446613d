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

// runTranscript plays a conversation with one lock and compares its effects with what is expected. Each line is a time,
// an event, and after an arrow its effects:
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
//	A cancels [expected] (its latest request), A? (state of its hold), A counts
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
// Others, with the event or the method that each stands for:
//
//	message              Notified: a pub/sub message
//	subscribed           Subscribed
//	subscribe failed     SubscribeFailed
//	subscription lost    Lock.SubscriptionLost
//	orphan seen          OrphanSeen: a tenure of this engine is in Redis without a holder
//	displaced            Displaced: another lock was granted the same key
//	forced with another  Evicted: a force of another lock of the name takes this one away, too
//	writer gone          WriterGone: a reader need not let a writer go first any longer
//	queue head           QueueHead: first of its engine in the fair queue
//	beside               Lock.ContinueUnderWriter: its owner writes since
//	shared, unshared     Lock.SetLocalReaders, true and false
//	aside 1s             Lock.YieldUntil, 1s from now
//	reconfirm            Reconfirm: confirmations until now do not count
//	drain                Drain: the engine shuts down
//	close                Lock.Close
//	round trip 3ms       Effects.RoundTrip
//	next                 shows when the next timer fires
//
// Of the replies, refused is Rejected, and unanswered is NoReply. garbled is NoReply with a malformed reply, gone is
// NotFound, and muted says that PUBLISH was rejected.
//
// A fenced lock's replies have a token: granted token 5, renewed token 6.
//
// For a fair lock:
//   - taken 5s holder left 10s: 10s left in the queue; without left there is no place,
//   - taken 5s free [preceded]: the lock is free and another waiter's turn,
//   - taken 5s me:7 known [doomed]: another lock of this engine has it, or will release it.
//
// A conversation must end with the lock idle, one result for every request, and nothing on the wheel.
func runTranscript(t *testing.T, transcript string, changes ...func(*actor.Config)) {
	t.Helper()
	runTranscriptOf(t, actor.Plain, transcript, changes...)
}

// runTranscriptOf is runTranscript with a lock of another kind.
func runTranscriptOf(t *testing.T, kind actor.LockKind, transcript string, changes ...func(*actor.Config)) {
	t.Helper()
	config := defaultConfig()
	for _, change := range changes {
		change(&config)
	}
	s := newHarness(t, config)
	s.setKind(kind)
	var want, got []string
	for line := range strings.Lines(transcript) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		want = append(want, line)
		got = append(got, s.line(line)...)
	}
	got = append(got, s.finish()...)
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// defaultConfig returns a configuration without spreading of renewals, and with a FairWaitTimeout of ten leases.
func defaultConfig() actor.Config {
	return actor.Config{
		ID: "me", Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second,
		MaxHandoffGrants: 64, MaxHandoffTime: 5 * time.Millisecond, FairWaitTimeout: 5 * time.Minute, Seed: 1,
	}
}

// line plays one line, and the timers before it.
func (s *harness) line(line string) (got []string) {
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
	s.apply(strings.Fields(stimulus))
	return append(got, fmt.Sprintf("%s %s → %s", moment, stimulus, s.effects()))
}

// play plays lines with effects that do not matter, or are examined afterwards. It returns the effects of the last.
func (s *harness) play(lines ...string) (effects string) {
	for _, line := range lines {
		got := s.line(line)
		_, effects, _ = strings.Cut(got[len(got)-1], " → ")
	}
	return effects
}

// timerLine lets time pass until a timer has an effect, and shows the expected time if that is right.
func (s *harness) timerLine(moment string) string {
	from := s.now
	effects := s.untilVisible()
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

// untilVisible lets time pass until a timer has a visible effect.
func (s *harness) untilVisible() string {
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

// finish fires all remaining timers, and returns what is wrong at the end.
func (s *harness) finish() (got []string) {
	if s.closed {
		require.Zero(s.t, s.wheel.Len(), "timers are left after Close")
		return s.incomplete()
	}
	for range 100 {
		effects := s.untilVisible()
		if effects == "nothing" {
			break
		}
		got = append(got, fmt.Sprintf("%v timer → %s", s.now, effects))
	}
	if !s.lock.Idle() {
		got = append(got, "not idle")
	}
	for _, f := range s.inFlight {
		got = append(got, "under way: "+commandText(&f.command))
	}
	if s.listening {
		got = append(got, "still listening")
	}
	if n := s.wheel.Len(); n != 0 {
		got = append(got, fmt.Sprintf("%d timers are left", n))
	}
	if s.fx.HeldLocks != 0 {
		got = append(got, fmt.Sprintf("%d tenures are left", s.fx.HeldLocks))
	}
	return append(got, s.incomplete()...)
}

// incomplete returns the requests without a result.
func (s *harness) incomplete() (got []string) {
	for _, w := range s.issued {
		if !w.completed {
			got = append(got, fmt.Sprintf("%s has no verdict for kind %d", w.caller, w.request.Op))
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

func (s *harness) moment(text string) (at time.Duration, asleep bool) {
	text, asleep = strings.CutPrefix(text, "!")
	return duration(s.t, text, s.now), asleep
}

// apply plays one event.
func (s *harness) apply(words []string) {
	what := strings.Join(words, " ")
	if tenure, ok := strings.CutPrefix(words[0], "#"); ok {
		number, err := strconv.ParseUint(tenure, 10, 64)
		require.NoError(s.t, err)
		s.replyLine(number, words[1:])
		return
	}
	switch what {
	case "message":
		s.step(&actor.Message{Event: actor.Notified})
	case "orphan seen":
		s.step(&actor.Message{Event: actor.OrphanSeen})
	case "displaced":
		s.step(&actor.Message{Event: actor.Displaced})
	case "forced with another":
		s.step(&actor.Message{Event: actor.Evicted})
	case "subscribed":
		s.step(&actor.Message{Event: actor.Subscribed})
	case "beside": // of an owner that writes since
		s.lock.ContinueUnderWriter(s.now, actor.NewLock(key, actor.Write), true)
		return
	case "writer gone":
		s.step(&actor.Message{Event: actor.WriterGone})
	case "queue head":
		s.step(&actor.Message{Event: actor.QueueHead})
	case "shared", "unshared":
		s.lock.SetLocalReaders(what == "shared")
	case "subscription lost":
		s.lock.SubscriptionLost()
	case "subscribe failed":
		s.step(&actor.Message{Event: actor.SubscribeFailed})
	case "reconfirm":
		s.fx.ReconfirmSince = s.now
		s.step(&actor.Message{Event: actor.Reconfirm})
	case "drain":
		s.fx.Draining = true
		s.step(&actor.Message{Event: actor.Drain})
	case "close":
		s.lock.Close(s.now, s.fx)
		s.closed = true
		s.after()
	case "next":
		if at, ok := s.wheel.Next(); ok {
			s.addEffect("in %v", at-s.now)
		} else {
			s.addEffect("never")
		}
	default:
		switch words[0] {
		case "aside":
			if s.lock.Key() == "" {
				s.lock.Reset(key, s.kind)
			}
			s.lock.YieldUntil(s.now + duration(s.t, words[1], 0))
		case "round":
			s.fx.RoundTrip = duration(s.t, words[2], 0)
		default:
			s.callerLine(words[0], words[1:])
		}
	}
}

// callerLine plays a caller's request.
func (s *harness) callerLine(who string, words []string) {
	c := s.callers[who]
	if c == nil {
		c = &caller{}
		s.callers[who] = c
	}
	if who, ok := strings.CutSuffix(who, "?"); ok {
		s.showHold(who)
		return
	}
	r := &actor.Request{Name: key, Key: key, Hold: c.hold}
	switch words[0] {
	case "locks":
		c.hold = &actor.Hold{}
		s.names[c.hold] = who
		r.Op, r.Hold = actor.Acquire, c.hold
		s.options(r, words[1:])
	case "unlocks":
		r.Op = actor.Unlock
	case "extends":
		r.Op, r.Lease = actor.Extend, duration(s.t, words[1], 0)
	case "watches":
		r.Op = actor.Extend
	case "forces":
		r.Op = actor.Force
	case "counts":
		s.addEffect("%d", s.lock.HoldCount(c.hold.Owner, s.now))
		return
	case "cancels":
		var why error
		if len(words) > 1 {
			why = errors.New(strings.Join(words[1:], " "))
		}
		s.step(&actor.Message{Event: actor.Cancel, Request: c.last.request, Cause: why})
		return
	default:
		s.t.Fatalf("not understood: %s %v", who, words)
	}
	c.last = &issuedRequest{caller: who, request: r}
	s.issued[r] = c.last
	s.fx.Receive(s.now, r)
	s.step(&actor.Message{Event: actor.Requested, Request: r})
}

func (s *harness) options(r *actor.Request, words []string) {
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

// showHold describes a caller's hold.
func (s *harness) showHold(who string) {
	h := s.callers[who].hold
	if _, live := s.until[h]; live && s.now < h.Until() {
		s.addEffect("held for %v", h.Until()-s.now)
	} else {
		s.addEffect("not held")
	}
}

// replyLine plays what happens to the command of a tenure.
func (s *harness) replyLine(tenure uint64, words []string) {
	verb := ""
	if slices.Contains(verbs[:], words[0]) {
		verb, words = words[0], words[1:]
	}
	i := slices.IndexFunc(s.inFlight, func(f *sentCommand) bool {
		return f.command.Tenure == tenure && (verb == "" || verbs[f.command.Verb] == verb)
	})
	if i < 0 {
		s.addEffect("nothing of #%d is under way", tenure)
		return
	}
	f := s.inFlight[i]
	if words[0] == "leaves" {
		f.sent = s.now
		return
	}
	switch words[0] {
	case "waits":
		f.requeued = true
		s.lock.SetDispatched(&f.command, false)
		return
	case "departs":
		f.requeued = false
		s.lock.SetDispatched(&f.command, true)
		return
	}
	s.inFlight = slices.Delete(s.inFlight, i, i+1)
	if words[0] == "returned" {
		f.requeued = true
		if s.step(&actor.Message{Event: actor.Requeued, Command: &f.command}); s.lock.StillWants(&f.command) {
			s.inFlight = append(s.inFlight, f)
		}
		return
	}
	s.step(&actor.Message{Event: actor.Replied, Command: &f.command, Reply: s.reply(&f.command, words), Sent: f.sent})
}

var verbs = [...]string{
	actor.SendAcquire: "acquire", actor.SendRenew: "renew", actor.SendRelease: "release", actor.SendForce: "force",
	actor.SendFencedAcquire: "acquire", actor.SendFencedRenew: "pass",
	actor.SendFairAcquire: "acquire", actor.SendFairRelease: "release", actor.SendFairForce: "force",
	actor.SendReadAcquire: "acquire", actor.SendReadRenew: "renew", actor.SendReadRelease: "release", actor.SendReadForce: "force",
	actor.SendWriteAcquire: "acquire", actor.SendWriteRenew: "renew", actor.SendWriteRelease: "release", actor.SendWriteForce: "force",
}

// answers maps replies to the verbs that they fit, if they fit some only.
var answers = map[string][]string{
	"granted": {"acquire"}, "taken": {"acquire"}, "renewed": {"renew", "pass"}, "released": {"release"}, "forced": {"force"},
}

func (s *harness) reply(c *actor.Command, words []string) *actor.Reply {
	if fits, ok := answers[words[0]]; ok && !slices.Contains(fits, verbs[c.Verb]) {
		s.addEffect("%q does not answer %s", words[0], commandText(c))
	}
	reply := &actor.Reply{Status: actor.OK, Listeners: -1}
	text := strings.Join(words[1:], " ")
	switch words[0] {
	case "taken":
		ttl := duration(s.t, words[1], 0)
		*reply = actor.Reply{Status: actor.HeldByOther, TTL: ttl, Holder: words[2], HolderIsOurs: slices.Contains(words, "known"), HolderReleasing: slices.Contains(words, "doomed")}
		reply.NotHead = slices.Contains(words, "preceded")
		if i := slices.Index(words, "left"); i > 0 {
			reply.QueueTTL = duration(s.t, words[i+1], 0)
		}
		if words[2] == "free" {
			reply.Holder = ""
		}
		if s.kind == actor.Read {
			reply.Writer, reply.Holder = reply.Holder, ""
		}
	case "gone":
		reply.Status = actor.NotFound
	case "refused":
		*reply = actor.Reply{Status: actor.Rejected, Err: errors.New(text)}
	case "garbled":
		*reply = actor.Reply{Err: errors.New("nonsense"), Malformed: true}
	case "unanswered":
		*reply = actor.Reply{Err: errors.New(text)}
	default:
		if i := slices.Index(words, "by"); i > 0 {
			n, err := strconv.Atoi(words[i+1])
			require.NoError(s.t, err)
			reply.Replicas = n
		}
		reply.Unpublished = slices.Contains(words, "muted")
		reply.CountNotStored = slices.Contains(words, "uncounted")
		if n, ok := s.numberAfter("listeners", words); ok {
			reply.Listeners = n
		}
		if n, ok := s.numberAfter("token", words); ok {
			reply.Token = uint64(n)
		}
	}
	return reply
}

func (s *harness) numberAfter(word string, words []string) (n int, ok bool) {
	i := slices.Index(words, word)
	if i < 0 {
		return 0, false
	}
	n, err := strconv.Atoi(words[i+1])
	require.NoError(s.t, err)
	return n, true
}
