//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/cmd/lockwheel/internal/inspect"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// enginesOf reads a JSON object a line.
func enginesOf(t *testing.T, text string) (engines []inspect.Engine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e inspect.Engine
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		engines = append(engines, e)
	}
	return engines
}

// holding starts a run that holds a lock, has its record written and listens to its own channel.
func holding(t *testing.T, s *redistest.Server, args ...string) *process {
	t.Helper()
	p := startCommand(t, urlOf(s.Addr()), append(args, "--", "sh", "-c", untilInputEnds)...)
	p.prints(t, "started")
	eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) > 0 }, "it listens")
	eventually(t, func() bool { return len(s.Strings(t, "KEYS", "*lockwheel:engine:*")) > 0 }, "it has a record")
	return p
}

// A prefix is text, also with characters that mean something in a pattern.
func TestEngines_PrefixWithPattern_Listed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const prefix = `a[b\*:`
	p := holding(t, s, "run", "a", "--prefix", prefix)
	status, stdout, stderr := result(t, urlOf(s.Addr()), "--prefix", prefix, "engines", "--json")
	assert.Equal(t, exitOK, status, stderr)
	engines := enginesOf(t, stdout)
	require.Len(t, engines, 1)
	assert.Equal(t, p.cmd.Process.Pid, engines[0].PID)
}

func TestEngines_RunningProcess_Listed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	began := time.Now()
	p := holding(t, s, "run", "a", "--prefix", "my:")
	for i := range 2000 {
		s.Do(t, "HSET", fmt.Sprint("filler", i), "name", i)
	}
	s.Do(t, "HSET", "lockwheel:engine:11111111-2222-3333-4444-555555555555", "pid", "12", "name", "odd \x1b[31m", "host", strings.Repeat("h", 5000))
	s.Do(t, "HSET", "lockwheel:engine:33333333-2222-3333-4444-555555555555", "pid", "12", "name", "long", "host", strings.Repeat("h", 1<<20))
	s.Do(t, "HSET", "lockwheel:engine:not-an-id", "pid", "12", "name", "none")
	s.Do(t, "HSET", "lockwheel:engine:22222222-2222-3333-4444-555555555555", "foreign", "hash")
	status, stdout, stderr := result(t, urlOf(s.Addr()), "--prefix", "my:", "engines", "--json")
	assert.Equal(t, exitOK, status, stderr)
	engines := enginesOf(t, stdout)
	require.Len(t, engines, 1)
	host, _ := os.Hostname()
	e := engines[0]
	assert.Equal(t, p.cmd.Process.Pid, e.PID)
	assert.Equal(t, host, e.Host)
	assert.Equal(t, filepath.Base(os.Args[0]), e.Program)
	assert.Equal(t, fmt.Sprintf("%s@%s:%d", filepath.Base(os.Args[0]), host, e.PID), e.Name)
	assert.Equal(t, "my:", e.Prefix)
	assert.NotEmpty(t, e.Version)
	started, err := time.Parse(time.RFC3339, e.Started)
	require.NoError(t, err)
	assert.WithinRange(t, started, began.Add(-2*time.Second), time.Now())
	assert.GreaterOrEqual(t, e.Renewed, int64(0))
	assert.Less(t, e.Renewed, time.Since(began).Milliseconds()+1000)

	status, stdout, _ = result(t, urlOf(s.Addr()), "engines", "--json")
	assert.Equal(t, exitOK, status)
	assert.Len(t, enginesOf(t, stdout), 2, "of any prefix")
	status, stdout, _ = result(t, urlOf(s.Addr()), "engines")
	assert.Equal(t, exitOK, status)
	assert.Contains(t, stdout, "RENEWED")
	assert.Contains(t, stdout, e.Name)
	assert.Regexp(t, e.ID+`  my: +`+regexp.QuoteMeta(e.Name), stdout)
	assert.Contains(t, stdout, "PREFIX")
	assert.NotContains(t, stdout, "\x1b")
	assert.NotContains(t, stdout, strings.Repeat("h", 2000))
	assert.Zero(t, s.CommandCalls(t, "hgetall"))

	p.in.Close()
	assert.Equal(t, exitOK, p.status(t))
	assert.Empty(t, s.Strings(t, "KEYS", "my:*"), "its end deletes the record")
}

