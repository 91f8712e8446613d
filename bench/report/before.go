package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/revisions"
)

// This file has how the library is compared with an earlier revision of it, shown and judged.

// before is that revision: the last one before the work for speed that began with bursts of renewals.
const before = "c7ce1fbb"

const beforeText = "The same loads on the library as it was at " + before + ", and as it is. Both have turns on one server. The last columns say how many times as good it is now: more pairs, or less time, " +
	"processor time or memory. That is the median of a run's rounds, as the median of all runs, and of the worst and the best one."

// beforeRounds is of one run of a load that takes less than a second.
const beforeRounds = 5

// beforeLoad is a load that is compared.
type beforeLoad struct {
	what   string
	rounds int // of a run
	takes  time.Duration
	flags  []string // of bench/compare/load
}

// beforeLoads returns the loads of a plan.
func beforeLoads(p bench.Plan) []beforeLoad {
	const span, lease = 600 * time.Millisecond, 9 * time.Second
	loads := []beforeLoad{{what: "1 goroutine", flags: []string{"-load", "latency"}}, {what: "1 goroutine, on an engine that has had 2 048", flags: []string{"-load", "used"}}}
	for _, n := range []int{16, 256, 2048} {
		loads = append(loads, beforeLoad{what: count(float64(n)) + " goroutines", flags: []string{"-load", "pairs", "-n", strconv.Itoa(n)}})
	}
	loads = append(loads, beforeLoad{what: "2 048 goroutines, two to a name", flags: []string{"-load", "two"}},
		beforeLoad{what: "64 goroutines, one name", flags: []string{"-load", "hot", "-n", "64"}})
	for i := range loads {
		loads[i].rounds, loads[i].takes = beforeRounds, 3*span/2
		loads[i].flags = append(loads[i].flags, "-for", span.String())
	}
	return append(loads, beforeLoad{what: count(float64(p.WithHeld.Locks)) + " held", rounds: 1, takes: 2*lease + 3*time.Second,
		flags: []string{"-load", "hold", "-n", strconv.Itoa(p.WithHeld.Locks), "-for", lease.String()}})
}

// beforeRun has the figures of one load.
type beforeRun struct {
	Load    string
	Rounds  int // of a run
	Figures []*revisions.Figure
}

func beforeSteps(into *[]beforeRun, s *bench.Server, p bench.Plan) []step {
	loads, folder := beforeLoads(p), ""
	var programs *revisions.Programs
	steps := []step{{"builds the load with " + before, 20 * time.Second, func() (err error) {
		if folder, err = os.MkdirTemp("", "before"); err != nil {
			return err
		}
		if programs, err = revisions.Build(folder, before); err != nil {
			os.RemoveAll(folder)
		}
		return err
	}}}
	for i, l := range loads {
		steps = append(steps, step{l.what, time.Duration(2*p.Rounds*l.rounds) * l.takes, func() error {
			figures, err := programs.Compare(s.Addr, p.Rounds*l.rounds, l.flags...)
			if err != nil || i == len(loads)-1 {
				os.RemoveAll(folder)
			}
			*into = append(*into, beforeRun{l.what, l.rounds, figures})
			return err
		}})
	}
	return steps
}

func (r *results) beforeTable() string {
	runs := 0
	for _, b := range r.before.Figures {
		runs = max(runs, len(b.gains()))
	}
	t := newTable("", "", before, "now", "to before", minMax(runs))
	for _, b := range r.before.Figures {
		for _, f := range b.Figures {
			write := func(x float64) string { return strconv.FormatFloat(x, 'f', f.Decimals, 64) }
			gains := f.Gains(b.Rounds)
			t.row(b.Load, f.What, write(measure.Median(f.Then)), write(measure.Median(f.Now)), decimals(measure.Median(gains))+" ×", spread(gains, decimals))
		}
	}
	return t.String()
}

// gains returns the gain of each run: that of the figure that gained least.
func (b beforeRun) gains() (least []float64) {
	for i, f := range b.Figures {
		gains := f.Gains(b.Rounds)
		if i == 0 {
			least = gains
			continue
		}
		for run := range least {
			least[run] = min(least[run], gains[run])
		}
	}
	return least
}

// beforeGoals returns a goal for each load: no figure of it is worse than before.
func (r *results) beforeGoals() (goals []goal) {
	for _, l := range beforeLoads(bench.Full) {
		var gains []float64
		if i := slices.IndexFunc(r.before.Figures, func(b beforeRun) bool { return b.Load == l.what }); i >= 0 {
			gains = r.before.Figures[i].gains()
		}
		goals = append(goals, goal{"Before", fmt.Sprintf("%s: the figure that gained least, to %s", l.what, before), gains, true, 0.97, " ×"})
	}
	return goals
}
