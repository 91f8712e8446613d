//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// reader and writer are holders of read/write locks; a thread of Redisson may have a negative number.
const (
	reader = "22222222-2222-3333-4444-555555555555:7"
	writer = "33333333-2222-3333-4444-555555555555:-8"
)

// fill puts a lock of each shape into a server, and keys that are none.
func fill(t *testing.T, s *redistest.Server) {
	t.Helper()
	takenBy(t, s, "orders/exclusive", other)
	s.Do(t, "HSET", "orders/read", "mode", "read", other, 2, reader, 1)
	s.Do(t, "PEXPIRE", "orders/read", 600_000)
	s.Do(t, "HSET", "orders/write", "mode", "write", writer+":write", 1, writer, 3)
	s.Do(t, "HSET", "orders/many", "mode", "read")
	for i := range 1000 {
		s.Do(t, "HSET", "orders/many", fmt.Sprintf("22222222-2222-3333-4444-555555555555:%d", i), 1)
	}
	s.Do(t, "PEXPIRE", "orders/many", 600_000)
	takenBy(t, s, "orders/\x1b[31m", other)
	for _, command := range []string{
		"SET none/string 1", "RPUSH none/list 1", "HSET none/one field 1", "HSET none/other mode read field 1", "HSET none/mode mode read",
		"HSET none/slow mode slow " + other + " 1", "HSET none/text " + other + " text", "HSET none/two " + other + " 1 " + reader + " 1",
		"HSET none/write " + other + ":write 1", "HSET none/longer x" + other + " 1", "HSET none/more mode read " + other + " 1 field 1",
	} {
		words := []any{}
		for _, word := range strings.Fields(command) {
			words = append(words, word)
		}
		require.NotZero(t, s.Do(t, words...))
	}
}

// locksOf reads a JSON object a line.
func locksOf(t *testing.T, text string) (locks []inspect.Lock) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l inspect.Lock
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		locks = append(locks, l)
	}
	return locks
}

// wait asks at the end of its timeout, not later, and ten times a second before.
func TestWait_Pause_EndsWithTimeout(t *testing.T) {
	t.Parallel()
	now := time.Now()
	assert.Equal(t, waitPause, pauseBefore(time.Time{}, now))
	assert.Equal(t, waitPause, pauseBefore(now.Add(time.Hour), now))
	assert.Equal(t, waitPause/2, pauseBefore(now.Add(waitPause/2), now))
	assert.LessOrEqual(t, pauseBefore(now, now.Add(1)), time.Duration(0))
}

func TestState_EachKind_IsDescribed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s)
	s.Do(t, "SET", "redisson_lock_token:{orders/exclusive}", 17)
	s.Do(t, "RPUSH", "redisson_lock_queue:{orders/exclusive}", reader, writer, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	s.Subscribe(t, "redisson_lock__channel:{orders/exclusive}")
	s.Subscribe(t, "redisson_lock__channel:{orders/exclusive}")
	s.Subscribe(t, "redisson_rwlock:{orders/read}")
	status, stdout, stderr := result(t, urlOf(s.Addr()), "state", "orders/exclusive", "orders/read", "orders/write", "orders/many", "free", "none/string", "none/one", "orders/\x1b[31m")
	assert.Equal(t, exitOK, status, stderr)
	for _, want := range []string{
		"orders/exclusive\n  kind      exclusive, fair, fenced\n  holder    " + other + ", count 1\n    engine  unknown: it has no record\n  TTL       9m",
		"  token     17\n  waiting   clients that listen: 2; in the fair queue: 12\n",
		"orders/read\n  kind      read\n",
		"  reader    " + other + ", count 2\n",
		"  reader    " + reader + ", count 1\n",
		"waiting   clients that listen: 1; in the fair queue: 0\n",
		"orders/write\n  kind      write\n",
		"  writer    " + writer + ", count 1\n",
		"  reader    " + writer + ", count 3\n  TTL       never\n",
		"            and 9", // of 1000 readers few are read
		"free\n  kind      free\n",
		"none/string\n  kind      no lock, but a key of type string\n  TTL       never\n",
		"none/one\n  kind      no lock, but a key of type hash\n",
		`"orders/\x1b[31m"`,
	} {
		assert.Contains(t, stdout, want)
	}
	assert.NotContains(t, stdout, "\x1b")
	assert.Less(t, strings.Count(stdout, "\n"), 200, "of many readers not all")
}

func TestState_JSON_HasTheSame(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s)
	s.Do(t, "SET", "redisson_lock_token:{orders/exclusive}", 17)
	status, stdout, _ := result(t, urlOf(s.Addr()), "--prefix", "orders/", "state", "--json", "exclusive", "free", "many")
	assert.Equal(t, exitOK, status)
	locks := locksOf(t, stdout)
	require.Len(t, locks, 3)
	l := locks[0]
	assert.InDelta(t, 600_000, l.TTL, 60_000)
	l.TTL = 0
	assert.Equal(t, inspect.Lock{
		Name: "exclusive", Kind: inspect.Exclusive, Holders: []inspect.Holder{{ID: other, Count: 1}}, Number: 1, Token: "17", Waiting: &inspect.Waiting{},
	}, l)
	assert.Equal(t, inspect.Lock{Name: "free", Kind: inspect.Free, Waiting: &inspect.Waiting{}}, locks[1])
	assert.EqualValues(t, 1000, locks[2].Number)
	assert.LessOrEqual(t, len(locks[2].Holders), 64)
}

// A waiter of the command itself is a client that listens, or has a place in the queue.
func TestState_Waiters_AreCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for flag, field := range map[string]func(inspect.Lock) int64{
		"--lease=30s": func(l inspect.Lock) int64 { return l.Waiting.Clients },
		"--write":     func(l inspect.Lock) int64 { return l.Waiting.Clients },
		"--fair":      func(l inspect.Lock) int64 { return l.Waiting.Queue },
	} {
		startCommand(t, urlOf(s.Addr()), "run", "a"+flag, flag, "--", "sh", "-c", untilInputEnds).prints(t, "started")
		startCommand(t, urlOf(s.Addr()), "run", "a"+flag, flag, "--", "true")
		eventually(t, func() bool {
			_, stdout, _ := result(t, urlOf(s.Addr()), "state", "--json", "a"+flag)
			return field(locksOf(t, stdout)[0]) == 1
		}, "the waiter of %s is counted", flag)
	}
}

func TestState_Forbidden_IsAnError(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@connection", "+scan", "+type", "+get", "+hlen", "+client", "+cluster")
	for _, args := range [][]string{{"state", "a"}, {"ls"}} {
		status, _, stderr := result(t, "redis://few:word@"+s.Addr(), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, stderr, "NOPERM", args)
	}
	s.Do(t, "ACL", "SETUSER", "typeless", "on", ">word", "allkeys", "allchannels", "+@all", "-type")
	for _, args := range [][]string{{"state", "a"}, {"top", "--once", "--interval", "100ms"}} {
		status, _, stderr := result(t, "redis://typeless:word@"+s.Addr(), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, stderr, "NOPERM", args)
	}
	s.Do(t, "ACL", "SETUSER", "few", "+hstrlen", "+hkeys", "+hget", "+hscan", "+pttl", "+llen")
	status, stdout, stderr := result(t, "redis://few:word@"+s.Addr(), "state", "a")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, "an unknown number of clients listen")
	status, stdout, _ = result(t, "redis://few:word@"+s.Addr(), "state", "a", "--json")
	assert.Equal(t, exitOK, status)
	assert.EqualValues(t, -1, locksOf(t, stdout)[0].Waiting.Clients)
}

