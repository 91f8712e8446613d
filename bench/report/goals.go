package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// goal is a target for a figure. It is met if every round or run meets it. The outcome follows from the figures before
// they are rounded.
type goal struct {
	section string
	what    string
	figures []float64 // of each round or run; none, or one that is not a number: not measured
	least   bool      // the bound is a minimum; otherwise a maximum
	bound   float64
	unit    string // of both, with a space before it
}

func (g goal) measured() bool {
	return len(g.figures) > 0 && !slices.ContainsFunc(g.figures, math.IsNaN)
}

// worst returns the figure of the worst round or run.
func (g goal) worst() float64 {
	if g.least {
		return slices.Min(g.figures)
	}
	return slices.Max(g.figures)
}

func (g goal) met() bool {
	if g.least {
		return g.worst() >= g.bound
	}
	return g.worst() <= g.bound
}

func (g goal) outcome() string {
	switch {
	case !g.measured():
		return "not measured"
	case g.met():
		return "met"
	}
	return "**not met**"
}

func (r *results) goals() []goal {
	var all []goal
	all = append(all, r.pairGoals()...)
	all = append(all, r.kindsGoals()...)
	all = append(all, r.hotGoals()...)
	all = append(all, r.wakeGoals()...)
	all = append(all, r.latencyGoals()...)
	all = append(all, r.gatewayGoals()...)
	all = append(all, r.holdGoals()...)
	all = append(all, r.scaleGoals()...)
	all = append(all, r.sizingGoals()...)
	return append(all, slices.Concat(r.floodGoals(), r.plantedGoals(), r.beforeGoals())...)
}

func (r *results) pairGoals() (goals []goal) {
	for _, few := range []struct {
		goroutines int
		text       string
	}{{1, "1 goroutine"}, {16, "16 goroutines"}} {
		goals = append(goals, goal{"Pair", few.text + ": pairs/s to the best of the others", ratiosToBest(r.pairsOf(few.goroutines)), true, 1, " ×"})
	}
	for _, peer := range []struct {
		name  string
		times float64
	}{{peers.Direct.Name, 1.8}, {peers.Rueidislock.Name, 3.5}, {peers.Redislock.Name, 4.5}, {peers.Redsync.Name, 6}, {peers.Redisson.Name, 9}} {
		var all []float64
		for _, p := range r.pair.Figures {
			if p.Goroutines >= 256 {
				all = append(all, speedRatios(p.Standings, peers.Lockwheel.Name, peer.name)...)
			}
		}
		goals = append(goals, goal{"Pair", "256 goroutines and more: pairs/s to " + peer.name, all, true, peer.times, " ×"})
	}
	many := r.pairsOf(2048)
	ours := successOf(many, peers.Lockwheel.Name)
	return append(goals,
		goal{"Ceiling", "2 048 goroutines: pairs/s to the server alone", speedRatios(r.ceiling.Figures.Standings, bench.CeilingPair, bench.CeilingReplayed), true, 0.75, " ×"},
		goal{"Pair", "2 048 goroutines: client CPU of a pair, to direct's", costRatios(ours, successOf(many, peers.Direct.Name), clientCPU), false, 0.4, " ×"},
		goal{"Pair", "2 048 goroutines: allocations of a pair, to two decimals", costsOf(ours, (*measure.Series).AllocsPerPair), false, 1.005, ""},
		goal{"Pair", "2 048 goroutines: bytes allocated for a pair", costsOf(ours, (*measure.Series).BytesPerPair), false, 400, " B"})
}

func (r *results) hotGoals() []goal {
	one, two := entriesOf(r.contendedOf(1, 64)), r.contendedOf(2, 64)
	shares, longest := unknown, unknown
	if ours := contendedResultOf(two, peers.Lockwheel.Name); ours != nil {
		shares = max(ours.Shares[0], ours.Shares[1]) / min(ours.Shares[0], ours.Shares[1])
		longest = inUnits(ours.LongestWait, time.Millisecond)
	}
	return []goal{
		{"Hot", "64 goroutines, one client: pairs/s to the best of the others", ratiosToBest(one), true, 40, " ×"},
		{"Hot", "64 goroutines, two clients: pairs/s to the best of the others", ratiosToBest(entriesOf(two)), true, 2, " ×"},
		{"Hot", "64 goroutines, two clients: larger share to the smaller", only(shares), false, 10, " ×"},
		{"Hot", "64 goroutines, two clients: longest wait of all rounds", only(longest), false, 50, " ms"},
	}
}

func (r *results) wakeGoals() []goal {
	w := r.wake.Figures
	return []goal{
		{"Wake", "p50 of a hand-over, in bare round trips", quantileRatios(turnsOf(w, peers.Lockwheel.Name), turnsOf(w, bench.PingRueidis), medianOf), false, 2.5, " ×"},
		{"Wake", "p50 of a hand-over, to one over plain TCP", quantileRatios(turnsOf(w, peers.Lockwheel.Name), turnsOf(w, bench.HandoverPlain), medianOf), false, 1.25, " ×"},
		{"Wake", "p50 of a hand-over, to rueidislock's", quantileRatios(turnsOf(w, peers.Lockwheel.Name), turnsOf(w, peers.Rueidislock.Name), medianOf), false, 1, " ×"},
	}
}

