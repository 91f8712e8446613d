package redistest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/testoutcome"
)

// envChild makes this test program start a server in the given folder, print its address and wait to be killed.
const envChild = "LOCKWHEEL_REDISTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(envChild) != "" {
		runChildServer()
		return
	}
	leaks.Main(m)
}

// A server that was started replies, listens on loopback only, and keeps nothing on disk.
func TestServer_Started_NothingOnDisk(t *testing.T) {
	s := Start(t)
	require.Equal(t, "PONG", s.Do(t, "PING"))
	require.Equal(t, []string{"save", ""}, s.Strings(t, "CONFIG", "GET", "save"))
	require.Equal(t, []string{"appendonly", "no"}, s.Strings(t, "CONFIG", "GET", "appendonly"))
	require.Equal(t, []string{"bind", "127.0.0.1"}, s.Strings(t, "CONFIG", "GET", "bind"))
}

func TestServer_Arguments_OverrideDefaults(t *testing.T) {
	s := Start(t, "--appendonly", "yes", "--maxmemory", "64mb")
	require.Equal(t, []string{"appendonly", "yes"}, s.Strings(t, "CONFIG", "GET", "appendonly"))
	require.Equal(t, []string{"maxmemory", "67108864"}, s.Strings(t, "CONFIG", "GET", "maxmemory"))
}

// A password among the arguments is used by the probe, also after a restart.
func TestServer_PasswordArg_UsedByProbe(t *testing.T) {
	s := Start(t, "--requirepass", "secret")
	require.Equal(t, "PONG", s.Do(t, "PING"))
	unauthenticated, err := Dial(s.Addr())
	require.NoError(t, err)
	defer unauthenticated.Close()
	_, err = unauthenticated.Do("GET", "a")
	require.ErrorContains(t, err, "NOAUTH")
	require.NoError(t, s.Restart())
	require.Equal(t, "PONG", s.Do(t, "PING"))
}

// Replies keep their types: text, integers, nil, errors and nested lists.
func TestDo_Replies_KeepShape(t *testing.T) {
	s := Start(t)
	require.Equal(t, "OK", s.Do(t, "SET", "text", []byte("a\r\nb\x00")))
	require.Equal(t, "a\r\nb\x00", s.Do(t, "GET", "text"))
	require.Nil(t, s.Do(t, "GET", "none"))
	require.Equal(t, int64(-2), s.Do(t, "PTTL", "none"))
	serverErr, ok := s.Do(t, "HGET", "text", "f").(Error)
	require.True(t, ok)
	require.ErrorContains(t, serverErr, "WRONGTYPE")
	require.Equal(t,
		[]any{int64(1), nil, []any{"two", Error("MY own")}, []any{}},
		s.Do(t, "EVAL", `return {1, false, {'two', {err = 'MY own'}}, {}}`, 0))
}

// The helpers read integers, text, lists and hashes.
func TestServer_Helpers_ReadReplies(t *testing.T) {
	s := Start(t)
	require.Equal(t, 2, s.Int(t, "HSET", "h", "a", 1, "b", "x"))
	require.Equal(t, 1, s.Int(t, "HGET", "h", "a"), "the text of an integer")
	require.Equal(t, "x", s.String(t, "HGET", "h", "b"))
	require.Equal(t, "", s.String(t, "HGET", "h", "none"))
	require.Equal(t, map[string]string{"a": "1", "b": "x"}, s.Hash(t, "h"))
	require.Equal(t, map[string]string{}, s.Hash(t, "none"))
	require.Equal(t, []string{"1", ""}, s.Strings(t, "HMGET", "h", "a", "none"))
}

func TestCommandCalls_CountsScriptCommands(t *testing.T) {
	s := Start(t)
	require.Equal(t, 0, s.CommandCalls(t, "hset", "eval"))
	for range 3 {
		s.Do(t, "EVAL", `redis.call('hset', 'h', 'f', 1) return redis.call('hset', 'h', 'g', 1)`, 0)
	}
	require.Equal(t, 3, s.CommandCalls(t, "EVAL"))
	require.Equal(t, 6, s.CommandCalls(t, "hset"))
	require.Equal(t, 9, s.CommandCalls(t, "hset", "eval", "evalsha"))
	require.Equal(t, 0, s.CommandCalls(t, "h"), "whole names only")
	s.Do(t, "CONFIG", "RESETSTAT")
	require.Equal(t, 1, s.CommandCalls(t, "config|resetstat"))
}

