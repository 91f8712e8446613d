package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// The server is slow when a round of Redisson's MultiLock ends. The workers end with what they have begun, and no lock
// stays behind to stop the next contestant.
func TestRedissonPair_SlowAtTheEnd_NothingLocked(t *testing.T) {
	s := openServer(t, "")
	redisson := openRedissonRunner(peers.Config{Addr: s.Addr}, 1, tiny)
	defer redisson.close()
	if redisson.err != nil {
		require.True(t, leftOut(t, peers.Redisson.Name, redisson.err.Error()), redisson.err)
		t.SkipNow()
	}
	require.NoError(t, s.Clear()) // of what warming up left: its waits for one name were canceled
	require.NoError(t, redisson.java.SetRunning(true))
	defer redisson.java.SetRunning(false)
	slow := make(chan error, 2)
	go func() {
		time.Sleep(150 * time.Millisecond)
		slow <- s.launched.Pause()
		time.Sleep(300 * time.Millisecond)
		slow <- s.launched.Continue()
	}()
	_, _, err := redisson.java.PairOf(peers.JavaLocks{Kind: "multi", Prefix: "lockwheel-bench-", Each: multiNames}, warmUpLocks, 200*time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, <-slow)
	require.NoError(t, <-slow)
	// Redisson deletes the latches of its unlocks afterwards (redisson_unlock_latch:{name}:id), and waits for no reply.
	locked, err := s.do("KEYS", "lockwheel-bench-*")
	require.NoError(t, err)
	require.Empty(t, locked)
}
