package lockwheeltest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/lockwheeltest"
)

var kinds = []struct {
	name  string
	kind  lockwheeltest.Kind
	mutex func(*lockwheel.Engine, string) lockwheel.Mutex
}{
	{"plain", lockwheeltest.Plain, (*lockwheel.Engine).Mutex},
	{"fenced", lockwheeltest.Fenced, (*lockwheel.Engine).FencedMutex},
	{"fair", lockwheeltest.Fair, (*lockwheel.Engine).FairMutex},
	{"reader", lockwheeltest.Reader, func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).RLocker() }},
	{"writer", lockwheeltest.Writer, func(e *lockwheel.Engine, name string) lockwheel.Mutex { return e.RWMutex(name).Writer() }},
}

// await waits until a hold has ended, for much longer than that takes.
func await(t *testing.T, hold *lockwheel.Hold) {
	t.Helper()
	select {
	case <-hold.Done():
	case <-time.After(20 * time.Second):
		require.Fail(t, "the hold goes on")
	}
}

// taken waits for a lock.
func taken(p *lockwheel.Pending) (*lockwheel.Hold, error) {
	<-p.Done()
	return p.Hold()
}

func TestLose_EachKind_EndsHold(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			server := lockwheeltest.New(t)
			hold, err := k.mutex(server.Engine(), "a").Lock(t.Context())
			require.NoError(t, err)
			ctx := hold.Context()
			require.True(t, server.Held("a"))

			server.Lose("a")
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			await(t, hold)
			require.ErrorIs(t, context.Cause(ctx), lockwheel.ErrLost)
			require.False(t, server.Held("a"))
		})
	}
}

// Lose takes a lock from the engine that has it, with names as the first engine has them. It leaves others alone.
func TestLose_SeveralEngines_EndsRightHold(t *testing.T) {
	server := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{Prefix: "x:"}))
	other, bare := server.Open(lockwheel.Options{Prefix: "x:"}), server.Open(lockwheel.Options{})
	lock := func(m lockwheel.Mutex) *lockwheel.Hold {
		hold, err := m.Lock(t.Context())
		require.NoError(t, err)
		return hold
	}
	reads := []*lockwheel.Hold{
		lock(server.Engine().RWMutex("r").RLocker()), lock(other.RWMutex("r").RLocker()), lock(bare.RWMutex("x:r").RLocker()),
	}
	apart := server.Open(lockwheel.Options{Prefix: "y:"})
	stays := []*lockwheel.Hold{lock(bare.Mutex("r")), lock(other.Mutex("b")), lock(apart.Mutex("r")), lock(apart.Mutex("x:r"))}

	server.Lose("r")
	for _, hold := range reads {
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
	for _, hold := range stays {
		require.NoError(t, hold.Err())
		require.NoError(t, hold.Unlock(t.Context()))
	}
}

// A writer loses the lock with what it reads, at once.
func TestLose_WriterReads_EndsBoth(t *testing.T) {
	server := lockwheeltest.New(t)
	write, err := server.Engine().RWMutex("a").Lock(t.Context())
	require.NoError(t, err)
	read, err := server.Engine().RWMutex("a").RLocker().Lock(write.Context())
	require.NoError(t, err)
	server.Lose("a")
	require.ErrorIs(t, write.Err(), lockwheel.ErrLost)
	require.ErrorIs(t, read.Err(), lockwheel.ErrLost)
}

// The engine that is granted the lost lock next keeps it.
func TestLose_NextWaits_KeepsIt(t *testing.T) {
	server := lockwheeltest.New(t)
	_, err := server.Engine().Mutex("a").Lock(t.Context())
	require.NoError(t, err)
	var waiting []*lockwheel.Pending
	for range 3 {
		e := server.Open(lockwheel.Options{})
		waiting = append(waiting, e.Mutex("a").LockAsync(t.Context()))
		require.Eventually(t, func() bool { return e.Stats().Subscriptions == 1 }, 10*time.Second, time.Millisecond)
	}
	var served sync.WaitGroup
	lost := make(chan struct{})
	for _, p := range waiting {
		served.Go(func() {
			hold, err := taken(p)
			<-lost
			if assert.NoError(t, err) {
				assert.NoError(t, hold.Unlock(context.Background()))
			}
		})
	}
	server.Lose("a")
	close(lost)
	served.Wait()
}

