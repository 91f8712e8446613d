package scripts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const nineReaders = `
	read_acquire a:t1:100s → 1
	read_acquire a:t2:100s → 1
	read_acquire a:t3:100s → 1
	read_acquire a:t4:100s → 1
	read_acquire a:t5:100s → 1
	read_acquire a:t6:100s → 1
	read_acquire a:t7:100s → 1
	read_acquire a:t8:100s → 1
	read_acquire a:t9:100s → 1
	`

// What a lock costs the server is mostly the commands that a script runs. A change that adds one has to be entered
// here.
func TestScripts_CommandsPerScript(t *testing.T) {
	s := onReal(t)
	for _, c := range []struct{ name, before, step, want string }{
		{"acquire a free lock", "", "acquire a:t1:100s b:t1:100s → 1 1", "exists 1, hset 2, pexpire 2"},
		{"acquire one free lock", "", "acquire a:t1:100s → 1", "hset 1, pexpire 1, pttl 1"},
		{"acquire a free and a held lock", "acquire a:t1:100s → 1", "acquire a:t2:100s b:t2:100s → [100s t1] 1", "exists 1, hkeys 1, hlen 1, hset 1, pexpire 1, pttl 2"},
		{"acquire a held lock", "acquire a:t1:100s → 1", "acquire a:t2:100s → [100s t1]", "hkeys 1, hlen 1, pttl 1"},
		{"acquire what never expires", "HSET a f 1 → 1", "acquire a:t2:100s → [-1 '']", "hexists 1, hlen 1, pttl 1"},
		{"acquire again", "acquire a:t1:100s → 1", "acquire a:t1:200s → 1", "hkeys 1, hlen 1, pexpire 1, pttl 1"},
		{"acquire again for less", "acquire a:t1:100s → 1", "acquire a:t1:20s → 1", "hkeys 1, hlen 1, pttl 1"},
		{"acquire from a orphan", "acquire a:g1:100s → 1", "acquire a:t1:100s b:t1:100s orphans a:g1 b:g1 → 1 1", "exists 1, hdel 2, hset 2, pexpire 2, publish 1"},
		{"acquire jointly", "", "multi_acquire a+b:t1:100s → 1", "exists 1, hset 2, pexpire 2"},
		{"acquire jointly what is held", "acquire b:t1:100s → 1", "multi_acquire a+b+c:t2:100s → [2 100s t1]", "exists 1, hkeys 1, hlen 1, pttl 2"},
		{"renew", "acquire a:t1:100s b:t1:100s → 1 1", "renew a:t1:110s b:t1:110s → 1 1", "hexists 2, pexpire 2"},
		{"renew for less", "acquire a:t1:100s → 1", "renew a:t1:50s → 1", "hexists 1, pexpire 2, pttl 1, publish 1"},
		{"renew what is gone", "", "renew a:t1:100s extra a:2:1 → 0", "hexists 1"},
		{"renew with a count", "acquire a:t1:100s b:t1:100s → 1 1", "renew a:t1:110s b:t1:0 extra a:2: → [1 1 -1] 1", "hexists 2, hset 1, pexpire 1"},
		{"renew and count listeners", "acquire a:t1:100s b:t1:100s → 1 1", "renew a:t1:110s b:t1:110s extra b::1 → 1 [1 1 0]", "hexists 2, pexpire 2, pubsub|numsub 1"},
		{"release", "acquire a:t1:100s b:t1:100s → 1 1", "release a:t1 b:t1 → 1 1", "hdel 2, publish 2"},
		{"release what is gone", "", "release a:t1 → 0", "hdel 1"},
		{"force", "acquire a:t1:100s → 1", "force a b → 1 0", "del 1, hlen 2, publish 1"},
		{"acquire a free fenced lock", "", "fenced_acquire a:t1:100s → 1", "hset 1, incr 1, pexpire 1, pttl 1"},
		{"acquire free fenced locks", "", "fenced_acquire a:t1:100s b:t1:100s → 1 1", "exists 1, hset 2, incr 2, pexpire 2"},
		{"acquire a held fenced lock", "fenced_acquire a:t1:100s → 1", "fenced_acquire a:t2:100s → [100s t1]", "hkeys 1, hlen 1, pttl 1"},
		{"acquire a fenced lock again", "fenced_acquire a:t1:100s → 1", "fenced_acquire a:t1:20s → 1", "get 1, hkeys 1, hlen 1, pttl 1"},
		{"pass a fenced lock", "fenced_acquire a:t1:100s → 1", "fenced_renew a:t1:110s:::1 → [1 1 -1 2]", "get 1, hexists 1, incr 1, pexpire 1"},
		{"acquire a free fair lock", "", "fair_acquire a:t1:100s:50s → 1", "exists 1, hset 1, lindex 1, pexpire 1, pttl 1, time 1"},
		{"queue for a fair lock", "fair_acquire a:t1:100s:50s → 1", "fair_acquire a:t2:100s:50s → [100s t1 150s]",
			"exists 1, hget 2, hkeys 1, hlen 2, hset 1, lindex 3, llen 1, pexpire 3, pttl 2, rpush 1, time 1, zadd 1"},
		{"wait for a fair lock", "fair_acquire a:t1:100s:50s a:t2:100s:50s → 1 [100s t1 150s]", "fair_acquire a:t2:100s:50s → [100s t1 150s]",
			"hget 3, hkeys 1, hlen 2, hset 1, lindex 2, llen 2, pttl 3, time 1, zcard 1, zscore 2"},
		{"release a fair lock", "fair_acquire a:t1:100s:50s → 1", "fair_release a:t1:50s → 1", "exists 1, hdel 1, lindex 1"},
		{"release a fair lock for the next", "fair_acquire a:t1:100s:50s a:t2:100s:50s → 1 [100s t1 150s]", "fair_release a:t1:50s → 1",
			"hdel 1, hget 1, lindex 1, publish 1, time 1, zscore 1"},
		{"get a fair lock that others wait for", "fair_acquire a:t1:100s:50s a:t2:100s:50s a:t3:100s:50s → 1 [100s t1 150s] [100s t1 200s]\nfair_release a:t1:50s → 1",
			"fair_acquire a:t2:100s:50s → 1", "hdel 1, hget 3, hlen 1, hset 1, lindex 2, llen 2, lpop 1, pexpire 1, pttl 1, time 1, zadd 1, zcard 1, zcount 1, zrange 1, zrem 1, zscore 2"},
		{"get a fair lock that others of one engine wait for", "fair_acquire a:t1:100s:50s a:t2:100s:50s a:t3:100s:50s:t2 → 1 [100s t1 150s] [100s t1 150s]\nfair_release a:t1:50s → 1",
			"fair_acquire a:t2:100s:50s → 1", "hdel 1, hget 3, hlen 1, hset 1, lindex 2, llen 2, lpop 1, pexpire 1, pttl 1, time 1, zcard 1, zcount 1, zrem 1, zscore 2"},
		{
			"leave the queue of a fair lock together",
			"fair_acquire a:t1:100s:50s a:t2:100s:50s a:t3:100s:50s a:t4:100s:50s a:t5:100s:50s a:t6:100s:50s → 1 [100s t1 150s] [100s t1 200s] [100s t1 250s] [100s t1 300s] [100s t1 350s]",
			"fair_release a:t2:50s a:t4:50s a:t3:50s → 0 0 0", "exists 1, hdel 6, hget 6, hlen 1, lindex 2, llen 2, lrange 1, lrem 3, time 1, zadd 2, zcount 3, zrem 3, zscore 4",
		},
		{"readers of free locks", "", "read_acquire a:t1:100s b:t2:100s b:t3:90s → 1 1 1", "exists 1, hlen 1, hmget 1, hset 3, pexpire 2, pttl 1, set 3"},
		{"renew a reader", "read_acquire a:t1:100s → 1", "read_renew a:t1::110s → 1", "hget 1, pexpire 2, pttl 1"},
		{"a reader reads once more", "read_acquire a:t1:100s → 1", "read_renew a:t1::110s,110s → 1", "hget 1, hset 1, pexpire 3, pttl 1, set 1"},
		{"renew many readers of one lock", nineReaders, "read_renew a:t1::110s a:t2::110s a:t3::110s → 1 1 1", "hget 3, pexpire 4, pttl 1"},
		{"readers of many join together", nineReaders, "read_acquire a:r1:110s a:r2:110s a:r3:110s → 1 1 1", "exists 1, hlen 1, hmget 3, hset 3, pexpire 1, pttl 1, set 3"},
		{"readers of many end an inner hold", nineReaders + "read_renew a:t1::100s,100s a:t2::100s,100s → 1 1", "read_renew a:t1:1:110s a:t2:1:120s → 1 1",
			"del 2, hget 2, hset 2, pexpire 4, pttl 1"},
		{"readers of many fall, whom others outlast", nineReaders + "read_acquire a:t9:200s → 1", "read_renew a:t1:1:50s a:t2:1:50s → 1 1",
			"hget 2, hlen 2, pexpire 2, pttl 3"},
		{"readers of many fall, who had the longest lease", nineReaders + "read_renew a:t1::200s a:t2::200s → 1 1", "read_renew a:t1:1:50s a:t2:1:50s → 1 1",
			"hget 3, hgetall 1, hlen 2, pexpire 3, pttl 12, publish 1"},
		{"renew a writer", "write_acquire a:t1:100s → 1", "write_renew a:t1:110s → 1", "hexists 1, hlen 1, pexpire 1"},
		{"renew a writer that reads for less", "write_acquire a:t1:100s → 1\nread_acquire a:t1:90s:t1 → 1", "write_renew a:t1:110s → 1", "hexists 2, hlen 1, pexpire 1, pttl 1"},
		{"renew a writer that reads for longer", "write_acquire a:t1:100s → 1\nread_acquire a:t1:200s:t1 → 1", "write_renew a:t1:100s → 1", "hexists 2, hgetall 1, hlen 2, pttl 2"},
		{"renew a writer that reads, with a TTL that falls", "write_acquire a:t1:300s → 1\nread_acquire a:t1:200s:t1 → 1", "write_renew a:t1:100s → 1",
			"hexists 2, hgetall 1, hlen 2, pexpire 1, pttl 3, publish 1"},
		{"force away two readers", "read_acquire a:t1:100s a:t2:100s → 1 1", "read_force a → 1", "del 3, hget 1, hgetall 1, hlen 1, publish 1"},
		{"release a reader that is gone", "", "read_release a:t1 → 0", "del 1, hget 1"},
		{"state", "acquire a:t1:100s → 1", "state a b → [100s t1 1] [-2 '' 0]", "hgetall 1, hlen 2, pttl 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t, s.until = t, int64(9_000_000_000_000) // as engines send it
			s.do("FLUSHALL")
			s.runTranscript(c.before)
			s.do("CONFIG", "RESETSTAT")
			s.runTranscript(c.step)
			require.Equal(t, c.want, s.commandsOfScripts())
		})
	}
}

