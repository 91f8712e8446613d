package lockwheel_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Every kind of fault strikes while locks are held, waited for and unlocked.

var ordeals = flag.Int("ordeals", 1, "how often every kind of fault strikes; above 1 a waiter has to come in promptWait")

const (
	// promptWait is how long after a release, and after the fault, a waiter has to come at the latest. A busy machine is
	// given more, but never as much as a lease.
	promptWait = 300 * time.Millisecond
	// ordealLease is so long that nothing comes in time by its end.
	ordealLease = 30 * time.Second
	// lossLease is short, for faults that cost the lock.
	lossLease = brief

	ordealTimeout = 500 * time.Millisecond
)

// ordeal is one fault, two engines and some locks.
type ordeal struct {
	*scene
	fault          fault
	holder, waiter *lockwheel.Engine
	longest        time.Duration // that a waiter took to come
}

func TestNoFaultLeavesAnOrphanOrASleepingWaiter(t *testing.T) {
	t.Parallel()
	everyOrdeal(t, len(namesOfKinds("")), func(t *testing.T, o *ordeal, prefix string) {
		if o.fault.fate == kept {
			o.releases(t, prefix)
		} else {
			o.losses(t, prefix)
		}
	})
}

// everyOrdeal undergoes each kind of fault so often as the flag says. Some take one lock at a time: one of each of so many.
func everyOrdeal(t *testing.T, locks int, undergo func(t *testing.T, o *ordeal, prefix string)) {
	for _, f := range everyFault() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			o, ways := beginOrdeal(t, f)
			times := *ordeals
			if f.fate == keyLost {
				times = max(times, locks)
			}
			for i := range times {
				o.links = ways[i%len(ways)]
				undergo(t, o, fmt.Sprint("n", i))
				o.requireNothingLeft(t)
			}
			if o.longest != 0 {
				t.Logf("struck %d times; the latest waiter came %v after its release", times, o.longest)
			}
		})
	}
}

// beginOrdeal opens the engines. ways are the links that a fault of links can strike.
func beginOrdeal(t *testing.T, f fault) (o *ordeal, ways [][]*proxy.Proxy) {
	o = &ordeal{scene: realScene(t), fault: f}
	opts := lockwheel.Options{Lease: ordealLease, Timeout: ordealTimeout}
	if f.fate != kept {
		opts.Lease = lossLease
	}
	if f.fate == stranded {
		o.spell = lossLease / 2 // a renewal falls into it
	}
	var at, to *proxy.Proxy
	o.holder, at = o.enter(opts)
	if f.fate == stranded {
		o.waiter = o.open(opts) // as somebody who may do everything
		return o, [][]*proxy.Proxy{nil}
	}
	o.waiter, to = o.enter(opts)
	for _, link := range linkFaults() {
		if link.name == f.name {
			return o, [][]*proxy.Proxy{{at, to}, {at}, {to}}
		}
	}
	return o, [][]*proxy.Proxy{nil}
}

// contest takes a lock of each kind and makes the other engine wait for it.
func (o *ordeal) contest(t *testing.T, prefix string) (holds []*lockwheel.Hold, waiting []<-chan grant) {
	o.names = namesOfKinds(prefix)
	for _, name := range o.names {
		holds = append(holds, lock(t, mutexOf(o.holder, name)))
		waiting = append(waiting, granting(t.Context(), mutexOf(o.waiter, name)))
	}
	locks := int64(len(o.names))
	asleep(t, o.waiter, locks, locks)
	return holds, waiting
}

// grant is an outcome and its moment.
type grant struct {
	outcome
	at time.Time
}

// granting is locking with the moment.
func granting(ctx context.Context, m interface {
	Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
}) <-chan grant {
	done := make(chan grant, 1)
	go func() {
		hold, err := m.Lock(ctx)
		done <- grant{outcome{hold, err}, time.Now()}
	}()
	return done
}

