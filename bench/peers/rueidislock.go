package peers

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// Rueidislock is rueidislock with its fastest safe settings: with NoLoopTracking, except on contended names.
var Rueidislock = ContestantSpec{
	Name:   "rueidislock",
	Module: "github.com/redis/rueidis",
	Settings: "KeyMajority 1, KeyValidity as our lease, ExtendInterval a third of it, TryNextAfter 10 s (its 20 ms fail under " +
		"load), NoLoopTracking except on contended names, where it can lose a wake-up",
	open: func(c Config) (Contestant, error) { return openRueidislock(c, !c.Contended) },
}

// RueidislockNoLoop is the same with NoLoopTracking everywhere.
var RueidislockNoLoop = ContestantSpec{
	Name:     "rueidislock, NoLoopTracking",
	Module:   "github.com/redis/rueidis",
	Settings: "the same with NoLoopTracking also on contended names",
	open:     func(c Config) (Contestant, error) { return openRueidislock(c, true) },
}

type rueidisLocker struct{ locker rueidislock.Locker }

func openRueidislock(c Config, noLoop bool) (Contestant, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{c.Addr}, ConnWriteTimeout: replyTimeout},
		KeyMajority:    1,
		KeyValidity:    c.Lease,
		ExtendInterval: c.Lease / 3,
		TryNextAfter:   replyTimeout,
		NoLoopTracking: noLoop,
	})
	return &rueidisLocker{locker}, err
}

func (r *rueidisLocker) Close() { r.locker.Close() }

func (r *rueidisLocker) Worker(name string, _ int) Worker {
	return &rueidisWorker{locker: r.locker, name: name}
}

func (r *rueidisLocker) Hold(ctx context.Context, name string) (Held, error) {
	held, cancel, err := r.locker.WithContext(ctx, name)
	return &rueidisHeld{held, cancel}, err
}

type rueidisWorker struct {
	locker rueidislock.Locker
	name   string
	cancel context.CancelFunc
}

func (w *rueidisWorker) Lock(ctx context.Context) (err error) {
	_, w.cancel, err = w.locker.WithContext(ctx, w.name)
	return err
}

func (w *rueidisWorker) Unlock() error {
	w.cancel() // waits for the reply
	return nil
}

type rueidisHeld struct {
	ctx    context.Context
	cancel context.CancelFunc
}

func (h *rueidisHeld) Lost() bool { return h.ctx.Err() != nil }

func (h *rueidisHeld) Release() error {
	h.cancel()
	return nil
}