// A killed server refuses connections, and has no data when it is started again.
func TestServer_Killed_RefusesAndForgets(t *testing.T) {
	s := Start(t)
	s.Do(t, "SET", "a", 1)
	require.NoError(t, s.Kill())
	_, err := net.Dial("tcp", s.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, s.Kill(), "a second time")
	require.NoError(t, s.Restart())
	require.Equal(t, 0, s.Int(t, "DBSIZE"))
}

// A restart keeps the port, the data and the course of TTLs.
func TestServer_Restart_KeepsPortAndData(t *testing.T) {
	s := Start(t)
	addr := s.Addr()
	s.Do(t, "SET", "a", 1, "PX", 60_000)
	require.NoError(t, s.Restart())
	require.Equal(t, addr, s.Addr())
	require.Equal(t, "1", s.Do(t, "GET", "a"))
	require.LessOrEqual(t, s.Int(t, "PTTL", "a"), 60_000)
	require.Positive(t, s.Int(t, "PTTL", "a"))

	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart())
	require.Equal(t, 0, s.Int(t, "DBSIZE"), "a crash does not bring back what an earlier restart saved")
}

// RestartEmpty forgets all data, also what is on disk.
func TestServer_RestartEmpty_ForgetsDisk(t *testing.T) {
	for _, args := range [][]string{nil, {"--appendonly", "yes"}, {"--save", "1 1"}} {
		s := Start(t, args...)
		s.Do(t, "SET", "a", 1)
		require.NoError(t, s.RestartEmpty())
		require.Equal(t, 0, s.Int(t, "DBSIZE"), args)
		require.NoError(t, s.Kill())
		require.NoError(t, s.RestartEmpty(), "also from down")
		require.Equal(t, 0, s.Int(t, "DBSIZE"), args)
	}
}

func TestServer_CrashWithAOF_Remembers(t *testing.T) {
	s := Start(t, "--appendonly", "yes")
	s.Do(t, "SET", "a", 1)
	require.NoError(t, s.Kill())
	require.NoError(t, s.Restart())
	require.Equal(t, "1", s.Do(t, "GET", "a"))
}

func TestServer_StopFrozen_Ends(t *testing.T) {
	s := Start(t)
	require.NoError(t, s.Pause())
	require.NoError(t, s.Stop())
	_, err := net.Dial("tcp", s.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.NoError(t, s.Stop(), "a second time")
}

func TestServer_Frozen_SilentUntilContinue(t *testing.T) {
	s := Start(t)
	c := s.Conn(t)
	require.NoError(t, s.Pause())
	require.NoError(t, c.Send("PING"))
	_, err := c.Receive(50 * time.Millisecond)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, s.Continue())
	reply, err := c.Receive(probeWait)
	require.NoError(t, err)
	require.Equal(t, "PONG", reply)
}

// Subscribe receives all messages in their order, and ends with its connection.
func TestSubscribe_ReceivesInOrder(t *testing.T) {
	s := Start(t)
	messages := s.Subscribe(t, "a", "b{1}")
	require.Equal(t, 1, s.Int(t, "PUBLISH", "a", 0))
	require.Equal(t, 1, s.Int(t, "PUBLISH", "b{1}", ""))
	require.Equal(t, 0, s.Int(t, "PUBLISH", "c", 0))
	require.Equal(t, Message{"a", "0"}, <-messages)
	require.Equal(t, Message{"b{1}", ""}, <-messages)
	s.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
	_, open := <-messages
	require.False(t, open)
}

