package lockwheel_test

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// Servers that reject commands, permanently or temporarily.

// redisson#229: the key is of another type.
func TestAKeyOfAnotherTypeIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	s := AnyServer(t)
	s.do("SET", "text", "x")
	s.do("RPUSH", "list", "x", "y")
	s.do("SADD", "set", "x")
	s.do("ZADD", "zset", 1, "x")
	keys := []string{"text", "list", "set", "zset"}
	if s.real != nil {
		s.do("XADD", "stream", "*", "k", "v")
		keys = append(keys, "stream")
	}
	dump := func() (all []any) {
		for _, key := range keys {
			all = append(all, s.do("TYPE", key), s.do("PTTL", key), s.do("OBJECT", "ENCODING", key))
		}
		return all
	}
	before := dump()
	e := s.open(lockwheel.Options{})
	good := lock(t, e.Mutex("good"))
	for _, key := range keys {
		errs := allCalls(t.Context(), e.Mutex(key))
		require.NoError(t, errs["HoldCount"], "the server is not asked")
		delete(errs, "HoldCount")
		for what, err := range errs {
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, `"`+key+`"`, what)
			for _, sentinel := range sentinels {
				require.NotErrorIs(t, err, sentinel)
			}
		}
	}
	require.Equal(t, before, dump())
	commands := e.Stats().Commands
	always(t, 100*time.Millisecond, "no retry", func() bool { return e.Stats().Commands == commands })
	require.NoError(t, good.Err())
	unlock(t, good)
	requireIdle(t, e)
}

// One key of another type among many in one batch: the other locks are granted.
func TestAKeyOfAnotherTypeDoesNotSpoilItsBatch(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.do("SET", "h17", "x")
	requireOnlyOneRefused(t, s, s.open(lockwheel.Options{}), "h17", "WRONGTYPE")
}

// requireOnlyOneRefused requests a lock that is rejected and 40 good ones in one batch. While the server is paused,
// each sender has a call in flight, and all other commands queue up.
func requireOnlyOneRefused(t *testing.T, s *Server, e *lockwheel.Engine, bad, why string) {
	t.Helper()
	require.NoError(t, s.real.Pause())
	var waiting []<-chan outcome
	ask := func(name string) {
		waiting = append(waiting, locking(t.Context(), e.Mutex(name)))
		queued(t, e, int64(len(waiting)))
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
	require.NoError(t, s.real.Continue())
	var holds []*lockwheel.Hold
	for i, done := range waiting {
		if i == refusal {
			err := receive(t, done).err
			require.ErrorContains(t, err, why)
			require.ErrorContains(t, err, `"`+bad+`"`)
			continue
		}
		holds = append(holds, granted(t, done))
	}
	require.Less(t, e.Stats().Batches-batches, uint64(len(holds)), "there was a batch")
	for _, hold := range holds {
		unlock(t, hold)
	}
	requireIdle(t, e)
}

// as opens an engine as a user with the given rules of ACL SETUSER.
func (s *Server) as(opts lockwheel.Options, rules string) *lockwheel.Engine {
	s.t.Helper()
	user := []any{"ACL", "SETUSER", "limited", "reset", "on", ">secret"}
	for _, rule := range strings.Fields(rules) {
		user = append(user, rule)
	}
	require.Equal(s.t, "OK", s.do(user...))
	opts.Redis.Username, opts.Redis.Password = "limited", "secret"
	return s.open(opts)
}

// notInScripts is the reply of Redis and Valkey for a command that the user of a script may not run.
const notInScripts = "can't run this command|ACL failure in script"

// redisson#5439, #6071: the error of a user without a permission names the permission and the lock.
func TestAUserWithoutPermissionIsToldAtOnce(t *testing.T) {
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
			s := RealServer(t)
			e := s.as(lockwheel.Options{}, c.rules)
			for _, call := range locks(e.Mutex("n")) {
				before := time.Now()
				_, err := call(t.Context(), lockwheel.Wait(time.Minute))
				require.ErrorContains(t, err, `"n"`)
				require.Regexp(t, c.says, err.Error())
				require.Less(t, time.Since(before), testDeadline)
				for _, sentinel := range sentinels {
					require.NotErrorIs(t, err, sentinel)
				}
			}
			require.False(t, s.exists("n"), "nothing left, least of all without a TTL")
			requireIdle(t, e)
		})
	}
}

