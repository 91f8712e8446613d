package demo

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// onEachServer runs a test on the embedded server and on a real one. It has its own connection.
func onEachServer(t *testing.T, test func(t *testing.T, where server, inspector *redistest.Conn)) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		where, err := embed()
		require.NoError(t, err)
		t.Cleanup(where.close)
		test(t, where, connection(t, where))
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		where := realServer(redistest.Start(t))
		test(t, where, connection(t, where))
	})
}

// Whatever is left at any master of a cluster is found, and nothing twice.
func TestProbe_Cluster_EachMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	p, err := newProbe(rueidis.ClientOption{InitAddress: []string{c.Nodes[0].Addr()}})
	require.NoError(t, err)
	defer p.close()
	r, err := p.leftovers(t.Context(), "left")
	require.NoError(t, err)
	require.Equal(t, leftovers{}, r)
	for _, key := range c.SpreadKeys("left", 6) {
		c.Master(t, c.Slot(t, key)).Do(t, "SET", key, "x")
	}
	channel := c.SpreadKeys("left", 6)[3]
	require.NoError(t, c.Master(t, c.Slot(t, channel)).Conn(t).Send("SSUBSCRIBE", channel))
	require.Eventually(t, func() bool {
		r, err = p.leftovers(t.Context(), "left")
		return err != nil || len(r.channels) > 0
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, 6, r.count)
	require.Len(t, r.keys, 3)
	require.Len(t, r.channels, 1)
}

// A channel that stays is asked for ten times a second: each question has the server look at all of them.
func TestProbe_ChannelStays_AskedRarely(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p, err := newProbe(rueidis.ClientOption{InitAddress: []string{s.Addr()}})
	require.NoError(t, err)
	defer p.close()
	s.Subscribe(t, "left")
	r, err := p.leftovers(t.Context(), "left")
	require.NoError(t, err)
	require.Equal(t, []string{"left"}, r.channels)
	require.LessOrEqual(t, s.CommandCalls(t, "pubsub|channels"), int(closeGrace/(100*time.Millisecond))+2)
}

func realServer(s *redistest.Server) server {
	return server{option: rueidis.ClientOption{InitAddress: []string{s.Addr()}}, close: func() {}}
}

func connection(t *testing.T, to server) *redistest.Conn {
	t.Helper()
	c, err := redistest.Dial(to.address())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// shortDemo returns the settings of a short demo. Its lease is long, so that no lock is lost on a machine that is busy
// with other tests.
func shortDemo() settings {
	return settings{locks: 300, hold: 300 * time.Millisecond, workers: 8, hot: 3, lease: 5 * time.Second}
}

// endlessDemo returns the settings of a small demo that runs until it is interrupted.
func endlessDemo() settings {
	s := shortDemo()
	s.hold = time.Hour
	return s
}

// runCaptured runs a demo and returns what it printed.
func runCaptured(ctx context.Context, t *testing.T, d *demo) (good bool, printed string) {
	t.Helper()
	var out strings.Builder
	d.screen = newScreen(&out)
	good, err := d.run(ctx)
	require.NoError(t, err)
	if t.Failed() {
		t.Log(out.String())
	}
	return good, out.String()
}

// awaitWork waits until a demo has acquired its locks and its workers have held theirs.
func awaitWork(t *testing.T, d *demo) {
	t.Helper()
	assert.Eventually(t, func() bool {
		return d.load.uncontended.count() > 0 && d.load.contended.count() > 0
	}, 20*time.Second, time.Millisecond)
}

// awaitKey waits until a name of a demo is in the server.
func awaitKey(t *testing.T, inspector *redistest.Conn, d *demo, name string) {
	t.Helper()
	assert.Eventually(t, func() bool {
		there, err := inspector.Do("EXISTS", d.prefix+name)
		return err == nil && there == int64(1)
	}, 20*time.Second, time.Millisecond)
}

// inBackground runs something in another goroutine, and the test waits for it.
func inBackground(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	t.Cleanup(func() { <-done })
}

func requireEmpty(t *testing.T, inspector *redistest.Conn) {
	t.Helper()
	size, err := inspector.Do("DBSIZE")
	require.NoError(t, err)
	assert.EqualValues(t, 0, size)
}

func TestDemo_SoundServer_VerdictGood(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		good, printed := runCaptured(t.Context(), t, newDemo(shortDemo(), where, nil))
		assert.True(t, good, printed)
		assert.Contains(t, printed, where.address())
		assert.Contains(t, printed, "plan     keep 300 locks for 300ms (lease 5s, renewed every 1s); meanwhile\n         5 workers ")
		assert.Contains(t, printed, " each, and 3 the\n         hot name, which 3 workers ")
		assert.Contains(t, printed, "took     300 locks")
		assert.Contains(t, printed, "kept     for ")
		assert.Contains(t, printed, "released 300 locks")
		assert.Regexp(t, "ok .* lost \\(300 kept .*\nok .* at once\nok .* no key, no channel\n\nverdict: good\n$", printed)
		requireEmpty(t, inspector)
	})
}

