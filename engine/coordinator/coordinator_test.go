package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/rediserr"
)

// coordinatorHarness is a test harness for a coordinator: the test takes the place of its callers, senders and
// subscribers.
type coordinatorHarness struct {
	t          testing.TB
	c          *Coordinator
	now        time.Duration
	callers    map[string]*harnessCaller
	names      map[*actor.Request]string
	inFlight   map[int]*Batch // by number of the batch
	batches    int
	messages   []*LoopMessage
	order      *Order
	wires      map[*Node]*pubsubConns
	redialed   bool                  // a turn asked for the connections to be closed
	removed    []*Node               // in all turns
	onHoldEnds func([]actor.HoldEnd) // gets those of each turn; nil: none does
}

// pubsubConns simulates the pub/sub connections to a node, as its subscriber has them.
type pubsubConns struct {
	number, conn, next int
	to                 int // connection of the latest order
	last               *Order
}

// execute executes an order. The first connection is never the next one.
func (w *pubsubConns) execute(o *Order) {
	w.last = o
	switch {
	case o.CloseConns:
	case w.conn == 0:
		w.number++
		w.conn = w.number
	case o.OnNextConn && w.next == 0:
		w.number++
		w.next = w.number
	}
	if w.to = w.conn; o.OnNextConn && w.next != 0 {
		w.to = w.next
	}
}

// orderResult returns the subscriber's message about a completed order.
func (w *pubsubConns) orderResult(n *Node, err error) OrderDone {
	done := OrderDone{Node: n, Conn: w.to, Err: err}
	switch {
	case w.last == nil || err != nil:
	case w.last.CloseConns:
		w.conn, w.next, done.GoneConn = 0, 0, w.number
	case w.last.SwitchConn:
		w.conn, w.next, done.GoneConn = w.to, 0, w.to-1
	}
	w.last = nil
	return done
}

// breakAll returns the subscriber's message about broken connections.
func (w *pubsubConns) breakAll(n *Node) PubsubDown {
	w.conn, w.next = 0, 0
	return PubsubDown{n, w.number}
}

func (d *coordinatorHarness) connsOf(n *Node) *pubsubConns {
	if d.wires == nil {
		d.wires = make(map[*Node]*pubsubConns)
	}
	if d.wires[n] == nil {
		d.wires[n] = &pubsubConns{}
	}
	return d.wires[n]
}

type harnessCaller struct {
	hold   *actor.Hold
	latest *actor.Request
	parts  []actor.Part // of a request for several locks
}

func harnessConfig() actor.Config {
	return actor.Config{
		ID: "me", Lease: 30 * time.Second, RenewInterval: 10 * time.Second, CallTimeout: 3 * time.Second,
		MaxHandoffGrants: 64, MaxHandoffTime: 5 * time.Millisecond, FairWaitTimeout: 5 * time.Minute, Seed: 1,
	}
}

func newHarness(t testing.TB, senders int) *coordinatorHarness {
	c := New(harnessConfig(), senders)
	c.intake.laneBudget = 1 << 20 // one line of a conversation is one turn
	return &coordinatorHarness{
		t:        t,
		c:        c,
		callers:  map[string]*harnessCaller{},
		names:    map[*actor.Request]string{},
		inFlight: map[int]*Batch{},
	}
}

// The delay of a late renewal is reported for a minute, also when no other renewal follows.
func TestRenewLag_NoLaterRenewal_Forgotten(t *testing.T) {
	d := newHarness(t, 1)
	d.c.Fx.RenewLag.Note(time.Second, 5*time.Second)
	told := func(at time.Duration) time.Duration {
		var stats Stats
		d.c.Turn(at, &LoopMessage{Value: StatsRequest{&actor.Request{}, &stats}})
		d.c.ResetOutputs()
		return stats.RenewalLag
	}
	require.Equal(t, 5*time.Second, told(2*time.Second))
	require.Zero(t, told(5*time.Minute))
}

