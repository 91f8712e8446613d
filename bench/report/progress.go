package main

import (
	"fmt"
	"io"
	"time"
)

// progress prints how far a run is, and how long it will take.
type progress struct {
	to            io.Writer
	began         time.Time
	steps, done   int
	all, finished time.Duration // of the estimates
}

func newProgress(to io.Writer) *progress { return &progress{to: to, began: time.Now()} }

// addSteps adds steps that will be run.
func (t *progress) addSteps(steps []step) {
	for _, s := range steps {
		t.steps++
		t.all += s.takes
	}
}

// begin prints the estimate.
func (t *progress) begin(set string) {
	t.line(fmt.Sprintf("set %s: %d comparisons, about %s, until about %s; besides Java starts and warms up once, if it takes part",
		set, t.steps, approx(t.all), time.Now().Add(t.all).Format("15:04")))
}

// run runs the steps of a section, until one fails.
func (t *progress) run(section string, steps []step) error {
	for _, s := range steps {
		t.done++
		t.line(fmt.Sprintf("%d/%d %s: %s (about %s; with it %s left)", t.done, t.steps, section, s.what, approx(s.takes), approx(t.all-t.finished)))
		if err := s.run(); err != nil {
			return fmt.Errorf("%s: %s: %w", section, s.what, err)
		}
		t.finished += s.takes
	}
	return nil
}

// line prints a text with the time that has passed.
func (t *progress) line(text string) {
	fmt.Fprintf(t.to, "%7.1fs  %s\n", time.Since(t.began).Seconds(), text)
}

// approx rounds a duration to the precision of an estimate.
func approx(d time.Duration) string {
	if d < 20*time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(5 * time.Second).String()
}
