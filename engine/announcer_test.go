package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

const someEngine = "00000000-0000-4000-8000-000000000001"

// Any client can send messages, so only some wait for the loop, and none that is very long.
func TestOwnMessages_Flood_Dropped(t *testing.T) {
	o := &ownMessages{channel: identity.EngineChannel(someEngine)}
	for range maxOwnMessages {
		message, ok := o.received("forced a b")
		require.True(t, ok)
		require.Equal(t, coordinator.LockForced{Key: "a b"}, message)
	}
	_, ok := o.received("forced a")
	require.False(t, ok)
	o.pending.Add(-1)
	message, ok := o.received(identity.Question(someEngine, 7, "a b"))
	require.True(t, ok)
	require.Equal(t, coordinator.HolderQuery{Asker: someEngine, Key: "a b", Tenure: 7}, message)
	o.pending.Add(-1)
	message, ok = o.received(identity.WaitersQuestion(someEngine, "a b"))
	require.True(t, ok)
	require.Equal(t, coordinator.WaiterQuery{Asker: someEngine, Key: "a b"}, message)
	_, ok = o.received(identity.WaitersQuestion(someEngine, "a b"))
	require.False(t, ok, "it is one of those that wait")

	o = &ownMessages{}
	for _, text := range []string{"", "forced", "forced ", "since", "since x 1 a", "since " + someEngine + " x a", "since " + someEngine + " 1 ", "waiters", "waiters x a", "forced " + strings.Repeat("k", identity.MaxMessage)} {
		_, ok := o.received(text)
		require.False(t, ok, text[:min(len(text), 50)])
	}
	require.Zero(t, o.pending.Load())
	_, ok = o.received("forced " + strings.Repeat("k", 64<<10))
	require.True(t, ok, "the longest key")
}

// Answers that come faster than they can be published are dropped.
func TestAnswers_Flood_Dropped(t *testing.T) {
	a := newAnnouncer(&Identity{}, nil, nil)
	a.take(make([]coordinator.Answer, 10*maxAnswers))
	require.Len(t, a.answers, maxAnswers)
}

// An answer has all that the coordinator says, as the asker reads it.
func TestAnswers_EachSort_ReadBack(t *testing.T) {
	a, ok := identity.ParseAnswer(textOf(&coordinator.Answer{Held: true, Age: time.Minute}))
	require.True(t, ok)
	require.Equal(t, identity.Answer{Held: true, Age: time.Minute}, a)
	w, ok := identity.ParseWaiters(textOf(&coordinator.Answer{Waiters: &coordinator.Waiters{Engine: "e", Count: 3, More: true, Age: time.Minute, Subscriptions: 1}}))
	require.True(t, ok)
	require.Equal(t, identity.Waiters{Engine: "e", Waiting: 3, More: true, Age: time.Minute, Subscriptions: 1}, w)
}

// An engine that closes while its server is known to be down leaves the record to its TTL. A server that does not reply
// would delay the close.
func TestShutdown_ServerDown_RecordGivenUp(t *testing.T) {
	for _, down := range []bool{false, true} {
		server, client := newScriptedServer(t, func(int, []string) string { return "" })
		e := newEngine(actor.Config{ID: "id", Lease: 30 * time.Second}, &Identity{Key: "record"}, Hooks{}, nil)
		e.coordinator.Fallback.Breaker.Down = down
		e.shutdown()
		e.announcer.client = client
		r := announcedRecord{announcer: e.announcer, written: true}
		r.delete()
		require.Equal(t, !down, strings.Contains(server.receivedOn(1), "DEL record\n"))
	}
}

// The bound is on the messages that wait for the loop. Those that it has handled make room for others.
func TestOwnMessages_Handled_MakeRoom(t *testing.T) {
	e := newHeldLoop()
	for range 2 * maxOwnMessages {
		message, ok := e.own.received("forced a")
		require.True(t, ok)
		e.box.Post(&coordinator.LoopMessage{Value: message})
		e.turn()
	}
	require.Zero(t, e.own.pending.Load())
}

// A record has all its fields and expires. If the server does not let it expire, there is none: nothing would ever
// delete it.
func TestRecordScript_ExpiryDenied_NoRecord(t *testing.T) {
	conn, err := redistest.Dial(redistest.Start(t).Addr())
	require.NoError(t, err)
	defer conn.Close()
	do := func(args ...any) any {
		reply, err := conn.Do(args...)
		require.NoError(t, err)
		return reply
	}
	_, client := newScriptedServer(t, func(int, []string) string { return "" })
	command := newAnnouncer(&Identity{Key: "record", TTL: time.Minute, Fields: []string{"a", "1", "b", "2"}}, nil, nil).command(client)
	var write []any
	for _, word := range command.Commands() {
		write = append(write, word)
	}
	require.EqualValues(t, 1, do(write...))
	require.ElementsMatch(t, []any{"a", "1", "b", "2"}, do("HGETALL", "record"))
	require.InDelta(t, 60_000, do("PTTL", "record"), 30_000)
	for _, denied := range []string{"-pexpire", "-hset"} {
		do("DEL", "record")
		require.Equal(t, "OK", do("ACL", "SETUSER", "limited", "reset", "on", "nopass", "~*", "+@all", denied))
		require.Equal(t, "OK", do("AUTH", "limited", "any"))
		_, err = conn.Do(write...)
		require.Error(t, err, denied)
		require.EqualValues(t, 0, do("EXISTS", "record"), denied)
		require.Equal(t, "OK", do("AUTH", "default", ""))
	}
}
