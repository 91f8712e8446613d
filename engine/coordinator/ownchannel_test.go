package coordinator

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A notice asks the server at once, and only the reply ends the hold. One that is forged costs a round trip; while that
// is under way, any number of further ones costs one more.
func TestForceNotice_Held_ServerAsked(t *testing.T) {
	d := newHarness(t, 8)
	compare(t, `
		1ms  lock a               → 1: acquire a
		2ms  1 done               → a granted
		4ms  tookaway b           → nothing
		5ms  tookaway a           → 2: renew a
		6ms  tookaway a a a       → nothing
		7ms  2 done               → 3: renew a
		8ms  3 done               → nothing
		9ms  tookaway a           → 4: renew a
		10ms 4 gone               → a lost
		11ms tookaway a           → nothing
		12ms lock a               → 5: acquire a
		13ms 5 done               → a granted
		14ms unlock a; tookaway a → a not held; 6: release a
		15ms 6 done               → a unlocked
	`, d.line)
	d.requireIdle()
}

// The cause of a loss names a notice only if the server says that the key is gone, not long after the notice, however
// long the engine has run. Few keys are kept, and none of locks that this engine does not have.
func TestForceNotice_KeyGone_CauseNamesIt(t *testing.T) {
	d := newHarness(t, 8)
	var causes []string
	d.onHoldEnds = func(ended []actor.HoldEnd) {
		for _, e := range ended {
			causes = append(causes, e.Key+": "+e.Cause.Error())
		}
	}
	compare(t, `
		1ms    lock a b c          → 1: acquire a b c
		2ms    1 done              → a b c granted
		3ms    tookaway a; tookaway x → 2: renew a
		4ms    2 gone              → a lost
		5ms    tookaway b          → 3: renew b
		6ms    3 refused           → b lost; 4: release b
		7ms    tookaway c          → 5: renew c
		8ms    5 done; 4 gone      → nothing
		9s     extend c            → 6: renew c
		9001ms 6 gone              → c lost; c lost
		20s    lock d              → 7: acquire d
		20s    7 done              → d granted
		20s    tookaway d          → 8: renew d
		20s    8 gone              → d lost
		20s    lock d              → 9: acquire d
		20s    9 done              → d granted
		20s    extend d            → 10: renew d
		20s    10 gone             → d lost; d lost
	`, d.line)
	require.Equal(t, []string{
		"a: the key is gone or someone else's; a message said that it was unlocked by force",
		"b: WRONGTYPE x", "c: the key is gone or someone else's",
		"d: the key is gone or someone else's; a message said that it was unlocked by force",
		"d: the key is gone or someone else's",
	}, causes)
	for i := range 5 * maxForced {
		d.c.own.forced.note(d.now, fmt.Sprint(i), 0, true)
		require.LessOrEqual(t, len(d.c.own.forced.keys), maxForced)
	}
}

// A waiter in a fair queue has its tenure before it is granted. A notice that came while it waited is not about it.
func TestForceNotice_FairWaiter_NotAboutIt(t *testing.T) {
	d := newHarness(t, 8)
	var causes []string
	d.onHoldEnds = func(ended []actor.HoldEnd) {
		for _, e := range ended {
			causes = append(causes, e.Cause.Error())
		}
	}
	compare(t, `
		1ms     lock fair:a                → 1: acquire fair a
		2ms     1 queued                   → join {a}:me:1
		3ms     ordered; subscribed {a}:me:1 → 2: acquire fair a
		4ms     2 queued                   → nothing
		10s     tookaway a                 → nothing
		10001ms heard {a}:me:1             → 3: acquire fair a
		10002ms 3 done                     → leave {a}:me:1; fair:a granted
		12s     extend fair:a              → 4: renew a
		12001ms 4 gone                     → fair:a lost; fair:a lost
		13s     lock fair:b                → 5: acquire fair b
		13s     5 done                     → fair:b granted
		13s     tookaway b                 → 6: renew b
		13s     6 gone                     → fair:b lost
	`, d.line)
	require.Equal(t, []string{
		"the key is gone or someone else's", "the key is gone or someone else's; a message said that it was unlocked by force",
	}, causes)
}

