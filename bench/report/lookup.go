package main

import (
	"github.com/lockwheel/lockwheel/bench"
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
