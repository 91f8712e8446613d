package scripts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// multiAcquire runs "multi_acquire a+b:t1:100s c:t2:100s orphans b:t0".
func (s *server) multiAcquire(words []string) string {
	s.t.Helper()
	var keys []string
	var groups, orphans []any
	for i, word := range words[1:] {
		if word == "orphans" {
			for _, orphan := range words[i+2:] {
				key, tenure, _ := strings.Cut(orphan, ":")
				orphans = append(orphans, slices.Index(keys, key)+1, tenure)
			}
			break
		}
		parts := strings.Split(word, ":")
		group := strings.Split(parts[0], "+")
		lease, err := time.ParseDuration(parts[2])
		require.NoError(s.t, err)
		keys = append(keys, group...)
		groups = append(groups, len(group), parts[1], lease.Milliseconds())
	}
	args := append([]any{"PUBLISH", len(groups) / 3}, groups...)
	reply := s.answers(len(groups)/3, scripts.MultiAcquire, keys, append(args, orphans...)...)
	texts := make([]string, len(reply))
	for i, v := range reply {
		if row, ok := v.([]any); ok {
			if ttl, ok := row[1].(int64); ok {
				row[1] = seconds(ttl)
			}
		}
		texts[i] = text(v)
	}
	return strings.Join(texts, " ")
}

// A group of locks is acquired as a whole or not at all, and its reply names the first key that is held.
func TestMultiScript_AllOrNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			multi_acquire a+b+c:t1:100s d+e:t2:200s → 1 1
			HGETALL a → [t1 1]
			HGETALL e → [t2 1]
			PTTL c → 100s
			PTTL d → 200s
			# One is held: the reply has the first such key, its holder and its TTL, and nothing about the others.
			multi_acquire x+b+c+y:t3:100s z:t4:100s → [2 100s t1] 1
			EXISTS x y → 0
			# All keys of a group are looked at, also after a smaller group.
			multi_acquire had:t7:100s → 1
			multi_acquire s:t8:100s f+had:t9:100s → 1 [2 100s t7]
			EXISTS f → 0
			# A group sees what the one before it acquired.
			multi_acquire p+q:t5:100s q+r:t6:100s → 1 [1 100s t5]
			EXISTS r → 0
			heard → nothing
			# What was acquired together is released one by one.
			release b:t1 → 1
			multi_acquire b+x:t3:100s → 1
			heard → redisson_lock__channel:{b} 0
			# Held without expiry.
			HSET f g 1 → 1
			multi_acquire v+f:t7:100s → [2 -1 '']
			EXISTS v → 0
		`)
	})
}

// A group that is sent twice or late is acquired once, and an orphan of it can be released.
func TestMultiScript_SentTwice_OneHold(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			multi_acquire a+b:t1:100s → 1
			multi_acquire a+b:t1:200s → 1
			HGETALL a → [t1 1]
			PTTL a → 200s
			multi_acquire a+b:t1:100s → 1
			PTTL b → 200s
			# Late, when a part was released and acquired by another tenure: what is left stays as it is.
			release a:t1 → 1
			acquire a:t2:100s → 1
			multi_acquire b+a:t1:300s → [2 100s t2]
			PTTL b → 200s
			# Late, when all is free: an orphan for each key, which the next call releases.
			release a:t2 b:t1 → 1 1
			multi_acquire a+b:t1:100s → 1
			multi_acquire b+a+c:t3:100s orphans a:t1 b:t1 → 1
			HGETALL b → [t3 1]
		`)
	})
}

// A group that the server rejects leaves none of its keys.
func TestMultiScript_Rejected_LeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			SET bad x → OK
			multi_acquire a+bad+b:t1:100s c:t2:100s → [2 [WRONGTYPE… -1 string]] 1
			EXISTS a b → 0
			acquire bad:t1:100s → [WRONGTYPE… -1 string]
		`)
	})
	t.Run("short of memory", func(t *testing.T) {
		onReal(t).runTranscript(`
			multi_acquire a+b:t1:100s → 1
			acquire g:t0:100s → 1
			CONFIG SET maxmemory 1 → OK
			multi_acquire c+d:t2:100s → [1 OOM…]
			multi_acquire a+b:t1:50s → 1
			EXISTS c d → 0
			# what the call wrote before makes the server accept it
			multi_acquire a+c:t1:200s → 1
			multi_acquire g+h:t3:100s orphans g:t0 → 1
		`)
	})
	t.Run("a command that is not allowed", func(t *testing.T) {
		s := onReal(t)
		limited := s.asUser("~*", "&*", "+@all", "-pexpire")
		limited.runTranscript(`
			multi_acquire a+b:t1:100s → [1 ERR…]
		`)
		s.runTranscript(`
			EXISTS a b → 0
		`)
	})
	t.Run("in the middle of it", func(t *testing.T) {
		s := onReal(t)
		limited := s.asUser("~*", "&*", "+@all", "-hset", "-pexpire", "(~a ~b +hset +pexpire)")
		require.Equal(t, "[3 ERR…]", limited.multiAcquire([]string{"", "a+b+c:t1:100s"}))
		s.runTranscript(`
			EXISTS a b c → 0
			acquire a:t1:100s → 1
		`)
		require.Equal(t, "[3 ERR…]", limited.multiAcquire([]string{"", "a+b+c:t1:100s"}))
		s.runTranscript(`
			# what the tenure had before, it keeps
			EXISTS a → 1
			EXISTS b c → 0
		`)
	})
	t.Run("read-only", func(t *testing.T) {
		onReal(t).runTranscript(`
			multi_acquire b:t1:10s → 1
			REPLICAOF 127.0.0.1 1 → OK
			multi_acquire a+b:t1:100s → [1 READONLY…]
			multi_acquire b:t1:100s → [1 READONLY…]
			REPLICAOF NO ONE → OK
		`)
	})
}

// Other callers may have waited for what an orphan had: the release of each key is published once.
func TestMultiScript_Orphans_Published(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t0:100s b:t0:100s → 1 1
			multi_acquire a+b+c:t1:100s orphans a:t0 b:t0 → 1
			heard → redisson_lock__channel:{a} 0, redisson_lock__channel:{b} 0
		`)
	})
}
