package embedded

import (
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// A TTL falls with real time, and the key expires.
func TestEmbedded_TTLs_FollowRealTime(t *testing.T) {
	c := connect(t)
	for _, ttl := range []time.Duration{30 * time.Millisecond, 150 * time.Millisecond} {
		before := time.Now()
		c.eval(`redis.call('hset', 'h', 'f', 1) return redis.call('pexpire', 'h', ARGV[1])`, ttl.Milliseconds())
		left := c.eval(`return redis.call('pttl', 'h')`)
		require.NotEqual(t, "-1", left)
		require.Eventually(t, func() bool { return c.eval(`return redis.call('exists', 'h')`) == "0" }, 10*time.Second, time.Millisecond)
		require.GreaterOrEqual(t, time.Since(before), ttl/2)
		require.Equal(t, "-2", c.eval(`return redis.call('pttl', 'h')`))
	}
}

// A long TTL falls while no command runs.
func TestEmbedded_LongTTLs_Fall(t *testing.T) {
	c := connect(t)
	c.eval(`redis.call('set', 'k', 'v', 'px', 60000)`)
	require.Eventually(t, func() bool {
		var left int
		fmt.Sscan(c.eval(`return redis.call('pttl', 'k')`), &left)
		return left > 0 && left < 59_950
	}, 10*time.Second, time.Millisecond)
}

func TestEmbedded_Time_IsTimeOfDay(t *testing.T) {
	c := connect(t)
	require.Eventually(t, func() bool {
		var seconds int64
		fmt.Sscan(c.eval(`return redis.call('time')[1]`), &seconds)
		return time.Since(time.Unix(seconds, 0)).Abs() < 5*time.Second
	}, 10*time.Second, time.Millisecond)
}

// The commands and the shapes of replies that the lock scripts rely on; the same on Redis 7.0.
func TestEmbedded_LockScripts_Run(t *testing.T) {
	c := connect(t)
	require.Equal(t, "OK", c.do("SET", "text", "x"))
	const wrongType = "error WRONGTYPE Operation against a key holding the wrong kind of value"
	for _, step := range []struct{ script, want string }{
		{`return redis.call('hset', 'h', 'f', 1)`, "1"},
		{`return redis.call('hset', 'h', 'f', 2, 'g', 3)`, "1"},
		{`return redis.call('pexpire', 'h', '30000')`, "1"},
		{`return redis.call('pexpire', 'none', 1000)`, "0"},
		{`return type(redis.call('pttl', 'h'))`, "number"},
		{`redis.call('hset', 'h', 'f', 2) return redis.call('pttl', 'h') > 20000`, "1"},
		{`return {redis.call('pttl', 'none'), redis.call('pttl', 'text')}`, "[-2 -1]"},
		{`return redis.call('hgetall', 'h')`, "[f 2 g 3]"},
		{`return redis.call('hgetall', 'none')`, "[]"},
		{`return redis.call('hkeys', 'h')`, "[f g]"},
		{`return {redis.call('hget', 'h', 'f'), redis.call('hget', 'h', 'none'), 3}`, "[2 nil 3]"},
		{`return {redis.call('hexists', 'h', 'f'), redis.call('hexists', 'h', 'none')}`, "[1 0]"},
		{`return redis.call('hincrby', 'h', 'f', -1)`, "1"},
		{`return {redis.call('exists', 'h'), redis.call('exists', 'none')}`, "[1 0]"},
		{`return redis.call('hdel', 'h', 'none')`, "0"},
		{`return redis.call('hdel', 'h', 'f', 'g')`, "2"},
		{`return {redis.call('exists', 'h'), redis.call('pttl', 'h')}`, "[0 -2]"},
		{`redis.call('hset', 'h', 'f', 1) return redis.call('pttl', 'h')`, "-1"},
		{`return redis.call('pexpire', 'h', 0)`, "1"},
		{`return redis.call('exists', 'h')`, "0"},
		{`return {redis.call('del', 'text2'), redis.call('set', 'text2', 1), redis.call('del', 'text2')}`, "[0 OK 1]"},
		{`return redis.call('publish', 'unheard', '0')`, "0"},
		{`return redis.call('pubsub', 'numsub', 'a', 'b')`, "[a 0 b 0]"},
		{`return redis.pcall('hset', 'text', 'f', 1)`, wrongType},
		{`return redis.pcall('hset', 'text', 'f', 1).err`, strings.TrimPrefix(wrongType, "error ")},
		{`local r = redis.pcall('hset', 'text', 'f', 1) return {r, 5, {r}}`, "[" + wrongType + " 5 [" + wrongType + "]]"},
		{`return {{err = 'MY own'}, 1}`, "[error MY own 1]"},
		{`return {1, false, 3}`, "[1 nil 3]"},
		{`return {KEYS[1], ARGV[1]}`, "[key arg]"},
	} {
		require.Equal(t, step.want, c.eval(step.script, "arg"), step.script)
	}
}

func TestEmbedded_Scripts_FoundByDigest(t *testing.T) {
	c := connect(t)
	const script = "return ARGV[1]"
	digest := c.do("EVALSHA", "098e0f0d1448c0a81dafe820f66d460eb09263da", "0", "a")
	require.Equal(t, "error NOSCRIPT No matching script. Please use EVAL.", digest)
	require.Equal(t, "098e0f0d1448c0a81dafe820f66d460eb09263da", c.do("SCRIPT", "LOAD", script))
	require.Equal(t, "a", c.do("EVALSHA", "098e0f0d1448c0a81dafe820f66d460eb09263da", "0", "a"))
	require.Equal(t, "OK", c.do("SCRIPT", "FLUSH"))

	lua := rueidis.NewLuaScript(script)
	for range 2 {
		require.Equal(t, "b", text(lua.Exec(t.Context(), c.Client, nil, []string{"b"})))
	}
}

func TestEmbedded_DedicatedConn_Subscribes(t *testing.T) {
	c := connect(t)
	happened := make(chan string, 100)
	sub, release := c.Dedicate()
	defer release()
	closed := sub.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: func(m rueidis.PubSubMessage) {
			happened <- fmt.Sprintf("%s says %s", m.Channel, m.Message)
		},
		OnSubscription: func(s rueidis.PubSubSubscription) {
			happened <- fmt.Sprintf("%s %s %d", s.Kind, s.Channel, s.Count)
		},
	})
	do := func(command rueidis.Completed) {
		t.Helper()
		require.NoError(t, sub.Do(t.Context(), command).Error())
	}
	next := func() string {
		select {
		case event := <-happened:
			return event
		case err := <-closed:
			return fmt.Sprint("closed: ", err)
		case <-time.After(10 * time.Second):
			return "nothing"
		}
	}

	do(sub.B().Subscribe().Channel("a", "b{\n").Build())
	require.Equal(t, "subscribe a 1", next())
	require.Equal(t, "subscribe b{\n 2", next())
	require.Equal(t, "[a 1 b{\n 1 c 0]", c.eval(`return redis.call('pubsub', 'numsub', 'a', ARGV[1], 'c')`, "b{\n"))
	require.Equal(t, "[1 1 0]", c.eval(`return {redis.call('publish', ARGV[1], '0'), redis.call('publish', 'a', '1'), redis.call('publish', 'c', '2')}`, "b{\n"))
	require.Equal(t, "b{\n says 0", next())
	require.Equal(t, "a says 1", next())
	do(sub.B().Ping().Build())
	do(sub.B().Unsubscribe().Channel("a").Build())
	require.Equal(t, "unsubscribe a 1", next())
	require.Equal(t, "0", c.eval(`return redis.call('publish', 'a', '1')`))
	do(sub.B().Unsubscribe().Build())
	require.Equal(t, "unsubscribe b{\n 0", next())
	do(sub.B().Subscribe().Channel("a").Build())
	require.Equal(t, "subscribe a 1", next())
}

