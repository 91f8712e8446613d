package scripts_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

// A call that the server rejects for all keys, such as one without memory, still has a reply for each key. It leaves
// nothing half done (redis#8623).

// A server short of memory rejects acquires and counts; renewals, releases and forces work.
func TestScripts_OutOfMemory_ReleaseAndRenew(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		acquire mine:t1:100s again:t2:100s theirs:t3:100s orphaned:g4:100s → 1 1 1 1
		CONFIG SET maxmemory 1 → OK
		# nothing is created, what exists is reported
		acquire a:t5:100s theirs:t6:100s mine:t1:50s b:t7:100s → OOM… [100s t3] 1 OOM…
		EXISTS a b → 0
		# renewal works, a count fails alone
		renew mine:t1:200s → 1
		PTTL mine → 200s
		renew mine:t1:0 again:t2:0 extra mine:2:1 → [1 0 0] 1
		HGETALL mine → [t1 1]
		# in a call that wrote something before, the server accepts it
		renew mine:t1:300s extra mine:2:1 → [1 1 0]
		HGETALL mine → [t1 2]
		PTTL mine → 300s
		# the same with an orphan's lock: it is released, published and acquired
		acquire orphaned:t8:100s orphans orphaned:g4 → 1
		state mine theirs a → [300s t1 2] [100s t3 1] [-2 '' 0]
		heard → redisson_lock__channel:{orphaned} 0
		# releases work
		release mine:t1 a:t5 → 1 0
		force again theirs → 1 1
		heard → redisson_lock__channel:{mine} 0, redisson_lock__channel:{again} 0, redisson_lock__channel:{theirs} 0
		DEL orphaned → 1
		DBSIZE → 0
	`)
}

// A server that rejects writes leaves everything as it is, and replies so for each key.
func TestScripts_ReadOnly_ChangeNothing(t *testing.T) {
	for _, c := range []struct{ refuse, allow, want string }{
		{"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "READONLY…"},
		{"CONFIG SET min-replicas-to-write 1", "CONFIG SET min-replicas-to-write 0", "NOREPLICAS…"},
	} {
		t.Run(c.want, func(t *testing.T) {
			s := onReal(t)
			s.runTranscript(strings.NewReplacer("[refuse]", c.refuse, "[allow]", c.allow, "REFUSED", c.want).Replace(`
				acquire mine:t1:100s theirs:t2:100s → 1 1
				[refuse] → OK
				acquire a:t3:100s theirs:t4:100s mine:t1:50s mine:t1:200s orphans theirs:t2 → REFUSED [100s t2] 1 REFUSED
				renew mine:t1:200s gone:t3:200s mine:t1:0 extra mine:2: → REFUSED 0 1
				release mine:t1 gone:t3 → REFUSED REFUSED
				force mine gone → REFUSED 0
				state mine theirs a → [100s t1 1] [100s t2 1] [-2 '' 0]
				[allow] → OK
				state mine theirs a → [100s t1 1] [100s t2 1] [-2 '' 0]
				heard → nothing
			`))
		})
	}
}

// A user who may not run one of the commands still gets a reply for each key. The allowed commands leave no key without
// a TTL.
func TestScripts_CommandDenied_RepliesPerKey(t *testing.T) {
	s := onReal(t)
	for _, c := range []struct{ forbidden, want string }{
		{"pttl", `
			acquire → denied denied denied denied denied
			renew → 0 1 [1 1 0] 0 WRONGTYPE…
			release → 0 1 1 0 WRONGTYPE…
			force → 0 1 1 1 WRONGTYPE…
			state → [-2 '' 0] denied denied denied WRONGTYPE…`},
		{"hset", `
			acquire → denied 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 0 1 [1 0 0] 0 WRONGTYPE…
			release → 0 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"pexpire", `
			acquire → denied denied denied [100s t3] [WRONGTYPE… -1 string]
			renew → 0 denied denied 0 WRONGTYPE…
			release → 0 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"hexists", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → denied denied denied denied denied
			release → 1 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"hkeys", `
			acquire → 1 denied denied denied [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"pubsub", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 -1] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"hdel", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → denied denied denied denied denied
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"publish", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 2 2 2 0 WRONGTYPE…
			force → 0 2 2 2 [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"hlen", `
			acquire → 1 denied denied denied denied
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → denied denied denied denied denied
			state → denied denied denied denied denied`},
		{"del", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → 0 denied denied denied [WRONGTYPE… -1 string]
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] [WRONGTYPE… -1 string]`},
		{"type", `
			acquire → 1 1 1 [100s t3] WRONGTYPE…
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → 0 1 1 1 WRONGTYPE…
			state → [-2 '' 0] [100s t1 1] [100s t2 1] [100s t3 1] WRONGTYPE…`},
		{"hgetall", `
			acquire → 1 1 1 [100s t3] [WRONGTYPE… -1 string]
			renew → 1 1 [1 1 0] 0 WRONGTYPE…
			release → 1 1 1 0 WRONGTYPE…
			force → 0 1 1 1 [WRONGTYPE… -1 string]
			state → [-2 '' 0] denied denied denied [WRONGTYPE… -1 string]`},
	} {
		t.Run(c.forbidden, func(t *testing.T) {
			limited := s.asUser("~*", "&*", "+@all", "-"+c.forbidden)
			require.Equal(t, strings.Join(strings.Fields(c.want), " "), s.everyScriptAs(limited))
		})
	}
}

// notPermitted is the error of Redis and Valkey for a command that a user may not run.
var notPermitted = regexp.MustCompile("^NOPERM|can't run this command|ACL failure in script")

// everyScriptAs runs all scripts as a limited user and prints the replies. The keys are a free one, two that the user
// holds, one held by another tenure and one of another type. Renew finds what acquire left, release what both left; the
// other scripts find the locks unchanged.
func (s *server) everyScriptAs(limited *server) string {
	s.t.Helper()
	keys := []string{"a", "b", "c", "d", "string"}
	locks := func() {
		s.do("FLUSHALL")
		s.run(scripts.Acquire, keys[1:4], "PUBLISH", "t1", 100_000, "t2", 100_000, "t3", 100_000)
		s.do("SET", "string", "x")
	}
	var out []string
	show := func(script scripts.Script, args ...any) {
		reply := limited.run(script, keys, args...)
		for i := range reply {
			if why, ok := reply[i].(string); ok && notPermitted.MatchString(why) {
				reply[i] = "denied"
			}
		}
		out = append(out, script.Name+" → "+rows(script, reply))
		s.requireTTLs("string")
	}
	locks()
	show(scripts.Acquire, "PUBLISH", "t0", 100_000, "t1", 200_000, "t2", 200_000, "t9", 100_000, "t9", 100_000)
	show(scripts.Renew, "NUMSUB", "t0", 100_000, "t1", 200_000, "t2", 200_000, "t9", 100_000, "t9", 100_000, 3, 2, 1)
	show(scripts.Release, "PUBLISH", "t0", "t1", "t2", "t9", "t9")
	locks()
	show(scripts.Force, "PUBLISH")
	locks()
	show(scripts.State)
	return strings.Join(out, " ")
}

// A large hash is deleted by a user who may not run UNLINK as well, by DEL.
func TestForceScripts_UnlinkDenied_LargeHashEnds(t *testing.T) {
	s := onReal(t)
	limited := s.asUser("~*", "&*", "+@all", "-unlink")
	for _, of := range []struct {
		script scripts.Script
		mode   string
	}{{scripts.Force, ""}, {scripts.ReadForce, "read"}} {
		if of.mode != "" {
			s.do("HSET", "a", "mode", of.mode)
		}
		for i := range 200 {
			s.do("HSET", "a", fmt.Sprint("e:", i), 1)
		}
		require.Equal(t, []any{int64(1)}, limited.run(of.script, []string{"a"}, "PUBLISH", ""), of.script.Name)
		require.Equal(t, int64(0), s.do("EXISTS", "a"), of.script.Name)
	}
}

// Redisson deletes the lock and then raises an error when it may not publish (redisson#5439). Here the release counts,
// and the reply says that no message was published.
func TestReleaseScript_ChannelDenied_Counts(t *testing.T) {
	s := onReal(t)
	limited := s.asUser("~*", "+@all", "resetchannels", "&redisson_lock__channel:{told}")
	sub := s.listen()
	keys := []string{"untold", "told"}
	require.Equal(t, []any{int64(1), int64(1)}, limited.run(scripts.Acquire, keys, "PUBLISH", "t1", 100_000, "t2", 100_000))
	require.Equal(t, []any{int64(2), int64(1)}, limited.run(scripts.Release, keys, "PUBLISH", "t1", "t2"))
	require.Equal(t, int64(0), s.do("DBSIZE"))
	require.Equal(t, []message{{"redisson_lock__channel:{told}", "0"}}, sub.receive())

	require.Equal(t, []any{int64(1), int64(1)}, limited.run(scripts.Acquire, keys, "PUBLISH", "g1", 100_000, "g2", 100_000))
	require.Equal(t, []any{int64(1), int64(1)}, limited.run(scripts.Acquire, keys, "PUBLISH", "t1", 100_000, "t2", 100_000, 1, "g1", 2, "g2"))
	require.Equal(t, []message{{"redisson_lock__channel:{told}", "0"}}, sub.receive())
	require.Equal(t, []any{int64(2), int64(1)}, limited.run(scripts.Force, keys, "PUBLISH"))
	require.Equal(t, int64(0), s.do("DBSIZE"))
	require.Equal(t, []message{{"redisson_lock__channel:{told}", "0"}}, sub.receive())
}

// Keys are declared, so the server checks them before the script runs. One that is not permitted makes it reject the
// whole call, with nothing done. The sender has to send the parts again.
func TestScripts_KeyDenied_WholeCallRejected(t *testing.T) {
	s := onReal(t)
	limited := s.asUser("~good:*", "&*", "+@all")
	keys := []string{"good:1", "bad:1"}
	for _, command := range [][]any{
		call(scripts.Acquire, keys, "PUBLISH", "t1", 100_000, "t2", 100_000),
		call(scripts.Renew, keys, "NUMSUB", "t1", 100_000, "t2", 100_000),
		call(scripts.Release, keys, "PUBLISH", "t1", "t2"),
		call(scripts.Force, keys, "PUBLISH"),
		call(scripts.State, keys),
	} {
		refusal, ok := limited.do(command...).(redistest.Error)
		require.True(t, ok)
		require.True(t, strings.HasPrefix(refusal.Error(), "NOPERM "), refusal)
	}
	require.Equal(t, int64(0), s.do("DBSIZE"))
	require.Equal(t, []any{int64(1)}, limited.run(scripts.Acquire, keys[:1], "PUBLISH", "t1", 100_000))
	require.Equal(t, []any{int64(1)}, limited.run(scripts.Release, keys[:1], "PUBLISH", "t1"))
}

// Short of memory nothing is created, counted or queued; holders keep what they have, and releases work.
func TestFencedFairScripts_OutOfMemory(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		clock 1000000 → ok
		fenced_acquire f:t1:100s → 1
		fair_acquire q:t1:100s:50s q:t2:100s:50s q:t3:100s:50s → 1 [100s t1 150s] [100s t1 200s]
		CONFIG SET maxmemory 1 → OK
		# nothing is created or counted, and nothing queues
		fenced_acquire a:t5:100s f:t5:100s → OOM… [100s t1]
		fair_acquire b:t5:100s:50s q:t5:100s:50s q:t6:100s: → OOM… OOM… [100s t1 -1]
		EXISTS a b redisson_lock_token:{a} redisson_lock_queue:{b} → 0
		times q → t2 150s, t3 200s
		# a holder keeps what it has, and a call that has written may continue to write
		fenced_acquire f:t1:100s → 1
		fenced_renew f:t1:200s:2::1 → [1 1 -1 2]
		fair_acquire q:t2:100s:50s → [100s t1 150s]
		# releases work, and subtract what was added
		fair_release q:t2:50s → 0
		times q → t3 150s
		fair_release q:t1:50s → 1
		heard → redisson_lock__channel:{q}:t3 0
		# the next cannot have it before there is memory, and is the next then
		fair_acquire q:t3:100s:50s → OOM…
		times q → t3 150s
		CONFIG SET maxmemory 0 → OK
		fair_acquire q:t3:100s:50s → 1
		EXISTS redisson_lock_queue:{q} → 0
	`)
}

