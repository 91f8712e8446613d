package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lockwheel/lockwheel"
)

// Lock is what [Run] needs of a lock. Lockwheel's Mutex (plain, fenced or fair), the writer of an RWMutex, and a Multi,
// such as a Quorum, satisfy it.
type Lock interface {
	Lock(ctx context.Context, opts ...lockwheel.Option) (*lockwheel.Hold, error)
	Name() string
}

// Options are the settings of [Run]. The zero Options are valid.
//
// Run calls the functions one at a time on its own goroutine, and waits for them. Nil functions are not called.
type Options struct {
	// Gained is called when this process has become the leader, before the work starts. The hold is already renewed
	// meanwhile, and can be lost.
	Gained func(hold *lockwheel.Hold)

	// Ended is called after each leadership, when the work has returned and the lock is released. err is nil if the
	// work returned nil and the release was confirmed. Otherwise it matches one or several of these:
	//
	//   - the error of the work
	//   - lockwheel.ErrLost, if the lock was lost
	//   - lockwheel.ErrClosed, if the engine was closed
	//   - lockwheel.ErrUnavailable, if the release was not confirmed: the lock is free after its lease at the latest
	//   - a lockwheel.ServerError, if the server rejected the release; the lock is free after its lease at the latest
	Ended func(err error)

	// Failed is called when the lock could not be requested for a reason that can pass, such as
	// lockwheel.ErrTooManyWaiters. Run then tries again after next. An outage of the server is no failure, because Lock
	// waits until it is over.
	Failed func(err error, next time.Duration)

	// Pause is how long Run waits after each leadership before it requests the lock again, so that another process can
	// become the leader. After failures it waits for Pause, then twice as long each time, and at most for 8 Pauses.
	// Default 1 s. A negative Pause is an error.
	Pause time.Duration
}

// maxPauses is the longest wait after failures, in Pauses.
const maxPauses = 8

// Run takes part in elections until ctx ends. It waits for the lock, runs work while it holds the lock, unlocks, and
// begins again. It blocks; several calls may run at the same time, also for one lock in one process: only one of them
// leads.
//
// The context that work receives is the hold's. It ends when the lock is lost, when ctx ends or when the engine is
// closed; work must then return soon. Run does not take part in elections before work has returned, but another process
// does: until work returns, it can run beside its successor. work must not unlock the hold.
//
// What Run does when work returns depends on the first of these that applies:
//
//   - ctx has ended: Run unlocks and returns.
//   - The engine was closed while the lock was held: Run returns.
//   - The lock was lost: Run takes part in the next election, whatever work returned.
//   - work returned an error: Run unlocks and returns that error. If work panics, Run unlocks as well.
//   - work returned nil, to step down: Run unlocks and takes part in elections again after Options.Pause.
//
// Run always returns an error. Left behind is nothing, or a lock without a confirmed release, which is free after its
// lease. The error matches one of these:
//
//   - The cause of ctx. It is joined with the error of work if that is not the cause or ctx.Err().
//   - The error of work.
//   - lockwheel.ErrClosed, if the engine was closed. If that ended a leadership, it is joined with the error
//     of work. End ctx before Engine.Shutdown, because Shutdown waits for the leader.
//   - A lockwheel.ServerError or lockwheel.ErrKindMismatch from Lock, or any other error that no later try changes.
//
// An owner in ctx does not count (lockwheel.WithoutOwner): a caller that holds the lock already waits for itself. work
// gets a context that owns this lock only.
func Run(ctx context.Context, lock Lock, work func(ctx context.Context, hold *lockwheel.Hold) error, opts Options) error {
	if ctx == nil {
		return fmt.Errorf("leader: %q: nil context", lock.Name())
	}
	if opts.Pause < 0 {
		return fmt.Errorf("leader: %q: Options.Pause is negative: %v", lock.Name(), opts.Pause)
	}
	if opts.Pause == 0 {
		opts.Pause = time.Second
	}
	ctx = lockwheel.WithoutOwner(ctx)
	for pause := opts.Pause; ; {
		hold, err := lock.Lock(ctx)
		switch {
		case err == nil:
			if err := serve(ctx, hold, work, opts); err != nil {
				return err
			}
			pause = opts.Pause
			sleep(ctx, pause)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !passes(err):
			return err
		default:
			if opts.Failed != nil {
				opts.Failed(err, pause)
			}
			sleep(ctx, pause)
			pause = min(2*pause, maxPauses*opts.Pause)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// serve runs work and unlocks. It returns why Run ends, or nil if it goes on.
func serve(ctx context.Context, hold *lockwheel.Hold, work func(context.Context, *lockwheel.Hold) error, opts Options) error {
	unlocked := false
	unlock := func() error {
		unlocked = true
		// The release must not depend on ctx, which ends the work. Unlock waits for CallTimeout at most.
		return hold.Unlock(context.WithoutCancel(ctx))
	}
	defer func() {
		if !unlocked { // work or Gained panics
			_ = unlock()
		}
	}()
	if opts.Gained != nil {
		opts.Gained(hold)
	}
	leading := hold.Context() // once: that of a hold that was lost before has a cause of its own each time
	failure := work(leading, hold)
	stopped := ctx.Err() != nil
	released := unlock()
	if opts.Ended != nil {
		opts.Ended(besides(failure, released, context.Cause(leading)))
	}
	switch {
	case stopped:
		if cause := context.Cause(ctx); failure != nil && !errors.Is(failure, cause) && !errors.Is(failure, ctx.Err()) {
			return errors.Join(cause, failure)
		}
		return context.Cause(ctx)
	case errors.Is(released, lockwheel.ErrClosed):
		return besides(failure, released, context.Cause(leading))
	case errors.Is(released, lockwheel.ErrLost):
		return nil
	}
	return failure
}

// besides joins the errors of the work and of Unlock. It omits Unlock's error if the work returned the same loss or end
// of the engine, which it has from its context or from Hold.Err.
func besides(failure, released, cause error) error {
	for _, end := range []error{lockwheel.ErrLost, lockwheel.ErrClosed} {
		if !errors.Is(failure, end) || !errors.Is(released, end) {
			continue
		}
		if errors.Is(cause, end) && errors.Is(failure, cause) || strings.Contains(failure.Error(), released.Error()) {
			return failure
		}
	}
	return errors.Join(failure, released)
}

// passes reports whether the lock can be had later although Lock returned err.
func passes(err error) bool {
	for _, temporary := range []error{
		lockwheel.ErrNotAcquired, lockwheel.ErrUnavailable, lockwheel.ErrNotReplicated, lockwheel.ErrTooManyWaiters, lockwheel.ErrLost,
	} {
		if errors.Is(err, temporary) {
			return true
		}
	}
	return false
}

// sleep returns after d, or when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
