package scripts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// Readers share the lock, and a writer has it alone; the TTL falls to what the remaining readers need.
func TestRWScripts_ReadersShareWriterAlone(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_acquire a:t1:100s b:t1:100s → 1 1
			HGETALL a → [mode read t1 1]
			PTTL a → 100s
			GET {a}:t1:rwlock_timeout:1 → 1
			PTTL {a}:t1:rwlock_timeout:1 → 100s
			# Another reader raises the TTL and never shortens it.
			read_acquire a:t2:200s → 1
			PTTL a → 200s
			read_acquire a:t3:50s → 1
			PTTL a → 200s
			HGETALL a → [mode read t1 1 t2 1 t3 1]
			write_acquire a:t4:100s → [200s '']
			write_acquire a:t1:100s → [200s '']
			# It falls to what the remaining readers need, and the waiters are notified.
			read_release a:t2 → 1
			PTTL a → 100s
			EXISTS {a}:t2:rwlock_timeout:1 → 0
			heard → redisson_rwlock:{a} 1
			read_release a:t3 → 1
			heard → nothing
			# The last one frees it, and publishes that.
			read_release a:t1 → 1
			heard → redisson_rwlock:{a} 0
			EXISTS a {a}:t1:rwlock_timeout:1 {a}:t3:rwlock_timeout:1 → 0
			write_acquire a:t4:100s → 1
			HGETALL a → [mode write t4:write 1]
			PTTL a → 100s
			read_acquire a:t5:100s → [100s t4]
			write_acquire a:t5:100s → [100s t4]
			write_release a:t4 → 1
			heard → redisson_rwlock:{a} 1
			EXISTS a → 0
			# A name with a brace.
			read_acquire x{y}:t1:100s → 1
			GET x{y}:t1:rwlock_timeout:1 → 1
			read_release x{y}:t1 → 1
			write_acquire x{y}:t1:100s → 1
			write_release x{y}:t1 → 1
			heard → redisson_rwlock:x{y} 0, redisson_rwlock:x{y} 1
		`)
	})
}

// A writer may read beside its write, and goes on reading after it.
func TestWriteScript_WriterReads_GoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			write_acquire a:t1:600s → 1
			# Beside another writer no tenure reads.
			read_acquire a:t2:100s:t3 → [600s t1]
			read_acquire a:t1:100s:t1 → 1
			HMGET a mode t1:write t1 → [write 1 1]
			PTTL a → 600s
			read_acquire a:t2:100s → [600s t1]
			# The TTL is the writer's: a shorter read does not lower it, and neither does its end.
			read_renew a:t1:1:50s → 1
			read_release a:t1 → 1
			PTTL a → 600s
			HGETALL a → [mode write t1:write 1]
			read_acquire a:t1:100s:t1 → 1
			# Nor does the writer shorten the reader's.
			write_renew a:t1:50s → 1
			PTTL a → 100s
			heard → redisson_rwlock:{a} 1
			read_renew a:t1::900s → 1
			PTTL a → 900s
			# What it reads ends, or needs less, and the writer is renewed afterwards: the TTL falls to what is left.
			read_renew a:t1:1:300s,200s → 1
			PTTL a → 900s
			write_renew a:t1:250s extra a:2: → [1 1 -1]
			PTTL a → 300s
			write_renew a:t1:290s → 1
			PTTL a → 300s
			write_renew a:t1:0 extra a:1: → [1 1 -1]
			PTTL a → 300s
			write_renew a:t1:400s → 1
			PTTL a → 400s
			write_renew a:t9:1s → 0
			PTTL a → 400s
			heard → redisson_rwlock:{a} 1
			# Another client removed its expiry.
			PERSIST a → 1
			write_renew a:t1:250s → 1
			PTTL a → 300s
			heard → redisson_rwlock:{a} 1
			read_renew a:t1::900s → 1
			# The write ends first: other tenures may read, and are notified.
			write_release a:t1 → 1
			heard → redisson_rwlock:{a} 1
			HGETALL a → [mode read t1 1]
			PTTL a → 900s
			read_acquire a:t2:100s → 1
			write_acquire a:t1:100s → [900s '']
			write_release a:t1 → 0
			read_release a:t1 → 1
			PTTL a → 100s
			read_release a:t2 → 1
			heard → redisson_rwlock:{a} 1, redisson_rwlock:{a} 0
		`)
	})
}

