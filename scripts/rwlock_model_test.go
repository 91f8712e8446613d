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
)

// rwModel is a second implementation of the scripts of the read/write lock. TTLs do not fall in it, and the leases of
// the test are so far apart that this does not show.
type rwModel struct {
	keys      map[string]*rwLock
	published []message
}

type rwLock struct {
	writer  string // "": no writer
	count   string
	readers map[string][]int // the leases of their holds, in seconds; 0: expired
	ttl     int
}

func (m *rwModel) publish(key, payload string) {
	m.published = append(m.published, message{"redisson_rwlock:{" + key + "}", payload})
}

// longest returns the longest lease that a reader has left.
func (l *rwLock) longest() (most int) {
	for _, leases := range l.readers {
		most = max(most, slices.Max(leases))
	}
	return most
}

// fitTTL handles a lock without a writer. It returns the message for the waiters.
func (m *rwModel) fitTTL(key string) (payload string) {
	l := m.keys[key]
	before := l.ttl
	switch l.ttl = l.longest(); {
	case l.ttl == 0:
		delete(m.keys, key)
		return "0"
	case 10*l.ttl < 9*before:
		return "1"
	}
	return ""
}

func (m *rwModel) fitAndPublish(key string) {
	if payload := m.fitTTL(key); payload != "" {
		m.publish(key, payload)
	}
}

func (m *rwModel) releaseRead(key, id string) string {
	l := m.keys[key]
	if l == nil || l.readers[id] == nil {
		return "0"
	}
	delete(l.readers, id)
	if l.writer == "" {
		m.fitAndPublish(key)
	}
	return "1"
}

func (m *rwModel) releaseWrite(key, id string) string {
	l := m.keys[key]
	if l == nil || l.writer != id {
		return "0"
	}
	l.writer = ""
	m.fitTTL(key)
	m.publish(key, "1")
	return "1"
}

func (m *rwModel) read(key, id string, lease int, writer string) string {
	l := m.keys[key]
	if l == nil {
		l = &rwLock{readers: map[string][]int{}}
		m.keys[key] = l
	}
	leases := l.readers[id]
	switch {
	case leases != nil:
		leases[0] = max(leases[0], lease)
	case l.writer != "" && l.writer != writer:
		return fmt.Sprintf("[%ds %s]", l.ttl, l.writer)
	default:
		l.readers[id] = []int{lease}
	}
	l.ttl = max(l.ttl, lease)
	return "1"
}

func (m *rwModel) renewRead(key, id string, falls bool, leases []int) string {
	l := m.keys[key]
	if l == nil || l.readers[id] == nil {
		return "0"
	}
	l.readers[id] = slices.Clone(leases)
	l.ttl = max(l.ttl, leases[0])
	if (falls || 10*leases[0] < 9*l.ttl) && l.writer == "" {
		m.fitAndPublish(key)
	}
	return "1"
}

func (m *rwModel) write(key, id string, lease int) string {
	switch l := m.keys[key]; {
	case l == nil:
		m.keys[key] = &rwLock{writer: id, count: "1", ttl: lease, readers: map[string][]int{}}
	case l.writer != id:
		return fmt.Sprintf("[%ds %s]", l.ttl, quoted(l.writer))
	default:
		l.ttl = max(l.ttl, lease)
	}
	return "1"
}

func (m *rwModel) renewWrite(key, id string, lease int, count string) string {
	l := m.keys[key]
	if l == nil || l.writer != id {
		return "0"
	}
	if lease = max(lease, l.longest()); 10*lease < 9*l.ttl {
		m.publish(key, "1")
	}
	if l.ttl = lease; count == "" {
		return "1"
	}
	l.count = count
	return "[1 1 -1]"
}

func (m *rwModel) force(key string, write bool) string {
	l := m.keys[key]
	if l == nil || (l.writer != "") != write {
		return "0"
	}
	delete(m.keys, key)
	m.publish(key, map[bool]string{true: "1", false: "0"}[write])
	return "1"
}

func quoted(text string) string {
	if text == "" {
		return "''"
	}
	return text
}

// rwStep is one call, as the words for the server and as the function for the model.
type rwStep struct {
	words string
	model func(*rwModel) string
}

