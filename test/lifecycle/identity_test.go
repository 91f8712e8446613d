package lifecycle_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// recordOf returns the fields of an engine's record.
func recordOf(s *locktest.Server, prefix, id string) map[string]string {
	return s.Hash(prefix + "lockwheel:engine:" + id)
}

// recordWritten waits for the record of an engine.
func recordWritten(t *testing.T, s *locktest.Server, prefix, id string) (record map[string]string) {
	t.Helper()
	locktest.Eventually(t, "a record", func() bool {
		record = recordOf(s, prefix, id)
		return len(record) > 0
	})
	return record
}

func TestRecord_Open_SaysWho(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"", "orders/"} {
		s := locktest.AnyServer(t)
		began := time.Now().Add(-time.Second)
		e := s.Open(lockwheel.Options{Name: "billing", Prefix: prefix, PageAddress: "http://host-7:8080/locks"})
		r := recordWritten(t, s, prefix, e.ID())
		host, _ := os.Hostname()
		started, err := time.Parse(time.RFC3339, r["started"])
		require.NoError(t, err)
		require.WithinRange(t, started, began.Add(-time.Second), time.Now())
		require.NotEmpty(t, r["version"])
		delete(r, "started")
		delete(r, "version")
		require.Equal(t, map[string]string{
			"name": "billing", "program": filepath.Base(os.Args[0]), "host": host, "pid": strconv.Itoa(os.Getpid()),
			"page": "http://host-7:8080/locks", "ttl_ms": "45000",
		}, r)
		ttl := s.Do("PTTL", prefix+"lockwheel:engine:"+e.ID()).(int64)
		require.Greater(t, ttl, int64(0))
		require.LessOrEqual(t, ttl, int64(45_000))
		require.NoError(t, e.Close())
		require.EqualValues(t, 0, s.Do("DBSIZE"), "Close deletes it")
		require.Zero(t, e.Stats().UnwrittenRecords)
	}
}

func TestRecord_DefaultName_ProgramHostProcess(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, ForceSingleClient: true}})
	require.NoError(t, err)
	defer e.Close()
	host, _ := os.Hostname()
	require.Equal(t, filepath.Base(os.Args[0])+"@"+host+":"+strconv.Itoa(os.Getpid()), recordWritten(t, s, "", e.ID())["name"])
}

// The server shows the engine's name, and no credentials, whatever the URL and the name have in them.
func TestClientName_OddCharacters_Replaced(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "worker", "on", ">s3cret-word", "allkeys", "allchannels", "+@all")
	redis, err := lockwheel.ParseURL("redis://worker:s3cret-word@" + s.Addr)
	require.NoError(t, err)
	e := locktest.OpenRetrying(t, lockwheel.Options{Redis: redis, Name: "größe \n\"7\" <x>"})
	locktest.Lock(t, e.Mutex("n"))
	require.Equal(t, "größe \n\"7\" <x>", recordWritten(t, s, "", e.ID())["name"])
	list := s.Real.String(t, "CLIENT", "LIST")
	require.Contains(t, list, ` name=gr__e__"7"_<x> `)
	locktest.Eventually(t, "both connections are named", func() bool {
		return strings.Count(s.Real.String(t, "CLIENT", "LIST"), ` name=gr__e__"7"_<x> `) == 2
	})
	for _, value := range recordOf(s, "", e.ID()) {
		require.NotContains(t, value, "s3cret")
		require.NotContains(t, value, "worker")
	}
	require.NotContains(t, list, "s3cret")
	named := locktest.OpenRetrying(t, lockwheel.Options{Name: "engine", Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, ClientName: "mine"}})
	recordWritten(t, s, "", named.ID())
	list = s.Real.String(t, "CLIENT", "LIST")
	require.Contains(t, list, " name=mine ")
	require.NotContains(t, list, " name=engine ")
}

func TestAnonymous_Open_SaysNothing(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{Name: "billing", Anonymous: true})
	locktest.Lock(t, e.Mutex("n"))
	locktest.Always(t, 100*time.Millisecond, "only the lock", func() bool {
		return s.Do("DBSIZE") == int64(1) && s.Subscribers() == 0 && !strings.Contains(s.Real.String(t, "CLIENT", "LIST"), "billing")
	})
}

func TestIdentityOptions_Invalid_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for _, opts := range []lockwheel.Options{
		{Name: strings.Repeat("n", 257)},
		{PageAddress: strings.Repeat("n", 1025)},
		{PageAddress: "http://admin:s3cret@host/locks"},
		{PageAddress: "admin:s3cret@host/locks"},
		{PageAddress: "http://admin:/s3cret@host/locks"},
		{PageAddress: "http:/admin:s3cret@host/locks"},
	} {
		opts.Redis = rueidis.ClientOption{InitAddress: []string{s.Addr}, ForceSingleClient: true}
		_, err := lockwheel.Open(t.Context(), opts)
		require.ErrorContains(t, err, "Options.")
		require.NotContains(t, err.Error(), "s3cret")
	}
}

