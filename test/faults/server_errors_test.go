package faults_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// redisson#229: the key is of another type.
func TestKeyOfOtherType_Lock_NamedAndKept(t *testing.T) {
	t.Parallel()
	s := locktest.AnyServer(t)
	s.Do("SET", "text", "x")
	s.Do("RPUSH", "list", "x", "y")
	s.Do("SADD", "set", "x")
	s.Do("ZADD", "zset", 1, "x")
	keys := []string{"text", "list", "set", "zset"}
	if s.Real != nil {
		s.Do("XADD", "stream", "*", "k", "v")
		keys = append(keys, "stream")
	}
	dump := func() (all []any) {
		for _, key := range keys {
			all = append(all, s.Do("TYPE", key), s.Do("PTTL", key), s.Do("OBJECT", "ENCODING", key))
		}
		return all
	}
	before := dump()
	e := s.Open(lockwheel.Options{})
	good := locktest.Lock(t, e.Mutex("good"))
	for _, key := range keys {
		errs := locktest.AllCalls(t.Context(), e.Mutex(key))
		require.NoError(t, errs["HoldCount"], "the server is not asked")
		delete(errs, "HoldCount")
		for what, err := range errs {
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, `"`+key+`"`, what)
			for _, sentinel := range locktest.Sentinels {
				require.NotErrorIs(t, err, sentinel)
			}
		}
	}
	require.Equal(t, before, dump())
	commands := e.Stats().Commands
	locktest.Always(t, 100*time.Millisecond, "no retry", func() bool { return e.Stats().Commands == commands })
	require.NoError(t, good.Err())
	locktest.Unlock(t, good)
	locktest.RequireIdle(t, e)
}

// One key of another type among many in one batch: the other locks are granted.
func TestKeyOfOtherType_InBatch_OthersGranted(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	s.Do("SET", "h17", "x")
	requireOnlyOneRefused(t, s, s.Open(lockwheel.Options{}), "h17", "WRONGTYPE")
}

// requireOnlyOneRefused requests a lock that is rejected and 40 good ones in one batch. While the server is paused,
// each sender has a call in flight, and all other commands queue up.
func requireOnlyOneRefused(t *testing.T, s *locktest.Server, e *lockwheel.Engine, bad, why string) {
	t.Helper()
	require.NoError(t, s.Real.Pause())
	var waiting []<-chan locktest.Outcome
	ask := func(name string) {
		waiting = append(waiting, locktest.Locking(t.Context(), e.Mutex(name)))
		locktest.Queued(t, e, int64(len(waiting)))
	}
	for e.Stats().InFlight == int64(len(waiting)) {
		ask("hold" + strconv.Itoa(len(waiting)))
	}
	refusal := len(waiting)
	ask(bad)
	for range 40 {
		ask("hold" + strconv.Itoa(len(waiting)))
	}
	batches := e.Stats().Batches
	require.NoError(t, s.Real.Continue())
	var holds []*lockwheel.Hold
	for i, done := range waiting {
		if i == refusal {
			err := locktest.Receive(t, done).Err
			require.ErrorContains(t, err, why)
			require.ErrorContains(t, err, `"`+bad+`"`)
			continue
		}
		holds = append(holds, locktest.Granted(t, done))
	}
	require.Less(t, e.Stats().Batches-batches, uint64(len(holds)), "there was a batch")
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	locktest.RequireIdle(t, e)
}

// notInScripts is the reply of Redis and Valkey for a command that the user of a script may not run.
const notInScripts = "can't run this command|ACL failure in script"