// The table has the ids with which the ids of holders begin, and no column for prefixes if there is none.
func TestEngines_NoPrefix_IDOnly(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holding(t, s, "run", "a")
	_, listed, _ := result(t, urlOf(s.Addr()), "ls", "--json")
	status, stdout, stderr := result(t, urlOf(s.Addr()), "engines")
	assert.Equal(t, exitOK, status, stderr)
	id, _, _ := strings.Cut(locksOf(t, listed)[0].Holders[0].ID, ":")
	assert.Contains(t, stdout, " "+id+" ")
	assert.NotContains(t, stdout, "PREFIX")
}

// A name that was copied from the list of all locks has the prefix of its engine, which has its record below that.
func TestState_NameWithPrefix_EngineNamed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := holding(t, s, "run", "px", "--prefix", "app1:")
	status, stdout, stderr := resultAnswered(t, urlOf(s.Addr()), "state", "app1:px")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, fmt.Sprintf("pid %d, ", p.cmd.Process.Pid))
	assert.Contains(t, stdout, "    since   2")
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~app1:*", "allchannels", "+@all") // not the record without the prefix
	_, stdout, _ = result(t, "redis://few:word@"+s.Addr(), "state", "--json", "app1:px")
	h := locksOf(t, stdout)[0].Holders[0]
	require.NotNil(t, h.Engine)
	assert.Equal(t, "app1:", h.Engine.Prefix)
	assert.Empty(t, h.EngineError)
}

func TestEngines_Forbidden_Said(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holding(t, s, "run", "a")
	s.Do(t, "ACL", "SETUSER", "few", "on", ">word", "~orders/*", "allchannels", "+@all")
	status, stdout, stderr := result(t, "redis://few:word@"+s.Addr(), "engines", "--json")
	assert.Equal(t, exitOK, status)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "records that this user may not read: 1\n")
	s.Do(t, "ACL", "SETUSER", "few", "-hmget")
	status, _, stderr = result(t, "redis://few:word@"+s.Addr(), "engines")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, stderr, "NOPERM")
}

// After a failover an address can be that of a replica. A healthy engine looks silent there, so the command says what
// it asked.
func TestState_AtReplica_Warned(t *testing.T) {
	t.Parallel()
	master, replica := redistest.Start(t), redistest.Start(t)
	holding(t, master, "run", "a")
	replica.Do(t, "REPLICAOF", "127.0.0.1", fmt.Sprint(master.Port()))
	eventually(t, func() bool { return replica.Do(t, "EXISTS", "a") == int64(1) }, "it has the lock")
	for _, args := range [][]string{{"state", "a"}, {"ls"}, {"engines"}, {"top", "--once", "--interval", "100ms"}, {"wait", "a", "--timeout", "0"}} {
		_, _, stderr := result(t, urlOf(replica.Addr()), args...)
		assert.Contains(t, stderr, replica.Addr()+" is a replica", args)
		_, _, stderr = result(t, urlOf(master.Addr()), args...)
		assert.NotContains(t, stderr, "replica", args)
	}
}

// A user that may not ask an engine must not be told that the engine is silent: it is well.
func TestState_QuestionForbidden_SaysSo(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holding(t, s, "run", "a")
	for _, command := range []string{"subscribe", "publish"} {
		s.Do(t, "ACL", "SETUSER", "few", "reset", "on", ">word", "allkeys", "allchannels", "+@all", "-"+command)
		status, stdout, stderr := result(t, "redis://few:word@"+s.Addr(), "state", "a")
		assert.Equal(t, exitOK, status, stderr)
		assert.Regexp(t, `since   unknown: its engine could not be asked: NOPERM .*`+command, stdout)
	}
}