// A write that ends leaves its reader the lease of the read; a dead reader holds nothing.
func TestWriteScript_Release_ReadersKeepLease(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			write_acquire a:t1:600s b:t1:600s → 1 1
			read_acquire a:t1:100s:t1 b:t1:100s:t1 → 1 1
			DEL {b}:t1:rwlock_timeout:1 → 1
			write_release a:t1 b:t1 → 1 1
			PTTL a → 100s
			# A reader that died holds nothing.
			EXISTS b → 0
			heard → redisson_rwlock:{a} 1, redisson_rwlock:{b} 1
		`)
	})
}

// Each hold of a reader has its own lease, and the lock lives as long as the longest.
func TestReadScript_EachHold_OwnLease(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_acquire a:t1:100s → 1
			read_renew a:t1:1:300s,100s,50s → 1
			HGETALL a → [mode read t1 3]
			PTTL a → 300s
			PTTL {a}:t1:rwlock_timeout:1 → 300s
			PTTL {a}:t1:rwlock_timeout:2 → 100s
			PTTL {a}:t1:rwlock_timeout:3 → 50s
			# The one with the longest ends: the lock lives as long as the others.
			read_renew a:t1:1:100s,50s → 1
			PTTL a → 100s
			PTTL {a}:t1:rwlock_timeout:1 → 100s
			PTTL {a}:t1:rwlock_timeout:2 → 50s
			EXISTS {a}:t1:rwlock_timeout:3 → 0
			HGETALL a → [mode read t1 2]
			# Without the request it does not fall by a little.
			read_renew a:t1::95s,50s → 1
			PTTL a → 100s
			# A key of a hold that was evicted is created again.
			DEL {a}:t1:rwlock_timeout:2 → 1
			read_renew a:t1::200s,50s → 1
			PTTL {a}:t1:rwlock_timeout:2 → 50s
			PTTL a → 200s
			read_release a:t1 → 1
			KEYS * → []
			# Gone.
			read_renew a:t1:1:300s b:t1::300s → 0 0
			read_release a:t1 → 0
			KEYS * → []
			# Taken away, as Redisson does it: the next command of its engine removes the keys of the holds.
			read_acquire b:t1:100s b:t2:100s b:t3:100s → 1 1 1
			read_renew b:t1::300s,100s,50s b:t2::300s,100s → 1 1
			HDEL b t1 t2 → 2
			read_renew b:t1::300s → 0
			read_release b:t2 → 0
			KEYS {b}* → [{b}:t3:rwlock_timeout:1]
			DEL b → 1
			read_release b:t3 → 0
			KEYS * → []
			heard → redisson_rwlock:{a} 1, redisson_rwlock:{a} 0
		`)
	})
}

