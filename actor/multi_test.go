package actor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/wheel"
)

// multiHarness is two locks of one engine, and the coordinator's part for requests that want both.
type multiHarness struct {
	t    *testing.T
	fx   *actor.Effects
	now  time.Duration
	a, b *actor.Lock
}

func newMultiHarness(t *testing.T) *multiHarness {
	timers, err := wheel.New[actor.TimerTarget](time.Millisecond, wheel.Config{})
	require.NoError(t, err)
	return &multiHarness{t: t, fx: actor.NewEffects(defaultConfig(), timers), a: actor.NewLock("a", actor.Plain), b: actor.NewLock("b", actor.Plain)}
}

// step makes a lock handle a message, and sends Recheck to the locks that this touches. It returns the commands to be
// sent.
func (s *multiHarness) step(l *actor.Lock, m *actor.Message) []actor.Command {
	s.now += time.Millisecond
	l.Step(s.now, m, s.fx)
	for len(s.fx.ToRecheck) > 0 {
		touched := s.fx.ToRecheck
		s.fx.ToRecheck = nil
		for _, l := range touched {
			l.Step(s.now, &actor.Message{Event: actor.Recheck}, s.fx)
		}
	}
	commands := s.fx.Commands
	s.fx.Commands = nil
	for i := range commands {
		commands[i].Lock.SetDispatched(&commands[i], true)
	}
	return commands
}

func (s *multiHarness) lock(l *actor.Lock) (*actor.Request, []actor.Command) {
	r := &actor.Request{Op: actor.Acquire, Key: l.Key(), Hold: &actor.Hold{}}
	s.fx.Receive(s.now, r)
	return r, s.step(l, &actor.Message{Event: actor.Requested, Request: r})
}

// lockBoth acquires both locks with one command.
func (s *multiHarness) lockBoth() (*actor.Request, actor.Command) {
	r := &actor.Request{Op: actor.Acquire, Key: "a", Multi: &actor.MultiRequest{Parts: []actor.Part{
		{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}},
	}}}
	s.fx.Receive(s.now, r)
	require.Empty(s.t, s.step(s.a, &actor.Message{Event: actor.Requested, Request: r}))
	require.Equal(s.t, []*actor.Request{r}, s.fx.ReadyMulti)
	s.fx.ReadyMulti = nil
	require.True(s.t, r.ReadyToSend(s.now) && s.a.Reservable(s.now, r) && s.b.Reservable(s.now, r))
	r.Reserve([]*actor.Lock{s.a, s.b}, s.fx)
	r.SendReserved(s.fx)
	commands := s.step(s.b, &actor.Message{Event: actor.Recheck})
	require.Len(s.t, commands, 1)
	return r, commands[0]
}

func (s *multiHarness) cancel(l *actor.Lock, r *actor.Request) []actor.Command {
	return s.step(l, &actor.Message{Event: actor.Cancel, Request: r})
}

func (s *multiHarness) reply(c actor.Command, reply actor.Reply) []actor.Command {
	return s.step(c.Lock, &actor.Message{Event: actor.Replied, Sent: s.now, Command: &c, Reply: &reply})
}

// markHeldByOther makes a caller wait for b in vain: b is held by another client for a minute more, as far as is known.
func (s *multiHarness) markHeldByOther() {
	r, asks := s.lock(s.b)
	require.Len(s.t, asks, 1)
	s.reply(asks[0], actor.Reply{Status: actor.HeldByOther, TTL: time.Minute, Holder: "other"})
	s.cancel(s.b, r)
}

// requireAcquireOfB requires that an acquire of b is sent.
func (s *multiHarness) requireAcquireOfB(commands []actor.Command) {
	s.t.Helper()
	for i := range commands {
		if commands[i].Lock == s.b && verbs[commands[i].Verb] == "acquire" {
			return
		}
	}
	s.t.Errorf("b is not asked for, but %d other commands leave", len(commands))
}

// A lock with a force that is to be repeated is not acquired together with others before it.
func TestMulti_ForceToBeRepeated_NotBeforeIt(t *testing.T) {
	s := newMultiHarness(t)
	force := &actor.Request{Op: actor.Force, Key: "b"}
	s.fx.Receive(s.now, force)
	forces := s.step(s.b, &actor.Message{Event: actor.Requested, Request: force})
	require.Len(t, forces, 1)
	s.reply(forces[0], actor.Reply{Status: actor.Rejected, Err: actor.ServerError("LOADING x")})
	both := &actor.Request{Op: actor.Acquire, Key: "a", Multi: &actor.MultiRequest{Parts: []actor.Part{
		{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}},
	}}}
	s.fx.Receive(s.now, both)
	s.step(s.a, &actor.Message{Event: actor.Requested, Request: both})
	require.True(t, s.a.Reservable(s.now, both))
	require.False(t, s.b.Reservable(s.now, both))
	s.now += time.Second
	forces = s.step(s.b, &actor.Message{Event: actor.Recheck})
	require.Len(t, forces, 1, "it is repeated")
	s.reply(forces[0], actor.Reply{Status: actor.OK})
	require.True(t, force.Completed())
	require.True(t, s.b.Reservable(s.now, both))
}