func TestLose_HeldElsewhere_GoesToWaiter(t *testing.T) {
	server := lockwheeltest.New(t)
	defer server.HoldElsewhere("a")() // a loss is none of the test's faults
	waiting := server.Engine().Mutex("a").LockAsync(t.Context())
	server.Lose("a")
	hold, err := taken(waiting)
	require.NoError(t, err)
	require.NoError(t, hold.Unlock(t.Context()))
}

// During an outage as well a holder loses its lock. The server does not hear of that.
func TestLose_Down_EndsHoldOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		for _, k := range kinds {
			hold, err := k.mutex(server.Engine(), k.name).Lock(t.Context())
			require.NoError(t, err)
			server.Down()
			start := time.Now()
			server.Lose(k.name)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
			require.LessOrEqual(t, time.Since(start), 4*time.Second)
			require.True(t, server.Held(k.name))
			server.Up()
		}
		time.Sleep(31 * time.Second)
		require.False(t, server.Held("plain"))
	})
}

// tracer is a Tracer that notes the names of locks.
type tracer []string

func (n *tracer) CallStart(ctx context.Context, call lockwheel.TracedCall) context.Context {
	if call.Op == "lock" || call.Op == "try lock" {
		*n = append(*n, call.Name)
	}
	return ctx
}

func (*tracer) CallEnd(context.Context, lockwheel.TracedCall, *lockwheel.Hold, error) {}

// The observer and the tracer of the options are those of the test's engine, and not of other processes.
func TestHoldElsewhere_Observer_HearsNothing(t *testing.T) {
	var names []string
	var traced tracer
	require.Empty(t, fails(func(t *testT) {
		server := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{Tracer: &traced, Observer: lockwheel.Observer{
			Acquired: func(name string, _ time.Duration) { names = append(names, name) },
		}}))
		server.HoldElsewhere("elsewhere")()
		server.Engine().Mutex("own").Do(t.Context(), func(context.Context) error { return nil })
	}))
	require.Equal(t, []string{"own"}, names)
	require.Equal(t, tracer{"own"}, traced)
}

func TestLose_NotHeld_FailsTest(t *testing.T) {
	require.Equal(t, `lockwheeltest: Lose("a"): no engine of this server holds the lock`, fails(func(t *testT) {
		lockwheeltest.New(t).Lose("a")
	}))
	require.Contains(t, fails(func(t *testT) {
		server := lockwheeltest.New(t, lockwheeltest.AllowLeftovers())
		gone := server.Open(lockwheel.Options{})
		_, err := gone.Mutex("a").Lock(t.Context())
		assert.NoError(t, err)
		gone.Close()
		server.Engine().Mutex("a").LockAsync(t.Context())
		for server.Engine().Stats().Waiting == 0 {
			time.Sleep(time.Millisecond)
		}
		server.Lose("a")
	}), "no engine of this server holds the lock", "one that only waits does not")
}

// Holds go on in an outage until their leases end, and what tries meanwhile fails.
// What an engine's own callers hold it knows without the server, but of a fair lock, which has a queue there.
func TestDown_HeldByEngine_NotAcquired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		for _, k := range kinds {
			if k.kind == lockwheeltest.Reader {
				continue
			}
			m := k.mutex(server.Engine(), k.name)
			hold, err := m.Lock(t.Context())
			require.NoError(t, err)
			server.Down()
			_, err = m.TryLock(t.Context())
			if k.kind == lockwheeltest.Fair {
				require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			} else {
				require.ErrorIs(t, err, lockwheel.ErrNotAcquired, k.name)
			}
			server.Up()
			require.NoError(t, hold.Unlock(t.Context()))
		}
	})
}