// redisson#5439, #6071: the error of a user without a permission names the permission and the lock.
func TestNoPermission_Lock_RejectedAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ rules, says string }{
		"no scripts":                {"~* &* +ping +hello +script", "NOPERM"},
		"no keys of that name":      {"~other:* &* +@all", "NOPERM"},
		"no hashes":                 {"~* &* +@all -hset", notInScripts},
		"no expiry":                 {"~* &* +@all -pexpire", notInScripts},
		"no reading of expiry":      {"~* &* +@all -pttl", notInScripts},
		"no keys, only for reading": {"%R~* &* +@all", "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.As(lockwheel.Options{}, c.rules)
			for _, call := range locktest.Locks(e.Mutex("n")) {
				before := time.Now()
				_, err := call(t.Context(), lockwheel.Wait(time.Minute))
				require.ErrorContains(t, err, `"n"`)
				require.Regexp(t, c.says, err.Error())
				require.Less(t, time.Since(before), locktest.TestDeadline)
				for _, sentinel := range locktest.Sentinels {
					require.NotErrorIs(t, err, sentinel)
				}
			}
			require.False(t, s.Exists("n"), "nothing left, least of all without a TTL")
			locktest.RequireIdle(t, e)
		})
	}
}

// A user with permission for some keys acquires those, even if another caller requests another key in the same batch.
// The server then rejects that batch as a whole.
func TestNoPermission_OneKey_OthersGranted(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	requireOnlyOneRefused(t, s, s.As(lockwheel.Options{}, "~h* &* +@all"), "forbidden", "NOPERM")
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// redisson#5439: a user without permission for the channel could lock and not unlock. Waiters then wake by the TTL.
func TestNoPermission_Channels_StillLocks(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	const lease = 2 * locktest.ShortLease
	e := s.As(lockwheel.Options{Lease: lease}, "~* resetchannels +@all")
	hold := locktest.Lock(t, e.Mutex("n"))
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting)) // callers of one engine need no channel
	require.False(t, s.Exists("n"))
	require.NotZero(t, e.Stats().UnpublishedReleases)

	s.HoldAsOther("n", 500*time.Millisecond)
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n")))

	hold = locktest.Lock(t, s.Open(lockwheel.Options{Lease: lease}).Mutex("n"), lockwheel.Lease(locktest.ShortLease))
	waiting = locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting)) // by the TTL
	since, calls := time.Now(), s.Scripts()
	s.HoldAsOther("n", time.Hour)
	waiting = locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	time.Sleep(time.Second)
	require.LessOrEqual(t, s.Scripts()-calls, 10+int(time.Since(since)/(100*time.Millisecond)), "a refused SUBSCRIBE is no reason to hurry")
	require.NoError(t, e.Close())
	require.ErrorIs(t, locktest.Receive(t, waiting).Err, lockwheel.ErrClosed)
}

// A permission is removed while a lock is held: the holder is notified, with the reason.
func TestNoPermission_WhileHeld_HoldEnds(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(locktest.ShortLeaseOptions, "~* &* +@all")
	hold := locktest.Lock(t, e.Mutex("n"))
	require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "resetkeys"))
	locktest.Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "NOPERM")
	require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
}

// A password that changes later is an outage, and not a permanent rejection: an operator may restore it.
func TestPassword_Changed_Outage(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(lockwheel.Options{}, "~* &* +@all")
	hold := locktest.Lock(t, e.Mutex("n"))
	s.Do("ACL", "SETUSER", "limited", "resetpass", ">other")
	s.Do("CLIENT", "KILL", "USER", "limited")
	unavailableError(t, e.Mutex("m"), "WRONGPASS")
	require.NoError(t, hold.Err())
	s.Do("ACL", "SETUSER", "limited", "resetpass", ">secret")
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("m")))
	locktest.Unlock(t, hold)
	locktest.RequireIdle(t, e)
}

// unavailableError requires that a lock is not available, and that the error contains the reason. The reason may not
// come at once, if the connection is gone as well, or a reply was late.
func unavailableError(t *testing.T, m lockwheel.Mutex, why string) {
	t.Helper()
	locktest.Eventually(t, "told why", func() bool {
		_, err := m.TryLock(t.Context(), lockwheel.Wait(200*time.Millisecond))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		return strings.Contains(err.Error(), why)
	})
}

