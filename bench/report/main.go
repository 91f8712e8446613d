// Command report measures everything in turn and writes what came out: RESULTS.md and charts beside it.
//
//	go run ./report                          # inside bench/: about three minutes, on a server that it starts
//	go run ./report -set full                # about ten minutes
//	go run ./report -redis 127.0.0.1:6379    # on a server of yours
//	go run ./report -only Pair,Ceiling       # a part; nothing is written
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

func main() {
	set := flag.String("set", "quick", "how much to measure: quick or full")
	redis := flag.String("redis", "", "measure on the server at this `address`, not on one started here")
	only := flag.String("only", "", "measure only these, such as `Pair,Hot`, and print them")
	out := flag.String("out", ".", "the `directory` for RESULTS.md and charts/")
	flag.Parse()
	plan, known := map[string]bench.Plan{"quick": bench.Quick, "full": bench.Full}[*set]
	if !known {
		fmt.Fprintf(os.Stderr, "report: -set %s: quick or full\n", *set)
		os.Exit(2)
	}
	if err := run(*redis, *only, *out, *set, plan, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// run measures and writes; with only it prints instead.
func run(redis, only, out, set string, plan bench.Plan, log io.Writer) error {
	server, err := bench.OpenServer(context.Background(), redis)
	if err != nil {
		return err
	}
	defer server.Close()
	wanted := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	r := results{began: time.Now(), set: set}
	if r.machine, err = describe(server); err != nil {
		return err
	}
	for _, step := range r.steps(server, plan) {
		if len(wanted) > 0 && !slices.Contains(wanted, step.name) {
			continue
		}
		fmt.Fprintf(log, "%6.1fs  %s\n", time.Since(r.began).Seconds(), step.what())
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.what(), err)
		}
	}
	r.took = time.Since(r.began)
	fmt.Fprintf(log, "%6.1fs  done\n", r.took.Seconds())
	if len(wanted) > 0 {
		_, err := io.WriteString(log, r.markdown())
		return err
	}
	if err := r.charts(filepath.Join(out, "charts")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "RESULTS.md"), []byte(r.markdown()), 0o644)
}