func TestDown_Hold_LostAfterLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		for _, k := range kinds {
			hold, err := k.mutex(server.Engine(), k.name).Lock(t.Context())
			require.NoError(t, err)
			server.Down()
			server.Down()
			time.Sleep(19 * time.Second) // the engine renewed the lock at most 10 s ago
			require.NoError(t, hold.Err(), k.name)
			start := time.Now()
			_, err = server.Engine().Mutex("other").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.Less(t, time.Since(start), time.Second)
			_, err = server.Engine().Mutex("other").Lock(t.Context(), lockwheel.Wait(time.Minute))
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, k.name)
			require.False(t, server.Held(k.name), "keys expire in an outage")
			server.Up()
		}
	})
}

// While the server is down, Open returns an engine with Lazy. It connects when the server is up.
func TestOpen_LazyWhileDown_ConnectsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		server.Down()
		e := server.Open(lockwheel.Options{Lazy: true})
		_, err := e.Mutex("a").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		server.Up()
		hold, err := e.Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// A short outage costs no hold, and a call that waits is served after it.
func TestUp_ShortOutage_AllGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		closed := server.Open(lockwheel.Options{})
		closed.Close() // Up does not wait for it
		hold, err := server.Engine().Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		server.Down()
		waiting := server.Engine().Mutex("b").LockAsync(t.Context())
		time.Sleep(15 * time.Second)
		server.Up()
		second, err := server.Engine().Mutex("c").TryLock(t.Context())
		require.NoError(t, err, "Up returns when the engine has reached the server")
		third, err := taken(waiting)
		require.NoError(t, err)
		time.Sleep(time.Hour)
		for _, h := range []*lockwheel.Hold{hold, second, third} {
			require.NoError(t, h.Unlock(t.Context()))
		}
	})
}

func TestFlush_Holder_ToldAtRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		hold, err := server.Engine().Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		server.Flush()
		require.False(t, server.Held("a"))
		require.NoError(t, hold.Err())
		time.Sleep(11 * time.Second)
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	})
}

func TestHoldElsewhere_EachKind_KeepsOut(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			server := lockwheeltest.New(t)
			m := k.mutex(server.Engine(), "a")
			if k.kind == lockwheeltest.Reader {
				server.HoldElsewhere("a", k.kind) // a second reader; the end of the test releases it
				m = server.Engine().RWMutex("a").Writer()
			}
			release := server.HoldElsewhere("a", k.kind)
			require.True(t, server.Held("a"))
			_, err := m.TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
			release()
			release()
			if k.kind == lockwheeltest.Reader {
				m = server.Engine().RWMutex("a").RLocker()
			}
			hold, err := m.TryLock(t.Context())
			require.NoError(t, err)
			require.NoError(t, hold.Unlock(t.Context()))
		})
	}
}

// The other process holds the lock until its release, whatever the program sets for its own holds.
func TestHoldElsewhere_MaxHold_GoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{MaxHold: time.Minute}))
		release := server.HoldElsewhere("a")
		time.Sleep(10 * time.Minute)
		_, err := server.Engine().Mutex("a").TryLock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrNotAcquired)
		release()
		require.False(t, server.Held("a"))
	})
}

// A quorum that waits in the queue of one server is told at once that the engines of the others shut down, also if
// these wait for their holds.
func TestQuorum_OthersShutDownSlowly_EndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var locks []lockwheel.Mutex
		var engines []*lockwheel.Engine
		for i := range 3 {
			server := lockwheeltest.New(t)
			if i < 2 {
				server.HoldElsewhere("q")
			}
			engines, locks = append(engines, server.Engine()), append(locks, server.Engine().Mutex("q"))
		}
		result := make(chan error, 1)
		go func() {
			_, err := lockwheel.Quorum(locks...).Lock(t.Context())
			result <- err
		}()
		waiting := func(e *lockwheel.Engine) bool { return e.Stats().Waiting == 1 }
		queued := -1 // the engine in which it waits alone
		for tries := 0; queued < 0; tries++ {
			require.Less(t, tries, 10_000)
			time.Sleep(time.Millisecond)
			if at := slices.IndexFunc(engines, waiting); at >= 0 && !slices.ContainsFunc(engines[at+1:], waiting) {
				queued = at
			}
		}
		var shutdowns sync.WaitGroup
		var holds []*lockwheel.Hold
		begun := time.Now()
		for _, e := range slices.Concat(engines[:queued], engines[queued+1:]) {
			hold, err := e.Mutex("held").Lock(t.Context())
			require.NoError(t, err)
			holds = append(holds, hold)
			shutdowns.Go(func() { require.NoError(t, e.Shutdown(t.Context())) })
		}
		require.ErrorContains(t, <-result, "no majority is possible")
		require.Less(t, time.Since(begun), time.Second, "it would wait there for 2 s before it asks all again")
		for _, hold := range holds {
			require.NoError(t, hold.Unlock(t.Context()))
		}
		shutdowns.Wait()
	})
}