// A notice can overtake the reply that grants the lock which was taken away. A lock that was requested later is not
// confirmed.
func TestForceNotice_BeforeGrant_ServerAsked(t *testing.T) {
	d := newHarness(t, 8)
	compare(t, `
		0ms  lock x       → 1: acquire x
		1ms  lock a       → 2: acquire a
		2ms  tookaway a   → nothing
		3ms  2 done       → 3: renew a; a granted
		4ms  3 gone       → a lost
		5ms  lock a       → 4: acquire a
		6ms  4 done       → a granted
		7ms  read k/1     → 5: read k
		8ms  tookaway k   → nothing
		9ms  5 done       → 6: reread k; k/1 granted
		10ms 6 gone       → k/1 lost
		11ms read k/1     → 7: read k
		12ms 7 done       → k/1 granted
		13ms lock m+n     → 8: joint m+n
		14ms tookaway n   → nothing
		15ms 8 done       → 9: renew n; m+n granted
		16ms 9 done       → nothing
		17ms 1 done       → x granted
	`, d.line)
	require.Empty(t, d.c.own.early, "kept although nothing was in flight")
}

// A command leaves after the notices of its turn, so they cannot be about what it is granted.
func TestForceNotice_InTurnOfCommand_NotAboutIt(t *testing.T) {
	d := newHarness(t, 2)
	compare(t, `
		1ms lock x             → 1: acquire x
		2ms lock y             → 2: acquire y
		3ms lock a             → nothing
		4ms 1 done; tookaway a → 3: acquire a; x granted
		5ms 3 done             → a granted
	`, d.line)
}

// Notices for ever other locks that are waited for keep a bounded number of keys.
func TestForceNotice_ManyWaited_Bounded(t *testing.T) {
	d := newHarness(t, 8)
	for i := range 5 * maxEarly {
		name := fmt.Sprint("n", i)
		d.ask("lock", name)
		d.turn()
		d.queueMessage(&LoopMessage{Value: LockForced{name}})
		d.queueMessage(&LoopMessage{Value: LockForced{"unknown" + name}})
		d.turn()
		require.LessOrEqual(t, len(d.c.own.early), maxEarly)
	}
	require.NotEmpty(t, d.c.own.early)
}

// Of a name that readers, or callers of a fair lock, hold each is confirmed; those that wait are not woken.
func TestForceNotice_ManyHolders_EachAsked(t *testing.T) {
	runConversation(t, 8, `
		1ms  read k/1 k/2    → 1: read k k
		2ms  1 done          → k/1 k/2 granted
		3ms  tookaway k      → 2: reread k k
		4ms  2 done gone     → k/2 lost
		5ms  write w         → 3: write w
		6ms  3 done          → w granted
		7ms  tookaway w      → 4: rewrite w
		8ms  4 gone          → w lost
		9ms  lock fair:f fair:f/2 → 5: acquire fair f f
		10ms 5 done queued   → join {f}:me:5; fair:f granted
		11ms ordered; tookaway f → 6: renew f
		12ms 6 done          → nothing
	`)
}

// Very many readers of a name are confirmed over several turns, however often a client says that it was forced.
func TestForceNotice_ManyReaders_TurnBounded(t *testing.T) {
	d := newHarness(t, 8)
	const readers = 3*maxLocksPerTurn + 7
	d.c.Senders = readers/BatchKeys + 1
	for i := range readers {
		d.ask("read", fmt.Sprint("k/", i))
	}
	for d.turn(); len(d.inFlight) > 0; d.turn() {
		for number := range d.inFlight {
			d.deliverBatch([]string{fmt.Sprint(number), "done"})
		}
	}
	told := make(map[*actor.Lock]int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == actor.Notified {
			told[s.Lock]++
		}
	}
	for range 50 {
		d.queueMessage(&LoopMessage{Value: LockForced{"k"}})
	}
	d.slices(told)
	require.Len(t, told, readers)
	for _, times := range told {
		require.LessOrEqual(t, times, 2, "the event recurred while it was being delivered")
	}
}

// own returns the order for the own channel that the turn gave, if any.
func (d *coordinatorHarness) own() (channels []string) {
	d.c.Turn(d.now, nil)
	if o := d.c.Fallback.Subscriptions.Order; o != nil {
		d.connsOf(d.c.Fallback).execute(o)
		channels = o.Channels
	}
	d.c.ResetOutputs()
	return channels
}

