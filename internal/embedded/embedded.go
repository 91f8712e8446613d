// Package embedded is a Redis server inside the process, for the demonstration and for tests on machines that have none: miniredis, with
// a clock that runs.
//
// It speaks enough of Redis for locks: strings, hashes and the other types, expiry, scripts, publish and subscribe. It is a stand-in, not
// Redis. What differs and matters here (miniredis 2.40 beside Redis 7.0):
//
//   - An error that a script raises arrives as "ERR Error compiling script …", whatever it was. What redis.pcall
//     returns has its proper code first, as on Redis.
//   - redis.pcall with an argument that is neither text nor number ends the script. PEXPIRE beyond 292 years deletes the key.
//   - A connection with subscriptions takes only SUBSCRIBE, UNSUBSCRIBE and PING, also in RESP3, and answers PING with an array.
//   - There are no CONFIG, CLIENT KILL, CLIENT PAUSE, DEBUG, MONITOR, INFO commandstats, SPUBLISH, SSUBSCRIBE, SHARDNUMSUB.
//   - CLUSTER SLOTS is answered, which makes a client that asks believe in a cluster.
//   - PING is answered 5 ms late, because a message can come behind the answer.
//   - A subscriber that does not read its connection stops everybody.
//   - Everything is much slower: about 7 µs for a command within a script, with 0.1 ms for the script itself.
package embedded

import (
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"
)

// Server is a server of this process. Its methods may be called from any goroutine.
type Server struct {
	redis  *miniredis.Miniredis
	addr   string
	stop   chan struct{}
	close  sync.Once
	driver sync.WaitGroup
}

// Start starts an empty server on a free port of 127.0.0.1. The caller ends it with Close.
func Start() (*Server, error) {
	redis, err := miniredis.Run()
	if err != nil {
		return nil, err
	}
	redis.Server().SetPreHook(late)
	s := &Server{redis: redis, addr: redis.Addr(), stop: make(chan struct{})}
	s.driver.Go(s.drive)
	return s, nil
}

// late answers PING a little later. In miniredis a message that was published before can come behind the answer, which in Redis it
// cannot: who asks by PING whether all has come would lose it.
func late(_ *server.Peer, command string, _ ...string) (answered bool) {
	if strings.EqualFold(command, "PING") {
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// Addr is where the server listens: "127.0.0.1:45123".
func (s *Server) Addr() string { return s.addr }

// ClientOption returns what rueidis needs to work with this server. It has no client tracking, so that caching
// must be off, and it answers to CLUSTER SLOTS, so that rueidis must be told that it is alone.
func (s *Server) ClientOption() rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:       []string{s.addr},
		ForceSingleClient: true,
		DisableCache:      true,
	}
}

// Close ends the server and all its goroutines; its connections are closed. A second call does nothing.
func (s *Server) Close() {
	s.close.Do(func() {
		close(s.stop)
		s.driver.Wait()
		s.redis.Close()
	})
}

// drive makes time pass on the server until it is closed: in miniredis no TTL falls by itself.
func (s *Server) drive() {
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
		c.settle(time.Now())
		timer.Reset(c.gap)
	}
}
