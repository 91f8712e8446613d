package scripts_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/scripts"
)

// oddNumbers are numbers that other programs may have written, and text that is no number.
var oddNumbers = []string{
	"nan", "-nan", "inf", "-inf", "1e300", "-1e300", "-5", "0", "", "abc", "0x1F", "007", "1.5", "1e-300", "1", "3", "50", "100000", "100001", "30000000",
	"9007199254740991", "9007199254740992", "9007199254740994", "1732320000000000000", "9223372036854775807", "-9223372036854775808",
}

// maxCommands is the maximum number of commands of a call, whatever numbers it finds.
const maxCommands = 5_000

var callsOf = regexp.MustCompile(`cmdstat_[^:]*:calls=(\d+)`)

// runBounded runs a script, which must end and run at most that many commands. If it does not end, its server is killed
// with the test.
func (s *server) runBounded(script scripts.Script, keys []string, args ...any) {
	s.t.Helper()
	s.do("CONFIG", "RESETSTAT")
	require.NoError(s.t, s.conn.Send(call(script, keys, args...)...))
	reply, err := s.conn.Receive(30 * time.Second)
	require.NoError(s.t, err, "%s does not end", script.Name)
	require.NotNil(s.t, reply)
	commands := 0
	for _, stat := range callsOf.FindAllStringSubmatch(s.do("INFO", "commandstats").(string), -1) {
		calls, err := strconv.Atoi(stat[1])
		require.NoError(s.t, err)
		commands += calls
	}
	require.Less(s.t, commands, maxCommands, script.Name)
}

// readWriteCalls returns one call of each script that goes through the holds of readers, on some locks.
func (s *server) readWriteCalls(locks []string, id string) []func() {
	var pairs []string
	var reads, renews, releases, writes []any
	for _, lock := range locks {
		pairs = append(pairs, lock, scripts.RWHoldKey(lock, id, 1))
		reads, renews = append(reads, id, 1000, ""), append(renews, id, 1, "1/2", 1000)
		releases, writes = append(releases, id), append(writes, id, 1000)
	}
	args := func(verb string, more []any, orphans ...any) []any {
		return append(append([]any{verb}, more...), orphans...)
	}
	return []func(){
		func() { s.runBounded(scripts.ReadForce, locks, "PUBLISH") },
		func() { s.runBounded(scripts.WriteForce, locks, "PUBLISH") },
		func() { s.runBounded(scripts.ReadRelease, locks, args("PUBLISH", releases)...) },
		func() { s.runBounded(scripts.WriteRelease, locks, args("PUBLISH", releases)...) },
		func() { s.runBounded(scripts.ReadRenew, pairs, args("NUMSUB", renews)...) },
		func() { s.runBounded(scripts.WriteRenew, locks, args("NUMSUB", writes, 1, 2, 3)...) },
		func() { s.runBounded(scripts.ReadAcquire, pairs, args("PUBLISH", reads, 1, "e:2")...) },
		func() { s.runBounded(scripts.WriteAcquire, locks, args("PUBLISH", writes, 1, "e:2")...) },
		func() { s.runBounded(scripts.RWState, locks) },
	}
}

// A force ends in bounded time, whatever count another client wrote into the hash.
func TestRWForce_AnyCount_Ends(t *testing.T) {
	s := onReal(t)
	for _, mode := range []string{"read", "write"} {
		for _, count := range oddNumbers {
			s.do("HSET", "a", "mode", mode, "e:1", count, "e:2", "30000000", "e:1:write", count)
			s.do("PEXPIRE", "a", 60_000)
			s.do("SET", scripts.RWHoldKey("a", "e:1", 1), 1, "PX", 60_000)
			s.runBounded(map[string]scripts.Script{"read": scripts.ReadForce, "write": scripts.WriteForce}[mode], []string{"a"}, "PUBLISH")
			require.Equal(t, int64(0), s.do("EXISTS", "a"), "%s %s", mode, count)
			s.do("FLUSHALL")
		}
	}
}

// Many readers with the largest accepted count of holds, and many such locks, are no more work for one call than one.
func TestRWScripts_LargeCounts_Bounded(t *testing.T) {
	s := onReal(t)
	locks := []string{"a", "b"}
	for mode, calls := range map[string][]int{"read": {2, 4}, "write": {3, 5}} {
		for _, i := range calls {
			s.do("FLUSHALL")
			for _, lock := range locks {
				s.do("HSET", lock, "mode", mode, "e:1:write", 1)
				for reader := range 2 {
					s.do("HSET", lock, fmt.Sprint("e:", reader), 100_000)
				}
				s.do("PEXPIRE", lock, 60_000)
			}
			s.readWriteCalls(locks, "e:1")[i]()
		}
	}
}

// What one call looks at is bounded over all readers together, and not for each of them.
func TestRWScripts_ManyReadersWithManyHolds_Bounded(t *testing.T) {
	s := onReal(t)
	s.do("HSET", "a", "mode", "read", "e:1", 1)
	for reader := range 30 {
		s.do("HSET", "a", fmt.Sprint("e:", reader+2), 1500) // none of these holds has a key
	}
	s.do("PEXPIRE", "a", 60_000)
	s.do("SET", scripts.RWHoldKey("a", "e:1", 1), 1, "PX", 60_000)
	s.runBounded(scripts.ReadRelease, []string{"a"}, "PUBLISH", "e:1")
	require.Equal(t, int64(31), s.do("HLEN", "a"), "who lives among the others is not known, so they stay")
}

// No call takes long on random hashes of other clients.
func TestRWScripts_RandomHashes_Bounded(t *testing.T) {
	long.Only(t, "hashes of strangers, of many kinds")
	s := onReal(t)
	random := rand.New(rand.NewPCG(1, 2))
	ids := []string{"e:1", "e:2", "f:1", "e:1:write", "f:2:write"}
	for range 200 {
		s.do("FLUSHALL")
		for _, lock := range []string{"a", "b"} {
			s.do("HSET", lock, "mode", []string{"read", "read", "write", "odd"}[random.IntN(4)])
			for range 1 + random.IntN(5) {
				s.do("HSET", lock, ids[random.IntN(len(ids))], oddNumbers[random.IntN(len(oddNumbers))])
			}
			if random.IntN(5) > 0 {
				s.do("PEXPIRE", lock, 1+random.IntN(100_000))
			}
			if random.IntN(2) > 0 {
				s.do("SET", scripts.RWHoldKey(lock, "e:1", 1), 1, "PX", 60_000)
			}
		}
		calls := s.readWriteCalls([]string{"a", "b"}, "e:1")
		calls[random.IntN(len(calls))]()
	}
}
