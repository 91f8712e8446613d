package lockwheel_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/long"
)

// Properties of every kind of lock, and of both sides of a read/write lock. The tests of the plain lock check them in
// more detail.

// onEveryKind runs a test for each kind. other is a lock that excludes mutex: the same lock, for a reader the writer.
func onEveryKind(t *testing.T, test func(t *testing.T, mutex, other kindOfLock)) {
	t.Helper()
	for name, mutex := range grantable() {
		other := mutex
		if name == "reader" {
			other = grantable()["writer"]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex, other)
		})
	}
}

func TestAWaitOfAnyKindSurvivesTheEndOfItsSubscription(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		for _, lost := range []bool{false, true} {
			s := RealServer(t)
			holder, waiter := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
			hold := lock(t, other(holder, "n"))
			waiting := []<-chan outcome{locking(t.Context(), mutex(waiter, "n"))}
			queued(t, waiter, 1)
			waiting = append(waiting, takingAsync(t.Context(), mutex(waiter, "n")))
			eventually(t, "both asleep", func() bool { return waiter.Stats().Waiting == 2 && listens(waiter) })
			before := s.subscriptions()
			s.do("CLIENT", "KILL", "TYPE", "pubsub")
			if !lost {
				eventually(t, "subscribed again", func() bool { return s.subscriptions() > before })
			}
			unlock(t, hold)
			for _, w := range waiting {
				unlock(t, granted(t, w))
			}
			requireIdle(t, waiter)
		}
	})
}

func TestCloseEndsHoldsAndWaitersOfAnyKind(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, other kindOfLock) {
		s := RealServer(t)
		e, elsewhere := s.open(lockwheel.Options{Lease: shortLease}), s.open(lockwheel.Options{})
		hold, taken := lock(t, mutex(e, "held")), lock(t, other(elsewhere, "n"))
		var waiting []<-chan outcome
		for range 3 {
			waiting = append(waiting, locking(t.Context(), mutex(e, "n")))
		}
		eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && listens(e) })
		require.NoError(t, e.Close())
		calls, others := s.scripts(), elsewhere.Stats().Batches
		for _, w := range waiting {
			require.ErrorIs(t, receive(t, w).err, lockwheel.ErrClosed)
		}
		require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
		require.Positive(t, s.pttl("held"), "left to its lease")
		eventually(t, "no channel", func() bool { return len(s.channels()) == 0 })
		eventually(t, "not renewed", func() bool { return !s.exists("held") })
		require.LessOrEqual(t, s.scripts()-calls, int(elsewhere.Stats().Batches-others), "no command after Close")
		unlock(t, taken)
	})
}

func TestAKeyOfAnotherTypeIsRefusedByEveryKind(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		s := AnyServer(t)
		e := s.open(lockwheel.Options{})
		s.do("SET", "text", "x")
		s.do("RPUSH", "list", "x", "y")
		for _, key := range []string{"text", "list"} {
			errs := allCalls(t.Context(), mutex(e, key))
			require.NoError(t, errs["HoldCount"], "the server is not asked")
			delete(errs, "HoldCount")
			for _, what := range slices.Sorted(maps.Keys(errs)) {
				require.ErrorContains(t, errs[what], "WRONGTYPE", what)
				require.ErrorContains(t, errs[what], fmt.Sprintf("%q", key), what)
			}
		}
		requireIdle(t, e)
		require.Equal(t, "x", s.do("GET", "text"))
		require.Equal(t, int64(2), s.do("DBSIZE"), "neither a place in a queue nor a lease")
	})
}

// A slot migrates to another node and on while locks of each kind in it are held, waited for and unlocked. A fair
// lock has three keys, which are on two nodes for a while.
func TestClusterSlotMovesUnderEveryKind(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := newClusterEnv(t, 0)
	// The lease is long: while keys of a reader are on two nodes, its renewal gets TRYAGAIN, and a busy machine takes its time.
	steady := r.open(lockwheel.Options{Lease: 10 * shortLease, RenewInterval: shortLease / 10})
	holder, waiter := r.open(lockwheel.Options{}), r.open(lockwheel.Options{})
	all := grantable()
	var kept, held []*lockwheel.Hold
	var waiting []<-chan outcome
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		other := all[kind]
		if kind == "reader" {
			other = all["writer"]
		}
		kept = append(kept, lock(t, all[kind](steady, "{slot}kept/"+kind)))
		for i := range 3 { // one is unlocked during each migration
			name := fmt.Sprint("{slot}", i, "/", kind)
			held = append(held, lock(t, other(holder, name)))
			waiting = append(waiting, locking(t.Context(), all[kind](waiter, name)))
		}
	}
	requireWaiting(t, waiter, int64(len(waiting)), int64(len(waiting)))
	require.Equal(t, len(waiting), r.channels(), "of shards")
	slot := r.Slot(t, "{slot}")
	for round := range 3 {
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(indexOf(r.Nodes, from)+1)%3])
		m.Move(t, len(held))
		renewed := steady.Stats().Renewed
		eventually(t, "renewals while the slot is in two places", func() bool {
			return steady.Stats().Renewed >= renewed+uint64(len(kept))
		})
		for i := round; i < len(held); i += 3 {
			unlockHold(t, held[i]) // on a node without subscriptions yet; a fair one when all its keys are there
		}
		m.End(t)
		for i := round; i < len(held); i += 3 {
			unlock(t, granted(t, waiting[i]))
		}
		requireHeld(t, kept)
		for i := range held {
			if i%3 > round {
				require.NoError(t, held[i].Err())
				requireNoReply(t, waiting[i], 0)
			}
		}
	}
	for _, hold := range kept {
		unlock(t, hold)
	}
	for _, e := range []*lockwheel.Engine{steady, holder, waiter} {
		requireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
	}
	eventually(t, "no channel", func() bool { return r.channels() == 0 })
	require.Zero(t, r.calls("publish", "subscribe"))
}