// Places without a queue are unlinked if they are many, like other large keys.
func TestFairAcquire_ManyPlacesWithoutQueue_Unlinked(t *testing.T) {
	s := onReal(t)
	for _, places := range []int{10, 1000} {
		s.do("FLUSHALL")
		for i := range places {
			s.do("HSET", placesOfA, fmt.Sprint("t", i), "x")
		}
		s.do("CONFIG", "RESETSTAT")
		s.runTranscript("fair_acquire a:t1:100s:50s → 1")
		want := "del 1"
		if places > 64 {
			want = "unlink 1"
		}
		require.Contains(t, s.commandsOfScripts(), want)
		require.EqualValues(t, 0, s.do("EXISTS", placesOfA))
	}
	s.do("FLUSHALL")
	s.do("SET", placesOfA, "x")
	s.runTranscript("fair_acquire a:t1:100s:50s → 1") // what is no hash there is removed as well
}

var commandCalls = regexp.MustCompile(`cmdstat_([^:]+):calls=(\d+)`)

// commandsOfScripts prints the commands since the statistics were reset, without those that the test itself sends.
func (s *server) commandsOfScripts() string {
	s.t.Helper()
	var ran []string
	for _, match := range commandCalls.FindAllStringSubmatch(s.do("INFO", "commandstats").(string), -1) {
		switch match[1] {
		case "config|resetstat", "psubscribe", "evalsha", "info":
		default:
			ran = append(ran, match[1]+" "+match[2])
		}
	}
	slices.Sort(ran)
	return strings.Join(ran, ", ")
}
