package faults_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// A server with a timeout closes idle connections. The next call then takes a round trip more: there is no outage,
// neither in the log nor as a pause.
func TestIdleConnection_ClosedByServer_NoOutage(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t, "--timeout", "6") // longer than this test stands still between two questions of its own
	var said locktest.LogBuffer
	e := s.Open(lockwheel.Options{Lease: time.Minute, CallTimeout: 20 * time.Second, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	m := e.Mutex("n")
	locktest.Unlock(t, locktest.Lock(t, m))
	for range 2 {
		locktest.CheckRange(t, locktest.LongDeadline, "no connection of the engine", func() bool { return len(s.Engines()) == 0 })
		retries := e.Stats().Retries
		hold, err := m.TryLock(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 1, e.Stats().Retries-retries, "it has found out")
		locktest.Unlock(t, hold)
	}
	require.NoError(t, e.Close())
	require.Empty(t, said.String())
}
