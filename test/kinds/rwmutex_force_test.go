package kinds_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
	"github.com/lockwheel/lockwheel/internal/proxy"
)

// ForceUnlock in the holder's own engine ends the hold at once, whether or not the server replies. It does so for a
// writer with its reads, and for all readers.
func TestRWMutex_ForceUnlock_LostBeforeReply(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]lockwheel.Option{"watched": nil, "with a lease": {lockwheel.Lease(time.Hour)}} {
		for which, force := range map[string]func(lockwheel.RWMutex) lockwheel.Mutex{"writer": lockwheel.RWMutex.Writer, "readers": lockwheel.RWMutex.RLocker} {
			t.Run(name+" "+which, func(t *testing.T) {
				t.Parallel()
				s := locktest.RealServer(t)
				p := proxy.Start(t, s.Addr)
				m := s.OpenAt(p.Addr(), lockwheel.Options{}).RWMutex("n")
				var holds []*lockwheel.Hold
				ctx := t.Context()
				if which == "writer" {
					holds = append(holds, locktest.Lock(t, m.Writer()))
					ctx = context.WithoutCancel(holds[0].Context())
				}
				for range 3 {
					holds = append(holds, locktest.LockWith(t, ctx, m.RLocker(), own...))
				}
				p.Set(proxy.Both, proxy.Drop)
				forcing, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- locktest.Second(force(m).ForceUnlock(forcing)) }()
				for _, hold := range holds {
					locktest.Receive(t, hold.Done())
					require.ErrorIs(t, hold.Err(), lockwheel.ErrLost)
					require.ErrorContains(t, hold.Err(), "unlocked by force")
				}
				select {
				case err := <-done:
					t.Fatal("the server was to be silent: ", err)
				default:
				}
				cancel()
				require.ErrorIs(t, <-done, lockwheel.ErrUnavailable)
			})
		}
	}
}

// Each hold of a reader has a key with its lease. The key is deleted with the hold, however the lock is lost and
// wherever that is noticed.
func TestRWMutex_ReadersLost_NoKeyLeft(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, s *locktest.Server, here, elsewhere *lockwheel.Engine){
		"forced here": func(t *testing.T, _ *locktest.Server, here, _ *lockwheel.Engine) {
			locktest.ForceUnlock(t, here.RWMutex("n").RLocker())
		},
		"forced elsewhere": func(t *testing.T, _ *locktest.Server, _, other *lockwheel.Engine) {
			locktest.ForceUnlock(t, other.RWMutex("n").RLocker())
		},
		"as Redisson does": func(t *testing.T, s *locktest.Server, _, _ *lockwheel.Engine) { s.Do("DEL", "n") },
		"the writer forced here": func(t *testing.T, _ *locktest.Server, here, _ *lockwheel.Engine) {
			locktest.ForceUnlock(t, here.RWMutex("n").Writer())
		},
		"the writer forced there": func(t *testing.T, _ *locktest.Server, _, other *lockwheel.Engine) {
			locktest.ForceUnlock(t, other.RWMutex("n").Writer())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			here, elsewhere := s.Open(locktest.ShortLeaseOptions), s.Open(locktest.ShortLeaseOptions)
			m := here.RWMutex("n")
			for _, own := range [][]lockwheel.Option{{lockwheel.Lease(10 * time.Hour)}, nil} {
				ctx := t.Context()
				var holds []*lockwheel.Hold
				if name == "the writer forced here" || name == "the writer forced there" {
					holds = append(holds, locktest.Lock(t, m.Writer(), own...))
					ctx = context.WithoutCancel(holds[0].Context())
				}
				first := locktest.LockWith(t, ctx, m.RLocker(), lockwheel.Lease(10*time.Hour))
				inner := locktest.LockWith(t, context.WithoutCancel(first.Context()), m.RLocker(), own...)
				holds = append(holds, first, inner)
				locktest.Eventually(t, "keys", func() bool { return s.Exists("{n}:" + inner.ID() + ":rwlock_timeout:2") })
				lose(t, s, here, elsewhere)
				var errs []error
				for _, hold := range holds {
					errs = append(errs, hold.Unlock(t.Context()))
				}
				require.ErrorIs(t, errors.Join(errs...), lockwheel.ErrLost)
				locktest.Eventually(t, "nothing", func() bool { return s.Do("DBSIZE") == int64(0) })
			}
			locktest.RequireIdle(t, here)
		})
	}
}
