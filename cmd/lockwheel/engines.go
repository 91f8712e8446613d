package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

func newEngines(g *globals) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "engines",
		Short: "List the engines that say who they are",
		Long: `Lists the records that engines of lockwheel keep in the server: name, program, host, process, version, when the engine was
opened, the address of its page, and how long ago it wrote the record. With --prefix only engines with that prefix.

A record is written every 10 s: one that is older than about 10 s may be that of a program that died or is stopped. It
expires when the program's watched locks have expired, after an hour at most. Anonymous engines, those that may not write a record, and Redisson clients have none.

It looks through all keys with SCAN, a few hundred at a time, in a cluster on every master, and prints as it goes.

Exit status: 0 if all nodes were read; 1 on an error, also if a node of a cluster did not reply: then the records of the
others are listed; 2 for a wrong command line.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return g.listEngines(c, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return c
}

func (g *globals) listEngines(c *cobra.Command, asJSON bool) error {
	s, err := g.inspect()
	if err != nil {
		return err
	}
	defer s.Close()
	nodes, silent := s.Nodes(c.Context())
	print := func(e *inspect.Engine) error { return printEngine(c.OutOrStdout(), e) }
	if asJSON {
		print = func(e *inspect.Engine) error { return writeJSON(c.OutOrStdout(), e) }
	} else {
		_, err := fmt.Fprintf(c.OutOrStdout(), engineFormat, "RENEWED", "STARTED", "PID", "HOST", "PROGRAM", "VERSION", "NAME", "PAGE")
		if err != nil {
			return failed(err)
		}
	}
	denied := 0
	for _, n := range nodes {
		some, err := s.Engines(c.Context(), n, print)
		denied += some
		if err != nil {
			return failed(errors.Join(silent, err))
		}
	}
	if denied > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "records that this user may not read: %d\n", denied)
	}
	return failed(silent)
}

const engineFormat = "%-10s %-20s %7s  %-16s %-16s %-12s %s  %s\n"

func printEngine(to io.Writer, e *inspect.Engine) error {
	renewed := "-"
	if e.Renewed >= 0 {
		renewed = (time.Duration(e.Renewed) * time.Millisecond).String()
	}
	_, err := fmt.Fprintf(to, engineFormat, renewed, orDash(e.Started), fmt.Sprint(e.PID), printable(e.Host), printable(e.Program), printable(e.Version), printable(e.Name), orDash(printable(e.Page)))
	return err
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// identityOf describes the engine of a holder in one line, and since when it has the lock.
func identityOf(h *inspect.Holder) (who, since string) {
	e := h.Engine
	who = fmt.Sprintf("%s: program %s, host %s, pid %d, started %s", printable(e.Name), printable(e.Program), printable(e.Host), e.PID, orDash(e.Started))
	if e.Page != "" {
		who += ", page " + printable(e.Page)
	}
	granted, err := time.Parse(time.RFC3339Nano, h.Since)
	if err != nil {
		return who, "unknown: its engine did not reply"
	}
	return who, fmt.Sprintf("%s (%v)", granted.Format(time.RFC3339), time.Since(granted).Round(time.Millisecond))
}
