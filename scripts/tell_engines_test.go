package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/identity"
	"github.com/lockwheel/lockwheel/scripts"
)

// idOf returns the id of an engine.
func idOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

// told returns what engines receive, without the messages to waiters.
func told(messages []message) (to []string) {
	for _, m := range messages {
		if strings.HasPrefix(m.channel, "lockwheel:") {
			to = append(to, m.channel+" "+m.payload)
		}
	}
	return to
}

// A force tells the engines of the holders, each once a key, but neither the caller's own nor a client that is no
// engine.
func TestForceScripts_EnginesOfHolders_Told(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		sub := s.listen()
		for _, force := range []struct {
			script scripts.Script
			args   []any
		}{
			{scripts.Force, []any{"PUBLISH"}}, {scripts.FairForce, []any{"PUBLISH", 1}},
		} {
			for own, want := range map[string][]string{
				"":      nil,
				idOf(9): {identity.EngineChannel(idOf(1)) + " forced a", identity.EngineChannel(idOf(2)) + " forced {b}"},
				idOf(1): {identity.EngineChannel(idOf(2)) + " forced {b}"},
			} {
				s.do("HSET", "a", idOf(1)+":1", 1)
				s.do("HSET", "{b}", idOf(2)+":-7", 1)
				s.do("HSET", "odd", "someone:1", 1)
				s.do("HSET", "long", idOf(3)+"0:1", 1)
				s.do("HSET", "two", idOf(4)+":1", 1, idOf(5)+":1", 1)
				require.Equal(t, []any{int64(1), int64(1), int64(1), int64(1), int64(1), int64(0)},
					s.runOn(force.script, []string{"a", "{b}", "odd", "long", "two", "free"}, append(force.args, own)...))
				require.Equal(t, want, told(sub.receive()), force.script.Name)
				m, ok := identity.ParseMessage("forced {b}")
				require.True(t, ok)
				require.Equal(t, identity.Message{Forced: true, Key: "{b}"}, m)
			}
		}
	})
}

// Of readers and writers each engine is told once; a call tells at most 64.
func TestForceScripts_ManyReaders_ToldOnceAndBounded(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		sub := s.listen()
		s.do("HSET", "a", "mode", "read", idOf(1)+":1", 1, idOf(1)+":2", 1, idOf(2)+":1", 1, "odd", 1)
		s.do("HSET", "w", "mode", "write", idOf(3)+":1:write", 1, idOf(3)+":1", 1)
		require.Equal(t, []any{int64(1)}, s.runOn(scripts.ReadForce, []string{"a"}, "PUBLISH", idOf(9)))
		require.ElementsMatch(t, []string{identity.EngineChannel(idOf(1)) + " forced a", identity.EngineChannel(idOf(2)) + " forced a"}, told(sub.receive()))
		require.Equal(t, []any{int64(1)}, s.runOn(scripts.WriteForce, []string{"w"}, "PUBLISH", idOf(9)))
		require.Equal(t, []string{identity.EngineChannel(idOf(3)) + " forced w"}, told(sub.receive()))

		for i := range 300 {
			s.do("HSET", "a", "mode", "read", idOf(i)+":1", 1)
		}
		require.Equal(t, []any{int64(1)}, s.runOn(scripts.ReadForce, []string{"a"}, "PUBLISH", idOf(9)))
		require.Len(t, told(sub.receive()), 64)
	})
}

// A user who may not publish there takes the lock away all the same.
func TestForceScripts_ChannelForbidden_Forced(t *testing.T) {
	s := onReal(t)
	limited := s.asUser("~*", "&redisson_*", "+@all")
	sub := s.listen()
	for _, script := range []scripts.Script{scripts.Force, scripts.FairForce} {
		s.do("HSET", "a", idOf(1)+":1", 1)
		args := []any{"PUBLISH", idOf(9)}
		if script.Name == scripts.FairForce.Name {
			args = []any{"PUBLISH", 1, idOf(9)}
		}
		require.Equal(t, []any{int64(1)}, limited.runOn(script, []string{"a"}, args...))
		require.Empty(t, told(sub.receive()))
		require.EqualValues(t, 0, s.do("EXISTS", "a"))
	}
}
