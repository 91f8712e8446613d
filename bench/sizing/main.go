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
	flag.DurationVar(&d.lease, "lease", 30*time.Second, "Options.Lease; a lock is renewed every third of it, unless -every says otherwise")
	flag.DurationVar(&d.every, "every", 0, "Options.RenewInterval, if it is not a third of the lease")
	flag.Float64Var(&d.pairs, "pairs", 0, "`pairs` of Lock and Unlock a second")
	flag.Float64Var(&d.waiters, "waiters", 0, "`callers` that wait at a time, each for a name of its own")
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
	if d.locks < 1 || d.lease <= 0 || d.every < 0 || d.pairs < 0 || d.waiters < 0 || b.core <= 0 || b.memory <= 0 || b.heap <= 0 {
		log.Fatal("sizing: -every, -pairs and -waiters must be 0 or more, and all other figures positive")
	}
	if d.waiters > 0 && m.Waiter == 0 {
		log.Fatal("sizing: the figures do not have the heap of a waiter; go run ./report -set full -only sizing measures it")
	}
	if *table {
		m.printTable(os.Stdout, b)
		return
	}
	m.print(os.Stdout, d, b)
}

// demand is what a service needs.
type demand struct {
	locks   float64
	lease   time.Duration
	every   time.Duration // between two renewals; 0: a third of the lease
	pairs   float64       // per second
	waiters float64
}

func (d demand) renewals() float64 {
	if d.every > 0 {
		return d.locks / d.every.Seconds()
	}
	return d.locks / (d.lease.Seconds() / 3)
}

// budget is what one master and one engine have.
type budget struct{ core, memory, heap float64 }

// model has the measured constants.
type model struct {
	*bench.SizingResult
	heap, memory float64 // bytes of a held lock, in an engine and in a master
}

// need is how much of each there must be.
type need struct {
	renewals             float64 // per second
	client, loop, server float64 // cores
	heap, memory         float64 // bytes
	in, out              float64 // bytes per second

	// How many masters and engines, as asked by each of what they have.
	byCore, byMemory, byLoop, byHeap float64

	tried float64 // the number of masters that these costs are of; 0: those of one server
}

// masters returns 1 or at least 3: a cluster of two does not survive the failure of one.
func (n need) masters() float64 {
	if masters := math.Ceil(max(n.byCore, n.byMemory, n.tried)); masters > 1 {
		return max(masters, bench.SizingMasters)
	}
	return 1
}

func (n need) engines() float64 { return math.Ceil(max(n.byLoop, n.byHeap)) }

// need returns what a demand needs: with the costs of a cluster if one master is not enough. With more masters each has
// fewer locks, which cost less; so it may take some steps to find their number.
func (m *model) need(d demand, b budget) need {
	n := m.needWith(m.Constants(d.locks, 1), d, b)
	for n.masters() > max(n.tried, 1) {
		tried := n.masters()
		n = m.needWith(m.Constants(d.locks, int(tried)), d, b)
		n.tried = tried // with fewer, each lock would cost more
	}
	return n
}

func (m *model) needWith(c bench.SizingConstants, d demand, b budget) (n need) {
	n.renewals = d.renewals()
	all := func(of func(bench.SizingCost) float64) float64 { return n.renewals*of(c.Renewal) + d.pairs*of(c.Pair) }
	n.client = all(func(c bench.SizingCost) float64 { return c.Client.Seconds() })
	n.loop = all(func(c bench.SizingCost) float64 { return c.Loop.Seconds() })
	n.server = all(func(c bench.SizingCost) float64 { return c.Server.Seconds() })
	n.in = all(func(c bench.SizingCost) float64 { return c.In })
	n.out = all(func(c bench.SizingCost) float64 { return c.Out })
	n.heap, n.memory = d.locks*m.heap+d.waiters*m.Waiter, d.locks*m.memory
	n.byCore, n.byMemory = n.server/b.core, n.memory/b.memory
	n.byLoop, n.byHeap = n.loop/b.core, n.heap/b.heap
	return n
}

// first returns what limits first: what asks for the most masters or engines.
func (n need) first() string {
	most, name := 1.0, "nothing"
	for _, limit := range []struct {
		name string
		asks float64
	}{{"the master's processor", n.byCore}, {"the master's memory", n.byMemory}, {"the engine's loop", n.byLoop}, {"the engine's heap", n.byHeap}} {
		if limit.asks > most {
			most, name = limit.asks, limit.name
		}
	}
	return name
}

func (m *model) print(to io.Writer, d demand, b budget) {
	n := m.need(d, b)
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	defer w.Flush()
	fmt.Fprintf(w, "renewals\t%.0f/s\n", n.renewals)
	fmt.Fprintf(w, "masters\t%.0f\tprocessor: %.2f cores in all; memory: %.1f GB in all\n", n.masters(), n.server, n.memory/1e9)
	fmt.Fprintf(w, "engines\t%.0f\tloops: %.2f cores in all; heap: %.1f GB in all\n", n.engines(), n.loop, n.heap/1e9)
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
				n.masters(), n.client, n.heap/1e9, n.engines(), n.first())
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
	if largest.Keep.Locks < 1_000_000 || c == nil || c.Failure != "" || c.Cluster.Cores == 0 {
		return nil, fmt.Errorf("%s: no figures of a million locks and of a cluster; go run ./report -set full -only scale,sizing measures them", folder)
	}
	return &model{SizingResult: c, heap: largest.Heap, memory: largest.Memory}, nil
}

func read(folder, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