func (r *results) latencyGoals() []goal {
	ours, ping := r.locksOf(peers.Lockwheel.Name), r.locksOf(bench.PingEnding)
	none, many := r.calledOf(peers.Lockwheel.Name, 0), r.calledOf(peers.Lockwheel.Name, 100_000)
	return []goal{
		{"Latency", "one caller: p50 of a lock to a bare round trip", quantileRatios(ours, ping, medianOf), false, 1.2, " ×"},
		{"Latency", "one caller: p99 of a lock to a bare round trip", quantileRatios(ours, ping, p99Of), false, 1.5, " ×"},
		{"Latency", "steady load: p50 to direct's", quantileRatios(none, r.calledOf(peers.Direct.Name, 0), medianOf), false, 1.5, " ×"},
		{"Latency", "steady load: p99 beside 100 000 held to none held", quantileRatios(many, none, p99Of), false, 2, " ×"},
	}
}

func (r *results) holdGoals() []goal {
	million := r.holdResultOf(peers.Lockwheel.Name, 1_000_000)
	of := func(figure func(*bench.HoldResult) float64) []float64 { return figuresOf(runsOf(million), figure) }
	lost := unknown
	if million != nil {
		lost = float64(million.Lost)
	}
	clientOf, serverOf := (*bench.HoldResult).ClientRenewal, (*bench.HoldResult).ServerRenewal
	beside := func(k *bench.HoldResult) float64 {
		if k.During == 0 || k.Stuck != "" {
			return unknown
		}
		return k.During / k.Baseline()
	}
	ours, java := runsOf(r.holdResultOf(peers.Lockwheel.Name, 100_000)), runsOf(r.holdResultOf(peers.Redisson.Name, 100_000))
	const held, fewer = "1 000 000 held: ", "100 000 held: "
	return []goal{
		{"Hold", fewer + "client CPU of a renewal, to redisson's", ratios(figuresOf(ours, clientOf), figuresOf(java, clientOf)), false, 1, " ×"},
		{"Hold", fewer + "server CPU of a renewal, to redisson's", ratios(figuresOf(ours, serverOf), figuresOf(java, serverOf)), false, 1, " ×"},
		{"Hold", held + "live heap of a lock", of(func(k *bench.HoldResult) float64 { return k.Heap }), false, 300, " B"},
		{"Hold", held + "goroutines a lock", of(func(k *bench.HoldResult) float64 { return k.Goroutines }), false, 0.0005, ""},
		{"Hold", held + "lost", only(lost), false, 0, ""},
		{"Hold", held + "client CPU of a renewal", of(func(k *bench.HoldResult) float64 { return k.ClientRenewal() * 1e6 }), false, 2, " µs"},
		{"Hold", held + "server CPU of a renewal, to the server alone", of((*bench.HoldResult).ServerToLimit), false, 1.4, " ×"},
		{"Hold", held + "p99 of how late renewals are", of(func(k *bench.HoldResult) float64 { return inUnits(k.Late, time.Millisecond) }), false, 250, " ms"},
		{"Hold", held + "pairs/s beside them to none held", of(beside), true, 0.7, " ×"},
	}
}

// goalsTable returns every goal with its figures, and how many are met.
func (r *results) goalsTable() string {
	t := newTable("", "section", "median", "worst", "goal", "outcome")
	goals := r.goals()
	for _, g := range goals {
		section, median, worst := g.section, "–", "–" // a section without figures is not shown
		if g.measured() {
			section = fmt.Sprintf("[%s](#%s)", g.section, strings.ToLower(g.section))
			median, worst = decimals(measure.Median(g.figures))+g.unit, decimals(g.worst())+g.unit
		}
		t.row(g.what, section, median, worst, g.target(), g.outcome())
	}
	return goalsSummary(goals) + "\n\n" + t.String()
}

// target returns the bound as text.
func (g goal) target() string {
	if g.least {
		return "≥ " + fmt.Sprint(g.bound) + g.unit
	}
	return "≤ " + fmt.Sprint(g.bound) + g.unit
}

// goalsSummary returns how many goals are met, as text.
func goalsSummary(goals []goal) string {
	met, measured := 0, 0
	for _, g := range goals {
		switch {
		case !g.measured():
			continue
		case g.met():
			met++
		}
		measured++
	}
	text := fmt.Sprintf("%d of %d goals are met", met, measured)
	if measured < len(goals) {
		text += fmt.Sprintf("; not measured: %d", len(goals)-measured)
	}
	return text + "."
}

// inUnits returns a duration as a number.
func inUnits(d, unit time.Duration) float64 { return float64(d) / float64(unit) }
