package scripts_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// readWriteLock does with plain commands what Redisson's read/write lock does, as long as no other command runs in
// between.
type readWriteLock struct {
	*server
	name, channel, holdKeys string // holdKeys: the prefix of the keys of holds, before the owner
}

func (l readWriteLock) mode() any { return l.do("HGET", l.name, "mode") }

func (l readWriteLock) holdKey(owner string, i int) string {
	return fmt.Sprintf("%s:%s:rwlock_timeout:%d", l.holdKeys, owner, i)
}

// lockRead returns nil when granted, else the TTL.
func (l readWriteLock) lockRead(owner string, lease int64) any {
	mode := l.mode()
	if mode == "write" && l.do("HEXISTS", l.name, owner+":write") == int64(0) {
		return l.do("PTTL", l.name)
	}
	if mode == nil {
		l.do("HSET", l.name, "mode", "read")
	}
	count := l.do("HINCRBY", l.name, owner, 1).(int64)
	l.do("SET", l.holdKey(owner, int(count)), 1)
	l.do("PEXPIRE", l.holdKey(owner, int(count)), lease)
	l.do("PEXPIRE", l.name, max(l.do("PTTL", l.name).(int64), lease))
	return nil
}

// unlockRead returns nil when the owner does not hold the lock, else 1 when the lock is free and 0 when it is still
// held.
func (l readWriteLock) unlockRead(owner string) any {
	if l.do("HEXISTS", l.name, owner) == int64(0) {
		return nil
	}
	left := l.do("HINCRBY", l.name, owner, -1).(int64)
	if left == 0 {
		l.do("HDEL", l.name, owner)
	}
	l.do("DEL", l.holdKey(owner, int(left)+1))
	if l.do("HLEN", l.name).(int64) > 1 {
		most := int64(-3)
		hash := l.do("HGETALL", l.name).([]any)
		for at := 0; at < len(hash); at += 2 {
			count, _ := strconv.Atoi(hash[at+1].(string))
			for i := count; i > 0; i-- {
				most = max(most, l.do("PTTL", l.holdKey(hash[at].(string), i)).(int64))
			}
		}
		if most > 0 {
			l.do("PEXPIRE", l.name, most)
			return 0
		}
		if l.mode() == "write" {
			return 0
		}
	}
	l.do("DEL", l.name)
	l.do("PUBLISH", l.channel, 0)
	return 1
}

func (l readWriteLock) lockWrite(owner string, lease int64) any {
	switch {
	case l.mode() == nil:
		l.do("HSET", l.name, "mode", "write", owner+":write", 1)
		l.do("PEXPIRE", l.name, lease)
	case l.mode() == "write" && l.do("HEXISTS", l.name, owner+":write") == int64(1):
		l.do("HINCRBY", l.name, owner+":write", 1)
		l.do("PEXPIRE", l.name, l.do("PTTL", l.name).(int64)+lease)
	default:
		return l.do("PTTL", l.name)
	}
	return nil
}

func (l readWriteLock) unlockWrite(owner string) any {
	switch {
	case l.mode() != "write" || l.do("HEXISTS", l.name, owner+":write") == int64(0):
		return nil
	case l.do("HINCRBY", l.name, owner+":write", -1).(int64) > 0:
		l.do("PEXPIRE", l.name, 30_000)
		return 0
	}
	l.do("HDEL", l.name, owner+":write")
	if l.do("HLEN", l.name) == int64(1) {
		l.do("DEL", l.name)
		l.do("PUBLISH", l.channel, 1)
	} else {
		l.do("HSET", l.name, "mode", "read")
	}
	return 1
}

