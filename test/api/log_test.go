package api_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
	"github.com/lockwheel/lockwheel/internal/locktest"
)

// An operator who is paged first needs the cause.
func TestLog_Outage_OneLineWithCause(t *testing.T) {
	t.Parallel()
	s := locktest.RealServer(t)
	said := make(locktest.LogLines, 100)
	e := s.Open(lockwheel.Options{Lease: 6 * time.Second, RenewInterval: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(said, nil))})
	hold := locktest.Lock(t, e.Mutex("n"))
	require.NoError(t, s.Real.Stop())
	require.Regexp(t, `level=WARN msg="lockwheel: the server does not reply; trying again" cause=.{3,}`, locktest.Receive(t, said))
	require.NoError(t, s.Real.Restart())
	again := locktest.Receive(t, said)
	for strings.Contains(again, "locks lost") { // the server may have lost its data
		again = locktest.Receive(t, said)
	}
	require.Contains(t, again, `level=INFO msg="lockwheel: the server replies again"`)
	_ = hold.Unlock(t.Context()) // lost, if the server kept nothing
}

// A record has the name of a lock as its callers know it, without Options.Prefix.
func TestLog_Prefix_NotInNames(t *testing.T) {
	t.Parallel()
	said := make(locktest.LogLines, 100)
	e := locktest.AnyServer(t).Open(lockwheel.Options{Prefix: "app:", HeldTooLong: 50 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(said, nil))})
	locktest.Lock(t, e.Mutex("n"))
	require.Contains(t, locktest.Receive(t, said), " lock=n ")
	locktest.ForceUnlock(t, e.Mutex("n"))
	require.Contains(t, locktest.Receive(t, said), " last=n ")
}
