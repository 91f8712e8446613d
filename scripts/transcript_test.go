package scripts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// receiveTimeout is the timeout for what comes at once unless something is broken.
const receiveTimeout = 10 * time.Second

// runTranscript holds a conversation with the server and compares it with the expected one. Each line is a step and its
// reply:
//
//	acquire a:t1:100s b:t1:100s orphans a:t0   key:tenure:lease, and an orphan of key a
//	renew   a:t1:100s b:t1:0 extra a:2:1 b::1 key:hold count:1 to count the listeners
//	release a:t1 b:t1
//	force   a b
//	state   a b
//	fenced_acquire a:t1:100s orphans a:t0      with a token; the further keys of a lock are added
//	fenced_renew    a:t1:100s:1:1:7            key:tenure:lease:count:listeners:last token
//	multi_acquire  a+b:t1:100s c:t2:100s orphans b:t0   groups of keys, each for one tenure
//	clock 10000                               the clock of the fair lock's callers, in seconds
//	fair_acquire a:t1:100s:50s orphans a:t0    key:tenure:lease:wait
//	fair_release a:t1:50s                     key:tenure:wait
//	fair_force   a
//	times a                                   the waiters for a fair lock, and how much longer each is considered alive
//	read_acquire a:t1:100s:t2 orphans a:t0     beside the writer t2; the keys of holds are added
//	read_renew   a:t1:1:100s,50s              with the leases of its holds; 1: the TTL may fall
//	heard                                     what was published since the last time
//	subscribe channel                         one more listener
//	HGETALL a                                 any command
//
// A TTL is shown in seconds, rounded up to ten of them. So leases are multiples of ten seconds, and nothing depends on
// how fast the test runs. Of an error only the first word is shown. Lines with # are comments.
func (s *server) runTranscript(transcript string) {
	s.t.Helper()
	sub := s.listen()
	var want, got []string
	for line := range strings.Lines(transcript) {
		line = strings.TrimSpace(line)
		want = append(want, line)
		if line != "" && line[0] != '#' {
			step, _, _ := strings.Cut(line, " → ")
			line = step + " → " + s.step(strings.Fields(step), sub)
		}
		got = append(got, line)
	}
	require.Equal(s.t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

func (s *server) step(words []string, sub *subscriber) string {
	s.t.Helper()
	switch words[0] {
	case "heard":
		return messagesText(sub.receive())
	case "clock":
		clock, err := strconv.Atoi(words[1])
		require.NoError(s.t, err)
		s.clock = int64(clock) * 1000
		return "ok"
	case "times":
		return s.times(words[1])
	case "subscribe":
		_, err := dial(s.t, s.addr).Do("SUBSCRIBE", words[1])
		require.NoError(s.t, err)
		return "ok"
	}
	if words[0] == scripts.MultiAcquire.Name {
		return s.multiAcquire(words)
	}
	for _, script := range all {
		if script.Name == words[0] {
			if wantsHoldKeys[script.Name] {
				locks, keys, args := holdKeyArgs(words)
				return rows(script, s.answers(len(locks), script, keys, args...))
			}
			keys, args := s.arguments(words)
			return rows(script, s.runOn(script, keys, args...))
		}
	}
	command := make([]any, len(words))
	for i, word := range words {
		command[i] = word
	}
	reply := s.do(command...)
	if ttl, ok := reply.(int64); ok && words[0] == "PTTL" {
		return seconds(ttl)
	}
	return text(reply)
}

// arguments parses "acquire a:t1:100s orphans a:t0" into KEYS and ARGV.
func (s *server) arguments(words []string) (keys []string, args []any) {
	switch words[0] {
	case "acquire", "release", "force", "fenced_acquire",
		"read_release", "read_force", "write_acquire", "write_release", "write_force":
		args = append(args, "PUBLISH")
	case "fair_acquire":
		args = append(args, "PUBLISH", s.clock, orNone(s.until))
	case "fair_release", "fair_force":
		args = append(args, "PUBLISH", s.clock)
	case "renew", "fenced_renew", "write_renew":
		args = append(args, "NUMSUB")
	}
	extra := false
	for _, word := range words[1:] {
		if word == "orphans" || word == "extra" {
			extra = true
			continue
		}
		parts := strings.Split(word, ":")
		if extra {
			args = append(args, slices.Index(keys, parts[0])+1)
		} else {
			keys = append(keys, parts[0])
		}
		for _, part := range parts[1:] {
			if lease, err := time.ParseDuration(part); err == nil && !extra {
				args = append(args, lease.Milliseconds())
				continue
			}
			args = append(args, part)
		}
		if words[0] == "fair_acquire" && !extra && len(parts) == 4 {
			args = append(args, "") // behind no other waiter of its engine
		}
	}
	return keys, args
}

// orNone returns an argument that may be missing.
func orNone(arg any) any {
	if arg == nil {
		return ""
	}
	return arg
}

// withTTL has the scripts with lists in the reply that begin with a TTL.
var withTTL = []string{"acquire", "state", "fenced_acquire", "fair_acquire", "read_acquire", "write_acquire", "rw_state"}

// rows prints what a script replied for its keys.
func rows(script scripts.Script, reply []any) string {
	texts := make([]string, len(reply))
	for i, v := range reply {
		row, ok := v.([]any)
		if ok && len(row) > 0 && slices.Contains(withTTL, script.Name) {
			if ttl, ok := row[0].(int64); ok && ttl != 1 { // 1 is a grant
				row[0] = seconds(ttl)
			}
			if script.Name == "fair_acquire" && len(row) == 4 {
				row[2] = seconds(row[2].(int64))
				v = row[:3] // without the server's clock
			}
		}
		texts[i] = text(v)
	}
	return strings.Join(texts, " ")
}

func text(reply any) string {
	switch v := reply.(type) {
	case redistest.Error:
		return "(" + text(v.Error()) + ")"
	case string:
		if first, _, more := strings.Cut(v, " "); more {
			return first + "…"
		}
		if v == "" {
			return "''"
		}
		return v
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = text(v[i])
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return fmt.Sprint(reply)
}

// times returns the queue of a fair lock, with what each waiter has left.
func (s *server) times(lock string) string {
	s.t.Helper()
	texts := []string{}
	for _, id := range s.do("LRANGE", scripts.RedissonKey(scripts.FairQueueKey, lock), 0, -1).([]any) {
		left := "without"
		if time, ok := s.do("ZSCORE", scripts.RedissonKey(scripts.FairTimeoutKey, lock), id).(string); ok {
			ms, err := strconv.ParseInt(time, 10, 64)
			require.NoError(s.t, err)
			left = seconds(ms - s.clock)
		}
		texts = append(texts, fmt.Sprint(id, " ", left))
	}
	return strings.Join(texts, ", ")
}

func seconds(ms int64) string {
	if ms < 0 {
		return fmt.Sprint(ms)
	}
	return fmt.Sprintf("%ds", (ms+9_999)/10_000*10)
}

func messagesText(messages []message) string {
	if len(messages) == 0 {
		return "nothing"
	}
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.channel + " " + m.payload
	}
	return strings.Join(texts, ", ")
}
