//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// lockable is a lock of any kind.
type lockable interface {
	Lock(context.Context, ...lockwheel.Option) (*lockwheel.Hold, error)
	LockAsync(context.Context, ...lockwheel.Option) *lockwheel.Pending
}

// opened opens an engine in this process.
func opened(t *testing.T, s *redistest.Server, o lockwheel.Options) *lockwheel.Engine {
	t.Helper()
	o.Redis = rueidis.ClientOption{InitAddress: []string{s.Addr()}}
	engine, err := lockwheel.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { engine.Close() })
	return engine
}

// waits has that many calls of an engine wait for what lock locks, until the test ends.
func waits(t *testing.T, engine *lockwheel.Engine, calls int, lock lockable) {
	t.Helper()
	before := engine.Stats().Waiting
	for range calls {
		p := lock.LockAsync(t.Context())
		t.Cleanup(func() { p.Cancel() })
	}
	eventually(t, func() bool { return engine.Stats().Waiting == before+int64(calls) }, "they wait")
}

// stateWaiters returns what state says of the waiters of a lock once that many engines can be asked.
func stateWaiters(t *testing.T, url, name string, engines int) (w *inspect.Waiters) {
	t.Helper()
	eventually(t, func() bool {
		status, stdout, stderr := result(t, url, "state", name, "--waiters", "--json")
		require.Equal(t, exitOK, status, stderr)
		w = locksOf(t, stdout)[0].Waiters
		require.NotNil(t, w)
		return w.Replied == engines // a record is written and a channel listened to a moment after the engine is opened
	}, "%d engines reply", engines)
	return w
}

// stateText returns what state --waiters prints once that many engines reply.
func stateText(t *testing.T, url string, engines int, args ...string) (stdout string) {
	t.Helper()
	eventually(t, func() bool {
		status, out, stderr := result(t, url, append([]string{"state", "--waiters"}, args...)...)
		require.Equal(t, exitOK, status, stderr)
		stdout = out
		return strings.Count(out, fmt.Sprintf("; engines that replied: %d\n", engines)) == strings.Count(out, "\n  waiters ")
	}, "%d engines reply", engines)
	return stdout
}

// Processes that only wait are named, with how many of their callers wait, and since when. The holder is none of them.
func TestStateWaiters_OtherProcesses_Named(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holder := holding(t, s, "run", "a")
	began := time.Now()
	var waiting []*process
	for range 2 {
		waiting = append(waiting, startCommand(t, urlOf(s.Addr()), "run", "a", "--", "true"))
		eventually(t, func() bool {
			return len(s.Strings(t, "PUBSUB", "CHANNELS", "lockwheel:engine:*")) == 1+len(waiting)
		}, "it listens although it was granted nothing")
	}
	w := stateWaiters(t, urlOf(s.Addr()), "a", 3)
	replied, came := time.Now(), time.Time{}
	require.Len(t, w.Engines, 2)
	host, _ := os.Hostname()
	for i, e := range w.Engines {
		assert.Equal(t, waiting[i].cmd.Process.Pid, e.Engine.PID, "the longest wait comes first")
		assert.Equal(t, host, e.Engine.Host)
		assert.Equal(t, filepath.Base(os.Args[0]), e.Engine.Program)
		assert.Equal(t, 1, e.Waiting)
		assert.False(t, e.AtLeast)
		assert.False(t, e.NoReply)
		since, err := time.Parse(time.RFC3339Nano, e.Since)
		require.NoError(t, err)
		assert.WithinRange(t, since, began.Add(-10*time.Millisecond), replied)
		if i == 0 {
			came = since
		}
	}
	assert.Zero(t, w.OtherClients)
	assert.Zero(t, w.NotListening)
	assert.Empty(t, w.Error)

	a, b, _ := strings.Cut(stateText(t, urlOf(s.Addr()), 3, "a", "b"), "b\n  kind ")
	assert.Contains(t, a, "\n  waiters   callers that wait: 2; engines that replied: 3\n            WAITING  FOR               PID  HOST             PROGRAM          NAME\n")
	program := filepath.Base(os.Args[0])
	for _, p := range waiting {
		assert.Regexp(t, fmt.Sprintf(`\n +1 +\d\S*s +%d  %s +%s +%s@%s:%d\n`, p.cmd.Process.Pid, host, program, program, host, p.cmd.Process.Pid), a)
	}
	assert.NotContains(t, a, "other clients")
	assert.Contains(t, b, "\n  waiters   callers that wait: 0; engines that replied: 3\n")
	assert.NotContains(t, b, "WAITING")

	// One that is stopped listens, so it is named. For how long the others have waited does not depend on it.
	require.NoError(t, waiting[1].cmd.Process.Signal(syscall.SIGSTOP))
	asked := time.Now()
	w = stateWaiters(t, urlOf(s.Addr()), "a", 2)
	assert.GreaterOrEqual(t, time.Since(asked), time.Second)
	require.Len(t, w.Engines, 2)
	assert.False(t, w.Engines[0].NoReply)
	since, err := time.Parse(time.RFC3339Nano, w.Engines[0].Since)
	require.NoError(t, err)
	assert.WithinDuration(t, came, since, 900*time.Millisecond, "the time for replies is none that it has not waited")
	assert.Equal(t, inspect.Waiter{Engine: w.Engines[1].Engine, NoReply: true}, w.Engines[1])
	assert.Equal(t, waiting[1].cmd.Process.Pid, w.Engines[1].Engine.PID)
	assert.EqualValues(t, 1, w.OtherClients, "its own subscription is not accounted for")
	stdout := stateText(t, urlOf(s.Addr()), 2, "a")
	assert.Contains(t, stdout, "\n  waiters   callers that wait: 1+; engines that replied: 2\n")
	assert.Regexp(t, fmt.Sprintf(`\n +unknown  did not reply +%d  `, waiting[1].cmd.Process.Pid), stdout)
	assert.Contains(t, stdout, "\n            other clients that listen: 1\n")
	require.NoError(t, waiting[1].cmd.Process.Signal(syscall.SIGCONT))
	holder.in.Close()
	for _, p := range append(waiting, holder) {
		assert.Equal(t, exitOK, p.status(t), p.err)
	}
}

