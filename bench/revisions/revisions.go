// Package revisions compares the working copy of the library with an earlier revision of it, under one load. Both
// have turns on one server.
package revisions

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/bench/measure"
)

// Figure is one figure of both revisions, of each round.
type Figure struct {
	What     string
	Decimals int
	Then     []float64 // of the earlier revision
	Now      []float64 // of the working copy
}

// Ratios returns the ratio of now to then of each round: what slows a whole round down does not count.
func (f *Figure) Ratios() []float64 {
	all := make([]float64, len(f.Then))
	for i := range all {
		all[i] = f.Now[i] / f.Then[i]
	}
	return all
}

// Speed is the figure of which more is better. Of all others less is.
const Speed = "pairs/s"

// Gains returns how many times as good as then it is now, in each of some runs: the median of a run's rounds. An
// unfinished run does not count.
func (f *Figure) Gains(rounds int) (gains []float64) {
	for run := range slices.Chunk(f.Ratios(), rounds) {
		if len(run) < rounds {
			break
		}
		gain := measure.Median(run)
		if f.What != Speed {
			gain = 1 / gain
		}
		gains = append(gains, gain)
	}
	return gains
}

// Programs is the program of the load (bench/compare/load), with the library of both revisions.
type Programs struct{ then, now string }

// Build compiles the programs into a folder. It must be called in bench/ of a checkout that has the earlier revision.
func Build(folder, before string) (*Programs, error) {
	tree := filepath.Join(folder, "before")
	if _, err := run(".", "git", "worktree", "add", "--detach", tree, before); err != nil {
		return nil, err
	}
	defer run(".", "git", "worktree", "remove", "--force", tree)
	source, err := os.ReadFile(filepath.Join("compare", "load", "main.go"))
	if err != nil {
		return nil, fmt.Errorf("not in bench/? %w", err)
	}
	there := filepath.Join(tree, "bench", "compare", "load")
	if err := os.MkdirAll(there, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(there, "main.go"), source, 0o644); err != nil {
		return nil, err
	}
	p := &Programs{filepath.Join(folder, "then"), filepath.Join(folder, "now")}
	for program, bench := range map[string]string{p.then: filepath.Join(tree, "bench"), p.now: "."} {
		if _, err := run(bench, "go", "build", "-o", program, "./compare/load"); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Compare measures both in turn, with the flags of the load, on the server at an address.
func (p *Programs) Compare(addr string, rounds int, load ...string) (all []*Figure, err error) {
	args := append([]string{"-redis", addr}, load...)
	for round := range rounds {
		turns := []string{p.then, p.now}
		if round%2 == 1 { // neither is always first
			slices.Reverse(turns)
		}
		for _, program := range turns {
			out, err := run(".", program, args...)
			if err != nil {
				return nil, err
			}
			if all, err = read(all, program == p.now, out); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range all {
		if len(f.Then) != rounds || len(f.Now) != rounds {
			return nil, fmt.Errorf("%q is not a figure of each round of both revisions", f.What)
		}
	}
	return all, nil
}

// read adds what the program printed for one of the revisions to the figures.
func read(all []*Figure, now bool, out string) ([]*Figure, error) {
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
		at := slices.IndexFunc(all, func(f *Figure) bool { return f.What == fields[2] })
		if at < 0 {
			at, all = len(all), append(all, &Figure{What: fields[2], Decimals: decimals})
		}
		if f := all[at]; now {
			f.Now = append(f.Now, value)
		} else {
			f.Then = append(f.Then, value)
		}
	}
	return all, nil
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
