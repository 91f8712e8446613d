package interop

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	counters = 4  // per side: two in each of two clients
	rounds   = 40 // both sides begin each round together, so that neither is done before the other comes

	// roundWait is long for a round, and shorter than a lease: a counter that is not woken is too late.
	roundWait = 20 * time.Second
)

// increments returns how often each counter increments in a round: 10 240 increments of each kind on one server. On
// a cluster only the channels differ, so fewer are enough there, except for the plain lock.
func (s *testEnv) increments(k kind) int {
	if s.mode == "cluster" && k.java != plain.java {
		return 8
	}
	return 32
}

// A counter is read and written back in two steps: if two were inside at once, an increment would be lost. Not
// parallel: it keeps the processor busy all the time.
func TestGoAndJava_CountTogether_NothingLost(t *testing.T) {
	everyExclusive(t, func(t *testing.T, s *testEnv, k kind) {
		s.countTogether(t, k, "{n}", lockwheel.Options{}, func(e *lockwheel.Engine) locks { return k.mutex(e, "{n}") })
		// keepNotifying may end while a Lock of it is under way: that grant is released after Lock has returned.
		eventually(t, "no holder left", func() bool { return len(s.hash("{n}")) == 0 })
	})
}

// Several locks as one, on both sides. Java takes them one after the other, our side in one call. Some of ours want
// them in another order, and with one more.
func TestMultis_CountTogether_NothingLost(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		s.countTogether(t, multi, "{n}a,{n}b", lockwheel.Options{}, func(e *lockwheel.Engine) locks {
			return e.Multi(e.Mutex("{n}c"), e.Mutex("{n}b"), e.Mutex("{n}a"))
		})
		for _, name := range []string{"{n}a", "{n}b", "{n}c"} {
			require.Empty(t, s.hash(name))
		}
	})
}

// A spin lock of Java and pollers on our side: both ask again and again, and Java publishes nothing.
func TestSpinLocks_CountTogether_NothingLost(t *testing.T) {
	everywhere(t, func(t *testing.T, start func(t *testing.T) *testEnv) {
		s := start(t)
		s.countTogether(t, spin, "{n}", lockwheel.Options{Notify: lockwheel.Poll}, func(e *lockwheel.Engine) locks { return e.Mutex("{n}") })
		require.Empty(t, s.hash("{n}"))
		require.False(t, s.hasSubscriber("{n}"))
	})
}

// locks is one lock, or several as one.
type locks interface {
	Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
}

// countTogether has two clients of each side count under a lock.
func (s *testEnv) countTogether(t *testing.T, k kind, names string, opts lockwheel.Options, ourLocks func(*lockwheel.Engine) locks) {
	t.Helper()
	times := s.increments(k)
	clients := []*client{s.redisson(nil), s.redisson(nil)}
	engines := []*lockwheel.Engine{s.engine(opts), s.engine(opts)}
	conns := make([]*redistest.Conn, counters)
	for i := range conns {
		conns[i] = s.newConn("{n}")
	}
	ours := goCounter{}
	stop := keepNotifying(t, k, engines[0], names)
	defer stop()
	for range rounds {
		var java []<-chan redisson.Answer
		done := make(chan error, counters)
		for i := range counters {
			java = append(java, clients[i%2].owner(strconv.Itoa(i)).send("count", k, names, redisson.Fields{
				"counter": "{n}:counter", "times": strconv.Itoa(times),
			}))
			go func() { done <- ours.count(t, ourLocks(engines[i%2]), conns[i], times) }()
		}
		for range counters {
			require.NoError(t, <-done)
		}
		for _, answer := range java {
			require.NoError(t, locktest.ReceiveWithin(t, roundWait, answer).Err)
		}
	}
	require.Equal(t, strconv.Itoa(2*counters*rounds*times), s.do("{n}", "GET", "{n}:counter"))
	require.GreaterOrEqual(t, ours.alternations.Load(), int64(rounds/2), "the two sides hardly met")
	t.Logf("%d increments, %d turns", 2*counters*rounds*times, ours.alternations.Load())
}

// goCounter is the count of our side.
type goCounter struct {
	last         atomic.Int64 // last value that our side wrote
	alternations atomic.Int64 // how often Java counted in between
}

func (y *goCounter) count(t *testing.T, m locks, conn *redistest.Conn, times int) error {
	for range times {
		hold, err := m.Lock(t.Context(), lockwheel.Wait(roundWait))
		if err != nil {
			return err
		}
		value, err := conn.Do("GET", "{n}:counter")
		if err != nil {
			return err
		}
		text, _ := value.(string)
		n, _ := strconv.ParseInt(text, 10, 64)
		if n != y.last.Load() {
			y.alternations.Add(1)
		}
		y.last.Store(n + 1)
		if _, err := conn.Do("SET", "{n}:counter", n+1); err != nil {
			return err
		}
		if err := hold.Unlock(t.Context()); err != nil {
			return err
		}
	}
	return nil
}
