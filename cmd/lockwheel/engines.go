package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

func newEngines(g *globals) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "engines",
		Short: "List the engines that say who they are",
		Long: `Lists the records that engines of lockwheel keep in the server: how long ago the engine wrote the record, when it was
opened, process, host, program, version, the id with which the ids of its holders begin, the prefix if any engine has one,
name, and the address of its page. With --prefix only engines with that prefix.

A record is written every 10 s: one that is older than about 10 s may be that of a program that died or is stopped. It
expires when the program's watched locks have expired, after an hour at most. Anonymous engines, those that may not write a record, and Redisson clients have none.

It looks through all keys with SCAN, a few hundred at a time, in a cluster on every master. With --json it prints as it goes.

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
	s, err := g.inspect(c.Context(), c.ErrOrStderr())
	if err != nil {
		return err
	}
	defer s.Close()
	nodes, silent := s.Nodes(c.Context())
	var unwritten error
	var table []inspect.Engine // collected, because the prefixes decide which columns there are
	each := func(e *inspect.Engine) error {
		table = append(table, *e)
		return nil
	}
	if asJSON {
		each = func(e *inspect.Engine) error {
			unwritten = writeJSON(c.OutOrStdout(), e)
			return unwritten
		}
	}
	denied := 0
	for _, n := range nodes {
		some, err := s.Engines(c.Context(), n, each)
		denied += some
		if unwritten != nil {
			return failed(errors.Join(silent, unwritten))
		}
		silent = errors.Join(silent, s.AboutNode(n, err)) // others may have records
	}
	if !asJSON {
		if err := printEngines(c.OutOrStdout(), table); err != nil {
			return failed(errors.Join(silent, err))
		}
	}
	if denied > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "records that this user may not read: %d\n", denied)
	}
	return failed(silent)
}

const engineFormat = "%-10s %-20s %7s  %-16s %-16s %-12s %-36s  %s%-*s  %s\n"

// maxNameWidth is the most columns that names get: one very long name does not push all pages away.
const maxNameWidth = 40

// printEngines prints a table. It has a column for prefixes if there is one.
func printEngines(to io.Writer, engines []inspect.Engine) error {
	prefixed := slices.ContainsFunc(engines, func(e inspect.Engine) bool { return e.Prefix != "" })
	column := func(prefix string) string {
		if !prefixed {
			return ""
		}
		return fmt.Sprintf("%-12s ", prefix)
	}
	width := len("NAME") // of that column
	for _, e := range engines {
		width = min(max(width, utf8.RuneCountInString(printable(e.Name))), maxNameWidth)
	}
	out := bufio.NewWriter(to)
	fmt.Fprintf(out, engineFormat, "RENEWED", "STARTED", "PID", "HOST", "PROGRAM", "VERSION", "ID", column("PREFIX"), width, "NAME", "PAGE")
	for _, e := range engines {
		renewed := "-"
		if e.Renewed >= 0 {
			renewed = (time.Duration(e.Renewed) * time.Millisecond).String()
		}
		fmt.Fprintf(out, engineFormat, renewed, orDash(e.Started), fmt.Sprint(e.PID), printable(e.Host), printable(e.Program), printable(e.Version),
			e.ID, column(orDash(printable(e.Prefix))), width, printable(e.Name), orDash(printable(e.Page)))
	}
	return out.Flush()
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
	if h.NotHeld {
		return who, "unknown: its engine does not hold it"
	}
	if h.NotAsked {
		return who, "unknown: its engine was not asked, as those of other holders were"
	}
	if h.SinceError != "" {
		return who, "unknown: its engine could not be asked: " + printable(h.SinceError)
	}
	granted, err := time.Parse(time.RFC3339Nano, h.Since)
	if err != nil {
		return who, "unknown: its engine did not reply"
	}
	return who, fmt.Sprintf("%s (%v)", granted.Format(time.RFC3339), time.Since(granted).Round(time.Millisecond))
}
