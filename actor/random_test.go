package actor_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

var seed = flag.Uint64("actor.seed", 0, "replay this seed of the random conversations")

// eachSeed runs a random conversation many times. One that fails prints how to replay it.
func eachSeed(t *testing.T, runs uint64, run func(t *testing.T, random *rand.Rand)) {
	first, last := uint64(1), runs
	if testing.Short() {
		last = runs / 10
	}
	if *seed != 0 {
		first, last = *seed, *seed
	}
	for n := first; n <= last; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("replay: go test ./actor -run %s -actor.seed %d", strings.SplitN(t.Name(), "/", 2)[0], n)
				}
			}()
			run(t, rand.New(rand.NewPCG(n, 1)))
		})
		if t.Failed() {
			return
		}
	}
}

// party is a stage on which everything happens at random.
type party struct {
	*stage
	random   *rand.Rand
	story    []string
	holds    []*actor.Hold // live
	requests []*actor.Request
	owners   []uint64 // also of holds that ended
	calm     bool     // nothing new any more
	server   *server
}

func newParty(t *testing.T, random *rand.Rand) *party {
	config := usual()
	config.Seed = random.Uint64()
	if random.IntN(3) == 0 {
		config.Lease, config.Renew, config.Timeout = 200*time.Millisecond, 66*time.Millisecond, 33*time.Millisecond
	}
	if random.IntN(4) == 0 {
		config.MaxHold = config.Lease/2 + time.Duration(random.Int64N(int64(2*config.Lease)))
	}
	config.HandoffMax = []int{-1, 1, 2, 64}[random.IntN(4)]
	p := &party{stage: newStage(t, config), random: random, server: &server{}}
	p.now = time.Duration(random.Int64N(int64(time.Second)))
	p.fx.RoundTrip = time.Duration(random.Int64N(int64(5 * time.Millisecond)))
	return p
}

// happens is one thing of the story, with what came of it.
func (p *party) happens(what string, do func()) {
	do()
	effects := p.effects()
	p.story = append(p.story, fmt.Sprintf("%v %s → %s", p.now, what, effects))
	if p.t.Failed() {
		p.tell()
	}
}

func (p *party) tell() {
	for _, line := range p.story[max(0, len(p.story)-40):] {
		p.t.Log(line)
	}
	p.t.FailNow()
}

// pass lets time pass, turn by turn. At one moment there are few turns.
func (p *party) pass(d time.Duration) {
	until, turns, at := p.now+d, 0, p.now
	for {
		due, ok := p.wheel.Next()
		if !ok || due > until {
			break
		}
		p.happens("timer", func() { p.said = append(p.said, p.fire(due)) })
		if p.now > at {
			turns, at = 0, p.now
		}
		if turns++; turns > 5 {
			p.t.Errorf("a busy loop")
			p.tell()
		}
		p.believe()
	}
	p.now = until
}

func (p *party) duration(most time.Duration) time.Duration {
	// Of all sizes alike.
	for most > time.Millisecond && p.random.IntN(2) == 0 {
		most /= 4
	}
	return time.Duration(p.random.Int64N(int64(max(most, 2))))
}

func (p *party) live() []*actor.Hold {
	p.holds = slices.DeleteFunc(p.holds, func(h *actor.Hold) bool { _, live := p.until[h]; return !live })
	for _, r := range p.requests {
		if r.Tag != actor.Acquire || !r.Decided() || r.Err != nil {
			continue
		}
		if _, live := p.until[r.Hold]; live && !slices.Contains(p.holds, r.Hold) {
			p.holds = append(p.holds, r.Hold)
		}
	}
	return p.holds
}

func (p *party) waiting() (all []*actor.Request) {
	for _, r := range p.requests {
		if !r.Decided() {
			all = append(all, r)
		}
	}
	return all
}

func (p *party) ask(r *actor.Request, what string) {
	name := fmt.Sprint("R", len(p.requests))
	p.wishes[r] = &wish{who: name, request: r}
	p.requests = append(p.requests, r)
	if r.Tag == actor.Acquire {
		p.names[r.Hold] = name
	}
	p.happens(name+" "+what, func() {
		p.fx.Admit(p.now, r)
		p.step(&actor.Message{Kind: r.Tag, Request: r})
	})
	if r.Tag == actor.Acquire && r.Decided() && r.Err == nil {
		p.owners = append(p.owners, r.Hold.Owner)
	}
}

