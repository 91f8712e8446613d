package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What another program stores under a lock's name is tried, and the server's longest command is reported.
func TestPlanted_AllKinds_HaveFigure(t *testing.T) {
	p := tiny
	p.PlantedMost = 500
	all, err := Planted(openServer(t, ""), p)
	require.NoError(t, err)
	require.Len(t, all, 9)
	for _, r := range all {
		require.Empty(t, r.Failure, r.Kind)
		require.Positive(t, r.Longest, r.Kind)
	}
}

// A server that was running before keeps its configuration and its keys.
func TestPlanted_ServerOfOthers_Error(t *testing.T) {
	s := openServer(t, "")
	other, err := OpenServer(t.Context(), s.Addr)
	require.NoError(t, err)
	defer other.Close()
	_, err = Planted(other, tiny)
	require.EqualError(t, err, "needs a server of its own, not that of -redis")
}
