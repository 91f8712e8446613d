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

// markdown returns the text of RESULTS.md.
func (r *results) markdown() string {
	var b strings.Builder
	b.WriteString("# Results\n\nWritten by `go run ./report` from [figures](figures); do not edit it by hand.\n\n")
	last := r.latest()
	if last == nil {
		b.WriteString("Nothing has been measured.\n")
		return b.String()
	}
	if last.Link > 0 {
		fmt.Fprintf(&b, linkText, last.Link, last.Link)
	} else {
		fmt.Fprintf(&b, "## Goals\n\n%s %s", goalsText, r.goalsTable())
	}
	b.WriteString(r.settingChapter(last))
	drawings := r.drawings()
	for _, chapter := range r.chapters() {
		chapter.write(&b, last, drawings)
	}
	return b.String()
}

// chapter is a part of RESULTS.md that shows a section.
type chapter struct {
	section     section
	title, text string
	charts      []string
	body        string
}

func (r *results) chapters() []chapter {
	return []chapter{
		{&r.pair, "Pair", pairText, []string{"pair"}, r.pairTables()},
		{&r.ceiling, "Ceiling", ceilingText, []string{"ceiling"}, r.ceilingTable()},
		{&r.kinds, "Kinds", kindsText, []string{"kinds"}, r.kindsTables()},
		{&r.hot, "Hot", hotText, []string{"hot"}, r.hotTables()},
		{&r.wake, "Wake", wakeText, []string{"wake"}, r.wakeTable()},
		{&r.latency, "Latency", aloneText, []string{"alone"}, r.aloneTable()},
		{&r.latency, "Latency under a steady load", steadyText, []string{"steady"}, r.steadyTable()},
		{&r.gateway, "Gateway", gatewayText, []string{"gateway"}, r.gatewayTable()},
		{&r.hold, "Hold", holdText, []string{"hold-heap", "hold-cores", "growth"}, r.holdTables()},
		{&r.scale, "Scale", scaleText, []string{"scale"}, r.scaleTable()},
		{&r.sizing, "Sizing", sizingText, nil, r.sizingTables()},
		{&r.flood, "Flood", floodText, []string{"flood-one", "flood-own"}, r.floodTables()},
		{&r.planted, "Planted", plantedText, nil, r.plantedTable()},
		{&r.before, "Before", beforeText, nil, r.beforeTable()},
	}
}