// redis#8623: without memory a server rejects acquires; held locks are renewed and unlocked.
func TestNoMemory_HeldLocks_StillRenewed(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.Open(locktest.ShortLeaseOptions)
	m := e.Mutex("n")
	hold := locktest.Lock(t, m)
	s.Do("CONFIG", "SET", "maxmemory", 1)
	unavailableError(t, e.Mutex("m"), "OOM")
	inner := locktest.LockWith(t, hold.Context(), m) // its count cannot be written
	locktest.RequireRenewed(t, s, hold)
	locktest.Unlock(t, inner)
	waiting := locktest.Locking(t.Context(), e.Mutex("m"))
	locktest.Queued(t, e, 1)
	locktest.Unlock(t, hold)
	require.False(t, s.Exists("n"))
	require.False(t, s.Exists("m"), "nothing left of what was refused")
	s.Do("CONFIG", "SET", "maxmemory", 0)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.RequireIdle(t, e)
}

// A replica rejects writes temporarily: a failover will make it a master, or lead to another one.
func TestReadOnlyServer_Lock_Waits(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--repl-diskless-load", "swapdb", "--replica-serve-stale-data", "yes")
	e := s.Open(lockwheel.Options{})
	hold := locktest.Lock(t, e.Mutex("held"))
	s.Do("REPLICAOF", "127.0.0.1", 1)
	unavailableError(t, e.Mutex("n"), "READONLY")
	waiting := locktest.Locking(t.Context(), e.Mutex("n"))
	locktest.Queued(t, e, 1)
	require.NoError(t, hold.Err())
	s.Do("REPLICAOF", "NO", "ONE")
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.Unlock(t, hold)
}

// underOrders are names for the rules of README. The keys of a lock are named differently if its name has braces.
var underOrders = []string{"orders/7", "orders/{7}", "orders/{7}/{8}", "orders/a}b"}

// Fenced and fair locks need exactly the permissions that README lists; without one they return an error.
func TestNoPermission_FencedAndFair_Error(t *testing.T) {
	t.Parallel()
	for name, mutex := range locktest.Kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			if name != "plain" {
				_, err := mutex(s.As(lockwheel.Options{}, locktest.RulesOf(t, "plain")), "orders/7").Lock(t.Context())
				require.ErrorContains(t, err, "NOPERM")
				require.False(t, s.Exists("orders/7"))
				s.Do("ACL", "LOG", "RESET")
			}
			e := s.As(lockwheel.Options{}, locktest.RulesOf(t, name))
			for _, lockName := range underOrders {
				worksWithWhatIsAllowed(t, e, mutex(e, lockName), name == "fair")
			}
			requireNothingDenied(t, s)
		})
	}
}

func worksWithWhatIsAllowed(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex, fair bool) {
	t.Helper()
	hold := locktest.Lock(t, m)
	gone := m.LockAsync(t.Context())
	waiting := m.LockAsync(t.Context())
	locktest.BothWait(t, e, fair)
	gone.Cancel()
	inner := locktest.LockWith(t, hold.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), time.Minute))
	locktest.Unlock(t, inner)
	locktest.Unlock(t, hold)
	locktest.Receive(t, waiting.Done())
	next, err := waiting.Hold()
	require.NoError(t, err)
	locktest.ForceUnlock(t, m)
	require.ErrorIs(t, next.Unlock(t.Context()), lockwheel.ErrLost)
	locktest.RequireIdle(t, e)
	require.Zero(t, e.Stats().UnpublishedReleases)
}

// A permission that is not needed is not tried either: the server would log that, and an operator would grant it. TTLs
// fall because of a shorter Extend, and of an inner hold with a longer lease that unlocks.
func TestDocumentedRules_TTLFalls_NothingDenied(t *testing.T) {
	t.Parallel()
	for name, mutex := range locktest.Grantable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			rules := name
			if name == "reader" || name == "writer" {
				rules = "read/write"
			}
			e := s.As(lockwheel.Options{}, locktest.RulesOf(t, rules))
			var opts lockwheel.Options
			opts.Redis.Username, opts.Redis.Password = "limited", "secret"
			other := s.Open(opts)
			rival := mutex
			if name == "reader" {
				rival = locktest.Grantable()["writer"]
			}
			for _, lockName := range underOrders {
				ttlFallsTwice(t, s, mutex(e, lockName), other, rival(other, lockName))
			}
			requireNothingDenied(t, s)
		})
	}
}

