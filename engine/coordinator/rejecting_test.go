package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// rejections lists the events that reject all waiters of one name while their acquire is in flight, and the error that
// the waiters get.
var rejections = map[string]struct {
	once   bool
	left   int64 // waiters that stay, for the release of their grant
	refuse func(k *waitersHarness) *LoopMessage
	err    string
}{
	"the server refuses it for good": {refuse: func(k *waitersHarness) *LoopMessage {
		return k.answers(actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")})
	}, err: "WRONGTYPE x"},
	"too few replicas have it": {refuse: func(k *waitersHarness) *LoopMessage {
		k.c.Fx.Config.Replicas = 1
		return k.answers(actor.Reply{Status: actor.OK, Listeners: -1})
	}, err: actor.ErrNotReplicated.Error(), left: 1},
	"a shutdown": {refuse: func(*waitersHarness) *LoopMessage {
		return &LoopMessage{Value: &actor.Request{Op: AskShutdown}}
	}, err: actor.ErrClosed.Error()},
	"another has it, and they only try": {once: true, refuse: func(k *waitersHarness) *LoopMessage {
		return k.answers(k.takenReply("another:1"))
	}, err: actor.ErrNotAcquired.Error()},
}

// answers returns the reply to the only call.
func (k *waitersHarness) answers(reply actor.Reply) *LoopMessage {
	require.Len(k.t, k.c.Fallback.bundles, 1)
	b := k.c.Fallback.bundles[0]
	b.Sent, b.Replies = k.now, append(b.Replies[:0], reply)
	return &b.Msg
}

// waiting returns n waiters of one name with an acquire in flight.
func waiting(t *testing.T, n int, once bool) (k *waitersHarness, all []*actor.Request) {
	k = newWaitersHarness(t, granted)
	k.c.intake.laneBudget = n
	messages := make([]*LoopMessage, n)
	for i := range messages {
		all = append(all, wants(actor.Plain, 0, once))
		messages[i] = &LoopMessage{Value: all[i]}
	}
	require.Empty(t, k.tellingTurn(messages...))
	return k, all
}

// However many wait for one name, a turn rejects at most a fixed number, in their order. The next turn follows at once
// until all are rejected.
func TestRejection_OneName_TurnBounded(t *testing.T) {
	for what, refusal := range rejections {
		t.Run(what, func(t *testing.T) {
			for _, n := range []int{2*maxRejectedPerTurn + 1, 8 * maxRejectedPerTurn} {
				k, all := waiting(t, n, refusal.once)
				msg := refusal.refuse(k)
				for turns := 0; k.c.Stats().Waiting > refusal.left; turns++ {
					require.True(t, turns == 0 || k.wantsATurn(), "it sleeps")
					before := k.c.Stats().Waiting
					if turns == 0 {
						k.tellingTurn(msg)
					} else {
						k.tellingTurn()
					}
					decided := before - k.c.Stats().Waiting
					require.LessOrEqual(t, decided, int64(maxRejectedPerTurn+1))
					require.Positive(t, decided)
					require.True(t, all[refusal.left+decided-1].Completed())
				}
				for _, r := range all[refusal.left:] {
					if r.Err == nil || !r.Completed() {
						t.Fatal("it is not refused")
					}
				}
				require.EqualError(t, all[n/2].Err, refusal.err)
				require.Empty(t, k.c.Fx.Rejecting)
			}
		})
	}
}

// A caller that comes while very many others are still being rejected is served at once and gets its grant.
func TestRejection_InProgress_NewCallerServed(t *testing.T) {
	const n = 4 * maxRejectedPerTurn
	k, all := waiting(t, n, false)
	k.tellingTurn(k.answers(actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")}))
	require.False(t, all[n-1].Completed())
	late, later := wants(actor.Plain, 0, false), wants(actor.Plain, 0, false)
	k.now += time.Millisecond
	k.c.Turn(k.now, &LoopMessage{Value: late, Next: &LoopMessage{Value: later}})
	require.Len(t, k.c.Batches, 1)
	k.c.ResetOutputs()
	k.tellingTurn(k.answers(granted(nil)))
	require.True(t, late.Completed())
	require.NoError(t, late.Err)
	require.False(t, all[n-1].Completed(), "it comes too late to show anything")
	k.tellingTurn(&LoopMessage{Value: &actor.Request{Op: actor.Unlock, Hold: late.Hold}})
	require.True(t, later.Completed())
	require.NoError(t, later.Err)
	for k.wantsATurn() {
		k.tellingTurn()
	}
	for _, r := range all {
		require.EqualError(t, r.Err, "WRONGTYPE x")
	}
}

// A caller that is rejected together with very many, and cancels before its turn, gets one result. The lock is removed
// when all have theirs.
func TestRejection_CallerLeaves_OneResult(t *testing.T) {
	const n = 3 * maxRejectedPerTurn
	k, all := waiting(t, n, false)
	told := k.tellingTurn(k.answers(actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")}))
	leaves := make([]*LoopMessage, 0, n)
	for i := n - 1; i > n/2; i-- {
		leaves = append(leaves, &LoopMessage{Value: CancelRequest{all[i], errLeft}})
	}
	told = append(told, k.tellingTurn(leaves...)...)
	for k.wantsATurn() {
		told = append(told, k.tellingTurn()...)
	}
	require.Len(t, told, n)
	times := make(map[*actor.Request]int)
	for _, r := range told {
		times[r]++
	}
	require.Len(t, times, n)
	require.Zero(t, k.c.Locks.Len())
}

// A close ends what a rejection in progress has not reached.
func TestClose_RejectionInProgress_EndsAll(t *testing.T) {
	const n = 3 * maxRejectedPerTurn
	k, all := waiting(t, n, false)
	k.tellingTurn(k.answers(actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")}))
	for msg := (&LoopMessage{Value: &actor.Request{Op: AskClose}}); msg != nil || k.c.ClosePending(); msg = nil {
		before := k.c.Stats().Waiting
		if msg != nil {
			k.tellingTurn(msg)
		} else {
			k.tellingTurn()
		}
		require.LessOrEqual(t, before-k.c.Stats().Waiting, int64(maxRejectedPerTurn))
	}
	for _, r := range all {
		require.True(t, r.Completed())
	}
	require.Zero(t, k.c.Stats().Timers)
}

// However many requests for several locks wait as one owner, a turn ends at most a fixed number of them. They end when
// the owner is granted one of the locks. What earlier turns did not reach waits on if the owner unlocks meanwhile.
func TestMulti_ManyOfGrantedOwner_EndInTurns(t *testing.T) {
	const n, owner = 3*maxRejectedPerTurn + 1, actor.ThreadOwner | 1
	for _, unlocks := range []bool{false, true} {
		k := newWaitersHarness(t, granted)
		k.c.intake.laneBudget = 1 << 20
		single := wants(actor.Plain, owner, false)
		messages, all := []*LoopMessage{{Value: single}}, make([]*actor.Request, n)
		for i := range all {
			parts := []actor.Part{{Key: "k", Owner: owner, Hold: &actor.Hold{}}, {Key: "z", Hold: &actor.Hold{}}}
			all[i] = &actor.Request{Op: actor.Acquire, Key: "k", Multi: &actor.MultiRequest{Parts: parts}}
			messages = append(messages, &LoopMessage{Value: all[i]})
		}
		require.Empty(t, k.tellingTurn(messages...))
		k.tellingTurn(k.answers(granted(nil)))
		require.NoError(t, single.Err)
		require.Equal(t, int64(n-maxRejectedPerTurn), k.c.Stats().Waiting)
		if unlocks {
			k.tellingTurn(&LoopMessage{Value: &actor.Request{Op: actor.Unlock, Hold: single.Hold}})
		}
		for k.wantsATurn() {
			before := k.c.Stats().Waiting
			k.tellingTurn()
			require.LessOrEqual(t, before-k.c.Stats().Waiting, int64(maxRejectedPerTurn))
		}
		ended := n
		if unlocks {
			ended = 2 * maxRejectedPerTurn
		}
		require.Equal(t, int64(n-ended), k.c.Stats().Waiting)
		for i, r := range all {
			require.Equal(t, i < ended, r.Completed(), i)
			require.True(t, i >= ended || r.Err == actor.ErrReentry, i)
		}
		require.Empty(t, k.c.Fx.Rejecting)
		require.Zero(t, k.c.Stats().Failed)
	}
}

// Locks that have rejected all are not kept in memory.
func TestRejection_Done_LocksNotKept(t *testing.T) {
	k, _ := waiting(t, 4*maxRejectedPerTurn, false)
	k.tellingTurn(k.answers(actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")}))
	rejecting := k.c.Fx.Rejecting
	require.Len(t, rejecting, 1)
	for k.wantsATurn() {
		k.tellingTurn()
	}
	require.True(t, rejecting[0] == nil)
	require.True(t, k.c.Fx.Rejecting == nil)
}