// runConversation plays a conversation with a coordinator and compares its outputs. Each line is a turn: a time
// (absolute, or with + relative to the turn before), the messages, and behind an arrow the outputs:
//
//	0s   lock a b; lock c      → 1: acquire a b c
//	1ms  1 done                → a b c granted
//
// The callers of a line are named after their keys. "a/2" is another caller for key a, and "fair:a" one for another
// kind. "a/me" and "a+b/me2" are callers of one owner, as with WithOwner. 1 is the first batch sent. It is followed by
// its replies: done, gone, taken, muted, refused, dumb; the last one counts for all further commands. "lost TEXT" and
// "says TEXT" are about the batch as a whole. "timer" is a turn at the time that the coordinator requested, which is
// shown.
func runConversation(t *testing.T, senders int, conversation string) {
	t.Helper()
	compare(t, conversation, newHarness(t, senders).line)
}

// compare plays the lines of a conversation and compares each with its expected outputs.
func compare(t *testing.T, conversation string, says func(line string) string) {
	t.Helper()
	var want, got []string
	for line := range strings.Lines(conversation) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasPrefix(line, "//") {
			continue
		}
		want = append(want, line)
		stimulus, _, _ := strings.Cut(line, " →")
		got = append(got, stimulus+" → "+says(stimulus))
	}
	require.Equal(t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

func (d *coordinatorHarness) line(line string) string {
	moment, stimuli, _ := strings.Cut(line, " ")
	at, err := time.ParseDuration(moment)
	require.NoError(d.t, err)
	if strings.HasPrefix(moment, "+") {
		at += d.now
	}
	require.GreaterOrEqual(d.t, at, d.now, line)
	d.now = at
	for stimulus := range strings.SplitSeq(stimuli, "; ") {
		words := strings.Fields(stimulus)
		switch words[0] {
		case "timer":
			due, ok := d.c.Next()
			if !ok || due > at {
				return fmt.Sprintf("nothing is due before %v (%v)", due, ok)
			}
		case "next":
			due, ok := d.c.Next()
			if !ok {
				return "never"
			}
			return fmt.Sprint(max(due-d.now, 0))
		case "doubt":
			d.c.ReconfirmAll(at)
		default:
			if oops := d.post(words); oops != "" {
				return oops
			}
		}
	}
	return d.turn()
}

func (d *coordinatorHarness) queueMessage(m *LoopMessage) { d.messages = append(d.messages, m) }

// post makes the messages of one stimulus.
func (d *coordinatorHarness) post(words []string) (oops string) {
	rest := words[1:]
	switch words[0] {
	case "lock", "async", "try", "ifup", "read", "tryread", "write", "trywrite", "unlock", "extend", "force", "forceread", "forcewrite", "state", "count", "cancel", "shutdown", "close":
		if len(rest) == 0 {
			rest = []string{words[0]}
		}
		for _, who := range rest {
			d.ask(words[0], who)
		}
	case "heard":
		for _, name := range rest {
			d.queueMessage(&LoopMessage{Value: ChannelMessage{Channel: channelNamed(name)}})
		}
	case "tookaway":
		for _, name := range rest {
			d.queueMessage(&LoopMessage{Value: LockForced{name}})
		}
	case "subscribed":
		for _, name := range rest {
			d.queueMessage(&LoopMessage{Value: ChannelSubscribed{Channel: channelNamed(name), Conn: d.connsOf(d.c.Fallback).to}})
		}
	case "ordered":
		d.order = nil
		d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, nil)})
	case "disordered":
		d.order = nil
		d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).orderResult(nil, errors.New(strings.Join(rest, " ")))})
	case "pubsubdown":
		d.queueMessage(&LoopMessage{Value: d.connsOf(d.c.Fallback).breakAll(nil)})
	default:
		return d.deliverBatch(words)
	}
	return ""
}

// ownerOf returns the owner that a caller's context carries, 0 for none.
func ownerOf(who string) uint64 {
	if strings.Contains(who, "/me") {
		return actor.ThreadOwner | 1
	}
	return 0
}

