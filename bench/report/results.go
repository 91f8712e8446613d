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
	pair    part[[]pairs]
	ceiling part[bench.Ceilings]
	kinds   part[bench.KindsOfLock]
	hot     part[[]hots]
	wake    part[[]*bench.Waking]
	latency part[latency]
	hold    part[[]bench.Keeping]
	flood   part[[]*bench.Flooding]
}

type pairs struct {
	Goroutines int
	Standings  []bench.Standing
}

type hots struct {
	Clients, Goroutines int
	Fights              []bench.Fight
}

type latency struct {
	Alone []*bench.Alone
	Loads []*bench.Load
}

// when has the circumstances of a section.
type when struct {
	Began   time.Time
	Took    time.Duration
	Set     string
	Load    string `json:",omitempty"` // of the machine when it began: the load average of a minute
	Machine machine
}

// part has a section's figures. A file stores them, so that another run can measure the other sections.
type part[T any] struct {
	name  string
	steps func(into *T, s *bench.Server, p bench.Plan) []step

	When    *when // nil: not measured
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
	circumstances() *when
	begin(s *bench.Server, p bench.Plan) []step // clears the figures; the steps measure them again
	end(w when)
	load(dir string) error // a section without a file has not been measured
	store(dir string) error
}

func (p *part[T]) title() string        { return p.name }
func (p *part[T]) circumstances() *when { return p.When }
func (p *part[T]) end(w when)           { p.When = &w }

func (p *part[T]) begin(s *bench.Server, plan bench.Plan) []step {
	var none T
	p.When, p.Figures = nil, none
	return p.steps(&p.Figures, s, plan)
}

func (p *part[T]) file(dir string) string {
	return filepath.Join(dir, strings.ToLower(p.name)+".json")
}

func (p *part[T]) load(dir string) error {
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

func (p *part[T]) store(dir string) error {
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
	return []section{&r.pair, &r.ceiling, &r.kinds, &r.hot, &r.wake, &r.latency, &r.hold, &r.flood}
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
func (r *results) latest() (last *when) {
	for _, s := range r.sections() {
		if w := s.circumstances(); w != nil && (last == nil || w.Began.After(last.Began)) {
			last = w
		}
	}
	return last
}