// Readers of Redisson and lockwheel share a lock, and writers of both exclude each other.
func TestRedissonPeer_ReadersAndWriters(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		sub := s.listen()
		for _, l := range []readWriteLock{
			{s, "a", "redisson_rwlock:{a}", "{a}"},
			{s, "a{b}c", "redisson_rwlock:a{b}c", "a{b}c"},
		} {
			free, written := message{l.channel, "0"}, message{l.channel, "1"}
			keys := []string{l.name}
			stamp := scripts.RWHoldKey(l.name, ours, 1)
			require.Equal(t, l.holdKey(ours, 1), stamp)
			read := func(lease int) any {
				return s.answers(1, scripts.ReadAcquire, []string{l.name, stamp}, "PUBLISH", ours, lease, "")[0]
			}
			unread := func() any { return s.run(scripts.ReadRelease, keys, "PUBLISH", ours)[0] }
			write := func() any { return s.run(scripts.WriteAcquire, keys, "PUBLISH", ours, 60_000)[0] }
			unwrite := func() any { return s.run(scripts.WriteRelease, keys, "PUBLISH", ours)[0] }
			ttl := func(want int) {
				t.Helper()
				require.InDelta(t, want-5_000, s.do("PTTL", l.name), 5_000)
			}

			// Both read; each leaves the other its lease, in whichever order they come and go.
			require.Equal(t, int64(1), read(60_000))
			require.Nil(t, l.lockRead(theirs, 90_000))
			require.Nil(t, l.lockRead(theirs, 120_000))
			ttl(120_000)
			require.Equal(t, 0, l.unlockRead(theirs))
			ttl(90_000)
			require.InDelta(t, 85_000, l.lockWrite(theirs, 30_000), 5_000)
			require.InDelta(t, 85_000, write().([]any)[0], 5_000)
			require.Equal(t, 0, l.unlockRead(theirs))
			ttl(60_000)
			require.Nil(t, l.lockRead(theirs, 30_000))
			require.Equal(t, int64(1), unread())
			ttl(30_000)
			require.Equal(t, 1, l.unlockRead(theirs))
			require.Equal(t, []message{written, free}, sub.receive()) // Redisson publishes nothing when the TTL falls
			require.Nil(t, l.lockRead(theirs, 30_000))
			require.Equal(t, int64(1), read(60_000))
			require.Equal(t, 0, l.unlockRead(theirs))
			require.Equal(t, int64(1), unread())
			require.Equal(t, []message{free}, sub.receive())
			require.Equal(t, int64(0), s.do("DBSIZE"))

			// Theirs writes, and continues to read.
			require.Nil(t, l.lockWrite(theirs, 30_000))
			require.Nil(t, l.lockRead(theirs, 40_000))
			require.Equal(t, theirs, read(60_000).([]any)[1])
			require.Equal(t, theirs, write().([]any)[1])
			require.Equal(t, []any{theirs, int64(1), int64(1), theirs}, s.run(scripts.RWState, keys)[0].([]any)[2:])
			require.Equal(t, 1, l.unlockWrite(theirs))
			require.Equal(t, int64(1), read(60_000))
			require.Equal(t, 0, l.unlockRead(theirs))
			require.Equal(t, int64(1), unread())
			require.Equal(t, []message{free}, sub.receive())

			// Ours writes, and continues to read.
			require.Equal(t, int64(1), write())
			require.Equal(t, int64(1), s.answers(1, scripts.ReadAcquire, []string{l.name, stamp}, "PUBLISH", ours, 60_000, ours)[0])
			require.InDelta(t, 55_000, l.lockRead(theirs, 30_000), 5_000)
			require.InDelta(t, 55_000, l.lockWrite(theirs, 30_000), 5_000)
			require.Nil(t, l.unlockRead(theirs))
			require.Nil(t, l.unlockWrite(theirs))
			require.Equal(t, int64(1), unwrite())
			require.Nil(t, l.lockRead(theirs, 30_000))
			require.Equal(t, int64(1), unread())
			ttl(30_000)
			require.Equal(t, 1, l.unlockRead(theirs))
			require.Equal(t, []message{written, written, free}, sub.receive())
			require.Equal(t, int64(1), write())
			require.Equal(t, int64(1), unwrite())
			require.Equal(t, []message{written}, sub.receive())
			require.Equal(t, int64(0), s.do("DBSIZE"))
		}
	})
}

// With the verbs of a cluster, the messages of readers and writers reach the subscribers of the shard.
func TestRWScripts_Verbs_ReachShard(t *testing.T) {
	t.Parallel()
	s := onShard(t)
	for _, name := range []string{"a", "orders:17", "a{b}c"} {
		channel := scripts.RedissonKey(scripts.RWChannel, name)
		sub := dial(t, s.addr)
		_, err := sub.Do("SSUBSCRIBE", channel)
		require.NoError(t, err)
		received := func(payload string) {
			t.Helper()
			push, err := sub.Receive(receiveTimeout)
			require.NoError(t, err)
			require.Equal(t, []any{"smessage", channel, payload}, push)
		}
		keys, both := []string{name}, []string{name, scripts.RWHoldKey(name, "t1", 1)}
		require.Equal(t, []any{int64(1)}, s.answers(1, scripts.ReadAcquire, both, "SPUBLISH", "t1", 100_000, ""))
		require.Equal(t, []any{int64(1)}, s.answers(1, scripts.ReadRenew, both, "SHARDNUMSUB", "t1", 1, 1, 200_000))
		require.Equal(t, []any{int64(1)}, s.run(scripts.ReadRelease, keys, "SPUBLISH", "t1"))
		received("0")
		require.Equal(t, []any{int64(1)}, s.run(scripts.WriteAcquire, keys, "SPUBLISH", "g1", 100_000))
		require.Equal(t, []any{int64(1)}, s.run(scripts.WriteAcquire, keys, "SPUBLISH", "t1", 100_000, 1, "g1"))
		received("1")
		require.Equal(t, []any{[]any{int64(1), int64(1), int64(1)}}, s.run(scripts.WriteRenew, keys, "SHARDNUMSUB", "t1", 100_000, 1, "", 1))
		require.Equal(t, []any{int64(1)}, s.run(scripts.WriteForce, keys, "SPUBLISH"))
		received("1")
		require.Equal(t, []any{int64(1)}, s.answers(1, scripts.ReadAcquire, both, "SPUBLISH", "t1", 100_000, ""))
		require.Equal(t, []any{int64(1)}, s.run(scripts.ReadForce, keys, "SPUBLISH"))
		received("0")
	}
}

