package bench

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/link"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var (
	addr   = flag.String("redis", os.Getenv("LOCKWHEEL_BENCH_REDIS"), "measure on the server at this `address`, not on one started here")
	set    = flag.String("set", "quick", "how much to measure: quick or full")
	rounds = flag.Int("rounds", 0, "rounds of every contestant, if not the set's or -count")
	delay  = flag.Duration("link", 0, "the `delay` in each direction of a link to the server, which is then in a process of its own")
)

// TestMain prints what benchstat has to know of the units, and lets each line be printed once.
func TestMain(m *testing.M) {
	link.RunIfAsked()
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		if err := flag.Set("test.benchtime", "1x"); err != nil {
			panic(err)
		}
		fmt.Print(unitLines)
	}
	os.Exit(m.Run())
}

// unitLines has the units, and in which direction they are better. Each is of a figure with a mean that means
// something. How often a lock was lost or had two holders is an error and not a figure.
const unitLines = `Unit pairs/s better=higher
Unit ns/op better=lower
Unit B/pair better=lower
Unit allocs/pair better=lower
Unit client-cpu-ns/pair better=lower
Unit server-cpu-ns/pair better=lower
Unit client-cpu-ns/renewal better=lower
Unit server-cpu-ns/renewal better=lower
Unit longest-wait-ns better=lower
Unit lock-p50-ns better=lower
Unit lock-p99-ns better=lower
Unit unlock-p50-ns better=lower
Unit unlock-p99-ns better=lower
Unit p50-ns better=lower
Unit p99-ns better=lower
Unit p99.9-ns better=lower
Unit added-p50-ns better=lower
Unit added-p99-ns better=lower
Unit from-due-p99-ns better=lower
Unit heap-B/lock better=lower
Unit client-cores better=lower
Unit server-cores better=lower
Unit late-p99-ns better=lower
`

func BenchmarkPair(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	for _, n := range p.Goroutines {
		if goroutines := fmt.Sprintf("goroutines=%d", n); selected(b, goroutines) {
			section(b, "pair")
			results, err := Pair(s, p, n)
			require.NoError(b, err)
			reportResults(b, results, goroutines)
		}
	}
}

func BenchmarkHot(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	for clients := 1; clients <= 2; clients++ {
		for _, n := range p.Contenders {
			what := []string{fmt.Sprintf("clients=%d", clients), fmt.Sprintf("goroutines=%d", n)}
			if !selected(b, what...) {
				continue
			}
			section(b, "hot")
			contended, err := Hot(s, p, n, clients)
			require.NoError(b, err)
			for i := range contended {
				reportContended(b, &contended[i], what)
			}
		}
	}
}

func reportContended(b *testing.B, f *ContendedResult, what []string) {
	report(b, f.Name, what, failureOf(&f.Result), func(b *testing.B, turn int) {
		require.Zero(b, f.Overlaps, "times that two held the lock at once")
		if f.Stalled > 0 && turn <= 0 {
			b.Logf("stalled in %d of %d rounds: the free lock was not granted during their last half", f.Stalled, len(f.Samples))
		}
		reportResult(b, &f.Result, turn)
		longest := f.MedianLongest
		if turn >= 0 {
			longest = f.Longest[turn]
		}
		b.ReportMetric(nano(longest), "longest-wait-ns")
	})
}

func BenchmarkHold(b *testing.B) {
	s, p := serverAndPlan(b, direct)
	for _, holdPlan := range p.Holds {
		locks, renewal := fmt.Sprintf("locks=%d", holdPlan.Locks), fmt.Sprintf("renewal=%v", holdPlan.RenewInterval())
		if !selected(b, locks, renewal) {
			continue
		}
		section(b, fmt.Sprintf("hold, %s, %s", locks, renewal)) // not all contestants hold as many
		results, err := Hold(s, p, holdPlan)
		require.NoError(b, err)
		for i := range results {
			reportHold(b, &results[i], locks, renewal)
		}
	}
}

func reportHold(b *testing.B, k *HoldResult, what ...string) {
	name := k.Name
	if k.Keep.Every != 0 {
		name = peers.Lockwheel.Name
	}
	report(b, name, what, k.Failure, func(b *testing.B, turn int) {
		if k.Lost > 0 {
			b.Skipf("%d locks were lost", k.Lost)
		}
		run := k
		if turn >= 0 && len(k.Runs) > 0 {
			run = &k.Runs[turn]
		}
		if run.Heap > run.HeapNoise {
			b.ReportMetric(run.Heap, "heap-B/lock")
		}
		b.ReportMetric(run.Client, "client-cores")
		b.ReportMetric(run.Server, "server-cores")
		if run.Late >= 0 {
			b.ReportMetric(nano(run.Late), "late-p99-ns")
		}
		if run.Stuck != "" {
			b.Log("beside them:", run.Stuck)
		} else if run.During > 0 {
			b.ReportMetric(run.During, "pairs/s")
		}
	})
}

