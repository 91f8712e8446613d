// Compare compares the working copy of the library with an earlier revision. It reports pairs per second of many
// goroutines with a name each, and the CPU of the client for a pair. It measures both in turn, on one server that it
// starts. CPU says more than pairs where other work runs on the machine.
//
//	go run ./compare -before REVISION
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
	"strconv"

	"github.com/lockwheel/lockwheel/bench"
)

func main() {
	log.SetFlags(0)
	before := flag.String("before", "", "the `revision` to compare with, as git names it")
	rounds := flag.Int("rounds", 9, "how often each is measured")
	goroutines := flag.Int("goroutines", 2048, "how many lock and unlock, a name each")
	flag.Parse()
	if *before == "" || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compare(*before, *rounds, *goroutines); err != nil {
		log.Fatal(err)
	}
}

func compare(before string, rounds, goroutines int) error {
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
	var pairs, cpu [2][]float64
	for round := range rounds {
		for turn := range programs {
			i := (turn + round) % 2 // neither is always first
			out, err := run(".", programs[i], "-redis", server.Addr, "-goroutines", strconv.Itoa(goroutines))
			if err != nil {
				return err
			}
			var each, used float64
			if _, err := fmt.Sscan(out, &each, &used); err != nil {
				return fmt.Errorf("the program printed %q: %w", out, err)
			}
			pairs[i], cpu[i] = append(pairs[i], each), append(cpu[i], used)
		}
	}
	fmt.Printf("%d goroutines, medians of %d rounds. A ratio is that of here to %s in one round, as the median of all rounds with its range.\n", goroutines, rounds, before)
	fmt.Println(line("pairs/s", 0, before, pairs))
	fmt.Println(line("CPU of a pair, µs", 2, before, cpu))
	return nil
}

// line shows the figures of both with a number of decimals, and their ratio. That is not the ratio of the two medians:
// these can be of different rounds, and a round can be slow as a whole.
func line(what string, decimals int, before string, figures [2][]float64) string {
	all := ratios(figures)
	return fmt.Sprintf("%-17s %s %.*f, here %.*f; ratio %.3f (%.3f to %.3f)", what, before, decimals, median(figures[0]), decimals, median(figures[1]),
		median(all), slices.Min(all), slices.Max(all))
}

// build compiles the program with the library of the earlier revision, and with the working copy.
func build(folder, before string) (programs [2]string, err error) {
	tree := filepath.Join(folder, "before")
	if _, err := run(".", "git", "worktree", "add", "--detach", tree, before); err != nil {
		return programs, err
	}
	defer run(".", "git", "worktree", "remove", "--force", tree)
	source, err := os.ReadFile(filepath.Join("compare", "pairs", "main.go"))
	if err != nil {
		return programs, fmt.Errorf("not in bench/? %w", err)
	}
	there := filepath.Join(tree, "bench", "compare", "pairs")
	if err := os.MkdirAll(there, 0o755); err != nil {
		return programs, err
	}
	if err := os.WriteFile(filepath.Join(there, "main.go"), source, 0o644); err != nil {
		return programs, err
	}
	programs = [2]string{filepath.Join(folder, "then"), filepath.Join(folder, "now")}
	for i, bench := range []string{filepath.Join(tree, "bench"), "."} {
		if _, err := run(bench, "go", "build", "-o", programs[i], "./compare/pairs"); err != nil {
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
