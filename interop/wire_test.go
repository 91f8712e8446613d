package interop

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/redisson"
)

// form is what somebody who looks into the server sees of a lock, with the holders' numbers taken out.
type form struct {
	fields, kind, encoding string
	lease                  time.Duration // rounded to seconds, which are those that are left
	keys                   []string      // besides the lock's
}

var holderID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9]+`)

func formOf(s *site, name string) form {
	s.t.Helper()
	f := form{
		fields:   holderID.ReplaceAllString(fmt.Sprint(s.hash(name)), "uuid:number"),
		kind:     fmt.Sprint(s.do(name, "TYPE", name)),
		encoding: fmt.Sprint(s.do(name, "OBJECT", "ENCODING", name)),
		lease:    (time.Duration(s.pttl(name)) * time.Millisecond).Round(5 * time.Second),
	}
	for _, key := range s.left(name) {
		f.keys = append(f.keys, holderID.ReplaceAllString(key, "uuid:number"))
	}
	return f
}

func (f form) withoutLease() form {
	f.lease = 0
	return f
}

func TestALockLooksTheSameInTheServerWhoeverHoldsIt(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *site, k kind) {
		o, m := s.redisson(nil).owner("o"), k.mutex(s.engine(lockwheel.Options{}), "n")
		o.lock(k, "n")
		theirs := formOf(s, "n")
		require.Contains(t, theirs.fields, "uuid:number")
		require.Equal(t, 30*time.Second, theirs.lease)
		require.True(t, o.tries(k, "n", 0))
		theirsTwice := formOf(s, "n").withoutLease() // Redisson adds up those of a writer that re-enters
		o.unlock(k, "n")
		o.unlock(k, "n")
		nothingLeft(t, s, "n")

		hold := lock(t, t.Context(), m)
		require.Equal(t, theirs, formOf(s, "n"))
		again := lock(t, hold.Context(), m)
		eventually(t, "a count of two", func() bool { return s.fields("n")[hold.ID()] == "2" })
		require.Equal(t, theirsTwice, formOf(s, "n").withoutLease())
		unlock(t, again)
		unlock(t, hold)
		require.Empty(t, s.left("n"))
	})
}

// Keys and channels are made of the name in different ways: both sides must mean the same ones.
func TestNamesOfEveryForm(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *site, k kind) {
		o, e := s.redisson(nil).owner("o"), s.engine(lockwheel.Options{})
		for _, name := range []string{"orders/7", "{orders}:7", "a{b}c", "x{y}{z}", "ключ 1", "a:b=c&d%e"} {
			m := k.mutex(e, name)
			hold := lock(t, t.Context(), m)
			waiting := o.locking(k, name)
			listening(t, s, name, waiting)
			unlock(t, hold)
			succeeded(t, waiting)

			ours := locking(t.Context(), m)
			eventually(t, "one of ours waiting", func() bool {
				stats := e.Stats()
				return stats.Waiting == 1 && stats.InFlight == 0 && s.heard(name)
			})
			o.unlock(k, name)
			unlock(t, granted(t, ours))
		}
	})
}

func TestAPrefixIsWhatANameMapperIs(t *testing.T) {
	t.Parallel()
	everyKind(t, func(t *testing.T, s *site, k kind) {
		o := s.redisson(redisson.Words{"prefix": "shop:"}).owner("o")
		e := s.engine(lockwheel.Options{Prefix: "shop:"})
		plainly := s.engine(lockwheel.Options{})
		o.lock(k, "n")
		require.Equal(t, map[string]string{o.id(): "1"}, s.fields("shop:n"))
		unlock(t, lock(t, t.Context(), k.mutex(plainly, "n"))) // another lock
		refused(t, k.mutex(plainly, "shop:n"))

		waiting := locking(t.Context(), k.mutex(e, "n"))
		asleep(t, e)
		o.unlock(k, "n")
		hold := granted(t, waiting)
		javas := o.locking(k, "n")
		listening(t, s, "shop:n", javas)
		unlock(t, hold)
		succeeded(t, javas)
		o.unlock(k, "n")
	})
}
