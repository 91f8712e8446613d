package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// closes runs turns until a close is complete, and returns their number.
func (d *desk) closes() (turns int) {
	for d.c.rest(); d.c.closesOn(); d.c.rest() {
		d.c.turn(d.now, nil)
		turns++
		require.Less(d.t, turns, 1000)
	}
	return turns
}

// However many locks there are, a turn of a close ends a bounded number of them. It also rejects bounded numbers of
// waiters and messages. The close request gets its result last, and no command is sent meanwhile.
func TestACloseTakesSomeLocksATurn(t *testing.T) {
	const locks = 3*looksPerTurn + 1
	d := newDesk(t, 8)
	d.holds(locks)
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d/2", i))
	}
	d.turn()
	var late []*actor.Request
	letter := &mail{what: &actor.Request{Tag: AskClose}}
	asked := letter.what.(*actor.Request)
	for range 3 * opensPerTurn {
		r := wants(actor.Plain, 0, false)
		late = append(late, r)
		letter = &mail{what: r, next: letter}
	}
	ended := 0
	for turns := 1; ; turns++ {
		before := d.c.lettersLeft()
		d.c.turn(d.now, letter)
		letter = nil
		require.LessOrEqual(t, len(d.c.fx.Ended), looksPerTurn)
		require.LessOrEqual(t, before-d.c.lettersLeft(), max(d.c.intake.share, opensPerTurn))
		require.Empty(t, d.c.batches)
		ended += len(d.c.fx.Ended)
		require.Equal(t, min(turns*looksPerTurn, locks), ended)
		require.True(t, ended == locks || !asked.Decided())
		if d.c.rest(); !d.c.closesOn() {
			break
		}
	}
	require.True(t, asked.Decided())
	require.NoError(t, asked.Err)
	for _, r := range late {
		require.Equal(t, actor.ErrClosed, r.Err)
	}
	s := d.c.stats()
	require.Zero(t, s.Held)
	require.Zero(t, s.Waiting)
	require.Zero(t, s.Timers)
}
