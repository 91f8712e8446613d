package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/peers"
)

// The report writes the part of README between these lines.
const (
	measuredBegins = "<!-- measured -->"
	measuredEnds   = "<!-- /measured -->"
)

// updateReadme replaces the measured part of a README, and nothing else.
func (r *results) updateReadme(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := replaceMeasured(string(text), r.measuredPart())
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

// replaceMeasured puts a text between the two lines.
func replaceMeasured(text, measured string) (string, error) {
	before, rest, begins := strings.Cut(text, measuredBegins+"\n")
	_, after, ends := strings.Cut(rest, measuredEnds+"\n")
	if !begins || !ends || strings.Contains(after, measuredBegins) {
		return "", errors.New("the lines " + measuredBegins + " and " + measuredEnds + " must be in it once, in this order")
	}
	return before + measuredBegins + "\n" + measured + measuredEnds + "\n" + after, nil
}

// measuredPart returns the measured part of README. Each of its figures is in RESULTS.md, in the same form.
func (r *results) measuredPart() string {
	last := r.latest()
	if last == nil {
		return "Nothing has been measured.\n"
	}
	t := newTable("what", "figure", "section")
	t.prose = true
	for _, line := range []func(*table){r.kindsBesidePeers, r.hotLine, r.latencyLine, r.gatewayLine, r.holdLines, r.scaleLine, r.floodLine} {
		line(t)
	}
	return fmt.Sprintf("%s; %s. %s Compare figures of one section only.\n%s\n\n%s\n%s", last.Machine.System, last.Machine.Server, r.machines(),
		goalsSummary(r.goals()), r.pairTable(), t.String())
}

// machines returns which sections were measured on which machine.
func (r *results) machines() string {
	var names []string
	sections := map[string][]string{}
	for _, s := range r.sections() {
		if w := s.circumstances(); w != nil {
			if sections[w.Machine.CPU] == nil {
				names = append(names, w.Machine.CPU)
			}
			sections[w.Machine.CPU] = append(sections[w.Machine.CPU], s.title())
		}
	}
	if len(names) == 1 {
		return "All on one machine: " + names[0] + "."
	}
	text := "Machines:"
	for i, name := range names {
		text += fmt.Sprintf("%s %s (%s)", map[bool]string{true: ";"}[i > 0], name, strings.Join(sections[name], ", "))
	}
	return text + "."
}

// pairTable returns the pairs per second of each contestant with few and many goroutines.
func (r *results) pairTable() string {
	goroutines := []int{1, 16, 256, 2048}
	head := []string{"[pairs/s](bench/RESULTS.md#pair), a name each; goroutines:"}
	for _, n := range goroutines {
		head = append(head, count(float64(n)))
	}
	t := newTable(append(head, "client CPU of a pair, µs (2 048)")...)
	for _, one := range append(peers.All(), peers.Redisson) {
		cells, measured := []string{one.Name}, false
		for _, n := range goroutines {
			measured = measured || successOf(r.pairsOf(n), one.Name) != nil
			cells = append(cells, figureOf(r.pairsOf(n), one.Name, func(s *bench.Result) string { return count(s.PairsPerSecond()) }))
		}
		if !measured {
			continue
		}
		t.row(append(cells, figureOf(r.pairsOf(2048), one.Name, func(s *bench.Result) string { return micros(s.ClientCPU()) }))...)
	}
	if len(t.rows) == 0 {
		return ""
	}
	return t.String()
}

// figureOf returns a contestant's figure, or a dash if there is none.
func figureOf(entries []bench.Result, name string, figure func(*bench.Result) string) string {
	if s := successOf(entries, name); s != nil {
		return figure(s)
	}
	return "–"
}

func (r *results) hotLine(t *table) {
	contended := r.contendedOf(2, 64)
	ours, best := contendedResultOf(contended, peers.Lockwheel.Name), bestPeer(contended)
	if ours == nil || best == nil {
		return
	}
	row := func(f *bench.ContendedResult) string {
		return count(f.PairsPerSecond()) + ", " + millis(f.LongestWait) + " ms"
	}
	t.section("one name, 64 goroutines of each of two engines: pairs a second, longest wait",
		fmt.Sprintf("%s; the best of the others, %s, %s", row(ours), best.Name, row(best)), "Hot")
}

func (r *results) latencyLine(t *table) {
	ours, ping := r.singleCallerOf(peers.Lockwheel.Name), r.singleCallerOf(bench.PingEnding)
	if ours == nil || ping == nil {
		return
	}
	t.section("one caller alone: a lock's p50 and p99, to a bare round trip",
		fmt.Sprintf("%s µs, %s; %s µs, %s", micros(ours.Lock.Quantile(0.5)), times(&ours.Lock, &ping.Lock, 0.5),
			micros(ours.Lock.Quantile(0.99)), times(&ours.Lock, &ping.Lock, 0.99)), "Latency")
}

func (r *results) holdLines(t *table) {
	k := r.largestHold()
	if k == nil {
		return
	}
	what := fmt.Sprintf("%s watched locks held, lease %v: heap of one; cores of the client, of the server; p99 of how late renewals are; lost", count(float64(k.Keep.Locks)), k.Keep.Lease)
	figure := fmt.Sprintf("%s B; %s, %s; %s ms; %s", heapCell(k), decimals(k.Client), decimals(k.Server), lateCell(k.Late), count(float64(k.Lost)))
	if k.During > 0 && k.Stuck == "" {
		what += "; pairs a second beside them, to none held"
		figure += "; " + count(k.During) + ", " + ratio(k.During, k.Baseline())
	}
	t.section(what, figure, "Hold")
}

// section adds a row that links to the section of RESULTS.md with its figures.
func (t *table) section(what, figure, section string) {
	t.row(what, figure, fmt.Sprintf("[%s](bench/RESULTS.md#%s)", section, strings.ToLower(section)))
}
