package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench"
)

func fixtureModel() *model {
	pair := bench.SizingCost{Client: 4 * time.Microsecond, Loop: 2 * time.Microsecond, Server: 5 * time.Microsecond, In: 300, Out: 20}
	renewal := bench.SizingCost{Client: 2 * time.Microsecond, Loop: time.Microsecond, Server: 3 * time.Microsecond, In: 80, Out: 1}
	m := &bench.SizingResult{One: bench.SizingConstants{Pair: pair, Renewal: renewal}, Waiter: 1000}
	renewal.Server *= 2
	m.Cluster = bench.SizingConstants{Pair: pair, Renewal: renewal}
	return &model{SizingResult: m, heap: 300, memory: 160}
}

var fixtureBudget = budget{core: 0.7, memory: 16e9, heap: 4e9}

// A plan counts renewals and pairs, and needs as many masters and engines as the scarcer of processor and memory asks.
func TestNeed_ScarcerOfProcessorAndMemory(t *testing.T) {
	m := fixtureModel()
	n := m.need(demand{locks: 1e6, lease: 30 * time.Second, pairs: 50_000}, fixtureBudget)
	require.InDelta(t, 100_000, n.renewals, 0.1)
	require.InDelta(t, 0.3+0.25, n.server, 1e-9)
	require.InDelta(t, 0.2+0.2, n.client, 1e-9)
	require.InDelta(t, 8e6+15e6, n.in, 1)
	require.Equal(t, []float64{1, 1}, []float64{n.masters(), n.engines()})
	require.Equal(t, "nothing", n.first())

	n = m.need(demand{locks: 1e7, lease: 30 * time.Second}, fixtureBudget)
	require.InDelta(t, 6, n.server, 1e-9, "a renewal costs twice as much in a cluster")
	require.Equal(t, []float64{9, 2}, []float64{n.masters(), n.engines()})
	require.Equal(t, "the master's processor", n.first())

	n = m.need(demand{locks: 1e9, lease: time.Hour}, fixtureBudget)
	require.Equal(t, []float64{10, 75}, []float64{n.masters(), n.engines()})
	require.Equal(t, "the engine's heap", n.first())

	n = m.need(demand{locks: 1e6, lease: time.Hour, waiters: 1e6}, fixtureBudget)
	require.InDelta(t, 3e8+1e9, n.heap, 1, "callers that wait need heap, too")
}

// The table has a row for each size and lease, and the plan a line for each need.
func TestPrint_TableAndPlan(t *testing.T) {
	var text strings.Builder
	fixtureModel().printTable(&text, fixtureBudget)
	require.Equal(t, 14, strings.Count(text.String(), "\n"))
	require.Contains(t, text.String(), "| 10^7 | 30 s | 1000000 | 6.00 | 1.6 GB | 9 | 2.00 | 3.0 GB | 2 | the master's processor |")
	text.Reset()
	fixtureModel().print(&text, demand{locks: 1e6, lease: time.Minute, pairs: 1000}, fixtureBudget)
	require.Contains(t, text.String(), "renewals                   50000/s\n")
	require.Contains(t, text.String(), "limits first               nothing\n")
}

// Without figures there is no plan, and the error says how to measure them.
func TestReadModel_NoFigures_Error(t *testing.T) {
	_, err := readModel(t.TempDir())
	require.ErrorContains(t, err, "scale.json")
}

// The page for planners has the table that the command prints from the measured figures.
func TestTable_IsThatOfThePage(t *testing.T) {
	m, err := readModel("../figures")
	require.NoError(t, err)
	var table strings.Builder
	m.printTable(&table, budget{core: 0.7, memory: 16e9, heap: 4e9})
	page, err := os.ReadFile("../../docs/operate/sizing.md")
	require.NoError(t, err)
	require.Contains(t, string(page), table.String(), "go run ./sizing -table")
}
