package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
)

// MemoryServer is a server without a port: its clients connect by pipes within the process. Its TTLs follow time.Now,
// also the time of a bubble of testing/synctest. Such a server has no goroutine but those of its connections, and none
// of them waits for a network.
//
// Each access takes time in proportion to the number of keys with a TTL, so it is for tests with up to some thousand
// locks. Its methods may be called from any goroutine.
type MemoryServer struct {
	redis *miniredis.Miniredis
	hook  *hook

	mu     sync.Mutex // guards what follows
	down   bool
	closed bool
	conns  map[*memoryConn]struct{}
}

// ErrDown is why no connection is made to a MemoryServer that is down or closed.
var ErrDown = errors.New("the embedded server is down")

// StartInMemory starts an empty server. The caller ends it with Close. A server that is used in a bubble of
// testing/synctest must have been started there.
func StartInMemory() *MemoryServer {
	redis := miniredis.NewMiniRedis()
	redis.ClockTTL(true)
	s := &MemoryServer{redis: redis, hook: &hook{redis: redis}, conns: make(map[*memoryConn]struct{})}
	return s
}

// ClientOption returns the options that rueidis needs for this server; see [Server.ClientOption].
func (s *MemoryServer) ClientOption() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{"embedded"},
		ForceSingleClient: true,
		DisableCache:      true,
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			return s.dial()
		},
	}
}

func (s *MemoryServer) dial() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down || s.closed {
		return nil, ErrDown
	}
	conn, err := s.redis.Dial()
	if err != nil {
		return nil, err
	}
	s.redis.Server().SetPreHook(s.hook.before)
	c := newMemoryConn(conn, s.forget)
	s.conns[c] = struct{}{}
	return c, nil
}

// Down closes all connections and refuses new ones until Up, as a server that has ended. It keeps its data,
// and TTLs go on falling. A command that is running may still take effect.
func (s *MemoryServer) Down() { s.setDown(true) }

// Up accepts connections again.
func (s *MemoryServer) Up() { s.setDown(false) }

func (s *MemoryServer) setDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
	if down {
		s.closeConns()
	}
}

// Flush removes all keys. It publishes nothing.
func (s *MemoryServer) Flush() { s.redis.FlushAll() }

// Keys returns the names of all keys, sorted.
func (s *MemoryServer) Keys() []string { return s.redis.Keys() }

// Has reports whether a key exists.
func (s *MemoryServer) Has(key string) bool { return s.redis.Exists(key) }

// Close ends the server and all its goroutines, and closes its connections. A second call does nothing.
func (s *MemoryServer) Close() {
	s.mu.Lock()
	s.closed = true
	s.closeConns()
	s.mu.Unlock()
	s.redis.Close()
}

// closeConns closes all connections. The caller holds mu.
func (s *MemoryServer) closeConns() {
	for c := range s.conns {
		c.end()
	}
	clear(s.conns)
}

func (s *MemoryServer) forget(c *memoryConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
