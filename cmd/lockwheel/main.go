// Command lockwheel demonstrates the library. Run it without arguments for its usage.
package main

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

const usage = `lockwheel: locks on Redis or Valkey, for Go programs that hold very many of them.

Usage:

	lockwheel demo [flags]    take thousands of locks, keep them, and check that they hold
	lockwheel help            print this
	lockwheel help demo       print the flags of the demo

To begin with, and without any set-up, as the demo brings a small server of its own:

	lockwheel demo

or, from a copy of the source: go run ./cmd/lockwheel demo
`

func main() {
	os.Exit(run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// untilSignal returns a context that ends with the first signal. The signals then have their usual meaning again, so
// a second one kills a command that does not end.
func untilSignal() context.Context {
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

// run is the command without its process. It returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	command := "help"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "demo":
		return runDemo(ctx, args, stdout, stderr)
	case "help", "-h", "-help", "--help":
		return help(args, stdout, stderr)
	}
	fmt.Fprintf(stderr, "lockwheel: there is no command %q\n\n%s", command, usage)
	return exitUsage
}

func help(about []string, stdout, stderr io.Writer) (status int) {
	switch {
	case len(about) == 0:
		fmt.Fprint(stdout, usage)
	case about[0] == "demo":
		fmt.Fprint(stdout, demoUsage())
	default:
		fmt.Fprintf(stderr, "lockwheel: there is no command %q to tell about\n\n%s", about[0], usage)
		return exitUsage
	}
	return exitOK
}

// runDemo parses the demo's flags, finds its server and runs it there.
func runDemo(ctx context.Context, args []string, stdout, stderr io.Writer) (status int) {
	set, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, demoUsage())
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