func TestServers_ManyAtOnce_OwnPorts(t *testing.T) {
	servers := make([]*Server, 8)
	binary := binaryOf(t)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := Launch(t.Context(), Config{Binary: binary})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	ports := map[int]bool{}
	for _, s := range servers {
		require.NotNil(t, s)
		ports[s.Port()] = true
		require.NoError(t, s.Close())
		require.NoError(t, s.Close(), "a second time")
		require.NoDirExists(t, s.Dir())
	}
	require.Len(t, ports, len(servers))
}

// A launch that fails names the cause, and leaves no folder.
func TestLaunch_Fails_ErrorAndNothingLeft(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	binary := binaryOf(t)
	_, err := Launch(t.Context(), Config{Binary: binary, Args: []string{"--no-such-option", "1"}})
	require.ErrorContains(t, err, "no-such-option")

	ended, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	cancel(reason)
	silentArgs := []string{"--port", "0", "--unixsocket", filepath.Join(t.TempDir(), "s")} // it neither replies nor ends
	_, err = Launch(ended, Config{Binary: binary, Args: silentArgs})
	require.ErrorIs(t, err, reason)

	_, err = Launch(t.Context(), Config{Binary: filepath.Join(temp, "none")})
	require.ErrorIs(t, err, os.ErrNotExist)

	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Without a server a test is skipped, but fails where one is required.
func TestServer_Missing_SkippedUnlessRequired(t *testing.T) {
	binary := binaryOf(t)
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ server, require, want string }{
		{"", "", "skipped: needs a real server: redistest: neither redis-server nor valkey-server is on PATH"},
		{"", "1", "failed: redistest: neither redis-server nor valkey-server is on PATH"},
		{"no-such-program", "", "failed: redistest: LOCKWHEEL_SERVER=no-such-program"},
		{binary, "1", "started"},
	} {
		t.Setenv(EnvServer, c.server)
		t.Setenv(EnvRequire, c.require)
		require.Contains(t, testoutcome.Of(t, func(t testing.TB) { Start(t) }, "started"), c.want)
	}
}

// A server ends with the process that started it.
func TestServer_ProcessKilled_Ends(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do this")
	}
	binary := binaryOf(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), envChild+"="+t.TempDir(), EnvServer+"="+binary)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	addr, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	addr = strings.TrimSpace(addr)

	c, err := Dial(addr)
	require.NoError(t, err, "the server lives while its parent does")
	defer c.Close()
	reply, err := c.Do("PING")
	require.NoError(t, err)
	require.Equal(t, "PONG", reply)

	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	_, err = c.Receive(probeWait)
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the server outlived its parent")
}

// runChildServer starts its server from a goroutine that ends at once, and keeps the program's threads changing.
// A server bound to the wrong thread would die early.
func runChildServer() {
	started := make(chan *Server)
	go func() {
		s, err := Launch(context.Background(), Config{Dir: os.Getenv(envChild)})
		if err != nil {
			panic(err)
		}
		started <- s
	}()
	s := <-started
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() { runtime.LockOSThread() }) // a goroutine that ends locked takes its thread along
	}
	wg.Wait()
	os.Stdout.WriteString(s.Addr() + "\n")
	select {}
}

// binaryOf returns the program that Start would start, or ends the test as Start would.
func binaryOf(t *testing.T) string {
	t.Helper()
	Start(t)
	binary, err := Find()
	require.NoError(t, err)
	return binary
}

// The pause has the effect of a busy machine on a node. The others forget the node, and it is not introduced a second
// time by itself.
func TestNode_Forgotten_MetAgain(t *testing.T) {
	binary := binaryOf(t)
	c := &Cluster{}
	for range 2 {
		s, err := LaunchNode(t.Context(), Config{Binary: binary, Dir: t.TempDir()})
		require.NoError(t, err)
		closeWithTest(t, s)
		c.Nodes = append(c.Nodes, s)
	}
	require.NoError(t, c.Nodes[1].Pause())
	c.meet(t)
	await(t, "the other to be forgotten", func() bool {
		return strings.Count(c.Nodes[0].inspect("CLUSTER", "NODES"), "\n") == 1
	})
	require.NoError(t, c.Nodes[1].Continue())
	c.awaitMeet(t)
}
