// Package demo is the command's demonstration of the library: it takes many locks, keeps them under load, and checks
// that no lock was lost.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // it could not run, or the result is bad
	exitUsage  = 2
)

// UntilSignal returns a context that ends with the first signal. The signals then have their usual meaning again, so
// a second one kills a command that does not end.
func UntilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan os.Signal, 1)
	signal.Notify(first, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-first
		signal.Stop(first)
		cancel()
	}()
	return ctx
}

// Run parses the demo's flags, finds its server and runs it there. It returns the exit status. If ctx ends, the demo
// ends early, with the same checks.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	set, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, Usage())
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "lockwheel demo: %v\nTry: lockwheel help demo\n", err)
		return exitUsage
	}
	where, err := set.server()
	if err != nil {
		fmt.Fprintf(stderr, "lockwheel demo: %v\n", err)
		return exitFailed
	}
	defer where.close()
	good, err := newDemo(set, where, newScreen(stdout)).run(ctx)
	switch {
	case err != nil:
		fmt.Fprintf(stderr, "lockwheel demo: %v\n", err)
		if set.redis != "" {
			fmt.Fprintln(stderr, "Without -redis the demo runs on a small server of its own.")
		}
		return exitFailed
	case !good:
		return exitFailed
	}
	return exitOK
}
