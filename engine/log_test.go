package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
	"github.com/lockwheel/lockwheel/engine/coordinator"
)

// Clock skew is what the time of the round trip does not explain. Only a change is logged.
func TestClockSkew_Changes_LoggedOnce(t *testing.T) {
	var log bytes.Buffer
	e := &Engine{coordinator: coordinator.New(actor.Config{}, 1), log: slog.New(slog.NewTextHandler(&log, nil))}
	const wall = 1_700_000_000_000
	for _, c := range []struct {
		server int64 // the server's clock minus the caller's at the time of the call, in ms
		ahead  time.Duration
		logs   string
	}{
		{0, 0, ""}, {900, 0, ""}, {3000, -2 * time.Second, ""}, {-3000, 3 * time.Second, ""},
		{-60_000, time.Minute, "is not the server's"}, {-61_000, 61 * time.Second, ""}, {500, 0, "is the server's again"},
		{61_000, -time.Minute, "ahead=-1m0s"},
	} {
		log.Reset()
		b := &coordinator.Batch{Sent: time.Second, SentWallMillis: wall, Node: e.coordinator.Fallback}
		e.coordinator.UpdateClockSkew(2*time.Second, b, wall+c.server)
		e.coordinator.UpdateClockSkew(2*time.Second, b, 0) // no information
		require.Equal(t, c.ahead, e.coordinator.LargestClockSkew())
		e.logClockSkew()
		require.Contains(t, log.String(), c.logs)
		require.Equal(t, c.logs != "", strings.Contains(log.String(), "clock"))
	}
}
