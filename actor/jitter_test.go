package actor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// What many engines repeat after the same event they do not do at the same time. Each waits for a random time from d to
// 2d.
func TestRetries_ManyEngines_SpreadOut(t *testing.T) {
	scattered := func(s *harness) { s.fx.PubSubUnreliable = true }
	for _, c := range []struct {
		what  string
		lines string
		least time.Duration // d
		kind  actor.LockKind
		poll  bool
		set   func(*harness)
	}{
		{what: "a try after a refusal", least: 5 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 refused LOADING x`},
		{what: "a try for a lock that is free at any moment", least: 25 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 taken 1ms x:1`},
		{what: "a look at a key without expiry", least: 250 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 taken -1ms x:1`},
		{what: "a try for a lock without a subscription", least: 100 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 taken 30s x:1
			2ms subscribe failed`},
		{what: "a try for a lock with notifications that may go elsewhere", least: 2 * time.Second, set: scattered, lines: `
			0s  A locks
			1ms #1 taken 30s x:1`},
		{what: "a try for a lock that is polled", least: 4 * time.Millisecond, poll: true, lines: `
			0s    A locks
			1ms   #1 taken 30s x:1
			+1ms..+2ms timer
			+1ms  #2 taken 30s x:1
			+1ms..+3ms timer
			+1ms  #3 taken 30s x:1
			+1ms..+9ms timer
			+1ms  #4 taken 30s x:1`},
		{what: "a renewal after a refusal", least: 1250 * time.Millisecond, lines: `
			0s   A locks
			1ms  #1 granted
			10s  timer
			+1ms #1 refused BUSY x`},
		{what: "a renewal after one that wrote no count", least: 1250 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 granted
			2ms B locks as A
			3ms #1 renewed uncounted`},
		{what: "a release that the server refuses for good", least: 250 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 granted
			1s  A unlocks
			2s  #1 refused NOPERM x`},
		{what: "the release of an orphan, after a rejection", least: 250 * time.Millisecond, lines: `
			0s  A locks wait 1s
			1s  timer
			4s  #1 unanswered reset
			5s  #1 refused LOADING x`},
		{what: "a try of the foremost in a queue", kind: actor.Fair, least: 250 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 taken 4m free left 540s`},
		{what: "a try of one that has become the foremost", kind: actor.Fair, least: 250 * time.Millisecond, lines: `
			0s  A locks
			1ms #1 taken 4m free left 540s preceded
			10s queue head`},
	} {
		var first, last time.Duration
		for seed := range uint64(20) {
			config := defaultConfig()
			config.Seed, config.Poll = seed, c.poll
			s := newHarness(t, config)
			s.setKind(c.kind)
			if c.set != nil {
				c.set(s)
			}
			for line := range strings.Lines(strings.TrimSpace(c.lines)) {
				s.play(strings.Join(strings.Fields(line), " "))
			}
			from := s.now
			require.NotEqual(t, "nothing", s.untilVisible(), c.what)
			after := s.now - from
			if seed == 0 {
				first, last = after, after
			}
			first, last = min(first, after), max(last, after)
		}
		// A timer fires up to 2 ms late; what counts from an earlier time is as much earlier.
		require.GreaterOrEqual(t, first, c.least-2*time.Millisecond, c.what)
		require.LessOrEqual(t, last, 2*c.least+2*time.Millisecond, c.what)
		require.Greater(t, last-first, c.least/2, c.what)
	}
}
