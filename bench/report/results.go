package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel/bench"
)

// results are the measurements of this run and earlier ones: each section says when and how it was measured.
type results struct {
	pair    sectionData[[]pairRun]
	ceiling sectionData[bench.CeilingResult]
	kinds   sectionData[bench.KindsOfLock]
	hot     sectionData[[]hotRun]
	wake    sectionData[[]*bench.HandoverLatency]
	latency sectionData[latency]
	gateway sectionData[[]*bench.GatewayResult]
	hold    sectionData[[]bench.HoldResult]
	scale   sectionData[[]*bench.ScaleResult]
	sizing  sectionData[*bench.SizingResult]
	flood   sectionData[[]*bench.FloodResult]
	planted sectionData[[]*bench.PlantedResult]
	before  sectionData[[]beforeRun]
}

type pairRun struct {
	Goroutines int
	Standings  []bench.Result
}

type hotRun struct {
	Clients, Goroutines int
	Fights              []bench.ContendedResult
}

type latency struct {
	Alone []*bench.SingleCaller
	Loads []*bench.Load
}

// measurement has the circumstances of a section.
type measurement struct {
	Began   time.Time
	Took    time.Duration
	Set     string
	Rounds  int           `json:",omitempty"`
	Link    time.Duration `json:",omitempty"` // the delay in each direction; 0: no link
	Load    string        `json:",omitempty"` // of the machine when it began: the load average of a minute
	Machine machine
}

// sectionData has a section's figures. A file stores them, so that another run can measure the other sections.
type sectionData[T any] struct {
	name  string
	steps func(into *T, s *bench.Server, p bench.Plan) []step

	When    *measurement // nil: not measured
	Figures T
}

// step is one comparison.
type step struct {
	what  string
	takes time.Duration // about
	run   func() error
}

// section is a part with any type of figures.
type section interface {
	title() string
	circumstances() *measurement
	begin(s *bench.Server, p bench.Plan) []step // clears the figures; the steps measure them again
	end(w measurement)
	load(dir string) error // a section without a file has not been measured
	store(dir string) error
}

func (p *sectionData[T]) title() string               { return p.name }
func (p *sectionData[T]) circumstances() *measurement { return p.When }
func (p *sectionData[T]) end(w measurement)           { p.When = &w }

func (p *sectionData[T]) begin(s *bench.Server, plan bench.Plan) []step {
	var none T
	p.When, p.Figures = nil, none
	return p.steps(&p.Figures, s, plan)
}

func (p *sectionData[T]) file(dir string) string {
	return filepath.Join(dir, strings.ToLower(p.name)+".json")
}

func (p *sectionData[T]) load(dir string) error {
	var none T
	p.When, p.Figures = nil, none
	text, err := os.ReadFile(p.file(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, p); err != nil {
		return fmt.Errorf("%s: %w", p.file(dir), err)
	}
	return nil
}

func (p *sectionData[T]) store(dir string) error {
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(p.file(dir), append(text, '\n'), 0o644)
}

// sections returns all sections, in the order in which they are measured and shown.
func (r *results) sections() []section {
	return []section{&r.pair, &r.ceiling, &r.kinds, &r.hot, &r.wake, &r.latency, &r.gateway, &r.hold, &r.scale, &r.sizing, &r.flood, &r.planted, &r.before}
}

// overLink returns the sections that can be measured over a link.
func (r *results) overLink() []section {
	return []section{&r.pair, &r.kinds, &r.hot, &r.wake, &r.latency, &r.gateway}
}

func (r *results) load(dir string) error {
	for _, s := range r.sections() {
		if err := s.load(dir); err != nil {
			return err
		}
	}
	return nil
}

// latest returns the circumstances of the section that was measured last, nil if none was.
func (r *results) latest() (last *measurement) {
	for _, s := range r.sections() {
		if w := s.circumstances(); w != nil && (last == nil || w.Began.After(last.Began)) {
			last = w
		}
	}
	return last
}
