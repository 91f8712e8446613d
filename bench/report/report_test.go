package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

func TestReportWritesTablesAndCharts(t *testing.T) {
	if _, err := redistest.Find(); errors.Is(err, exec.ErrNotFound) && os.Getenv(redistest.EnvRequire) != "1" {
		t.Skipf("needs a real server: %v", err)
	}
	plan := bench.Plan{
		Rounds: 1, Round: 10 * time.Millisecond, Fight: 10 * time.Millisecond, Goroutines: []int{1, 2}, Fighters: []int{2},
		Keep:    []bench.Keep{{Locks: 10, Lease: 300 * time.Millisecond, Peers: true}},
		Growers: 8,
		Calls:   10, OpenLoop: 20 * time.Millisecond, Beside: bench.Keep{Locks: 10, Lease: time.Second}, Wakes: 2,
	}
	dir := t.TempDir()
	require.NoError(t, run("", "", dir, "tiny", plan, io.Discard))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, part := range []string{"Pair", "Ceiling", "Hot", "Wake", "Latency of one caller", "Latency under a steady load", "Hold"} {
		require.Contains(t, string(text), "\n## "+part+"\n")
	}
	charts, err := filepath.Glob(filepath.Join(dir, "charts", "*.svg"))
	require.NoError(t, err)
	require.Len(t, charts, 5)
}

func TestFiguresReadWell(t *testing.T) {
	require.Equal(t, []string{"0", "999", "1 000", "1 234 567", "-123", "-1 234"},
		[]string{count(0), count(999), count(1000), count(1234567), count(-123), count(-1234)})
	require.Equal(t, []string{"0.123", "1.23", "12.3", "1 236"},
		[]string{decimals(0.1234), decimals(1.234), decimals(12.34), decimals(1235.6)})
	require.Equal(t, "2.00 ×", ratio(4, 2))
	require.Equal(t, "–", ratio(4, 0))
	table := newTable("", "a", "b")
	table.row("x", "1", "2")
	table.failed("y", "it\nhangs | fails")
	require.Equal(t, "|  | a | b |\n| --- | --: | --: |\n| x | 1 | 2 |\n| y | it; hangs \\| fails |  |\n", table.String())
}
