package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/actor"
)

// A master that was a replica may not know of a release. docs/clusters.md promises that the engine removes a tenure
// that came back when it acquires the name again, in whichever half.
func TestOrphan_OtherSide_Released(t *testing.T) {
	for name, c := range map[string]struct{ one, back, other, told, released string }{
		"a write, by a reader":                   {"write a", "unwrite a", "read a", "writer1", "unwrite a"},
		"a read, by a writer":                    {"read a", "unread a", "write a", "reader1", "unread a"},
		"a write, by a reader who does not wait": {"write a", "unwrite a", "tryread a", "writer1", "unwrite a"},
		"a read, by a writer who does not wait":  {"read a", "unread a", "trywrite a", "reader1", "unread a"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t, 8)
			d.line("1ms " + c.one)
			d.line("2ms 1 done")
			require.Equal(t, "a not held; 2: "+c.back, d.line("3ms unlock a"))
			require.Equal(t, "a unlocked", d.line("4ms 2 done"))
			d.line("5ms " + c.other + "/2")
			require.Contains(t, d.line("6ms 3 "+c.told), "4: "+c.released+"; 5: ")
			require.EqualValues(t, 1, d.inFlight[4].Commands[0].Tenure)
			require.Equal(t, "nothing", d.line("7ms 4 done"))
			require.Contains(t, d.line("8ms 5 done"), "a/2 granted")
			require.Contains(t, d.line("9ms unlock a/2"), "a/2 not held")
			require.Contains(t, d.line("10ms 6 done"), "a/2 unlocked")
			d.line("1s ordered")
			d.line("2s ordered")
			require.Empty(t, d.c.LockSets)
			require.Zero(t, d.c.Locks.Len())
		})
	}
}

// A write of this engine is an orphan if the engine has no writer of that name, and is released.
func TestOrphan_WriteOfUnknownName_Released(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms read a")
	require.Nil(t, d.c.Locks.Get("a"))
	require.Equal(t, "2: unwrite a; 3: read a; join rwlock:{a}", d.line("2ms 1 writer1"))
}

// A tenure that is held, being acquired or being released here is in use.
func TestOrphan_OtherSideInUse_NotReleased(t *testing.T) {
	t.Run("a read", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms read a a/2")
		d.line("2ms 1 done")
		d.line("3ms write a/w")
		require.Equal(t, "join rwlock:{a}", d.line("4ms 2 readers"))
		require.Equal(t, "3: write a", d.line("5ms ordered; subscribed rw:a"))
		require.Equal(t, "a not held; 4: unread a", d.line("6ms unlock a"))
		require.Equal(t, "nothing", d.line("7ms 3 readers"))
	})
	t.Run("a write", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms write a")
		d.line("2ms 1 done")
		d.line("3ms read a/2")
		require.Equal(t, "join rwlock:{a}", d.line("4ms 2 writer1"))
		require.Equal(t, "a not held; 3: unwrite a", d.line("5ms unlock a"))
		require.Equal(t, "4: read a", d.line("6ms ordered; subscribed rw:a"))
		require.Equal(t, "nothing", d.line("7ms 4 writer1"))
	})
}

// A caller unlocks one half with UnlockAsync and tries the other one next. The server may execute the acquire before
// the release, which is in another batch: the caller's own hold is not in its way.
func TestTry_OtherSideBeingReleased_TriesAgain(t *testing.T) {
	for name, c := range map[string]struct{ one, back, other, told string }{
		"a reader behind a writer": {"write", "unwrite", "read", "writer1"},
		"a writer behind a reader": {"read", "unread", "write", "reader1"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newHarness(t, 8)
			d.line("1ms " + c.one + " a")
			d.line("2ms 1 done")
			require.Equal(t, "a not held; 2: "+c.back+" a", d.line("3ms unlock a"))
			require.Equal(t, "3: "+c.other+" a", d.line("4ms try"+c.other+" a/2"))
			require.Equal(t, "4: "+c.other+" a; join rwlock:{a}", d.line("5ms 3 "+c.told))
			require.Equal(t, "a unlocked", d.line("6ms 2 done"))
			require.Equal(t, "a/2 granted", d.line("7ms 4 done"))
		})
	}
	t.Run("one of two readers reads on", func(t *testing.T) {
		d := newHarness(t, 8)
		d.line("1ms read a a/2")
		d.line("2ms 1 done")
		d.line("3ms unlock a")
		require.Equal(t, "3: write a", d.line("4ms trywrite a/w"))
		require.Equal(t, "a/w not acquired", d.line("5ms 3 readers"))
	})
}

