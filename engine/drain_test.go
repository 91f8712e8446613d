package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// shutting returns a harness with that many locks, each held and waited for, at the end of the turn in which a shutdown
// began. drained counts the locks that have been drained.
func shutting(t *testing.T, locks int) (d *desk, drained *int) {
	d = newDesk(t, 8)
	d.holds(locks)
	for i := range locks {
		d.ask("lock", fmt.Sprintf("k%04d/2", i))
	}
	d.turn()
	require.EqualValues(t, locks, d.c.stats().Waiting)
	drained = new(int)
	d.c.fx.Stepped = func(s actor.Step) {
		if s.Kind == actor.Drain {
			*drained++
		}
	}
	d.ask("shutdown", "shutdown")
	d.turn()
	return d, drained
}

// However many locks there are, a turn rejects the waiters of at most a fixed number, and the next turn follows at
// once.
func TestAShutdownTakesSomeLocksATurn(t *testing.T) {
	const locks = 3*looksPerTurn + 1
	d, drained := shutting(t, locks)
	for turns := 1; ; turns++ {
		require.Equal(t, min(turns*looksPerTurn, locks), *drained)
		require.EqualValues(t, locks-*drained, d.c.stats().Waiting)
		if *drained == locks {
			break
		}
		at, ok := d.c.next()
		require.True(t, ok && at <= d.now, "it sleeps")
		d.turn()
	}
	require.False(t, d.callers["shutdown"].latest.Decided())
	require.False(t, d.c.drains.on())
}

// New requests are rejected from the first of these turns on.
func TestNobodyIsLetInWhileAShutdownRefusesThoseWhoWait(t *testing.T) {
	d, _ := shutting(t, 2*looksPerTurn)
	require.True(t, d.c.drains.on())
	d.ask("lock", "new")
	d.turn()
	require.Equal(t, actor.ErrClosed, d.callers["new"].latest.Err)
}

// A lock that is stepped before its turn rejects its waiters first: none of them is granted what is unlocked, and none
// times out.
func TestALockThatIsToldSomethingWhileItIsToDrainRefusesFirst(t *testing.T) {
	for name, tell := range map[string]func(*desk, *actor.Lock){
		"an unlock":            func(d *desk, l *actor.Lock) { d.ask("unlock", l.Key()) },
		"a caller that leaves": func(d *desk, l *actor.Lock) { d.ask("cancel", l.Key()+"/2") },
		"a timer of who waits": func(d *desk, l *actor.Lock) {
			d.c.fx.Limit(d.callers[l.Key()+"/2"].latest, d.now+2*tick)
			d.now += 4 * tick
		},
		"its own timer": func(d *desk, l *actor.Lock) { d.c.wake(d.now, l) },
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := shutting(t, 8*looksPerTurn)
			l := d.c.drains.left[len(d.c.drains.left)-1]
			waits := d.callers[l.Key()+"/2"].latest
			tell(d, l)
			d.turn()
			require.True(t, d.c.drains.on())
			require.True(t, waits.Decided())
			require.Equal(t, actor.ErrClosed, waits.Err)
		})
	}
}

// A request gets its result also from a lock that only has its waiters left to reject (the simulation found this with
// seed 12036).
func TestAnUnlockOfALostHoldHasItsVerdictWhileItsLockIsToDrain(t *testing.T) {
	d := newDesk(t, 8)
	d.c.shares(1)
	turns := func() {
		for range 4 {
			d.turn()
		}
	}
	keys := []string{"a", "b", "c", "d"}
	for i, key := range keys { // lost, and waited for by a caller that knows of another holder
		d.ask("lock", key)
		turns()
		d.courier([]string{fmt.Sprint(d.batches), "done"})
		turns()
		require.EqualValues(t, i+1, d.c.stats().Acquired)
		d.ask("lock", key+"/2")
		turns()
		d.c.step(d.now, d.callers[key].hold.Lock(), &actor.Message{Kind: actor.Displaced})
		turns()
		for len(d.out) > 0 {
			for number := range d.out {
				d.courier([]string{fmt.Sprint(number), "taken"})
			}
			turns()
		}
	}
	d.ask("shutdown", "shutdown")
	d.ask("unlock", "d")
	turns()
	require.True(t, d.callers["d"].latest.Decided())
	require.Equal(t, actor.ErrLost, d.callers["d"].latest.Err)
	require.Equal(t, actor.ErrClosed, d.callers["d/2"].latest.Err)
}

// A shutdown that is cancelled before all waiters were rejected is not complete, even if no lock is held.
func TestAShutdownThatIsCutShortBeforeAllWereRefusedIsNotComplete(t *testing.T) {
	for _, ends := range []string{"cancel", "close"} {
		d := newDesk(t, 8)
		d.c.shares(1)
		for _, key := range []string{"a", "b", "c"} {
			d.ask("lock", key)
			d.turn()
			d.turn()
		}
		for len(d.out) > 0 {
			for number := range d.out {
				d.courier([]string{fmt.Sprint(number), "taken"})
			}
			for range 5 {
				d.turn()
			}
		}
		require.EqualValues(t, 3, d.c.stats().Waiting)
		require.Zero(t, d.c.fx.Tenures)
		d.ask("shutdown", "shutdown")
		d.turn()
		require.EqualValues(t, 2, d.c.stats().Waiting)
		shutdown := d.callers["shutdown"].latest
		require.False(t, shutdown.Decided())
		d.ask(ends, "shutdown")
		d.turn()
		require.True(t, shutdown.Decided())
		require.Error(t, shutdown.Err, ends)
	}
}

// A shutdown does not wait for replies of a server that is down.
func TestAShutdownDoesNotWaitForAServerThatIsSilent(t *testing.T) {
	converse(t, 8, `
		1ms  lock a     → 1: acquire a
		2ms  lock b     → 2: acquire b
		3ms  shutdown   → a b engine closed
		4ms  2 lost EOF → shutdown complete
	`)
}

// A close ends what a shutdown has not reached.
func TestACloseEndsAShutdownThatIsUnderWay(t *testing.T) {
	d, _ := shutting(t, 2*looksPerTurn)
	shutdown := d.callers["shutdown"].latest
	d.ask("close", "close")
	d.c.turn(d.now, d.letters[0])
	d.closes()
	require.True(t, shutdown.Decided())
	require.ErrorIs(t, shutdown.Err, actor.ErrClosed)
	require.Zero(t, d.c.stats().Waiting)
	require.Zero(t, d.c.stats().Held)
	require.False(t, d.c.drains.on())
	require.Zero(t, d.c.stats().Timers)
}
