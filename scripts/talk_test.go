package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// patience is for what comes at once unless something is broken.
const patience = 10 * time.Second

// talk holds a conversation with the server and compares it with what was expected, one step and its answer a line:
//
//	acquire a:t1:100s b:t1:100s ghosts a:t0   key:tenure:lease, and a ghost of key a
//	renew   a:t1:100s b:t1:0 extra a:2:1 b::1 key:hold count:1 to count the listeners
//	release a:t1 b:t1
//	force   a b
//	state   a b
//	fenced_acquire a:t1:100s ghosts a:t0      with a token; the further keys of a lock are added
//	fenced_pass    a:t1:100s:1:1:7            key:tenure:lease:count:listeners:last token
//	joint_acquire  a+b:t1:100s c:t2:100s ghosts b:t0   groups of keys, each for one tenure
//	heard                                     what was published since the last time
//	subscribe channel                         one more listener
//	HGETALL a                                 any command
//
// A TTL is shown in seconds, rounded up to ten of them, so leases are multiples of ten seconds and nothing depends on
// how fast the test runs. Of an error only the first word is shown. Lines with # are comments.
func (s *server) talk(conversation string) {
	s.t.Helper()
	ears := s.listen()
	var want, got []string
	for line := range strings.Lines(conversation) {
		line = strings.TrimSpace(line)
		want = append(want, line)
		if line != "" && line[0] != '#' {
			step, _, _ := strings.Cut(line, " → ")
			line = step + " → " + s.step(strings.Fields(step), ears)
		}
		got = append(got, line)
	}
	require.Equal(s.t, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

func (s *server) step(words []string, ears *ears) string {
	s.t.Helper()
	switch words[0] {
	case "heard":
		return said(ears.heard())
	case "subscribe":
		_, err := dial(s.t, s.addr).Do("SUBSCRIBE", words[1])
		require.NoError(s.t, err)
		return "ok"
	}
	if words[0] == scripts.JointAcquire.Name {
		return s.jointly(words)
	}
	for _, script := range all {
		if script.Name == words[0] {
			keys, args := arguments(words)
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

// arguments reads "acquire a:t1:100s ghosts a:t0" as KEYS and ARGV.
func arguments(words []string) (keys []string, args []any) {
	switch words[0] {
	case "acquire", "release", "force", "fenced_acquire":
		args = append(args, "PUBLISH")
	case "renew", "fenced_pass":
		args = append(args, "NUMSUB")
	}
	extra := false
	for _, word := range words[1:] {
		if word == "ghosts" || word == "extra" {
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
	}
	return keys, args
}

// rows prints what a script answered for its keys.
func rows(script scripts.Script, reply []any) string {
	texts := make([]string, len(reply))
	for i, v := range reply {
		row, ok := v.([]any)
		if ok && len(row) > 0 && slices.Contains([]string{"acquire", "state", "fenced_acquire"}, script.Name) {
			if ttl, ok := row[0].(int64); ok && ttl != 1 { // 1 is a grant
				row[0] = seconds(ttl)
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

func seconds(ms int64) string {
	if ms < 0 {
		return fmt.Sprint(ms)
	}
	return fmt.Sprintf("%ds", (ms+9_999)/10_000*10)
}

func said(messages []message) string {
	if len(messages) == 0 {
		return "nothing"
	}
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.channel + " " + m.payload
	}
	return strings.Join(texts, ", ")
}