func TestCommand_GoodDemo_Exits0(t *testing.T) {
	small := []string{"-locks", "100", "-for", "300ms", "-workers", "4", "-hot", "1"}
	t.Run("embedded", func(t *testing.T) {
		status, stdout, stderr := command(t, small...)
		assert.Equal(t, exitOK, status, stdout, stderr)
		assert.Contains(t, stdout, "server   embedded, at 127.0.0.1:")
	})
	t.Run("real", func(t *testing.T) {
		s := redistest.Start(t)
		status, stdout, stderr := command(t, append([]string{"-redis", s.Addr()}, small...)...)
		assert.Equal(t, exitOK, status, stdout, stderr)
		assert.Regexp(t, `server +(Redis|Valkey) \d+\.\d+.* at `+s.Addr(), stdout)
	})
}

func TestCommand_BadDemo_Exits1(t *testing.T) {
	s := redistest.Start(t)
	inspector := s.Conn(t)
	inBackground(t, func() {
		assert.Eventually(t, func() bool {
			found, err := inspector.Do("KEYS", "lockwheel-demo/*/kept/99")
			keys, _ := found.([]any)
			if err != nil || len(keys) == 0 {
				return false
			}
			removed, err := inspector.Do("DEL", keys[0])
			return err == nil && removed == int64(1)
		}, 20*time.Second, time.Millisecond)
	})
	status, stdout, stderr := command(t, "-redis", s.Addr(), "-locks", "100", "-for", "2s", "-workers", "2", "-hot", "1")
	assert.Equal(t, exitFailed, status, stdout)
	assert.Contains(t, stdout, "verdict: BAD")
	assert.Empty(t, stderr)
}

func TestDemo_LockLost_NamedAndBad(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		d := newDemo(endlessDemo(), where, nil)
		ctx, interrupt := context.WithCancel(t.Context())
		inBackground(t, func() {
			defer interrupt()
			awaitWork(t, d)
			removed, err := inspector.Do("DEL", d.prefix+"kept/17")
			assert.NoError(t, err)
			assert.EqualValues(t, 1, removed)
		})
		good, printed := runCaptured(ctx, t, d)
		assert.False(t, good)
		assert.Contains(t, printed, "FAILED  held locks lost: 1\n          lockwheel: lock \"kept/17\": lock lost")
		assert.Contains(t, printed, "verdict: BAD")
		requireEmpty(t, inspector)
	})
}

// brokenLock is a lock without mutual exclusion.
type brokenLock struct{}

func (brokenLock) Unlock(context.Context) error { return nil }

func TestDemo_TwoHolders_NoticedAndBad(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		s := shortDemo()
		s.hold = 2 * time.Second // for all workers to run in, also on a busy machine
		d := newDemo(s, where, nil)
		d.load.lock = func(ctx context.Context, m lockwheel.Mutex) (hold, error) { return brokenLock{}, nil }
		good, printed := runCaptured(t.Context(), t, d)
		assert.False(t, good)
		assert.Regexp(t, `FAILED  two held one name at once:\n +"hot": up to \d at once, \d+ in all who were not alone\n`, printed)
		assert.NotContains(t, printed, `"worker/`, "the names of single workers")
	})
}

func TestDemo_KeyLeft_NamedAndBad(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		d := newDemo(shortDemo(), where, nil)
		_, err := inspector.Do("SET", d.prefix+"forgotten", "1")
		require.NoError(t, err)
		good, printed := runCaptured(t.Context(), t, d)
		assert.False(t, good)
		assert.Contains(t, printed, "FAILED  keys left in the server: 1\n          "+d.prefix+"forgotten\n")
	})
}

