package scripts_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/scripts"
)

// flood is data that other clients put into Redis, which must not make a call more expensive. It is another program's
// hash under a lock's name, a read/write lock with more readers than any real one, or a queue of dead waiters. Each
// case plants a number of them, and then ten times that number.
type flood struct {
	name  string
	plant string // a script that creates the data: KEYS as of the call; ARGV: first number, last number, the server's time in ms
	call  func() (script scripts.Script, keys []string, args []any)
}

const (
	plantHash    = `for i = ARGV[1], ARGV[2] do redis.call('HSET', 'a', 'f:' .. i, '1') end `
	plantReaders = plantHash + `redis.call('HSET', 'a', 'mode', 'read') `
	plantWriter  = plantHash + `redis.call('HSET', 'a', 'mode', 'write', 'w:1:write', '1') `
	plantMyself  = `redis.call('HSET', 'a', 'e:1', '1') redis.call('SET', '{a}:e:1:rwlock_timeout:1', '1', 'PX', 200000) `
	plantMyWrite = plantHash + `redis.call('HSET', 'a', 'mode', 'write', 'e:1:write', '1') `
	expires      = `redis.call('PEXPIRE', 'a', 100000) `
	longLived    = `redis.call('PEXPIRE', 'a', 200000) `
	plantDead    = `for i = ARGV[1], ARGV[2] do
		redis.call('RPUSH', KEYS[2], 'f:' .. i) redis.call('ZADD', KEYS[3], string.format('%.0f', ARGV[3] - 1000000 + i), 'f:' .. i) end `
	plantDeadOurs = `for i = ARGV[1], ARGV[2] do
		redis.call('RPUSH', KEYS[2], 'f:' .. i) redis.call('ZADD', KEYS[3], string.format('%.0f', ARGV[3] + 1000 * i), 'f:' .. i)
		redis.call('HSET', KEYS[4], 'f:' .. i, string.format('%.0f', ARGV[3] - 1000) .. ':1000:1000') end
		redis.call('PEXPIRE', KEYS[4], 900000) `
	plantTimes = `for i = ARGV[1], ARGV[2] do redis.call('ZADD', KEYS[3], string.format('%.0f', ARGV[3] - 1000000 + i), 'f:' .. i)
		redis.call('HSET', KEYS[4], 'f:' .. i, '1:1000:1000') end `
	hold = `redis.call('HSET', 'a', 'h:1', '1') redis.call('PEXPIRE', 'a', 100000) `
)

