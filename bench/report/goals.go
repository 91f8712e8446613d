package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// goal is a target for a figure. The outcome follows from the figure before it is rounded.
type goal struct {
	section string
	what    string
	figure  float64 // NaN: not measured
	least   bool    // the bound is a minimum; otherwise a maximum
	bound   float64
	unit    string // of both, with a space before it
}

func (g goal) measured() bool { return !math.IsNaN(g.figure) }

func (g goal) met() bool {
	if g.least {
		return g.figure >= g.bound
	}
	return g.figure <= g.bound
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

// unknown is a figure that was not measured.
var unknown = math.NaN()

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
	return append(all, append(r.floodGoals(), r.plantedGoals()...)...)
}

// pairGoals judges each ratio by its worst round.
func (r *results) pairGoals() (goals []goal) {
	for _, few := range []struct {
		goroutines int
		text       string
	}{{1, "1 goroutine"}, {16, "16 goroutines"}} {
		entries := r.pairsOf(few.goroutines)
		goals = append(goals, goal{"Pair", few.text + ": pairs/s to the best of the others", worstRatioToBest(entries), true, 1, " ×"})
	}
	for _, peer := range []struct {
		name  string
		times float64
	}{{peers.Direct.Name, 1.8}, {peers.Rueidislock.Name, 3.5}, {peers.Redislock.Name, 4.5}, {peers.Redsync.Name, 6}, {peers.Redisson.Name, 9}} {
		worst := math.Inf(1)
		for _, p := range r.pair.Figures {
			if p.Goroutines >= 256 {
				worst = min(worst, worstSpeedRatio(p.Standings, peers.Lockwheel.Name, peer.name)) // unknown stays unknown
			}
		}
		if math.IsInf(worst, 1) {
			worst = unknown
		}
		goals = append(goals, goal{"Pair", "256 goroutines and more: pairs/s to " + peer.name, worst, true, peer.times, " ×"})
	}
	many := r.pairsOf(2048)
	cpu, allocs, bytes := worstRatio(many, peers.Lockwheel.Name, peers.Direct.Name, math.Max, func(s *measure.Series) float64 { return float64(s.ClientCPU()) }), unknown, unknown
	if ours := successOf(many, peers.Lockwheel.Name); ours != nil {
		allocs, bytes = ours.AllocsPerPair(), ours.BytesPerPair()
	}
	return append(goals,
		goal{"Ceiling", "2 048 goroutines: pairs/s to the server alone", worstSpeedRatio(r.ceiling.Figures.Standings, bench.CeilingPair, bench.CeilingBatched), true, 0.75, " ×"},
		goal{"Pair", "2 048 goroutines: client CPU of a pair, to direct's", cpu, false, 0.4, " ×"},
		goal{"Pair", "2 048 goroutines: allocations of a pair", allocs, false, 1, ""},
		goal{"Pair", "2 048 goroutines: bytes allocated for a pair", bytes, false, 400, " B"})
}

func (r *results) hotGoals() []goal {
	shares, longest := unknown, unknown
	two := r.contendedOf(2, 64)
	if ours := contendedResultOf(two, peers.Lockwheel.Name); ours != nil {
		shares = max(ours.Shares[0], ours.Shares[1]) / min(ours.Shares[0], ours.Shares[1])
		longest = inUnits(ours.LongestWait, time.Millisecond)
	}
	return []goal{
		{"Hot", "64 goroutines, one client: pairs/s to the best of the others", ratioToBestPeer(r.contendedOf(1, 64)), true, 40, " ×"},
		{"Hot", "64 goroutines, two clients: pairs/s to the best of the others", ratioToBestPeer(two), true, 2, " ×"},
		{"Hot", "64 goroutines, two clients: larger share to the smaller", shares, false, 10, " ×"},
		{"Hot", "64 goroutines, two clients: longest wait of all rounds", longest, false, 50, " ms"},
	}
}

func (r *results) wakeGoals() []goal {
	trips, beside := unknown, unknown
	w := r.wake.Figures
	if ours := handoverOf(w, peers.Lockwheel.Name); ours != nil {
		if ping := handoverOf(w, bench.PingRueidis); ping != nil {
			trips = quantileRatio(&ours.Took, &ping.Took, 0.5)
		}
		if peer := handoverOf(w, peers.Rueidislock.Name); peer != nil {
			beside = quantileRatio(&ours.Took, &peer.Took, 0.5)
		}
	}
	return []goal{
		{"Wake", "p50 of a hand-over, in bare round trips", trips, false, 2.5, " ×"},
		{"Wake", "p50 of a hand-over, to rueidislock's", beside, false, 1, " ×"},
	}
}