// Callers are counted for each kind of lock, also for several locks at once, and beside a holder of the same engine.
// Other clients that listen, such as those of Redisson, are a number.
func TestStateWaiters_EachKind_Counted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	const prefix = "app:"
	holder, waiter := opened(t, s, lockwheel.Options{Name: "holds", Prefix: prefix}), opened(t, s, lockwheel.Options{Name: "waits", Prefix: prefix})
	idle := opened(t, s, lockwheel.Options{Name: "idle", Prefix: prefix})
	polls := opened(t, s, lockwheel.Options{Name: "polls", Prefix: prefix, Notify: lockwheel.Poll})
	for _, lock := range []lockable{holder.Mutex("plain"), holder.FairMutex("fair"), holder.RWMutex("rw"), holder.Mutex("other")} {
		_, err := lock.Lock(t.Context())
		require.NoError(t, err)
	}
	waits(t, waiter, 3, waiter.Mutex("plain"))
	waits(t, holder, 1, holder.Mutex("plain"))
	waits(t, waiter, 4, waiter.FairMutex("fair"))
	waits(t, waiter, 5, waiter.RWMutex("rw").RLocker())
	waits(t, waiter, 2, waiter.RWMutex("rw"))
	waits(t, polls, 1, polls.Mutex("plain"))
	ctx := t.Context()
	go waiter.Multi(waiter.Mutex("free"), waiter.Mutex("other")).Lock(ctx)
	s.Subscribe(t, "redisson_lock__channel:{app:plain}")
	eventually(t, func() bool { return len(s.Strings(t, "KEYS", prefix+"lockwheel:engine:*")) == 4 }, "all have a record")
	count := func(name string) map[string]int {
		found := map[string]int{}
		for _, e := range stateWaiters(t, urlOf(s.Addr()), prefix+name, 2).Engines {
			assert.Equal(t, prefix, e.Engine.Prefix)
			found[e.Engine.Name] = e.Waiting
		}
		return found
	}
	eventually(t, func() bool { return count("other")["waits"] == 1 }, "the call for two locks waits for the held one")
	assert.Equal(t, map[string]int{"waits": 3, "holds": 1}, count("plain"))
	assert.Equal(t, map[string]int{"waits": 4}, count("fair"))
	assert.Equal(t, map[string]int{"waits": 7}, count("rw"))
	assert.Empty(t, count("free"))
	w := stateWaiters(t, urlOf(s.Addr()), prefix+"plain", 2)
	assert.EqualValues(t, 1, w.OtherClients, "the client that is no engine")
	assert.Equal(t, 2, w.NotListening, "one that polls, and one without a lock")
	stdout := stateText(t, urlOf(s.Addr()), 2, "--prefix", prefix, "plain")
	for _, want := range []string{
		"  waiting   clients that listen: 3; in the fair queue: 0\n  waiters   callers that wait: 4; engines that replied: 2\n", "\n            other clients that listen: 1\n",
		"\n            engines that cannot be asked, because they do not listen: 2\n",
	} {
		assert.Contains(t, stdout, want)
	}
	assert.NotContains(t, stateText(t, urlOf(s.Addr()), 0, "--prefix", "none:", "plain"), "cannot be asked", "of another prefix")
	assert.Zero(t, idle.Stats().Acquired)

	// A string at the key is the lock of another library, for which an engine may wait as well.
	foreign := opened(t, s, lockwheel.Options{Name: "foreign", Prefix: prefix, Foreign: true})
	s.Do(t, "SET", prefix+"string", "x", "PX", 600_000)
	waits(t, foreign, 1, foreign.Mutex("string"))
	eventually(t, func() bool {
		return stateWaiters(t, urlOf(s.Addr()), prefix+"string", 3).Engines[0].Engine.Name == "foreign"
	}, "it is named")
}

