package main

import (
	"fmt"
	"io"
	"time"
)

// telling prints how far a run is, and how long it will take.
type telling struct {
	to            io.Writer
	began         time.Time
	steps, done   int
	all, finished time.Duration // of the estimates
}

func newTelling(to io.Writer) *telling { return &telling{to: to, began: time.Now()} }

// expect adds steps that will be run.
func (t *telling) expect(steps []step) {
	for _, s := range steps {
		t.steps++
		t.all += s.takes
	}
}

// begin prints the estimate.
func (t *telling) begin(set string) {
	t.line(fmt.Sprintf("set %s: %d comparisons, about %s, until about %s; besides Java starts and warms up once, if it takes part",
		set, t.steps, about(t.all), time.Now().Add(t.all).Format("15:04")))
}

// run runs the steps of a section, until one fails.
func (t *telling) run(section string, steps []step) error {
	for _, s := range steps {
		t.done++
		t.line(fmt.Sprintf("%d/%d %s: %s (about %s; with it %s left)", t.done, t.steps, section, s.what, about(s.takes), about(t.all-t.finished)))
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %s: %w", section, s.what, err)
		}
		t.finished += s.takes
	}
	return nil
}

// line prints a text with the time that has passed.
func (t *telling) line(text string) {
	fmt.Fprintf(t.to, "%7.1fs  %s\n", time.Since(t.began).Seconds(), text)
}

// about rounds a duration to the precision of an estimate.
func about(d time.Duration) string {
	if d < 20*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(5 * time.Second).String()
}