func TestState_HeldByProcess_NamedWithSince(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	began := time.Now()
	p := holding(t, s, "run", "a", "--read")
	startCommand(t, urlOf(s.Addr()), "run", "a", "--read", "--", "sh", "-c", untilInputEnds).prints(t, "started")
	eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) == 2 }, "both listen")
	eventually(t, func() bool { return len(s.Strings(t, "KEYS", "lockwheel:engine:*")) == 2 }, "both have a record")
	status, stdout, stderr := resultAnswered(t, urlOf(s.Addr()), "state", "a", "--json")
	replied := time.Now()
	assert.Equal(t, exitOK, status, stderr)
	l := locksOf(t, stdout)[0]
	require.Len(t, l.Holders, 2)
	pids := map[int]bool{}
	for _, h := range l.Holders {
		require.NotNil(t, h.Engine)
		assert.Equal(t, h.ID[:36], h.Engine.ID)
		since, err := time.Parse(time.RFC3339Nano, h.Since)
		require.NoError(t, err)
		assert.WithinRange(t, since, began.Add(-10*time.Millisecond), replied)
		pids[h.Engine.PID] = true
	}
	assert.True(t, pids[p.cmd.Process.Pid])
	assert.Len(t, pids, 2)
	_, stdout, _ = resultAnswered(t, urlOf(s.Addr()), "state", "a")
	host, _ := os.Hostname()
	assert.Contains(t, stdout, fmt.Sprintf("program %s, host %s, pid %d, ", filepath.Base(os.Args[0]), host, p.cmd.Process.Pid))
	assert.NotContains(t, stdout, "unknown")
	assert.Regexp(t, `since   2\S+ \(\d`, stdout, "it was before")

	// An engine says that it does not hold what it has given back: that is no time since when.
	takenBy(t, s, "c", l.Holders[0].Engine.ID+":999")
	_, stdout, _ = result(t, urlOf(s.Addr()), "state", "c", "--json")
	gone := locksOf(t, stdout)[0].Holders[0]
	assert.NotNil(t, gone.Engine)
	assert.Empty(t, gone.Since)

	// An engine that is stopped does not reply.
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	_, stdout, _ = result(t, urlOf(s.Addr()), "state", "a")
	assert.Contains(t, stdout, "since   unknown: its engine did not reply\n")

	// Nor is the program of a holder known that has no record.
	takenBy(t, s, "b", other)
	_, stdout, _ = result(t, urlOf(s.Addr()), "state", "b")
	assert.Contains(t, stdout, "count 1\n    engine  unknown: it has no record\n")
}

// Since when a lock is held is unknown for two reasons, and the operator has to do something else for each.
func TestIdentityOf_SinceUnknown_SaysWhy(t *testing.T) {
	for want, h := range map[string]inspect.Holder{
		"unknown: its engine did not reply":                                 {},
		"unknown: its engine does not hold it":                              {NotHeld: true},
		"unknown: its engine was not asked, as those of other holders were": {NotAsked: true},
		"unknown: its engine could not be asked: NOPERM ...":                {SinceError: "NOPERM ..."},
	} {
		h.Engine = &inspect.Engine{}
		_, since := identityOf(&h)
		assert.Equal(t, want, since)
	}
}

// A restart or a failover can lose an unlock. The engine that the key names is well, and replies that it does not hold
// the lock: the operator has nothing to wait for.
func TestState_UnlockLostByServer_SaysNotHeld(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := holding(t, s, "run", "a")
	eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) == 1 }, "it listens")
	eventually(t, func() bool { return len(s.Strings(t, "KEYS", "lockwheel:engine:*")) == 1 }, "it has a record")
	owner := s.Strings(t, "HKEYS", "a")[0]
	s.Do(t, "HSET", "left", owner, "1") // "a" has this owner; no hold of "left" has it
	s.Do(t, "PEXPIRE", "left", "7000000")
	eventually(t, func() bool { // on a busy machine an answer may come too late
		status, stdout, stderr := result(t, urlOf(s.Addr()), "state", "left")
		require.Equal(t, exitOK, status, stderr)
		require.Contains(t, stdout, fmt.Sprintf("pid %d, ", p.cmd.Process.Pid))
		return strings.Contains(stdout, "    since   unknown: its engine does not hold it\n")
	}, "it says that it does not hold the lock")
	eventually(t, func() bool {
		_, stdout, _ := result(t, urlOf(s.Addr()), "state", "--json", "left", "a")
		left, held := locksOf(t, stdout)[0].Holders[0], locksOf(t, stdout)[1].Holders[0]
		require.Empty(t, left.Since)
		require.False(t, held.NotHeld)
		return left.NotHeld && held.Since != ""
	}, "both are answered")

	// Nor is an engine that does not reply one that does not hold it.
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGSTOP))
	_, stdout, _ := result(t, urlOf(s.Addr()), "state", "--json", "left")
	assert.NotContains(t, stdout, "not_held")
}

