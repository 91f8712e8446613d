package coordinator

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// requestMulti posts a request for several locks.
func (d *coordinatorHarness) requestMulti(what, who string) {
	c := d.callers[who]
	if what == "unlock" {
		for i := range c.parts {
			r := &actor.Request{Op: actor.Unlock, Hold: c.parts[i].Hold}
			d.names[r] = who
			d.queueMessage(&LoopMessage{Value: r})
		}
		return
	}
	names, _, _ := strings.Cut(who, "/")
	c.parts = nil
	for key := range strings.SplitSeq(names, "+") {
		c.parts = append(c.parts, actor.Part{Name: key, Key: key, Owner: ownerOf(who), Hold: &actor.Hold{}})
	}
	r := &actor.Request{
		Op: actor.Acquire, Name: names, Key: c.parts[0].Key, Once: what == "try", Multi: &actor.MultiRequest{Parts: c.parts},
	}
	c.latest = r
	d.names[r] = who
	d.queueMessage(&LoopMessage{Value: r})
}

func (c *harnessCaller) has(h *actor.Hold) bool {
	return slices.ContainsFunc(c.parts, func(part actor.Part) bool { return part.Hold == h })
}

func shownParts(c *actor.Command) string {
	var keys []string
	for _, part := range c.Parts {
		keys = append(keys, part.Key+strings.Repeat("'", len(part.Orphans)))
	}
	return strings.Join(keys, "+")
}

// Several locks are acquired with one command, and released with one batch.
func TestMulti_OneAcquireOneRelease(t *testing.T) {
	runConversation(t, 8, `
		0s   lock a+b+c; lock d+e    → 1: joint a+b+c d+e
		1ms  1 done                  → a+b+c d+e granted
		10s  timer                   → 2: renew a b c d e
		+1ms 2 done                  → nothing
		+1ms unlock a+b+c            → a+b+c a+b+c a+b+c not held; 3: release a b c
		+1ms 3 done                  → a+b+c a+b+c a+b+c unlocked
		+1ms unlock d+e              → d+e d+e not held; 4: release d e
		+1ms 4 done                  → d+e d+e unlocked
		+1ms next                    → never
	`)
}

// A request for several locks holds none of them while it waits.
func TestMulti_Waiting_HoldsNone(t *testing.T) {
	runConversation(t, 8, `
		// The second is held by another: the first stays free for other requests.
		0s    lock a+b               → 1: joint a+b
		1ms   1 taken2               → join {b}
		2ms   lock a                 → 2: acquire a
		3ms   2 done                 → a granted
		4ms   ordered                → nothing
		5ms   unlock a               → a not held; 3: release a
		6ms   3 done                 → a unlocked
		7ms   subscribed b           → 4: joint a+b
		8ms   4 taken2               → nothing
		9ms   heard b                → 5: joint a+b
		10ms  5 done                 → a+b granted
		11ms  unlock a+b             → a+b a+b not held; 6: release a b
		12ms  6 done                 → a+b a+b unlocked
	`)
}

// A lock that this engine holds is not handed off to a request for several locks: it waits until all are free.
func TestMulti_PartHeldLocally_Waits(t *testing.T) {
	runConversation(t, 8, `
		0s    lock b                 → 1: acquire b
		1ms   1 done                 → b granted
		// It waits behind the holder, and the release is no hand-off.
		2ms   lock a+b               → join {b}
		3ms   try a+b/2              → a+b/2 not acquired
		4ms   lock a; lock b/2       → 2: acquire a
		5ms   2 done; unlock b       → b not held; 3: release b; a granted
		6ms   3 done                 → 4: acquire b; b unlocked
		// Now a is held here: the request waits there, and b was free for the next.
		7ms   4 done                 → b/2 granted
		8ms   unlock a               → a not held; 5: release a
		9ms   unlock b/2             → b/2 not held; 6: release b
		10ms  6 done; 5 done         → 7: joint a+b; b/2 a unlocked
		11ms  7 done                 → a+b granted
		12ms  unlock a+b             → a+b a+b not held; 8: release a b
		13ms  8 done                 → a+b a+b unlocked
	`)
}

// Requests for overlapping sets of locks are all granted in the end.
func TestMulti_OverlappingSets_AllGranted(t *testing.T) {
	runConversation(t, 8, `
		0s    lock a+b; lock b+c; lock c+a → 1: joint a+b
		1ms   1 done                 → join {a} {b}; a+b granted
		2ms   unlock a+b             → a+b a+b not held; 2: release a b
		// The first to become free decides; b+c waits for c now.
		3ms   2 done                 → 3: joint c+a; a+b a+b unlocked
		4ms   3 done                 → c+a granted
		5ms   unlock c+a             → c+a c+a not held; 4: release c a
		6ms   4 done                 → 5: joint b+c; c+a c+a unlocked
		7ms   5 done                 → b+c granted
		8ms   unlock b+c             → b+c b+c not held; 6: release b c
		9ms   6 done                 → b+c b+c unlocked
	`)
}