// ask posts a caller's request.
func (d *coordinatorHarness) ask(what, who string) {
	name, _, _ := strings.Cut(who, "/")
	kind, key, special := strings.Cut(name, ":")
	if !special {
		key = name
	}
	c := d.callers[who]
	if c == nil {
		c = &harnessCaller{}
		d.callers[who] = c
	}
	r := &actor.Request{Name: key, Key: key, Hold: c.hold}
	switch what {
	case "lock", "try", "unlock":
		if strings.Contains(key, "+") {
			d.requestMulti(what, who)
			return
		}
	}
	switch what {
	case "lock", "async", "try", "ifup", "read", "tryread", "write", "trywrite":
		r.Owner = ownerOf(who)
		r.Async = what == "async"
		if r.FailIfDown = what == "ifup"; r.FailIfDown && c.hold != nil {
			r.Owner = c.hold.Owner
		}
		c.hold = &actor.Hold{}
		r.Op, r.Hold, r.Once = actor.Acquire, c.hold, strings.HasPrefix(what, "try")
		r.Kind = map[string]actor.LockKind{"read": actor.Read, "tryread": actor.Read, "write": actor.Write, "trywrite": actor.Write}[what]
	case "unlock":
		r.Op = actor.Unlock
	case "extend":
		r.Op, r.Lease = actor.Extend, time.Minute
	case "force":
		r.Op = actor.Force
	case "forceread", "forcewrite":
		r.Op, r.Kind = actor.Force, map[string]actor.LockKind{"forceread": actor.Read, "forcewrite": actor.Write}[what]
	case "state":
		r.Op = AskState
	case "count":
		r.Op, r.Owner = AskCount, c.hold.Owner
	case "shutdown":
		r.Op = AskShutdown
	case "close":
		r.Op = AskClose
	case "cancel":
		d.queueMessage(&LoopMessage{Value: CancelRequest{c.latest, errors.New("canceled")}})
		return
	}
	if special {
		r.Kind = map[string]actor.LockKind{"fenced": actor.Fenced, "fair": actor.Fair}[kind]
	}
	c.latest = r
	d.names[r] = who
	d.queueMessage(&LoopMessage{Value: r})
}

// deliverBatch delivers the replies to a batch.
func (d *coordinatorHarness) deliverBatch(words []string) (oops string) {
	var number int
	_, err := fmt.Sscan(words[0], &number)
	require.NoError(d.t, err, words)
	b := d.inFlight[number]
	if b == nil {
		return fmt.Sprintf("batch %d is not out", number)
	}
	delete(d.inFlight, number)
	d.queueMessage(&b.Msg)
	text := strings.Join(words[2:], " ")
	switch words[1] {
	case "lost":
		b.Failed, b.NoReply = errors.New(text), true
		return ""
	case "cut":
		b.Failed, b.NoReply = rediserr.AsClientError(io.EOF), true
		return ""
	case "says":
		b.Failed, b.NoReply = errors.New(text), false
		return ""
	}
	b.Replies = b.Replies[:0]
	for i := range b.Commands {
		word := words[min(1+i, len(words)-1)]
		if word == "short" {
			return ""
		}
		b.Replies = append(b.Replies, map[string]actor.Reply{
			"done":    {Status: actor.OK, Listeners: -1},
			"muted":   {Status: actor.OK, Unpublished: true},
			"gone":    {Status: actor.NotFound},
			"taken":   {Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "x:1"},
			"queued":  {Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "x:1", QueueTTL: time.Hour},
			"dead":    {Status: actor.HeldByOther, TTL: time.Hour, QueueTTL: 2 * time.Hour},
			"self":    {Status: actor.HeldByOther, TTL: 20 * time.Second, Holder: "me:1", QueueTTL: time.Hour},
			"writer1": {Status: actor.HeldByOther, TTL: 20 * time.Second, Writer: "me:1"},
			"reader1": {Status: actor.HeldByOther, TTL: 20 * time.Second, Readers: "1"},
			"readers": {Status: actor.HeldByOther, TTL: 20 * time.Second, Readers: "1 2"},
			"refused": {Status: actor.Rejected, Err: errors.New("WRONGTYPE x")},
			"denied":  {Status: actor.Rejected, Err: errors.New("NOPERM x")},
			"busy":    {Status: actor.Rejected, Err: errors.New("BUSY x")},
			"replica": {Status: actor.Rejected, Err: errors.New("READONLY x")},
			"full":    {Status: actor.Rejected, Err: errors.New("OOM x")},
			"dumb":    {Err: errors.New("malformed"), Malformed: true},
			"taken2":  {Status: actor.HeldByOther, FailedPart: 1, TTL: 20 * time.Second, Holder: "x:1"},
			"ghost2":  {Status: actor.HeldByOther, FailedPart: 1, TTL: 20 * time.Second, Holder: "me:99"},
			"bad2":    {Status: actor.Rejected, FailedPart: 1, Err: errors.New("WRONGTYPE x")},
			"busy2":   {Status: actor.Rejected, FailedPart: 1, Err: errors.New("BUSY x")},
		}[word])
	}
	return ""
}

