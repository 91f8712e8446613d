package scripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// These tests are about places and times that are further ahead than valid ones: the server's clock was set back, or
// another program wrote them.

// endless is a time of the server's clock that is never reached, in ms since 1970.
const endless = int64(9_000_000_000_000)

// serverClock returns the server's clock, in ms since 1970.
func (s *server) serverClock() int64 {
	s.t.Helper()
	words := s.do("TIME").([]any)
	seconds, err := strconv.ParseInt(words[0].(string), 10, 64)
	require.NoError(s.t, err)
	micros, err := strconv.ParseInt(words[1].(string), 10, 64)
	require.NoError(s.t, err)
	return 1000*seconds + micros/1000
}

// addPlacesAhead creates places with a life of so many ms that are kept alive for another hour, because the clock was
// set back.
func (s *server) addPlacesAhead(life int, ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		s.do("HSET", placesOfA, id, fmt.Sprintf("%d:50000:%d", s.serverClock()+time.Hour.Milliseconds(), life))
	}
}

// clockStep is by how much the clock of this machine may be set back during a test, in ms. Without the mending, places
// live for an hour longer.
const clockStep = 1000

// placesLeft returns for how much longer places are kept alive, in ms.
func (s *server) placesLeft(ids ...string) (left []int64) {
	s.t.Helper()
	for _, id := range ids {
		words := strings.Split(s.do("HGET", placesOfA, id).(string), ":")
		require.Equal(s.t, "50000", words[1])
		till, err := strconv.ParseInt(words[0], 10, 64)
		require.NoError(s.t, err)
		left = append(left, till-s.serverClock())
	}
	return left
}

// enqueue creates a queue of these tenures behind the holder t0.
func (s *server) enqueue(ids ...string) {
	s.t.Helper()
	s.until, s.clock = endless, 1_000_000_000
	args := []any{"PUBLISH", s.clock, s.until}
	for _, id := range append([]string{"t0"}, ids...) {
		s.runOn(scripts.FairAcquire, []string{"a"}, append(args, id, 100_000, 50_000, "")...)
	}
}

// fairCalls are calls of other tenures on a queue.
var fairCalls = map[string]string{
	"another one tries":     "fair_acquire a:t9:30s: → [100s t0 -1]",
	"one behind asks again": "fair_acquire a:t3:30s:50s → [100s t0 250s]",
	"it is released":        "fair_release a:t0:50s → 1",
	"it is forced":          "fair_force a → 1",
}

// A place that no engine keeps alive ends within its life, also where the server's clock was set back. So do those
// right behind it.
func TestFairPlace_ClockSetBack_EndsInTime(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		for how, call := range fairCalls {
			t.Run(how, func(t *testing.T) {
				s.t = t
				s.do("FLUSHALL")
				s.enqueue("t1", "t2", "t3")
				s.addPlacesAhead(50_000, "t1", "t2")
				s.runTranscript(call)
				for _, left := range s.placesLeft("t1", "t2") {
					require.LessOrEqual(t, left, int64(50_000+clockStep))
					require.Greater(t, left, 50_000-receiveTimeout.Milliseconds(), "it is alive")
				}
				s.runTranscript("LRANGE redisson_lock_queue:{a} 0 -1 → [t1 t2 t3]")
				require.Positive(t, s.pttl(placesOfA))
			})
		}
	})
}

// A place with a time ahead of the clock is removed when its life is over.
func TestFairPlace_Ahead_RemovedWhenOver(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.enqueue("t1", "t2", "t3")
		s.addPlacesAhead(1, "t1", "t2")
		deadline := time.Now().Add(receiveTimeout)
		for ; time.Now().Before(deadline) && s.do("LINDEX", queueOfA, 0) != "t3"; time.Sleep(time.Millisecond) {
			s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", s.clock, s.until, "t9", 30_000, "", "")
		}
		s.runTranscript(`
			LRANGE redisson_lock_queue:{a} 0 -1 → [t3]
			HKEYS redisson_lock_places:{a} → [t3]
			times a → t3 150s
		`)
	})
}