// Of very many holds, those with the longest leases have keys, and the others have none.
func TestReadScript_ManyHolds_LongestHaveKeys(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		read_acquire a:t1:100s b:t1:10s → 1 1
		read_renew a:t1::300s,200s/7 b:t1::50s,20s → 1 1
		HGETALL a → [mode read t1 7]
		PTTL a → 300s
		EXISTS {a}:t1:rwlock_timeout:1 {a}:t1:rwlock_timeout:2 {a}:t1:rwlock_timeout:3 → 2
		HGETALL b → [mode read t1 2]
		read_renew a:t1:1:60s,40s/3 → 1
		HGETALL a → [mode read t1 3]
		PTTL a → 60s
		read_renew a:t1:1:40s → 1
		HGETALL a → [mode read t1 1]
		EXISTS {a}:t1:rwlock_timeout:1 {a}:t1:rwlock_timeout:2 → 1
		read_renew a:t1::300s,200s/7 → 1
		read_release a:t1 b:t1 → 1 1
		DBSIZE → 0
	`)
}

// This holds however many ask in one call, though the script does not look at all readers for each that asks.
func TestReadScript_ManyReaders_TTLFalls(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(nineReaders + `
			read_renew a:t3::300s a:t4::300s,200s a:t5::200s → 1 1 1
			PTTL a → 300s
			# Another has as long a lease.
			read_renew a:t3:1:50s → 1
			PTTL a → 300s
			read_renew a:t1:1:50s a:t4:1:100s a:t2:1:50s → 1 1 1
			PTTL a → 200s
			# One falls while another rises. The server's clock advanced between the lease and the fitting of the TTL.
			EVAL redis.call('PEXPIRE','a',200040)return(redis.call('PEXPIRE','{a}:t5:rwlock_timeout:1',200000)) 0 → 1
			read_renew a:t5:1:50s a:t1::150s → 1 1
			PTTL a → 150s
			# In which of its holds a reader had the longest lease does not matter.
			read_renew a:t1:1:100s,90s → 1
			PEXPIRE a 700000 → 1
			PEXPIRE {a}:t1:rwlock_timeout:2 700000 → 1
			read_renew a:t1:1:50s → 1
			PTTL a → 100s
			# Also of several locks in one call.
			read_acquire b:t1:300s → 1
			read_acquire b:t2:50s → 1
			read_renew a:t4:1:50s b:t1:1:40s → 1 1
			PTTL a → 100s
			PTTL b → 50s
		`)
	})
}

// Readers that died are removed with the last live one.
func TestDeadReaders_LastLiveLeaves_Removed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_acquire a:t1:100s → 1
			read_acquire a:t2:200s → 1
			DEL {a}:t1:rwlock_timeout:1 → 1
			write_acquire a:t3:100s → [200s '']
			read_release a:t2 → 1
			EXISTS a → 0
			heard → redisson_rwlock:{a} 0
		`)
	})
}

// Commands of readers and writers that are sent twice or late count once; a late acquire is an orphan.
func TestRWScripts_SentTwiceOrLate_Harmless(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_acquire a:t1:100s → 1
			read_acquire a:t1:200s → 1
			PTTL a → 200s
			PTTL {a}:t1:rwlock_timeout:1 → 200s
			read_acquire a:t1:100s → 1
			PTTL a → 200s
			PTTL {a}:t1:rwlock_timeout:1 → 200s
			HGETALL a → [mode read t1 1]
			# Late, it is an orphan, which the next acquire of either kind releases.
			read_acquire a:t2:100s orphans a:t1 → 1
			HGETALL a → [mode read t2 1]
			read_acquire a:t3:100s orphans a:t2 → 1
			read_release a:t3 → 1
			read_release a:t3 → 0
			heard → redisson_rwlock:{a} 0, redisson_rwlock:{a} 0, redisson_rwlock:{a} 0
			write_acquire a:t4:100s → 1
			write_acquire a:t4:200s → 1
			PTTL a → 200s
			write_acquire a:t4:100s → 1
			PTTL a → 200s
			write_acquire a:t5:100s orphans a:t4 → 1
			HGETALL a → [mode write t5:write 1]
			write_release a:t4 → 0
			write_release a:t5 → 1
			write_release a:t5 → 0
			heard → redisson_rwlock:{a} 1, redisson_rwlock:{a} 1
		`)
	})
}

// The renewal of a write sets the count and the lease, and counts the listeners.
func TestWriteRenew_CountsAndListeners(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			write_acquire a:t1:100s b:t1:100s → 1 1
			subscribe redisson_rwlock:{a} → ok
			write_renew a:t1:200s b:t1:0 extra a:2:1 b::1 → [1 1 1] [1 1 0]
			HGETALL a → [mode write t1:write 2]
			PTTL a → 200s
			PTTL b → 100s
			write_renew a:t1:50s → 1
			PTTL a → 50s
			write_renew a:t2:50s c:t1:50s extra a:2:1 → 0 0
			EXISTS c → 0
		`)
	})
}

