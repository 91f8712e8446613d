package main

import (
	"math"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// pairsOf returns the standings with this many goroutines, nil if they were not measured.
func (r *results) pairsOf(goroutines int) []bench.Result {
	for _, p := range r.pair.Figures {
		if p.Goroutines == goroutines {
			return p.Standings
		}
	}
	return nil
}

// successOf returns the standing of a contestant that did not fail, nil if there is none.
func successOf(entries []bench.Result, name string) *bench.Result {
	if s := bench.Find(entries, name); s != nil && s.Failure == "" {
		return s
	}
	return nil
}

// speedRatio returns the ratio of a's to b's pairs per second.
func speedRatio(entries []bench.Result, a, b string) float64 {
	one, other := successOf(entries, a), successOf(entries, b)
	if one == nil || other == nil || other.PairsPerSecond() == 0 {
		return unknown
	}
	return one.PairsPerSecond() / other.PairsPerSecond()
}

// worstSpeedRatio returns the smallest ratio of a's to b's pairs per second in a round.
func worstSpeedRatio(entries []bench.Result, a, b string) float64 {
	return worstRatio(entries, a, b, math.Min, (*measure.Series).PairsPerSecond)
}

// worstRatio returns the worst ratio of a's to b's figure in a round, in which they took turns.
func worstRatio(entries []bench.Result, a, b string, worse func(x, y float64) float64, figure func(*measure.Series) float64) (worst float64) {
	one, other := successOf(entries, a), successOf(entries, b)
	if one == nil || other == nil || len(one.Samples) == 0 || len(one.Samples) != len(other.Samples) {
		return unknown
	}
	for i := range one.Samples {
		ours, theirs := one.Only(i), other.Only(i)
		if one.Samples[i].Pairs == 0 {
			return worse(0, math.Inf(1)) // nothing is worse
		}
		if other.Samples[i].Pairs == 0 {
			return unknown
		}
		ratio := figure(&ours) / figure(&theirs)
		if i == 0 {
			worst = ratio
		}
		worst = worse(worst, ratio)
	}
	return worst
}

// worstRatioToBest returns the smallest ratio of lockwheel's pairs per second in a round to those of the fastest other
// contestant of that round.
func worstRatioToBest(entries []bench.Result) float64 {
	worst := math.Inf(1)
	for i := range entries {
		if e := &entries[i]; e.Name != peers.Lockwheel.Name && e.Failure == "" {
			worst = min(worst, worstSpeedRatio(entries, peers.Lockwheel.Name, e.Name)) // unknown stays unknown
		}
	}
	if math.IsInf(worst, 1) {
		return unknown
	}
	return worst
}

// worstRun returns the worst figure of the runs of Hold.
func worstRun(k *bench.HoldResult, worse func(x, y float64) float64, figure func(*bench.HoldResult) float64) float64 {
	if k == nil {
		return unknown
	}
	if len(k.Runs) == 0 {
		return figure(k)
	}
	worst := figure(&k.Runs[0])
	for i := range k.Runs {
		worst = worse(worst, figure(&k.Runs[i]))
	}
	return worst
}

func (r *results) contendedOf(clients, goroutines int) []bench.ContendedResult {
	for _, h := range r.hot.Figures {
		if h.Clients == clients && h.Goroutines == goroutines {
			return h.Fights
		}
	}
	return nil
}

func contendedResultOf(contended []bench.ContendedResult, name string) *bench.ContendedResult {
	for i := range contended {
		if contended[i].Name == name && contended[i].Failure == "" {
			return &contended[i]
		}
	}
	return nil
}

// bestPeer returns the fastest of the other contestants, nil if there is none.
func bestPeer(contended []bench.ContendedResult) (best *bench.ContendedResult) {
	for i := range contended {
		f := &contended[i]
		if f.Name == peers.Lockwheel.Name || f.Failure != "" {
			continue
		}
		if best == nil || f.PairsPerSecond() > best.PairsPerSecond() {
			best = f
		}
	}
	return best
}

func ratioToBestPeer(contended []bench.ContendedResult) float64 {
	ours, best := contendedResultOf(contended, peers.Lockwheel.Name), bestPeer(contended)
	if ours == nil || best == nil || best.PairsPerSecond() == 0 {
		return unknown
	}
	return ours.PairsPerSecond() / best.PairsPerSecond()
}

func handoverOf(latencies []*bench.HandoverLatency, name string) *bench.HandoverLatency {
	for _, w := range latencies {
		if w.Name == name && w.Failure == "" {
			return w
		}
	}
	return nil
}

func (r *results) singleCallerOf(name string) *bench.SingleCaller {
	for _, a := range r.latency.Figures.Alone {
		if a.Name == name && a.Failure == "" {
			return a
		}
	}
	return nil
}

func (r *results) loadOf(name string, held int) *bench.Load {
	for _, l := range r.latency.Figures.Loads {
		if l.Name == name && l.Held == held && l.Failure == "" {
			return l
		}
	}
	return nil
}

func (r *results) holdResultOf(name string, locks int) *bench.HoldResult {
	for i := range r.hold.Figures {
		k := &r.hold.Figures[i]
		if k.Name == name && k.Keep.Locks == locks && k.Failure == "" {
			return k
		}
	}
	return nil
}

// largestHold returns lockwheel's result with the most locks, nil if none was measured.
func (r *results) largestHold() (most *bench.HoldResult) {
	for _, k := range r.hold.Figures {
		if found := r.holdResultOf(peers.Lockwheel.Name, k.Keep.Locks); found != nil && (most == nil || found.Keep.Locks > most.Keep.Locks) {
			most = found
		}
	}
	return most
}
