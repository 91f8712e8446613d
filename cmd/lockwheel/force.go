package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

func newForce(g *globals) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "force NAME",
		Short: "Take a lock away from its holder",
		Long: `Takes the lock away from its holder, or from all its readers, and wakes the clients that wait. It prints the lock's
state and asks first, unless --yes is given. If another client has an exclusive lock when the answer comes, nothing is done.
That is asked right before, so one that gets the lock within the time of a round trip can lose it.
If the user may not read the state, it says so and that the holder is unknown. Then any hash counts as a lock.

The holder is not asked. The engine of a holder that uses lockwheel is told, and loses the lock at once. One that cannot be
told notices at its next renewal, within 10 s by default, and a lock with a lease of its own when that ends. Until then
two programs may consider themselves the holder, so first make sure that the program has ended. One that is only stopped (SIGSTOP,
Ctrl-Z) goes on where it was when it is continued.

Exit status: 0 when the lock was taken away; 3 if it was free; 1 on an error, or if the answer was no; 2 for a wrong
command line.`,
		Args:              func(_ *cobra.Command, args []string) error { return names(args, 1, 1) },
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			l, err := g.readHeld(c.Context(), c.ErrOrStderr(), args[0], yes)
			if inspect.Refused(err) {
				return g.forceUnread(c, args[0], yes, err)
			}
			if err != nil {
				return err
			}
			if yes {
				return g.force(c, l, true)
			}
			if !confirmed(c, l) {
				return failed(errNotConfirmed)
			}
			now, err := g.readHeld(c.Context(), io.Discard, args[0], true)
			switch {
			case err != nil:
				return err
			case changed(l, now):
				return failed(fmt.Errorf("lock %q: held by %s by now, nothing was done", args[0], holdersOf(now)))
			}
			return g.force(c, now, false)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

// forceUnread takes away a lock with a state that this user may not read: an operator in an incident can force although
// the user was made for an engine. It says that the holder is unknown.
func (g *globals) forceUnread(c *cobra.Command, name string, yes bool, err error) error {
	fmt.Fprintf(c.ErrOrStderr(), "%s: its holder and its kind are unknown, because the server refused to tell: %v\n", printable(name), err)
	if !yes && !asked(c) {
		return failed(errNotConfirmed)
	}
	engine, err := g.open(c.Context(), lockwheel.Options{})
	if err != nil {
		return failed(err)
	}
	defer engine.Close()
	// A writer or a reader is taken away only from a lock of that kind, so these come first. The rejection of a kind is
	// that of a user that has no locks of it; a plain one comes last.
	rw := engine.RWMutex(name)
	kinds := []lockwheel.Mutex{rw.Writer(), rw.RLocker(), engine.Mutex(name)}
	if g.hasQueue(c.Context(), name) {
		kinds[2] = engine.FairMutex(name)
	}
	for _, lock := range kinds {
		var wasLocked bool
		if wasLocked, err = lock.ForceUnlock(c.Context()); wasLocked {
			fmt.Fprintf(c.OutOrStdout(), "%s: taken away from an unknown holder\n", printable(name))
			return nil
		}
		if errors.Is(err, lockwheel.ErrUnavailable) { // it may have been taken away
			break
		}
	}
	if err != nil {
		return failed(err)
	}
	return &failure{exitNo, fmt.Errorf("lock %q: it is free", name)}
}

// hasQueue reports whether waiters of a fair lock are known, which only a force of that kind wakes.
func (g *globals) hasQueue(ctx context.Context, name string) bool {
	s, err := g.inspect(ctx, io.Discard)
	if err != nil {
		return false
	}
	defer s.Close()
	return s.HasQueue(ctx, name)
}

// changed reports whether another client has the lock than before. Readers come and go.
func changed(before, now *inspect.Lock) bool {
	return now.Kind != before.Kind || now.Kind != inspect.Read && holdersOf(now) != holdersOf(before)
}

