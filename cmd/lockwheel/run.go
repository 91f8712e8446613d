package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel"
)

// tokenVariable is the environment variable with the fencing token of a program that runs with --fenced.
const tokenVariable = "LOCKWHEEL_TOKEN"

const (
	defaultLease = 30 * time.Second
	minLease     = 100 * time.Millisecond // the library's own
	defaultGrace = 5 * time.Second
)

const runHelp = `Runs a program while it holds the lock, and unlocks when the program ends. The lock is renewed all the time. By default
it is a plain lock; all users of a name must use the same kind. A name that begins with a - follows a -- of its own:
lockwheel run -- -name -- PROGRAM.

Signals (HUP, INT, QUIT, TERM, USR1, USR2, ALRM, WINCH) are passed on to the program. Before it is started, HUP, INT,
QUIT and TERM end the wait. At a terminal, Ctrl-C and Ctrl-\ reach the program by themselves and are not passed on.
After a HUP, INT, QUIT or TERM that is passed on, the program and its own group get CONT, so that one that is stopped
ends. A program in the background that reads the terminal is stopped, and the lock stays held: give it other input, such
as </dev/null.

If the lock is lost (the server did not reply for a whole lease, the key was deleted, the lock was forced), the program
and its process group get TERM within 1 s of that being known, and KILL after --grace. At a terminal the program shares
the terminal's process group, and only the program itself gets them.

If lockwheel itself is killed (kill -9), nothing renews the lock, and it is free after its lease. On Linux the program
is then killed at once, but not what it has started, nor a program that changes its user, as sudo does; elsewhere it
goes on without the lock. While lockwheel is stopped (kill -STOP), nothing renews the lock either, and the program goes
on: the loss is noticed when lockwheel continues.

A program that has become another user, as with sudo, gets no signal of an unprivileged lockwheel: after a loss it goes
on without the lock, and a line on stderr says so. Write sudo lockwheel run NAME -- PROGRAM, not lockwheel run NAME --
sudo PROGRAM.

If the server does not reply, --wait and signals end the wait about 4 s later at most. Who holds a lock that was not
acquired is said if that is known within 2 s.

When only a message is left to print, signals end lockwheel: it would wait for ever for the reader of a full pipe.

The program's environment is that of lockwheel; with --fenced it also has LOCKWHEEL_TOKEN, a number that is greater
than that of every earlier holder.

Exit status: the program's, or 128 + n if signal n ended it, or
  121  not acquired: the lock was held until --wait ended, as far as the server's last reply said
  122  lost: the lock was lost while the program ran, whatever its own status
  125  an error before the program was started, such as no server, unless 121 holds, or a wrong command line
  126  the program cannot be started
  127  there is no such program
  128 + n  signal n ended the wait for the lock`

// runFlags are the flags of run.
type runFlags struct {
	wait, lease, grace                time.Duration
	noWait, read, write, fair, fenced bool
	foreign                           bool
	bounded                           bool // --wait was given
}

func newRun(g *globals) *cobra.Command {
	f := &runFlags{}
	c := &cobra.Command{
		Use:               "run NAME [flags] -- PROGRAM [ARGUMENT...]",
		Short:             "Run a program while it holds a lock",
		Long:              runHelp,
		Example:           "  lockwheel run nightly-report --wait 10m -- ./report --all\n  lockwheel run import --no-wait --fenced -- sh -c 'exec ./import --token \"$LOCKWHEEL_TOKEN\"'",
		ValidArgsFunction: completeRun,
		RunE: func(c *cobra.Command, args []string) error {
			f.bounded = c.Flags().Changed("wait") || f.noWait
			dash := c.ArgsLenAtDash()
			if dash == 0 && len(args) > 1 && args[1] == "--" { // so that a name may begin with a -
				args, dash = slices.Delete(args, 1, 2), 1
			}
			if err := f.check(c, args, dash); err != nil {
				return err
			}
			r := &runner{globals: g, flags: f, name: args[0], argv: args[1:], messages: c.ErrOrStderr()}
			return r.run(c.Context())
		},
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c.Flags().NArg() > 1 { // the flag stands behind the program's name
			return wrong("%w: want -- before the program, as in: lockwheel run NAME -- PROGRAM", err)
		}
		return wrong("%w", err)
	})
	flags := c.Flags()
	flags.DurationVar(&f.wait, "wait", 0, "wait at most this `duration` for the lock (default: without limit)")
	flags.BoolVar(&f.noWait, "no-wait", false, "do not wait: try once")
	flags.DurationVar(&f.lease, "lease", defaultLease, "how long the lock lives without renewal, and so how long others wait if this machine dies")
	flags.DurationVar(&f.grace, "grace", defaultGrace, "how long the program has between TERM and KILL when the lock is lost; 0 is KILL at once")
	flags.BoolVar(&f.read, "read", false, "a read/write lock: hold it with other readers")
	flags.BoolVar(&f.write, "write", false, "a read/write lock: hold it alone")
	flags.BoolVar(&f.fair, "fair", false, "a fair lock: first come, first served")
	flags.BoolVar(&f.fenced, "fenced", false, "a fenced lock: the program gets its token as LOCKWHEEL_TOKEN")
	flags.BoolVar(&f.foreign, "foreign", false, "wait for a string at the lock's key: the lock of redislock, redsync or rueidislock (lockwheel's Options.Foreign)")
	return c
}

