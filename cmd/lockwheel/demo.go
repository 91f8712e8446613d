package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/demo"
)

// newDemo is the demo, which parses its flags itself: they begin with one dash as well.
func newDemo() *cobra.Command {
	c := &cobra.Command{
		Use:                "demo",
		Short:              "Take thousands of locks, keep them, and check that they hold; needs no server",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if status := demo.Run(demo.UntilSignal(), args, c.OutOrStdout(), withoutUsers{c.ErrOrStderr()}); status != 0 {
				return &failure{status: status}
			}
			return nil
		},
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), demo.Usage()) })
	return c
}
