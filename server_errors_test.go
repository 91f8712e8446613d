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
	good := Lock(t, e.Mutex("good"))
	for _, key := range keys {
		errs := AllCalls(t.Context(), e.Mutex(key))
		require.NoError(t, errs["HoldCount"], "the server is not asked")
		delete(errs, "HoldCount")
		for what, err := range errs {
			require.ErrorContains(t, err, "WRONGTYPE", what)
			require.ErrorContains(t, err, `"`+key+`"`, what)
			for _, sentinel := range Sentinels {
				require.NotErrorIs(t, err, sentinel)
			}
		}
	}
	require.Equal(t, before, dump())
	commands := e.Stats().Commands
	Always(t, 100*time.Millisecond, "no retry", func() bool { return e.Stats().Commands == commands })
	require.NoError(t, good.Err())
	Unlock(t, good)
	RequireIdle(t, e)
}

// One key of another type among many in one batch: the other locks are granted.
func TestAKeyOfAnotherTypeDoesNotSpoilItsBatch(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	s.Do("SET", "h17", "x")
	requireOnlyOneRefused(t, s, s.Open(lockwheel.Options{}), "h17", "WRONGTYPE")
}

// requireOnlyOneRefused requests a lock that is rejected and 40 good ones in one batch. While the server is paused,
// each sender has a call in flight, and all other commands queue up.
func requireOnlyOneRefused(t *testing.T, s *Server, e *lockwheel.Engine, bad, why string) {
	t.Helper()
	require.NoError(t, s.Real.Pause())
	var waiting []<-chan Outcome
	ask := func(name string) {
		waiting = append(waiting, Locking(t.Context(), e.Mutex(name)))
		Queued(t, e, int64(len(waiting)))
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
			err := Receive(t, done).Err
			require.ErrorContains(t, err, why)
			require.ErrorContains(t, err, `"`+bad+`"`)
			continue
		}
		holds = append(holds, Granted(t, done))
	}
	require.Less(t, e.Stats().Batches-batches, uint64(len(holds)), "there was a batch")
	for _, hold := range holds {
		Unlock(t, hold)
	}
	RequireIdle(t, e)
}

// As opens an engine as a user with the given rules of ACL SETUSER.
func (s *Server) As(opts lockwheel.Options, rules string) *lockwheel.Engine {
	s.T.Helper()
	user := []any{"ACL", "SETUSER", "limited", "reset", "on", ">secret"}
	for _, rule := range strings.Fields(rules) {
		user = append(user, rule)
	}
	require.Equal(s.T, "OK", s.Do(user...))
	opts.Redis.Username, opts.Redis.Password = "limited", "secret"
	return s.Open(opts)
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
			e := s.As(lockwheel.Options{}, c.rules)
			for _, call := range Locks(e.Mutex("n")) {
				before := time.Now()
				_, err := call(t.Context(), lockwheel.Wait(time.Minute))
				require.ErrorContains(t, err, `"n"`)
				require.Regexp(t, c.says, err.Error())
				require.Less(t, time.Since(before), TestDeadline)
				for _, sentinel := range Sentinels {
					require.NotErrorIs(t, err, sentinel)
				}
			}
			require.False(t, s.Exists("n"), "nothing left, least of all without a TTL")
			RequireIdle(t, e)
		})
	}
}

// A user with permission for some keys acquires those, even if another caller requests another key in the same batch,
// which the server then rejects as a whole.
func TestAKeyWithoutPermissionDoesNotSpoilItsBatch(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	requireOnlyOneRefused(t, s, s.As(lockwheel.Options{}, "~h* &* +@all"), "forbidden", "NOPERM")
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// redisson#5439: a user without permission for the channel could lock and not unlock. Waiters then wake by the TTL.
func TestAUserWithoutChannelsStillLocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	const lease = 2 * ShortLease
	e := s.As(lockwheel.Options{Lease: lease}, "~* resetchannels +@all")
	hold := Lock(t, e.Mutex("n"))
	waiting := Locking(t.Context(), e.Mutex("n"))
	Queued(t, e, 1)
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting)) // callers of one engine need no channel
	require.False(t, s.Exists("n"))
	require.NotZero(t, e.Stats().UnpublishedReleases)

	s.HoldAsOther("n", 500*time.Millisecond)
	Unlock(t, Lock(t, e.Mutex("n")))

	hold = Lock(t, s.Open(lockwheel.Options{Lease: lease}).Mutex("n"), lockwheel.Lease(ShortLease))
	waiting = Locking(t.Context(), e.Mutex("n"))
	Queued(t, e, 1)
	Unlock(t, hold)
	Unlock(t, Granted(t, waiting)) // by the TTL
	calls := s.Scripts()
	s.HoldAsOther("n", time.Hour)
	waiting = Locking(t.Context(), e.Mutex("n"))
	Queued(t, e, 1)
	time.Sleep(time.Second)
	require.LessOrEqual(t, s.Scripts()-calls, 20, "a refused SUBSCRIBE is no reason to hurry")
	require.NoError(t, e.Close())
	require.ErrorIs(t, Receive(t, waiting).Err, lockwheel.ErrClosed)
}