// A caller gives up while its acquire of one half is in flight, and tries the other half next. The reply to that can
// come first, and name the tenure that no caller wants any more.
func TestTry_OtherSideGivenUp_TriesAgain(t *testing.T) {
	for name, c := range map[string]struct{ one, back, other, told string }{
		"a reader behind a writer": {"write", "unwrite", "read", "writer1"},
		"a writer behind a reader": {"read", "unread", "write", "reader1"},
	} {
		t.Run(name, func(t *testing.T) {
			runConversation(t, 8, strings.NewReplacer("ONE", c.one, "BACK", c.back, "OTHER", c.other, "TOLD", c.told).Replace(`
				1ms  ONE a           → 1: ONE a
				2ms  cancel a        → a redis unavailable: canceled
				3ms  tryOTHER a/2    → 2: OTHER a
				4ms  2 TOLD          → 3: OTHER a; join rwlock:{a}
				5ms  1 done          → 4: BACK a
				6ms  4 done          → nothing
				7ms  3 done          → a/2 granted
			`))
		})
	}
	t.Run("another caller wants it", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  write a         → 1: write a
			2ms  cancel a        → a redis unavailable: canceled
			3ms  tryread a/2     → 2: read a
			4ms  write a/3       → nothing
			5ms  2 writer1       → a/2 not acquired
			6ms  1 done          → a/3 granted
		`)
	})
	t.Run("another reader is wanted", func(t *testing.T) {
		runConversation(t, 8, `
			1ms  read a a/2      → 1: read a a
			2ms  cancel a        → a redis unavailable: canceled
			3ms  trywrite a/3    → 2: write a
			4ms  2 readers       → a/3 not acquired
			5ms  1 done          → 3: unread a; a/2 granted
		`)
	})
}

// A reply can come after that of a release that ran later. Then there is nothing to release, and a waiter that received
// the message acquires at once.
func TestOrphan_ReplyOvertaken_NoDelay(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms read a")
	d.line("2ms 1 done")
	d.line("3ms write a/w")
	d.line("4ms 2 taken")
	require.Equal(t, "3: write a", d.line("5ms ordered; subscribed rw:a"))
	d.line("6ms unlock a")
	require.Equal(t, "a unlocked", d.line("7ms heard rw:a; 4 done"))
	require.Equal(t, "5: unread a; 6: write a", d.line("8ms 3 reader1"))
	require.Equal(t, "nothing", d.line("9ms heard rw:a; 5 gone"))
	require.Equal(t, "7: unread a; 8: write a", d.line("10ms 6 reader1"))
	require.Equal(t, "nothing", d.line("11ms 7 gone"))
	require.Equal(t, "a/w granted", d.line("12ms 8 done"))
}

// A permission can be missing: to retry at once would be in vain, and would not end.
func TestOrphan_ReleaseDenied_Waits(t *testing.T) {
	d := newHarness(t, 8)
	d.line("1ms write a")
	require.Equal(t, "2: unread a; 3: write a; join rwlock:{a}", d.line("2ms 1 reader1"))
	require.Equal(t, "nothing", d.line("3ms ordered; 2 denied"))
	require.Equal(t, "nothing", d.line("4ms 3 reader1"))
}

// A release can be in a flood of those for which no caller blocks. If the server says that its tenure is in the way of
// another caller of its engine, and that one blocks, it leaves at once, and once.
func TestReleaseInFlood_OtherLockRefused_LeavesNext(t *testing.T) {
	const flood = 20 * BatchKeys
	for _, c := range []struct {
		held, prefix, wanted, told string
		async                      bool
	}{
		{"read", "", "trywrite", "reader1", false},
		{"read", "", "write", "reader1", false},
		{"write", "", "tryread", "writer1", false},
		{"write", "", "read", "writer1", false},
		{"lock", "fair:", "try", "self", false},
		{"lock", "fair:", "lock", "self", false},
		{"lock", "fair:", "lock", "self", true},
	} {
		t.Run(fmt.Sprint(c.prefix, c.held, ", ", c.wanted, ", async: ", c.async), func(t *testing.T) {
			d := newHarness(t, 8)
			d.ask(c.held, c.prefix+"n")
			d.opens("done")
			d.posts(c.held, c.prefix+"k", flood)
			d.opens("done")
			for i := range flood {
				d.unlockAsync(fmt.Sprint(c.prefix, "k", i))
			}
			d.unlockAsync(c.prefix + "n")
			d.turn()
			require.False(t, d.has("n"), "the release is behind the others")
			d.ask(c.wanted, c.prefix+"n/2")
			d.callers[c.prefix+"n/2"].latest.Async = c.async
			d.turn()
			require.True(t, d.has("n"))
			d.deliverBatch([]string{fmt.Sprint(d.batches), c.told})
			releases := 0
			for rounds := 0; d.c.Fallback.Backlog() || len(d.inFlight) > 0; rounds++ {
				require.Less(t, rounds, 400)
				d.turn()
				if rounds == 0 {
					require.Equal(t, !c.async, d.has("n"), "it leaves next if a caller blocks")
				}
				for number, b := range d.inFlight {
					word := "done"
					for i := range b.Commands {
						switch {
						case b.Commands[i].Key != "n":
						case rounds == 0 && b.Commands[i].Tenure == 1:
							word = "" // its reply takes longer
						case rounds == 0:
							word = c.told
						case b.Commands[i].Tenure == 1:
							releases++
						}
					}
					if word != "" {
						d.deliverBatch([]string{fmt.Sprint(number), word})
					}
				}
			}
			require.Equal(t, 1, releases)
			for verb := range d.c.Fallback.Queues {
				require.Zero(t, d.c.Fallback.Queues[verb].Stale)
			}
		})
	}
}

// So can the release of a grant that its caller gave up before the reply.
func TestReleaseInFlood_GrantGivenUp_LeavesNext(t *testing.T) {
	const flood = 20 * BatchKeys
	for held, c := range map[string]struct{ wanted, told string }{"read": {"write", "reader1"}, "write": {"read", "writer1"}} {
		d := newHarness(t, 8)
		d.ask(held, "n")
		d.turn()
		d.posts(held, "k", flood)
		d.ask("cancel", "n")
		for d.turn(); len(d.inFlight) > 1; d.turn() { // the first one is on its way for long
			for number := range d.inFlight {
				if number != 1 {
					d.deliverBatch([]string{fmt.Sprint(number), "done"})
				}
			}
		}
		for i := range flood {
			d.unlockAsync(fmt.Sprint("k", i))
		}
		d.turn()
		d.deliverBatch([]string{"1", "done"})
		d.turn()
		require.False(t, d.has("n"), "the release is behind the others")
		d.ask(c.wanted, "n/2")
		d.turn()
		require.True(t, d.has("n"))
		d.deliverBatch([]string{fmt.Sprint(d.batches), c.told})
		d.turn()
		require.True(t, d.has("n"), "it leaves next")
	}
}

// A grant of several locks that is given back beside a flood of releases is given back at once, all of it: its caller
// waits for the locks.
func TestReleaseInFlood_MultiGivenBack_AllLeaveNext(t *testing.T) {
	const flood, parts = 20 * BatchKeys, "abcdef"
	d := newHarness(t, 8)
	d.posts("lock", "k", flood)
	d.opens("done")
	d.ask("lock", strings.Join(strings.Split(parts, ""), "+"))
	d.turn()
	multi := d.batches
	for i := range flood {
		d.unlockAsync(fmt.Sprint("k", i))
	}
	d.turn()
	d.now += time.Millisecond
	d.c.ReconfirmAll(d.now)
	d.deliverBatch([]string{fmt.Sprint(multi), "done"})
	d.turn()
	for _, part := range parts {
		require.True(t, d.has(string(part)), string(part))
	}
}

// However often a release is found in the way before it leaves, it keeps its new place in the queue. Once it has left,
// it is not sent again.
func TestReleaseAwaited_Repeatedly_QueuedOnceMore(t *testing.T) {
	d := newHarness(t, 1)
	d.line("1ms read a")
	l := d.inFlight[1].Commands[0].Lock
	d.line("2ms 1 done")
	d.line("3ms lock b")
	d.unlockAsync("a")
	require.Equal(t, "a not held", d.turn())
	q := &d.c.Fallback.Queues[actor.SendReadRelease]
	for range 3 {
		d.c.step(d.now, l, &actor.Message{Event: actor.ReleaseAwaited})
		require.Equal(t, 2, q.Len())
		require.Equal(t, 1, q.Stale)
	}
	require.Equal(t, "3: unread a; b granted", d.line("5ms 2 done"))
	require.Zero(t, q.Stale)
	require.Equal(t, "a unlocked", d.line("6ms 3 done"))

	d.line("7ms read c")
	l = d.inFlight[4].Commands[0].Lock
	d.line("8ms 4 done")
	d.unlockAsync("c")
	require.Equal(t, "c not held; 5: unread c", d.turn())
	d.c.step(d.now, l, &actor.Message{Event: actor.ReleaseAwaited})
	require.Zero(t, q.Len())
	require.Equal(t, "c unlocked", d.line("9ms 5 done"))
}
