package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockwheel/lockwheel"
)

// demo is one run.
type demo struct {
	settings settings
	server   server
	prefix   string // of every name in the server, to find what is left
	screen   *screen
	site     site
	load     load
	faults   *faults
}

func newDemo(s settings, where server, on *screen) *demo {
	f := &faults{}
	return &demo{
		settings: s,
		server:   where,
		prefix:   fmt.Sprintf("lockwheel-demo/%016x/", rand.Uint64()),
		screen:   on,
		load:     load{lock: lock, faults: f},
		faults:   f,
	}
}

// renewalsPerLease is the number of renewals of a kept lock per lease: more than the library's default, so that each
// second shows some.
const renewalsPerLease = 5

func (d *demo) options() lockwheel.Options {
	options := lockwheel.Options{
		Redis:         d.server.option,
		Prefix:        d.prefix,
		Lease:         d.settings.lease,
		RenewInterval: d.settings.lease / renewalsPerLease,
		PageAddress:   d.site.url(),
	}
	if d.server.embedded {
		// On a busy machine the server competes with its own clients for the processors. Slow is not dead.
		options.CallTimeout = options.Lease / 3
	}
	return options
}

// run runs the whole demo and reports whether the result is good. If ctx ends, it stops early, but with the same
// checks. On an error there is no result.
func (d *demo) run(ctx context.Context) (good bool, err error) {
	if err := d.site.listen(d.settings.listen); err != nil {
		return false, err
	}
	defer d.site.close()
	at, err := open(ctx, d.options())
	if err != nil {
		return false, err
	}
	d.site.serve(at)
	inspector, err := newProbe(d.server.option)
	if err != nil {
		return false, errors.Join(err, at.shutdown(ctx))
	}
	defer inspector.close()
	d.printHeader(at, inspector.version(ctx))
	e := d.runPhases(ctx, at)
	e.shutdown = d.end(at)
	e.leftovers, e.unreadable = inspector.leftovers(context.WithoutCancel(ctx), d.prefix)
	return d.printSummary(e), nil
}

// printHeader prints where the demo runs and what will happen.
func (d *demo) printHeader(at engines, version string) {
	s := d.settings
	where := fmt.Sprintf("%s at %s", version, d.server.address())
	if d.server.embedded {
		where = fmt.Sprintf("embedded, at %s of this process; a real one is faster", d.server.address())
	}
	d.screen.printf("server   %s", where)
	d.screen.printf("engines  %s holds the locks", at.main.ID())
	d.screen.printf("         %s competes for the hot name", at.second.ID())
	if page := d.site.url(); page != "" {
		d.screen.printf("page     %s, metrics at %smetrics", page, page)
	}
	d.screen.printf("plan     keep %d locks for %v (lease %v, renewed every %v); meanwhile", s.locks, s.hold, s.lease, s.lease/renewalsPerLease)
	d.screen.printf("         %d workers lock and unlock a name of their own each, and %d the", s.workers-s.hot, s.hot)
	d.screen.printf("         hot name, which %d workers of the other engine want, too", s.hot)
}

// runPhases acquires the locks, runs the workers while they are held, and releases the locks.
func (d *demo) runPhases(ctx context.Context, at engines) *results {
	w := &watch{screen: d.screen, stats: at.stats}
	holds := d.acquireAll(ctx, at, w)
	if len(holds) == d.settings.locks {
		d.holdAll(ctx, at, w)
	}
	e := &results{wanted: d.settings.locks, kept: len(holds), faults: d.faults, exclusionChecks: d.load.exclusionChecks}
	if ctx.Err() != nil {
		e.interrupted = true
		d.screen.printf("interrupted: ending in an orderly way; once more kills")
	}
	d.releaseAll(holds, w)
	return e
}

func (d *demo) acquireAll(ctx context.Context, at engines, w *watch) (holds []*lockwheel.Hold) {
	began := time.Now()
	w.during("taking", d.heldOf, func() {
		var err error
		const leases = 6 // a server that does not reply for so long will not come back
		if holds, err = acquire(ctx, at.main, d.settings.locks, leases*d.settings.lease); err != nil {
			d.faults.record(err)
		}
	})
	d.screen.printf("took     %s", d.rate(len(holds), time.Since(began)))
	return holds
}

func (d *demo) holdAll(ctx context.Context, at engines, w *watch) {
	s, began := d.settings, time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.hold)
	defer cancel()
	w.during("keeping", func(lockwheel.Stats) float64 { return float64(time.Since(began)) / float64(s.hold) }, func() {
		d.load.run(ctx, at, s.workers, s.hot)
	})
	now := at.stats()
	d.screen.printf("kept     for %v: %d renewals, the latest %v past its due time",
		rounded(time.Since(began)), now.Renewed, rounded(now.RenewalLag))
}

func (d *demo) releaseAll(holds []*lockwheel.Hold, w *watch) {
	began := time.Now()
	w.during("releasing", func(now lockwheel.Stats) float64 { return 1 - d.heldOf(now) }, func() {
		release(holds, d.faults)
	})
	d.screen.printf("released %s", d.rate(len(holds), time.Since(began)))
}

// heldOf returns the part of the locks that is held.
func (d *demo) heldOf(now lockwheel.Stats) float64 {
	return float64(now.Held) / float64(d.settings.locks)
}

func (d *demo) rate(n int, took time.Duration) string {
	return fmt.Sprintf("%d locks in %v, %.0f a second", n, rounded(took), float64(n)/took.Seconds())
}

// end closes the engines when they have left nothing in the server, or after a time limit. By then every lease has
// expired, so something is wrong.
func (d *demo) end(at engines) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*d.settings.lease+5*time.Second)
	defer cancel()
	return at.shutdown(ctx)
}
