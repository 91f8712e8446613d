package scripts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// keyKind is what a call with many keys finds at one of them.
type keyKind int

const (
	orphaned  keyKind = iota // an orphan's, so granted once that is released
	foreign                  // another tenure's
	wrongType                // no lock
)

func kindOf(i int) keyKind {
	switch {
	case i%8 == 0:
		return wrongType
	case i%3 == 0:
		return foreign
	}
	return orphaned
}

// Keys of every kind stand next to each other in one call, and each gets its own reply.
func TestScripts_HundredsOfKeys_OwnReplies(t *testing.T) {
	for _, n := range []int{128, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			onEach(t, func(t *testing.T, s *server) { s.manyKeys(n) })
		})
	}
}

func (s *server) manyKeys(n int) {
	sub := s.listen()
	keys := make([]string, n)
	acquire, renew, release := []any{"PUBLISH"}, []any{"NUMSUB"}, []any{"PUBLISH"}
	var orphans, extras []any
	var published []message
	for i := range keys {
		keys[i] = fmt.Sprintf("lock:%d", i)
		switch kindOf(i) {
		case wrongType:
			s.do("SET", keys[i], "x")
		case foreign:
			s.run(scripts.Acquire, keys[i:i+1], "PUBLISH", "theirs", 100_000)
		case orphaned:
			s.run(scripts.Acquire, keys[i:i+1], "PUBLISH", "orphan", 100_000)
			published = append(published, message{"redisson_lock__channel:{" + keys[i] + "}", "0"})
		}
		id := fmt.Sprintf("ours:%d", i)
		acquire = append(acquire, id, 200_000)
		orphans = append(orphans, i+1, "orphan")
		renew = append(renew, id, 300_000)
		extras = append(extras, i+1, i+1, 1)
		release = append(release, id)
	}
	answers := func(script scripts.Script, args []any, want map[keyKind]string) {
		s.t.Helper()
		for i, row := range s.run(script, keys, args...) {
			require.Equal(s.t, want[kindOf(i)], rows(script, []any{row}), "%s %s", script.Name, keys[i])
		}
	}

	answers(scripts.Acquire, append(acquire, orphans...), map[keyKind]string{wrongType: "[WRONGTYPE… -1 string]", foreign: "[100s theirs]", orphaned: "1"})
	require.Equal(s.t, published, sub.receive())
	answers(scripts.Renew, append(renew, extras...), map[keyKind]string{wrongType: "WRONGTYPE…", foreign: "0", orphaned: "[1 1 0]"})
	for i, row := range s.run(scripts.State, keys) {
		if kindOf(i) == orphaned {
			require.Equal(s.t, fmt.Sprintf("[300s ours:%d %d]", i, i+1), rows(scripts.State, []any{row}))
		}
	}
	answers(scripts.Release, release, map[keyKind]string{wrongType: "WRONGTYPE…", foreign: "0", orphaned: "1"})
	require.Equal(s.t, published, sub.receive())
	answers(scripts.State, nil, map[keyKind]string{wrongType: "[WRONGTYPE… -1 string]", foreign: "[100s theirs 1]", orphaned: "[-2 '' 0]"})
	answers(scripts.Force, []any{"PUBLISH"}, map[keyKind]string{wrongType: "[WRONGTYPE… -1 string]", foreign: "1", orphaned: "0"})
	require.Equal(s.t, int64((n+7)/8), s.do("DBSIZE"), "only what is no lock is left")
}
