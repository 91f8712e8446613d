package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// waiters returns the reply to the question who waits for a key.
func (d *coordinatorHarness) waiters(key string) Waiters {
	d.t.Helper()
	d.c.Turn(d.now, &LoopMessage{Value: WaiterQuery{Asker: "x", Key: key}})
	defer d.c.ResetOutputs()
	require.Len(d.t, d.c.Answers(), 1)
	require.Equal(d.t, 1, d.c.OwnMessagesHandled())
	a := d.c.Answers()[0]
	require.Equal(d.t, "x", a.Asker)
	require.NotNil(d.t, a.Waiters)
	require.Equal(d.t, "me", a.Waiters.Engine)
	return *a.Waiters
}

// An answer counts the callers that wait and says for how long the first of them has, for each kind of lock. It counts
// no holder, and no waiter of another name. That none waits is an answer, too.
func TestWaiterQuery_EachKind_Counted(t *testing.T) {
	d := newHarness(t, 8)
	compare(t, `
		1ms  lock fair:f fair:f/2 fair:f/3 → 1: acquire fair f f f
		2ms  1 done self self              → join {f}:me:2 {f}:me:3; fair:f granted
		3ms  lock a                        → 2: acquire a
		4ms  2 taken; ordered              → join {a}
		5ms  lock a/2 a/3 b                → 3: acquire b
		6ms  3 done                        → b granted
		7ms  write w; read w/2 w/3         → 4: write w
	`, d.line)
	d.now = 10 * time.Second
	at := func(came time.Duration) time.Duration { return d.now - came }
	require.Equal(t, Waiters{Engine: "me", Count: 3, Age: at(3 * time.Millisecond)}, d.waiters("a"))
	require.Equal(t, Waiters{Engine: "me"}, d.waiters("b"), "its caller holds it")
	require.Equal(t, Waiters{Engine: "me", Count: 2, Age: at(time.Millisecond)}, d.waiters("f"))
	require.Equal(t, Waiters{Engine: "me", Count: 3, Age: at(7 * time.Millisecond)}, d.waiters("w"), "writer and readers")
	require.Equal(t, Waiters{Engine: "me"}, d.waiters("c"))
}

// Callers that wait behind one of their own engine are counted as well. The first of them is gone when it is granted,
// or gives up.
func TestWaiterQuery_WaiterLeaves_NextIsFirst(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	d.line("2ms 1 done")
	d.line("3ms lock a/2")
	d.line("4ms lock a/3")
	require.Equal(t, Waiters{Engine: "me", Count: 2, Age: time.Millisecond}, d.waiters("a"))
	d.line("5ms cancel a/2")
	require.Equal(t, Waiters{Engine: "me", Count: 1, Age: time.Millisecond}, d.waiters("a"))
	d.line("6ms cancel a/3")
	require.Equal(t, Waiters{Engine: "me"}, d.waiters("a"))
}

// A request for several locks waits for one of them at a time: the one that was found held.
func TestWaiterQuery_SeveralLocks_CountedAtOne(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a+b")
	d.line("2ms 1 taken2")
	d.now = time.Second
	require.Zero(t, d.waiters("a").Count)
	require.Equal(t, Waiters{Engine: "me", Count: 1, Age: d.now - time.Millisecond}, d.waiters("b"))
}

// An asker subtracts the engine's subscriptions from the clients that listen, so they are those of the lock's channels,
// also if no caller waits any more.
func TestWaiterQuery_Subscriptions_Counted(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a; write w")
	d.line("2ms 1 taken; 2 taken")
	require.Zero(t, d.waiters("a").Subscriptions, "not yet")
	for _, key := range []string{"a", "w"} {
		name := d.c.Locks.Get(key).Channel()
		d.line("3ms ordered; subscribed " + name)
		d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: name, Conn: 1}})
		d.turn()
		require.Equal(t, 1, d.waiters(key).Subscriptions, key)
	}
	d.line("4ms cancel a")
	require.Equal(t, Waiters{Engine: "me", Subscriptions: 1}, d.waiters("a"))
	require.Zero(t, d.waiters("b").Subscriptions)
}

