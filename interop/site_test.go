package interop

import (
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// site is where both sides meet in one test: one or more servers, and connections to them that belong to neither
// side.
type site struct {
	t        *testing.T
	process  *redisson.Process
	addrs    []string                              // of the servers
	node     func(t *testing.T, key string) string // the address of the server that has a key
	mode     string                                // Redisson's name: single or cluster
	channels string                                // the PUBSUB subcommand for the channels that locks use here
	conns    map[string]*redistest.Conn            // by address
}

// topologies are the ways to run servers.
var topologies = []struct {
	name  string
	start func(t *testing.T) *site
}{
	{"standalone", standalone},
	{"cluster", cluster},
}

// everywhere runs a test on each of the topologies.
func everywhere(t *testing.T, f func(t *testing.T, start func(t *testing.T) *site)) {
	for _, topology := range topologies {
		t.Run(topology.name, func(t *testing.T) { f(t, topology.start) })
	}
}

// standalone is one server.
func standalone(t *testing.T) *site {
	t.Helper()
	process := java(t)
	server := redistest.Start(t)
	return &site{
		t: t, process: process,
		addrs:    []string{server.Addr()},
		node:     func(*testing.T, string) string { return server.Addr() },
		mode:     "single",
		channels: "CHANNELS",
		conns:    map[string]*redistest.Conn{},
	}
}

// cluster is three masters with sharded channels.
func cluster(t *testing.T) *site {
	t.Helper()
	process := java(t)
	servers := redistest.StartCluster(t, 3, 0)
	return &site{
		t: t, process: process,
		addrs:    servers.Addrs(),
		node:     func(t *testing.T, key string) string { return servers.Master(t, servers.Slot(t, key)).Addr() },
		mode:     "cluster",
		channels: "SHARDCHANNELS",
		conns:    map[string]*redistest.Conn{},
	}
}

// emptied returns the site for another test, without any data of the test before.
func (s *site) emptied(t *testing.T) *site {
	t.Helper()
	next := *s
	next.t, next.conns = t, map[string]*redistest.Conn{}
	for _, addr := range next.addrs {
		_, err := next.connTo(addr).Do("FLUSHALL")
		require.NoError(t, err)
	}
	return &next
}

// engine opens an engine on our side, closed with the test.
func (s *site) engine(opts lockwheel.Options) *lockwheel.Engine {
	s.t.Helper()
	opts.Redis = rueidis.ClientOption{InitAddress: s.addrs}
	e, err := lockwheel.Open(s.t.Context(), opts)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { e.Close() })
	return e
}

// clientNumber gives every client of the tests its own name.
var clientNumber atomic.Int64

// redisson opens a client of Redisson in the machine that the tests share, closed with the test.
func (s *site) redisson(settings redisson.Words) *client {
	s.t.Helper()
	return s.redissonIn(s.process, settings)
}

// redissonIn opens a client in a Java machine of the test's own.
func (s *site) redissonIn(process *redisson.Process, settings redisson.Words) *client {
	s.t.Helper()
	c := &client{t: s.t, process: process, name: fmt.Sprint("client", clientNumber.Add(1))}
	words := redisson.Words{"client": c.name, "mode": s.mode, "address": "redis://" + strings.Join(s.addrs, ",redis://")}
	maps.Copy(words, settings)
	c.id = c.do("open", words)["id"]
	s.t.Cleanup(func() { _ = receive(s.t, process.Send("close", redisson.Words{"client": c.name})) })
	return c
}

// conn returns a connection to the server that has a key, for the goroutine of the test.
func (s *site) conn(key string) *redistest.Conn {
	s.t.Helper()
	return s.connTo(s.node(s.t, key))
}

func (s *site) connTo(addr string) *redistest.Conn {
	s.t.Helper()
	if s.conns[addr] == nil {
		s.conns[addr] = s.dial(addr)
	}
	return s.conns[addr]
}

// newConn returns a new connection, for any goroutine.
func (s *site) newConn(key string) *redistest.Conn {
	s.t.Helper()
	return s.dial(s.node(s.t, key))
}

func (s *site) dial(addr string) *redistest.Conn {
	s.t.Helper()
	conn, err := redistest.Dial(addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// do sends a command to the server that has a key.
func (s *site) do(key string, args ...any) any {
	s.t.Helper()
	reply, err := s.conn(key).Do(args...)
	require.NoError(s.t, err)
	return reply
}

// hash returns the fields and values of a hash, an empty map if there is no such key.
func (s *site) hash(key string) map[string]string {
	s.t.Helper()
	pairs := s.do(key, "HGETALL", key).([]any)
	hash := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		hash[pairs[i].(string)] = pairs[i+1].(string)
	}
	return hash
}

// fields returns the holders in the hash of a lock and their counts, without the mode field of a read/write lock.
func (s *site) fields(name string) map[string]string {
	s.t.Helper()
	fields := map[string]string{}
	for holder, count := range s.hash(name) {
		if holder != "mode" {
			fields[strings.TrimSuffix(holder, ":write")] = count
		}
	}
	return fields
}

// pttl returns the PTTL of a key.
func (s *site) pttl(key string) int64 {
	s.t.Helper()
	return s.do(key, "PTTL", key).(int64)
}

// heard reports whether a client is subscribed for the lock of a name, of any kind.
func (s *site) heard(name string) bool {
	s.t.Helper()
	return len(s.do(name, "PUBSUB", s.channels, "redisson*"+name+"*").([]any)) > 0
}

// left returns the keys on the server of a name, without the token of a fenced lock, which stays.
func (s *site) left(name string) (keys []string) {
	s.t.Helper()
	for _, key := range s.do(name, "KEYS", "*").([]any) {
		if text := key.(string); !strings.HasPrefix(text, "redisson_lock_token:") {
			keys = append(keys, text)
		}
	}
	return keys
}
