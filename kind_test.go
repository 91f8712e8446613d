package lockwheel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// kindOfLock is a method of Engine that returns one kind of lock.
type kindOfLock func(*lockwheel.Engine, string) lockwheel.Mutex

// kinds are those with one holder at a time.
var kinds = map[string]kindOfLock{
	"plain":  (*lockwheel.Engine).Mutex,
	"fenced": (*lockwheel.Engine).FencedMutex,
	"fair":   (*lockwheel.Engine).FairMutex,
}

// namesOfKinds returns a name for each kind of lock with one holder at a time. Each name ends with its kind.
func namesOfKinds(prefix string) []string {
	return []string{prefix + "/plain", prefix + "/fenced", prefix + "/fair", prefix + "/writer"}
}

// namesOfEveryKind adds a name for a reader, with the writer as its waiter.
func namesOfEveryKind(prefix string) []string { return append(namesOfKinds(prefix), prefix+"/reader") }

// kindOf returns the kind at the end of a name.
func kindOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// mutexOf returns the lock with such a name.
func mutexOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	return grantable()[kindOf(name)](e, name)
}

// rivalOf returns the lock that excludes the one with such a name: the same lock, for a reader the writer.
func rivalOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	if kindOf(name) == "reader" {
		return e.RWMutex(name).Writer()
	}
	return mutexOf(e, name)
}

// tokenKeys is the prefix of keys that count fencing tokens. They outlive their locks.
const tokenKeys = "redisson_lock_token:"

// requireNoLock waits until the server has no key except those that count fencing tokens. Engines leave no place in a
// fair queue that they could give up. Places of engines that are gone are removed by the next caller, here of e, when
// a lease has expired.
func (s *Server) requireNoLock(t *testing.T, e *lockwheel.Engine, names []string) {
	t.Helper()
	for _, name := range names {
		if kindOf(name) == "fair" {
			unlock(t, lock(t, mutexOf(e, name), lockwheel.Wait(testDeadline)))
		}
	}
	s.noKeyButTokens(t)
}

// requireNothingLeft is requireNoLock for engines that are all settled and not gone. A place in a fair queue remains
// only if the server permanently rejected its removal, or did not reply; it lives for at most one lease.
func (s *Server) requireNothingLeft(t *testing.T, lease time.Duration, names []string) {
	t.Helper()
	e := s.open(lockwheel.Options{})
	for _, name := range names {
		if kindOf(name) == "fair" {
			unlock(t, lock(t, mutexOf(e, name), lockwheel.Wait(lease+time.Second)))
		}
	}
	s.noKeyButTokens(t)
}

func (s *Server) noKeyButTokens(t *testing.T) {
	t.Helper()
	eventually(t, "no key but those of tokens", func() bool {
		keys, ok := s.do("KEYS", "*").([]any)
		return ok && !slices.ContainsFunc(keys, func(key any) bool { return !strings.HasPrefix(fmt.Sprint(key), tokenKeys) })
	})
}

// onEachKind runs a test for all kinds, and for the plain lock once more with engines that poll.
func onEachKind(t *testing.T, test func(t *testing.T, mutex kindOfLock)) {
	t.Helper()
	for name, mutex := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, mutex)
		})
	}
	t.Run(polling, func(t *testing.T) {
		t.Parallel()
		test(t, kinds["plain"])
	})
}

func TestANameHasOneKindWhileItIsInUse(t *testing.T) {
	s := AnyServer(t)
	e := s.open(lockwheel.Options{})
	for is, first := range kinds {
		for other, second := range kinds {
			if other == is {
				continue
			}
			hold := lock(t, first(e, "n"))
			_, err := second(e, "n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
			require.EqualError(t, err, `lockwheel: lock "n": in use as another kind of lock: it is a `+is+` lock in this engine now, not a `+other+` one`)
			_, err = second(e, "n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch, "not by its owner either")
			_, err = second(e, "n").ForceUnlock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKindMismatch)
			require.NoError(t, hold.Err())
			unlock(t, hold)
			// The engine forgets the lock after the reply to its release.
			eventually(t, "the name as another kind", func() bool {
				hold, err := second(e, "n").TryLock(t.Context())
				if errors.Is(err, lockwheel.ErrKindMismatch) {
					return false
				}
				require.NoError(t, err)
				unlock(t, hold)
				return true
			})
		}
	}
	require.Zero(t, e.Stats().Held)
}
