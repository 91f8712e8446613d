package embedded

import (
	"crypto/sha1"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func sha(text string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(text))) }

// A loaded script is executed by its SHA-1, on each connection, until the scripts are flushed. Loading does not parse
// it, so that an engine opens soon.
func TestHook_LoadedScript_ParsedWhenExecuted(t *testing.T) {
	s, c := connectInMemory(t)
	const text = `redis.call('set', KEYS[1], ARGV[1]) return redis.call('get', KEYS[1])`
	require.Equal(t, sha(text), c.do("SCRIPT", "LOAD", text))
	require.Equal(t, "v", c.do("EVALSHA", sha(text), "1", "k", "v"))
	require.Equal(t, "w", connectTo(t, s).do("EVALSHA", sha(text), "1", "k", "w"))
	require.Equal(t, sha("no Lua"), c.do("SCRIPT", "LOAD", "no Lua"))
	require.Contains(t, c.do("EVALSHA", sha("no Lua"), "0"), "error ")

	require.Equal(t, "OK", c.do("SCRIPT", "FLUSH"))
	require.Contains(t, c.do("EVALSHA", sha(text), "1", "k", "v"), "error NOSCRIPT")
	require.Contains(t, c.do("EVALSHA"), "error wrong number of arguments")
	require.Contains(t, c.do("SCRIPT"), "error wrong number of arguments")
}

// PING is delayed behind messages, and only where messages can come.
func TestHook_Ping_DelayedForSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := connectInMemory(t)
		begin := time.Now()
		require.Equal(t, "PONG", c.do("PING"))
		require.Zero(t, time.Since(begin))
		dedicated, release := c.Dedicate()
		defer release()
		require.NoError(t, dedicated.Do(t.Context(), c.B().Subscribe().Channel("c").Build()).Error())
		begin = time.Now()
		require.NoError(t, dedicated.Do(t.Context(), c.B().Ping().Build()).Error())
		require.Equal(t, 5*time.Millisecond, time.Since(begin))
	})
}

// A connection that subscribed to a pattern is delayed as well, and none is remembered once it has ended.
func TestHook_PatternSubscriber_DelayedUntilItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := connectInMemory(t)
		known := func() (n int) {
			s.hook.subscribers.Range(func(any, any) bool { n++; return true })
			return n
		}
		dedicated, release := c.Dedicate()
		require.NoError(t, dedicated.Do(t.Context(), c.B().Psubscribe().Pattern("c*").Build()).Error())
		begin := time.Now()
		require.NoError(t, dedicated.Do(t.Context(), c.B().Ping().Build()).Error())
		require.Equal(t, 5*time.Millisecond, time.Since(begin))
		require.Equal(t, 1, known())
		dedicated.Close()
		release()
		synctest.Wait()
		require.Zero(t, known())
	})
}
