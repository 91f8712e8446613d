package lockwheel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel"
)

// A server that a script keeps busy refuses UNSUBSCRIBE and the PING that rueidis v1.0.79 sends behind it,
// and rueidis panics over the second refusal. Channels are left without UNSUBSCRIBE, so it never comes to that.
func TestLeavingAChannelOfABusyServerIsHarmless(t *testing.T) {
	t.Parallel()
	s := realSite(t, "--busy-reply-threshold", "50")
	holder, e := s.open(lockwheel.Options{}), s.open(lockwheel.Options{})
	hold := lock(t, holder.Mutex("n"))
	p := e.Mutex("n").LockAsync(t.Context())
	asleep(t, e, 1, 1)
	require.NoError(t, s.real.Conn(t).Send("EVAL", "while true do end", 0))
	probe := s.real.Conn(t)
	says := func(args ...any) string {
		reply, err := probe.Do(args...)
		return fmt.Sprint(reply, err)
	}
	eventually(t, "a busy server", func() bool { return strings.Contains(says("PING"), "BUSY") })
	p.Cancel()
	eventually(t, "the channel left while the server is busy", func() bool { return e.Stats().Subscriptions == 0 })
	require.Contains(t, says("SCRIPT", "KILL"), "OK")
	eventually(t, "an answer", func() bool { return strings.Contains(says("PING"), "PONG") })
	eventually(t, "no channel", func() bool { return len(s.channels()) == 0 })
	unlock(t, hold)
	unlock(t, lock(t, e.Mutex("n")))
}
