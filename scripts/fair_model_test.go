package scripts_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// fairModel is a second implementation of the fair lock's scripts: Redisson's rules, and the places where lockwheel
// differs ("ours"). The lock never expires in it, so no reply depends on how fast the test runs.
type fairModel struct {
	now       int64
	holder    string
	queue     []string
	times     map[string]int64
	published []message
	lost      []string // tenures notified because their time was lost
}

func (m *fairModel) publish(id string) {
	m.published = append(m.published, message{"redisson_lock__channel:{a}:" + id, "0"})
}

func (m *fairModel) publishHead() {
	if len(m.queue) > 0 {
		m.publish(m.queue[0])
	}
}

func (m *fairModel) isHead(id string) bool { return len(m.queue) > 0 && m.queue[0] == id }

func (m *fairModel) prune(asks string) {
	for len(m.queue) > 0 {
		head := m.queue[0]
		time, has := m.times[head]
		if has && (time > m.now || head == asks) {
			return
		}
		m.queue = m.queue[1:]
		if !has { // ours: in Redisson it would block the queue without a limit
			m.publish(head)
			m.lost = append(m.lost, head)
		}
		delete(m.times, head)
	}
}

// hasSameTime reports whether a waiter in the queue has that time. Ours: waiters that share a time added their wait
// once.
func (m *fairModel) hasSameTime(time int64) bool {
	return slices.Contains(slices.Collect(maps.Values(m.times)), time)
}

func (m *fairModel) acquire(id string, wait int64, behind string) string {
	before := len(m.queue)
	m.prune(id) // ours: in Redisson a waiter that asks too late goes to the end of the queue
	if len(m.queue) < before && m.holder == "" && !m.isHead(id) {
		m.publishHead() // ours: in Redisson it would not hear that the lock is free
	}
	if m.isHead(id) { // ours: a head that asks moves all times on
		if by := m.now + wait - m.times[id]; 8*by > wait {
			for other := range m.times {
				m.times[other] += by
			}
		}
	}
	m.outlive(id, wait)
	switch {
	case m.holder == "" && (len(m.queue) == 0 || m.isHead(id)):
		m.holder = id
		if m.isHead(id) {
			by, time := m.unusedWait(id, wait), m.times[id]
			m.queue = m.queue[1:]
			delete(m.times, id)
			if m.hasSameTime(time) {
				by = 0
			}
			for other := range m.times {
				m.times[other] -= by
			}
		}
		return "granted"
	case m.holder == id:
		return "granted"
	case wait == 0:
		return "refused"
	}
	if _, has := m.times[id]; !has {
		from := int64(-1) // PTTL of a key without a TTL
		if m.holder == "" {
			from = -2
		}
		has := false
		if tail := last(m.queue); tail != "" && tail != id {
			var time int64
			if time, has = m.times[tail]; has {
				from = max(time-m.now, 0) // ours: a new waiter is never dead already
			}
		}
		shares := last(m.queue) == behind && from >= wait && has // ours: of one engine
		if !shares {
			from += wait
		}
		m.times[id] = m.now + from
		m.queue = append(m.queue, id)
	}
	return fmt.Sprint("waits ", m.times[id]-m.now)
}

// outlive handles a waiter that shares the time of a head which does not ask. Ours: all but that head get a wait more.
func (m *fairModel) outlive(id string, wait int64) {
	time, stands := m.times[id]
	if !stands || wait == 0 || len(m.queue) == 0 || m.isHead(id) || 4*(time-m.now) > wait {
		return
	}
	by := max(wait, m.now+wait-time)
	for other := range m.times {
		if !m.isHead(other) {
			m.times[other] += by
		}
	}
}

func last(queue []string) string {
	if len(queue) == 0 {
		return ""
	}
	return queue[len(queue)-1]
}

func (m *fairModel) release(id string, wait int64) string {
	released := m.holder == id && id != ""
	if released {
		m.holder = ""
	} else {
		m.leave(id, wait)
	}
	m.prune("")
	if m.holder == "" {
		m.publishHead()
	}
	if released {
		return "1"
	}
	return "0"
}

// releaseAll is one call. The result is as if all left one by one, but the leavers need no message, and the head gets
// one.
func (m *fairModel) releaseAll(ids []string, waits []int64) string {
	published := m.published
	m.lost = nil
	var answers []string
	for i, id := range ids {
		answers = append(answers, m.release(id, waits[i]))
	}
	m.published = published
	for _, id := range m.lost {
		if !slices.Contains(ids, id) {
			m.publish(id)
		}
	}
	if m.holder == "" {
		m.publishHead()
	}
	return strings.Join(answers, " ")
}

// unusedWait returns what a leaver subtracts from those behind it. Ours: at most what it has left of its wait.
func (m *fairModel) unusedWait(id string, wait int64) int64 {
	return max(min(wait, m.times[id]-m.now), 0)
}

func (m *fairModel) leave(id string, wait int64) {
	time, stood := m.times[id]
	by := m.unusedWait(id, wait)
	delete(m.times, id)
	stood = stood && !m.hasSameTime(time)
	behind := false
	for _, other := range m.queue {
		if _, has := m.times[other]; has && behind && stood {
			m.times[other] -= by
		}
		behind = behind || other == id
	}
	m.queue = slices.DeleteFunc(m.queue, func(other string) bool { return other == id })
}

func (m *fairModel) force() string {
	if m.holder == "" {
		return "0"
	}
	m.holder = ""
	m.prune("")
	m.publishHead()
	return "1"
}

func (m *fairModel) state() string {
	var times []string
	for _, id := range slices.Sorted(maps.Keys(m.times)) {
		times = append(times, fmt.Sprint(id, " ", m.times[id]))
	}
	return fmt.Sprintf("%q %q %q", m.holder, m.queue, times)
}

