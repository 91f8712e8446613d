package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// closeAndCount runs turns until a close is complete, and returns their number.
func (d *coordinatorHarness) closeAndCount() (turns int) {
	for d.c.ResetOutputs(); d.c.ClosePending(); d.c.ResetOutputs() {
		d.c.Turn(d.now, nil)
		turns++
		require.Less(d.t, turns, 1000)
	}
	return turns
}

// However many locks there are, a turn of a close ends a bounded number of them. It also rejects bounded numbers of
// waiters and messages. The close request gets its result last, and no command is sent meanwhile.
func TestClose_ManyLocks_TurnBounded(t *testing.T) {
	const locks = 3*maxLocksPerTurn + 1
	d := newHarness(t, 8)
	d.holds(locks)
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d/2", i))
	}
	d.turn()
	var late []*actor.Request
	msg := &LoopMessage{Value: &actor.Request{Op: AskClose}}
	asked := msg.Value.(*actor.Request)
	for range 3 * MaxMessagesPerTurn {
		r := wants(actor.Plain, 0, false)
		late = append(late, r)
		msg = &LoopMessage{Value: r, Next: msg}
	}
	ended := 0
	for turns := 1; ; turns++ {
		if !d.c.Closed {
			turns = 0 // first the waiters are rejected
		}
		before := d.c.MessagesLeft()
		d.c.Turn(d.now, msg)
		msg = nil
		require.LessOrEqual(t, len(d.c.Fx.HoldEnds), maxLocksPerTurn)
		require.LessOrEqual(t, before-d.c.MessagesLeft(), max(d.c.intake.laneBudget, MaxMessagesPerTurn))
		require.Empty(t, d.c.Batches)
		ended += len(d.c.Fx.HoldEnds)
		require.Equal(t, min(turns*maxLocksPerTurn, locks), ended)
		require.True(t, ended == locks || !asked.Completed())
		if d.c.ResetOutputs(); !d.c.ClosePending() {
			break
		}
	}
	require.True(t, asked.Completed())
	require.NoError(t, asked.Err)
	for _, r := range late {
		require.Equal(t, actor.ErrClosed, r.Err)
	}
	s := d.c.Stats()
	require.Zero(t, s.Held)
	require.Zero(t, s.Waiting)
	require.Zero(t, s.Timers)
}