func BenchmarkFlood(b *testing.B) {
	s, p := serverAndPlan(b, direct)
	for _, plan := range p.Floods {
		names := "names=one"
		if plan.Own {
			names = "names=own"
		}
		if !selected(b, names) {
			continue
		}
		runs := make([][]*FloodResult, count())
		for i := range runs {
			floods, err := Flood(s, p, plan)
			require.NoError(b, err)
			runs[i] = floods
		}
		for i, first := range runs[0] {
			section(b, fmt.Sprintf("flood, %s, %d waiters", names, first.Waiters))
			for _, phase := range first.Phases {
				what := []string{names, fmt.Sprintf("waiters=%d", first.Waiters), "phase=" + phase.Name}
				failure := first.Failure
				for _, run := range runs {
					if f := findFlood(run, first, i); f == nil || f.Failure != "" {
						failure = cmp.Or(failure, "a later run failed")
					}
				}
				report(b, first.Name, what, failure, func(b *testing.B, turn int) {
					f := findFlood(runs[max(turn, 0)], first, i)
					for _, again := range f.Phases {
						if again.Name == phase.Name {
							reportQuantiles(b, "", again.Probe.Quantiles())
						}
					}
				})
			}
		}
	}
}

// findFlood returns the flood of another run that is like the first run's flood i, nil if there is none.
func findFlood(run []*FloodResult, first *FloodResult, i int) *FloodResult {
	if i < len(run) && run[i].Name == first.Name && run[i].Waiters == first.Waiters {
		return run[i]
	}
	return nil
}

func BenchmarkLatency(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	section(b, "latency")
	callers, err := OneCaller(s, p)
	require.NoError(b, err)
	for _, c := range callers {
		report(b, c.Name, nil, c.Failure, func(b *testing.B, turn int) {
			lock, unlock := c.Lock.Quantiles(), c.Unlock.Quantiles()
			if turn >= 0 {
				lock, unlock = c.Locks[turn], c.Unlocks[turn]
			}
			reportQuantiles(b, "lock-", lock)
			reportQuantiles(b, "unlock-", unlock)
		})
	}
}

func BenchmarkSteady(b *testing.B) {
	s, p := serverAndPlan(b, direct)
	section(b, "steady")
	loads, err := Steady(s, p)
	require.NoError(b, err)
	for _, l := range loads {
		report(b, l.Name, []string{fmt.Sprintf("held=%d", l.Held)}, l.Failure, func(b *testing.B, turn int) {
			run := LoadRun{l.FromDue.Quantiles(), l.Called.Quantiles()}
			if turn >= 0 {
				run = l.Runs[turn]
			}
			reportQuantiles(b, "", run.Called)
			b.ReportMetric(nano(run.FromDue.P99), "from-due-p99-ns")
		})
	}
}

func BenchmarkWake(b *testing.B) {
	s, p := serverAndPlan(b, delayed)
	section(b, "wake")
	latencies, err := Wake(s, p)
	require.NoError(b, err)
	for _, w := range latencies {
		report(b, w.Name, nil, w.Failure, func(b *testing.B, turn int) {
			q := w.Took.Quantiles()
			if turn >= 0 {
				q = w.Turns[turn]
			}
			reportQuantiles(b, "", q)
		})
	}
}

// Which sections can be measured over a link.
const (
	direct  = false
	delayed = true
)