// readHeld returns an error for a lock that is not held. brief leaves out what is only to be shown: to find it, the
// other nodes of a cluster and the holder's engine are asked, which may be silent.
func (g *globals) readHeld(ctx context.Context, warnings io.Writer, name string, brief bool) (*inspect.Lock, error) {
	l, err := g.read(ctx, warnings, name, brief)
	switch {
	case err != nil:
		return nil, err
	case l.Kind == inspect.NoLock:
		return nil, failed(fmt.Errorf("lock %q: no lock, but a key of type %s; it is left as it is", name, l.Type))
	case l.Kind == inspect.Free:
		return nil, &failure{exitNo, fmt.Errorf("lock %q: it is free", name)}
	}
	return l, nil
}

func (g *globals) read(ctx context.Context, warnings io.Writer, name string, brief bool) (*inspect.Lock, error) {
	s, err := g.inspect(ctx, warnings)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if brief {
		l, err := s.ReadQueue(ctx, name)
		if err != nil {
			err = failed(s.About(ctx, name, err, nil))
		}
		return l, err
	}
	nodes, silent := s.Nodes(ctx)
	l, err := s.ReadFrom(ctx, name, nodes, silent)
	if err != nil {
		return nil, failed(s.About(ctx, name, err, silent))
	}
	_ = s.Identify(ctx, l) // the description of the holder says why its engine is not known
	return l, nil
}

// confirmed shows the lock and asks. No answer is no.
func confirmed(c *cobra.Command, l *inspect.Lock) bool {
	describe(c.ErrOrStderr(), l)
	return asked(c)
}

var errNotConfirmed = errors.New("not confirmed, nothing was done")

// asked asks and reports whether the answer was yes.
func asked(c *cobra.Command) bool {
	fmt.Fprint(c.ErrOrStderr(), "Take this lock away? [y/N] ")
	line, _ := bufio.NewReader(c.InOrStdin()).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

// force uses the kind that the server shows: it decides which clients are woken. Right before, with the engine open, it
// asks who holds the lock, so another client can get the lock unseen only within the time of a round trip. Unless
// anyHolder is set, an exclusive lock is forced only if its holder is still the one in l.
func (g *globals) force(c *cobra.Command, l *inspect.Lock, anyHolder bool) error {
	engine, err := g.open(c.Context(), lockwheel.Options{})
	if err != nil {
		return failed(err)
	}
	defer engine.Close()
	lock := engine.Mutex(l.Name)
	switch {
	case l.Kind == inspect.Read:
		lock = engine.RWMutex(l.Name).RLocker()
	case l.Kind == inspect.Write:
		lock = engine.RWMutex(l.Name).Writer()
	case l.Waiting.Queue > 0:
		lock = engine.FairMutex(l.Name)
	}
	state, err := lock.State(c.Context())
	switch {
	case err != nil:
		return failed(err)
	case !state.Locked:
		return free(l.Name)
	case l.Kind != inspect.Read && state.Owner == "":
		return failed(fmt.Errorf("lock %q: held as another kind by now, nothing was done", l.Name))
	case l.Kind != inspect.Read && !anyHolder && state.Owner != ownerOf(l):
		return failed(fmt.Errorf("lock %q: held by %s by now, nothing was done", l.Name, printable(state.Owner)))
	}
	wasLocked, err := lock.ForceUnlock(c.Context())
	switch {
	case err != nil:
		return failed(err)
	case !wasLocked:
		return free(l.Name)
	}
	holder := printable(state.Owner)
	if state.Owner == "" {
		holder = holdersOf(l)
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: taken away; right before, it was held by %s\n", printable(l.Name), holder)
	return nil
}

// free is the failure of a force that found nothing to take.
func free(name string) error {
	return &failure{exitNo, fmt.Errorf("lock %q: by now it is free, or held as another kind", name)}
}

// ownerOf returns the holder of an exclusive or a write lock as its State has it. A writer may also be a reader.
func ownerOf(l *inspect.Lock) string {
	for _, h := range l.Holders {
		if h.Write || l.Kind == inspect.Exclusive {
			return h.ID
		}
	}
	return ""
}
