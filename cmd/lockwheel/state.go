package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

func newState(g *globals) *cobra.Command {
	var asJSON, waiters bool
	c := &cobra.Command{
		Use:   "state NAME...",
		Short: "Print who holds locks, for how long still, and how many wait",
		Long: `Prints for each lock its kind, its holders with their counts, how long its key lives without renewal (TTL), its last
fencing token, how many clients listen for its release and how long its fair queue is.

A holder that uses lockwheel is named by its engine's record: name, program, host, process. Its engine is asked over
Pub/Sub since when it has the lock, of very many readers eight; it has 1 s for the reply. It may reply that it does not
hold the lock: the key was left behind, if the same is printed again some seconds later. Nothing is written. A holder has
no record if it is no engine of lockwheel, is anonymous, has another prefix, or died and its record has expired. Without
--prefix the name may begin with the prefix of its engine.

The kind is what the server shows: a plain, a fair and a fenced lock look the same unless there is a fair queue or a
counter of tokens. A client listens once for all its callers; clients that poll are not counted. The fair queue includes places of waiters that died and were not removed yet.

With --waiters the engines that have a record are asked how many of their callers wait, and for how long the first of
them has; of very many engines 1000. They are found by looking through all keys with SCAN, as engines does, and have 1 s
for the reply. One that listens and does not reply is named: it may be stopped. Engines that do not listen, and other
clients that listen for the release, are counted.

If a node of a cluster did not reply, the clients that listen there are missing. The number is then followed by +, and a
line says what is missing.

Exit status: 0 if all locks were read, free or not; 1 on an error, also if a node of a cluster did not reply: then what
the others have is printed; 2 for a wrong command line.`,
		Args:              func(_ *cobra.Command, args []string) error { return names(args, 1, 0) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := g.inspect(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer s.Close()
			nodes, silent := s.Nodes(c.Context())
			var engines *inspect.Listing
			var unread error
			var parts []string // what is known in part, and why
			for _, name := range args {
				l, err := s.ReadFrom(c.Context(), name, nodes, silent)
				if err == nil || l != nil && s.Cluster() { // the holder is known all the same
					err = errors.Join(err, s.Identify(c.Context(), l))
				}
				if err != nil {
					unread = errors.Join(unread, s.About(c.Context(), name, err, silent))
				}
				switch {
				case err != nil && !s.Cluster():
					return failed(unread)
				case l == nil:
					continue // its node does not reply; others may
				}
				if waiters && engines == nil {
					engines = s.List(c.Context(), nodes, silent)
				}
				if waiters {
					s.AddWaiters(c.Context(), l, engines)
				}
				if part := partOf(l); part != "" && err == nil && !slices.Contains(parts, part) {
					parts = append(parts, part)
					unread = errors.Join(unread, errors.New(part))
				}
				if asJSON {
					err = writeJSON(c.OutOrStdout(), l)
				} else {
					err = describe(c.OutOrStdout(), l)
				}
				if err != nil {
					return failed(errors.Join(unread, err))
				}
			}
			return failed(unread)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&waiters, "waiters", false, "print which engines have callers that wait")
	return c
}

// partOf says which numbers of a state are those of a part of the nodes, and why; "" if they are of all.
func partOf(l *inspect.Lock) string {
	switch {
	case l.Waiting != nil && l.Waiting.Error != "":
		return "not all that wait are counted: " + l.Waiting.Error
	case l.Waiting == nil && l.Waiters != nil && l.Waiters.Silent():
		return "not all that wait are counted: " + l.Waiters.Error
	}
	return ""
}

func newLs(g *globals) *cobra.Command {
	var asJSON, foreign bool
	c := &cobra.Command{
		Use:   "ls [PATTERN]",
		Short: "List the locks that are held",
		Long: `Lists the locks that are held, those with a name that matches the pattern: * is any text, ? any byte, [ab] one of
some, and \ takes the meaning from the next character. Quote it, so that the shell does not read it.

It looks through all keys with SCAN, a few hundred at a time, in a cluster on every master. It prints as it goes and
keeps nothing, so the order is the server's. A lock that is taken or unlocked meanwhile may be missing, and one can
appear twice while the server resizes its table. A lock is a hash with one holder's field, or with a mode and holders.
A COUNT such as 64+ is that of the readers that were read, of very many.

With --foreign it looks through all keys once more, for strings that are probably the locks of redislock, redsync or
rueidislock: by the form of the value, or by a key that begins with rueidislock:. KIND is the library.

Exit status: 0 if all nodes were read; 1 on an error, also if a node of a cluster did not reply: then the locks of the
others are listed; 2 for a wrong command line.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return wrong("want one pattern, and quoted, so that the shell does not replace it by names of files")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := g.inspect(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer s.Close()
			pattern := "*"
			if len(args) > 0 {
				pattern = args[0]
			}
			nodes, silent := s.Nodes(c.Context())
			var unwritten error
			print := func(l *inspect.Lock) error {
				if asJSON {
					unwritten = writeJSON(c.OutOrStdout(), l)
				} else {
					unwritten = printRow(c.OutOrStdout(), l)
				}
				return unwritten
			}
			if !asJSON {
				if err := printHead(c.OutOrStdout()); err != nil {
					return failed(err)
				}
			}
			denied, strings := 0, 0
			for _, n := range nodes {
				some, err := s.Scan(c.Context(), n, pattern, print)
				denied += some
				if err == nil && foreign {
					some, err = s.ScanForeign(c.Context(), n, pattern, print)
					strings += some
				}
				if unwritten != nil {
					return failed(errors.Join(silent, unwritten))
				}
				silent = errors.Join(silent, s.AboutNode(n, err)) // others may have locks
			}
			if denied > 0 {
				fmt.Fprintf(c.ErrOrStderr(), "hashes that this user may not read, and that may be locks: %d\n", denied)
			}
			if strings > 0 {
				fmt.Fprintf(c.ErrOrStderr(), "strings that this user may not read, and that may be locks of another library: %d\n", strings)
			}
			return failed(silent)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	c.Flags().BoolVar(&foreign, "foreign", false, "list also strings that are probably locks of redislock, redsync or rueidislock")
	return c
}