// A call keeps its place alive for its wait from then on. A place that is within its life is not shortened.
func TestFairPlace_NotAhead_Unchanged(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.enqueue("t1", "t2")
		for _, id := range []string{"t1", "t2"} { // within its life, also if the clock is set back meanwhile
			s.do("HSET", placesOfA, id, fmt.Sprintf("%d:50000:50000", s.serverClock()+50_000-clockStep))
		}
		before := s.do("HGETALL", placesOfA)
		s.runTranscript("fair_acquire a:t9:30s: → [100s t0 -1]")
		require.Equal(t, before, s.do("HGETALL", placesOfA))
		s.addPlacesAhead(50_000, "t2")
		s.runTranscript("fair_acquire a:t2:30s:50s → [100s t0 200s]")
		require.LessOrEqual(t, s.placesLeft("t2")[0], int64(50_000+clockStep))
		require.Equal(t, "t1", s.do("LINDEX", queueOfA, 0))
	})
}

// However many places are ahead, and whatever the server rejects, one call looks at a bounded number of them.
func TestFairScript_PlacesAhead_LooksBounded(t *testing.T) {
	s := onReal(t)
	keys := []string{"a", queueOfA, timesOfA, placesOfA}
	for _, life := range []int{0, 1, 50_000} {
		for name, rule := range map[string]string{"": "+hset", ", and nothing may be written": "-hset"} {
			t.Run(fmt.Sprint("a life of ", life, "ms", name), func(t *testing.T) {
				s.t = t
				s.do("FLUSHALL")
				for i := range 1000 {
					id := fmt.Sprint("t", i)
					s.do("RPUSH", queueOfA, id)
					s.do("ZADD", timesOfA, endless, id)
					s.do("HSET", placesOfA, id, fmt.Sprint("99999999999999999999:50000:", life))
				}
				limited := s.asUser("+@all", "~*", "&*", rule)
				limited.runBounded(scripts.FairAcquire, keys, "PUBLISH", 1_000_000_000, endless, "other", 30_000, "", "")
			})
		}
	}
}

// A number that exceeds an integer is not negative in a reply. An engine would give up a place that it learns to be
// gone.
func TestFairTime_BeyondInteger_Long(t *testing.T) {
	s := onReal(t)
	for _, score := range []string{"9e18", "1e19", "1e300", "inf"} {
		for _, held := range []bool{true, false} {
			s.do("FLUSHALL")
			s.do("ZADD", timesOfA, score, "other")
			s.do("RPUSH", queueOfA, "other")
			if held {
				s.do("HSET", "a", "t0", 1)
				s.do("PEXPIRE", "a", 30_000)
			}
			for range 2 {
				row := s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", 1_000_000_000, endless, "t1", 30_000, 50_000, "")[0].([]any)
				require.Positive(t, row[0], "%s, held: %v", score, held)
				require.Greater(t, row[2], int64(50_000), "%s, held: %v", score, held)
			}
			require.Equal(t, []any{"other", "t1"}, s.do("LRANGE", queueOfA, 0, -1))
		}
	}
}

// The record of a place may contain a number that exceeds any integer.
func TestFairPlace_HugeNumbers_Readable(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		long := strings.Repeat("9", 400)
		for _, place := range []string{long + ":" + long + ":" + long, "99999999999999999999:1:99999999999999999999"} {
			s.do("FLUSHALL")
			s.enqueue("t1", "t2")
			s.do("HSET", placesOfA, "t1", place)
			s.do("DEL", "a")
			row := s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", s.clock, s.until, "t2", 30_000, 50_000, "")[0].([]any)
			require.Positive(t, row[0])
			require.Equal(t, "", row[1])
			require.Positive(t, row[2])
		}
	})
}