func (r *results) latencyGoals() []goal {
	p50, p99, beside := unknown, unknown, unknown
	if ours, ping := r.singleCallerOf(peers.Lockwheel.Name), r.singleCallerOf(bench.PingEnding); ours != nil && ping != nil {
		p50, p99 = quantileRatio(&ours.Lock, &ping.Lock, 0.5), quantileRatio(&ours.Lock, &ping.Lock, 0.99)
	}
	if none, many := r.loadOf(peers.Lockwheel.Name, 0), r.loadOf(peers.Lockwheel.Name, 100_000); none != nil && many != nil {
		beside = quantileRatio(&many.Called, &none.Called, 0.99)
	}
	return []goal{
		{"Latency", "one caller: p50 of a lock to a bare round trip", p50, false, 1.2, " ×"},
		{"Latency", "one caller: p99 of a lock to a bare round trip", p99, false, 1.5, " ×"},
		{"Latency", "steady load: p99 beside 100 000 held to none held", beside, false, 2, " ×"},
	}
}

// holdGoals judges the cost of a renewal, and pairs beside held locks, by the worst run.
func (r *results) holdGoals() []goal {
	heap, goroutines, lost, late := unknown, unknown, unknown, unknown
	million := r.holdResultOf(peers.Lockwheel.Name, 1_000_000)
	if million != nil {
		heap, goroutines, lost = million.Heap, million.Goroutines, float64(million.Lost)
		late = inUnits(million.Late, time.Millisecond)
	}
	limit := unknown
	if alone := successOf(r.ceiling.Figures.Renew, bench.CeilingRenewed); alone != nil {
		limit = alone.ServerCPU().Seconds()
	}
	clientOf, serverOf := (*bench.HoldResult).ClientRenewal, (*bench.HoldResult).ServerRenewal
	beside := func(k *bench.HoldResult) float64 {
		if k.During == 0 || k.Stuck != "" {
			return unknown
		}
		return k.During / k.Baseline()
	}
	ours, java := r.holdResultOf(peers.Lockwheel.Name, 100_000), r.holdResultOf(peers.Redisson.Name, 100_000)
	const held, fewer = "1 000 000 held: ", "100 000 held: "
	return []goal{
		{"Hold", fewer + "client CPU of a renewal, to redisson's", worstRun(ours, math.Max, clientOf) / worstRun(java, math.Min, clientOf), false, 1, " ×"},
		{"Hold", fewer + "server CPU of a renewal, to redisson's", worstRun(ours, math.Max, serverOf) / worstRun(java, math.Min, serverOf), false, 1, " ×"},
		{"Hold", held + "live heap of a lock", heap, false, 300, " B"},
		{"Hold", held + "goroutines a lock", goroutines, false, 0.0005, ""},
		{"Hold", held + "lost", lost, false, 0, ""},
		{"Hold", held + "client CPU of a renewal", worstRun(million, math.Max, clientOf) * 1e6, false, 2, " µs"},
		{"Hold", held + "server CPU of a renewal, to the server alone", worstRun(million, math.Max, serverOf) / limit, false, 1.4, " ×"},
		{"Hold", held + "p99 of how late renewals are", late, false, 250, " ms"},
		{"Hold", held + "pairs/s beside them to none held", worstRun(million, math.Min, beside), true, 0.7, " ×"},
	}
}

// goalsTable returns every goal with its figure, and how many are met.
func (r *results) goalsTable() string {
	t := newTable("", "section", "measured", "goal", "outcome")
	goals := r.goals()
	for _, g := range goals {
		section, figure := g.section, "–" // a section without figures is not shown
		if g.measured() {
			section, figure = fmt.Sprintf("[%s](#%s)", g.section, strings.ToLower(g.section)), decimals(g.figure)+g.unit
		}
		t.row(g.what, section, figure, g.target(), g.outcome())
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

// quantileRatio returns the ratio of two histograms at a quantile.
func quantileRatio(a, b *measure.Histogram, q float64) float64 {
	if b.Quantile(q) == 0 {
		return unknown
	}
	return float64(a.Quantile(q)) / float64(b.Quantile(q))
}
