// Package embedded is a Redis server inside the process: miniredis with a clock that runs. [Server] listens on a port.
// It is for the demonstration, and for tests on machines without a server. [MemoryServer] is reached by pipes. It is
// for lockwheeltest.
//
// It supports what locks need of Redis: strings, hashes and the other types, expiry, scripts, publish and
// subscribe. It is a stand-in, not Redis. These differences matter here (miniredis 2.40 compared with Redis 7.0):
//
//   - Any error that a script raises arrives as "ERR Error compiling script …". What redis.pcall returns has its proper
//     code first, as on Redis.
//   - redis.pcall with an argument that is neither text nor number ends the script. PEXPIRE beyond 292 years deletes
//     the key.
//   - A connection with subscriptions accepts only SUBSCRIBE, UNSUBSCRIBE and PING, also in RESP3, and replies to PING
//     with an array.
//   - There are no CONFIG, CLIENT KILL, CLIENT PAUSE, DEBUG, MONITOR, INFO commandstats, SPUBLISH, SSUBSCRIBE,
//     SHARDNUMSUB.
//   - CLUSTER SLOTS has a reply, so a client that asks takes the server for a cluster.
//   - A connection that has subscribed gets the reply to PING 5 ms late, because a message can come behind the reply.
//   - SCRIPT LOAD does not parse the script: EVALSHA has the error. SCRIPT EXISTS does not know it before EVALSHA.
//   - A subscriber that does not read its connection blocks all clients.
//   - Everything is much slower: about 7 µs for a command within a script, plus 0.1 ms for the script itself.
package embedded

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/rueidis"
)

// Server is a server of this process. Its methods may be called from any goroutine.
type Server struct {
	redis   *miniredis.Miniredis
	addr    string
	stop    chan struct{}
	close   sync.Once
	running sync.WaitGroup
}

// Start starts an empty server on a free port of 127.0.0.1. The caller ends it with Close.
func Start() (*Server, error) {
	redis, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	redis.Server().SetPreHook((&hook{redis: redis}).before)
	s := &Server{redis: redis, addr: redis.Addr(), stop: make(chan struct{})}
	s.running.Go(s.run)
	return s, nil
}

// Addr returns the server's address, such as "127.0.0.1:45123".
func (s *Server) Addr() string { return s.addr }

// ClientOption returns the options that rueidis needs for this server. The server has no client tracking, so
// caching must be off. It replies to CLUSTER SLOTS, so rueidis must be told that it is a single server.
func (s *Server) ClientOption() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{s.addr},
		ForceSingleClient: true,
		DisableCache:      true,
	}
}

// Close ends the server and all its goroutines, and closes its connections. A second call does nothing.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.stop)
		s.running.Wait()
		s.redis.Close()
	})
}

// run advances the server's time until the server is closed, because in miniredis no TTL falls by itself.
func (s *Server) run() {
	c := startClock(time.Now())
	timer := time.NewTimer(c.gap)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		passed := c.advance(time.Now())
		s.redis.SetTime(c.server)
		s.redis.FastForward(passed)
		c.finish(time.Now())
		timer.Reset(c.gap)
	}
}