// wish makes somebody want something.
func (p *party) wish() {
	live := p.live()
	switch n := p.random.IntN(12); {
	case n < 5:
		r := &actor.Request{Tag: actor.Acquire, Key: key, Hold: &actor.Hold{}, Once: p.random.IntN(5) == 0}
		if p.random.IntN(3) == 0 {
			r.Lease = time.Millisecond + p.duration(4*p.fx.Config.Lease)
		}
		if !r.Once && p.random.IntN(3) == 0 {
			r.Wait = time.Millisecond + p.duration(3*p.fx.Config.Lease)
		}
		switch p.random.IntN(4) {
		case 0:
			if len(live) > 0 {
				r.Owner = live[0].Owner
			}
		case 1:
			if len(p.owners) > 0 {
				r.Owner = p.owners[p.random.IntN(len(p.owners))]
			}
		case 2:
			r.Owner = actor.ThreadOwner | uint64(p.random.IntN(2))
		}
		p.ask(r, fmt.Sprintf("locks lease %v wait %v once %v owner %d", r.Lease, r.Wait, r.Once, r.Owner))
	case n < 9 && len(live) > 0:
		h := live[p.random.IntN(len(live))]
		p.ask(&actor.Request{Tag: actor.Unlock, Hold: h}, "unlocks "+p.names[h])
	case n < 10 && len(live) > 0:
		h := live[p.random.IntN(len(live))]
		r := &actor.Request{Tag: actor.Extend, Hold: h}
		if p.random.IntN(3) > 0 {
			r.Lease = time.Millisecond + p.duration(2*p.fx.Config.Lease)
		}
		p.ask(r, fmt.Sprintf("extends %s to %v", p.names[h], r.Lease))
	case n == 10 && p.random.IntN(3) == 0:
		p.ask(&actor.Request{Tag: actor.Force, Key: key}, "forces")
	default:
		p.giveUp()
	}
}

// giveUp makes a caller leave, whether it has its verdict or not.
func (p *party) giveUp() {
	if len(p.requests) == 0 {
		return
	}
	r := p.requests[max(0, len(p.requests)-1-p.random.IntN(8))]
	p.happens(p.wishes[r].who+" cancels", func() {
		p.step(&actor.Message{Kind: actor.Cancel, Request: r, Cause: errors.New("cancelled")})
	})
}

// disturb is what happens to a lock besides callers and answers.
func (p *party) disturb() {
	switch p.random.IntN(6) {
	case 0:
		p.happens("message", func() { p.step(&actor.Message{Kind: actor.Heard}) })
	case 1:
		p.happens("subscribed", func() { p.step(&actor.Message{Kind: actor.Subscribed}) })
	case 2:
		p.happens("deafened", func() { p.lock.Deafen() })
	case 3:
		p.happens("doubt", func() {
			p.fx.Doubted = p.now
			p.step(&actor.Message{Kind: actor.Doubt})
		})
	default:
		p.pass(p.duration(2 * p.fx.Config.Lease))
	}
}

// take takes one of the commands that are under way.
func (p *party) take() *flying {
	if len(p.underWay) == 0 {
		return nil
	}
	i := p.random.IntN(len(p.underWay))
	f := p.underWay[i]
	p.underWay = slices.Delete(p.underWay, i, i+1)
	return f
}

func (p *party) answer(f *flying, reply actor.Reply) {
	text := fmt.Sprintf("%s: %s", shown(&f.command), told(&reply))
	p.happens(text, func() {
		p.step(&actor.Message{Kind: actor.Answered, Command: &f.command, Reply: &reply, Sent: f.sent})
	})
}

func told(r *actor.Reply) string {
	text := [...]string{"unanswered", "done", "gone", "taken", "refused"}[r.Status]
	if r.Status == actor.Taken {
		text += fmt.Sprintf(" %v %s", r.TTL, r.Holder)
	}
	return text + because(r.Err)
}

// leaves lets everybody go home: no wishes any more, every hold unlocked.
func (p *party) leaves() {
	p.calm = true
	for _, r := range p.waiting() {
		if r.Tag == actor.Acquire {
			p.happens(p.wishes[r].who+" cancels", func() { p.step(&actor.Message{Kind: actor.Cancel, Request: r}) })
		}
	}
	for len(p.live()) > 0 {
		h := p.live()[0]
		p.ask(&actor.Request{Tag: actor.Unlock, Hold: h}, "unlocks "+p.names[h])
	}
}

