package lockwheel_test

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/loopback"
	"github.com/lockwheel/lockwheel/internal/proxy"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// Open and Dial: they connect, or say why not and leave nothing running.

func TestDialReadsAURL(t *testing.T) {
	t.Parallel()
	s := realSite(t, "--requirepass", "secret")
	e, err := lockwheel.Dial(t.Context(), "redis://:secret@"+s.addr+"/3")
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	hold := lock(t, e.Mutex("n"))
	require.Equal(t, "OK", s.do("SELECT", 3))
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("n"))
	unlock(t, hold)
}

func TestDialRefusesWhatIsNoURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:6379", "http://127.0.0.1:6379", "redis://127.0.0.1:6379/x", "redis://%zz"} {
		_, err := lockwheel.Dial(t.Context(), url)
		require.ErrorContains(t, err, "lockwheel: dial: ", url)
	}
}

// An address without a scheme is what one tries first. The password of a URL that cannot be used is not printed.
func TestDialSaysWhatAURLLooksLike(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                               `invalid URL scheme "", want redis://host:port`,
		"localhost":                      `invalid URL scheme "", want redis://host:port`,
		"localhost:6379":                 `invalid URL scheme "localhost", want redis://host:port`,
		"http://user:secret@localhost":   `invalid URL scheme "http", want redis://host:port`,
		"127.0.0.1:6379":                 "malformed URL, want redis://host:port: first path segment in URL cannot contain colon",
		"redis://user:secret@local host": `malformed URL, want redis://host:port: invalid character " " in host name`,
	} {
		_, err := lockwheel.Dial(t.Context(), url)
		require.EqualError(t, err, "lockwheel: dial: "+says, url)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	client := s.client()
	redis := rueidis.ClientOption{InitAddress: []string{s.addr}, ForceSingleClient: true}
	for want, opts := range map[string]lockwheel.Options{
		"no server":             {},
		"two servers":           {Redis: redis, Client: client},
		"Options.Lease":         {Redis: redis, Lease: 99 * time.Millisecond},
		"Options.Lease of -":    {Redis: redis, Lease: -time.Second},
		"Options.Lease of 2":    {Redis: redis, Lease: math.MaxInt64},
		"Options.Renew":         {Redis: redis, Lease: time.Second, Renew: 501 * time.Millisecond},
		"Options.Renew of -":    {Redis: redis, Renew: -1},
		"Options.Renew of 1n":   {Redis: redis, Renew: 1},
		"Options.Timeout":       {Redis: redis, Lease: time.Second, Timeout: 334 * time.Millisecond},
		"Options.Timeout of -":  {Redis: redis, Timeout: -1},
		"Options.Timeout of 1n": {Redis: redis, Timeout: 1},
		"Options.MaxHold of -":  {Redis: redis, MaxHold: -1},
		"Options.MaxHold of 1n": {Redis: redis, MaxHold: 1},
		"Options.MaxHold of 2":  {Redis: redis, MaxHold: math.MaxInt64},
		"Options.Handoff.For":   {Redis: redis, Handoff: lockwheel.Handoff{For: -1}},
		"Options.Prefix":        {Redis: redis, Prefix: strings.Repeat("x", 64<<10)},
	} {
		_, err := lockwheel.Open(t.Context(), opts)
		require.ErrorContains(t, err, "lockwheel: open: ", want)
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, s.open(lockwheel.Options{Lease: 100 * time.Millisecond}).Close(), "the shortest lease")
}

