package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// The table of requests has what the lock adds in each round and its ratio to two PINGs.
func TestGateway_Table_AddedToPings(t *testing.T) {
	text := fixture().gatewayTable()
	require.Contains(t, text, "| added p50 µs | min..max of 2 | p99 |")
	require.Contains(t, text, "| lockwheel | 5.91 | 6.82 | 7.73 | 310 | 310..310 | 620 | 620..620 | 930 | 930..930 | 1.07 × | 1.07 × |")
	require.Contains(t, text, "| no lock | 5.60 | 6.20 | 6.80 | – | – | – | – | – | – | – | – |")
}

// Requests with a lock that were faster than those without one add nothing that can be compared: they meet no goal. Nor
// does a contestant that failed.
func TestGateway_NothingAddedOrFailed_NotMeasured(t *testing.T) {
	goals := []string{"a request: p50 added, to two PINGs", "a request: p99 added, to two PINGs"}
	r := fixture()
	for i := range r.gateway.Figures[0].Rounds {
		r.gateway.Figures[0].Rounds[i] = measure.Quantiles{P50: time.Millisecond, P99: time.Millisecond, P999: time.Millisecond}
	}
	_, _, without := outcomes(r)
	require.Subset(t, without, goals)
	require.Contains(t, r.gatewayTable(), "| lockwheel | 1.00 | 1.00 | 1.00 | -4 600 |")

	r = fixture()
	r.gateway.Figures[5].Failure = "hangs"
	_, _, without = outcomes(r)
	require.Subset(t, without, goals)
	require.Contains(t, r.gatewayTable(), "| no lock | hangs |")
	require.NotContains(t, r.measuredPart(), "a request to an HTTP service")

	r = fixture()
	r.gateway.Figures[1].Failure = "hangs"
	_, _, without = outcomes(r)
	require.Contains(t, without, "a request: p99, to redislock")
}

// The report shows how near Pair comes to the limit, and how much more than it needs a renewal costs the server.
func TestCeiling_Table_RatioToTheLimit(t *testing.T) {
	text := fixture().ceilingTable()
	require.Contains(t, text, "It reached 0.870 × of the server alone with its own calls.")
	require.Contains(t, text, "| bare loop, the same scripts | 9 000 |")
	require.Contains(t, text, "| 0.556 × |")
	require.Contains(t, text, "| server CPU to the server alone |")
	require.Contains(t, text, "| "+bench.CeilingRenewed+" | 600 000 |")
}

// Without Java there are no figures of Redisson's kinds, and their goals are not measured.
func TestKinds_WithoutRedisson_NotMeasured(t *testing.T) {
	require.Contains(t, fixture().kindsTables(), "| FencedMutex | 17 000 | – | 58.8 | 2.00 | 1.00 | 311 | 8.82 × |")
	r := fixture()
	for i := range r.kinds.Figures.Redisson {
		r.kinds.Figures.Redisson[i] = bench.Result{Name: r.kinds.Figures.Redisson[i].Name, Failure: "left out: no Java"}
	}
	_, _, without := outcomes(r)
	require.Contains(t, without, "FencedMutex: pairs/s to Redisson's")
	require.Contains(t, r.kindsTables(), "| FencedMutex | left out: no Java |")
	require.NotContains(t, r.measuredPart(), "to Redisson's same kind")
	require.Equal(t, []string{peers.Lockwheel.Name, peers.Redsync.Name}, r.kindsChart().names)
}