func randomRWStep(r *rand.Rand) rwStep {
	key, id, other := string("ab"[r.IntN(2)]), fmt.Sprintf("t%d", r.IntN(4)), fmt.Sprintf("t%d", r.IntN(4))
	lease := func() int { return 100 * (1 + r.IntN(9)) }
	switch r.IntN(13) {
	case 0, 1, 2:
		n, writer, orphan := lease(), []string{"", id, other}[r.IntN(3)], r.IntN(4) == 0
		words := fmt.Sprintf("read_acquire %s:%s:%ds:%s", key, id, n, writer)
		if orphan {
			words += fmt.Sprintf(" orphans %s:%s", key, other)
		}
		return rwStep{words, func(m *rwModel) string {
			if orphan {
				m.releaseRead(key, other)
			}
			return m.read(key, id, n, writer)
		}}
	case 3, 4:
		leases, texts, falls := []int{}, []string{}, r.IntN(2) == 0
		for range 1 + r.IntN(3) {
			leases = append(leases, lease())
		}
		slices.Sort(leases)
		slices.Reverse(leases)
		for _, n := range leases {
			texts = append(texts, fmt.Sprintf("%ds", n))
		}
		flag := map[bool]string{true: "1"}[falls]
		return rwStep{
			fmt.Sprintf("read_renew %s:%s:%s:%s", key, id, flag, strings.Join(texts, ",")),
			func(m *rwModel) string { return m.renewRead(key, id, falls, leases) },
		}
	case 5, 6:
		return rwStep{"read_release " + key + ":" + id, func(m *rwModel) string { return m.releaseRead(key, id) }}
	case 7, 8:
		n, orphan := lease(), r.IntN(4) == 0
		words := fmt.Sprintf("write_acquire %s:%s:%ds", key, id, n)
		if orphan {
			words += fmt.Sprintf(" orphans %s:%s", key, other)
		}
		return rwStep{words, func(m *rwModel) string {
			if orphan {
				m.releaseWrite(key, other)
			}
			return m.write(key, id, n)
		}}
	case 9:
		n, count := lease(), []string{"", "2", "3"}[r.IntN(3)]
		words := fmt.Sprintf("write_renew %s:%s:%ds", key, id, n)
		if count != "" {
			words += fmt.Sprintf(" extra %s:%s:", key, count)
		}
		return rwStep{words, func(m *rwModel) string { return m.renewWrite(key, id, n, count) }}
	case 10, 11:
		return rwStep{"write_release " + key + ":" + id, func(m *rwModel) string { return m.releaseWrite(key, id) }}
	default:
		write := r.IntN(2) == 0
		name := map[bool]string{true: "write_force ", false: "read_force "}[write]
		return rwStep{name + key, func(m *rwModel) string { return m.force(key, write) }}
	}
}

// expire ends the lease of one hold of a reader, as if its owner had died.
func (s *server) expire(m *rwModel, r *rand.Rand) {
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		l := m.keys[key]
		for _, id := range slices.Sorted(maps.Keys(l.readers)) {
			if r.IntN(3) == 0 {
				i := r.IntN(len(l.readers[id]))
				l.readers[id][i] = 0
				s.do("DEL", fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", key, id, i+1))
				return
			}
		}
	}
}

// Any call may run once, twice, or long after newer ones: the server has and replies what the model has and replies.
// No key is left without a TTL, and no key of a hold is left without its reader.
func TestRWScripts_RandomCalls_MatchModel(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		const steps, seed = 1000, 1
		r := rand.New(rand.NewPCG(seed, seed))
		m, sub := &rwModel{keys: map[string]*rwLock{}}, s.listen()
		var sent []rwStep
		var recent []string
		for n := range steps {
			step := randomRWStep(r)
			if len(sent) > 0 && r.IntN(3) == 0 { // an old one again
				step = sent[max(0, len(sent)-1-r.IntN(20))]
			} else {
				sent = append(sent, step)
			}
			if n%20 == 0 {
				s.expire(m, r)
			}
			want, got := step.model(m), s.step(strings.Fields(step.words), sub)
			recent = append(recent, step.words+" → "+got)
			recent = recent[max(0, len(recent)-15):]
			trace := fmt.Sprintf("seed %d, step %d:\n%s", seed, n, strings.Join(recent, "\n"))
			require.Equal(t, want, got, trace)
			s.requireRWLocks(m, trace)
		}
		require.NotEmpty(t, m.published)
		require.Equal(t, m.published, sub.receive())
	})
}

// requireRWLocks compares what is in the server with the model: the hashes, their TTLs, and the keys of the holds.
func (s *server) requireRWLocks(m *rwModel, trace string) {
	s.t.Helper()
	s.requireTTLs()
	want, got := map[string]string{}, map[string]string{}
	for key, l := range m.keys {
		fields := []string{"mode=" + map[bool]string{true: "read", false: "write"}[l.writer == ""]}
		if l.writer != "" {
			fields = append(fields, l.writer+":write="+l.count)
		}
		for id, leases := range l.readers {
			fields = append(fields, fmt.Sprintf("%s=%d", id, len(leases)))
			for i, lease := range leases {
				if lease != 0 {
					want[fmt.Sprintf("{%s}:%s:rwlock_timeout:%d", key, id, i+1)] = fmt.Sprintf("%ds", lease)
				}
			}
		}
		slices.Sort(fields)
		want[key] = fmt.Sprintf("%ds %v", l.ttl, fields)
	}
	for _, k := range s.do("KEYS", "*").([]any) {
		key := k.(string)
		if strings.Contains(key, "rwlock_timeout") && m.orphaned(key) {
			continue // left to expire: after a force, Redisson leaves it as well
		}
		got[key] = seconds(s.do("PTTL", key).(int64))
		if !strings.Contains(key, "rwlock_timeout") {
			hash := s.do("HGETALL", key).([]any)
			var fields []string
			for i := 0; i < len(hash); i += 2 {
				fields = append(fields, fmt.Sprintf("%v=%v", hash[i], hash[i+1]))
			}
			slices.Sort(fields)
			got[key] += fmt.Sprintf(" %v", fields)
		}
	}
	require.Equal(s.t, want, got, trace)
}

// orphaned reports whether a hold's key has no reader any more, or one with fewer holds.
func (m *rwModel) orphaned(key string) bool {
	lock, rest, _ := strings.Cut(strings.TrimPrefix(key, "{"), "}:")
	id, number, _ := strings.Cut(rest, ":rwlock_timeout:")
	n, _ := strconv.Atoi(number)
	l := m.keys[lock]
	return l == nil || len(l.readers[id]) < n
}