// A force of readers acts only on a lock that is read, and one of writers only on a lock that is written.
func TestRWForce_OnlyOwnMode(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_force a → 0
			write_force a → 0
			read_acquire a:t1:100s → 1
			write_force a → 0
			read_force a → 1
			EXISTS a → 0
			write_acquire a:t2:100s → 1
			read_acquire a:t2:100s:t2 → 1
			read_force a → 0
			write_force a → 1
			EXISTS a → 0
			heard → redisson_rwlock:{a} 0, redisson_rwlock:{a} 1
		`)
	})
}

// The state of both sides is read with one command.
func TestRWState_OneInstant(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			rw_state a → [-2 '' '' 0 0 '']
			read_acquire a:t1:100s → 1
			rw_state a → [100s read '' 0 1 t1]
			read_acquire a:t2:100s → 1
			rw_state a → [100s read '' 0 2 t2]
			write_acquire b:t1:200s → 1
			read_acquire b:t1:100s:t1 → 1
			write_renew b:t1:200s extra b:3: → [1 1 -1]
			rw_state b → [200s write t1 3 1 t1]
			PERSIST b → 1
			rw_state b → [-1 write t1 3 1 t1]
			acquire c:t1:100s → 1
			rw_state c → [100s '' '' 0 0 '']
			SET d x → OK
			rw_state d → [WRONGTYPE… -1 string]
			HSET huge mode write t1:write 9223372036854775807 → 2
			rw_state huge → [-1 write t1 2147483647 0 '']
		`)
	})
}

// Readers and writers leave locks of other kinds, and keys of other types, as they are.
func TestRWScripts_OtherKinds_LeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			acquire a:t1:100s → 1
			read_acquire a:t2:200s → [100s '']
			write_acquire a:t2:200s → [100s '']
			read_renew a:t2:1:100s → 0
			read_release a:t2 → 0
			write_release a:t2 → 0
			read_force a → 0
			write_force a → 0
			HGETALL a → [t1 1]
			PTTL a → 100s
			SET b x → OK
			read_acquire b:t1:100s c:t1:100s → [WRONGTYPE… -1 string] 1
			write_acquire b:t1:100s d:t1:100s → [WRONGTYPE… -1 string] 1
			read_renew b:t1:1:100s c:t1:1:200s → WRONGTYPE… 1
			write_renew b:t1:100s d:t1:200s → WRONGTYPE… 1
			read_release b:t1 c:t1 → WRONGTYPE… 1
			write_release b:t1 d:t1 → WRONGTYPE… 1
			read_force b → [WRONGTYPE… -1 string]
			write_force b → [WRONGTYPE… -1 string]
			# A key that was persisted gets a TTL with the next reader.
			read_acquire e:t1:100s f:t1:100s → 1 1
			PERSIST e → 1
			write_acquire e:t2:100s → [-1 '']
			read_acquire e:t2:100s → 1
			PTTL e → 100s
			# And never less than the others need.
			PERSIST e → 1
			read_acquire e:t3:10s → 1
			PTTL e → 100s
			PERSIST e → 1
			read_renew e:t3:1:10s → 1
			PTTL e → 100s
			read_acquire f:t2:200s → 1
			PERSIST f → 1
			read_release f:t2 → 1
			PTTL f → 100s
		`)
	})
}

// Also where the last live reader leaves dead ones behind: the message is what the waiters need.
func TestReadRelease_PublishDenied_Reported(t *testing.T) {
	for what, dies := range map[string]string{"alone": "", "beside one who died": "DEL {a}:t2:rwlock_timeout:1 → 1"} {
		t.Run(what, func(t *testing.T) {
			s := onReal(t)
			limited := s.asUser("~*", "resetchannels", "+@all")
			s.runTranscript("read_acquire a:t1:100s: → 1")
			if dies != "" {
				s.runTranscript("read_acquire a:t2:100s: → 1\n" + dies)
			}
			s.runTranscript("read_acquire b:t1:100s: → 1")
			limited.runTranscript("read_release a:t1 b:t9 → 2 0")
			s.runTranscript("EXISTS a → 0")
		})
	}
}

// The keys of holds are removed with a lock that is forced.
func TestRWForce_HoldKeys_Removed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			read_acquire a:t1:100s a:t2:100s b:t1:100s → 1 1 1
			read_renew a:t1::300s,200s → 1
			read_force a b c → 1 1 0
			KEYS * → []
			write_acquire a:t1:100s → 1
			read_acquire a:t1:100s:t1 → 1
			read_force a → 0
			write_force a → 1
			KEYS * → []
			heard → redisson_rwlock:{a} 0, redisson_rwlock:{b} 0, redisson_rwlock:{a} 1
		`)
	})
}

