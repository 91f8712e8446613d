package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/peers"
)

func BenchmarkCeiling(b *testing.B) {
	s, p := serverAndPlan(b, direct)
	section(b, "ceiling")
	c, err := Ceiling(s, p)
	require.NoError(b, err)
	b.Logf("keys a call: %.1f by Pair, %d by the server alone", c.Keys, c.Sent)
	reportResults(b, c.Standings, "goroutines=2048")
	section(b, "ceiling, one caller")
	reportResults(b, c.One, "goroutines=1")
	section(b, "ceiling, renewals")
	for _, r := range c.Renew {
		report(b, r.Name, nil, r.Failure, func(b *testing.B, turn int) {
			s := r.Series
			if turn >= 0 {
				s = s.Only(turn)
			}
			b.ReportMetric(nano(s.ClientCPU()), "client-cpu-ns/renewal")
			b.ReportMetric(nano(s.ServerCPU()), "server-cpu-ns/renewal")
		})
	}
}

func BenchmarkKinds(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	section(b, "kinds")
	k, err := Kinds(s, p)
	require.NoError(b, err)
	for _, of := range []struct {
		client  string
		results []Result
	}{{peers.Lockwheel.Name, k.Alike}, {peers.Redisson.Name, k.Redisson}} {
		for _, r := range of.results {
			reportResultOf(b, of.client, &r, "kind="+valueOf(r.Name), "goroutines=2048")
		}
	}
	// benchstat warns of a table in which not all contestants have the same lines.
	section(b, "kinds, ten names of one caller")
	for i := range k.Ten {
		reportResultOf(b, peers.Lockwheel.Name, &k.Ten[i], "kind="+valueOf(k.Ten[i].Name), "goroutines=1")
	}
	section(b, "kinds, quorum of three")
	reportResults(b, k.Quorum, "kind=Quorum", "goroutines=2048")
}
