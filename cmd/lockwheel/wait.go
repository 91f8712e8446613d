package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

const (
	// waitPause is how long wait pauses between two questions.
	waitPause = 100 * time.Millisecond
	// lastReply is how long the server has after the timeout for its reply to the last question, and then the nodes of a
	// cluster to show which of them is silent.
	lastReply = time.Second
)

func newWait(g *globals) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait NAME",
		Short: "Wait until a lock is free, without taking it",
		Long: `Waits until the lock is free. It does not take the lock, so another client may have it by the time this returns; to do
something while the lock is held, use run.

A key that is no lock of this library counts as held while it exists: no caller can have the lock meanwhile.

It asks the server ten times a second, and misses a shorter time in which the lock was free between two holders.

An error ends the wait, also one broken connection. The server has 5 s for each reply, but not more than a second beyond
the timeout. In a cluster it then asks all nodes for up to another second, and names those that are silent.

Exit status: 0 when the lock was free; 3 if it was still held after the timeout; 1 on an error, also if the server
stops replying; 2 for a wrong command line.`,
		Args:              func(_ *cobra.Command, args []string) error { return names(args, 1, 1) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if timeout < 0 {
				return wrong("--timeout %v: want 0 or more", timeout)
			}
			var end time.Time
			ctx, about := c.Context(), c.Context()
			if c.Flags().Changed("timeout") {
				end = time.Now().Add(timeout)
				limited, cancel := context.WithDeadline(ctx, end.Add(lastReply))
				defer cancel()
				ctx = limited
			}
			s, err := g.inspect(ctx, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer s.Close()
			for {
				locked, err := s.Locked(ctx, args[0])
				switch {
				case err != nil:
					limited, cancel := context.WithTimeout(about, lastReply) // the time of the question may be over
					defer cancel()
					return failed(s.About(limited, args[0], err, nil))
				case !locked:
					return nil
				case !end.IsZero() && !time.Now().Before(end):
					return &failure{exitNo, fmt.Errorf("lock %q: still held after %v", args[0], timeout)}
				}
				time.Sleep(pauseBefore(end, time.Now()))
			}
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "give up after this `duration`, such as 30s; 0 asks once (default: wait without limit)")
	return c
}

// pauseBefore returns how long wait pauses before the next question. The last one is at the end, if there is one: the
// zero end is none.
func pauseBefore(end, now time.Time) time.Duration {
	if end.IsZero() {
		return waitPause
	}
	return min(waitPause, end.Sub(now))
}