// Of very many locks of a name a turn looks at a bounded number. The answer says then that there may be more waiters.
func TestWaiterQuery_ManyLocks_AtLeast(t *testing.T) {
	d := newHarness(t, 8)
	const waiting = 3 * maxLocksPerTurn
	d.c.Senders = waiting/BatchKeys + 1
	for i := range waiting {
		d.ask("lock", fmt.Sprint("fair:f/", i))
	}
	d.turn()
	looked := 0
	require.False(t, d.c.LockSets["f"].locks.someOldest(maxLocksPerTurn, func(*actor.Lock) { looked++ }))
	require.Equal(t, maxLocksPerTurn, looked)
	d.now = time.Minute
	require.Equal(t, Waiters{Engine: "me", Count: maxLocksPerTurn, More: true, Age: time.Minute}, d.waiters("f"))
	require.Equal(t, maxLocksPerTurn, d.c.stepWeight(&LoopMessage{Value: WaiterQuery{Key: "f"}}), "a turn does little else of its lane")
	require.Equal(t, 1, d.c.stepWeight(&LoopMessage{Value: WaiterQuery{Key: "g"}}))
}

// Very many readers that hold a name do not hide those that wait, which came later.
func TestWaiterQuery_ManyReaders_WaitersCounted(t *testing.T) {
	d := newHarness(t, 8)
	const each = maxLocksPerTurn + 100
	d.c.Senders = 3 * (2*each/BatchKeys + 1)
	for i := range each {
		d.ask("read", fmt.Sprint("k/", i))
	}
	d.turn()
	d.settle(d.grantAll)
	require.Equal(t, each, d.granted())
	came := func(i int) time.Duration { // those that listen came first, and most of the others later than one of them
		switch {
		case i < maxListeningReaders:
			return time.Second
		case i == maxListeningReaders:
			return 2 * time.Second
		}
		return 3 * time.Second
	}
	for i := range each {
		if d.now != came(i) {
			d.turn()
			d.refuseAll()
			d.turns(2)
			d.now = came(i)
		}
		d.ask("read", fmt.Sprint("k/late", i))
	}
	d.turn()
	d.refuseAll()
	d.turns(2)
	d.now = 4 * time.Second
	require.Equal(t, Waiters{Engine: "me", Count: each, More: true, Age: 3 * time.Second}, d.waiters("k"))
	for i := range maxListeningReaders {
		d.ask("cancel", fmt.Sprint("k/late", i))
	}
	d.turns(2)
	require.Equal(t, Waiters{Engine: "me", Count: each - maxListeningReaders, More: true, Age: 2 * time.Second}, d.waiters("k"))
}

// Questions that are repeated do not make a turn longer: each takes its share of the messages of a turn.
func TestWaiterQuery_Flood_TurnBounded(t *testing.T) {
	d := newHarness(t, 8)
	d.c.intake.laneBudget = MaxMessagesPerTurn
	d.c.Senders = 100
	for i := range 2 * maxLocksPerTurn {
		d.ask("read", fmt.Sprint("k/", i))
	}
	d.turn()
	for range 50 {
		d.queueMessage(&LoopMessage{Value: WaiterQuery{Asker: "x", Key: "k"}})
	}
	answers := 0
	for i := 0; answers < 50; i++ {
		require.Less(t, i, 200)
		first := d.messages
		for j := range first[:max(len(first)-1, 0)] {
			first[j].Next = first[j+1]
		}
		d.messages = nil
		var head *LoopMessage
		if len(first) > 0 {
			head = first[0]
		}
		d.c.Turn(d.now, head)
		require.LessOrEqual(t, len(d.c.Answers()), 1)
		answers += len(d.c.Answers())
		d.c.ResetOutputs()
	}
}

// An engine that was granted nothing listens as well once one of its callers waits for another client: it can be asked
// who waits. Until then it does not, and a lock that is free makes it listen only when it is granted.
func TestOwnChannel_OnlyWaits_Subscribed(t *testing.T) {
	const name = "lockwheel:engine:me"
	for _, request := range []string{"lock a", "lock fair:a", "read a", "write a", "lock a+b"} {
		d := newHarness(t, 8)
		d.c.InitOwnChannel(name)
		d.line("1ms " + request)
		require.Nil(t, d.c.Fallback.Subscriptions.Channels[name], request)
		d.line("2ms 1 queued")
		require.NotNil(t, d.c.Fallback.Subscriptions.Channels[name], request)
		require.Zero(t, d.c.Fx.Stats.Acquired)
		_, who, _ := strings.Cut(request, " ")
		d.line("3ms cancel " + who)
		require.True(t, d.c.Fallback.Subscriptions.Channels[name].pinned, "from then on")
	}
}

// After the close a question has no answer, and makes room for others.
func TestWaiterQuery_Closed_Handled(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms close")
	require.True(t, d.c.Closed)
	d.c.Turn(d.now, &LoopMessage{Value: WaiterQuery{Asker: "x", Key: "a"}})
	for range 3 {
		if d.c.OwnMessagesHandled() == 1 {
			return
		}
		d.c.ResetOutputs()
		d.c.Turn(d.now, nil)
	}
	require.Fail(t, "it still waits for the loop")
}
