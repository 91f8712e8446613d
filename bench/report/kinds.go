package main

import (
	"fmt"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// This file has how the kinds of lock are measured, shown and judged.

const kindsText = "The kinds of lock of lockwheel, on one engine, in turn: names of their own, 2 048 goroutines. A Mutex is not re-entered without an owner " +
	"in the context, so it is Redisson's non-reentrant lock, too. Redisson's own kinds have their turns in the same rounds, with names of the same length; " +
	"its counterpart of Multi is its MultiLock. To lock ten names and unlock them counts as one pair. In the table of ten names one caller does so. A quorum is a majority of three " +
	"servers, which are started for it and for redsync's; its server CPU is that of all three."

func kindsSteps(into *bench.KindsOfLock, s *bench.Server, p bench.Plan) []step {
	return []step{{"2048 goroutines, with Redisson's kinds; ten names as one and in turn; a quorum of three", bench.Estimate{Plan: p}.Kinds(), func() (err error) {
		*into, err = bench.Kinds(s, p)
		return err
	}}}
}

// toRedisson returns the ratio of pairs per second to those of Redisson's same kind.
func (r *results) toRedisson(kind string) float64 {
	ours, theirs := successOf(r.kinds.Figures.Alike, kind), successOf(r.kinds.Figures.Redisson, kind)
	if ours == nil || theirs == nil || theirs.PairsPerSecond() == 0 {
		return unknown
	}
	return ours.PairsPerSecond() / theirs.PairsPerSecond()
}

// roundsToRedisson returns the same ratio in each round.
func (r *results) roundsToRedisson(kind string) []float64 {
	return ratios(speedsOf(successOf(r.kinds.Figures.Alike, kind)), speedsOf(successOf(r.kinds.Figures.Redisson, kind)))
}

func (r *results) kindsGoals() (goals []goal) {
	k := r.kinds.Figures
	for _, kind := range []struct {
		name  string
		least float64
	}{{bench.KindFenced, 0.7}, {bench.KindRead, 0.4}, {bench.KindFair, 0.4}} {
		goals = append(goals, goal{"Kinds", kind.name + ": pairs/s to Mutex", speedRatios(k.Alike, kind.name, bench.KindPlain), true, kind.least, " ×"})
	}
	goals = append(goals, goal{"Kinds", "ten names as one, to one after the other", speedRatios(k.Ten, bench.TenAsOne, bench.TenSequential), true, 5, " ×"})
	for _, kind := range []string{bench.KindFenced, bench.KindFair, bench.KindWrite, bench.KindRead, bench.KindMulti} {
		goals = append(goals, goal{"Kinds", kind + ": pairs/s to Redisson's", r.roundsToRedisson(kind), true, 3, " ×"})
	}
	return append(goals, goal{"Kinds", "Quorum of three: pairs/s to redsync's", speedRatios(k.Quorum, peers.Lockwheel.Name, peers.Redsync.Name), true, 2, " ×"})
}

// kindsTables returns the kinds compared with each other and with those of the peers, and ten names in both ways.
func (r *results) kindsTables() string {
	k := &r.kinds.Figures
	text := kindsTable(k.Alike, bench.KindPlain, "to Mutex") + "\n" + kindsTable(k.Ten, bench.TenSequential, "to one after the other")
	if len(k.Redisson) > 0 {
		text += "\n" + r.redissonTable()
	}
	if len(k.Quorum) > 0 {
		text += "\n**Quorum of three, 2 048 goroutines**\n\n" + resultsTable(k.Quorum)
	}
	return text
}

// redissonTable returns Redisson's kinds, each with how much faster lockwheel's same kind is.
func (r *results) redissonTable() string {
	theirs := r.kinds.Figures.Redisson
	t := newTable("Redisson's", "pairs/s", minMax(roundsOf(theirs)), "µs/pair", "client CPU µs", "server CPU µs", "B", "ours is")
	for i := range theirs {
		s := &theirs[i]
		if s.Failure != "" {
			t.failed(s.Name, s.Failure)
			continue
		}
		t.row(s.Name, count(s.PairsPerSecond()), rangeOf(&s.Series), decimals(s.NsPerPair()/1000), micros(s.ClientCPU()), micros(s.ServerCPU()),
			count(s.BytesPerPair()), timesOrDash(r.toRedisson(s.Name)))
	}
	return t.String()
}

func kindsTable(entries []bench.Result, base, ratioTo string) string {
	t := newTable("", "pairs/s", minMax(roundsOf(entries)), "µs/pair", "client CPU µs", "server CPU µs", "B", "allocs", ratioTo)
	for i := range entries {
		s := &entries[i]
		if s.Failure != "" {
			t.failed(s.Name, s.Failure)
			continue
		}
		to := "–"
		if b := successOf(entries, base); b != nil {
			to = ratio(s.PairsPerSecond(), b.PairsPerSecond())
		}
		t.row(s.Name, count(s.PairsPerSecond()), rangeOf(&s.Series), decimals(s.NsPerPair()/1000), micros(s.ClientCPU()), micros(s.ServerCPU()), count(s.BytesPerPair()), counted(s.AllocsPerPair()), to)
	}
	return t.String()
}

func (r *results) kindsChart() *barChart {
	g := &barChart{title: "Kinds of lock: names of their own, 2 048 goroutines", unit: "pairs a second", linear: true}
	k := &r.kinds.Figures
	for i := range k.Alike {
		g.labels = append(g.labels, k.Alike[i].Name)
	}
	if len(k.Quorum) > 0 {
		g.labels = append(g.labels, "Quorum of three")
	}
	for i := range k.Alike {
		g.putKind(peers.Lockwheel.Name, i, &k.Alike[i])
		if i < len(k.Redisson) {
			g.putKind(peers.Redisson.Name, i, &k.Redisson[i])
		}
	}
	for i := range k.Quorum {
		g.putKind(k.Quorum[i].Name, len(k.Alike), &k.Quorum[i])
	}
	return g
}

// putKind sets the throughput of a contestant that did not fail.
func (g *barChart) putKind(name string, group int, s *bench.Result) {
	if s.Failure == "" {
		g.put(name, group, s.PairsPerSecond())
	}
}

// kindsBesidePeers adds the rows that compare kinds with those of peers.
func (r *results) kindsBesidePeers(t *table) {
	var kinds []string
	for _, name := range []string{bench.KindFenced, bench.KindFair, bench.KindWrite, bench.KindRead, bench.KindMulti} {
		if x := timesOrDash(r.toRedisson(name)); x != "–" {
			kinds = append(kinds, name+" "+x)
		}
	}
	if len(kinds) > 0 {
		t.section("pairs a second of other kinds, to Redisson's same kind", strings.Join(kinds, "; "), "Kinds")
	}
	if q := r.kinds.Figures.Quorum; successOf(q, peers.Lockwheel.Name) != nil && successOf(q, peers.Redsync.Name) != nil {
		t.section("a quorum of three servers, 2 048 goroutines: pairs a second", fmt.Sprintf("%s; redsync %s",
			count(successOf(q, peers.Lockwheel.Name).PairsPerSecond()), count(successOf(q, peers.Redsync.Name).PairsPerSecond())), "Kinds")
	}
}
