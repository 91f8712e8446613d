package lockwheel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// The section "What can come back" of docs/clusters.md, with one server that acts as a master and as the next.

// Remember records all data of a server. comesBack restores exactly these data.
func (s *Server) Remember() (comesBack func()) {
	s.T.Helper()
	type entry struct {
		key, value string
		ttl        int
	}
	var all []entry
	for _, key := range s.Real.Strings(s.T, "KEYS", "*") {
		all = append(all, entry{key, s.Real.String(s.T, "DUMP", key), s.Real.Int(s.T, "PTTL", key)})
	}
	return func() {
		s.T.Helper()
		require.Equal(s.T, "OK", s.Do("FLUSHALL"))
		for _, k := range all {
			require.Equal(s.T, "OK", s.Do("RESTORE", k.key, max(k.ttl, 0), k.value))
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
				e := s.Open(lockwheel.Options{})
				held := Lock(t, Grantable()[c.held](e, "n"), lockwheel.Lease(time.Hour))
				comesBack := s.Remember()
				Unlock(t, held)
				comesBack()
				asked, err := ask(Grantable()[c.asked](e, "n"))
				require.NoError(t, err)
				require.Less(t, s.PTTL("n"), time.Minute)
				Unlock(t, asked)
				require.False(t, s.Exists("n"))
			})
		}
	}
}

// An owner can have held both sides.
func TestAWriterThatCameBackWithWhatItReadIsTakenAway(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	m := s.Open(lockwheel.Options{}).RWMutex("n")
	write := Lock(t, m.Writer(), lockwheel.Lease(time.Hour))
	read := LockWith(t, write.Context(), m.RLocker(), lockwheel.Lease(time.Hour))
	comesBack := s.Remember()
	Unlock(t, read)
	Unlock(t, write)
	comesBack()
	Unlock(t, Lock(t, m.Writer(), lockwheel.Wait(soon)))
	require.Equal(t, int64(0), s.Do("DBSIZE"))
}

// Live readers beside the hold that came back are left alone, and waited for.
func TestReadersBesideOneThatCameBackAreWaitedFor(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	e := s.Open(lockwheel.Options{})
	stale := Lock(t, e.RWMutex("n").RLocker(), lockwheel.Lease(time.Hour))
	others := []*lockwheel.Hold{Lock(t, e.RWMutex("n").RLocker()), Lock(t, s.Open(lockwheel.Options{}).RWMutex("n").RLocker())}
	comesBack := s.Remember()
	Unlock(t, stale)
	comesBack()
	StateFailed(t, e.RWMutex("n").Writer())
	Eventually(t, "the read that came back to go", func() bool {
		return s.Real.Do(t, "HEXISTS", "n", stale.ID()) == int64(0)
	})
	writing := Locking(t.Context(), e.RWMutex("n").Writer(), lockwheel.Wait(soon))
	for _, hold := range others {
		require.NoError(t, hold.Err())
		require.Equal(t, int64(1), s.Do("HEXISTS", "n", hold.ID()))
		select {
		case <-writing:
			require.Fail(t, "a writer beside readers")
		default:
		}
		Unlock(t, hold)
	}
	came := <-writing
	require.NoError(t, came.Err)
	Unlock(t, came.Hold)
}