// serverAndPlan returns the server and the plan that the flags select. Without a server it skips the benchmark, and
// with -link one that is only measured without a link.
func serverAndPlan(b *testing.B, overLink bool) (*Server, Plan) {
	plan, known := map[string]Plan{"quick": Quick, "full": Full, "tiny": tiny}[*set] // tiny is for a test
	require.True(b, known, "-set %s", *set)
	if n := count(); n > 1 {
		plan = plan.Repeat(n)
	} else if *rounds > 0 {
		plan.Rounds = *rounds
	}
	plan.Log = func(line string) { b.Log(line) }
	if *delay > 0 && !overLink {
		b.Skip("is not measured over a link")
	}
	s := openServer(b, *addr)
	require.NoError(b, s.Delay(*delay))
	return s, plan
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

// section prints what makes benchstat give the lines that follow tables of their own, since not all sections have the
// same contestants. The names of the benchmarks repeat it for readers.
func section(b *testing.B, name string) {
	fmt.Printf("section: %s\nlink: %v\n", name, *delay)
}

// count returns how many lines to print of each contestant: -count.
func count() int {
	n, _ := strconv.Atoi(flag.Lookup("test.count").Value.String())
	return max(n, 1)
}

// selected reports whether -bench selects something of a benchmark with these parts of a name, which follow that of the
// client.
func selected(b *testing.B, parts ...string) bool {
	for _, alternative := range splitPattern(flag.Lookup("test.bench").Value.String(), '|') {
		elements := splitPattern(alternative, '/')
		matches := regexp.MustCompile(elements[0]).MatchString(b.Name())
		for i, part := range parts {
			matches = matches && (i+2 >= len(elements) || regexp.MustCompile(elements[i+2]).MatchString(part))
		}
		if matches {
			return true
		}
	}
	return false
}

// splitPattern splits a pattern as the testing package does: not within brackets.
func splitPattern(pattern string, at rune) (parts []string) {
	depth, begin := 0, 0
	for i, r := range pattern {
		switch {
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case r == at && depth == 0:
			parts, begin = append(parts, pattern[begin:i]), i+1
		}
	}
	return append(parts, pattern[begin:])
}

// valueOf returns a contestant's name in the form that the name of a benchmark can have as a value.
func valueOf(name string) string {
	return strings.NewReplacer(", ", "-", " ", "-", "/", "-").Replace(name)
}

// report prints the lines of a contestant, one for each -count: of its turns, and of all together if there is only one.
// turn is the number of the turn, or -1. The measurement is done before: line only reports.
func report(b *testing.B, client string, what []string, failure string, line func(b *testing.B, turn int)) {
	turn := -1
	b.Run(strings.Join(append([]string{"client=" + valueOf(client)}, what...), "/"), func(b *testing.B) {
		if failure != "" {
			b.Skip(failure) // -v shows it
		}
		if count() > 1 {
			turn++
		}
		b.ReportMetric(0, "ns/op")
		line(b, turn)
	})
}

func reportResults(b *testing.B, results []Result, what ...string) {
	for i := range results {
		reportResultOf(b, results[i].Name, &results[i], what...)
	}
}

func reportResultOf(b *testing.B, client string, r *Result, what ...string) {
	report(b, client, what, failureOf(r), func(b *testing.B, turn int) { reportResult(b, r, turn) })
}

// failureOf says why a contestant has no lines: they are of all its rounds, or none, so one round without a figure is
// enough if each has its own line. The testing package would print the line of a later one that was skipped, without
// figures.
func failureOf(r *Result) string {
	short := func(s measure.Sample) bool { return s.Pairs == 0 || s.Client.CPU == 0 } // a JVM counts whole 10 ms
	switch {
	case r.Failure != "":
		return r.Failure
	case count() > 1 && slices.ContainsFunc(r.Samples, short):
		return "no pair, or no processor time, in a round"
	case r.PairsPerSecond() == 0:
		return "no pair"
	}
	return ""
}

// reportResult reports a round, or the medians of all rounds.
func reportResult(b *testing.B, r *Result, turn int) {
	s := r.Series
	if turn >= 0 {
		s = s.Only(turn)
	}
	b.ReportMetric(s.NsPerPair(), "ns/op")
	// The testing package rounds B/op and allocs/op to integers: some contestants would have 0, and 0 has no ratio.
	b.ReportMetric(s.BytesPerPair(), "B/pair")
	if allocs := s.AllocsPerPair(); allocs > 0 { // otherwise they are not counted
		b.ReportMetric(allocs, "allocs/pair")
	}
	b.ReportMetric(s.PairsPerSecond(), "pairs/s")
	b.ReportMetric(nano(s.ClientCPU()), "client-cpu-ns/pair")
	b.ReportMetric(nano(s.ServerCPU()), "server-cpu-ns/pair")
}

func reportQuantiles(b *testing.B, prefix string, q measure.Quantiles) {
	b.ReportMetric(nano(q.P50), prefix+"p50-ns")
	b.ReportMetric(nano(q.P99), prefix+"p99-ns")
}

func nano(d time.Duration) float64 { return float64(d) }

// A contestant with a round that has no pair, or too little work for a clock, has no line of any round: benchstat would
// warn of a line without figures, or compare with 0.
func TestFailureOf_RoundWithoutFigure_NoLines(t *testing.T) {
	previous := flag.Lookup("test.count").Value.String()
	require.NoError(t, flag.Set("test.count", "2"))
	defer func() { require.NoError(t, flag.Set("test.count", previous)) }()
	measured := measure.Sample{Pairs: 3, Took: time.Second, Client: measure.Usage{CPU: time.Millisecond}}
	idle, coarse := measured, measured
	idle.Pairs, coarse.Client.CPU = 0, 0
	for _, c := range []struct {
		failure string
		rounds  []measure.Sample
		lines   bool
	}{
		{"", []measure.Sample{measured, measured}, true},
		{"", []measure.Sample{measured, idle}, false},
		{"", []measure.Sample{coarse, measured}, false},
		{"stalled", []measure.Sample{measured, measured}, false},
	} {
		r := Result{Failure: c.failure, Series: measure.Series{Samples: c.rounds}}
		require.Equal(t, c.lines, failureOf(&r) == "", "%+v", c)
	}
}
