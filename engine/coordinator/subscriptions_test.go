package coordinator

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/scripts"
)

// Only the presence of an opening brace is tested.
func TestChannel_NamedAsRedissons(t *testing.T) {
	for key, channel := range map[string]string{
		"myLock": "redisson_lock__channel:{myLock}",
		"{a}:x":  "redisson_lock__channel:{a}:x",
		"a{b}c":  "redisson_lock__channel:a{b}c",
		"a{b":    "redisson_lock__channel:a{b",
		"a}b":    "redisson_lock__channel:{a}b}",
		"{}":     "redisson_lock__channel:{}",
		"":       "redisson_lock__channel:{}",
	} {
		require.Equal(t, channel, channelOf(key), key)
	}
}

// One order is in flight at a time; the next one is made from the difference that exists then.
func TestSubscriptions_OneOrderInFlight(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock a b           → 1: acquire a b
		2ms    1 taken            → join {a} {b}
		3ms    lock c             → 2: acquire c
		4ms    2 taken; subscribed a → 3: acquire a
		// the next order is made when the subscriber is free, from the difference that exists then
		5ms    cancel b           → b not acquired: canceled
		6ms    subscribed b       → nothing
		7ms    ordered            → join {c}
		8ms    subscribed c       → 4: acquire c
		9ms    ordered; 3 done; 4 done → a c granted
		// a moment later no lock waits any more
		255ms  timer              → leave {b}
		256ms  ordered            → nothing
		// channels are not unsubscribed all the time
		259ms  timer              → nothing
		355ms  timer              → leave {a} {c}
		356ms  ordered            → nothing
		357ms  unlock a c         → a c not held; 5: release a c
		358ms  5 done             → a c unlocked
		359ms  next               → never
	`)
}

// A waiter comes while the channel is being unsubscribed: it is subscribed anew, and the waiter is notified of the
// confirmation.
func TestSubscription_LeaveInFlight_Rejoined(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock a            → 1: acquire a
		2ms    1 taken           → join {a}
		3ms    ordered; subscribed a → 2: acquire a
		4ms    2 taken; cancel a → a not acquired: canceled
		254ms  timer             → leave {a}
		255ms  lock a            → 3: acquire a
		256ms 3 taken            → 4: acquire a
		257ms 4 taken            → nothing
		258ms ordered            → join {a}
		259ms subscribed a       → 5: acquire a
		260ms ordered; 5 taken   → nothing
		261ms heard a            → 6: acquire a
		262ms 6 done             → a granted
	`)
}

