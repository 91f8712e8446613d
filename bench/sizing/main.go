// Sizing says how many masters and engines hold a number of locks, by the cost model of docs/operate/sizing.md. Its
// constants are those that go run ./report has measured.
//
//	go run ./sizing -locks 1e7 -lease 5m -pairs 50000
//	go run ./sizing -table
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

func main() {
	log.SetFlags(0)
	var d demand
	var b budget
	locks := flag.Float64("locks", 1e6, "watched `locks` that are held at a time")
	flag.DurationVar(&d.lease, "lease", 30*time.Second, "Options.Lease; a lock is renewed every third of it")
	flag.Float64Var(&d.pairs, "pairs", 0, "`pairs` of Lock and Unlock a second")
	flag.Float64Var(&b.core, "core", 0.7, "the `part` of a core that a master, or the loop of an engine, may use")
	flag.Float64Var(&b.memory, "memory", 16e9, "`bytes` of a master")
	flag.Float64Var(&b.heap, "heap", 4e9, "`bytes` of the live heap of an engine")
	figures := flag.String("figures", "figures", "the `folder` with the figures of go run ./report")
	table := flag.Bool("table", false, "print the table of docs/operate/sizing.md: 10^6 to 10^9 locks")
	flag.Parse()
	m, err := readModel(*figures)
	if err != nil {
		log.Fatal(err)
	}
	d.locks = *locks
	if d.locks < 1 || d.lease <= 0 || d.pairs < 0 || b.core <= 0 || b.memory <= 0 || b.heap <= 0 {
		log.Fatal("sizing: -pairs must be 0 or more, and all other figures positive")
	}
	if *table {
		m.printTable(os.Stdout, b)
		return
	}
	m.print(os.Stdout, d, b)
}

// demand is what a service needs.
type demand struct {
	locks float64
	lease time.Duration
	pairs float64 // per second
}

func (d demand) renewals() float64 { return d.locks / (d.lease.Seconds() / 3) }

// budget is what one master and one engine have.
type budget struct{ core, memory, heap float64 }

// model has the measured constants.
type model struct {
	pair, renewal cost
	heap, memory  float64 // bytes of a held lock, in an engine and in a master
}

// cost is what a pair or a renewal needs.
type cost struct {
	client, loop, server time.Duration
	in, out              float64 // bytes that the server receives and sends
}

// need is how much of each there must be.
type need struct {
	renewals                       float64 // per second
	client, loop, server           float64 // cores
	heap, memory, in, out          float64 // bytes, and bytes per second
	mastersByCore, mastersByMemory float64
	enginesByLoop, enginesByHeap   float64
	masters, engines               float64
}

func (m *model) need(d demand, b budget) (n need) {
	n.renewals = d.renewals()
	cores := func(of func(cost) time.Duration) float64 {
		return n.renewals*of(m.renewal).Seconds() + d.pairs*of(m.pair).Seconds()
	}
	n.client = cores(func(c cost) time.Duration { return c.client })
	n.loop = cores(func(c cost) time.Duration { return c.loop })
	n.server = cores(func(c cost) time.Duration { return c.server })
	n.heap, n.memory = d.locks*m.heap, d.locks*m.memory
	n.in, n.out = n.renewals*m.renewal.in+d.pairs*m.pair.in, n.renewals*m.renewal.out+d.pairs*m.pair.out
	n.mastersByCore, n.mastersByMemory = math.Ceil(n.server/b.core), math.Ceil(n.memory/b.memory)
	n.enginesByLoop, n.enginesByHeap = math.Ceil(n.loop/b.core), math.Ceil(n.heap/b.heap)
	n.masters, n.engines = max(n.mastersByCore, n.mastersByMemory), max(n.enginesByLoop, n.enginesByHeap)
	return n
}

// first returns what limits first.
func (n need) first() string {
	switch {
	case n.masters <= 1 && n.engines <= 1:
		return "nothing"
	case n.masters >= n.engines && n.mastersByCore >= n.mastersByMemory:
		return "the master's processor"
	case n.masters >= n.engines:
		return "the master's memory"
	case n.enginesByLoop >= n.enginesByHeap:
		return "the engine's loop"
	}
	return "the engine's heap"
}

func (m *model) print(to io.Writer, d demand, b budget) {
	n := m.need(d, b)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "renewals\t%.0f/s\n", n.renewals)
	fmt.Fprintf(w, "masters\t%.0f\tprocessor: %.2f cores, so %.0f; memory: %.1f GB, so %.0f\n", n.masters, n.server, n.mastersByCore, n.memory/1e9, n.mastersByMemory)
	fmt.Fprintf(w, "engines\t%.0f\tloop: %.2f cores, so %.0f; heap: %.1f GB, so %.0f\n", n.engines, n.loop, n.enginesByLoop, n.heap/1e9, n.enginesByHeap)
	fmt.Fprintf(w, "processors of all engines\t%.2f cores\n", n.client)
	fmt.Fprintf(w, "to the masters\t%.1f MB/s\n", n.in/1e6)
	fmt.Fprintf(w, "from the masters\t%.1f MB/s\n", n.out/1e6)
	fmt.Fprintf(w, "limits first\t%s\n", n.first())
}

// printTable prints the largest sizes, without pairs.
func (m *model) printTable(to io.Writer, b budget) {
	fmt.Fprintln(to, "| locks | lease | renewals/s | cores of masters | memory | masters | cores of engines | heap | engines | limits first |")
	fmt.Fprintln(to, "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |")
	for exponent := 6; exponent <= 9; exponent++ {
		for _, lease := range []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour} {
			n := m.need(demand{locks: math.Pow10(exponent), lease: lease}, b)
			fmt.Fprintf(to, "| 10^%d | %s | %.0f | %.2f | %.1f GB | %.0f | %.2f | %.1f GB | %.0f | %s |\n", exponent, short(lease), n.renewals, n.server, n.memory/1e9,
				n.masters, n.client, n.heap/1e9, n.engines, n.first())
		}
	}
}

// short writes 5m instead of 5m0s.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// readModel reads the constants from the figures of Scale and Sizing.
func readModel(folder string) (*model, error) {
	var scale struct{ Figures []*bench.ScaleResult }
	var sizing struct{ Figures *bench.SizingResult }
	if err := errors.Join(read(folder, "scale.json", &scale), read(folder, "sizing.json", &sizing)); err != nil {
		return nil, err
	}
	largest := &bench.ScaleResult{}
	for _, f := range scale.Figures {
		if f.Failure == "" && f.Keep.Locks > largest.Keep.Locks {
			largest = f
		}
	}
	c := sizing.Figures
	if largest.Keep.Locks == 0 || c == nil || c.Failure != "" {
		return nil, fmt.Errorf("%s: no figures; go run ./report -set full -only scale,sizing measures them", folder)
	}
	return &model{
		pair:    cost{c.PairClient, c.PairLoop, c.PairServer, c.PairIn, c.PairOut},
		renewal: cost{c.RenewClient, c.RenewLoop, c.RenewServer, largest.In, largest.Out},
		heap:    largest.Heap, memory: largest.Memory,
	}, nil
}

func read(folder, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
