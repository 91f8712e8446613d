package scripts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// Each key of a renewal gets the lease that is given for it, and its own reply.
func TestRenewScript_RepliesPerKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s b:t2:100s c:t3:100s e:t5:100s → 1 1 1 1
			SET string x → OK
			renew a:t1:300s free:t9:300s string:t9:300s b:t9:300s c:t3:20s e:t5:0 → 1 0 WRONGTYPE… 0 1 1

			PTTL a → 300s
			EXISTS free → 0
			GET string → x
			PTTL string → -1
			# held by another tenure
			HGETALL b → [t2 1]
			PTTL b → 100s
			# a renewal sets the lease that it is given, also when that is less
			PTTL c → 20s
			# and with 0 leaves the TTL alone
			PTTL e → 100s
			heard → redisson_lock__channel:{c} 1
		`)
	})
}

// A waiter sleeps for the TTL in its reply. The head of a fair queue listens on a channel of its own. A rise is not
// published, nor a small fall that was not asked for.
func TestRenewScript_TTLFalls_Published(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			renew a:t1:200s extra a::2 → [1 1 -1]
			renew a:t1:190s → 1
			heard → nothing
			renew a:t1:20s extra a::2 → [1 1 -1]
			heard → redisson_lock__channel:{a} 1
			renew a:t1:10s extra a:2:3 → [1 1 0]
			renew a:t1:0 extra a::2 → [1 1 -1]
			renew a:t2:1s extra a::2 → 0
			heard → redisson_lock__channel:{a} 1
			PERSIST a → 1
			renew a:t1:300s extra a::2 → [1 1 -1]
			heard → redisson_lock__channel:{a} 1
			fenced_acquire f:t1:100s → 1
			fenced_renew f:t1:50s::2:1 → [1 1 -1 2]
			heard → redisson_lock__channel:{f} 1
			write_acquire w:t1:100s → 1
			write_renew w:t1:50s extra w::2 → [1 1 -1]
			heard → redisson_rwlock:{w} 1
			fair_acquire q:t1:100s:50s q:t2:100s:50s → 1 [100s t1 150s]
			renew q:t1:50s extra q::4 → [1 1 -1]
			heard → redisson_lock__channel:{q} 1, redisson_lock__channel:{q}:t2 1
			renew q:t1:20s extra q:2:5 → [1 1 0]
			heard → redisson_lock__channel:{q} 1, redisson_lock__channel:{q}:t2 1
		`)
	})
}

// A TTL can be longer than an engine knows: the server's clock was set back, or it was a replica with a clock behind. A
// waiter that saw it sleeps for that long, so a renewal that lowers it wakes the waiter. Of a reader it also lowers it.
func TestRenewScript_TTLTooLong_LoweredAndPublished(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			PEXPIRE a 3600000 → 1
			renew a:t1:100s → 1
			PTTL a → 100s
			heard → redisson_lock__channel:{a} 1
			# many in one call: absolute deadlines
			acquire b:t1:50s c:t1:50s d:t1:50s e:t1:50s f:t1:50s g:t1:50s h:t1:50s i:t1:50s → 1 1 1 1 1 1 1 1
			PEXPIRE c 3600000 → 1
			renew a:t1:100s b:t1:100s c:t1:100s d:t1:100s e:t1:100s f:t1:100s g:t1:100s h:t1:100s i:t1:100s → 1 1 1 1 1 1 1 1 1
			PTTL b → 100s
			PTTL c → 100s
			heard → redisson_lock__channel:{c} 1
			fenced_acquire k:t1:100s → 1
			PEXPIRE k 3600000 → 1
			renew k:t1:100s → 1
			heard → redisson_lock__channel:{k} 1
			write_acquire w:t1:100s → 1
			PEXPIRE w 3600000 → 1
			write_renew w:t1:100s → 1
			PTTL w → 100s
			heard → redisson_rwlock:{w} 1
			read_acquire r:t1:100s → 1
			PEXPIRE r 3600000 → 1
			read_renew r:t1::110s → 1
			PTTL r → 110s
			heard → redisson_rwlock:{r} 1
			# another reader may need it
			read_acquire r:t2:3600s → 1
			read_renew r:t1::100s → 1
			PTTL r → 3600s
			heard → nothing
		`)
	})
}

// A server before Redis 7 has no GT: a renewal sets the TTL without it.
func TestRenewScript_NoGT_TTLSet(t *testing.T) {
	s := onReal(t)
	old := strings.NewReplacer("lease, 'GT')", "lease, 'GT', 'NX')", "ending(lease), 'GT')", "ending(lease), 'GT', 'NX')")
	text := old.Replace(scripts.Renew.Text)
	require.NotEqual(t, scripts.Renew.Text, text)
	script := scripts.Script{Name: scripts.Renew.Name, SHA1: s.do("SCRIPT", "LOAD", text).(string)}
	s.runTranscript(`acquire a:t1:100s → 1`)
	require.Equal(t, int64(1), s.do(call(script, []string{"a"}, "NUMSUB", "t1", 300_000)...))
	s.runTranscript(`PTTL a → 300s`)
}

// What ended stays ended, however late a copy of its renewal arrives (redisson#7272).
func TestRenewScript_NeverCreates(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			renew a:t1:100s → 0
			renew a:t1:100s extra a:2:1 → 0
			renew a:t1:0 extra a:2: → 0
			EXISTS a → 0
			# released
			acquire a:t1:100s → 1
			release a:t1 → 1
			renew a:t1:300s extra a:2:1 → 0
			EXISTS a → 0
			# acquired by another tenure
			acquire a:t2:100s → 1
			renew a:t1:300s extra a:2:1 → 0
			HGETALL a → [t2 1]
			PTTL a → 100s
			# deleted by hand
			DEL a → 1
			renew a:t2:300s extra a:2:1 → 0
			EXISTS a → 0
		`)
	})
}

