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
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/measure"
	"github.com/lockwheel/lockwheel/bench/revisions"
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
	programs, err := revisions.Build(folder, before)
	if err != nil {
		return err
	}
	server, err := bench.OpenServer(context.Background(), "")
	if err != nil {
		return err
	}
	defer server.Close()
	all, err := programs.Compare(server.Addr, rounds, load...)
	if err != nil {
		return err
	}
	fmt.Printf("%s: medians of %d rounds. A ratio is that of here to %s in one round, as the median of all rounds with its range.\n",
		strings.Join(append([]string{"load"}, load...), " "), rounds, before)
	for _, f := range all {
		fmt.Println(line(f, before))
	}
	return nil
}

// line shows the figure of both, and their ratio. That is not the ratio of the two medians: these can be of different
// rounds, and a round can be slow as a whole.
func line(f *revisions.Figure, before string) string {
	all := f.Ratios()
	return fmt.Sprintf("%s: %s %.*f, here %.*f; ratio %.3f (%.3f to %.3f)", f.What, before, f.Decimals, measure.Median(f.Then), f.Decimals, measure.Median(f.Now),
		measure.Median(all), slices.Min(all), slices.Max(all))
}
