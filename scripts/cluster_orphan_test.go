package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// While a slot migrates, the old node still has what an orphan left there. A call for that lock removes it. From then
// on the key belongs to the other node, and the script may no longer look at it. The engine knows that error text and
// sends the retry to that node.
func TestClusterOrphan_SlotMigrates_KeyMoved(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	slot := c.Slot(t, "{slot}")
	from := c.Master(t, slot)
	fields := map[string][]any{
		"{slot}plain":  {"orphan", 1},
		"{slot}writer": {"mode", "write", "orphan:write", 1},
		"{slot}reader": {"mode", "read", "orphan", 1},
	}
	for key, of := range fields {
		from.Do(t, append([]any{"HSET", key}, of...)...)
		require.Equal(t, int64(1), from.Do(t, "PEXPIRE", key, 1_000_000))
	}
	to := c.Nodes[0]
	if to == from {
		to = c.Nodes[1]
	}
	c.Migrate(t, slot, to)
	for key, call := range map[string][]any{
		"{slot}plain":  {scripts.Acquire.Text, 1, "{slot}plain", "SPUBLISH", 1000, "t", 1, "orphan"},
		"{slot}writer": {scripts.WriteAcquire.Text, 1, "{slot}writer", "SPUBLISH", 1000, "t", 1, "orphan"},
		// Two readers: the first leaves nothing for the second.
		"{slot}reader": {scripts.ReadRelease.Text, 2, "{slot}reader", "{slot}reader", "SPUBLISH", "orphan", "t"},
	} {
		eval := append([]any{"EVAL"}, call...)
		reply, ok := from.Do(t, eval...).([]any)
		require.True(t, ok, key)
		// Valkey 9 begins it with a capital letter.
		require.Contains(t, strings.ToLower(fmt.Sprint(reply[len(reply)-1])), "attempted to access a non local key", key)
		require.Contains(t, fmt.Sprint(from.Do(t, eval...)), "ASK ", "%s: once more", key)
	}
}
