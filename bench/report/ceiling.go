package main

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

// This file has how the limit is measured and shown.

const ceilingText = "The limit: prebuilt calls over one plain TCP connection, by a client that only compares the bytes that come back. " +
	"Beside Pair they are pipelined, so that the server never waits: Pair's own calls, recorded and sent again with the same keys in the same order; " +
	"the same scripts, with names in turn; and scripts for single locks. One caller is beside a bare loop, which sends the same scripts for one name and waits for each reply. " +
	"Renewals are those of held locks, each renewed every second, beside the same calls sent back to back. What is compared took turns in the same rounds."

func ceilingSteps(into *bench.CeilingResult, s *bench.Server, p bench.Plan) []step {
	return []step{{"2048 goroutines, one caller and renewals, and the server alone", bench.Estimate{Plan: p}.Ceiling(), func() (err error) {
		*into, err = bench.Ceiling(s, p)
		return err
	}}}
}

func (r *results) ceilingTable() string {
	c := &r.ceiling.Figures
	text := resultsTable(c.Standings)
	if pair, batched := successOf(c.Standings, bench.CeilingPair), successOf(c.Standings, bench.CeilingBatched); pair != nil && batched != nil {
		text += fmt.Sprintf("\nPair reached %s of the server alone with batched scripts, which were sent %d keys a call; Pair's calls carried %.1f.\n",
			ratio(pair.PairsPerSecond(), batched.PairsPerSecond()), c.Sent, c.Keys)
	}
	if pair, replayed := successOf(c.Standings, bench.CeilingPair), successOf(c.Standings, bench.CeilingReplayed); pair != nil && replayed != nil {
		text += fmt.Sprintf("\nIt reached %s of the server alone with its own calls. A pair cost the server %s of the processor time that it needs for these.\n",
			ratio(pair.PairsPerSecond(), replayed.PairsPerSecond()), cpuRatio(pair, replayed))
	}
	if len(c.One) > 0 {
		text += "\n**One caller**\n\n" + resultsTable(c.One)
	}
	if len(c.Renew) > 0 {
		text += "\n**Renewals**\n\n" + renewalsTable(c.Renew)
	}
	return text
}

// cpuRatio returns the ratio of the server's processor time for one pair, or for one renewal.
func cpuRatio(a, b *bench.Result) string {
	return ratio(float64(a.ServerCPU()), float64(b.ServerCPU()))
}

// renewalsTable compares renewals with those of the server alone.
func renewalsTable(entries []bench.Result) string {
	t := newTable("", "renewals/s", minMax(roundsOf(entries)), "client CPU µs", "server CPU µs", "min..max", "server CPU to the server alone")
	alone := successOf(entries, bench.CeilingRenewed)
	for i := range entries {
		s := &entries[i]
		if s.Failure != "" {
			t.failed(s.Name, s.Failure)
			continue
		}
		to := "–"
		if alone != nil {
			to = cpuRatio(s, alone)
		}
		t.row(s.Name, count(s.PairsPerSecond()), rangeOf(&s.Series), micros(s.ClientCPU()), micros(s.ServerCPU()), serverRange(s), to)
	}
	return t.String()
}

// serverRange returns the spread of the server's processor time.
func serverRange(s *bench.Result) string {
	var all []float64
	for i := range s.Samples {
		one := s.Only(i)
		all = append(all, float64(one.ServerCPU()))
	}
	return spread(all, func(x float64) string { return micros(time.Duration(x)) })
}

func (r *results) ceilingChart() *barChart {
	return singleSeriesChart("Lock and unlock of 2 048 names, and what the server can do at all", r.ceiling.Figures.Standings)
}

// singleSeriesChart returns a chart of contestants side by side.
func singleSeriesChart(title string, entries []bench.Result) *barChart {
	g := &barChart{title: title, unit: "pairs a second", linear: true}
	for i := range entries {
		g.labels = append(g.labels, entries[i].Name)
	}
	for i := range entries {
		g.put("pairs a second", i, entries[i].PairsPerSecond())
	}
	return g
}
