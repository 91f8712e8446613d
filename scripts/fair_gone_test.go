package scripts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/scripts"
)

// longQueue is the queue of a held fair lock, in which all places are lockwheel's, and the model of it.
type longQueue struct {
	*server
	model                *fairModel
	queue, times, places string
}

// queueLong plants n places that live for a long time, in groups that share a time.
func (s *server) queueLong(n int, group func() int) *longQueue {
	q := &longQueue{s, &fairModel{now: time.Now().UnixMilli(), holder: "h", times: map[string]int64{}},
		scripts.RedissonKey(scripts.FairQueueKey, "a"), scripts.RedissonKey(scripts.FairTimeoutKey, "a"), scripts.RedissonKey(scripts.FairPlacesKey, "a")}
	s.do("FLUSHALL", "SYNC")
	s.do("HSET", "a", "h", 1)
	s.do("PEXPIRE", "a", 10_000_000)
	at := q.model.now + 10_000_000
	queue, times, places := []any{"RPUSH", q.queue}, []any{"ZADD", q.times}, []any{"HSET", q.places}
	for len(q.model.queue) < n {
		at += queueWait
		for range group() {
			id := "t" + strconv.Itoa(len(q.model.queue))
			q.model.queue, q.model.times[id] = append(q.model.queue, id), at
			queue, times = append(queue, id), append(times, at, id)
			places = append(places, id, fmt.Sprint(q.model.now+1_000_000, ":", queueWait, ":", 1_000_000))
		}
	}
	for _, command := range [][]any{queue, times, places} {
		s.do(command...)
	}
	for _, key := range []string{q.queue, q.times, q.places} {
		s.do("PEXPIRE", key, 10_000_000)
	}
	return q
}

// queueWait is what each group of such a queue adds to the times behind it.
const queueWait = 50_000

// leave lets waiters leave in one call, in the model one by one.
func (q *longQueue) leave(ids ...string) {
	q.t.Helper()
	args := []any{"PUBLISH", q.model.now}
	for _, id := range ids {
		args = append(args, id, queueWait)
		q.model.release(id, queueWait)
	}
	for _, reply := range q.runOn(scripts.FairRelease, slices.Repeat([]string{"a"}, len(ids)), args...) {
		require.Equal(q.t, int64(0), reply)
	}
}

// waiting returns the queue without the places that waiters left behind, and the number of these.
func (q *longQueue) waiting() (ids []string, gone int) {
	q.t.Helper()
	dead := map[any]bool{}
	for pairs := q.do("HGETALL", q.places).([]any); len(pairs) > 0; pairs = pairs[2:] {
		dead[pairs[0]] = strings.HasPrefix(pairs[1].(string), "0:")
	}
	for _, id := range q.do("LRANGE", q.queue, 0, -1).([]any) {
		if dead[id] {
			gone++
		} else {
			ids = append(ids, id.(string))
		}
	}
	return ids, gone
}