// A permission is removed while a lock is held: the holder is notified, with the reason.
func TestAPermissionThatGoesEndsTheHold(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.As(lockwheel.Options{Lease: 3 * time.Second}, "~* &* +@all")
	hold := Lock(t, e.Mutex("n"))
	require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "resetkeys"))
	Receive(t, hold.Done())
	require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	require.ErrorContains(t, hold.Err(), "NOPERM")
	require.ErrorIs(t, context.Cause(hold.Context()), lockwheel.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrLost)
}

// A password that changes later is an outage, and not a permanent rejection: an operator may restore it.
func TestAPasswordThatChangesIsAnOutage(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.As(lockwheel.Options{}, "~* &* +@all")
	hold := Lock(t, e.Mutex("n"))
	s.Do("ACL", "SETUSER", "limited", "resetpass", ">other")
	s.Do("CLIENT", "KILL", "USER", "limited")
	unavailableError(t, e.Mutex("m"), "WRONGPASS")
	require.NoError(t, hold.Err())
	s.Do("ACL", "SETUSER", "limited", "resetpass", ">secret")
	Unlock(t, Lock(t, e.Mutex("m")))
	Unlock(t, hold)
	RequireIdle(t, e)
}

// unavailableError requires that a lock is not available, and that the error contains the reason. The reason may not come
// at once, if the connection is gone as well, or a reply was late.
func unavailableError(t *testing.T, m lockwheel.Mutex, why string) {
	t.Helper()
	Eventually(t, "told why", func() bool {
		_, err := m.TryLock(t.Context(), lockwheel.Wait(200*time.Millisecond))
		require.ErrorIs(t, err, lockwheel.ErrUnavailable)
		return strings.Contains(err.Error(), why)
	})
}

// redis#8623: without memory a server rejects acquires; held locks are renewed and unlocked.
func TestAServerWithoutMemoryStillRenewsAndUnlocks(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(ShortLeaseOptions)
	m := e.Mutex("n")
	hold := Lock(t, m)
	s.Do("CONFIG", "SET", "maxmemory", 1)
	unavailableError(t, e.Mutex("m"), "OOM")
	inner := LockWith(t, hold.Context(), m) // its count cannot be written
	RequireRenewed(t, s, hold)
	Unlock(t, inner)
	waiting := Locking(t.Context(), e.Mutex("m"))
	Queued(t, e, 1)
	Unlock(t, hold)
	require.False(t, s.Exists("n"))
	require.False(t, s.Exists("m"), "nothing left of what was refused")
	s.Do("CONFIG", "SET", "maxmemory", 0)
	Unlock(t, Granted(t, waiting))
	RequireIdle(t, e)
}

// A replica rejects writes temporarily: a failover will make it a master, or lead to another one.
func TestAReadOnlyServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := RealServer(t, "--repl-diskless-load", "swapdb", "--replica-serve-stale-data", "yes")
	e := s.Open(lockwheel.Options{})
	hold := Lock(t, e.Mutex("held"))
	s.Do("REPLICAOF", "127.0.0.1", 1)
	unavailableError(t, e.Mutex("n"), "READONLY")
	waiting := Locking(t.Context(), e.Mutex("n"))
	Queued(t, e, 1)
	require.NoError(t, hold.Err())
	s.Do("REPLICAOF", "NO", "ONE")
	Unlock(t, Granted(t, waiting))
	Unlock(t, hold)
}