// turn runs one turn of the loop and returns what it published.
func (d *coordinatorHarness) turn() string {
	var first *LoopMessage
	for _, m := range slices.Backward(d.messages) {
		m.Next = first
		first = m
	}
	d.messages = nil
	d.c.Turn(d.now, first)
	if d.onHoldEnds != nil {
		d.onHoldEnds(d.c.Fx.HoldEnds)
	}
	said := slices.Concat(d.ended(), d.sentText(), d.ordered(), d.results())
	d.redialed, d.removed = d.redialed || d.c.Redial, append(d.removed, d.c.Removed...)
	d.c.ResetOutputs()
	requireWaitsKnown(d.t, d.c)
	if len(said) == 0 {
		return "nothing"
	}
	return strings.Join(said, "; ")
}

// joinLines joins names with the same outcome, in order.
func joinLines(said []string, what, name string) []string {
	if last := len(said) - 1; last >= 0 && strings.HasSuffix(said[last], " "+what) {
		said[last] = strings.TrimSuffix(said[last], what) + name + " " + what
		return said
	}
	return append(said, name+" "+what)
}

func (d *coordinatorHarness) ended() (said []string) {
	for _, e := range d.c.Fx.HoldEnds {
		for who, c := range d.callers {
			if c.hold == e.Hold || c.has(e.Hold) {
				said = joinLines(said, strings.TrimPrefix(e.Err.Error(), "lock "), who)
			}
		}
	}
	return said
}

func (d *coordinatorHarness) sentText() (said []string) {
	for _, b := range d.c.Batches {
		d.batches++
		d.inFlight[d.batches] = b
		verb := map[actor.Verb]string{
			actor.SendAcquire: "acquire", actor.SendRenew: "renew", actor.SendRelease: "release",
			actor.SendForce: "force", actor.SendState: "state", actor.SendMultiAcquire: "joint",
			actor.SendFencedAcquire: "acquire fenced", actor.SendFencedRenew: "renew fenced", actor.SendFairAcquire: "acquire fair",
			actor.SendFairRelease: "release fair", actor.SendFairForce: "force fair",
			actor.SendReadAcquire: "read", actor.SendReadRenew: "reread", actor.SendReadRelease: "unread", actor.SendReadForce: "force read", actor.SendWriteForce: "force write",
			actor.SendWriteAcquire: "write", actor.SendWriteRenew: "rewrite", actor.SendWriteRelease: "unwrite",
		}[b.Verb]
		if b.SendText {
			verb = "EVAL " + verb
		}
		keys := make([]string, len(b.Commands))
		for i := range b.Commands {
			keys[i] = b.Commands[i].Key
			if b.Verb == actor.SendMultiAcquire {
				keys[i] = shownParts(&b.Commands[i])
			}
		}
		if len(keys) > 8 {
			keys = append(keys[:1], fmt.Sprintf("… %s (%d)", keys[len(keys)-1], len(keys)))
		}
		require.Equal(d.t, d.now, b.Sent)
		said = append(said, fmt.Sprintf("%d: %s %s", d.batches, verb, strings.Join(keys, " ")))
	}
	return said
}

