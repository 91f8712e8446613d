// Package exampletest runs the examples in tests: it reads what they print, waits for lines, and stops them.
package exampletest

import (
	"bufio"
	"context"
	"io"
	"regexp"
	"testing"
	"time"
)

// patience is how long an example may take for what takes it a few leases at most.
const patience = 30 * time.Second

// Example is an example that runs.
type Example struct {
	t     testing.TB
	lines chan string
	stop  context.CancelFunc
	ended chan error
	Said  []string // the lines that Await has read
}

// Start starts an example. It is stopped, as by SIGINT, at the end of the test at the latest.
func Start(t testing.TB, run func(context.Context, []string, io.Writer) error, args ...string) *Example {
	ctx, stop := context.WithCancel(context.Background())
	e := &Example{t: t, lines: make(chan string, 1<<16), stop: stop, ended: make(chan error, 1)}
	read, write := io.Pipe()
	go func() {
		defer close(e.lines)
		for scan := bufio.NewScanner(read); scan.Scan(); {
			e.lines <- scan.Text()
		}
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.ended <- run(ctx, args, write)
		write.Close()
	}()
	t.Cleanup(func() { stop(); <-done })
	return e
}

// Await reads lines until one matches the pattern, and returns what its groups match.
func (e *Example) Await(pattern string) []string {
	e.t.Helper()
	wanted, deadline := regexp.MustCompile(pattern), time.After(patience)
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				e.t.Fatalf("the example ended before it said %q: %v; it said %q", pattern, <-e.ended, e.Said)
			}
			e.Said = append(e.Said, line)
			if found := wanted.FindStringSubmatch(line); found != nil {
				return found[1:]
			}
		case <-deadline:
			e.t.Fatalf("the example did not say %q; it said %q", pattern, e.Said)
		}
	}
}

// Interrupt does what SIGINT does, and requires that the example ends without an error. It reads what is left to read.
func (e *Example) Interrupt() {
	e.t.Helper()
	e.stop()
	e.End()
}

// End requires that the example ends by itself, without an error. It reads what is left to read.
func (e *Example) End() {
	e.t.Helper()
	select {
	case err := <-e.ended:
		if err != nil {
			e.t.Fatalf("the example ended with an error: %v", err)
		}
	case <-time.After(patience):
		e.t.Fatalf("the example did not end; it said %q", e.Said)
	}
	for line := range e.lines {
		e.Said = append(e.Said, line)
	}
}

// Count returns how many of the lines that were read match the pattern.
func (e *Example) Count(pattern string) (n int) {
	wanted := regexp.MustCompile(pattern)
	for _, line := range e.Said {
		if wanted.MatchString(line) {
			n++
		}
	}
	return n
}
