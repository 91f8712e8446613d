package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// newShutdownHarness returns a harness with that many locks, each held and waited for, at the end of the turn in which
// a shutdown began. drained counts the locks that have been drained.
func newShutdownHarness(t *testing.T, locks int) (d *coordinatorHarness, drained *int) {
	d = newHarness(t, 8)
	d.holds(locks)
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d/2", i))
	}
	d.turn()
	require.EqualValues(t, locks, d.c.Stats().Waiting)
	drained = new(int)
	d.c.Fx.OnStep = func(s actor.StepTrace) {
		if s.Event == actor.Drain {
			*drained++
		}
	}
	d.ask("shutdown", "shutdown")
	d.turn()
	return d, drained
}

// However many locks there are, a turn rejects the waiters of at most a fixed number, and the next turn follows at
// once.
func TestShutdown_ManyLocks_TurnBounded(t *testing.T) {
	const locks = 3*maxLocksPerTurn + 1
	d, drained := newShutdownHarness(t, locks)
	for turns := 1; ; turns++ {
		require.Equal(t, min(turns*maxLocksPerTurn, locks), *drained)
		require.EqualValues(t, locks-*drained, d.c.Stats().Waiting)
		if *drained == locks {
			break
		}
		at, ok := d.c.Next()
		require.True(t, ok && at <= d.now, "it sleeps")
		d.turn()
	}
	require.False(t, d.callers["shutdown"].latest.Completed())
	require.False(t, d.c.DrainRound.On())
}

// New requests are rejected from the first of these turns on.
func TestShutdown_NewRequest_Rejected(t *testing.T) {
	d, _ := newShutdownHarness(t, 2*maxLocksPerTurn)
	require.True(t, d.c.DrainRound.On())
	d.ask("lock", "new")
	d.turn()
	require.Equal(t, actor.ErrClosed, d.callers["new"].latest.Err)
}

// A lock that is stepped before its turn rejects its waiters first: none of them is granted what is unlocked, and none
// times out.
func TestDrain_LockStepped_RejectsFirst(t *testing.T) {
	for name, tell := range map[string]func(*coordinatorHarness, *actor.Lock){
		"an unlock":            func(d *coordinatorHarness, l *actor.Lock) { d.ask("unlock", l.Key()) },
		"a caller that leaves": func(d *coordinatorHarness, l *actor.Lock) { d.ask("cancel", l.Key()+"/2") },
		"a timer of who waits": func(d *coordinatorHarness, l *actor.Lock) {
			d.c.Fx.SetDeadline(d.callers[l.Key()+"/2"].latest, d.now+2*Tick)
			d.now += 4 * Tick
		},
		"its own timer": func(d *coordinatorHarness, l *actor.Lock) { d.c.onTimer(d.now, l) },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newShutdownHarness(t, 8*maxLocksPerTurn)
			l := d.c.DrainRound.Left[len(d.c.DrainRound.Left)-1]
			waits := d.callers[l.Key()+"/2"].latest
			tell(d, l)
			d.turn()
			require.True(t, d.c.DrainRound.On())
			require.True(t, waits.Completed())
			require.Equal(t, actor.ErrClosed, waits.Err)
		})
	}
}

// A request gets its result also from a lock that only has its waiters left to reject (the simulation found this with
// seed 12036).
func TestDrain_LostHoldUnlocked_GetsResult(t *testing.T) {
	d := newHarness(t, 8)
	d.c.LimitTurn(1)
	turns := func() {
		for range 4 {
			d.turn()
		}
	}
	keys := []string{"a", "b", "c", "d"}
	for i, key := range keys { // lost, and waited for by a caller that knows of another holder
		d.ask("lock", key)
		turns()
		d.deliverBatch([]string{fmt.Sprint(d.batches), "done"})
		turns()
		require.EqualValues(t, i+1, d.c.Stats().Acquired)
		d.ask("lock", key+"/2")
		turns()
		d.c.step(d.now, d.callers[key].hold.Lock(), &actor.Message{Event: actor.Displaced})
		turns()
		for len(d.inFlight) > 0 {
			for number := range d.inFlight {
				d.deliverBatch([]string{fmt.Sprint(number), "taken"})
			}
			turns()
		}
	}
	d.ask("shutdown", "shutdown")
	d.ask("unlock", "d")
	turns()
	require.True(t, d.callers["d"].latest.Completed())
	require.Equal(t, actor.ErrLost, d.callers["d"].latest.Err)
	require.Equal(t, actor.ErrClosed, d.callers["d/2"].latest.Err)
}

// A shutdown that is canceled before all waiters were rejected is not complete, even if no lock is held.
func TestShutdown_CutShort_NotComplete(t *testing.T) {
	for _, ends := range []string{"cancel", "close"} {
		d := newHarness(t, 8)
		d.c.LimitTurn(1)
		for _, key := range []string{"a", "b", "c"} {
			d.ask("lock", key)
			d.turn()
			d.turn()
		}
		for len(d.inFlight) > 0 {
			for number := range d.inFlight {
				d.deliverBatch([]string{fmt.Sprint(number), "taken"})
			}
			for range 5 {
				d.turn()
			}
		}
		require.EqualValues(t, 3, d.c.Stats().Waiting)
		require.Zero(t, d.c.Fx.HeldLocks)
		d.ask("shutdown", "shutdown")
		d.turn()
		require.EqualValues(t, 2, d.c.Stats().Waiting)
		shutdown := d.callers["shutdown"].latest
		require.False(t, shutdown.Completed())
		d.ask(ends, "shutdown")
		d.turn()
		require.True(t, shutdown.Completed())
		require.Error(t, shutdown.Err, ends)
	}
}

// A shutdown does not wait for replies of a server that is down.
func TestShutdown_SilentServer_NotWaitedFor(t *testing.T) {
	runConversation(t, 8, `
		1ms  lock a     → 1: acquire a
		2ms  lock b     → 2: acquire b
		3ms  shutdown   → a b engine closed
		4ms  2 lost EOF → shutdown complete
	`)
}

// A close ends what a shutdown has not reached.
func TestClose_ShutdownInProgress_EndsAll(t *testing.T) {
	d, _ := newShutdownHarness(t, 2*maxLocksPerTurn)
	shutdown := d.callers["shutdown"].latest
	d.ask("close", "close")
	d.c.Turn(d.now, d.messages[0])
	d.closeAndCount()
	require.True(t, shutdown.Completed())
	require.ErrorIs(t, shutdown.Err, actor.ErrClosed)
	require.Zero(t, d.c.Stats().Waiting)
	require.Zero(t, d.c.Stats().Held)
	require.False(t, d.c.DrainRound.On())
	require.Zero(t, d.c.Stats().Timers)
}

// Callers that try again at once, more than a turn handles, do not keep a shutdown from its end.
func TestShutdown_CallersTryAgain_Completes(t *testing.T) {
	d := newSharedLaneHarness(t, MaxMessagesPerTurn)
	d.line("1ms lock a")
	d.line("2ms 1 done")
	d.line("3ms shutdown s")
	for i := range 10 {
		d.posts("lock", fmt.Sprintf("again%d-", i), 2*MaxMessagesPerTurn)
		if i == 2 {
			d.ask("unlock", "a")
		}
		d.turn()
		d.done()
		require.NotZero(t, d.c.MessagesLeft())
	}
	require.True(t, d.callers["s"].latest.Completed())
	require.NoError(t, d.callers["s"].latest.Err)
}