// No call removes more than a fixed number, of however many locks; their reader removes the rest when it learns of it.
func TestRWForce_ManyHoldKeys_Bounded(t *testing.T) {
	const holds = 400
	s := onReal(t)
	for _, key := range []string{"a", "b"} {
		keys := []any{"MSET"}
		for i := range holds {
			keys = append(keys, fmt.Sprintf("{%s}:t1:rwlock_timeout:%d", key, i+1), 1)
		}
		s.do(keys...)
		s.do("HSET", key, "mode", "read", "t1", holds)
	}
	s.runTranscript("read_force a b → 1 1")
	require.Equal(t, int64(2*holds-500), s.do("DBSIZE"))
	s.runTranscript("read_release a:t1 b:t1 → 0 0")
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// A call that forces several locks of one mode takes each of them away.
func TestRWForce_Several_EachFreed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.runTranscript(`
			write_acquire a:t1:100s b:t1:100s → 1 1
			write_force b a c → 1 1 0
			read_acquire a:t1:100s c:t1:100s → 1 1
			read_force b a c → 0 1 1
			heard → redisson_rwlock:{b} 1, redisson_rwlock:{a} 1, redisson_rwlock:{a} 0, redisson_rwlock:{c} 0
		`)
		require.Equal(t, int64(0), s.do("DBSIZE"))
	})
}

// The keys of a reader's holds are found, whatever braces the name has, also if the count is no whole number.
func TestReadRelease_OddNameOrCount_HoldKeyRemoved(t *testing.T) {
	s := onReal(t)
	for _, name := range []string{"a", "a{b}c", "a{", "{", "}a"} {
		both := []string{name, scripts.RWHoldKey(name, "t1", 1)}
		for _, count := range []string{"1", "1.5", "-1", "x"} {
			for _, script := range []scripts.Script{scripts.ReadRelease, scripts.ReadForce} {
				require.Equal(t, []any{int64(1)}, s.answers(1, scripts.ReadAcquire, both, "PUBLISH", "t1", 100_000, ""))
				require.Equal(t, int64(2), s.do("EXISTS", both[0], both[1]))
				s.do("HSET", name, "t1", count)
				s.answers(1, script, both[:1], "PUBLISH", "t1")
				require.Equal(t, int64(0), s.do("EXISTS", name), name)
				if script.Name == scripts.ReadRelease.Name || count == "1" {
					require.Equal(t, int64(0), s.do("DBSIZE"), "%s %s %s", script.Name, name, count)
				}
				s.do("FLUSHALL")
			}
		}
	}
}

// The writer that keeps others out is named only if the hash can be a lock: one that expires, with few fields.
func TestWriteScript_ForeignHash_NoWriterNamed(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		writer := func() any {
			return s.answers(1, scripts.WriteAcquire, []string{"a"}, "PUBLISH", "t2", 100_000)[0].([]any)[1]
		}
		s.do("HSET", "a", "mode", "write", "t1:write", 1)
		require.Equal(t, "", writer(), "it does not expire")
		s.do("PEXPIRE", "a", 100_000)
		require.Equal(t, "t1", writer())
		for i := range 64 {
			s.do("HSET", "a", i, 1)
		}
		require.Equal(t, "", writer(), "it has many fields")
	})
}
