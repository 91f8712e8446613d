package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The section "What can come back" of docs/clusters.md, with one server that acts as a master and as the next.

// remember records all data of a server. comesBack restores exactly these data.
func (s *Server) remember() (comesBack func()) {
	s.t.Helper()
	type entry struct {
		key, value string
		ttl        int
	}
	var all []entry
	for _, key := range s.real.Strings(s.t, "KEYS", "*") {
		all = append(all, entry{key, s.real.String(s.t, "DUMP", key), s.real.Int(s.t, "PTTL", key)})
	}
	return func() {
		s.t.Helper()
		require.Equal(s.t, "OK", s.do("FLUSHALL"))
		for _, k := range all {
			require.Equal(s.t, "OK", s.do("RESTORE", k.key, max(k.ttl, 0), k.value))
		}
	}
}

// soon is well below every lease in these tests.
const soon = 5 * time.Second

// This holds for any lease, for both sides of a read/write lock, and for a caller that does not wait.
func TestWhatCameBackIsTakenAwayByTheEngineThatReleasedIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ held, asked string }{
		{"plain", "plain"}, {"fenced", "fenced"}, {"fair", "fair"}, {"writer", "writer"}, {"writer", "reader"}, {"reader", "writer"},
	} {
		for how, ask := range map[string]func(m lockwheel.Mutex) (*lockwheel.Hold, error){
			"waits": func(m lockwheel.Mutex) (*lockwheel.Hold, error) { return m.Lock(t.Context(), lockwheel.Wait(soon)) },
			"tries": func(m lockwheel.Mutex) (*lockwheel.Hold, error) { return m.TryLock(t.Context()) },
		} {
			t.Run(c.held+" came back, "+c.asked+" "+how, func(t *testing.T) {
				t.Parallel()
				s := RealServer(t)
				e := s.open(lockwheel.Options{})
				held := lock(t, grantable()[c.held](e, "n"), lockwheel.Lease(time.Hour))
				comesBack := s.remember()
				unlock(t, held)
				comesBack()
				asked, err := ask(grantable()[c.asked](e, "n"))
				require.NoError(t, err)
				require.Less(t, s.pttl("n"), time.Minute)
				unlock(t, asked)
				require.False(t, s.exists("n"))
			})
		}
	}
}

// An owner can have held both sides.
func TestAWriterThatCameBackWithWhatItReadIsTakenAway(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	m := s.open(lockwheel.Options{}).RWMutex("n")
	write := lock(t, m.Writer(), lockwheel.Lease(time.Hour))
	read := lockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	comesBack := s.remember()
	unlock(t, read)
	unlock(t, write)
	comesBack()
	unlock(t, lock(t, m.Writer(), lockwheel.Wait(soon)))
	require.Equal(t, int64(0), s.do("DBSIZE"))
}

// Live readers beside the hold that came back are left alone, and waited for.
func TestReadersBesideOneThatCameBackAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.open(lockwheel.Options{})
	stale := lock(t, e.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	others := []*lockwheel.Hold{lock(t, e.RWMutex("n").RLocker()), lock(t, s.open(lockwheel.Options{}).RWMutex("n").RLocker())}
	comesBack := s.remember()
	unlock(t, stale)
	comesBack()
	stateFailed(t, e.RWMutex("n").Writer())
	eventually(t, "the read that came back to go", func() bool {
		return s.real.Do(t, "HEXISTS", "n", stale.ID()) == int64(0)
	})
	writing := locking(t.Context(), e.RWMutex("n").Writer(), lockwheel.Wait(soon))
	for _, hold := range others {
		require.NoError(t, hold.Err())
		require.Equal(t, int64(1), s.do("HEXISTS", "n", hold.ID()))
		select {
		case <-writing:
			require.Fail(t, "a writer beside readers")
		default:
		}
		unlock(t, hold)
	}
	came := <-writing
	require.NoError(t, came.err)
	unlock(t, came.hold)
}
