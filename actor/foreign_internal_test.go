package actor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A string is another holder's lock only with Config.Foreign, for commands that acquire or inspect plain and
// fenced locks. All other replies for a key that is no hash stay rejections that name the type, and the option
// where it helps.
func TestForeign_Reply_ByOptionAndVerb(t *testing.T) {
	const wrong = "WRONGTYPE x"
	applyTo := func(foreign bool, c Command, kind string) Reply {
		fx := Effects{Config: Config{Foreign: foreign}}
		reply := Reply{Status: Rejected, Err: ServerError(wrong), TTL: time.Minute, KeyType: kind, FailedPart: 2}
		fx.ApplyForeign(&c, &reply)
		return reply
	}
	apply := func(foreign bool, v Verb, kind string) Reply {
		return applyTo(foreign, Command{Verb: v, Request: &Request{}}, kind)
	}
	for v := SendAcquire; v < Verbs; v++ {
		require.Equal(t, Rejected, apply(false, v, "string").Status)
		require.EqualError(t, apply(true, v, "list").Err, wrong+"; it is a list")
		require.EqualError(t, apply(true, v, "").Err, wrong)
	}
	for _, v := range []Verb{SendAcquire, SendFencedAcquire, SendMultiAcquire} {
		require.Equal(t, Reply{Status: HeldByOther, TTL: time.Minute, FailedPart: 2, Foreign: true}, apply(true, v, "string"))
		require.ErrorContains(t, apply(false, v, "string").Err, "redislock")
		require.ErrorContains(t, apply(false, v, "string").Err, "Options.Foreign")
	}
	require.Equal(t, Reply{Status: OK, TTL: time.Minute, Foreign: true}, apply(true, SendState, "string"))
	require.ErrorContains(t, apply(false, SendState, "string").Err, "redislock")
	for _, foreign := range []bool{false, true} {
		require.ErrorContains(t, applyTo(foreign, Command{Verb: SendState, Request: &Request{Kind: Fair}}, "string").Err, "only as a Mutex")
	}
	for _, v := range []Verb{SendFairAcquire, SendReadAcquire, SendWriteAcquire, SendReadState} {
		require.ErrorContains(t, apply(true, v, "string").Err, "only as a Mutex")
	}
	for _, v := range []Verb{SendForce, SendFairForce, SendReadForce, SendWriteForce} {
		require.ErrorContains(t, apply(true, v, "string").Err, "ForceUnlock leaves it alone")
	}
}

// A waiter that polls often still sees that a foreign lock has a new holder: it compares with when it last saw one.
func TestForeign_NewHolder_SeenByItsEnd(t *testing.T) {
	var p polling
	require.False(t, p.foreignMoved(0, time.Second))
	require.False(t, p.foreignMoved(time.Second, foreignDrift))
	require.False(t, p.foreignMoved(time.Hour, -1), "it has no end")
	seen := 0
	for end := time.Second; end < 2*time.Second; end += foreignDrift / 4 {
		if p.foreignMoved(end, time.Minute) {
			seen++
		}
	}
	require.Greater(t, seen, 50)
}
