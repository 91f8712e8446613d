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

// simulation is a harness on which random events happen.
type simulation struct {
	*harness
	random   *rand.Rand
	trace    []string
	holds    []*actor.Hold // live
	requests []*actor.Request
	owners   []uint64 // also of holds that ended
	draining bool     // no new requests any more
	server   *server
}

func newSimulation(t *testing.T, random *rand.Rand) *simulation {
	config := defaultConfig()
	config.Seed = random.Uint64()
	if random.IntN(3) == 0 {
		config.Lease, config.RenewInterval, config.CallTimeout = 200*time.Millisecond, 66*time.Millisecond, 33*time.Millisecond
	}
	if random.IntN(4) == 0 {
		config.MaxHold = config.Lease/2 + time.Duration(random.Int64N(int64(2*config.Lease)))
	}
	config.MaxHandoffGrants = []int{-1, 1, 2, 64}[random.IntN(4)]
	p := &simulation{harness: newHarness(t, config), random: random, server: &server{}}
	p.now = time.Duration(random.Int64N(int64(time.Second)))
	p.fx.RoundTrip = time.Duration(random.Int64N(int64(5 * time.Millisecond)))
	return p
}

// record does something, and records its effects.
func (p *simulation) record(what string, do func()) {
	do()
	effects := p.effects()
	p.trace = append(p.trace, fmt.Sprintf("%v %s → %s", p.now, what, effects))
	if p.t.Failed() {
		p.fail()
	}
}

func (p *simulation) fail() {
	for _, line := range p.trace[max(0, len(p.trace)-40):] {
		p.t.Log(line)
	}
	p.t.FailNow()
}

// pass lets time pass, turn by turn, with few turns at one time.
func (p *simulation) pass(d time.Duration) {
	until, turns, at := p.now+d, 0, p.now
	for {
		due, ok := p.wheel.Next()
		if !ok || due > until {
			break
		}
		p.record("timer", func() { p.effectTexts = append(p.effectTexts, p.fire(due)) })
		if p.now > at {
			turns, at = 0, p.now
		}
		if turns++; turns > 5 {
			p.t.Errorf("a busy loop")
			p.fail()
		}
		p.checkExclusive()
	}
	p.now = until
}

func (p *simulation) duration(most time.Duration) time.Duration {
	// All orders of magnitude are equally likely.
	for most > time.Millisecond && p.random.IntN(2) == 0 {
		most /= 4
	}
	return time.Duration(p.random.Int64N(int64(max(most, 2))))
}

func (p *simulation) live() []*actor.Hold {
	p.holds = slices.DeleteFunc(p.holds, func(h *actor.Hold) bool { _, live := p.until[h]; return !live })
	for _, r := range p.requests {
		if r.Op != actor.Acquire || !r.Completed() || r.Err != nil {
			continue
		}
		if _, live := p.until[r.Hold]; live && !slices.Contains(p.holds, r.Hold) {
			p.holds = append(p.holds, r.Hold)
		}
	}
	return p.holds
}

func (p *simulation) waiting() (all []*actor.Request) {
	for _, r := range p.requests {
		if !r.Completed() {
			all = append(all, r)
		}
	}
	return all
}

func (p *simulation) issue(r *actor.Request, what string) {
	name := fmt.Sprint("R", len(p.requests))
	p.issued[r] = &issuedRequest{caller: name, request: r}
	p.requests = append(p.requests, r)
	if r.Op == actor.Acquire {
		p.names[r.Hold] = name
	}
	p.record(name+" "+what, func() {
		p.fx.Receive(p.now, r)
		p.step(&actor.Message{Event: actor.Requested, Request: r})
	})
	if r.Op == actor.Acquire && r.Completed() && r.Err == nil {
		p.owners = append(p.owners, r.Hold.Owner)
	}
}

// randomRequest makes a caller request something.
func (p *simulation) randomRequest() {
	live := p.live()
	switch n := p.random.IntN(12); {
	case n < 5:
		r := &actor.Request{Op: actor.Acquire, Key: key, Hold: &actor.Hold{}, Once: p.random.IntN(5) == 0}
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
		p.issue(r, fmt.Sprintf("locks lease %v wait %v once %v owner %d", r.Lease, r.Wait, r.Once, r.Owner))
	case n < 9 && len(live) > 0:
		h := live[p.random.IntN(len(live))]
		p.issue(&actor.Request{Op: actor.Unlock, Hold: h}, "unlocks "+p.names[h])
	case n < 10 && len(live) > 0:
		h := live[p.random.IntN(len(live))]
		r := &actor.Request{Op: actor.Extend, Hold: h}
		if p.random.IntN(3) > 0 {
			r.Lease = time.Millisecond + p.duration(2*p.fx.Config.Lease)
		}
		p.issue(r, fmt.Sprintf("extends %s to %v", p.names[h], r.Lease))
	case n == 10 && p.random.IntN(3) == 0:
		p.issue(&actor.Request{Op: actor.Force, Key: key}, "forces")
	default:
		p.randomCancel()
	}
}

