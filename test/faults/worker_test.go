package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// worker is a worker that acquires locks, one after the other. It belongs to one goroutine.
type worker struct {
	id     string
	engine *lockwheel.Engine
	names  []string
	number *redistest.Conn // to the server with the numbers
	note   func(op)
	did    *workerCounts
	visits int
}

// workerCounts counts the workers' operations.
type workerCounts struct{ granted, refused, uses, losses atomic.Int64 }

// work locks repeatedly until ctx ends. It returns an error that no lock should have.
func (l *worker) work(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.lockOnce(ctx); err != nil {
			return fmt.Errorf("%s: %w", l.id, err)
		}
		locktest.Pause(ctx, time.Duration(rand.IntN(4000))*time.Microsecond)
	}
	return nil
}

// lockOnce acquires one lock, uses it and unlocks it.
func (l *worker) lockOnce(ctx context.Context) error {
	l.visits++
	name := l.names[rand.IntN(len(l.names))]
	from := now()
	opts := someOptions()
	hold, err := l.take(ctx, name, opts)
	if err != nil {
		l.did.refused.Add(1)
		return known(err)
	}
	v := &visitor{worker: l, hold: hold, told: locktest.NotifiedAt(hold), seen: from}
	v.grant = op{Lock: name, Hold: l.id + "/" + strconv.Itoa(l.visits), Tenure: hold.ID(), Token: hold.Token()}
	v.grant.Note = fmt.Sprintf("%+v until %v", opts, hold.Deadline().UnixNano())
	v.tell(took, 0, from)
	l.did.granted.Add(1)
	for range 1 + rand.IntN(3) {
		if held, err := v.use(); !held || err != nil {
			return err
		}
		v.idle(ctx)
	}
	return v.leave()
}

// take acquires a lock alone, or with others as one. A history records several locks with the id of the first, and
// without a token.
func (l *worker) take(ctx context.Context, name string, opts []lockwheel.Option) (*lockwheel.Hold, error) {
	names := []string{name}
	for _, other := range l.names {
		if other > name && locktest.KindOf(name) != "fenced" && rand.IntN(4) == 0 {
			names = append(names, other)
		}
	}
	if len(names) == 1 {
		return locktest.MutexOf(l.engine, name).Lock(ctx, opts...)
	}
	return locktest.SeveralOf(l.engine, names).Lock(ctx, opts...)
}

// known returns err if a Lock must not end with it.
func known(err error) error {
	for _, known := range []error{lockwheel.ErrNotAcquired, lockwheel.ErrUnavailable, lockwheel.ErrLost} {
		if errors.Is(err, known) {
			return nil
		}
	}
	if refusal := lockwheel.ServerError(""); errors.As(err, &refusal) {
		return nil // a user without permission, a key of another type
	}
	return err
}

// visitor is a worker with a lock.
type visitor struct {
	*worker
	hold  *lockwheel.Hold
	told  <-chan time.Time // when Done of the hold was closed
	grant op
	seen  int64 // when the lock was last known to be held
}

func (v *visitor) tell(what what, value int, from int64) {
	d := v.grant
	d.What, d.Value, d.From, d.To = what, value, from, now()
	v.note(d)
}

// loses records that the lock is lost, and when Done was closed.
func (v *visitor) loses() {
	v.did.losses.Add(1)
	v.grant.Told = (<-v.told).UnixNano()
	v.tell(lost, 0, v.seen)
}

// holds reports whether the lock is held, and records a loss.
func (v *visitor) holds() bool {
	at := now()
	err := v.hold.Err()
	if err == nil {
		v.seen = at
		return true
	}
	v.grant.Note = err.Error()
	v.loses()
	return false
}

// use reads the number and writes one more. held is false if the lock is lost.
func (v *visitor) use() (held bool, err error) {
	from := now()
	reply, err := v.number.Do("GET", v.grant.Lock)
	if err != nil {
		return false, err
	}
	text, _ := reply.(string)
	value, _ := strconv.Atoi(text)
	if !v.holds() {
		return false, nil
	}
	v.tell(applyOptions, value, from)
	value++
	v.tell(begun, value, 0)
	from = now()
	if _, err := v.number.Do("SET", v.grant.Lock, value); err != nil {
		return false, err
	}
	to := now()
	if !v.holds() {
		d := v.grant
		d.What, d.Value, d.From, d.To = stray, value, from, to
		v.note(d)
		return false, nil
	}
	v.did.uses.Add(1)
	v.tell(wrote, value, from)
	return true, nil
}

// idle uses a hold as holders do.
func (v *visitor) idle(ctx context.Context) {
	from := now()
	d := time.Duration(rand.IntN(1000)) * time.Millisecond
	switch rand.IntN(8) {
	case 0:
		v.grant.Note = fmt.Sprintf("extended to %v: %v", d, v.hold.Extend(ctx, d))
		v.tell(noted, 0, from)
	case 1:
		select { // longer than many leases
		case <-v.hold.Done():
		case <-time.After(d * 3 / 2):
		case <-ctx.Done():
		}
	default:
		locktest.ShortRun()
	}
}

// leave unlocks. The lock is not held afterwards, whatever the result.
func (v *visitor) leave() error {
	from := now()
	err := v.hold.Unlock(context.Background())
	switch {
	case err == nil || errors.Is(err, lockwheel.ErrUnavailable):
		v.grant.Note = fmt.Sprint(err)
		v.tell(left, 0, from)
	default:
		v.loses()
		return known(err)
	}
	return nil
}
