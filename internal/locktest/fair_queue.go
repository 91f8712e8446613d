package locktest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Waiting returns the number of places in the queue of a fair lock.
func (s *Server) Waiting(name string) int {
	s.T.Helper()
	return int(s.Do("LLEN", "redisson_lock_queue:{"+name+"}").(int64))
}

// place returns the time after which a waiter of a fair lock is considered dead, in ms since 1970.
func (s *Server) place(name, id string) int64 {
	s.T.Helper()
	score, ok := s.Do("ZSCORE", "redisson_lock_timeout:{"+name+"}", id).(string)
	require.True(s.T, ok, "%s does not stand in the queue", id)
	ms, err := strconv.ParseFloat(score, 64)
	require.NoError(s.T, err)
	return int64(ms)
}

// Places returns these times of all waiters, in order.
func (s *Server) Places(name string) (times []int64) {
	s.T.Helper()
	for _, id := range s.Do("LRANGE", "redisson_lock_queue:{"+name+"}", 0, -1).([]any) {
		times = append(times, s.place(name, id.(string)))
	}
	return times
}

// Stand adds an absent waiter to the queue of a fair lock, which is considered alive for that time.
func (s *Server) Stand(name, id string, left time.Duration) {
	s.T.Helper()
	s.Do("ZADD", "redisson_lock_timeout:{"+name+"}", time.Now().Add(left).UnixMilli(), id)
	s.Do("RPUSH", "redisson_lock_queue:{"+name+"}", id)
}

// QueueUp starts a caller that waits for a fair lock, and waits until it is in the queue.
func (s *Server) QueueUp(m lockwheel.Mutex, opts ...lockwheel.Option) <-chan Outcome {
	s.T.Helper()
	before := s.Waiting(m.Name())
	done := Locking(s.T.Context(), m, opts...)
	Eventually(s.T, "a place in the queue", func() bool { return s.Waiting(m.Name()) == before+1 })
	return done
}

// NotAhead checks the times in a queue while more returns true. Each waiter is considered alive until the base, and for
// one wait more than the one before.
func (s *Server) NotAhead(name string, wait time.Duration, base func() (time.Time, bool)) error {
	s.T.Helper()
	for {
		scores := s.Scores(name)
		from, more := base() // not before the check
		for i, at := range scores {
			if most := from.Add(time.Duration(i+1) * wait).UnixMilli(); at > most {
				return fmt.Errorf("%d ms ahead, in place %d", at-most, i)
			}
		}
		if !more {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// StandLast is Stand for a waiter that queued normally and then died: it is considered alive for that much longer
// than the last one. It reads and writes in one step: if the last one left in between, its time would be of no other.
func (s *Server) StandLast(name, id string, wait time.Duration) {
	s.T.Helper()
	const script = `local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2] or ARGV[2]
		redis.call('ZADD', KEYS[1], string.format('%.0f', last + ARGV[3]), ARGV[1])
		return redis.call('RPUSH', KEYS[2], ARGV[1])`
	s.Do("EVAL", script, 2, "redisson_lock_timeout:{"+name+"}", "redisson_lock_queue:{"+name+"}", id, time.Now().UnixMilli(), wait.Milliseconds())
}

// Scores returns the times of all waiters.
func (s *Server) Scores(name string) (times []int64) {
	s.T.Helper()
	pairs := s.Do("ZRANGE", "redisson_lock_timeout:{"+name+"}", 0, -1, "WITHSCORES").([]any)
	for i := 1; i < len(pairs); i += 2 {
		ms, err := strconv.ParseFloat(pairs[i].(string), 64)
		require.NoError(s.T, err)
		times = append(times, int64(ms))
	}
	return times
}