// The own channel is subscribed after the first grant, and tried again after a pause: a long one if it is not allowed.
func TestOwnChannel_FirstGrant_Subscribed(t *testing.T) {
	const name = "lockwheel:engine:me"
	d := newHarness(t, 8)
	d.c.InitOwnChannel(name)
	require.Equal(t, "1: acquire a", d.line("1ms lock a"))
	require.Empty(t, d.own())
	d.deliverBatch([]string{"1", "done"})
	messages := d.messages
	d.messages = nil
	d.c.Turn(d.now, messages[0])
	d.c.ResetOutputs()
	after := func(pause time.Duration, err error) {
		t.Helper()
		d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, err)})
		d.c.Turn(d.now, d.messages[0])
		require.Nil(t, d.c.Fallback.Subscriptions.Order)
		d.messages = nil
		d.c.ResetOutputs()
		at, ok := d.c.Next()
		require.True(t, ok)
		require.LessOrEqual(t, at, d.now+pause)
		d.now += pause - 1
		require.Empty(t, d.own())
		d.now++
		require.Equal(t, []string{name}, d.own())
	}
	d.c.Fallback.Subscriptions.Order = nil
	d.connsOf(d.c.Fallback).execute(&Order{Channels: []string{name}})
	after(ownChannelRetry, errors.New("EOF"))
	after(ownChannelDenied, errors.New("NOPERM x"))
	d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: name, Conn: d.connsOf(d.c.Fallback).to}})
	d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, nil)})
	d.turn()
	require.Equal(t, 1, d.c.Fallback.Subscriptions.Subscribed)
	require.Zero(t, d.c.Stats().Subscriptions, "it is not a lock's")
	require.Empty(t, d.own())
}

// The own channel is subscribed although others keep coming, and these are not held up.
func TestOwnChannel_OthersKeepComing_Subscribed(t *testing.T) {
	s := newSubscriptions()
	ordered := make(map[string]time.Duration)
	turn := func(now time.Duration) {
		s.addListener(new(actor.Lock), fmt.Sprint("c", now))
		s.updateOrder(now)
		if s.Order == nil {
			return
		}
		for _, name := range s.Order.Channels {
			ordered[name] = now
			s.onSubscribed(name, 1)
		}
		s.Order = nil
		s.onOrderDone(now, 1, 0, nil)
	}
	s.pin("own")
	for now := time.Second; now < 2*time.Second; now += time.Millisecond {
		turn(now)
	}
	require.Contains(t, ordered, "own")
	require.Equal(t, len(s.Channels), s.Subscribed)
}

// In a cluster the own channel follows the slot of its name.
func TestOwnChannel_SlotMoves_Follows(t *testing.T) {
	d := newClusterHarness(t, 4)
	d.c.InitOwnChannel("lockwheel:engine:me")
	d.c.Fx.Stats.Acquired = 1
	pinnedAt := func() (addresses []string) {
		d.now += time.Millisecond
		d.c.Turn(d.now, nil)
		d.c.ResetOutputs()
		for _, n := range d.c.Nodes {
			if ch := n.Subscriptions.Channels["lockwheel:engine:me"]; ch != nil && ch.pinned {
				addresses = append(addresses, n.Address)
			}
		}
		return addresses
	}
	first := pinnedAt()
	require.Len(t, first, 1)
	for _, address := range []string{"A", "B", "C", "A"} {
		d.queueMessage(&LoopMessage{Value: TopologyResult{Topology: topologyOf(t, "0-16383@"+address)}})
		d.turn()
		require.Equal(t, []string{address + ":1"}, pinnedAt())
	}
}

// An answer says since when the named tenure has been held, and nothing about another one.
func TestHolderQuery_Answered(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a; read k/1 k/2")
	d.line("2ms 1 done; 2 done")
	ask := func(key string, tenure uint64) Answer {
		d.c.Turn(d.now, &LoopMessage{Value: HolderQuery{Asker: "x", Key: key, Tenure: tenure}})
		defer d.c.ResetOutputs()
		require.Len(t, d.c.Answers(), 1)
		require.Equal(t, 1, d.c.OwnMessagesHandled())
		return d.c.Answers()[0]
	}
	d.now = 5 * time.Second
	tenure := d.c.Locks.Get("a").Tenure()
	require.Equal(t, Answer{Asker: "x", Held: true, Age: 5*time.Second - 2*time.Millisecond}, ask("a", tenure))
	require.Equal(t, Answer{Asker: "x"}, ask("a", tenure+100))
	require.Equal(t, Answer{Asker: "x"}, ask("b", tenure))
	for _, l := range d.c.LockSets["k"].All() {
		require.True(t, ask("k", l.Tenure()).Held)
	}
	require.Empty(t, d.c.Answers(), "the outputs are cleared")
	d.line("5001ms lock a; tookaway a") // so that the lock has what only few have
	require.True(t, ask("a", tenure).Held)
	require.Equal(t, Answer{Asker: "x"}, ask("a", 0), "no tenure has that number")
	d.now = time.Hour
	require.Equal(t, Answer{Asker: "x"}, ask("a", tenure), "its lease is over")
}