func (d *coordinatorHarness) ordered() (said []string) {
	o := d.c.Fallback.Subscriptions.Order
	if o == nil {
		return nil
	}
	require.Nil(d.t, d.order, "two orders at once")
	d.order, d.c.Fallback.Subscriptions.Order = o, nil
	short := func(names []string) string {
		slices.Sort(names)
		for i := range names {
			names[i] = strings.TrimPrefix(strings.TrimPrefix(names[i], "redisson_lock__channel:"), "redisson_")
		}
		return strings.Join(names, " ")
	}
	d.connsOf(d.c.Fallback).execute(o)
	e := d.c.Fallback.Subscriptions
	if o.CloseConns || o.SwitchConn {
		var left []string
		for ch := e.leftBehind.sentinel.next; ch != &e.leftBehind.sentinel; ch = ch.next {
			left = append(left, ch.name)
		}
		said = append(said, "leave "+short(left))
	}
	var joined []string
	for _, name := range o.Channels {
		if e.Channels[name].state == stateSubscribing {
			joined = append(joined, name)
		}
	}
	if len(joined) > 0 {
		said = append(said, "join "+short(joined))
	}
	return said
}

func (d *coordinatorHarness) results() (said []string) {
	for _, r := range d.c.Results.Ready {
		what := map[actor.Op]string{
			actor.Acquire: "granted", actor.Unlock: "unlocked", actor.Extend: "extended", actor.Force: "forced", AskState: "read", AskCount: "counted",
			AskShutdown: "complete", AskClose: "closed",
		}[r.Op]
		if r.Err != nil {
			what = strings.TrimPrefix(r.Err.Error(), "lock ")
			if r.Cause != nil {
				what += ": " + r.Cause.Error()
			}
		}
		said = joinLines(said, what, cmp.Or(d.names[r], "unnamed"))
	}
	return said
}

// requireIdle requires that the coordinator is empty.
func (d *coordinatorHarness) requireIdle() {
	d.t.Helper()
	require.Zero(d.t, d.c.Locks.Len())
	require.Empty(d.t, d.c.LockSets)
	require.Empty(d.t, d.c.Fallback.Subscriptions.Channels)
	require.Empty(d.t, d.inFlight)
	require.Zero(d.t, d.c.Timers())
	require.Zero(d.t, d.c.Fx.HeldLocks)
	require.False(d.t, d.c.Fallback.Backlog())
	require.Zero(d.t, d.c.Fallback.inFlight)
	stats := d.c.Stats()
	require.Zero(d.t, stats.Held)
	require.Zero(d.t, stats.Waiting)
	require.Zero(d.t, stats.InFlight)
	require.Zero(d.t, stats.Subscriptions)
	require.Zero(d.t, stats.Timers)
}

func TestCoordinator_LockUnlock_LeavesNothing(t *testing.T) {
	d := newHarness(t, 1)
	require.Equal(t, "1: acquire a", d.line("1ms lock a"))
	require.Equal(t, "a granted", d.line("2ms 1 done"))
	require.Equal(t, "a not held; 2: release a", d.line("3ms unlock a"))
	require.Equal(t, "a unlocked", d.line("4ms 2 done"))
	d.requireIdle()
	require.Equal(t, "never", d.line("5ms next"))
}

// While all senders are busy, commands accumulate and leave as one larger batch. No command waits for a batch to fill.
func TestBatch_SendersBusy_GrowsLarger(t *testing.T) {
	runConversation(t, 2, `
		1ms lock a           → 1: acquire a
		2ms lock b           → 2: acquire b
		3ms lock c           → nothing
		4ms lock d; lock e   → nothing
		// and the engine does not wake up before a batch returns
		4ms next             → never
		5ms 1 done           → 3: acquire c d e; a granted
		6ms 3 done; 2 done; lock f → 4: acquire f; c d e b granted
	`)
}

// Several locks, their renewal in one batch, and their ends.
func TestRenewal_DueTogether_OneBatch(t *testing.T) {
	runConversation(t, 8, `
		1ms     lock a b c       → 1: acquire a b c
		2ms     lock d           → 2: acquire d
		3ms     1 done; 2 done   → a b c d granted
		3ms     next             → 10.002s
		10.005s timer            → 3: renew a b c d
		10.006s 3 done gone done → b lost
		10.007s unlock a b c d   → a c d not held; 4: release a c d; b lost: that was known before the release was sent
		10.008s 4 done           → a c d unlocked
	`)
}