// Short of memory, acquires of readers and writers are rejected; renewals and releases work.
func TestRWScripts_OutOfMemory(t *testing.T) {
	s := onReal(t)
	s.runTranscript(`
		read_acquire a:t1:100s b:t2:100s → 1 1
		write_acquire c:t3:100s d:t4:100s → 1 1
		read_acquire c:t3:100s:t3 → 1
		CONFIG SET maxmemory 1 → OK
		read_acquire a:t9:100s e:t9:100s → OOM… OOM…
		write_acquire a:t9:100s e:t9:100s → [100s ''] OOM…
		KEYS e* → []
		HGETALL a → [mode read t1 1]
		# Renewal works; PEXPIRE is a write, so that the server lets the count pass as well.
		read_renew a:t1::200s b:t2:1:200s,100s → 1 1
		write_renew c:t3:200s → 1
		PTTL a → 200s
		PTTL c → 200s
		# Releases work, also of the write alone.
		write_release c:t3 d:t4 → 1 1
		HGETALL c → [mode read t3 1]
		read_release a:t1 b:t2 c:t3 → 1 1 1
		KEYS * → []
	`)
}

// A user who may not run one of the commands still gets a reply for each key, and no key is left without a TTL.
func TestRWScripts_CommandDenied_PerKey(t *testing.T) {
	s := onReal(t)
	forbidden := []string{"pttl", "hset", "pexpire", "hget", "hmget", "hexists", "hkeys", "hlen", "hgetall", "hdel", "del", "set", "publish", "pubsub"}
	for _, command := range forbidden {
		require.Equal(t, "OK", s.do("FLUSHALL"))
		s.runTranscript(`
			read_acquire r:t1:100s both:t1:100s → 1 1
			read_acquire both:t2:50s → 1
			write_acquire w:t3:100s down:t4:100s → 1 1
			read_acquire down:t4:50s:t4 → 1
			SET text x → OK
		`)
		limited := s.asUser("~*", "&*", "+@all", "-"+command)
		for _, line := range []string{
			"read_acquire new:t1:100s r:t2:200s w:t2:100s text:t1:100s",
			"write_acquire other:t1:100s r:t2:200s w:t3:200s w:t2:100s text:t1:100s",
			"read_renew r:t1:1:50s both:t1:1:200s,100s gone:t1:1:50s text:t1:1:50s",
			"write_renew w:t3:50s down:t4:20s gone:t1:50s text:t1:50s extra w:2:1",
			"rw_state r w down gone text",
			"write_release w:t3 down:t4 gone:t1 text:t1",
			"read_release both:t2 both:t1 r:t1 down:t4 gone:t1 text:t1",
			"write_force w down text", "read_force r both down text",
		} {
			limited.step(strings.Fields(line), nil) // the reply has an entry for each key, or the test ends
			s.requireTTLs("text")
		}
	}
}

// The release of a writer reaches the subscribers of the shard.
func TestWriteRelease_Verb_ReachesShard(t *testing.T) {
	t.Parallel()
	s := onShard(t)
	channel, sub := scripts.RedissonKey(scripts.RWChannel, "a"), dial(t, s.addr)
	_, err := sub.Do("SSUBSCRIBE", channel)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1)}, s.run(scripts.WriteAcquire, []string{"a"}, "SPUBLISH", "t1", 100_000))
	require.Equal(t, []any{int64(1)}, s.answers(1, scripts.WriteRelease, []string{"a"}, "SPUBLISH", "t1"))
	push, err := sub.Receive(receiveTimeout)
	require.NoError(t, err)
	require.Equal(t, []any{"smessage", channel, "1"}, push)
}
