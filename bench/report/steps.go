package main

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

// results is what was measured so far. A part that was not measured is empty and is not shown.
type results struct {
	set     string
	began   time.Time
	took    time.Duration
	machine machine

	pairs    []pairs
	hots     []hots
	ceilings bench.Ceilings
	alone    []*bench.Alone
	wakings  []*bench.Waking
	loads    []*bench.Load
	keepings []bench.Keeping
}

type pairs struct {
	goroutines int
	standings  []bench.Standing
}

type hots struct {
	clients, goroutines int
	fights              []bench.Fight
}

// step is one comparison.
type step struct {
	name   string // of the benchmark
	detail string
	run    func() error
}

func (s step) what() string { return fmt.Sprintf("%s %s", s.name, s.detail) }

// steps are all comparisons of a plan, in the order in which they are run.
func (r *results) steps(s *bench.Server, p bench.Plan) (steps []step) {
	add := func(name string, run func() error, detail string, args ...any) {
		steps = append(steps, step{name, fmt.Sprintf(detail, args...), run})
	}
	for _, n := range p.Goroutines {
		add("Pair", func() error {
			standings, err := bench.Pair(s, p, n)
			r.pairs = append(r.pairs, pairs{n, standings})
			return err
		}, "%d goroutines", n)
	}
	add("Ceiling", func() (err error) { r.ceilings, err = bench.Ceiling(s, p); return err }, "2048 goroutines and the server alone")
	for _, clients := range []int{1, 2} {
		for _, n := range p.Fighters {
			add("Hot", func() error {
				fights, err := bench.Hot(s, p, n, clients)
				r.hots = append(r.hots, hots{clients, n, fights})
				return err
			}, "%d goroutines of each of %d clients", n, clients)
		}
	}
	add("Wake", func() (err error) { r.wakings, err = bench.Wake(s, p); return err }, "from one client to another")
	add("Latency", func() (err error) { r.alone, err = bench.OneCaller(s, p); return err }, "one caller")
	add("Latency", func() (err error) { r.loads, err = bench.Steady(s, p); return err },
		"1 000 pairs a second, beside none and %d held", p.Beside.Locks)
	for _, keep := range p.Keep {
		add("Hold", func() error {
			keepings, err := bench.Hold(s, p, keep)
			r.keepings = append(r.keepings, keepings...)
			return err
		}, "%d locks for three leases of %v", keep.Locks, keep.Lease)
	}
	return steps
}
