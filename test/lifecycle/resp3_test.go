package lifecycle_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Options and URLs that ask for RESP2, for the sake of other modules, open an engine that speaks RESP3 on each of its
// connections, that for messages included.
func TestOpen_RESP2Asked_EachConnectionRESP3(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	for how, open := range map[string]func() (*lockwheel.Engine, error){
		"AlwaysRESP2": func() (*lockwheel.Engine, error) {
			return lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}, AlwaysRESP2: true}})
		},
		"a URL": func() (*lockwheel.Engine, error) {
			return lockwheel.Dial(t.Context(), "redis://"+s.Addr+"?protocol=2&client_name=asked")
		},
	} {
		t.Run(how, func(t *testing.T) {
			e, err := open()
			require.NoError(t, err)
			defer e.Close()
			s.HoldAsOther(how, time.Minute)
			ctx, leave := context.WithCancel(t.Context())
			waiting := locktest.Locking(ctx, e.Mutex(how))
			locktest.Eventually(t, "a waiter that listens", func() bool { return len(s.Channels()) > 0 })
			connections := 0
			for line := range strings.Lines(s.Real.String(t, "CLIENT", "LIST")) {
				if !strings.Contains(line, " name= ") { // it is not the test's own
					connections++
					require.Contains(t, line, " resp=3")
				}
			}
			require.Equal(t, 2, connections)
			leave()
			locktest.Receive(t, waiting)
			require.NoError(t, e.Close())
			locktest.Eventually(t, "no connection for messages", func() bool { return len(s.Channels()) == 0 })
		})
	}
}

// A client of the program's own that speaks RESP2 is rejected by Open, also with Lazy: to try again does not help. The
// error says what to do.
func TestOpen_ClientSpeaksRESP2_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	client := func(resp2 bool) rueidis.Client {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr}, DisableCache: true, PipelineMultiplex: -1, AlwaysRESP2: resp2})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	for _, lazy := range []bool{false, true} {
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client(true), Lazy: lazy})
		require.ErrorContains(t, err, "lockwheel: open: Options.Client speaks RESP2")
		require.ErrorContains(t, err, "without AlwaysRESP2")
		require.NotErrorIs(t, err, lockwheel.ErrUnavailable)
	}
	e := locktest.OpenRetrying(t, lockwheel.Options{Client: client(false)})
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
}

// The server may be down when an engine with Lazy is opened. Then Engine.Status says why it does not connect later.
func TestLazy_ClientSpeaksRESP2_Told(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	p := proxy.Start(t, s.Addr)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr()}, DisableCache: true, DisableRetry: true, PipelineMultiplex: -1, AlwaysRESP2: true})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, p.Refuse(true))
	p.Cut()
	e, err := lockwheel.Open(t.Context(), lockwheel.Options{Client: client, Lazy: true})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	require.NoError(t, p.Refuse(false))
	locktest.Eventually(t, "the reason", func() bool { return strings.Contains(e.Status()[0].Err.Error(), "Options.Client speaks RESP2") })
	_, err = e.Mutex("n").TryLock(t.Context())
	require.ErrorIs(t, err, lockwheel.ErrUnavailable)
	require.ErrorContains(t, err, "Options.Client speaks RESP2")
}

// helloServer is a server, or a sentinel, that replies to HELLO as the test says and accepts nothing else but what
// belongs to a handshake.
type helloServer struct {
	addr   string
	hellos atomic.Int64
}

func startHelloServer(t *testing.T, hello func(c *server.Peer)) *helloServer {
	t.Helper()
	srv, err := server.NewServer("127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(srv.Close)
	s := &helloServer{addr: srv.Addr().String()}
	for name, command := range map[string]server.Cmd{
		"HELLO": func(c *server.Peer, _ string, _ []string) {
			s.hellos.Add(1)
			hello(c)
		},
		"CLIENT": func(c *server.Peer, _ string, _ []string) { c.WriteOK() },
		"PING":   func(c *server.Peer, _ string, _ []string) { c.WriteInline("PONG") },
		"SENTINEL": func(c *server.Peer, _ string, _ []string) {
			c.WriteStrings([]string{"127.0.0.1", strings.TrimPrefix(s.addr, "127.0.0.1:")})
		},
	} {
		require.NoError(t, srv.Register(name, command))
	}
	return s
}

// A server that does not know HELLO, or no RESP3, is rejected by Open with an error that says so, and so is a sentinel.
// rueidis would take the first for one in RESP2. With Lazy the engine goes on trying, since the server may be replaced.
func TestOpen_ServerWithoutRESP3_Rejected(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hello func(*server.Peer)
		says  string
	}{
		"it does not know HELLO": {
			func(c *server.Peer) { c.WriteError("ERR unknown command 'HELLO', with args beginning with: '3' ") },
			"the server does not speak RESP3, which an engine needs: ERR unknown command 'HELLO'",
		},
		"it does not know the version": {
			func(c *server.Peer) { c.WriteError("NOPROTO unsupported protocol version") },
			"the server does not speak RESP3, which an engine needs: NOPROTO unsupported protocol version",
		},
		"it speaks the older version all the same": {
			func(c *server.Peer) {
				c.WriteMapLen(1)
				c.WriteBulk("proto")
				c.WriteInt(2)
			},
			"the server does not speak RESP3, which an engine needs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startHelloServer(t, c.hello)
			for what, redis := range map[string]rueidis.ClientOption{
				"a server":   {InitAddress: []string{s.addr}},
				"a sentinel": {InitAddress: []string{s.addr}, Sentinel: rueidis.SentinelOption{MasterSet: "m"}},
			} {
				_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis})
				require.ErrorContains(t, err, "lockwheel: open: connecting to ["+s.addr+"]", what)
				require.ErrorContains(t, err, c.says, what)
				require.NotErrorIs(t, err, lockwheel.ErrUnavailable, what)
			}
			e, err := lockwheel.Open(t.Context(), lockwheel.Options{Lazy: true, Redis: rueidis.ClientOption{InitAddress: []string{s.addr}}})
			require.NoError(t, err)
			defer e.Close()
			_, err = e.Mutex("n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrUnavailable)
			require.ErrorContains(t, err, c.says)
			before := s.hellos.Load()
			locktest.Eventually(t, "a further attempt", func() bool { return s.hellos.Load() > before })
		})
	}
}