// write writes a chapter, unless its section was not measured.
func (c chapter) write(b *strings.Builder, report *measurement, drawings map[string]*barChart) {
	w := c.section.circumstances()
	if w == nil || c.body == "" {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s\n\n", c.title, w.line(c.section.title(), report), c.text)
	for _, chart := range c.charts {
		if g := drawings[chart]; len(g.names) > 0 {
			fmt.Fprintf(b, "![%s](charts/%s.svg)\n\n", g.title, chart)
		}
	}
	b.WriteString(c.body)
}

// line returns when a section was measured and how to measure it again, and where, if not on the machine of the report.
func (w *measurement) line(section string, report *measurement) string {
	text := fmt.Sprintf("Measured %s in %v, lockwheel %s, by `go run ./report -set %s -only %s`", w.Began.UTC().Format("2006-01-02 15:04 MST"),
		w.Took.Round(time.Second), w.Machine.Versions[peers.Lockwheel.Module], w.Set, strings.ToLower(section))
	if plan, known := plans[w.Set]; known && w.Rounds > 0 && w.Rounds != plan.Rounds {
		text = strings.TrimSuffix(text, "`") + fmt.Sprintf(" -runs %d`", w.Rounds)
	}
	if w.Link > 0 {
		text = strings.TrimSuffix(text, "`") + fmt.Sprintf(" -link %v`", w.Link)
	}
	if w.Load != "" {
		text += ", beside a load average of " + w.Load
	}
	if differs := w.Machine.differences(report.Machine); differs != "" {
		text += "; other than above: " + differs
	}
	return text + "."
}

// settingChapter returns the machine of the section that was measured last, and the settings of the contestants.
func (r *results) settingChapter(last *measurement) string {
	t, settings := newTable("", ""), newTable("contestant", "version", "settings")
	t.prose, settings.prose = true, true
	t.row("machine", last.Machine.CPU+"; the server runs on it, too, unless `-redis` is set")
	t.row("system", last.Machine.System)
	t.row("server", last.Machine.Server)
	for _, kind := range append(peers.All(), peers.Redisson) {
		settings.row(kind.Name, last.Machine.Versions[kind.Module], kind.Settings)
	}
	return "\n## Setting\n\n" + t.String() + "\nContestants take turns, A B C A B C …; figures are medians of the rounds, and ratios are of medians, except the goals'. Quantiles of one caller, of " +
		"Wake and of a steady load are of all rounds together; Hold, Scale and a steady load have whole runs in place of rounds; Flood, and ten million locks, run once. " +
		"min..max is the smallest and the largest figure of the rounds or runs, and a dash if there was one. A lease is " +
		"30 s unless stated otherwise. Sections can be of different runs: each says when, at which version, and with which set it was measured.\n\n" + settings.String() + peerIssuesText
}

func (r *results) pairTables() string {
	var b strings.Builder
	for _, p := range r.pair.Figures {
		fmt.Fprintf(&b, "%s\n%s\n", goroutines(p.Goroutines), resultsTable(p.Standings))
	}
	return b.String()
}

func goroutines(n int) string {
	if n == 1 {
		return "**1 goroutine**\n"
	}
	return fmt.Sprintf("**%s goroutines**\n", count(float64(n)))
}

func resultsTable(entries []bench.Result) string {
	t := newTable("", "pairs/s", minMax(roundsOf(entries)), "ns/pair", "client CPU µs", "server CPU µs", "B", "allocs", "sleeps", "ours is")
	for i := range entries {
		s := &entries[i]
		if s.Failure != "" {
			t.failed(s.Name, s.Failure)
			continue
		}
		t.row(s.Name, count(s.PairsPerSecond()), rangeOf(&s.Series), count(s.NsPerPair()), micros(s.ClientCPU()), micros(s.ServerCPU()),
			count(s.BytesPerPair()), counted(s.AllocsPerPair()), counted(s.SleepsPerPair()), ratio(entries[0].PairsPerSecond(), s.PairsPerSecond()))
	}
	return t.String()
}

// counted returns a dash for what is not counted of a contestant.
func counted(n float64) string {
	if n > 0 {
		return decimals(n)
	}
	return "–"
}

func (r *results) hotTables() string {
	var b strings.Builder
	for _, h := range r.hot.Figures {
		who := "one client"
		if h.Clients == 2 {
			who = "two clients compete"
		}
		fmt.Fprintf(&b, "**%d goroutines, %s**\n\n%s\n", h.Goroutines, who, hotTable(h))
	}
	return b.String()
}

func hotTable(h hotRun) string {
	t := newTable("", "pairs/s", minMax(contendedRounds(h)), "client CPU µs", "server CPU µs", "B", "allocs", "fewest", "most", "shares", "longest wait ms", "stalled", "overlaps", "ours is")
	for i := range h.Fights {
		f := &h.Fights[i]
		if f.Failure != "" {
			t.failed(f.Name, f.Failure)
			continue
		}
		shares := "–"
		if h.Clients == 2 {
			shares = fmt.Sprintf("%.0f : %.0f", 100*f.Shares[0], 100*f.Shares[1])
		}
		t.row(f.Name, count(f.PairsPerSecond()), rangeOf(&f.Series), micros(f.ClientCPU()), micros(f.ServerCPU()), count(f.BytesPerPair()), counted(f.AllocsPerPair()),
			fmt.Sprint(f.Fewest), fmt.Sprint(f.Most), shares, millis(f.MedianLongest)+", "+millis(f.LongestWait),
			fmt.Sprintf("%d of %d", f.Stalled, len(f.Samples)), fmt.Sprint(f.Overlaps),
			ratio(h.Fights[0].PairsPerSecond(), f.PairsPerSecond()))
	}
	return t.String()
}

func (r *results) wakeTable() string {
	ping := handoverOf(r.wake.Figures, bench.PingRueidis)
	turns := 0
	for _, w := range r.wake.Figures {
		turns = max(turns, len(w.Turns))
	}
	t := newTable("", "p50 µs", minMax(turns), "p99 µs", "min..max", "p50 in round trips")
	for _, w := range r.wake.Figures {
		if w.Failure != "" {
			t.failed(w.Name, w.Failure)
			continue
		}
		trips := "–"
		if ping != nil {
			trips = times(&w.Took, &ping.Took, 0.5)
		}
		t.row(w.Name, micros(w.Took.Quantile(0.5)), quantileRange(w.Turns, medianOf), micros(w.Took.Quantile(0.99)), quantileRange(w.Turns, p99Of), trips)
	}
	return t.String()
}

// times returns the ratio of two histograms at a quantile.
func times(a, b *measure.Histogram, q float64) string {
	return ratio(float64(a.Quantile(q)), float64(b.Quantile(q)))
}

func (r *results) aloneTable() string {
	turns := 0
	for _, a := range r.latency.Figures.Alone {
		turns = max(turns, len(a.Locks))
	}
	t := newTable("", "lock p50 µs", minMax(turns), "p99", "min..max", "p99.9", "unlock p50 µs", "p99", "p99.9", "p50 to a script call", "p99", "p50 to a PING", "p99")
	call, ping := r.singleCallerOf(bench.DirectEnding), r.singleCallerOf(bench.PingEnding)
	for _, a := range r.latency.Figures.Alone {
		if a.Failure != "" {
			t.failed(a.Name, a.Failure)
			continue
		}
		p50, p99, trips, p99Trips := "–", "–", "–", "–"
		if call != nil {
			p50, p99 = times(&a.Lock, &call.Lock, 0.5), times(&a.Lock, &call.Lock, 0.99)
		}
		if ping != nil {
			trips, p99Trips = times(&a.Lock, &ping.Lock, 0.5), times(&a.Lock, &ping.Lock, 0.99)
		}
		t.row(a.Name, micros(a.Lock.Quantile(0.5)), quantileRange(a.Locks, medianOf), micros(a.Lock.Quantile(0.99)), quantileRange(a.Locks, p99Of), micros(a.Lock.Quantile(0.999)),
			micros(a.Unlock.Quantile(0.5)), micros(a.Unlock.Quantile(0.99)), micros(a.Unlock.Quantile(0.999)), p50, p99, trips, p99Trips)
	}
	return t.String()
}

func (r *results) steadyTable() string {
	if len(r.latency.Figures.Loads) == 0 {
		return ""
	}
	turns := 0
	for _, l := range r.latency.Figures.Loads {
		turns = max(turns, len(l.Runs))
	}
	t := newTable("", "held", "called p50 µs", minMax(turns), "p99", "min..max", "p99.9", "from due p50 µs", "p99", "p99.9", "called p99 to none held")
	for _, l := range r.latency.Figures.Loads {
		if l.Failure != "" {
			t.failed(l.Name, l.Failure)
			continue
		}
		beside := "–"
		if none := r.loadOf(l.Name, 0); none != nil && l.Held > 0 {
			beside = times(&l.Called, &none.Called, 0.99)
		}
		var called []measure.Quantiles
		for _, run := range l.Runs {
			called = append(called, run.Called)
		}
		t.row(l.Name, count(float64(l.Held)), micros(l.Called.Quantile(0.5)), quantileRange(called, medianOf), micros(l.Called.Quantile(0.99)), quantileRange(called, p99Of), micros(l.Called.Quantile(0.999)),
			micros(l.FromDue.Quantile(0.5)), micros(l.FromDue.Quantile(0.99)), micros(l.FromDue.Quantile(0.999)), beside)
	}
	return t.String()
}

// holdTables returns the cost of holding locks, and the throughput meanwhile.
func (r *results) holdTables() string {
	t := newTable("", "locks", "lease", "heap B a lock", "goroutines a lock", "client cores", "server cores", "renewals/s", "client µs a renewal", "server µs", "server alone µs", "p99 late ms", "latest ms", "lost", "acquired in s")
	growth := newTable("", "locks held", "pairs/s beside them", "slowest second", "with none held", "beside to none")
	for i := range r.hold.Figures {
		k := &r.hold.Figures[i]
		if k.Failure != "" {
			t.failed(fmt.Sprintf("%s, %s locks", k.Name, count(float64(k.Keep.Locks))), k.Failure)
			continue
		}
		in := func(figure func(*bench.HoldResult) float64, write func(float64) string) string {
			return holdRange(k, figure, write)
		}
		t.row(k.Name, count(float64(k.Keep.Locks)), k.Keep.Lease.String(), heapCell(k)+in(func(k *bench.HoldResult) float64 { return k.Heap }, count),
			decimals(k.Goroutines), decimals(k.Client)+in(func(k *bench.HoldResult) float64 { return k.Client }, decimals),
			decimals(k.Server)+in(func(k *bench.HoldResult) float64 { return k.Server }, decimals), count(k.Renewals), renewalCell(k.ClientRenewal())+in((*bench.HoldResult).ClientRenewal, renewalCell),
			renewalCell(k.ServerRenewal())+in((*bench.HoldResult).ServerRenewal, renewalCell), limitCell(k)+in(func(k *bench.HoldResult) float64 { return k.Limit.Seconds() }, renewalCell),
			lateCell(k.Late)+in(func(k *bench.HoldResult) float64 { return float64(k.Late) }, func(x float64) string { return lateCell(time.Duration(x)) }), lateCell(k.Latest), count(float64(k.Lost)), decimals(k.Taken.Seconds()))
		switch {
		case k.Stuck != "":
			growth.failed(fmt.Sprintf("%s, %s locks", k.Name, count(float64(k.Keep.Locks))), k.Stuck)
		case k.During > 0:
			growth.row(k.Name, count(float64(k.Keep.Locks)), count(k.During)+in(func(k *bench.HoldResult) float64 { return k.During }, count),
				slowestCell(k)+in(func(k *bench.HoldResult) float64 { return k.Slowest }, count), count(k.Baseline())+in((*bench.HoldResult).Baseline, count), ratio(k.During, k.Baseline()))
		}
	}
	return t.String() + "\n" + r.growthCaption() + "\n\n" + growth.String()
}

// growthCaption says how the throughput beside held locks was measured.
func (r *results) growthCaption() string {
	if slices.ContainsFunc(r.hold.Figures, func(k bench.HoldResult) bool { return k.Slowest > 0 }) {
		return growthText + slowestText
	}
	return growthText + crestText
}

// heapCell returns a dash with its reason where the heap varies by itself as much as the locks change it.
func heapCell(k *bench.HoldResult) string {
	switch {
	case k.HeapNoise == 0:
		return count(k.Heap)
	case k.Heap <= k.HeapNoise:
		return fmt.Sprintf("– (the heap differs by %s a lock by itself)", count(k.HeapNoise))
	}
	return fmt.Sprintf("%s ± %s", count(k.Heap), count(k.HeapNoise))
}

// renewalCell returns microseconds, and a dash for a figure that is not a number.
func renewalCell(seconds float64) string {
	if math.IsNaN(seconds) {
		return "–"
	}
	return decimals(seconds * 1e6)
}

// limitCell returns a dash where the limit was not measured.
func limitCell(k *bench.HoldResult) string {
	if k.Limit == 0 {
		return "–"
	}
	return micros(k.Limit)
}

// slowestCell returns a dash for figures that were measured before it was.
func slowestCell(k *bench.HoldResult) string {
	if k.Slowest == 0 {
		return "–"
	}
	return count(k.Slowest)
}

// lateCell returns a dash for a figure that a contestant does not report.
func lateCell(d time.Duration) string {
	if d < 0 {
		return "–"
	}
	return millis(d)
}