// An operator can force the locks of a held quorum one after the other: each is requested again only after a lease.
func TestQuorum_MemberForced_AwayForALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var servers []*lockwheeltest.Server
		var locks []lockwheel.Mutex
		for range 3 {
			server := lockwheeltest.New(t)
			servers, locks = append(servers, server), append(locks, server.Engine().Mutex("q"))
		}
		const lease = 30 * time.Second // the default
		hold, err := lockwheel.Quorum(locks...).Lock(t.Context())
		require.NoError(t, err)
		synctest.Wait() // the third one is granted, too
		servers[0].Lose("q")
		time.Sleep(lease - time.Second)
		require.False(t, servers[0].Held("q"))
		time.Sleep(2 * time.Second)
		require.True(t, servers[0].Held("q"))
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

func TestHoldElsewhere_Misuse_FailsTest(t *testing.T) {
	require.Contains(t, fails(func(t *testT) {
		server := lockwheeltest.New(t)
		hold, _ := server.Engine().Mutex("a").Lock(t.Context())
		defer hold.Unlock(t.Context())
		server.HoldElsewhere("a")
	}), `lockwheeltest: HoldElsewhere: lockwheel: lock "a": `)
	require.Contains(t, fails(func(t *testT) {
		lockwheeltest.New(t).HoldElsewhere("a", lockwheeltest.Fair, lockwheeltest.Plain)
	}), "2 kinds")
	require.Contains(t, fails(func(t *testT) { lockwheeltest.New(t).HoldElsewhere("a", 9) }), "no Kind 9")
	require.Contains(t, fails(func(t *testT) {
		server := lockwheeltest.New(t)
		server.Down()
		server.HoldElsewhere("a")
	}), "down")
}

// What the other process releases during an outage is free after it.
func TestHoldElsewhere_ReleasedInOutage_IsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := lockwheeltest.New(t)
		release := server.HoldElsewhere("a")
		server.Down()
		release()
		require.True(t, server.Held("a"))
		server.Up()
		start := time.Now()
		hold, err := server.Engine().Mutex("a").Lock(t.Context())
		require.NoError(t, err)
		require.Less(t, time.Since(start), 5*time.Second)
		require.NoError(t, hold.Unlock(t.Context()))
	})
}

// An engine in a bubble shares nothing with one outside, or in another bubble. Otherwise calls that wait in it would
// keep its time from passing, or the runtime would end the program.
func TestBubble_CallsWait_TimePasses(t *testing.T) {
	outside := lockwheeltest.New(t)
	for range 5 {
		require.NoError(t, outside.Engine().Mutex("a").Do(t.Context(), func(context.Context) error { return nil }))
		synctest.Test(t, func(t *testing.T) {
			server := lockwheeltest.New(t)
			server.HoldElsewhere("a")
			start := time.Now()
			var waiting sync.WaitGroup
			for range 8 {
				waiting.Go(func() {
					_, err := server.Engine().Mutex("a").Lock(t.Context(), lockwheel.Wait(10*time.Minute))
					assert.ErrorIs(t, err, lockwheel.ErrNotAcquired)
				})
			}
			waiting.Wait()
			require.InDelta(t, 10*time.Minute, time.Since(start), float64(time.Second))
		})
	}
}

