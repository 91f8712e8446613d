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
	for _, line := range []func(*table){r.pairLines, r.kindsLine, r.hotLine, r.latencyLine, r.gatewayLine, r.holdLines, r.floodLine} {
		line(t)
	}
	return fmt.Sprintf("%s; %s; %s. Figures are this machine's, so compare those of one row.\n%s\n\n%s", last.Machine.CPU, last.Machine.System,
		last.Machine.Server, goalsSummary(r.goals()), t.String())
}

func (r *results) pairLines(t *table) {
	for _, goroutines := range []int{1, 16, 256, 2048} {
		what := "the same, " + count(float64(goroutines)) + " goroutines"
		if goroutines == 1 {
			what = "lock+unlock pairs a second, a name each, 1 goroutine"
		}
		t.contestants(what, r.pairsOf(goroutines), func(s *bench.Result) string { return count(s.PairsPerSecond()) })
	}
	t.contestants("client CPU of a pair in µs, 2 048 goroutines", r.pairsOf(2048), func(s *bench.Result) string { return micros(s.ClientCPU()) })
}

// contestants adds a row with a figure of each contestant, unless lockwheel has none.
func (t *table) contestants(what string, entries []bench.Result, figure func(*bench.Result) string) {
	ours := successOf(entries, peers.Lockwheel.Name)
	if ours == nil {
		return
	}
	text := figure(ours)
	for i := range entries {
		if s := &entries[i]; s.Name != peers.Lockwheel.Name && s.Failure == "" {
			text += fmt.Sprintf("; %s %s", s.Name, figure(s))
		}
	}
	t.section(what, text, "Pair")
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
	held := fmt.Sprintf("%s watched locks held, lease %v: ", count(float64(k.Keep.Locks)), k.Keep.Lease)
	t.section(held+"heap of one; cores of the client, of the server; p99 of how late renewals are; lost",
		fmt.Sprintf("%s B; %s, %s; %s ms; %s", heapCell(k), decimals(k.Client), decimals(k.Server), lateCell(k.Late), count(float64(k.Lost))), "Hold")
	if k.During > 0 && k.Stuck == "" {
		t.section(held+"pairs a second beside them, to none held", count(k.During)+", "+ratio(k.During, k.Baseline()), "Hold")
	}
	for i := range r.hold.Figures {
		if custom := &r.hold.Figures[i]; custom.Keep.Every != 0 && custom.Failure == "" && custom.During > 0 && custom.Stuck == "" {
			t.section(fmt.Sprintf("the same with `Options.RenewInterval` %v: the server's cores; pairs a second beside them, to none held", custom.Keep.Every),
				fmt.Sprintf("%s; %s, %s", decimals(custom.Server), count(custom.During), ratio(custom.During, custom.Baseline())), "Hold")
		}
	}
}

// section adds a row that links to the section of RESULTS.md with its figures.
func (t *table) section(what, figure, section string) {
	t.row(what, figure, fmt.Sprintf("[%s](bench/RESULTS.md#%s)", section, strings.ToLower(section)))
}
