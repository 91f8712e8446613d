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

// OnEveryKind runs a test for each kind. other is a lock that excludes mutex: the same lock, for a reader the writer.
func OnEveryKind(t *testing.T, test func(t *testing.T, mutex, other KindOfLock)) {
	t.Helper()
	for name, mutex := range Grantable() {
		other := mutex
		if name == "reader" {
			other = Grantable()["writer"]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex, other)
		})
	}
}

func TestAWaitOfAnyKindSurvivesTheEndOfItsSubscription(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, other KindOfLock) {
		for _, lost := range []bool{false, true} {
			s := RealServer(t)
			holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			hold := Lock(t, other(holder, "n"))
			waiting := []<-chan Outcome{Locking(t.Context(), mutex(waiter, "n"))}
			Queued(t, waiter, 1)
			waiting = append(waiting, TakingAsync(t.Context(), mutex(waiter, "n")))
			Eventually(t, "both asleep", func() bool { return waiter.Stats().Waiting == 2 && Listens(waiter) })
			before := s.Subscriptions()
			s.Do("CLIENT", "KILL", "TYPE", "pubsub")
			if !lost {
				Eventually(t, "subscribed again", func() bool { return s.Subscriptions() > before })
			}
			Unlock(t, hold)
			for _, w := range waiting {
				Unlock(t, Granted(t, w))
			}
			RequireIdle(t, waiter)
		}
	})
}

func TestCloseEndsHoldsAndWaitersOfAnyKind(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, other KindOfLock) {
		s := RealServer(t)
		e, elsewhere := s.Open(lockwheel.Options{Lease: ShortLease}), s.Open(lockwheel.Options{})
		hold, taken := Lock(t, mutex(e, "held")), Lock(t, other(elsewhere, "n"))
		var waiting []<-chan Outcome
		for range 3 {
			waiting = append(waiting, Locking(t.Context(), mutex(e, "n")))
		}
		Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && Listens(e) })
		require.NoError(t, e.Close())
		calls, others := s.Scripts(), elsewhere.Stats().Batches
		for _, w := range waiting {
			require.ErrorIs(t, Receive(t, w).Err, lockwheel.ErrClosed)
		}
		require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
		require.Positive(t, s.PTTL("held"), "left to its lease")
		Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
		Eventually(t, "not renewed", func() bool { return !s.Exists("held") })
		require.LessOrEqual(t, s.Scripts()-calls, int(elsewhere.Stats().Batches-others), "no command after Close")
		Unlock(t, taken)
	})
}

func TestAKeyOfAnotherTypeIsRefusedByEveryKind(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, _ KindOfLock) {
		s := AnyServer(t)
		e := s.Open(lockwheel.Options{})
		s.Do("SET", "text", "x")
		s.Do("RPUSH", "list", "x", "y")
		for _, key := range []string{"text", "list"} {
			errs := AllCalls(t.Context(), mutex(e, key))
			require.NoError(t, errs["HoldCount"], "the server is not asked")
			delete(errs, "HoldCount")
			for _, what := range slices.Sorted(maps.Keys(errs)) {
				require.ErrorContains(t, errs[what], "WRONGTYPE", what)
				require.ErrorContains(t, errs[what], fmt.Sprintf("%q", key), what)
			}
		}
		RequireIdle(t, e)
		require.Equal(t, "x", s.Do("GET", "text"))
		require.Equal(t, int64(2), s.Do("DBSIZE"), "neither a place in a queue nor a lease")
	})
}

// A slot migrates to another node and on while locks of each kind in it are held, waited for and unlocked. A fair
// lock has three keys, which are on two nodes for a while.
func TestClusterSlotMovesUnderEveryKind(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := NewClusterEnv(t, 0)
	// The lease is long: while keys of a reader are on two nodes, its renewal gets TRYAGAIN, and a busy machine takes its time.
	steady := r.Open(lockwheel.Options{Lease: 10 * ShortLease, RenewInterval: ShortLease / 10})
	holder, waiter := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	all := Grantable()
	var kept, held []*lockwheel.Hold
	var waiting []<-chan Outcome
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		other := all[kind]
		if kind == "reader" {
			other = all["writer"]
		}
		kept = append(kept, Lock(t, all[kind](steady, "{slot}kept/"+kind)))
		for i := range 3 { // one is unlocked during each migration
			name := fmt.Sprint("{slot}", i, "/", kind)
			held = append(held, Lock(t, other(holder, name)))
			waiting = append(waiting, Locking(t.Context(), all[kind](waiter, name)))
		}
	}
	RequireWaiting(t, waiter, int64(len(waiting)), int64(len(waiting)))
	require.Equal(t, len(waiting), r.Channels(), "of shards")
	slot := r.Slot(t, "{slot}")
	for round := range 3 {
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(IndexOf(r.Nodes, from)+1)%3])
		m.Move(t, len(held))
		renewed := steady.Stats().Renewed
		Eventually(t, "renewals while the slot is in two places", func() bool {
			return steady.Stats().Renewed >= renewed+uint64(len(kept))
		})
		for i := round; i < len(held); i += 3 {
			UnlockHold(t, held[i]) // on a node without subscriptions yet; a fair one when all its keys are there
		}
		m.End(t)
		for i := round; i < len(held); i += 3 {
			Unlock(t, Granted(t, waiting[i]))
		}
		RequireHeld(t, kept)
		for i := range held {
			if i%3 > round {
				require.NoError(t, held[i].Err())
				RequireNoReply(t, waiting[i], 0)
			}
		}
	}
	for _, hold := range kept {
		Unlock(t, hold)
	}
	for _, e := range []*lockwheel.Engine{steady, holder, waiter} {
		RequireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
	}
	Eventually(t, "no channel", func() bool { return r.Channels() == 0 })
	require.Zero(t, r.Calls("publish", "subscribe"))
}
