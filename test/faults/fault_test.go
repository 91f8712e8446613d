package faults_test

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
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

var faultRounds = flag.Int("fault.rounds", 1, "how often every kind of fault strikes; above 1 a waiter has to come in promptWait")

const (
	// promptWait is the maximum delay of a waiter after a release and the end of the fault. A busy machine is given
	// more, but never as much as a lease.
	promptWait = 300 * time.Millisecond
	// faultLease is so long that its end never causes a result in time.
	faultLease = 30 * time.Second
	// lossLease is short, for faults that cost the lock.
	lossLease = 4 * time.Second

	faultTimeout = time.Second
)

// lossOptions are those of engines that lose locks to such a fault.
var lossOptions = lockwheel.Options{Lease: lossLease, CallTimeout: lossLease / 3}

// faultRun is one fault test: one fault, two engines and some locks.
type faultRun struct {
	*faultEnv
	fault          fault
	holder, waiter *lockwheel.Engine
	longest        time.Duration // maximum delay of a waiter
	latest         time.Duration // maximum delay until a holder was notified of a loss
}

// Every kind of fault strikes while locks of each kind are held, waited for and unlocked. After those that keep the
// keys all goes on; after the others each loss is reported. In the end no key is left, and no waiter sleeps while its
// lock is free.
func TestNoFaultLeavesAnOrphanOrASleepingWaiter(t *testing.T) {
	long.Only(t, "every kind of fault strikes, one after the other")
	t.Parallel()
	onEveryFault(t, len(locktest.NamesOfEveryKind("")), func(t *testing.T, o *faultRun, prefix string) {
		if o.fault.fate == kept {
			o.releases(t, prefix)
		} else {
			o.losses(t, prefix)
		}
	})
}

// onEveryFault runs a fault test for each kind of fault, as often as the flag says. A fault that loses keys strikes at
// least locks times, because some of these faults strike only one lock at a time.
func onEveryFault(t *testing.T, locks int, undergo func(t *testing.T, o *faultRun, prefix string)) {
	for _, f := range everyFault() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			o, ways := beginFaultRun(t, f)
			times := *faultRounds
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
			if o.latest != 0 {
				t.Logf("struck %d times; the latest holder was told %v after its loss", times, o.latest)
			}
		})
	}
}

