package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// The permissions that docs/acl.md lists for who an engine is are enough for it.
func TestDocumentedRules_Identity_NothingDenied(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	opts := lockwheel.Options{Name: "named", Lease: 10 * time.Minute, CallTimeout: 3 * time.Second}
	holder, other := s.As(opts, locktest.RulesOf(t, "who an engine is")), lockwheel.Options{}
	other.Name, other.Redis.Username, other.Redis.Password = "other", "limited", "secret"
	requireTold(t, holder, s.Open(other))
	require.Zero(t, holder.Stats().UnwrittenRecords)
	requireNothingDenied(t, s)
}

// requireTold requires that an engine is known to another one, and loses a lock at once that the other one takes away.
func requireTold(t *testing.T, holder, other *lockwheel.Engine) {
	t.Helper()
	hold := locktest.Lock(t, holder.Mutex("orders/7"))
	locktest.Eventually(t, "an answer", func() bool {
		h, err := other.Mutex("orders/7").Holder(t.Context())
		require.NoError(t, err)
		return h.Engine.ID == holder.ID() && !h.Since.IsZero()
	})
	locktest.ForceUnlock(t, other.Mutex("orders/7"))
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
}

// An outage, a hanging server and a break of the connection for messages end neither the record nor what an engine is
// told. Close returns, whatever the server does.
func TestIdentity_Outage_BackAfter(t *testing.T) {
	t.Parallel()
	s, p, holder := locktest.Behind(t, lockwheel.Options{Name: "named", Lease: time.Minute, CallTimeout: time.Second})
	other := s.Open(lockwheel.Options{Name: "other"})
	requireTold(t, holder, other)
	for range 3 {
		p.Cut()
		requireTold(t, holder, other)
	}
	require.NoError(t, s.Real.Kill())
	require.NoError(t, s.Real.Restart())
	hold := locktest.Lock(t, holder.Mutex("orders/8"))
	require.NoError(t, s.Real.Pause())
	began := time.Now()
	require.NoError(t, holder.Close())
	require.Less(t, time.Since(began), locktest.TestDeadline/2)
	require.NoError(t, s.Real.Continue())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrClosed)
}

// A lock is taken away before the reply that grants it has come. The notice overtakes the reply, and the hold ends at
// once all the same.
func TestForceUnlock_GrantUnderWay_ToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range locktest.NamesOfEveryKind("orders") {
		s, p, holder := locktest.Behind(t, lockwheel.Options{Name: "named", Lease: 10 * time.Minute, CallTimeout: 3 * time.Second})
		other := s.Open(lockwheel.Options{Name: "other"})
		requireTold(t, holder, other)
		p.SetFor(proxy.Existing, proxy.Replies, proxy.Hold)
		p.SetFor(proxy.ExistingSubscribers, proxy.Replies, proxy.Pass)
		got := locktest.Locking(t.Context(), locktest.MutexOf(holder, kind))
		locktest.Eventually(t, "the lock is granted", func() bool { return s.Exists(kind) })
		locktest.ForceUnlock(t, locktest.MutexOf(other, kind))
		// The notice should be handled before the reply. If it is not, this finds nothing, and the coordinator's test of a
		// notice before a grant is the guard.
		for range 20 {
			require.EqualValues(t, 1, s.Do("PUBLISH", "lockwheel:engine:"+holder.ID(), "nothing"))
		}
		locktest.Pause(t.Context(), 20*time.Millisecond)
		p.SetFor(proxy.Existing, proxy.Replies, proxy.Pass)
		hold := locktest.Granted(t, got)
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
}

// The same of several locks, of which the second one is taken away: all of them end at once. If the loss is known
// before Lock returns, it asks for all of them again.
func TestForceUnlock_SeveralUnderWay_ToldAtOnce(t *testing.T) {
	t.Parallel()
	s, p, holder := locktest.Behind(t, lockwheel.Options{Name: "named", Lease: 10 * time.Minute, CallTimeout: 3 * time.Second})
	other := s.Open(lockwheel.Options{Name: "other"})
	requireTold(t, holder, other)
	before := holder.Stats()
	p.SetFor(proxy.Existing, proxy.Replies, proxy.Hold)
	p.SetFor(proxy.ExistingSubscribers, proxy.Replies, proxy.Pass)
	got := locktest.Locking(t.Context(), holder.Multi(holder.Mutex("one"), holder.Mutex("two")))
	locktest.Eventually(t, "the locks are granted", func() bool { return s.Exists("two") })
	locktest.ForceUnlock(t, other.Mutex("two"))
	locktest.Pause(t.Context(), 20*time.Millisecond) // the notice should be handled before the reply, as above
	p.SetFor(proxy.Existing, proxy.Replies, proxy.Pass)
	hold := locktest.Granted(t, got)
	locktest.Eventually(t, "the loss", func() bool { return holder.Stats().Lost > before.Lost })
	if again := holder.Stats().Acquired > before.Acquired+2; !again {
		locktest.Receive(t, hold.Done())
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	}
}
