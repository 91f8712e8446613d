package scripts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/scripts"
)

// leaseScripts lists the scripts that take leases, and for each what acquires the locks for it.
var leaseScripts = []struct {
	take, again scripts.Script
	prefixes    []string
}{
	{take: scripts.Acquire, again: scripts.Renew},
	{take: scripts.WriteAcquire, again: scripts.WriteRenew},
	{take: scripts.FencedAcquire, again: scripts.Renew, prefixes: []string{scripts.TokenKey}},
}

// A call with many keys sets leases in another way than one with few. It sends a lease once if that is the lease of all
// keys.
func TestLeases_ManyLocks_SetAsGiven(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.checkLeases(t, s)
	})
}

// A user who may not run the faster commands gets the same leases.
func TestLeases_NoTimeOrPexpireat_Same(t *testing.T) {
	for _, forbidden := range []string{"time", "pexpireat"} {
		t.Run(forbidden, func(t *testing.T) {
			s := onReal(t)
			limited := s.asUser("~*", "&*", "+@all", "-"+forbidden)
			s.checkLeases(t, limited)
			require.Zero(t, s.real.CommandCalls(t, "pexpireat"))
		})
	}
}

func (s *server) checkLeases(t *testing.T, as *server) {
	for _, l := range leaseScripts {
		for _, locks := range []int{1, 2, 8, 9, 128} {
			for _, each := range []bool{false, true} {
				s.do("FLUSHALL")
				lease := func(i int) int64 {
					if each {
						return int64(100_000 + 1000*i)
					}
					return 100_000
				}
				as.checkLeasesOf(t, l.take, "PUBLISH", l.prefixes, locks, lease)
				if l.again.Name != "" {
					as.checkLeasesOf(t, l.again, "NUMSUB", nil, locks, func(i int) int64 { return 2 * lease(i) })
				}
			}
		}
	}
}

// checkLeasesOf runs a script on this many locks, each with its lease, and checks their TTLs.
func (s *server) checkLeasesOf(t *testing.T, script scripts.Script, verb string, prefixes []string, locks int, lease func(i int) int64) {
	t.Helper()
	var keys []string
	args := []any{verb}
	for i := range locks {
		key := fmt.Sprintf("lock:%d", i)
		keys = append(keys, key)
		for _, prefix := range prefixes {
			keys = append(keys, scripts.RedissonKey(prefix, key))
		}
		args = append(args, fmt.Sprintf("t%d", i), lease(i))
	}
	began := time.Now()
	for i, answer := range s.answers(locks, script, keys, args...) {
		require.Equal(t, int64(1), answer, "%s %d of %d", script.Name, i, locks)
		ttl := s.do("PTTL", fmt.Sprintf("lock:%d", i)).(int64)
		passed := receiveTimeout // the embedded server's clock advances in steps
		if s.real != nil {
			passed = time.Since(began) + 20*time.Millisecond
		}
		require.LessOrEqual(t, ttl, lease(i))
		require.GreaterOrEqual(t, ttl, lease(i)-passed.Milliseconds(), "%s %d of %d", script.Name, i, locks)
	}
}

// A lease may be over before a long call comes to its key. What the call writes then does not stay without a TTL.
func TestLeases_OverWithinCall_NothingWithoutTTL(t *testing.T) {
	const locks = 5000
	s := onReal(t)
	var keys []string
	take, again := []any{"PUBLISH"}, []any{"NUMSUB"}
	for i := range locks {
		keys = append(keys, fmt.Sprintf("lock:%d", i))
		take, again = append(take, "t", 100_000), append(again, "t", 1)
	}
	for i := range locks {
		again = append(again, i+1, 7, "")
	}
	s.answers(locks, scripts.Acquire, keys, take...)
	s.answers(locks, scripts.Renew, keys, again...)
	for _, key := range keys {
		require.NotEqual(t, int64(-1), s.do("PTTL", key), key)
	}
}

// The leases of readers are set as given, however many a call has.
func TestLeases_ManyReaders_SetAsGiven(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		for _, locks := range []int{1, 4, 5, 100} {
			for _, each := range []int64{0, 1000} {
				s.do("FLUSHALL")
				var keys, stamps []string
				take, again := []any{"PUBLISH"}, []any{"NUMSUB"}
				for i := range locks {
					key, id, lease := fmt.Sprintf("lock:%d", i), fmt.Sprintf("t%d", i), 100_000+each*int64(i)
					stamps = append(stamps, key, scripts.RWHoldKey(key, id, 1))
					keys = append(keys, key)
					take = append(take, id, lease, "")
					again = append(again, id, "", 1, 2*lease)
				}
				for twice, call := range []struct {
					script scripts.Script
					args   []any
				}{{scripts.ReadAcquire, take}, {scripts.ReadRenew, again}} {
					for i, answer := range s.answers(locks, call.script, stamps, call.args...) {
						require.Equal(t, int64(1), answer, "%s %d of %d", call.script.Name, i, locks)
						lease := int64(1+twice) * (100_000 + each*int64(i))
						lock, hold := s.do("PTTL", stamps[2*i]).(int64), s.do("PTTL", stamps[2*i+1]).(int64)
						for _, ttl := range []int64{lock, hold} {
							require.LessOrEqual(t, ttl, lease)
							require.Greater(t, ttl, lease-receiveTimeout.Milliseconds(), "%s %d of %d", call.script.Name, i, locks)
						}
					}
				}
				release := []any{"PUBLISH"}
				for i := range locks {
					release = append(release, fmt.Sprintf("t%d", i))
				}
				s.answers(locks, scripts.ReadRelease, keys, release...)
				require.Equal(t, int64(0), s.do("DBSIZE"))
			}
		}
	})
}

// A list of ones would cost the server 2 to 3 % of an acquire, and the client more.
func TestScripts_AllSucceed_OneReply(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		keys := []string{"a", "b", "c"}
		for _, calls := range [][]scripts.Script{{scripts.Acquire, scripts.Renew, scripts.Release}, {scripts.WriteAcquire, scripts.WriteRenew, scripts.WriteRelease}} {
			tenures := []any{"t1", "t2", "t3"}
			for _, locks := range []int{1, 3} {
				for i, verb := range []string{"PUBLISH", "NUMSUB"} {
					command := []any{"EVALSHA", calls[i].SHA1, locks}
					command = append(append(command, anyOf(keys[:locks])...), verb, 100_000)
					require.Equal(t, int64(1), s.do(append(command, tenures[:locks]...)...), calls[i].Name)
				}
				command := append([]any{"EVALSHA", calls[2].SHA1, locks}, anyOf(keys[:locks])...)
				command = append(append(command, "PUBLISH"), tenures[:locks]...)
				require.Equal(t, int64(1), s.do(command...), calls[2].Name)
			}
		}
	})
}

func anyOf(keys []string) (words []any) {
	for _, key := range keys {
		words = append(words, key)
	}
	return words
}