// An acquire of several locks without a reply is sent again for the same tenure, which is released twice.
func TestMulti_NoReply_Resent(t *testing.T) {
	runConversation(t, 8, `
		0s    lock a+b               → 1: joint a+b
		1ms   lock b                 → nothing
		2ms   1 lost EOF             → nothing
		12ms  timer                  → 2: joint a+b
		13ms  2 done                 → join {b}; a+b granted
		14ms  unlock a+b             → a+b a+b not held; 3: release a b
		// The copy without a reply may run late: its tenure is released once more, and before b is acquired.
		15ms  3 done                 → 4: release a b; 5: acquire b; a+b a+b unlocked
	`)
}

// A caller that leaves a request for several locks leaves none of them locked, at whatever time.
func TestMulti_CallerLeaves_LeavesNothing(t *testing.T) {
	t.Run("before it was sent", func(t *testing.T) {
		runConversation(t, 1, `
			0s   lock x                → 1: acquire x
			1ms  lock a+b              → nothing
			2ms  cancel a+b            → a+b redis unavailable: canceled
			3ms  1 done                → x granted
			4ms  unlock x              → x not held; 2: release x
			5ms  2 done                → x unlocked
			6ms  next                  → never
		`)
	})
	t.Run("while it is under way", func(t *testing.T) {
		runConversation(t, 8, `
			0s   lock a+b              → 1: joint a+b
			1ms  cancel a+b; lock b    → a+b redis unavailable: canceled
			2ms  1 done                → 2: release b a
			3ms  2 done                → 3: acquire b
			4ms  3 done                → b granted
			5ms  unlock b              → b not held; 4: release b
			6ms  4 done                → b unlocked
		`)
	})
	t.Run("after it was granted", func(t *testing.T) {
		runConversation(t, 8, `
			0s   lock a+b              → 1: joint a+b
			1ms  1 done; cancel a+b    → a+b a+b not held; 2: release a b; a+b granted
			2ms  2 done                → unnamed unnamed unlocked
		`)
	})
	t.Run("after it was granted, and lost since", func(t *testing.T) {
		runConversation(t, 8, `
			0s   lock a+b              → 1: joint a+b
			1ms  1 done; cancel a+b    → a+b a+b not held; 2: release a b; a+b granted
			2ms  2 gone                → unnamed unnamed unlocked
		`)
	})
	t.Run("when it has no answer", func(t *testing.T) {
		runConversation(t, 8, `
			0s   lock a+b              → 1: joint a+b
			1ms  1 lost EOF            → nothing
			2ms  cancel a+b            → a+b redis unavailable: EOF; canceled
			12ms timer                 → 2: release a b
			13ms 2 gone                → nothing
			3.013s timer               → 3: release a b
			+1ms 3 gone                → nothing
			+1ms next                  → never
		`)
	})
}

// If one of several locks is rejected, the whole request is, and its result names that lock.
func TestMulti_PartRejected_NamesLock(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: joint a+b", d.line("0s lock a+b; lock b/2"))
	r := d.callers["a+b"].latest
	require.Equal(t, "2: acquire b; a+b WRONGTYPE x", d.line("1ms 1 bad2"))
	require.Equal(t, 1, r.Multi.FailedPart)
	d.line("2ms 2 done")
	d.line("3ms unlock b/2")
	d.line("4ms 3 done")
	require.Equal(t, "4: joint a+b", d.line("5ms lock a+b"))
	require.Equal(t, "nothing", d.line("6ms 4 busy2"))
	require.Equal(t, "5: joint a+b", d.line("16ms timer"))
	require.Equal(t, "a+b granted", d.line("17ms 5 done"))
	d.line("18ms unlock a+b")
	d.line("19ms 6 done")
	d.requireIdle()
}

// An orphan of this engine among several locks is released, and the acquire is sent again at once.
func TestMulti_OwnOrphan_Released(t *testing.T) {
	for _, what := range []string{"lock", "try"} {
		d := newHarness(t, 8)
		require.Equal(t, "1: joint a+b", d.line("0s "+what+" a+b"))
		require.Regexp(t, `^2: release b; 3: joint a\+b'`, d.line("1ms 1 ghost2"))
		require.Equal(t, "a+b granted", d.line("2ms 3 done; 2 gone; ordered"))
		d.line("3ms unlock a+b; subscribed b")
		d.line("4ms 4 done")
		d.line("300ms timer")
		d.line("301ms ordered")
		d.requireIdle()
	}
}

// A shutdown and a reconfirmation also reach requests that wait for several locks.
func TestMulti_Waiting_DrainedAndReconfirmed(t *testing.T) {
	t.Run("a shutdown while several are asked for without an answer", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("0s lock a+b+c")
		d.line("1ms 1 dumb")
		require.Contains(t, d.line("2ms shutdown"), "a+b+c engine closed")
	})
	t.Run("a shutdown that makes a request the first in line, while its other lock is held here", func(t *testing.T) {
		runConversation(t, 1, `
			0s   lock a                → 1: acquire a
			1ms  1 done; lock x        → 2: acquire x; a granted
			// Its acquire is queued, and is recalled with it.
			2ms  lock b+c; lock c+a    → nothing
			3ms  shutdown              → b+c c+a x engine closed
			4ms  2 taken; unlock a     → a not held; 3: release a
			5ms  3 done                → a unlocked; shutdown complete
			+1ms next                  → never
		`)
	})
	t.Run("a doubt while a request waits, and its other lock is held here", func(t *testing.T) {
		d := newHarness(t, 8)
		d.c.Fx.Config.Poll = true
		d.line("0s lock a+b")
		d.line("1ms 1 taken; lock b")
		d.line("2ms 2 done")
		require.NotPanics(t, func() { d.line("3ms doubt") })
	})
}

