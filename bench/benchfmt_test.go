package bench

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// What the benchmarks print is what benchstat reads and can pivot. Each line has a client, and -count lines of each
// name are of different rounds. Each figure has a direction and is positive, since 0 has no ratio.
func TestBenchmarks_Output_BenchstatReads(t *testing.T) {
	if _, err := redistest.Find(); errors.Is(err, exec.ErrNotFound) && os.Getenv(redistest.EnvRequire) != "1" {
		t.Skipf("needs a real server: %v", err)
	}
	const times = 2
	overLink, others := []string{"-test.bench", "Pair|Hot|Latency|Wake|Kinds|Gateway", "-link", "100us"}, []string{"-test.bench", "Hold/./locks=10$|Steady|Ceiling"}
	for _, more := range long.Pick([][]string{overLink}, [][]string{overLink, others}) {
		program := exec.Command(os.Args[0], append(more, "-test.run", "^$", "-set", "tiny", "-test.count", "2", "-test.v")...)
		program.WaitDelay = time.Second
		var said bytes.Buffer // apart, so that it divides no line of the other
		program.Stderr = &said
		out, err := program.Output()
		require.NoError(t, err, "%s\n%s", out, &said)
		lines := make(map[string][]string)
		directions := make(map[string]bool)
		units := make(map[string]bool)
		tables := make(map[string]map[string][]string) // by section and unit: the lines of each client
		r := benchfmt.NewReader(bytes.NewReader(out), "output")
		for r.Scan() {
			switch record := r.Result().(type) {
			case *benchfmt.SyntaxError:
				require.Contains(t, record.Error(), "missing iteration count", "only -v's announcement of a benchmark is none: %s", out)
			case *benchfmt.UnitMetadata:
				if record.Key == "better" {
					directions[record.OrigUnit] = true
				}
			case *benchfmt.Result:
				section, name := record.GetConfig("section"), record.Name.String()
				require.NotEmpty(t, section, name)
				require.Contains(t, name, "/client=")
				require.NotContains(t, name, "#", "the testing package made it unlike another")
				for _, v := range record.Values {
					require.Positive(t, v.Value, "%s %s", name, v.Unit)
					units[cmp.Or(v.OrigUnit, v.Unit)] = true
					addLine(tables, section+", "+v.Unit, name)
				}
				lines[section+" "+name] = append(lines[section+" "+name], fmt.Sprint(record.Values))
			}
		}
		require.NoError(t, r.Err())
		require.GreaterOrEqual(t, len(lines), 10, "%s", out)
		for name, values := range lines {
			require.Len(t, values, times, name)
			if strings.Contains(values[0], "pairs/s") { // others are upper ends of buckets, which can be equal
				require.NotEqual(t, values[0], values[1], "%s: the same round twice", name)
			}
		}
		for unit := range units {
			require.True(t, directions[unit], "%s has no direction", unit)
		}
		requireSameLines(t, tables, string(out))
	}
}

// addLine adds a line to the table in which benchstat shows it.
func addLine(tables map[string]map[string][]string, table, name string) {
	what, rest, _ := strings.Cut(name, "/client=")
	client, parts, _ := strings.Cut(rest, "/")
	if tables[table] == nil {
		tables[table] = make(map[string][]string)
	}
	if line := what + "/" + parts; !slices.Contains(tables[table][client], line) {
		tables[table][client] = append(tables[table][client], line)
	}
}

// requireSameLines has the same lines of each client in a table: benchstat warns that its means cannot be compared
// otherwise. A client without any has no column, and one that failed is skipped.
func requireSameLines(t *testing.T, tables map[string]map[string][]string, out string) {
	for table, clients := range tables {
		for client, lines := range clients {
			for _, others := range clients {
				for _, line := range others {
					what, parts, _ := strings.Cut(line, "/")
					name := "Benchmark" + what + "/client=" + client + "/" + strings.TrimSuffix(parts, suffix)
					if !strings.Contains(out, "SKIP: "+name) {
						require.Contains(t, lines, line, "%s: %s", table, client)
					}
				}
			}
		}
	}
}

// suffix is what the testing package appends to a benchmark's name.
var suffix = fmt.Sprintf("-%d", runtime.GOMAXPROCS(0))

// The pattern of -bench also decides what is measured, so it is split as the testing package splits it.
func TestSplitPattern_Brackets_Kept(t *testing.T) {
	require.Equal(t, []string{"Pair/./goroutines=(1|16)$", "Hot"}, splitPattern("Pair/./goroutines=(1|16)$|Hot", '|'))
	require.Equal(t, []string{"Pair", ".", "goroutines=[/]"}, splitPattern("Pair/./goroutines=[/]", '/'))
	require.Equal(t, []string{""}, splitPattern("", '|'))
}
