package api_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/long"
)

// A waiter of any kind still acquires the lock after the pub/sub connection has been closed.
func TestAnyKind_SubscriptionEnds_WaitGoesOn(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		for _, lost := range []bool{false, true} {
			s := locktest.RealServer(t)
			holder, waiter := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
			hold := locktest.Lock(t, other(holder, "n"))
			waiting := []<-chan locktest.Outcome{locktest.Locking(t.Context(), mutex(waiter, "n"))}
			locktest.Queued(t, waiter, 1)
			waiting = append(waiting, locktest.TakingAsync(t.Context(), mutex(waiter, "n")))
			locktest.Eventually(t, "both asleep", func() bool { return waiter.Stats().Waiting == 2 && locktest.Listens(waiter) })
			before := s.Subscriptions()
			s.Do("CLIENT", "KILL", "TYPE", "pubsub")
			if !lost {
				locktest.Eventually(t, "subscribed again", func() bool { return s.Subscriptions() > before })
			}
			locktest.Unlock(t, hold)
			for _, w := range waiting {
				locktest.Unlock(t, locktest.Granted(t, w))
			}
			locktest.RequireIdle(t, waiter)
		}
	})
}

// Close ends the holds and the waits of any kind; held keys are left to their leases, and no command follows.
func TestAnyKind_Close_EndsHoldsAndWaiters(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, other locktest.KindOfLock) {
		s := locktest.RealServer(t)
		e, elsewhere := s.Open(lockwheel.Options{Lease: locktest.ShortLease}), s.Open(lockwheel.Options{})
		hold, taken := locktest.Lock(t, mutex(e, "held")), locktest.Lock(t, other(elsewhere, "n"))
		var waiting []<-chan locktest.Outcome
		for range 3 {
			waiting = append(waiting, locktest.Locking(t.Context(), mutex(e, "n")))
		}
		locktest.Eventually(t, "all asleep", func() bool { return e.Stats().Waiting == 3 && locktest.Listens(e) })
		require.NoError(t, e.Close())
		calls, others := s.Scripts(), elsewhere.Stats().Batches
		for _, w := range waiting {
			require.ErrorIs(t, locktest.Receive(t, w).Err, lockwheel.ErrClosed)
		}
		require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
		require.Positive(t, s.PTTL("held"), "left to its lease")
		locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
		locktest.Eventually(t, "not renewed", func() bool { return !s.Exists("held") })
		require.LessOrEqual(t, s.Scripts()-calls, int(elsewhere.Stats().Batches-others), "no command after Close")
		locktest.Unlock(t, taken)
	})
}

// A key of another type is rejected by every kind of lock, with an error that names the key.
func TestAnyKind_KeyOfOtherType_Rejected(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{})
		s.Do("SET", "text", "x")
		s.Do("RPUSH", "list", "x", "y")
		for _, key := range []string{"text", "list"} {
			errs := locktest.AllCalls(t.Context(), mutex(e, key))
			require.NoError(t, errs["HoldCount"], "the server is not asked")
			delete(errs, "HoldCount")
			for _, what := range slices.Sorted(maps.Keys(errs)) {
				require.ErrorContains(t, errs[what], "WRONGTYPE", what)
				require.ErrorContains(t, errs[what], fmt.Sprintf("%q", key), what)
			}
		}
		locktest.RequireIdle(t, e)
		require.Equal(t, "x", s.Do("GET", "text"))
		require.Equal(t, int64(2), s.Do("DBSIZE"), "neither a place in a queue nor a lease")
	})
}

// A slot migrates to another node and on while locks of each kind in it are held, waited for and unlocked. A fair
// lock has three keys, which are on two nodes for a while.
func TestAnyKind_ClusterSlotMoves_LocksKept(t *testing.T) {
	long.Only(t, "the slots of a cluster move under load")
	t.Parallel()
	r := locktest.NewClusterEnv(t, 0)
	// The lease is long: while keys of a reader are on two nodes, its renewal gets TRYAGAIN, and a busy machine takes its
	// time.
	steady := r.Open(lockwheel.Options{Lease: 10 * locktest.ShortLease, RenewInterval: locktest.ShortLease / 10})
	holder, waiter := r.Open(lockwheel.Options{}), r.Open(lockwheel.Options{})
	all := locktest.Grantable()
	var kept, held []*lockwheel.Hold
	var waiting []<-chan locktest.Outcome
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		other := all[kind]
		if kind == "reader" {
			other = all["writer"]
		}
		kept = append(kept, locktest.Lock(t, all[kind](steady, "{slot}kept/"+kind)))
		for i := range 3 { // one is unlocked during each migration
			name := fmt.Sprint("{slot}", i, "/", kind)
			held = append(held, locktest.Lock(t, other(holder, name)))
			waiting = append(waiting, locktest.Locking(t.Context(), all[kind](waiter, name)))
		}
	}
	locktest.RequireWaiting(t, waiter, int64(len(waiting)), int64(len(waiting)))
	require.Equal(t, len(waiting), r.Channels(), "of shards")
	slot := r.Slot(t, "{slot}")
	for round := range 3 {
		from := r.Master(t, slot)
		m := r.Migrate(t, slot, r.Nodes[(locktest.IndexOf(r.Nodes, from)+1)%3])
		m.Move(t, len(held))
		renewed := steady.Stats().Renewed
		locktest.Eventually(t, "renewals while the slot is in two places", func() bool {
			return steady.Stats().Renewed >= renewed+uint64(len(kept))
		})
		for i := round; i < len(held); i += 3 {
			locktest.UnlockHold(t, held[i]) // on a node without subscriptions yet; a fair one when all its keys are there
		}
		m.End(t)
		for i := round; i < len(held); i += 3 {
			locktest.Unlock(t, locktest.Granted(t, waiting[i]))
		}
		locktest.RequireHeld(t, kept)
		for i := range held {
			if i%3 > round {
				require.NoError(t, held[i].Err())
				locktest.RequireNoReply(t, waiting[i], 0)
			}
		}
	}
	for _, hold := range kept {
		locktest.Unlock(t, hold)
	}
	for _, e := range []*lockwheel.Engine{steady, holder, waiter} {
		locktest.RequireIdle(t, e)
		require.Zero(t, e.Stats().Lost)
	}
	locktest.Eventually(t, "no channel", func() bool { return r.Channels() == 0 })
	require.Zero(t, r.Calls("publish", "subscribe"))
}
