package long

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
)

// A long test runs only in the long suite; elsewhere it is skipped.
func TestLong_OnlyInLongSuite(t *testing.T) {
	run := flag.Lookup("test.run").Value
	defer func(was string) { require.NoError(t, run.Set(was)) }(run.String())
	require.NoError(t, run.Set("")) // this test may have been requested by its name
	for value, runs := range map[string]bool{"": false, "0": false, "1": true} {
		t.Setenv(Env, value)
		require.Equal(t, runs, Suite(), value)
		require.Equal(t, map[bool]int{false: 300, true: 3000}[runs], Pick(300, 3000), value)
		ran := false
		t.Run("value "+value, func(t *testing.T) {
			Only(t, "it waits for a test")
			ran = true
		})
		require.Equal(t, runs, ran, value)
	}
}

// A long test runs in any suite if the pattern of -run contains its whole name.
func TestLong_NamedTest_Runs(t *testing.T) {
	require.True(t, names("TestSoak$", "TestSoak"))
	require.True(t, names("^(TestA|TestSoak)$/x", "TestSoak/x"))
	require.False(t, names("Soak", "TestSoak"))
	require.False(t, names("", "TestSoak"))
	require.False(t, names("TestS", "TestSoak"))
}