// completeRun completes nothing for the name, and files for the program.
func completeRun(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// check checks the command line. The dash is the number of arguments before the --, or less than 0 without one.
func (f *runFlags) check(c *cobra.Command, args []string, dash int) error {
	kinds := 0
	for _, is := range []bool{f.read, f.write, f.fair, f.fenced} {
		if is {
			kinds++
		}
	}
	switch {
	case dash < 0:
		return wrong("want -- before the program, as in: lockwheel run NAME -- PROGRAM")
	case dash != 1:
		return wrong("want one name before the --, and not %d", dash)
	case len(args) < 2:
		return wrong("want a program behind the --")
	case args[0] == "":
		return wrong("a lock has no empty name")
	case hasPassword(args[0]):
		return errPassword
	case kinds > 1:
		return wrong("--read, --write, --fair and --fenced are kinds of lock: want one of them")
	case f.foreign && (f.read || f.write || f.fair):
		return wrong("--foreign: only a plain or a fenced lock waits for the lock of another library")
	case f.noWait && c.Flags().Changed("wait"):
		return wrong("--wait and --no-wait: want one of them")
	case f.wait < 0:
		return wrong("--wait %v: want 0 or more", f.wait)
	case f.lease < minLease:
		return wrong("--lease %v: want at least %v", f.lease, minLease)
	case f.grace < 0:
		return wrong("--grace %v: want 0 or more", f.grace)
	}
	return nil
}

// runner is one run.
type runner struct {
	globals  *globals
	flags    *runFlags
	name     string
	argv     []string
	messages io.Writer
	server   rueidis.ClientOption

	signals chan os.Signal
	engine  *lockwheel.Engine
	hold    *lockwheel.Hold

	said      chan struct{} // closed when the last message is printed; nil before the first one
	forbidden string        // what this user may not end, as far as that was said
}

// openTime is how long the server has to reply beyond --wait. It exceeds the library's own timeout for one server, so
// that the error of that one is told; of several silent sentinels each would have that time.
const openTime = 3500 * time.Millisecond

// run returns the program's status, or its own, as a failure.
func (r *runner) run(ctx context.Context) error {
	path, err := exec.LookPath(r.argv[0]) // before the wait, which may be long
	if err != nil {
		return cannotRun(err)
	}
	// Before signals are caught, so that they end this: to read a file can block for ever.
	if r.server, err = r.globals.option(); err != nil {
		return err
	}
	r.signals = make(chan os.Signal, 64)
	signal.Notify(r.signals, passed()...)
	defer r.releaseSignals() // before main prints the error
	surviveBrokenPipe()
	if err := r.acquire(ctx, r.lock, func() { r.unlock() }); err != nil {
		return err
	}
	p, err := start(path, r.argv, r.environment())
	if err != nil {
		r.unlock()
		return cannotRun(err)
	}
	lost := r.attend(p)
	status := p.status()
	if lost == nil {
		lost = r.unlock()
	}
	switch {
	case lost != nil:
		return &failure{exitLost, fmt.Errorf("%w; the program ended with status %d", lost, status)}
	case status != exitOK:
		return &failure{status: status}
	}
	return nil
}

func cannotRun(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &failure{exitNotFound, err}
	}
	return &failure{exitCannotRun, err}
}

// errSignal ends the wait for the lock.
var errSignal = errors.New("ended by a signal")

// acquire waits for the lock. The first signal that ends programs ends the wait; a lock that is granted at the same
// moment is unlocked.
func (r *runner) acquire(ctx context.Context, lock func(context.Context) error, unlock func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	acquired := make(chan error, 1)
	go func() { acquired <- lock(ctx) }()
	ended := 0
	for {
		select {
		case s := <-r.signals:
			if n := ends(s); n > 0 && ended == 0 {
				ended = n
				cancel(errSignal)
			}
		case err := <-acquired:
			switch {
			case ended > 0:
				if err == nil {
					unlock()
				}
				return &failure{status: exitSignal + ended}
			case errors.Is(err, lockwheel.ErrNotAcquired):
				return &failure{exitNotAcquired, err}
			case err != nil && errors.As(err, new(*failure)):
				return err
			case err != nil:
				return &failure{exitRunFailed, err}
			}
			return nil
		}
	}
}

