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

// eachSeed runs a random story for many seeds. One that fails prints how to replay it.
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

var errLoading = errors.New("LOADING Redis is loading the dataset in memory")

// With any replies of the server, true or not:
//   - each request gets one result,
//   - gauges are right,
//   - a tenure has one command in flight,
//   - there is no busy loop,
//   - the lock is idle at the end.
func TestLock_RandomReplies_StaysSound(t *testing.T) {
	eachSeed(t, 1000, func(t *testing.T, random *rand.Rand) {
		p := newSimulation(t, random)
		p.server = nil
		for range 150 {
			switch n := random.IntN(10); {
			case n < 3:
				p.randomRequest()
			case n < 5:
				p.randomEvent()
			default:
				f := p.takeCommand()
				if f == nil {
					continue
				}
				if random.IntN(10) == 0 {
					p.requeue(f)
					continue
				}
				p.pass(p.duration(20 * time.Millisecond))
				p.answer(f, p.randomReply(&f.command))
			}
		}
		p.releaseAll()
		p.requireIdle(func(f *sentCommand) { p.answer(f, okReply(&f.command)) })
	})
}

// randomReply returns any reply that the form of a script's reply allows.
func (p *simulation) randomReply(c *actor.Command) actor.Reply {
	switch p.random.IntN(12) {
	case 0, 1:
		return actor.Reply{Err: errors.New("reset")}
	case 2:
		return actor.Reply{Status: actor.Rejected, Err: errors.New("LOADING")}
	case 3:
		return actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE")}
	case 4:
		return actor.Reply{Err: errors.New("nonsense"), Malformed: true}
	case 5, 6:
		if c.Verb != actor.SendAcquire {
			return actor.Reply{Status: actor.NotFound}
		}
		holder := []string{"x:1", "me:1", fmt.Sprint("me:", c.Tenure), ""}[p.random.IntN(4)]
		ttl := []time.Duration{-1, 0, 1, p.duration(p.fx.Config.Lease), 1<<63 - 1}[p.random.IntN(5)]
		return actor.Reply{Status: actor.HeldByOther, TTL: ttl, Holder: holder}
	}
	reply := okReply(c)
	reply.CountNotStored = c.Verb == actor.SendRenew && p.random.IntN(5) == 0
	reply.Unpublished = c.Verb != actor.SendRenew && p.random.IntN(5) == 0
	reply.Listeners = p.random.IntN(4) - 1
	return reply
}

func okReply(*actor.Command) actor.Reply { return actor.Reply{Status: actor.OK, Listeners: -1} }

// At most one client considers itself the holder, whatever is delayed, lost, late or duplicated, as long as the server
// forgets nothing. A command without a reply runs never, once or twice, at any later time.
func TestLock_RandomLosses_OneHolder(t *testing.T) {
	eachSeed(t, 2000, func(t *testing.T, random *rand.Rand) {
		p := newSimulation(t, random)
		losses := random.IntN(4) // of ten
		for range 200 {
			p.truthfulStep(losses)
		}
		p.releaseAll()
		p.requireIdle(func(f *sentCommand) { p.answer(f, p.server.run(p.now, "me", &f.command)) })
		if losses == 0 {
			require.NotContains(t, p.server.holder, "me:", "left in Redis")
		}
	})
}

// truthfulStep is one step with a server that tells the truth, if it replies.
func (p *simulation) truthfulStep(losses int) {
	defer p.checkExclusive()
	switch n := p.random.IntN(12); {
	case n < 3:
		p.randomRequest()
	case n < 5:
		p.randomEvent()
	case n < 6:
		p.otherProcess()
	case n < 7:
		p.runLate()
	default:
		f := p.takeCommand()
		if f == nil {
			return
		}
		if p.random.IntN(4) > 0 {
			p.pass(p.duration(p.fx.Config.CallTimeout))
		}
		lost := p.random.IntN(10) < losses
		if !lost {
			reply := p.server.run(p.now, "me", &f.command)
			p.pass(p.duration(p.fx.Config.CallTimeout)) // until the reply arrives
			p.answer(f, reply)
			return
		}
		if p.random.IntN(2) == 0 {
			p.server.run(p.now, "me", &f.command)
		}
		if f.command.Verb != actor.SendForce {
			p.server.late = append(p.server.late, f.command)
		}
		p.pass(p.duration(p.fx.Config.CallTimeout))
		p.answer(f, actor.Reply{Err: errors.New("reset")})
	}
}

// otherProcess is another process: it acquires the lock when that is free, and releases it.
func (p *simulation) otherProcess() {
	s := p.server
	s.expire(p.now)
	switch s.holder {
	case "":
		s.holder, s.ends = "other:1", p.now+time.Millisecond+p.duration(p.fx.Config.Lease)
		p.trace = append(p.trace, fmt.Sprintf("%v other takes it for %v", p.now, s.ends-p.now))
	case "other:1":
		s.holder = ""
		p.record("other releases; message", func() { p.step(&actor.Message{Event: actor.Notified}) })
	}
}

// runLate runs a command that got no reply.
func (p *simulation) runLate() {
	s := p.server
	if len(s.late) == 0 {
		return
	}
	i := p.random.IntN(len(s.late))
	c := s.late[i]
	if p.random.IntN(2) == 0 {
		s.late = slices.Delete(s.late, i, i+1)
	}
	s.run(p.now, "me", &c)
	p.trace = append(p.trace, fmt.Sprintf("%v late: %s", p.now, commandText(&c)))
}