// comesToRest requires that the lock is idle after a while of answers.
func (p *party) comesToRest(answer func(*flying)) {
	for range 200 {
		for f := p.take(); f != nil; f = p.take() {
			answer(f)
		}
		if p.lock.Key() == "" && len(p.underWay) == 0 {
			break
		}
		p.pass(100 * time.Millisecond)
	}
	for range 5 {
		p.pass(p.fx.Config.Lease)
	}
	if p.lock.Key() != "" || p.wheel.Len() != 0 || p.hears || p.fx.Tenures != 0 || p.fx.Asking != 0 || len(p.waiting()) != 0 {
		p.t.Errorf("not at rest: key %q, %d timers, listening %v, %d tenures, %d asking, %d wait",
			p.lock.Key(), p.wheel.Len(), p.hears, p.fx.Tenures, p.fx.Asking, len(p.waiting()))
		p.tell()
	}
	require.Zero(p.t, p.fx.Stats.Held)
	require.Zero(p.t, p.fx.Stats.Waiting)
}

// Whatever the server says, true or not: one verdict for each request, gauges that are right, one command of a tenure at a
// time, no busy loop, and rest at the end.
func TestRandomAnswers(t *testing.T) {
	eachSeed(t, 1500, func(t *testing.T, random *rand.Rand) {
		p := newParty(t, random)
		p.server = nil
		for range 150 {
			switch n := random.IntN(10); {
			case n < 3:
				p.wish()
			case n < 5:
				p.disturb()
			default:
				f := p.take()
				if f == nil {
					continue
				}
				if random.IntN(10) == 0 && !p.lock.Wants(&f.command) {
					p.happens("withdrawn "+shown(&f.command), func() {
						p.step(&actor.Message{Kind: actor.Withdrawn, Command: &f.command})
					})
					continue
				}
				p.pass(p.duration(20 * time.Millisecond))
				p.answer(f, p.anything(&f.command))
			}
		}
		p.leaves()
		p.comesToRest(func(f *flying) { p.answer(f, friendly(&f.command)) })
	})
}

// anything is any answer that the form of a script's reply allows.
func (p *party) anything(c *actor.Command) actor.Reply {
	switch p.random.IntN(12) {
	case 0, 1:
		return actor.Reply{Err: errors.New("reset")}
	case 2:
		return actor.Reply{Status: actor.Refused, Err: errors.New("LOADING")}
	case 3:
		return actor.Reply{Status: actor.Refused, Err: errors.New("WRONGTYPE")}
	case 4, 5:
		if c.Verb != actor.SendAcquire {
			return actor.Reply{Status: actor.Gone}
		}
		holder := []string{"x:1", "me:1", fmt.Sprint("me:", c.Tenure), ""}[p.random.IntN(4)]
		ttl := []time.Duration{-1, 0, 1, p.duration(p.fx.Config.Lease), 1<<63 - 1}[p.random.IntN(5)]
		return actor.Reply{Status: actor.Taken, TTL: ttl, Holder: holder}
	}
	reply := friendly(c)
	reply.Uncounted = c.Verb == actor.SendRenew && p.random.IntN(5) == 0
	reply.Muted = c.Verb != actor.SendRenew && p.random.IntN(5) == 0
	reply.Listeners = p.random.IntN(4) - 1
	return reply
}

func friendly(*actor.Command) actor.Reply { return actor.Reply{Status: actor.Done, Listeners: -1} }

// server is one key as a true server keeps it. Others take it, too.
type server struct {
	holder string // "" when free
	ends   time.Duration
	late   []actor.Command // without an answer: may run at any later time, and twice
}

func (s *server) expire(now time.Duration) {
	if s.holder != "" && now >= s.ends {
		s.holder = ""
	}
}

