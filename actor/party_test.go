package actor_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// party is a stage on which random events happen.
type party struct {
	*stage
	random   *rand.Rand
	story    []string
	holds    []*actor.Hold // live
	requests []*actor.Request
	owners   []uint64 // also of holds that ended
	calm     bool     // no new requests any more
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

// happening is one event of a story, with its effects.
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

// pass lets time pass, turn by turn, with few turns at one time.
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
	// All orders of magnitude are equally likely.
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

// wish makes a caller request something.
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

// giveUp makes a caller leave, whether or not its request has a result.
func (p *party) giveUp() {
	if len(p.requests) == 0 {
		return
	}
	r := p.requests[max(0, len(p.requests)-1-p.random.IntN(8))]
	p.happens(p.wishes[r].who+" cancels", func() {
		p.step(&actor.Message{Kind: actor.Cancel, Request: r, Cause: errors.New("cancelled")})
	})
}

// disturb is an event besides requests and replies.
func (p *party) disturb() {
	switch p.random.IntN(7) {
	case 0:
		p.happens("message", func() { p.step(&actor.Message{Kind: actor.Heard}) })
	case 1:
		p.happens("subscribed", func() { p.step(&actor.Message{Kind: actor.Subscribed}) })
	case 2:
		p.happens("deafened", func() { p.lock.Deafen() })
	case 3:
		p.happens("unheard", func() { p.step(&actor.Message{Kind: actor.Unheard}) })
	case 4:
		p.happens("doubt", func() {
			p.fx.Doubted = p.now
			p.step(&actor.Message{Kind: actor.Doubt})
		})
	default:
		p.pass(p.duration(2 * p.fx.Config.Lease))
	}
}

// take removes one of the commands in flight.
func (p *party) take() *flying {
	if len(p.underWay) == 0 {
		return nil
	}
	i := p.random.IntN(len(p.underWay))
	f := p.underWay[i]
	p.underWay = slices.Delete(p.underWay, i, i+1)
	return f
}

// again returns a command that was not executed. It waits for a while, in which it may be taken back.
func (p *party) again(f *flying) {
	f.waits = true
	p.happens("returned "+shown(&f.command), func() { p.step(&actor.Message{Kind: actor.Returned, Command: &f.command}) })
	if !p.lock.Wants(&f.command) {
		return
	}
	p.underWay = append(p.underWay, f)
	switch p.random.IntN(3) {
	case 0:
		p.wish()
	case 1:
		p.giveUp()
	default:
		p.disturb()
	}
	if f.waits = false; slices.Contains(p.underWay, f) {
		require.True(p.t, p.lock.Wants(&f.command))
		p.lock.Depart(&f.command, true)
	}
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

// leaves ends the story: no new requests, and every hold is unlocked.
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

// comesToRest requires that the lock becomes idle after some time with replies.
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
	if p.lock.Key() != "" || p.wheel.Len() != 0 || p.hears || p.fx.Tenures != 0 || p.fx.Asking != 0 || p.fx.Unheard != 0 || len(p.waiting()) != 0 {
		p.t.Errorf("not at rest: key %q, %d timers, listening %v, %d tenures, %d asking, %d wait",
			p.lock.Key(), p.wheel.Len(), p.hears, p.fx.Tenures, p.fx.Asking, len(p.waiting()))
		p.tell()
	}
	require.Zero(p.t, p.fx.Stats.Held)
	require.Zero(p.t, p.fx.Stats.Waiting)
}