// A user with permission for some keys acquires those, even if another caller requests another key in the same batch,
// which the server then rejects as a whole.
func TestAKeyWithoutPermissionDoesNotSpoilItsBatch(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	requireOnlyOneRefused(t, s, s.as(lockwheel.Options{}, "~h* &* +@all"), "forbidden", "NOPERM")
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// redisson#5439: a user without permission for the channel could lock and not unlock. Waiters then wake by the TTL.
func TestAUserWithoutChannelsStillLocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	const lease = 2 * shortLease
	e := s.as(lockwheel.Options{Lease: lease}, "~* resetchannels +@all")
	hold := lock(t, e.Mutex("n"))
	waiting := locking(t.Context(), e.Mutex("n"))
	queued(t, e, 1)
	unlock(t, hold)
	unlock(t, granted(t, waiting)) // callers of one engine need no channel
	require.False(t, s.exists("n"))
	require.NotZero(t, e.Stats().UnpublishedReleases)

	s.HoldAsOther("n", 500*time.Millisecond)
	unlock(t, lock(t, e.Mutex("n")))

	hold = lock(t, s.open(lockwheel.Options{Lease: lease}).Mutex("n"), lockwheel.Lease(shortLease))
	waiting = locking(t.Context(), e.Mutex("n"))
	queued(t, e, 1)
	unlock(t, hold)
	unlock(t, granted(t, waiting)) // by the TTL
	calls := s.scripts()
	s.HoldAsOther("n", time.Hour)
	waiting = locking(t.Context(), e.Mutex("n"))
	queued(t, e, 1)
	time.Sleep(time.Second)
	require.LessOrEqual(t, s.scripts()-calls, 20, "a refused SUBSCRIBE is no reason to hurry")
	require.NoError(t, e.Close())
	require.ErrorIs(t, receive(t, waiting).err, lockwheel.ErrClosed)
}

// A permission is removed while a lock is held: the holder is notified, with the reason.
func TestAPermissionThatGoesEndsTheHold(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.as(lockwheel.Options{Lease: 3 * time.Second}, "~* &* +@all")
	hold := lock(t, e.Mutex("n"))
	require.Equal(t, "OK", s.do("ACL", "SETUSER", "limited", "resetkeys"))
	receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "NOPERM")
	require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
}

// A password that changes later is an outage, and not a permanent rejection: an operator may restore it.
func TestAPasswordThatChangesIsAnOutage(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.as(lockwheel.Options{}, "~* &* +@all")
	hold := lock(t, e.Mutex("n"))
	s.do("ACL", "SETUSER", "limited", "resetpass", ">other")
	s.do("CLIENT", "KILL", "USER", "limited")
	unavailableError(t, e.Mutex("m"), "WRONGPASS")
	require.NoError(t, hold.Err())
	s.do("ACL", "SETUSER", "limited", "resetpass", ">secret")
	unlock(t, lock(t, e.Mutex("m")))
	unlock(t, hold)
	requireIdle(t, e)
}

// unavailableError requires that a lock is not available, and that the error contains the reason. The reason may not come
// at once, if the connection is gone as well, or a reply was late.
func unavailableError(t *testing.T, m lockwheel.Mutex, why string) {
	t.Helper()
	eventually(t, "told why", func() bool {
		_, err := m.TryLock(t.Context(), lockwheel.Wait(200*time.Millisecond))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		return strings.Contains(err.Error(), why)
	})
}

// redis#8623: without memory a server rejects acquires; held locks are renewed and unlocked.
func TestAServerWithoutMemoryStillRenewsAndUnlocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(shortLeaseOptions)
	m := e.Mutex("n")
	hold := lock(t, m)
	s.do("CONFIG", "SET", "maxmemory", 1)
	unavailableError(t, e.Mutex("m"), "OOM")
	inner := lockWith(t, hold.Context(), m) // its count cannot be written
	requireRenewed(t, s, hold)
	unlock(t, inner)
	waiting := locking(t.Context(), e.Mutex("m"))
	queued(t, e, 1)
	unlock(t, hold)
	require.False(t, s.exists("n"))
	require.False(t, s.exists("m"), "nothing left of what was refused")
	s.do("CONFIG", "SET", "maxmemory", 0)
	unlock(t, granted(t, waiting))
	requireIdle(t, e)
}

// A replica rejects writes temporarily: a failover will make it a master, or lead to another one.
func TestAReadOnlyServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := RealServer(t, "--repl-diskless-load", "swapdb", "--replica-serve-stale-data", "yes")
	e := s.open(lockwheel.Options{})
	hold := lock(t, e.Mutex("held"))
	s.do("REPLICAOF", "127.0.0.1", 1)
	unavailableError(t, e.Mutex("n"), "READONLY")
	waiting := locking(t.Context(), e.Mutex("n"))
	queued(t, e, 1)
	require.NoError(t, hold.Err())
	s.do("REPLICAOF", "NO", "ONE")
	unlock(t, granted(t, waiting))
	unlock(t, hold)
}