// Of very many readers only some are asked since when they read: each question is a connection.
func TestState_ManyReaders_FewAreAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	engine, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr()}}})
	require.NoError(t, err)
	defer engine.Close()
	for range 12 {
		_, err := engine.RWMutex("a").RLocker().Lock(t.Context())
		require.NoError(t, err)
	}
	eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) == 1 }, "it listens")
	eventually(t, func() bool { return len(s.Strings(t, "KEYS", "lockwheel:engine:*")) == 1 }, "it has a record")
	eventually(t, func() bool {
		status, stdout, stderr := result(t, urlOf(s.Addr()), "state", "a", "--json")
		require.Equal(t, exitOK, status, stderr)
		told := 0
		for _, h := range locksOf(t, stdout)[0].Holders {
			require.NotNil(t, h.Engine)
			if h.Since != "" {
				told++
			}
		}
		require.LessOrEqual(t, told, 8)
		return told == 8 // on a busy machine an answer may come too late
	}, "as many as are asked answer")
}

// A force ends the hold of another process at once: its lease and its renewals are too long to help.
func TestForce_OtherProcess_ToldAtOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, flag := range []string{"--lease=10m", "--fair", "--write", "--read"} {
		p := holding(t, s, "run", "a", flag, "--lease", "10m", "--grace", "0")
		status, stdout, stderr := result(t, urlOf(s.Addr()), "force", "a", "--yes")
		began := time.Now()
		assert.Equal(t, exitOK, status, stderr)
		assert.Contains(t, stdout, "taken away; right before, it was held by ")
		assert.Equal(t, exitLost, p.status(t), p.err)
		t.Logf("%s: the program of the former holder had ended %v after the command had", flag, time.Since(began).Round(time.Microsecond))
		assert.Contains(t, p.err.String(), "lost")
		eventually(t, func() bool { return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) == 0 }, "it is gone")
		s.Do(t, "FLUSHALL")
	}
}

// The table has what the records have, each in its column.
func TestEngines_Table_HasEachField(t *testing.T) {
	t.Parallel()
	record := inspect.Engine{
		ID: "11111111-2222-3333-4444-555555555555", Prefix: "my:", Name: "a name", Program: "prog", Host: "host-7", PID: 4711, Version: "v1.2.3",
		Started: "2026-11-24T08:03:11Z", Page: "http://host-7/", Renewed: 1500,
	}
	odd := inspect.Engine{ID: "22222222-2222-3333-4444-555555555555", Name: "\x1b[31m", Renewed: -1}
	fresh := inspect.Engine{ID: "33333333-2222-3333-4444-555555555555", Renewed: 0}
	var table strings.Builder
	require.NoError(t, printEngines(&table, []inspect.Engine{record, odd, fresh}))
	var rows [][]string
	head, _, _ := strings.Cut(table.String(), "\n")
	for line := range strings.Lines(table.String()) {
		assert.Equal(t, " ", line[strings.Index(head, "PAGE")-1:][:1], line)
		assert.NotEqual(t, " ", line[strings.Index(head, "PAGE"):][:1], "each page begins below its head")
		rows = append(rows, strings.Fields(line))
	}
	assert.Equal(t, [][]string{
		{"RENEWED", "STARTED", "PID", "HOST", "PROGRAM", "VERSION", "ID", "PREFIX", "NAME", "PAGE"},
		{"1.5s", record.Started, "4711", "host-7", "prog", "v1.2.3", record.ID, "my:", "a", "name", "http://host-7/"},
		{"-", "-", "0", odd.ID, "-", `"\x1b[31m"`, "-"},
		{"0s", "-", "0", fresh.ID, "-", "-"},
	}, rows)

	who, since := identityOf(&inspect.Holder{Engine: &record, Since: time.Now().Add(-time.Hour).Format(time.RFC3339Nano)})
	assert.Equal(t, "a name: program prog, host host-7, pid 4711, started 2026-11-24T08:03:11Z, page http://host-7/", who)
	assert.Regexp(t, `^2\S+ \(1h0m\d`, since)
}
