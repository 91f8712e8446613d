package kinds_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// contest is a set of clients that acquire the same quorum repeatedly, each for 5 ms or less.
type contest struct {
	hold   time.Duration  // how long each has it
	grants []atomic.Int64 // per client
	waits  []atomic.Int64 // maximum wait per client, in ns
}

// take acquires the quorum repeatedly until ctx ends.
func (c *contest) take(ctx context.Context, t *testing.T, client int, m lockwheel.Multi) {
	for ctx.Err() == nil {
		asked := time.Now()
		hold, err := m.Lock(ctx)
		c.waits[client].Store(max(c.waits[client].Load(), int64(time.Since(asked))))
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		c.grants[client].Add(1)
		time.Sleep(c.hold) // the work
		if err := hold.Unlock(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}
}

// least returns the smallest number of grants of a client.
func (c *contest) least() int64 {
	return slices.Min(counted(c.grants))
}

// longest returns the maximum wait, including a wait without a grant.
func (c *contest) longest() time.Duration {
	return time.Duration(slices.Max(counted(c.waits)))
}

func counted(of []atomic.Int64) (n []int64) {
	for i := range of {
		n = append(n, of[i].Load())
	}
	return n
}

// between has the clients contend until each of them had that many grants, or the time has elapsed. It calls strikes
// after some grants.
func (c *contest) between(t *testing.T, clients [][]*lockwheel.Engine, grants int64, within time.Duration, strikes func()) {
	var locks []lockwheel.Multi
	for _, engines := range clients {
		locks = append(locks, locktest.Quorum(engines, "n"))
	}
	c.run(t, locks, grants, within, strikes)
}

// run is like between, with the lock of each client.
func (c *contest) run(t *testing.T, locks []lockwheel.Multi, grants int64, within time.Duration, strikes func()) {
	c.grants, c.waits = make([]atomic.Int64, len(locks)), make([]atomic.Int64, len(locks))
	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	var all sync.WaitGroup
	for i, m := range locks {
		all.Go(func() { c.take(ctx, t, i, m) })
	}
	for c.least() < grants && ctx.Err() == nil {
		if c.least() > grants/10 && strikes != nil {
			strikes()
			strikes = nil
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	all.Wait()
}

// A dead minority slows contenders down, and does not stop them. A caller does not keep its locks from the others while
// it waits for a server that does not reply.
func TestQuorum_DeadMinority_ContendersGoOn(t *testing.T) {
	t.Parallel()
	// Longer than two contenders delay each other, also on a busy machine.
	patient := lockwheel.Options{Lease: 2 * time.Minute, CallTimeout: 30 * time.Second}
	for name, fail := range map[string]func(*testing.T, *locktest.Server, []*proxy.Proxy){
		"none is dead": func(*testing.T, *locktest.Server, []*proxy.Proxy) {},
		"it is stopped": func(t *testing.T, s *locktest.Server, _ []*proxy.Proxy) {
			require.NoError(t, s.Real.Pause())
			t.Cleanup(func() { _ = s.Real.Continue() })
		},
		"it refuses connections": func(t *testing.T, _ *locktest.Server, ways []*proxy.Proxy) {
			for _, way := range ways {
				require.NoError(t, way.Refuse(true))
				way.Cut()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for dead := range 3 {
				if dead != 2 && name == "none is dead" {
					continue
				}
				p := locktest.NewServerSet(t, 3)
				clients := make([][]*lockwheel.Engine, 2)
				var ways []*proxy.Proxy
				for i := range clients {
					for at, s := range p {
						if at != dead {
							clients[i] = append(clients[i], s.Open(patient))
							continue
						}
						way := proxy.Start(t, s.Addr)
						ways = append(ways, way)
						clients[i] = append(clients[i], s.OpenAt(way.Addr(), patient))
					}
				}
				c := contest{hold: 5 * time.Millisecond}
				began := time.Now()
				c.between(t, clients, 25, 2*patient.CallTimeout, func() { fail(t, p[dead], ways) })
				t.Logf("server %d: %v grants in %v, longest wait %v", dead, counted(c.grants), time.Since(began), c.longest())
				require.GreaterOrEqual(t, c.least(), int64(25))
				require.Less(t, c.longest(), patient.CallTimeout/2, "no client waits for a missing reply")
			}
		})
	}
}

// Many callers of several processes go on as well when a server is gone: they queue at the same one of the others.
// Half of them at each would keep it from the other half.
func TestQuorum_DeadMinority_ManyContendersGoOn(t *testing.T) {
	t.Parallel()
	const processes, callers, each = 3, 8, 40
	// Longer than callers may delay each other, also on a busy machine.
	patient := lockwheel.Options{Lease: 2 * time.Minute, CallTimeout: 30 * time.Second}
	for kind, lock := range map[string]func(*lockwheel.Engine) lockwheel.Mutex{
		"plain":  func(e *lockwheel.Engine) lockwheel.Mutex { return e.Mutex("n") },
		"writer": func(e *lockwheel.Engine) lockwheel.Mutex { return e.RWMutex("n").Writer() },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			servers := locktest.NewServerSet(t, 2)
			var locks []lockwheel.Multi
			for range processes {
				engines := servers.Client(patient)
				for range callers {
					locks = append(locks, lockwheel.Quorum(lock(engines[0]), lock(new(lockwheel.Engine)), lock(engines[1])))
				}
			}
			c := contest{hold: time.Millisecond}
			began := time.Now()
			c.run(t, locks, each, time.Minute, nil)
			t.Logf("%v grants in %v, longest wait %v", counted(c.grants), time.Since(began), c.longest())
			require.GreaterOrEqual(t, c.least(), int64(each))
		})
	}
}

// A continuous stream of readers of a quorum, each reading for longer than a writer waits at first, and a writer of
// their engines.
func TestQuorum_ManyReaders_WriterGranted(t *testing.T) {
	t.Parallel()
	long.Only(t, "a writer waits for seconds of reads")
	for _, members := range []int{3, 5} {
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			var readers, writers []lockwheel.Mutex
			for _, e := range locktest.NewServerSet(t, members).Client(lockwheel.Options{}) {
				m := e.RWMutex("n")
				readers, writers = append(readers, m.RLocker()), append(writers, m.Writer())
			}
			over, stop := context.WithCancel(t.Context())
			var reads atomic.Int64
			var all sync.WaitGroup
			defer all.Wait()
			defer stop()
			for range 6 {
				all.Go(func() {
					for over.Err() == nil {
						if hold, err := lockwheel.Quorum(readers...).Lock(over); err == nil {
							reads.Add(1)
							time.Sleep(rand.N(400 * time.Millisecond))
							hold.Unlock(context.Background())
						}
					}
				})
			}
			for range 3 {
				before := reads.Load()
				locktest.Eventually(t, "readers", func() bool { return reads.Load() > before+8 })
				began := time.Now()
				hold, err := lockwheel.Quorum(writers...).Lock(t.Context(), lockwheel.Wait(time.Minute))
				require.NoError(t, err)
				t.Logf("a writer waited for %v", time.Since(began))
				locktest.Unlock(t, hold)
			}
		})
	}
}

// A quorum that another caller holds until the wait ends was not acquired, also when a minority of its servers is gone:
// a majority is there. No server that replies is said not to answer.
func TestQuorum_MinorityGone_NotAcquired(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := [][]*lockwheel.Engine{p.Client(lockwheel.Options{}), p.Client(lockwheel.Options{})}
	require.NoError(t, p[1].Real.Kill())
	held := locktest.LockAll(t, locktest.Quorum(engines[0], "n"))
	for name, call := range map[string]func() error{
		"tried once": func() error {
			_, err := locktest.Quorum(engines[1], "n").TryLock(t.Context())
			return err
		},
		"queued": func() error {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			result, before := make(chan error, 1), engines[1][0].Stats().Failed
			go func() {
				_, err := locktest.Quorum(engines[1], "n").Lock(ctx)
				result <- err
			}()
			locktest.Eventually(t, "a waiter", func() bool { s := engines[1][0].Stats(); return s.Failed > before && s.Waiting == 1 })
			stop()
			return <-result
		},
	} {
		err := call()
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired, name)
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable, name)
		require.NotContains(t, err.Error(), "no answer", name)
	}
	locktest.Unlock(t, held)
}
