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

// kindOfLock is how an engine gives out one kind of lock.
type kindOfLock func(*lockwheel.Engine, string) lockwheel.Mutex

// kinds are those with one holder.
var kinds = map[string]kindOfLock{
	"plain":  (*lockwheel.Engine).Mutex,
	"fenced": (*lockwheel.Engine).FencedMutex,
	"fair":   (*lockwheel.Engine).FairMutex,
}

// namesOfKinds are names of one lock of each kind that has one holder at a time. Each ends with its kind.
func namesOfKinds(prefix string) []string {
	return []string{prefix + "/plain", prefix + "/fenced", prefix + "/fair", prefix + "/writer"}
}

// namesOfEveryKind are those, and one that is held by a reader while the writer waits.
func namesOfEveryKind(prefix string) []string { return append(namesOfKinds(prefix), prefix+"/reader") }

// kindOf is the kind that a name ends with.
func kindOf(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// mutexOf is the lock of such a name.
func mutexOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	return grantable()[kindOf(name)](e, name)
}

// rivalOf is the lock that keeps out, or is kept out by, whoever has that of such a name: itself, and of a reader the writer.
func rivalOf(e *lockwheel.Engine, name string) lockwheel.Mutex {
	if kindOf(name) == "reader" {
		return e.RWMutex(name).Writer()
	}
	return mutexOf(e, name)
}

// tokenKeys is how the keys begin that count fencing tokens. They outlive their locks.
const tokenKeys = "redisson_lock_token:"

// requireNoLock waits until the server has no key but those that count fencing tokens. Engines leave no place in a fair queue that they
// could give up; those of engines that are gone are taken off by whoever asks next, here e, when a lease is over.
func (s *site) requireNoLock(t *testing.T, e *lockwheel.Engine, names []string) {
	t.Helper()
	for _, name := range names {
		if kindOf(name) == "fair" {
			unlock(t, lock(t, mutexOf(e, name), lockwheel.Wait(patience)))
		}
	}
	s.noKeyButTokens(t)
}

// requireNothingLeft is requireNoLock where no engine is gone and all have settled: a place in a fair queue is left only where the server refused for
// good that it be given up, or could not be asked, and lives for a lease at most.
func (s *site) requireNothingLeft(t *testing.T, lease time.Duration, names []string) {
	t.Helper()
	e := s.open(lockwheel.Options{})
	for _, name := range names {
		if kindOf(name) == "fair" {
			unlock(t, lock(t, mutexOf(e, name), lockwheel.Wait(lease+time.Second)))
		}
	}
	s.noKeyButTokens(t)
}

func (s *site) noKeyButTokens(t *testing.T) {
	t.Helper()
	eventually(t, "no key but those of tokens", func() bool {
		keys, ok := s.do("KEYS", "*").([]any)
		return ok && !slices.ContainsFunc(keys, func(key any) bool { return !strings.HasPrefix(fmt.Sprint(key), tokenKeys) })
	})
}

// onEachKind runs a test of what all kinds have in common, and of the plain lock once more with engines that poll.
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
	s := anySite(t)
	e := s.open(lockwheel.Options{})
	for is, first := range kinds {
		for other, second := range kinds {
			if other == is {
				continue
			}
			hold := lock(t, first(e, "n"))
			_, err := second(e, "n").TryLock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.EqualError(t, err, `lockwheel: lock "n": in use as another kind of lock: it is a `+is+` lock in this engine now, not a `+other+` one`)
			_, err = second(e, "n").Lock(hold.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind, "not by its owner either")
			_, err = second(e, "n").ForceUnlock(t.Context())
			require.ErrorIs(t, err, lockwheel.ErrKind)
			require.NoError(t, hold.Err())
			unlock(t, hold)
			// A release that is answered is the end of it.
			eventually(t, "the name as another kind", func() bool {
				hold, err := second(e, "n").TryLock(t.Context())
				if errors.Is(err, lockwheel.ErrKind) {
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