// A server that rejects writes leaves tokens and fair queues as they are.
func TestFencedFairScripts_ReadOnly(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		clock 1000000 → ok
		fenced_acquire f:t1:100s → 1
		fair_acquire q:t1:100s:50s q:t2:100s:50s q:t3:100s:50s → 1 [100s t1 150s] [100s t1 200s]
		REPLICAOF 127.0.0.1 1 → OK
		fenced_acquire a:t2:100s f:t2:100s f:t1:200s → READONLY… [100s t1] READONLY…
		fenced_renew f:t1:200s:::1 f:t1:0:::1 f:t2:0:::1 → READONLY… READONLY… 0
		fair_acquire q:t2:100s:50s q:t4:100s:50s b:t4:100s:50s → [100s t1 150s] READONLY… READONLY…
		fair_release q:t1:50s q:t3:50s → READONLY… READONLY…
		# not even dead places are removed
		clock 1000150 → ok
		fair_acquire q:t3:100s:50s → READONLY…
		fair_force q b → READONLY… 0
		REPLICAOF NO ONE → OK
		HGETALL q → [t1 1]
		clock 1000000 → ok
		times q → t2 150s, t3 200s
		GET redisson_lock_token:{f} → 1
	`)
}

// A fair release counts although its message is rejected.
func TestFairRelease_MessageDenied_Counts(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		clock 1000000 → ok
		fair_acquire a1:t0:100s:50s a1:t1:100s:50s → 1 [100s t0 150s]
	`)
	// A rejected message does not undo the release.
	noPublish := s.asUser("+@all", "~a*", "~redisson_lock_*", "resetchannels")
	noPublish.clock = s.clock
	noPublish.runTranscript(`
		fair_release a1:t0:50s → 2
		fair_acquire a1:t1:100s:50s → 1
	`)
}