func TestDemo_ChannelLeft_NamedAndBad(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		d := newDemo(shortDemo(), where, nil)
		_, err := inspector.Do("SUBSCRIBE", "redisson_lock__channel:{"+d.prefix+"hot}")
		require.NoError(t, err)
		good, printed := runCaptured(t.Context(), t, d)
		assert.False(t, good)
		assert.Contains(t, printed, "FAILED  channels left in the server: 1\n          redisson_lock__channel:{"+d.prefix+"hot}\n")
	})
}

func TestDemo_LockRejected_EndsAndReleases(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		d := newDemo(shortDemo(), where, nil)
		_, err := inspector.Do("SET", d.prefix+"kept/3", "not a lock")
		require.NoError(t, err)
		good, printed := runCaptured(t.Context(), t, d)
		assert.False(t, good)
		assert.Contains(t, printed, "took     299 locks")
		assert.NotContains(t, printed, "kept     for")
		assert.Regexp(t, `FAILED  calls refused for good: 1\n +lockwheel: lock "kept/3": WRONGTYPE`, printed)
	})
}

func TestDemo_Interrupted_EndsWithVerdict(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		d := newDemo(endlessDemo(), where, nil)
		ctx, interrupt := context.WithCancel(t.Context())
		inBackground(t, func() {
			defer interrupt()
			awaitWork(t, d)
		})
		good, printed := runCaptured(ctx, t, d)
		assert.True(t, good, printed)
		assert.Contains(t, printed, "interrupted")
		assert.Regexp(t, `of a name alone +[1-9]`, printed)
		assert.Regexp(t, `of the hot name +[1-9]`, printed)
		assert.Contains(t, printed, "released 300 locks")
		requireEmpty(t, inspector)
	})
}

func TestDemo_InterruptedWhileLocking_Ends(t *testing.T) {
	onEachServer(t, func(t *testing.T, where server, inspector *redistest.Conn) {
		s := shortDemo()
		s.locks, s.lease = maxLocks, time.Minute
		d := newDemo(s, where, nil)
		ctx, interrupt := context.WithCancel(t.Context())
		inBackground(t, func() {
			defer interrupt()
			awaitKey(t, inspector, d, "kept/300")
		})
		good, printed := runCaptured(ctx, t, d)
		assert.True(t, good, printed)
		assert.NotContains(t, printed, "kept     for")
		requireEmpty(t, inspector)
	})
}

func TestDemo_ServerDies_VerdictBad(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	where := realServer(redis)
	s := shortDemo()
	s.lease, s.hold = 2*time.Second, 6*time.Second
	d := newDemo(s, where, nil)
	inBackground(t, func() {
		awaitWork(t, d)
		assert.NoError(t, redis.Kill())
	})
	good, printed := runCaptured(t.Context(), t, d)
	assert.False(t, good)
	assert.Contains(t, printed, "FAILED  held locks lost: 300\n")
	assert.Contains(t, printed, "whether anything is left in the server is not known")
}

func TestDemo_ServerDiesWhileLocking_Ends(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	where := realServer(redis)
	s := endlessDemo()
	s.lease, s.locks = 2*time.Second, maxLocks
	d := newDemo(s, where, nil)
	inspector := connection(t, where)
	inBackground(t, func() {
		awaitKey(t, inspector, d, "kept/300")
		assert.NoError(t, redis.Kill())
	})
	good, printed := runCaptured(t.Context(), t, d)
	assert.False(t, good)
	assert.Regexp(t, "FAILED +only \\d+ of 10000000 locks could be taken", printed)
}

func TestDemo_SecondEngineFails_FirstClosed(t *testing.T) {
	t.Parallel()
	where := realServer(redistest.Start(t))
	full := errors.New("no more connections")
	var dialled atomic.Int32
	where.option.DialCtxFn = func(ctx context.Context, to string, with *net.Dialer, _ *tls.Config) (net.Conn, error) {
		if dialled.Add(1) > 1 {
			return nil, full
		}
		return with.DialContext(ctx, "tcp", to)
	}
	var out strings.Builder
	_, err := newDemo(shortDemo(), where, newScreen(&out)).run(t.Context())
	assert.ErrorIs(t, err, full)
	assert.Empty(t, out.String())
}