// A renewal that is sent twice or out of order writes the count that it names, and adds nothing.
func TestRenewScript_OutOfOrder_AbsoluteCount(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			renew a:t1:200s extra a:2: → [1 1 -1]
			renew a:t1:200s extra a:2: → [1 1 -1]
			HGETALL a → [t1 2]
			PTTL a → 200s
			renew a:t1:200s extra a:3: → [1 1 -1]
			# the partial release, and then the late copy of the re-entry before it
			renew a:t1:200s extra a:1: → [1 1 -1]
			renew a:t1:200s extra a:3: → [1 1 -1]
			HGETALL a → [t1 3]
			renew a:t1:200s extra a:1: → [1 1 -1]
			HGETALL a → [t1 1]
			# one release ends it, whatever the count was
			renew a:t1:200s extra a:5: → [1 1 -1]
			release a:t1 → 1
			EXISTS a → 0
		`)
	})
}

// Counts and listener queries of a renewal concern only the keys that they name.
func TestRenewScript_Extras_PerKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s b:t2:100s c:t3:100s d:t4:100s → 1 1 1 1
			SET string x → OK
			subscribe redisson_lock__channel:{c} → ok
			subscribe redisson_lock__channel:{c} → ok
			subscribe redisson_lock__channel:{d} → ok
			# listeners of a similar channel do not count
			subscribe redisson_lock__channel:c → ok
			subscribe redisson_lock__channel:{cc} → ok
			renew a:t1:200s string:t9:200s b:t2:200s gone:t9:200s c:t3:200s d:t4:0 extra d:7:1 b:2: c::1 gone:3:1 string:3:1 → 1 WRONGTYPE… [1 1 -1] 0 [1 1 2] [1 1 1]
			HGETALL a → [t1 1]
			HGETALL b → [t2 2]
			HGETALL c → [t3 1]
			HGETALL d → [t4 7]
			PTTL d → 100s
			EXISTS gone → 0
			GET string → x
			renew a:t1:200s extra a::1 → [1 1 0]
			renew a:t1:200s extra a:: → [1 1 -1]
		`)
	})
}

// Listeners are counted on the channel on which releases are published, also for names with braces of their own.
func TestRenewScript_Listeners_ExactChannel(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		for name, channel := range channels {
			_, err := dial(t, s.addr).Do("SUBSCRIBE", channel)
			require.NoError(t, err)
			require.Equal(t, []any{int64(1)}, s.run(scripts.Acquire, []string{name}, "PUBLISH", "t1", 100_000))
			require.Equal(t, []any{[]any{int64(1), int64(1), int64(1)}},
				s.run(scripts.Renew, []string{name}, "NUMSUB", "t1", 100_000, 1, "", 1), "%q", name)
		}
	})
}
