package lifecycle_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// Dial takes the password and the database from the URL.
func TestDial_URL_Read(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--requirepass", "secret")
	e, err := lockwheel.Dial(t.Context(), "redis://:secret@"+s.Addr+"/3")
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	hold := locktest.Lock(t, e.Mutex("n"))
	require.Equal(t, "OK", s.Do("SELECT", 3))
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("n"))
	locktest.Unlock(t, hold)
}

func TestDial_InvalidURL_Error(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:6379", "http://127.0.0.1:6379", "redis://127.0.0.1:6379/x", "redis://%zz"} {
		_, err := lockwheel.Dial(t.Context(), url)
		require.ErrorContains(t, err, "lockwheel: dial: ", url)
	}
}

// A user may first try an address without a scheme. The password of an invalid URL is not printed.
func TestDial_InvalidURL_ShowsExample(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                               "its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port",
		"localhost":                      "its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port",
		"localhost:6379":                 "its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port",
		"http://user:secret@localhost":   "its scheme is none of redis, rediss, valkey, valkeys and unix, want redis://host:port",
		"127.0.0.1:6379":                 "it cannot be read, want redis://host:port",
		"redis://user:secret@h:1?db=one": "its database is no number, want redis://host:port/0",
		"redis://user:123/4@localhost":   "an @ stands behind the host: in a user and a password write / ? # as %2F %3F %23, and behind the host @ as %40",
	} {
		_, err := lockwheel.Dial(t.Context(), url)
		require.EqualError(t, err, "lockwheel: dial: the URL: "+says, url)
	}
}

// Open rejects invalid options with an error that names them.
func TestOptions_Invalid_Rejected(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	client := s.Client()
	redis := rueidis.ClientOption{InitAddress: []string{s.Addr}, ForceSingleClient: true}
	for want, opts := range map[string]lockwheel.Options{
		"no server":                                        {},
		"two servers":                                      {Redis: redis, Client: client},
		"Options.Lease":                                    {Redis: redis, Lease: 99 * time.Millisecond},
		"Options.Lease of -":                               {Redis: redis, Lease: -time.Second},
		"Options.Lease of 2":                               {Redis: redis, Lease: math.MaxInt64},
		"Options.RenewInterval":                            {Redis: redis, Lease: time.Second, RenewInterval: 501 * time.Millisecond},
		"Options.RenewInterval of -":                       {Redis: redis, RenewInterval: -1},
		"Options.RenewInterval of 1n":                      {Redis: redis, RenewInterval: 1},
		"Options.CallTimeout":                              {Redis: redis, Lease: time.Second, CallTimeout: 334 * time.Millisecond},
		"Options.CallTimeout of -":                         {Redis: redis, CallTimeout: -1},
		"Options.CallTimeout of 1n":                        {Redis: redis, CallTimeout: 1},
		"Options.BusyWait of 1.000001ms: want at most 1ms": {Redis: redis, BusyWait: time.Millisecond + 1},
		"Options.MaxHold of -":                             {Redis: redis, MaxHold: -1},
		"Options.MaxHold of 1n":                            {Redis: redis, MaxHold: 1},
		"h47m16.854775807s: want 1ms to 10 years":          {Redis: redis, MaxHold: math.MaxInt64},
		"Options.Handoff.MaxDuration":                      {Redis: redis, Handoff: lockwheel.Handoff{MaxDuration: -1}},
		"Options.MaxWaiting of -1: want 1 or more":         {Redis: redis, MaxWaiting: -1},
		"Options.MaxWaitingPerLock of -1: want 1 or more":  {Redis: redis, MaxWaitingPerLock: -1},
		"Options.Prefix":                                   {Redis: redis, Prefix: strings.Repeat("x", 64<<10)},
	} {
		_, err := lockwheel.Open(t.Context(), opts)
		require.ErrorContains(t, err, "lockwheel: open: ", want)
		require.ErrorContains(t, err, want)
	}
	shortest := s.Open(lockwheel.Options{Lease: 100 * time.Millisecond, Lazy: true}) // also if the server replies too late
	require.NoError(t, shortest.Close())
}

