package main

import (
	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// pairsOf returns the standings with this many goroutines, nil if they were not measured.
func (r *results) pairsOf(goroutines int) []bench.Standing {
	for _, p := range r.pair.Figures {
		if p.Goroutines == goroutines {
			return p.Standings
		}
	}
	return nil
}

// sound returns the standing of a contestant that did not fail, nil if there is none.
func sound(standings []bench.Standing, name string) *bench.Standing {
	if s := bench.Find(standings, name); s != nil && s.Failure == "" {
		return s
	}
	return nil
}

// speeds returns the ratio of a's to b's pairs per second.
func speeds(standings []bench.Standing, a, b string) float64 {
	one, other := sound(standings, a), sound(standings, b)
	if one == nil || other == nil || other.PairsPerSecond() == 0 {
		return unknown
	}
	return one.PairsPerSecond() / other.PairsPerSecond()
}

func (r *results) fightsOf(clients, goroutines int) []bench.Fight {
	for _, h := range r.hot.Figures {
		if h.Clients == clients && h.Goroutines == goroutines {
			return h.Fights
		}
	}
	return nil
}

func fightOf(fights []bench.Fight, name string) *bench.Fight {
	for i := range fights {
		if fights[i].Name == name && fights[i].Failure == "" {
			return &fights[i]
		}
	}
	return nil
}

// bestPeer returns the fastest of the other contestants, nil if there is none.
func bestPeer(fights []bench.Fight) (best *bench.Fight) {
	for i := range fights {
		f := &fights[i]
		if f.Name == peers.Lockwheel.Name || f.Failure != "" {
			continue
		}
		if best == nil || f.PairsPerSecond() > best.PairsPerSecond() {
			best = f
		}
	}
	return best
}

func toBestPeer(fights []bench.Fight) float64 {
	ours, best := fightOf(fights, peers.Lockwheel.Name), bestPeer(fights)
	if ours == nil || best == nil || best.PairsPerSecond() == 0 {
		return unknown
	}
	return ours.PairsPerSecond() / best.PairsPerSecond()
}

func wakingOf(wakings []*bench.Waking, name string) *bench.Waking {
	for _, w := range wakings {
		if w.Name == name && w.Failure == "" {
			return w
		}
	}
	return nil
}

func (r *results) aloneOf(name string) *bench.Alone {
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

func (r *results) keepingOf(name string, locks int) *bench.Keeping {
	for i := range r.hold.Figures {
		k := &r.hold.Figures[i]
		if k.Name == name && k.Keep.Locks == locks && k.Failure == "" {
			return k
		}
	}
	return nil
}

// mostHeld returns lockwheel's result with the most locks, nil if none was measured.
func (r *results) mostHeld() (most *bench.Keeping) {
	for _, k := range r.hold.Figures {
		if found := r.keepingOf(peers.Lockwheel.Name, k.Keep.Locks); found != nil && (most == nil || found.Keep.Locks > most.Keep.Locks) {
			most = found
		}
	}
	return most
}
