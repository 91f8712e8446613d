package scripts_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/embedded"
	"github.com/lockwheel/lockwheel/internal/redistest"
	"github.com/lockwheel/lockwheel/scripts"
)

var all = scripts.All()

// server is a server that has the scripts, and a connection to it.
type server struct {
	t    testing.TB
	addr string
	conn *redistest.Conn
	real *redistest.Server // nil: the embedded one

	clock int64 // of the fair lock's callers, in ms since 1970
	until any   // the last moment at which their calls may take effect, by the server's clock; nil: no limit
}

// onEach runs a test on a real server, and again on the embedded one, so that differences between them show.
func onEach(t *testing.T, test func(*testing.T, *server)) {
	t.Helper()
	t.Run("real", func(t *testing.T) { test(t, onReal(t)) })
	t.Run("embedded", func(t *testing.T) { test(t, onEmbedded(t)) })
}

func onReal(t testing.TB, args ...string) *server {
	t.Helper()
	real := redistest.Start(t, args...)
	return connect(t, real.Addr(), real)
}

// onShard returns the only node of a cluster, with all slots.
func onShard(t testing.TB) *server {
	t.Helper()
	s := onReal(t, "--cluster-enabled", "yes")
	require.Equal(t, "OK", s.do("CLUSTER", "ADDSLOTSRANGE", 0, 16383))
	require.Eventually(t, func() bool {
		_, refused := s.do("GET", "a").(redistest.Error)
		return !refused
	}, receiveTimeout, 5*time.Millisecond)
	return s
}

func onEmbedded(t testing.TB) *server {
	t.Helper()
	e, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return connect(t, e.Addr(), nil)
}

func connect(t testing.TB, addr string, real *redistest.Server) *server {
	t.Helper()
	s := &server{t: t, addr: addr, conn: dial(t, addr), real: real}
	for _, script := range all {
		require.Equal(t, script.SHA1, s.do("SCRIPT", "LOAD", script.Text), script.Name)
	}
	return s
}

func dial(t testing.TB, addr string) *redistest.Conn {
	t.Helper()
	conn, err := redistest.Dial(addr)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// asUser returns the same server as seen by a user without password who has the given ACL SETUSER rules.
func (s *server) asUser(rules ...any) *server {
	s.t.Helper()
	user := append([]any{"ACL", "SETUSER", "limited", "reset", "on", "nopass"}, rules...)
	require.Equal(s.t, "OK", s.do(user...))
	limited := *s
	limited.conn = dial(s.t, s.addr)
	require.Equal(s.t, "OK", limited.do("AUTH", "limited", "any"))
	return &limited
}

// do sends a command. An error of the server is returned as a redistest.Error.
func (s *server) do(args ...any) any {
	s.t.Helper()
	reply, err := s.conn.Do(args...)
	if refusal := redistest.Error(""); errors.As(err, &refusal) {
		return refusal
	}
	require.NoError(s.t, err)
	return reply
}

// leaseKeys has the scripts that take leases, with the number of keys per lock.
var leaseKeys = map[string]int{"acquire": 1, "renew": 1, "write_acquire": 1, "write_renew": 1, "fenced_acquire": 2, "read_acquire": 2}

// call returns the command that runs a script. Tests give each lock its own lease.
func call(script scripts.Script, keys []string, args ...any) []any {
	command := []any{"EVALSHA", script.SHA1, len(keys)}
	for _, key := range keys {
		command = append(command, key)
	}
	if script.Name == "read_acquire" {
		args = splitWriters(args, len(keys)/2)
	}
	if each := leaseKeys[script.Name]; each > 0 {
		return append(command, leases(args, len(keys)/each)...)
	}
	return append(command, args...)
}

// splitWriters moves the writers, which tests name after the lease, into the list of locks that are read beside a
// writer.
func splitWriters(args []any, locks int) []any {
	pairs, writers := []any{args[0]}, []any(nil)
	for i := range locks {
		of := args[1+3*i:]
		pairs = append(pairs, of[0], of[1])
		if of[2] != "" {
			writers = append(writers, i+1, of[2])
		}
	}
	return slices.Concat(pairs, []any{len(writers) / 2}, writers, args[1+3*locks:])
}

// leases replaces equal leases of all locks by one, as the engine does.
func leases(args []any, locks int) []any {
	pairs, further := args[1:1+2*locks], args[1+2*locks:]
	all := []any{args[0], pairs[1]}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != pairs[1] {
			return slices.Concat([]any{args[0], ""}, pairs, further)
		}
		all = append(all, pairs[i])
	}
	return append(all, further...)
}

