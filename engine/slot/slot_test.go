package slot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// Redis Cluster specification.
func TestSlot_FirstTagDecides(t *testing.T) {
	for key, want := range map[string]uint16{
		"": 0, "123456789": 0x31c3 % Count, "foo": 12182, "{foo}bar": 12182, "x{foo}{b}": 12182, "a": 15495, "b": 3300, "c": 7365,
	} {
		require.Equal(t, want, Of(key), key)
	}
	require.NotEqual(t, Of("foo"), Of("{foo"))
	require.NotEqual(t, Of("foo"), Of("{}foo"))
}

// A name fits a cluster if its channel is in the slot of its key.
func TestName_ChannelInSlot_FitsCluster(t *testing.T) {
	for _, key := range []string{"a", "a b", "{a}:x", "a{b}c", "x{y}{z}", "}{a}", "a{b}}"} {
		require.True(t, FitsCluster(key), key)
		require.Equal(t, Of(key), Of(scripts.RedissonKey(scripts.Channel, key)), key)
	}
	for _, key := range []string{"a{b", "a}b", "{}x", "a{}b", "{", "}", "}{", "{}{b}"} {
		require.False(t, FitsCluster(key), key)
	}
}

// Nothing in the first pair of braces is no tag: then the whole key decides, braces and all.
func TestSlot_EmptyTag_WholeKeyDecides(t *testing.T) {
	for key, want := range map[string]uint16{"{}foo": 9500, "{}{foo}": 2263, "foo{}{bar}": 8363} {
		require.Equal(t, want, Of(key), key)
	}
}
