package lockwheel_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// logLines receives the lines of a logger.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// An operator who is paged first needs the cause.
func TestAnOutageIsLoggedOnceWithItsCause(t *testing.T) {
	t.Parallel()
	s := RealServer(t)
	said := make(logLines, 100)
	e := s.open(lockwheel.Options{Lease: 6 * time.Second, RenewInterval: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(said, nil))})
	hold := lock(t, e.Mutex("n"))
	require.NoError(t, s.real.Stop())
	require.Regexp(t, `level=WARN msg="lockwheel: redis does not answer; trying again" cause=.{3,}`, receive(t, said))
	require.NoError(t, s.real.Restart())
	again := receive(t, said)
	for strings.Contains(again, "locks lost") { // the server may have lost its data
		again = receive(t, said)
	}
	require.Contains(t, again, `level=INFO msg="lockwheel: redis answers again"`)
	_ = hold.Unlock(t.Context()) // lost, if the server kept nothing
}