// A lock that was unlocked before the close is released, and its caller has the server's reply. New locks are rejected
// meanwhile.
func TestClose_ReleaseInFlight_AwaitsReply(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms 1 done                 → a granted
		3ms unlock a; close x      → a not held; 2: release a
		4ms lock b                 → b engine closed
		5ms close y                → nothing
		6ms 2 done                 → a unlocked
		6ms timer                  → x y closed
	`)
}

// A fenced lock needs another token before it is handed off. While that is asked for, no caller has the lock: a close
// releases it.
func TestClose_HandOffAwaitsToken_Released(t *testing.T) {
	runConversation(t, 8, `
		1ms lock fenced:a          → 1: acquire fenced a
		2ms 1 done                 → fenced:a granted
		3ms lock fenced:a/2        → join {a}
		4ms unlock fenced:a        → fenced:a not held; 2: renew fenced a; fenced:a unlocked
		5ms close x                → fenced:a/2 engine closed
		6ms 2 done                 → 3: release a
		7ms 3 done                 → nothing
		7ms timer                  → x closed
	`)
}

// A TTL that exceeds what the holds of a lock need falls before the close: an inner hold with a longer lease was
// unlocked, or the lock was handed off to a caller with a shorter one.
func TestClose_TTLExceedsNeed_FallsFirst(t *testing.T) {
	inner := `
		1ms lock a/me              → 1: acquire a
		2ms 1 done                 → a/me granted
		3ms lock a/me2             → 2: renew a; a/me2 granted
		4ms 2 done; extend a/me2   → 3: renew a
	`
	for name, conversation := range map[string]string{
		"a command that lowers it is in flight": inner + `
			5ms 3 done                 → a/me2 extended
			6ms unlock a/me2           → a/me2 not held; 4: renew a; a/me2 unlocked
			7ms close x                → nothing
			8ms 4 done                 → nothing
			8ms timer                  → a/me engine closed; x closed
		`,
		"the unlock and the close are handled together": inner + `
			5ms 3 done                 → a/me2 extended
			6ms unlock a/me2; close x  → a/me2 not held; 4: renew a; a/me2 unlocked
			7ms 4 done                 → nothing
			7ms timer                  → a/me engine closed; x closed
		`,
		"the command that raises it is in flight": inner + `
			5ms unlock a/me2; close x  → a/me2 not held; a/me2 unlocked
			6ms 3 done                 → 4: renew a; a/me2 not held
			7ms 4 done                 → nothing
			7ms timer                  → a/me engine closed; x closed
		`,
		"it would be lowered later": `
			1ms lock a                 → 1: acquire a
			2ms 1 done; extend a       → 2: renew a; a granted
			3ms cancel a               → a redis unavailable: canceled
			4ms 2 done                 → nothing
			5ms close x                → 3: renew a
			6ms 3 done                 → nothing
			6ms timer                  → a engine closed; x closed
		`,
		"after a shutdown": inner + `
			5ms 3 done                 → a/me2 extended
			6ms shutdown y             → nothing
			7ms unlock a/me2; close x  → a/me2 not held; 4: renew a; a/me2 unlocked
			8ms 4 done                 → y engine closed
			8ms timer                  → a/me engine closed; x closed
		`,
		"the server does not reply": inner + `
			5ms 3 done                 → a/me2 extended
			6ms unlock a/me2           → a/me2 not held; 4: renew a; a/me2 unlocked
			7ms close x                → nothing
			3.007s timer               → nothing
			3.007s timer               → a/me engine closed; x closed
		`,
	} {
		t.Run(name, func(t *testing.T) { runConversation(t, 8, conversation) })
	}
}

// An unlock that reaches the loop in the same turn as the close, or in its mailbox behind others, came before it.
func TestClose_UnlocksQueued_SentFirst(t *testing.T) {
	const locks = 3 * MaxMessagesPerTurn
	d := newHarness(t, SendersPerNode)
	d.holds(locks)
	for i := range locks {
		d.ask("unlock", fmt.Sprintf("k%04d", i))
	}
	d.ask("close", "x")
	d.opens("done")
	require.Zero(t, d.c.Stats().Held)
	require.EqualValues(t, locks, d.c.Stats().Released)
	require.NoError(t, d.callers["x"].latest.Err)
}

// The same holds for unlocks of callers that do not block, of one owner with very many holds: only the last of them
// releases the lock.
func TestClose_AsyncUnlocksQueued_Released(t *testing.T) {
	const share, holds = 8, 100
	d := newSharedLaneHarness(t, share)
	d.ask("lock", "k/0")
	d.opens("done")
	for i := 1; i < holds; i++ {
		who := fmt.Sprint("k/", i)
		d.callers[who] = &harnessCaller{hold: d.callers["k/0"].hold} // it enters as the owner of that hold
		d.ask("ifup", who)
	}
	d.opens("done")
	require.Equal(t, holds, d.c.Locks.Get("k").HoldCount(d.callers["k/0"].hold.Owner, d.now))
	for i := range holds {
		d.unlockAsync(fmt.Sprint("k/", i))
	}
	d.ask("close", "x")
	d.opens("done")
	require.Zero(t, d.c.Stats().Held)
	require.EqualValues(t, holds, d.c.Stats().Released, "unlocks that succeeded")
	require.NoError(t, d.callers["x"].latest.Err)
}

// A server that does not reply delays a close for one CallTimeout, and not at all once it is known to be down.
func TestClose_ServerSilent_WaitIsBounded(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms 1 done                 → a granted
		3ms unlock a               → a not held; 2: release a
		4ms close x                → nothing
		3.003s timer               → a redis unavailable: no reply in time
		3.004s timer               → nothing
		3.004s timer               → x closed
	`)
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms 1 done                 → a granted
		3ms unlock a               → a not held; 2: release a
		4ms 2 lost EOF             → nothing
		5ms close x                → a engine x closed
	`)
}

// A lock that is granted after its caller gave up is released before the engine closes. So is one that its waiter is
// granted after the close was requested.
func TestClose_AcquireInFlight_Released(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms cancel a               → a redis unavailable: canceled
		3ms close x                → nothing
		4ms 1 done                 → 2: release a
		5ms 2 done                 → nothing
		5ms timer                  → x closed
	`)
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms close x                → a engine closed
		3ms 1 done                 → 2: release a
		4ms 2 done                 → nothing
		4ms timer                  → x closed
	`)
}

// A caller gave up before the close, and its cancellation is handled after it: what it was granted is released all the
// same.
func TestClose_CancellationQueued_Released(t *testing.T) {
	for _, share := range []int{MaxMessagesPerTurn, 1} { // in the order in which they came, and in lanes
		h := newHarness(t, 8)
		h.c.LimitTurn(share)
		compare(t, `
			1ms lock a                 → 1: acquire a
			2ms 1 done                 → a granted
			3ms cancel a; close x      → a not held; 2: release a
			4ms 2 done                 → nothing
			4ms timer                  → x closed
		`, h.line)
	}
}

// A connection that was closed is no reason to give up what was unlocked: one probe is waited for.
func TestClose_ConnectionBroken_ReleasedAgain(t *testing.T) {
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms 1 done                 → a granted
		3ms unlock a               → a not held; 2: release a
		4ms 2 cut                  → nothing
		5ms close x                → nothing
		15ms timer                 → 3: release a
		16ms 3 done                → a unlocked
		16ms timer                 → x closed
	`)
	runConversation(t, 8, `
		1ms lock a                 → 1: acquire a
		2ms 1 done                 → a granted
		3ms unlock a               → a not held; 2: release a
		4ms 2 cut                  → nothing
		5ms close x                → nothing
		15ms timer                 → 3: release a
		16ms 3 cut                 → nothing
		16ms timer                 → a engine x closed
	`)
}

// More calls of LockAsync than a turn handles, each with a Wait, may come when the engine has just closed.
func TestClose_ManyAsyncAfterwards_Rejected(t *testing.T) {
	for _, kind := range heldBackKinds {
		d := newSharedLaneHarness(t, MaxMessagesPerTurn)
		d.line("1ms close")
		require.True(t, d.c.Closed)
		const requests = 2 * maxQueuedAhead
		d.posts("async", kind+"k", requests)
		for i := range requests {
			d.callers[fmt.Sprint(kind, "k", i)].latest.Wait = time.Second
		}
		d.opens()
		for i := range requests {
			require.ErrorIs(t, d.callers[fmt.Sprint(kind, "k", i)].latest.Err, actor.ErrClosed)
		}
	}
}
