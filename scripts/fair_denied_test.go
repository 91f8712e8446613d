package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A waiter gets no place if that cannot be given a life. Without a life it would live by its time. That is as long as a
// place of Redisson, five minutes behind another, and nothing would remove it if its engine died meanwhile.
func TestFairQueue_LifeDenied_NoPlace(t *testing.T) {
	s := onReal(t)
	for _, denied := range []string{"-hset", "-@hash"} {
		t.Run(denied, func(t *testing.T) {
			s.t = t
			s.do("FLUSHALL")
			s.until = int64(9_000_000_000_000)
			s.runTranscript(`
				clock 1000000 → ok
				fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
				DEL a → 1
			`)
			limited := s.asUser("~*", "&*", "+@all", denied)
			limited.until = s.until
			limited.runTranscript(`
				clock 1000000 → ok
				fair_acquire a:t2:30s:50s → ERR…
			`)
			require.Equal(t, []any{"t1"}, s.do("LRANGE", queueOfA, 0, -1))
			s.runTranscript(`times a → t1 80s`)
			require.EqualValues(t, 1, s.do("HLEN", placesOfA))
		})
	}
}

// A waiter that may not be appended to the queue leaves neither a time nor a life behind.
func TestFairQueue_PlaceDenied_NothingLeft(t *testing.T) {
	s := onReal(t)
	s.until = int64(9_000_000_000_000)
	s.runTranscript(`
		clock 1000000 → ok
		fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
	`)
	limited := s.asUser("~*", "&*", "+@all", "-rpush")
	limited.until = s.until
	limited.runTranscript(`
		clock 1000000 → ok
		fair_acquire a:t2:30s:50s → ERR…
	`)
	require.Equal(t, []any{"t1"}, s.do("LRANGE", queueOfA, 0, -1))
	require.Equal(t, []any{"t1"}, s.do("ZRANGE", timesOfA, 0, -1))
	require.EqualValues(t, 1, s.do("HLEN", placesOfA))
}
