package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// The recorder forwards everything, and keeps the calls of scripts while it records, with their keys in order.
func TestRecorder_Calls_KeptInOrder(t *testing.T) {
	s := openServer(t, "")
	_, _, err := loadScripts(s.Addr)
	require.NoError(t, err)
	recorder, err := startRecorder(s.Addr)
	require.NoError(t, err)
	defer recorder.close()
	c, err := redistest.Dial(recorder.addr())
	require.NoError(t, err)
	defer c.Close()
	do := func(args ...any) {
		_, err := c.Do(args...)
		require.NoError(t, err)
	}
	do("EVALSHA", scripts.Acquire.SHA1, 1, "before", "PUBLISH", "30000", "id:0")
	calls, err := recorder.recorded(func() error {
		do("PING")
		do("EVALSHA", scripts.Acquire.SHA1, 2, "b", "a", "PUBLISH", "30000", "id:1", "id:2")
		do("EVALSHA", scripts.Release.SHA1, 2, "a", "b", "PUBLISH", "id:2", "id:1")
		return nil
	})
	require.NoError(t, err)
	do("EVALSHA", scripts.Release.SHA1, 1, "before", "PUBLISH", "id:0")
	require.Equal(t, []scriptCall{
		{scripts.Acquire.SHA1, []string{"b", "a"}, []string{"PUBLISH", "30000", "id:1", "id:2"}},
		{scripts.Release.SHA1, []string{"a", "b"}, []string{"PUBLISH", "id:2", "id:1"}},
	}, calls)
	bursts, err := pairBursts(calls)
	require.NoError(t, err)
	require.Equal(t, 2, pairsOf(bursts))
	require.NoError(t, runOnce(s.Addr, bursts), "the server replies the same again")
}

// Calls that leave a lock behind, and words that are no call, are errors: they cannot be sent again and again.
func TestRecorded_NotReplayable_Error(t *testing.T) {
	acquire := scriptCall{scripts.Acquire.SHA1, []string{"a", "b"}, []string{"PUBLISH", "30000", "1", "2"}}
	_, err := pairBursts([]scriptCall{acquire, {scripts.Release.SHA1, []string{"a"}, []string{"PUBLISH", "1"}}})
	require.EqualError(t, err, "recorded: 2 acquires and 1 releases")
	_, err = pairBursts(nil)
	require.Error(t, err)
	for _, words := range [][]string{{"EVALSHA"}, {"EVALSHA", "sha", "2", "a"}, {"EVALSHA", "sha", "x", "a"}} {
		_, err := parseCall(words)
		require.Error(t, err, words)
	}
}

// A lock that was renewed twice is acquired and released once, and renewals with leases of their own are left out.
func TestRecorded_RenewedTwice_AcquiredOnce(t *testing.T) {
	renewal := func(keys, args []string) scriptCall { return scriptCall{scripts.Renew.SHA1, keys, args} }
	acquire, renew, release, err := renewBursts([]scriptCall{
		renewal([]string{"a", "b"}, []string{"NUMSUB", "30000", "1", "2"}),
		renewal([]string{"b"}, []string{"NUMSUB", "30000", "2"}),
		renewal([]string{"c"}, []string{"NUMSUB", "", "3", "30000"}),
	})
	require.NoError(t, err)
	require.Len(t, acquire, 1)
	require.Len(t, release, 1)
	require.Equal(t, 3, pairsOf(renew))
	require.Zero(t, pairsOf(acquire))
	_, _, _, err = renewBursts(nil)
	require.EqualError(t, err, "recorded: no renewals")
}

// More calls than can be kept are an error, and not a part of them.
func TestRecorder_Full_Error(t *testing.T) {
	r := &recorder{calls: make(chan []string, 1)}
	_, err := r.recorded(func() error {
		r.record([]string{"EVALSHA", "sha", "1", "a"})
		r.record([]string{"EVALSHA", "sha", "1", "b"})
		return nil
	})
	require.ErrorContains(t, err, "were to be recorded")
}
