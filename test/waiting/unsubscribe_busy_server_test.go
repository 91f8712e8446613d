package waiting_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// While a script keeps a server busy, the server rejects UNSUBSCRIBE and the PING that rueidis v1.0.79 sends behind
// it. rueidis panics at the second rejection. The engine unsubscribes from few channels by closing their connection,
// and from very many so that it expects rejections.
func TestUnsubscribe_BusyServer_NoPanic(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			unsubscribeBusy(t, n)
		})
	}
}

func unsubscribeBusy(t *testing.T, n int) {
	s := locktest.RealServer(t, "--busy-reply-threshold", "50")
	holder, e := s.Open(lockwheel.Options{}), s.Open(lockwheel.Options{})
	var holds []*lockwheel.Hold
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range n {
		holds = append(holds, locktest.Lock(t, holder.Mutex(fmt.Sprint("n", i))))
		e.Mutex(fmt.Sprint("n", i)).LockAsync(ctx)
	}
	locktest.RequireWaiting(t, e, int64(n), int64(n))
	require.NoError(t, s.Real.Conn(t).Send("EVAL", "while true do end", 0))
	probe := s.Real.Conn(t)
	says := func(args ...any) string {
		reply, err := probe.Do(args...)
		return fmt.Sprint(reply, err)
	}
	locktest.Eventually(t, "a busy server", func() bool { return strings.Contains(says("PING"), "BUSY") })
	cancel()
	locktest.Eventually(t, "the channel left while the server is busy", func() bool { return e.Stats().Subscriptions == 0 })
	require.Contains(t, says("SCRIPT", "KILL"), "OK")
	locktest.Eventually(t, "an answer", func() bool { return strings.Contains(says("PING"), "PONG") })
	locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
	for _, hold := range holds {
		locktest.Unlock(t, hold)
	}
	locktest.Unlock(t, locktest.Lock(t, e.Mutex("n0")))
}

// A server that removes very many subscriptions in one command blocks all its clients meanwhile.
func TestUnsubscribe_VeryMany_InSlices(t *testing.T) {
	t.Parallel()
	const n = 9000
	for name, end := range map[string]func(e *lockwheel.Engine, cancel func()){
		"canceled": func(_ *lockwheel.Engine, cancel func()) { cancel() },
		"closed":   func(e *lockwheel.Engine, _ func()) { require.NoError(t, e.Close()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := locktest.RealServer(t)
			e := s.Open(lockwheel.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for i := range n {
				s.HoldAsOther(fmt.Sprint("n", i), time.Hour)
				e.Mutex(fmt.Sprint("n", i)).LockAsync(ctx)
			}
			locktest.RequireWaiting(t, e, int64(n), int64(n))
			end(e, cancel)
			locktest.Eventually(t, "no channel", func() bool { return len(s.Channels()) == 0 })
			stats := fmt.Sprint(s.Do("INFO", "commandstats"))
			require.Contains(t, stats, "cmdstat_unsubscribe:calls=")
			require.NotContains(t, stats, "cmdstat_unsubscribe:calls=1,")
		})
	}
}