// A reply from before a lock was acquired together with others is no reason to wait, whatever the outcome of that
// command.
func TestAcquire_MultiFailed_NoTTLWait(t *testing.T) {
	lost := actor.Reply{Status: actor.NoReply, Err: errors.New("connection lost")}
	t.Run("who comes after it", func(t *testing.T) {
		s := newMultiHarness(t)
		s.markHeldByOther()
		both, asked := s.lockBoth()
		s.reply(asked, lost)
		s.cancel(s.a, both)
		_, commands := s.lock(s.b)
		s.requireAcquireOfB(commands)
	})
	t.Run("who came meanwhile", func(t *testing.T) {
		s := newMultiHarness(t)
		s.markHeldByOther()
		both, asked := s.lockBoth()
		_, commands := s.lock(s.b)
		require.Empty(t, commands)
		s.reply(asked, lost)
		s.requireAcquireOfB(s.cancel(s.a, both))
	})
	t.Run("who came meanwhile, when another of them is taken", func(t *testing.T) {
		s := newMultiHarness(t)
		s.markHeldByOther()
		_, asked := s.lockBoth()
		_, commands := s.lock(s.b)
		require.Empty(t, commands)
		s.requireAcquireOfB(s.reply(asked, actor.Reply{Status: actor.HeldByOther, TTL: time.Minute, Holder: "other"}))
	})
}

