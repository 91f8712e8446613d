package kinds_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A caller that has released one half, and did not wait for the server, gets the other half: its own hold is not in its
// way. Release and acquire leave in different batches, so the server executes the acquire first in some of the rounds.
func TestRWMutex_TryAfterRelease_OwnHoldNotInTheWay(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, release := range map[string]func(*lockwheel.Hold){
		"UnlockAsync":                      func(h *lockwheel.Hold) { h.UnlockAsync() },
		"Unlock, its context ended before": func(h *lockwheel.Hold) { _ = h.Unlock(ended) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.AnyServer(t)
			e := s.Open(locktest.SlowTimeouts)
			m := e.RWMutex("n")
			for range 300 {
				release(locktest.Lock(t, m.RLocker()))
				write, err := m.TryLock(t.Context())
				require.NoError(t, err, "a writer behind a reader")
				release(write)
				read, err := m.RLocker().TryLock(t.Context())
				require.NoError(t, err, "a reader behind a writer")
				locktest.Unlock(t, read)
			}
			locktest.RequireIdle(t, e)
		})
	}
}
