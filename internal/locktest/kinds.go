package locktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/identity"
)

// KindOfLock is a method of Engine that returns one kind of lock.
type KindOfLock func(*lockwheel.Engine, string) lockwheel.Mutex

// Kinds are those with one holder at a time.
var Kinds = map[string]KindOfLock{
	"plain":  (*lockwheel.Engine).Mutex,
	"fenced": (*lockwheel.Engine).FencedMutex,
	"fair":   (*lockwheel.Engine).FairMutex,
}

// NamesOfKinds returns a name for each kind of lock with one holder at a time. Each name ends with its kind.
func NamesOfKinds(prefix string) []string {
	return []string{prefix + "/plain", prefix + "/fenced", prefix + "/fair", prefix + "/writer"}
}

// NamesOfEveryKind adds a name for a reader, with the writer as its waiter.
func NamesOfEveryKind(prefix string) []string { return append(NamesOfKinds(prefix), prefix+"/reader") }

// KindOf returns the kind at the end of a name.
func KindOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// MutexOf returns the lock with such a name.
func MutexOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	return Grantable()[KindOf(name)](e, name)
}

// RivalOf returns the lock that excludes the one with such a name: the same lock, for a reader the writer.
func RivalOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	if KindOf(name) == "reader" {
		return e.RWMutex(name).Writer()
	}
	return MutexOf(e, name)
}

// TokenKeys is the prefix of keys that count fencing tokens. They outlive their locks.
const TokenKeys = "redisson_lock_token:"

// RequireNoLock waits until the server has no key except those that count fencing tokens, and the records of killed
// engines, which expire. Engines leave no place in a fair queue that they could give up. Places of engines that are
// gone are removed by the next caller, here of e, when a lease has expired.
func (s *Server) RequireNoLock(t *testing.T, e *lockwheel.Engine, names []string) {
	t.Helper()
	for _, name := range names {
		if KindOf(name) == "fair" {
			hold, err := MutexOf(e, name).Lock(t.Context(), lockwheel.Wait(patience))
			if err != nil {
				s.logQueue(t, name)
			}
			require.NoError(t, err)
			Unlock(t, hold)
		}
	}
	s.noKeyBut(t, func(key string) bool {
		return strings.HasPrefix(key, TokenKeys) || (isRecord(key) && s.Do("PTTL", key).(int64) != -1)
	})
}

// logQueue logs what the server has about a fair lock.
func (s *Server) logQueue(t *testing.T, name string) {
	t.Helper()
	t.Logf("server time %v; the lock %v, %v ms to live", s.Do("TIME"), s.Do("HGETALL", name), s.Do("PTTL", name))
	t.Logf("queue %v", s.Do("LRANGE", "redisson_lock_queue:{"+name+"}", 0, -1))
	t.Logf("times %v", s.Do("ZRANGE", "redisson_lock_timeout:{"+name+"}", 0, -1, "WITHSCORES"))
	t.Logf("places %v", s.Do("HGETALL", "redisson_lock_places:{"+name+"}"))
}

// isRecord reports whether a key is that of an engine's record.
func isRecord(key string) bool {
	_, _, ok := identity.SplitKey(key)
	return ok
}

// RequireNothingLeft is RequireNoLock for engines that are all settled and not gone. A place in a fair queue remains
// only if the server permanently rejected its removal, or did not reply. It lives for at most one lease.
func (s *Server) RequireNothingLeft(t *testing.T, lease time.Duration, names []string) {
	t.Helper()
	e := s.Open(lockwheel.Options{})
	for _, name := range names {
		if KindOf(name) == "fair" {
			Unlock(t, Lock(t, MutexOf(e, name), lockwheel.Wait(lease+time.Second)))
		}
	}
	s.noKeyBut(t, func(key string) bool { return strings.HasPrefix(key, TokenKeys) })
}

// noKeyBut waits until the server has no key except those that may remain.
func (s *Server) noKeyBut(t *testing.T, mayRemain func(key string) bool) {
	t.Helper()
	var others []any
	for deadline := time.Now().Add(patience); ; time.Sleep(2 * time.Millisecond) {
		keys, ok := s.Do("KEYS", "*").([]any)
		others = slices.DeleteFunc(keys, func(key any) bool { return mayRemain(fmt.Sprint(key)) })
		if ok && len(others) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	for _, key := range others {
		t.Logf("%s %v, %v ms to live", s.Do("TYPE", key), key, s.Do("PTTL", key))
	}
	require.FailNow(t, "a key remains", "%v", others)
}

// OnEachKind runs a test for all kinds, and for the plain lock once more with engines that poll.
func OnEachKind(t *testing.T, test func(t *testing.T, mutex KindOfLock)) {
	t.Helper()
	for name, mutex := range Kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex)
		})
	}
	t.Run(polling, func(t *testing.T) {
		t.Parallel()
		test(t, Kinds["plain"])
	})
}

// OnEveryKind runs a test for each kind. other is a lock that excludes mutex: the same lock, for a reader the writer.
func OnEveryKind(t *testing.T, test func(t *testing.T, mutex, other KindOfLock)) {
	t.Helper()
	for name, mutex := range Grantable() {
		other := mutex
		if name == "reader" {
			other = Grantable()["writer"]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex, other)
		})
	}
}