// Whatever a fair acquire may not do, the reply has the server's own error, and not one of the script's.
func TestFairAcquire_CommandDenied_OwnError(t *testing.T) {
	s := onReal(t)
	for _, command := range []string{
		"pttl", "hexists", "hkeys", "hset", "lindex", "llen", "lpop", "rpush", "zadd", "zscore", "zcard", "zcount", "zrange", "zrem", "hget", "hdel", "exists", "del", "time", "pexpire", "lpos", "hlen", "persist",
	} {
		limited := s.asUser("~*", "&*", "+@all", "-"+command)
		s.do("FLUSHALL")
		s.runTranscript("clock 1000000 → ok\nfair_acquire a:t0:30s:50s a:t1:30s:50s a:t2:30s:50s → 1 [30s t0 80s] [30s t0 130s]")
		limited.clock, limited.until = s.clock, int64(9_000_000_000_000)
		for _, id := range []string{"t1", "t3", "t4"} {
			keys, args := limited.arguments([]string{"fair_acquire", "a:" + id + ":30s:50s"})
			for _, answer := range limited.runOn(scripts.FairAcquire, keys, args...) {
				if why, refused := answer.(string); refused {
					require.Regexp(t, notPermitted, why, "%s without %s", id, command)
				}
			}
		}
	}
}