// Waiters of a long queue leave in any order, some of them together. Nothing but places without a life remains of them,
// and less than the others. When a client of Redisson queues, these places go with the next call. The result is as if
// each waiter had been removed when it left.
func TestFairQueue_LeftBehind_AsOneByOne(t *testing.T) {
	s := onReal(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 6 {
		q := s.queueLong(1600, func() int { return 1 + random.IntN(40) })
		leavers := slices.Clone(q.model.queue)
		random.Shuffle(len(leavers), func(i, j int) { leavers[i], leavers[j] = leavers[j], leavers[i] })
		leavers = leavers[:200+random.IntN(800)]
		for len(leavers) > 0 {
			n := min(1+random.IntN(60), len(leavers))
			q.leave(leavers[:n]...)
			leavers = leavers[n:]
			waiting, gone := q.waiting()
			require.Equal(t, q.model.queue, waiting)
			if len(waiting)+gone > 1000 {
				require.LessOrEqual(t, gone, len(waiting))
			}
			require.Equal(t, int64(len(waiting)+gone), q.do("ZCARD", q.times))
			require.Positive(t, q.do("PTTL", q.queue))
		}
		theirs, behind := "theirs", last(q.model.queue)
		tail, err := strconv.ParseFloat(q.do("ZSCORE", q.times, behind).(string), 64)
		require.NoError(t, err)
		excess := int64(tail) - q.model.times[behind]
		require.GreaterOrEqual(t, excess, int64(0))
		q.do("RPUSH", q.queue, theirs)
		q.do("ZADD", q.times, int64(tail)+300_000, theirs)
		q.model.queue, q.model.times[theirs] = append(q.model.queue, theirs), q.model.times[behind]+300_000
		asks := q.model.queue[random.IntN(len(q.model.queue)-1)]
		q.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", q.model.now, q.model.now+1_000_000, asks, 30_000, queueWait, "")
		q.model.holder = "h"
		require.Equal(t, q.model.state(), s.fairState())
		require.Equal(t, int64(-1), q.do("PTTL", q.queue))
		require.Equal(t, int64(len(q.model.queue)-1), q.do("HLEN", q.places))
	}
}

// When all have left, nothing remains.
func TestFairQueue_AllLeave_NothingRemains(t *testing.T) {
	s := onReal(t)
	random := rand.New(rand.NewPCG(5, 6))
	for _, group := range []int{1, 30, 1 << 20} {
		q := s.queueLong(2500, func() int { return min(group, 2500) })
		leavers := slices.Clone(q.model.queue)
		random.Shuffle(len(leavers), func(i, j int) { leavers[i], leavers[j] = leavers[j], leavers[i] })
		for some := range slices.Chunk(leavers, 128) {
			q.leave(some...)
		}
		require.Equal(t, []any{"a"}, s.do("KEYS", "*"))
	}
}

// Who comes after the last ones of a long queue have left stands behind the last that waits, and shares its time. A
// waiter that asks again after it has left has its place again.
func TestFairQueue_TailLeaves_TimeShared(t *testing.T) {
	q := onReal(t).queueLong(1500, func() int { return 1500 })
	q.leave("t1499", "t1497", "t700")
	q.leave("t1498")
	require.Equal(t, int64(1497), q.do("LLEN", q.queue), "one in the middle, and none at the end")
	ask := func(id, behind string) {
		q.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", q.model.now, q.model.now+1_000_000, id, 30_000, queueWait, behind)
	}
	ask("new", "t1496")
	require.Equal(t, q.do("ZSCORE", q.times, "t1496"), q.do("ZSCORE", q.times, "new"))
	ask("t700", "")
	waiting, gone := q.waiting()
	require.Len(t, waiting, 1498)
	require.Zero(t, gone)
	require.Equal(t, "t700", waiting[700])
}

// The queue is swept when more than half of its places are left behind. So they are counted, and those that were taken
// off the tail are not: otherwise each call would read the whole queue.
func TestFairQueue_TailTakenOff_NotCounted(t *testing.T) {
	q := onReal(t).queueLong(1600, func() int { return 1 })
	counted := func() int {
		words, _ := q.do("HGET", q.places, "").(string)
		_, gone, _ := strings.Cut(words, ":")
		n, _ := strconv.Atoi(gone)
		return n
	}
	for _, ids := range [][]string{{"t1599"}, {"t1598", "t1597"}, {"t800", "t801", "t802"}, {"t1596"}, {"t1594"}, {"t1595"}} {
		q.leave(ids...)
		_, gone := q.waiting()
		require.Equal(t, gone, counted(), "%v", ids)
	}
	require.Equal(t, 3, counted())
}

// A waiter behind many that have left is told of a release, and removes their places.
func TestFairQueue_LeftBehindAtHead_Removed(t *testing.T) {
	q := onReal(t).queueLong(2000, func() int { return 2000 })
	for i := range 600 {
		q.leave("t" + strconv.Itoa(601-i)) // t0 and t1 remain in front of them
	}
	q.leave("t0", "t1")
	for range 3 {
		q.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", q.model.now, q.model.now+1_000_000, "t700", 30_000, queueWait, "")
	}
	waiting, gone := q.waiting()
	require.Equal(t, q.model.queue, waiting)
	require.Zero(t, gone)
	require.Equal(t, int64(len(waiting)), q.do("HLEN", q.places))
}

// What it costs the server that a waiter leaves hardly depends on how many leave, in whatever order. The cost is the
// processor time of the server: its own statistics of commands also count the time for which other processes run.
func TestFairQueue_ManyLeave_CostLinear(t *testing.T) {
	s := onReal(t, "--save", "")
	random := rand.New(rand.NewPCG(7, 8))
	costOf := func(n int, enough time.Duration) (least, longest time.Duration) {
		for range 5 { // other work shares caches and memory, and can make any of them somewhat slower
			q := s.queueLong(n, func() int { return min(n, 300) })
			leavers := slices.Clone(q.model.queue)
			random.Shuffle(len(leavers), func(i, j int) { leavers[i], leavers[j] = leavers[j], leavers[i] })
			before, most := s.mainThreadTime(), time.Duration(0)
			for some := range slices.Chunk(leavers, 128) {
				args := []any{"PUBLISH", q.model.now}
				for _, id := range some {
					args = append(args, id, queueWait)
				}
				begun := time.Now()
				q.runOn(scripts.FairRelease, slices.Repeat([]string{"a"}, len(some)), args...)
				most = max(most, time.Since(begun))
			}
			if took := (s.mainThreadTime() - before) / time.Duration(n); least == 0 || took < least {
				least, longest = took, most
			}
			if least < enough {
				break
			}
		}
		return least, longest
	}
	few, _ := costOf(2_500, 0)
	n := long.Pick(25_000, 100_000)
	many, longest := costOf(n, 3*few)
	t.Logf("for each waiter: %v of 2500, %v of %d; the longest call took %v", few, many, n, longest)
	require.Less(t, many, 3*few)
}