// The server names a lock that is not part of the request.
func TestMulti_UnknownPart_NoReply(t *testing.T) {
	d := newHarness(t, 8)
	require.Equal(t, "1: joint a+b", d.line("0s lock a+b"))
	b := d.inFlight[1]
	delete(d.inFlight, 1)
	b.Replies = append(b.Replies[:0], actor.Reply{Status: actor.HeldByOther, FailedPart: 2, Holder: "x:1"})
	d.queueMessage(&b.Msg)
	require.Equal(t, "nothing", d.line("1ms heard x"))
	require.Equal(t, "2: joint a+b", d.line("11ms timer"))
}

// A waiting request ends as soon as its owner is granted the lock at which it waits. Otherwise the owner could wait for
// the request before it unlocks. Its caller then acquires the locks one by one.
func TestMulti_OwnerGranted_EndsAtOnce(t *testing.T) {
	t.Run("by another engine's release", func(t *testing.T) {
		runConversation(t, 8, `
			0s    lock a/me              → 1: acquire a
			1ms   1 taken; lock a+b/me a+c/me2 a+d → join {a}
			2ms   subscribed a           → 2: acquire a
			3ms   2 done                 → a/me granted; a+b/me a+c/me2 lockwheel: one of the locks is held already by the same owner
			4ms   unlock a/me            → a/me not held; 3: release a
			5ms   3 done                 → 4: joint a+d; a/me unlocked
			6ms   4 done                 → a+d granted
			7ms   unlock a+d             → a+d a+d not held; 5: release a d
		`)
	})
	t.Run("by a handoff", func(t *testing.T) {
		runConversation(t, 8, `
			0s    lock a                 → 1: acquire a
			1ms   1 done                 → a granted
			2ms   lock a/me a+b/me b+a/me → join {a}
			3ms   unlock a               → a not held; a/me granted; a+b/me b+a/me lockwheel: one of the locks is held already by the same owner; a unlocked
			4ms   unlock a/me            → a/me not held; 2: release a
			5ms   2 done                 → a/me unlocked
		`)
	})
	t.Run("by a Multi of its own", func(t *testing.T) {
		runConversation(t, 8, `
			0s    lock a+b/me            → 1: joint a+b
			1ms   lock a+b/me2 b+c/me3   → nothing
			2ms   1 done                 → a+b/me granted; a+b/me2 b+c/me3 lockwheel: one of the locks is held already by the same owner
			3ms   unlock a+b/me          → a+b/me a+b/me not held; 2: release a b
			4ms   2 done                 → a+b/me a+b/me unlocked
		`)
	})
	t.Run("and so does one that tries once", func(t *testing.T) {
		runConversation(t, 8, `
			0s    lock a/me              → 1: acquire a
			1ms   try a+b/me             → nothing
			2ms   1 done                 → a/me granted; a+b/me lockwheel: one of the locks is held already by the same owner
		`)
	})
	t.Run("also if the owner unlocks in the same turn", func(t *testing.T) {
		runConversation(t, 8, `
			0s    lock a/me a+b/me       → 1: acquire a
			1ms   1 done; unlock a/me    → a/me not held; 2: release a; a/me granted; a+b/me lockwheel: one of the locks is held already by the same owner
			2ms   2 done                 → a/me unlocked
		`)
	})
}

// The request waits at another lock when its owner is granted this one. It ends when its turn there comes, instead of
// waiting here for its own owner.
func TestMulti_OwnerGrantedAnother_EndsAtTurn(t *testing.T) {
	runConversation(t, 8, `
		0s    lock a+b/me            → 1: joint a+b
		1ms   lock a/me              → nothing
		2ms   1 taken2               → 2: acquire a; join {b}
		3ms   2 done                 → a/me granted
		4ms   ordered                → nothing
		5ms   subscribed b           → a+b/me lockwheel: one of the locks is held already by the same owner
		6ms   unlock a/me            → a/me not held; 3: release a
		7ms   3 done                 → a/me unlocked
	`)
}

// Another owner's request for the same locks goes on waiting.
func TestMulti_OtherOwnerGranted_WaitsOn(t *testing.T) {
	runConversation(t, 8, `
		0s    lock a                 → 1: acquire a
		1ms   lock a+b/me            → nothing
		2ms   1 done                 → join {a}; a granted
		3ms   unlock a               → a not held; 2: release a
		4ms   2 done                 → 3: joint a+b; a unlocked
		5ms   3 done                 → a+b/me granted
	`)
}