// This and what follows is not parallel: it counts goroutines.
func TestOpenThatFailsLeavesNothing(t *testing.T) {
	s := realSite(t, "--requirepass", "secret")
	p := proxy.Start(t, s.addr)
	swallowing := proxy.Start(t, s.addr)
	swallowing.Set(proxy.Both, proxy.Drop)
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errTest)
	brieflyOpen := func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, 50*time.Millisecond, errTest)
	}
	s.do("PING")
	for _, c := range []struct {
		name, addr string
		change     func(*lockwheel.Options)
		ctx        func(context.Context) (context.Context, context.CancelFunc)
		is         error
		says       string
	}{
		{name: "nobody listens", addr: unused(t), says: "connection refused"},
		{name: "no port", addr: "127.0.0.1", says: "port"},
		{name: "a password is wanted", addr: s.addr, says: "NOAUTH"},
		{name: "another password is wanted", addr: s.addr, says: "WRONGPASS",
			change: func(o *lockwheel.Options) { o.Redis.Password = "public" }},
		{name: "a silent server", addr: swallowing.Addr(), change: func(o *lockwheel.Options) { o.Timeout = 100 * time.Millisecond }},
		{name: "a silent server and a context", addr: swallowing.Addr(), ctx: brieflyOpen, is: errTest,
			change: func(o *lockwheel.Options) { o.Timeout = 500 * time.Millisecond }},
		{name: "a context that ended", addr: p.Addr(), is: errTest,
			ctx: func(context.Context) (context.Context, context.CancelFunc) { return ended, func() {} }},
		{name: "no such database", addr: s.addr, says: "out of range",
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
			require.Less(t, time.Since(before), patience)
			require.ErrorContains(t, err, "lockwheel: open: ")
			require.ErrorContains(t, err, c.says)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			t.Log(err)
			eventually(t, "no goroutine left", func() bool {
				swallowing.Cut() // it keeps its side open otherwise
				return goleak.Find(running) == nil
			})
		})
	}
	eventually(t, "no connection left", func() bool { return len(s.engines()) == 0 })
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// unused is an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	port, err := loopback.Port() // nobody else's
	require.NoError(t, err)
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// A cluster without slots is none yet, and nothing is left of the attempt.
func TestOpenRefusesAClusterWithoutSlots(t *testing.T) {
	s := realSite(t, "--cluster-enabled", "yes")
	running := goleak.IgnoreCurrent()
	_, err := lockwheel.Open(t.Context(), lockwheel.Options{Redis: rueidis.ClientOption{InitAddress: []string{s.addr}}})
	require.ErrorContains(t, err, "lockwheel: open: ")
	t.Log(err)
	eventually(t, "no goroutine left", func() bool { return goleak.Find(running) == nil })
}

func TestPrefixIsPutBeforeEveryName(t *testing.T) {
	t.Parallel()
	s := anySite(t)
	here, bare := s.open(lockwheel.Options{Prefix: "app:"}), s.open(lockwheel.Options{})
	hold := lock(t, here.Mutex("n"))
	require.Equal(t, "n", hold.Name())
	require.Equal(t, map[string]string{hold.ID(): "1"}, s.hash("app:n"))
	require.False(t, s.exists("n"))
	refused(t, bare.Mutex("app:n"))
	unlock(t, lock(t, bare.Mutex("n")))

	waiting := locking(t.Context(), bare.Mutex("app:n"))
	asleep(t, bare, 1, 1)
	require.Equal(t, []any{"redisson_lock__channel:{app:n}"}, s.channels())
	inner := lockWith(t, hold.Context(), here.Mutex("n"))
	unlock(t, inner)
	unlock(t, hold)
	require.ErrorContains(t, hold.Unlock(t.Context()), `lock "n"`)
	unlock(t, granted(t, waiting))
}

// WAIT, WAITAOF and INFO on every lock. Nothing but our scripts is sent.
func TestALockIsOneScriptEachWay(t *testing.T) {
	t.Parallel()
	s := realSite(t)
	e := s.open(lockwheel.Options{})
	watch := s.real.Conn(t)
	require.NoError(t, watch.Send("MONITOR"))
	_, err := watch.Receive(patience)
	require.NoError(t, err)
	const pairs = 20
	for range pairs {
		unlock(t, lock(t, e.Mutex("n")))
	}
	s.do("ECHO", "the end")
	commands := 0
	for {
		line := monitored(t, watch)
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

func monitored(t *testing.T, c *redistest.Conn) string {
	t.Helper()
	line, err := c.Receive(patience)
	require.NoError(t, err)
	return line.(string)
}
