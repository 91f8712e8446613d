package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

func BenchmarkGateway(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	section(b, "gateway")
	results, err := Gateway(s, p)
	require.NoError(b, err)
	without := FindGateway(results, peers.Unlocked.Name)
	for _, g := range results {
		report(b, g.Name, nil, g.Failure, func(b *testing.B, turn int) {
			all := g.Added(without)
			add := addsInEach(all)
			q, added := MedianQuantiles(g.Rounds), MedianQuantiles(all)
			if turn >= 0 {
				q = g.Rounds[turn]
			}
			if turn >= 0 && add {
				added = all[turn]
			}
			reportQuantiles(b, "", q)
			b.ReportMetric(nano(q.P999), "p99.9-ns")
			if add {
				reportQuantiles(b, "added-", added)
			}
		})
	}
}

// addsInEach reports whether a lock added something in each round. Figures that hardly differ can have a difference of
// 0 or less, which has no ratio. Without such rounds the others would be too large.
func addsInEach(rounds []measure.Quantiles) bool {
	return len(rounds) > 0 && !slices.ContainsFunc(rounds, func(q measure.Quantiles) bool { return q.P50 <= 0 || q.P99 <= 0 })
}
