//go:build unix

package topology_test

import (
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// scriptedSentinel is a sentinel that names what the test says, and announces what the test says to those that have
// subscribed to all that rueidis does.
type scriptedSentinel struct {
	addr string

	mu     sync.Mutex
	master string
	epoch  string
	denied bool // SENTINEL MASTER is not allowed
	subs   []*server.Peer
}

func startScriptedSentinel(t *testing.T, master string) *scriptedSentinel {
	srv, err := server.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	s := &scriptedSentinel{addr: srv.Addr().String(), master: master, epoch: "1"}
	for name, command := range map[string]server.Cmd{
		"HELLO": func(c *server.Peer, _ string, args []string) {
			version := 3
			if args[0] == "2" {
				version = 2
			}
			c.Resp3 = version == 3
			c.WriteMapLen(1)
			c.WriteBulk("proto")
			c.WriteInt(version)
		},
		"CLIENT":      func(c *server.Peer, _ string, _ []string) { c.WriteOK() },
		"PING":        func(c *server.Peer, _ string, _ []string) { c.WriteInline("PONG") },
		"UNSUBSCRIBE": func(c *server.Peer, _ string, _ []string) { s.unsubscribe(c) },
		"SUBSCRIBE":   func(c *server.Peer, _ string, channels []string) { s.subscribe(c, channels) },
		"SENTINEL":    func(c *server.Peer, _ string, args []string) { s.answer(c, args) },
	} {
		require.NoError(t, srv.Register(name, command))
	}
	return s
}

func (s *scriptedSentinel) unsubscribe(c *server.Peer) {
	c.WritePushLen(3)
	c.WriteBulk("unsubscribe")
	c.WriteNull()
	c.WriteInt(0)
}

func (s *scriptedSentinel) subscribe(c *server.Peer, channels []string) {
	for i, channel := range channels {
		c.WritePushLen(3)
		c.WriteBulk("subscribe")
		c.WriteBulk(channel)
		c.WriteInt(i + 1)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs = append(s.subs, c)
}

func (s *scriptedSentinel) answer(c *server.Peer, args []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, port, _ := net.SplitHostPort(s.master)
	switch strings.ToUpper(args[0]) {
	case "GET-MASTER-ADDR-BY-NAME":
		c.WriteStrings([]string{host, port})
	case "MASTER":
		if s.denied {
			c.WriteError("NOPERM this user has no permissions to run the 'sentinel|master' command")
			return
		}
		c.WriteMapLen(3)
		for _, word := range []string{"ip", host, "port", port, "config-epoch", s.epoch} {
			c.WriteBulk(word)
		}
	default:
		c.WriteLen(0)
	}
}

// announce publishes messages of a channel to all connections that have subscribed.
func (s *scriptedSentinel) announce(channel string, messages ...string) {
	s.mu.Lock()
	subs := s.subs
	s.mu.Unlock()
	for _, c := range subs {
		c.Block(func(w *server.Writer) {
			for _, message := range messages {
				w.WritePushLen(3)
				for _, word := range []string{"message", channel, message} {
					w.WriteBulk(word)
				}
			}
			w.Flush()
		})
	}
}

func (s *scriptedSentinel) name(master, epoch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.master, s.epoch = master, epoch
}

func (s *scriptedSentinel) open(t *testing.T) *lockwheel.Engine {
	return locktest.OpenRetrying(t, lockwheel.Options{CallTimeout: time.Second, Redis: s.option()})
}

func (s *scriptedSentinel) option() rueidis.ClientOption {
	return rueidis.ClientOption{InitAddress: []string{s.addr}, Sentinel: rueidis.SentinelOption{MasterSet: "locks"}}
}

// A sentinel announces very much, some of it malformed, while the master is down: it watches many masters, and was
// reset. The engine goes to the next master, and closes.
func TestSentinel_AnnouncesMuch_FollowedAndClosed(t *testing.T) {
	t.Parallel()
	old, next := redistest.Start(t), redistest.Start(t)
	s := startScriptedSentinel(t, old.Addr())
	e := s.open(t)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	require.NoError(t, old.Kill())
	many := []string{"odd", ""}
	for range 64 {
		many = append(many, "sentinel 0a 127.0.0.1 1 @ others 127.0.0.1 2")
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s.announce("+sentinel", many...)
	}
	s.name(next.Addr(), "2")
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	closed := make(chan struct{})
	go func() {
		e.Close()
		close(closed)
	}()
	locktest.Receive(t, closed)
}

// An engine may not ask for the epoch. It follows a failover that its sentinel announces, once it listens there.
func TestSentinel_EpochDenied_FollowsAnnounced(t *testing.T) {
	t.Parallel()
	first, second := redistest.Start(t), redistest.Start(t)
	s := startScriptedSentinel(t, first.Addr())
	s.denied = true
	e := s.open(t)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	for _, next := range []*redistest.Server{second, first} {
		s.name(next.Addr(), "")
		var announced time.Time
		locktest.Eventually(t, "the engine at the next master", func() bool {
			if time.Since(announced) > 200*time.Millisecond { // the engine may not listen yet
				announced = time.Now()
				s.announce("+switch-master", "locks 127.0.0.1 1 127.0.0.1 2")
			}
			return uses(e, next)
		})
	}
}

// A program asks for RESP2, for the sake of other modules. Its engine follows each failover. In RESP2 rueidis has a
// connection to a sentinel for commands and another one for messages, and would not notice that one of them ended.
func TestSentinel_RESP2Asked_EachFailoverFollowed(t *testing.T) {
	t.Parallel()
	first, second := redistest.Start(t), redistest.Start(t)
	s := startScriptedSentinel(t, first.Addr())
	redis := s.option()
	redis.AlwaysRESP2 = true
	e := locktest.OpenRetrying(t, lockwheel.Options{CallTimeout: time.Second, Redis: redis})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	for epoch, next := range []*redistest.Server{second, first, second, first} {
		s.name(next.Addr(), strconv.Itoa(epoch+2))
		locktest.Eventually(t, "the engine at the next master", func() bool { return uses(e, next) })
		hold := locktest.Lock(t, e.Mutex("n"))
		require.Equal(t, 1, next.Int(t, "EXISTS", "n"))
		locktest.Unlock(t, hold)
	}
}