// randomCancel makes a caller leave, whether or not its request has a result.
func (p *simulation) randomCancel() {
	if len(p.requests) == 0 {
		return
	}
	r := p.requests[max(0, len(p.requests)-1-p.random.IntN(8))]
	p.record(p.issued[r].caller+" cancels", func() {
		p.step(&actor.Message{Event: actor.Cancel, Request: r, Cause: errors.New("canceled")})
	})
}

// randomEvent is an event besides requests and replies.
func (p *simulation) randomEvent() {
	switch p.random.IntN(7) {
	case 0:
		p.record("message", func() { p.step(&actor.Message{Event: actor.Notified}) })
	case 1:
		p.record("subscribed", func() { p.step(&actor.Message{Event: actor.Subscribed}) })
	case 2:
		p.record("subscription lost", func() { p.lock.SubscriptionLost() })
	case 3:
		p.record("subscribe failed", func() { p.step(&actor.Message{Event: actor.SubscribeFailed}) })
	case 4:
		p.record("reconfirm", func() {
			p.fx.ReconfirmSince = p.now
			p.step(&actor.Message{Event: actor.Reconfirm})
		})
	default:
		p.pass(p.duration(2 * p.fx.Config.Lease))
	}
}

// takeCommand removes one of the commands in flight.
func (p *simulation) takeCommand() *sentCommand {
	if len(p.inFlight) == 0 {
		return nil
	}
	i := p.random.IntN(len(p.inFlight))
	f := p.inFlight[i]
	p.inFlight = slices.Delete(p.inFlight, i, i+1)
	return f
}

// requeue returns a command that was not executed. It waits for a while, in which it may be taken back.
func (p *simulation) requeue(f *sentCommand) {
	f.requeued = true
	p.record("returned "+commandText(&f.command), func() { p.step(&actor.Message{Event: actor.Requeued, Command: &f.command}) })
	if !p.lock.StillWants(&f.command) {
		return
	}
	p.inFlight = append(p.inFlight, f)
	switch p.random.IntN(3) {
	case 0:
		p.randomRequest()
	case 1:
		p.randomCancel()
	default:
		p.randomEvent()
	}
	if f.requeued = false; slices.Contains(p.inFlight, f) {
		require.True(p.t, p.lock.StillWants(&f.command))
		p.lock.SetDispatched(&f.command, true)
	}
}

func (p *simulation) answer(f *sentCommand, reply actor.Reply) {
	text := fmt.Sprintf("%s: %s", commandText(&f.command), replyText(&reply))
	p.record(text, func() {
		p.step(&actor.Message{Event: actor.Replied, Command: &f.command, Reply: &reply, Sent: f.sent})
	})
}

func replyText(r *actor.Reply) string {
	text := [...]string{"unanswered", "done", "gone", "taken", "refused"}[r.Status]
	if r.Status == actor.HeldByOther {
		text += fmt.Sprintf(" %v %s", r.TTL, r.Holder)
	}
	return text + causeText(r.Err)
}

// releaseAll ends the story: no new requests, and every hold is unlocked.
func (p *simulation) releaseAll() {
	p.draining = true
	for _, r := range p.waiting() {
		if r.Op == actor.Acquire {
			p.record(p.issued[r].caller+" cancels", func() { p.step(&actor.Message{Event: actor.Cancel, Request: r}) })
		}
	}
	for len(p.live()) > 0 {
		h := p.live()[0]
		p.issue(&actor.Request{Op: actor.Unlock, Hold: h}, "unlocks "+p.names[h])
	}
}

// requireIdle requires that the lock becomes idle after some time with replies.
func (p *simulation) requireIdle(answer func(*sentCommand)) {
	for range 200 {
		for f := p.takeCommand(); f != nil; f = p.takeCommand() {
			answer(f)
		}
		if p.lock.Key() == "" && len(p.inFlight) == 0 {
			break
		}
		p.pass(100 * time.Millisecond)
	}
	for range 5 {
		p.pass(p.fx.Config.Lease)
	}
	if p.lock.Key() != "" || p.wheel.Len() != 0 || p.listening || p.fx.HeldLocks != 0 || p.fx.ReleasingLocks != 0 || p.fx.AcquiringLocks != 0 || p.fx.PolledLocks != 0 || len(p.waiting()) != 0 {
		p.t.Errorf("not at rest: key %q, %d timers, listening %v, %d tenures, %d asking, %d wait",
			p.lock.Key(), p.wheel.Len(), p.listening, p.fx.HeldLocks, p.fx.AcquiringLocks, len(p.waiting()))
		p.fail()
	}
	require.Zero(p.t, p.fx.Stats.Held)
	require.Zero(p.t, p.fx.Stats.Waiting)
}
