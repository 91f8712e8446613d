package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var (
	addr   = flag.String("redis", os.Getenv("LOCKWHEEL_BENCH_REDIS"), "measure on the server at this `address`, not on one started here")
	set    = flag.String("set", "quick", "how much to measure: quick or full")
	rounds = flag.Int("rounds", 0, "rounds of every contestant, if not the set's")
)

func BenchmarkPair(b *testing.B) {
	s, p := serverAndPlan(b)
	for _, goroutines := range p.Goroutines {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			results, err := Pair(s, p, goroutines)
			require.NoError(b, err)
			reportResults(b, results)
		})
	}
}

func BenchmarkHot(b *testing.B) {
	s, p := serverAndPlan(b)
	for _, clients := range []int{1, 2} {
		for _, goroutines := range p.Contenders {
			b.Run(fmt.Sprintf("clients=%d/goroutines=%d", clients, goroutines), func(b *testing.B) {
				contended, err := Hot(s, p, goroutines, clients)
				require.NoError(b, err)
				for i := range contended {
					f := &contended[i]
					report(b, f.Name, f.Failure, func(b *testing.B) {
						reportResult(b, &f.Result, contended[0].PairsPerSecond())
						b.ReportMetric(float64(f.Fewest), "fewest")
						b.ReportMetric(float64(f.Most), "most")
						b.ReportMetric(min(f.Shares[0], f.Shares[1]), "smaller-share")
						b.ReportMetric(f.LongestWait.Seconds()*1000, "longest-wait-ms")
						b.ReportMetric(float64(f.Stalled), "stalled-rounds")
						b.ReportMetric(float64(f.Overlaps), "overlaps")
					})
				}
			})
		}
	}
}

func BenchmarkHold(b *testing.B) {
	s, p := serverAndPlan(b)
	for _, holdPlan := range p.Holds {
		b.Run(fmt.Sprintf("locks=%d", holdPlan.Locks), func(b *testing.B) {
			results, err := Hold(s, p, holdPlan)
			require.NoError(b, err)
			for _, k := range results {
				report(b, k.Name, k.Failure, func(b *testing.B) {
					if k.Heap > k.HeapNoise {
						b.ReportMetric(k.Heap, "heap-B/lock")
					}
					b.ReportMetric(k.Goroutines, "goroutines/lock")
					b.ReportMetric(k.Client, "client-cores")
					b.ReportMetric(k.Server, "server-cores")
					b.ReportMetric(k.Renewals, "renewals/s")
					if k.Late >= 0 {
						b.ReportMetric(k.Late.Seconds()*1000, "p99-late-ms")
						b.ReportMetric(k.Latest.Seconds()*1000, "latest-ms")
					}
					b.ReportMetric(float64(k.Lost), "lost")
					if k.Stuck != "" {
						b.Log("beside them:", k.Stuck)
					} else if k.During > 0 {
						b.ReportMetric(k.During, "pairs/s")
						b.ReportMetric(k.During/k.Baseline(), "x-none-held")
					}
				})
			}
		})
	}
}

func BenchmarkFlood(b *testing.B) {
	s, p := serverAndPlan(b)
	for _, plan := range p.Floods {
		b.Run(fmt.Sprintf("own=%v", plan.Own), func(b *testing.B) {
			floods, err := Flood(s, p, plan)
			require.NoError(b, err)
			for _, f := range floods {
				for _, phase := range f.Phases {
					report(b, fmt.Sprintf("%s/waiters=%d/%s", f.Name, f.Waiters, phase.Name), f.Failure, func(b *testing.B) {
						reportQuantiles(b, "", &phase.Probe)
						b.ReportMetric(micro(phase.Probe.Max()), "longest-µs")
						b.ReportMetric(phase.Took.Seconds(), "s")
						b.ReportMetric(float64(f.Lost), "lost")
					})
				}
			}
		})
	}
}