// Without a permission the command says what is missing, and tells the rest.
func TestStateWaiters_Forbidden_SaysWhy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	holding(t, s, "run", "a")
	startCommand(t, urlOf(s.Addr()), "run", "a", "--", "true")
	stateWaiters(t, urlOf(s.Addr()), "a", 2)
	for rule, want := range map[string]string{
		"-publish": "could not be asked: NOPERM", "-subscribe": "could not be asked: NOPERM", "resetchannels": "could not be asked: NOPERM",
		"-scan": "could not be listed: NOPERM", "-hmget": "could not be listed: NOPERM",
	} {
		s.Do(t, "ACL", "SETUSER", "few", "reset", "on", ">word", "allkeys", "allchannels", "+@all", rule)
		status, stdout, stderr := result(t, "redis://few:word@"+s.Addr(), "state", "a", "--waiters")
		assert.Equal(t, exitOK, status, stderr)
		assert.Contains(t, stdout, "\n  waiters   unknown: the engines "+want, rule)
		assert.NotContains(t, stdout, "word")
		assert.NotContains(t, stdout, "WAITING", "no engine is to blame")
		assert.Contains(t, stdout, "  TTL  ")
	}
	s.Do(t, "ACL", "SETUSER", "few", "reset", "on", ">word", "~a", "allchannels", "+@all")
	_, stdout, _ := result(t, "redis://few:word@"+s.Addr(), "state", "a", "--waiters")
	assert.Contains(t, stdout, "\n            records of engines that this user may not read: 2\n")

	// Who listens is not known without PUBSUB: all engines are asked, and other clients are not a number.
	s.Do(t, "ACL", "SETUSER", "few", "reset", "on", ">word", "allkeys", "allchannels", "+@all", "-pubsub")
	w := stateWaiters(t, "redis://few:word@"+s.Addr(), "a", 2)
	assert.Len(t, w.Engines, 1)
	assert.EqualValues(t, -1, w.OtherClients)
	assert.Empty(t, w.Error)
}

// In a cluster the engines are asked wherever their records and the lock are.
func TestStateWaiters_Cluster_AnySlot(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	url := urlOf(c.Nodes[0].Addr())
	for i, name := range c.SpreadKeys("lock", 3) {
		takenBy(t, c.Master(t, c.Slot(t, name)), name, other)
		p := startCommand(t, url, "run", name, "--", "true")
		w := stateWaiters(t, url, name, i+1)
		require.Len(t, w.Engines, 1)
		assert.Equal(t, p.cmd.Process.Pid, w.Engines[0].Engine.PID)
		assert.Equal(t, 1, w.Engines[0].Waiting)
		eventually(t, func() bool { return stateWaiters(t, url, name, i+1).OtherClients == 0 }, "it says which channel is its own")
		assert.Empty(t, w.Error)
	}
}

// Of very many records some are asked, and that is said.
func TestStateWaiters_ManyEngines_SomeAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	takenBy(t, s, "a", other)
	for i := range inspect.MaxAsked + 5 {
		s.Do(t, "HSET", fmt.Sprintf("lockwheel:engine:11111111-2222-3333-4444-%012d", i), "pid", "12", "name", "n")
	}
	status, stdout, stderr := result(t, urlOf(s.Addr()), "state", "a", "--waiters")
	assert.Equal(t, exitOK, status, stderr)
	assert.Contains(t, stdout, "engines that cannot be asked, because they do not listen: 1000\n")
	assert.Contains(t, stdout, "there are more engines: only 1000 are asked\n")
	w := stateWaiters(t, urlOf(s.Addr()), "a", 0)
	assert.True(t, w.NotAsked)
	assert.Empty(t, w.Error)
}

// The table says "at least" if an engine did not look at all, and nothing in it moves the cursor.
func TestDescribeWaiters_Odd_Printed(t *testing.T) {
	l := &inspect.Lock{Name: "a", Kind: inspect.Free, Waiters: &inspect.Waiters{
		Engines: []inspect.Waiter{
			{Engine: inspect.Engine{Name: "\x1b[31m", PID: 7}, Waiting: 1024, AtLeast: true, Since: time.Now().Add(-time.Hour).Format(time.RFC3339Nano)},
			{Engine: inspect.Engine{Name: "n"}, AtLeast: true},
		}, Replied: 2, OtherClients: -1, Error: "first\nsecond",
	}}
	var text strings.Builder
	require.NoError(t, describe(&text, l))
	assert.Contains(t, text.String(), "\n  waiters   callers that wait: 1024+; engines that replied: 2\n")
	assert.Regexp(t, `\n +1024\+ +1h0m0\S+ +7 +"\\x1b\[31m"\n +0\+ +- +0 +n\n +incomplete: "first\\nsecond"\n$`, text.String())
	assert.NotContains(t, text.String(), "\x1b")
	assert.Equal(t, "5+", callers(&inspect.Waiters{Engines: []inspect.Waiter{{Waiting: 5}}, Replied: 1, Error: "the connection broke"}), "engines are missing")
}