// There is one result, and a grant to a canceled request is released.
func TestCancel_CrossesGrant_OneResult(t *testing.T) {
	runConversation(t, 1, `
		1ms  lock a           → 1: acquire a
		2ms  1 done; cancel a → a not held; 2: release a; a granted
		3ms  2 done           → nothing
		4ms  cancel a         → nothing
		5ms  lock b           → 3: acquire b
		6ms  cancel b         → b redis unavailable: canceled
		6ms  3 done           → 4: release b
		7ms  4 done           → nothing
		8ms  lock c           → 5: acquire c
		9ms  cancel c; 5 done → c not held; 6: release c; c granted
	`)
}

// A shutdown rejects all waiters at once, and completes when the last hold is released.
func TestShutdown_LastRelease_Completes(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: acquire a b", d.line("1ms lock a b"))
	require.Equal(t, "join {b}; a granted", d.line("2ms 1 done taken"))
	require.Equal(t, "2: acquire c b", d.line("3ms ordered; subscribed b; lock c"), "who asks again is behind")
	require.Equal(t, "leave {b}; b c engine closed", d.line("4ms shutdown"))
	require.Equal(t, "d engine closed", d.line("5ms lock d"))
	require.Equal(t, "e engine closed", d.line("5ms try e"))
	require.Equal(t, "f engine closed", d.line("5ms force f"))
	// Earlier acquires may have been granted: their tenures are released first.
	require.Equal(t, "3: release c b", d.line("6ms 2 done"))
	require.Equal(t, "a not held; 4: release a", d.line("7ms unlock a"))
	require.Equal(t, "nothing", d.line("8ms 3 done"))
	require.Equal(t, "a unlocked; shutdown complete", d.line("9ms 4 done"))
	require.Zero(t, d.c.Stats().Waiting)
	require.EqualValues(t, 4, d.c.Stats().Failed)
}

// All requests for a shutdown get their result when it is complete; one of them may be canceled before.
func TestShutdown_Several_AllNotified(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a             → 1: acquire a
		2ms 1 done             → a granted
		3ms shutdown s1 s2     → nothing
		4ms cancel s1          → s1 redis unavailable: canceled
		5ms shutdown s3        → nothing
		6ms unlock a           → a not held; 2: release a
		7ms 2 done             → a unlocked; s2 s3 complete
	`)
}

// All requests get their results at once, whatever is in flight, and nothing is sent afterwards.
func TestClose_AllRequests_GetResults(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a b c d")
	d.line("2ms 1 done done taken taken")
	d.line("3ms lock a/2; force d; state s1")
	d.line("4ms state s2")
	require.EqualValues(t, 3, d.c.Stats().Waiting)
	said := d.line("5ms close; state s3; lock f; shutdown s4")
	require.Equal(t, "a b engine closed", strings.Split(said, "; ")[0])
	for _, who := range []string{"a/2", "b", "c", "d", "s1", "s2", "s3", "f", "s4"} {
		r := d.callers[who].latest
		require.True(t, r.Completed(), who)
		if who != "d" && who != "b" || r.Err != nil {
			require.ErrorIs(t, r.Err, actor.ErrClosed, who)
		}
	}
	require.NotContains(t, said, "acquire")
	require.NotContains(t, said, "release")
	require.Zero(t, d.c.Stats().Waiting)
	require.Zero(t, d.c.Stats().Held)
	require.Zero(t, d.c.Stats().Timers)
	require.Equal(t, "g engine closed", d.line("6ms lock g"))
	require.Zero(t, d.c.Stats().Waiting)
	// Batches that return find no lock.
	for number := range d.inFlight {
		require.Equal(t, "nothing", d.line(fmt.Sprintf("7ms %d lost EOF", number)))
	}
}

// A close ends a shutdown that still waits for holds.
func TestClose_ShutdownWaits_EndsShutdown(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a     → 1: acquire a
		2ms 1 done     → a granted
		3ms shutdown   → nothing
		4ms close      → a engine closed; shutdown engine close closed
		5ms unlock a   → a engine closed
	`)
}

