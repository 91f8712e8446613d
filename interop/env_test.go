package interop

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// testEnv is where both sides meet in one test: one or more servers, and connections to them that belong to neither
// side.
type testEnv struct {
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
	start func(t *testing.T) *testEnv
}{
	{"standalone", standalone},
	{"cluster", cluster},
}

// everywhere runs a test on each of the topologies.
func everywhere(t *testing.T, f func(t *testing.T, start func(t *testing.T) *testEnv)) {
	for _, topology := range topologies {
		t.Run(topology.name, func(t *testing.T) { f(t, topology.start) })
	}
}

// standalone is one server.
func standalone(t *testing.T) *testEnv {
	t.Helper()
	process := java(t)
	server := redistest.Start(t)
	return &testEnv{
		t: t, process: process,
		addrs:    []string{server.Addr()},
		node:     func(*testing.T, string) string { return server.Addr() },
		mode:     "single",
		channels: "CHANNELS",
		conns:    map[string]*redistest.Conn{},
	}
}

// cluster is three masters with sharded channels.
func cluster(t *testing.T) *testEnv {
	t.Helper()
	process := java(t)
	servers := redistest.StartCluster(t, 3, 0)
	return &testEnv{
		t: t, process: process,
		addrs:    servers.Addrs(),
		node:     func(t *testing.T, key string) string { return servers.Master(t, servers.Slot(t, key)).Addr() },
		mode:     "cluster",
		channels: "SHARDCHANNELS",
		conns:    map[string]*redistest.Conn{},
	}
}

// cleared returns the site for another test, without any data of the test before.
func (s *testEnv) cleared(t *testing.T) *testEnv {
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
func (s *testEnv) engine(opts lockwheel.Options) *lockwheel.Engine {
	s.t.Helper()
	return s.engineOn(rueidis.ClientOption{}, opts)
}

// mortalEngine opens an engine on our side. die cuts it off from the servers for good, as if its process had died. When
// it returns, the engine can send nothing more.
func (s *testEnv) mortalEngine(opts lockwheel.Options) (e *lockwheel.Engine, die func()) {
	s.t.Helper()
	alive, cut := context.WithCancel(s.t.Context())
	var conns sync.WaitGroup
	die = func() {
		cut()
		conns.Wait()
	}
	return s.engineOn(rueidis.ClientOption{
		DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			conns.Go(func() {
				<-alive.Done()
				conn.Close()
			})
			return conn, alive.Err()
		},
	}, opts), die
}

// engineOn opens an engine on the servers, with further options of its client. Tests look at all keys and channels, so
// an engine without a name has no record.
func (s *testEnv) engineOn(client rueidis.ClientOption, opts lockwheel.Options) *lockwheel.Engine {
	s.t.Helper()
	opts.Anonymous = opts.Name == ""
	opts.Redis = client
	opts.Redis.InitAddress = s.addrs
	e, err := lockwheel.Open(s.t.Context(), opts)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { e.Close() })
	return e
}

// clientNumber gives every client of the tests its own name.
var clientNumber atomic.Int64

// redisson opens a client of Redisson in the machine that the tests share, closed with the test.
func (s *testEnv) redisson(settings redisson.Fields) *client {
	s.t.Helper()
	return s.redissonIn(s.process, settings)
}

// redissonIn opens a client in a Java machine of the test's own.
func (s *testEnv) redissonIn(process *redisson.Process, settings redisson.Fields) *client {
	s.t.Helper()
	c := &client{t: s.t, process: process, name: fmt.Sprint("client", clientNumber.Add(1))}
	fields := redisson.Fields{"client": c.name, "mode": s.mode, "address": "redis://" + strings.Join(s.addrs, ",redis://")}
	maps.Copy(fields, settings)
	c.id = c.do("open", fields)["id"]
	s.t.Cleanup(func() { _ = receive(s.t, process.Send("close", redisson.Fields{"client": c.name})) })
	return c
}

// conn returns a connection to the server that has a key, for the goroutine of the test.
func (s *testEnv) conn(key string) *redistest.Conn {
	s.t.Helper()
	return s.connTo(s.node(s.t, key))
}

func (s *testEnv) connTo(addr string) *redistest.Conn {
	s.t.Helper()
	if s.conns[addr] == nil {
		s.conns[addr] = s.dial(addr)
	}
	return s.conns[addr]
}

// newConn returns a new connection, for any goroutine.
func (s *testEnv) newConn(key string) *redistest.Conn {
	s.t.Helper()
	return s.dial(s.node(s.t, key))
}

func (s *testEnv) dial(addr string) *redistest.Conn {
	s.t.Helper()
	conn, err := redistest.Dial(addr)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { conn.Close() })
	return conn
}

// do sends a command to the server that has a key.
func (s *testEnv) do(key string, args ...any) any {
	s.t.Helper()
	reply, err := s.conn(key).Do(args...)
	require.NoError(s.t, err)
	return reply
}

// hash returns the fields and values of a hash, an empty map if there is no such key.
func (s *testEnv) hash(key string) map[string]string {
	s.t.Helper()
	pairs := s.do(key, "HGETALL", key).([]any)
	hash := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		hash[pairs[i].(string)] = pairs[i+1].(string)
	}
	return hash
}

// fields returns the holders in the hash of a lock and their counts, without the mode field of a read/write lock.
func (s *testEnv) fields(name string) map[string]string {
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
func (s *testEnv) pttl(key string) int64 {
	s.t.Helper()
	return s.do(key, "PTTL", key).(int64)
}

// hasSubscriber reports whether a client is subscribed for the lock of a name, of any kind.
func (s *testEnv) hasSubscriber(name string) bool {
	s.t.Helper()
	return len(s.do(name, "PUBSUB", s.channels, "redisson*"+name+"*").([]any)) > 0
}

// keysLeft returns the keys on the server of a name, without the token of a fenced lock, which stays.
func (s *testEnv) keysLeft(name string) (keys []string) {
	s.t.Helper()
	for _, key := range s.do(name, "KEYS", "*").([]any) {
		if text := key.(string); !strings.HasPrefix(text, "redisson_lock_token:") {
			keys = append(keys, text)
		}
	}
	return keys
}
