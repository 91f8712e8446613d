package interop

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	counters  = 4  // of each side: two in each of two clients
	rounds    = 40 // which both sides begin together, so that neither is done before the other comes
	increment = 32 // times in a round, each
)

// A counter is read and written back in two steps: were two inside at once, an increment would be lost.
func TestGoAndJavaCountTogetherAndLoseNothing(t *testing.T) {
	everyKind(t, func(t *testing.T, s *site, k kind) {
		clients := []*client{s.redisson(nil), s.redisson(nil)}
		engines := []*lockwheel.Engine{s.engine(lockwheel.Options{}), s.engine(lockwheel.Options{})}
		conns := make([]*redistest.Conn, counters)
		for i := range conns {
			conns[i] = s.newConn("{n}")
		}
		ours := tally{}
		for range rounds {
			var java []<-chan redisson.Answer
			done := make(chan error, counters)
			for i := range counters {
				java = append(java, clients[i%2].owner(strconv.Itoa(i)).send("count", k, "{n}", redisson.Words{
					"counter": "{n}:counter", "times": strconv.Itoa(increment),
				}))
				go func() { done <- ours.count(t, k.mutex(engines[i%2], "{n}"), conns[i], increment) }()
			}
			for range counters {
				require.NoError(t, <-done)
			}
			for _, answer := range java {
				require.NoError(t, (<-answer).Err)
			}
		}
		require.Equal(t, strconv.Itoa(2*counters*rounds*increment), s.do("{n}", "GET", "{n}:counter"))
		require.GreaterOrEqual(t, ours.turns.Load(), int64(rounds/2), "the two sides hardly met")
		t.Logf("%d increments, %d turns", 2*counters*rounds*increment, ours.turns.Load())
		require.Empty(t, s.hash("{n}"))
	})
}

// tally is the counting of our side.
type tally struct {
	last  atomic.Int64 // that one of us wrote
	turns atomic.Int64 // how often Java counted in between
}

func (y *tally) count(t *testing.T, m lockwheel.Mutex, conn *redistest.Conn, times int) error {
	for range times {
		hold, err := m.Lock(t.Context())
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
			y.turns.Add(1)
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