// The state of a lock is read with one command, which is sent again only while its request has time.
func TestState_RetriedUntilTimeout(t *testing.T) {
	runConversation(t, 8, `
		1ms   state a b c  → 1: state a b c
		2ms   1 done refused busy → a read; b WRONGTYPE x; c redis unavailable: BUSY x
		3ms   state a      → 2: state a
		4ms   2 lost EOF   → nothing
		14ms  timer        → 3: state a
		15ms  3 done       → a read
		16ms  state a      → 4: state a
		17ms  cancel a     → a redis unavailable: canceled
		18ms  4 done       → nothing
		20ms  state a      → 5: state a
		3.02s timer        → a redis unavailable: no reply in time
		3.03s 5 lost EOF   → nothing
	`)
}

// The wall clock ran ahead: every hold is confirmed before anything is granted.
func TestReconfirm_ClockAhead_EveryHold(t *testing.T) {
	runConversation(t, 8, `
		1ms  lock a b c      → 1: acquire a b c
		2ms  1 done done taken → join {c}; a b granted
		3ms  lock d          → 2: acquire d
		5s   doubt           → 3: renew a b; 4: acquire c
		5s   2 done          → 5: renew d
		6s   3 gone done     → a lost
		6s   4 taken         → nothing
		6s   5 done          → d granted
		7s   unlock b d      → b d not held; 6: release b d
	`)
}

// A lock may be removed before the last of its commands has a reply, and its memory reused for another key.
func TestReply_LockRemoved_Ignored(t *testing.T) {
	t.Run("and has no holder", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms lock a")
		d.line("2ms 1 done")
		require.Equal(t, "2: renew a", d.line("10.005s timer"))
		require.Equal(t, "a lost; 3: release a", d.line("29.695s timer"))
		require.Equal(t, "nothing", d.line("30s 3 done"))
		require.Zero(t, d.c.Locks.Len())
		require.Equal(t, "nothing", d.line("31s 2 done"))
		d.requireIdle()
	})
	t.Run("and is another's", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms lock a")
		d.line("2ms 1 done")
		require.Equal(t, "2: renew a", d.line("10.005s timer"))
		require.Equal(t, "a lost; 3: release a", d.line("29.695s timer"))
		require.Equal(t, "4: acquire b", d.line("30s 3 done; lock b"))
		require.Equal(t, "nothing", d.line("31s 2 done"))
		require.Equal(t, "b granted", d.line("32s 4 done"))
		require.Equal(t, "b not held; 5: release b", d.line("33s unlock b"))
		require.Equal(t, "b unlocked", d.line("34s 5 done"))
		d.requireIdle()
	})
}

// Statistics can be read before and after the close.
func TestStats_AroundClose_Readable(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a b")
	d.line("2ms 1 done taken")
	look := func() (s Stats) {
		r := &actor.Request{}
		d.queueMessage(&LoopMessage{Value: StatsRequest{r, &s}})
		d.turn()
		require.True(t, r.Completed())
		require.NoError(t, r.Err)
		return s
	}
	s := look()
	require.EqualValues(t, 1, s.Held)
	require.EqualValues(t, 1, s.Waiting)
	require.EqualValues(t, 3, s.LoopTurns)
	require.Positive(t, s.Timers)
	d.line("3ms close")
	s = look()
	require.Equal(t, Stats{Acquired: 1, Failed: 1, Commands: 2, Batches: 1, LoopTurns: 5, InFlight: s.InFlight, Subscriptions: s.Subscriptions,
		AcquireWaits: durationsOf(time.Millisecond, 2*time.Millisecond), HoldTimes: durationsOf(time.Millisecond), RoundTrips: durationsOf(time.Millisecond), BatchSizes: sizesOf(2)}, s)
}

// In the middle of its turn, a request that is about to be sent again would seem to sleep.
func TestStats_SnapshotAtTurnEnd(t *testing.T) {
	d := newHarness(t, 8)
	var s Stats
	d.line("1ms lock a")
	d.queueMessage(&LoopMessage{Value: StatsRequest{&actor.Request{}, &s}})
	d.line("2ms lock b")
	require.EqualValues(t, 2, s.InFlight, "of a, and of b that came after the question")
	require.EqualValues(t, 2, s.Waiting)
	require.EqualValues(t, 2, s.Commands)
}

