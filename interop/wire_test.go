package interop

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// lockSnapshot is what the server shows of a lock, without the numbers of the holders.
type lockSnapshot struct {
	fields, kind, encoding string
	lease                  time.Duration // rounded to seconds, the time that is left
	keys                   []string      // all keys, each with its type and its lease
}

var holderID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+`)

func snapshotOf(s *testEnv, name string) lockSnapshot {
	s.t.Helper()
	f := lockSnapshot{
		fields:   holderID.ReplaceAllString(fmt.Sprint(s.hash(name)), "uuid:number"),
		kind:     fmt.Sprint(s.do(name, "TYPE", name)),
		encoding: fmt.Sprint(s.do(name, "OBJECT", "ENCODING", name)),
		lease:    s.roundedTTL(name),
	}
	for _, key := range s.keysLeft(name) {
		text := fmt.Sprint(key, " ", s.do(name, "TYPE", key))
		if key != name {
			text = fmt.Sprint(text, " ", s.roundedTTL(key))
		}
		f.keys = append(f.keys, holderID.ReplaceAllString(text, "uuid:number"))
	}
	slices.Sort(f.keys)
	return f
}

func (s *testEnv) roundedTTL(key string) time.Duration {
	s.t.Helper()
	return (time.Duration(s.pttl(key)) * time.Millisecond).Round(5 * time.Second)
}

func (f lockSnapshot) withoutLease() lockSnapshot {
	f.lease = 0
	return f
}

// A lock has the same keys, fields and TTL in the server, whether Java or Go holds it.
func TestKeys_EitherHolder_Same(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *testEnv, k kind) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, name := range append([]string{"n"}, unusualNames...) {
			m := k.mutex(e, name)
			o.lock(k, name)
			theirs := snapshotOf(s, name)
			require.Contains(t, theirs.fields, "uuid:number")
			require.Equal(t, 30*time.Second, theirs.lease)
			require.True(t, o.tryLock(k, name, 0))
			theirsTwice := snapshotOf(s, name).withoutLease() // Redisson adds up the leases of a writer that re-enters
			o.unlock(k, name)
			o.unlock(k, name)
			requireNoKeys(t, s, name)

			hold := locktest.Lock(t, m)
			require.Equal(t, theirs, snapshotOf(s, name))
			again := locktest.LockWith(t, hold.Context(), m)
			eventually(t, "a count of two", func() bool { return s.fields(name)[hold.ID()] == "2" })
			require.Equal(t, theirsTwice, snapshotOf(s, name).withoutLease())
			locktest.Unlock(t, again)
			locktest.Unlock(t, hold)
			require.Empty(t, s.keysLeft(name))
		}
	})
}

// unusualNames are names of every form. Both sides make keys and channels of them in different ways, and must arrive at
// the same ones.
var unusualNames = []string{"orders/7", "{orders}:7", "a{b}c", "x{y}{z}", "ключ 1", "a:b=c&d%e"}

// Names with braces, colons, spaces and letters of any script work between both sides.
func TestNames_EveryForm_BothSides(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, name := range unusualNames {
			m := x.held.mutex(e, name)
			hold := locktest.Lock(t, m)
			waiting := o.lockAsync(x.wanted, name)
			awaitListening(t, s, name, waiting)
			locktest.Unlock(t, hold)
			requireSuccess(t, waiting)

			ours := locktest.Locking(t.Context(), m)
			eventually(t, "one of ours waiting", func() bool {
				stats := e.Stats()
				return stats.Waiting == 1 && stats.InFlight == 0 && s.hasSubscriber(name)
			})
			o.unlock(x.wanted, name)
			locktest.Unlock(t, requireGranted(t, ours))
		}
	})
}

// A prefix of Go and a name mapper of Redisson with the same prefix give the same lock.
func TestPrefix_LikeNameMapper(t *testing.T) {
	t.Parallel()
	everyExclusion(t, func(t *testing.T, s *testEnv, x exclusion) {
		o := s.redisson(redisson.Fields{"prefix": "shop:"}).owner("o")
		e := s.engine(lockwheel.Options{Prefix: "shop:"})
		unprefixed := s.engine(lockwheel.Options{})
		o.lock(x.held, "n")
		require.Equal(t, map[string]string{o.id(): "1"}, s.fields("shop:n"))
		locktest.Unlock(t, locktest.Lock(t, x.wanted.mutex(unprefixed, "n"))) // a different lock
		locktest.StateFailed(t, x.wanted.mutex(unprefixed, "shop:n"))

		waiting := locktest.Locking(t.Context(), x.wanted.mutex(e, "n"))
		awaitWaiting(t, e)
		o.unlock(x.held, "n")
		hold := requireGranted(t, waiting)
		awaitNoListener(t, s, "shop:n")
		javas := o.lockAsync(x.held, "n")
		awaitListening(t, s, "shop:n", javas)
		locktest.Unlock(t, hold)
		requireSuccess(t, javas)
		o.unlock(x.held, "n")
	})
}
