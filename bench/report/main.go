// Command report measures all sections in turn. It writes the measurements to figures/, a file per section. From
// them it writes RESULTS.md, charts/ and the part of README between <!-- measured --> and <!-- /measured -->.
//
//	go run ./report                          # inside bench/: some minutes, which it estimates, on a server that it starts
//	go run ./report -set full                # leases of their real length, a million locks
//	go run ./report -only hold,ceiling       # these sections; the others keep their earlier figures
//	go run ./report -only hot -print         # writes no file and prints the section
//	go run ./report -only before             # beside an earlier revision, which the checkout must have
//	go run ./report -render                  # measures nothing and writes all other files again from figures/
//	go run ./report -redis 127.0.0.1:6379    # on the server at this address
//	go run ./report -runs 10                 # rounds, and runs of what has no rounds
//	go run ./report -link 250us              # over a link that adds a delay in each direction; writes to links/250µs/
//
// Sections may come from different runs: each says when, at which version and with which set it was measured.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
	"github.com/lockwheel/lockwheel/bench/link"
)

// options has the flags of the command.
type options struct {
	plan   bench.Plan
	set    string // its name
	redis  string
	only   []string // sections; none: all
	print  bool
	render bool
	link   time.Duration // the delay in each direction; 0: no link
	out    string        // directory
	readme string        // file; empty: none
	log    io.Writer
}

// plans are the sets.
var plans = map[string]bench.Plan{"quick": bench.Quick, "full": bench.Full}

func main() {
	o := options{log: os.Stdout}
	flag.StringVar(&o.set, "set", "quick", "how much to measure: quick or full")
	flag.StringVar(&o.redis, "redis", "", "measure on the server at this `address`, not on one started here")
	only := flag.String("only", "", "measure only these `sections`, such as hold,ceiling")
	flag.BoolVar(&o.print, "print", false, "print what was measured, and write nothing")
	flag.BoolVar(&o.render, "render", false, "measure nothing, and write anew what was measured before")
	flag.DurationVar(&o.link, "link", 0, "measure over a link that adds this `delay` in each direction; only Pair, Kinds, Hot, Wake, Latency of one caller and Gateway")
	runs := flag.Int("runs", 0, "`rounds` of each comparison, and runs of what has no rounds, if not the set's")
	flag.StringVar(&o.out, "out", "", "the `directory` for RESULTS.md, charts/ and figures/ (default: this one, or links/ and the delay)")
	flag.StringVar(&o.readme, "readme", "../README.md", "the `file` in which the measured part is written, too; empty: none; with -link none")
	link.RunIfAsked()
	flag.Parse()
	o.only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' || r == ' ' })
	plan, known := plans[o.set]
	if !known || flag.NArg() > 0 || o.print && o.render || o.link < 0 || *runs < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if o.plan = plan; *runs > 0 {
		o.plan = plan.Repeat(*runs)
	}
	if o.link > 0 {
		o.readme = ""
		o.out = cmp.Or(o.out, filepath.Join("links", o.link.String()))
	}
	o.out = cmp.Or(o.out, ".")
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// run measures and writes. A section that fails keeps its earlier figures; the sections before it are stored.
func (o *options) run() error {
	r := newResults()
	if o.link > 0 {
		r.latency.steps = oneCallerSteps
	}
	wanted, err := o.wantedSections(r)
	if err != nil {
		return err
	}
	if !o.print {
		if err := r.load(o.figures()); err != nil {
			return err
		}
	}
	if !o.render {
		err = o.measure(wanted)
	}
	if o.print {
		if err == nil {
			_, err = io.WriteString(o.log, r.markdown())
		}
		return err
	}
	if r.latest() == nil {
		return cmp.Or(err, errors.New("nothing has been measured yet"))
	}
	return errors.Join(err, o.write(r))
}

func (o *options) figures() string { return filepath.Join(o.out, "figures") }

// wantedSections returns the sections to be measured. Before must be asked for: it needs git and the history.
func (o *options) wantedSections(r *results) (wanted []section, err error) {
	all := r.sections()
	if o.link > 0 {
		all = r.overLink()
	}
	if len(o.only) == 0 {
		return slices.DeleteFunc(all, func(s section) bool { return s == &r.before }), nil
	}
	var titles []string
	for _, s := range all {
		titles = append(titles, s.title())
		if slices.ContainsFunc(o.only, func(name string) bool { return strings.EqualFold(name, s.title()) }) {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) < len(o.only) {
		return nil, fmt.Errorf("-only %s: the sections are %s", strings.Join(o.only, ","), strings.Join(titles, ", "))
	}
	return wanted, nil
}

// measure measures sections on one server, and stores each when it is done.
func (o *options) measure(sections []section) error {
	server, err := bench.OpenServer(context.Background(), o.redis)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Delay(o.link); err != nil {
		return err
	}
	here, err := describeMachine(server)
	if err != nil {
		return err
	}
	t := newProgress(o.log)
	o.plan.Log = t.line
	var steps [][]step
	for _, s := range sections {
		steps = append(steps, s.begin(server, o.plan))
		t.addSteps(steps[len(steps)-1])
	}
	t.begin(o.set)
	for i, s := range sections {
		began, load := time.Now(), loadAverage()
		if err := t.run(s.title(), steps[i]); err != nil {
			return o.reload(sections[i:], err)
		}
		s.end(measurement{Began: began, Took: time.Since(began), Set: o.set, Rounds: o.plan.Rounds, Link: o.link, Load: load, Machine: here})
		if o.print {
			continue
		}
		if err := s.store(o.figures()); err != nil {
			return err
		}
	}
	t.line("done")
	return nil
}

// reload restores the stored figures of sections that were not measured to their end.
func (o *options) reload(sections []section, failed error) error {
	for _, s := range sections {
		if err := s.load(o.figures()); err != nil {
			return err
		}
	}
	return failed
}

// write writes the files that are made of the figures.
func (o *options) write(r *results) error {
	if err := r.charts(filepath.Join(o.out, "charts")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "RESULTS.md"), []byte(r.markdown()), 0o644); err != nil {
		return err
	}
	if o.readme == "" {
		return nil
	}
	return r.updateReadme(o.readme)
}