func BenchmarkLatency(b *testing.B) {
	s, p := serverAndPlan(b)
	b.Run("one-caller", func(b *testing.B) {
		callers, err := OneCaller(s, p)
		require.NoError(b, err)
		for _, c := range callers {
			report(b, c.Name, c.Failure, func(b *testing.B) {
				reportQuantiles(b, "lock-", &c.Lock)
				reportQuantiles(b, "unlock-", &c.Unlock)
			})
		}
	})
	b.Run("open-loop", func(b *testing.B) {
		loads, err := Steady(s, p)
		require.NoError(b, err)
		for _, l := range loads {
			report(b, fmt.Sprintf("%s/held=%d", l.Name, l.Held), l.Failure, func(b *testing.B) {
				reportQuantiles(b, "", &l.Called)
				reportQuantiles(b, "from-due-", &l.FromDue)
			})
		}
	})
}

func BenchmarkWake(b *testing.B) {
	s, p := serverAndPlan(b)
	latencies, err := Wake(s, p)
	require.NoError(b, err)
	for _, w := range latencies {
		report(b, w.Name, w.Failure, func(b *testing.B) { reportQuantiles(b, "", &w.Took) })
	}
}

func BenchmarkCeiling(b *testing.B) {
	s, p := serverAndPlan(b)
	c, err := Ceiling(s, p)
	require.NoError(b, err)
	b.Logf("keys a call: %.1f by Pair, %d by the server alone", c.Keys, c.Sent)
	reportResults(b, c.Standings)
}

func BenchmarkKinds(b *testing.B) {
	s, p := serverAndPlan(b)
	k, err := Kinds(s, p)
	require.NoError(b, err)
	reportResults(b, k.Alike)
	reportResults(b, k.Ten)
}

// serverAndPlan returns the server and the plan that the flags select. Without a server it skips the benchmark.
func serverAndPlan(b testing.TB) (*Server, Plan) {
	plan, known := map[string]Plan{"quick": Quick, "full": Full}[*set]
	require.True(b, known, "-set %s", *set)
	if *rounds > 0 {
		plan.Rounds = *rounds
	}
	plan.Log = func(line string) { b.Log(line) }
	return openServer(b, *addr), plan
}

func openServer(b testing.TB, addr string) *Server {
	s, err := OpenServer(context.Background(), addr)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv(redistest.EnvRequire) != "1" {
		b.Skipf("needs a real server: %v", err)
	}
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// report prints a line for a contestant. The measurement is done before: the function of the line does not loop.
func report(b *testing.B, name, failure string, line func(b *testing.B)) {
	b.Run(name, func(b *testing.B) {
		if failure != "" {
			b.Skip(failure) // -v shows it
		}
		b.ReportMetric(0, "ns/op")
		line(b)
	})
}

func reportResults(b *testing.B, results []Result) {
	for i := range results {
		report(b, results[i].Name, results[i].Failure, func(b *testing.B) {
			reportResult(b, &results[i], results[0].PairsPerSecond())
		})
	}
}

// reportResult prints as the last figure how many times faster the first contestant is, which is lockwheel.
func reportResult(b *testing.B, s *Result, first float64) {
	b.ReportMetric(s.NsPerPair(), "ns/op")
	if allocs := s.AllocsPerPair(); allocs > 0 {
		b.ReportAllocs() // without it, B/op and allocs/op are not shown
		b.ReportMetric(s.BytesPerPair(), "B/op")
		b.ReportMetric(allocs, "allocs/op")
	} else { // they are not counted
		b.ReportMetric(s.BytesPerPair(), "B/pair")
	}
	b.ReportMetric(s.PairsPerSecond(), "pairs/s")
	b.ReportMetric(micro(s.ClientCPU()), "client-µs/pair")
	b.ReportMetric(micro(s.ServerCPU()), "server-µs/pair")
	b.ReportMetric(first/s.PairsPerSecond(), "times-as-fast-is-ours")
}

func reportQuantiles(b *testing.B, prefix string, h *measure.Histogram) {
	b.ReportMetric(micro(h.Quantile(0.5)), prefix+"p50-µs")
	b.ReportMetric(micro(h.Quantile(0.99)), prefix+"p99-µs")
	b.ReportMetric(micro(h.Quantile(0.999)), prefix+"p99.9-µs")
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