// A new connection that is to replace another one confirms a channel and breaks. The old connection, which stays, does
// not have that channel.
func TestSubscription_NextConnBreaks_Rejoins(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock a            → 1: acquire a
		2ms    1 taken           → join {a}
		3ms    ordered; subscribed a → 2: acquire a
		4ms    2 taken; cancel a; lock b → 3: acquire b; a not acquired: canceled
		254ms  3 taken           → leave {a}; join {b}
		255ms  subscribed b      → 4: acquire b
		256ms  4 taken           → nothing
		257ms  pubsubdown; disordered EOF → nothing
		// until it is subscribed, the waiter polls
		457ms  timer             → 5: acquire b; join {b}
		458ms  5 taken; subscribed b → 6: acquire b
		459ms  6 done; ordered   → b granted
	`)
}

// A confirmation from a connection that broke before the loop handled it does not count as a subscription.
func TestSubscription_DeadConn_ConfirmIgnored(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, "join {a}", d.line("2ms 1 taken"))
	subs := d.c.Fallback.Subscriptions
	for name := range subs.Channels {
		subs.onConnLost(1)
		require.Empty(t, subs.onSubscribed(name, 1))
		require.NotEmpty(t, subs.onSubscribed(name, 2))
	}
}

// And the other way round: the waiter leaves while the channel is being subscribed.
func TestSubscription_JoinInFlight_LeftAfter(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, "join {a}", d.line("2ms 1 taken"))
	d.line("3ms cancel a")
	require.Equal(t, "nothing", d.line("254ms timer"))
	require.Equal(t, "nothing", d.line("255ms subscribed a"))
	require.Equal(t, "leave {a}", d.line("256ms ordered"))
	require.EqualValues(t, 1, d.c.Stats().Subscriptions)
	require.Equal(t, "nothing", d.line("257ms ordered"))
	d.requireIdle()
	// Confirmations of a broken connection are ignored.
	require.Equal(t, "nothing", d.line("258ms subscribed a; heard a"))
	d.requireIdle()
}

// The keys a and {a} share a channel. It is subscribed once, both locks listen, and it is unsubscribed with the last of
// them.
func TestChannel_SharedByKeys_SubscribedOnce(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, channelOf("a"), channelOf("{a}"))
	d.line("1ms lock a {a}")
	require.Equal(t, "join {a}", d.line("2ms 1 taken"))
	require.Equal(t, "2: acquire a {a}", d.line("3ms ordered; subscribed a"))
	require.EqualValues(t, 1, d.c.Stats().Subscriptions)
	require.Equal(t, "a granted", d.line("4ms 2 done taken"))
	// For the holder it may mean a forced unlock, for the other lock that the lock is free.
	require.Equal(t, "3: renew a; 4: acquire {a}", d.line("5ms heard a"))
	require.Equal(t, "nothing", d.line("6ms 3 done; 4 taken"))
	d.line("254ms timer")
	require.Equal(t, "a not held; 5: release a", d.line("255ms unlock a"))
	require.Equal(t, "a unlocked", d.line("256ms 5 done"))
	// The other lock goes on listening, and a new one listens at once.
	require.Equal(t, "6: acquire a", d.line("257ms lock a"))
	require.Equal(t, "7: acquire a", d.line("258ms 6 taken"))
	require.Equal(t, "nothing", d.line("259ms 7 taken"))
	require.Equal(t, "8: acquire {a} a", d.line("260ms heard {a}"))
	require.Equal(t, "{a} a granted", d.line("261ms 8 done"))
	require.Equal(t, "a {a} not held; 9: release a {a}", d.line("262ms unlock a {a}"))
	require.Equal(t, "a {a} unlocked", d.line("263ms 9 done"))
	require.Equal(t, "leave {a}", d.line("511ms timer"))
	require.Equal(t, "nothing", d.line("512ms ordered"))
	d.requireIdle()
}

// After every resubscription, all waiters try again.
func TestSubscription_ConnBroken_WaitersRetry(t *testing.T) {
	runConversation(t, 8, `
		1ms  lock a b             → 1: acquire a b
		2ms  1 taken              → join {a} {b}
		3ms  ordered; subscribed a b → 2: acquire a b
		4ms  2 taken              → nothing
		5ms  pubsubdown           → join {a} {b}
		6ms  heard a              → 3: acquire a
		7ms  3 taken; subscribed a b → 4: acquire a b
		8ms  ordered; 4 taken     → nothing
		// confirmed once more, on a connection that was to replace another one: nothing was missed
		9ms  subscribed b         → nothing
		10ms pubsubdown; cancel a → join {a} {b}; a not acquired: canceled
		// broken again while the event is being delivered
		11ms pubsubdown           → nothing
		12ms disordered EOF       → nothing
		12ms next                 → 10ms
		22ms timer                → join {a} {b}
		23ms ordered; subscribed b → 5: acquire b
	`)
}

// An order that fails is tried again with a backoff, and waiters poll meanwhile.
func TestSubscriptions_OrderFails_Backoff(t *testing.T) {
	runConversation(t, 8, `
		1ms    lock a          → 1: acquire a
		2ms    1 taken         → join {a}
		3ms    disordered EOF  → nothing
		13ms   timer           → join {a}
		14ms   disordered EOF  → nothing
		34ms   timer           → join {a}
		35ms   disordered EOF  → nothing
		75ms   timer           → join {a}
		76ms   disordered EOF  → nothing
		156ms  timer           → 2: acquire a; join {a}
		157ms  disordered EOF  → nothing
		317ms  timer           → join {a}
		318ms  disordered EOF  → nothing
		638ms  timer           → join {a}
		639ms  disordered EOF  → nothing
		1.139s timer           → join {a}
		1.14s  disordered EOF  → nothing
		1.64s  timer           → join {a}
		1.641s ordered; subscribed a → nothing
		1.642s 2 done; pubsubdown → join {a}; a granted
		1.643s disordered EOF  → nothing
		1.643s next            → 10ms
	`)
}

// A failed order is not tried again if no waiter needs its channel any more.
func TestSubscriptions_StaleOrder_Forgotten(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	require.Equal(t, "join {a}", d.line("2ms 1 taken"))
	require.Equal(t, "a not acquired: canceled", d.line("3ms cancel a"))
	require.Equal(t, "nothing", d.line("252ms disordered EOF"))
	require.Equal(t, "1ms", d.line("252ms next"))
	require.Equal(t, "nothing", d.line("253ms timer"), "the linger is over")
	require.Equal(t, "never", d.line("253ms next"))
	d.requireIdle()
}

// A channel that the ACL forbids must not prevent the subscription of others.
func TestSubscriptions_Forbidden_OthersJoined(t *testing.T) {
	e := newSubscriptions()
	const good = 1000
	e.addListener(actor.NewLock("bad", actor.Plain), channelOf("bad"))
	for i := range good {
		e.addListener(actor.NewLock(fmt.Sprint("k", i), actor.Plain), channelOf(fmt.Sprint("k", i)))
	}
	heard := map[string]bool{}
	now, orders := newHarness(t, 1).now, 0
	for len(heard) < good {
		if orders++; orders > 60 {
			t.Fatalf("%d of %d are heard after %d orders", len(heard), good, orders)
		}
		e.updateOrder(now)
		if e.Order == nil {
			e.takeUnreported()
			require.NotZero(t, e.nextRetry())
			now = max(now, e.nextRetry())
			continue
		}
		o := e.Order
		e.Order = nil
		require.LessOrEqual(t, len(o.Channels), MaxChannelsPerCommand)
		if strings.Contains(strings.Join(o.Channels, " "), channelOf("bad")) {
			e.onOrderDone(now, 1, 0, fmt.Errorf("NOPERM %d channels", len(o.Channels)))
			continue
		}
		for _, name := range o.Channels {
			heard[name] = true
			e.onSubscribed(name, 1)
		}
		e.onOrderDone(now, 1, 0, nil)
	}
	require.Equal(t, good, e.Subscribed)
	require.Equal(t, actor.SubscribeFailed, e.addListener(actor.NewLock("later", actor.Read), channelOf("bad")),
		"one that listens to it later has to poll, too")
	// The forbidden channel is retried now and then, alone.
	e.updateOrder(now)
	for e.Order == nil {
		e.takeUnreported()
		require.NotZero(t, e.nextRetry())
		now = max(now, e.nextRetry())
		e.updateOrder(now)
	}
	require.Equal(t, []string{channelOf("bad")}, e.Order.Channels)
}

// A forbidden channel does not delay the end of a subscription that no lock needs.
func TestSubscriptions_Forbidden_LastIdleEnds(t *testing.T) {
	e := newSubscriptions()
	e.now, e.unsubscribeAt, e.rejectedRetryAt = time.Second, 2*time.Second, time.Minute
	e.rejected.push(&channel{name: channelOf("bad")})
	require.Equal(t, time.Minute, e.nextRetry())
	e.Subscribed, e.unused = 1, 1
	require.Equal(t, 2*time.Second, e.nextRetry())
}

// An order names at most MaxChannelsPerCommand channels; the others follow in the next one.
func TestSubscriptions_OrderSizeBounded(t *testing.T) {
	e := newSubscriptions()
	for i := range MaxChannelsPerCommand + 10 {
		e.addListener(actor.NewLock(fmt.Sprint("k", i), actor.Plain), channelOf(fmt.Sprint("k", i)))
	}
	e.updateOrder(0)
	require.Len(t, e.Order.Channels, MaxChannelsPerCommand)
	e.Order = nil
	e.updateOrder(0)
	require.Nil(t, e.Order, "one at a time")
	e.onOrderDone(0, 1, 0, nil)
	e.updateOrder(0)
	require.Len(t, e.Order.Channels, 10)
}

// pinnedChannel is the engine's own, in place of those of the lock k5.
const pinnedChannel = "lockwheel:engine:me"

// subscriptionsHarness simulates a pub/sub server and its subscriber, at random.
type subscriptionsHarness struct {
	t         *testing.T
	random    *rand.Rand
	subs      *subscriptions
	now       time.Duration
	order     *Order // with the subscriber
	wires     pubsubConns
	sent      map[int]map[string]bool // what the server sends on each connection
	messages  []func()                // messages to the loop, in order
	locks     map[string]*actor.Lock
	notified  map[string]bool // the lock was notified since it joined and since the channel was last subscribed
	forbidden string          // a channel that the server forbids
	pinned    bool
}

// step executes one random event.
func (s *subscriptionsHarness) step() {
	switch s.random.IntN(7) {
	case 0, 1:
		s.changeListener(fmt.Sprint("k", s.random.IntN(6)))
	case 2, 3:
		s.deliver()
	case 4:
		s.carryOut()
	case 5:
		if s.random.IntN(4) == 0 {
			s.breakConns()
		}
	case 6:
		s.now += time.Duration(s.random.Int64N(int64(200 * time.Millisecond)))
	}
	s.arrange()
}

func (s *subscriptionsHarness) changeListener(key string) {
	if key == "k5" {
		if s.pinned = !s.pinned; s.pinned {
			s.subs.pin(pinnedChannel)
		} else {
			s.subs.unpin(pinnedChannel)
		}
		return
	}
	if l := s.locks[key]; l != nil {
		delete(s.locks, key)
		delete(s.notified, key)
		s.subs.removeListener(l, channelOf(l.Key()))
		return
	}
	s.locks[key] = actor.NewLock(key, actor.Plain)
	s.notified[key] = s.subs.addListener(s.locks[key], channelOf(key)) == actor.Subscribed
}

func (s *subscriptionsHarness) arrange() {
	s.subs.takeUnreported()
	if s.subs.pinFailed { // as the coordinator does, after a pause
		s.subs.pinFailed = false
		if s.pinned {
			s.subs.pin(pinnedChannel)
		}
	}
	s.subs.updateOrder(s.now)
	if s.subs.Order != nil {
		require.Nil(s.t, s.order)
		s.order, s.subs.Order = s.subs.Order, nil
	}
	subscribed, idle, leaving := 0, 0, 0
	for _, ch := range s.subs.Channels {
		if s.subs.IsSubscribed(ch) {
			subscribed++
			if !ch.wanted() {
				idle++
			}
			if ch.dropping {
				leaving++
			}
		}
	}
	require.Equal(s.t, []int{subscribed, idle, leaving}, []int{s.subs.Subscribed, s.subs.unused, s.subs.dropping})
}

// deliver hands the next message to the loop.
func (s *subscriptionsHarness) deliver() {
	if len(s.messages) > 0 {
		open := s.messages[0]
		s.messages = s.messages[1:]
		open()
	}
}

func (s *subscriptionsHarness) posts(done OrderDone) func() {
	return func() { s.subs.onOrderDone(s.now, done.Conn, done.GoneConn, done.Err) }
}

// carryOut simulates the subscriber: it subscribes and unsubscribes, and reports its completion and the server's
// confirmations in any order.
func (s *subscriptionsHarness) carryOut() {
	if s.order == nil {
		return
	}
	o := s.order
	s.order = nil
	s.wires.execute(o)
	if slices.Contains(o.Channels, s.forbidden) {
		s.messages = append(s.messages, s.posts(s.wires.orderResult(nil, errors.New("NOPERM"))))
		return
	}
	at := s.wires.to
	done := s.wires.orderResult(nil, nil)
	maps.DeleteFunc(s.sent, func(number int, _ map[string]bool) bool { return number <= done.GoneConn })
	messages := []func(){s.posts(done)}
	for _, name := range o.Channels {
		if s.sent[at] == nil {
			s.sent[at] = map[string]bool{}
		}
		s.sent[at][name] = true
		messages = append(messages, func() {
			for _, l := range s.subs.onSubscribed(name, at) {
				s.notified[l.Key()] = true
			}
		})
	}
	to := s.random.IntN(len(messages))
	messages[0], messages[to] = messages[to], messages[0]
	s.messages = append(s.messages, messages...)
}

// breakConns breaks the connections, perhaps in the middle of an order.
func (s *subscriptionsHarness) breakConns() {
	clear(s.sent)
	broken := s.wires.breakAll(nil)
	s.messages = append(s.messages, func() {
		s.subs.onConnLost(broken.GoneConn)
		clear(s.notified)
	})
	if s.order != nil && s.random.IntN(2) == 0 {
		s.order = nil
		s.messages = append(s.messages, s.posts(OrderDone{Err: errors.New("EOF")}))
	}
}

// listens returns the channels on which the server sends messages.
func (s *subscriptionsHarness) listens() (names []string) {
	for _, some := range s.sent {
		names = slices.AppendSeq(names, maps.Keys(some))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Whatever the order of events, in the end exactly the wanted channels are subscribed, and all listeners have been
// notified.
func TestSubscriptions_RandomEvents_Converge(t *testing.T) {
	for seed := range uint64(3000) {
		s := &subscriptionsHarness{
			t: t, random: rand.New(rand.NewPCG(seed, 1)), subs: newSubscriptions(),
			sent: map[int]map[string]bool{}, locks: map[string]*actor.Lock{}, notified: map[string]bool{},
		}
		switch seed % 6 {
		case 0, 3:
			s.forbidden = channelOf("k0")
		case 1:
			s.forbidden = pinnedChannel
		}
		for range 150 {
			s.step()
		}
		for range 100 {
			s.now += MaxSubscribeBackoff
			s.arrange()
			s.carryOut()
			for len(s.messages) > 0 {
				s.deliver()
			}
		}
		var want, got []string
		for key := range s.locks {
			if channelOf(key) != s.forbidden {
				want = append(want, channelOf(key))
				require.True(t, s.notified[key], "seed %d: %s was not told", seed, key)
			}
		}
		if s.pinned && s.forbidden != pinnedChannel {
			want = append(want, pinnedChannel)
		}
		got = s.listens()
		slices.Sort(want)
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, len(want), s.subs.Subscribed, "seed %d", seed)
		for key, l := range s.locks {
			s.subs.removeListener(l, channelOf(l.Key()))
			delete(s.locks, key)
		}
		s.subs.unpin(pinnedChannel)
		s.pinned = false
		for range 20 {
			s.now += MaxSubscribeBackoff
			s.arrange()
			s.carryOut()
			for len(s.messages) > 0 {
				s.deliver()
			}
		}
		require.Empty(t, s.listens(), "seed %d", seed)
		require.Empty(t, s.subs.Channels, "seed %d", seed)
	}
}

// channelOf returns the channel of a plain lock.
func channelOf(key string) string { return scripts.RedissonKey(scripts.Channel, key) }