// documentedRules returns the command that creates the user few with what command.md says that the commands need.
func documentedRules(t *testing.T, behindSentinel bool) []any {
	t.Helper()
	page, err := os.ReadFile("../../docs/operate/command.md")
	require.NoError(t, err)
	_, allowed, found := strings.Cut(string(page), "The others need `")
	require.True(t, found)
	commands, more, _ := strings.Cut(allowed, "`")
	_, identity, _ := strings.Cut(more, "also `")
	identity, more, _ = strings.Cut(identity, "`")
	_, more, _ = strings.Cut(more, "For `top`, `")
	top, more, _ := strings.Cut(more, "`")
	_, sentinel, found := strings.Cut(more, "behind Sentinel `")
	require.True(t, found)
	sentinel, _, _ = strings.Cut(sentinel, "`")
	if !behindSentinel {
		sentinel = ""
	}
	rules := []any{"ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "-@all", "+auth", "+ping"}
	for _, rule := range strings.Fields(commands + " " + identity + " " + top + " " + sentinel) {
		rules = append(rules, strings.Trim(rule, "'"))
	}
	require.Greater(t, len(rules), 20)
	return rules
}

func TestACL_BehindSentinel_AsDocumentedIsEnough(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 1)
	takenBy(t, w.Servers[0], "a", other)
	require.Equal(t, "OK", w.Servers[0].Do(t, documentedRules(t, true)...))
	for _, args := range [][]string{{"state", "a"}, {"ls"}, {"top", "--once", "--interval", "100ms"}} {
		status, stdout, stderr := result(t, "redis://few:word@"+w.Addrs()[0]+"?master_set="+w.Name, args...)
		assert.Equal(t, exitOK, status, "%v: %s", args, stderr)
		assert.Contains(t, stdout, other, args)
	}
}

// A migration is checked with state and ls: they tell the locks of other libraries, which are strings, from other
// strings, and how long they live. Without --foreign, ls asks for no string.
func TestForeign_OtherLibraries_StatedAndListed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "ours", other)
	const redislock = "0123456789-_abcdefghiA"
	owners := map[string]string{"a/redsync": "redsync", "a/redislock": "redislock", "a/metadata": "redislock", "rueidislock:0:a": "rueidislock"}
	for key, value := range map[string]string{
		"a/redsync": "AAECAwQFBgcICQoLDA0ODw==", "a/redislock": redislock, "a/metadata": redislock + strings.Repeat("host-7 ", 20),
		"rueidislock:0:a": "\x00\xff", "a/number": "12345678901234567890123456789", "a/text": "a value that is longer than a token",
		"a/odd": "AAECAwQFBgcICQoLDA0OD===", "a/empty": "",
	} {
		s.Do(t, "SET", key, value, "PX", 600_000)
	}
	args := []string{"state", "a/redsync", "a/redislock", "a/metadata", "rueidislock:0:a", "a/number", "a/text", "a/odd", "a/empty"}
	status, stdout, stderr := result(t, urlOf(s.Addr()), args...)
	assert.Equal(t, exitOK, status, stderr)
	for _, name := range args[1:] {
		want := name + "\n  kind      no lock, but a key of type string"
		if owners[name] != "" {
			want += ", probably the lock of " + owners[name]
		}
		assert.Contains(t, stdout, want+"\n  TTL       9m")
	}
	_, stdout, _ = result(t, urlOf(s.Addr()), append(args, "--json")...)
	for _, l := range locksOf(t, stdout) {
		assert.Equal(t, owners[l.Name], l.LikelyOwner, l.Name)
		assert.Equal(t, inspect.NoLock, l.Kind)
		assert.Equal(t, "string", l.Type)
		assert.Greater(t, l.TTL, int64(500_000), l.Name)
	}

	before := s.CommandCalls(t, "getrange")
	_, stdout, _ = result(t, urlOf(s.Addr()), "ls", "--json")
	assert.Equal(t, map[string]int{"ours": 1}, namesOf(locksOf(t, stdout)))
	assert.Equal(t, before, s.CommandCalls(t, "getrange"))
	status, stdout, stderr = result(t, urlOf(s.Addr()), "ls", "--foreign", "--json")
	assert.Equal(t, exitOK, status, stderr)
	assert.Equal(t, map[string]int{"ours": 1, "a/redsync": 1, "a/redislock": 1, "a/metadata": 1, "rueidislock:0:a": 1}, namesOf(locksOf(t, stdout)))
	_, stdout, _ = result(t, urlOf(s.Addr()), "ls", "--foreign", "--prefix", "a/", "re*")
	assert.Regexp(t, `(?m)^redsync +- +9m\S+ +- +redsync$`, stdout)
	assert.Regexp(t, `(?m)^redislock +- +9m\S+ +- +redislock$`, stdout)
	assert.NotContains(t, stdout, redislock, "who knows the token can unlock")
	assert.Equal(t, 3, strings.Count(stdout, "\n"), stdout)
}

