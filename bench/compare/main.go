// Compare compares the working copy of the library with an earlier revision, under one load:
//
//   - pairs: many goroutines lock and unlock a name each. It reports pairs per second and the client's CPU for one.
//   - two: the same with a name for each two.
//   - hot: the same with one name for all.
//   - hold: very many locks are held. It reports the CPU of client and server for a renewal, and the memory of a lock.
//   - latency: one caller locks and unlocks.
//   - used: the same, with an engine that has had many callers at once.
//
// It measures both in turn, on one server that it starts. CPU says more than the others where other work runs on the
// machine.
//
//	go run ./compare -before REVISION
//	go run ./compare -before REVISION -load hold -n 100000 -for 9s
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
)

func main() {
	log.SetFlags(0)
	before := flag.String("before", "", "the `revision` to compare with, as git names it")
	rounds := flag.Int("rounds", 9, "how often each is measured")
	var load []string
	for _, option := range []struct{ name, value, usage string }{
		{"load", "pairs", "pairs, two, hot, hold, latency or used"},
		{"n", "2048", "how many goroutines lock and unlock, or how many locks are held"},
		{"for", "1s", "how long each is measured; a lease of hold"},
	} {
		flag.Func(option.name, option.usage+" (default "+option.value+")", func(value string) error {
			load = append(load, "-"+option.name, value)
			return nil
		})
	}
	flag.Parse()
	if *before == "" || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(*before, *rounds, load); err != nil {
		log.Fatal(err)
	}
}

func compare(before string, rounds int, load []string) error {
	folder, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	programs, err := build(folder, before)
	if err != nil {
		return err
	}
	server, err := bench.OpenServer(context.Background(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	var all []*figure
	for round := range rounds {
		for turn := range programs {
			i := (turn + round) % 2 // neither is always first
			out, err := run(".", programs[i], append([]string{"-redis", server.Addr}, load...)...)
			if err != nil {
				return err
			}
			if all, err = read(all, i, out); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%s: medians of %d rounds. A ratio is that of here to %s in one round, as the median of all rounds with its range.\n",
		strings.Join(append([]string{"load"}, load...), " "), rounds, before)
	for _, f := range all {
		fmt.Println(f.line(before))
	}
	return nil
}

// figure is one figure of both revisions, of each round.
type figure struct {
	what     string
	decimals int
	values   [2][]float64
}

// read adds what the program printed for one of the revisions to the figures.
func read(all []*figure, i int, out string) ([]*figure, error) {
	for line := range strings.Lines(out) {
		var value float64
		var decimals int
		fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("the program printed %q", out)
		}
		if _, err := fmt.Sscan(fields[0]+" "+fields[1], &value, &decimals); err != nil {
			return nil, fmt.Errorf("the program printed %q: %w", out, err)
		}
		at := slices.IndexFunc(all, func(f *figure) bool { return f.what == fields[2] })
		if at < 0 {
			at, all = len(all), append(all, &figure{what: fields[2], decimals: decimals})
		}
		all[at].values[i] = append(all[at].values[i], value)
	}
	return all, nil
}

// line shows the figure of both, and their ratio. That is not the ratio of the two medians: these can be of different
// rounds, and a round can be slow as a whole.
func (f *figure) line(before string) string {
	all := ratios(f.values)
	return fmt.Sprintf("%s: %s %.*f, here %.*f; ratio %.3f (%.3f to %.3f)", f.what, before, f.decimals, median(f.values[0]), f.decimals, median(f.values[1]),
		median(all), slices.Min(all), slices.Max(all))
}

// build compiles the program with the library of the earlier revision, and with the working copy.
func build(folder, before string) (programs [2]string, err error) {
	tree := filepath.Join(folder, "before")
	if _, err := run(".", "git", "worktree", "add", "--detach", tree, before); err != nil {
		return programs, err
	}
	defer run(".", "git", "worktree", "remove", "--force", tree)
	source, err := os.ReadFile(filepath.Join("compare", "load", "main.go"))
	if err != nil {
		return programs, fmt.Errorf("not in bench/? %w", err)
	}
	there := filepath.Join(tree, "bench", "compare", "load")
	if err := os.MkdirAll(there, 0o755); err != nil {
		return programs, err
	}
	if err := os.WriteFile(filepath.Join(there, "main.go"), source, 0o644); err != nil {
		return programs, err
	}
	programs = [2]string{filepath.Join(folder, "then"), filepath.Join(folder, "now")}
	for i, bench := range []string{filepath.Join(tree, "bench"), "."} {
		if _, err := run(bench, "go", "build", "-o", programs[i], "./compare/load"); err != nil {
			return programs, err
		}
	}
	return programs, nil
}

// run runs a program and returns what it prints.
func run(folder, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	var stderr bytes.Buffer
	c.Dir, c.Stderr = folder, &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", c, err, &stderr)
	}
	return string(out), nil
}

// ratios returns the ratio of each round: what slows a whole round down does not count.
func ratios(figures [2][]float64) []float64 {
	all := make([]float64, len(figures[0]))
	for i := range all {
		all[i] = figures[1][i] / figures[0][i]
	}
	return all
}

func median(figures []float64) float64 {
	figures = slices.Sorted(slices.Values(figures))
	return figures[len(figures)/2]
}