// Close ends all connections, and a second Close does nothing.
func TestEmbedded_CloseTwice_Harmless(t *testing.T) {
	s, err := Start()
	require.NoError(t, err)
	client, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer client.Close()
	s.Close()
	s.Close()
	_, err = net.Dial("tcp", s.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// client is a rueidis client with replies as text.
type client struct {
	rueidis.Client
	t *testing.T
}

func connect(t *testing.T) client {
	t.Helper()
	s, err := Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return client{c, t}
}

func (c client) do(command ...string) string {
	ctx, cancel := context.WithTimeout(c.t.Context(), 10*time.Second)
	defer cancel()
	return text(c.Do(ctx, c.B().Arbitrary(command...).Build()))
}

func (c client) eval(script string, args ...any) string {
	command := []string{"EVAL", script, "1", "key"}
	for _, arg := range args {
		command = append(command, fmt.Sprint(arg))
	}
	return c.do(command...)
}

func text(r rueidis.RedisResult) string {
	m, err := r.ToMessage()
	if serverErr, ok := rueidis.IsRedisErr(err); ok && !serverErr.IsNil() {
		return "error " + serverErr.Error()
	}
	if err != nil && !rueidis.IsRedisNil(err) {
		return "broken: " + err.Error()
	}
	return textOf(m)
}

func textOf(m rueidis.RedisMessage) string {
	if m.IsNil() {
		return "nil"
	}
	if err := m.Error(); err != nil {
		return "error " + err.Error()
	}
	if n, err := m.ToInt64(); err == nil {
		return fmt.Sprint(n)
	}
	if s, err := m.ToString(); err == nil {
		return s
	}
	array, err := m.ToArray()
	if err != nil {
		return fmt.Sprintf("%#v", m)
	}
	var texts []string
	for _, element := range array {
		texts = append(texts, textOf(element))
	}
	return "[" + strings.Join(texts, " ") + "]"
}

// The clock of the server is right also once it has advanced, and not only as long as it stands still.
func TestEmbedded_TimeOnceAdvanced_IsTimeOfDay(t *testing.T) {
	c := connect(t)
	c.eval(`redis.call('set', 'k', 'v', 'px', 600000)`)
	require.Eventually(t, func() bool { return c.eval(`return redis.call('pttl', 'k') < 600000`) == "1" }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool {
		var seconds int64
		fmt.Sscan(c.eval(`return redis.call('time')[1]`), &seconds)
		return time.Since(time.Unix(seconds, 0)).Abs() < 5*time.Minute
	}, 10*time.Second, 10*time.Millisecond)
}