// run runs a command as its script does.
func (s *server) run(now time.Duration, c *actor.Command) actor.Reply {
	s.expire(now)
	me := fmt.Sprint("me:", c.Tenure)
	done := actor.Reply{Status: actor.Done, Listeners: -1}
	switch c.Verb {
	case actor.SendAcquire:
		for _, ghost := range c.Ghosts {
			if s.holder == fmt.Sprint("me:", ghost) {
				s.holder = ""
			}
		}
		switch s.holder {
		case "":
			s.holder, s.ends = me, now+c.Lease.Truncate(time.Millisecond)
		case me:
			s.ends = max(s.ends, now+c.Lease.Truncate(time.Millisecond))
		default:
			return actor.Reply{Status: actor.Taken, TTL: (s.ends - now).Truncate(time.Millisecond), Holder: s.holder}
		}
	case actor.SendForce:
		if s.holder == "" {
			return actor.Reply{Status: actor.Gone}
		}
		s.holder = ""
	default:
		if s.holder != me {
			return actor.Reply{Status: actor.Gone}
		}
		if c.Verb == actor.SendRelease {
			s.holder = ""
		} else if c.Lease != 0 {
			s.ends = now + max(c.Lease.Truncate(time.Millisecond), time.Millisecond)
		}
	}
	return done
}

// believe requires that whatever is believed to be held is held: nobody else can have it.
func (p *party) believe() {
	if p.server == nil {
		return
	}
	p.server.expire(p.now)
	for h := range p.until {
		if p.now < h.Until() && p.server.holder != fmt.Sprint("me:", h.Tenure) {
			p.t.Errorf("%v: %s believes to hold #%d for %v more, and the server has %q",
				p.now, p.names[h], h.Tenure, h.Until()-p.now, p.server.holder)
			p.tell()
		}
	}
}

// design.md, Simulation: at most one believes to hold the lock, whatever is delayed, lost, late or doubled, as long as the
// server forgets nothing. A command without an answer runs never, once or twice, at any later time.
func TestRandomLossesAndDelays(t *testing.T) {
	eachSeed(t, 2500, func(t *testing.T, random *rand.Rand) {
		p := newParty(t, random)
		losses := random.IntN(4) // of ten
		for range 200 {
			p.honest(losses)
		}
		p.leaves()
		p.comesToRest(func(f *flying) { p.answer(f, p.server.run(p.now, &f.command)) })
		if losses == 0 {
			require.NotContains(t, p.server.holder, "me:", "left in Redis")
		}
	})
}

// honest is one step with a server that tells the truth, if it answers.
func (p *party) honest(losses int) {
	defer p.believe()
	switch n := p.random.IntN(12); {
	case n < 3:
		p.wish()
	case n < 5:
		p.disturb()
	case n < 6:
		p.other()
	case n < 7:
		p.ghostly()
	default:
		f := p.take()
		if f == nil {
			return
		}
		if p.random.IntN(4) > 0 {
			p.pass(p.duration(p.fx.Config.Timeout))
		}
		lost := p.random.IntN(10) < losses
		if !lost {
			reply := p.server.run(p.now, &f.command)
			p.pass(p.duration(p.fx.Config.Timeout)) // and the answer travels
			p.answer(f, reply)
			return
		}
		if p.random.IntN(2) == 0 {
			p.server.run(p.now, &f.command)
		}
		if f.command.Verb != actor.SendForce {
			p.server.late = append(p.server.late, f.command)
		}
		p.pass(p.duration(p.fx.Config.Timeout))
		p.answer(f, actor.Reply{Err: errors.New("reset")})
	}
}

// other is another process: it takes the lock when it is free, and gives it back.
func (p *party) other() {
	s := p.server
	s.expire(p.now)
	switch s.holder {
	case "":
		s.holder, s.ends = "other:1", p.now+time.Millisecond+p.duration(p.fx.Config.Lease)
		p.story = append(p.story, fmt.Sprintf("%v other takes it for %v", p.now, s.ends-p.now))
	case "other:1":
		s.holder = ""
		p.happens("other releases; message", func() { p.step(&actor.Message{Kind: actor.Heard}) })
	}
}

// ghostly runs a command that had no answer.
func (p *party) ghostly() {
	s := p.server
	if len(s.late) == 0 {
		return
	}
	i := p.random.IntN(len(s.late))
	c := s.late[i]
	if p.random.IntN(2) == 0 {
		s.late = slices.Delete(s.late, i, i+1)
	}
	s.run(p.now, &c)
	p.story = append(p.story, fmt.Sprintf("%v late: %s", p.now, shown(&c)))
}