// ttlFallsTwice lets the TTL of a lock fall while a caller of another engine waits for it.
func ttlFallsTwice(t *testing.T, s *locktest.Server, m lockwheel.Mutex, other *lockwheel.Engine, rival lockwheel.Mutex) {
	t.Helper()
	hold := locktest.Lock(t, m)
	inner := locktest.LockWith(t, hold.Context(), m, lockwheel.Lease(time.Hour))
	waiting := locktest.Locking(t.Context(), rival)
	locktest.RequireWaiting(t, other, 1, 1)
	locktest.Unlock(t, inner)
	locktest.Eventually(t, "the TTL of the outer hold", func() bool { return s.PTTL(m.Name()) <= time.Minute })
	require.NoError(t, hold.Extend(t.Context(), 10*time.Second))
	require.LessOrEqual(t, s.PTTL(m.Name()), 10*time.Second)
	locktest.Unlock(t, hold)
	locktest.Unlock(t, locktest.Granted(t, waiting))
	locktest.RequireIdle(t, other)
}

// requireNothingDenied requires that the server has denied nothing but the name of the client's library, which rueidis
// sends to servers that know the command.
func requireNothingDenied(t *testing.T, s *locktest.Server) {
	t.Helper()
	denied, ok := s.Do("ACL", "LOG").([]any)
	require.True(t, ok)
	for _, entry := range denied {
		require.Contains(t, fmt.Sprint(entry), "client|setinfo")
	}
}

// A release that the server rejects succeeds when the permission is restored, long before the lease expires.
func TestNoPermission_Release_SentAgain(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	e := s.As(locktest.ShortLeaseOptions, "~* &* +@all")
	m := e.Mutex("n")
	denied := func(f func() error) {
		t.Helper()
		require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "-evalsha", "-eval"))
		var refusal lockwheel.ServerError
		require.ErrorAs(t, f(), &refusal)
		require.ErrorContains(t, refusal, "NOPERM")
		require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "+evalsha", "+eval"))
		locktest.Eventually(t, "released", func() bool { return !s.Exists("n") })
		locktest.RequireIdle(t, e)
	}
	hour := lockwheel.Lease(time.Hour)
	t.Run("by Unlock", func(t *testing.T) {
		hold := locktest.Lock(t, m, hour)
		denied(func() error { return hold.Unlock(t.Context()) })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	})
	t.Run("by ForceUnlock", func(t *testing.T) {
		hold := locktest.Lock(t, m, hour)
		denied(func() error { _, err := m.ForceUnlock(t.Context()); return err })
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	})
	t.Run("when it was lost for want of the right", func(t *testing.T) {
		hold := locktest.Lock(t, m)
		inner := locktest.LockWith(t, hold.Context(), m, hour)
		denied(func() error { locktest.Receive(t, hold.Done()); return hold.Err() })
		require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	})
}

// A lock is lost if its key has another type, even if its Unlock is the first to find that.
func TestKeyOfOtherType_Unlock_Lost(t *testing.T) {
	t.Parallel()
	locktest.OnEveryKind(t, func(t *testing.T, mutex, _ locktest.KindOfLock) {
		s := locktest.RealServer(t)
		lost := make(chan error, 1)
		e := s.Open(lockwheel.Options{Observer: lockwheel.Observer{Lost: func(_ string, err error) { lost <- err }}})
		hold := locktest.Lock(t, mutex(e, "n"))
		s.Do("SET", "n", "x")
		err := hold.Unlock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrLost)
		var refusal lockwheel.ServerError
		require.ErrorAs(t, err, &refusal)
		require.ErrorContains(t, refusal, "WRONGTYPE")
		require.ErrorIs(t, locktest.Receive(t, lost), lockwheel.ErrLost)
		require.EqualValues(t, 1, e.Stats().LostAtUnlock)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		locktest.RequireIdle(t, e)
		require.Equal(t, "x", s.Do("GET", "n"))
	})
}