// The hold count is known without a command to the server.
func TestHoldCount_KnownWithoutServer(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms lock a")
	d.line("2ms 1 done")
	require.Equal(t, "a counted", d.line("3ms count a"))
	require.Equal(t, 1, d.callers["a"].latest.State.Count)
	d.line("4ms unlock a")
	d.line("5ms 2 done")
	require.Equal(t, "a counted", d.line("6ms count a"))
	require.Equal(t, 0, d.callers["a"].latest.State.Count)
}

// An owner in a context belongs to a name and a kind of lock.
func TestHoldCount_OtherKind_NotCounted(t *testing.T) {
	for held, who := range map[string]string{"lock a": "a", "lock fenced:a": "fenced:a", "write a": "a", "read a": "a", "lock fair:a": "fair:a"} {
		d := newHarness(t, 1)
		d.line("1ms " + held)
		require.Equal(t, who+" granted", d.line("2ms 1 done"))
		of := d.callers[who].latest
		for _, kind := range []actor.LockKind{actor.Plain, actor.Fenced, actor.Write, actor.Read, actor.Fair} {
			asks := &actor.Request{Op: AskCount, Kind: kind, Name: "a", Key: "a", Owner: of.Hold.Owner}
			d.queueMessage(&LoopMessage{Value: asks})
			d.turn()
			require.Equal(t, kind == of.Kind, asks.State.Count == 1, "%v, asked of kind %v", held, kind)
		}
	}
}

// The state of a lock is the reply of the server, unchanged.
func TestState_ReturnsServerReply(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: state a", d.line("1ms state a"))
	want := actor.Reply{Status: actor.OK, TTL: time.Second, Holder: "x:1", Count: 3}
	b := d.inFlight[1]
	b.Replies = append(b.Replies, want)
	d.queueMessage(&b.Msg)
	require.Equal(t, "a read", d.line("2ms heard a"))
	require.Equal(t, &want, d.callers["a"].latest.State)
}

// A finished lock is reused for another key. A stale pointer to it must not affect the new one.
func TestLock_Reused_OldHoldsIgnored(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms lock a")
	d.line("2ms 1 done")
	d.line("3ms unlock a")
	d.line("4ms 2 done")
	old := *d.callers["a"]
	require.Equal(t, "3: acquire b", d.line("5ms lock b"))
	require.Equal(t, "b granted", d.line("6ms 3 done"))
	require.Same(t, old.hold.Lock(), d.callers["b"].hold.Lock(), "not reused: the test is without point")
	require.Equal(t, "a not held", d.line("7ms unlock a"))
	require.Equal(t, "nothing", d.line("8ms cancel a"))
	require.Equal(t, "b not held; 4: release b", d.line("9ms unlock b"))
	require.Equal(t, "b unlocked", d.line("10ms 4 done"))
	d.requireIdle()
}

// Many timers at once do not delay messages, and none is lost.
func TestTimers_ManyDue_FiredOverTurns(t *testing.T) {
	d := newHarness(t, 1000)
	const locks = maxTimersPerTurn + 1000
	for i := range locks {
		d.ask("lock", fmt.Sprint("k", i))
	}
	d.now = time.Millisecond
	d.turn()
	for number := range d.inFlight {
		d.deliverBatch([]string{fmt.Sprint(number), "done"})
	}
	d.turn()
	require.EqualValues(t, locks, d.c.Stats().Held)
	d.due()
	for turns := 1; ; turns++ {
		renewals := d.c.Fallback.Queues[actor.SendRenew].Len()
		for _, b := range d.inFlight {
			renewals += len(b.Commands)
		}
		if renewals == locks {
			require.Greater(t, turns, 1)
			break
		}
		require.LessOrEqual(t, renewals, maxTimersPerTurn*turns)
		due, ok := d.c.Next()
		require.True(t, ok)
		require.LessOrEqual(t, due, d.now)
		d.turn()
	}
}
