package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// redialConversation plays a conversation with a coordinator that reports when connections are to be closed. Its
// Timeout is 3 s.
func redialConversation(t *testing.T, redials bool, conversation string) {
	t.Helper()
	d := newHarness(t, 2)
	d.c.CanRedial = redials
	compare(t, conversation, func(line string) string {
		d.redialed = false
		said := d.line(line)
		if d.redialed {
			return "redial; " + said
		}
		return said
	})
}

// The connections to a server that replies as a replica for a whole timeout are ended; the pauses between grow.
func TestDemotion_ReplicaForTimeout_Redialed(t *testing.T) {
	redialConversation(t, true, `
		0s      lock a                  → 1: acquire a
		1ms     1 replica               → nothing
		3s      timer                   → 2: acquire a
		3001ms  2 replica               → nothing
		3500ms  timer                   → 3: acquire a
		3501ms  3 replica               → redial; nothing
		// from now on the pause is 6 s
		4s      timer                   → 4: acquire a
		4001ms  4 says MASTERDOWN x     → nothing
		9400ms  timer                   → 5: acquire a
		9401ms  5 replica               → nothing
		9700ms  timer                   → 6: acquire a
		9701ms  6 replica               → redial; nothing
		// a master resets the pause
		10s     timer                   → 7: acquire a
		10001ms 7 done                  → a granted
		10002ms unlock a                → a not held; 8: release a
		10003ms 8 replica               → nothing
		13003ms timer                   → 9: release a; a redis unavailable: READONLY x
		13004ms 9 replica               → redial; nothing
	`)
}

// A reply that a replica can give as well does not prove that the server is a master, but it is a reply.
func TestDemotion_ReadReply_ProvesNoMaster(t *testing.T) {
	redialConversation(t, true, `
		0s      lock a b                → 1: acquire a b
		1ms     1 done                  → a b granted
		2ms     lock c                  → 2: acquire c
		3ms     2 replica               → nothing
		4ms     state a                 → 3: state a
		5ms     3 done                  → a read
		2s      lock d                  → 4: acquire d c
		2001ms  4 taken                 → join {c} {d}
		4s      state a                 → 5: state a
		4001ms  5 done                  → redial; a read
	`)
	redialConversation(t, true, `
		0s      lock a b                → 1: acquire a b
		1ms     1 done replica          → a granted
		3100ms  timer                   → 2: acquire b
		3101ms  2 replica               → nothing
		3102ms  unlock a                → a not held; 3: release a
		3103ms  3 done                  → a unlocked
		6200ms  timer                   → 4: acquire b
		6201ms  4 replica               → nothing
	`)
}

// A missing reply does not show a replica, and neither does any other error.
func TestDemotion_OnlyReplicas_Redialed(t *testing.T) {
	redialConversation(t, true, `
		0s      lock a                  → 1: acquire a
		1ms     1 busy                  → nothing
		4s      timer                   → 2: acquire a
		4001ms  2 says BUSY READONLY    → nothing
		8s      timer                   → 3: acquire a
		8001ms  3 replica               → nothing
		12s     timer                   → 4: acquire a
		12001ms 4 lost READONLY x       → nothing
	`)
	redialConversation(t, false, `
		0s      lock a                  → 1: acquire a
		1ms     1 replica               → nothing
		9s      timer                   → 2: acquire a
		9001ms  2 replica               → nothing
	`)
}

// A grant followed by WAIT came on a dedicated connection. A renewal or a state query may have found nothing to write.
func TestDemotion_UnwrittenReply_Undecided(t *testing.T) {
	done, refused := []actor.Reply{{Status: actor.OK}}, []actor.Reply{{Status: actor.Rejected, Err: errors.New("READONLY x")}}
	for verb, open := range map[actor.Verb]bool{
		actor.SendAcquire: true, actor.SendFairAcquire: true, actor.SendRenew: true, actor.SendReadRenew: true, actor.SendReadState: true,
		actor.SendMultiAcquire: false, actor.SendRelease: false, actor.SendForce: false,
	} {
		c := New(harnessConfig(), SendersPerNode)
		c.CanRedial, c.Fx.Config.Replicas = true, 1
		c.trackDemotion(time.Second, c.evidenceOf(&Batch{Verb: actor.SendRelease, Replies: refused}))
		c.trackDemotion(2*time.Second, c.evidenceOf(&Batch{Verb: verb, Replies: done}))
		require.False(t, c.Redial)
		c.trackDemotion(5*time.Second, c.evidenceOf(&Batch{Verb: verb, Replies: done}))
		require.Equal(t, open, c.Redial, verb)
	}
}

// An address may lead to a replica forever.
func TestDemotion_Replicas_RedialedMoreRarely(t *testing.T) {
	var d demotion
	var ended []time.Duration
	for now := time.Duration(0); now < 40*time.Second; now += 100 * time.Millisecond {
		d.onReadOnly(now)
		if d.shouldRedial(now, time.Second) {
			ended = append(ended, now.Round(time.Second))
		}
	}
	require.Equal(t, []time.Duration{time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 23 * time.Second, 31 * time.Second, 39 * time.Second}, ended)
}
