package scripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// The keys of a queue with lockwheel's places only expire when the places do. Redisson never prolongs a queue: with one
// of its places it has no TTL.

const queueOfA, timesOfA, placesOfA = "redisson_lock_queue:{a}", "redisson_lock_timeout:{a}", "redisson_lock_places:{a}"

// queueTTLMargin is how long the keys of a queue live beyond its places.
const queueTTLMargin = 15 * time.Minute

func (s *server) pttl(key string) time.Duration {
	return time.Duration(s.do("PTTL", key).(int64)) * time.Millisecond
}

// requireNoTTL requires that a queue has no TTL.
func (s *server) requireNoTTL() {
	s.t.Helper()
	require.Equal(s.t, int64(2), s.do("EXISTS", queueOfA, timesOfA))
	require.Equal(s.t, int64(-1), s.do("PTTL", queueOfA))
	require.Equal(s.t, int64(-1), s.do("PTTL", timesOfA))
}

// requireTTL requires that all keys of a queue expire together, after this time.
func (s *server) requireTTL(in time.Duration) {
	s.t.Helper()
	ttls := s.do("EVAL", "local t = {} for i = 1, 3 do t[i] = redis.call('PTTL', KEYS[i]) end return t", 3, queueOfA, timesOfA, placesOfA).([]any)
	for _, left := range ttls { // the server may be stopped between two of them
		ttl := time.Duration(left.(int64)) * time.Millisecond
		require.Greater(s.t, ttl, in-receiveTimeout)
		require.LessOrEqual(s.t, ttl, in)
	}
}

// enqueueRedisson queues a tenure as Redisson does.
func (s *server) enqueueRedisson(id string, until int64) {
	s.t.Helper()
	s.do("ZADD", timesOfA, until, id)
	s.do("RPUSH", queueOfA, id)
}

// A fair queue with places of lockwheel only has a TTL, which calls renew.
func TestFairQueueTTL_NoRedisson_Kept(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
		`)
		s.requireTTL(80*time.Second + queueTTLMargin)
		s.runTranscript("fair_acquire a:t2:30s:90s → [30s t0 170s]")
		s.requireTTL(80*time.Second + queueTTLMargin)
		// It falls no further than this, whichever tenure asks.
		for _, keys := range [][]string{{queueOfA, timesOfA}, {placesOfA}, {queueOfA, timesOfA, placesOfA}} {
			for _, key := range keys {
				s.do("PEXPIRE", key, (queueTTLMargin / 2).Milliseconds())
			}
			s.runTranscript("fair_acquire a:t1:30s:50s → [30s t0 80s]")
			s.requireTTL(80*time.Second + queueTTLMargin)
		}
		// A waiter for a long lease lives as long by its time.
		s.runTranscript(`
			fair_release a:t0:50s a:t1:50s → 1 0
			fair_acquire a:t2:7200s:90s → 1
			fair_acquire a:t3:30s:50s → [7200s t2 7250s]
		`)
		s.requireTTL(7250*time.Second + queueTTLMargin)
		s.runTranscript("fair_acquire a:t4:30s:50s → [7200s t2 7300s]")
		s.requireTTL(7250*time.Second + queueTTLMargin)
		// The waiters that leave do not change it for those that stay.
		s.runTranscript("fair_release a:t3:50s → 0")
		s.requireTTL(7250*time.Second + queueTTLMargin)
		s.runTranscript(`
			fair_release a:t4:50s a:t2:90s → 0 1
			KEYS * → []
		`)
	})
}

// A fair queue with a place of Redisson's has no TTL.
func TestFairQueueTTL_RedissonPlace_None(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
		`)
		s.enqueueRedisson("theirs", 1_000_380_000)
		s.runTranscript("fair_acquire a:t1:30s:50s → [30s t0 80s]")
		s.requireNoTTL()
		s.runTranscript("fair_acquire a:t2:30s:50s → [30s t0 680s]")
		s.requireNoTTL()
		require.Positive(t, s.pttl(placesOfA))
		// It gives up.
		s.do("LREM", queueOfA, 0, "theirs")
		s.do("ZREM", timesOfA, "theirs")
		s.runTranscript("fair_acquire a:t1:30s:50s → [30s t0 80s]")
		s.requireTTL(680*time.Second + queueTTLMargin)
		// A lockwheel client that does not say until when it keeps its place alive will not prolong the queue.
		s.until = nil
		s.step(strings.Fields("fair_acquire a:t3:30s:50s"), nil)
		s.requireNoTTL()
	})
}