// This test and the following are not parallel: they count goroutines.
func TestOpen_Fails_LeavesNothing(t *testing.T) {
	s := locktest.RealServer(t, "--requirepass", "secret")
	p := proxy.Start(t, s.Addr)
	swallowing := proxy.Start(t, s.Addr)
	swallowing.Set(proxy.Both, proxy.Drop)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(locktest.ErrTest)
	brieflyOpen := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, 50*time.Millisecond, locktest.ErrTest)
	}
	s.Do("PING")
	for _, c := range []struct {
		name, addr string
		change     func(*lockwheel.Options)
		ctx        func(context.Context) (context.Context, context.CancelFunc)
		is         error
		says       string
	}{
		{name: "no listener", addr: locktest.Unused(t), says: "connection refused"},
		{name: "no port", addr: "127.0.0.1", says: "port"},
		{name: "a password is wanted", addr: s.Addr, says: "NOAUTH"},
		{name: "another password is wanted", addr: s.Addr, says: "WRONGPASS",
			change: func(o *lockwheel.Options) { o.Redis.Password = "public" }},
		{name: "a silent server", addr: swallowing.Addr(), change: func(o *lockwheel.Options) { o.CallTimeout = 100 * time.Millisecond }},
		{name: "a silent server and a context", addr: swallowing.Addr(), ctx: brieflyOpen, is: locktest.ErrTest,
			change: func(o *lockwheel.Options) { o.CallTimeout = 500 * time.Millisecond }},
		{name: "a context that ended", addr: p.Addr(), is: locktest.ErrTest,
			ctx: func(context.Context) (context.Context, context.CancelFunc) { return ended, func() {} }},
		{name: "no such database", addr: s.Addr, says: "out of range",
			change: func(o *lockwheel.Options) { o.Redis.Password, o.Redis.SelectDB = "secret", 4711 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			running := goleak.IgnoreCurrent()
			opts := lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{c.addr}}}
			if c.change != nil {
				c.change(&opts)
			}
			ctx := t.Context()
			if c.ctx != nil {
				var cancel context.CancelFunc
				ctx, cancel = c.ctx(ctx)
				defer cancel()
			}
			before := time.Now()
			_, err := lockwheel.Open(ctx, opts)
			require.Less(t, time.Since(before), locktest.TestDeadline)
			require.ErrorContains(t, err, "lockwheel: open: ")
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			t.Log(err)
			locktest.Eventually(t, "no goroutine left", func() bool {
				swallowing.Cut() // otherwise it keeps its side open
				return goleak.Find(running) == nil
			})
		})
	}
	locktest.Eventually(t, "no connection left", func() bool { return len(s.Engines()) == 0 })
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Several addresses mean the nodes of a cluster. rueidis keeps connecting to them after it has found that there is no
// cluster.
func TestOpen_NoCluster_LeavesNoConnection(t *testing.T) {
	first, second := locktest.RealServer(t), locktest.RealServer(t)
	for range 20 {
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{first.Addr, second.Addr}}})
		require.Error(t, err)
	}
	locktest.Eventually(t, "no connection left", func() bool { return len(first.Engines())+len(second.Engines()) == 0 })
}

// The error for a server that does not reply does not match the end of a context that continues.
func TestOpen_SilentServer_NoContextError(t *testing.T) {
	s := locktest.RealServer(t)
	require.NoError(t, s.Real.Pause())
	// Long enough for a busy machine to make the connection, which the kernel does for the server.
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{CallTimeout: 2 * time.Second, Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}}})
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "no reply within Options.CallTimeout")
	require.NotContains(t, err.Error(), context.DeadlineExceeded.Error())
	require.NoError(t, s.Real.Continue())
}

// A custom dialer that gave up has not ended Open's context.
func TestOpen_DialerGaveUp_NoContextError(t *testing.T) {
	t.Parallel()
	for _, its := range []error{context.DeadlineExceeded, context.Canceled} {
		_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{
			InitAddress: []string{locktest.Unused(t)}, ForceSingleClient: true,
			DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
				return nil, fmt.Errorf("the dialer's own: %w", its)
			},
		}})
		require.ErrorContains(t, err, "the dialer's own")
		require.NotErrorIs(t, err, its)
	}
}

