package actor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// several is two locks of one engine, and the coordinator's part for requests that want both.
type several struct {
	t    *testing.T
	fx   *actor.Effects
	now  time.Duration
	a, b *actor.Lock
}

func newSeveral(t *testing.T) *several {
	timers, err := wheel.New[actor.Sleeper](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	return &several{t: t, fx: actor.NewEffects(usual(), timers), a: actor.NewLock("a", actor.Plain), b: actor.NewLock("b", actor.Plain)}
}

// step makes a lock handle a message, and sends Nudged to the locks that this touches. It returns the commands to be
// sent.
func (s *several) step(l *actor.Lock, m *actor.Message) []actor.Command {
	s.now += time.Millisecond
	l.Step(s.now, m, s.fx)
	for len(s.fx.Touched) > 0 {
		touched := s.fx.Touched
		s.fx.Touched = nil
		for _, l := range touched {
			l.Step(s.now, &actor.Message{Kind: actor.Nudged}, s.fx)
		}
	}
	commands := s.fx.Commands
	s.fx.Commands = nil
	for i := range commands {
		commands[i].Lock.Depart(&commands[i], true)
	}
	return commands
}

func (s *several) locks(l *actor.Lock) (*actor.Request, []actor.Command) {
	r := &actor.Request{Tag: actor.Acquire, Key: l.Key(), Hold: &actor.Hold{}}
	s.fx.Admit(s.now, r)
	return r, s.step(l, &actor.Message{Kind: actor.Acquire, Request: r})
}

// locksBoth acquires both locks with one command.
func (s *several) locksBoth() (*actor.Request, actor.Command) {
	r := &actor.Request{Tag: actor.Acquire, Key: "a", Joint: &actor.Joint{Parts: []actor.Part{
		{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}},
	}}}
	s.fx.Admit(s.now, r)
	require.Empty(s.t, s.step(s.a, &actor.Message{Kind: actor.Acquire, Request: r}))
	require.Equal(s.t, []*actor.Request{r}, s.fx.Ready)
	s.fx.Ready = nil
	require.True(s.t, r.Asks(s.now) && s.a.Claimable(s.now, r) && s.b.Claimable(s.now, r))
	r.Claim([]*actor.Lock{s.a, s.b}, s.fx)
	r.AskClaimed(s.fx)
	commands := s.step(s.b, &actor.Message{Kind: actor.Nudged})
	require.Len(s.t, commands, 1)
	return r, commands[0]
}

func (s *several) cancels(l *actor.Lock, r *actor.Request) []actor.Command {
	return s.step(l, &actor.Message{Kind: actor.Cancel, Request: r})
}

func (s *several) answers(c actor.Command, reply actor.Reply) []actor.Command {
	return s.step(c.Lock, &actor.Message{Kind: actor.Answered, Sent: s.now, Command: &c, Reply: &reply})
}

// wasTaken makes a caller wait for b in vain: b is held by another client for a minute more, as far as is known.
func (s *several) wasTaken() {
	r, asks := s.locks(s.b)
	require.Len(s.t, asks, 1)
	s.answers(asks[0], actor.Reply{Status: actor.Taken, TTL: time.Minute, Holder: "other"})
	s.cancels(s.b, r)
}

// requireAsks requires that an acquire of b is sent.
func (s *several) requireAsks(commands []actor.Command) {
	s.t.Helper()
	for i := range commands {
		if commands[i].Lock == s.b && verbs[commands[i].Verb] == "acquire" {
			return
		}
	}
	s.t.Errorf("b is not asked for, but %d other commands leave", len(commands))
}

// A reply from before a lock was acquired together with others is no reason to wait, whatever the outcome of that
// command.
func TestTroubleWithSeveralMakesTheNextCallerWaitNoLease(t *testing.T) {
	lost := actor.Reply{Status: actor.Unanswered, Err: errors.New("connection lost")}
	t.Run("who comes after it", func(t *testing.T) {
		s := newSeveral(t)
		s.wasTaken()
		both, asked := s.locksBoth()
		s.answers(asked, lost)
		s.cancels(s.a, both)
		_, commands := s.locks(s.b)
		s.requireAsks(commands)
	})
	t.Run("who came meanwhile", func(t *testing.T) {
		s := newSeveral(t)
		s.wasTaken()
		both, asked := s.locksBoth()
		_, commands := s.locks(s.b)
		require.Empty(t, commands)
		s.answers(asked, lost)
		s.requireAsks(s.cancels(s.a, both))
	})
	t.Run("who came meanwhile, when another of them is taken", func(t *testing.T) {
		s := newSeveral(t)
		s.wasTaken()
		_, asked := s.locksBoth()
		_, commands := s.locks(s.b)
		require.Empty(t, commands)
		s.requireAsks(s.answers(asked, actor.Reply{Status: actor.Taken, TTL: time.Minute, Holder: "other"}))
	})
}

// Nor is it for a caller that comes after another kind of failure.
func TestTroubleMakesTheNextCallerWaitNoLease(t *testing.T) {
	talk(t, `
		0s    A locks             → acquire #1 30s
		1ms   #1 taken 60s x:1    → listen
		2ms   subscribed          → acquire #2 30s
		3ms   #2 taken 60s x:1    → nothing
		1s    B forces            → force #3
		1.01s A cancels           → A lock not acquired
		1.02s #3 refused BUSY     → nothing
		+1ms  B cancels           → B redis unavailable: BUSY
		// it is tried again as soon as the pause permits
		+0s   C locks             → nothing
		+1ms..+10ms timer         → acquire #4 30s
		+1ms  #4 granted          → C granted 29.689s
		+1ms  C unlocks           → C over; release #4
		+1ms  #4 released         → C unlocked
		+240ms..+250ms timer      → leave
	`)
}