// If the times may not be moved, the reply says so, in whichever way they were to be moved.
func TestFairAcquire_MoveDenied_Rejected(t *testing.T) {
	s := onReal(t)
	limited := s.asUser("~*", "&*", "+@all", "-zadd")
	for _, c := range []struct {
		what, asks  string
		later, wait int64 // in ms
	}{
		{"a head that asks, and puts off all others", "t1", 20_000, 50_000},
		{"one who shares the time of a head that does not ask", "t2", 70_000, 50_000},
		{"one behind a head that is dead, and takes its wait along", "t3", 0, 50_000},
		{"one with a wait that grew", "t3", 0, 90_000},
	} {
		s.do("FLUSHALL")
		s.until = int64(9_000_000_000_000)
		s.runTranscript("clock 1000000 → ok\nfair_acquire a:t0:30s:50s a:t1:30s:50s → 1 [30s t0 80s]")
		s.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", s.clock, s.until, "t2", 30_000, 50_000, "t1")
		s.runTranscript("fair_acquire a:t3:30s:50s → [30s t0 130s]\ntimes a → t1 80s, t2 80s, t3 130s")
		if c.asks == "t3" && c.wait == 50_000 {
			s.do("HSET", "redisson_lock_places:{a}", "t1", "1:50000:50000", "t2", "1:50000:50000")
		}
		answers := limited.runOn(scripts.FairAcquire, []string{"a"}, "PUBLISH", s.clock+c.later, s.until, c.asks, 30_000, c.wait, "")
		require.Regexp(t, notPermitted, answers[0], c.what)
	}
}

// Whichever two commands a user lacks, a rejected acquire leaves no key without a TTL. Such a key would block the lock
// until it is deleted by hand.
func TestAcquireScripts_Rejected_NoEternalKey(t *testing.T) {
	s := onReal(t)
	for _, lacks := range []string{"-hdel", "-del"} {
		limited := s.asUser("~*", "&*", "+@all", "-pexpire", "-pexpireat", lacks)
		limited.clock = 1_000_000
		for _, call := range []string{
			"acquire a:t1:100s", "acquire a:t1:100s b:t1:100s", "multi_acquire a+b:t1:100s", "fenced_acquire a:t1:100s", "fair_acquire a:t1:100s:50s",
			"read_acquire a:t1:100s", "write_acquire a:t1:100s",
		} {
			s.do("FLUSHALL")
			require.NotEqual(t, "1", limited.step(strings.Fields(call), nil), "%s without %s", call, lacks)
			require.EqualValues(t, 0, s.do("EXISTS", "a", "b"), "%s without %s", call, lacks)
		}
	}
}

// A reader that gets no key for its hold does not join the others: it would keep writers out without a lease.
func TestReadAcquire_HoldKeyDenied_NoReader(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`read_acquire a:t1:100s → 1`)
	s.asUser("~*", "&*", "+@all", "-set").runTranscript(`read_acquire a:t2:100s → ERR…`)
	require.Equal(t, []any{"mode", "t1"}, s.do("HKEYS", "a"))
}