// A user who may write no record and hear no channel has locks as before. It is logged once and counted.
func TestRecord_NotAllowed_LeftOut(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "few", "on", ">word", "~orders/*", "&redisson_lock__channel:*", "+@all")
	var log locktest.LogBuffer
	e := locktest.OpenRetrying(t, lockwheel.Options{
		Name: "billing", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, Username: "few", Password: "word"},
	})
	hold := locktest.Lock(t, e.Mutex("orders/7"))
	locktest.Eventually(t, "counted", func() bool { return e.Stats().UnwrittenRecords == 1 })
	locktest.Eventually(t, "logged", func() bool { return strings.Contains(log.String(), "record") })
	denied := func() int { return strings.Count(fmt.Sprint(s.Do("ACL", "LOG")), "lockwheel:engine:") }
	locktest.Eventually(t, "the channel was tried", func() bool { return denied() == 2 })
	locktest.Always(t, 500*time.Millisecond, "no more is tried", func() bool { return denied() == 2 && e.Stats().UnwrittenRecords == 1 })
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())

	// The channel of a lock is listened to as before.
	waiter := locktest.OpenRetrying(t, lockwheel.Options{
		Name: "waiting", Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, Username: "few", Password: "word"},
	})
	locktest.Unlock(t, locktest.Lock(t, waiter.Mutex("orders/8")))
	waiting := locktest.Locking(t.Context(), waiter.Mutex("orders/7"))
	locktest.RequireWaiting(t, waiter, 1, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	require.NoError(t, e.Close())
	require.NoError(t, waiter.Close())
	require.EqualValues(t, 0, s.Do("DBSIZE"))
}

// A server that is down at first, or away for a while, delays the record and nothing else.
func TestRecord_LazyEngine_WrittenOnceConnected(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	require.NoError(t, s.Real.Kill())
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}}})
	require.NoError(t, err)
	defer e.Close()
	require.NoError(t, s.Real.Restart())
	recordWritten(t, s, "", e.ID())
	require.NoError(t, e.Close())
	require.EqualValues(t, 0, s.Do("DBSIZE"))

	never, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{InitAddress: []string{locktest.Unused(t)}}})
	require.NoError(t, err)
	require.NoError(t, never.Close())
}

// The record of a process that is killed expires.
func TestRecord_ProcessKilled_Expires(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), locktest.EnvHolder+"="+s.Addr)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	id, _, _ := strings.Cut(lines.Text(), ":")
	r := recordWritten(t, s, "", id)
	require.Equal(t, strconv.Itoa(cmd.Process.Pid), r["pid"])
	require.NoError(t, cmd.Process.Kill())
	cmd.Wait()
	require.NotEmpty(t, recordOf(s, "", id))
	ttl := s.Do("PTTL", "lockwheel:engine:"+id).(int64)
	require.Greater(t, ttl, int64(0), "it expires")
	require.LessOrEqual(t, ttl, int64(30_000))
}

// A record that was written a whole period before its engine died is there as long as the lock that the engine held.
func TestRecord_LongLease_OutlivesLock(t *testing.T) {
	t.Parallel()
	for _, lease := range []time.Duration{0, 10 * time.Minute} {
		s := locktest.AnyServer(t)
		e := s.Open(lockwheel.Options{Name: "billing", Lease: lease})
		locktest.Lock(t, e.Mutex("n"))
		recordWritten(t, s, "", e.ID())
		record, lock := s.Do("PTTL", "lockwheel:engine:"+e.ID()).(int64), s.Do("PTTL", "n").(int64)
		require.Greater(t, record, lock+identity.Period.Milliseconds())
	}
}

// A user who may not use CLIENT is no obstacle to the name of a connection, nor to a later connection: HELLO names it.
// That is so although the program asks for RESP2, in which CLIENT SETNAME would.
func TestClientName_NoPermission_NamedByHELLO(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", "few", "on", ">word", "allkeys", "allchannels", "+@all", "-client")
	e := locktest.OpenRetrying(t, lockwheel.Options{Name: "billing", Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, Username: "few", Password: "word", AlwaysRESP2: true,
	}})
	recordWritten(t, s, "", e.ID())
	for range 2 {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		require.Contains(t, s.Real.String(t, "CLIENT", "LIST"), " name=billing ")
		s.Do("CLIENT", "KILL", "USER", "few")
	}
}

// Close ends a question that has no answer yet, and no goroutine and no command of it are left. With a pool that is
// used up, where the question waits for a connection, Close ends as well.
func TestClose_HolderAsks_Awaited(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	poll := s.Open(lockwheel.Options{Name: "polls", Notify: lockwheel.Poll})
	locktest.Lock(t, poll.Mutex("n"))
	recordWritten(t, s, "", poll.ID())
	ask := func(e *lockwheel.Engine) <-chan lockwheel.Holder {
		found := make(chan lockwheel.Holder, 1)
		go func() {
			h, err := e.Mutex("n").Holder(t.Context())
			if err != nil {
				t.Error(err)
			}
			found <- h
		}()
		return found
	}
	asking := func() int {
		stacks := make([]byte, 4<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "identity.Ask(")
	}

	e := locktest.OpenRetrying(t, lockwheel.Options{Name: "asks", Client: s.Client()})
	found := ask(e)
	locktest.Eventually(t, "it waits for the answer", func() bool {
		if len(found) == 1 { // a busy machine may have slept through the second for which it waits
			found = ask(e)
		}
		return len(s.Do("PUBSUB", "CHANNELS", "lockwheel:asker:*").([]any)) == 1
	})
	require.NoError(t, e.Close())
	require.Zero(t, asking())
	h := locktest.Receive(t, found)
	require.Equal(t, "polls", h.Engine.Name)
	require.Zero(t, h.Since)

	client, giveBack := s.UsedUp(4)
	e = locktest.OpenRetrying(t, lockwheel.Options{Name: "asks", Client: client, CallTimeout: 1500 * time.Millisecond})
	found = ask(e)
	locktest.Eventually(t, "it waits for a connection", func() bool { return asking() == 1 })
	endsInTime(t, "Close", func() { e.Close() })
	require.Equal(t, "polls", locktest.Receive(t, found).Engine.Name)
	giveBack()
	locktest.Eventually(t, "the question is given up", func() bool { return asking() == 0 })
}