// rulesOf returns the rules of ACL SETUSER that README gives for a kind of lock, for names that begin with orders/.
func rulesOf(t *testing.T, kind string) string {
	t.Helper()
	section := contents(t, "docs/acl.md")
	places := []string{"(?s)```sh\nredis-cli ACL SETUSER locks on '>secret' (.*?)```"}
	if kind != "plain" {
		places = append(places, "(?m)^redis-cli ACL SETUSER locks (.*?) +# "+kind)
	}
	var rules []string
	for _, place := range places {
		given := regexp.MustCompile(place).FindStringSubmatch(section)
		require.NotNil(t, given, place)
		rules = append(rules, strings.NewReplacer("'", "", "\\\n", "").Replace(given[1]))
	}
	return strings.Join(rules, " ")
}

// underOrders are names for the rules of README. The keys of a lock are named differently if its name has braces.
var underOrders = []string{"orders/7", "orders/{7}", "orders/{7}/{8}", "orders/a}b"}

// Fenced and fair locks need exactly the permissions that README lists; without one they return an error.
func TestFencedAndFairLocksNeedWhatTheReadmeSays(t *testing.T) {
	t.Parallel()
	for name, mutex := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			if name != "plain" {
				_, err := mutex(s.as(lockwheel.Options{}, rulesOf(t, "plain")), "orders/7").Lock(t.Context())
				require.ErrorContains(t, err, "NOPERM")
				require.False(t, s.exists("orders/7"))
			}
			e := s.as(lockwheel.Options{}, rulesOf(t, name))
			for _, lockName := range underOrders {
				worksWithWhatIsAllowed(t, e, mutex(e, lockName), name == "fair")
			}
		})
	}
}

func worksWithWhatIsAllowed(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex, fair bool) {
	t.Helper()
	hold := lock(t, m)
	gone := m.LockAsync(t.Context())
	waiting := m.LockAsync(t.Context())
	bothWait(t, e, fair)
	gone.Cancel()
	inner := lockWith(t, hold.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), time.Minute))
	unlock(t, inner)
	unlock(t, hold)
	receive(t, waiting.Done())
	next, err := waiting.Hold()
	require.NoError(t, err)
	forceUnlock(t, m)
	require.ErrorIs(t, next.Unlock(t.Context()), lockwheel.ErrLost)
	requireIdle(t, e)
	require.Zero(t, e.Stats().UnpublishedReleases)
}

// bothWait waits until two requests wait: on the server, each with its own channel, or in the engine.
func bothWait(t *testing.T, e *lockwheel.Engine, fair bool) {
	t.Helper()
	if fair {
		requireWaiting(t, e, 2, 2)
	} else {
		queued(t, e, 2)
	}
}

// A release that the server rejects succeeds when the permission is restored, long before the lease expires.
func TestWhatIsRefusedToBeReleasedIsReleasedWhenTheRightIsBack(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.as(lockwheel.Options{Lease: 3 * time.Second}, "~* &* +@all")
	m := e.Mutex("n")
	denied := func(f func() error) {
		t.Helper()
		require.Equal(t, "OK", s.do("ACL", "SETUSER", "limited", "-evalsha", "-eval"))
		var refusal lockwheel.ServerError
		require.ErrorAs(t, f(), &refusal)
		require.ErrorContains(t, refusal, "NOPERM")
		require.Equal(t, "OK", s.do("ACL", "SETUSER", "limited", "+evalsha", "+eval"))
		eventually(t, "released", func() bool { return !s.exists("n") })
		requireIdle(t, e)
	}
	hour := lockwheel.Lease(time.Hour)
	t.Run("by Unlock", func(t *testing.T) {
		hold := lock(t, m, hour)
		denied(func() error { return hold.Unlock(t.Context()) })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	})
	t.Run("by ForceUnlock", func(t *testing.T) {
		hold := lock(t, m, hour)
		denied(func() error { _, err := m.ForceUnlock(t.Context()); return err })
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	})
	t.Run("when it was lost for want of the right", func(t *testing.T) {
		hold := lock(t, m)
		inner := lockWith(t, hold.Context(), m, hour)
		denied(func() error { receive(t, hold.Done()); return hold.Err() })
		require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	})
}

// A lock is lost if its key has another type, even if its Unlock is the first to find that.
func TestAnUnlockThatFindsAnotherTypeIsALoss(t *testing.T) {
	t.Parallel()
	onEveryKind(t, func(t *testing.T, mutex, _ kindOfLock) {
		s := RealServer(t)
		lost := make(chan error, 1)
		e := s.open(lockwheel.Options{Observer: lockwheel.Observer{Lost: func(_ string, err error) { lost <- err }}})
		hold := lock(t, mutex(e, "n"))
		s.do("SET", "n", "x")
		err := hold.Unlock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrLost)
		var refusal lockwheel.ServerError
		require.ErrorAs(t, err, &refusal)
		require.ErrorContains(t, refusal, "WRONGTYPE")
		require.ErrorIs(t, receive(t, lost), lockwheel.ErrLost)
		require.EqualValues(t, 1, e.Stats().LostAtUnlock)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		requireIdle(t, e)
		require.Equal(t, "x", s.do("GET", "n"))
	})
}
