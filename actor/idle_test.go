package actor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// The number of commands that a lock sends while nothing happens to it, in ten seconds. An honest server replies to
// each after a millisecond.
func TestLock_Undisturbed_FewCommands(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*actor.Config)
		play   []string
		holder string // on the server, from the start
		odd    func(*actor.Command, *actor.Reply)
		least  int
		most   int
	}{
		{name: "held", play: []string{"+1ms A locks"}, least: 2, most: 2},
		{name: "held with a fixed lease", play: []string{"+1ms A locks lease 1h"}, least: 1, most: 1},
		{name: "re-entered", play: []string{"+1ms A locks", "+1ms B locks as A", "+1ms C locks lease 5s as A"}, least: 4, most: 6},
		{name: "held with others in the queue", play: []string{"+1ms A locks", "+1ms B locks", "+1ms C locks"}, least: 2, most: 3},
		{
			name: "handed on, with others in the queue", least: 10, most: 25,
			play: []string{"+1ms A locks", "+1ms B locks", "+1ms C locks", "+1ms A unlocks"},
		},
		{
			name: "handed on, with an empty queue", least: 2, most: 3,
			play: []string{"+1ms A locks", "+1ms B locks", "+1ms A unlocks"},
		},
		{
			name: "a fixed lease handed on, with others in the queue", least: 10, most: 25,
			play: []string{"+1ms A locks", "+1ms B locks lease 1m", "+1ms C locks", "+1ms A unlocks"},
		},
		{
			name: "a lease that an inner one made longer, handed on", least: 10, most: 35,
			play: []string{"+1ms A locks", "+1ms A2 locks", "+1ms C locks", "+1ms A unlocks", "+1ms X locks lease 1m as A2", "+1ms X unlocks"},
		},
		{
			name: "held for MaxHold, with others in the queue", least: 4, most: 15, change: func(c *actor.Config) { c.MaxHold = 4 * time.Second },
			play: []string{"+1ms A locks", "+1ms B locks"},
		},
		{
			name: "a count that the server cannot write", least: 4, most: 12, odd: func(_ *actor.Command, r *actor.Reply) { r.CountNotStored = true },
			play: []string{"+1ms A locks", "+1ms B locks as A"},
		},
		{name: "waiting for a stranger", play: []string{"+1ms A locks", "+1ms B locks"}, holder: "x:1", least: 1, most: 1},
		{
			name: "waiting for another holder with a key that never expires", least: 20, most: 41, play: []string{"+1ms A locks"}, holder: "x:1",
			odd: func(_ *actor.Command, r *actor.Reply) { r.TTL = -1 },
		},
		{
			name: "waiting for another holder with a key about to expire", least: 200, most: 400, play: []string{"+1ms A locks"}, holder: "x:1",
			odd: func(_ *actor.Command, r *actor.Reply) { r.TTL = 0 },
		},
		{
			name: "a server that answers nonsense", least: 27, most: 90, play: []string{"+1ms A locks"},
			odd: func(_ *actor.Command, r *actor.Reply) { *r = actor.Reply{Err: errLoading, Malformed: true} },
		},
		{
			name: "a server that answers every renewal with nonsense", least: 5, most: 40, play: []string{"+1ms A locks lease 9s", "+1s B locks as A"},
			odd: func(c *actor.Command, r *actor.Reply) {
				if c.Verb == actor.SendRenew {
					*r = actor.Reply{Err: errLoading, Malformed: true}
				}
			},
		},
		{
			name: "a server that names another orphan of ours each time", least: 400, most: 1700, play: []string{"+1ms A locks"},
			odd: func(c *actor.Command, r *actor.Reply) {
				if c.Verb == actor.SendAcquire {
					*r = actor.Reply{Status: actor.HeldByOther, TTL: time.Minute, Holder: fmt.Sprint("me:", 1000+c.Tenure)}
				}
			},
		},
		{
			name: "a server that is loading", least: 27, most: 90, play: []string{"+1ms A locks"},
			odd: func(_ *actor.Command, r *actor.Reply) { *r = actor.Reply{Status: actor.Rejected, Err: errLoading} },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := defaultConfig()
			if test.change != nil {
				test.change(&config)
			}
			p := &simulation{harness: newHarness(t, config), random: rand.New(rand.NewPCG(1, 1)), server: &server{}}
			if test.holder != "" {
				p.server.holder, p.server.ends = test.holder, time.Hour
			}
			sent := 0
			converse := func(until time.Duration) {
				for p.now < until {
					p.pass(time.Millisecond)
					for f := p.takeCommand(); f != nil; f = p.takeCommand() {
						sent++
						reply := p.server.run(p.now, "me", &f.command)
						if test.odd != nil {
							test.odd(&f.command, &reply)
						}
						p.pass(time.Millisecond)
						p.answer(f, reply)
					}
				}
			}
			for _, line := range test.play {
				p.play(line)
				converse(p.now + 2*time.Millisecond)
			}
			converse(10*time.Second + 100*time.Millisecond)
			require.GreaterOrEqual(t, sent, test.least)
			require.LessOrEqual(t, sent, test.most)
			require.LessOrEqual(t, p.wakes, 2*sent+20, "timers that fired for nothing")
		})
	}
}