// RulesOf returns the rules of ACL SETUSER that README gives for a kind of lock, for names that begin with orders/.
func RulesOf(t *testing.T, kind string) string {
	t.Helper()
	section := Contents(t, "docs/acl.md")
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
	for name, mutex := range Kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := RealServer(t)
			if name != "plain" {
				_, err := mutex(s.As(lockwheel.Options{}, RulesOf(t, "plain")), "orders/7").Lock(t.Context())
				require.ErrorContains(t, err, "NOPERM")
				require.False(t, s.Exists("orders/7"))
			}
			e := s.As(lockwheel.Options{}, RulesOf(t, name))
			for _, lockName := range underOrders {
				worksWithWhatIsAllowed(t, e, mutex(e, lockName), name == "fair")
			}
		})
	}
}

func worksWithWhatIsAllowed(t *testing.T, e *lockwheel.Engine, m lockwheel.Mutex, fair bool) {
	t.Helper()
	hold := Lock(t, m)
	gone := m.LockAsync(t.Context())
	waiting := m.LockAsync(t.Context())
	BothWait(t, e, fair)
	gone.Cancel()
	inner := LockWith(t, hold.Context(), m)
	require.NoError(t, inner.Extend(t.Context(), time.Minute))
	Unlock(t, inner)
	Unlock(t, hold)
	Receive(t, waiting.Done())
	next, err := waiting.Hold()
	require.NoError(t, err)
	ForceUnlock(t, m)
	require.ErrorIs(t, next.Unlock(t.Context()), lockwheel.ErrLost)
	RequireIdle(t, e)
	require.Zero(t, e.Stats().UnpublishedReleases)
}

// BothWait waits until two requests wait: on the server, each with its own channel, or in the engine.
func BothWait(t *testing.T, e *lockwheel.Engine, fair bool) {
	t.Helper()
	if fair {
		RequireWaiting(t, e, 2, 2)
	} else {
		Queued(t, e, 2)
	}
}

// A release that the server rejects succeeds when the permission is restored, long before the lease expires.
func TestWhatIsRefusedToBeReleasedIsReleasedWhenTheRightIsBack(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.As(lockwheel.Options{Lease: 3 * time.Second}, "~* &* +@all")
	m := e.Mutex("n")
	denied := func(f func() error) {
		t.Helper()
		require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "-evalsha", "-eval"))
		var refusal lockwheel.ServerError
		require.ErrorAs(t, f(), &refusal)
		require.ErrorContains(t, refusal, "NOPERM")
		require.Equal(t, "OK", s.Do("ACL", "SETUSER", "limited", "+evalsha", "+eval"))
		Eventually(t, "released", func() bool { return !s.Exists("n") })
		RequireIdle(t, e)
	}
	hour := lockwheel.Lease(time.Hour)
	t.Run("by Unlock", func(t *testing.T) {
		hold := Lock(t, m, hour)
		denied(func() error { return hold.Unlock(t.Context()) })
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
	})
	t.Run("by ForceUnlock", func(t *testing.T) {
		hold := Lock(t, m, hour)
		denied(func() error { _, err := m.ForceUnlock(t.Context()); return err })
		require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
	})
	t.Run("when it was lost for want of the right", func(t *testing.T) {
		hold := Lock(t, m)
		inner := LockWith(t, hold.Context(), m, hour)
		denied(func() error { Receive(t, hold.Done()); return hold.Err() })
		require.ErrorIs(t, inner.Err(), lockwheel.ErrLost)
	})
}

// A lock is lost if its key has another type, even if its Unlock is the first to find that.
func TestAnUnlockThatFindsAnotherTypeIsALoss(t *testing.T) {
	t.Parallel()
	OnEveryKind(t, func(t *testing.T, mutex, _ KindOfLock) {
		s := RealServer(t)
		lost := make(chan error, 1)
		e := s.Open(lockwheel.Options{Observer: lockwheel.Observer{Lost: func(_ string, err error) { lost <- err }}})
		hold := Lock(t, mutex(e, "n"))
		s.Do("SET", "n", "x")
		err := hold.Unlock(t.Context())
		require.ErrorIs(t, err, lockwheel.ErrLost)
		var refusal lockwheel.ServerError
		require.ErrorAs(t, err, &refusal)
		require.ErrorContains(t, refusal, "WRONGTYPE")
		require.ErrorIs(t, Receive(t, lost), lockwheel.ErrLost)
		require.EqualValues(t, 1, e.Stats().LostAtUnlock)
		require.ErrorIs(t, hold.Unlock(t.Context()), lockwheel.ErrNotHeld)
		RequireIdle(t, e)
		require.Equal(t, "x", s.Do("GET", "n"))
	})
}