// beginFaultRun opens the engines. ways are the links that a fault can strike.
func beginFaultRun(t *testing.T, f fault) (o *faultRun, ways [][]*proxy.Proxy) {
	o = &faultRun{faultEnv: realFaultEnv(t), fault: f}
	opts := lockwheel.Options{Lease: faultLease, CallTimeout: faultTimeout}
	if f.fate != kept {
		opts = lossOptions
	}
	var at, to *proxy.Proxy
	o.holder, at = o.enter(opts)
	if f.fate == stranded {
		o.until = func() bool { return o.holder.Stats().Held == 0 } // a renewal was rejected, or the lease has expired
	}
	if f.fate == stranded {
		o.waiter = o.Open(opts) // with the default user, which has all permissions
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

// contest acquires a lock of each kind and makes the other engine wait for it. If the lock is held by a reader, the
// writer waits.
func (o *faultRun) contest(t *testing.T, prefix string) (holds []*lockwheel.Hold, waiting []<-chan grant) {
	o.names = locktest.NamesOfEveryKind(prefix)
	for _, name := range o.names {
		holds = append(holds, locktest.Lock(t, locktest.MutexOf(o.holder, name)))
		waiting = append(waiting, granting(t.Context(), locktest.RivalOf(o.waiter, name)))
	}
	locks := int64(len(o.names))
	locktest.RequireWaiting(t, o.waiter, locks, locks)
	return holds, waiting
}

// grant is an outcome and its time.
type grant struct {
	locktest.Outcome
	at time.Time
}

// granting is locking with the time.
func granting(ctx context.Context, m interface {
	Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
}) <-chan grant {
	done := make(chan grant, 1)
	go func() {
		hold, err := m.Lock(ctx)
		done <- grant{locktest.Outcome{Hold: hold, Err: err}, time.Now()}
	}()
	return done
}

// releases unlocks while the fault strikes. Every waiter acquires its lock soon after it is free and the fault has
// ended.
func (o *faultRun) releases(t *testing.T, prefix string) {
	holds, waiting := o.contest(t, prefix)
	var mine [][]string
	for _, hold := range holds {
		mine = append(mine, []string{hold.Name()})
	}
	free := o.watch(t, mine)
	var unlocking []<-chan locktest.Answer
	for _, hold := range holds {
		unlocking = append(unlocking, locktest.UnlockingLater(t.Context(), hold, time.Duration(rand.Int64N(int64(2*o.spell)))))
	}
	over := o.strikes()
	for i := range holds {
		got := locktest.Receive(t, waiting[i])
		require.NoError(t, got.Err)
		require.NoError(t, locktest.Receive(t, unlocking[i]).Err)
		o.requirePrompt(t, got, &free[i], over)
		if locktest.KindOf(holds[i].Name()) == "fenced" {
			require.Greater(t, got.Hold.Token(), holds[i].Token())
		}
		locktest.UnlockHold(t, got.Hold)
	}
}

// strikes returns when the fault has ended and the engines have noticed that.
func (o *faultRun) strikes() (over time.Time) {
	began := time.Now()
	o.fault.strike(o.faultEnv)
	over = time.Now()
	if noticed := began.Add(2 * faultTimeout); o.fault.silent && noticed.After(over) {
		return noticed
	}
	return over
}

// requirePrompt requires that a waiter acquired its lock soon after it was free and the fault had ended.
func (o *faultRun) requirePrompt(t *testing.T, got grant, free *atomic.Int64, over time.Time) {
	t.Helper()
	locktest.Eventually(t, "seen to be free", func() bool { return free.Load() != 0 })
	since := time.Unix(0, free.Load())
	if over.After(since) {
		since = over
	}
	o.longest = max(o.longest, got.at.Sub(since))
	if *faultRounds > 1 {
		require.Less(t, got.at.Sub(since), promptWait, got.Hold.Name())
	}
}

// watch records when the holder's fields are gone from all locks of each part, through a connection without faults.
func (o *faultRun) watch(t *testing.T, parts [][]string) []atomic.Int64 {
	free := make([]atomic.Int64, len(parts))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			c, err := redistest.Dial(o.Addr)
			if err != nil {
				locktest.Pause(ctx, 5*time.Millisecond)
				continue
			}
			look(ctx, c, o.holder.ID(), parts, free)
			c.Close()
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return free
}

// look polls until the connection breaks, or all are gone.
func look(ctx context.Context, c *redistest.Conn, holder string, parts [][]string, free []atomic.Int64) {
	for left := len(parts); left > 0 && ctx.Err() == nil; locktest.Pause(ctx, 2*time.Millisecond) {
		left = 0
		for i, names := range parts {
			if free[i].Load() != 0 {
				continue
			}
			left++
			held := false
			for _, name := range names {
				fields, err := c.Do("HKEYS", name)
				if refusal := redistest.Error(""); err != nil && !errors.As(err, &refusal) {
					return
				}
				held = held || err != nil || strings.Contains(fmt.Sprint(fields), holder)
			}
			if !held {
				free[i].CompareAndSwap(0, time.Now().UnixNano())
			}
		}
	}
	<-ctx.Done()
}

// losses lets a fault cost locks. Their holders are notified within their lease, and the locks of other holders are
// not affected.
func (o *faultRun) losses(t *testing.T, prefix string) {
	holds, waiting := o.contest(t, prefix)
	var told []<-chan time.Time
	for _, hold := range holds {
		told = append(told, locktest.NotifiedAt(hold))
	}
	gone := o.takesAway()
	for i, hold := range holds {
		if at, lost := gone[hold.Name()]; lost {
			o.latest = max(o.latest, locktest.RequireLost(t, hold, told[i], at, lossLease))
		} else {
			locktest.UnlockHold(t, hold)
		}
		got := locktest.Receive(t, waiting[i])
		if got.Err != nil && o.fault.name == "a key of another type" {
			require.ErrorContains(t, got.Err, "WRONGTYPE")
			continue
		}
		require.NoError(t, got.Err)
		locktest.UnlockHold(t, got.Hold)
	}
}

// takesAway has the fault strike. It returns the latest time at which the server can have had each lock for its
// holder, or confirmed it.
func (o *faultRun) takesAway() (gone map[string]time.Time) {
	gone = map[string]time.Time{}
	o.lost = func(names []string, _, to time.Time) {
		for _, name := range names {
			gone[name] = to
		}
	}
	if o.fault.fate == stranded {
		o.lost(o.names, time.Time{}, time.Now())
	}
	o.fault.strike(o.faultEnv)
	return gone
}

// requireNothingLeft requires that no key, channel, timer or request is left, long before a lease could expire.
func (o *faultRun) requireNothingLeft(t *testing.T) {
	locktest.RequireIdle(t, o.holder)
	locktest.RequireIdle(t, o.waiter)
	if o.fault.silent {
		for _, p := range o.links {
			p.Cut() // the server's side of half-open connections
		}
	}
	o.RequireNoLock(t, o.waiter, nil)
	locktest.Eventually(t, "no channel", func() bool { return len(o.Channels()) == 0 })
}