// However the last lockwheel place next to one of Redisson's ends, the queue then has no TTL.
func TestFairQueueTTL_RedissonRemains_None(t *testing.T) {
	for how, step := range map[string]string{
		"gives up":                   "fair_release a:t1:50s → 0",
		"is granted":                 "DEL a → 1\nfair_acquire a:t1:30s:50s → 1",
		"is dead at a release":       "HSET " + placesOfA + " t1 1:50000:50000 → 0\nfair_release a:t0:50s → 1",
		"is dead when it is forced":  "HSET " + placesOfA + " t1 1:50000:50000 → 0\nfair_force a → 1",
		"is dead when a waiter asks": "HSET " + placesOfA + " t1 1:50000:50000 → 0\nfair_acquire a:t9:30s: → [30s t0 -1]",
	} {
		t.Run(how, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *server) {
				s.until = int64(9_000_000_000_000)
				s.runTranscript(`
					clock 1000000 → ok
					fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
				`)
				s.requireTTL(80*time.Second + queueTTLMargin)
				s.enqueueRedisson("theirs", 1_000_380_000)
				s.runTranscript(step + "\nLRANGE " + queueOfA + " 0 -1 → [theirs]")
				s.requireNoTTL()
			})
		})
	}
}

// Redisson removes a dead place of lockwheel from the queue, but not from the hash. Then both have as many as before.
func TestFairQueueTTL_RedissonRemoved_None(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
		`)
		s.enqueueRedisson("theirs", 1_000_380_000)
		s.runTranscript(`
			LPOP redisson_lock_queue:{a} → t1
			ZREM redisson_lock_timeout:{a} t1 → 1
		`)
		s.runTranscript("fair_acquire a:t2:30s:50s → [30s t0 680s]")
		s.requireNoTTL()
		s.runTranscript("fair_release a:t2:50s → 0")
		s.requireNoTTL()
	})
}

// A row of dead places that is longer than one call removes has a TTL, whatever is still to be subtracted for them.
func TestFairQueueTTL_ManyDead_Set(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]
		`)
		for i := range 300 {
			id := fmt.Sprint("d", i)
			s.enqueueRedisson(id, 1_000_080_000+int64(i))
			s.do("HSET", placesOfA, id, "1:50000:50000")
		}
		s.do("HSET", placesOfA, "t1", "1:50000:50000")
		s.runTranscript(`
			fair_acquire a:t2:30s: → [30s t0 -1]
			LLEN redisson_lock_queue:{a} → 101
		`)
		s.requireTTL(80*time.Second + queueTTLMargin)
	})
}

// What is still to be subtracted expires, also when no place of lockwheel is left beside it.
func TestFairQueueTTL_OnlyOwed_Expires(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.until = int64(9_000_000_000_000)
		s.runTranscript(`
			clock 1000000 → ok
			fair_acquire a:t0:30s:50s → 1
		`)
		for i := range 200 { // as many as one call removes
			id := fmt.Sprint("d", i)
			s.enqueueRedisson(id, 1_000_080_000+int64(i))
			s.do("HSET", placesOfA, id, "1:50000:50000")
		}
		s.enqueueRedisson("theirs", 999_000_000)
		s.runTranscript(`
			fair_acquire a:t2:30s: → [30s t0 -1]
			LRANGE redisson_lock_queue:{a} 0 -1 → [theirs]
			HLEN redisson_lock_places:{a} → 1
		`)
		require.Positive(t, s.pttl(placesOfA))
	})
}

// What remains when all of lockwheel's waiters are dead expires.
func TestFairQueueTTL_AllDead_Expires(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		noTimeout := scripts.FairAcquire
		noTimeout.Text = strings.Replace(noTimeout.Text, "local after = 900000", "local after = 200", 1)
		require.NotEqual(t, scripts.FairAcquire.Text, noTimeout.Text)
		noTimeout.SHA1 = s.do("SCRIPT", "LOAD", noTimeout.Text).(string)
		require.Eventually(t, func() bool { // on a busy machine a place can be dead before the last one is taken
			s.do("DEL", "a", queueOfA, timesOfA, placesOfA)
			for i, wait := range []int{0, 100, 150, 50} {
				now := time.Now().UnixMilli()
				s.runOn(noTimeout, []string{"a"}, "PUBLISH", now, now+60_000, fmt.Sprint("t", i), 100, wait, "")
			}
			return s.do("LLEN", queueOfA) == int64(3)
		}, receiveTimeout, 5*time.Millisecond)
		require.Eventually(t, func() bool { return s.do("DBSIZE") == int64(0) }, receiveTimeout, 5*time.Millisecond)
	})
}
