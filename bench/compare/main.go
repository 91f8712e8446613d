// Compare compares the working copy of the library with an earlier revision: pairs per second of many goroutines with a
// name each, in turn, on one server that it starts.
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
	"strings"

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
	var pairs [2][]float64
	for range rounds {
		for i, program := range programs {
			out, err := run(".", program, "-redis", server.Addr, "-goroutines", strconv.Itoa(goroutines))
			if err != nil {
				return err
			}
			figure, err := strconv.ParseFloat(strings.TrimSpace(out), 64)
			if err != nil {
				return err
			}
			pairs[i] = append(pairs[i], figure)
		}
	}
	then, now := median(pairs[0]), median(pairs[1])
	fmt.Printf("pairs/s of %d goroutines, medians of %d: %s %.0f, here %.0f: %.3f times\n", goroutines, rounds, before, then, now, now/then)
	return nil
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

func median(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}
