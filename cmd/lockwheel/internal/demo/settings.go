package demo

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// settings are the demo's flags.
type settings struct {
	redis   string
	locks   int
	hold    time.Duration
	workers int
	hot     int
	lease   time.Duration
	listen  string

	option rueidis.ClientOption // parsed from redis
}

// Bounds of the flags. Below the lower bounds there is nothing to see. The upper bounds keep a typing mistake from
// using all memory.
const (
	maxLocks   = 10_000_000
	maxWorkers = 100_000
	minHold    = 100 * time.Millisecond
	minLease   = 100 * time.Millisecond // the library's own
)

func parse(args []string) (settings, error) {
	var s settings
	flags := s.flags()
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q: everything is said with flags", flags.Arg(0))
	}
	if err := s.check(); err != nil {
		return s, err
	}
	if s.redis == "" {
		return s, nil
	}
	var err error
	s.option, err = readServer(s.redis)
	return s, err
}

// flags binds the settings to their flags and sets their defaults.
func (s *settings) flags() *flag.FlagSet {
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed by the caller, once
	f.Usage = func() {}
	f.StringVar(&s.redis, "redis", "", "run on this `server`: host:port, or a URL as redis://user:password@host:6379/0, or\n"+
		"rediss://... for TLS. Without it, on a small server inside this process.\n"+
		"All keys begin with lockwheel-demo/ and are gone when it ends; nothing else is touched")
	f.IntVar(&s.locks, "locks", 10_000, "how many locks to take and keep")
	s.hold = 30 * time.Second
	f.Var((*durationFlag)(&s.hold), "for", "how long to keep them: a `duration` such as 5s or 2m")
	f.IntVar(&s.workers, "workers", 64, "how many goroutines lock and unlock further names meanwhile, as fast as they can")
	f.IntVar(&s.hot, "hot", 8, "how many of the workers go for one and the same name, the hot one; a second\n"+
		"engine, as another process would be, sends as many against them")
	f.Var((*durationFlag)(&s.lease), "lease", "the `duration` that a lock lives in the server without renewal. It is renewed five times\n"+
		"as often, and lost if no renewal gets through for a whole lease. The default is 5s, so\n"+
		"that each kept lock is renewed once a second; longer for so many locks that the server\n"+
		"would be too busy with that")
	f.StringVar(&s.listen, "listen", "", "serve the page of both engines and their metrics (/metrics, for Prometheus) at this `address`\n"+
		"meanwhile, such as 127.0.0.1:9464. There is no login; port 0 takes a free port")
	return f
}

// check rejects invalid settings.
func (s *settings) check() error {
	switch {
	case s.locks < 1 || s.locks > maxLocks:
		return fmt.Errorf("-locks %d: want 1 to %d", s.locks, maxLocks)
	case s.hold < minHold:
		return fmt.Errorf("-for %v: want at least %v", s.hold, minHold)
	case s.workers < 1 || s.workers > maxWorkers:
		return fmt.Errorf("-workers %d: want 1 to %d", s.workers, maxWorkers)
	case s.lease != 0 && s.lease < minLease:
		return fmt.Errorf("-lease %v: want at least %v", s.lease, minLease)
	case s.hot < 0:
		return errors.New("-hot must not be negative")
	}
	s.hot = min(s.hot, s.workers)
	if s.lease == 0 {
		s.lease = defaultLease(s.locks, s.redis == "")
	}
	return nil
}

// defaultLease returns a lease that is short enough to show many renewals. It is long enough that they leave most of
// the server's time to the workers.
func defaultLease(locks int, embedded bool) time.Duration {
	const short = 5 * time.Second
	perSecond := 40_000 // renewals
	if embedded {
		perSecond = 12_000
	}
	needed := time.Duration(locks) * renewalsPerLease * time.Second / time.Duration(perSecond)
	return max(short, needed.Truncate(time.Second))
}

// Usage returns the text that explains the demo and its flags.
func Usage() string {
	var b strings.Builder
	b.WriteString(`Takes many locks, keeps them renewed, and lets others come and go meanwhile. Prints a line a second,
then how long lock calls took, and a verdict.

Usage:

	lockwheel demo [flags]

The columns: locks held now; a second, locks acquired, renewed, and handed on inside an engine without
asking the server; callers waiting now; the latest that a renewal has been confirmed past its due time
so far; locks lost so far.

It exits with 0 if no held lock was lost, never two held one name at once, and nothing is left in the
server; with 1 if not, or if it could not run; with 2 for a wrong flag. Ctrl-C ends it early and
cleanly, with the same verdict and status; a second Ctrl-C kills it.

Flags:

`)
	var s settings
	f := s.flags()
	f.SetOutput(&b)
	f.PrintDefaults()
	return b.String()
}
