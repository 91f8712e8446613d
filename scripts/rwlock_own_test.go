package scripts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// An engine knows which of its readers have no holder, and learns of them when it wants to write.
func TestWriteScript_NamesOwnReaders(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		write := func(id string) any { return s.run(scripts.WriteAcquire, []string{"a"}, "PUBLISH", id, 100_000)[0] }
		for _, id := range []string{"e:1", "e:12", "f:3", "e:f:4", "ee:5", "t"} {
			require.Equal(t, "OK", s.do("SET", scripts.RWHoldKey("a", id, 1), 1, "PX", 1_000_000))
			s.do("HSET", "a", "mode", "read", id, 1)
		}
		s.do("HSET", "a", "e:6:write", 1) // in mode read this is no writer
		s.do("PEXPIRE", "a", 1_000_000)
		published := func(id string) (text string) {
			t.Helper()
			row := write(id).([]any)
			require.Greater(t, row[0], int64(900_000))
			require.Equal(t, "", row[1])
			if len(row) == 3 {
				text = row[2].(string)
			}
			numbers := strings.Fields(text)
			slices.Sort(numbers)
			return strings.Join(numbers, " ")
		}
		require.Equal(t, "1 12 f:4", published("e:7"))
		require.Equal(t, "4", published("e:f:7"))
		require.Equal(t, "3", published("f:7"))
		require.Equal(t, "", published("g:7"))
		require.Equal(t, "", published("t"))
		s.do("PERSIST", "a")
		require.Equal(t, []any{int64(-1), ""}, write("e:7"), "what does not expire is no lock")
	})
}

// This is the cost of naming a reader. A call for very many fields costs no more (TestScripts_ForeignData_CostBounded).
func TestWriteScript_HeldByReaders_Commands(t *testing.T) {
	s := onReal(t)
	s.do("HSET", "a", "mode", "read", "e:1", 1)
	s.do("PEXPIRE", "a", 1_000_000)
	s.do("CONFIG", "RESETSTAT")
	s.run(scripts.WriteAcquire, []string{"a"}, "PUBLISH", "e:7", 100_000)
	require.Equal(t, "hkeys 1, hlen 1, hmget 1, pttl 1", s.commandsOfScripts())
}

// Of very many readers the reply names some, other ones each time.
func TestWriteScript_ManyReaders_NamesSome(t *testing.T) {
	s := onReal(t)
	for i := range 200 {
		s.do("HSET", "a", "mode", "read", fmt.Sprint("e:", i), 1)
	}
	s.do("PEXPIRE", "a", 1_000_000)
	all := map[string]bool{}
	for range 1000 {
		row := s.run(scripts.WriteAcquire, []string{"a"}, "PUBLISH", "e:1000", 100_000)[0].([]any)
		numbers := strings.Fields(row[2].(string))
		require.LessOrEqual(t, len(numbers), 64)
		for _, number := range numbers {
			all[number] = true
		}
		if len(all) == 200 {
			return
		}
	}
	require.Len(t, all, 200)
}