// A cluster without slots is not usable yet, and nothing is left of the attempt.
func TestOpen_ClusterWithoutSlots_Rejected(t *testing.T) {
	s := locktest.RealServer(t, "--cluster-enabled", "yes")
	running := goleak.IgnoreCurrent()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.Addr}}})
	require.ErrorContains(t, err, "lockwheel: open: ")
	t.Log(err)
	locktest.Eventually(t, "no goroutine left", func() bool { return goleak.Find(running) == nil })
}

// The prefix is prepended to keys and channels, and not to the names that a hold reports.
func TestPrefix_EveryName_Prepended(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	here, bare := s.Open(lockwheel.Options{Prefix: "app:"}), s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, here.Mutex("n"))
	require.Equal(t, "n", hold.Name())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.Hash("app:n"))
	require.False(t, s.Exists("n"))
	locktest.StateFailed(t, bare.Mutex("app:n"))
	locktest.Unlock(t, locktest.Lock(t, bare.Mutex("n")))

	waiting := locktest.Locking(t.Context(), bare.Mutex("app:n"))
	locktest.RequireWaiting(t, bare, 1, 1)
	require.Equal(t, []any{"redisson_lock__channel:{app:n}"}, s.Channels())
	inner := locktest.LockWith(t, hold.Context(), here.Mutex("n"))
	locktest.Unlock(t, inner)
	locktest.Unlock(t, hold)
	require.ErrorContains(t, hold.Unlock(t.Context()), `lock "n"`)
	locktest.Unlock(t, locktest.Granted(t, waiting))
}

// Some libraries send WAIT, WAITAOF and INFO for every lock. This one sends nothing but its scripts.
func TestLock_OneScriptEachWay(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(lockwheel.Options{})
	watch := s.Real.Conn(t)
	require.NoError(t, watch.Send("MONITOR"))
	_, err := watch.Receive(locktest.TestDeadline)
	require.NoError(t, err)
	const pairs = 20
	for range pairs {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
	}
	s.Do("ECHO", "the end")
	commands := 0
	for {
		line := locktest.Monitored(t, watch)
		if strings.Contains(line, "the end") {
			break
		}
		if !strings.Contains(line, " lua] ") {
			require.Contains(t, line, `"EVALSHA"`)
			commands++
		}
	}
	require.Equal(t, 2*pairs, commands)
}

// The end of Open's context ends the connection attempt, even if the caller's dialer hangs.
func TestOpen_ContextEnds_HangingDialEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	opened := make(chan error, 1)
	go func() {
		_, err := lockwheel.Open(ctx, lockwheel.Options{Lease: 10 * locktest.TestDeadline, CallTimeout: 2 * locktest.TestDeadline, Redis: rueidis.ClientOption{
			InitAddress: []string{"127.0.0.1:1"}, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				cancel()
				select {
				case <-ctx.Done():
					ended <- nil
				case <-time.After(locktest.TestDeadline):
					ended <- errors.New("the dial goes on")
				}
				return nil, errors.New("given up")
			},
		}})
		opened <- err
	}()
	require.ErrorIs(t, locktest.Receive(t, opened), context.Canceled)
	require.NoError(t, locktest.Receive(t, ended))
}

// Once Open has returned, the end of its context closes no connection.
func TestOpen_ContextEndsLater_ConnectionKept(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	var dialled atomic.Int32
	e, err := lockwheel.Open(ctx, lockwheel.Options{Anonymous: true, Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, ForceSingleClient: true,
		DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			dialled.Add(1)
			return d.DialContext(ctx, "tcp", address)
		},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	again := func() bool {
		locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))
		return dialled.Load() == 1
	}
	locktest.Always(t, 50*time.Millisecond, "the connection of Open", again)
	cancel()
	locktest.Always(t, 50*time.Millisecond, "the connection of Open", again)
}

