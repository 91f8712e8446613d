package main

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

// renewals is the number of renewals of a kept lock per lease: more than the library's default, so that each second
// shows some.
const renewals = 5

func (d *demo) options() lockwheel.Options {
	options := lockwheel.Options{
		Redis:  d.server.option,
		Prefix: d.prefix,
		Lease:  d.settings.lease,
		Renew:  d.settings.lease / renewals,
	}
	if d.server.inside {
		// On a busy machine the server competes with its own clients for the processors. Slow is not dead.
		options.Timeout = options.Lease / 3
	}
	return options
}

// run runs the whole demo and reports whether the result is good. If ctx ends, it stops early, but with the same
// checks. On an error there is no result.
func (d *demo) run(ctx context.Context) (good bool, err error) {
	at, err := open(ctx, d.options())
	if err != nil {
		return false, err
	}
	eye, err := newProbe(d.server.option)
	if err != nil {
		return false, errors.Join(err, at.shutdown(ctx))
	}
	defer eye.close()
	d.introduce(at, eye.version(ctx))
	e := d.play(ctx, at)
	e.shutdown = d.end(at)
	e.remains, e.unseen = eye.remains(context.WithoutCancel(ctx), d.prefix)
	return d.conclude(e), nil
}

// introduce prints where the demo runs and what will happen.
func (d *demo) introduce(at engines, version string) {
	s := d.settings
	where := fmt.Sprintf("%s at %s", version, d.server.address())
	if d.server.inside {
		where = fmt.Sprintf("embedded, at %s of this process; a real one is faster", d.server.address())
	}
	d.screen.say("server   %s", where)
	d.screen.say("engines  %s holds the locks", at.home.ID())
	d.screen.say("         %s competes for the hot name", at.rival.ID())
	d.screen.say("plan     keep %d locks for %v (lease %v, renewed every %v); meanwhile", s.locks, s.keep, s.lease, s.lease/renewals)
	d.screen.say("         %d workers lock and unlock a name of their own each, and %d the", s.workers-s.hot, s.hot)
	d.screen.say("         hot name, which %d workers of the other engine want, too", s.hot)
}

// play acquires the locks, runs the workers while they are held, and releases the locks.
func (d *demo) play(ctx context.Context, at engines) *evidence {
	w := &watch{screen: d.screen, stats: at.stats}
	holds := d.takeAll(ctx, at, w)
	if len(holds) == d.settings.locks {
		d.keep(ctx, at, w)
	}
	e := &evidence{wanted: d.settings.locks, kept: len(holds), faults: d.faults, turnstiles: d.load.turnstiles}
	if ctx.Err() != nil {
		e.interrupted = true
		d.screen.say("interrupted: ending in an orderly way; once more kills")
	}
	d.releaseAll(holds, w)
	return e
}

func (d *demo) takeAll(ctx context.Context, at engines, w *watch) (holds []*lockwheel.Hold) {
	began := time.Now()
	w.during("taking", d.heldOf, func() {
		var err error
		const leases = 6 // a server that does not reply for so long will not come back
		if holds, err = take(ctx, at.home, d.settings.locks, leases*d.settings.lease); err != nil {
			d.faults.note(err)
		}
	})
	d.screen.say("took     %s", d.pace(len(holds), time.Since(began)))
	return holds
}

func (d *demo) keep(ctx context.Context, at engines, w *watch) {
	s, began := d.settings, time.Now()
	ctx, cancel := context.WithTimeout(ctx, s.keep)
	defer cancel()
	w.during("keeping", func(lockwheel.Stats) float64 { return float64(time.Since(began)) / float64(s.keep) }, func() {
		d.load.run(ctx, at, s.workers, s.hot)
	})
	now := at.stats()
	d.screen.say("kept     for %v: %d renewals, the latest %v past its due time",
		brief(time.Since(began)), now.Renewed, brief(now.RenewalLag))
}

func (d *demo) releaseAll(holds []*lockwheel.Hold, w *watch) {
	began := time.Now()
	w.during("releasing", func(now lockwheel.Stats) float64 { return 1 - d.heldOf(now) }, func() {
		release(holds, d.faults)
	})
	d.screen.say("released %s", d.pace(len(holds), time.Since(began)))
}

// heldOf returns the part of the locks that is held.
func (d *demo) heldOf(now lockwheel.Stats) float64 {
	return float64(now.Held) / float64(d.settings.locks)
}

func (d *demo) pace(n int, took time.Duration) string {
	return fmt.Sprintf("%d locks in %v, %.0f a second", n, brief(took), float64(n)/took.Seconds())
}

// end closes the engines when they have left nothing in the server, or after a time limit. By then every lease has
// expired, so something is wrong.
func (d *demo) end(at engines) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*d.settings.lease+5*time.Second)
	defer cancel()
	return at.shutdown(ctx)
}