// A lock that is taken before any time has passed in a bubble is treated like a later one: it is handed off, reported
// as held for too long once, has its beginning in a list, and ends at MaxHold.
func TestBubble_LockedAtOnce_AsLater(t *testing.T) {
	for _, before := range []time.Duration{0, time.Nanosecond, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			server := lockwheeltest.New(t, lockwheeltest.WithOptions(lockwheel.Options{HeldTooLong: time.Minute, MaxHold: 5 * time.Minute}))
			time.Sleep(before)
			begun, e := time.Now(), server.Engine()
			first, err := e.Mutex("a").Lock(t.Context())
			require.NoError(t, err)
			next := e.Mutex("a").LockAsync(t.Context())
			synctest.Wait()
			require.NoError(t, first.Unlock(t.Context()))
			<-next.Done()
			hold, err := next.Hold()
			require.NoError(t, err)
			require.EqualValues(t, 1, e.Stats().HandedOff, before)
			require.Equal(t, begun, time.Now(), "no time passes, so that the grant is at the engine's first moment")
			for l := range e.Locks(t.Context()) {
				require.True(t, begun.Equal(l.Since), "%v: %v", before, l.Since)
			}
			time.Sleep(time.Minute - time.Second)
			require.Zero(t, e.Stats().HeldTooLong, before)
			time.Sleep(2 * time.Second)
			require.EqualValues(t, 1, e.Stats().HeldTooLong, before)
			time.Sleep(2 * time.Minute)
			require.EqualValues(t, 1, e.Stats().HeldTooLong, "%v: once", before)
			require.NoError(t, hold.Err())
			time.Sleep(2 * time.Minute)
			require.ErrorIs(t, hold.Err(), lockwheel.ErrLost, before)
		})
	}
}

// All that an engine does runs by the time of a bubble.
func TestBubble_EachKind_TimePasses(t *testing.T) {
	for _, k := range kinds {
		synctest.Test(t, func(t *testing.T) {
			server := lockwheeltest.New(t)
			other := server.Open(lockwheel.Options{})
			start := time.Now()
			hold, err := k.mutex(server.Engine(), "a").Lock(t.Context())
			require.NoError(t, err)
			waiting := k.mutex(other, "a").LockAsync(t.Context(), lockwheel.Lease(time.Minute))
			if k.kind == lockwheeltest.Reader {
				waiting = other.RWMutex("a").LockAsync(t.Context(), lockwheel.Lease(time.Minute))
			}
			time.Sleep(time.Hour)
			require.NoError(t, hold.Err())
			require.GreaterOrEqual(t, server.Engine().Stats().Renewed, uint64(359))
			require.NoError(t, hold.Unlock(t.Context()))
			next, err := taken(waiting)
			require.NoError(t, err)
			require.Less(t, time.Since(start), time.Hour+time.Second)
			<-next.Done()
			require.ErrorIs(t, next.Err(), lockwheel.ErrLost)
			require.InDelta(t, time.Minute, time.Since(start)-time.Hour, float64(2*time.Second))
		})
	}
}

func TestBubble_SeveralLocks_TimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var engines []*lockwheel.Engine
		var servers []*lockwheeltest.Server
		for range 3 {
			server := lockwheeltest.New(t)
			servers, engines = append(servers, server), append(engines, server.Engine())
		}
		var locks []lockwheel.Mutex
		var names []lockwheel.Mutex
		for i, e := range engines {
			locks = append(locks, e.Mutex("q"))
			names = append(names, engines[0].Mutex(fmt.Sprint("m", i)))
		}
		quorum, err := lockwheel.Quorum(locks...).Lock(t.Context())
		require.NoError(t, err)
		multi, err := engines[0].Multi(names...).Lock(t.Context())
		require.NoError(t, err)
		servers[2].Down()
		time.Sleep(time.Hour)
		require.NoError(t, quorum.Err(), "a majority is enough")
		servers[0].Lose("m1")
		synctest.Wait()
		require.ErrorIs(t, multi.Err(), lockwheel.ErrLost)
		servers[2].Up()
		require.NoError(t, quorum.Unlock(t.Context()))
		require.ErrorIs(t, multi.Unlock(t.Context()), lockwheel.ErrLost)
	})
}
