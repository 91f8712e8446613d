package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// A lock has arrived on the node to which its slot migrates, and the keys of its readers' holds are still on the
// source. A reader that leaves takes no other reader for dead, and no TTL falls because those keys are absent.
func TestCluster_HoldKeysAbsent_ReadersKept(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 2, 0)
	for what, at := range map[string]struct {
		hash []any
		call []any
	}{
		"a reader leaves":           {[]any{"mode", "read", "t1", 1, "t2", 1}, []any{scripts.ReadRelease.Text, 1, "{slot}", "SPUBLISH", "t1"}},
		"a writer leaves and reads": {[]any{"mode", "write", "t1:write", 1, "t1", 1}, []any{scripts.WriteRelease.Text, 1, "{slot}", "SPUBLISH", "t1"}},
		"the lease of a writer that reads falls": {[]any{"mode", "write", "t1:write", 1, "t1", 1},
			[]any{scripts.WriteRenew.Text, 1, "{slot}", "SHARDNUMSUB", 1000, "t1"}},
	} {
		t.Run(what, func(t *testing.T) {
			slot := c.Slot(t, "{slot}")
			from := c.Master(t, slot)
			to := c.Nodes[0]
			if to == from {
				to = c.Nodes[1]
			}
			from.Do(t, append([]any{"HSET", "{slot}"}, at.hash...)...)
			require.Equal(t, 1, from.Int(t, "PEXPIRE", "{slot}", 1_000_000))
			for _, id := range []string{"t1", "t2"} {
				require.Equal(t, "OK", from.Do(t, "SET", scripts.RWHoldKey("{slot}", id, 1), 1, "PX", 1_000_000))
			}
			m := c.Migrate(t, slot, to)
			m.MoveKey(t, "{slot}")
			conn := to.Conn(t)
			asking := func(args ...any) any {
				t.Helper()
				_, err := conn.Do("ASKING")
				require.NoError(t, err)
				reply, err := conn.Do(args...)
				require.NoError(t, err)
				return reply
			}
			reply := asking(append([]any{"EVAL"}, at.call...)...)
			require.Equal(t, int64(1), reply)
			require.Greater(t, asking("PTTL", "{slot}"), int64(900_000))
			m.End(t)
			to.Do(t, "DEL", "{slot}", scripts.RWHoldKey("{slot}", "t1", 1), scripts.RWHoldKey("{slot}", "t2", 1))
		})
	}
}
