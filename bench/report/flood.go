package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
)

// This file has how the effect of a flood of waiters on an unrelated lock is measured, shown and judged.

const floodText = "The waiters of one client wait for locks that another holder has: all for one name, or each for a name of its own. The same client has 2 000 watched " +
	"holds with a lease of 3 s. Figures are those of the worst phase of the flood unless a phase is named.\n\n" +
	"- unrelated: the client locks and unlocks a name without contention, a pair every 5 ms whether earlier ones are done or not. The time is from when the pair was due to the unlock's reply; a pair that fails counts with how long that took.\n" +
	"- PING: a bare one, on a plain connection of the measuring process, also every 5 ms. It shows the part of the server and of the processors.\n" +
	"- turns: of lockwheel's loop, 99.9 % of them and the longest, as bounds of `Stats.TurnTimes`.\n\n" +
	"The phases:\n\n" +
	"- before: without the flood\n" +
	"- posting: until all have called\n" +
	"- subscribing: until each waiter knows that its lock is held and its channel has a subscriber (rueidislock has no channels: until all have asked)\n" +
	"- waiting\n" +
	"- messages: 1 000 a second on the channel of the one name, or of one name after the other (rueidislock: the key is written)\n" +
	"- cancel: of the one context of all, until each has its result\n" +
	"- leaving: until no channel has a subscriber\n" +
	"- granting, holding, releasing: of readers of one name, or of the names of one Multi, which count among the holds that can be lost. " +
	"Releases that do not block may end without a reply within CallTimeout; the engine goes on with them\n\n" +
	"If a phase of a peer does not end in time, its flood ends and its larger floods are left out, except in the last phase. " +
	"Redisson may subscribe to as many channels as there are names (its default is 250)."

func floodSteps(into *[]*bench.FloodResult, s *bench.Server, p bench.Plan) (steps []step) {
	for _, c := range p.Floods {
		what := "waiters for one name"
		switch {
		case c.Own:
			what = "waiters for names of their own"
		case len(c.Granted) > 0:
			what = "readers of one name, and one Multi of many names"
		}
		steps = append(steps, step{what, bench.Estimate{Plan: p}.Flood(c), func() error {
			floods, err := bench.Flood(s, p, c)
			*into = append(*into, floods...)
			return err
		}})
	}
	return steps
}

func namesLabel(own bool) string {
	if own {
		return "names of their own"
	}
	return "one name"
}

func floodTitle(f *bench.FloodResult) string {
	if f.Holds() {
		return fmt.Sprintf("%s, %s", f.Name, count(float64(f.Waiters)))
	}
	return fmt.Sprintf("%s, %s waiters, %s", f.Name, count(float64(f.Waiters)), namesLabel(f.Own))
}

func probeQuantile(q float64) func(*bench.Phase) time.Duration {
	return func(p *bench.Phase) time.Duration { return p.Probe.Quantile(q) }
}

// floodTables returns a row for each flood, and below a table of the phases of each.
func (r *results) floodTables() string {
	t := newTable("", "names", "waiters or holds", "unrelated p99 ms", "longest ms", "failed", "PING p99 ms", "longest ms", "99.9 % of turns ms", "all left in s", "holds lost", "goroutines at once", "memory MB: before, most, after", "not done")
	var b strings.Builder
	for _, f := range r.flood.Figures {
		if len(f.Phases) == 0 {
			t.failed(floodTitle(f), f.Failure)
			continue
		}
		own := "1"
		if f.Own || f.Name == bench.FloodParts {
			own = count(float64(f.Waiters))
		}
		goroutines, most := peaks(f)
		t.row(f.Name, own, count(float64(f.Waiters)), millis(f.Worst(probeQuantile(0.99))), millis(f.Worst(probeQuantile(1))), count(float64(f.FailedProbes())),
			millis(f.Worst(func(p *bench.Phase) time.Duration { return p.Ping.Quantile(0.99) })), millis(f.Worst(func(p *bench.Phase) time.Duration { return p.Ping.Max() })),
			turnCell(f.Worst(func(p *bench.Phase) time.Duration { return p.Turns })), seconds(leaveTime(f)), lostOf(f), count(float64(goroutines)),
			megabytes(f.Before.RSS)+", "+megabytes(most)+", "+megabytes(f.After.RSS), oneLine(f.Failure))
		fmt.Fprintf(&b, "\n**%s**\n\n%s", floodTitle(f), phasesTable(f))
	}
	return t.String() + b.String()
}

