package lockwheel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// Requests for some of the locks of a Multi, and the errors of their callers, with handmade errands.

// lettered returns a Multi of locks with one letter each.
func lettered(e *Engine, names string) Multi {
	var locks []Mutex
	for _, name := range names {
		locks = append(locks, e.Mutex(string(name)))
	}
	return e.Multi(locks...)
}

// A rejection has the index among all locks, even if earlier slices were requested before: the caller waits for that
// lock alone.
func TestARefusalInALaterSliceIsAboutThatLock(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	m := lettered(e, "abcdefg")
	for i, name := range []string{3: "d", 5: "f"} {
		if name == "" {
			continue
		}
		taken := held(t, e, name)
		holds := make([]*Hold, len(m.locks))
		at, err := m.acquireSlice(multiRequest{ctx: t.Context(), done: t.Context().Done(), once: true}, 3, len(m.locks), time.Time{}, holds)
		require.ErrorIs(t, err, ErrNotAcquired)
		require.ErrorContains(t, err, `lock "`+name+`"`)
		require.Equal(t, i, at)
		require.NoError(t, taken.Unlock(t.Context()))
	}
}

// The wait for some of the locks ends when all must be acquired, or when the caller's wait ends, whichever is first.
// TryLock waits for none.
func TestSomeLocksAreAskedForWithinTheWaitForAll(t *testing.T) {
	t.Parallel()
	now := time.Now()
	soon, later := now.Add(time.Hour), now.Add(2*time.Hour)
	for _, c := range []struct {
		what  string
		of    multiRequest
		by    time.Time
		until time.Time
		once  bool
	}{
		{"TryLock", multiRequest{once: true}, soon, time.Time{}, true},
		{"TryLock, over", multiRequest{once: true}, now, time.Time{}, true},
		{"a try that is over", multiRequest{}, now, time.Time{}, true},
		{"a try", multiRequest{}, soon, soon, false},
		{"a try within a wait", multiRequest{deadline: later}, soon, soon, false},
		{"a wait that ends before", multiRequest{deadline: soon}, later, soon, false},
	} {
		c.of.lease = time.Minute
		got := c.of.within(c.by)
		require.Equal(t, c.once, got.once, c.what)
		require.Equal(t, c.until, got.deadline, c.what)
		require.Zero(t, got.lease, c.what)
	}
}

// A lock with too few replicas is requested again, as is a lock that is held elsewhere or on a server that does not
// reply.
func TestACallerOfSeveralGoesOnWhereAnotherTryMayHelp(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	waits := multiRequest{ctx: t.Context()}
	for _, c := range []struct {
		what string
		of   multiRequest
		err  error
		on   bool
	}{
		{"taken", waits, ErrNotAcquired, true},
		{"silent", waits, ErrUnavailable, true},
		{"without its replicas", waits, ErrNotReplicated, true},
		{"lost", waits, ErrLost, false},
		{"of another kind", waits, ErrKindMismatch, false},
		{"closed", waits, ErrClosed, false},
		{"too many", waits, ErrTooManyWaiters, false},
		{"TryLock", multiRequest{ctx: t.Context(), once: true}, ErrNotReplicated, false},
		{"left", multiRequest{ctx: ended}, ErrNotReplicated, false},
		{"over", multiRequest{ctx: t.Context(), deadline: time.Now()}, ErrNotReplicated, false},
		{"in time", multiRequest{ctx: t.Context(), deadline: time.Now().Add(time.Hour)}, ErrNotReplicated, true},
	} {
		require.Equal(t, c.on, Multi{}.shouldRetry(c.of, Mutex{name: "n"}.fail(c.err, nil)), c.what)
	}
	require.False(t, Multi{}.shouldRetry(waits, nil))
}

// A wait that ends while its request is created becomes a short wait, and not an endless one.
func TestAWaitForSeveralThatIsOverEnds(t *testing.T) {
	t.Parallel()
	e, _ := realEngine(t)
	taken := held(t, e, "b")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second) // much longer than it takes
	defer cancel()
	var keeping actor.PartKeeper
	_, _, err := lettered(e, "ab").acquireAtomic(multiRequest{ctx: ctx, done: ctx.Done(), deadline: time.Now()}, keeping.WaitTime())
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, ctx.Err())
	require.NoError(t, taken.Unlock(t.Context()))
}
