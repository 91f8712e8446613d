package actor_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// 100 000 watched locks need less than 300 bytes of live heap each. This is the part of package actor.
func TestLock_SizeBounded(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(actor.Lock{}), uintptr(128))
	require.LessOrEqual(t, unsafe.Sizeof(actor.Lock{})+unsafe.Sizeof(actor.Hold{}), uintptr(200))
}

// An uncontended pair of calls, in the steady state of an engine that reuses its locks and calls.
func TestLock_Uncontended_AllocatesNothing(t *testing.T) {
	timers, err := wheel.New[actor.TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	fx := actor.NewEffects(defaultConfig(), timers)
	lock := actor.NewLock(key, actor.Plain)
	const runs = 200
	holds := make([]actor.Hold, runs+1)
	request, now := &actor.Request{}, time.Second
	command, reply, message := &actor.Command{}, &actor.Reply{Status: actor.OK, Listeners: -1}, &actor.Message{}
	answer := func(verb actor.Verb) {
		*command = fx.Commands[0]
		if command.Verb != verb {
			panic("another command")
		}
		fx.Commands = fx.Commands[:0]
		now += time.Millisecond
		*message = actor.Message{Event: actor.Replied, Command: command, Reply: reply, Sent: now - time.Millisecond}
		lock.Step(now, message, fx)
	}
	ask := func(op actor.Op, hold *actor.Hold) {
		request.Reset()
		request.Op, request.Key, request.Hold = op, key, hold
		fx.Receive(now, request)
		*message = actor.Message{Event: actor.Requested, Request: request}
		lock.Step(now, message, fx)
	}
	pair := func() {
		hold := &holds[0]
		holds = holds[1:]
		lock.Reset(key, actor.Plain)
		ask(actor.Acquire, hold)
		answer(actor.SendAcquire)
		ask(actor.Unlock, hold)
		answer(actor.SendRelease)
		fx.Results, fx.HoldEnds = fx.Results[:0], fx.HoldEnds[:0]
		if !lock.Idle() || fx.Stats.Held != 0 {
			panic("not idle")
		}
		lock.Clear(fx)
	}
	require.Zero(t, testing.AllocsPerRun(runs, pair))
}

// A renewal of an uncontended lock keeps no memory and allocates nothing.
func TestRenewal_AllocatesNothing(t *testing.T) {
	s := newHarness(t, defaultConfig())
	s.play("0s A locks", "1ms #1 granted")
	command, reply, message := &actor.Command{}, &actor.Reply{Status: actor.OK, Listeners: -1}, &actor.Message{}
	renewal := func() {
		now := s.callers["A"].hold.Until() - 19*time.Second
		*message = actor.Message{Event: actor.TimerFired}
		s.lock.Step(now, message, s.fx)
		*command = s.fx.Commands[0]
		s.fx.Commands = s.fx.Commands[:0]
		*message = actor.Message{Event: actor.Replied, Command: command, Reply: reply, Sent: now}
		s.lock.Step(now, message, s.fx)
	}
	require.Zero(t, testing.AllocsPerRun(100, renewal))
}
