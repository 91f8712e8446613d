package peers

import (
	"context"
	"time"

	"github.com/redis/rueidis"

	"github.com/lockwheel/lockwheel"
)

// Lockwheel is this library.
var Lockwheel = ContestantSpec{
	Name:     "lockwheel",
	Module:   "github.com/lockwheel/lockwheel",
	Settings: "defaults: one connection, watched locks, hand-off of 64 grants or 5 ms while others listen; with a lease below 9 s a Timeout of a third of the lease instead of a sixth",
	open:     func(c Config) (Contestant, error) { return OpenLockwheel(c) },
}

// LockwheelSleeps is this library without Options.BusyWait.
var LockwheelSleeps = ContestantSpec{
	Name: Lockwheel.Name + ", BusyWait off", Module: Lockwheel.Module, Settings: Lockwheel.Settings,
	open: func(c Config) (Contestant, error) {
		c.BusyWait = -1
		return OpenLockwheel(c)
	},
}

// LockwheelAsync is this library for callers that do not wait for the reply to an unlock.
var LockwheelAsync = ContestantSpec{
	Name: Lockwheel.Name + ", UnlockAsync", Module: Lockwheel.Module, Settings: Lockwheel.Settings,
	open: func(c Config) (Contestant, error) {
		locks, err := OpenLockwheel(c)
		return &lockwheelAsync{locks}, err
	},
}

type lockwheelAsync struct{ *LockwheelClient }

func (a *lockwheelAsync) Worker(name string, _ int) Worker {
	return &asyncWorker{lockwheelWorker{locks: a.Engine.Mutex(name)}}
}

type asyncWorker struct{ lockwheelWorker }

func (w *asyncWorker) Unlock() error {
	w.hold.UnlockAsync()
	return nil
}

// LockwheelClient is a lockwheel engine.
type LockwheelClient struct{ Engine *lockwheel.Engine }

// OpenLockwheel is Lockwheel.Open for callers that need the engine's Stats.
func OpenLockwheel(c Config) (*LockwheelClient, error) {
	engine, err := lockwheel.Open(context.Background(), lockwheel.Options{
		Redis:         rueidis.ClientOption{InitAddress: []string{c.Addr}},
		Lease:         c.Lease, // 0 is 30s, as Lease
		RenewInterval: c.RenewInterval,
		BusyWait:      c.BusyWait,
		// A shorter lease must not shorten this timeout more than necessary: it also bounds Unlock under load.
		CallTimeout: min(3*time.Second, max(c.Lease, 0)/3),
	})
	if err != nil {
		return nil, err
	}
	return &LockwheelClient{engine}, nil
}

func (w *LockwheelClient) Close() { w.Engine.Close() }

func (w *LockwheelClient) Worker(name string, _ int) Worker { return WorkerOf(w.Engine.Mutex(name)) }

// WorkerOf locks and unlocks any kind of lock that is a Mutex.
func WorkerOf(mutex lockwheel.Mutex) Worker { return &lockwheelWorker{locks: mutex} }

// WorkerOfAll locks and unlocks several names atomically.
func WorkerOfAll(locks lockwheel.Multi) Worker { return &lockwheelWorker{locks: locks} }

func (w *LockwheelClient) Hold(ctx context.Context, name string) (Held, error) {
	hold, err := w.Engine.Mutex(name).Lock(ctx)
	return lockwheelHeld{hold}, err
}

// lockwheelWorker locks a Mutex or a Multi.
type lockwheelWorker struct {
	locks interface {
		Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
	}
	hold *lockwheel.Hold
}

func (w *lockwheelWorker) Lock(ctx context.Context) (err error) {
	w.hold, err = w.locks.Lock(ctx)
	return err
}

func (w *lockwheelWorker) Unlock() error { return w.hold.Unlock(context.Background()) }

type lockwheelHeld struct{ *lockwheel.Hold }

// Deadlined is a Held that reports until when it is known to be held: each renewal extends that.
type Deadlined interface {
	Held
	Deadline() time.Time
}

func (h lockwheelHeld) Lost() bool     { return h.Err() != nil }
func (h lockwheelHeld) Release() error { return h.Unlock(context.Background()) }

// OpenLockwheelQuorum opens an engine on each of several servers, a majority of which grants a lock.
func OpenLockwheelQuorum(c Config, addrs ...string) (Contestant, error) {
	q := &lockwheelQuorum{}
	for _, addr := range addrs {
		c.Addr = addr
		on, err := OpenLockwheel(c)
		if err != nil {
			q.Close()
			return nil, err
		}
		q.on = append(q.on, on)
	}
	return q, nil
}

type lockwheelQuorum struct{ on []*LockwheelClient }

func (q *lockwheelQuorum) Close() {
	for _, on := range q.on {
		on.Close()
	}
}

func (q *lockwheelQuorum) Worker(name string, _ int) Worker {
	var locks []lockwheel.Mutex
	for _, on := range q.on {
		locks = append(locks, on.Engine.Mutex(name))
	}
	return WorkerOfAll(lockwheel.Quorum(locks...))
}
