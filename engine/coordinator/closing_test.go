package coordinator

import (
	"fmt"
	"testing"

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
