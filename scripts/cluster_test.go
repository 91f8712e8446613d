package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// The verbs are arguments. With those of a cluster, the messages go to the subscribers of the shard, on the same
// channel. The server accepts the channel as one in the slot of its key.
func TestCluster_Verbs_ReachShardSubscribers(t *testing.T) {
	t.Parallel()
	s := onShard(t)

	plain := s.listen()
	for _, name := range []string{"a", "orders:17", "a{b}c"} {
		sub := dial(t, s.addr)
		_, err := sub.Do("SSUBSCRIBE", channels[name])
		require.NoError(t, err)
		received := func() {
			t.Helper()
			push, err := sub.Receive(receiveTimeout)
			require.NoError(t, err)
			require.Equal(t, []any{"smessage", channels[name], "0"}, push)
		}
		keys := []string{name}
		require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, keys, "SPUBLISH", "g1", 100_000))
		require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, keys, "SPUBLISH", "t1", 100_000, 1, "g1"))
		received()
		require.Equal(t, []any{[]any{int64(1), int64(1), int64(1)}}, s.run(scripts.Renew, keys, "SHARDNUMSUB", "t1", 100_000, 1, "", 1))
		require.Equal(t, []any{[]any{int64(1), int64(1), int64(0)}}, s.run(scripts.Renew, keys, "NUMSUB", "t1", 100_000, 1, "", 1))
		require.Equal(t, []any{int64(1)}, s.run(scripts.Release, keys, "SPUBLISH", "t1"))
		received()
		require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, keys, "SPUBLISH", "t2", 100_000))
		require.Equal(t, []any{[]any{int64(1), int64(1), int64(-1)}}, s.run(scripts.Renew, keys, "SHARDNUMSUB", "t2", 50_000, 1, "", 2))
		push, err := sub.Receive(receiveTimeout)
		require.NoError(t, err)
		require.Equal(t, []any{"smessage", channels[name], "1"}, push, "the TTL fell")
		require.Equal(t, []any{int64(1)}, s.run(scripts.Force, keys, "SPUBLISH"))
		received()
		require.Empty(t, plain.receive())
	}
}