// Nor is it for a caller that comes after another kind of failure.
func TestAcquire_ForceFailed_NoTTLWait(t *testing.T) {
	runTranscript(t, `
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

// Locks that are reserved for a request for several are wanted, although no request waits at most of them.
func TestMulti_Reserved_NotGivenUp(t *testing.T) {
	s := newMultiHarness(t)
	both, asked := s.lockBoth()
	require.False(t, s.a.IsGivenUp())
	require.False(t, s.b.IsGivenUp())
	s.cancel(s.a, both)
	s.reply(asked, actor.Reply{Status: actor.OK})
	require.True(t, s.a.IsGivenUp())
	require.True(t, s.b.IsGivenUp())
}

// A reply for several locks that comes after their lease is no grant: who waits for one of them then is not told that
// another owner has it.
func TestAcquire_MultiReplyLate_NotHeldByOther(t *testing.T) {
	s := newMultiHarness(t)
	s.markHeldByOther()
	_, asked := s.lockBoth()
	before, _ := s.lock(s.b)
	s.now += time.Hour
	releases := s.step(asked.Lock, &actor.Message{Event: actor.Replied, Command: &asked, Reply: &actor.Reply{Status: actor.OK}})
	require.Len(t, releases, 2)
	after, _ := s.lock(s.b)
	for _, r := range []*actor.Request{before, after} {
		s.cancel(s.b, r)
		require.ErrorIs(t, r.Err, actor.ErrUnavailable)
	}
	last, _ := s.lock(s.b)
	for _, release := range releases {
		s.reply(release, actor.Reply{Status: actor.OK})
	}
	s.cancel(s.b, last)
	require.ErrorIs(t, last.Err, actor.ErrUnavailable, "it was released")
}

// voidGrants are the reasons for which a grant of both locks is given back.
var voidGrants = map[string]func(s *multiHarness, both *actor.Request){
	"late":           func(s *multiHarness, _ *actor.Request) { s.now += time.Hour },
	"unconfirmed":    func(s *multiHarness, _ *actor.Request) { s.fx.ReconfirmSince = s.now },
	"not wanted":     func(s *multiHarness, both *actor.Request) { s.cancel(s.a, both) },
	"late, unwanted": func(s *multiHarness, both *actor.Request) { s.cancel(s.a, both); s.now += time.Hour },
}

// giveBack acquires both locks, and has the grant given back while a caller waits for b. It returns the requests and
// the releases.
func (s *multiHarness) giveBack(void func(*multiHarness, *actor.Request)) (both, before *actor.Request, releases []actor.Command) {
	s.markHeldByOther()
	both, asked := s.lockBoth()
	sent := s.now
	before, _ = s.lock(s.b)
	void(s, both)
	releases = s.step(asked.Lock, &actor.Message{Event: actor.Replied, Sent: sent, Command: &asked, Reply: &actor.Reply{Status: actor.OK}})
	require.Len(s.t, releases, 2)
	return both, before, releases
}

func (s *multiHarness) try(l *actor.Lock) *actor.Request {
	r := &actor.Request{Op: actor.Acquire, Key: l.Key(), Hold: &actor.Hold{}, Once: true}
	s.fx.Receive(s.now, r)
	s.step(l, &actor.Message{Event: actor.Requested, Request: r})
	return r
}

// While a grant of several locks is given back that no caller has had, no other owner has any of them. So
// no wait that ends then is ErrNotAcquired.
func TestAcquire_MultiGivenBack_NotHeldByOther(t *testing.T) {
	for name, void := range voidGrants {
		t.Run(name, func(t *testing.T) {
			s := newMultiHarness(t)
			both, before, _ := s.giveBack(void)
			after, _ := s.lock(s.b)
			for _, c := range []struct {
				l *actor.Lock
				r *actor.Request
			}{{s.a, both}, {s.b, before}, {s.b, after}, {s.a, s.try(s.a)}, {s.b, s.try(s.b)}} {
				if !c.r.Completed() {
					s.cancel(c.l, c.r)
				}
				require.ErrorIs(t, c.r.Err, actor.ErrUnavailable)
			}
		})
	}
}

// A caller that tries once waits for these releases, and hears then from the server whether it has the lock. So does
// one that tries several locks.
func TestTry_MultiGivenBack_AsksServer(t *testing.T) {
	for name, void := range voidGrants {
		t.Run(name, func(t *testing.T) {
			s := newMultiHarness(t)
			_, before, releases := s.giveBack(void)
			try := s.try(s.b)
			several := &actor.Request{Op: actor.Acquire, Key: "a", Once: true, Multi: &actor.MultiRequest{Parts: []actor.Part{
				{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}},
			}}}
			s.fx.Receive(s.now, several)
			s.step(s.b, &actor.Message{Event: actor.Enqueued, Request: several})
			require.False(t, try.Completed() || several.Completed())
			asks := s.reply(releases[1], actor.Reply{Status: actor.OK})
			require.Len(t, asks, 1)
			s.requireAcquireOfB(asks)
			s.reply(asks[0], actor.Reply{Status: actor.OK})
			require.True(t, before.Completed() && before.Err == nil)
			require.Equal(t, actor.ErrNotAcquired, try.Err)
			require.Equal(t, actor.ErrNotAcquired, several.Err)
		})
		t.Run(name+", alone", func(t *testing.T) {
			s := newMultiHarness(t)
			_, before, releases := s.giveBack(void)
			try := s.try(s.b)
			s.cancel(s.b, before)
			asks := s.reply(releases[1], actor.Reply{Status: actor.OK})
			require.Len(t, asks, 1)
			s.requireAcquireOfB(asks)
			s.reply(asks[0], actor.Reply{Status: actor.OK})
			require.True(t, try.Completed() && try.Err == nil)
		})
	}
}

// A request for several locks that tries once is rejected some turns after those before it: another owner had the lock
// then. Its own command, if that has not left yet, does not leave, and the locks are free again.
func TestMulti_RejectedAfterOthers_CommandTakenBack(t *testing.T) {
	s := newMultiHarness(t)
	try := func(multi *actor.MultiRequest) (*actor.Request, []actor.Command) {
		r := &actor.Request{Op: actor.Acquire, Key: "a", Hold: &actor.Hold{}, Once: true, Multi: multi}
		s.fx.Receive(s.now, r)
		return r, s.step(s.a, &actor.Message{Event: actor.Requested, Request: r})
	}
	_, asks := try(nil)
	require.Len(t, asks, 1)
	both, _ := try(&actor.MultiRequest{Parts: []actor.Part{
		{Name: "a", Key: "a", Hold: &actor.Hold{}}, {Name: "b", Key: "b", Hold: &actor.Hold{}},
	}})
	s.fx.MaxRejections, s.fx.Rejections = 1, 1
	s.reply(asks[0], actor.Reply{Status: actor.HeldByOther, TTL: time.Minute, Holder: "other"})
	s.step(s.a, &actor.Message{Event: actor.Notified})
	require.True(t, s.a.Rejecting() && both.ReadyToSend(s.now))

	both.Reserve([]*actor.Lock{s.a, s.b}, s.fx)
	both.SendReserved(s.fx)
	require.Len(t, s.fx.Commands, 1)
	asked := s.fx.Commands[0]
	s.a.SetDispatched(&asked, false)
	s.fx.Commands, s.fx.Rejections = nil, 0
	require.Empty(t, s.step(s.a, &actor.Message{Event: actor.ContinueRejecting}))
	require.Equal(t, actor.ErrNotAcquired, both.Err)
	require.Equal(t, []actor.Verb{asked.Verb}, s.fx.Recalled)
	require.False(t, s.a.TryDispatch(&asked))
	s.fx.ReadyMulti = nil
	s.lockBoth()
}
