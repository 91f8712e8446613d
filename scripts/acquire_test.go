package scripts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// Each key of an acquire is granted or rejected for itself, with its own reply.
func TestAcquireScript_RepliesPerKey(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire theirs:t1:200s mine:t2:100s → 1 1
			SET string x → OK
			RPUSH list x → 1
			HSET forever f x → 1
			acquire a:t3:100s string:t4:100s theirs:t5:100s list:t6:100s mine:t2:100s forever:t7:100s b:t8:300s → 1 [WRONGTYPE… -1 string] [200s t1] [WRONGTYPE… -1 list] 1 [-1 ''] 1

			HGETALL a → [t3 1]
			PTTL a → 100s
			HGETALL b → [t8 1]
			PTTL b → 300s
			HGETALL theirs → [t1 1]
			PTTL theirs → 200s
			GET string → x
			PTTL string → -1
			LRANGE list 0 -1 → [x]
			HGETALL forever → [f x]
			PTTL forever → -1
			heard → nothing
		`)
	})
}

// A hash with several fields that expires is held, and by no tenure: to a waiter in a fair queue no holder would mean
// that the lock is free.
func TestAcquireScripts_SeveralFields_AreHeld(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			HSET several f 1 g 1 → 2
			PEXPIRE several 100000 → 1
			acquire several:t1:50s → [100s several]
			fenced_acquire several:t1:50s → [100s several]
			fair_acquire several:t1:50s:50s → [100s several 150s]
			HGETALL several → [f 1 g 1]
		`)
	})
}

// One wrong key must not stop the keys after it (redisson#6472) or hide why it was rejected.
func TestScripts_KeyError_ServersOwnText(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.do("SET", "string", "x")
		const wrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
		keys := []string{"a", "string", "b"}
		free := []any{int64(-2), "", int64(0)}
		noHash := []any{wrongType, int64(-1), "string"}
		require.Equal(t, []any{free, noHash, free}, s.run(scripts.State, keys))
		require.Equal(t, []any{int64(1), noHash, int64(1)}, s.run(scripts.Acquire, keys, "PUBLISH", "t1", 100_000, "t2", 100_000, "t3", 100_000))
		require.Equal(t, []any{int64(1), wrongType, int64(1)}, s.run(scripts.Renew, keys, "NUMSUB", "t1", 100_000, "t2", 100_000, "t3", 100_000))
		require.Equal(t, []any{int64(1), wrongType, int64(1)}, s.run(scripts.Release, keys, "PUBLISH", "t1", "t2", "t3"))
		require.Equal(t, []any{int64(0), noHash, int64(0)}, s.run(scripts.Force, keys, "PUBLISH"))
		require.Equal(t, "x", s.do("GET", "string"))
	})
}

// An acquire of a held lock replies its TTL and its holder, and changes nothing.
func TestAcquireScript_Held_NamesHolder(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		const holder = "6f0e6a4e-1111-2222-3333-444455556666:35"
		require.Equal(t, int64(1), s.do("HSET", "a", holder, 1))
		require.Equal(t, int64(1), s.do("PEXPIRE", "a", 100_000))
		row := s.run(scripts.Acquire, []string{"a"}, "PUBLISH", "t1", 200_000)[0].([]any)
		require.Equal(t, holder, row[1])
		require.InDelta(t, 95_000, row[0], 5_000)
		require.Equal(t, []any{holder, "1"}, s.do("HGETALL", "a"))
		require.InDelta(t, 95_000, s.do("PTTL", "a"), 5_000)
	})
}

// A copy that arrives again is still one hold (redisson#7367) and never undoes what a later command set.
func TestAcquireScript_SentTwice_OneHold(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			acquire a:t1:100s → 1
			HGETALL a → [t1 1]
			PTTL a → 100s
			# a longer lease counts, a shorter one does not
			acquire a:t1:300s → 1
			acquire a:t1:100s → 1
			PTTL a → 300s
			# a re-entry was written in between
			renew a:t1:290s extra a:2: → [1 1 -1]
			acquire a:t1:100s → 1
			HGETALL a → [t1 2]
			PTTL a → 290s
			# the TTL was removed: the copy sets one again
			PERSIST a → 1
			acquire a:t1:100s → 1
			PTTL a → 100s
			heard → nothing
		`)
	})
}

// A late copy of an acquire gets only a free lock, as an orphan for at most its lease.
func TestAcquireScript_Late_OnlyFreeLock(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			release a:t1 → 1
			acquire a:t2:200s → 1
			# the late copy finds another holder
			acquire a:t1:300s → [200s t2]
			HGETALL a → [t2 1]
			PTTL a → 200s
			release a:t2 → 1
			# now the lock is free: an orphan, for at most its lease
			acquire a:t1:300s → 1
			HGETALL a → [t1 1]
			PTTL a → 300s
		`)
	})
}

// Orphans that an acquire lists are released and published in the same call, if they exist.
func TestAcquireScript_Orphans_Released(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:g1:900s b:g2:900s c:t3:900s → 1 1 1
			acquire a:t4:100s → [900s g1]
			heard → nothing
			acquire d:t7:100s a:t4:100s b:t5:100s c:t6:100s orphans a:g0 a:g1 b:g2 c:g3 d:g4 → 1 1 1 [900s t3]
			HGETALL a → [t4 1]
			PTTL a → 100s
			HGETALL b → [t5 1]
			PTTL b → 100s
			HGETALL c → [t3 1]
			# only orphans that existed are published, once each
			heard → redisson_lock__channel:{a} 0, redisson_lock__channel:{b} 0
			acquire a:t4:100s orphans a:g1 → 1
			heard → nothing
		`)
	})
}

// An orphan listed for a key of another type changes nothing there, nor for the other keys.
func TestAcquireScript_OrphanBadType_Skipped(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			SET string x → OK
			acquire b:g2:100s → 1
			acquire string:t1:100s b:t2:100s orphans string:g1 b:g2 → [WRONGTYPE… -1 string] 1
			GET string → x
			heard → redisson_lock__channel:{b} 0
		`)
	})
}

func TestAcquireScript_OneHeld_OthersAcquired(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire b:t1:100s → 1
			acquire a:t2:200s b:t2:200s c:t2:200s → 1 [100s t1] 1
			HGETALL a → [t2 1]
			PTTL c → 200s
			release a:t2 b:t1 c:t2 → 1 1 1
		`)
	})
}

// Redisson's own script leaves a lock without a TTL when PEXPIRE rejects the lease.
func TestAcquireScript_HugeLease_NoKeyLeft(t *testing.T) {
	for _, lease := range []string{
		"9223372036854775807", "9223372036854775808", "9300000000000000000", "1000000000000000000000000000000", "1e30", "0", "-1",
	} {
		t.Run(lease, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *server) {
				reply := s.run(scripts.Acquire, []string{"a", "b", "c"}, "PUBLISH", "t1", 100_000, "t2", lease, "t3", 100_000)
				require.Equal(t, []any{int64(1), int64(1)}, []any{reply[0], reply[2]})
				require.Equal(t, int64(0), s.do("EXISTS", "b"))
				require.Equal(t, int64(2), s.do("EXISTS", "a", "c"))
				if s.real != nil && len(lease) > 2 { // the embedded server deletes for a lease that overflows
					require.Contains(t, reply[1], "ERR ")
					s.run(scripts.Acquire, []string{"a"}, "PUBLISH", "t1", lease)
				}
				s.run(scripts.Renew, []string{"c"}, "NUMSUB", "t3", lease)
				s.requireTTLs()
			})
		})
	}
}