func phasesTable(f *bench.FloodResult) string {
	t := newTable("", "took s", "unrelated p50 ms", "p99", "p99.9", "longest", "failed", "PING p50 ms", "p99", "p99.9", "longest", "99.9 % of turns ms", "longest turn ms", "client cores", "server cores", "goroutines", "memory MB")
	for _, p := range f.Phases {
		cells := append([]string{p.Name, decimals(p.Took.Seconds())}, quantilesOf(&p.Probe)...)
		cells = append(cells, count(float64(p.Refused)))
		cells = append(cells, quantilesOf(&p.Ping)...)
		t.row(append(cells, turnCell(p.Turns), turnCell(p.LongestTurn), cores(p.Client), cores(p.Server), count(float64(p.End.Goroutines)), megabytes(p.End.RSS))...)
	}
	return t.String()
}

// quantilesOf returns dashes where nothing was recorded, as in a phase that ends at once.
func quantilesOf(h *measure.Histogram) (cells []string) {
	for _, q := range []float64{0.5, 0.99, 0.999, 1} {
		cell := "–"
		if h.Count() > 0 {
			cell = millis(h.Quantile(q))
		}
		cells = append(cells, cell)
	}
	return cells
}

// cores returns a dash for a phase that was too short to measure.
func cores(n float64) string {
	if n == 0 {
		return "–"
	}
	return decimals(n)
}

// turnCell returns the upper bound of the duration of turns.
func turnCell(d time.Duration) string {
	switch d {
	case 0:
		return "–"
	case math.MaxInt64:
		return "> 1 000"
	}
	return "≤ " + millis(d)
}

func peaks(f *bench.FloodResult) (goroutines int, memory int64) {
	for _, p := range f.Phases {
		goroutines, memory = max(goroutines, p.End.Goroutines), max(memory, p.End.RSS)
	}
	return goroutines, memory
}

// leaveTime returns the time from the cancel to the last channel; negative if that was not reached.
func leaveTime(f *bench.FloodResult) time.Duration {
	n := len(f.Phases)
	if f.Failure != "" || n < 2 || f.LastPhase() != bench.FloodLeaving {
		return -1
	}
	return f.Phases[n-2].Took + f.Phases[n-1].Took
}

func seconds(d time.Duration) string {
	if d < 0 {
		return "–"
	}
	return decimals(d.Seconds())
}

func lostOf(f *bench.FloodResult) string {
	if f.Lost < 0 {
		return "–"
	}
	return fmt.Sprintf("%s of %s", count(float64(f.Lost)), count(float64(f.Held)))
}

func megabytes(bytes int64) string { return count(float64(bytes) / 1e6) }

// floodOf returns a flood that went through all phases; nil if there is none.
func (r *results) floodOf(name string, own bool, waiters int) *bench.FloodResult {
	for _, f := range r.flood.Figures {
		if f.Name == name && f.Own == own && f.Waiters == waiters && f.Failure == "" {
			return f
		}
	}
	return nil
}

func (r *results) floodGoals() (goals []goal) {
	for _, own := range []bool{false, true} {
		f := r.floodOf(bench.FloodAsync, own, 1_000_000)
		waiting := "1 000 000 waiters, " + namesLabel(own) + ": "
		goals = append(goals, besideFlood(f, waiting)...)
		left, more, memory := unknown, unknown, unknown
		if f != nil {
			left = leaveTime(f).Seconds()
			more, memory = costOfCancel(f)
		}
		goals = append(goals, goal{"Flood", waiting + "from the cancel to the last channel", only(left), false, 20, " s"})
		if !own {
			goals = append(goals,
				goal{"Flood", waiting + "goroutines more when their context ends", only(more), false, 1000, ""},
				goal{"Flood", waiting + "memory of the process when their context ends, to before", only(memory), false, 1.3, " ×"})
		}
	}
	for _, c := range []struct {
		name string
		n    int
		what string
	}{
		{bench.FloodReaders, 100_000, "100 000 waiters to read one name: "},
		{bench.FloodGranted, 100_000, "100 000 readers of one name granted: "},
		{bench.FloodParts, 50_000, "a Multi of 50 000 names: "},
	} {
		goals = append(goals, besideFlood(r.floodOf(c.name, false, c.n), c.what)...)
	}
	return goals
}

