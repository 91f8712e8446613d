package locktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel"
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

// RequireNoLock waits until the server has no key except those that count fencing tokens. Engines leave no place in a
// fair queue that they could give up. Places of engines that are gone are removed by the next caller, here of e, when
// a lease has expired.
func (s *Server) RequireNoLock(t *testing.T, e *lockwheel.Engine, names []string) {
	t.Helper()
	for _, name := range names {
		if KindOf(name) == "fair" {
			Unlock(t, Lock(t, MutexOf(e, name), lockwheel.Wait(TestDeadline)))
		}
	}
	s.noKeyButTokens(t)
}

// RequireNothingLeft is RequireNoLock for engines that are all settled and not gone. A place in a fair queue remains
// only if the server permanently rejected its removal, or did not reply; it lives for at most one lease.
func (s *Server) RequireNothingLeft(t *testing.T, lease time.Duration, names []string) {
	t.Helper()
	e := s.Open(lockwheel.Options{})
	for _, name := range names {
		if KindOf(name) == "fair" {
			Unlock(t, Lock(t, MutexOf(e, name), lockwheel.Wait(lease+time.Second)))
		}
	}
	s.noKeyButTokens(t)
}

func (s *Server) noKeyButTokens(t *testing.T) {
	t.Helper()
	Eventually(t, "no key but those of tokens", func() bool {
		keys, ok := s.Do("KEYS", "*").([]any)
		return ok && !slices.ContainsFunc(keys, func(key any) bool { return !strings.HasPrefix(fmt.Sprint(key), TokenKeys) })
	})
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