// The owner of a string is unknown to a user who may not read it. Strings of which not even the TTL is known are
// counted.
func TestForeign_ValueForbidden_Said(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, key := range []string{"a/1", "b/1", "b/2"} {
		s.Do(t, "SET", key, "AAECAwQFBgcICQoLDA0ODw==")
	}
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~a/*", "allchannels", "+@all")
	url := "redis://few:word@" + s.Addr()
	status, stdout, stderr := result(t, url, "ls", "--foreign")
	assert.Equal(t, exitOK, status, stderr)
	assert.Regexp(t, `(?m)^redsync +- +never +- +a/1$`, stdout)
	assert.Contains(t, stderr, "strings that this user may not read, and that may be locks of another library: 2\n")
	s.Do(t, "ACL", "SETUSER", "few", "allkeys", "-getrange")
	status, stdout, stderr = result(t, url, "state", "a/1")
	assert.Equal(t, exitOK, status, stderr)
	assert.Equal(t, "a/1\n  kind      no lock, but a key of type string\n  TTL       never\n", stdout)
}

// The commands that docs/operate/command.md names are enough.
func TestACL_AsDocumented_IsEnough(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	s.Do(t, "SET", "string", "AAECAwQFBgcICQoLDA0ODw==")
	require.Equal(t, "OK", s.Do(t, documentedRules(t, false)...))
	p := holding(t, s, "run", "b")
	status, stdout, stderr := resultAnswered(t, "redis://few:word@"+s.Addr(), "state", "b")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, fmt.Sprintf("pid %d, ", p.cmd.Process.Pid))
	assert.Contains(t, stdout, "    since   2")
	_, stdout, stderr = result(t, "redis://few:word@"+s.Addr(), "state", "string")
	assert.Contains(t, stdout, "redsync", stderr)
	w := stateWaiters(t, "redis://few:word@"+s.Addr(), "b", 1)
	assert.Empty(t, w.Error)
	assert.Zero(t, w.OtherClients)
	for _, args := range [][]string{{"state", "a"}, {"ls"}, {"engines"}, {"wait", "a", "--timeout", "0"}, {"top", "--once", "--interval", "100ms"}} {
		status, stdout, stderr := result(t, "redis://few:word@"+s.Addr(), args...)
		if args[0] == "engines" {
			assert.Contains(t, stdout, fmt.Sprint(p.cmd.Process.Pid))
			continue
		}
		if args[0] == "wait" {
			assert.Equal(t, exitNo, status, stderr)
			continue
		}
		assert.Equal(t, exitOK, status, "%v: %s", args, stderr)
		assert.Contains(t, stdout, other)
		assert.NotContains(t, stdout, "unknown number")
		assert.NotContains(t, stdout, "queue: unknown")
	}
}

// A user that may read some keys only sees the locks among them, and how many keys were left out.
func TestACL_ForeignKeys_SkippedAndCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "orders/1", other)
	takenBy(t, s, "foreign/1", other)
	s.Do(t, "HSET", "foreign/2", "field", 1)
	const more = 1998 // than one SCAN returns
	s.Do(t, "EVAL", `for i = 1, tonumber(ARGV[1]) do redis.call('HSET', 'foreign/more' .. i, 'field', 1) end`, 0, more)
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~orders/*", "allchannels", "+@all")
	url := "redis://few:word@" + s.Addr()
	status, stdout, stderr := result(t, url, "ls", "--json")
	assert.Equal(t, exitOK, status, stderr)
	assert.Equal(t, map[string]int{"orders/1": 1}, namesOf(locksOf(t, stdout)))
	assert.Contains(t, stderr, "may not read, and that may be locks: 2000\n")

	status, stdout, stderr = result(t, url, "top", "--once", "--json", "--interval", "100ms")
	assert.Equal(t, exitOK, status, stderr)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	require.Len(t, l.Top, 1)
	assert.Equal(t, 2+more, l.Denied)
	_, stdout, _ = result(t, url, "top", "--once", "--interval", "100ms")
	assert.Contains(t, stdout, "keys that this user may not read: 2000\n")
	assert.Regexp(t, `(?m)^ +0 exclusive .* orders/1$`, stdout, "an unknown number of waiters is not less than none")

	_, stdout, _ = result(t, url, "state", "orders/1")
	assert.Contains(t, stdout, "in the fair queue: unknown")
	status, _, stderr = result(t, url, "state", "foreign/1")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "NOPERM")
}

// A token that the user may not read is unknown: its error is no token, and tells no kind.
func TestACL_TokenForbidden_IsUnknown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "orders/1", other)
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~orders/*", "allchannels", "+@all")
	url := "redis://few:word@" + s.Addr()
	status, stdout, stderr := result(t, url, "state", "orders/1", "orders/free")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, "kind      exclusive\n")
	assert.Contains(t, stdout, "kind      free\n")
	assert.Equal(t, 2, strings.Count(stdout, "  token     unknown: NOPERM"), stdout)
	status, stdout, stderr = result(t, url, "state", "--json", "orders/1", "orders/free")
	assert.Equal(t, exitOK, status, stderr)
	for _, l := range locksOf(t, stdout) {
		assert.Empty(t, l.Token)
		assert.Contains(t, l.TokenError, "NOPERM")
	}
}

// A record that the user may not read is not missing, whether it is the key that is forbidden or a command.
func TestACL_RecordForbidden_IsUnknown(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holding(t, s, "run", "orders/1")
	for _, rules := range [][]any{{"~orders/*", "+@all"}, {"allkeys", "-hmget"}} {
		s.Do(t, append([]any{"ACL", "SETUSER", "few", "on", ">word", "allchannels"}, rules...)...)
		_, stdout, _ := result(t, "redis://few:word@"+s.Addr(), "state", "orders/1")
		assert.Contains(t, stdout, "engine  unknown: its record could not be read: NOPERM", rules)
		_, stdout, _ = result(t, "redis://few:word@"+s.Addr(), "state", "--json", "orders/1")
		assert.Contains(t, locksOf(t, stdout)[0].Holders[0].EngineError, "NOPERM", rules)
	}
}

// JSON has no bytes that are not UTF-8, so names that differ in them would be the same.
func TestLs_NamesOfAnyBytes_AreExact(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a\xff", other)
	takenBy(t, s, "a\xfe", other)
	takenBy(t, s, "b", other)
	_, listed, _ := result(t, urlOf(s.Addr()), "ls", "--json")
	_, stated, _ := result(t, urlOf(s.Addr()), "state", "--json", "a\xff", "a\xfe", "b")
	for _, stdout := range []string{listed, stated} {
		names := map[string]bool{}
		for _, l := range locksOf(t, stdout) {
			if l.Name64 != nil {
				l.Name = string(l.Name64)
			}
			names[l.Name] = true
		}
		assert.Equal(t, map[string]bool{"a\xff": true, "a\xfe": true, "b": true}, names)
		assert.Contains(t, stdout, `"name64":"Yf8="`)
	}
}

// A script that reads the list of a server without locks gets an empty one.
func TestTop_NoLocks_JSONIsEmptyList(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	_, stdout, _ := result(t, urlOf(s.Addr()), "top", "--once", "--json", "--interval", "100ms")
	assert.Contains(t, stdout, `"top":[]`)
}

func namesOf(locks []inspect.Lock) map[string]int {
	count := make(map[string]int)
	for _, l := range locks {
		count[l.Name]++
	}
	return count
}

func TestLs_AnyKeys_OnlyLocksAreListed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s)
	for i := range 3000 {
		s.Do(t, "SET", fmt.Sprint("filler", i), i)
	}
	list := func(args ...string) []inspect.Lock {
		status, stdout, stderr := result(t, urlOf(s.Addr()), append([]string{"ls", "--json"}, args...)...)
		assert.Equal(t, exitOK, status, stderr)
		return locksOf(t, stdout)
	}
	all := map[string]int{"orders/exclusive": 1, "orders/read": 1, "orders/write": 1, "orders/many": 1, "orders/\x1b[31m": 1}
	assert.Equal(t, all, namesOf(list()))
	assert.Equal(t, map[string]int{"orders/read": 1, "orders/write": 1}, namesOf(list("orders/*r[ei][ta][ed]*")))
	assert.Equal(t, map[string]int{"read": 1}, namesOf(list("read", "--prefix", "orders/")))
	assert.Empty(t, list("--prefix", "orders*"), "a prefix is no pattern")
	assert.Empty(t, list("--prefix", "order?/"), "a prefix is no pattern")
	assert.Empty(t, list("read"), "a pattern is of the whole name")
	assert.Zero(t, s.CommandCalls(t, "keys", "hgetall"))

	_, stdout, _ := result(t, urlOf(s.Addr()), "ls", "orders/*")
	assert.Contains(t, stdout, "KIND")
	assert.Regexp(t, `(?m)^exclusive +1 +9m\S+ +`+other+` +orders/exclusive$`, stdout)
	assert.Regexp(t, `(?m)^read +3 +9m\S+ +\S+ \+1 +orders/read$`, stdout)
	assert.Regexp(t, `(?m)^write +4 +never +`+writer+` \+1 +orders/write$`, stdout)
	assert.NotContains(t, stdout, "\x1b")
}

// Of 4000 locks each is listed once, and the first before the last is read: nothing is collected.
func TestLs_ManyLocks_AreListedAsTheyCome(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const script = `for i = 1, 4000 do redis.call('HSET', 'lock' .. i, ARGV[1], 1) redis.call('PEXPIRE', 'lock' .. i, 600000) end`
	s.Do(t, "EVAL", script, 0, other)
	status, stdout, _ := result(t, urlOf(s.Addr()), "ls", "--json")
	assert.Equal(t, exitOK, status)
	count := namesOf(locksOf(t, stdout))
	assert.Len(t, count, 4000)

	// The waiters of all of them are asked for, and not those of some.
	s.Do(t, "EVAL", `for i = 1, 4000 do redis.call('RPUSH', 'redisson_lock_queue:{lock' .. i .. '}', ARGV[1]) end`, 0, reader)
	_, stdout, _ = result(t, urlOf(s.Addr()), "top", "--once", "--json", "--interval", "100ms", "--sample", "100000", "--rows", "1000")
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	require.Len(t, l.Top, 1000)
	for _, lock := range l.Top {
		assert.EqualValues(t, 1, lock.Waiting.Total())
		assert.Zero(t, lock.Waiting.Clients)
	}

	// Its output is not read on, so it waits before it has asked for the rest.
	s.Do(t, "CONFIG", "RESETSTAT")
	r, w := io.Pipe()
	p := startWith(t, func(c *exec.Cmd) { c.Stdout = w }, urlOf(s.Addr()), "ls", "--json")
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, `"name":"lock`)
	assert.Less(t, s.CommandCalls(t, "pttl"), 4000)
	r.Close()
	p.cmd.Process.Kill()
}

func TestCluster_EveryMaster_IsRead(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	url := urlOf(c.Nodes[0].Addr())
	names := c.SpreadKeys("lock", 30)
	for _, name := range names {
		takenBy(t, c.Master(t, c.Slot(t, name)), name, other)
	}
	status, stdout, stderr := result(t, url, "ls", "--json")
	assert.Equal(t, exitOK, status, stderr)
	count := namesOf(locksOf(t, stdout))
	assert.Len(t, count, len(names))

	// A waiter listens on the shard of its lock, wherever that is.
	for _, name := range names[:3] {
		startCommand(t, url, "run", name, "--", "true")
		eventually(t, func() bool {
			_, stdout, _ := result(t, url, "state", "--json", name)
			return locksOf(t, stdout)[0].Waiting.Clients == 1
		}, "the waiter of %s is counted", name)
	}
	status, stdout, stderr = result(t, url, "top", "--once", "--json", "--interval", "100ms", "--rows", "3")
	assert.Equal(t, exitOK, status, stderr)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	assert.Equal(t, 3, l.Nodes)
	assert.EqualValues(t, len(names), l.Locks)
	assert.GreaterOrEqual(t, l.Keys, l.Locks, "beside the records of engines")
	for _, top := range l.Top {
		assert.EqualValues(t, 1, top.Waiting.Clients, top.Name)
	}
	status, _, stderr = result(t, url, "force", "--yes", names[0])
	assert.Equal(t, exitOK, status, stderr)
	status, _, _ = result(t, url, "wait", names[1], "--timeout", "100ms")
	assert.Equal(t, exitNo, status)

	// What one node does not tell is not known of all of them, and what is left out on each is summed up.
	for i, n := range c.Nodes {
		n.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~"+names[0], "allchannels", "+@all")
		if i == 0 {
			n.Do(t, "ACL", "SETUSER", "few", "-info", "-dbsize")
		}
	}
	few := "redis://few:word@" + c.Nodes[0].Addr()
	_, stdout, stderr = result(t, few, "top", "--once", "--json", "--interval", "100ms")
	l = look{}
	require.NoError(t, json.Unmarshal([]byte(stdout), &l), stderr)
	assert.EqualValues(t, -1, l.Keys)
	assert.EqualValues(t, -1, l.Commands)
	assert.GreaterOrEqual(t, l.Denied, len(names)-1)
	_, _, stderr = result(t, few, "ls")
	assert.Regexp(t, `that may be locks: (29|[3-9]\d)\n`, stderr)
}

// The locks of a node that does not reply are missing, and that is said.
func TestCluster_NodeGone_LsSaysSo(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0, "--cluster-require-full-coverage", "no")
	names := c.SpreadKeys("lock", 6)
	var gone string
	for _, name := range names {
		master := c.Master(t, c.Slot(t, name))
		takenBy(t, master, name, other)
		if master == c.Nodes[2] {
			gone = name
		}
	}
	// The record of this holder's engine would be at the node that goes, and its lock is at another one.
	elsewhere := ""
	for i := 0; elsewhere == ""; i++ {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if c.Master(t, c.Slot(t, identity.Key("", id))) == c.Nodes[2] {
			elsewhere = id + ":1"
		}
	}
	var kept string
	for _, name := range names {
		if master := c.Master(t, c.Slot(t, name)); master != c.Nodes[2] {
			kept = name
			master.Do(t, "DEL", name)
			takenBy(t, master, name, elsewhere)
			break
		}
	}
	require.NoError(t, c.Nodes[2].Kill())
	status, stdout, stderr := result(t, urlOf(c.Nodes[0].Addr()), "ls", "--json")
	assert.Equal(t, exitFailed, status)
	assert.Len(t, locksOf(t, stdout), 4)
	assert.Contains(t, stderr, "the node "+c.Nodes[2].Addr()+" does not reply")
	for _, args := range [][]string{{"top", "--once", "--interval", "100ms"}, {"top", "--once", "--interval", "100ms", "--json"}, {"engines"}} {
		status, stdout, stderr := result(t, urlOf(c.Nodes[0].Addr()), args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Contains(t, stderr, "the node "+c.Nodes[2].Addr()+" does not reply", args)
		assert.NotEmpty(t, stdout, args)
	}
	i := slices.IndexFunc(locksOf(t, stdout), func(l inspect.Lock) bool { return l.Name != kept })
	there := locksOf(t, stdout)[i].Name
	status, stdout, stderr = result(t, urlOf(c.Nodes[0].Addr()), "state", there)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, other)
	assert.Contains(t, stderr, "not all that wait are counted: the node "+c.Nodes[2].Addr()+" does not reply")

	// The locks of the other nodes are printed, and an error names the lock and the node.
	status, stdout, stderr = result(t, urlOf(c.Nodes[0].Addr()), "state", gone, there)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, there)
	assert.Contains(t, stdout, other)
	assert.Contains(t, stderr, fmt.Sprintf("lock %q in the cluster of ", gone))
	assert.NotContains(t, stderr, fmt.Sprintf("lock %q", there))
	assert.Contains(t, stderr, "the node "+c.Nodes[2].Addr()+" does not reply, so its keys are missing")

	// A record at that node only describes the holder: the lock is stated, with the reason, and can be taken away.
	status, stdout, _ = result(t, urlOf(c.Nodes[0].Addr()), "state", kept)
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stdout, elsewhere)
	assert.Contains(t, stdout, "its record could not be read: ")
	status, _, stderr = result(t, urlOf(c.Nodes[0].Addr()), "force", kept, "--yes")
	assert.Equal(t, exitOK, status, stderr)
}

func TestSentinel_URL_LeadsToTheMaster(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 1, 1)
	url := urlOf(w.Addrs()[0]) + "?master_set=" + w.Name
	status, stdout, stderr := result(t, url, "run", "a", "--", "sh", "-c", "echo it ran")
	assert.Equal(t, exitOK, status, stderr)
	assert.Equal(t, "it ran\n", stdout)
	takenBy(t, w.Servers[0], "a", other)
	status, stdout, stderr = result(t, url, "ls")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, other)
}

// An error names the server that rejects the password: the master, and not the sentinel that wants none.
func TestSentinel_MastersPassword_MasterNamed(t *testing.T) {
	t.Parallel()
	w := redistest.StartSentinels(t, 0, 1)
	master := w.Servers[0].Addr()
	w.Servers[0].Do(t, "ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all")
	url := "redis://locks:wrong@" + w.Addrs()[0] + "?master_set=" + w.Name
	for _, args := range [][]string{{"state", "a"}, {"ls"}, {"wait", "a"}, {"force", "a"}, {"top"}, {"engines"}, {"run", "a", "--", "true"}} {
		_, _, stderr := result(t, url, args...)
		assert.Contains(t, stderr, "connecting to "+master+", which was found through the sentinels ["+w.Addrs()[0]+"]: WRONGPASS", args)
	}
	w.Sentinels[0].Do(t, "ACL", "SETUSER", "default", "resetpass", ">other", "on")
	_, _, stderr := result(t, url, "ls")
	assert.Contains(t, stderr, "connecting to "+w.Addrs()[0]+" for the master set")
	assert.NotContains(t, stderr, master)
}

func TestForce_Answer_Decides(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	for answer, want := range map[string]bool{"": false, "\n": false, "n\n": false, "yesterday\n": false, "y\n": true, "YES\n": true} {
		if !exists(t, s, "a") {
			takenBy(t, s, "a", other)
		}
		p := startWith(t, func(c *exec.Cmd) { c.Stdin = strings.NewReader(answer) }, urlOf(s.Addr()), "force", "a")
		status := p.status(t)
		assert.Contains(t, p.err.String(), "holder    "+other)
		assert.Contains(t, p.err.String(), "[y/N]")
		assert.Equal(t, want, !exists(t, s, "a"), "%q", answer)
		if want {
			assert.Equal(t, exitOK, status, "%q", answer)
			assert.Contains(t, p.out.String(), "a: taken away; right before, it was held by "+other)
		} else {
			assert.Equal(t, exitFailed, status, "%q", answer)
			assert.Contains(t, p.err.String(), "nothing was done")
		}
	}
}

// The answer is for the holder that was shown. Another one keeps the lock.
func TestForce_HolderChanged_Kept(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	p := startCommand(t, urlOf(s.Addr()), "force", "a")
	eventually(t, func() bool { return strings.Contains(p.err.String(), "[y/N]") }, "the question")
	s.Do(t, "DEL", "a")
	next := strings.Replace(other, "1111", "2222", 1)
	takenBy(t, s, "a", next)
	_, err := p.in.Write([]byte("y\n"))
	require.NoError(t, err)
	assert.Equal(t, exitFailed, p.status(t))
	assert.Contains(t, p.err.String(), "held by "+next+" by now, nothing was done")
	assert.True(t, exists(t, s, "a"))
}

// The last question is sent when the engine is open: a client that gets the lock after the question before keeps it. It
// loses the lock, and is named, only with --yes, when no holder was shown.
func TestForce_HolderChangedLate_Kept(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	g := &globals{redis: urlOf(s.Addr())}
	next := strings.Replace(other, "1111", "2222", 1)
	for _, kind := range []string{inspect.Exclusive, inspect.Write} {
		suffix := map[string]string{inspect.Write: ":write"}[kind]
		take := func(holder string) {
			s.Do(t, "DEL", "a")
			if kind == inspect.Write {
				s.Do(t, "HSET", "a", "mode", "write")
			}
			s.Do(t, "HSET", "a", holder+suffix, 1)
			s.Do(t, "PEXPIRE", "a", 600_000)
		}
		force := func(l *inspect.Lock, anyHolder bool) (string, error) {
			var out strings.Builder
			c := &cobra.Command{}
			c.SetContext(t.Context())
			c.SetOut(&out)
			err := g.force(c, l, anyHolder)
			return out.String(), err
		}
		take(other)
		before, err := g.readHeld(t.Context(), io.Discard, "a", true)
		require.NoError(t, err)
		take(next)
		_, err = force(before, false)
		require.ErrorContains(t, err, "held by "+next+" by now, nothing was done")
		require.True(t, exists(t, s, "a"), kind)

		readersOf(t, s, "other kind", 2)
		_, err = force(&inspect.Lock{Name: "other kind", Kind: inspect.Exclusive, Waiting: &inspect.Waiting{}}, true)
		require.ErrorContains(t, err, "held as another kind by now, nothing was done")
		require.True(t, exists(t, s, "other kind"))

		text, err := force(before, true)
		require.NoError(t, err)
		require.Equal(t, "a: taken away; right before, it was held by "+next+"\n", text)
		take(other)
		_, err = force(before, false)
		require.NoError(t, err)
		_, err = force(before, false)
		require.ErrorContains(t, err, "by now it is free, or held as another kind")
	}
}

// Readers come and go: one that joins before the answer changes nothing.
func TestForce_ReaderJoins_ForcedNevertheless(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	readersOf(t, s, "a", 1)
	p := startCommand(t, urlOf(s.Addr()), "force", "a")
	eventually(t, func() bool { return strings.Contains(p.err.String(), "[y/N]") }, "the question")
	readersOf(t, s, "a", 2)
	_, err := p.in.Write([]byte("y\n"))
	require.NoError(t, err)
	assert.Equal(t, exitOK, p.status(t), p.err)
	assert.False(t, exists(t, s, "a"))
}

// readersOf gives a lock so many readers.
func readersOf(t *testing.T, s *redistest.Server, name string, n int) {
	t.Helper()
	s.Do(t, "HSET", name, "mode", "read")
	for i := range n {
		s.Do(t, "HSET", name, fmt.Sprint(strings.TrimSuffix(other, "1"), i), 1)
	}
	s.Do(t, "PEXPIRE", name, 600_000)
}

// Of very many readers the first is named, and how many others there are: only some of them are read.
func TestLs_ManyReaders_AllCounted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	readersOf(t, s, "a", 100)
	status, stdout, stderr := result(t, urlOf(s.Addr()), "ls")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, " +99 ")
	var l inspect.Lock
	_, listed, _ := result(t, urlOf(s.Addr()), "ls", "--json")
	l = locksOf(t, listed)[0]
	if len(l.Holders) < 100 { // a server may return more than it is asked for
		assert.Regexp(t, fmt.Sprintf(`(?m)^read +%d\+ `, len(l.Holders)), stdout, "the count is that of a part")
	}
	readersOf(t, s, "few", 3)
	_, stdout, _ = result(t, urlOf(s.Addr()), "ls", "few")
	assert.Regexp(t, `(?m)^read +3 `, stdout)
}

// A user that was made for an engine may not read a lock as state does, but can force it: each kind, and its waiters
// have the lock at once.
func TestForce_StateForbidden_ForcedNevertheless(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-type")
	url := "redis://few:word@" + s.Addr()
	for _, flag := range []string{"--lease=30s", "--fair", "--fenced", "--read", "--write"} {
		name := "a" + flag
		holder := holding(t, s, "run", name, flag, "--lease", "10m", "--grace", "0")
		other := flag
		if flag == "--read" {
			other = "--write"
		}
		waiter := startCommand(t, urlOf(s.Addr()), "run", name, other, "--lease", "10m", "--", "echo", "it ran")
		eventually(t, func() bool {
			_, stdout, _ := result(t, urlOf(s.Addr()), "state", "--json", name)
			return locksOf(t, stdout)[0].Waiting.Total() > 0
		}, "%s waits", flag)
		p := startWith(t, func(c *exec.Cmd) { c.Stdin = strings.NewReader("n\n") }, url, "force", name)
		assert.Equal(t, exitFailed, p.status(t))
		assert.Contains(t, p.err.String(), "its holder and its kind are unknown")
		assert.Contains(t, p.err.String(), "nothing was done")
		assert.True(t, exists(t, s, name))
		status, stdout, stderr := result(t, url, "force", name, "--yes")
		assert.Equal(t, exitOK, status, stderr)
		assert.Contains(t, stdout, name+": taken away from an unknown holder\n")
		assert.Contains(t, stderr, "NOPERM")
		assert.Equal(t, exitLost, holder.status(t), flag)
		assert.Equal(t, exitOK, waiter.status(t), flag)
		status, _, stderr = result(t, url, "force", name, "--yes")
		assert.Equal(t, exitNo, status, stderr)
	}
}

// The user that docs/acl.md has for a plain lock may force one.
func TestForce_UserOfPlainLock_Forces(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	page, err := os.ReadFile("../../docs/acl.md")
	require.NoError(t, err)
	_, rule, _ := strings.Cut(string(page), "redis-cli ")
	rule, _, _ = strings.Cut(rule, "```")
	var words []any
	for _, word := range strings.Fields(strings.ReplaceAll(rule, "\\\n", " ")) {
		words = append(words, strings.Trim(word, "'"))
	}
	require.Equal(t, "OK", s.Do(t, words...))
	url := "redis://locks:secret@" + s.Addr()
	takenBy(t, s, "orders/1", other)
	status, stdout, stderr := result(t, url, "force", "orders/1", "--yes")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, "taken away from an unknown holder")
	status, _, stderr = result(t, url, "force", "orders/1", "--yes")
	assert.Equal(t, exitNo, status, stderr)
	takenBy(t, s, "other/1", other)
	status, _, stderr = result(t, url, "force", "other/1", "--yes")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "NOPERM")
	assert.True(t, exists(t, s, "other/1"))
}

// Editors may begin a file with a byte order mark.
func TestRedisFile_ByteOrderMark_Ignored(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(file, []byte("\xef\xbb\xbf"+urlOf(redistest.Start(t).Addr())+"\r\n"), 0o600))
	status, _, stderr := result(t, "", "ls", "--redis-file", file)
	assert.Equal(t, exitOK, status, stderr)
}

// A file that is longer than any URL is an error, and not cut off.
func TestRedisFile_TooLong_IsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(file, []byte("redis://"+unused+strings.Repeat("\n", 64<<10)), 0o600))
	status, _, stderr := result(t, "", "ls", "--redis-file", file)
	assert.Equal(t, exitUsage, status, stderr)
	assert.Contains(t, stderr, "too long")
}

// A waiter of each kind has the lock at once, and not when a lease of ten minutes ends.
func TestForce_EachKind_WakesWaiters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, flag := range []string{"--lease=30s", "--fair", "--fenced", "--read", "--write"} {
		name := "a" + flag
		if flag == "--read" || flag == "--write" {
			s.Do(t, "HSET", name, "mode", map[string]string{"--read": "write", "--write": "read"}[flag])
			s.Do(t, "HSET", name, other+map[string]string{"--read": ":write", "--write": ""}[flag], 1)
			s.Do(t, "PEXPIRE", name, 600_000)
		} else {
			takenBy(t, s, name, other)
		}
		// By itself it asks again a third of its lease later.
		waiter := startCommand(t, urlOf(s.Addr()), "run", name, flag, "--lease", "10m", "--", "echo", "it ran")
		eventually(t, func() bool {
			_, stdout, _ := result(t, urlOf(s.Addr()), "state", "--json", name)
			return locksOf(t, stdout)[0].Waiting.Total() > 0
		}, "%s waits", flag)
		status, stdout, stderr := result(t, urlOf(s.Addr()), "force", name, "--yes")
		assert.Equal(t, exitOK, status, stderr)
		assert.NotContains(t, stdout+stderr, "[y/N]")
		assert.Equal(t, exitOK, waiter.status(t), flag)
		assert.Equal(t, "it ran\n", waiter.out.String())
	}
}

func TestForce_NothingToTake_IsSaid(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s)
	status, _, stderr := result(t, urlOf(s.Addr()), "force", "free", "--yes")
	assert.Equal(t, exitNo, status)
	assert.Contains(t, stderr, `lock "free": it is free`)
	for _, name := range []string{"none/one", "none/string", "none/list"} {
		status, _, stderr = result(t, urlOf(s.Addr()), "force", name, "--yes")
		assert.Equal(t, exitFailed, status, name)
		assert.Contains(t, stderr, "no lock, but a key of type")
		assert.True(t, exists(t, s, name), name)
	}
}

func TestWait_LockFreed_Returns(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	status, _, _ := result(t, urlOf(s.Addr()), "wait", "a")
	assert.Equal(t, exitOK, status, "it is free")
	takenBy(t, s, "my:a", other)
	for _, timeout := range []string{"0", "250ms"} {
		status, _, stderr := result(t, urlOf(s.Addr()), "wait", "a", "--prefix", "my:", "--timeout", timeout)
		assert.Equal(t, exitNo, status, timeout)
		assert.Contains(t, stderr, `lock "a": still held`, timeout)
	}
	for _, timeout := range [][]string{nil, {"--timeout", "1h"}} {
		takenBy(t, s, "my:a", other)
		before := s.CommandCalls(t, "exists")
		p := startCommand(t, urlOf(s.Addr()), append([]string{"wait", "a", "--prefix", "my:"}, timeout...)...)
		eventually(t, func() bool { return s.CommandCalls(t, "exists") > before+1 }, "it asks again, timeout %v", timeout)
		s.Do(t, "DEL", "my:a")
		assert.Equal(t, exitOK, p.status(t), timeout)
		assert.Empty(t, p.out.String()+p.err.String())
	}
}

// A server that is silent does not keep wait much longer than its timeout.
func TestWait_ServerSilent_EndsSoonAfterTimeout(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	p := startCommand(t, urlOf(s.Addr()), "wait", "a", "--timeout", "3s")
	eventually(t, func() bool { return s.CommandCalls(t, "exists") > 0 }, "it asks")
	require.NoError(t, s.Pause())
	assert.Equal(t, exitFailed, p.status(t))
	assert.Regexp(t, `lock "a" at .*: no reply within [1-4](\.\d)?s`, p.err.String())
}

func TestWait_ServerGone_IsAnError(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	p := startCommand(t, urlOf(s.Addr()), "wait", "a")
	eventually(t, func() bool { return s.CommandCalls(t, "exists") > 0 }, "it asks")
	require.NoError(t, s.Kill())
	assert.Equal(t, exitFailed, p.status(t))
	assert.Contains(t, p.err.String(), `lock "a" at `+s.Addr()+": ")
}

// A lock that goes to another holder between two questions about it is listed. One that is free at times is never taken
// for something else.
func TestHotLock_EachQuestion_IsALock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	var changes sync.WaitGroup
	defer changes.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const next = `local n = redis.call('INCR', KEYS[1] .. '-holders')
		if ARGV[2] == 'free' and n % 2 == 0 then redis.call('DEL', KEYS[1]) return end
		redis.call('DEL', KEYS[1]) redis.call('HSET', KEYS[1], ARGV[1] .. n, 1) redis.call('PEXPIRE', KEYS[1], 60000)`
	for name, mode := range map[string]string{"hot": "", "often free": "free"} {
		s.Do(t, "EVAL", next, 1, name, strings.TrimSuffix(other, "1"), "")
		changes.Go(func() {
			for ctx.Err() == nil {
				s.Do(t, "EVAL", next, 1, name, strings.TrimSuffix(other, "1"), mode)
			}
		})
	}
	for range 10 {
		_, listed, _ := result(t, urlOf(s.Addr()), "ls")
		assert.Regexp(t, `(?m) hot$`, listed)
		for _, name := range []string{"hot", "often free"} {
			_, state, _ := result(t, urlOf(s.Addr()), "state", name)
			assert.NotContains(t, state, "no lock")
		}
	}
}

func TestTop_Once_CountsLocksAndWaiters(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	fill(t, s)
	s.Subscribe(t, "redisson_rwlock:{orders/read}")
	s.Do(t, "RPUSH", "redisson_lock_queue:{orders/exclusive}", reader, writer)
	status, stdout, stderr := result(t, urlOf(s.Addr()), "top", "--once", "--json", "--interval", "200ms", "--rows", "3")
	assert.Equal(t, exitOK, status, stderr)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	assert.Regexp(t, `^(Redis|Valkey) \d`, l.Server)
	assert.EqualValues(t, 5, l.Locks)
	assert.True(t, l.Exact)
	assert.EqualValues(t, s.Int(t, "DBSIZE"), l.Keys)
	require.Len(t, l.Top, 3)
	assert.Equal(t, "orders/exclusive", l.Top[0].Name)
	assert.EqualValues(t, 2, l.Top[0].Waiting.Total())
	assert.Equal(t, "orders/read", l.Top[1].Name)
	assert.EqualValues(t, 1, l.Top[1].Waiting.Total())
	takenBy(t, s, "elsewhere", other)
	_, stdout, _ = result(t, urlOf(s.Addr()), "top", "--once", "--interval", "200ms", "--prefix", "orders/")
	assert.Contains(t, stdout, "locks 5   keys ")
	assert.Regexp(t, `(?m)^ +2 exclusive .* exclusive$`, stdout)
	assert.NotContains(t, stdout, "\x1b")
}

// Commands, calls of scripts and messages are counted from one look to the next, whichever commands they are of.
func TestTop_Rates_AreThoseSinceTheLastLook(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s, err := inspect.Open(t.Context(), rueidis.ClientOption{InitAddress: []string{server.Addr()}}, "")
	require.NoError(t, err)
	defer s.Close()
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	v := newTopView(s, &topFlags{}, io.Discard)
	first, _, err := v.measure(t.Context(), nodes)
	require.NoError(t, err)
	assert.Zero(t, first.Commands+first.Scripts+first.Published, "there is no look before")
	sum := server.String(t, "SCRIPT", "LOAD", "return 1")
	server.Do(t, "EVAL", `for i = 1, 2000 do redis.call('PUBLISH', 'c', '') redis.call('SPUBLISH', 'c', '') end`, 0)
	for range 500 {
		server.Do(t, "EVALSHA", sum, 0)
		server.Do(t, "EVAL", "return 1", 0)
	}
	// So long ago that it does not matter how long the test takes.
	const seconds = 10_000
	last := v.loads[nodes[0].Addr]
	last.At = last.At.Add(-seconds * time.Second)
	v.loads[nodes[0].Addr] = last
	next, _, err := v.measure(t.Context(), nodes)
	require.NoError(t, err)
	assert.InEpsilon(t, 4000.0/seconds, next.Published, 0.1)
	assert.InEpsilon(t, 1001.0/seconds, next.Scripts, 0.1)
	assert.InEpsilon(t, 5000.0/seconds, next.Commands, 0.2)
}

// A node that gave no reply at the last look has no rates in the next one. That is said, and an error with --once; the
// number of locks is exact all the same.
func TestTop_NodeNotMeasuredBefore_Said(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	takenBy(t, server, "a", other)
	s, err := inspect.Open(t.Context(), rueidis.ClientOption{InitAddress: []string{server.Addr()}}, "")
	require.NoError(t, err)
	defer s.Close()
	var out strings.Builder
	v := newTopView(s, &topFlags{sample: 10, rows: 1}, &out)
	v.loads = map[string]inspect.Load{} // another node replied
	l, err := v.look(t.Context())
	require.ErrorContains(t, err, "the rates lack what was not measured at the last look: "+server.Addr())
	require.True(t, l.Exact)
	require.NoError(t, v.print(l, nil))
	assert.Contains(t, out.String(), "locks 1 ")
	assert.Contains(t, out.String(), "\nof a part of the nodes, a second: commands 0 ")
	text, err := json.Marshal(l)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"rates_error":"the rates lack `)

	l, err = v.look(t.Context())
	require.NoError(t, err)
	require.Empty(t, l.Rates)
}

// Ctrl-C ends top with status 0 whatever it waits for: the connection, the reply to its first measure, or the reader of
// its output.
func TestTop_CtrlC_EndsEachWait(t *testing.T) {
	t.Parallel()
	interrupted := func(t *testing.T, p *process) {
		t.Helper()
		begin := time.Now()
		p.signal(t, syscall.SIGINT)
		assert.Equal(t, exitOK, p.status(t), p.err)
		assert.Less(t, time.Since(begin), inspect.Timeout-time.Second)
		assert.Empty(t, p.err.String())
	}
	t.Run("connection", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0") // it accepts and says nothing
		require.NoError(t, err)
		defer listener.Close()
		p := startCommand(t, urlOf(listener.Addr().String()), "top")
		c, err := listener.Accept()
		require.NoError(t, err)
		defer c.Close()
		interrupted(t, p)
	})
	t.Run("first reply", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		p := startCommand(t, urlOf(listener.Addr().String()), "top")
		client, err := listener.Accept()
		require.NoError(t, err)
		defer client.Close()
		server, err := net.Dial("tcp", redistest.Start(t).Addr())
		require.NoError(t, err)
		defer server.Close()
		go io.Copy(client, server)
		for chunk := make([]byte, 4096); ; { // all questions but the first one of the measure get their replies
			n, err := client.Read(chunk)
			require.NoError(t, err)
			if strings.Contains(string(chunk[:n]), "DBSIZE") {
				break
			}
			_, err = server.Write(chunk[:n])
			require.NoError(t, err)
		}
		interrupted(t, p)
	})
	t.Run("output", func(t *testing.T) {
		s := redistest.Start(t)
		reader, stdout, err := os.Pipe()
		require.NoError(t, err)
		defer reader.Close()
		defer stdout.Close()
		fillPipe(t, stdout)
		p := startWith(t, func(c *exec.Cmd) { c.Stdout = stdout }, urlOf(s.Addr()), "top", "--interval", "100ms")
		eventually(t, func() bool { return s.CommandCalls(t, "scan") > 0 }, "it has something to print")
		interrupted(t, p)
	})
}

// What the user may not ask is said, and no zero is shown for it.
func TestTop_InfoForbidden_IsSaid(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-info", "-dbsize")
	url := "redis://few:word@" + s.Addr()
	status, stdout, stderr := result(t, url, "top", "--once", "--interval", "100ms")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, "unknown version, nodes with keys: 1 ")
	assert.Contains(t, stdout, "locks 1   keys unknown, looked at 1\n")
	assert.Contains(t, stdout, "refused: DBSIZE: NOPERM")
	assert.Equal(t, 1, strings.Count(stdout, "refused: INFO: NOPERM"))
	assert.Contains(t, stdout, "commands unknown   scripts unknown   messages unknown\n")
	assert.Contains(t, stdout, other)
	_, stdout, _ = result(t, url, "top", "--once", "--interval", "100ms", "--json")
	assert.Contains(t, stdout, `"keys":-1,`)
	assert.Contains(t, stdout, `"refused":["DBSIZE: NOPERM`)
	assert.Contains(t, stdout, `"commands_per_second":-1,"scripts_per_second":-1,"published_per_second":-1,`)
	s.Do(t, "EVAL", `for i = 1, 3000 do redis.call('HSET', 'lock' .. i, ARGV[1], 1) end`, 0, other)
	_, stdout, _ = result(t, url, "top", "--once", "--interval", "100ms", "--sample", "1")
	assert.Regexp(t, `locks at least [1-9]`, stdout)
}

// Of more keys than the sample the number of locks is an estimate, and it asks no more keys than it was told to.
func TestTop_ManyKeys_AreSampled(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const script = `for i = 1, 20000 do redis.call('SET', 'key' .. i, 1)
		if i % 2 == 0 then redis.call('HSET', 'lock' .. i, ARGV[1], 1) end end`
	s.Do(t, "EVAL", script, 0, other) // 20 000 keys and 10 000 locks
	s.Do(t, "CONFIG", "RESETSTAT")
	status, stdout, stderr := result(t, urlOf(s.Addr()), "top", "--once", "--json", "--interval", "100ms", "--sample", "3000")
	assert.Equal(t, exitOK, status, stderr)
	var l look
	require.NoError(t, json.Unmarshal([]byte(stdout), &l))
	assert.False(t, l.Exact)
	assert.InDelta(t, 10_000, l.Locks, 1500)
	assert.InDelta(t, 3000, l.Looked, 600)
	assert.Less(t, s.CommandCalls(t, "type"), 4000)
	s.Do(t, "CONFIG", "RESETSTAT")
	_, _, _ = result(t, urlOf(s.Addr()), "top", "--once", "--json", "--interval", "100ms", "--sample", "20")
	assert.Less(t, s.CommandCalls(t, "type"), 200, "a small sample, too")
}

// A lock that was shown before, and is found again, is shown once.
func TestTop_Live_EachLockOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "once", other)
	p := startCommand(t, urlOf(s.Addr()), "top", "--interval", "100ms")
	eventually(t, func() bool { return strings.Count(p.out.String(), "WAITERS") >= 4 }, "too few pictures: %s", p.out)
	for _, picture := range strings.Split(p.out.String(), "WAITERS")[1:4] {
		assert.Equal(t, 1, strings.Count(picture, " once\n"), picture)
	}
}

// A lock that was shown and was unlocked since is not shown any more.
func TestTop_Live_UnlockedLock_Gone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "gone", other)
	takenBy(t, s, "stays", other)
	p := startCommand(t, urlOf(s.Addr()), "top", "--interval", "100ms")
	p.prints(t, " gone\n")
	s.Do(t, "DEL", "gone")
	last := ""
	eventually(t, func() bool {
		pictures := strings.Split(p.out.String(), "\nlocks ")
		if len(pictures) < 3 {
			return false
		}
		last = pictures[len(pictures)-2] // the newest may be in part
		return strings.HasPrefix(last, "1 ") && strings.Contains(last, " stays\n")
	}, "one lock is left: %s", p.out)
	assert.NotContains(t, last, " gone\n")
}

// The nodes' rates are added up. A server that was started again counts anew: it is not shown to have executed fewer
// commands than none.
func TestTop_ServerRestarted_CountsFromZero(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	l := &look{}
	l.addRates(inspect.Load{At: begin, Commands: 10, Scripts: 4, Published: 1}, inspect.Load{At: begin.Add(2 * time.Second), Commands: 30, Scripts: 10, Published: 3})
	want := look{Commands: 10, Scripts: 3, Published: 1}
	assert.Equal(t, want, *l)
	l.addRates(inspect.Load{At: begin, Commands: 500, Scripts: 500, Published: 500}, inspect.Load{At: begin.Add(time.Second), Commands: 3, Scripts: 2, Published: 1})
	assert.Equal(t, want, *l, "the node was started again")
	l.addRates(inspect.Load{At: begin}, inspect.Load{At: begin, Commands: 3})
	assert.Equal(t, want, *l, "no time has passed")
}

// Each look is at other keys, and again at the locks that were shown: in the end all are shown together.
func TestTop_ManyKeys_AllAreFound(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Do(t, "EVAL", `for i = 1, 10000 do redis.call('SET', 'key' .. i, 1) end`, 0)
	for i := range 8 {
		takenBy(t, s, fmt.Sprint("lock", i), other)
	}
	p := startCommand(t, urlOf(s.Addr()), "top", "--interval", "100ms", "--sample", "1000")
	eventually(t, func() bool {
		pictures := strings.Split(p.out.String(), "WAITERS")
		return strings.Count(pictures[len(pictures)-1], " lock") == 8
	}, "not all were found: %s", p.out)
}

// It shows what changes, goes on through an outage, and Ctrl-C ends it as it should.
func TestTop_Live_GoesOnUntilCtrlC(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startCommand(t, urlOf(s.Addr()), "top", "--interval", "100ms")
	p.prints(t, "locks 0   keys 0")
	takenBy(t, s, "a", other)
	p.prints(t, "locks 1   keys 1")
	p.prints(t, " a\n")
	require.NoError(t, s.Kill())
	p.prints(t, "refused")
	require.NoError(t, s.Restart())
	before := strings.Count(p.out.String(), "locks 0   keys 0")
	eventually(t, func() bool { return strings.Count(p.out.String(), "locks 0   keys 0") > before }, "it goes on: %s", p.out)
	assert.NotContains(t, p.out.String(), "\x1b", "it is no terminal")
	p.signal(t, syscall.SIGTERM)
	assert.Equal(t, exitOK, p.status(t), p.err)
	p = startCommand(t, urlOf(s.Addr()), "top", "--interval", "100ms")
	p.prints(t, "WAITERS")
	p.signal(t, syscall.SIGINT)
	assert.Equal(t, exitOK, p.status(t), p.err)
}

// On a terminal each picture takes the place of the one before.
func TestTop_Terminal_IsCleared(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	keyboard, device := terminal(t)
	startWith(t, func(c *exec.Cmd) { c.Stdout = device }, urlOf(s.Addr()), "top", "--interval", "100ms")
	text := make([]byte, 0, 1<<16)
	for deadline := time.Now().Add(patience); strings.Count(string(text), "\x1b[H\x1b[2J") < 3; {
		require.True(t, time.Now().Before(deadline), "it was cleared too few times: %q", text)
		part := make([]byte, 4096)
		n, err := keyboard.Read(part)
		require.NoError(t, err)
		text = append(text, part[:n]...)
	}
	assert.True(t, strings.HasPrefix(string(text), "\x1b[H\x1b[2J"))
}

// What cannot be printed is an error: a script that keeps the output must not take it for whole.
func TestOutput_DiskFull_Fails(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("needs /dev/full: %v", err)
	}
	defer full.Close()
	s := redistest.Start(t)
	for _, args := range []string{"state a", "state a --json", "ls", "engines", "top --once --interval 100ms", "top --interval 100ms"} {
		p := startWith(t, func(c *exec.Cmd) { c.Stdout = full }, urlOf(s.Addr()), strings.Fields(args)...)
		assert.Equal(t, exitFailed, p.status(t), args)
		assert.Contains(t, p.err.String(), "no space left on device", args)
	}
}

// A server that accepts connections and does not reply is named as one, from the first question on.
func TestCommands_SilentServer_SaySo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	require.NoError(t, s.Pause())
	for _, args := range []string{"state a", "ls", "top --once", "wait a --timeout 1s", "force a --yes"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			p := startCommand(t, urlOf(s.Addr()), strings.Fields(args)...)
			assert.Equal(t, exitFailed, p.status(t))
			assert.Regexp(t, "no reply within (5|2(\\.\\d)?)s", p.err.String()) // wait has a second beyond its timeout
			assert.NotContains(t, p.err.String(), "deadline")
		})
	}
}

// Only a look at all keys at once finds all locks: the last of several parts is not the whole.
func TestSample_InParts_IsNotWhole(t *testing.T) {
	t.Parallel()
	const keys = 2000
	server := redistest.Start(t)
	server.Do(t, "EVAL", "for i = 1, tonumber(ARGV[1]) do redis.call('SET', 'k' .. i, '') end", "0", keys)
	s, err := inspect.Open(t.Context(), rueidis.ClientOption{InitAddress: []string{server.Addr()}}, "")
	require.NoError(t, err)
	defer s.Close()
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
	from, keysOfParts := uint64(0), 0
	for range 8 {
		part, err := s.Sample(t.Context(), nodes[0], from, keys/4)
		require.NoError(t, err)
		assert.False(t, part.Whole)
		assert.InDelta(t, keys/4, part.Keys, keys/20, "also the part that comes to the end")
		from, keysOfParts = part.Next, keysOfParts+part.Keys
	}
	assert.GreaterOrEqual(t, keysOfParts, 2*keys)
	for _, from := range []uint64{0, from} {
		all, err := s.Sample(t.Context(), nodes[0], from, 2*keys)
		require.NoError(t, err)
		assert.True(t, all.Whole)
		assert.Equal(t, keys, all.Keys)
	}
}

// A sample that comes to the end of the keys goes on at the beginning. It is as large as any other, so an estimate does
// not swing, and it has no lock twice.
func TestSample_AtTheEnd_GoesOnAtTheStart(t *testing.T) {
	t.Parallel()
	const locks, size = 510, 500
	server := redistest.Start(t)
	server.Do(t, "EVAL", "for i = 1, tonumber(ARGV[2]) do redis.call('HSET', 'k' .. i, ARGV[1], 1) end", "0", other, locks)
	s, err := inspect.Open(t.Context(), rueidis.ClientOption{InitAddress: []string{server.Addr()}}, "")
	require.NoError(t, err)
	defer s.Close()
	nodes, err := s.Nodes(t.Context())
	require.NoError(t, err)
	from := uint64(0)
	for range 4 {
		part, err := s.Sample(t.Context(), nodes[0], from, size)
		require.NoError(t, err)
		names := make(map[string]bool)
		for _, l := range part.Locks {
			names[l.Name] = true
		}
		require.GreaterOrEqual(t, part.Keys, size)
		require.Len(t, part.Locks, part.Keys)
		require.Len(t, names, part.Keys)
		from = part.Next
	}
}
