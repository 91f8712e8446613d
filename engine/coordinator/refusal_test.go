package coordinator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// refusalConversation plays a conversation with a coordinator. Behind its outputs is since when and why the server is
// considered down, unless it is not.
func refusalConversation(t *testing.T, conversation string) {
	t.Helper()
	d := newHarness(t, 2)
	compare(t, conversation, func(line string) string {
		said, s := d.line(line), d.c.status()[0]
		require.EqualValues(t, map[bool]int{true: 1}[s.Down], d.c.Stats().ServersDown)
		if s.Down {
			return fmt.Sprintf("%s; down since %v: %v", said, s.Since, s.Cause)
		}
		return said
	})
}

// A server that replies, and rejects for seconds what changes a lock, is considered down until it accepts it again.
// Commands leave as before. A reply that a server gives without a change is no proof.
func TestRefusal_LastsSeconds_Down(t *testing.T) {
	refusalConversation(t, `
		0s      lock held               → 1: acquire held
		1ms     1 done                  → held granted
		1s      lock a                  → 2: acquire a
		1001ms  2 replica               → nothing
		2s      lock b                  → 3: acquire b a
		2001ms  3 replica               → nothing
		3500ms  lock c                  → 4: acquire c b a
		3501ms  4 replica               → nothing; down since 1.001s: READONLY x
		4s      state a                 → 5: acquire c b a; 6: state a; down since 1.001s: READONLY x
		4001ms  6 done                  → a read; down since 1.001s: READONLY x
		4002ms  5 taken replica         → join {c}; down since 1.001s: READONLY x
		5s      timer                   → 7: acquire b a; down since 1.001s: READONLY x
		5001ms  7 taken                 → nothing; down since 1.001s: READONLY x
		10s     timer                   → 8: renew held; down since 1.001s: READONLY x
		10001ms 8 done                  → nothing
	`)
}

// A server that rejects something for a moment, as in a failover, is not considered down.
func TestRefusal_Moment_NotDown(t *testing.T) {
	refusalConversation(t, `
		0s      try a                   → 1: acquire a
		1ms     1 replica               → nothing
		1900ms  try b                   → 2: acquire b a
		1901ms  2 replica               → nothing
		2s      try c                   → 3: acquire c b a
		2001ms  3 done                  → c b a granted
		3s      try d                   → 4: acquire d
		3001ms  4 replica               → nothing
		6s      try e                   → 5: acquire e; d redis unavailable: READONLY x
		6001ms  5 refused               → e WRONGTYPE x
	`)
}

// withoutMemory begins with a hold, and a caller that the server has no memory for.
const withoutMemory = `
		0s      lock held               → 1: acquire held
		1ms     1 done                  → held granted
		1s      lock a                  → 2: acquire a
		1001ms  2 full                  → nothing
		3s      timer                   → 3: acquire a
		3001ms  3 full                  → nothing; down since 1.001s: OOM x
`

// Without memory a server still renews and releases, but grants nothing.
func TestRefusal_NoMemory_EndsWithGrant(t *testing.T) {
	refusalConversation(t, withoutMemory+`
		10s     timer                   → 4: renew held; 5: acquire a; down since 1.001s: OOM x
		10001ms 4 done                  → nothing; down since 1.001s: OOM x
		10002ms 5 done                  → a granted
	`)
}

// If the rejections are long ago, an engine that only renews does not report them for ever.
func TestRefusal_NoMemoryLongAgo_Forgotten(t *testing.T) {
	refusalConversation(t, withoutMemory+`
		3002ms  cancel a                → a redis unavailable: OOM x; canceled; down since 1.001s: OOM x
		10s     timer                   → 4: renew held; down since 1.001s: OOM x
		10001ms 4 done                  → nothing; down since 1.001s: OOM x
		20s     timer                   → 5: renew held; down since 1.001s: OOM x
		20001ms 5 done                  → nothing; down since 1.001s: OOM x
		30s     timer                   → 6: renew held; down since 1.001s: OOM x
		30001ms 6 done                  → nothing; down since 1.001s: OOM x
		40s     timer                   → 7: renew held; down since 1.001s: OOM x
		40001ms 7 done                  → nothing
	`)
}
