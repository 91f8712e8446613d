package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
)

// Bounds of top's flags.
const (
	minInterval = 100 * time.Millisecond
	maxSample   = 1_000_000
	maxRows     = 1000
)

// topFlags are the flags of top.
type topFlags struct {
	interval     time.Duration
	sample, rows int
	once, asJSON bool
}

func newTop(g *globals) *cobra.Command {
	f := &topFlags{}
	c := &cobra.Command{
		Use:   "top",
		Short: "Show a server's locks live: those most waited for, their number, commands a second",
		Long: `Shows the locks of a server with the most waiters, how many locks there are, and how busy the server is, and again
every --interval, until Ctrl-C.

It looks at --sample keys each time, with SCAN and one to six commands a key, or a few more for one that comes and goes
meanwhile. If the server has more, the number of
locks is an estimate, marked ~; each time it looks at other keys, and again at the locks that it showed last. With a
prefix, only keys with that prefix count as locks.

Waiters are clients that listen for the release, one however many of its callers wait, and places in a fair queue.
Scripts are calls of scripts: each carries the commands of many locks. What the user may not ask is unknown, -1 in JSON.

Exit status: 0, also after Ctrl-C; 1 on an error, without --once only if it cannot begin, and with it also if a node of a
cluster did not reply, when it began or later: then the locks and rates of the others are shown; 2 for a wrong command
line.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return wrong("unexpected argument %q", args[0])
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			option, err := g.option() // before signals are caught, so that they end this: to read a file can block for ever
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// On a goroutine of its own: Ctrl-C ends top also while its output blocks, or a server does.
			ended := make(chan error, 1)
			go func() { ended <- g.top(ctx, c, option, f) }()
			select {
			case err := <-ended:
				if ctx.Err() != nil {
					return nil
				}
				return err
			case <-ctx.Done():
				return nil
			}
		},
	}
	flags := c.Flags()
	flags.DurationVar(&f.interval, "interval", 2*time.Second, "how often to look; with --once, how long to count commands")
	flags.IntVar(&f.sample, "sample", 5000, "how many `keys` to look at each time")
	flags.IntVar(&f.rows, "rows", 20, "how many `locks` to show")
	flags.BoolVar(&f.once, "once", false, "look once, print and end")
	flags.BoolVar(&f.asJSON, "json", false, "with --once: print one JSON object")
	return c
}

// top looks until ctx ends, or once.
func (g *globals) top(ctx context.Context, c *cobra.Command, option rueidis.ClientOption, f *topFlags) error {
	s, err := g.inspectAt(ctx, option, c.ErrOrStderr())
	if err != nil {
		return err
	}
	defer s.Close()
	return failed(newTopView(s, f, c.OutOrStdout()).run(ctx))
}

func (f *topFlags) check() error {
	switch {
	case f.interval < minInterval:
		return wrong("--interval %v: want at least %v", f.interval, minInterval)
	case f.sample < 1 || f.sample > maxSample:
		return wrong("--sample %d: want 1 to %d", f.sample, maxSample)
	case f.rows < 1 || f.rows > maxRows:
		return wrong("--rows %d: want 1 to %d", f.rows, maxRows)
	case f.asJSON && !f.once:
		return wrong("--json: want --once with it")
	}
	return nil
}

// topView is what top keeps between two looks.
type topView struct {
	server *inspect.Server
	flags  *topFlags
	out    io.Writer
	clear  bool // out is a terminal that shows the newest look only

	cursors map[string]uint64       // where the next sample of a node begins
	loads   map[string]inspect.Load // of the last look
	shown   []string                // names of the last look
}

func newTopView(s *inspect.Server, f *topFlags, out io.Writer) *topView {
	v := &topView{server: s, flags: f, out: out, cursors: make(map[string]uint64)}
	if file, ok := out.(*os.File); ok && !f.once {
		info, err := file.Stat()
		v.clear = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return v
}

// look is one picture of the server.
type look struct {
	Server    string          `json:"server"`
	Nodes     int             `json:"nodes"`
	Keys      int64           `json:"keys"` // -1: the server does not tell
	Looked    int             `json:"keys_looked_at"`
	Denied    int             `json:"keys_denied,omitempty"` // that this user may not read
	Locks     int64           `json:"locks"`
	Exact     bool            `json:"exact"`               // Locks is no estimate
	Refused   []string        `json:"refused,omitempty"`   // what the server does not tell, and why
	Commands  float64         `json:"commands_per_second"` // -1, as the next two: the server does not tell
	Scripts   float64         `json:"scripts_per_second"`
	Published float64         `json:"published_per_second"`
	Rates     string          `json:"rates_error,omitempty"` // which nodes the three rates lack, and why
	Top       []*inspect.Lock `json:"top"`
	Error     string          `json:"error,omitempty"` // why nodes or locks are missing; Exact is false then

	noKeys, noInfo bool // a node does not tell
}

// run looks until ctx ends, or once.
func (v *topView) run(ctx context.Context) error {
	nodes, silent := v.server.Nodes(ctx)
	if _, some, err := v.measure(ctx, nodes); len(some) == 0 {
		return errors.Join(silent, err)
	}
	for {
		if !pause(ctx, v.flags.interval) {
			return nil
		}
		l, err := v.look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case v.flags.once && l == nil:
			return err
		case v.flags.once && v.flags.asJSON:
			return errors.Join(err, writeJSON(v.out, l))
		case v.flags.once:
			return errors.Join(err, v.print(l, nil))
		}
		if err := v.print(l, err); err != nil {
			return err
		}
	}
}

// pause reports false if ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// look returns a picture, and with it an error if a node did not reply, now or at the last look. Without any reply
// there is no picture.
func (v *topView) look(ctx context.Context) (*look, error) {
	nodes, missing := v.server.Nodes(ctx)
	l, nodes, err := v.measure(ctx, nodes)
	missing = errors.Join(missing, err)
	locks, sampled, err := v.sample(ctx, nodes, l)
	if missing = errors.Join(missing, err); sampled == 0 {
		return nil, missing
	}
	missing = errors.Join(missing, v.server.AddListeners(ctx, nodes, locks))
	if slices.ContainsFunc(locks, func(l *inspect.Lock) bool { return l.Waiting.Clients < 0 }) {
		why := "PUBSUB NUMSUB or SHARDNUMSUB: WAITERS lacks the clients that listen"
		if v.server.IsReplica() {
			why = "a replica does not know the clients that listen at its master, and may be behind it"
		}
		l.Refused = append(l.Refused, why)
	}
	if missing != nil {
		l.Exact, l.Error = false, missing.Error()
	}
	slices.SortFunc(locks, func(a, b *inspect.Lock) int {
		return cmp.Or(cmp.Compare(b.Waiting.Total(), a.Waiting.Total()), cmp.Compare(a.Name, b.Name))
	})
	l.Top = append([]*inspect.Lock{}, locks[:min(len(locks), v.flags.rows)]...) // never null in JSON
	v.shown = v.shown[:0]
	for _, lock := range l.Top {
		v.shown = append(v.shown, lock.Name)
	}
	if l.Rates != "" {
		missing = errors.Join(missing, errors.New(l.Rates))
	}
	return l, missing
}

// measure counts commands since the last look. It returns also the nodes that replied, and an error of the others.
func (v *topView) measure(ctx context.Context, nodes []inspect.Node) (l *look, some []inspect.Node, failed error) {
	l = &look{}
	var unmeasured []string // at the last look
	before := v.loads
	v.loads = make(map[string]inspect.Load, len(nodes))
	for _, n := range nodes {
		now, err := v.server.Load(ctx, n)
		if err != nil {
			failed = errors.Join(failed, v.server.AboutNode(n, err))
			continue
		}
		some = append(some, n)
		v.loads[n.Addr] = now
		l.Server = now.Version
		l.Keys += now.Keys
		l.noKeys, l.noInfo = l.noKeys || now.NoKeys, l.noInfo || now.NoInfo
		for _, why := range now.Refused {
			if !slices.Contains(l.Refused, why) { // nodes mostly have the same users
				l.Refused = append(l.Refused, why)
			}
		}
		if last, known := before[n.Addr]; known {
			l.addRates(last, now)
		} else if before != nil {
			unmeasured = append(unmeasured, n.Addr)
		}
	}
	if len(unmeasured) > 0 {
		l.Rates = "the rates lack what was not measured at the last look: " + strings.Join(unmeasured, ", ")
	}
	if l.noKeys {
		l.Keys = -1
	}
	if l.noInfo {
		l.Server, l.Commands, l.Scripts, l.Published = "", -1, -1, -1
	}
	l.Nodes = len(some)
	return l, some, failed
}

// addRates adds what a node has done a second since the last look. Counters of a server that was started again are
// smaller.
func (l *look) addRates(last, now inspect.Load) {
	seconds := now.At.Sub(last.At).Seconds()
	if seconds <= 0 {
		return
	}
	l.Commands += max(now.Commands-last.Commands, 0) / seconds
	l.Scripts += max(now.Scripts-last.Scripts, 0) / seconds
	l.Published += max(now.Published-last.Published, 0) / seconds
}

// sample finds locks: those among some keys of each node, and those that the last look showed. It returns also how many
// nodes it could sample, and an error of the others.
func (v *topView) sample(ctx context.Context, nodes []inspect.Node, l *look) (locks []*inspect.Lock, sampled int, failed error) {
	l.Exact = true
	seen := make(map[string]bool)
	for _, n := range nodes {
		part, err := v.server.Sample(ctx, n, v.cursors[n.Addr], max(v.flags.sample/len(nodes), 1))
		if err != nil {
			failed = errors.Join(failed, v.server.AboutNode(n, err))
			continue
		}
		sampled++
		v.cursors[n.Addr] = part.Next
		found := int64(len(part.Locks))
		if !part.Whole {
			l.Exact = false
			if part.Keys > 0 {
				found = max(found, int64(float64(found)*float64(v.loads[n.Addr].Keys)/float64(part.Keys)))
			}
		}
		l.Locks += found
		l.Looked += part.Keys
		l.Denied += part.Denied
		for _, lock := range part.Locks {
			seen[lock.Name] = true
			locks = append(locks, lock)
		}
	}
	for _, name := range v.shown {
		if seen[name] {
			continue
		}
		lock, err := v.server.ReadQueue(ctx, name)
		if err != nil {
			return locks, sampled, errors.Join(failed, v.server.About(ctx, name, err, failed)) // the others may be as silent
		}
		if lock.Held() {
			locks = append(locks, lock)
		}
	}
	return locks, sampled, failed
}

// known returns a number, or a word for one that the server does not tell.
func known(n float64) string {
	if n < 0 {
		return "unknown"
	}
	return fmt.Sprintf("%.0f", n)
}

// print prints a picture at once, so that a terminal does not flicker.
func (v *topView) print(l *look, problem error) error {
	var b bytes.Buffer
	if v.clear {
		b.WriteString("\x1b[H\x1b[2J") // the cursor to the corner, and an empty screen
	}
	if problem != nil {
		fmt.Fprintf(&b, "%s  %v\n", time.Now().Format(time.TimeOnly), problem)
	}
	if l != nil {
		about := "~"
		switch {
		case l.Exact:
			about = ""
		case l.noKeys || l.Error != "": // there is nothing to estimate from
			about = "at least "
		}
		fmt.Fprintf(&b, "%s, nodes with keys: %d   %s\n", cmp.Or(l.Server, "unknown version"), l.Nodes, time.Now().Format(time.TimeOnly))
		fmt.Fprintf(&b, "locks %s%d   keys %s, looked at %d\n", about, l.Locks, known(float64(l.Keys)), l.Looked)
		if l.Denied > 0 {
			fmt.Fprintf(&b, "keys that this user may not read: %d\n", l.Denied)
		}
		for _, why := range l.Refused {
			fmt.Fprintf(&b, "refused: %s\n", printable(why))
		}
		ratesOf := ""
		if l.Rates != "" {
			ratesOf = "of a part of the nodes, "
		}
		fmt.Fprintf(&b, "%sa second: commands %s   scripts %s   messages %s\n\n", ratesOf, known(l.Commands), known(l.Scripts), known(l.Published))
		fmt.Fprintf(&b, "%8s ", "WAITERS")
		printHead(&b)
		for _, lock := range l.Top {
			fmt.Fprintf(&b, "%8d ", lock.Waiting.Total())
			printRow(&b, lock)
		}
	}
	if !v.clear && !v.flags.once {
		b.WriteByte('\n')
	}
	_, err := v.out.Write(b.Bytes())
	return err
}