// fairState returns the same for the server, and makes the lock one that never expires.
func (s *server) fairState() string {
	s.do("PERSIST", "a")
	holder, queue := "", []string{}
	for _, id := range s.do("HKEYS", "a").([]any) {
		holder += id.(string)
	}
	for _, id := range s.do("LRANGE", scripts.RedissonKey(scripts.FairQueueKey, "a"), 0, -1).([]any) {
		queue = append(queue, id.(string))
	}
	var times []string
	for pairs := s.do("ZRANGE", scripts.RedissonKey(scripts.FairTimeoutKey, "a"), 0, -1, "WITHSCORES").([]any); len(pairs) > 0; pairs = pairs[2:] {
		times = append(times, fmt.Sprint(pairs[0], " ", pairs[1]))
	}
	slices.Sort(times)
	return fmt.Sprintf("%q %q %q", holder, queue, times)
}

// Random calls on a fair lock have the replies and the queue of the model.
func TestFairScripts_RandomCalls_MatchModel(t *testing.T) {
	s := onReal(t)
	sub := s.listen()
	random := rand.New(rand.NewPCG(1, 2))
	m := &fairModel{now: 1_700_000_000_000, times: map[string]int64{}, queue: []string{}}
	waits := map[string]int64{}
	var trace []string
	next := 0
	for range 6000 {
		if random.IntN(3) == 0 {
			m.now += random.Int64N(9000)
		}
		if len(waits) < 6 {
			next++
			waits["t"+strconv.Itoa(next)] = 1000 + 3000*random.Int64N(3)
		}
		id := slices.Sorted(maps.Keys(waits))[random.IntN(len(waits))]
		what, want, got := s.fairStep(random, m, id, waits)
		if strings.HasPrefix(what, "release") && random.IntN(3) == 0 {
			delete(waits, id)
		}
		if m.queue == nil {
			m.queue = []string{}
		}
		trace = append(trace, fmt.Sprintf("%d %s → %s, %s", m.now, what, got, s.fairState()))
		tail := strings.Join(trace[max(0, len(trace)-8):], "\n")
		require.Equal(t, want, got, tail)
		require.Equal(t, m.state(), s.fairState(), tail)
		require.Equal(t, messagesText(m.published), messagesText(sub.receive()), tail)
		m.published = nil
	}
}

// fairStep performs one step on the server and on the model.
func (s *server) fairStep(random *rand.Rand, m *fairModel, id string, waits map[string]int64) (what, want, got string) {
	locks, wait := []string{"a"}, waits[id]
	switch n := random.IntN(24); {
	case n < 9:
		behind := ""
		if tail := last(m.queue); waits[tail] == wait || random.IntN(4) == 0 {
			behind = tail
		}
		return fmt.Sprint("acquire ", id, " ", wait, " behind ", behind), m.acquire(id, wait, behind),
			fairAnswer(s.runOn(scripts.FairAcquire, locks, "PUBLISH", m.now, "", id, 100_000, wait, behind)[0])
	case n < 11:
		once := "once" + strconv.Itoa(random.IntN(3))
		return "acquire " + once, m.acquire(once, 0, ""), fairAnswer(s.runOn(scripts.FairAcquire, locks, "PUBLISH", m.now, "", once, 100_000, "", "")[0])
	case n < 13:
		ids, times, args := []string{}, []int64{}, []any{"PUBLISH", m.now}
		for range 1 + random.IntN(4) {
			id := slices.Sorted(maps.Keys(waits))[random.IntN(len(waits))]
			if random.IntN(8) == 0 && m.holder != "" {
				id = m.holder
			}
			ids, times, args = append(ids, id), append(times, waits[id]), append(args, id, waits[id])
		}
		answers := []string{}
		for _, answer := range s.runOn(scripts.FairRelease, slices.Repeat(locks, len(ids)), args...) {
			answers = append(answers, text(answer))
		}
		return fmt.Sprint("release ", ids, times), m.releaseAll(ids, times), strings.Join(answers, " ")
	case n < 16:
		return fmt.Sprint("release ", id, " ", wait), m.release(id, wait), text(s.runOn(scripts.FairRelease, locks, "PUBLISH", m.now, id, wait)[0])
	case n < 17:
		holder := m.holder
		return "release the holder", m.release(holder, 0), text(s.runOn(scripts.FairRelease, locks, "PUBLISH", m.now, holder, "")[0])
	case n < 18:
		return "force", m.force(), text(s.runOn(scripts.FairForce, locks, "PUBLISH", m.now)[0])
	case n < 19:
		m.holder = ""
		s.do("DEL", "a")
		return "the lock expires", "", ""
	}
	if _, has := m.times[id]; has && random.IntN(5) > 0 { // other clients count differently
		by := random.Int64N(9000)
		m.times[id] -= by
		s.do("ZADD", scripts.RedissonKey(scripts.FairTimeoutKey, "a"), "XX", "INCR", -by, id)
		return fmt.Sprint("the time of ", id, " is shortened by ", by), "", ""
	}
	delete(m.times, id)
	s.do("ZREM", scripts.RedissonKey(scripts.FairTimeoutKey, "a"), id)
	return "the time of " + id + " is lost", "", ""
}

// fairAnswer returns a reply of fair_acquire without what depends on time.
func fairAnswer(reply any) string {
	row, ok := reply.([]any)
	switch {
	case !ok && reply == int64(1):
		return "granted"
	case ok && len(row) >= 3 && row[2] == int64(-1):
		return "refused"
	case ok && len(row) >= 3:
		return fmt.Sprint("waits ", row[2])
	}
	return fmt.Sprint(reply)
}
