package revisions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The lines that a program prints are figures by name, of the revision that printed them.
func TestRead_Lines_FiguresOfRevision(t *testing.T) {
	all, err := read(nil, false, "47750.5 0 pairs/s\n20.5 2 CPU of a pair, µs\n")
	require.NoError(t, err)
	all, err = read(all, true, "1e+06 0 pairs/s\n")
	require.NoError(t, err)
	require.Equal(t, []*Figure{{"pairs/s", 0, []float64{47750.5}, []float64{1e6}}, {"CPU of a pair, µs", 2, []float64{20.5}, nil}}, all)
	for _, out := range []string{"12 3", "many 0 pairs/s", "1 x pairs/s"} {
		_, err = read(nil, false, out)
		require.ErrorContains(t, err, out)
	}
}

// A gain is the median of a run's rounds. More pairs are better, and less of all else.
func TestGains_RunsOfRounds_MedianOfEach(t *testing.T) {
	then, now := []float64{10, 10, 10, 20, 20, 20, 1}, []float64{20, 5, 11, 20, 10, 40, 9}
	require.Equal(t, []float64{1.1, 1}, (&Figure{What: Speed, Then: then, Now: now}).Gains(3))
	require.Equal(t, []float64{1 / 1.1, 1}, (&Figure{What: "p50 of a pair, µs", Then: then, Now: now}).Gains(3))
}

// Both programs have their turns, with the flags of the load, and neither is always first.
func TestCompare_Rounds_ProgramsTakeTurns(t *testing.T) {
	p := &Programs{filepath.Join(t.TempDir(), "then"), filepath.Join(t.TempDir(), "now")}
	turns := filepath.Join(t.TempDir(), "turns")
	for program, value := range map[string]string{p.then: "2", p.now: "3"} {
		script := "#!/bin/sh\necho \"" + filepath.Base(program) + " $*\" >>" + turns + "\necho " + value + " 1 pairs/s\n"
		require.NoError(t, os.WriteFile(program, []byte(script), 0o755))
	}
	all, err := p.Compare("host:1", 2, "-load", "hot")
	require.NoError(t, err)
	require.Equal(t, []*Figure{{"pairs/s", 1, []float64{2, 2}, []float64{3, 3}}}, all)
	text, err := os.ReadFile(turns)
	require.NoError(t, err)
	const flags = " -redis host:1 -load hot\n"
	require.Equal(t, "then"+flags+"now"+flags+"now"+flags+"then"+flags, string(text))
	require.NoError(t, os.WriteFile(p.now, []byte("#!/bin/sh\necho 1 1 figure of its own\n"), 0o755))
	_, err = p.Compare("host:1", 1)
	require.ErrorContains(t, err, "not a figure of each round")
}
