package scripts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// plant adds a reader with this count of holds in its field, of which the server has the keys of these numbers.
func (s *server) plant(id string, count any, keys ...int) {
	s.t.Helper()
	s.do("HSET", "a", "mode", "read", id, count)
	s.do("PEXPIRE", "a", 1_000_000)
	for _, i := range keys {
		require.Equal(s.t, "OK", s.do("SET", scripts.RWHoldKey("a", id, i), 1, "PX", 1_000_000))
	}
}

// The readers of a process that died stay in the hash as long as others read. New readers look for some of them, so
// they do not pile up, however many arrive with one call and die together.
func TestDeadReaders_OthersRead_Removed(t *testing.T) {
	for _, together := range []int{1, 50} {
		s := onReal(t)
		s.plant("stays", 1, 1)
		for died := 0; died < 2_000; died += together {
			keys, args := []string{}, []any{"PUBLISH"}
			for i := range together {
				id := fmt.Sprint("t", died+i)
				keys, args = append(keys, "a", scripts.RWHoldKey("a", id, 1)), append(args, id, 100_000, "")
			}
			s.answers(together, scripts.ReadAcquire, keys, args...)
			for i := range together {
				s.do("DEL", scripts.RWHoldKey("a", fmt.Sprint("t", died+i), 1))
			}
		}
		require.Less(t, s.do("HLEN", "a"), int64(300), "%d at a time", together)
		require.Equal(t, "1", s.do("HGET", "a", "stays"))
	}
}

// A reader with one key left is alive. A field that is no reader of lockwheel or Redisson is left alone.
func TestDeadReaders_OnlyWithoutKeys(t *testing.T) {
	s := onReal(t)
	for i := range 100 {
		s.plant(fmt.Sprint("alive", i), 1, 1)
	}
	s.plant("twice", 2, 1)
	s.plant("inner", 3, 3)
	s.plant("often", 100, 80)
	s.plant("garbage", "?")
	s.plant("none", 0)
	s.plant("half", 1.5)
	s.plant("w:write", 1)
	before := s.do("HLEN", "a").(int64)
	for i := range 300 {
		id := fmt.Sprint("t", i)
		require.Equal(t, []any{int64(1)}, s.answers(1, scripts.ReadAcquire, []string{"a", scripts.RWHoldKey("a", id, 1)}, "PUBLISH", id, 100_000, ""))
		require.Equal(t, []any{int64(1)}, s.run(scripts.ReadRelease, []string{"a"}, "PUBLISH", id))
	}
	require.Equal(t, before, s.do("HLEN", "a"))
}
