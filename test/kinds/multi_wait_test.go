package kinds_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// farInTurn returns a Multi of locks that are acquired one by one. Each takes a round trip to a server far away.
func farInTurn(t *testing.T, locks int, roundTrip time.Duration) (*locktest.Server, *proxy.Proxy, *lockwheel.Engine, lockwheel.Multi) {
	t.Helper()
	s, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: 20 * time.Second, Lease: time.Minute}) // a Wait ends far sooner
	var all []lockwheel.Mutex
	for i := range locks {
		all = append(all, e.FencedMutex(fmt.Sprintf("n%03d", i)))
	}
	p.Set(proxy.Replies, proxy.Delay(roundTrip))
	return s, p, e, e.Multi(all...)
}

// A Wait that ends between two round trips ends the call: the locks that remain are not asked for any more.
func TestMulti_WaitEndsBetweenParts_NoMoreAsked(t *testing.T) {
	t.Parallel()
	const roundTrip = 2 * time.Millisecond
	s, p, e, m := farInTurn(t, 100, roundTrip) // at least 200 ms
	for i := range 20 {
		_, err := m.Lock(t.Context(), lockwheel.Wait(10*roundTrip+time.Duration(i)*100*time.Microsecond))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		locktest.RequireIdle(t, e)
	}
	require.NoError(t, p.Heal())
	locktest.Eventually(t, "nothing left", func() bool { return !s.Exists("n000") })
	locktest.Unlock(t, locktest.LockAll(t, m))
}

// The time for which the first locks are kept bounds the wait for other holders. If it ends during a round trip to a
// server far away, no lock that is held is released and requested again.
func TestMulti_ServerFar_EachRequestedOnce(t *testing.T) {
	t.Parallel()
	_, p, e, m := farInTurn(t, 20, 50*time.Millisecond) // 1 s, and locks are kept for 250 ms
	locktest.Unlock(t, locktest.LockAll(t, m))
	require.NoError(t, p.Heal())
	first := locktest.Lock(t, e.FencedMutex("n000"))
	require.EqualValues(t, 2, first.Token(), "the token of its second acquisition")
	locktest.Unlock(t, first)
}

// Callers of the same locks, far from the server, wait for one another for longer than 25 ms. They still acquire all at
// once: one after the other would take a round trip for each lock, for each of them.
func TestMulti_ServerFar_WaitersStayTogether(t *testing.T) {
	t.Parallel()
	const callers, locks = 6, 100
	_, p, e := locktest.Behind(t, lockwheel.Options{CallTimeout: 20 * time.Second, Lease: time.Minute})
	var all []lockwheel.Mutex
	for i := range locks {
		all = append(all, e.Mutex(fmt.Sprintf("n%03d", i)))
	}
	m := e.Multi(all...)
	locktest.Unlock(t, locktest.LockAll(t, m)) // its scripts are loaded
	p.Set(proxy.Replies, proxy.Delay(15*time.Millisecond))
	locktest.Unlock(t, locktest.LockAll(t, m)) // the engine knows how far the server is
	before := e.Stats().Commands
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			h, err := m.Lock(t.Context())
			if assert.NoError(t, err) {
				assert.NoError(t, h.Unlock(t.Context()))
			}
		})
	}
	group.Wait()
	require.NoError(t, p.Heal())
	// Each has a release of each lock. Of commands to acquire there are fewer than locks of one caller.
	assert.Less(t, e.Stats().Commands-before, uint64(callers*locks+locks))
}

// After the time for which the first locks are kept, each further lock is tried once. If the server stops replying
// then, the call still ends with its Wait, not after the CallTimeout of that try.
func TestMulti_SilentWhileKeeping_WaitEnds(t *testing.T) {
	t.Parallel()
	s, p, e, m := farInTurn(t, 200, 20*time.Millisecond)
	waiting := locktest.Locking(t.Context(), m, lockwheel.Wait(5*time.Second)) // a busy machine may take seconds for the first
	locktest.Eventually(t, "the first locks kept for longer than 250 ms", func() bool { return s.Exists("n020") })
	p.Set(proxy.Replies, proxy.Hold)
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrUnavailable)
	require.NoError(t, p.Heal())
	locktest.RequireIdle(t, e)
	locktest.Eventually(t, "nothing left", func() bool { return !s.Exists("n000") && !s.Exists("n020") })
}

// A server that may not be asked about one of the keys rejects the whole call, without saying because of which key. So
// the error names all locks.
func TestMulti_KeyNotAllowed_NamesAll(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(lockwheel.Options{}, "~a* &* +@all")
	_, err := locktest.Multi(e, "a1", "a2", "b").TryLock(t.Context())
	var refusal lockwheel.ServerError
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, `lock "a1,a2,b": NOPERM`)
	locktest.RequireIdle(t, e)
	locktest.Unlock(t, locktest.LockAll(t, locktest.Multi(e, "a1", "a2")))
}

// A quorum without replicas may have them later, so its error does not say that it is refused for ever.
func TestQuorum_NoReplicas_ErrorSaysWhy(t *testing.T) {
	t.Parallel()
	p := locktest.NewServerSet(t, 3)
	engines := p.Client(lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1, Timeout: 20 * time.Millisecond}})
	_, err := locktest.Quorum(engines, "n").Lock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrNotReplicated)
	require.ErrorContains(t, err, "no majority is possible: 0 of 3 locks could be had")
}