// blockedWriter is a connection that ends Open's context at the first write. Its first Close, which follows from that,
// does not close it, and no write returns before that Close.
type blockedWriter struct {
	net.Conn
	end    context.CancelFunc
	closes atomic.Int32
	closed chan struct{} // closed at the first Close
}

func (c *blockedWriter) Write(b []byte) (int, error) {
	c.end()
	<-c.closed
	return c.Conn.Write(b)
}

func (c *blockedWriter) Close() error {
	if c.closes.Add(1) == 1 {
		close(c.closed)
		return nil
	}
	return c.Conn.Close()
}

// A connection that was made after Open's context had ended has no user: its client is closed.
func TestOpen_LateConnection_Closed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	noneConnected := func() bool { return len(s.Engines()) == 0 }
	locktest.Eventually(t, "the end of what started the server", noneConnected)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := lockwheel.Open(ctx, lockwheel.Options{Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, ForceSingleClient: true,
		DialCtxFn: func(_ context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			conn, err := d.Dial("tcp", address)
			if err != nil {
				return nil, err
			}
			return &blockedWriter{Conn: conn, end: cancel, closed: make(chan struct{})}, nil
		},
	}})
	require.ErrorIs(t, err, context.Canceled)
	locktest.Eventually(t, "no connection", noneConnected)
}

// canceling is a connection that cancels instead of writing data that contains a word.
type canceling struct {
	net.Conn
	word   []byte
	cancel func()
}

func (c *canceling) Write(p []byte) (int, error) {
	if bytes.Contains(p, c.word) {
		c.cancel()
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Whenever Open's context ends, Open returns the cause of that, and not a failure that follows from it.
func TestOpen_ContextEnds_ReturnsCause(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	for _, word := range []string{"HELLO", "PING", "SCRIPT", "WAIT"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := lockwheel.Open(ctx, lockwheel.Options{Replicas: lockwheel.Replicas{Min: 1}, Redis: rueidis.ClientOption{
			InitAddress: []string{s.Addr}, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, address string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				c, err := d.DialContext(ctx, "tcp", address)
				return &canceling{c, []byte(word), func() { cancel(locktest.ErrTest) }}, err
			},
		}})
		require.EqualError(t, err, "lockwheel: open: "+locktest.ErrTest.Error(), word)
		require.ErrorIs(t, err, locktest.ErrTest, word)
		cancel(nil)
	}
}

// rueidis dials sentinels with the engine's limits, too, so a sentinel that does not reply is noticed.
func TestSentinels_Dialled_WithEngineLimits(t *testing.T) {
	t.Parallel()
	dialled := make(chan net.Dialer, 100)
	redis := rueidis.ClientOption{
		InitAddress: []string{"host:1"}, Sentinel: rueidis.SentinelOption{MasterSet: "m"},
		DialCtxFn: func(_ context.Context, _ string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
			dialled <- net.Dialer{Timeout: d.Timeout, KeepAlive: d.KeepAlive}
			return nil, net.ErrClosed
		},
	}
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: redis, CallTimeout: time.Second})
	require.ErrorIs(t, err, net.ErrClosed)
	require.Equal(t, net.Dialer{Timeout: time.Second, KeepAlive: time.Second / 2}, <-dialled)
}

// rueidis advises to set DisableCache when a server rejects any CLIENT command. The engine has set that.
func TestOpen_ClientCommandRejected_NoAdvice(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("ACL", "SETUSER", locktest.User, "on", ">"+locktest.Password, "~*", "&*", "+@all", "-client")
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{
		InitAddress: []string{s.Addr}, Username: locktest.User, Password: locktest.Password, ClientNoTouch: true,
	}})
	require.ErrorContains(t, err, ": [CLIENT NO-TOUCH ON]: ")
	var said lockwheel.ServerError
	require.ErrorAs(t, err, &said) // NOPERM, or that an old server does not know the command
	require.NotContains(t, err.Error(), "DisableCache")
	require.NotContains(t, err.Error(), "\n")
	require.NotContains(t, err.Error(), locktest.User)
}