// run runs a script, which must reply per key.
func (s *server) run(script scripts.Script, keys []string, args ...any) []any {
	s.t.Helper()
	return s.answers(len(keys), script, keys, args...)
}

// answers runs a script on this many locks, or groups of them. A reply 1 instead of a list is the reply for each.
func (s *server) answers(locks int, script scripts.Script, keys []string, args ...any) []any {
	s.t.Helper()
	reply := s.do(call(script, keys, args...)...)
	if reply == int64(1) {
		return slices.Repeat([]any{reply}, locks)
	}
	rows, ok := reply.([]any)
	require.Truef(s.t, ok, "%s was refused as a whole: %v", script.Name, reply)
	require.Len(s.t, rows, locks, script.Name)
	require.Falsef(s.t, leaseKeys[script.Name] == 1 && !slices.ContainsFunc(rows, func(row any) bool { return row != int64(1) }), "%s says 1 for each: %v", script.Name, rows)
	return rows
}

// extraKeys has the prefixes of the keys that a script takes for each lock besides the lock's own.
var extraKeys = map[string][]string{
	"fenced_acquire": {scripts.TokenKey}, "fenced_renew": {scripts.TokenKey},
	"fair_acquire": fairKeys, "fair_release": fairKeys, "fair_force": fairKeys,
}

var fairKeys = []string{scripts.FairQueueKey, scripts.FairTimeoutKey, scripts.FairPlacesKey}

// runOn runs a script on locks, with all the keys that it takes for each.
func (s *server) runOn(script scripts.Script, locks []string, args ...any) []any {
	s.t.Helper()
	var keys []string
	for _, lock := range locks {
		keys = append(keys, lock)
		for _, prefix := range extraKeys[script.Name] {
			keys = append(keys, scripts.RedissonKey(prefix, lock))
		}
	}
	return s.answers(len(locks), script, keys, args...)
}

// requireTTLs fails the test if a key has no TTL, unless it is listed as one that never had one.
func (s *server) requireTTLs(but ...any) {
	s.t.Helper()
	for _, key := range s.do("KEYS", "*").([]any) {
		ttl := s.do("PTTL", key).(int64)
		foreign := false
		for _, other := range but {
			foreign = foreign || other == key
		}
		if ttl < 0 && !foreign {
			s.t.Fatalf("%q stays without a TTL: %v", key, s.do("HGETALL", key))
		}
	}
}

// subscriber receives everything that is published.
type subscriber struct {
	server *server
	conn   *redistest.Conn
}

type message struct{ channel, payload string }

func (s *server) listen() *subscriber {
	s.t.Helper()
	conn := dial(s.t, s.addr)
	_, err := conn.Do("PSUBSCRIBE", "*")
	require.NoError(s.t, err)
	return &subscriber{server: s, conn: conn}
}

// receive returns what was published since the last call; it publishes a message of its own to find the end.
func (e *subscriber) receive() []message {
	t := e.server.t
	t.Helper()
	const endMark = "the fence"
	require.Equal(t, int64(1), e.server.do("PUBLISH", endMark, ""))
	var received []message
	for {
		reply, err := e.conn.Receive(receiveTimeout)
		require.NoError(t, err)
		push, ok := reply.([]any)
		require.True(t, ok && len(push) == 4, reply)
		if push[2] == endMark {
			return received
		}
		received = append(received, message{push[2].(string), push[3].(string)})
	}
}