// lock opens the engine and waits for the lock. It sets the engine and the hold.
func (r *runner) lock(ctx context.Context) (err error) {
	opening := ctx
	if r.flags.bounded {
		within := r.flags.wait + openTime
		limited, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("connecting to %s: no server within %v", strings.Join(r.server.InitAddress, ", "), within))
		defer cancel()
		opening = limited
	}
	if r.engine, err = r.globals.openAt(opening, r.server, lockwheel.Options{Lease: r.flags.lease, Foreign: r.flags.foreign}); err != nil {
		return err
	}
	lock := r.engine.Mutex(r.name)
	switch {
	case r.flags.read:
		lock = r.engine.RWMutex(r.name).RLocker()
	case r.flags.write:
		lock = r.engine.RWMutex(r.name).Writer()
	case r.flags.fair:
		lock = r.engine.FairMutex(r.name)
	case r.flags.fenced:
		lock = r.engine.FencedMutex(r.name)
	}
	var wait []lockwheel.Option
	if r.flags.bounded {
		wait = append(wait, lockwheel.Wait(r.flags.wait))
	}
	// The wait may be ended by a context, but not the hold.
	r.hold, err = lock.Lock(ctx, wait...)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, lockwheel.ErrNotAcquired):
		err = r.withHolder(err)
	default:
		err = withFlag(err)
	}
	r.engine.Close()
	return err
}

// environment returns that of the program.
func (r *runner) environment() []string {
	if !r.flags.fenced {
		return os.Environ()
	}
	return append(os.Environ(), tokenVariable+"="+strconv.FormatUint(r.hold.Token(), 10))
}

// attend passes signals on until the program ends. If the lock is lost before, it ends the program and returns the
// loss.
func (r *runner) attend(p *program) (lost error) {
	ended, kill := r.hold.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case s := <-r.signals:
			p.pass(s)
		case <-ended:
			ended, lost = nil, r.hold.Err()
			var forbidden error
			if r.flags.grace > 0 {
				forbidden = p.terminate()
			}
			kill = time.After(r.flags.grace)
			r.say("%v; ending %s (process %d)", lost, r.argv[0], p.id())
			r.sayForbidden(forbidden, "process", p.id())
		case <-kill:
			kill = nil
			r.sayForbidden(p.kill(), "process", p.id())
		case <-p.ended:
			if lost != nil {
				r.sayForbidden(p.endGroup(kill), "what is left of process group", p.id())
				r.closeLost()
				r.releaseSignals()
				<-r.said
			}
			return lost
		}
	}
}

// sayForbidden says that this user may not end what runs without the lock, if that is so.
func (r *runner) sayForbidden(forbidden error, what string, id int) {
	if forbidden != nil && r.forbidden != what {
		r.forbidden = what
		r.say("the lock is lost, but %s %d goes on: it belongs to another user and cannot be ended (%v)", what, id, forbidden)
	}
}

// say prints a message on a goroutine of its own, one after the other; said is closed after the last one. To print can
// block for as long as the pipe to the reader of stderr is full. Meanwhile the program must be ended all the same.
func (r *runner) say(format string, args ...any) {
	before := r.said
	said := make(chan struct{})
	r.said = said
	go func() {
		defer close(said)
		if before != nil {
			<-before
		}
		fmt.Fprintf(r.messages, "lockwheel run: "+format+"\n", args...)
	}()
}

// releaseSignals has signals end this process from now on: nothing is left to do but to print, which can block for
// ever.
func (r *runner) releaseSignals() { signal.Stop(r.signals) }

// closeTime is how long run waits for its engine to close after a loss. An engine that is not closed stays in the
// list of engines until its record expires, but a server that is gone must not delay the end.
const closeTime = time.Second

// closeLost closes the engine after a loss.
func (r *runner) closeLost() {
	atMost(closeTime, func() { r.engine.Close() })
}

// atMost calls f on a goroutine of its own, and waits that long for its end.
func atMost(d time.Duration, f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(d):
	}
}

// unlock gives the lock back. It returns an error if the lock was lost before. If the server did not reply, it only
// says so: the program ended while it held the lock.
func (r *runner) unlock() error {
	err := r.hold.Unlock(context.Background()) // Options.CallTimeout bounds it
	switch {
	case errors.Is(err, lockwheel.ErrLost):
		r.closeLost()
		return err
	case err != nil:
		r.releaseSignals()
		fmt.Fprintf(r.messages, "lockwheel run: %v; the lock is free within %v\n", err, r.flags.lease)
		return nil
	}
	r.engine.Close()
	return nil
}