// releases unlocks while the fault strikes. Every waiter comes soon after its lock is free and the fault is over.
func (o *ordeal) releases(t *testing.T, prefix string) {
	holds, waiting := o.contest(t, prefix)
	free := o.watch(t, holds)
	var unlocking []<-chan error
	for _, hold := range holds {
		unlocking = append(unlocking, unlockingLater(t.Context(), hold, time.Duration(rand.Int64N(int64(2*o.spell)))))
	}
	began := time.Now()
	o.fault.strike(o.scene)
	over := time.Now()
	if noticed := began.Add(2 * ordealTimeout); o.fault.silent && noticed.After(over) {
		over = noticed
	}
	for i := range holds {
		got := receive(t, waiting[i])
		require.NoError(t, got.err)
		require.NoError(t, receive(t, unlocking[i]))
		eventually(t, "seen to be free", func() bool { return free[i].Load() != 0 })
		since := time.Unix(0, free[i].Load())
		if over.After(since) {
			since = over
		}
		o.longest = max(o.longest, got.at.Sub(since))
		if *ordeals > 1 {
			require.Less(t, got.at.Sub(since), promptWait, holds[i].Name())
		}
		if kindOf(holds[i].Name()) == "fenced" {
			require.Greater(t, got.hold.Token(), holds[i].Token())
		}
		giveBack(t, got.hold)
	}
}

// unlockingLater unlocks after a while, and again until there is an answer.
func unlockingLater(ctx context.Context, hold *lockwheel.Hold, after time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() {
		pause(ctx, after)
		for {
			err := hold.Unlock(ctx)
			if !errors.Is(err, lockwheel.ErrUnavailable) {
				if errors.Is(err, lockwheel.ErrNotHeld) {
					err = nil // the second try found the first one answered
				}
				done <- err
				return
			}
		}
	}()
	return done
}

// watch notes when the holders' fields are gone from the server, as seen by somebody without faults.
func (o *ordeal) watch(t *testing.T, holds []*lockwheel.Hold) []atomic.Int64 {
	free := make([]atomic.Int64, len(holds))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c, err := redistest.Dial(o.addr)
			if err != nil {
				pause(ctx, 5*time.Millisecond)
				continue
			}
			look(ctx, c, holds, free)
			c.Close()
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return free
}

// look looks until the connection breaks, or all are gone.
func look(ctx context.Context, c *redistest.Conn, holds []*lockwheel.Hold, free []atomic.Int64) {
	for left := len(holds); left > 0 && ctx.Err() == nil; pause(ctx, 2*time.Millisecond) {
		left = 0
		for i, hold := range holds {
			if free[i].Load() != 0 {
				continue
			}
			left++
			fields, err := c.Do("HKEYS", hold.Name()) // a writer's has more than its id
			if refusal := redistest.Error(""); err != nil && !errors.As(err, &refusal) {
				return
			}
			if err == nil && !strings.Contains(fmt.Sprint(fields), hold.ID()) {
				free[i].CompareAndSwap(0, time.Now().UnixNano())
			}
		}
	}
	<-ctx.Done()
}

// losses lets a fault cost locks. Their holders learn of it within their lease, and nobody else's lock is touched.
func (o *ordeal) losses(t *testing.T, prefix string) {
	holds, waiting := o.contest(t, prefix)
	gone := map[string]time.Time{}
	o.lost = func(names []string, _, to time.Time) {
		for _, name := range names {
			gone[name] = to
		}
	}
	o.fault.strike(o.scene)
	if o.fault.fate == stranded {
		for _, hold := range holds {
			gone[hold.Name()] = time.Now()
		}
	}
	for i, hold := range holds {
		if at, lost := gone[hold.Name()]; lost {
			receive(t, hold.Done())
			require.Less(t, time.Since(at), 2*lossLease)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
		} else {
			giveBack(t, hold)
		}
		got := receive(t, waiting[i])
		if got.err != nil && o.fault.name == "a key of another type" {
			require.ErrorContains(t, got.err, "WRONGTYPE")
			continue
		}
		require.NoError(t, got.err)
		giveBack(t, got.hold)
	}
}

// requireNothingLeft makes sure that no key, channel, timer or request is left, long before a lease could end.
func (o *ordeal) requireNothingLeft(t *testing.T) {
	settled(t, o.holder)
	settled(t, o.waiter)
	if o.fault.silent {
		for _, p := range o.links {
			p.Cut() // the server's side of what is half-open
		}
	}
	o.requireNoLock(t, o.waiter, nil)
	eventually(t, "no channel", func() bool { return len(o.channels()) == 0 })
}