// floods returns one call of each script with the most that it can find.
func floods(now int64) []flood {
	one := []string{"a"}
	fenced := []string{"a", scripts.RedissonKey(scripts.TokenKey, "a")}
	reads := []string{"a", scripts.RWHoldKey("a", "e:1", 1)}
	fair := []string{"a"}
	for _, prefix := range fairKeys {
		fair = append(fair, scripts.RedissonKey(prefix, "a"))
	}
	of := func(script scripts.Script, keys []string, args ...any) func() (scripts.Script, []string, []any) {
		return func() (scripts.Script, []string, []any) { return script, keys, args }
	}
	orphan := []any{1, "e:1"}
	queues := of(scripts.FairAcquire, fair, "PUBLISH", now, now+1_000_000, "e:1", 100_000, 100_000, "")
	tries := of(scripts.FairAcquire, fair, "PUBLISH", now, now+1_000_000, "e:1", 100_000, "", "")
	releases := of(scripts.FairRelease, fair, "PUBLISH", now, "e:1", 100_000)
	return []flood{
		{"acquire", plantHash + expires, of(scripts.Acquire, one, "PUBLISH", "e:1", 100_000)},
		{"acquire jointly", plantHash + expires, of(scripts.MultiAcquire, one, "PUBLISH", 1, 1, "e:1", 100_000)},
		{"acquire from a orphan", plantHash + plantMyself + expires, of(scripts.Acquire, one, append([]any{"PUBLISH", "e:2", 100_000}, orphan...)...)},
		{"acquire fenced", plantHash + expires, of(scripts.FencedAcquire, fenced, "PUBLISH", "e:1", 100_000)},
		{"acquire fair", plantHash + expires, queues},
		{"try fair", plantHash + expires, tries},
		{"renew", plantHash + plantMyself + expires, of(scripts.Renew, one, "NUMSUB", "e:1", 100_000, 1, 2, 3)},
		{"pass fenced", plantHash + plantMyself + expires, of(scripts.FencedRenew, fenced, "NUMSUB", "e:1", 100_000, "", 3, "1")},
		{"release", plantHash + plantMyself + expires, of(scripts.Release, one, "PUBLISH", "e:1")},
		{"release fair", plantHash + plantMyself + expires, releases},
		{"force", plantHash + expires, of(scripts.Force, one, "PUBLISH", "e")},
		{"force fair", plantHash + expires, of(scripts.FairForce, fair, "PUBLISH", now, "e")},
		{"state", plantHash + expires, of(scripts.State, one)},

		{"read beside many", plantReaders + expires, of(scripts.ReadAcquire, reads, "PUBLISH", "e:1", 200_000, "")},
		{"read what another writes", plantWriter + expires, of(scripts.ReadAcquire, reads, "PUBLISH", "e:1", 100_000, "")},
		{"read where nothing expires", plantReaders, of(scripts.ReadAcquire, reads, "PUBLISH", "e:1", 100_000, "")},
		{"read from a orphan", plantReaders + plantMyself + longLived, of(scripts.ReadAcquire, reads, append([]any{"PUBLISH", "e:2", 100_000, ""}, orphan...)...)},
		{"renew a reader that falls", plantReaders + plantMyself + longLived, of(scripts.ReadRenew, reads, "NUMSUB", "e:1", 1, 1, 100_000)},
		{"release a reader", plantReaders + plantMyself + longLived, of(scripts.ReadRelease, one, "PUBLISH", "e:1")},
		{"release a reader of dead ones", plantReaders + plantMyself, of(scripts.ReadRelease, one, "PUBLISH", "e:1")},
		{"force readers", plantReaders + expires, of(scripts.ReadForce, one, "PUBLISH", "e")},
		{"write what is read", plantReaders + expires, of(scripts.WriteAcquire, one, "PUBLISH", "e:1", 100_000)},
		{"write what its engine reads", plantReaders + expires, of(scripts.WriteAcquire, one, "PUBLISH", "f:0", 100_000)},
		{"write what another writes", plantWriter + expires, of(scripts.WriteAcquire, one, "PUBLISH", "e:1", 100_000)},
		{"write from a orphan", plantMyWrite + longLived, of(scripts.WriteAcquire, one, append([]any{"PUBLISH", "e:2", 100_000}, orphan...)...)},
		{"renew a writer that falls", plantMyWrite + longLived, of(scripts.WriteRenew, one, "NUMSUB", "e:1", 100_000, 1, 2, 3)},
		{"release a writer", plantMyWrite + longLived, of(scripts.WriteRelease, one, "PUBLISH", "e:1")},
		{"force a writer", plantWriter + expires, of(scripts.WriteForce, one, "PUBLISH", "e")},
		{"state of readers", plantReaders + expires, of(scripts.RWState, one)},
		{"state of a writer", plantWriter + expires, of(scripts.RWState, one)},

		{"queue behind the dead", plantDead + hold, queues},
		{"try a free lock with dead waiters", plantDead, tries},
		{"try a free lock with dead waiters of ours", plantDeadOurs, tries},
		{"queue behind the dead of ours", plantDeadOurs + hold, queues},
		{"release before the dead of ours", plantDeadOurs + hold + plantMyself, releases},
		{"force before the dead", plantDead + hold, of(scripts.FairForce, fair, "PUBLISH", now)},
		{"times without a list", plantTimes, tries},
	}
}

// A call costs the server no more with ten times as much data. The long suite plants 300 000, a million where a plain
// lock should be, and logs what each call costs.
func TestScripts_ForeignData_CostBounded(t *testing.T) {
	s := onReal(t, "--save", "")
	many := long.Pick(4_000, 30_000)
	now := time.Now().UnixMilli()
	for _, f := range floods(now) {
		t.Run(f.name, func(t *testing.T) {
			s.t = t
			many := many
			if f.name == "acquire" {
				many = long.Pick(many, 100_000)
			}
			few := min(s.costOf(f, many, now), s.costOf(f, many, now)) // a slow one would allow too much
			// Memory that was not used for long makes a bounded call up to four times as expensive.
			most := max(6*few, time.Millisecond)
			all := s.costOf(f, 10*many, now)
			for range 10 { // a timer of the server can run within any one call
				if all < most {
					break
				}
				all = min(all, s.costOf(f, 10*many, now))
			}
			t.Logf("%d: %v, %d: %v", many, few, 10*many, all)
			require.Less(t, all, most, "%d: %v", many, few)
		})
	}
}

// costOf plants the data and returns the processor time of the call. The time on a clock would include other programs.
func (s *server) costOf(f flood, many int, now int64) time.Duration {
	s.t.Helper()
	script, keys, args := f.call()
	s.do("FLUSHALL", "SYNC") // a thread of the server that frees memory would hold the call up
	plant := []any{"EVAL", f.plant + "return 'planted'", len(keys)}
	for _, key := range keys {
		plant = append(plant, key)
	}
	const some = 20_000 // more would exceed the timeout of a connection
	for first := 1; first <= many; first += some {
		require.Equal(s.t, "planted", s.do(append(slices.Clone(plant), first, min(first+some-1, many), now)...))
	}
	before := s.mainThreadTime()
	if reply, refused := s.do(call(script, keys, args...)...).(error); refused {
		s.t.Fatal(reply)
	}
	return s.mainThreadTime() - before
}