// besideFlood returns the goals for what goes on beside a flood; f is nil if it was not measured.
func besideFlood(f *bench.FloodResult, what string) []goal {
	p99, longest, lost, turns := unknown, unknown, unknown, unknown
	if f != nil {
		p99, longest = inUnits(f.Worst(probeQuantile(0.99)), time.Millisecond), inUnits(f.Worst(probeQuantile(1)), time.Millisecond)
		lost, turns = float64(f.Lost), inUnits(f.Worst(func(p *bench.Phase) time.Duration { return p.Turns }), time.Millisecond)
	}
	return []goal{
		{"Flood", what + "p99 of an unrelated lock in the worst phase", only(p99), false, 20, " ms"},
		{"Flood", what + "longest of an unrelated lock", only(longest), false, 250, " ms"},
		{"Flood", what + "watched holds lost", only(lost), false, 0, ""},
		{"Flood", what + "turns, 99.9 % in the worst phase", only(turns), false, 10, " ms"},
	}
}

// costOfCancel returns how many goroutines the end of the waiters' context added, and how the memory grew.
func costOfCancel(f *bench.FloodResult) (goroutines, memory float64) {
	for i, p := range f.Phases {
		if p.Name == bench.FloodCanceling && i > 0 {
			before := f.Phases[i-1].End
			return float64(p.End.Goroutines - before.Goroutines), float64(p.End.RSS) / float64(before.RSS)
		}
	}
	return unknown, unknown
}

// largest returns the largest flood of a contestant that went far enough to be shown; nil if there is none.
func (r *results) largest(name string, own bool) (most *bench.FloodResult) {
	for _, f := range r.flood.Figures {
		if f.Name == name && f.Own == own && !f.Holds() && (f.Failure == "" || f.LastPhase() == bench.FloodLeaving) && (most == nil || f.Waiters > most.Waiters) {
			most = f
		}
	}
	return most
}

// floodChart returns the chart of an unrelated lock's p99 in each phase of the largest flood of each contestant.
func (r *results) floodChart(own bool) *barChart {
	g := &barChart{title: "An unrelated lock beside a flood of waiters, " + namesLabel(own) + ": p99", unit: "ms"}
	var shown []string
	for _, f := range r.flood.Figures {
		if most := r.largest(f.Name, own); most == f {
			shown = append(shown, f.Name)
		}
	}
	for _, name := range shown {
		f := r.largest(name, own)
		if len(g.labels) == 0 {
			for _, p := range f.Phases {
				g.labels = append(g.labels, p.Name)
			}
		}
		for i, p := range f.Phases {
			if p.Probe.Count() > 0 {
				g.put(fmt.Sprintf("%s, %s waiters", name, count(float64(f.Waiters))), i, inUnits(p.Probe.Quantile(0.99), time.Millisecond))
			}
		}
	}
	return g
}

func (r *results) floodLine(t *table) {
	for _, own := range []bool{false, true} {
		f := r.largest(bench.FloodAsync, own)
		if f == nil {
			continue
		}
		t.section(fmt.Sprintf("%s callers wait for locks of others, %s: an unrelated lock's p99 in the worst phase, its longest; watched holds lost; from their cancel to the last channel",
			count(float64(f.Waiters)), namesLabel(own)),
			fmt.Sprintf("%s ms, %s ms; %s; %s s", millis(f.Worst(probeQuantile(0.99))), millis(f.Worst(probeQuantile(1))), lostOf(f), seconds(leaveTime(f))), "Flood")
	}
}
