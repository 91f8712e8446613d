package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// Pair locks and unlocks names of their own from this many goroutines, with every contestant.
func Pair(s *Server, p Plan, goroutines int) ([]Result, error) {
	var entries []entry
	for _, kind := range peers.All() {
		if kind.Name == peers.RueidislockNoLoop.Name {
			continue // without contention it is the same as the other
		}
		contestant, err := kind.Open(peers.Config{Addr: s.Addr, Callers: goroutines})
		if err != nil {
			return nil, err
		}
		defer closeWithTimeout(contestant)
		entries = append(entries, ownNames(kind.Name, contestant, goroutines, p.Round))
	}
	redisson := openRedissonRunner(peers.Config{Addr: s.Addr}, 1, p)
	defer redisson.close()
	entries = append(entries, redisson.pair(goroutines, p.Round))
	return runInterleaved(s, p.Rounds, entries)
}

// ownNames returns the entry of a contestant with a name for each goroutine.
func ownNames(what string, c peers.Contestant, goroutines int, d time.Duration) entry {
	workers := make([]peers.Worker, goroutines)
	for i := range workers {
		workers[i] = c.Worker(nameOf(i), i)
	}
	return workerEntry(what, workers, d)
}

// workerEntry returns workers without contention.
func workerEntry(what string, workers []peers.Worker, d time.Duration) entry {
	var group *workerGroup
	return entry{name: what, prepare: func() {
		// A lone goroutine is compared as a request would call: see OneCaller for both ways.
		group = &workerGroup{workers: workers, cancelable: len(workers) == 1, longLine: true, warmUp: true}
		group.prepare()
	}, run: func() (int, time.Duration, error) { return group.run(d) }}
}

// nameOf returns the same name for all contestants, which work one after the other and leave nothing behind.
func nameOf(i int) string { return fmt.Sprintf("lockwheel-bench-%d", i) }
