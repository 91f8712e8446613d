// Command lockwheel takes, inspects and frees locks from the shell. Run it without arguments for its commands;
// docs/operate/command.md is its reference, and run.md beside it that of run.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// Exit statuses. A command that runs another program (run) ends with that program's status, so its own ones are
// others, beside those that shells and timeout(1) use.
const (
	exitOK     = 0
	exitFailed = 1 // an error: the server, its permissions
	exitUsage  = 2 // a wrong command line
	exitNo     = 3 // the answer is no: still held, or already free

	exitNotAcquired = 121 // run: the lock was held until the wait ended
	exitLost        = 122 // run: the lock was lost while the program ran
	exitRunFailed   = 125 // run: an error before the program was started, or a wrong command line
	exitCannotRun   = 126 // run: the program cannot be started
	exitNotFound    = 127 // run: there is no such program
	exitSignal      = 128 // run: added to the number of the signal that ended the program, or the wait
)

// failure is an error with an exit status. Without an error nothing is printed.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return fmt.Sprintf("status %d", f.status)
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// failed gives an error the status of a failed command.
func failed(err error) error {
	if known := (*failure)(nil); err == nil || errors.As(err, &known) {
		return err
	}
	return &failure{exitFailed, err}
}

// wrong is an error of the command line.
func wrong(format string, args ...any) error { return &failure{exitUsage, fmt.Errorf(format, args...)} }

func main() {
	os.Exit(execute(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// execute runs the command and returns its exit status.
func execute(ctx context.Context, args []string, std streams) (status int) {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	f := &failure{exitUsage, err} // what cobra itself finds is wrong with the command line
	errors.As(err, &f)
	if f.err != nil {
		fmt.Fprintf(withoutUsers{std.err}, "%s: %v\n", command.CommandPath(), f.err)
	}
	if f.status == exitUsage && f.err != nil { // without an error it is the status of the program that run ran
		fmt.Fprintf(std.err, "Try: %s --help\n", command.CommandPath())
		if command.Name() == "run" {
			return exitRunFailed
		}
	}
	return f.status
}

const rootHelp = `lockwheel takes, inspects and frees locks on a Redis or Valkey server: those of lockwheel and of Redisson.

The server is the one that LOCKWHEEL_REDIS names, a URL such as

    redis://user:password@127.0.0.1:6379/0       rediss:// for TLS
    redis://node1:6379?addr=node2:6379           a cluster
    redis://sentinel1:26379?master_set=name      the master behind sentinels

or 127.0.0.1:6379. Keep a password in the environment or in a file (--redis-file): the process list shows --redis to
all users of the machine.`

func newRoot() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:           "lockwheel",
		Short:         "Take, inspect and free locks on a Redis or Valkey server",
		Long:          rootHelp,
		Version:       version(debug.ReadBuildInfo()),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &failure{exitUsage, err} })
	flags := root.PersistentFlags()
	flags.Var(nonEmpty{&g.redis}, "redis", "the server: a `URL` or host:port. The process list shows it, so keep a password in LOCKWHEEL_REDIS\nor use --redis-file")
	flags.Var(nonEmpty{&g.redisFile}, "redis-file", "read the URL of the server from this `file`")
	flags.StringVar(&g.prefix, "prefix", "", "put this `text` before every name in the server (lockwheel's Options.Prefix, Redisson's NameMapper)")
	root.AddCommand(newRun(g), newState(g), newLs(g), newEngines(g), newWait(g), newForce(g), newTop(g), newDemo())
	requireShell(root)
	return root
}

// nonEmpty is a flag that is not empty if it is there: a script with an empty variable must not reach another server.
type nonEmpty struct{ to *string }

func (f nonEmpty) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*f.to = text
	return nil
}

func (f nonEmpty) String() string {
	if f.to == nil {
		return ""
	}
	return *f.to
}

func (nonEmpty) Type() string { return "string" }

// requireShell makes completion without one of its shells a wrong command line. Of itself it would print its help and
// end with 0, and a script that reads the output would not notice.
func requireShell(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(*cobra.Command, []string) error { return wrong("want bash, zsh, fish or powershell") }
}

// version says which version of the module the program was built from, and which commit if it was built in a clone.
func version(info *debug.BuildInfo, known bool) string {
	if !known {
		return "(unknown)"
	}
	text := cmp.Or(info.Main.Version, "(devel)")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text + " " + info.GoVersion
}

// names checks the names of locks among the arguments.
func names(args []string, least, most int) error {
	switch {
	case len(args) < least:
		return wrong("want the name of a lock")
	case most > 0 && len(args) > most:
		return wrong("unexpected argument %q", args[most])
	case slices.Contains(args, ""):
		return wrong("a lock has no empty name")
	case slices.ContainsFunc(args, hasPassword):
		return errPassword
	}
	return nil
}

// errPassword is the error of a name that is a URL in the wrong place. Names are printed, so it must not be one.
var errPassword = wrong("want the name of a lock, and not a URL with a password: that belongs in %s, or in the file of --redis-file", serverVariable)

// hasPassword reports whether a text is the URL of a server with a password. It finds too many rather than too few,
// because a password can contain any character.
func hasPassword(text string) bool { return urlWithPassword.MatchString(text) }

var urlWithPassword = regexp.MustCompile(`(?is)^\s*(redis|rediss|valkey|valkeys|unix)://.*:.*@`)
