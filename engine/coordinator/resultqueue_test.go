package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// tellingTurn runs a turn and returns the callers that it notifies. Its commands get no replies.
func (k *waitersHarness) tellingTurn(messages ...*LoopMessage) (told []*actor.Request) {
	var first *LoopMessage
	for i := len(messages) - 1; i >= 0; i-- {
		messages[i].Next, first = first, messages[i]
	}
	k.c.Turn(k.now, first)
	told = append(told, k.c.Results.Ready...)
	k.c.ResetOutputs()
	return told
}

// refusedAtOnce returns n waiters of a lock that the server rejects permanently (all), and those notified in that turn
// (told).
func (k *waitersHarness) refusedAtOnce(n int) (all, told []*actor.Request) {
	for range n {
		all = append(all, wants(actor.Plain, 0, false))
	}
	messages := make([]*LoopMessage, n)
	for i, r := range all {
		messages[i] = &LoopMessage{Value: r}
	}
	k.c.intake.laneBudget, k.c.Fx.MaxRejections = n, 0 // one turn rejects all of them
	require.Empty(k.t, k.tellingTurn(messages...))
	call := k.c.Fallback.bundles[0]
	call.Sent, call.Replies = k.now, append(call.Replies[:0], actor.Reply{Status: actor.Rejected, Err: errors.New("WRONGTYPE x")})
	return all, k.tellingTurn(&call.Msg)
}

func (k *waitersHarness) wantsATurn() bool {
	at, ok := k.c.Next()
	return ok && at <= k.now
}

// However many results one reply brings, a turn notifies at most a fixed number of callers. The next turn follows at
// once until all are notified, in their order.
func TestResults_Many_TurnBounded(t *testing.T) {
	for _, n := range []int{MaxResultsPerTurn, 4*MaxResultsPerTurn + 1} {
		k := newWaitersHarness(t, granted)
		all, told := k.refusedAtOnce(n)
		require.Len(t, told, MaxResultsPerTurn)
		for k.wantsATurn() {
			more := k.tellingTurn()
			require.LessOrEqual(t, len(more), MaxResultsPerTurn)
			require.NotEmpty(t, more, "it wakes in vain")
			told = append(told, more...)
		}
		require.Equal(t, n, len(told))
		for i, r := range all {
			require.Same(t, r, told[i])
			require.EqualError(t, r.Err, "WRONGTYPE x")
		}
	}
}

// Results that are decided while others are pending come after them, and every turn notifies as many callers as it may.
func TestResults_InOrderOfDecision(t *testing.T) {
	k := newWaitersHarness(t, granted)
	all, told := k.refusedAtOnce(3*MaxResultsPerTurn - 2)
	var later []*actor.Request
	for range 2 {
		r := &actor.Request{Op: AskCount, Key: "k"}
		later = append(later, r)
		told = append(told, k.tellingTurn(&LoopMessage{Value: r})...)
	}
	require.False(t, k.wantsATurn())
	require.Equal(t, append(all, later...), told)
	require.Empty(t, k.tellingTurn())
}

// A snapshot counts decided results. It is delivered after the results that it counts.
func TestStats_PendingResults_Counted(t *testing.T) {
	k := newWaitersHarness(t, granted)
	const n = 2*MaxResultsPerTurn + 1
	k.refusedAtOnce(n)
	var s Stats
	r := &actor.Request{}
	require.NotContains(t, k.tellingTurn(&LoopMessage{Value: StatsRequest{r, &s}}), r)
	require.Zero(t, s.Waiting)
	require.EqualValues(t, n, s.Failed)
	require.Equal(t, r, k.tellingTurn()[1])
}

// A grant is released if its caller cancels before it is notified.
func TestResults_CallerLeft_GrantReleased(t *testing.T) {
	d := newHarness(t, 1)
	d.c.Results.budget = 1
	require.Equal(t, "1: acquire a b", d.line("0s lock a b"))
	require.Equal(t, "a granted", d.line("1ms 1 done"))
	require.Equal(t, "b not held; 2: release b; b granted", d.line("2ms cancel b"))
	require.Equal(t, "nothing", d.line("3ms 2 done"))
	require.Equal(t, "a not held; 3: release a", d.line("4ms unlock a"))
	require.Equal(t, "a unlocked", d.line("5ms 3 done"))
	d.requireIdle()
}

// The caller of a shutdown is notified after all others.
func TestResults_Shutdown_Last(t *testing.T) {
	k := newWaitersHarness(t, granted)
	const n = 2 * MaxResultsPerTurn
	k.refusedAtOnce(n)
	k.now += time.Second
	r := &actor.Request{Op: AskShutdown}
	require.Len(t, k.tellingTurn(&LoopMessage{Value: r}), MaxResultsPerTurn)
	require.True(t, r.Completed())
	require.True(t, k.wantsATurn())
	require.Equal(t, []*actor.Request{r}, k.tellingTurn())
	require.False(t, k.wantsATurn())
}
