package scripts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// channels is by lock name, as Redisson builds them: with a brace anywhere in it, the name stays as it is.
var channels = map[string]string{
	"a":                      "redisson_lock__channel:{a}",
	"orders:17":              "redisson_lock__channel:{orders:17}",
	"a{b}c":                  "redisson_lock__channel:a{b}c",
	"{b}:x":                  "redisson_lock__channel:{b}:x",
	"x{y}{z}":                "redisson_lock__channel:x{y}{z}",
	"a{b":                    "redisson_lock__channel:a{b",
	"{":                      "redisson_lock__channel:{",
	"{}x":                    "redisson_lock__channel:{}x",
	"a}b":                    "redisson_lock__channel:{a}b}",
	"%d %s [a-z]* . %":       "redisson_lock__channel:{%d %s [a-z]* . %}",
	"":                       "redisson_lock__channel:{}",
	"two\r\nlines":           "redisson_lock__channel:{two\r\nlines}",
	"nul\x00{behind":         "redisson_lock__channel:nul\x00{behind",
	"nul\x00":                "redisson_lock__channel:{nul\x00}",
	"żółw\xff":               "redisson_lock__channel:{żółw\xff}",
	strings.Repeat("n", 7e4): "redisson_lock__channel:{" + strings.Repeat("n", 7e4) + "}",
}

// Each key of a release is released or not for itself, with its own reply.
func TestReleaseScript_RepliesPerKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s b:t2:100s c:t3:100s → 1 1 1
			SET string x → OK
			release a:t1 free:t9 string:t9 b:t9 c:t3 → 1 0 WRONGTYPE… 0 1
			EXISTS a c free → 0
			GET string → x
			HGETALL b → [t2 1]
			PTTL b → 100s
			heard → redisson_lock__channel:{a} 0, redisson_lock__channel:{c} 0
		`)
	})
}

// A release without a reply is sent again, and finds the lock free or held by another tenure (redisson#4871, #6651).
func TestReleaseScript_SentTwice_OthersKept(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			release a:t1 → 1
			heard → redisson_lock__channel:{a} 0
			release a:t1 → 0
			acquire a:t2:100s → 1
			release a:t1 → 0
			HGETALL a → [t2 1]
			PTTL a → 100s
			heard → nothing
		`)
	})
}

// A release publishes once, on the exact channel of its lock; so does a force, and the release of an orphan.
func TestReleaseScript_ExactChannelOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		sub := s.listen()
		for name, channel := range channels {
			require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, []string{name}, "PUBLISH", "g1", 100_000))
			require.Empty(t, sub.receive(), "%q", name)
			require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, []string{name}, "PUBLISH", "t1", 100_000, 1, "g1"))
			require.Equal(t, []message{{channel, "0"}}, sub.receive(), "the orphan of %q", name)
			require.Equal(t, []any{int64(1)}, s.run(scripts.Release, []string{name}, "PUBLISH", "t1"))
			require.Equal(t, []message{{channel, "0"}}, sub.receive(), "%q", name)
			require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, []string{name}, "PUBLISH", "t2", 100_000))
			require.Equal(t, []any{int64(1)}, s.run(scripts.Force, []string{name}, "PUBLISH"))
			require.Equal(t, []message{{channel, "0"}}, sub.receive(), "%q by force", name)
		}
		require.Equal(t, int64(0), s.do("DBSIZE"))
	})
}
